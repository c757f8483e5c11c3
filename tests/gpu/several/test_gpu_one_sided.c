/* Distributed solves whose sweeps run on an emulated device of each rank, with one-sided messages: x is that
 * of the cores, up to rounding, for each scalar type and method, forward and backward, with 1 and 17
 * right-hand sides, whole and one sweep alone; the same bits in many solves one after the other, each in
 * another schedule; messages and bytes are those that are counted from the analysis alone, with the chunks of
 * GPUs, as `tristar info --gpu --layout` has them. A layout is chosen by the simulation of GPUs. New values
 * reach the devices. 200 solves one after the other have other right-hand sides and numbers of them. Lists
 * and traces are refused; a rank that does not come to a solve, or to one sweep, makes those that wait for it
 * return an error in time, and all ranks in the next solve.
 *
 *   test_gpu_one_sided PX PY PZ */
#include "runtime/mpi/solve/distributed.h"
#include "runtime/machine/devices.h"
#include "runtime/process/traffic.h"
#include "tests/support/gpu/device_problem.h"
#include "tests/support/subtests.h"
#include "tristar_mpi.h"

enum { MOST = 17, REPEATS = 5, IN_A_ROW = 200 };

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
  tristar_layout layout;
} world;

typedef struct example {
  const char *kind;
  int64_t k;
  tristar_method method;
  tristar_symmetry symmetry;
  const typed *type;
} example;

static const example examples[] = {
    {"s2d9pt", 12, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, &typed_double},
    {"poisson3d7", 4, TRISTAR_METHOD_LU, TRISTAR_GENERAL, &typed_single},
    {"maxwell3d", 2, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, &typed_complex_double},
    {"convdiff3d", 4, TRISTAR_METHOD_LU, TRISTAR_GENERAL, &typed_complex_single},
};

static tristar_distributed_options options_of(const world *w, bool device, double seconds) {
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  options.layout = w->layout;
  options.engine = TRISTAR_ENGINE_SERIAL;
  if (device) options.transport = TRISTAR_TRANSPORT_ONE_SIDED;
  if (device) options.place = TRISTAR_PLACE_GPU;
  if (device) options.peer_seconds = seconds;
  return options;
}

static tristar_distributed_t *distribute(const world *w, tristar_factor_t *factor, bool device,
                                         double seconds) {
  tristar_distributed_t *d;
  const tristar_distributed_options options = options_of(w, device, seconds);
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d));
  CHECK((d->slot[0].device != NULL) == device);
  return d;
}

static void *make_b(const typed *t, int64_t count) {
  char *b = xcalloc((size_t)count + 1, t->bytes);
  const int64_t reals =
      count * (int64_t)t->bytes / (t->is_single ? (int64_t)sizeof(float) : (int64_t)sizeof(double));
  for (int64_t i = 0; i < reals; i++) {
    const double value = (double)(i * 7919 % 1009) / 500 - 1;
    if (t->is_single)
      ((float *)(void *)b)[i] = (float)value;
    else
      ((double *)(void *)b)[i] = value;
  }
  return b;
}

static void compare(const example *p, tristar_distributed_t *cores, tristar_distributed_t *device, int64_t n,
                    tristar_op op, tristar_part part, int64_t nrhs) {
  const int64_t count = n * nrhs;
  OWNED void *b = make_b(p->type, count);
  OWNED void *x = xcalloc((size_t)count + 1, p->type->bytes), *y = xcalloc((size_t)count + 1, p->type->bytes),
             *z = xcalloc((size_t)count + 1, p->type->bytes);
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  options.op = op;
  options.part = part;
  CHECK_OK(tristar_distributed_solve_with(cores, &options, nrhs, b, x, NULL));
  for (int k = 0; k < REPEATS; k++) {
    CHECK_OK(tristar_distributed_solve_with(device, &options, nrhs, b, k == 0 ? y : z, NULL));
    CHECK_MSG(k == 0 || memcmp(y, z, (size_t)count * p->type->bytes) == 0, "%s %c, op %d, part %d, solve %d",
              p->kind, p->type->scalar, (int)op, (int)part, k);
  }
  const double differs = count > 0 ? difference(p->type, count, x, y) : 0;
  CHECK_MSG(differs <= (p->type->is_single ? 1e-3 : 1e-11), "%s %c, op %d, part %d, %d right-hand sides: %g",
            p->kind, p->type->scalar, (int)op, (int)part, (int)nrhs, differs);
}

static void check_count(const char *what, const int64_t found[2], const tristar_messages *counted) {
  CHECK_MSG((double)found[0] == counted->sent.total && (double)found[1] == counted->sent_bytes.total,
            "%s: %lld messages of %g, %lld bytes of %g", what, (long long)found[0], counted->sent.total,
            (long long)found[1], counted->sent_bytes.total);
}

/* Compares the messages of the latest solve with those of the layout: both sweeps, one right-hand side. an:
 * on rank 0. */
static void check_messages(const world *w, const tristar_distributed_t *device,
                           const tristar_analysis_t *an) {
  tristar_distributed_stats own;
  tristar_traffic traffic;
  int64_t all[3][2];
  CHECK_OK(tristar_distributed_get_stats(device, &own));
  const int64_t mine[3][2] = {{own.broadcast.messages, own.broadcast.bytes},
                              {own.reduction.messages, own.reduction.bytes},
                              {own.grids.messages, own.grids.bytes}};
  CHECK(MPI_Reduce(mine, all, 6, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
  if (w->rank > 0) return;
  CHECK_OK(tsi_layout_count(an, &w->layout, 1, true, &traffic));
  check_count("broadcast", all[0], &traffic.broadcast);
  check_count("reduction", all[1], &traffic.reduction);
  check_count("grids", all[2], &traffic.grids);
}

/* If right-hand sides are multiplied by a power of two, so is x, exactly. */
static void check_many(const example *p, tristar_distributed_t *device, int64_t n) {
  static const int64_t counts[] = {1, MOST, 2};
  OWNED char *b = make_b(p->type, n * MOST), *x = xcalloc((size_t)(n * MOST) + 1, p->type->bytes),
             *right = xcalloc(3 * (size_t)(n * MOST) + 1, p->type->bytes);
  for (int k = -3; k < IN_A_ROW; k++) {
    const int which = (k + 3) % 3;
    const int64_t count = n * counts[which];
    const double factor = k < 0 ? 1 : (double)(1 << k % 4);
    char *first = right + (size_t)(which * n * MOST) * p->type->bytes;
    for (int64_t i = 0; i < count; i++) put(p->type, x, i, factor * get(p->type, b, i));
    CHECK_OK(tristar_distributed_solve(device, TRISTAR_N, counts[which], x, n, k < 0 ? first : x, n));
    for (int64_t i = 0; i < count && k >= 0; i++)
      CHECK_MSG(get(p->type, x, i) == factor * get(p->type, first, i), "%s, solve %d, entry %d", p->kind, k,
                (int)i);
  }
}

/* The last rank does not start its solve. Ranks that wait for it return an error in time: all other ranks
 * in a whole solve, at least one in a sweep. */
static void check_lost(const world *w, tristar_factor_t *factor, tristar_part part) {
  tristar_distributed_t *d = distribute(w, factor, true, 0.2);
  const tsi_process_call call = {
      .op = TRISTAR_N, .part = part, .nrhs = 1, .b = d->slot[0].b, .x = d->slot[0].x};
  double b = 1, x = 0;
  int failed = 0;
  if (w->rank < w->ranks - 1) {
    const tristar_status status = tsi_distributed_run(d, &d->slot[0], &call, false);
    CHECK(status == TRISTAR_ERR_RUNTIME || (status == TRISTAR_OK && part != TRISTAR_PART_ALL));
    failed = status != TRISTAR_OK;
  }
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(failed > 0);
  CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, 1, &b, 1, &x, 1), TRISTAR_ERR_RUNTIME);
  tristar_distributed_destroy(&d);
}

/* Lists of rows and traces are refused. */
static void check_errors(const world *w, tristar_factor_t *factor) {
  tristar_distributed_t *d = distribute(w, factor, true, 1);
  const int64_t row = 0;
  double b = 1, x = 0;
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  options.b_row = w->rank == 0 ? &row : NULL;
  options.b_rows = w->rank == 0;
  CHECK_STATUS(tristar_distributed_solve_with(d, &options, 1, &b, &x, NULL), TRISTAR_ERR_UNSUPPORTED);
  tristar_trace_t *trace;
  CHECK_STATUS(tristar_distributed_trace(d, TRISTAR_N, 0, &b, 1, &x, 1, &trace), TRISTAR_ERR_UNSUPPORTED);
  tristar_distributed_destroy(&d);
  for (tristar_part part = TRISTAR_PART_ALL; part <= TRISTAR_PART_U; part++)
    if (part != TRISTAR_PART_D) check_lost(w, factor, part);
}

/* The library chooses the layout that is fastest in the simulation of GPUs. */
static void check_choice(const world *w, tristar_factor_t *factor, const tristar_analysis_t *an) {
  world chosen = *w;
  tristar_distributed_stats stats;
  chosen.layout.px = 0;
  tristar_distributed_t *d = distribute(&chosen, factor, true, 100);
  CHECK_OK(tristar_distributed_get_stats(d, &stats));
  const tristar_layout *layout = &stats.layout;
  CHECK(layout->px * layout->py * layout->pz == w->ranks);
  if (w->rank == 0) {
    tristar_simulated s;
    tristar_cluster cluster = tsi_device_cluster(tsi_device_get(0));
    cluster.ranks_per_node = w->ranks;
    CHECK_OK(tristar_layout_predict(an, layout, 1, &cluster, &s));
    CHECK_MSG(stats.predicted.simulated > 0 && !(stats.predicted.solve_seconds > s.seconds) &&
                  !(stats.predicted.solve_seconds < s.seconds),
              "%g s, simulated %g s", stats.predicted.solve_seconds, s.seconds);
  }
  tristar_distributed_destroy(&d);
}

/* With atomic additions consecutive solves with one and with many right-hand sides are right up to
 * rounding. Inboxes are not larger than without. */
static void check_atomic(const world *w, const example *p, tristar_distributed_t *cores,
                         tristar_distributed_t *device, tristar_factor_t *factor, int64_t n) {
  tristar_distributed_options options = options_of(w, true, 100);
  tristar_distributed_t *d;
  tristar_distributed_stats stats, slots;
  options.atomic_sums = 2;
  CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d), TRISTAR_ERR_ARGUMENT);
  options.atomic_sums = 1;
  options.place = TRISTAR_PLACE_CPU;
  CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d), TRISTAR_ERR_UNSUPPORTED);
  options.place = TRISTAR_PLACE_GPU;
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d));
  for (int k = 0; k < REPEATS; k++) {
    const int64_t nrhs = k % 2 ? MOST : 1, count = n * nrhs;
    OWNED void *b = make_b(p->type, count), *x = xcalloc((size_t)count + 1, p->type->bytes),
               *y = xcalloc((size_t)count + 1, p->type->bytes);
    CHECK_OK(tristar_distributed_solve(cores, TRISTAR_N, nrhs, b, n, x, n));
    CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, nrhs, b, n, y, n));
    const double differs = count > 0 ? difference(p->type, count, x, y) : 0;
    CHECK_MSG(differs <= (p->type->is_single ? 1e-3 : 1e-11), "%s, atomic sums, solve %d: %g", p->kind, k,
              differs);
    if (k == 0)
      CHECK_OK(tristar_distributed_get_stats(d, &stats)); /* after a solve with one right-hand side */
  }
  CHECK_OK(tristar_distributed_get_stats(device, &slots));
  CHECK_MSG(0 < stats.inbox_bytes && stats.inbox_bytes <= slots.inbox_bytes, "inboxes: %g bytes, else %g",
            stats.inbox_bytes, slots.inbox_bytes);
  tristar_distributed_destroy(&d);
}

static void check_problem(const world *w, const example *p) {
  tristar_matrix_t *matrix = NULL;
  tristar_analysis_t *an = NULL;
  tristar_factor_t *factor = NULL;
  tristar_view view;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  OWNED void *values = typed_matrix(w->ts, p->kind, p->k, p->type, p->symmetry, &matrix, &view);
  options.leaf_parts = w->layout.pz;
  options.method = p->method;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &view, &options, &an));
  if (w->rank == 0) CHECK_OK(tristar_factor(an, values, &factor));
  const int64_t n = w->rank == 0 ? view.rows : 0;
  tristar_distributed_t *cores = distribute(w, factor, false, 0), *device = distribute(w, factor, true, 100);
  compare(p, cores, device, n, TRISTAR_N, TRISTAR_PART_ALL, 1);
  check_messages(w, device, an);
  check_atomic(w, p, cores, device, factor, n);
  compare(p, cores, device, n, TRISTAR_N, TRISTAR_PART_ALL, MOST);
  CHECK_OK(tristar_distributed_update(device, factor));
  compare(p, cores, device, n, TRISTAR_C, TRISTAR_PART_ALL, 1);
  compare(p, cores, device, n, TRISTAR_T, TRISTAR_PART_L, 2);
  compare(p, cores, device, n, TRISTAR_N, TRISTAR_PART_U, 1);
  if (p == &examples[0]) check_many(p, device, n);
  tristar_distributed_destroy(&cores);
  tristar_distributed_destroy(&device);
  if (p == &examples[0]) check_choice(w, factor, an);
  if (p == &examples[0]) check_errors(w, factor);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&an);
  tristar_matrix_destroy(&matrix);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  world w = {.ts = NULL};
  int level;
  CHECK(argc == 4);
  tristar_layout_init(&w.layout);
  w.layout.px = atoi(argv[1]);
  w.layout.py = atoi(argv[2]);
  w.layout.pz = atoi(argv[3]);
  w.layout.map = TRISTAR_MAP_CYCLIC;
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  tristar_config config = DEFAULTS(tristar_config);
  config.check = 1;
  config.use_starpu = 0;
  CHECK_OK(tristar_create(&config, &w.ts));
  for (size_t k = 0; k < sizeof examples / sizeof *examples; k++) {
    w.layout.message_tree = k % 2 ? TRISTAR_MESSAGE_TREE_FLAT : TRISTAR_MESSAGE_TREE_BINARY;
    w.layout.algorithm = k == 3 ? TRISTAR_ALGORITHM_LEVELWISE : TRISTAR_ALGORITHM_REPLICATED;
    RUN(check_problem(&w, &examples[k]));
  }
  tristar_destroy(&w.ts);
  MPI_Finalize();
  return 0;
}
