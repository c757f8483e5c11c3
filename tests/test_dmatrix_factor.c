/* Factors of matrices whose rows lie on all ranks: for all layouts with that many processes, methods and
 * scalar types the bits of each rank's part, and of all solutions, are those of the same factor of a matrix
 * that rank 0 has; with new values in other blocks of rows too. What fails, fails on all ranks with one
 * message, and nothing is lost; no rank has an array of all values.
 *
 *   test_dmatrix_factor [MATRIX] */
#include "runtime/mpi/dmatrix.h"
#include "tests/dmatrix.h"
#include "tests/same_factor.h"

/* How a matrix is factored. */
typedef struct wish {
  tristar_analysis_options analysis;
  tristar_distributed_options options;
} wish;

static wish wish_of(const tristar_layout *layout, tristar_method method) {
  wish o;
  tristar_analysis_options_init(&o.analysis);
  tristar_distributed_options_init(&o.options);
  o.analysis.method = method;
  o.analysis.leaf_parts = layout->pz;
  o.options.layout = *layout;
  return o;
}

/* The whole machine as one grid of each kind. */
static tristar_layout grid(const world *w, int pz) {
  tristar_layout layout;
  tristar_layout_init(&layout);
  layout.pz = pz;
  layout.px = w->ranks / pz;
  return layout;
}

static tristar_layout some_grid(const world *w) {
  return grid(w, w->ranks % 2 == 0 ? 2 : 1);
}

static tristar_dmatrix_t *make(const world *w, const rows_block *rows) {
  tristar_dmatrix_t *d;
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &rows->view, NULL, &d));
  return d;
}

/* ---- The same bits --------------------------------------------------------------------------------------
 */

/* A solve and a refined one, of this rank's rows; x: two columns. */
static void solve(const shared_matrix *s, tristar_distributed_t *d, char *x) {
  const size_t bytes = s->t->bytes, rows = (size_t)(s->end - s->first);
  char *all = make_rhs(s->t, s->n);
  const char *b = all + (size_t)s->first * bytes;
  const int64_t ld = rows > 0 ? (int64_t)rows : 1;
  tristar_refine_result result;
  CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, b, ld, x, ld));
  CHECK_OK(tristar_distributed_solve_refined(d, TRISTAR_T, 1, b, ld, x + rows * bytes, ld, NULL, &result));
  const bool single = d->process->kind.user_scalar == 's' || d->process->kind.user_scalar == 'c';
  CHECK_MSG(result.backward_error < (single ? 1e-5 : 1e-13), "backward error %g", result.backward_error);
  free(all);
}

static void same_solutions(const char *what, const shared_matrix *s, tristar_distributed_t *one,
                           tristar_distributed_t *two) {
  const size_t bytes = 2 * (size_t)(s->end - s->first) * s->t->bytes;
  char *x = malloc(bytes + 1), *y = malloc(bytes + 1);
  CHECK(x != NULL && y != NULL);
  solve(s, one, x);
  solve(s, two, y);
  same_bytes(what, "x", x, y, bytes);
  free(x);
  free(y);
}

/* The values of a view, times a factor. */
static void *scaled_values(const shared_matrix *s, double factor) {
  const int64_t entries = ((const int64_t *)s->view.ptr)[s->n];
  void *values = malloc((size_t)entries * s->t->bytes + 1);
  CHECK(values != NULL);
  for (int64_t p = 0; p < entries; p++) put(s->t, values, p, factor * get(s->t, s->values, p));
  return values;
}

/* New values, and rows in blocks of equal size. */
static void check_new_values(const world *w, const char *what, const shared_matrix *s,
                             tristar_distributed_t *one, tristar_distributed_t *two) {
  shared_matrix other = *s;
  other.values = scaled_values(s, 1.5);
  other.view.values = other.values;
  rows_block rows =
      take_rows(&other.view, s->t->bytes, s->n * w->rank / w->ranks, s->n * (w->rank + 1) / w->ranks, 0);
  tristar_dmatrix_t *matrix = make(w, &rows);
  CHECK_OK(tristar_distributed_refactor(one, w->rank == 0 ? other.values : NULL));
  CHECK_OK(tristar_dmatrix_refactor(matrix, two));
  tristar_dmatrix_destroy(&matrix);
  check_same(what, one, two);
  same_solutions(what, s, one, two);
  release_rows(&rows);
  free(other.values);
}

/* rank 0's figures of the whole factor. */
static void same_figures(const world *w, const char *what, const tristar_distributed_t *one,
                         const tristar_distributed_t *two) {
  tristar_factor_stats f, g;
  tristar_analysis_stats a, b;
  if (w->rank > 0) return;
  CHECK_OK(tristar_distributed_get_factor_stats(one, &f, &a));
  CHECK_OK(tristar_distributed_get_factor_stats(two, &g, &b));
  CHECK_MSG(f.nnz_factor == g.nnz_factor && f.factor_bytes == g.factor_bytes && a.nnz == b.nnz &&
                a.n == b.n && f.perturbed_pivots == g.perturbed_pivots &&
                f.smallest_pivot == g.smallest_pivot && a.method == b.method && a.flops == b.flops &&
                a.symmetric_pattern == b.symmetric_pattern,
            "%s: other figures", what);
}

static void check_layout(const world *w, const char *kind, const shared_matrix *s, const wish *o) {
  tristar_distributed_t *one, *two;
  tristar_analysis_t *analysis = NULL;
  tristar_dmatrix_t *matrix = make(w, &s->rows);
  char what[200];
  const tristar_layout *l = &o->options.layout;
  snprintf(what, sizeof what, "%s %c, %dx%dx%d, method %d", kind, s->t->scalar, l->px, l->py, l->pz,
           (int)o->analysis.method);
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &s->view, &o->analysis, &analysis));
  CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, analysis, w->rank == 0 ? s->values : NULL,
                                      &o->options, &one));
  CHECK_OK(tristar_distributed_set_rows(one, s->first, s->end - s->first));
  CHECK_OK(tristar_dmatrix_factor(matrix, &o->analysis, &o->options, &two));
  check_same(what, one, two);
  same_figures(w, what, one, two);
  same_solutions(what, s, one, two);
  CHECK(matrix->whole == NULL);
  check_new_values(w, what, s, one, two);
  CHECK_OK(tristar_dmatrix_refactor(matrix, two));
  CHECK_OK(tristar_distributed_refactor(one, w->rank == 0 ? s->values : NULL));
  check_same(what, one, two);
  tristar_dmatrix_destroy(&matrix);
  same_solutions(what, s, one, two);
  CHECK_STATUS(tristar_distributed_refactor(two, w->rank == 0 ? s->values : NULL), TRISTAR_ERR_UNSUPPORTED);
  same_solutions(what, s, one, two);
  tristar_distributed_destroy(&one);
  tristar_distributed_destroy(&two);
  tristar_analysis_destroy(&analysis);
}

typedef struct option {
  tristar_symmetry
      symmetry; /* of a symmetric kind in a complex type; GENERAL: declared so, with both triangles */
  tristar_method method;
  bool single;
  int every; /* layouts */
} option;

/* Both triangles of a symmetric matrix, declared general. */
static void declare_general(const world *w, shared_matrix *s) {
  tristar_dmatrix_t *d = make(w, &s->rows);
  int64_t *ptr = calloc((size_t)s->n + 1, sizeof *ptr), at = 0;
  const int64_t *old = s->view.ptr;
  const int32_t *index = s->view.index;
  const size_t bytes = s->t->bytes;
  tristar_dmatrix_destroy(&d);
  for (int64_t j = 0; j < s->n; j++)
    for (int64_t p = old[j]; p < old[j + 1]; p++) {
      ptr[j + 1]++;
      if (index[p] != j) ptr[index[p] + 1]++;
    }
  for (int64_t j = 0; j < s->n; j++) ptr[j + 1] += ptr[j];
  at = ptr[s->n];
  int32_t *full = malloc((size_t)at * sizeof *full);
  char *values = malloc((size_t)at * bytes);
  int64_t *next = malloc((size_t)s->n * sizeof *next);
  CHECK(full != NULL && values != NULL && next != NULL);
  memcpy(next, ptr, (size_t)s->n * sizeof *next);
  for (int64_t j = 0; j < s->n; j++)
    for (int64_t p = old[j]; p < old[j + 1]; p++)
      for (int image = 0; image < (index[p] != j ? 2 : 1); image++) {
        const int64_t q = next[image ? index[p] : j]++;
        const number a = get(s->t, s->values, p);
        full[q] = image ? (int32_t)j : index[p];
        put(s->t, values, q, image ? mirrored(s->view.symmetry, a) : a);
      }
  free(next);
  release_rows(&s->rows);
  free(s->values);
  s->values = values;
  s->view.symmetry = TRISTAR_GENERAL;
  s->view.ptr = ptr; /* until the end of the test */
  s->view.index = full;
  s->view.values = values;
  s->rows = take_rows(&s->view, bytes, s->first, s->end, 0);
}

/* Every `every`-th layout of the ranks, of more than 4 ranks every third at least, one algorithm and map or
 * the other. */
static void check_matrix(const world *w, const char *only, const char *kind, int64_t k, const typed *t,
                         option o) {
  int turn = 0;
  const bool general = o.symmetry == TRISTAR_GENERAL;
  if (only != NULL && strcmp(only, kind) != 0) return;
  if (w->rank == 0)
    fprintf(stderr, "%s %c, method %d, symmetry %d\n", kind, t->scalar, (int)o.method, (int)o.symmetry);
  shared_matrix s = share_matrix(w, kind, k, t, general ? TRISTAR_HERMITIAN : o.symmetry);
  const bool own = general && s.view.symmetry != TRISTAR_GENERAL;
  if (own) declare_general(w, &s);
  for (int pz = 1; pz <= w->ranks; pz *= 2)
    for (int px = 1; px * pz <= w->ranks; px++) {
      tristar_layout layout = grid(w, pz);
      layout.px = px;
      layout.py = w->ranks / px / pz;
      layout.algorithm = turn % 2 ? TRISTAR_ALGORITHM_LEVELWISE : TRISTAR_ALGORITHM_REPLICATED;
      layout.map = turn % 3 == 2 ? TRISTAR_MAP_CYCLIC : TRISTAR_MAP_SUBTREE;
      if (px * layout.py * pz != w->ranks || turn++ % (w->ranks > 4 ? 3 : o.every) != 0) continue;
      wish y = wish_of(&layout, o.method);
      y.analysis.single_factors = o.single;
      if (strcmp(kind, "kkt3d") == 0) y.analysis.matching = TRISTAR_MATCHING_OFF;
      check_layout(w, kind, &s, &y);
    }
  if (own) {
    free((void *)(uintptr_t)s.view.ptr);
    free((void *)(uintptr_t)s.view.index);
  }
  release_shared(&s);
}

static void check_bits(const world *w, const char *only) {
  const tristar_method any = TRISTAR_METHOD_AUTO;
  check_matrix(w, only, "poisson3d7", 9, &typed_double, (option){TRISTAR_SYMMETRIC, any, false, 1});
  check_matrix(w, only, "poisson3d7", 7, &typed_single, (option){TRISTAR_SYMMETRIC, any, false, 3});
  check_matrix(w, only, "poisson3d7", 8, &typed_double, (option){TRISTAR_GENERAL, any, false, 3});
  check_matrix(w, only, "poisson3d7", 8, &typed_double,
               (option){TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, true, 3});
  check_matrix(w, only, "s2d9pt", 20, &typed_double,
               (option){TRISTAR_GENERAL, TRISTAR_METHOD_LDLT, false, 3});
  check_matrix(w, only, "s2d9pt", 16, &typed_double,
               (option){TRISTAR_SYMMETRIC, TRISTAR_METHOD_LU, false, 3});
  check_matrix(w, only, "convdiff3d", 8, &typed_double, (option){TRISTAR_GENERAL, any, false, 1});
  check_matrix(w, only, "convdiff3d", 6, &typed_single, (option){TRISTAR_GENERAL, any, false, 3});
  check_matrix(w, only, "convdiff3d", 6, &typed_complex_single, (option){TRISTAR_GENERAL, any, false, 3});
  check_matrix(w, only, "convdiff3d", 5, &typed_complex_double,
               (option){TRISTAR_GENERAL, TRISTAR_METHOD_LU, true, 3});
  check_matrix(w, only, "poisson3d7", 6, &typed_complex_double, (option){TRISTAR_HERMITIAN, any, false, 3});
  check_matrix(w, only, "poisson3d7", 6, &typed_complex_single, (option){TRISTAR_GENERAL, any, false, 3});
  check_matrix(w, only, "poisson3d7", 6, &typed_complex_double, (option){TRISTAR_SYMMETRIC, any, false, 3});
  check_matrix(w, only, "maxwell3d", 4, &typed_complex_double,
               (option){TRISTAR_HERMITIAN, TRISTAR_METHOD_LDLT, false, 3});
  check_matrix(w, only, "kkt3d", 4, &typed_double,
               (option){TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, false, 3});
  check_matrix(w, only, "kkt3d", 4, &typed_double, (option){TRISTAR_GENERAL, TRISTAR_METHOD_LU, false, 3});
}

/* ---- Failures -------------------------------------------------------------------------------------------
 */

/* All ranks know it, wherever it was found. */
static void expect_text(const world *w, const char *text) {
  char message[600];
  tristar_get_error(w->ts, message, sizeof message);
  CHECK_MSG(strstr(message, text) != NULL, "\"%s\" is not in \"%s\"", text, message);
}

/* Changes one value of all ranks' rows. */
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
  tristar_dmatrix_t *matrix = make(w, &s->rows);
  const tristar_status status = tristar_dmatrix_factor(matrix, &o->analysis, &o->options, d);
  CHECK((status == TRISTAR_OK) == (*d != NULL));
  tristar_dmatrix_destroy(&matrix);
  return status;
}

static void expect(const world *w, const shared_matrix *s, const wish *o, tristar_status status,
                   const char *text) {
  tristar_distributed_t *d;
  CHECK_STATUS(factor(w, s, o, &d), status);
  expect_text(w, text);
}

/* Pivots that are not positive: Cholesky refuses, METHOD_AUTO goes on. */
static void check_indefinite(const world *w) {
  const tristar_layout layout = some_grid(w);
  tristar_distributed_t *d;
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
    tristar_dmatrix_t *matrix;
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
    double *x = calloc((size_t)s.n, sizeof *x);
    CHECK_STATUS(tristar_distributed_solve(d, TRISTAR_N, 1, x, s.n, x, s.n), TRISTAR_ERR_STALE);
    tristar_dmatrix_destroy(&matrix);
    set_entry(&s, row, row, 6);
    matrix = make(w, &s.rows);
    CHECK_OK(tristar_dmatrix_refactor(matrix, d));
    CHECK_OK(tristar_distributed_solve(d, TRISTAR_N, 1, x, s.n, x, s.n));
    free(x);
    tristar_dmatrix_destroy(&matrix);
    tristar_distributed_destroy(&d);
  }
  release_shared(&s);
}

/* All entries of a row. */
static void scale_row(shared_matrix *s, int64_t row, double factor) {
  if (row < s->first || row >= s->end) return;
  double *values = (double *)(void *)s->rows.values;
  const int64_t base = s->rows.view.base, *ptr = s->rows.ptr + (row - s->first);
  for (int64_t e = ptr[0] - base; e < ptr[1] - base; e++) values[e] *= factor;
}

/* What the method does not hold, a matching, what is singular. */
static void check_refusals(const world *w) {
  const tristar_layout layout = some_grid(w);
  tristar_distributed_t *d;
  wish o = wish_of(&layout, TRISTAR_METHOD_LDLT);
  shared_matrix s = share_matrix(w, "convdiff3d", 5, &typed_double, TRISTAR_GENERAL);
  expect(w, &s, &o, TRISTAR_ERR_ARGUMENT, "are no mirror images");
  o.analysis.method = TRISTAR_METHOD_LLT;
  expect(w, &s, &o, TRISTAR_ERR_ARGUMENT, "L L^T holds symmetric matrices only");
  o = wish_of(&layout, TRISTAR_METHOD_LU);
  o.analysis.matching = TRISTAR_MATCHING_ON;
  expect(w, &s, &o, TRISTAR_ERR_UNSUPPORTED, "TRISTAR_MATCHING_OFF");
  o.analysis.matching = TRISTAR_MATCHING_AUTO;
  set_entry(&s, 60, 60, 0);
  expect(w, &s, &o, TRISTAR_ERR_UNSUPPORTED, "the diagonal has small entries or zeros");
  o.analysis.matching = TRISTAR_MATCHING_OFF;
  CHECK_OK(factor(w, &s, &o, &d));
  tristar_distributed_destroy(&d);
  scale_row(&s, 60, 0);
  expect(w, &s, &o, TRISTAR_ERR_SINGULAR, "structural rank 124 of 125");
  release_shared(&s);
  s = share_matrix(w, "poisson3d7", 4, &typed_double, TRISTAR_SYMMETRIC);
  o.analysis.method = TRISTAR_METHOD_LDLT;
  for (int64_t i = s.first; i < s.end; i++) /* they ascend by 70 binary orders of magnitude */
    for (int64_t e = s.rows.ptr[i - s.first] - s.rows.view.base;
         e < s.rows.ptr[i + 1 - s.first] - s.rows.view.base; e++)
      ((double *)(void *)s.rows.values)[e] *= exp2(0.6 * (double)(i + s.rows.index[e] - s.rows.view.base));
  o.analysis.matching = TRISTAR_MATCHING_AUTO;
  expect(w, &s, &o, TRISTAR_ERR_UNSUPPORTED, "badly scaled");
  o.analysis.matching = TRISTAR_MATCHING_OFF;
  CHECK_OK(factor(w, &s, &o, &d));
  same_solutions("badly scaled values", &s, d, d);
  tristar_distributed_destroy(&d);
  release_shared(&s);
}

/* Dependent rows, as rank 0 alone has it: the message names the row. */
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
  shared_matrix s = {.t = &typed_double,
                     .n = ORDER,
                     .first = first_row(w, ORDER, w->rank),
                     .end = first_row(w, ORDER, w->rank + 1),
                     .view = {.format = TRISTAR_CSC,
                              .scalar = TRISTAR_DOUBLE,
                              .rows = ORDER,
                              .cols = ORDER,
                              .ptr = ptr,
                              .index = index,
                              .values = values,
                              .ptr_bits = 64,
                              .index_bits = 32}};
  s.rows = take_rows(&s.view, sizeof *values, s.first, s.end, 0);
  if (w->rank == 0) {
    tristar_analysis_t *analysis;
    tristar_factor_t *alone;
    CHECK_OK(tristar_analyze(w->ts, &s.view, &o.analysis, &analysis));
    CHECK_STATUS(tristar_factor(analysis, values, &alone), TRISTAR_ERR_SINGULAR);
    tristar_get_error(w->ts, text, sizeof text);
    tristar_analysis_destroy(&analysis);
  }
  MPI_Bcast(text, sizeof text, MPI_CHAR, 0, MPI_COMM_WORLD);
  const char *what = strstr(text, "the matrix");
  expect(w, &s, &o, TRISTAR_ERR_SINGULAR, what ? what : text);
  release_rows(&s.rows);
}

/* Calls that do not fit together. */
static void check_arguments(const world *w) {
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, TRISTAR_METHOD_AUTO);
  tristar_distributed_t *d, *other;
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
  tristar_analysis_t *analysis = NULL;
  if (w->rank == 0) CHECK_OK(tristar_analyze(w->ts, &s.view, &o.analysis, &analysis));
  CHECK_OK(tristar_distributed_factor(w->ts, MPI_COMM_WORLD, analysis, w->rank == 0 ? s.values : NULL,
                                      &o.options, &other));
  CHECK_STATUS(tristar_dmatrix_refactor(matrix, other), TRISTAR_ERR_UNSUPPORTED);
  tristar_distributed_destroy(&other);
  tristar_factor_t *alone = NULL; /* takes its place, and gives it back */
  if (w->rank == 0) CHECK_OK(tristar_factor(analysis, s.values, &alone));
  CHECK_OK(tristar_distributed_update(d, alone));
  same_solutions("after an update", &s, d, d);
  CHECK_OK(tristar_dmatrix_refactor(matrix, d));
  same_solutions("after new values", &s, d, d);
  tristar_factor_destroy(&alone);
  tristar_analysis_destroy(&analysis);
  tristar_distributed_destroy(&d);
  tristar_dmatrix_destroy(&matrix);
  release_shared(&s);
}

/* Every allocation of one rank in turn, as far as they are many. */
static void check_memory(const world *w) {
  const tristar_layout layout = some_grid(w);
  const wish o = wish_of(&layout, TRISTAR_METHOD_AUTO);
  shared_matrix s = share_matrix(w, "convdiff3d", 4, &typed_double, TRISTAR_GENERAL);
  tristar_dmatrix_t *matrix = make(w, &s.rows);
  tristar_distributed_t *kept, *d;
  tristar_memory_stats before, after;
  CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &kept));
  for (int again = 0; again < 2; again++)
    for (int who = 0; who<w->ranks; who += w->ranks> 1 ? w->ranks - 1 : 1) {
      int failed = 0;
      for (int64_t at = 1; at < 3000; at += 1 + at / 6) {
        tristar_get_memory(w->ts, &before);
        if (w->rank == who) tsi_context_env(w->ts)->memory.fail_at = before.allocations + at;
        const tristar_status status = again ? tristar_dmatrix_refactor(matrix, kept)
                                            : tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d);
        tsi_context_env(w->ts)->memory.fail_at = 0;
        CHECK_MSG(status == TRISTAR_OK || status == TRISTAR_ERR_MEMORY, "allocation %d of rank %d: %s",
                  (int)at, who, tristar_status_name(status));
        failed += status != TRISTAR_OK;
        if (!again) tristar_distributed_destroy(&d);
        tristar_get_memory(w->ts, &after);
        if (again && status != TRISTAR_OK) continue; /* lists may be gone */
        CHECK_MSG(again || after.current_bytes == before.current_bytes,
                  "allocation %d of rank %d: %zu bytes, %zu before", (int)at, who, after.current_bytes,
                  before.current_bytes);
      }
      CHECK_MSG(failed > 10, "%d failures", failed);
    }
  CHECK_OK(tristar_dmatrix_refactor(matrix, kept));
  same_solutions("after failures", &s, kept, kept);
  tristar_distributed_destroy(&kept);
  tristar_dmatrix_destroy(&matrix);
  release_shared(&s);
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
    shared_matrix s = {.t = &typed_double,
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

/* ---- Memory ---------------------------------------------------------------------------------------------
 */

/* Dense blocks along the diagonal: many entries, a short structure. No rank has an array of all values, no
 * one but rank 0 an index of each entry. */
static void check_arrays(const world *w) {
  enum { LINKS = 64, WIDTH = 40, ORDER = LINKS * WIDTH };
  const tristar_layout layout = grid(w, w->ranks);
  const wish o = wish_of(&layout, TRISTAR_METHOD_LU);
  const int64_t first = ORDER * w->rank / w->ranks, end = ORDER * (w->rank + 1) / w->ranks;
  const size_t room = (size_t)(end - first) * 3 * WIDTH, entries = (size_t)(3 * LINKS - 2) * WIDTH * WIDTH;
  int64_t *ptr = malloc((size_t)(end - first + 1) * sizeof *ptr), at = 0;
  int32_t *index = malloc(room * sizeof *index);
  double *values = malloc(room * sizeof *values);
  tristar_dmatrix_t *matrix;
  tristar_distributed_t *d;
  CHECK(ptr != NULL && index != NULL && values != NULL);
  ptr[0] = 0;
  for (int64_t i = first; i < end; i++) {
    const int64_t link = i / WIDTH, low = link > 0 ? link - 1 : 0, high = link < LINKS - 1 ? link + 1 : link;
    for (int64_t j = low * WIDTH; j < (high + 1) * WIDTH; j++) {
      index[at] = (int32_t)j;
      values[at++] = i == j ? 4 * WIDTH : 1 - 0.25 * (double)(i > j) / (double)(1 + llabs(i - j));
    }
    ptr[i - first + 1] = at;
  }
  const tristar_view view = {.format = TRISTAR_CSR,
                             .scalar = TRISTAR_DOUBLE,
                             .rows = end - first,
                             .cols = ORDER,
                             .ptr = ptr,
                             .index = index,
                             .values = values,
                             .ptr_bits = 64,
                             .index_bits = 32};
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &view, NULL, &matrix));
  atomic_store(&tsi_context_env(w->ts)->memory.largest, 0);
  CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d));
  const size_t largest = atomic_load(&tsi_context_env(w->ts)->memory.largest);
  fprintf(stderr, "rank %d: an array of %zu bytes, %zu entries\n", w->rank, largest, entries);
  CHECK_MSG(largest < entries * (w->rank == 0 ? sizeof(double) : sizeof(tsi_index)), "rank %d: %zu bytes",
            w->rank, largest);
  tristar_distributed_destroy(&d);
  tristar_dmatrix_destroy(&matrix);
  free(ptr);
  free(index);
  free(values);
}

int main(int argc, char **argv) {
  CHECK(argc <= 2);
  world w = open_world();
  check_bits(&w, argc > 1 ? argv[1] : NULL);
  check_indefinite(&w);
  check_refusals(&w);
  check_singular(&w);
  check_arguments(&w);
  if (w.ranks <= 4) check_memory(&w);
  check_tiny(&w);
  if (w.ranks == 4) check_arrays(&w);
  close_world(&w);
  return 0;
}
