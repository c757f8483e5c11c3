/* Products with matrices whose rows are on all ranks equal those of the whole matrix for each scalar type, op
 * and number of vectors. Messages have the number and length that the pattern requires. An error of one rank
 * is returned by all ranks. */
#include "tests/support/mpi/dmatrix.h"
#include "tests/support/subtests.h"

/* ---- Products ------------------------------------------------------------------------------------------ */

/* Compares `nrhs` columns of Y = alpha op(A) X + beta Y with the product of the whole matrix, in double. */
static void check_product(const shared_matrix *s, tristar_dmatrix_t *d, tristar_op op, int64_t nrhs,
                          const number *alpha, const number *beta) {
  const typed *t = s->t;
  const int64_t rows = s->end - s->first, n = s->n;
  OWNED void *x = make_vectors(t, n, 1), *y = make_vectors(t, n, 99);
  OWNED void *own_x = take_vectors(s, x), *own_y = take_vectors(s, y);
  char factor[2][16];
  OWNED number *wide = xmalloc((size_t)n * sizeof *wide), *product = xmalloc((size_t)n * sizeof *product);
  OWNED double *size = xmalloc((size_t)n * sizeof *size);
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
  for (int64_t i = rows * nrhs; i < rows * COLUMNS; i++) /* later columns are unchanged */
    CHECK(get(t, own_y, i) == get(t, y, s->first + i % (rows ? rows : 1) + i / (rows ? rows : 1) * n));
}

/* Each column of a product with many columns has the bits of a product with one column, in each run. */
static void check_bits(const shared_matrix *s, tristar_dmatrix_t *d, tristar_op op) {
  const int64_t rows = s->end - s->first;
  const size_t column = (size_t)rows * s->t->bytes;
  OWNED void *x = make_vectors(s->t, s->n, 7);
  OWNED char *own = take_vectors(s, x), *all = take_vectors(s, x), *one = xmalloc(column + 1);
  CHECK_OK(tristar_dmatrix_multiply(d, op, COLUMNS, NULL, own, rows, NULL, all, rows));
  for (size_t c = 0; c < COLUMNS; c++) {
    CHECK_OK(tristar_dmatrix_multiply(d, op, 1, NULL, own + c * column, rows, NULL, one, rows));
    CHECK(memcmp(one, all + c * column, column) == 0);
  }
}

/* ---- Messages ------------------------------------------------------------------------------------------ */

static int owner_of(const world *w, int64_t n, int64_t row) {
  int r = 0;
  while (first_row(w, n, r + 1) <= row) r++;
  return r;
}

/* Computes from the whole pattern which ranks need which entries. needs[r * n + j]: rank r has entries in
 * column j. */
static char *find_needs(const world *w, const shared_matrix *s) {
  const int64_t *ptr = s->view.ptr;
  const int32_t *index = s->view.index;
  char *needs = xcalloc((size_t)(w->ranks * s->n) + 1, 1);
  for (int64_t j = 0; j < s->n; j++)
    for (int64_t e = ptr[j]; e < ptr[j + 1]; e++) {
      needs[owner_of(w, s->n, index[e]) * s->n + j] = 1;
      if (s->view.symmetry != TRISTAR_GENERAL) needs[owner_of(w, s->n, j) * s->n + index[e]] = 1;
    }
  return needs;
}

/* Number of entries of rank `owner` that `requester` needs. */
static int64_t count_needs(const world *w, const shared_matrix *s, const char *needs, int requester,
                           int owner) {
  int64_t count = 0;
  for (int64_t j = first_row(w, s->n, owner); j < first_row(w, s->n, owner + 1); j++)
    count += needs[requester * s->n + j];
  return requester == owner ? 0 : count;
}

static tristar_message_count predict(const world *w, const shared_matrix *s, bool transposed) {
  tristar_message_count sent = {0, 0};
  OWNED char *needs = find_needs(w, s);
  for (int r = 0; r < w->ranks; r++) {
    const int64_t count =
        transposed ? count_needs(w, s, needs, w->rank, r) : count_needs(w, s, needs, r, w->rank);
    sent.messages += count > 0;
    sent.bytes += count * (int64_t)s->t->bytes;
  }
  return sent;
}

/* Checks the messages and bytes that a product sent for this number of columns in this number of strips. */
static void check_messages(const world *w, const shared_matrix *s, tristar_dmatrix_t *d, tristar_op op) {
  const tristar_message_count expected = predict(w, s, op != TRISTAR_N);
  const int64_t rows = s->end - s->first;
  tristar_dmatrix_stats before, after;
  OWNED void *x = make_vectors(s->t, s->n, 7), *own = take_vectors(s, x), *y = take_vectors(s, x);
  tristar_dmatrix_get_stats(d, &before);
  const tristar_message_count *reported = op == TRISTAR_N ? &before.product : &before.transposed;
  CHECK_MSG(reported->messages == expected.messages && reported->bytes == expected.bytes,
            "rank %d: %d messages of %d bytes, not %d of %d", w->rank, (int)reported->messages,
            (int)reported->bytes, (int)expected.messages, (int)expected.bytes);
  CHECK_OK(tristar_dmatrix_multiply(d, op, COLUMNS, NULL, own, rows, NULL, y, rows));
  tristar_dmatrix_get_stats(d, &after);
  CHECK(after.sent.messages - before.sent.messages == STRIPS * expected.messages);
  CHECK(after.sent.bytes - before.sent.bytes == COLUMNS * expected.bytes);
  CHECK(after.products - before.products == COLUMNS);
}

/* ---- All of that --------------------------------------------------------------------------------------- */

static void check_matrix(const world *w, const char *kind, int64_t k, const typed *t,
                         tristar_symmetry symmetry) {
  static const int64_t counts[] = {0, 1, 3, COLUMNS};
  const number two = 2, minus = -0.5;
  number turn = 0.5;
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, kind, k, t, symmetry);
  tristar_dmatrix_options options = DEFAULTS(tristar_dmatrix_options);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *d;
  __imag__ turn = -1;
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
}

/* ---- What is wrong on one rank ------------------------------------------------------------------------- */

static void check_multiply_errors(const world *w) {
  const bool last = w->rank == w->ranks - 1;
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(w, "poisson3d7", 4, &typed_double, TRISTAR_SYMMETRIC);
  const int64_t rows = s.end - s.first;
  OWNED void *all = make_vectors(s.t, s.n, 1), *x = take_vectors(&s, all), *y = take_vectors(&s, all);
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
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  CLEANUP(close_world) world w = open_world();
  for (int t = 0; t < 4; t++) {
    RUN(check_matrix(&w, "convdiff3d", 5, types[t], TRISTAR_GENERAL));
    RUN(check_matrix(&w, "poisson3d7", 4, types[t], TRISTAR_HERMITIAN));
    RUN(check_matrix(&w, "elasticity3d", 3, types[t], TRISTAR_HERMITIAN)); /* products read one triangle */
  }
  RUN(check_matrix(&w, "kkt3d", 3, &typed_complex_double, TRISTAR_SYMMETRIC));
  RUN(check_matrix(&w, "poisson3d27", 3, &typed_complex_single, TRISTAR_SKEW_SYMMETRIC));
  for (int k = 1; k < 3; k++) /* one row; as many as ranks, or fewer */
    RUN(check_matrix(&w, "chain", k, &typed_double, TRISTAR_GENERAL));
  RUN(check_multiply_errors(&w));
  return 0;
}
