/* One-sided messages between processes that share memory after fork(). The data of a put arrive before its
 * signal. If a peer is killed or stopped, the waits of all others fail in time, with peer and flag.
 *
 *   test_oneside_fork PES */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "tests/mpi/oneside_traffic.h"

#define SECONDS 0.2 /* deadlines that expire */

typedef struct world {
  tsi_env env;
  int32_t pes;
  char **base;
} world;

static void open_heaps(world *w, char *memory) {
  const size_t bytes = tsi_oneside_bytes(traffic_flags(w->pes), traffic_bytes());
  memset(memory, 0, bytes * (size_t)w->pes);
  for (int32_t pe = 0; pe < w->pes; pe++) w->base[pe] = memory + bytes * (size_t)pe;
}

/* Each PE runs `body` in a process of its own. Returns the number of successful processes. */
static int32_t run(world *w, double seconds, void (*body)(tsi_oneside *)) {
  pid_t *child = xcalloc((size_t)w->pes, sizeof *child);
  int32_t well = 0;
  for (int32_t pe = 0; pe < w->pes; pe++) {
    child[pe] = fork();
    CHECK(child[pe] >= 0);
    if (child[pe] != 0) continue;
    tsi_oneside *port;
    CHECK_OK(tsi_oneside_map(&w->env, pe, w->pes, traffic_flags(w->pes), w->base, seconds, &port));
    body(port);
    tsi_oneside_destroy(&port);
    exit(0);
  }
  for (int32_t ended = 0; ended < w->pes; ended++) {
    int status;
    pid_t who = waitpid(-1, &status, WUNTRACED);
    CHECK(who > 0);
    if (WIFSTOPPED(status)) { /* the others end without it */
      ended--;
      for (int32_t pe = 0; pe < w->pes; pe++)
        while (child[pe] != who && waitpid(child[pe], &status, 0) == child[pe]) {
          well += WIFEXITED(status) && WEXITSTATUS(status) == 0;
          ended++;
        }
      CHECK(kill(who, SIGKILL) == 0);
      continue;
    }
    well += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  free(child);
  return well;
}

static void ring(tsi_oneside *port) {
  CHECK(send_around(port, 500) == 0);
}

static bool is_victim(const tsi_oneside *port) {
  return tsi_oneside_heap(port)->pe == tsi_oneside_heap(port)->pes - 1;
}

/* The others wait for the victim, directly or through each other. */
static void expect_failure(tsi_oneside *port) {
  const int32_t pe = tsi_oneside_heap(port)->pe, pes = tsi_oneside_heap(port)->pes;
  char expected[80];
  const double begin = tsi_clock();
  CHECK_STATUS(tsi_oneside_wait(port, pe == 0 ? pes - 1 : pe - 1, MESSAGE, 7), TRISTAR_ERR_RUNTIME);
  CHECK_MSG(tsi_clock() - begin < 30, "after %g s", tsi_clock() - begin);
  CHECK_MSG(strstr(tsi_error_text(NULL), "(flag 0, epoch 7)"), "%s", tsi_error_text(NULL));
  snprintf(expected, sizeof expected, "waited more than %g seconds for", SECONDS);
  CHECK_MSG(strstr(tsi_error_text(NULL), expected), "%s", tsi_error_text(NULL));
  CHECK(tsi_oneside_stopped(port));
  CHECK_STATUS(tsi_oneside_check(port), TRISTAR_ERR_RUNTIME);
}

static void killed(tsi_oneside *port) {
  if (is_victim(port)) raise(SIGKILL);
  expect_failure(port);
}
static void stopped(tsi_oneside *port) {
  if (is_victim(port)) raise(SIGSTOP);
  expect_failure(port);
}

/* A flag with an older epoch ends no wait. A flag with a later epoch does, also if the number wraps
 * around. */
static void epochs(tsi_oneside *port) {
  const int32_t pe = tsi_oneside_heap(port)->pe;
  tsi_oneside_signal(port, pe, MESSAGE, INT32_MAX);
  CHECK(tsi_oneside_test(port, MESSAGE, INT32_MAX - 1));
  CHECK(!tsi_oneside_test(port, MESSAGE, INT32_MIN));
  tsi_oneside_signal(port, pe, MESSAGE, INT32_MIN);
  CHECK(tsi_oneside_test(port, MESSAGE, INT32_MAX) && !tsi_oneside_test(port, MESSAGE, INT32_MIN + 1));
  tsi_oneside_quiet(port);
}

int main(int argc, char **argv) {
  world w = {.pes = argc > 1 ? atoi(argv[1]) : 2};
  w.base = xcalloc((size_t)w.pes, sizeof *w.base);
  const size_t bytes = tsi_oneside_bytes(traffic_flags(w.pes), traffic_bytes()) * (size_t)w.pes;
  char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  void (*const good[])(tsi_oneside *) = {ring, meet_and_get, epochs};
  void (*const bad[])(tsi_oneside *) = {killed, stopped};
  for (int k = 0; k < 3; k++) {
    open_heaps(&w, memory);
    CHECK_MSG(run(&w, 100, good[k]) == w.pes, "case %d", k);
  }
  for (int k = 0; k < 2; k++) {
    open_heaps(&w, memory);
    CHECK_MSG(run(&w, SECONDS, bad[k]) == w.pes - 1, "failure %d", k);
  }
  munmap(memory, bytes);
  free(w.base);
  return 0;
}
