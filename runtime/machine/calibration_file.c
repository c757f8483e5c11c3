/* The file with the calibration of a machine: see calibration.h.
 *
 *   tristar-calibration 1
 *   task_ns 1830
 *   ...
 *
 * The first line is the format and its version. The file has every key of this version once, in any order,
 * with a whole number in its range, and nothing else. Only the last key may be missing, because earlier
 * versions of TriStar do not write it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/machine/calibration.h"
#include "runtime/exec/starpu/environment.h"

#define FORMAT_LINE "tristar-calibration 1"
#define FILE_SIZE_MAX 4096

enum { TASK, BARRIER, READ_ONE, READ_ALL, WORKERS, CORES, NUMA_NODES, L2, L3, L3_CORES, MULTIPLY, KEYS };

static const struct {
  const char *name;
  int64_t least, most;
} keys[KEYS] = {[TASK] = {"task_ns", 1, 1000000000},
                [BARRIER] = {"barrier_ns", 0, 1000000000},
                [READ_ONE] = {"read_one_core_mb_per_s", 1, 100000000},
                [READ_ALL] = {"read_all_cores_mb_per_s", 0, 100000000},
                [WORKERS] = {"workers", 0, 1000000},
                [CORES] = {"cores", 0, 1000000},
                [NUMA_NODES] = {"numa_nodes", 0, 1000000},
                [L2] = {"l2_bytes", 0, INT64_C(1) << 40},
                [L3] = {"l3_bytes", 0, INT64_C(1) << 40},
                [L3_CORES] = {"l3_cores", 0, 1000000},
                [MULTIPLY] = {"multiply_one_core_mflop_per_s", 0, 1000000000}};

/* 0 for a value that the file cannot hold; the range of its key then refuses it. */
static int64_t to_integer(double value) {
  return value > 0 && value < 1e15 ? (int64_t)(value + 0.5) : 0;
}

static void to_values(const tristar_calibration *c, int64_t value[KEYS]) {
  value[TASK] = to_integer(1e3 * c->task_microseconds);
  value[BARRIER] = to_integer(1e3 * c->barrier_microseconds);
  value[READ_ONE] = to_integer(1e3 * c->read_gbps_one);
  value[READ_ALL] = to_integer(1e3 * c->read_gbps_all);
  value[WORKERS] = c->workers;
  value[CORES] = c->cores;
  value[NUMA_NODES] = c->numa_nodes;
  value[L2] = c->l2_bytes;
  value[L3] = c->l3_bytes;
  value[L3_CORES] = c->l3_cores;
  value[MULTIPLY] = to_integer(1e3 * c->multiply_gflops_one);
}

static void from_values(const int64_t value[KEYS], tristar_calibration *c) {
  c->task_microseconds = (double)value[TASK] / 1e3;
  c->barrier_microseconds = (double)value[BARRIER] / 1e3;
  c->read_gbps_one = (double)value[READ_ONE] / 1e3;
  c->read_gbps_all = (double)value[READ_ALL] / 1e3;
  c->workers = (int)value[WORKERS];
  c->cores = (int)value[CORES];
  c->numa_nodes = (int)value[NUMA_NODES];
  c->l2_bytes = value[L2];
  c->l3_bytes = value[L3];
  c->l3_cores = (int)value[L3_CORES];
  c->multiply_gflops_one = (double)value[MULTIPLY] / 1e3;
  c->floor_bytes = tsi_calibration_floor(c->task_microseconds, c->read_gbps_one);
}

bool tsi_calibration_path(char *path, size_t size) {
  char host[128];
  tsi_starpu_host(host, sizeof host);
  const int length = snprintf(path, size, "%s/.starpu/tristar/%s.calibration", tsi_starpu_home(), host);
  return length > 0 && (size_t)length < size;
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

/* Reads "key number"; returns NULL, or the defect of the line. */
static const char *take_line(const char *line, int64_t value[KEYS], bool known[KEYS]) {
  const size_t length = strcspn(line, " ");
  char *end;
  for (int k = 0; k < KEYS; k++) {
    if (strlen(keys[k].name) != length || strncmp(line, keys[k].name, length) != 0) continue;
    if (known[k]) return "a key for the second time";
    const char *number = line + length + (line[length] == ' ');
    errno = 0;
    const long long read = strtoll(number, &end, 10);
    if (*number < '0' || *number > '9' || *end != '\0' || errno != 0) return "not a whole number";
    if (read < keys[k].least || read > keys[k].most) return "a number out of its range";
    value[k] = read;
    known[k] = true;
    return NULL;
  }
  return "an unknown key";
}

/* Parses a text, which it cuts into lines. */
static tristar_status parse(char *text, const char *path, tristar_calibration *c, char *why, size_t size) {
  int64_t value[KEYS] = {0};
  bool known[KEYS] = {false};
  int number = 0;
  for (char *line = text, *next; line != NULL && *line != '\0'; line = next) {
    next = strchr(line, '\n');
    if (next != NULL) *next++ = '\0';
    const char *wrong = ++number > 1                     ? take_line(line, value, known)
                        : strcmp(line, FORMAT_LINE) != 0 ? "not \"" FORMAT_LINE "\""
                                                         : NULL;
    if (wrong == NULL) continue;
    snprintf(why, size, "%s:%d: %s", path, number, wrong);
    return TRISTAR_ERR_FORMAT;
  }
  for (int k = 0; k < MULTIPLY; k++)
    if (!known[k]) {
      snprintf(why, size, "%s: %s is missing", path, keys[k].name);
      return TRISTAR_ERR_FORMAT;
    }
  from_values(value, c);
  return TRISTAR_OK;
}

tristar_status tsi_calibration_read(const char *path, tristar_calibration *calibration, char *why,
                                    size_t size) {
  char text[FILE_SIZE_MAX + 1];
  FILE *file = fopen(path, "r");
  const size_t length = file != NULL ? fread(text, 1, FILE_SIZE_MAX, file) : 0;
  const bool failed = file == NULL || ferror(file);
  if (failed) snprintf(why, size, "cannot read %s: %s", path, strerror(errno));
  if (file != NULL) fclose(file);
  if (failed) return TRISTAR_ERR_IO;
  text[length] = '\0';
  if (length == FILE_SIZE_MAX || strlen(text) != length) {
    snprintf(why, size, "%s: not a text of a few lines", path);
    return TRISTAR_ERR_FORMAT;
  }
  const size_t mark = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* written by some editors */
  return parse(text + mark, path, calibration, why, size);
}

/* ---- Writing ------------------------------------------------------------------------------------------ */

/* Creates the folders of a file. Failures show when the file is opened. */
static void make_folders(const char *path) {
  char folder[sizeof((tristar_calibration *)0)->path];
  snprintf(folder, sizeof folder, "%s", path);
  for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)mkdir(folder, 0777);
    *slash = '/';
  }
}

static bool write_text(FILE *file, const int64_t value[KEYS]) {
  bool ok = fprintf(file, FORMAT_LINE "\n") > 0;
  for (int k = 0; k < KEYS; k++) ok = ok && fprintf(file, "%s %" PRId64 "\n", keys[k].name, value[k]) > 0;
  return ok;
}

tristar_status tsi_calibration_round(tsi_env *env, tristar_calibration *calibration) {
  int64_t value[KEYS];
  to_values(calibration, value);
  for (int k = 0; k < KEYS; k++)
    if (value[k] < keys[k].least || value[k] > keys[k].most)
      TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "%s %" PRId64 " is out of its range", keys[k].name, value[k]);
  from_values(value, calibration);
  return TRISTAR_OK;
}

tristar_status tsi_calibration_try(tsi_env *env, const char *path) {
  char temporary[sizeof((tristar_calibration *)NULL)->path + 8];
  make_folders(path);
  snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
  const int descriptor = mkstemp(temporary);
  if (descriptor < 0) TSI_FAIL(env, TRISTAR_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  close(descriptor);
  (void)unlink(temporary);
  return TRISTAR_OK;
}

tristar_status tsi_calibration_write(tsi_env *env, const tristar_calibration *calibration) {
  const char *path = calibration->path;
  char temporary[sizeof calibration->path + 8];
  int64_t value[KEYS];
  to_values(calibration, value);
  make_folders(path);
  snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
  const int descriptor = mkstemp(temporary);
  if (descriptor < 0) TSI_FAIL(env, TRISTAR_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  FILE *file = fdopen(descriptor, "w");
  bool ok = file != NULL && fchmod(descriptor, 0644) == 0 && write_text(file, value);
  if (file == NULL)
    close(descriptor);
  else if (fclose(file) != 0)
    ok = false;
  if (ok && rename(temporary, path) == 0) return TRISTAR_OK;
  const int cause = errno;
  (void)unlink(temporary);
  TSI_FAIL(env, TRISTAR_ERR_IO, "cannot write %s: %s", path, strerror(cause));
}

/* ---- What follows from the figures --------------------------------------------------------------------- */

#define TASKS_OF_FLOOR 16
#define FLOOR_LEAST 0.1e6
#define FLOOR_STEPS 5 /* powers of two above FLOOR_LEAST */

double tsi_calibration_floor(double task_microseconds, double read_gbps_one) {
  const double bytes = TASKS_OF_FLOOR * task_microseconds * read_gbps_one * 1e3;
  double floor = FLOOR_LEAST;
  for (int step = 0; step < FLOOR_STEPS && bytes * bytes > 2 * floor * floor; step++) floor *= 2;
  return floor;
}
