/* Triangles that are spread over emulated devices of ranks: x is that of a plan of rank 0, up to rounding,
 * for road networks, power laws and PDEs, lower and upper, op N, T and C, each scalar type, 1 and 17
 * right-hand sides, tasks dealt round robin or rows near each other; the same bits in many solves one after
 * the other, each in another schedule. Statistics count what is read from other devices. Wrong arguments, and
 * a rank that does not come, are errors of all ranks.
 *
 *   test_gpu_spread_mpi PX PY PZ */
#include "tests/support/check.h"
#include "tests/support/subtests.h"
#include "tests/support/triangle_system.h"
#include "tristar_mpi.h"
#include "tristar_triangle.h"

enum { N = 90, MANY = 17, REPEATS = 4, IN_A_ROW = 200 };

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
} world;

typedef struct example {
  int kind;
  const typed *type;
  tristar_uplo uplo;
  tristar_op op;
  int tasks;
} example;

/* Rank 0 imports a triangle. The rows of a lower triangle have the pattern of the columns of an upper one. */
static tristar_factor_t *import(const world *w, const system_of *s, tristar_uplo uplo) {
  const triangle_pattern *p = &s->pattern[0];
  tristar_factor_t *factor = NULL;
  tristar_view view;
  tristar_triangle_options options;
  if (w->rank > 0) return NULL;
  tristar_view_init(&view);
  view.format = uplo == TRISTAR_LOWER ? TRISTAR_CSR : TRISTAR_CSC;
  view.scalar = (tristar_scalar)s->t->scalar;
  view.rows = view.cols = N;
  view.ptr = p->ptr;
  view.index = p->index;
  view.ptr_bits = 64;
  view.values = s->values[0];
  tristar_triangle_options_init(&options);
  options.uplo = uplo;
  options.partition = TRISTAR_PARTITION_LEVELS;
  CHECK_OK(tristar_import_triangle(w->ts, &view, &options, &factor));
  return factor;
}

/* A system, its factor on rank 0, and its triangle on the devices of all ranks. */
typedef struct problem {
  system_of s;
  tristar_factor_t *factor;
  tristar_spread_triangle_t *t;
} problem;

static problem problem_open(const world *w, const example *e, uint64_t seed) {
  problem p = {.s = system_create(triangle_create(e->kind, N, seed), e->type)};
  p.factor = import(w, &p.s, e->uplo);
  return p;
}

static tristar_status spread(const world *w, problem *p, const tristar_spread_options *options) {
  return tristar_spread_triangle(w->ts, MPI_COMM_WORLD, p->factor, options, &p->t);
}

static void problem_close(problem *p) {
  tristar_spread_destroy(&p->t);
  CHECK(p->t == NULL);
  tristar_factor_destroy(&p->factor);
  system_free(&p->s);
}

static tristar_spread_options options_of(const example *e, double seconds) {
  tristar_spread_options options;
  tristar_spread_options_init(&options);
  options.op = e->op;
  options.tasks = e->tasks;
  options.nrhs = 4; /* so 17 right-hand sides are solved in blocks */
  options.peer_seconds = seconds;
  return options;
}

/* Computes x by a plan on rank 0. */
static void solve_by_plan(tristar_factor_t *factor, tristar_op op, int64_t nrhs, const void *b, void *x) {
  tristar_plan_t *plan;
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  CHECK_OK(tristar_solve(plan, op, nrhs, b, N, x, N));
  tristar_plan_destroy(&plan);
}

static void compare(const world *w, const example *e, const problem *p, const char *b, int64_t nrhs) {
  const size_t bytes = (size_t)(N * nrhs) * e->type->bytes;
  OWNED char *right = xcalloc(bytes, 1), *x = xcalloc(bytes, 1), *y = xcalloc(bytes, 1);
  if (w->rank == 0) solve_by_plan(p->factor, e->op, nrhs, b, right);
  for (int k = 0; k < REPEATS; k++) {
    CHECK_OK(tristar_spread_solve(p->t, nrhs, b, N, k == 0 ? x : y, N));
    CHECK(w->rank > 0 || k == 0 || memcmp(x, y, bytes) == 0);
  }
  for (int64_t i = 0; i < N * nrhs && w->rank == 0; i++) {
    const double error = magnitude(get(e->type, x, i) - get(e->type, right, i));
    CHECK_MSG(error <= 1e4 * e->type->roundoff * (1 + magnitude(get(e->type, right, i))),
              "%s %c: x[%d] differs by %g", triangle_names[e->kind], e->type->scalar, (int)i, error);
  }
}

static void check_stats(const world *w, const example *e, tristar_spread_triangle_t *t, int64_t entries) {
  tristar_spread_stats stats;
  CHECK_OK(tristar_spread_get_stats(t, &stats));
  int64_t sum[4] = {stats.rows, stats.entries, stats.sums, stats.gets};
  MPI_Allreduce(MPI_IN_PLACE, sum, 4, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum[0] == N && sum[1] == entries - N && sum[2] == sum[3]);
  CHECK(stats.rank == w->rank && stats.most_gets == stats.rows * (w->ranks - 1));
  CHECK(stats.polls >= stats.gets && stats.gets <= stats.most_gets);
  CHECK(stats.bytes >= stats.gets * (int64_t)(e->type->bytes + sizeof(int32_t)));
  CHECK(stats.solve_seconds >= stats.sweep_seconds && stats.sweep_seconds > 0);
}

static void check_example(const world *w, const example *e) {
  problem p = problem_open(w, e, 17);
  const tristar_spread_options options = options_of(e, 100);
  OWNED char *b = xcalloc(N * MANY, e->type->bytes);
  fill_b(&p.s, MANY, b);
  CHECK_OK(spread(w, &p, &options));
  compare(w, e, &p, b, MANY);
  compare(w, e, &p, b, 1);
  check_stats(w, e, p.t, p.s.pattern[0].ptr[N]);
  problem_close(&p);
}

/* Consecutive solves without any other synchronization of the ranks. */
static void check_many(const world *w) {
  const example e = {TRIANGLE_ROAD, &typed_double, TRISTAR_LOWER, TRISTAR_N, 4};
  problem p = problem_open(w, &e, 3);
  tristar_spread_options options = options_of(&e, 100);
  OWNED char *b = xcalloc(N, 8), *right = xcalloc(N, 8), *x = xcalloc(N, 8);
  fill_b(&p.s, 1, b);
  options.polls_all = 1;
  CHECK_OK(spread(w, &p, &options));
  CHECK_OK(tristar_spread_solve(p.t, 1, b, N, right, N));
  for (int k = 0; k < IN_A_ROW; k++) {
    CHECK_OK(tristar_spread_solve(p.t, 1, b, N, x, N));
    CHECK(memcmp(x, right, N * 8) == 0);
  }
  problem_close(&p);
}

static void check_errors(const world *w) {
  const example e = {TRIANGLE_GRID, &typed_double, TRISTAR_LOWER, TRISTAR_N, 4};
  problem p = problem_open(w, &e, 3);
  tristar_spread_options options = options_of(&e, 0.5);
  OWNED char *b = xcalloc(2 * N, 8), *x = xcalloc(2 * N, 8);
  options.tasks = w->rank;
  CHECK_STATUS(spread(w, &p, &options), TRISTAR_ERR_ARGUMENT);
  options.tasks = -1;
  CHECK_STATUS(spread(w, &p, &options), TRISTAR_ERR_ARGUMENT);
  options.tasks = 4;
  CHECK_STATUS(tristar_spread_triangle(w->ts, MPI_COMM_WORLD, NULL, &options, &p.t), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(spread(w, &p, &options));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_STATUS(tristar_spread_solve(p.t, 1, NULL, N, x, N),
               TRISTAR_ERR_ARGUMENT); /* b of rank 0 is missing */
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_STATUS(tristar_spread_solve(p.t, 1, b, N, b, w->rank == 0 ? N + 1 : N), TRISTAR_ERR_ARGUMENT);
  if (w->rank == 0) CHECK_ERROR(w->ts, "x is b, but their strides differ");
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_STATUS(tristar_spread_solve(p.t, 1 + (w->rank > 0), b, N, x, N), TRISTAR_ERR_ARGUMENT);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(tristar_spread_solve(p.t, 1, b, N, x, N));
  /* the last rank does not take part */
  if (w->rank < w->ranks - 1) CHECK_STATUS(tristar_spread_solve(p.t, 1, b, N, x, N), TRISTAR_ERR_RUNTIME);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_STATUS(tristar_spread_solve(p.t, 1, b, N, x, N), TRISTAR_ERR_RUNTIME);
  problem_close(&p);
}

int main(int argc, char **argv) {
  static const example examples[] = {
      {TRIANGLE_ROAD, &typed_double, TRISTAR_LOWER, TRISTAR_N, 4},
      {TRIANGLE_ROAD, &typed_complex_double, TRISTAR_UPPER, TRISTAR_C, 0},
      {TRIANGLE_POWER_LAW, &typed_single, TRISTAR_UPPER, TRISTAR_N, 8},
      {TRIANGLE_POWER_LAW, &typed_complex_single, TRISTAR_LOWER, TRISTAR_T, 0},
      {TRIANGLE_GRID, &typed_complex_double, TRISTAR_LOWER, TRISTAR_C, 16},
      {TRIANGLE_GRID, &typed_double, TRISTAR_UPPER, TRISTAR_T, 32},
      {TRIANGLE_DIAGONAL, &typed_double, TRISTAR_LOWER, TRISTAR_N, 4},
  };
  world w = {.ts = NULL};
  tristar_config config;
  int level;
  subtests_begin_here(&argc, argv);
  CHECK(argc == 4);
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  tristar_config_init(&config);
  config.check = 1;
  config.use_starpu = 0;
  CHECK_OK(tristar_create(&config, &w.ts));
  for (size_t k = 0; k < sizeof examples / sizeof *examples; k++) RUN(check_example(&w, &examples[k]));
  RUN(check_many(&w));
  RUN(check_errors(&w));
  tristar_destroy(&w.ts);
  MPI_Finalize();
  return 0;
}
