/* `tristar env`: prints environment variables and the resulting configuration of StarPU, with warnings.
 *
 * Reads   the environment; StarPU, which it starts.   Writes  a report or JSON.
 * Invariant: TriStar's own variables are those of tristar_get_variable; the others are listed here. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/report/report.h"
#include "runtime/exec/starpu/blas.h"
#include "runtime/exec/starpu/environment.h"

extern char **environ;

typedef struct other_variable {
  const char *name, *fallback, *description;
} other_variable;

static const other_variable others[] = {
    {"STARPU_NCPU", "all cores", "number of CPU workers; --workers has precedence"},
    {"STARPU_SCHED", "lws", "scheduler; --sched has precedence"},
    {"STARPU_RESERVE_NCPU", "0", "number of cores without a worker"},
    {"STARPU_WORKERS_CPUID", "by StarPU", "the cores that workers are bound to"},
    {"STARPU_WORKERS_NOBIND", "0", "1: workers are not bound to cores"},
    {"STARPU_MAIN_THREAD_BIND", "0", "1: one core is reserved for the main thread"},
    {"STARPU_MPI_NOBIND", "0",
     "1: the MPI thread of StarPU 1.4 (transport starpu_mpi) is not bound to a core"},
    {"STARPU_NCUDA", "all",
     "number of CUDA workers, one per GPU; TriStar must be built with CUDA to use them"},
    {"STARPU_NHIP", "all", "number of HIP workers, one per GPU; TriStar must be built with HIP to use them"},
    {"STARPU_NOPENCL", "all", "number of OpenCL workers; TriStar has no tasks for them"},
    {"XDG_CACHE_HOME", "", "folder of .starpu, where performance models and the calibration are"},
    {"STARPU_HOME", "", "the same, if XDG_CACHE_HOME is not set"},
    {"HOME", "", "the same, if neither of the two is set"},
    {"STARPU_PERF_MODEL_DIR", ".starpu/sampling there", "folder of the performance models alone"},
    {"STARPU_HOSTNAME", "of the host", "name of the machine in those files"},
    {"STARPU_CALIBRATE", "0", "1: improve performance models, 2: discard them first (for dmda and the like)"},
    {"STARPU_PROFILING", "0", "1: profile workers and tasks"},
    {"STARPU_FXT_TRACE", "0", "1: write a trace, if StarPU was built with FxT"},
    {"STARPU_SILENT", "0", "1: StarPU prints no messages"},
    {"TMPDIR", "/tmp",
     "folder for temporary files: of tests, and of the program if .starpu cannot be written"},
    {"OPENBLAS_NUM_THREADS", "all cores", "threads of the BLAS; inside tasks TriStar uses one"},
    {"OPENBLAS_CORETYPE", "this processor",
     "processor whose kernels OpenBLAS uses; other kernels round differently"},
    {"OMP_NUM_THREADS", "all cores", "threads of a BLAS with OpenMP, and of other OpenMP code"},
    {"OMPI_COMM_WORLD_SIZE", "", "number of processes; set by mpiexec of Open MPI"},
    {"OMPI_MCA_mpi_yield_when_idle", "0",
     "1: processes that wait yield their core; for more processes than cores"},
    {"OMPI_MCA_btl", "by Open MPI", "transports of messages"}};
enum { OTHERS = sizeof others / sizeof others[0], WARNINGS_MAX = 24 };

typedef struct warning_list {
  char text[WARNINGS_MAX][1024];
  int count;
} warning_list;

__attribute__((format(printf, 2, 3))) static void warn(warning_list *list, const char *format, ...) {
  va_list args;
  if (list->count == WARNINGS_MAX) return;
  va_start(args, format);
  vsnprintf(list->text[list->count++], sizeof list->text[0], format, args);
  va_end(args);
}

/* ---- What may be wrong --------------------------------------------------------------------------------- */

/* Finds misspelled variables: those that are set, but unknown. */
static void find_unknown(warning_list *list) {
  const char *name;
  for (char **entry = environ; *entry != NULL; entry++) {
    const size_t length = strcspn(*entry, "=");
    bool exists = strncmp(*entry, "TRISTAR_", 8) != 0;
    for (int k = 0; !exists && tristar_get_variable(k, &name, NULL, NULL); k++)
      exists = strlen(name) == length && strncmp(*entry, name, length) == 0;
    if (!exists) warn(list, "%.*s is set, but TriStar has no such variable", (int)length, *entry);
  }
}

/* Adds a defect that prevents the start of StarPU. */
static void add_defect(void *arg, const char *text) {
  warn(arg, "%s", text);
}

static void judge_folder(warning_list *list, const tsi_settings *settings) {
  if (*settings->environment != '\0') warn(list, "%s", settings->environment);
  if (getenv("XDG_CACHE_HOME") == NULL && getenv("STARPU_HOME") == NULL && getenv("HOME") == NULL)
    warn(list,
         "none of XDG_CACHE_HOME, STARPU_HOME and HOME is set: .starpu is in the folder of temporary files");
}

static void judge(warning_list *list, const tsi_settings *settings, const tristar_starpu_info *info) {
  const char *requested = getenv("STARPU_NCPU");
  const char *took, *better;
  find_unknown(list);
  judge_folder(list, settings);
  if (tsi_blas_mistaken(&took, &better))
    warn(list,
         "OpenBLAS uses the kernels of a %s, which factor at half the speed: tristar sets "
         "OPENBLAS_CORETYPE=%s for itself; set it for other programs too",
         took, better);
  if (requested != NULL && requested[strspn(requested, "0")] == '\0')
    warn(list, "STARPU_NCPU=%s: no CPU worker, so nothing can be solved with tasks", requested);
  if (info->max_workers > 0 && info->cores > info->max_workers)
    warn(list,
         "this process may run on %s, but this StarPU was compiled for %d CPU workers at most, which is the "
         "number of cores that run tasks: tools/starpu builds one without this limit",
         tsi_text_many(info->cores, "core"), info->max_workers);
  const char *scheduler = getenv("STARPU_SCHED");
  if (scheduler != NULL && strcmp(scheduler, "modular-heteroprio-heft") == 0 && info->version[1] == 3)
    warn(list, "STARPU_SCHED=%s: with StarPU 1.3 its tasks may never end", scheduler);
  if (info->cores > 0 && info->cpu_workers > info->cores)
    warn(list, "%d CPU workers, but this process may run on %s: they share cores", info->cpu_workers,
         tsi_text_many(info->cores, "core"));
  if (info->bound_cores > 0 && info->cpu_workers > info->bound_cores)
    warn(list, "%d CPU workers are bound to %s: they share cores", info->cpu_workers,
         tsi_text_many(info->bound_cores, "core"));
}

/* ---- Report -------------------------------------------------------------------------------------------- */

static void print_variable(const char *name, const char *fallback, const char *description) {
  const char *value = getenv(name);
  char shown[80];
  if (value != NULL)
    snprintf(shown, sizeof shown, "= %s", value);
  else
    snprintf(shown, sizeof shown, "%s%s", *fallback != '\0' ? "default: " : "not set", fallback);
  printf("  %-28s %-36s %s\n", name, shown, description);
}

static void print_variables(void) {
  const char *name, *fallback, *description;
  puts("Variables of TriStar");
  for (int k = 0; tristar_get_variable(k, &name, &fallback, &description); k++)
    print_variable(name, fallback, description);
  puts("\nVariables of StarPU, of the BLAS and of MPI that matter most");
  for (int k = 0; k < OTHERS; k++) print_variable(others[k].name, others[k].fallback, others[k].description);
}

static void print_starpu(tristar_t *ts, const tristar_starpu_info *info) {
  char name[64];
  const char *scheduler;
  int core, used = 0;
  if (info->version[0] > 0)
    printf("\nStarPU %d.%d.%d\n", info->version[0], info->version[1], info->version[2]);
  else
    puts("\nStarPU, not started");
  if (info->workers > 0)
    printf("  %s on %s; scheduler %s; when idle they %s\n", tsi_text_many(info->cpu_workers, "CPU worker"),
           info->bound_cores > 0 ? tsi_text_many(info->bound_cores, "core") : "no cores of their own",
           info->scheduler, info->idle_sleep ? "sleep" : "poll");
  if (info->helper_threads > 0)
    printf("  %s of TriStar on further cores: they help with lanes and Krylov vectors, but run no tasks\n",
           tsi_text_many(info->helper_threads, "thread"));
  if (*info->driver != '\0')
    printf("  GPUs by %s: %d\n", info->driver, info->devices);
  else
    puts("  no GPUs: this TriStar, or its StarPU, is built without CUDA and HIP");
  for (int w = 0; tristar_get_worker(ts, w, name, sizeof name, &core); w++)
    printf(core >= 0 ? "  worker %d: %s, core %d\n" : "  worker %d: %s\n", w, name, core);
  printf("  schedulers:");
  for (int k = 0; tristar_get_scheduler(k, &scheduler, NULL); k++) {
    const int length = (int)strlen(scheduler) + 1;
    used = used + length > 90 ? length : used + length;
    printf(used == length && k > 0 ? "\n             %s" : " %s", scheduler);
  }
  putchar('\n');
}

static void print_warnings(const warning_list *list) {
  if (list->count > 0) puts("\nWarnings");
  for (int k = 0; k < list->count; k++) printf("  %s\n", list->text[k]);
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void add_variable(cJSON *list, const char *name, const char *fallback, const char *description) {
  const char *value = getenv(name);
  cJSON *object = tsi_json_add_item(list);
  cJSON_AddStringToObject(object, "name", name);
  if (value != NULL) cJSON_AddStringToObject(object, "value", value);
  cJSON_AddStringToObject(object, "default", fallback);
  cJSON_AddStringToObject(object, "description", description);
}

static void add_starpu(cJSON *object, tristar_t *ts, const tristar_starpu_info *info) {
  char text[64];
  const char *scheduler, *description;
  int core;
  snprintf(text, sizeof text, "%d.%d.%d", info->version[0], info->version[1], info->version[2]);
  cJSON_AddStringToObject(object, "starpu_version", text);
  cJSON_AddStringToObject(object, "scheduler", info->scheduler);
  TSI_JSON_NUMBERS(object, {"cpu_workers", info->cpu_workers}, {"starpu_max_workers", info->max_workers},
                   {"helper_threads", info->helper_threads}, {"cores", info->cores},
                   {"bound_cores", info->bound_cores});
  cJSON_AddBoolToObject(object, "idle_sleep", info->idle_sleep);
  cJSON_AddStringToObject(object, "driver", info->driver);
  cJSON_AddNumberToObject(object, "devices", info->devices);
  cJSON *workers = cJSON_AddArrayToObject(object, "workers");
  for (int w = 0; tristar_get_worker(ts, w, text, sizeof text, &core); w++) {
    cJSON *worker = tsi_json_add_item(workers);
    cJSON_AddStringToObject(worker, "name", text);
    if (core >= 0) cJSON_AddNumberToObject(worker, "core", core);
  }
  cJSON *schedulers = cJSON_AddArrayToObject(object, "schedulers");
  for (int k = 0; tristar_get_scheduler(k, &scheduler, &description); k++)
    cJSON_AddItemToArray(schedulers, cJSON_CreateString(scheduler));
}

static cJSON *make_json(tsi_session *s, const tristar_starpu_info *info, const warning_list *warnings) {
  const char *name, *fallback, *description;
  cJSON *object = tsi_json_status(s);
  cJSON *list = cJSON_AddArrayToObject(object, "variables");
  for (int k = 0; tristar_get_variable(k, &name, &fallback, &description); k++)
    add_variable(list, name, fallback, description);
  for (int k = 0; k < OTHERS; k++)
    add_variable(list, others[k].name, others[k].fallback, others[k].description);
  add_starpu(object, s->ts, info);
  cJSON *texts = cJSON_AddArrayToObject(object, "warnings");
  for (int k = 0; k < warnings->count; k++)
    cJSON_AddItemToArray(texts, cJSON_CreateString(warnings->text[k]));
  return object;
}

/* If StarPU cannot start or has no worker, the report has everything else, and the exit status is 1. */
int tsi_command_env(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  tristar_starpu_info info = {.scheduler = "", .driver = ""};
  static warning_list warnings;
  (void)tsi_starpu_defects(add_defect, &warnings);
  if (tsi_session_open(s, settings, "environment"))
    (void)tsi_session_check(s, tristar_get_starpu(s->ts, &info), "StarPU");
  judge(&warnings, settings, &info);
  tsi_console_clear();
  if (!settings->to_stdout) {
    print_variables();
    print_starpu(s->ts, &info);
    print_warnings(&warnings);
    fflush(stdout);
  }
  tsi_json_write(s, make_json(s, &info, &warnings));
  return tsi_session_close(s);
}
