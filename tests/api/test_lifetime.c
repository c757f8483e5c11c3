/* A context and its objects are destroyed in any order, and the remaining objects work. StarPU stops with the
 * last of them, in any thread. */
#include <pthread.h>
#include <starpu.h>

#include "tests/support/objects.h"
#include "tests/support/subtests.h"
#include "tristar_starpu.h"
#include "tristar_machine.h"

static tristar_t *make(bool starpu) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_t *ts;
  config.use_starpu = starpu;
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

/* Destroys the objects in a random order. use: the remaining ones compute in between. */
static void check_order(uint64_t seed, bool starpu, bool use) {
  CLEANUP(free_arrays) objects o;
  int kind[OBJECT_KINDS];
  make_objects(make(starpu), starpu, &o);
  shuffle_kinds(seed, OBJECT_KINDS, kind);
  for (int k = 0; k < OBJECT_KINDS; k++) {
    CHECK(starpu_is_initialized() == starpu);
    destroy_object(&o, (object_kind)kind[k], TRISTAR_OK);
    if (!use) continue;
    check_solution(&o, o.plan);
    check_solution(&o, o.serial_plan);
    if (k % 4 == 0 && o.request == NULL && o.ending_request == NULL) use_objects(&o, TRISTAR_OK);
  }
  CHECK(!starpu_is_initialized());
  CHECK(o.ts == NULL && o.plan == NULL && o.dense.values == NULL && o.krylov == NULL && o.trace == NULL);
}

/* Destroys each kind of object last. */
static void check_last(bool starpu) {
  for (int last = 0; last < OBJECT_KINDS; last++) {
    CLEANUP(free_arrays) objects o;
    make_objects(make(starpu), starpu, &o);
    for (int k = 0; k < OBJECT_KINDS; k++)
      if (k != last) destroy_object(&o, (object_kind)k, TRISTAR_OK);
    CHECK(starpu_is_initialized() == starpu);
    destroy_object(&o, (object_kind)last, TRISTAR_OK);
    CHECK(!starpu_is_initialized());
  }
}

/* Two contexts share StarPU. It stops with the last object of both. */
static void check_two(void) {
  CLEANUP(free_arrays) objects o, other;
  make_objects(make(true), true, &o);
  make_objects(make(true), true, &other);
  tristar_destroy(&o.ts);
  tristar_destroy(&other.ts);
  for (int k = 1; k < OBJECT_KINDS; k++) {
    destroy_object(&o, (object_kind)k, TRISTAR_OK);
    CHECK(starpu_is_initialized());
    check_solution(&other, other.plan);
    CHECK_OK(
        tristar_krylov_solve(other.krylov, other.plan_precond, 1, other.b, other.n, other.x, other.n, NULL));
  }
  for (int k = OBJECT_KINDS - 1; k > 0; k--) destroy_object(&other, (object_kind)k, TRISTAR_OK);
  CHECK(!starpu_is_initialized());
}

/* A solver uses a preconditioner of another context. Memory is counted in the context that allocated it. */
static void check_mixed(bool starpu) {
  CLEANUP(free_arrays) objects o, other;
  tristar_memory_stats before, after;
  tristar_krylov_result result;
  make_objects(make(starpu), starpu, &o);
  make_objects(make(false), false, &other);
  tristar_destroy(&other.ts);
  for (int k = 0; k < 2; k++)
    CHECK_OK(tristar_krylov_solve(o.krylov, k ? other.ilu : other.plan_precond, 1, o.b, o.n,
                                  memset(o.x, 0, (size_t)o.n * sizeof *o.x), o.n, &result));
  CHECK_OK(tristar_get_memory(o.ts, &before));
  tristar_dense_destroy(o.ts, &other.dense);
  CHECK_OK(tristar_get_memory(o.ts, &after));
  CHECK(before.current_bytes == after.current_bytes);
  for (int k = 1; k < OBJECT_KINDS; k++) destroy_object(&other, (object_kind)k, TRISTAR_OK);
  for (int k = 0; k < OBJECT_KINDS; k++) destroy_object(&o, (object_kind)k, TRISTAR_OK);
}

/* StarPU was started by the program, which may shut it down before the objects are destroyed. */
static void check_program(void) {
  CLEANUP(free_arrays) objects o;
  CHECK(starpu_init(NULL) == 0);
  make_objects(make(true), true, &o);
  tristar_destroy(&o.ts);
  starpu_shutdown();
  CHECK(starpu_is_initialized());
  for (int k = 1; k < OBJECT_KINDS; k++) {
    check_solution(&o, o.plan);
    destroy_object(&o, (object_kind)k, TRISTAR_OK);
  }
  CHECK(!starpu_is_initialized());
}

/* After tristar_destroy, calls with the remaining objects fail as before, with a message. */
static void check_messages(void) {
  CLEANUP(free_arrays) objects o;
  char message[512];
  make_objects(make(false), false, &o);
  tristar_destroy(&o.ts);
  CHECK_STATUS(tristar_solve(o.plan, TRISTAR_N, -1, o.b, o.n, o.x, o.n), TRISTAR_ERR_ARGUMENT);
  CHECK(tristar_get_error(NULL, message, sizeof message) > 0 && strstr(message, "nrhs") != NULL);
  for (int k = 1; k < OBJECT_KINDS; k++) destroy_object(&o, (object_kind)k, TRISTAR_OK);
}

/* ---- Threads ------------------------------------------------------------------------------------------- */

typedef struct share {
  objects *o;
  int first;
} share;

static void *destroy_some(void *arg) {
  const share *s = arg;
  for (int k = s->first; k < OBJECT_KINDS; k += 3) destroy_object(s->o, (object_kind)k, TRISTAR_OK);
  return NULL;
}

static void check_threads(bool starpu) {
  for (int round = 0; round < 5; round++) {
    CLEANUP(free_arrays) objects o;
    pthread_t thread[3];
    share s[3];
    make_objects(make(starpu), starpu, &o);
    for (int t = 0; t < 3; t++) {
      s[t] = (share){&o, (t + round) % 3};
      CHECK(pthread_create(&thread[t], NULL, destroy_some, &s[t]) == 0);
    }
    for (int t = 0; t < 3; t++) CHECK(pthread_join(thread[t], NULL) == 0);
    CHECK(!starpu_is_initialized());
  }
}

/* ---- Inside tasks -------------------------------------------------------------------------------------- */

static void await_end(void) {
  for (int turn = 0; turn < 60000 && starpu_is_initialized(); turn++) usleep(1000);
  CHECK(!starpu_is_initialized());
}

static void slow(void *buffers[], void *arg) {
  (void)buffers;
  (void)arg;
  usleep(20000);
}

/* Everything is destroyed while inserted solves still wait for a slow task. */
static void check_inserted(bool context_first) {
  CLEANUP(free_arrays) objects o;
  static struct starpu_codelet codelet = {.cpu_funcs = {slow}, .nbuffers = 1, .modes = {STARPU_RW}};
  starpu_data_handle_t b, x;
  CHECK(starpu_init(NULL) == 0);
  make_objects(make(true), true, &o);
  starpu_vector_data_register(&b, STARPU_MAIN_RAM, (uintptr_t)o.b, (uint32_t)o.n, sizeof *o.b);
  starpu_vector_data_register(&x, STARPU_MAIN_RAM, (uintptr_t)o.x, (uint32_t)o.n, sizeof *o.x);
  if (context_first) tristar_destroy(&o.ts);
  CHECK(starpu_task_insert(&codelet, STARPU_RW, b, 0) == 0);
  CHECK_OK(tristar_solve_insert(o.plan, TRISTAR_N, b, x));
  CHECK_OK(tristar_solve_insert(o.serial_plan, TRISTAR_N, x, x));
  for (int k = OBJECT_KINDS - 1; k >= 0; k--) destroy_object(&o, (object_kind)k, TRISTAR_OK);
  starpu_data_unregister(b);
  starpu_data_unregister(x);
  starpu_shutdown();
  CHECK(!starpu_is_initialized());
}

/* The last objects are destroyed in a callback of StarPU, where no call may wait. */
static void destroy_all(void *arg, tristar_status status) {
  objects *o = arg;
  CHECK(status == TRISTAR_OK);
  for (int k = OBJECT_KINDS - 1; k >= 0; k--)
    if (k != ENDING_REQUEST && k != REQUEST) destroy_object(o, (object_kind)k, TRISTAR_OK);
}

static void check_callback(bool context_first) {
  CLEANUP(free_arrays) objects o;
  starpu_data_handle_t b, x;
  tristar_insert_options options = DEFAULTS(tristar_insert_options);
  CHECK(starpu_init(NULL) == 0);
  make_objects(make(true), true, &o);
  destroy_object(&o, REQUEST, TRISTAR_OK);
  destroy_object(&o, ENDING_REQUEST, TRISTAR_OK);
  starpu_vector_data_register(&b, STARPU_MAIN_RAM, (uintptr_t)o.b, (uint32_t)o.n, sizeof *o.b);
  starpu_vector_data_register(&x, STARPU_MAIN_RAM, (uintptr_t)o.x, (uint32_t)o.n, sizeof *o.x);
  if (context_first) tristar_destroy(&o.ts);
  options.end = destroy_all;
  options.end_arg = &o;
  CHECK_OK(tristar_solve_insert_with(o.plan, &options, b, x));
  starpu_data_unregister(b);
  starpu_data_unregister(x);
  starpu_shutdown();
  await_end();
}

/* The same in the function `end` of a request; the request is awaited later. */
static void check_end(bool starpu) {
  CLEANUP(free_arrays) objects o;
  tristar_request_t *request;
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  make_objects(make(starpu), starpu, &o);
  destroy_object(&o, REQUEST, TRISTAR_OK);
  destroy_object(&o, ENDING_REQUEST, TRISTAR_OK);
  options.end = destroy_all;
  options.end_arg = &o;
  CHECK_OK(tristar_solve_start(o.plan, &options, 1, o.b, o.x, &request));
  CHECK_OK(tristar_wait(&request, NULL));
  CHECK(o.plan == NULL && o.ts == NULL);
  await_end();
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  const int rounds = TSI_TESTS_SANITIZED ? 8 : 30;
  for (int seed = 0; seed < 3 * rounds; seed++) RUN(check_order((uint64_t)seed, false, seed % 2 == 0));
  for (int seed = 0; seed < rounds; seed++) RUN(check_order((uint64_t)(1000 + seed), true, seed % 2 == 0));
  RUN(check_last(false));
  RUN(check_last(true));
  RUN(check_two());
  RUN(check_mixed(false));
  RUN(check_mixed(true));
  RUN(check_program());
  RUN(check_messages());
  RUN(check_threads(false));
  RUN(check_threads(true));
  for (int first = 0; first < 2; first++) {
    RUN(check_inserted(first));
    RUN(check_callback(first));
    RUN(check_end(first));
  }
  return 0;
}
