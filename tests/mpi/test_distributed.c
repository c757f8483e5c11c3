/* Distributed solves on any number of ranks, for all layouts with that many processes, both algorithms, maps
 * and trees. Checks backward errors, equal bits of repeated solves, rows passed by rank 0 and by blocks, and
 * new values.
 *
 *   test_distributed direct|starpu_mpi|one_sided|serial GRIDS [MATRIX [PX [VARIANT]]]
 *
 * serial: direct, without StarPU. GRIDS: only layouts with this number of grids. MATRIX: only this matrix.
 * PX: only layouts with this number of processes in a column. VARIANT: only these bits of algorithm, map and
 * tree. The test prints the arguments of each case before it runs the case, so the last line printed is the
 * failed case. */
#include <math.h>

#include "runtime/mpi/solve/distributed.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_mpi.h"

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
  const char *way; /* the first argument */
  tristar_transport transport;
  tristar_engine engine;
  /* The other arguments; NULL or -1: all. */
  int grids, px, variant;
  const char *matrix;
} world;

static int cases; /* Number of cases run. */

typedef struct problem {
  const char *kind;
  const typed *type;
  tristar_view view;
  tristar_factor_t *factor; /* rank 0 */
  int64_t n;                /* all ranks */
  char *b, *x, *again;      /* n x TYPED_COLUMNS; b is the same on all ranks */
} problem;

/* rows: rank 0 passes all rows, or each rank a block. */
static void solve(const world *w, const problem *q, tristar_distributed_t *d, tristar_op op, int64_t nrhs,
                  bool blocks, char *x) {
  const int64_t first = blocks ? q->n * w->rank / w->ranks : 0;
  const int64_t end = blocks ? q->n * (w->rank + 1) / w->ranks : w->rank == 0 ? q->n : 0;
  const size_t bytes = q->type->bytes;
  CHECK_OK(tristar_distributed_set_rows(d, w->rank == 0 || blocks ? first : q->n, end - first));
  CHECK_OK(tristar_distributed_solve(d, op, nrhs, q->b + (size_t)first * bytes, q->n,
                                     x + (size_t)first * bytes, q->n));
  if (!blocks) return;
  for (int64_t c = 0; c < nrhs; c++) /* gathers x on rank 0 */
    for (int r = 1; r < w->ranks; r++) {
      const int64_t from = q->n * r / w->ranks, to = q->n * (r + 1) / w->ranks;
      char *place = x + (size_t)(from + c * q->n) * bytes;
      const int count = (int)((size_t)(to - from) * bytes);
      if (w->rank == r) MPI_Send(place, count, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
      if (w->rank == 0) MPI_Recv(place, count, MPI_BYTE, r, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void check_op(const world *w, const problem *q, tristar_distributed_t *d, tristar_op op, int64_t nrhs,
                     const char *what) {
  const size_t bytes = (size_t)q->n * (size_t)nrhs * q->type->bytes;
  memset(q->x, 0xff, bytes);
  solve(w, q, d, op, nrhs, false, q->x);
  for (int turn = 0; turn < 3; turn++) {
    memset(q->again, 0, bytes);
    solve(w, q, d, op, nrhs, turn == 2, q->again);
    CHECK_MSG(w->rank > 0 || memcmp(q->x, q->again, bytes) == 0, "%s: other bits in turn %d", what, turn);
  }
  if (w->rank > 0) return;
  CLEANUP(free_weights) typed_weights weights = make_weights(q->type, &q->view, op, q->factor);
  for (int64_t c = 0; c < nrhs; c++) {
    const double error = error_of(q->type, &q->view, op, q->b, q->x, c, DOCUMENTED, &weights);
    CHECK_MSG(error < 450 * q->type->roundoff, "%s, op %c, %lld right-hand sides: backward error %g", what,
              op, (long long)nrhs, error);
  }
}

/* All ranks together send as many messages and bytes in a solve with one right-hand side as
 * tristar_layout_traffic counts. */
static void check_counts(const world *w, const problem *q, const tristar_layout *layout,
                         const tristar_distributed_stats *all) {
  tristar_traffic traffic;
  double sent[3][2] = {{0}};
  if (w->rank > 0) return;
  CHECK_OK(tristar_layout_traffic(tristar_factor_get_analysis(q->factor), layout, 1, &traffic));
  const tristar_messages *counted[] = {&traffic.broadcast, &traffic.reduction, &traffic.grids};
  for (int r = 0; r < w->ranks; r++) {
    const tristar_message_count *of[] = {&all[r].broadcast, &all[r].reduction, &all[r].grids};
    for (int k = 0; k < 3; k++) {
      sent[k][0] += (double)of[k]->messages;
      sent[k][1] += (double)of[k]->bytes;
    }
  }
  for (int k = 0; k < 3; k++)
    CHECK_MSG(fabs(sent[k][0] - counted[k]->sent.total) < 0.5 &&
                  fabs(sent[k][1] - counted[k]->sent_bytes.total) < 0.5,
              "%s, %dx%dx%d, class %d: %g messages, %g bytes, counted %g and %g", q->kind, layout->px,
              layout->py, layout->pz, k, sent[k][0], sent[k][1], counted[k]->sent.total,
              counted[k]->sent_bytes.total);
}

static void check_layout(const world *w, const problem *q, const tristar_layout *layout) {
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  tristar_distributed_t *d;
  tristar_distributed_stats stats, *all = xcalloc((size_t)w->ranks, sizeof *all);
  char what[200];
  snprintf(what, sizeof what, "%s %c, %dx%dx%d, algorithm %d, map %d, tree %d", q->kind, q->type->scalar,
           layout->px, layout->py, layout->pz, (int)layout->algorithm, (int)layout->map,
           (int)layout->message_tree);
  options.layout = *layout;
  options.transport = w->transport;
  options.engine = w->engine;
  options.refine = TRISTAR_REFINE_NEVER; /* only messages of the sweeps count */
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, w->rank == 0 ? q->factor : NULL, &options, &d));
  check_op(w, q, d, TRISTAR_N, 1, what);
  CHECK_OK(tristar_distributed_gather_stats(d, all));
  check_counts(w, q, layout, all);
  check_op(w, q, d, TRISTAR_N, 5, what);
  check_op(w, q, d, TRISTAR_C, 1, what);
  CHECK_OK(tristar_distributed_update(d, w->rank == 0 ? q->factor : NULL));
  check_op(w, q, d, TRISTAR_T, 5, what);
  tristar_distributed_get_stats(d, &stats);
  CHECK(stats.rank == w->rank && stats.sweep_seconds > 0 && stats.solve_seconds >= stats.sweep_seconds);
  CHECK_OK(tristar_distributed_gather_stats(d, all));
  for (int r = 0; w->rank == 0 && r < w->ranks; r++) CHECK(all[r].rank == r);
  free(all);
  tristar_distributed_destroy(&d);
  CHECK(d == NULL);
}

/* Every `every`-th layout, or only the layout of the arguments. */
static void check_layouts(const world *w, const problem *q, int every) {
  const int pz = w->grids;
  int layouts = 0;
  for (int px = 1; px * pz <= w->ranks; px++)
    for (int variant = 0; variant < 8; variant++) {
      const tristar_layout layout = {
          .px = px,
          .py = w->ranks / px / pz,
          .pz = pz,
          .algorithm = variant & 1 ? TRISTAR_ALGORITHM_LEVELWISE : TRISTAR_ALGORITHM_REPLICATED,
          .map = variant & 2 ? TRISTAR_MAP_CYCLIC : TRISTAR_MAP_SUBTREE,
          .message_tree = variant & 4 ? TRISTAR_MESSAGE_TREE_FLAT : TRISTAR_MESSAGE_TREE_BINARY};
      if (px * layout.py * pz != w->ranks || (w->px >= 0 && w->px != px)) continue;
      if (w->variant >= 0 ? w->variant != variant : layouts++ % every != 0) continue;
      if (w->rank == 0)
        fprintf(stderr, "%dx%dx%d on %d ranks: test_distributed %s %d %s %d %d\n", px, layout.py, pz,
                w->ranks, w->way, pz, q->kind, px, variant);
      check_layout(w, q, &layout);
      cases++;
    }
}

static bool is_requested(const world *w, const char *kind) {
  return w->matrix == NULL || strcmp(w->matrix, kind) == 0;
}

static void check_matrix(const world *w, const char *kind, int64_t k, const typed *t, int every) {
  tristar_matrix_t *matrix;
  tristar_analysis_t *an = NULL;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  problem q = {.kind = kind, .type = t};
  if (!is_requested(w, kind)) return;
  void *values = typed_matrix(w->ts, kind, k, t, TRISTAR_HERMITIAN, &matrix, &q.view);
  q.n = q.view.rows;
  q.b = make_rhs(t, q.n);
  q.x = xmalloc(TYPED_COLUMNS * (size_t)q.n * t->bytes);
  q.again = xmalloc(TYPED_COLUMNS * (size_t)q.n * t->bytes);
  options.leaf_parts = w->grids;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &q.view, &options, &an));
  if (w->rank == 0) CHECK_OK(tristar_factor(an, values, &q.factor));
  check_layouts(w, &q, every);
  tristar_factor_destroy(&q.factor);
  tristar_analysis_destroy(&an);
  free(values);
  free(q.b);
  free(q.x);
  free(q.again);
  tristar_matrix_destroy(&matrix);
}

/* A random sparse matrix whose large entries are off the diagonal and of any scale: L U matches rows to
 * columns, scales both, and interchanges rows. b and x have different leading dimensions, and more columns
 * than one sweep takes. */
static void check_matched(const world *w) {
  enum { N = 150, MORE = 67, LDX = N + 3 };
  int64_t ptr[N + 1] = {0};
  int32_t index[6 * N];
  double values[6 * N];
  uint64_t state = 9;
  problem q = {.kind = "matched", .type = &typed_double, .n = N};
  if (w->grids > 1 || !is_requested(w, q.kind)) return;
  for (int32_t j = 0; j < N; j++) {
    int32_t row[6] = {(j + 41) % N}; /* the large entry */
    for (int32_t e = 1, used = 1; used < 6; e++) {
      const int32_t i = (int32_t)(next_random(&state) % N);
      int32_t k = 0;
      while (k < used && row[k] != i) k++;
      if (k == used) row[used++] = i;
    }
    for (int32_t e = 0; e < 6; e++) {
      const double size = (double)(next_random(&state) % 1000 + 1) / 1000 + (e == 0 ? 1 : 0);
      index[6 * j + e] = row[e];
      values[6 * j + e] = ldexp(e % 2 ? size : -size, (row[e] * 7) % 80 - (j * 11) % 60);
    }
    ptr[j + 1] = 6 * (j + 1);
  }
  q.view = (tristar_view){TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, N, N, ptr, index, values, 64, 32, 0};
  q.b = make_rhs(q.type, N);
  q.x = xmalloc(TYPED_COLUMNS * N * sizeof(double));
  q.again = xmalloc(TYPED_COLUMNS * N * sizeof(double));
  tristar_analysis_t *an = NULL;
  if (w->rank == 0) {
    tristar_factor_stats stats;
    tristar_analysis_stats analysis;
    int64_t rows[N], columns[N];
    bool same = true;
    CHECK_OK(tristar_analyze(w->ts, &q.view, NULL, &an));
    CHECK_OK(tristar_factor(an, values, &q.factor));
    tristar_analysis_get_stats(an, &analysis);
    tristar_factor_get_stats(q.factor, &stats);
    CHECK(analysis.method == TRISTAR_METHOD_LU && analysis.matched && stats.perturbed_pivots == 0);
    CHECK_OK(tristar_factor_get_order(q.factor, rows, columns, NULL, NULL));
    for (int k = 0; k < N; k++) same = same && rows[k] == (columns[k] + 41) % N;
    CHECK(!same && q.factor->pivoted);
  }
  check_layouts(w, &q, 3);
  tristar_distributed_options options = DEFAULTS(tristar_distributed_options);
  tristar_distributed_t *d;
  double *b = xmalloc(MORE * N * sizeof *b), *x = xmalloc(MORE * LDX * sizeof *x), one[N];
  options.layout.px = w->ranks;
  options.transport = w->transport;
  options.engine = w->engine;
  fill_random(b, MORE * N, 4);
  for (int i = 0; i < MORE * LDX; i++) x[i] = 7;
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, q.factor, &options, &d));
  CHECK_OK(tristar_distributed_set_rows(d, w->rank == 0 ? 0 : N, w->rank == 0 ? N : 0));
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, MORE, b, N, x, LDX));
  for (int c = 0; c < MORE; c += c == 0 ? MORE - 5 : 1) {
    CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b + c * N, N, one, N));
    const double distance = w->rank > 0 ? 0 : distance_of(q.type, &q.view, TRISTAR_N, x + c * LDX, one);
    CHECK_MSG(distance < 1e-13, "column %d: %g from the same column alone", c, distance);
    for (int i = N; i < LDX; i++) CHECK(x[c * LDX + i] == 7);
  }
  tristar_distributed_destroy(&d);
  tristar_factor_destroy(&q.factor);
  tristar_analysis_destroy(&an);
  free(b);
  free(x);
  free(q.b);
  free(q.x);
  free(q.again);
}

/* Returns false if the arguments are invalid. */
static bool read_arguments(int argc, char **argv, world *w) {
  if (argc < 3 || argc > 6) return false;
  w->way = argv[1];
  w->grids = atoi(argv[2]);
  w->matrix = argc > 3 ? argv[3] : NULL;
  w->px = argc > 4 ? atoi(argv[4]) : -1;
  w->variant = argc > 5 ? atoi(argv[5]) : -1;
  w->transport = strcmp(w->way, "starpu_mpi") == 0  ? TRISTAR_TRANSPORT_STARPU_MPI
                 : strcmp(w->way, "one_sided") == 0 ? TRISTAR_TRANSPORT_ONE_SIDED
                                                    : TRISTAR_TRANSPORT_DIRECT;
  w->engine = strcmp(w->way, "serial") == 0 ? TRISTAR_ENGINE_AUTO : TRISTAR_ENGINE_TASKS;
  return w->grids > 0;
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  world w = {.ts = NULL};
  tristar_config config = DEFAULTS(tristar_config);
  tristar_memory_stats memory;
  int level;
  CHECK(read_arguments(argc, argv, &w));
  config.check = 1;
  if (w.engine == TRISTAR_ENGINE_AUTO) config.use_starpu = 0;
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  CHECK(w.ranks % w.grids == 0);
  CHECK_OK(tristar_create(&config, &w.ts));
  if (w.transport == TRISTAR_TRANSPORT_STARPU_MPI) {
    RUN(check_matrix(&w, "s2d9pt", 24, &typed_double, 3));
    RUN(check_matrix(&w, "poisson3d7", 4, &typed_complex_double, 3));
  } else {
    RUN(check_matrix(&w, "s2d9pt", 40, &typed_double, w.ranks <= 4 ? 1 : 3));
    RUN(check_matrix(&w, "convdiff3d", 9, &typed_double, 3));
    RUN(check_matrix(&w, "poisson3d7", 8, &typed_complex_double, 3));
    RUN(check_matrix(&w, "maxwell3d", 4, &typed_complex_double, 5)); /* L D L^H, with pivots of order 2 */
    RUN(check_matched(&w));
  }
  CHECK_TOTAL(cases > 0, "no such case");
  tristar_get_memory(w.ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "rank %d: %zu bytes leaked", w.rank, memory.current_bytes);
  tristar_destroy(&w.ts);
  MPI_Finalize();
  return 0;
}
