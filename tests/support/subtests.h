/* Subtests: statements of main() that a test runs one by one. A failed subtest does not hide the others.
 *
 *   int main(int argc, char **argv) {
 *     subtests_begin(&argc, argv);
 *     CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
 *     RUN(check_empty(ts));
 *     for (int k = 0; k < 4; k++) RUN(check_type(ts, types[k]));
 *     return 0;
 *   }
 *
 *   test_x              runs all subtests and reports each that fails
 *   test_x --list       prints their texts
 *   test_x --only TEXT  runs the subtests that contain TEXT, in this process, for a debugger
 *
 * A child process runs the subtests. If it ends in a subtest, the parent reports this subtest and starts
 * another child, which skips all subtests up to it. Statements of main() that are no subtests run in each
 * child. Use CHECK_TOTAL for checks of counts over several subtests. With the thread sanitizer there is no
 * child: the first failure ends the test. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"

/* The current subtest, in memory that parent and child share. */
typedef struct subtest_now {
  const char *text; /* NULL: none runs */
  int number;
} subtest_now;

static struct subtests {
  subtest_now own, *now;
  int count;        /* subtests that main() has reached */
  int first;        /* first subtest to run; an earlier child ran the others */
  const char *only; /* text of the subtests to run; NULL: all */
  bool list, is_child;
} subtests;

/* Runs a statement as a subtest. */
#define RUN(...)                                                                                             \
  do {                                                                                                       \
    if (subtest_begins(#__VA_ARGS__)) {                                                                      \
      __VA_ARGS__;                                                                                           \
      subtests.now->text = NULL;                                                                             \
    }                                                                                                        \
  } while (0)

/* RUN for a subtest of one thread, which cannot race: builds with the thread sanitizer omit it, all others
 * run it. */
#define RUN_ONE_THREAD(...)                                                                                  \
  do {                                                                                                       \
    if (!TSI_TESTS_RACES) RUN(__VA_ARGS__);                                                                  \
  } while (0)

/* As CHECK_MSG, but only if all subtests ran in this process. */
#define CHECK_TOTAL(cond, ...)                                                                               \
  do {                                                                                                       \
    if (subtests.first == 0 && subtests.only == NULL && !subtests.list) CHECK_MSG(cond, __VA_ARGS__);        \
  } while (0)

static inline bool subtest_begins(const char *text) {
  const int at = subtests.count++;
  if (subtests.list) printf("%s\n", text);
  if (subtests.list || at < subtests.first) return false;
  if (subtests.only != NULL && strstr(text, subtests.only) == NULL) return false;
  *subtests.now = (subtest_now){text, at};
  return true;
}

/* Called at the end of a process without a parent, and by the parent. */
static inline void subtest_report(void) {
  if (subtests.now->text == NULL || subtests.is_child) return;
  fprintf(stderr, "failed: subtest %d: %s\n", subtests.now->number, subtests.now->text);
}

/* Returns in a child. The parent ends here: status 1 if a child failed, else the status of the last one. */
static inline void subtests_fork(void) {
  bool failed = false;
  subtests.now = mmap(NULL, sizeof *subtests.now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(subtests.now != MAP_FAILED);
  for (;;) {
    int status;
    fflush(NULL);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      subtests.is_child = true;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      return;
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77))
      _exit(failed ? 1 : WEXITSTATUS(status));
    if (WIFSIGNALED(status)) fprintf(stderr, "ended by signal %d\n", WTERMSIG(status));
    if (subtests.now->text == NULL) _exit(1); /* outside of subtests */
    subtest_report();
    failed = true;
    subtests.first = subtests.now->number + 1;
    subtests.now->text = NULL;
  }
}

/* Runs all subtests in this process, as ranks of MPI require: the first failure ends the test. */
static inline void subtests_begin_here(int *argc, char **argv) {
  subtests.now = &subtests.own;
  if (*argc > 1 && strcmp(argv[1], "--list") == 0) {
    subtests.list = true;
    *argc = 1;
  } else if (*argc > 2 && strcmp(argv[1], "--only") == 0) {
    subtests.only = argv[2];
    *argc = 1;
  }
  atexit(subtest_report);
}

/* The first statement of main(). Removes options of subtests from the arguments. */
static inline void subtests_begin(int *argc, char **argv) {
  subtests_begin_here(argc, argv);
  if (subtests.only == NULL && !subtests.list && !TSI_TESTS_RACES) subtests_fork();
}
