/* Matrices whose rows lie on all ranks: products are those of the whole matrix for every scalar type, op and
 * number of vectors, the messages are as many and as long as the pattern asks for, the rows are those that
 * were given or generated, and what is wrong on one rank all are told. */
#include "tests/dmatrix.h"

/* ---- Products ------------------------------------------------------------------------------------------ */

enum { COLUMNS = 13, STRIPS = 3 }; /* 8 + 4 + 1 */

/* The whole of X, by columns, the same on all ranks. */
static void *make_vectors(const typed *t, int64_t n, uint64_t seed) {
  void *x = malloc((size_t)n * COLUMNS * t->bytes + 1);
  double part[2];
  CHECK(x != NULL);
  for (int64_t i = 0; i < n * COLUMNS; i++) {
    fill_random(part, 2, seed + (uint64_t)i);
    number value = part[0];
    __imag__ value = part[1];
    put(t, x, i, value);
  }
  return x;
}

/* Rows of this rank of all columns. */
static void *take_vectors(const shared_matrix *s, const void *x) {
  const size_t rows = (size_t)(s->end - s->first), bytes = s->t->bytes;
  char *own = malloc(rows * COLUMNS * bytes + 1);
  CHECK(own != NULL);
  for (size_t c = 0; c < COLUMNS; c++)
    memcpy(own + c * rows * bytes, (const char *)x + (c * (size_t)s->n + (size_t)s->first) * bytes,
           rows * bytes);
  return own;
}

/* Y = alpha op(A) X + beta Y of `nrhs` columns against the product with the whole matrix, in double. */
static void check_product(const shared_matrix *s, tristar_dmatrix_t *d, tristar_op op, int64_t nrhs,
                          const number *alpha, const number *beta) {
  const typed *t = s->t;
  const int64_t rows = s->end - s->first, n = s->n;
  void *x = make_vectors(t, n, 1), *y = make_vectors(t, n, 99);
  void *own_x = take_vectors(s, x), *own_y = take_vectors(s, y);
  char factor[2][16];
  number *wide = malloc((size_t)n * sizeof *wide), *product = malloc((size_t)n * sizeof *product);
  double *size = malloc((size_t)n * sizeof *size);
  CHECK(wide != NULL && product != NULL && size != NULL);
  if (alpha != NULL) put(t, factor[0], 0, *alpha);
  if (beta != NULL) put(t, factor[1], 0, *beta);
  CHECK_OK(tristar_dmatrix_multiply(d, op, nrhs, alpha ? factor[0] : NULL, rows ? own_x : NULL, rows,
                                    beta ? factor[1] : NULL, rows ? own_y : NULL, rows));
  const number by = alpha ? get(t, factor[0], 0) : 1, keep = beta ? get(t, factor[1], 0) : 0;
  for (int64_t c = 0; c < nrhs; c++) {
    for (int64_t i = 0; i < n; i++) wide[i] = get(t, x, i + c * n);
    multiply(t, &s->view, op, wide, product, size);
    for (int64_t i = s->first; i < s->end; i++) {
      const number before = get(t, y, i + c * n), expected = by * product[i] + keep * before;
      const number got = get(t, own_y, i - s->first + c * rows);
      const double bound = 40 * t->roundoff * (magnitude(by) * size[i] + magnitude(keep * before));
      CHECK_MSG(magnitude(got - expected) <= bound, "type %c, op %d, %d columns, row %d of column %d: %g off",
                (int)t->scalar, (int)op, (int)nrhs, (int)i, (int)c, magnitude(got - expected));
    }
  }
  for (int64_t i = rows * nrhs; i < rows * COLUMNS; i++) /* columns behind them are not touched */
    CHECK(get(t, own_y, i) == get(t, y, s->first + i % (rows ? rows : 1) + i / (rows ? rows : 1) * n));
  free(x);
  free(y);
  free(own_x);
  free(own_y);
  free(wide);
  free(product);
  free(size);
}

/* Each column of a product with many has the bits of one alone, in every run. */
static void check_bits(const shared_matrix *s, tristar_dmatrix_t *d, tristar_op op) {
  const int64_t rows = s->end - s->first;
  const size_t column = (size_t)rows * s->t->bytes;
  void *x = make_vectors(s->t, s->n, 7);
  char *own = take_vectors(s, x), *all = take_vectors(s, x), *one = malloc(column + 1);
  CHECK(one != NULL);
  CHECK_OK(tristar_dmatrix_multiply(d, op, COLUMNS, NULL, own, rows, NULL, all, rows));
  for (size_t c = 0; c < COLUMNS; c++) {
    CHECK_OK(tristar_dmatrix_multiply(d, op, 1, NULL, own + c * column, rows, NULL, one, rows));
    CHECK(memcmp(one, all + c * column, column) == 0);
  }
  free(x);
  free(own);
  free(all);
  free(one);
}

/* ---- Messages ------------------------------------------------------------------------------------------ */

static int owner_of(const world *w, int64_t n, int64_t row) {
  int r = 0;
  while (first_row(w, n, r + 1) <= row) r++;
  return r;
}

/* Which ranks need which entries, found in the whole pattern. needs[r * n + j]: rank r meets column j. */
static char *find_needs(const world *w, const shared_matrix *s) {
  const int64_t *ptr = s->view.ptr;
  const int32_t *index = s->view.index;
  char *needs = calloc((size_t)(w->ranks * s->n) + 1, 1);
  CHECK(needs != NULL);
  for (int64_t j = 0; j < s->n; j++)
    for (int64_t e = ptr[j]; e < ptr[j + 1]; e++) {
      needs[owner_of(w, s->n, index[e]) * s->n + j] = 1;
      if (s->view.symmetry != TRISTAR_GENERAL) needs[owner_of(w, s->n, j) * s->n + index[e]] = 1;
    }
  return needs;
}

/* Entries of rank `owner` that `asker` needs. */
static int64_t count_needs(const world *w, const shared_matrix *s, const char *needs, int asker, int owner) {
  int64_t count = 0;
  for (int64_t j = first_row(w, s->n, owner); j < first_row(w, s->n, owner + 1); j++)
    count += needs[asker * s->n + j];
  return asker == owner ? 0 : count;
}

static tristar_message_count predict(const world *w, const shared_matrix *s, bool transposed) {
  tristar_message_count sent = {0, 0};
  char *needs = find_needs(w, s);
  for (int r = 0; r < w->ranks; r++) {
    const int64_t count =
        transposed ? count_needs(w, s, needs, w->rank, r) : count_needs(w, s, needs, r, w->rank);
    sent.messages += count > 0;
    sent.bytes += count * (int64_t)s->t->bytes;
  }
  free(needs);
  return sent;
}

/* Messages and bytes that a product has sent, of this number of columns in this number of strips. */
static void check_messages(const world *w, const shared_matrix *s, tristar_dmatrix_t *d, tristar_op op) {
  const tristar_message_count expected = predict(w, s, op != TRISTAR_N);
  const int64_t rows = s->end - s->first;
  tristar_dmatrix_stats before, after;
  void *x = make_vectors(s->t, s->n, 7), *own = take_vectors(s, x), *y = take_vectors(s, x);
  tristar_dmatrix_get_stats(d, &before);
  const tristar_message_count *told = op == TRISTAR_N ? &before.product : &before.transposed;
  CHECK_MSG(told->messages == expected.messages && told->bytes == expected.bytes,
            "rank %d: %d messages of %d bytes, not %d of %d", w->rank, (int)told->messages, (int)told->bytes,
            (int)expected.messages, (int)expected.bytes);
  CHECK_OK(tristar_dmatrix_multiply(d, op, COLUMNS, NULL, own, rows, NULL, y, rows));
  tristar_dmatrix_get_stats(d, &after);
  CHECK(after.sent.messages - before.sent.messages == STRIPS * expected.messages);
  CHECK(after.sent.bytes - before.sent.bytes == COLUMNS * expected.bytes);
  CHECK(after.products - before.products == COLUMNS);
  free(x);
  free(own);
  free(y);
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

/* The view has the entries of the whole matrix, rows first .. first + rows - 1, and the statistics say so. */
static void check_view(const typed *t, const tristar_view *whole, tristar_dmatrix_t *d) {
  const int64_t n = whole->rows, *at = whole->ptr;
  const int32_t *index = whole->index;
  number *row = malloc((size_t)n * sizeof *row);
  tristar_dmatrix_stats stats;
  tristar_view view;
  int64_t all = 0;
  CHECK(row != NULL);
  tristar_dmatrix_get_stats(d, &stats);
  CHECK_OK(tristar_dmatrix_get_view(d, &view));
  const int64_t *ptr = view.ptr;
  const int32_t *column = view.index;
  CHECK(view.format == TRISTAR_CSR && view.symmetry == TRISTAR_GENERAL && view.scalar == t->scalar);
  CHECK(view.rows == stats.rows && view.cols == n && stats.n == n && ptr[view.rows] == stats.nnz);
  for (int64_t i = 0; i < view.rows; i++) {
    int64_t entries = 0;
    for (int64_t j = 0; j < n; j++) row[j] = 0;
    for (int64_t j = 0; j < n; j++)
      for (int64_t e = at[j]; e < at[j + 1]; e++) {
        const bool image = whole->symmetry != TRISTAR_GENERAL && index[e] != j && j == stats.first + i;
        if (index[e] == stats.first + i) row[j] = get(t, whole->values, e);
        if (image) row[index[e]] = mirrored(whole->symmetry, get(t, whole->values, e));
        entries += image + (index[e] == stats.first + i);
      }
    CHECK(ptr[i + 1] - ptr[i] == entries);
    for (int64_t e = ptr[i]; e < ptr[i + 1]; e++) {
      CHECK(e == ptr[i] || column[e] > column[e - 1]);
      CHECK(get(t, view.values, e) == row[column[e]]);
    }
  }
  MPI_Allreduce(&stats.nnz, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  CHECK(stats.nnz_all == all);
  CHECK_OK(tristar_dmatrix_get_diagonal(d, &view));
  CHECK(view.rows == stats.rows && view.cols == stats.rows);
  free(row);
}

static void check_matrix(const world *w, const char *kind, int64_t k, const typed *t,
                         tristar_symmetry symmetry) {
  static const int64_t counts[] = {0, 1, 3, COLUMNS};
  const number two = 2, minus = -0.5;
  number turn = 0.5;
  shared_matrix s = share_matrix(w, kind, k, t, symmetry);
  tristar_dmatrix_options options;
  tristar_dmatrix_t *d;
  __imag__ turn = -1;
  tristar_dmatrix_options_init(&options);
  options.engine = k % 2 ? TRISTAR_ENGINE_SERIAL : TRISTAR_ENGINE_TASKS;
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &s.rows.view, &options, &d));
  for (int o = 0; o < TYPED_OPS; o++) {
    for (int c = 0; c < 4; c++) check_product(&s, d, typed_ops[o], counts[c], NULL, NULL);
    check_product(&s, d, typed_ops[o], COLUMNS, &turn, NULL);
    check_product(&s, d, typed_ops[o], COLUMNS, &two, &turn);
    check_product(&s, d, typed_ops[o], 1, NULL, &minus);
    check_bits(&s, d, typed_ops[o]);
    check_messages(w, &s, d, typed_ops[o]);
  }
  check_view(t, &s.view, d);
  tristar_dmatrix_destroy(&d);
  release_shared(&s);
}

static void check_generated(const world *w, const char *kind, int64_t k, const typed *t) {
  tristar_matrix_t *matrix;
  tristar_view view;
  tristar_dmatrix_options options;
  tristar_dmatrix_t *d;
  const double *from;
  CHECK_OK(tristar_matrix_generate(w->ts, kind, k, &matrix));
  tristar_matrix_get_view(matrix, &view);
  from = view.values;
  const int64_t entries = ((const int64_t *)view.ptr)[view.cols];
  void *values = malloc((size_t)entries * t->bytes);
  for (int64_t e = 0; e < entries; e++) put(t, values, e, from[e]);
  view.values = values;
  tristar_dmatrix_options_init(&options);
  options.scalar = (int)t->scalar;
  CHECK_OK(tristar_dmatrix_generate(w->ts, MPI_COMM_WORLD, kind, k, &options, &d));
  check_view(t, &view, d);
  tristar_dmatrix_destroy(&d);
  tristar_matrix_destroy(&matrix);
  free(values);
}

/* ---- What is wrong on one rank --------------------------------------------------------------------------
 */

/* Two rows, or as many as there are ranks if these are more; the off-diagonal pair of the first and the last
 * row, which the symmetry makes one of, is stored by both of their ranks. */
static void check_pair(const world *w) {
  const int64_t n = w->ranks > 2 ? w->ranks : 2, first = w->rank == 0 ? 0 : n - w->ranks + w->rank;
  const int64_t end = n - w->ranks + w->rank + 1;
  int64_t ptr[3] = {0}, index[4];
  double value[4] = {1, 1, 1, 1};
  char text[512];
  tristar_dmatrix_t *d;
  for (int64_t i = first; i < end; i++) {
    int64_t *to = &ptr[i - first + 1];
    *to = ptr[i - first];
    if (i == n - 1) index[(*to)++] = 0;
    index[(*to)++] = i;
    if (i == 0) index[(*to)++] = n - 1;
  }
  const tristar_view rows = {.format = TRISTAR_CSR,
                             .symmetry = TRISTAR_SYMMETRIC,
                             .scalar = TRISTAR_DOUBLE,
                             .rows = end - first,
                             .cols = n,
                             .ptr = ptr,
                             .index = index,
                             .values = value,
                             .ptr_bits = 64,
                             .index_bits = 64};
  CHECK_STATUS(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &rows, NULL, &d), TRISTAR_ERR_FORMAT);
  tristar_get_error(w->ts, text, sizeof text);
  CHECK_MSG(d == NULL && strstr(text, "are both stored") != NULL, "rank %d: %s", w->rank, text);
}

static void check_errors(const world *w) {
  const bool last = w->rank == w->ranks - 1;
  shared_matrix s = share_matrix(w, "poisson3d7", 4, &typed_double, TRISTAR_SYMMETRIC);
  tristar_dmatrix_options options;
  tristar_dmatrix_t *d = NULL;
  tristar_dmatrix_options_init(&options);
  const tristar_view right = s.rows.view;
#define EXPECT(expected)                                                                                     \
  do {                                                                                                       \
    CHECK_STATUS(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &s.rows.view, &options, &d), expected);       \
    CHECK(d == NULL);                                                                                        \
    s.rows.view = right;                                                                                     \
    tristar_dmatrix_options_init(&options);                                                                  \
  } while (0)
  if (last) s.rows.view.rows--;
  EXPECT(TRISTAR_ERR_RECTANGULAR);
  s.rows.view.values = NULL;
  EXPECT(TRISTAR_ERR_ARGUMENT);
  options.scalar = 'x';
  EXPECT(TRISTAR_ERR_ARGUMENT);
  if (last) s.rows.view.cols++;
  EXPECT(w->ranks > 1 ? TRISTAR_ERR_ARGUMENT : TRISTAR_ERR_RECTANGULAR);
  if (w->ranks > 1) {
    if (last) options.engine = TRISTAR_ENGINE_SERIAL;
    EXPECT(TRISTAR_ERR_ARGUMENT);
    if (last) options.scalar = TRISTAR_SINGLE;
    EXPECT(TRISTAR_ERR_ARGUMENT);
  }
  if (last) ((double *)s.rows.values)[0] = NAN;
  EXPECT(TRISTAR_ERR_NOT_FINITE);
  if (last) ((double *)s.rows.values)[0] = 1;
  CHECK_STATUS(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, last ? NULL : &right, NULL, &d),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &right, NULL, last ? NULL : &d),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_create(NULL, MPI_COMM_WORLD, &right, NULL, &d), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_generate(w->ts, MPI_COMM_WORLD, "circuit", 9, NULL, &d),
               TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_dmatrix_generate(w->ts, MPI_COMM_WORLD, "nothing", 9, NULL, &d), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_generate(w->ts, MPI_COMM_WORLD, NULL, 9, NULL, &d), TRISTAR_ERR_ARGUMENT);
  release_shared(&s);
}

static void check_multiply_errors(const world *w) {
  const bool last = w->rank == w->ranks - 1;
  shared_matrix s = share_matrix(w, "poisson3d7", 4, &typed_double, TRISTAR_SYMMETRIC);
  const int64_t rows = s.end - s.first;
  void *all = make_vectors(s.t, s.n, 1), *x = take_vectors(&s, all), *y = take_vectors(&s, all);
  const double two = 2;
  tristar_dmatrix_t *d;
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &s.rows.view, NULL, &d));
  CHECK_STATUS(tristar_dmatrix_multiply(d, TRISTAR_N, last ? -1 : 1, NULL, x, rows, NULL, y, rows),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_multiply(d, TRISTAR_N, 1, NULL, x, last ? -1 : rows, NULL, y, rows),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_multiply(d, last ? (tristar_op)9 : TRISTAR_N, 1, NULL, x, rows, NULL, y, rows),
               TRISTAR_ERR_ARGUMENT);
  if (rows > 0 || !last)
    CHECK_STATUS(tristar_dmatrix_multiply(d, TRISTAR_N, 1, NULL, last ? NULL : x, rows, NULL, y, rows),
                 TRISTAR_ERR_ARGUMENT);
  if (w->ranks > 1) {
    CHECK_STATUS(tristar_dmatrix_multiply(d, TRISTAR_N, last ? 2 : 1, NULL, x, rows, NULL, y, rows),
                 TRISTAR_ERR_ARGUMENT);
    CHECK_STATUS(tristar_dmatrix_multiply(d, TRISTAR_N, 1, last ? &two : NULL, x, rows, NULL, y, rows),
                 TRISTAR_ERR_ARGUMENT);
  }
  CHECK_OK(tristar_dmatrix_multiply(d, TRISTAR_N, 1, NULL, x, rows, NULL, y, rows));
  CHECK_STATUS(tristar_dmatrix_multiply(NULL, TRISTAR_N, 1, NULL, x, rows, NULL, y, rows),
               TRISTAR_ERR_ARGUMENT);
  tristar_dmatrix_destroy(&d);
  tristar_dmatrix_destroy(&d);
  tristar_dmatrix_destroy(NULL);
  release_shared(&s);
  free(all);
  free(x);
  free(y);
}

/* An allocation fails on one rank: all are told, and a later attempt succeeds. */
static void check_memory(const world *w) {
  shared_matrix s = share_matrix(w, "poisson3d7", 4, &typed_complex_double, TRISTAR_HERMITIAN);
  const int64_t rows = s.end - s.first;
  void *all = make_vectors(s.t, s.n, 1), *x = take_vectors(&s, all), *y = take_vectors(&s, all);
  const number half = 0.5;
  int failures = 0, successes = 0; /* one after the other */
  for (int64_t at = 1; successes < w->ranks; at++) {
    tristar_memory_stats before;
    tristar_dmatrix_t *d;
    tristar_view view;
    tristar_get_memory(w->ts, &before);
    if (w->rank == (int)(at % w->ranks)) tsi_context_env(w->ts)->memory.fail_at = before.allocations + at;
    tristar_status status = tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &s.rows.view, NULL, &d);
    CHECK((d == NULL) == (status != TRISTAR_OK));
    if (d != NULL) status = tristar_dmatrix_multiply(d, TRISTAR_C, 9, &half, x, rows, NULL, y, rows);
    tsi_context_env(w->ts)->memory.fail_at = 0;
    CHECK_MSG(status == TRISTAR_OK || status == TRISTAR_ERR_MEMORY, "allocation %d: %s", (int)at,
              tristar_status_name(status));
    if (d != NULL) CHECK_OK(tristar_dmatrix_multiply(d, TRISTAR_C, 9, &half, x, rows, NULL, y, rows));
    if (d != NULL) CHECK_OK(tristar_dmatrix_get_view(d, &view));
    failures += status != TRISTAR_OK;
    successes = status == TRISTAR_OK ? successes + 1 : 0;
    tristar_dmatrix_destroy(&d);
  }
  CHECK(failures > 40);
  release_shared(&s);
  free(all);
  free(x);
  free(y);
}

int main(void) {
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  world w = open_world();
  for (int t = 0; t < 4; t++) {
    check_matrix(&w, "convdiff3d", 5, types[t], TRISTAR_GENERAL);
    check_matrix(&w, "poisson3d7", 4, types[t], TRISTAR_HERMITIAN);
    check_generated(&w, "elasticity3d", 2, types[t]);
  }
  check_matrix(&w, "kkt3d", 3, &typed_complex_double, TRISTAR_SYMMETRIC);
  check_matrix(&w, "poisson3d27", 3, &typed_complex_single, TRISTAR_SKEW_SYMMETRIC);
  for (int k = 1; k < 3; k++) { /* one row; as many as ranks, or less */
    check_matrix(&w, "chain", k, &typed_double, TRISTAR_GENERAL);
    check_generated(&w, "poisson3d7", 1, types[k]);
  }
  check_generated(&w, "fusion2d", 1, &typed_double);
  check_pair(&w);
  check_errors(&w);
  check_multiply_errors(&w);
  check_memory(&w);
  close_world(&w);
  return 0;
}
