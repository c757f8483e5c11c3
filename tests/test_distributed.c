/* Distributed solves on any number of ranks: all layouts with that many processes, both algorithms, maps and
 * trees; backward errors, the same bits when repeated, rows passed by rank 0 and by blocks, values replaced,
 * errors that all ranks get. Argument: "direct", "starpu_mpi" or "serial" (direct, without StarPU). */
#include <math.h>

#include "runtime/mpi/distributed.h"
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
  typed_weights weights = make_weights(q->type, &q->view, op, q->factor);
  for (int64_t c = 0; c < nrhs; c++) {
    const double error = error_of(q->type, &q->view, op, q->b, q->x, c, DOCUMENTED, &weights);
    CHECK_MSG(error < 450 * q->type->roundoff, "%s, op %c, %lld right-hand sides: backward error %g", what,
              op, (long long)nrhs, error);
  }
  free_weights(&weights);
}

/* What all ranks together sent in a solve with one right-hand side is what tristar_layout_traffic counts. */
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
  tristar_distributed_options options;
  tristar_distributed_t *d;
  tristar_distributed_stats stats, *all = calloc((size_t)w->ranks, sizeof *all);
  char what[200];
  snprintf(what, sizeof what, "%s %c, %dx%dx%d, algorithm %d, map %d, tree %d", q->kind, q->type->scalar,
           layout->px, layout->py, layout->pz, (int)layout->algorithm, (int)layout->map,
           (int)layout->message_tree);
  tristar_distributed_options_init(&options);
  options.layout = *layout;
  options.transport = w->transport;
  options.engine = w->engine;
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

/* Every `every`-th of the layouts with that pz. */
static void check_layouts(const world *w, const problem *q, int pz, int every) {
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

/* A random sparse matrix whose large entries are off the diagonal and of any scale: L U matches rows to
 * columns, scales both, and interchanges rows. b and x lie in arrays of different leading dimensions, and
 * have more columns than go together. */
static void check_matched(const world *w) {
  enum { N = 150, MORE = 67, LDX = N + 3 };
  int64_t ptr[N + 1] = {0};
  int32_t index[6 * N];
  double values[6 * N];
  uint64_t state = 9;
  problem q = {.kind = "matched", .type = &typed_double, .n = N};
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
  q.x = malloc(TYPED_COLUMNS * N * sizeof(double));
  q.again = malloc(TYPED_COLUMNS * N * sizeof(double));
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
  check_layouts(w, &q, 1, 3);
  tristar_distributed_options options;
  tristar_distributed_t *d;
  double *b = malloc(MORE * N * sizeof *b), *x = malloc(MORE * LDX * sizeof *x), one[N];
  tristar_distributed_options_init(&options);
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
    for (int i = 0; w->rank == 0 && i < N; i++)
      CHECK_MSG(fabs(x[c * LDX + i] - one[i]) <= 1e-6 * fabs(one[i]), "column %d, row %d: %g, alone %g", c, i,
                x[c * LDX + i], one[i]);
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
  tristar_matrix_get_view(matrix, &view);
  const int shift = w->ranks > 2, parts = w->ranks - shift;
  const int64_t n = view.rows, part = w->rank - shift;
  const int64_t first = part < 0 ? 0 : n * part / parts, end = part < 0 ? 0 : n * (part + 1) / parts;
  rows_block mine = take_rows(&view, sizeof(double), first, end, w->rank % 2);
  for (int turn = 0; turn < 2; turn++) {
    const int64_t *ptr = view.ptr;
    if (turn == 1) mine.view.values = NULL;
    CHECK_OK(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered));
    CHECK((gathered == NULL) == (w->rank > 0));
    tristar_matrix_get_view(gathered, &got);
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
    tristar_get_memory(w->ts, &before);
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

/* Both entries of a pair of a symmetric matrix, on the first and on the last rank: refused, and all are told
 * which. Of a general one they are two entries. */
static void check_gather_pair(const world *w) {
  const int32_t n = 2 * w->ranks, first = 2 * w->rank;
  const bool top = w->rank == 0, bottom = w->rank == w->ranks - 1;
  int32_t index[4], ptr[3] = {0, 0, 0};
  double values[4] = {1, 1, 1, 1};
  tristar_matrix_t *gathered;
  char text[512], pair[64];
  for (int32_t i = 0; i < 2; i++) {
    ptr[i + 1] = ptr[i];
    index[ptr[i + 1]++] = first + i;
    if (top && i == 0) index[ptr[i + 1]++] = n - 1;
    if (bottom && i == 1) index[ptr[i + 1]++] = 0;
  }
  tristar_view view = {.format = TRISTAR_CSR,
                       .scalar = TRISTAR_DOUBLE,
                       .rows = 2,
                       .cols = n,
                       .ptr = ptr,
                       .index = index,
                       .values = values,
                       .ptr_bits = 32,
                       .index_bits = 32};
  CHECK_OK(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &view, &gathered));
  tristar_matrix_destroy(&gathered);
  view.symmetry = TRISTAR_SYMMETRIC;
  for (int turn = 0; turn < 2; turn++) {
    CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &view, &gathered), TRISTAR_ERR_FORMAT);
    CHECK(gathered == NULL);
    tristar_get_error(w->ts, text, sizeof text);
    snprintf(pair, sizeof pair, "(0,%d) and (%d,0)", n - 1, n - 1);
    CHECK_MSG(strstr(text, pair) != NULL, "%s is not in \"%s\"", pair, text);
    view.values = NULL;
  }
}

/* A Hermitian matrix with one row on each rank; an imaginary number on the diagonal of the last one is an
 * error on all of them. */
static void check_gather_diagonal(const world *w) {
  const int64_t ptr[] = {0, 1};
  const int32_t index[] = {w->rank};
  for (int imaginary = 0; imaginary < 2; imaginary++) {
    const double value[] = {2, imaginary && w->rank == w->ranks - 1};
    const tristar_view row = {
        TRISTAR_CSR, TRISTAR_HERMITIAN, TRISTAR_COMPLEX_DOUBLE, 1, w->ranks, ptr, index, value, 64, 32, 0};
    tristar_matrix_t *gathered;
    CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &row, &gathered),
                 imaginary ? TRISTAR_ERR_FORMAT : TRISTAR_OK);
    CHECK((gathered != NULL) == (w->rank == 0 && !imaginary));
    tristar_matrix_destroy(&gathered);
  }
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
    tristar_matrix_get_view(matrix, &view);
    CHECK_OK(tristar_analyze(w->ts, &view, NULL, &an));
    CHECK_OK(tristar_factor(an, view.values, &factor));
  }
  tristar_distributed_options_init(&options);
  options.engine = w->engine;
  options.layout.px = w->ranks + 1;
  CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d), TRISTAR_ERR_ARGUMENT);
  tristar_get_error(w->ts, text, sizeof text);
  CHECK(strstr(text, "layout") != NULL && d == NULL);
  options.layout.px = w->ranks;
  CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, NULL, &options, &d), TRISTAR_ERR_ARGUMENT);
  tristar_get_error(w->ts, text, sizeof text);
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
    tristar_get_memory(w->ts, &before);
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

/* The factor of a diagonal matrix of order 8 with these options; on rank 0, NULL elsewhere. */
static tristar_factor_t *make_diagonal(const world *w, tristar_scalar scalar, tristar_method method,
                                       bool reversed, tristar_inverse inverse) {
  static const int32_t ptr[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, index[] = {0, 1, 2, 3, 4, 5, 6, 7};
  static const double value[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const float single[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const int64_t backwards[] = {7, 6, 5, 4, 3, 2, 1, 0}, forwards[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const void *values = scalar == TRISTAR_SINGLE ? (const void *)single : value;
  const tristar_view view = {TRISTAR_CSC, TRISTAR_SYMMETRIC, scalar, 8, 8, ptr, index, values, 32, 32, 0};
  tristar_analysis_options options;
  tristar_analysis_t *an = NULL;
  tristar_factor_t *factor = NULL;
  if (w->rank > 0) return NULL;
  tristar_analysis_options_init(&options);
  options.method = method;
  options.ordering = TRISTAR_ORDERING_USER;
  options.permutation = reversed ? backwards : forwards;
  options.inverse = inverse;
  CHECK_OK(tristar_analyze(w->ts, &view, &options, &an));
  CHECK_OK(tristar_factor(an, values, &factor));
  tristar_analysis_destroy(&an);
  return factor;
}

/* Only factors of the same structure, order and kind can give their values to a distributed one. */
static void check_update(const world *w) {
  static const struct {
    tristar_scalar scalar;
    tristar_method method;
    bool reversed;
    tristar_inverse inverse;
    const char *text;
  } others[] = {{TRISTAR_SINGLE, TRISTAR_METHOD_LLT, false, TRISTAR_INVERSE_DIAGONAL, "scalar type"},
                {TRISTAR_DOUBLE, TRISTAR_METHOD_LDLT, false, TRISTAR_INVERSE_DIAGONAL, "method"},
                {TRISTAR_DOUBLE, TRISTAR_METHOD_LLT, true, TRISTAR_INVERSE_DIAGONAL, "permutation"},
                {TRISTAR_DOUBLE, TRISTAR_METHOD_LLT, false, TRISTAR_INVERSE_NONE, "diagonal blocks"}};
  tristar_distributed_options options;
  tristar_distributed_t *d;
  tristar_factor_t *first =
      make_diagonal(w, TRISTAR_DOUBLE, TRISTAR_METHOD_LLT, false, TRISTAR_INVERSE_DIAGONAL);
  char text[512];
  tristar_distributed_options_init(&options);
  options.engine = w->engine;
  options.layout.px = w->ranks;
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, first, &options, &d));
  for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
    double b[8] = {1, 1, 1, 1, 1, 1, 1, 1}, x[8];
    tristar_factor_t *other =
        make_diagonal(w, others[k].scalar, others[k].method, others[k].reversed, others[k].inverse);
    CHECK_STATUS(tristar_distributed_update(d, other), TRISTAR_ERR_ARGUMENT);
    tristar_get_error(w->ts, text, sizeof text);
    CHECK_MSG(strstr(text, others[k].text) != NULL, "\"%s\" is not in \"%s\"", others[k].text, text);
    CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, 8, x, 8)); /* it has the values that it had */
    for (int i = 0; w->rank == 0 && i < 8; i++) CHECK(fabs(x[i] * (i + 1) - 1) < 1e-14);
    tristar_factor_destroy(&other);
  }
  CHECK_OK(tristar_distributed_update(d, first));
  tristar_distributed_destroy(&d);
  tristar_factor_destroy(&first);
}

/* What differs between ranks is an error on all of them, which names it. */
static void check_agreement(const world *w) {
  tristar_distributed_t *d;
  tristar_factor_t *factor =
      make_diagonal(w, TRISTAR_DOUBLE, TRISTAR_METHOD_LLT, false, TRISTAR_INVERSE_DIAGONAL);
  const bool last = w->rank == w->ranks - 1;
  char text[512];
  for (int k = 0; k < 7 && w->ranks > 1; k++) {
    static const char *const texts[] = {"px", "algorithm", "map", "tree", "engine", "nrhs", "transport"};
    tristar_distributed_options options;
    tristar_distributed_options_init(&options);
    options.engine = w->engine;
    options.layout.px = k == 0 && last ? 1 : w->ranks;
    options.layout.py = k == 0 && last ? w->ranks : 1;
    if (k == 1 && last) options.layout.algorithm = TRISTAR_ALGORITHM_LEVELWISE;
    if (k == 2 && last) options.layout.map = TRISTAR_MAP_CYCLIC;
    if (k == 3 && last) options.layout.message_tree = TRISTAR_MESSAGE_TREE_FLAT;
    if (k == 4 && last) options.engine = TRISTAR_ENGINE_SERIAL;
    if (k == 5 && last) options.nrhs = 2;
    if (k == 6 && w->engine != TRISTAR_ENGINE_TASKS) continue; /* starpu_mpi needs StarPU */
    if (k == 6 && last) CHECK(setenv("TRISTAR_TRANSPORT", "starpu_mpi", 1) == 0);
    CHECK_STATUS(tristar_distribute(w->ts, MPI_COMM_WORLD, factor, &options, &d), TRISTAR_ERR_ARGUMENT);
    CHECK(unsetenv("TRISTAR_TRANSPORT") == 0);
    tristar_get_error(w->ts, text, sizeof text);
    CHECK_MSG(strstr(text, texts[k]) != NULL, "\"%s\" is not in \"%s\"", texts[k], text);
  }
  tristar_factor_destroy(&factor);
}

/* TRISTAR_ISA holds for distributed solves as for others. */
static void check_isa(const world *w) {
  tristar_config config;
  tristar_distributed_options options;
  tristar_distributed_t *d;
  world own = *w;
  tristar_config_init(&config);
  config.use_starpu = w->engine == TRISTAR_ENGINE_TASKS;
  CHECK(setenv("TRISTAR_ISA", "base", 1) == 0);
  CHECK_OK(tristar_create(&config, &own.ts));
  CHECK(unsetenv("TRISTAR_ISA") == 0);
  tristar_factor_t *factor =
      make_diagonal(&own, TRISTAR_DOUBLE, TRISTAR_METHOD_LLT, false, TRISTAR_INVERSE_DIAGONAL);
  tristar_distributed_options_init(&options);
  options.layout.px = w->ranks;
  CHECK_OK(tristar_distribute(own.ts, MPI_COMM_WORLD, factor, &options, &d));
  CHECK(strcmp(d->process->data.kernels->isa, "base") == 0);
  tristar_distributed_destroy(&d);
  tristar_factor_destroy(&factor);
  tristar_destroy(&own.ts);
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
    check_matrix(&w, "maxwell3d", 4, &typed_complex_double, 5); /* L D L^H, with pivots of order 2 */
    check_matched(&w);
  }
  check_gather(&w, "convdiff3d", 6);
  check_gather(&w, "kkt3d", 5);
  check_gather_pair(&w);
  check_gather_diagonal(&w);
  check_errors(&w);
  check_update(&w);
  check_agreement(&w);
  check_isa(&w);
  tristar_get_memory(w.ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "rank %d: %zu bytes leaked", w.rank, memory.current_bytes);
  tristar_destroy(&w.ts);
  MPI_Finalize();
  return 0;
}
