/* Schur complements of matrices whose rows are on all ranks. For layouts, methods and scalar types they equal
 * those of one process to roundoff, with the same verdicts. A wrong request is the same error on all ranks.
 *
 *   test_dmatrix_schur */
#include "tests/support/mpi/dmatrix_factor.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/subtests.h"
#include "tristar_schur.h"

/* Returns `count` rows, spread over the matrix, in no order. */
static int64_t *choose(int64_t n, int64_t count) {
  int64_t *unknown = xcalloc((size_t)count, sizeof *unknown);
  for (int64_t k = 0; k < count; k++) unknown[(k * 13 + 3) % count] = k * n / count;
  return unknown;
}

/* Schur complement of rank 0 alone; s: count x count. */
static tristar_status on_one_process(const world *w, const shared_matrix *m, const wish *o, int64_t count,
                                     const int64_t *unknown, void *s) {
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  tristar_analysis_options options = o->analysis;
  options.leaf_parts = 0;
  options.schur = unknown;
  options.schur_count = count;
  tristar_status status = tristar_analyze(w->ts, &m->view, &options, &analysis);
  if (status == TRISTAR_OK) status = tristar_factor(analysis, m->values, &factor);
  if (status == TRISTAR_OK) status = tristar_schur_get(factor, s, count);
  return status;
}

static tristar_status on_all(const world *w, const shared_matrix *m, const wish *o, int64_t count,
                             const int64_t *unknown, void *s, int64_t lds) {
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &m->rows);
  const bool root = w->rank == 0;
  return tristar_dmatrix_schur(matrix, count, root ? unknown : NULL, &o->analysis, &o->options,
                               root ? s : NULL, lds);
}

/* one: leading dimension count; all: count + 2. */
static void compare(const char *what, const shared_matrix *m, int64_t count, const void *one,
                    const void *all) {
  const double epsilon = m->t->is_single ? 1e-5 : 1e-12;
  double largest = 0, error = 0;
  for (int64_t j = 0; j < count; j++)
    for (int64_t i = 0; i < count; i++) {
      const number a = get(m->t, one, j * count + i), b = get(m->t, all, j * (count + 2) + i);
      largest = fmax(largest, cabs(a));
      error = fmax(error, cabs(a - b));
      if (i <= j && m->view.symmetry != TRISTAR_GENERAL) /* a Hermitian diagonal is real, a skew one zero */
        CHECK(b == mirrored(m->view.symmetry, get(m->t, all, i * (count + 2) + j)));
    }
  for (int64_t j = 0; j < count; j++) /* gaps between columns are unchanged */
    CHECK(get(m->t, all, j * (count + 2) + count) == 0);
  CHECK_MSG(error <= epsilon * largest, "%s: error %g, entries up to %g", what, error, largest);
}

static void check_complement(const world *w, const char *kind, int64_t k, const typed *t,
                             tristar_symmetry symmetry, tristar_method method, int64_t count,
                             tristar_pivoting pivoting) {
  CLEANUP(release_shared) shared_matrix m = share_matrix(w, kind, k, t, symmetry);
  OWNED int64_t *unknown = choose(m.n, count);
  OWNED char *one = xcalloc((size_t)(count * count), t->bytes);
  for (int pz = 1; pz <= w->ranks; pz *= 2) {
    const tristar_layout layout = grid(w, pz);
    wish o = wish_of(&layout, method);
    OWNED char *all = xcalloc((size_t)(count * (count + 2)), t->bytes);
    char what[100];
    snprintf(what, sizeof what, "%s %c, %dx%dx%d", kind, t->scalar, layout.px, layout.py, layout.pz);
    if (w->rank == 0) CHECK_OK(on_one_process(w, &m, &o, count, unknown, one));
    o.analysis.pivoting = pivoting;
    if (pivoting == TRISTAR_PIVOTING_DELAYED) o.analysis.matching = TRISTAR_MATCHING_OFF;
    CHECK_OK(on_all(w, &m, &o, count, unknown, all, count + 2));
    if (w->rank == 0) compare(what, &m, count, one, all);
  }
}

static void check_complements(const world *w) {
  const tristar_method any = TRISTAR_METHOD_AUTO;
  const tristar_pivoting fixed = TRISTAR_PIVOTING_STATIC;
  check_complement(w, "poisson3d7", 7, &typed_double, TRISTAR_SYMMETRIC, any, 40, fixed);
  check_complement(w, "poisson3d7", 6, &typed_single, TRISTAR_SYMMETRIC, any, 9, fixed);
  check_complement(w, "poisson3d7", 6, &typed_double, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, 1, fixed);
  check_complement(w, "convdiff3d", 6, &typed_double, TRISTAR_GENERAL, any, 70, fixed);
  check_complement(w, "convdiff3d", 5, &typed_complex_single, TRISTAR_GENERAL, any, 5, fixed);
  check_complement(w, "maxwell3d", 4, &typed_complex_double, TRISTAR_HERMITIAN, TRISTAR_METHOD_LDLT, 33,
                   fixed);
  check_complement(w, "s2d9pt", 6, &typed_double, TRISTAR_SKEW_SYMMETRIC, any, 8, fixed);
  check_complement(w, "poisson3d7", 2, &typed_double, TRISTAR_SYMMETRIC, any, 7, fixed); /* one row remains */
  check_complement(w, "kkt3d", 6, &typed_double, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, 20,
                   TRISTAR_PIVOTING_DELAYED);
}

/* b := a^-1 b by elimination with pivoting. a: n x n, b: n x columns, by rows. */
static void eliminate(int64_t n, number *a, int64_t columns, number *b) {
  for (int64_t k = 0; k < n; k++) {
    int64_t best = k;
    for (int64_t i = k; i < n; i++)
      if (cabs(a[i * n + k]) > cabs(a[best * n + k])) best = i;
    for (int64_t j = 0; j < n + columns; j++) {
      number *x = j < n ? &a[k * n + j] : &b[k * columns + j - n];
      number *y = j < n ? &a[best * n + j] : &b[best * columns + j - n];
      const number keep = *x;
      *x = *y;
      *y = keep;
    }
    for (int64_t i = 0; i < n; i++) {
      const number l = i == k ? 0 : a[i * n + k] / a[k * n + k];
      for (int64_t j = k; j < n; j++) a[i * n + j] -= l * a[k * n + j];
      for (int64_t c = 0; c < columns; c++) b[i * columns + c] -= l * b[k * columns + c];
    }
  }
  for (int64_t i = 0; i < n * columns; i++) b[i] /= a[i / columns * (n + 1)];
}

/* Solves op(A) x = b: condenses, solves with the dense complement on rank 0, and expands. */
static void solve_by_schur(const world *w, const shared_matrix *m, tristar_dmatrix_schur_t *schur,
                           tristar_op op, int64_t count, const void *complement, int64_t nrhs, const void *b,
                           void *x) {
  const typed *t = m->t;
  const int64_t rows = m->rows.view.rows;
  OWNED char *g = xcalloc((size_t)(count * nrhs), t->bytes);
  OWNED number *s = xcalloc((size_t)(count * count), sizeof *s),
               *right = xcalloc((size_t)(count * nrhs), sizeof *right);
  const bool root = w->rank == 0;
  CHECK_OK(tristar_dmatrix_schur_condense(schur, op, nrhs, b, rows, root ? g : NULL, count));
  for (int64_t i = 0; i < count && root; i++) {
    for (int64_t j = 0; j < count; j++) {
      const number entry = get(t, complement, op == TRISTAR_N ? j * count + i : i * count + j);
      s[i * count + j] = op == TRISTAR_C ? conj(entry) : entry;
    }
    for (int64_t c = 0; c < nrhs; c++) right[i * nrhs + c] = get(t, g, c * count + i);
  }
  if (root) eliminate(count, s, nrhs, right);
  for (int64_t i = 0; i < count && root; i++)
    for (int64_t c = 0; c < nrhs; c++) put(t, g, c * count + i, right[i * nrhs + c]);
  memcpy(x, b, (size_t)(rows * nrhs) * t->bytes); /* in place */
  CHECK_OK(tristar_dmatrix_schur_expand(schur, op, nrhs, x, rows, root ? g : NULL, count, x, rows));
}

/* Residuals of all rows are rounding errors. */
static void check_residual(const shared_matrix *m, tristar_dmatrix_t *matrix, tristar_op op, int64_t nrhs,
                           const void *b, const void *x) {
  const int64_t rows = m->rows.view.rows;
  OWNED char *product = xcalloc((size_t)(rows * nrhs), m->t->bytes);
  double error[2] = {0, 0}, all[2];
  CHECK_OK(tristar_dmatrix_multiply(matrix, op, nrhs, NULL, x, rows, NULL, product, rows));
  for (int64_t k = 0; k < rows * nrhs; k++) {
    error[0] = fmax(error[0], cabs(get(m->t, b, k) - get(m->t, product, k)));
    error[1] = fmax(error[1], cabs(get(m->t, x, k)));
  }
  MPI_Allreduce(error, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  CHECK_MSG(all[0] <= (m->t->is_single ? 1e-3 : 1e-10) * (all[1] + 1), "op %c: residual %g, x up to %g",
            (char)op, all[0], all[1]);
}

/* One column of b or of x_s is not finite. The others are expanded in place all the same, and the message
 * names the column. x: the expected solutions of b and g. */
static void check_other_columns(const world *w, const shared_matrix *m, tristar_dmatrix_schur_t *schur,
                                int64_t count, int64_t nrhs, const void *b, void *g, const void *x) {
  const typed *t = m->t;
  const bool root = w->rank == 0;
  const int64_t rows = m->rows.view.rows, bad = nrhs / 2;
  OWNED char *in_place = xcalloc((size_t)(rows * nrhs), t->bytes);
  char text[60];
  snprintf(text, sizeof text, ", %lld) of ", (long long)bad);
  for (int64_t k = 0; k <= count; k++) {
    const number kept = root ? get(t, g, bad * count + k % count) : 0;
    memcpy(in_place, b, (size_t)(rows * nrhs) * t->bytes);
    if (k < count && root) put(t, g, bad * count + k, NAN);
    if (k == count && rows > 0) put(t, in_place, bad * rows + rows - 1, NAN);
    CHECK_STATUS(tristar_dmatrix_schur_expand(schur, TRISTAR_N, nrhs, in_place, rows, root ? g : NULL, count,
                                              in_place, rows),
                 TRISTAR_ERR_NOT_FINITE);
    CHECK_ERROR(w->ts, text);
    for (int64_t i = 0; i < rows * nrhs; i++)
      CHECK(i / rows == bad ? isnan(creal(get(t, in_place, i)))
                            : cabs(get(t, in_place, i) - get(t, x, i)) <=
                                  (t->is_single ? 1e-3 : 1e-10) * (cabs(get(t, x, i)) + 1));
    if (k < count && root) put(t, g, bad * count + k, kept);
  }
  CHECK_STATUS(tristar_dmatrix_schur_expand(schur, TRISTAR_N, nrhs, in_place, rows, root ? g : NULL, count,
                                            in_place, rows + 1),
               TRISTAR_ERR_ARGUMENT);
}

/* Condensing and expanding give the solution of the whole system, also for new values. */
static void check_solves(const world *w, const char *kind, int64_t k, const typed *t,
                         tristar_symmetry symmetry, int64_t count, int64_t nrhs) {
  const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  CLEANUP(release_shared) shared_matrix m = share_matrix(w, kind, k, t, symmetry);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &m.rows);
  CLEANUP(tristar_dmatrix_schur_destroy) tristar_dmatrix_schur_t *schur = NULL;
  OWNED int64_t *unknown = choose(m.n, count);
  OWNED char *s = xcalloc((size_t)(count * count), t->bytes);
  const int64_t rows = m.rows.view.rows;
  OWNED char *b = xcalloc((size_t)(rows * nrhs), t->bytes), *x = xcalloc((size_t)(rows * nrhs), t->bytes);
  const tristar_layout layout = some_grid(w);
  const wish o = wish_of(&layout, TRISTAR_METHOD_AUTO);
  const bool root = w->rank == 0;
  for (int64_t i = 0; i < rows * nrhs; i++) put(t, b, i, random_value((uint64_t)(i + 1000 * w->rank)));
  CHECK_OK(
      tristar_dmatrix_schur_create(matrix, count, root ? unknown : NULL, &o.analysis, &o.options, &schur));
  for (int turn = 0; turn < 2; turn++) {
    CHECK_OK(tristar_dmatrix_schur_get(schur, root ? s : NULL, count));
    for (int op = 0; op < 3; op++) {
      solve_by_schur(w, &m, schur, ops[op], count, s, nrhs, b, x);
      check_residual(&m, matrix, ops[op], nrhs, b, x);
    }
    if (turn > 0) break;
    for (int64_t p = 0; p < m.rows.ptr[rows] - m.rows.ptr[0]; p++)
      put(t, m.rows.values, p, 3 * get(t, m.rows.values, p));
    CHECK_OK(tristar_dmatrix_update(matrix, &m.rows.view));
    CHECK_STATUS(tristar_dmatrix_schur_get(schur, root ? s : NULL, count), TRISTAR_ERR_STALE);
    CHECK_STATUS(tristar_dmatrix_schur_condense(schur, TRISTAR_N, nrhs, b, rows, x, count),
                 TRISTAR_ERR_STALE);
    CHECK_OK(tristar_dmatrix_schur_refactor(schur));
  }
  tristar_dmatrix_destroy(&matrix); /* the object keeps it */
  OWNED char *g = xcalloc((size_t)(count * nrhs), t->bytes);
  CHECK_OK(tristar_dmatrix_schur_condense(schur, TRISTAR_N, nrhs, b, rows, root ? g : NULL, count));
  CHECK_OK(tristar_dmatrix_schur_expand(schur, TRISTAR_N, nrhs, b, rows, root ? g : NULL, count, x, rows));
  check_other_columns(w, &m, schur, count, nrhs, b, g, x);
  if (rows > 0) put(t, b, nrhs * rows - 1, NAN);
  CHECK_STATUS(tristar_dmatrix_schur_condense(schur, TRISTAR_N, nrhs, b, rows, root ? g : NULL, count),
               TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(tristar_dmatrix_schur_condense(schur, TRISTAR_N, -1, b, rows, g, count), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_schur_condense(schur, (tristar_op)0, 1, b, rows, g, count),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_schur_condense(schur, TRISTAR_N, 1, b, rows, g, count - 1),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_schur_expand(schur, TRISTAR_N, 1, b, rows, NULL, count, x, rows),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_schur_get(schur, NULL, count), TRISTAR_ERR_ARGUMENT);
}

/* All neighbours of a row without a diagonal entry are in S, so the row has no entries left. */
static void check_singular(const world *w, tristar_method method) {
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, method);
  CLEANUP(release_shared) shared_matrix m = share_matrix(w, "s2d9pt", 6, &typed_double, TRISTAR_SYMMETRIC);
  const int64_t row = 14, unknown[] = {7, 8, 9, 13, 15, 19, 20, 21};
  double s[100];
  const int64_t *ptr = m.view.ptr;
  const int32_t *index = m.view.index;
  for (int64_t p = ptr[row]; p < ptr[row + 1]; p++)
    if (index[p] == row) put(m.t, m.values, p, 0);
  release_rows(&m.rows);
  share_rows(w, &m);
  if (w->rank == 0) CHECK_STATUS(on_one_process(w, &m, &o, 8, unknown, s), TRISTAR_ERR_SINGULAR);
  CHECK_STATUS(on_all(w, &m, &o, 8, unknown, s, 10), TRISTAR_ERR_SINGULAR);
}

/* All columns are finite, except that column 1 is NaN. */
static void check_columns(int64_t rows, const double *columns) {
  for (int64_t k = 0; k < 3 * rows; k++) CHECK(k / rows == 1 ? isnan(columns[k]) : isfinite(columns[k]));
}

/* The solve for column 1 of three is beyond the range of double. Its message has the number of the column. */
static void check_far_column(const world *w, const shared_matrix *m, const wish *o, int64_t count,
                             const int64_t *unknown, int64_t row) {
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &m->rows);
  CLEANUP(tristar_dmatrix_schur_destroy) tristar_dmatrix_schur_t *schur = NULL;
  const int64_t rows = m->rows.view.rows;
  OWNED double *b = xcalloc((size_t)(3 * rows), sizeof *b), *g = xcalloc((size_t)(3 * count), sizeof *g);
  for (int64_t k = 0; k < 3 * rows; k++) b[k] = m->first + k % rows != row ? 1 : k / rows == 1 ? 1e10 : 0;
  CHECK_OK(tristar_dmatrix_schur_create(matrix, count, unknown, &o->analysis, &o->options, &schur));
  CHECK_STATUS(tristar_dmatrix_schur_condense(schur, TRISTAR_N, 3, b, rows, g, count),
               TRISTAR_ERR_NOT_FINITE);
  CHECK_ERROR(w->ts, "column 1 of g");
  if (w->rank == 0) check_columns(count, g);
  memset(g, 0, (size_t)(3 * count) * sizeof *g);
  CHECK_STATUS(tristar_dmatrix_schur_expand(schur, TRISTAR_N, 3, b, rows, g, count, b, rows),
               TRISTAR_ERR_NOT_FINITE);
  CHECK_ERROR(w->ts, "column 1 of x");
  check_columns(rows, b);
}

/* Row 14 of A_II has only a tiny diagonal entry, so its part of the complement is beyond the range of double.
 */
static void check_overflow(const world *w, tristar_method method) {
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, method);
  CLEANUP(release_shared) shared_matrix m = share_matrix(w, "s2d9pt", 6, &typed_double, TRISTAR_SYMMETRIC);
  const int64_t row = 14, unknown[] = {7, 8, 9, 13, 15, 19, 20, 21};
  double s[100];
  const int64_t *ptr = m.view.ptr;
  const int32_t *index = m.view.index;
  for (int64_t j = 0; j < m.n; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++)
      if (j == row || index[p] == row) put(m.t, m.values, p, j == index[p] ? 1e-300 : 1e5);
  release_rows(&m.rows);
  share_rows(w, &m);
  if (w->rank == 0) CHECK_STATUS(on_one_process(w, &m, &o, 8, unknown, s), TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(on_all(w, &m, &o, 8, unknown, s, 10), TRISTAR_ERR_NOT_FINITE);
  check_far_column(w, &m, &o, 8, unknown, row);
}

/* Rows of A_II sum up to zero: it is singular to working precision, but no pivot vanishes. */
static void check_null_vector(const world *w, tristar_method method, tristar_singular singular,
                              tristar_refinement refine) {
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, method);
  CLEANUP(release_shared) shared_matrix m = share_matrix(w, "s2d9pt", 12, &typed_double, TRISTAR_SYMMETRIC);
  const int64_t unknown[] = {70, 20, 143};
  double s[25] = {0}, one[9];
  const int64_t *ptr = m.view.ptr;
  const int32_t *index = m.view.index;
  OWNED double *sum = xcalloc((size_t)m.n, sizeof *sum);
  o.analysis.singular = singular;
  o.options.refine = refine;
  for (int turn = 0; turn < 2; turn++)
    for (int64_t j = 0; j < m.n; j++)
      for (int64_t p = ptr[j]; p < ptr[j + 1]; p++) {
        const int64_t i = index[p];
        const bool inner = i != 70 && i != 20 && i != 143 && j != 70 && j != 20 && j != 143;
        if (turn == 0 && inner && i != j) {
          sum[i] += creal(get(m.t, m.values, p));
          sum[j] += creal(get(m.t, m.values, p));
        }
        if (turn == 1 && inner && i == j) put(m.t, m.values, p, -sum[j]);
      }
  release_rows(&m.rows);
  share_rows(w, &m);
  int expected = w->rank == 0 ? (int)on_one_process(w, &m, &o, 3, unknown, one) : 0;
  MPI_Bcast(&expected, 1, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK_STATUS(on_all(w, &m, &o, 3, unknown, s, 5), (tristar_status)expected);
  CHECK(singular == TRISTAR_SINGULAR_PERTURB || expected == TRISTAR_ERR_SINGULAR);
}

static void expect(const world *w, const shared_matrix *m, const wish *o, int64_t count,
                   const int64_t *unknown, int64_t lds, const char *text) {
  double s[16];
  CHECK_STATUS(on_all(w, m, o, count, unknown, s, lds), TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(w->ts, text);
}

static void check_errors(const world *w) {
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, TRISTAR_METHOD_AUTO);
  const int64_t twice[] = {3, 1, 3}, outside[] = {3, 25}, right[] = {3, 1};
  CLEANUP(release_shared) shared_matrix m = share_matrix(w, "s2d9pt", 5, &typed_double, TRISTAR_SYMMETRIC);
  double s[16];
  expect(w, &m, &o, 0, right, 2, "at least one row must be eliminated");
  expect(w, &m, &o, 25, right, 25, "at least one row must be eliminated");
  expect(w, &m, &o, 3, twice, 3, "unknowns[2] is 3, listed twice");
  expect(w, &m, &o, 2, outside, 2, "unknowns[1] is 25, ");
  expect(w, &m, &o, 2, NULL, 2, "unknowns is NULL");
  expect(w, &m, &o, 2, right, 1, "lds is 1, below count, 2");
  if (w->ranks > 1) {
    const int64_t count = w->rank == 1 ? 1 : 2;
    CHECK_STATUS(on_all(w, &m, &o, count, right, s, 2), TRISTAR_ERR_ARGUMENT);
    CHECK_ERROR(w->ts, "the number of unknowns is ");
  }
  o.options.engine = TRISTAR_ENGINE_SERIAL;
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &m.rows);
  CHECK_OK(tristar_dmatrix_schur(matrix, 2, right, &o.analysis, &o.options, s, 2)); /* memory of products */
  allocation_failures failing = fail_allocations_on(w->ranks - 1, w->ts);
  failing.first = 60;
  failing.sparse = 40;
  while (next_failure(&failing))
    end_failure_everywhere(&failing, tristar_dmatrix_schur(matrix, 2, right, &o.analysis, &o.options, s, 2));
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  CLEANUP(close_world) world w = open_world();
  RUN(check_complements(&w));
  RUN(check_singular(&w, TRISTAR_METHOD_LDLT));
  RUN(check_singular(&w, TRISTAR_METHOD_LU));
  RUN(check_overflow(&w, TRISTAR_METHOD_LU));
  RUN(check_overflow(&w, TRISTAR_METHOD_LDLT));
  RUN(check_null_vector(&w, TRISTAR_METHOD_LDLT, TRISTAR_SINGULAR_REFUSE, TRISTAR_REFINE_AUTO));
  RUN(check_null_vector(&w, TRISTAR_METHOD_LU, TRISTAR_SINGULAR_REFUSE, TRISTAR_REFINE_AUTO));
  RUN(check_null_vector(&w, TRISTAR_METHOD_LDLT, TRISTAR_SINGULAR_PERTURB, TRISTAR_REFINE_AUTO));
  RUN(check_null_vector(&w, TRISTAR_METHOD_LDLT, TRISTAR_SINGULAR_PERTURB, TRISTAR_REFINE_NEVER));
  RUN(check_null_vector(&w, TRISTAR_METHOD_LU, TRISTAR_SINGULAR_PERTURB, TRISTAR_REFINE_AUTO));
  RUN(check_null_vector(&w, TRISTAR_METHOD_LU, TRISTAR_SINGULAR_PERTURB, TRISTAR_REFINE_NEVER));
  RUN(check_solves(&w, "poisson3d7", 6, &typed_double, TRISTAR_SYMMETRIC, 20, 3));
  RUN(check_solves(&w, "convdiff3d", 6, &typed_double, TRISTAR_GENERAL, 9, 40));
  RUN(check_solves(&w, "convdiff3d", 5, &typed_complex_single, TRISTAR_GENERAL, 4, 2));
  RUN(check_solves(&w, "poisson3d7", 5, &typed_single, TRISTAR_SYMMETRIC, 5, 1));
  RUN(check_solves(&w, "maxwell3d", 4, &typed_complex_double, TRISTAR_HERMITIAN, 33, 2));
  RUN(check_errors(&w));
  return 0;
}
