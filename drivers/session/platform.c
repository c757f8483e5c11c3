/* See platform.h. */
#include "drivers/session/platform.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/session/signals.h"
#include "runtime/solve/device_choice.h"

#define HOST "tristar" /* name of the simulated machine for StarPU */

/* Assumed: bytes per second that one core reads, the share of the memory bandwidth that all cores reach, and
 * StarPU's overhead of a task. */
#define CORE_BANDWIDTH 12e9
#define MEMORY_REACHED 0.8
#define TASK_NANOSECONDS 2000

/* In the order of the words of --platform. */
static const tsi_platform platforms[] = {
    {"a100", "AMD EPYC 7763, one socket; PCIe 4", "AMD EPYC 7763 product page (2021): 204.8 GB/s", 0,
     204.8e9},
    {"h100", "AMD EPYC 9354, one socket; PCIe 5", "AMD EPYC 9354 product page (2022): 460.8 GB/s", 1,
     460.8e9},
    {"gh200", "NVIDIA Grace, LPDDR5X; NVLink-C2C",
     "NVIDIA GH200 Grace Hopper Superchip data sheet (2023): 500 GB/s", 2, 500e9},
    {"mi250x", "AMD EPYC 7A53, one socket; Infinity Fabric", "Frontier user guide of OLCF (2022): 205 GB/s",
     4, 205e9},
};

const tsi_platform *tsi_platform_get(int number) {
  return number >= 0 && number < (int)(sizeof platforms / sizeof *platforms) ? &platforms[number] : NULL;
}

double tsi_platform_one(const tsi_platform *p) {
  const double all = MEMORY_REACHED * p->memory;
  return CORE_BANDWIDTH < all ? CORE_BANDWIDTH : all;
}

double tsi_platform_all(const tsi_platform *p, int cores) {
  const double all = MEMORY_REACHED * p->memory, sum = cores * CORE_BANDWIDTH;
  return sum < all ? sum : all;
}

/* ---- Files --------------------------------------------------------------------------------------------- */

typedef struct node {
  const tsi_platform *platform;
  const tsi_device *device;
  int cores, devices;
} node;

static double bus_bandwidth(const node *n) {
  return TSI_DEVICE_BUS_REACHED * n->device->bus;
}

/* Writes SimGrid's configuration as StarPU writes it: messages share only links, and have no overhead. */
static void write_machine(FILE *file, const node *n) {
  fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\">\n<config id=\"General\">\n"
        "<prop id=\"network/TCP-gamma\" value=\"-1\"></prop>\n"
        "<prop id=\"network/latency-factor\" value=\"1\"></prop>\n"
        "<prop id=\"network/bandwidth-factor\" value=\"1\"></prop>\n"
        "<prop id=\"network/weight-S\" value=\"0.0\"></prop>\n"
        "<prop id=\"network/crosstraffic\" value=\"0\"></prop>\n"
        "</config>\n<zone id=\"AS0\" routing=\"Full\">\n<host id=\"MAIN\" speed=\"1f\"/>\n",
        file);
  for (int c = 0; c < n->cores; c++) fprintf(file, "<host id=\"CPU%d\" speed=\"2000000000f\"/>\n", c);
  for (int d = 0; d < n->devices; d++)
    fprintf(file,
            "<host id=\"CUDA%d\" speed=\"2000000000f\"><prop id=\"model\" value=\"%s\"/>"
            "<prop id=\"memsize\" value=\"%.0f\"/></host>\n",
            d, n->device->title, n->device->memory);
  fputs("<host id=\"RAM\" speed=\"1f\"/>\n", file);
  for (int d = 0; d < n->devices; d++)
    for (int up = 0; up < 2; up++)
      fprintf(file, "<link id=\"%s%d\" bandwidth=\"%.0fBps\" latency=\"%.9fs\"/>\n", up ? "up" : "down", d,
              bus_bandwidth(n), TSI_DEVICE_BUS_SECONDS);
  for (int d = 0; d < n->devices; d++)
    fprintf(file,
            "<route src=\"RAM\" dst=\"CUDA%d\" symmetrical=\"NO\"><link_ctn id=\"up%d\"/></route>\n"
            "<route src=\"CUDA%d\" dst=\"RAM\" symmetrical=\"NO\"><link_ctn id=\"down%d\"/></route>\n",
            d, d, d, d);
  for (int d = 0; d < n->devices; d++)
    for (int e = 0; e < n->devices; e++)
      if (d != e)
        fprintf(file,
                "<route src=\"CUDA%d\" dst=\"CUDA%d\" symmetrical=\"NO\"><link_ctn id=\"down%d\"/><link_ctn "
                "id=\"up%d\"/>"
                "</route>\n",
                d, e, d, e);
  fputs("</zone>\n</platform>\n", file);
}

/* Writes a value for each pair of memories: `bus` for one bus, `two` for two buses in a row. */
static void write_matrix(FILE *file, const node *n, double bus, double two) {
  for (int from = 0; from <= n->devices; from++)
    for (int to = 0; to <= n->devices; to++)
      fprintf(file, "%e%c",
              from == to             ? 0
              : from == 0 || to == 0 ? bus
                                     : two,
              to == n->devices ? '\n' : '\t');
}
/* MB/s. */
static void write_bandwidth(FILE *file, const node *n) {
  const double bus = 1e-6 * bus_bandwidth(n);
  write_matrix(file, n, bus, bus / 2);
}
/* Microseconds. */
static void write_latency(FILE *file, const node *n) {
  const double bus = 1e6 * TSI_DEVICE_BUS_SECONDS;
  write_matrix(file, n, bus, 2 * bus);
}
static void write_config(FILE *file, const node *n) {
  fprintf(file, "%d # CPUs\n%d # CUDA devices\n0 # OpenCL devices\n", n->cores, n->devices);
}
static void write_calibration(FILE *file, const node *n) {
  fprintf(file,
          "tristar-calibration 1\ntask_ns %d\nbarrier_ns %d\nread_one_core_mb_per_s "
          "%.0f\nread_all_cores_mb_per_s %.0f\n"
          "workers %d\ncores %d\nnuma_nodes 1\nl2_bytes 0\nl3_bytes 0\nl3_cores 0\n",
          TASK_NANOSECONDS, 3 * TASK_NANOSECONDS, 1e-6 * tsi_platform_one(n->platform),
          n->cores > 1 ? 1e-6 * tsi_platform_all(n->platform, n->cores) : 0, n->cores, n->cores);
}

static const struct {
  const char *name;
  void (*write)(FILE *file, const node *n);
} files[] = {{"bus/" HOST ".platform.v4.xml", write_machine},
             {"bus/" HOST ".bandwidth", write_bandwidth},
             {"bus/" HOST ".latency", write_latency},
             {"bus/" HOST ".config", write_config},
             {"calibration", write_calibration}};
#define FILES (sizeof files / sizeof *files)
static const char *const folders[] = {"/bus", "/codelets", "/codelets/45"};
#define FOLDERS (sizeof folders / sizeof *folders)

static int write_file(const tsi_platform_folder *folder, size_t k, const node *n) {
  char path[sizeof folder->path + 40];
  snprintf(path, sizeof path, "%s/%s", folder->path, files[k].name);
  FILE *file = fopen(path, "w");
  if (file == NULL) return errno;
  files[k].write(file, n);
  const int code = ferror(file) ? EIO : 0;
  return fclose(file) != 0 ? errno : code;
}

static int write_all(const tsi_platform_folder *folder, const node *n) {
  char path[sizeof folder->path + 40];
  for (size_t k = 0; k < FOLDERS; k++) {
    snprintf(path, sizeof path, "%s%s", folder->path, folders[k]);
    if (mkdir(path, 0700) != 0) return errno;
  }
  for (size_t k = 0; k < FILES; k++) {
    const int code = write_file(folder, k, n);
    if (code != 0) return code;
  }
  return 0;
}

static int set_number(const char *name, int value) {
  char text[16];
  snprintf(text, sizeof text, "%d", value);
  return setenv(name, text, 1) == 0 ? 0 : errno;
}

static int name_files(const tsi_platform_folder *folder, const node *n) {
  char calibration[sizeof folder->path + 40];
  snprintf(calibration, sizeof calibration, "%s/calibration", folder->path);
  if (setenv("STARPU_PERF_MODEL_DIR", folder->path, 1) != 0 || setenv("STARPU_HOSTNAME", HOST, 1) != 0 ||
      setenv("TRISTAR_CALIBRATION", calibration, 1) != 0)
    return errno;
  int code = set_number("STARPU_NCPU", n->cores);
  if (code == 0) code = set_number("STARPU_NCUDA", n->devices);
  if (code == 0) code = set_number("STARPU_NOPENCL", 0);
  if (code == 0) code = set_number("STARPU_SILENT", 1);
  return code;
}

/* ---- The end ------------------------------------------------------------------------------------------- */

/* Paths to be removed, files first. Global because the signal handler needs them. */
static char made[FILES + FOLDERS + 1][sizeof((tsi_platform_folder *)0)->path + 40];
static volatile sig_atomic_t is_made;

static void list_made(const tsi_platform_folder *folder) {
  size_t count = 0;
  for (size_t k = 0; k < FILES; k++)
    snprintf(made[count++], sizeof made[0], "%s/%s", folder->path, files[k].name);
  for (size_t k = FOLDERS; k-- > 0;)
    snprintf(made[count++], sizeof made[0], "%s%s", folder->path, folders[k]);
  snprintf(made[count], sizeof made[0], "%s", folder->path);
  is_made = 1;
}

static void remove_made(void) {
  if (!is_made) return;
  for (size_t k = 0; k < FILES; k++) (void)unlink(made[k]);
  for (size_t k = FILES; k <= FILES + FOLDERS; k++) (void)rmdir(made[k]);
  is_made = 0;
}

int tsi_platform_install(const tsi_platform *platform, int cores, int devices, tsi_platform_folder *folder) {
  const node n = {platform, tsi_device_get(platform->device), cores, devices};
  const char *temporary = getenv("TMPDIR");
  const int length = snprintf(folder->path, sizeof folder->path, "%s/tristar-simulate-XXXXXX",
                              temporary != NULL && *temporary ? temporary : "/tmp");
  if (length >= (int)sizeof folder->path || mkdtemp(folder->path) == NULL) {
    const int code = length >= (int)sizeof folder->path ? ENAMETOOLONG : errno;
    folder->path[0] = '\0';
    return code;
  }
  list_made(folder);
  tsi_before_signals(remove_made);
  const int code = write_all(folder, &n);
  return code != 0 ? code : name_files(folder, &n);
}

void tsi_platform_guard(void) {
  tsi_before_signals(remove_made);
}

void tsi_platform_remove(void) {
  remove_made();
}
