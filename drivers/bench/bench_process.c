/* Start, requests, output and end of a contender's process: see bench_process.h. */
#include "drivers/bench/bench_process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drivers/bench/bench.h"
#include "drivers/session/session.h"
#include "drivers/session/signals.h"

#define TEXT_MAX ((size_t)1 << 24)

/* The groups that run or are halted; global, for the signal handler. */
static volatile sig_atomic_t groups[TSI_BENCH_CONTENDERS_MAX];

static bool remember(pid_t pid) {
  for (int k = 0; k < TSI_BENCH_CONTENDERS_MAX; k++)
    if (groups[k] == 0) {
      groups[k] = pid;
      return true;
    }
  return false;
}

static void discard(pid_t pid) {
  for (int k = 0; k < TSI_BENCH_CONTENDERS_MAX; k++)
    if (groups[k] == pid) groups[k] = 0;
}

/* ---- The end of this program --------------------------------------------------------------------------- */

static char folder[PATH_MAX]; /* folder of temporary files; "": none */
static int janitor = -1;      /* end of a pipe: when it is closed, another process removes the folder */

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *place) {
  (void)about;
  (void)kind;
  (void)place;
  (void)remove(path);
  return 0;
}

/* Runs in that process: waits until this program ends in any way. Daemons of contenders may end a moment
 * later. */
static _Noreturn void tidy_up(int end) {
  const struct timespec pause = {.tv_nsec = 20000000};
  char byte;
  (void)setpgid(0, 0); /* it must not receive signals of the terminal */
  for (int k = 0; k < 3; k++) close(k);
  while (read(end, &byte, 1) < 0 && errno == EINTR) continue;
  for (int tries = 0; tries < 25 && access(folder, F_OK) == 0; tries++) {
    (void)nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    nanosleep(&pause, NULL);
  }
  _exit(EXIT_SUCCESS);
}

static void make_folder(void) {
  const char *parent = getenv("TMPDIR");
  int end[2];
  const int length =
      snprintf(folder, sizeof folder, "%s/tristar-XXXXXX", parent != NULL && *parent ? parent : "/tmp");
  if (length < 0 || (size_t)length >= sizeof folder || mkdtemp(folder) == NULL) *folder = '\0';
  if (*folder == '\0' || pipe2(end, O_CLOEXEC) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    close(end[1]);
    tidy_up(end[0]);
  }
  close(end[0]);
  janitor = end[1];
}

static void end_all(void) {
  for (int k = 0; k < TSI_BENCH_CONTENDERS_MAX; k++)
    if (groups[k] != 0) (void)kill((pid_t)-groups[k], SIGKILL);
}

void tsi_bench_process_guard(void) {
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans of contenders become children of this program */
  make_folder();
  tsi_before_signals(end_all);
}

const char *tsi_bench_process_folder(void) {
  return folder;
}

static void kill_children(void) {
  int pid;
  FILE *list = fopen("/proc/thread-self/children", "r");
  while (list != NULL && fscanf(list, "%d", &pid) == 1) (void)kill(pid, SIGKILL);
  if (list != NULL) fclose(list);
}

/* Reaps children. Daemons of libraries end by themselves soon after their program. */
static void reap_children(double grace) {
  const struct timespec pause = {.tv_nsec = 2000000};
  const double until = tsi_now() + grace;
  pid_t got;
  do {
    got = waitpid(-1, NULL, WNOHANG);
    if (got == 0) nanosleep(&pause, NULL);
  } while ((got >= 0 || errno == EINTR) && tsi_now() < until);
}

void tsi_bench_process_unguard(void) {
  if (janitor >= 0) close(janitor);
  janitor = -1;
  *folder = '\0';
  reap_children(1);
  kill_children();
  reap_children(1);
}

/* ---- Start --------------------------------------------------------------------------------------------- */

/* Runs in the new process between fork and exec. Does not return. */
static _Noreturn void become(char *const *arguments, char *const *environment, const int streams[3],
                             pid_t parent, int problem) {
  (void)setpgid(0, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_FAILURE); /* the parent has ended before prctl */
  int status = 0;
  for (int k = 0; k < 3 && status == 0; k++)
    if (dup2(streams[k], k) < 0) status = errno;
  if (status == 0) {
    (void)execve(arguments[0], arguments, environment);
    status = errno;
  }
  (void)!write(problem, &status, sizeof status);
  _exit(EXIT_FAILURE);
}

/* Returns an errno. streams: of the child; exec closes them, but not their copies. */
static int run(pid_t *pid, char *const *arguments, char *const *environment, const int streams[3]) {
  int problem[2], status = 0;
  const pid_t parent = getpid();
  if (pipe2(problem, O_CLOEXEC) != 0) return errno;
  const pid_t child = fork();
  if (child == 0) become(arguments, environment, streams, parent, problem[1]);
  if (child < 0) status = errno;
  close(problem[1]);
  if (child > 0) {
    (void)setpgid(child, child);
    *pid = child;
    ssize_t got; /* 0 after exec has closed the pipe */
    while ((got = read(problem[0], &status, sizeof status)) < 0 && errno == EINTR) continue;
    if (got != sizeof status) status = 0;
  }
  close(problem[0]);
  return status;
}

int tsi_bench_process_start(tsi_bench_process *p, char *const *arguments, char *const *environment) {
  int input[2] = {-1, -1}, output[2] = {-1, -1}, status = 0;
  *p = (tsi_bench_process){.input = -1, .output = -1, .errors = tmpfile()};
  if (p->errors == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0 ||
      pipe2(output, O_CLOEXEC) != 0)
    status = errno;
  if (status == 0) {
    (void)fcntl(fileno(p->errors), F_SETFD, FD_CLOEXEC);
    const int streams[3] = {input[1], output[1], fileno(p->errors)};
    status = run(&p->pid, arguments, environment, streams);
  }
  if (p->pid != 0 && status == 0 && !remember(p->pid)) status = EAGAIN;
  if (input[1] >= 0) close(input[1]);
  if (output[1] >= 0) close(output[1]);
  p->input = input[0];
  p->output = output[0];
  p->begin = tsi_now();
  if (status != 0) tsi_bench_process_free(p);
  return status;
}

/* ---- Requests and output ------------------------------------------------------------------------------- */

/* Continues a halted process. A process that others stopped, for example a leak checker, is left alone. */
static void go_on(tsi_bench_process *p) {
  if (p->halted) (void)kill(-p->pid, SIGCONT);
  p->halted = false;
}

/* If the process has ended, tsi_bench_process_read detects it. */
void tsi_bench_process_request(tsi_bench_process *p) {
  go_on(p);
  (void)send(p->input, "\n", 1, MSG_NOSIGNAL);
}

void tsi_bench_process_halt(tsi_bench_process *p) {
  (void)kill(-p->pid, SIGSTOP);
  p->halted = true;
}

/* Has the process itself ended? Does not reap it. */
static bool has_ended(const tsi_bench_process *p) {
  siginfo_t info = {.si_pid = 0};
  return waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOWAIT | WNOHANG) != 0 || info.si_pid != 0;
}

/* Finds the object in the text, and its end; libraries may have printed lines before it. */
static cJSON *find_object(const char *text, const char **end) {
  for (const char *at = strchr(text, '{'); at != NULL; at = strchr(at + 1, '{')) {
    if (at > text && at[-1] != '\n') continue;
    cJSON *object = cJSON_ParseWithOpts(at, end, false);
    if (cJSON_IsObject(object)) return object;
    cJSON_Delete(object);
  }
  return NULL;
}

/* Finds the answer in the text; removes an event before it from the text. */
static cJSON *find_answer(tsi_bench_process *p) {
  const char *end;
  cJSON *object;
  while ((object = find_object(p->text, &end)) != NULL && cJSON_HasObjectItem(object, "event")) {
    cJSON_Delete(object);
    p->begin = tsi_now();
    p->used -= (size_t)(end - p->text);
    memmove(p->text, end, p->used + 1);
  }
  return object;
}

/* Appends available output to the text. Returns false at its end, or if it is too long. */
static bool read_more(tsi_bench_process *p) {
  if (p->used + 1 >= p->capacity) {
    const size_t capacity = p->capacity > 0 ? 2 * p->capacity : (size_t)1 << 14;
    char *more = capacity <= TEXT_MAX ? realloc(p->text, capacity) : NULL;
    if (more == NULL) return false;
    p->text = more;
    p->capacity = capacity;
  }
  const ssize_t got = read(p->output, p->text + p->used, p->capacity - p->used - 1);
  if (got < 0) return errno == EINTR;
  p->used += (size_t)got;
  p->text[p->used] = '\0';
  return got > 0;
}

/* Waits for output, at most for a second, and at most until a time. */
static bool wait_for_output(const tsi_bench_process *p, double until) {
  struct pollfd end = {.fd = p->output, .events = POLLIN};
  const double left = until > 0 ? until - tsi_now() : 1;
  return poll(&end, 1, left <= 0 ? 0 : left < 1 ? (int)(1e3 * left) + 1 : 1000) > 0;
}

cJSON *tsi_bench_process_read(tsi_bench_process *p, double until, void (*tick)(void *), void *arg,
                              bool *late) {
  double reported = tsi_now();
  cJSON *object = NULL;
  bool more = true;
  p->used = 0;
  *late = false;
  while (object == NULL && more) {
    const bool ended = has_ended(p); /* checked first: then all of its output can be read below */
    if (wait_for_output(p, until))
      more = read_more(p);
    else if (ended)
      more = false; /* another process holds its output open, but the process itself has ended */
    else if (until > 0 && tsi_now() >= until)
      *late = true, more = false;
    if (p->used > 0 && (p->text[p->used - 1] == '\n' || !more)) object = find_answer(p);
    if (tsi_now() - reported < 1) continue;
    reported = tsi_now();
    tick(arg);
  }
  return object;
}

bool tsi_bench_process_last_line(const tsi_bench_process *p, char *line, size_t size) {
  char text[1024];
  bool found = false;
  rewind(p->errors);
  while (fgets(text, sizeof text, p->errors) != NULL) {
    const char *begin = strncmp(text, "tristar: ", 9) == 0 ? text + 9 : text;
    text[strcspn(text, "\r\n")] = '\0';
    if (*begin == '\0') continue;
    snprintf(line, size, "%s", begin);
    found = true;
  }
  return found;
}

/* ---- End ----------------------------------------------------------------------------------------------- */

int tsi_bench_process_end(tsi_bench_process *p, double grace) {
  const struct timespec pause = {.tv_nsec = 2000000};
  const double until = tsi_now() + grace;
  int status = 0;
  if (p->input >= 0) close(p->input);
  p->input = -1;
  go_on(p);
  while (!has_ended(p) && tsi_now() < until) nanosleep(&pause, NULL);
  (void)kill(-p->pid, SIGKILL); /* kills it or its orphans; the pid is not reused before it is reaped */
  discard(p->pid);
  while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) continue;
  p->pid = 0;
  close(p->output);
  p->output = -1;
  return status;
}

void tsi_bench_process_free(tsi_bench_process *p) {
  if (p->errors == NULL) return; /* it was never started */
  if (p->pid != 0) (void)tsi_bench_process_end(p, 0);
  if (p->input >= 0) close(p->input);
  if (p->output >= 0) close(p->output);
  fclose(p->errors);
  free(p->text);
  *p = (tsi_bench_process){.pid = 0};
}
