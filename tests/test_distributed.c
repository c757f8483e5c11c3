/* Distributed solves on any number of ranks: all layouts with that many processes, both algorithms, maps and
 * trees; backward errors, the same bits when repeated, rows passed by rank 0 and by blocks, values replaced,
 * errors that all ranks get. Argument: "direct", "starpu_mpi" or "serial" (direct, without StarPU). */
#include <math.h>

#include "runtime/context.h"
#include "tests/typed.h"
#include "tristar_mpi.h"

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
  tristar_transport transport;
  tristar_engine engine;
} world;

typedef struct problem {
  const char *kind;
  const typed *type;
  tristar_view view;
  tristar_factor_t *factor; /* rank 0 */
  int64_t n;                /* all ranks */
  char *b, *x, *again;      /* n x TYPED_COLUMNS; b the same on all ranks */
} problem;

/* rows: rank 0 passes all of them, or each rank a block. */
static void solve(const world *w, const problem *q, tristar_distributed_t *d, tristar_op op, int64_t nrhs,
                  bool blocks, char *x) {
  const int64_t first = blocks ? q->n * w->rank / w->ranks : 0;
  const int64_t end = blocks ? q->n * (w->rank + 1) / w->ranks : w->rank == 0 ? q->n : 0;
  const size_t bytes = q->type->bytes;
  CHECK_OK(tristar_distributed_set_rows(d, w->rank == 0 || blocks ? first : q->n, end - first));
  CHECK_OK(tristar_distributed_solve(d, op, nrhs, q->b + (size_t)first * bytes, q->n,
                                     x + (size_t)first * bytes, q->n));
  if (!blocks) return;
  for (int64_t c = 0; c < nrhs; c++) /* all of x to rank 0 */
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
  double *row_sum = make_row_sum(q->type, &q->view, op);
  for (int64_t c = 0; c < nrhs; c++) {
    const double error = error_of(q->type, &q->view, op, q->b, q->x, c, DOCUMENTED, row_sum);
    CHECK_MSG(error < 450 * q->type->roundoff, "%s, op %c, %lld right-hand sides: backward error %g", what,
              op, (long long)nrhs, error);
  }
  free(row_sum);
}

static void check_layout(const world *w, const problem *q, const tristar_layout *layout) {
  tristar_distributed_options options;
  tristar_distributed_t *d;
  tristar_distributed_stats stats, *all = calloc((size_t)w->ranks, sizeof *all);
  char what[200];
  snprintf(what, sizeof what, "%s %c, %dx%dx%d, algorithm %d, map %d, tree %d", q->kind, q->type->scalar,
           layout->px, layout->py, layout->pz, (int)layout->algorithm, (int)layout->map, (int)layout->tree);
  tristar_distributed_options_init(&options);
  options.layout = *layout;
  options.transport = w->transport;
  options.engine = w->engine;
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, w->rank == 0 ? q->factor : NULL, &options, &d));
  check_op(w, q, d, TRISTAR_N, 1, what);
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

/* Every `every`-th of the layouts with that pz. */
static void check_layouts(const world *w, const problem *q, int pz, int every) {
  int layouts = 0;
  for (int px = 1; px * pz <= w->ranks; px++)
    for (int variant = 0; variant < 8; variant++) {
      const tristar_layout layout = {.px = px,
                                     .py = w->ranks / px / pz,
                                     .pz = pz,
                                     .algorithm =
                                         variant & 1 ? TRISTAR_ALGORITHM_BASELINE : TRISTAR_ALGORITHM_NEW,
                                     .map = variant & 2 ? TRISTAR_MAP_CYCLIC : TRISTAR_MAP_SUBTREE,
                                     .tree = variant & 4 ? TRISTAR_TREE_FLAT : TRISTAR_TREE_BINARY};
      if (px * layout.py * pz != w->ranks || layouts++ % every != 0) continue;
      check_layout(w, q, &layout);
    }
}

static void check_matrix(const world *w, const char *kind, int64_t k, const typed *t, int every) {
  tristar_matrix_t *matrix;
  tristar_analysis_options options;
  problem q = {.kind = kind, .type = t};
  void *values = typed_matrix(w->ts, kind, k, t, TRISTAR_HERMITIAN, &matrix, &q.view);
  q.n = q.view.rows;
  q.b = make_rhs(t, q.n);
  q.x = malloc(TYPED_COLUMNS * (size_t)q.n * t->bytes);
  q.again = malloc(TYPED_COLUMNS * (size_t)q.n * t->bytes);
  tristar_analysis_options_init(&options);
  for (int pz = 1; pz <= w->ranks; pz *= 2) {
    tristar_analysis_t *an = NULL;
    options.leaf_parts = pz;
    if (w->ranks % pz != 0) continue;
    if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &q.view, &options, &an));
    if (w->rank == 0) CHECK_OK(tristar_factor(an, values, &q.factor));
    check_layouts(w, &q, pz, every);
    tristar_factor_destroy(&q.factor);
    tristar_analysis_destroy(&an);
  }
  free(values);
  free(q.b);
  free(q.x);
  free(q.again);
  tristar_matrix_destroy(&matrix);
}

/* Rows first .. end - 1 of a view in compressed columns, as compressed rows of a block. */
typedef struct rows_block {
  int64_t *ptr;
  int64_t *index;
  char *values;
  tristar_view view;
} rows_block;

static rows_block take_rows(const tristar_view *view, size_t bytes, int64_t first, int64_t end, int base) {
  const int64_t *ptr = view->ptr;
  const int32_t *index = view->index;
  const size_t entries = (size_t)ptr[view->cols];
  rows_block o = {.ptr = calloc((size_t)(end - first) + 2, sizeof *o.ptr),
                  .index = malloc(entries * sizeof *o.index + 1),
                  .values = malloc(entries * bytes + 1)};
  int64_t *next = o.ptr + 1; /* first counts, shifted by one more; then where the next entry of a row goes */
  for (int64_t k = 0; k < ptr[view->cols]; k++)
    if (index[k] >= first && index[k] < end && index[k] + 1 < end) next[index[k] - first + 1]++;
  for (int64_t i = 1; i <= end - first; i++) o.ptr[i] += o.ptr[i - 1];
  for (int64_t j = 0; j < view->cols; j++)
    for (int64_t k = ptr[j]; k < ptr[j + 1]; k++) {
      if (index[k] < first || index[k] >= end) continue;
      const int64_t at = next[index[k] - first]++;
      o.index[at] = j + base;
      memcpy(o.values + (size_t)at * bytes, (const char *)view->values + (size_t)k * bytes, bytes);
    }
  for (int64_t i = 0; i <= end - first; i++) o.ptr[i] += base;
  o.view = *view;
  o.view.format = TRISTAR_CSR;
  o.view.rows = end - first;
  o.view.ptr = o.ptr;
  o.view.index = o.index;
  o.view.values = o.values;
  o.view.index_bits = 64;
  o.view.base = base;
  return o;
}

static void release_rows(rows_block *o) {
  free(o->ptr);
  free(o->index);
  free(o->values);
}

/* Blocks of rows on all ranks, the first of them empty if there are three, become the matrix again. */
static void check_gather(const world *w, const char *kind, int64_t k) {
  tristar_matrix_t *matrix, *gathered;
  tristar_view view, got;
  CHECK_OK(tristar_matrix_generate(w->ts, kind, k, &matrix));
  tristar_matrix_view(matrix, &view);
  const int shift = w->ranks > 2, parts = w->ranks - shift;
  const int64_t n = view.rows, part = w->rank - shift;
  const int64_t first = part < 0 ? 0 : n * part / parts, end = part < 0 ? 0 : n * (part + 1) / parts;
  rows_block mine = take_rows(&view, sizeof(double), first, end, w->rank % 2);
  for (int turn = 0; turn < 2; turn++) {
    const int64_t *ptr = view.ptr;
    if (turn == 1) mine.view.values = NULL;
    CHECK_OK(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered));
    CHECK((gathered == NULL) == (w->rank > 0));
    tristar_matrix_view(gathered, &got);
    if (w->rank > 0) continue;
    CHECK(got.rows == n && got.cols == n && got.symmetry == view.symmetry);
    CHECK(memcmp(got.ptr, view.ptr, (size_t)(n + 1) * sizeof(int64_t)) == 0);
    CHECK(memcmp(got.index, view.index, (size_t)ptr[n] * sizeof(int32_t)) == 0);
    CHECK((got.values == NULL) == (turn == 1));
    CHECK(turn == 1 || memcmp(got.values, view.values, (size_t)ptr[n] * sizeof(double)) == 0);
    tristar_matrix_destroy(&gathered);
  }
  mine.view.values = mine.values;
  /* what one rank passes wrongly, all are told */
  const tristar_view right = mine.view;
  if (w->rank == w->ranks - 1) mine.view.rows--;
  CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered), TRISTAR_ERR_RECTANGULAR);
  mine.view = right;
  if (w->ranks > 1) {
    if (w->rank == 1) mine.view.values = NULL;
    CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered), TRISTAR_ERR_ARGUMENT);
    mine.view = right;
    if (w->rank == 1) mine.view.symmetry = TRISTAR_HERMITIAN + 1;
    CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered), TRISTAR_ERR_ARGUMENT);
    mine.view = right;
  }
  if (w->rank == w->ranks - 1) ((double *)mine.values)[0] = NAN;
  CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered), TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(
      tristar_matrix_gather(w->ts, MPI_COMM_WORLD, w->rank == w->ranks - 1 ? NULL : &mine.view, &gathered),
      TRISTAR_ERR_ARGUMENT);
  CHECK(gathered == NULL);
  memset(mine.values, 0, sizeof(double));
  for (int64_t at = 1; at < 12; at++) { /* an allocation fails on the last rank, or on rank 0 */
    tristar_memory_stats before;
    tristar_memory(w->ts, &before);
    if (w->rank == (at % 2 ? w->ranks - 1 : 0))
      tsi_context_env(w->ts)->memory.fail_at = before.allocations + at;
    const tristar_status status = tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered);
    tsi_context_env(w->ts)->memory.fail_at = 0;
    CHECK_MSG(status == TRISTAR_OK || (status == TRISTAR_ERR_MEMORY && gathered == NULL),
              "allocation %lld: %s", (long long)at, tristar_status_name(status));
    tristar_matrix_destroy(&gathered);
  }
  release_rows(&mine);
  tristar_matrix_destroy(&matrix);
}

/* What one rank finds wrong, all ranks are told. */
static void check_errors(const world *w) {
  tristar_distributed_options options;
  tristar_distributed_t *d;
  tristar_matrix_t *matrix = NULL;
  tristar_view view;
  tristar_analysis_t *an = NULL;
  tristar_factor_t *factor = NULL;
  char text[512];
  double b[64] = {0};
  if (w->rank == 0) {
    CHECK_OK(tristar_matrix_generate(w->ts, "s2d9pt", 8, &matrix));
    tristar_matrix_view(matrix, &view);
    CHECK_OK(tristar_analyze(w->ts, &view, NULL, &an));
    CHECK_OK(tristar_factor(an, view.values, &factor));
  }
  tristar_distributed_options_init(&options);
  options.engine = w->engine;
  options.layout.px = w->ranks + 1;
  CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d), TRISTAR_ERR_ARGUMENT);
  tristar_error(w->ts, text, sizeof text);
  CHECK(strstr(text, "layout") != NULL && d == NULL);
  options.layout.px = w->ranks;
  CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, NULL, &options, &d), TRISTAR_ERR_ARGUMENT);
  tristar_error(w->ts, text, sizeof text);
  CHECK(strstr(text, "rank 0") != NULL);
  if (w->ranks > 1 && (w->ranks & (w->ranks - 1)) == 0) { /* no separator tree */
    options.layout.px = 1;
    options.layout.pz = w->ranks;
    CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d), TRISTAR_ERR_ARGUMENT);
    options.layout.pz = 1;
    options.layout.px = w->ranks;
  }
  /* An allocation fails on the last rank. */
  for (int64_t at = 1; at < 200; at += 7) {
    tristar_memory_stats before;
    tristar_memory(w->ts, &before);
    if (w->rank == w->ranks - 1) tsi_context_env(w->ts)->memory.fail_at = before.allocations + at;
    const tristar_status status = tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d);
    tsi_context_env(w->ts)->memory.fail_at = 0;
    CHECK_MSG(status == TRISTAR_OK || (status == TRISTAR_ERR_MEMORY && d == NULL), "allocation %lld: %s",
              (long long)at, tristar_status_name(status));
    tristar_distributed_destroy(&d);
  }
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d));
  CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, w->rank == 0 ? -1 : 1, b, 64, b, 64),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, 1, w->rank == 0 ? NULL : b, 64, b, 64),
               TRISTAR_ERR_ARGUMENT);
  if (w->ranks > 1)
    CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, w->rank == 0 ? 2 : 1, b, 64, b, 64),
                 TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_distributed_set_rows(d, 0, 64 - w->rank),
               w->ranks > 1 ? TRISTAR_ERR_ARGUMENT : TRISTAR_OK);
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 0, b, 64, b, 64));
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, 64, b, 64));
  tristar_distributed_destroy(&d);
  tristar_distributed_destroy(&d);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&an);
  tristar_matrix_destroy(&matrix);
}

int main(int argc, char **argv) {
  world w = {.transport = TRISTAR_TRANSPORT_DIRECT, .engine = TRISTAR_ENGINE_TASKS};
  tristar_config config;
  tristar_memory_stats memory;
  int level;
  CHECK(argc == 2);
  if (strcmp(argv[1], "starpu_mpi") == 0) w.transport = TRISTAR_TRANSPORT_STARPU_MPI;
  tristar_config_init(&config);
  config.check = 1;
  if (strcmp(argv[1], "serial") == 0) {
    w.engine = TRISTAR_ENGINE_AUTO;
    config.use_starpu = 0;
  }
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  CHECK_OK(tristar_create(&config, &w.ts));
  if (w.transport == TRISTAR_TRANSPORT_STARPU_MPI) {
    check_matrix(&w, "s2d9pt", 24, &typed_double, 3);
    check_matrix(&w, "poisson3d7", 4, &typed_complex_double, 3);
  } else {
    check_matrix(&w, "s2d9pt", 40, &typed_double, w.ranks <= 4 ? 1 : 3);
    check_matrix(&w, "convdiff3d", 9, &typed_double, 3);
    check_matrix(&w, "poisson3d7", 8, &typed_complex_double, 3);
  }
  check_gather(&w, "convdiff3d", 6);
  check_gather(&w, "kkt3d", 5);
  check_errors(&w);
  tristar_memory(w.ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "rank %d: %zu bytes leaked", w.rank, memory.current_bytes);
  tristar_destroy(&w.ts);
  MPI_Finalize();
  return 0;
}
