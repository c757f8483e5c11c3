/* A program whose vectors are on emulated devices: its tasks there write b and read x of inserted solves,
 * with nothing in between that waits. Several solves of each op are in flight, from and to both devices, with
 * one and several right-hand sides; x of one is b of the next; x that no memory was given for is where it is
 * needed; the factor gets new values between solves, after b was written; solves with device pointers, in the
 * order of the program's stream, run beside. All have the bits of tristar_solve, by plans with subtrees on
 * devices and by one of the cores.
 *
 *   test_gpu_embedding [nodes]     nodes: devices have a memory node of their own, which StarPU copies from
 * and to */
#include <starpu.h>

#include "runtime/exec/starpu/devices.h"
#include "tests/gpu/emulator/emulated_driver.h"
#include "tests/support/gpu/placed_system.h"
#include "tests/support/subtests.h"
#include "tristar_device.h"
#include "tristar_starpu.h"
#include "tristar_machine.h"

enum { SOLVES = 6, DEVICES = 2, MANY = 5 };

static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};

static system_of system_create(tristar_t *ts, const typed *type, tristar_place place) {
  system_of s = system_factor(ts, type);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.engine = TRISTAR_ENGINE_TASKS;
  options.device_solves = SOLVES;
  system_plan(&s, place, &options);
  return s;
}

/* ---- Tasks of the program on a device ------------------------------------------------------------------ */

/* A task of the program; array: in main memory. */
typedef struct work {
  const typed *type;
  uint64_t seed;
  void *array;
} work;

static bool nodes;

/* Returns the number of entries of a matrix without gaps. If devices have memory `nodes`, the matrix of a
 * device must not be in main memory. */
static int64_t entries_of(void *buffer) {
  const unsigned node = starpu_worker_get_memory_node((unsigned)starpu_worker_get_id());
  CHECK(STARPU_MATRIX_GET_LD(buffer) == STARPU_MATRIX_GET_NX(buffer));
  CHECK(!nodes || starpu_task_get_current()->workerid != (unsigned)tsi_device_describe(0).worker ||
        node != STARPU_MAIN_RAM);
  return (int64_t)STARPU_MATRIX_GET_NX(buffer) * STARPU_MATRIX_GET_NY(buffer);
}

static void write_there(void *buffers[], void *arg) {
  const work *w = arg;
  fill(w->type, (void *)STARPU_MATRIX_GET_PTR(buffers[0]), entries_of(buffers[0]), w->seed);
}

static void read_there(void *buffers[], void *arg) {
  const work *w = arg;
  memcpy(w->array, (void *)STARPU_MATRIX_GET_PTR(buffers[0]),
         (size_t)entries_of(buffers[0]) * w->type->bytes);
}

static struct starpu_codelet write_codelet = {.cpu_funcs = {write_there}, .nbuffers = 1, .modes = {STARPU_W}},
                             read_codelet = {.cpu_funcs = {read_there}, .nbuffers = 1, .modes = {STARPU_R}};

static void submit(struct starpu_codelet *codelet, int device, starpu_data_handle_t handle, work *w) {
  struct starpu_task *task = starpu_task_create();
  task->cl = codelet;
  task->handles[0] = handle;
  task->cl_arg = w;
  task->execute_on_a_specific_worker = 1;
  task->workerid = (unsigned)tsi_device_describe(device).worker;
  CHECK(starpu_task_submit(task) == 0);
}

/* ---- Solves in flight ---------------------------------------------------------------------------------- */

/* A solve with its vectors, and the x that the program reads. */
typedef struct flight {
  int64_t n, nrhs;
  tristar_op op;
  void *b;
  starpu_data_handle_t b_handle, x_handle;
  work written, read;
} flight;

/* b is registered in main memory, x is not allocated. */
static flight open_flight(const system_of *s, int k) {
  flight f = {.n = s->n, .nrhs = k % 2 ? MANY : 1, .op = ops[k % 3]};
  const size_t bytes = (size_t)(f.n * f.nrhs) * s->type->bytes;
  f.b = xcalloc(bytes, 1);
  f.written = (work){.type = s->type, .seed = 100 * (uint64_t)k};
  f.read = (work){.type = s->type, .array = xcalloc(bytes, 1)};
  CHECK(f.read.array);
  starpu_matrix_data_register(&f.b_handle, STARPU_MAIN_RAM, (uintptr_t)f.b, (uint32_t)f.n, (uint32_t)f.n,
                              (uint32_t)f.nrhs, s->type->bytes);
  starpu_matrix_data_register(&f.x_handle, -1, 0, (uint32_t)f.n, (uint32_t)f.n, (uint32_t)f.nrhs,
                              s->type->bytes);
  return f;
}

static void close_flight(flight *f) {
  starpu_data_unregister(f->b_handle);
  starpu_data_unregister(f->x_handle);
  free(f->b);
  free(f->read.array);
}

/* The program must read what `times` consecutive calls of tristar_solve give for its b. */
static void check_flight(const system_of *s, const flight *f, int times) {
  const int64_t count = f->n * f->nrhs;
  const size_t bytes = (size_t)count * s->type->bytes;
  OWNED void *b = xcalloc(bytes, 1), *x = xcalloc(bytes, 1);
  fill(s->type, b, count, f->written.seed);
  for (int k = 0; k < times; k++) {
    CHECK_OK(tristar_solve(s->plan, f->op, f->nrhs, b, f->n, x, f->n));
    memcpy(b, x, bytes);
  }
  CHECK_MSG(memcmp(x, f->read.array, bytes) == 0, "scalar %d, op %d, %d right-hand sides",
            (int)s->type->scalar, (int)f->op, (int)f->nrhs);
}

/* Several solves at the same time; the program waits at the end. */
static void check_solves(system_of *s) {
  flight f[SOLVES];
  for (int k = 0; k < SOLVES; k++) {
    f[k] = open_flight(s, k);
    submit(&write_codelet, k % DEVICES, f[k].b_handle, &f[k].written);
  }
  for (int round = 0; round < 2; round++) { /* b is unchanged in the second round */
    for (int k = 0; k < SOLVES; k++) {
      CHECK_OK(tristar_solve_insert(s->plan, f[k].op, f[k].b_handle, f[k].x_handle));
      submit(&read_codelet, (k + round) % DEVICES, f[k].x_handle, &f[k].read);
    }
    CHECK(starpu_task_wait_for_all() == 0);
    CHECK_OK(tristar_plan_wait(s->plan));
    for (int k = 0; k < SOLVES; k++) check_flight(s, &f[k], 1);
    if (round == 0) refactor(s); /* b is still on the devices */
  }
  for (int k = 0; k < SOLVES; k++) close_flight(&f[k]);
}

/* x of one solve is b of the next one, which overwrites the first b. */
static void check_chain(const system_of *s) {
  flight f[2] = {open_flight(s, 1), open_flight(s, 3)};
  for (int k = 0; k < 2; k++) submit(&write_codelet, k, f[k].b_handle, &f[k].written);
  for (int k = 0; k < 2; k++) CHECK_OK(tristar_solve_insert(s->plan, f[k].op, f[k].b_handle, f[k].x_handle));
  for (int k = 0; k < 2; k++) CHECK_OK(tristar_solve_insert(s->plan, f[k].op, f[k].x_handle, f[k].b_handle));
  for (int k = 0; k < 2; k++) submit(&read_codelet, 1 - k, f[k].b_handle, &f[k].read);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK_OK(tristar_plan_wait(s->plan));
  for (int k = 0; k < 2; k++) check_flight(s, &f[k], 2);
  for (int k = 0; k < 2; k++) close_flight(&f[k]);
}

/* ---- Streams ------------------------------------------------------------------------------------------- */

/* An operation in the program's stream: a copy on the device. */
typedef struct copying {
  void *to;
  const void *from;
  size_t bytes;
  int calls;
} copying;

static void copy_late(void *arg) {
  copying *c = arg;
  memcpy(c->to, c->from, c->bytes);
  c->calls++;
}

/* The stream writes b before the first solve, and copies x to b before the second one. Inserted solves with
 * vectors on devices are in flight. */
static void check_streams(const system_of *s) {
  const size_t bytes = (size_t)s->n * s->type->bytes;
  flight f = open_flight(s, 0);
  void *b = xcalloc(bytes, 1), *b_there = emulated_allocate(0, bytes), *x_there = emulated_allocate(0, bytes);
  copying first = {.to = b_there, .from = b, .bytes = bytes},
          second = {.to = b_there, .from = x_there, .bytes = bytes};
  emulated_stream stream = {.device = 0, .work = copy_late, .arg = &first};
  tristar_device_vectors v = DEFAULTS(tristar_device_vectors);
  v.b = b_there;
  v.x = x_there;
  v.ldb = v.ldx = s->n;
  v.stream = &stream;
  memset(b_there, 0, bytes);
  fill(s->type, b, s->n, f.written.seed);
  submit(&write_codelet, 1, f.b_handle, &f.written);
  CHECK_OK(tristar_solve_insert(s->plan, f.op, f.b_handle, f.x_handle));
  CHECK_OK(tristar_solve_device(s->plan, f.op, 1, &v));
  stream.work = copy_late;
  stream.arg = &second;
  CHECK_OK(tristar_solve_insert(s->plan, f.op, f.x_handle, f.b_handle));
  CHECK_OK(tristar_solve_device(s->plan, f.op, 1, &v));
  submit(&read_codelet, 0, f.b_handle, &f.read);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK_OK(tristar_plan_wait(s->plan));
  check_flight(s, &f, 2);
  CHECK(first.calls == 1 && second.calls == 1 && memcmp(x_there, f.read.array, bytes) == 0);
  close_flight(&f);
  emulated_free(b_there);
  emulated_free(x_there);
  free(b);
}

static void check_system(tristar_t *ts, const typed *type, tristar_place place) {
  CLEANUP(system_destroy) system_of s = system_create(ts, type, place);
  check_solves(&s);
  check_chain(&s);
  check_streams(&s);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_double, &typed_complex_single, &typed_complex_double,
                                       &typed_single};
  tristar_config config = DEFAULTS(tristar_config);
  tristar_starpu_info info;
  CLEANUP(tristar_destroy) tristar_t *ts;
  nodes = argc > 1 && strcmp(argv[1], "nodes") == 0;
  config.calibration = "off";
  CHECK_OK(tristar_create(&config, &ts));
  CHECK_OK(tristar_get_starpu(ts, &info));
  if (nodes && starpu_memory_nodes_get_count() < 2) SKIP("StarPU has one memory node for all workers");
  CHECK(info.devices == DEVICES && nodes == (starpu_memory_nodes_get_count() > 1));
  for (int k = 0; k < (TSI_TESTS_RACES ? 2 : 4); k++) RUN(check_system(ts, types[k], TRISTAR_PLACE_GPU));
  RUN(check_system(ts, types[0], TRISTAR_PLACE_CPU));
  return 0;
}
