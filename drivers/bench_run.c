/* One turn of a contender of `tristar bench`: see bench.h.
 *
 * Reads   the JSON of its process; the end of its standard error, for the message of a failure. Changes
 * nothing of this process: the contender's gets an environment of its own. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/bench.h"
#include "drivers/session.h"

extern char **environ;

enum { VARIABLES = 5 };
#define END_GRACE 10.0 /* seconds for a process to end by itself */

/* Variables that the child gets instead of ours; one without '=' is taken away. */
typedef struct variables {
  char text[VARIABLES][80];
  int count;
} variables;

static void list_variables(const tsi_bench_contender *contender, variables *v) {
  v->count = 0;
  if (contender->peer < 0) {
    snprintf(v->text[v->count++], sizeof v->text[0], "STARPU_SCHED=%s", contender->scheduler);
    snprintf(v->text[v->count++], sizeof v->text[0],
             "STARPU_NCPU"); /* of this process, not the contender's --workers */
    return;
  }
  snprintf(v->text[v->count++], sizeof v->text[0], "OPENBLAS_NUM_THREADS=%d", contender->threads);
  snprintf(v->text[v->count++], sizeof v->text[0], "OMP_NUM_THREADS=%d", contender->threads);
}

static bool replaced(const char *entry, const variables *v) {
  for (int k = 0; k < v->count; k++) {
    const size_t length = strcspn(v->text[k], "=");
    if (strncmp(entry, v->text[k], length) == 0 && entry[length] == '=') return true;
  }
  return false;
}

/* The environment of the child, to be freed; its entries are ours and those of v. NULL without memory. */
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

/* How a process has ended that did not succeed. more: what is to be added to a mere exit status. */
static void tell_end(tsi_bench_result *r, int status, const char *more) {
  if (WIFSIGNALED(status))
    snprintf(r->message, sizeof r->message, "ended by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
  else if (!tsi_process_last_line(&r->process, r->message, sizeof r->message))
    snprintf(r->message, sizeof r->message, "exit status %d%s", WEXITSTATUS(status), more);
}

/* StarPU takes fewer workers where it is built for fewer. Plans without tasks have none. */
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
  char *word[24 + TSI_BENCH_OPTIONS_MAX];
  int count;
  char repeat[24], nrhs[24], workers[24];
} command;

/* argv is not written to. */
static void add(command *w, const char *word) {
  w->word[w->count++] = (char *)word;
  w->word[w->count] = NULL;
}

static void add_option(command *w, const char *option, const char *value) {
  add(w, option);
  add(w, value);
}

/* `tristar solve`, or of a triangle `tristar trisolve`. */
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
    add_option(w, "--refine", "0"); /* the error is that of the solves that are timed; it is judged here */
    add_option(w, "--tolerance", "inf");
    return;
  }
  add(w, "--report");
  if (c->matrix->pattern) add(w, "--laplacian");
  if (*contender->variant) add_option(w, "--variant", contender->variant);
  for (int k = 0; c->setup->options[k] != NULL; k++) add(w, c->setup->options[k]);
}

static void list_peer(const tsi_bench_contender *contender, const tsi_bench_case *c, command *w) {
  add(w, contender->program);
  add(w, "--on-demand");
  if (c->matrix->uplo != NULL) add_option(w, "--uplo", c->matrix->uplo);
  add(w, c->matrix->path);
  add(w, w->repeat);
  if (c->nrhs > 1) add(w, w->nrhs);
}

static bool start(const tsi_bench_contender *contender, const tsi_bench_case *c, tsi_bench_result *r) {
  command w = {.count = 0};
  variables v;
  snprintf(w.repeat, sizeof w.repeat, "%" PRId64, c->setup->settings->repeat);
  snprintf(w.nrhs, sizeof w.nrhs, "%" PRId64, c->nrhs);
  snprintf(w.workers, sizeof w.workers, "%d", contender->threads);
  if (contender->peer < 0)
    list_tristar(contender, c, &w);
  else
    list_peer(contender, c, &w);
  list_variables(contender, &v);
  tsi_process_free(&r->process);
  char **environment = make_environment(&v);
  const int problem = environment == NULL ? ENOMEM : tsi_process_start(&r->process, w.word, environment);
  free(environment);
  if (problem != 0)
    snprintf(r->message, sizeof r->message, "cannot start %.200s: %s", contender->program, strerror(problem));
  return problem == 0;
}

/* The next figures of a process that runs. NULL: none, with a message; *quiet: only because it has ended,
 * with status 0 and without having printed anything. */
static cJSON *next_figures(tsi_bench_result *r, double limit, void (*tick)(void *), void *arg, bool *quiet) {
  bool late;
  cJSON *figures = tsi_process_read(&r->process, limit > 0 ? tsi_now() + limit : 0, tick, arg, &late);
  *quiet = false;
  if (figures != NULL) return figures;
  const int status = tsi_process_end(&r->process, late ? 0 : END_GRACE);
  if (late) {
    r->late = true;
    snprintf(r->message, sizeof r->message, "no end after %.0f s", limit);
  } else {
    *quiet = r->process.used == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    tell_end(r, status, ", no figures");
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
    tsi_process_ask(&r->process);
    figures = next_figures(r, limit, tick, arg, &again);
  }
  if (again) figures = start(contender, c, r) ? next_figures(r, limit, tick, arg, &again) : NULL;
  if (figures == NULL) return NULL;
  tsi_process_halt(&r->process);
  const char *told = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(figures, "message"));
  if (told != NULL) snprintf(r->message, sizeof r->message, "%s", told);
  if (told == NULL && !other_setting(contender, figures, r->message, sizeof r->message)) return figures;
  cJSON_Delete(figures);
  return NULL;
}

bool tsi_bench_dismiss(tsi_bench_result *r) {
  if (r->process.pid == 0) return true;
  const int status = tsi_process_end(&r->process, END_GRACE);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  tell_end(r, status, "");
  return false;
}
