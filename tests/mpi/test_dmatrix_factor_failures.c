/* Factors of matrices whose rows are on all ranks: a failure gives all ranks the same message, and no memory
 * is lost. Also matrices with fewer rows than ranks. */
#include "tests/support/mpi/dmatrix_factor.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/systems/nasty_systems.h"
#include "tests/support/systems/zero_pivots.h"
#include "tests/support/subtests.h"

/* ---- Failures ------------------------------------------------------------------------------------------ */

/* The message on each rank contains the text, whichever rank found the error. */
static void expect_text(const world *w, const char *text) {
  CHECK_ERROR(w->ts, text);
}

/* Finds one value in the rows of all ranks. */
static double *entry_of(rows_block *rows, const shared_matrix *s, int64_t row, int64_t column) {
  const int64_t base = rows->view.base;
  if (row < s->first || row >= s->end) return NULL;
  for (int64_t e = rows->ptr[row - s->first] - base; e < rows->ptr[row - s->first + 1] - base; e++)
    if (rows->index[e] - base == column) return (double *)(void *)rows->values + e;
  CHECK_MSG(false, "there is no entry (%d,%d)", (int)row, (int)column);
  return NULL;
}

static void set_entry(shared_matrix *s, int64_t row, int64_t column, double value) {
  double *entry = entry_of(&s->rows, s, row, column);
  if (entry) *entry = value;
}

static tristar_status factor(const world *w, const shared_matrix *s, const wish *o,
                             tristar_distributed_t **d) {
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s->rows);
  const tristar_status status = tristar_dmatrix_factor(matrix, &o->analysis, &o->options, d);
  CHECK((status == TRISTAR_OK) == (*d != NULL));
  return status;
}

static void expect(const world *w, const shared_matrix *s, const wish *o, tristar_status status,
                   const char *text) {
  tristar_distributed_t *d;
  CHECK_STATUS(factor(w, s, o, &d), status);
  expect_text(w, text);
}

/* Pivots that are not positive: Cholesky fails, METHOD_AUTO continues with another method. */
static void check_indefinite(const world *w) {
  const tristar_layout layout = some_grid(w);
  tristar_distributed_t *d;
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(w, "poisson3d7", 5, &typed_double, TRISTAR_SYMMETRIC);
  for (int64_t row = 0; row < s.n; row += 40) {
    char text[60];
    wish o = wish_of(&layout, TRISTAR_METHOD_LLT);
    snprintf(text, sizeof text, "pivot of row %d ", (int)row);
    set_entry(&s, row, row, 0.01);
    expect(w, &s, &o, TRISTAR_ERR_NOT_POSITIVE_DEFINITE, "pivot of row ");
    set_entry(&s, row, row, -6);
    expect(w, &s, &o, TRISTAR_ERR_NOT_POSITIVE_DEFINITE, text);
    o.analysis.method = TRISTAR_METHOD_AUTO;
    CHECK_OK(factor(w, &s, &o, &d));
    CHECK(d->process->kind.indefinite);
    tristar_distributed_destroy(&d);
    set_entry(&s, row, row, 0.01); /* positive, but not definite: Cholesky is tried first */
    CHECK_OK(factor(w, &s, &o, &d));
    CHECK(d->process->kind.indefinite);
    CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix;
    set_entry(&s, row, row, 6);
    matrix = make(w, &s.rows);
    CHECK_OK(tristar_dmatrix_refactor(matrix, d));
    tristar_distributed_destroy(&d);
    o.analysis.method = TRISTAR_METHOD_LLT;
    CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d));
    tristar_dmatrix_destroy(&matrix);
    set_entry(&s, row, row, -6);
    matrix = make(w, &s.rows);
    CHECK_STATUS(tristar_dmatrix_refactor(matrix, d), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
    expect_text(w, text);
    OWNED double *x = xcalloc((size_t)s.n, sizeof *x);
    CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, 1, x, s.n, x, s.n), TRISTAR_ERR_STALE);
    tristar_dmatrix_destroy(&matrix);
    set_entry(&s, row, row, 6);
    matrix = make(w, &s.rows);
    CHECK_OK(tristar_dmatrix_refactor(matrix, d));
    CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, x, s.n, x, s.n));
    tristar_distributed_destroy(&d);
  }
}

/* Scales all entries of a row. */
static void scale_row(shared_matrix *s, int64_t row, double factor) {
  if (row < s->first || row >= s->end) return;
  double *values = (double *)(void *)s->rows.values;
  const int64_t base = s->rows.view.base, *ptr = s->rows.ptr + (row - s->first);
  for (int64_t e = ptr[0] - base; e < ptr[1] - base; e++) values[e] *= factor;
}

/* A complex matrix that is neither symmetric nor Hermitian: the message names an entry of each kind. */
static void check_places(const world *w) {
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, TRISTAR_METHOD_LDLT);
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(w, "convdiff3d", 5, &typed_complex_double, TRISTAR_GENERAL);
  double *values = (void *)s.rows.values;
  const int64_t *ptr = s.rows.ptr, base = s.rows.view.base;
  for (int64_t e = 0; e < ptr[s.end - s.first] - base; e++) values[2 * e + 1] += 1; /* imaginary */
  expect(w, &s, &o, TRISTAR_ERR_ARGUMENT, "(0,1) and (1,0), counted from 0, are no mirror images");
  expect(w, &s, &o, TRISTAR_ERR_ARGUMENT, "diagonal entry (0,0) is not real");
}

/* Values that the method does not accept, and singular matrices. */
static void check_refusals(const world *w) {
  const tristar_layout layout = some_grid(w);
  tristar_distributed_t *d;
  wish o = wish_of(&layout, TRISTAR_METHOD_LDLT);
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, "convdiff3d", 5, &typed_double, TRISTAR_GENERAL);
  expect(w, &s, &o, TRISTAR_ERR_ARGUMENT, "are no mirror images");
  o.analysis.method = TRISTAR_METHOD_LLT;
  expect(w, &s, &o, TRISTAR_ERR_ARGUMENT, "L L^T holds symmetric matrices only");
  o = wish_of(&layout, TRISTAR_METHOD_LU);
  set_entry(&s, 60, 60, 0);
  o.analysis.matching = TRISTAR_MATCHING_OFF;
  CHECK_OK(factor(w, &s, &o, &d));
  tristar_distributed_destroy(&d);
  scale_row(&s, 60, 0);
  expect(w, &s, &o, TRISTAR_ERR_SINGULAR, "structural rank 124 of 125");
  o.analysis.matching = TRISTAR_MATCHING_ON;
  expect(w, &s, &o, TRISTAR_ERR_SINGULAR, "structural rank 124 of 125");
  o.analysis.matching = TRISTAR_MATCHING_AUTO;
  expect(w, &s, &o, TRISTAR_ERR_SINGULAR, "structural rank 124 of 125");
  release_shared(&s);
  s = share_matrix(w, "poisson3d7", 4, &typed_double, TRISTAR_SYMMETRIC);
  o.analysis.method = TRISTAR_METHOD_LDLT;
  for (int64_t i = s.first; i < s.end; i++) /* they ascend by 70 powers of two */
    for (int64_t e = s.rows.ptr[i - s.first] - s.rows.view.base;
         e < s.rows.ptr[i + 1 - s.first] - s.rows.view.base; e++)
      ((double *)(void *)s.rows.values)[e] *= exp2(0.6 * (double)(i + s.rows.index[e] - s.rows.view.base));
  for (int matching = 0; matching < 2; matching++) {
    o.analysis.matching = matching ? TRISTAR_MATCHING_AUTO : TRISTAR_MATCHING_OFF;
    CHECK_OK(factor(w, &s, &o, &d));
    same_solutions("badly scaled values", &s, d, d);
    tristar_distributed_destroy(&d);
  }
}

/* A matrix of doubles by compressed columns, and this rank's rows of it. */
static shared_matrix share_columns(const world *w, int64_t n, const int64_t *ptr, const int32_t *index,
                                   double *values) {
  shared_matrix s = {.t = &typed_double,
                     .error = 1e-13,
                     .n = n,
                     .values = values,
                     .first = first_row(w, n, w->rank),
                     .end = first_row(w, n, w->rank + 1),
                     .view = {.format = TRISTAR_CSC,
                              .scalar = TRISTAR_DOUBLE,
                              .rows = n,
                              .cols = n,
                              .ptr = ptr,
                              .index = index,
                              .values = values,
                              .ptr_bits = 64,
                              .index_bits = 32}};
  s.rows = take_rows(&s.view, sizeof *values, s.first, s.end, 0);
  return s;
}

/* Dependent rows: the verdict is that of rank 0 alone, and the message names the row. */
static void check_singular(const world *w) {
  const tristar_layout layout = some_grid(w);
  const wish o = wish_of(&layout, TRISTAR_METHOD_LU);
  enum { ORDER = 12 };
  int64_t ptr[ORDER + 1];
  int32_t index[ORDER * ORDER];
  double values[ORDER * ORDER];
  char text[512] = "";
  for (int32_t j = 0; j < ORDER; j++)
    for (int32_t i = 0; i < ORDER; i++) {
      index[j * ORDER + i] = i;
      values[j * ORDER + i] = 1;
    }
  for (int64_t j = 0; j <= ORDER; j++) ptr[j] = j * ORDER;
  shared_matrix s = share_columns(w, ORDER, ptr, index, values);
  if (w->rank == 0) {
    tristar_factor_t *alone;
    CLEANUP(tristar_analysis_destroy)
    tristar_analysis_t *analysis = NEW_ANALYSIS(w->ts, &s.view, &o.analysis);
    CHECK_STATUS(tristar_factor(analysis, values, &alone), TRISTAR_ERR_SINGULAR);
    tristar_get_error(w->ts, text, sizeof text);
  }
  MPI_Bcast(text, sizeof text, MPI_CHAR, 0, MPI_COMM_WORLD);
  const char *what = strstr(text, "the matrix");
  expect(w, &s, &o, TRISTAR_ERR_SINGULAR, what ? what : text);
  release_rows(&s.rows);
}

/* Arguments that do not match. */
static void check_arguments(const world *w) {
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, TRISTAR_METHOD_AUTO);
  tristar_distributed_t *d, *other;
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(w, "poisson3d7", 4, &typed_double, TRISTAR_SYMMETRIC);
  tristar_dmatrix_t *matrix = make(w, &s.rows), *general;
  CHECK_STATUS(tristar_dmatrix_factor(NULL, NULL, NULL, &d), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, NULL), TRISTAR_ERR_ARGUMENT);
  if (w->ranks > 1) {
    o.analysis.seed = w->rank;
    CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_ARGUMENT);
    expect_text(w, "the seed");
    o.analysis.seed = 1;
    o.options.layout.py = 2;
    CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_ARGUMENT);
    expect_text(w, "processes");
    o.options.layout.py = 1;
  }
  o.analysis.method = w->rank == w->ranks - 1 ? (tristar_method)9 : TRISTAR_METHOD_AUTO;
  CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_ARGUMENT);
  expect_text(w, "method 9");
  o.analysis.method = TRISTAR_METHOD_AUTO;
  o.analysis.inverse = TRISTAR_INVERSE_PARTITIONED;
  CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_UNSUPPORTED);
  o.analysis.inverse = TRISTAR_INVERSE_DIAGONAL;
  if (w->ranks > 1) {
    o.analysis.pivoting = w->rank == 0 ? TRISTAR_PIVOTING_DELAYED : TRISTAR_PIVOTING_STATIC;
    CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_ARGUMENT);
    expect_text(w, "pivoting");
    o.analysis.pivoting = TRISTAR_PIVOTING_DELAYED;
    o.analysis.pivot_threshold = w->rank == 0 ? 0.25 : 0.125;
    CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_ARGUMENT);
    expect_text(w, "pivot_threshold");
    o.analysis.pivoting = TRISTAR_PIVOTING_STATIC;
    o.analysis.pivot_threshold = 0;
  }
  o.analysis.ordering = TRISTAR_ORDERING_USER;
  CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_ARGUMENT);
  expect_text(w, "without a permutation");
  o.analysis.ordering = TRISTAR_ORDERING_METIS;
  CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d));
  shared_matrix t = share_matrix(w, "convdiff3d", 4, &typed_double, TRISTAR_GENERAL); /* the same pattern */
  general = make(w, &t.rows);
  CHECK_STATUS(tristar_dmatrix_refactor(general, d), TRISTAR_ERR_ARGUMENT);
  expect_text(w, "mirror images");
  CHECK_OK(tristar_dmatrix_refactor(matrix, d));
  tristar_dmatrix_destroy(&general);
  release_shared(&t);
  t = share_matrix(w, "s2d9pt", 8, &typed_double, TRISTAR_SYMMETRIC); /* the same order */
  general = make(w, &t.rows);
  CHECK_STATUS(tristar_dmatrix_refactor(general, d), TRISTAR_ERR_ARGUMENT);
  expect_text(w, "another pattern");
  same_solutions("after a refusal", &s, d, d);
  tristar_dmatrix_destroy(&general);
  release_shared(&t);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &s.view, &o.analysis, &analysis));
  CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, analysis, w->rank == 0 ? s.values : NULL,
                                      &o.options, &other));
  CHECK_STATUS(tristar_dmatrix_refactor(matrix, other), TRISTAR_ERR_UNSUPPORTED);
  tristar_distributed_destroy(&other);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *alone = NULL; /* replaces the values of d for a while */
  if (w->rank == 0) CHECK_OK(tristar_factor(analysis, s.values, &alone));
  CHECK_OK(tristar_distributed_update(d, alone));
  same_solutions("after an update", &s, d, d);
  CHECK_OK(tristar_dmatrix_refactor(matrix, d));
  same_solutions("after new values", &s, d, d);
  tristar_distributed_destroy(&d);
  tristar_dmatrix_destroy(&matrix);
}

/* Each allocation of one rank fails in turn; of many, some. After a failure with new values there are none.
 */
static void check_memory(const world *w) {
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, TRISTAR_METHOD_AUTO);
  o.analysis.matching = TRISTAR_MATCHING_ON;
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, "convdiff3d", 4, &typed_double, TRISTAR_GENERAL);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s.rows);
  tristar_distributed_t *kept, *d;
  OWNED double *x = xcalloc((size_t)s.rows.view.rows, sizeof *x);
  CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &kept));
  for (int again = 0; again < 2; again++)
    for (int who = 0; who<w->ranks; who += w->ranks> 1 ? w->ranks - 1 : 1) {
      allocation_failures failing = fail_allocations_on(who, w->ts);
      failing.sparse = 6;
      failing.recovers = true;
      failing.keeps_memory = again; /* lists may have been freed */
      while (next_failure(&failing)) {
        const tristar_status status = again ? tristar_dmatrix_refactor(matrix, kept)
                                            : tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d);
        end_failure_everywhere(&failing, status);
        if (again)
          CHECK_STATUS(
              tristar_distributed_solve(kept, TRISTAR_N, 1, x, s.rows.view.rows, x, s.rows.view.rows),
              status == TRISTAR_OK ? TRISTAR_OK : TRISTAR_ERR_STALE);
        else
          tristar_distributed_destroy(&d);
      }
      CHECK_MSG(failing.count > 10, "%d failures", (int)failing.count);
    }
  CHECK_OK(tristar_dmatrix_refactor(matrix, kept));
  same_solutions("after failures", &s, kept, kept);
  tristar_distributed_destroy(&kept);
}

/* The matrix looks singular at first, so it is factored again with a matching: from rows on all ranks, or
 * from rank 0. */
static tristar_status factor_opinion(const world *w, const shared_matrix *s, const wish *o, bool of_rows,
                                     tristar_distributed_t **d) {
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NULL;
  tristar_status status = TRISTAR_OK;
  *d = NULL;
  if (of_rows) return factor(w, s, o, d);
  if (w->rank == 0) status = tristar_analyze(w->ts, &s->view, &o->analysis, &analysis);
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (status != TRISTAR_OK) return status;
  return tristar_distributed_factor(w->ts, MPI_COMM_WORLD, analysis, w->rank == 0 ? s->values : NULL,
                                    &o->options, d);
}

/* Allocations fail on the first and on the last rank. matrix: rows on all ranks; NULL: rank 0 has all. */
static void fail_allocations_of_each(const world *w, const shared_matrix *s, const wish *o,
                                     tristar_dmatrix_t *matrix) {
  tristar_distributed_t *d;
  for (int who = 0; who<w->ranks; who += w->ranks> 1 ? w->ranks - 1 : 1) {
    allocation_failures failing = fail_allocations_on(who, w->ts);
    failing.sparse = 12;
    failing.recovers = true;
    while (next_failure(&failing)) {
      end_failure_everywhere(&failing, matrix != NULL
                                           ? tristar_dmatrix_factor(matrix, &o->analysis, &o->options, &d)
                                           : factor_opinion(w, s, o, false, &d));
      tristar_distributed_destroy(&d);
    }
    CHECK_MSG(failing.count > 20, "%d failures", (int)failing.count);
  }
}

/* Failing allocations while the matrix is factored again. */
static void check_memory_of_opinion(const world *w) {
  static nasty m;
  const tristar_layout layout = grid(w, 1);
  wish o = wish_of(&layout, TRISTAR_METHOD_LDLT);
  int64_t reverse[NASTY_MOST];
  tristar_analysis_stats taken;
  tristar_distributed_t *d;
  nasty_make(&typed_single, NASTY_NEARLY, TRISTAR_METHOD_LDLT, 4629, &m);
  shared_matrix s = {.t = &typed_single,
                     .view = typed_dense_view(&typed_single, m.n, m.a, m.n, TRISTAR_SYMMETRIC)};
  s.values = (void *)(uintptr_t)s.view.values;
  share_rows(w, &s);
  for (int k = 0; k < m.n; k++) reverse[k] = m.n - 1 - k;
  o.analysis.ordering = TRISTAR_ORDERING_USER;
  o.analysis.permutation = reverse;
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s.rows);
  for (int of_rows = 0; of_rows < 2; of_rows++) {
    CHECK_OK(factor_opinion(w, &s, &o, of_rows, &d));
    if (w->rank == 0) {
      CLEANUP(tristar_analysis_destroy)
      tristar_analysis_t *analysis = NEW_ANALYSIS(w->ts, &s.view, &o.analysis);
      CHECK_OK(tristar_analysis_get_stats(analysis, &taken));
      CHECK(taken.matched == 0);
      CHECK_OK(tristar_distributed_get_factor_stats(d, NULL, &taken));
      CHECK(taken.matched == 1);
    }
    tristar_distributed_destroy(&d);
    fail_allocations_of_each(w, &s, &o, of_rows ? matrix : NULL);
  }
  release_rows(&s.rows);
}

/* Failing allocations while rank 0 searches another order of pivots, which changes the analysis. */
static void check_memory_of_search(const world *w, tristar_method method) {
  const tristar_layout layout = some_grid(w);
  OWNED problem *p = make_saddle(&typed_double, TRISTAR_SYMMETRIC, 1);
  const wish o = delaying(&layout, method, p->order);
  shared_matrix s = {.t = &typed_double, .values = p->values, .view = p->view, .error = 1e-13};
  share_rows(w, &s);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s.rows);
  for (int of_rows = 0; of_rows < 2; of_rows++) fail_allocations_of_each(w, &s, &o, of_rows ? matrix : NULL);
  release_rows(&s.rows);
}

/* More ranks than rows, and no rows at all. */
static void check_tiny(const world *w) {
  tristar_layout layout = grid(w, 1);
  for (int k = 0; k < 3; k++) {
    int64_t ptr[] = {0, 1, 3};
    int32_t index[] = {0, 0, 1};
    double values[] = {2, 1, 4};
    const int64_t n = k;
    const wish o = wish_of(&layout, TRISTAR_METHOD_LU);
    shared_matrix s = share_columns(w, n, ptr, index, values);
    tristar_dmatrix_t *matrix = make(w, &s.rows);
    tristar_distributed_t *d;
    CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d));
    same_solutions("a tiny matrix", &s, d, d);
    CHECK_OK(tristar_dmatrix_refactor(matrix, d));
    same_solutions("a tiny matrix", &s, d, d);
    tristar_distributed_destroy(&d);
    tristar_dmatrix_destroy(&matrix);
    release_rows(&s.rows);
  }
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  CLEANUP(close_world) world w = open_world();
  RUN(check_indefinite(&w));
  RUN(check_refusals(&w));
  RUN(check_places(&w));
  RUN(check_singular(&w));
  RUN(check_arguments(&w));
  if (w.ranks <= 4) RUN(check_memory(&w));
  if (w.ranks <= 4) RUN(check_memory_of_opinion(&w));
  if (w.ranks <= 4) RUN(check_memory_of_search(&w, TRISTAR_METHOD_LDLT));
  if (w.ranks <= 4) RUN(check_memory_of_search(&w, TRISTAR_METHOD_LU));
  RUN(check_tiny(&w));
  return 0;
}
