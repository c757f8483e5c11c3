/* The calibration: unchanged defaults, derived figures, the file written and read, broken files, files that
 * cannot be written, measurements, plans that use it. Works in the current folder. */
#include <sys/stat.h>

#include "partition/cut/chunks.h"
#include "runtime/machine/calibration.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_stats.h"

static char warning[1024]; /* the latest warning */
static void store_warning(void *arg, tristar_log_level level, const char *text) {
  (void)arg;
  if (level == TRISTAR_LOG_WARNING) snprintf(warning, sizeof warning, "%s", text);
}

/* Creates a context with this calibration. */
static tristar_t *create(const char *calibration, int use_starpu) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_t *ts;
  config.use_starpu = use_starpu;
  config.log = store_warning;
  config.calibration = calibration;
  warning[0] = '\0';
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

static tristar_calibration get(tristar_t *ts) {
  tristar_calibration c;
  CHECK_OK(tristar_get_calibration(ts, &c));
  return c;
}

static void write_file(const char *path, const char *text, size_t size) {
  FILE *file = fopen(path, "w");
  CHECK(file != NULL && fwrite(text, 1, size, file) == size && fclose(file) == 0);
}

/* ---- Figures ------------------------------------------------------------------------------------------ */

static void check_options(double floor, double megabytes, double expected_ceiling) {
  tsi_chunk_options o;
  tsi_chunk_options_init(&o, floor, (tsi_count)(megabytes * 1e6 / 8), 8);
  CHECK(o.floor_bytes == floor && o.slice_bytes == 0.75 * floor && o.whole_bytes == 2 * floor);
  CHECK_MSG(o.ceiling_bytes == expected_ceiling, "%g MB: ceiling %g", megabytes, o.ceiling_bytes);
}

static void derived(void) {
  tristar_calibration c;
  tsi_chunk_options o;
  tsi_calibration_init(&c);
  CHECK(c.source == TRISTAR_CALIBRATION_DEFAULTS && c.path[0] == '\0');
  CHECK(c.floor_bytes == 0.4e6 && c.floor_bytes == TSI_CHUNK_FLOOR_BYTES);
  tsi_chunk_options_init(&o, c.floor_bytes, 1000, 8);
  CHECK(o.floor_bytes == 0.4e6 && o.slice_bytes == 0.3e6 && o.whole_bytes == 0.8e6);
  check_options(0.4e6, 0, 0.8e6);
  check_options(0.4e6, 102.4, 0.8e6);
  check_options(0.4e6, 256, 2e6);
  check_options(0.4e6, 4096, 8e6);
  check_options(0.1e6, 12.8, 0.2e6);
  check_options(0.1e6, 64, 0.5e6);
  check_options(3.2e6, 64, 6.4e6);
  check_options(3.2e6, 4096, 8e6);
  double before = 0;
  for (double us = 0.01; us < 1000; us *= 1.01) { /* monotone; a power of two times 0.1 MB */
    const double floor = tsi_calibration_floor(us, 15);
    int step = 0;
    while (step < 5 && floor != 0.1e6 * (1 << step)) step++;
    CHECK_MSG(floor == 0.1e6 * (1 << step), "%g us: floor %g", us, floor);
    CHECK(floor >= before);
    before = floor;
  }
  CHECK(tsi_calibration_floor(0.01, 15) == 0.1e6 && before == 3.2e6);
  for (double us = 1.2; us < 2.3; us += 0.01) CHECK(tsi_calibration_floor(us, 15) == 0.4e6);
  CHECK(tsi_calibration_floor(3.6, 15) == 0.8e6 && tsi_calibration_floor(1.8, 30) == 0.8e6);
}

/* ---- The file ----------------------------------------------------------------------------------------- */

static const char whole[] = "tristar-calibration 1\n"
                            "task_ns 7301\nbarrier_ns 9000\nread_one_core_mb_per_s 12345\n"
                            "read_all_cores_mb_per_s 98765\nworkers 16\ncores 16\nnuma_nodes 2\n"
                            "l2_bytes 1048576\nl3_bytes 33554432\nl3_cores 8\n";

static void there_and_back(void) {
  tristar_calibration c, read;
  char why[256];
  tsi_env env;
  tsi_env_init(&env);
  tsi_calibration_init(&c);
  snprintf(c.path, sizeof c.path, "new/folders/x.calibration");
  c.task_microseconds = 2.3456789;
  c.barrier_microseconds = 11.1;
  c.read_gbps_one = 21.98765;
  c.read_gbps_all = 301;
  c.workers = 48;
  c.cores = 96;
  c.numa_nodes = 4;
  c.l2_bytes = 2 << 20;
  c.l3_bytes = INT64_C(32) << 20;
  c.l3_cores = 12;
  c.multiply_gflops_one = 35.67891;
  c.floor_bytes = 1;
  CHECK_OK(tsi_calibration_round(&env, &c));
  CHECK_OK(tsi_calibration_write(&env, &c));
  CHECK(c.task_microseconds == 2.346 && c.floor_bytes == 0.8e6 && c.multiply_gflops_one == 35.679);
  tsi_calibration_init(&read);
  memcpy(read.path, c.path, sizeof read.path);
  CHECK_OK(tsi_calibration_read(c.path, &read, why, sizeof why));
  CHECK(memcmp(&read, &c, sizeof c) == 0);
  c.task_microseconds = 0; /* an invalid figure */
  CHECK_STATUS(tsi_calibration_round(&env, &c), TRISTAR_ERR_RUNTIME);
  write_file("whole", whole, sizeof whole - 1);
  CLEANUP(tristar_destroy) tristar_t *ts = create("whole", 0);
  c = get(ts);
  CHECK(warning[0] == '\0' && c.source == TRISTAR_CALIBRATION_FILE && strcmp(c.path, "whole") == 0);
  CHECK(c.task_microseconds == 7.301 && c.read_gbps_one == 12.345 && c.numa_nodes == 2 && c.l3_cores == 8);
  CHECK(c.floor_bytes == 1.6e6 && c.multiply_gflops_one == 0); /* a file of an earlier version */
  tristar_destroy(&ts);
  char marked[sizeof whole + 3] = "\xEF\xBB\xBF"; /* a byte order mark, which some editors write */
  strcat(marked, whole);
  write_file("marked", marked, strlen(marked));
  ts = create("marked", 0);
  CHECK(warning[0] == '\0' && get(ts).task_microseconds == 7.301);
}

/* The file must be refused, with a warning that contains `why`. */
static void refuse(const char *text, size_t size, const char *why) {
  write_file("broken", text, size);
  CLEANUP(tristar_destroy) tristar_t *ts = create("broken", 0);
  const tristar_calibration c = get(ts);
  char message[8];
  CHECK_MSG(strstr(warning, "broken") != NULL && strstr(warning, why) != NULL &&
                strstr(warning, "default") != NULL,
            "'%s' instead of '%s'", warning, why);
  CHECK(c.source == TRISTAR_CALIBRATION_DEFAULTS && c.floor_bytes == 0.4e6 && c.cores > 0);
  CHECK(strcmp(c.path, "broken") == 0);
  CHECK(tristar_get_error(ts, message, sizeof message) == 0); /* a warning, no error */
}

/* Replaces one line of the file, which must then be refused. */
static void refuse_line(const char *line, const char *by, const char *why) {
  char text[2 * sizeof whole];
  const char *at = strstr(whole, line);
  CHECK(at != NULL);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, by, at + strlen(line));
  refuse(text, strlen(text), why);
}

static void broken(void) {
  static char large[8192];
  memset(large, 'x', sizeof large);
  refuse("", 0, "missing");
  refuse("\n", 1, "broken:1: not \"tristar-calibration 1\"");
  refuse("tristar-calibration 1\n", 22, "task_ns is missing");
  refuse(large, sizeof large, "not a text");
  refuse("tristar-calibration 1\0\n", 23, "not a text");
  refuse(whole, 100, "broken:5: ");
  refuse_line("calibration 1", "calibration 2", "broken:1: ");
  refuse_line("task_ns 7301\n", "", "task_ns is missing");
  refuse_line("task_ns 7301", "task_ns 0", "broken:2: a number out of its range");
  refuse_line("task_ns 7301", "task_ns -5", "broken:2: not a whole number");
  refuse_line("task_ns 7301", "task_ns 7301.5", "broken:2: not a whole number");
  refuse_line("task_ns 7301", "task_ns", "broken:2: not a whole number");
  refuse_line("task_ns 7301", "task_ns 7301 us", "broken:2: not a whole number");
  refuse_line("task_ns 7301", "task_ns 99999999999999999999", "broken:2: not a whole number");
  refuse_line("task_ns 7301", "task_ns 7301\ntask_ns 7301", "broken:3: a key for the second time");
  refuse_line("task_ns", "task_us", "broken:2: an unknown key");
  refuse_line("task_ns", "task_n", "broken:2: an unknown key");
  refuse_line("cores 16\nnuma", "cores 16\n\nnuma", "broken:8: an unknown key");
  refuse_line("l3_cores 8\n", "l3_cores 8000000\n", "out of its range");
  CHECK(mkdir("folder", 0777) == 0 || access("folder", F_OK) == 0);
  CLEANUP(tristar_destroy) tristar_t *ts = create("folder", 0);
  CHECK(strstr(warning, "cannot read folder") != NULL && get(ts).source == TRISTAR_CALIBRATION_DEFAULTS);
}

/* Checks where the library looks for the file. */
static void choice(void) {
  char path[512], expected[512], home[400];
  CHECK(getcwd(home, sizeof home) != NULL);
  setenv("STARPU_HOSTNAME", "a-host", 1);
  setenv("STARPU_HOME", home, 1);
  unsetenv("XDG_CACHE_HOME");
  snprintf(expected, sizeof expected, "%s/.starpu/tristar/a-host.calibration", home);
  CHECK(tsi_calibration_path(path, sizeof path) && strcmp(path, expected) == 0);
  CHECK(!tsi_calibration_path(path, strlen(expected)));
  unsetenv("TRISTAR_CALIBRATION");
  unlink(expected);
  CLEANUP(tristar_destroy) tristar_t *ts = create(NULL, 0);
  CHECK(warning[0] == '\0' &&
        get(ts).source == TRISTAR_CALIBRATION_DEFAULTS); /* without a file there is no warning */
  CHECK(strcmp(get(ts).path, expected) == 0);
  tristar_destroy(&ts);
  setenv("TRISTAR_CALIBRATION", "whole", 1);
  ts = create(NULL, 0);
  CHECK(get(ts).source == TRISTAR_CALIBRATION_FILE);
  tristar_destroy(&ts);
  ts = create("off", 0); /* overrides the variable */
  CHECK(get(ts).source == TRISTAR_CALIBRATION_DEFAULTS && get(ts).path[0] == '\0');
  tristar_destroy(&ts);
  setenv("TRISTAR_CALIBRATION", "off", 1);
  ts = create(NULL, 0);
  CHECK(get(ts).source == TRISTAR_CALIBRATION_DEFAULTS && get(ts).path[0] == '\0');
  tristar_destroy(&ts);
  ts = create("none/there", 0); /* the user named the file, so a warning follows */
  CHECK(strstr(warning, "none/there") != NULL);
  tristar_destroy(&ts);
  char longest[600];
  memset(longest, 'a', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  ts = create(longest, 0);
  CHECK(strstr(warning, "too long") != NULL && get(ts).path[0] == '\0');
}

/* ---- Measuring and using ------------------------------------------------------------------------------ */

static double floor_of_plan(tristar_t *ts) {
  CLEANUP(flow_destroy) flow f;
  tristar_plan_stats stats;
  flow_create(ts, "s2d9pt", 40, TRISTAR_ENGINE_SERIAL, 0, &f);
  tristar_plan_get_stats(f.plan, &stats);
  CHECK(stats.ceiling_bytes == 2 * stats.floor_bytes);
  return stats.floor_bytes;
}

static void measure(void) {
  tristar_calibration c, used;
  unlink("measured");
  CLEANUP(tristar_destroy) tristar_t *ts = create("measured", 1);
  CHECK(floor_of_plan(ts) == 0.4e6);
  CHECK_OK(tristar_calibrate(ts, &c));
  CHECK(c.source == TRISTAR_CALIBRATION_MEASURED && strcmp(c.path, "measured") == 0);
  CHECK(c.task_microseconds > 0 && c.barrier_microseconds > 0 && c.workers == 2 && c.cores > 0);
  CHECK(c.read_gbps_one > 0 && c.read_gbps_all > 0 && c.numa_nodes > 0 && c.multiply_gflops_one > 0);
  CHECK(c.floor_bytes == tsi_calibration_floor(c.task_microseconds, c.read_gbps_one));
  used = get(ts);
  CHECK(memcmp(&used, &c, sizeof c) == 0 && floor_of_plan(ts) == c.floor_bytes);
  tristar_t *other = create("measured", 0);
  used = get(other);
  used.source = c.source;
  CHECK(memcmp(&used, &c, sizeof c) == 0 && floor_of_plan(other) == c.floor_bytes);
  CHECK_STATUS(tristar_calibrate(other, NULL), TRISTAR_ERR_UNSUPPORTED); /* no StarPU */
  CHECK_STATUS(tristar_get_calibration(other, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_calibrate(NULL, NULL), TRISTAR_ERR_ARGUMENT);
  tristar_destroy(&other);
  tristar_destroy(&ts);
  write_file("no_folder", "", 0);
  ts = create("no_folder/x", 1); /* root cannot write there either */
  CHECK_STATUS(tristar_calibrate(ts, NULL), TRISTAR_ERR_IO);
  CHECK_ERROR(ts, "cannot write no_folder/x");
  CHECK(get(ts).source == TRISTAR_CALIBRATION_DEFAULTS);
  tristar_destroy(&ts);
  ts = create("off", 1);
  CHECK_OK(tristar_calibrate(ts, &c));
  CHECK(c.path[0] == '\0' && get(ts).source == TRISTAR_CALIBRATION_MEASURED);
  CHECK(c.floor_bytes == tsi_calibration_floor(c.task_microseconds, c.read_gbps_one));
}

/* Judges attempts with these seconds of tasks and cores used by others. All other figures are equal in all
 * attempts. */
static tsi_calibration_quality judge(int count, const double *task, const double *others, int cores) {
  tsi_attempts a = {.count = count};
  double best[TSI_FIGURES];
  for (int k = 0; k < count; k++) {
    a.figure[TSI_FIGURE_TASK][k] = task[k];
    a.figure[TSI_FIGURE_BARRIER][k] = 7;
    a.figure[TSI_FIGURE_READ_ONE][k] = k == 0 ? 0.1 : 0; /* measured once, before StarPU runs */
    a.other_cores[k] = others[k];
  }
  const tsi_calibration_quality q = tsi_attempts_judge(&a, cores, best);
  double least = task[0];
  for (int k = 1; k < count; k++) least = fmin(least, task[k]);
  CHECK(q.attempts == count && best[TSI_FIGURE_TASK] == least && best[TSI_FIGURE_BARRIER] == 7);
  CHECK(best[TSI_FIGURE_READ_ONE] == 0.1 && best[TSI_FIGURE_READ_ALL] == 0);
  return q;
}

static void quality(void) {
  const double steady[] = {2, 1.1, 1, 3, 1.05, 2}, apart[] = {2, 1, 1.5, 1.5, 2, 3};
  const double quiet[] = {0, 0.1, 0, 0, 1, 0}, busy[] = {0.9, 1, 0, 0.8, 1, 0.9},
               unknown[] = {-1, -1, -1, -1, -1, -1};
  tsi_calibration_quality q = judge(6, steady, quiet, 2);
  CHECK(q.trusted && fabs(q.spread - 0.05) < 1e-12 && q.other_cores == 0);
  CHECK(!judge(3, steady, quiet, 2).trusted && judge(6, steady, unknown, 2).trusted);
  q = judge(6, apart, quiet, 2);
  CHECK(!q.trusted && q.spread == 0.5);
  q = judge(6, steady, busy, 2); /* one attempt without other load is not sufficient */
  CHECK(!q.trusted && q.other_cores == 0.8);
  CHECK(judge(6, steady, busy, 64).trusted); /* of 64 cores others may use one */
}

/* If an allocation fails, no memory is lost, and the figures stay the same. */
static void fail(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = create("off", 1);
  tristar_memory_stats memory;
  static const int64_t steps[] = {1, 3, 6, 25}; /* the array to read, its readers, tasks, barriers */
  for (size_t k = TSI_TESTS_SANITIZED ? 2 : 0; k < sizeof steps / sizeof steps[0]; k++) {
    tristar_get_memory(ts, &memory);
    const size_t before = memory.current_bytes;
    CHECK_OK(tristar_fail_allocation(ts, steps[k]));
    CHECK_STATUS(tristar_calibrate(ts, NULL), TRISTAR_ERR_MEMORY);
    tristar_get_memory(ts, &memory);
    CHECK(memory.current_bytes == before);
    CHECK(get(ts).source == TRISTAR_CALIBRATION_DEFAULTS);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(derived());
  RUN(there_and_back());
  RUN(broken());
  RUN(choice());
  RUN(quality());
  RUN(measure());
  RUN(fail());
  return 0;
}
