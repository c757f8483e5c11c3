/* Schur complements of matrices whose rows all ranks have: for layouts, methods and scalar types the ones of
 * one process, up to roundoff, with its verdicts; what is asked for wrongly is the same error on all ranks.
 *
 *   test_dmatrix_schur */
#include "tests/support/mpi/dmatrix_factor.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/subtests.h"
#include "tristar_schur.h"

/* `count` rows, spread over the matrix, in no order. */
static int64_t *choose(int64_t n, int64_t count) {
  int64_t *unknown = xcalloc((size_t)count, sizeof *unknown);
  for (int64_t k = 0; k < count; k++) unknown[(k * 13 + 3) % count] = k * n / count;
  return unknown;
}

/* Of rank 0 alone; s: count x count. */
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
  for (int64_t j = 0; j < count; j++) /* what is between the columns stays */
    CHECK(get(m->t, all, j * (count + 2) + count) == 0);
  CHECK_MSG(error <= epsilon * largest, "%s: error %g, entries up to %g", what, error, largest);
}

static void check_complement(const world *w, const char *kind, int64_t k, const typed *t,
                             tristar_symmetry symmetry, tristar_method method, int64_t count) {
  CLEANUP(release_shared) shared_matrix m = share_matrix(w, kind, k, t, symmetry);
  OWNED int64_t *unknown = choose(m.n, count);
  OWNED char *one = xcalloc((size_t)(count * count), t->bytes);
  for (int pz = 1; pz <= w->ranks; pz *= 2) {
    const tristar_layout layout = grid(w, pz);
    const wish o = wish_of(&layout, method);
    OWNED char *all = xcalloc((size_t)(count * (count + 2)), t->bytes);
    char what[100];
    snprintf(what, sizeof what, "%s %c, %dx%dx%d", kind, t->scalar, layout.px, layout.py, layout.pz);
    if (w->rank == 0) CHECK_OK(on_one_process(w, &m, &o, count, unknown, one));
    CHECK_OK(on_all(w, &m, &o, count, unknown, all, count + 2));
    if (w->rank == 0) compare(what, &m, count, one, all);
  }
}

static void check_complements(const world *w) {
  const tristar_method any = TRISTAR_METHOD_AUTO;
  check_complement(w, "poisson3d7", 7, &typed_double, TRISTAR_SYMMETRIC, any, 40);
  check_complement(w, "poisson3d7", 6, &typed_single, TRISTAR_SYMMETRIC, any, 9);
  check_complement(w, "poisson3d7", 6, &typed_double, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, 1);
  check_complement(w, "convdiff3d", 6, &typed_double, TRISTAR_GENERAL, any, 70);
  check_complement(w, "convdiff3d", 5, &typed_complex_single, TRISTAR_GENERAL, any, 5);
  check_complement(w, "maxwell3d", 4, &typed_complex_double, TRISTAR_HERMITIAN, TRISTAR_METHOD_LDLT, 33);
  check_complement(w, "s2d9pt", 6, &typed_double, TRISTAR_SKEW_SYMMETRIC, any, 8);
  check_complement(w, "poisson3d7", 2, &typed_double, TRISTAR_SYMMETRIC, any, 7); /* one row remains */
}

/* The neighbours of a row without a diagonal entry are S: nothing is left of the row. */
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

/* Rows of A_II sum up to zero: it is singular to working precision, though no pivot vanishes. */
static void check_null_vector(const world *w, tristar_method method, tristar_singular singular) {
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, method);
  CLEANUP(release_shared) shared_matrix m = share_matrix(w, "s2d9pt", 12, &typed_double, TRISTAR_SYMMETRIC);
  const int64_t unknown[] = {70, 20, 143};
  double s[25] = {0}, one[9];
  const int64_t *ptr = m.view.ptr;
  const int32_t *index = m.view.index;
  OWNED double *sum = xcalloc((size_t)m.n, sizeof *sum);
  o.analysis.singular = singular;
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
  expect(w, &m, &o, 2, NULL, 2, "unknowns or s is NULL");
  expect(w, &m, &o, 2, right, 1, "lds is 1, below count, 2");
  if (w->ranks > 1) {
    const int64_t count = w->rank == 1 ? 1 : 2;
    CHECK_STATUS(on_all(w, &m, &o, count, right, s, 2), TRISTAR_ERR_ARGUMENT);
    CHECK_ERROR(w->ts, "the number of unknowns is ");
  }
  o.options.engine = TRISTAR_ENGINE_SERIAL;
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &m.rows);
  CHECK_OK(tristar_dmatrix_schur(matrix, 2, right, &o.analysis, &o.options, s, 2)); /* what products keep */
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
  RUN(check_null_vector(&w, TRISTAR_METHOD_LDLT, TRISTAR_SINGULAR_REFUSE));
  RUN(check_null_vector(&w, TRISTAR_METHOD_LU, TRISTAR_SINGULAR_REFUSE));
  RUN(check_null_vector(&w, TRISTAR_METHOD_LDLT, TRISTAR_SINGULAR_PERTURB));
  RUN(check_null_vector(&w, TRISTAR_METHOD_LU, TRISTAR_SINGULAR_PERTURB));
  RUN(check_errors(&w));
  return 0;
}
