/* Distributed factors whose ranks have subtrees on emulated devices, beside others on their cores: x is that
 * of one process, up to rounding, and the same to the bit whenever it is repeated, under every scheduler; new
 * values reach the devices, of rank 0 or factored together, also from rows of all ranks; refined, started,
 * traced solves. Figures of devices. Errors, and how PLACE_AUTO falls back, on all ranks alike.
 *
 *   test_gpu_distributed PX PY PZ */
#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_dmatrix_mpi.h"
#include "tristar_machine.h"
#include "tristar_mpi.h"

/* A machine whose cores read one megabyte per second: any device is faster, also for small chunks. */
static const char slow[] = "tristar-calibration 1\n"
                           "task_ns 2000\nbarrier_ns 9000\nread_one_core_mb_per_s 1\n"
                           "read_all_cores_mb_per_s 0\nworkers 2\ncores 2\nnuma_nodes 1\n"
                           "l2_bytes 0\nl3_bytes 0\nl3_cores 0\n";

enum { SIDE = 32, N = SIDE * SIDE };

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
  tristar_layout layout;
  tristar_matrix_t *matrix; /* on rank 0, as are the next fields */
  tristar_view view;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  int64_t n; /* on all ranks */
  double b[N], x[N];
  double expected[N]; /* x computed by one process, on rank 0 */
  double first[N];    /* x under the first scheduler */
} world;

static world w;

static tristar_t *create(const char *scheduler, const char *calibration) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_t *ts;
  config.scheduler = scheduler;
  config.calibration = calibration;
  config.check = 1;
  CHECK_OK(tristar_mpi_share_cores(MPI_COMM_WORLD, &config));
  CHECK(config.first_device >= 0 && config.devices >= 1); /* the emulated node has two devices */
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

static void open_world(const char *scheduler, const char *calibration) {
  tristar_analysis_options options;
  w.ts = create(scheduler, calibration);
  w.matrix = NULL;
  w.analysis = NULL;
  w.factor = NULL;
  if (w.rank == 0) {
    w.view = generated_view(w.ts, "s2d9pt", SIDE, &w.matrix);
    w.n = w.view.rows;
    tristar_analysis_options_init(&options);
    options.leaf_parts = w.layout.pz;
    CHECK_OK(tristar_analyze(w.ts, &w.view, &options, &w.analysis));
    CHECK_OK(tristar_factor(w.analysis, w.view.values, &w.factor));
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(w.factor, NULL);
    fill_random(w.b, w.n, 3);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, w.b, w.n, w.expected, w.n));
  }
  MPI_Bcast(&w.n, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  CHECK(w.n == N);
}

static void close_world(void) {
  tristar_factor_destroy(&w.factor);
  tristar_analysis_destroy(&w.analysis);
  tristar_matrix_destroy(&w.matrix);
  tristar_destroy(&w.ts);
}

static tristar_distributed_options placed(tristar_place place) {
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  options.layout = w.layout;
  options.place = place;
  return options;
}

static tristar_status distribute(const tristar_distributed_options *options, tristar_distributed_t **d) {
  return tristar_distribute(w.ts, MPI_COMM_WORLD, w.factor, options, d);
}

static void use_all_rows(tristar_distributed_t *d) {
  CHECK_OK(tristar_distributed_set_rows(d, w.rank == 0 ? 0 : w.n, w.rank == 0 ? w.n : 0));
}

static void solve(tristar_distributed_t *d) {
  memset(w.x, 0, sizeof w.x);
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, w.b, w.n, w.x, w.n));
}

/* x must equal `times` the solution of one process. */
static void check_x(double times) {
  double worst = 0, size = 0;
  for (int64_t i = 0; i < w.n && w.rank == 0; i++) {
    worst = larger_error(worst, fabs(w.x[i] - times * w.expected[i]));
    size = fmax(size, fabs(times * w.expected[i]));
  }
  CHECK_MSG(worst <= 1e-10 * size, "x differs by %g of %g", worst, size);
}

/* Checks the statistics of devices on all ranks. Returns how many devices have subtrees. */
static int check_stats(const tristar_distributed_t *d) {
  tristar_distributed_stats stats;
  tristar_device_stats one;
  int all, count = 0;
  int64_t chunks = 0;
  tristar_distributed_get_stats(d, &stats);
  for (; tristar_distributed_get_device(d, count, &one); count++) {
    CHECK(one.chunks > 0 && one.factor_bytes > 0 && one.table_bytes > 0 && one.up_bytes > 0 &&
          one.up_bytes == one.down_bytes && strstr(one.name, "CPU"));
    chunks += one.chunks;
  }
  CHECK(stats.devices == count && stats.device_chunks == chunks && chunks <= stats.chunks);
  CHECK((count > 0) == (stats.device[0] != '\0') && stats.up_bytes == stats.down_bytes);
  CHECK(stats.device_factor_bytes <= stats.factor_bytes + 256.0 * 8 * (double)chunks);
  CHECK(!tristar_distributed_get_device(d, -1, NULL) && !tristar_distributed_get_device(NULL, 0, NULL));
  MPI_Allreduce(&count, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

/* Checks the times of the latest solve. */
static void check_times(const tristar_distributed_t *d) {
  tristar_distributed_stats s;
  tristar_distributed_get_stats(d, &s);
  if (s.tasks == 0) return; /* all chunks are on other ranks */
  CHECK(s.forward_seconds > 0 && s.backward_seconds > 0 && s.between_seconds >= 0);
  CHECK(s.forward_seconds <= s.sweep_seconds && s.backward_seconds <= s.sweep_seconds);
  CHECK(s.forward_seconds + s.between_seconds <= s.sweep_seconds * (1 + 1e-9));
}

/* Returns the values of half the matrix. */
static double *halved(void) {
  if (w.rank > 0) return NULL;
  const int64_t entries = ((const int64_t *)w.view.ptr)[w.view.cols];
  double *values = xmalloc((size_t)entries * sizeof *values);
  for (int64_t e = 0; e < entries; e++) values[e] = ((const double *)w.view.values)[e] / 2;
  return values;
}

/* Returns how many devices of this rank have subtrees. */
static int check_distributed(bool first) {
  const tristar_distributed_options options = placed(TRISTAR_PLACE_GPU);
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  tristar_distributed_stats stats;
  double *half = halved();
  CHECK_OK(distribute(&options, &d));
  use_all_rows(d);
  CHECK(check_stats(d) > 0);
  solve(d);
  check_x(1);
  check_times(d);
  if (first)
    memcpy(w.first, w.x, sizeof w.x);
  else
    CHECK_MSG(memcmp(w.first, w.x, sizeof w.x) == 0, "another scheduler gives other bits");
  for (int turn = 0; turn < 2; turn++) {
    solve(d);
    CHECK_MSG(memcmp(w.first, w.x, sizeof w.x) == 0, "other bits");
  }
  if (w.rank == 0) CHECK_OK(tristar_refactor(w.factor, half));
  CHECK_OK(tristar_distributed_update(d, w.factor));
  solve(d);
  check_x(2);
  if (w.rank == 0) CHECK_OK(tristar_refactor(w.factor, w.view.values));
  free(half);
  tristar_distributed_get_stats(d, &stats);
  return stats.devices;
}

/* Factors on all ranks, then runs all kinds of solves. */
static void check_factored(void) {
  const tristar_distributed_options options = placed(TRISTAR_PLACE_GPU);
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  tristar_refine_result refined;
  CLEANUP(tristar_trace_destroy) tristar_trace_t *trace;
  OWNED double *half = halved();
  CHECK_OK(tristar_distributed_factor(w.ts, MPI_COMM_WORLD, w.analysis, w.rank == 0 ? w.view.values : NULL,
                                      &options, &d));
  use_all_rows(d);
  CHECK(check_stats(d) > 0);
  solve(d);
  check_x(1);
  CHECK_OK(tristar_distributed_refactor(d, half));
  solve(d);
  check_x(2);
  CHECK_OK(tristar_distributed_solve_refined(d, TRISTAR_N, 1, w.b, w.n, w.x, w.n, NULL, &refined));
  check_x(2);
  CHECK_OK(tristar_distributed_trace(d, TRISTAR_N, 1, w.b, w.n, w.x, w.n, &trace));
  check_x(2);
  bool on_device = false;
  for (int64_t k = 0; trace && k < trace->tasks.count; k++)
    on_device = on_device || trace->tasks.item[k].device >= 0;
  CHECK(on_device == (w.rank == 0));
}

/* All ranks have rows and factor them. Then a factor of rank 0 replaces the values. */
static void check_rows(void) {
  tristar_distributed_options options = placed(TRISTAR_PLACE_GPU);
  tristar_analysis_options analysis = DEFAULTS(tristar_analysis_options);
  tristar_dmatrix_t *matrix;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  analysis.leaf_parts = w.layout.pz;
  CHECK_OK(tristar_dmatrix_generate(w.ts, MPI_COMM_WORLD, "s2d9pt", SIDE, NULL, &matrix));
  CHECK_OK(tristar_dmatrix_factor(matrix, &analysis, &options, &d));
  tristar_dmatrix_destroy(&matrix);
  CHECK(check_stats(d) > 0);
  use_all_rows(d);
  solve(d);
  check_x(1);
  CHECK_OK(tristar_distributed_update(d, w.factor));
  solve(d);
  check_x(1);
}

static void expect(const tristar_distributed_options *options, tristar_status status, const char *text) {
  char message[512];
  tristar_distributed_t *d;
  CHECK_STATUS(distribute(options, &d), status);
  tristar_get_error(w.ts, message, sizeof message);
  CHECK_MSG(d == NULL && strstr(message, text), "\"%s\" is not in \"%s\"", text, message);
}

static void check_refusals(void) {
  tristar_distributed_options options = placed(TRISTAR_PLACE_GPU);
  options.engine = TRISTAR_ENGINE_SERIAL;
  expect(&options, TRISTAR_ERR_UNSUPPORTED, "there are no tasks");
  options = placed(w.rank == 0 ? TRISTAR_PLACE_GPU : TRISTAR_PLACE_CPU);
  expect(&options, TRISTAR_ERR_ARGUMENT, "the place of subtrees");
  options = placed((tristar_place)7);
  expect(&options, TRISTAR_ERR_ARGUMENT, "place 7");
  if (w.layout.px * w.layout.py == 1) return;
  options = placed(TRISTAR_PLACE_GPU);
  options.layout.map = TRISTAR_MAP_CYCLIC;
  expect(&options, TRISTAR_ERR_UNSUPPORTED, "the cyclic map");
  options.place = TRISTAR_PLACE_AUTO;
  tristar_distributed_t *d;
  CHECK_OK(distribute(&options, &d));
  CHECK(check_stats(d) == 0);
  tristar_distributed_destroy(&d);
}

/* Only the devices of the last rank have no memory. devices: number of this rank's devices with subtrees
 * otherwise. */
static void check_space(int devices) {
  tristar_distributed_options options = placed(TRISTAR_PLACE_GPU);
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  tristar_distributed_stats stats;
  if (w.rank == w.ranks - 1) options.device_bytes = 1;
  CHECK_OK(distribute(&options, &d));
  use_all_rows(d);
  tristar_distributed_get_stats(d, &stats);
  const bool none = w.rank == w.ranks - 1;
  CHECK(stats.devices == (none ? 0 : devices) && (stats.unfit_bytes > 0) == (none && devices > 0));
  solve(d);
  check_x(1);
}

/* Returns the number of allocations of the context so far. */
static int64_t allocations(void) {
  tristar_memory_stats memory;
  CHECK_OK(tristar_get_memory(w.ts, &memory));
  return memory.allocations;
}

/* Returns the number of allocations on the last rank without failures. */
static int64_t count_allocations(const tristar_distributed_options *options) {
  const int64_t before = allocations();
  int64_t calls;
  tristar_distributed_t *d;
  CHECK_OK(distribute(options, &d));
  calls = allocations() - before;
  tristar_distributed_destroy(&d);
  MPI_Bcast(&calls, 1, MPI_INT64_T, w.ranks - 1, MPI_COMM_WORLD);
  return calls;
}

/* In each trial one allocation fails on the last rank. AUTO returns a factor with devices on none, some or
 * all ranks, or MEMORY if that also fails. The status is the same on all ranks. */
static void check_fallback(void) {
  enum { TRIALS = 16 };
  const tristar_distributed_options options = placed(TRISTAR_PLACE_AUTO);
  const bool failing = w.rank == w.ranks - 1;
  const int64_t calls = count_allocations(&options);
  int fallbacks = 0, refusals = 0;
  for (int64_t k = 0; k < TRIALS; k++) {
    tristar_distributed_t *d;
    const int64_t at = 1 + k * (calls - 1) / (TRIALS - 1), before = allocations();
    CHECK_OK(tristar_fail_allocation(w.ts, failing ? at : 0));
    const tristar_status status = distribute(&options, &d);
    CHECK_OK(tristar_fail_allocation(w.ts, 0));
    int own[2] = {status != TRISTAR_OK, failing && allocations() - before >= at}, any[2];
    MPI_Allreduce(own, any, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(own[0] == any[0] && any[1]);
    refusals += any[0];
    if (any[0]) continue;
    tristar_distributed_stats stats;
    tristar_distributed_get_stats(d, &stats);
    int without = stats.devices == 0;
    MPI_Allreduce(MPI_IN_PLACE, &without, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(without);
    fallbacks++;
    use_all_rows(d);
    solve(d);
    check_x(1);
    tristar_distributed_destroy(&d);
  }
  CHECK_MSG(fallbacks >= TRIALS / 2 && refusals > 0, "%d factors on cores, %d refused", fallbacks, refusals);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  static const char *const schedulers[] = {"lws", "eager", "dmdas"};
  int level;
  CHECK(argc == 4);
  CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  tristar_layout_init(&w.layout);
  w.layout.px = atoi(argv[1]);
  w.layout.py = atoi(argv[2]);
  w.layout.pz = atoi(argv[3]);
  char name[32];
  snprintf(name, sizeof name, "slow%d_%d", w.ranks, w.rank);
  FILE *file = fopen(name, "w");
  CHECK(file && fputs(slow, file) >= 0 && fclose(file) == 0);
  for (int k = 0; k < 3; k++) {
    open_world(schedulers[k], name);
    const int devices = check_distributed(k == 0);
    if (k == 0) {
      RUN(check_factored());
      RUN(check_rows());
      RUN(check_refusals());
      RUN(check_space(devices));
    }
    close_world();
  }
  open_world("lws", name);
  RUN(check_fallback());
  close_world();
  MPI_Finalize();
  return 0;
}
