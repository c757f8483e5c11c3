/* Solves with b and x on an emulated device, by plans with subtrees on devices and by one of the cores: the
 * bits of tristar_solve, each scalar and op, one and several right-hand sides, x where b is, with new values;
 * what is beside x stays. They follow what the stream of the program has to do. What cannot be is refused,
 * and then, as after any other failure, x is as it was.
 *
 *   test_gpu_pointers [nodes]     nodes: devices have a memory node of their own, which StarPU copies from
 * and to */
#include <pthread.h>
#include <starpu.h>

#include "tests/gpu/emulator/emulated_driver.h"
#include "tests/support/allocations.h"
#include "tests/support/gpu/placed_system.h"
#include "tests/support/subtests.h"
#include "tristar_device.h"
#include "tristar_machine.h"

enum { DEVICE = 0, BESIDE = 3 };

static tristar_t *create(int use_starpu) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_t *ts;
  config.calibration = "off";
  config.use_starpu = use_starpu;
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

/* GPU: the cores have the rest of the factor. */
static system_of system_create(tristar_t *ts, const typed *type, tristar_place place) {
  system_of s = system_factor(ts, type);
  tristar_factor_stats factor;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  CHECK_OK(tristar_factor_get_stats(s.factor, &factor));
  options.device_bytes = 1 + (int64_t)(0.4 * (double)factor.factor_bytes);
  system_plan(&s, place, &options);
  return s;
}

static tristar_device_vectors vectors_of(const void *b, int64_t ldb, void *x, int64_t ldx) {
  tristar_device_vectors v = DEFAULTS(tristar_device_vectors);
  CHECK(v.b == NULL && v.ldb == 0 && v.x == NULL && v.ldx == 0 && v.device == 0 && v.stream == NULL);
  v.b = b;
  v.ldb = ldb;
  v.x = x;
  v.ldx = ldx;
  v.device = DEVICE;
  return v;
}

/* ---- Results ------------------------------------------------------------------------------------------- */

/* Solves with larger leading dimensions, and with x beside b or in its place. All bytes of both arrays
 * equal those of tristar_solve in main memory. */
static void check_solve(const system_of *s, tristar_op op, int64_t nrhs, bool in_place) {
  const int64_t n = s->view.rows, ldb = n + BESIDE, ldx = in_place ? ldb : n + 2 * BESIDE;
  const size_t b_bytes = (size_t)(ldb * nrhs) * s->type->bytes,
               x_bytes = (size_t)(ldx * nrhs) * s->type->bytes;
  char *b = xmalloc(b_bytes), *x = in_place ? b : xmalloc(x_bytes),
       *b_there = emulated_allocate(DEVICE, b_bytes),
       *x_there = in_place ? b_there : emulated_allocate(DEVICE, x_bytes);
  CHECK(x);
  if (!in_place) fill(s->type, x, ldx * nrhs, 5);
  fill(s->type, b, ldb * nrhs, 3);
  memcpy(x_there, x, x_bytes);
  memcpy(b_there, b, b_bytes);
  const tristar_device_vectors v = vectors_of(b_there, ldb, x_there, ldx);
  CHECK_OK(tristar_solve(s->plan, op, nrhs, b, ldb, x, ldx));
  CHECK_OK(tristar_solve_device(s->plan, op, nrhs, &v));
  CHECK_MSG(memcmp(x, x_there, x_bytes) == 0, "op %c, %d right-hand sides%s", op, (int)nrhs,
            in_place ? ", in place" : "");
  CHECK(memcmp(b, b_there, b_bytes) == 0);
  emulated_free(b_there);
  if (!in_place) emulated_free(x_there);
  free(b);
  if (!in_place) free(x);
}

static void check_solves(tristar_t *ts, const typed *type, tristar_place place) {
  static const tristar_op op[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  CLEANUP(system_destroy) system_of s = system_create(ts, type, place);
  for (int again = 0; again < 2; again++) {
    for (int k = 0; k < 3; k++) {
      check_solve(&s, op[k], 1, k == 1);
      check_solve(&s, op[k], 5, k == 2);
    }
    if (again == 0) refactor(&s);
  }
}

/* ---- Streams ------------------------------------------------------------------------------------------- */

typedef struct filling {
  double *b;
  int64_t count;
  int calls;
} filling;

static void fill_late(void *arg) {
  filling *f = arg;
  fill_random(f->b, f->count, 11);
  f->calls++;
}

/* The stream writes b. If a stream returns an error or belongs to another device, the solve ends before it
 * writes x. */
static void check_streams(const system_of *s) {
  const int64_t n = s->view.rows;
  const size_t bytes = (size_t)n * sizeof(double);
  double *b = xmalloc(bytes), *x = xmalloc(bytes), *b_there = emulated_allocate(DEVICE, bytes),
         *x_there = emulated_allocate(DEVICE, bytes);
  filling late = {.b = b_there, .count = n};
  emulated_stream stream = {.device = DEVICE, .work = fill_late, .arg = &late};
  tristar_device_vectors v = vectors_of(b_there, n, x_there, n);
  v.stream = &stream;
  memset(b_there, 0, bytes);
  fill_random(b, n, 11);
  CHECK_OK(tristar_solve(s->plan, TRISTAR_N, 1, b, n, x, n));
  CHECK_OK(tristar_solve_device(s->plan, TRISTAR_N, 1, &v));
  CHECK(late.calls == 1 && memcmp(x, x_there, bytes) == 0);
  CHECK_OK(tristar_solve_device(s->plan, TRISTAR_T, 1, &v)); /* the stream is empty */
  CHECK(late.calls == 1 && memcmp(x, x_there, bytes) != 0);
  memcpy(x, x_there, bytes);
  stream.error = 719;
  CHECK_STATUS(tristar_solve_device(s->plan, TRISTAR_N, 1, &v), TRISTAR_ERR_RUNTIME);
  stream = (emulated_stream){.device = DEVICE + 1};
  CHECK_STATUS(tristar_solve_device(s->plan, TRISTAR_N, 1, &v), TRISTAR_ERR_RUNTIME);
  CHECK(memcmp(x, x_there, bytes) == 0);
  emulated_free(b_there);
  emulated_free(x_there);
  free(b);
  free(x);
}

/* ---- Threads ------------------------------------------------------------------------------------------- */

enum { THREADS = 2, ROUNDS = 3 };

typedef struct caller {
  const system_of *system;
  tristar_device_vectors vectors;
} caller;

static void *call(void *arg) {
  const caller *c = arg;
  for (int k = 0; k < ROUNDS; k++) CHECK_OK(tristar_solve_device(c->system->plan, TRISTAR_N, 1, &c->vectors));
  return NULL;
}

/* Concurrent solves with the same b. */
static void check_threads(const system_of *s) {
  const int64_t n = s->view.rows;
  const size_t bytes = (size_t)n * sizeof(double);
  double *b = emulated_allocate(DEVICE, bytes), *expected = xmalloc(bytes), *b_here = xmalloc(bytes);
  caller c[THREADS];
  pthread_t thread[THREADS];
  fill_random(b_here, n, 13);
  memcpy(b, b_here, bytes);
  CHECK_OK(tristar_solve(s->plan, TRISTAR_N, 1, b_here, n, expected, n));
  for (int k = 0; k < THREADS; k++) {
    c[k] = (caller){s, vectors_of(b, n, emulated_allocate(DEVICE, bytes), n)};
    CHECK(pthread_create(&thread[k], NULL, call, &c[k]) == 0);
  }
  for (int k = 0; k < THREADS; k++) {
    CHECK(pthread_join(thread[k], NULL) == 0);
    CHECK(memcmp(expected, c[k].vectors.x, bytes) == 0);
    emulated_free(c[k].vectors.x);
  }
  emulated_free(b);
  free(expected);
  free(b_here);
}

/* ---- Errors -------------------------------------------------------------------------------------------- */

static void refuse(tristar_t *ts, tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                   const tristar_device_vectors *v, tristar_status status, const char *cause) {
  char text[512];
  CHECK_STATUS(tristar_solve_device(plan, op, nrhs, v), status);
  CHECK(tristar_get_error(ts, text, sizeof text) > 0);
  CHECK_MSG(strstr(text, cause), "%s", text);
}

typedef struct inside {
  tristar_t *ts;
  const system_of *system;
  const tristar_device_vectors *vectors;
} inside;

static void solve_inside(void *buffers[], void *arg) {
  const inside *i;
  (void)buffers;
  starpu_codelet_unpack_args(arg, &i);
  refuse(i->ts, i->system->plan, TRISTAR_N, 1, i->vectors, TRISTAR_ERR_UNSUPPORTED,
         "a StarPU task cannot wait");
}

static void check_refusals(tristar_t *ts, const system_of *s) {
  static struct starpu_codelet codelet = {.cpu_funcs = {solve_inside}};
  const int64_t n = s->view.rows;
  const size_t bytes = 2 * (size_t)n * sizeof(double);
  double *b = emulated_allocate(DEVICE, bytes), *x = emulated_allocate(DEVICE, bytes),
         *other = emulated_allocate(DEVICE + 1, bytes), *host = xmalloc(bytes);
  const tristar_device_vectors good = vectors_of(b, n, x, n);
  tristar_device_vectors v = good;
  const inside task = {ts, s, &good}, *of = &task;
  fill_random(b, 2 * n, 17);
  fill_random(x, 2 * n, 19);
  memcpy(host, x, bytes);
  refuse(NULL, NULL, TRISTAR_N, 1, &good, TRISTAR_ERR_ARGUMENT, "plan is NULL");
  refuse(ts, s->plan, TRISTAR_N, 1, NULL, TRISTAR_ERR_ARGUMENT, "vectors is NULL");
  refuse(ts, s->plan, (tristar_op)0, 1, &good, TRISTAR_ERR_ARGUMENT, "op is 0");
  refuse(ts, s->plan, TRISTAR_N, -1, &good, TRISTAR_ERR_ARGUMENT, "nrhs is -1");
  v.b = NULL;
  refuse(ts, s->plan, TRISTAR_N, 1, &v, TRISTAR_ERR_ARGUMENT, "b is NULL");
  v = good, v.x = NULL;
  refuse(ts, s->plan, TRISTAR_N, 1, &v, TRISTAR_ERR_ARGUMENT, "x is NULL");
  v = good, v.ldb = n - 1;
  refuse(ts, s->plan, TRISTAR_N, 1, &v, TRISTAR_ERR_ARGUMENT, "ldb = ");
  v = good, v.ldx = 0;
  refuse(ts, s->plan, TRISTAR_N, 1, &v, TRISTAR_ERR_ARGUMENT, "ldx = 0");
  v = good, v.x = b, v.ldx = n + 1;
  refuse(ts, s->plan, TRISTAR_N, 1, &v, TRISTAR_ERR_ARGUMENT, "x is b, but");
  v = good, v.ldb = (int64_t)1 << 31;
  refuse(ts, s->plan, TRISTAR_N, 2, &v, TRISTAR_ERR_TOO_LARGE, "2^32 entries");
  v = good, v.device = -1;
  refuse(ts, s->plan, TRISTAR_N, 1, &v, TRISTAR_ERR_ARGUMENT, "device is -1");
  v.device = 2;
  refuse(ts, s->plan, TRISTAR_N, 1, &v, TRISTAR_ERR_ARGUMENT, "device 2: StarPU has no worker");
  v.device = 1;
  refuse(ts, s->plan, TRISTAR_N, 1, &v, TRISTAR_ERR_ARGUMENT, "b is memory of device 0, not of device 1");
  v = good, v.x = other;
  refuse(ts, s->plan, TRISTAR_N, 1, &v, TRISTAR_ERR_ARGUMENT, "x is memory of device 1, not of device 0");
  v.x = host;
  refuse(ts, s->plan, TRISTAR_N, 1, &v, TRISTAR_ERR_ARGUMENT, "x is not memory of a device");
  CHECK(starpu_task_insert(&codelet, STARPU_VALUE, &of, sizeof of, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
  v = vectors_of(NULL, n, NULL, n + 1); /* no right-hand sides */
  CHECK_OK(tristar_solve_device(s->plan, TRISTAR_N, 0, &v));
  CHECK(memcmp(x, host, bytes) == 0);
  emulated_free(b);
  emulated_free(x);
  emulated_free(other);
  free(host);
}

/* Each allocation fails in turn. */
static void check_memory(tristar_t *ts, const system_of *s) {
  const int64_t n = s->view.rows;
  const size_t bytes = (size_t)n * sizeof(double);
  double *b = emulated_allocate(DEVICE, bytes), *x = emulated_allocate(DEVICE, bytes),
         *before = xmalloc(bytes);
  const tristar_device_vectors v = vectors_of(b, n, x, n);
  fill_random(b, n, 23);
  fill_random(x, n, 29);
  memcpy(before, x, bytes);
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    const tristar_status status = tristar_solve_device(s->plan, TRISTAR_N, 1, &v);
    end_failure(&failing, status);
    CHECK((status == TRISTAR_OK) == (memcmp(before, x, bytes) != 0));
  }
  CHECK(failing.count >= 1);
  emulated_free(b);
  emulated_free(x);
  free(before);
}

/* A context without StarPU, and a factor without values. */
static void check_unable(tristar_t *ts) {
  tristar_t *without = create(0);
  double *b = emulated_allocate(DEVICE, 1000 * sizeof *b), kept;
  system_of s = system_create(without, &typed_double, TRISTAR_PLACE_CPU);
  tristar_device_vectors v = vectors_of(b, s.view.rows, b, s.view.rows);
  refuse(without, s.plan, TRISTAR_N, 1, &v, TRISTAR_ERR_UNSUPPORTED, "without StarPU");
  system_destroy(&s);
  tristar_destroy(&without);
  s = system_create(ts, &typed_double, TRISTAR_PLACE_GPU);
  const int64_t entries = ((const int64_t *)s.view.ptr)[s.view.cols];
  fill_random(b, 1000, 31);
  kept = b[0];
  for (int64_t e = 0; e < entries; e++) ((double *)s.values)[e] = NAN;
  CHECK(tristar_refactor(s.factor, s.values) != TRISTAR_OK);
  refuse(ts, s.plan, TRISTAR_N, 1, &v, TRISTAR_ERR_STALE, "values");
  CHECK(b[0] == kept);
  system_destroy(&s);
  emulated_free(b);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  const bool nodes = argc > 1 && strcmp(argv[1], "nodes") == 0;
  static const typed *const types[] = {&typed_double, &typed_complex_double, &typed_single,
                                       &typed_complex_single};
  const int count = TSI_TESTS_RACES ? 1 : nodes ? 2 : 4;
  tristar_starpu_info info;
  CLEANUP(tristar_destroy) tristar_t *ts = create(1);
  CHECK_OK(tristar_get_starpu(ts, &info));
  if (nodes && starpu_memory_nodes_get_count() < 2) SKIP("StarPU has one memory node for all workers");
  CHECK(info.devices == 2 && nodes == (starpu_memory_nodes_get_count() > 1));
  for (int k = 0; k < count; k++) RUN(check_solves(ts, types[k], TRISTAR_PLACE_GPU));
  RUN(check_solves(ts, &typed_double, TRISTAR_PLACE_CPU));
  system_of s = system_create(ts, &typed_double, TRISTAR_PLACE_GPU);
  RUN(check_streams(&s));
  RUN(check_threads(&s));
  RUN(check_refusals(ts, &s));
  RUN(check_memory(ts, &s));
  system_destroy(&s);
  RUN(check_unable(ts));
  return 0;
}
