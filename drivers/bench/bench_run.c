/* One turn of a contender of `tristar bench`: see bench.h.
 *
 * Reads   the JSON of its process; the end of its standard error, for the message of a failure. Does not
 * change the environment of this process: the contender's process gets another one. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/bench/bench.h"
#include "drivers/session/session.h"

extern char **environ;

enum { VARIABLES = 13 };
#define END_GRACE 10.0 /* seconds for a process to end by itself */

/* Variables that replace ours in the child; one without '=' is removed. */
typedef struct variables {
  char text[VARIABLES][320];
  int count;
} variables;

__attribute__((format(printf, 2, 3))) static void set(variables *v, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(v->text[v->count++], sizeof v->text[0], format, args);
  va_end(args);
}

/* The numbers of --fsai. */
static int64_t steps_of(const tsi_settings *settings) {
  return settings->steps > 0 ? settings->steps : 5;
}
static int64_t per_step_of(const tsi_settings *settings) {
  return settings->per_step > 0 ? settings->per_step : 3;
}
static double tolerance_of(const tsi_settings *settings) {
  return settings->tolerance >= 0 ? settings->tolerance : 1e-8;
}

/* All contenders test the norm of the residual itself, and begin with zero. Several processes on a machine
 * are not bound, share cores, and may run as root: Open MPI needs variables for this. */
static void list_krylov_variables(const tsi_bench_contender *contender, const tsi_settings *settings,
                                  variables *v) {
  const tsi_bench_krylov *krylov = contender->krylov;
  set(v, "OMPI_MCA_rmaps_base_oversubscribe=1");
  set(v, "OMPI_MCA_hwloc_base_binding_policy=none");
  set(v, "OMPI_MCA_mpi_yield_when_idle=1");
  set(v, "OMPI_ALLOW_RUN_AS_ROOT=1");
  set(v, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  if (krylov->petsc != NULL)
    set(v,
        "PETSC_OPTIONS=%s -ksp_norm_type unpreconditioned -ksp_rtol %.17g -ksp_atol 0 -ksp_max_it %" PRId64
        " -pc_factor_shift_type none -sub_pc_factor_shift_type none",
        krylov->petsc, tolerance_of(settings), settings->max_iterations);
  else if (contender->peer >= 0)
    set(v, "PEER_FSAI=%" PRId64 " %" PRId64 " %.17g %" PRId64, steps_of(settings), per_step_of(settings),
        tolerance_of(settings), settings->max_iterations);
}

static void list_variables(const tsi_bench_contender *contender, const tsi_settings *settings, variables *v) {
  v->count = 0;
  if (*tsi_bench_process_folder()) set(v, "TMPDIR=%s", tsi_bench_process_folder());
  if (contender->krylov != NULL) list_krylov_variables(contender, settings, v);
  if (contender->peer < 0) {
    if (contender->krylov == NULL) set(v, "STARPU_SCHED=%s", contender->scheduler);
    set(v, "STARPU_NCPU"); /* removed, so that the contender's --workers counts */
    return;
  }
  set(v, "OPENBLAS_NUM_THREADS=%d", contender->threads);
  set(v, "OMP_NUM_THREADS=%d", contender->threads);
}

static bool replaced(const char *entry, const variables *v) {
  for (int k = 0; k < v->count; k++) {
    const size_t length = strcspn(v->text[k], "=");
    if (strncmp(entry, v->text[k], length) == 0 && entry[length] == '=') return true;
  }
  return false;
}

/* Makes the environment of the child; free it. Its entries are ours and those of v. Returns NULL without
 * memory. */
static char **make_environment(variables *v) {
  size_t count = 0, kept = 0;
  while (environ[count] != NULL) count++;
  char **entries = malloc((count + VARIABLES + 1) * sizeof *entries);
  if (entries == NULL) return NULL;
  for (size_t k = 0; k < count; k++)
    if (!replaced(environ[k], v)) entries[kept++] = environ[k];
  for (int k = 0; k < v->count; k++)
    if (strchr(v->text[k], '=') != NULL) entries[kept++] = v->text[k];
  entries[kept] = NULL;
  return entries;
}

/* Writes a message how an unsuccessful process ended. more: added to the message if there is only an exit
 * status. */
static void report_end(tsi_bench_result *r, int status, const char *more) {
  if (WIFSIGNALED(status))
    snprintf(r->message, sizeof r->message, "ended by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
  else if (!tsi_bench_process_last_line(&r->process, r->message, sizeof r->message))
    snprintf(r->message, sizeof r->message, "exit status %d%s", WEXITSTATUS(status), more);
}

/* Does a run have another number of workers than requested? StarPU may be built for fewer. Plans without
 * tasks have none. */
static bool other_setting(const tsi_bench_contender *contender, const cJSON *figures, char *message,
                          size_t size) {
  const char *scheduler = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(figures, "scheduler"));
  const cJSON *workers = cJSON_GetObjectItemCaseSensitive(figures, "workers");
  if (contender->peer >= 0 || scheduler == NULL || strcmp(scheduler, "serial") == 0) return false;
  if (!cJSON_IsNumber(workers) || workers->valueint == contender->threads) return false;
  snprintf(message, size, "StarPU has only %d workers", workers->valueint);
  return true;
}

/* The words of a contender's command line. */
typedef struct command {
  char *word[32 + TSI_BENCH_OPTIONS_MAX];
  int count;
  char repeat[24], nrhs[24], workers[24], ranks[24], tolerance[32], iterations[24], pattern[96];
} command;

/* Adds a word; argv is not written to. */
static void add(command *w, const char *word) {
  w->word[w->count++] = (char *)word;
  w->word[w->count] = NULL;
}

static void add_option(command *w, const char *option, const char *value) {
  add(w, option);
  add(w, value);
}

/* Makes the command line of `tristar solve`, or `tristar trisolve` for a triangle. */
static void list_tristar(const tsi_bench_contender *contender, const tsi_bench_case *c, command *w) {
  const char *uplo = c->matrix->uplo;
  add(w, contender->program);
  add(w, uplo == NULL ? "solve" : "trisolve");
  add(w, c->matrix->path);
  add_option(w, "--repeat", w->repeat);
  add_option(w, "--nrhs", w->nrhs);
  add_option(w, "--workers", w->workers);
  add_option(w, "--json", "-");
  add(w, "--on-demand");
  if (uplo != NULL) {
    add_option(w, "--uplo", uplo);
    add_option(w, "--partition", *contender->variant ? contender->variant : tsi_options_word("partition", 0));
    add_option(w, "--refine", "0");        /* reports the error of the timed solves; it is checked here */
    add_option(w, "--tolerance", "1e300"); /* accepts any error */
    return;
  }
  if (!c->setup->settings->quick) add(w, "--report");
  if (c->matrix->pattern) add(w, "--laplacian");
  if (contender->option != NULL) add_option(w, contender->option, contender->value);
  for (int k = 0; c->setup->options[k] != NULL; k++) add(w, c->setup->options[k]);
}

/* Makes the command line of a Krylov method: `tristar krylov`, or the program of the peer. */
static void list_krylov(const tsi_bench_contender *contender, const tsi_bench_case *c, command *w) {
  const tsi_settings *settings = c->setup->settings;
  snprintf(w->ranks, sizeof w->ranks, "%d", contender->ranks);
  snprintf(w->tolerance, sizeof w->tolerance, "%.17g", tolerance_of(settings));
  snprintf(w->iterations, sizeof w->iterations, "%" PRId64, settings->max_iterations);
  snprintf(w->pattern, sizeof w->pattern, "steps=%" PRId64 ",per_step=%" PRId64 ",reduction=0",
           steps_of(settings), per_step_of(settings));
  if (contender->ranks > 1) {
    add(w, "/usr/bin/env"); /* finds mpiexec in PATH */
    add_option(w, "mpiexec", "-n");
    add(w, w->ranks);
  }
  add(w, contender->program);
  if (contender->peer >= 0) {
    add(w, c->matrix->path);
    add(w, w->repeat);
    return;
  }
  add(w, "krylov");
  add(w, c->matrix->path);
  add_option(w, "--method", contender->krylov->method);
  add_option(w, "--precond", contender->krylov->precond);
  if (strcmp(contender->krylov->precond, "fsai") == 0) add_option(w, "--fsai", w->pattern);
  add_option(w, "--norm", "residual");
  add_option(w, "--tol", w->tolerance);
  add_option(w, "--max-iterations", w->iterations);
  add_option(w, "--repeat", w->repeat);
  add_option(w, "--workers", w->workers);
  add_option(w, "--json", "-");
}

static void list_peer(const tsi_bench_contender *contender, const tsi_bench_case *c, command *w) {
  add(w, contender->program);
  add(w, "--on-demand");
  if (c->setup->settings->quick) add(w, "--quick");
  if (c->matrix->uplo != NULL) add_option(w, "--uplo", c->matrix->uplo);
  add(w, c->matrix->path);
  add(w, w->repeat);
  if (c->nrhs > 1) add(w, w->nrhs);
}

static bool start(const tsi_bench_contender *contender, const tsi_bench_case *c, tsi_bench_result *r) {
  command w = {.count = 0};
  variables v;
  snprintf(w.repeat, sizeof w.repeat, "%" PRId64, c->repeat);
  snprintf(w.nrhs, sizeof w.nrhs, "%" PRId64, c->nrhs);
  snprintf(w.workers, sizeof w.workers, "%d", contender->threads);
  if (contender->krylov != NULL)
    list_krylov(contender, c, &w);
  else if (contender->peer < 0)
    list_tristar(contender, c, &w);
  else
    list_peer(contender, c, &w);
  list_variables(contender, c->setup->settings, &v);
  tsi_bench_process_free(&r->process);
  char **environment = make_environment(&v);
  const int problem =
      environment == NULL ? ENOMEM : tsi_bench_process_start(&r->process, w.word, environment);
  free(environment);
  if (problem != 0)
    snprintf(r->message, sizeof r->message, "cannot start %.200s: %s", contender->program, strerror(problem));
  return problem == 0;
}

/* Reads the next figures of a running process. Returns NULL with a message if there are none. *quiet: only
 * because it ended with status 0 and printed nothing. */
static cJSON *next_figures(tsi_bench_result *r, double limit, void (*tick)(void *), void *arg, bool *quiet) {
  bool late;
  cJSON *figures = tsi_bench_process_read(&r->process, limit > 0 ? tsi_now() + limit : 0, tick, arg, &late);
  *quiet = false;
  if (figures != NULL) return figures;
  const int status = tsi_bench_process_end(&r->process, late ? 0 : END_GRACE);
  if (late) {
    r->late = true;
    r->stopped_s = cJSON_GetArraySize(r->rounds) == 0 ? tsi_now() - r->process.begin : 0;
    snprintf(r->message, sizeof r->message, "no end after %.0f s", limit);
  } else {
    *quiet = r->process.used == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    report_end(r, status, ", no figures");
  }
  return NULL;
}

cJSON *tsi_bench_turn(const tsi_bench_case *c, int k, double limit, void (*tick)(void *), void *arg) {
  const tsi_bench_contender *contender = &c->setup->contenders[k];
  tsi_bench_result *r = &c->results[k];
  cJSON *figures = NULL;
  bool again = r->process.pid == 0;
  r->late = false;
  if (!again) {
    tsi_bench_process_request(&r->process);
    figures = next_figures(r, limit, tick, arg, &again);
  }
  if (again && c->setup->settings->quick && cJSON_GetArraySize(r->rounds) > 0) {
    r->kept = false; /* it ended by itself, and is not prepared again */
    return NULL;
  }
  if (again) figures = start(contender, c, r) ? next_figures(r, limit, tick, arg, &again) : NULL;
  if (figures == NULL) return NULL;
  if (contender->krylov == NULL) tsi_bench_process_halt(&r->process); /* Krylov methods end by themselves */
  const char *reason = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(figures, "message"));
  if (reason != NULL) snprintf(r->message, sizeof r->message, "%s", reason);
  if (reason == NULL && !other_setting(contender, figures, r->message, sizeof r->message)) return figures;
  cJSON_Delete(figures);
  return NULL;
}

bool tsi_bench_dismiss(tsi_bench_result *r) {
  if (r->process.pid == 0) return true;
  const int status = tsi_bench_process_end(&r->process, END_GRACE);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  report_end(r, status, "");
  return false;
}
