/* One run of a contender of `tristar bench` in a process of its own: see bench.h.
 *
 * Reads   its standard output, which holds a JSON object, through a pipe; the end of its standard error, for
 *         the message of a failure. Changes nothing of this process: the child gets an environment of its
 * own.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/bench.h"
#include "drivers/session.h"

extern char **environ;

enum { VARIABLES = 5 };
#define OUTPUT_MAX ((size_t)1 << 24)

/* Variables that the child gets instead of ours; one without '=' is taken away. */
typedef struct variables {
  char text[VARIABLES][80];
  int count;
} variables;

static void list_variables(const tsi_bench_contender *contender, variables *v) {
  v->count = 0;
  if (contender->peer < 0) {
    snprintf(v->text[v->count++], sizeof v->text[0], "STARPU_SCHED=%s", contender->scheduler);
    snprintf(v->text[v->count++], sizeof v->text[0], "STARPU_NCPU"); /* would overrule --workers */
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

/* Starts a process whose standard output is a pipe and whose standard error is a file. Gives an errno. */
static int start(char *const *arguments, char *const *environment, int errors, pid_t *child, int *output) {
  posix_spawn_file_actions_t actions;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  int status = posix_spawn_file_actions_init(&actions);
  if (status == 0) {
    status = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (status == 0) status = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (status == 0) status = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    if (status == 0) status = posix_spawn(child, arguments[0], &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
  }
  close(ends[1]);
  if (status != 0) close(ends[0]);
  *output = status == 0 ? ends[0] : -1;
  return status;
}

/* Waits until something comes out of a pipe. until: a time of tsi_now, or 0: for ever. false: nothing did. */
static bool wait_for_output(int descriptor, double until) {
  struct pollfd pipe_end = {.fd = descriptor, .events = POLLIN};
  for (;;) {
    const double left = until > 0 ? until - tsi_now() : 0;
    const int ready = poll(&pipe_end, 1, until <= 0 ? -1 : left > 0 ? (int)(1e3 * left) + 1 : 0);
    if (ready > 0) return true;
    if (ready == 0 && tsi_now() >= until) return false;
    if (ready < 0 && errno != EINTR) return true; /* let read tell */
  }
}

/* Everything that comes out of a pipe, as a text to be freed; NULL if that is too much. Kills the child when
 * the time is over. */
static char *read_all(int descriptor, double until, pid_t child) {
  size_t used = 0, room = 1 << 14;
  char *text = malloc(room);
  while (text != NULL) {
    if (!wait_for_output(descriptor, until)) {
      (void)kill(child, SIGKILL);
      until = 0;
    }
    const ssize_t got = read(descriptor, text + used, room - used - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    used += (size_t)got;
    if (used + 1 < room) continue;
    char *more = room < OUTPUT_MAX ? realloc(text, 2 * room) : NULL;
    if (more == NULL) free(text);
    text = more;
    room *= 2;
  }
  if (text != NULL) text[used] = '\0';
  return text;
}

/* The object in the output; libraries may have printed lines before it. */
static cJSON *find_json(const char *text) {
  for (const char *at = strchr(text, '{'); at != NULL; at = strchr(at + 1, '{')) {
    const char *end;
    if (at > text && at[-1] != '\n') continue;
    cJSON *object = cJSON_ParseWithOpts(at, &end, false);
    if (cJSON_IsObject(object)) return object;
    cJSON_Delete(object);
  }
  return NULL;
}

/* The last line of a file that holds something, without "tristar: "; gives false if there is none. */
static bool last_line(FILE *file, char *line, size_t size) {
  char text[1024];
  bool found = false;
  rewind(file);
  while (fgets(text, sizeof text, file) != NULL) {
    const char *begin = strncmp(text, "tristar: ", 9) == 0 ? text + 9 : text;
    text[strcspn(text, "\r\n")] = '\0';
    if (*begin == '\0') continue;
    snprintf(line, size, "%s", begin);
    found = true;
  }
  return found;
}

/* Why a process with this wait status and these figures did not solve; false if it did. */
static bool failed(int status, const cJSON *figures, FILE *errors, char *message, size_t size) {
  const char *told = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(figures, "message"));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && figures != NULL && told == NULL) return false;
  if (WIFSIGNALED(status))
    snprintf(message, size, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
  else if (told != NULL)
    snprintf(message, size, "%s", told);
  else if (!last_line(errors, message, size))
    snprintf(message, size, figures == NULL ? "exit status %d, no figures" : "exit status %d",
             WEXITSTATUS(status));
  return true;
}

/* StarPU takes another scheduler where it does not know the name, and fewer workers where it is built for
 * fewer. Plans without tasks have neither. */
static bool other_setting(const tsi_bench_contender *contender, const cJSON *figures, char *message,
                          size_t size) {
  const char *scheduler = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(figures, "scheduler"));
  const cJSON *workers = cJSON_GetObjectItemCaseSensitive(figures, "workers");
  if (contender->peer >= 0 || scheduler == NULL || strcmp(scheduler, "serial") == 0) return false;
  if (strcmp(scheduler, contender->scheduler) != 0)
    snprintf(message, size, "StarPU has no scheduler '%s', it took '%s'", contender->scheduler, scheduler);
  else if (cJSON_IsNumber(workers) && workers->valueint != contender->threads)
    snprintf(message, size, "StarPU has only %d workers", workers->valueint);
  else
    return false;
  return true;
}

static cJSON *run(char *const *arguments, char *const *environment, const tsi_bench_contender *contender,
                  double limit, FILE *errors, char *message, size_t size) {
  pid_t child;
  int output = -1, status = 0;
  const int problem = start(arguments, environment, fileno(errors), &child, &output);
  if (problem != 0) {
    snprintf(message, size, "cannot start %s: %s", arguments[0], strerror(problem));
    return NULL;
  }
  const double until = limit > 0 ? tsi_now() + limit : 0;
  char *text = read_all(output, until, child);
  close(output);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  cJSON *figures = text != NULL ? find_json(text) : NULL;
  free(text);
  if (until > 0 && tsi_now() >= until) {
    snprintf(message, size, "no end after %.0f s", limit);
    cJSON_Delete(figures);
    return NULL;
  }
  if (!failed(status, figures, errors, message, size) && !other_setting(contender, figures, message, size))
    return figures;
  cJSON_Delete(figures);
  return NULL;
}

cJSON *tsi_bench_run(const tsi_bench_contender *contender, const tsi_bench_case *c, int64_t repeat,
                     double limit, char *message, size_t size) {
  char repeat_text[24], nrhs_text[24], workers_text[24];
  variables v;
  char *program = (char *)contender->program, *matrix = (char *)c->matrix->name; /* argv is not written to */
  char *tristar[] = {program,   "solve",     matrix,       "--repeat", repeat_text, "--nrhs",
                     nrhs_text, "--workers", workers_text, "--report", "--json",    "-",
                     NULL,      NULL,        NULL,         NULL};
  char **option = tristar + 12; /* the first NULL */
  char *peer[] = {program, matrix, repeat_text, c->nrhs > 1 ? nrhs_text : NULL, NULL};
  snprintf(repeat_text, sizeof repeat_text, "%" PRId64, repeat);
  snprintf(nrhs_text, sizeof nrhs_text, "%" PRId64, c->nrhs);
  snprintf(workers_text, sizeof workers_text, "%d", contender->threads);
  if (c->matrix->pattern) *option++ = "--laplacian";
  if (*contender->variant) {
    *option++ = "--variant";
    *option = (char *)contender->variant;
  }
  list_variables(contender, &v);
  char **environment = make_environment(&v);
  FILE *errors = tmpfile();
  cJSON *figures = NULL;
  if (environment == NULL || errors == NULL)
    snprintf(message, size, "%s", environment == NULL ? "out of memory" : strerror(errno));
  else
    figures = run(contender->peer < 0 ? tristar : peer, environment, contender, limit, errors, message, size);
  if (errors != NULL) fclose(errors);
  free(environment);
  return figures;
}
