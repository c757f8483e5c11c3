/* The base layer: messages, log, counted allocation, checked arithmetic. */
#include "runtime/base/env.h"

#include "runtime/base/arena.h"
#include "tests/support/subtests.h"

static tristar_status fails(tsi_env *env, int value) {
  TSI_SCRATCH(env, int, p, 10);
  if (value > 3) TSI_FAIL(env, TRISTAR_ERR_FORMAT, "value %d is above 3", value);
  return TRISTAR_OK;
}

static void keep_line(void *arg, tristar_log_level level, const char *text) {
  (void)level;
  snprintf(arg, 100, "%s", text);
}

static void check_messages(void) {
  tsi_env env;
  char line[100] = "";
  tsi_env_init(&env);
  CHECK_OK(fails(&env, 3));
  CHECK(tsi_error_text(&env)[0] == '\0');
  CHECK_STATUS(fails(&env, 4), TRISTAR_ERR_FORMAT);
  CHECK(strstr(tsi_error_text(&env), "value 4 is above 3") != NULL);
  CHECK(strstr(tsi_error_text(&env), "TRISTAR_ERR_FORMAT") != NULL);
  CHECK(strstr(tsi_error_text(&env), "fails") != NULL);
  CHECK(strstr(tsi_error_text(&env), "test_env.c:") != NULL);
  env.log = keep_line;
  env.log_arg = line;
  env.log_level = TRISTAR_LOG_WARNING;
  tsi_log(&env, TRISTAR_LOG_INFO, "not sent");
  CHECK(line[0] == '\0');
  tsi_log(&env, TRISTAR_LOG_WARNING, "sent %d", 7);
  CHECK(strcmp(line, "sent 7") == 0);
}

static void check_memory(void) {
  tsi_env env;
  double *a = NULL, *b = NULL;
  tsi_env_init(&env);
  CHECK_OK(TSI_ALLOC(&env, a, 100));
  CHECK((uintptr_t)a % TSI_CACHE_LINE == 0);
  CHECK(atomic_load(&env.memory.current) == 800);
  CHECK_OK(TSI_ALLOC_ZERO(&env, b, 50));
  for (int i = 0; i < 50; i++) CHECK(b[i] == 0);
  CHECK(tsi_memory_watch(&env) == 1200);
  TSI_FREE(&env, a);
  CHECK(a == NULL);
  CHECK(atomic_load(&env.memory.current) == 400);
  CHECK(atomic_load(&env.memory.peak) == 1200);
  CHECK(atomic_load(&env.memory.recent) == 1200);
  TSI_FREE(&env, b);
  TSI_FREE(&env, b); /* freeing NULL has no effect */
  CHECK_OK(TSI_ALLOC(&env, a, 0));
  CHECK(a != NULL);
  TSI_FREE(&env, a);
  CHECK(atomic_load(&env.memory.current) == 0);
  CHECK_STATUS(TSI_ALLOC(&env, a, SIZE_MAX / 4), TRISTAR_ERR_TOO_LARGE);
  CHECK(a == NULL);
  CHECK_STATUS(TSI_ALLOC(&env, a, SIZE_MAX / 16 - 64), TRISTAR_ERR_MEMORY);
  env.memory.fail_at = atomic_load(&env.memory.calls) + 2;
  CHECK_OK(TSI_ALLOC(&env, a, 1));
  CHECK_STATUS(TSI_ALLOC(&env, b, 1), TRISTAR_ERR_MEMORY);
  CHECK(b == NULL && strstr(tsi_error_text(&env), "out of memory") != NULL);
  TSI_FREE(&env, a);
  CHECK(atomic_load(&env.memory.current) == 0);
}

/* Bytes that are used up no longer count as memory. The others keep their contents. */
static void check_used_up(void) {
  enum { STEP = 100000 };
  static const size_t size[] = {1000, TSI_ARENA_LEAST, 3000001, TSI_ARENA_MOST + 5};
  tsi_env env;
  tsi_env_init(&env);
  for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
    char *array, *other;
    CHECK_OK(TSI_ALLOC(&env, array, size[k]));
    memset(array, 7, size[k]);
    const size_t before = atomic_load(&env.memory.current);
    for (size_t used = 0; used <= size[k]; used += STEP) {
      tsi_use_up(&env, array, used);
      for (size_t at = used; at < size[k]; at += 4096) CHECK(array[at] == 7);
    }
    const size_t given = before - atomic_load(&env.memory.current);
    CHECK(given <= size[k] && (size[k] < 2 * STEP || given + 2 * STEP > size[k]));
    CHECK_OK(TSI_ALLOC_ZERO(&env, other, size[k])); /* may reuse the memory that was used up */
    CHECK(array[size[k] - 1] == 7);
    TSI_FREE(&env, array);
    for (size_t at = 0; at < size[k]; at += 4096) CHECK(other[at] == 0);
    TSI_FREE(&env, other);
    CHECK(atomic_load(&env.memory.current) == 0);
  }
}

static void check_arithmetic(void) {
  size_t s;
  tsi_count c;
  tsi_index i;
  CHECK(tsi_size_mul(3, 4, &s) && s == 12);
  CHECK(!tsi_size_mul(SIZE_MAX, 2, &s));
  CHECK(!tsi_size_add(SIZE_MAX, 1, &s));
  CHECK(tsi_count_mul(1LL << 31, 1LL << 31, &c) && c == 1LL << 62);
  CHECK(!tsi_count_mul(1LL << 32, 1LL << 31, &c));
  CHECK(!tsi_count_add(INT64_MAX, 1, &c));
  CHECK(tsi_to_index(TSI_INDEX_MAX, &i) && i == TSI_INDEX_MAX);
  CHECK(!tsi_to_index(1LL << 31, &i));
  CHECK(!tsi_to_index(-1, &i));
}

int test_env(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(check_used_up());
  RUN(check_messages());
  RUN(check_memory());
  RUN(check_arithmetic());
  for (int s = TRISTAR_OK; s <= TRISTAR_ERR_INTERNAL; s++)
    CHECK(strncmp(tristar_status_name((tristar_status)s), "TRISTAR_", 8) == 0);
  CHECK(strcmp(tristar_version(), "0.3.0") == 0);
  return 0;
}
