/* Programs that share memory with this one: writes of one side are visible on the other, the end of a program
 * is noticed, and a child that does not end is killed. Programs are found beside the library or in the folder
 * TRISTAR_HELPERS. */
#include <errno.h>
#include <time.h>

#include "runtime/base/child.h"
#include "tests/support/subtests.h"

static void wait_for(tsi_child *child) {
  const struct timespec pause = {0, 1000000};
  for (int k = 0; k < 60000 && !tsi_child_has_ended(child); k++) nanosleep(&pause, NULL);
  CHECK(tsi_child_has_ended(child));
}

/* order_part refuses input that the library has not written, and does not change its memory. */
static void check_shared(tsi_env *env) {
  char path[4096];
  tsi_child child = {0};
  CHECK(tsi_child_find("order_part", path, sizeof path));
  CHECK_OK(tsi_child_prepare(env, 4096, &child));
  const char *bytes = child.memory;
  for (int k = 0; k < 4096; k++) CHECK(bytes[k] == 0);
  memset(child.memory, 7, 4096);
  CHECK_OK(tsi_child_start(env, path, &child));
  wait_for(&child);
  for (int k = 0; k < 4096; k++) CHECK(bytes[k] == 7);
  tsi_child_finish(&child);
  CHECK(child.memory == NULL);
  tsi_child_finish(&child); /* has no effect */
}

/* Ends a child that waits for input forever. */
static void check_killed(tsi_env *env) {
  tsi_child child = {0};
  CHECK_OK(tsi_child_prepare(env, 100, &child));
  CHECK_OK(tsi_child_start(env, "/bin/cat", &child));
  CHECK(!tsi_child_has_ended(&child));
  tsi_child_finish(&child);
  errno = 0;
  CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void check_missing(tsi_env *env) {
  char path[4096], small[4];
  tsi_child child = {0};
  CHECK(!tsi_child_find("no_such_program", path, sizeof path));
  CHECK(!tsi_child_find("order_part", small, sizeof small));
  CHECK(setenv("TRISTAR_HELPERS", "/nowhere", 1) == 0);
  CHECK(!tsi_child_find("order_part", path, sizeof path));
  CHECK(setenv("TRISTAR_HELPERS", "/bin", 1) == 0);
  CHECK(tsi_child_find("sh", path, sizeof path) && strcmp(path, "/bin/./sh") == 0);
  CHECK(unsetenv("TRISTAR_HELPERS") == 0);
  CHECK_OK(tsi_child_prepare(env, 100, &child));
  CHECK_STATUS(tsi_child_start(env, "/nowhere/program", &child), TRISTAR_ERR_RUNTIME);
  CHECK(strstr(tsi_error_text(env), "/nowhere/program cannot be started") != NULL);
  tsi_child_finish(&child);
  CHECK_STATUS(tsi_child_prepare(env, SIZE_MAX, &child), TRISTAR_ERR_MEMORY); /* larger than any file */
  tsi_child_finish(&child);
}

int test_child(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  int ends[2]; /* a standard input without an end */
  tsi_env_init(&env);
  CHECK(pipe(ends) == 0 && dup2(ends[0], 0) == 0);
  RUN(check_shared(&env));
  RUN(check_killed(&env));
  RUN(check_missing(&env));
  return 0;
}
