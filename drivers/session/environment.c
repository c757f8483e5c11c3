/* Variables for StarPU: see environment.h. */
#include "drivers/session/environment.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/session/console.h"
#include "drivers/session/launcher.h"
#include "runtime/base/variables.h"
#include "runtime/exec/starpu/blas.h"
#include "runtime/machine/calibration.h"
#include "runtime/exec/starpu/environment.h"

#define PATH_SIZE 4096

/* Returns the number of cores that this process may use. */
static int count_cores(void) {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

/* Only rank 0 prints warnings. */
static void warn(const char *text) {
  bool verbose = false;
  if (tsi_launched().rank == 0) tsi_console_log(&verbose, TRISTAR_LOG_WARNING, text);
}

/* ---- Options that overrule variables ------------------------------------------------------------------- */

static void choose_workers(const tsi_settings *settings) {
  char number[24], text[200];
  const char *given = getenv("STARPU_NCPU");
  const int cores = count_cores();
  if (settings->workers <= 0) return;
  if (given != NULL && strtol(given, NULL, 10) < settings->workers) {
    snprintf(text, sizeof text, "--workers %" PRId64 " overrules STARPU_NCPU=%.40s", settings->workers,
             given);
    warn(text);
  }
  if (settings->workers > cores) {
    snprintf(text, sizeof text,
             "--workers %" PRId64 ": more than the %d core%s that this process may use: workers share cores",
             settings->workers, cores, cores == 1 ? "" : "s");
    warn(text);
  }
  snprintf(number, sizeof number, "%" PRId64, settings->workers);
  (void)setenv("STARPU_NCPU", number, 1);
}

/* ---- The processor that OpenBLAS sees ------------------------------------------------------------------ */

void tsi_environment_restart(char **argv) {
  const char *took, *better;
  char program[PATH_SIZE];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1); /* the true name, for ps */
  if (length <= 0 || !tsi_blas_mistaken(&took, &better) || setenv("OPENBLAS_CORETYPE", better, 1) != 0)
    return;
  program[length] = '\0';
  (void)execv(program, argv);
}

/* ---- The folder of performance models ------------------------------------------------------------------ */

/* Makes a folder that only this user can access, in the folder of temporary files; an earlier run may have
 * made it. Returns false if this fails. */
static bool private_folder(char *path, size_t size) {
  struct stat info;
  const char *temporary = getenv("TMPDIR");
  if ((size_t)snprintf(path, size, "%s/tristar-%lu", temporary != NULL && *temporary ? temporary : "/tmp",
                       (unsigned long)geteuid()) >= size)
    return false;
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
  return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 077) == 0;
}

/* Replaces an unusable folder by a private one. An existing calibration stays in use. */
static void replace_folder(tsi_settings *settings) {
  char home[PATH_SIZE], calibration[PATH_SIZE];
  const bool calibrated = tsi_variable(TSI_VARIABLE_CALIBRATION) == NULL &&
                          tsi_calibration_path(calibration, sizeof calibration) &&
                          access(calibration, R_OK) == 0;
  if (!private_folder(home, sizeof home)) return; /* the library reports the defect */
  if (calibrated) (void)setenv("TRISTAR_CALIBRATION", calibration, 1);
  (void)unsetenv("STARPU_PERF_MODEL_DIR"); /* both would overrule STARPU_HOME */
  (void)unsetenv("XDG_CACHE_HOME");
  (void)setenv("STARPU_HOME", home, 1);
  const size_t used = strlen(settings->environment);
  snprintf(settings->environment + used, sizeof settings->environment - used, "; for now %.200s serves",
           home);
  warn(settings->environment);
}

static void keep_text(void *arg, const char *text) {
  tsi_settings *settings = arg;
  snprintf(settings->environment, sizeof settings->environment, "%s", text);
}

void tsi_environment_prepare(tsi_settings *settings) {
  if (settings->engine == TRISTAR_ENGINE_SERIAL) return;
  choose_workers(settings);
  if (settings->scheduler != NULL) (void)setenv("STARPU_SCHED", settings->scheduler, 1);
  if (tsi_starpu_folder_defects(keep_text, settings) > 0) replace_folder(settings);
}
