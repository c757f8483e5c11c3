/* Finds defects for which StarPU would end the program: see environment.h. */
#include "runtime/exec/starpu/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <starpu.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/exec/starpu/binding.h"
#include "runtime/exec/starpu/simulation.h"

/* Variables that StarPU 1.3 or 1.4 read as nonnegative whole numbers, without their prefix "STARPU_". */
static const char *const whole_numbers[] = {
    // clang-format off
    "AUTOHETEROPRIO_FREEZE_GATHERING", "AUTOHETEROPRIO_ORDERING_INTERVAL",
    "AUTOHETEROPRIO_PRINT_AFTER_ORDERING", "AUTOHETEROPRIO_PRINT_DATA_ON_UPDATE",
    "AUTOHETEROPRIO_PRIORITY_ORDERING_POLICY", "AUTOHETEROPRIO_TIME_ESTIMATION_POLICY", "BACKOFF_MAX",
    "BACKOFF_MIN", "BUS_CALIBRATE", "BUS_STATS", "CALIBRATE", "CALIBRATE_MINIMUM", "CATCH_SIGNALS",
    "CHECK_ENTIRE_PLATFORM", "CODELET_PROFILING", "COMM_STATS", "CUDA_ONLY_FAST_ALLOC_OTHER_MEMNODES",
    "CUDA_PIPELINE", "CUDA_THREAD_PER_DEV", "CUDA_THREAD_PER_WORKER", "DATA_LOCALITY_ENFORCE",
    "DIDUSE_BARRIER", "DISABLE_ASYNCHRONOUS_COPY", "DISABLE_ASYNCHRONOUS_CUDA_COPY",
    "DISABLE_ASYNCHRONOUS_HIP_COPY", "DISABLE_ASYNCHRONOUS_MAX_FPGA_COPY", "DISABLE_ASYNCHRONOUS_MIC_COPY",
    "DISABLE_ASYNCHRONOUS_MPI_MS_COPY", "DISABLE_ASYNCHRONOUS_OPENCL_COPY",
    "DISABLE_ASYNCHRONOUS_TCPIP_MS_COPY", "DISABLE_KERNELS", "DISABLE_PINNING", "DISK_SWAP_SIZE",
    "DISPLAY_BINDINGS", "ENABLE_CUDA_GPU_GPU_DIRECT", "ENABLE_MAP", "ENERGY_PROFILING",
    "EXPECTED_TRANSFER_TIME_WRITEBACK", "FXT_TRACE", "GENERATE_TRACE", "GLOBAL_ARBITER",
    "HETEROPRIO_CODELET_GROUPING_STRATEGY", "HETEROPRIO_USE_AUTO_CALIBRATION", "HETEROPRIO_USE_LA",
    "HIP_PIPELINE", "HIP_THREAD_PER_DEV", "HIP_THREAD_PER_WORKER", "HISTORY_MAX_ERROR", "LIMIT_BANDWIDTH",
    "LIMIT_CPU_MEM", "LIMIT_CPU_NUMA_MEM", "LIMIT_CUDA_MEM", "LIMIT_HIP_MEM", "LIMIT_MAX_FPGA_MEM",
    "LIMIT_MAX_SUBMITTED_TASKS", "LIMIT_MIN_SUBMITTED_TASKS", "LIMIT_OPENCL_MEM", "MAIN_THREAD_BIND",
    "MAIN_THREAD_COREID", "MAIN_THREAD_CPUID", "MALLOC_SIMULATION_FOLD", "MAX_MEMORY_USE", "MAX_PRIO",
    "MAX_WORKERSIZE", "MEMORY_STATS", "MINIMUM_AVAILABLE_MEM", "MINIMUM_CLEAN_BUFFERS", "MIN_PRIO",
    "MIN_WORKERSIZE", "MPI_CACHE", "MPI_CACHE_STATS", "MPI_COOP_SENDS", "MPI_DEBUG_LEVEL_MAX",
    "MPI_DEBUG_LEVEL_MIN", "MPI_DRIVER_CALL_FREQUENCY", "MPI_DRIVER_TASK_FREQUENCY",
    "MPI_EARLYDATA_ALLOCATE", "MPI_FAKE_RANK", "MPI_FAKE_SIZE", "MPI_GPUDIRECT", "MPI_MASTER_NODE",
    "MPI_MEM_THROTTLE", "MPI_MS_MULTIPLE_THREAD", "MPI_NDETACHED_SEND", "MPI_NOBIND", "MPI_NREADY_PROCESS",
    "MPI_PRIORITIES", "MPI_PSM2", "MPI_RECV_WAIT_FINALIZE", "MPI_REDUX_ARITY_THRESHOLD", "MPI_STATS",
    "MPI_THREAD_COREID", "MPI_THREAD_CPUID", "MPI_THREAD_MULTIPLE_SEND", "MPI_TRACE_SYNC_CLOCKS", "NCPU",
    "NCPUS", "NCUDA", "NHIP", "NMAX_FPGA", "NMIC", "NMICTHREADS", "NMPIMSTHREADS", "NMPI_MS", "NOPENCL",
    "NTASKS_THRESHOLD", "NTCPIPMSTHREADS", "NTCPIP_MS", "NTHREADS_PER_CORE", "NWORKER_PER_CUDA",
    "NWORKER_PER_HIP", "OPENCL_ONLY_ON_CPUS", "OPENCL_ON_CPUS", "OPENCL_PIPELINE", "PCI_FLAT",
    "PERF_MODEL_HOMOGENEOUS_CPU", "PERF_MODEL_HOMOGENEOUS_CUDA", "PERF_MODEL_HOMOGENEOUS_MIC",
    "PERF_MODEL_HOMOGENEOUS_MPI_MS", "PERF_MODEL_HOMOGENEOUS_OPENCL", "PREFETCH", "RAND_SEED",
    "RESERVE_NCPU", "SCHED_GRAPH_TEST_DESCENDANTS", "SCHED_READY", "SCHED_SORTED_ABOVE",
    "SCHED_SORTED_BELOW", "SILENT", "SIMGRID", "SIMGRID_CUDA_MALLOC_COST", "SIMGRID_CUDA_QUEUE_COST",
    "SIMGRID_FETCHING_INPUT_COST", "SIMGRID_SCHED_COST", "SIMGRID_TASK_PUSH_COST",
    "SIMGRID_TASK_SUBMIT_COST", "SIMGRID_TRANSFER_COST", "SINGLE_COMBINED_WORKER", "STATS", "SUBALLOCATOR",
    "SYNTHESIZE_ARITY_COMBINED_WORKER", "TARGET_AVAILABLE_MEM", "TARGET_CLEAN_BUFFERS",
    "TASK_BREAK_ON_EXEC", "TASK_BREAK_ON_POP", "TASK_BREAK_ON_PUSH", "TASK_BREAK_ON_SCHED", "TASK_PROGRESS",
    "TCPIP_MS_MULTIPLE_THREAD", "TCPIP_MS_PORT", "TCPIP_MS_SLAVES", "TCPIP_USE_LOCAL_SOCKET",
    "TRACE_BUFFER_SIZE", "USE_NUMA", "WATCHDOG_CRASH", "WATCHDOG_DELAY", "WORKERS_GETBIND",
    "WORKERS_NOBIND", "WORKER_TREE",
    // clang-format on
};
/* Variables that it reads as numbers. */
static const char *const numbers[] = {"SCHED_ALPHA",     "SCHED_BETA",       "SCHED_GAMMA",
                                      "IDLE_POWER",      "WINDOW_TIME_SIZE", "EXP_LEN_THRESHOLD",
                                      "WATCHDOG_TIMEOUT"};
/* Variables that it reads as lists of whole numbers, such as "0 2" or, if the numbers are cores, "0,2-3". */
static const char *const lists[] = {"WORKERS_CPUID", "WORKERS_COREID",   "WORKERS_CUDAID",
                                    "WORKERS_HIPID", "WORKERS_OPENCLID", "WORKERS_MICID"};

/* Receiver of defects. */
typedef struct reporter {
  void (*report)(void *arg, const char *text);
  void *arg;
  int reported;
} reporter;

__attribute__((format(printf, 2, 3))) static void report(reporter *t, const char *format, ...) {
  char text[TSI_MESSAGE_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  t->reported++;
  t->report(t->arg, text);
}

/* ---- Numbers ------------------------------------------------------------------------------------------- */

/* The value of a variable of StarPU, or NULL. variable: receives its whole name. */
static const char *get(const char *name, char variable[64]) {
  snprintf(variable, 64, "STARPU_%s", name);
  return getenv(variable);
}

static void check_whole_number(reporter *t, const char *name) {
  char variable[64], *end;
  const char *value = get(name, variable);
  if (value == NULL) return;
  const long number = strtol(value, &end, 10);
  if (*end != '\0' || number < 0)
    report(t, "%s is \"%.60s\": it must be a whole number that is not negative", variable, value);
  else if (number > INT_MAX)
    report(t, "%s is \"%.60s\": StarPU reads whole numbers up to %d", variable, value, INT_MAX);
}

static void check_number(reporter *t, const char *name) {
  char variable[64], *end;
  const char *value = get(name, variable);
  if (value == NULL) return;
  (void)strtod(value, &end);
  if (*end != '\0') report(t, "%s is \"%.60s\": it must be a number", variable, value);
}

/* Counts the numbers of a list as StarPU reads them: up to the first text that is no number, and of "2-5" all
 * from 2 to 5. Returns -1 if there is none, or a negative one. */
static long count_list(const char *text) {
  long count = 0;
  char *end;
  for (;; text = *end == ',' ? end + 1 : end) {
    const long first = strtol(text, &end, 10);
    if (end == text) return count > 0 ? count : -1;
    if (first < 0) return -1;
    long last = first;
    if (*end == '-' && end[1] >= '0' && end[1] <= '9')
      last = strtol(end + 1, &end, 10);
    else if (*end == '-')
      end++;
    if (last - first >= STARPU_NMAXWORKERS) return STARPU_NMAXWORKERS;
    count += last > first ? last - first + 1 : 1;
  }
}

static void check_list(reporter *t, const char *name) {
  char variable[64];
  const char *value = get(name, variable);
  if (value == NULL) return;
  const long count = count_list(value);
  if (count < 0)
    report(t, "%s is \"%.60s\": it must be a list of whole numbers that are not negative", variable, value);
  else if (count >= STARPU_NMAXWORKERS)
    report(t, "%s is \"%.60s\": this StarPU reads lists of fewer than %d numbers", variable, value,
           STARPU_NMAXWORKERS);
}

/* Variables whose largest values depend on the machine. check_whole_number finds their other errors. */
static void check_machine(reporter *t) {
  static const char *const names[] = {"MAIN_THREAD_CPUID", "MAIN_THREAD_COREID", "NTHREADS_PER_CORE"};
  int cores = 0, units = 0;
  char variable[64];
  for (int k = 0; k < 3; k++) {
    const char *value = get(names[k], variable);
    if (value == NULL || (cores == 0 && !tsi_binding_count(&cores, &units))) continue;
    const long number = strtol(value, NULL, 10), first = k == 2;
    const long most = k == 0 ? units - 1 : k == 1 ? cores - 1 : units / cores;
    if (number < first || number > most)
      report(t, "%s is \"%.60s\": this machine allows %ld to %ld", variable, value, first, most);
  }
}

/* StarPU makes file names of the name of the machine. */
static void check_host(reporter *t) {
  const char *name = getenv("STARPU_HOSTNAME");
  if (name != NULL && strchr(name, '/') != NULL)
    report(t, "STARPU_HOSTNAME is \"%.60s\": StarPU makes file names of it, so it must not contain /", name);
}

/* With an unknown scheduler StarPU would take another one, and warn on the terminal. */
static void check_scheduler(reporter *t) {
  const char *name = getenv("STARPU_SCHED");
  if (name == NULL || *name == '\0' || getenv("STARPU_SCHED_LIB") != NULL || strncmp(name, "heft", 4) == 0)
    return;
  for (struct starpu_sched_policy **p = starpu_sched_get_predefined_policies(); *p != NULL; p++)
    if (strcmp((*p)->policy_name, name) == 0) return;
  report(t, "StarPU has no scheduler '%.60s', which STARPU_SCHED asks for (tristar env lists those it has)",
         name);
}

/* ---- Folders ------------------------------------------------------------------------------------------- */

const char *tsi_starpu_home(void) {
  static const char *const variables[] = {"XDG_CACHE_HOME", "STARPU_HOME", "HOME", "TMPDIR", "TEMP", "TMP"};
  for (size_t k = 0; k < sizeof variables / sizeof variables[0]; k++) {
    const char *value = getenv(variables[k]);
    if (value != NULL) return value;
  }
  return "/tmp";
}

void tsi_starpu_host(char *host, size_t size) {
  const char *given = getenv("STARPU_HOSTNAME");
  if (given != NULL)
    snprintf(host, size, "%s", given);
  else if (gethostname(host, size - 1) != 0)
    snprintf(host, size, "unknown");
  host[size - 1] = '\0';
  if (given == NULL) host[strcspn(host, ".")] = '\0';
}

/* Creates a folder and its parents, as StarPU does; returns 0 or an errno. */
static int make_folder(const char *path) {
  char part[TSI_MESSAGE_SIZE];
  struct stat is;
  snprintf(part, sizeof part, "%s", path);
  for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
    if (slash != NULL) *slash = '\0';
    if (mkdir(part, S_IRWXU) != 0 && errno != EEXIST && stat(part, &is) != 0) return errno;
    if (stat(part, &is) != 0) return errno;
    if (!S_ISDIR(is.st_mode)) return ENOTDIR;
    if (slash == NULL) return 0;
    *slash = '/';
  }
}

#define PATH_MAX_OF_STARPU 255 /* longer names are cut */
#define ADVICE "set STARPU_HOME to a folder that can be written"

/* Creates a file in the folder, as large as StarPU's files there, and removes it. Returns 0 or an errno. */
static int try_space(const char *folder) {
  const char content[1 << 12] = {0};
  char file[2 * PATH_MAX_OF_STARPU];
  snprintf(file, sizeof file, "%s/tristar-XXXXXX", folder);
  const int fd = mkostemp(file, O_CLOEXEC);
  if (fd < 0) return errno;
  errno = ENOSPC; /* for a write that is cut */
  int code = 0;
  for (int k = 0; k < 16 && code == 0; k++)
    if (write(fd, content, sizeof content) != (ssize_t)sizeof content) code = errno;
  if (close(fd) != 0 && code == 0) code = errno;
  unlink(file);
  return code;
}

#define LOOKS 10 /* at a file that another process may be writing */

/* Whether a file of StarPU is empty or lacks its end, because its writer was killed or the disk was full.
 * StarPU locks a file while it writes it, but creates it before. */
static bool is_cut_off(const char *file) {
  const struct timespec pause = {.tv_nsec = 10000000};
  for (int look = 0; look < LOOKS; look++) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    char last = '\0';
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    (void)fcntl(fd, F_SETLKW, &lock);
    const bool complete = lseek(fd, -1, SEEK_END) >= 0 && read(fd, &last, 1) == 1 && last == '\n';
    close(fd);
    if (complete) return false;
    nanosleep(&pause, NULL);
  }
  return true;
}

/* Checks a folder of StarPU: it must exist or be created, and must be writable unless it contains `content`.
 * Returns whether it is all right. */
static bool check_one_folder(reporter *t, const char *base, const char *name, const char *content) {
  char path[PATH_MAX_OF_STARPU + 1], file[2 * sizeof path];
  snprintf(path, sizeof path, "%s/%s", base, name);
  int code = make_folder(path);
  if (code != 0) {
    report(t, "StarPU cannot make its folder %s (%s): %s", path, strerror(code), ADVICE);
    return false;
  }
  snprintf(file, sizeof file, "%s/%s", path, content);
  if (access(file, R_OK) == 0) return true;
  code = access(path, W_OK | X_OK) == 0 ? try_space(path) : errno;
  if (code == 0) return true;
  report(t, "StarPU cannot write to its folder %s (%s): %s", path, strerror(code), ADVICE);
  return false;
}

/* The files of StarPU that it reads at its start: bus/HOST.NAME; it measures and writes them if one is
 * missing. */
#define FILES 4
static const char *const file_names[FILES] = {"config", "affinity", "latency", "bandwidth"};

static void check_files(reporter *t, const char *base, const char *host) {
  char file[2 * PATH_MAX_OF_STARPU];
  for (int k = 0; k < FILES; k++) {
    snprintf(file, sizeof file, "%s/bus/%s.%s", base, host, file_names[k]);
    if (!is_cut_off(file)) continue;
    report(t, "the file %s of StarPU is empty or cut off: remove it", file);
    return;
  }
}

/* The folder of StarPU's performance models, cut to PATH_MAX_OF_STARPU. Returns its full length. */
static int models_folder(char base[PATH_MAX_OF_STARPU + 1]) {
  const char *given = getenv("STARPU_PERF_MODEL_DIR");
  const size_t size = PATH_MAX_OF_STARPU + 1;
  return given != NULL ? snprintf(base, size, "%s", given)
                       : snprintf(base, size, "%s/.starpu/sampling", tsi_starpu_home());
}

static void check_folders(reporter *t) {
  char base[PATH_MAX_OF_STARPU + 1], host[128], config[sizeof host + 10];
  const int length = models_folder(base);
  if (length + (int)sizeof "/codelets/45/" > PATH_MAX_OF_STARPU) {
    report(t, "the folder %.200s... for StarPU's performance models has too long a name: %s", base, ADVICE);
    return;
  }
  tsi_starpu_host(host, sizeof host);
  snprintf(config, sizeof config, "%s.config", host);
  if (check_one_folder(t, base, "codelets", "45") && /* the version of its files in StarPU 1.3 and 1.4 */
      check_one_folder(t, base, "bus", config))
    check_files(t, base, host);
}

/* Whether StarPU will read its files and write none. */
static bool is_measured(const char *base, const char *host) {
  char file[2 * PATH_MAX_OF_STARPU];
  const char *again = getenv("STARPU_BUS_CALIBRATE");
  if (again != NULL && strtol(again, NULL, 10) != 0) return false;
  for (int k = 0; k < FILES; k++) {
    snprintf(file, sizeof file, "%s/bus/%s.%s", base, host, file_names[k]);
    if (access(file, R_OK) != 0) return false;
  }
  return true;
}

/* flock, again after signals. */
static bool lock_file(int fd, int how) {
  int code;
  do code = flock(fd, how);
  while (code != 0 && errno == EINTR);
  return code == 0;
}

int tsi_starpu_lock_files(void) {
  char base[PATH_MAX_OF_STARPU + 1], host[128], file[2 * PATH_MAX_OF_STARPU];
  tsi_starpu_host(host, sizeof host);
  if (TSI_IS_SIMULATED || models_folder(base) + (int)sizeof "/bus" > PATH_MAX_OF_STARPU ||
      strchr(host, '/') != NULL)
    return -1;
  snprintf(file, sizeof file, "%s/bus", base);
  if (make_folder(file) != 0) return -1;
  snprintf(file, sizeof file, "%s/bus/%s.tristar-lock", base, host);
  const int fd =
      open(file, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
  if (fd < 0) return -1;
  if (!lock_file(fd, LOCK_SH) || is_measured(base, host)) return fd;
  /* Unlocked first: over NFS two processes that both keep a shared lock would wait for each other. */
  (void)lock_file(fd, LOCK_UN);
  if (lock_file(fd, LOCK_EX) && is_measured(base, host))
    (void)lock_file(fd, LOCK_SH); /* another process has measured in the meantime */
  return fd;
}

void tsi_starpu_unlock_files(int fd) {
  if (fd < 0) return;
  (void)lock_file(fd, LOCK_UN); /* a child of fork() may have the descriptor as well */
  close(fd);
}

/* ---- All ----------------------------------------------------------------------------------------------- */

int tsi_starpu_folder_defects(void (*report_one)(void *arg, const char *text), void *arg) {
  reporter t = {report_one, arg, 0};
  check_folders(&t);
  return t.reported;
}

int tsi_starpu_defects(void (*report_one)(void *arg, const char *text), void *arg) {
  reporter t = {report_one, arg, 0};
  for (size_t k = 0; k < sizeof whole_numbers / sizeof whole_numbers[0]; k++)
    check_whole_number(&t, whole_numbers[k]);
  for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) check_number(&t, numbers[k]);
  for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) check_list(&t, lists[k]);
  if (t.reported == 0 && !TSI_IS_SIMULATED) check_machine(&t);
  check_host(&t);
  check_scheduler(&t);
  return t.reported + tsi_starpu_folder_defects(report_one, arg);
}

static void keep_first(void *arg, const char *text) {
  char *first = arg;
  if (*first == '\0') snprintf(first, TSI_MESSAGE_SIZE, "%s", text);
}

tristar_status tsi_starpu_check_environment(const tsi_env *env) {
  char first[TSI_MESSAGE_SIZE] = "";
  if (tsi_starpu_defects(keep_first, first) > 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "%s", first);
  return TRISTAR_OK;
}
