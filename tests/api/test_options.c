/* Every option of the analysis and every form of a view gives the same solution: orderings, separator trees,
 * matchings, CSR, CSC, one triangle or both, symmetric and skew-symmetric storage, and the fall back from
 * Cholesky to LU. */
#include "tests/support/context.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_batch.h"
#include "tristar_machine.h"
#include "tristar_matrix.h"
#include "tristar_stats.h"

static tristar_t *ts;
static int warnings;

static void count_warnings(void *arg, tristar_log_level level, const char *text) {
  (void)arg;
  if (level == TRISTAR_LOG_WARNING && strstr(text, "L D L^T instead of Cholesky")) warnings++;
}

/* Solves A x = b for x = (1, 2, ..., n) and checks x to a relative error of `bound`. */
static tristar_analysis_stats solve(const tristar_view *view, const tristar_analysis_options *options,
                                    const double *b, tristar_op op, double bound) {
  tristar_analysis_stats stats;
  tristar_refine_result result;
  const int64_t n = view->rows;
  OWNED double *x = xmalloc((size_t)n * sizeof *x);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, view, options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, view->values);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_solve_refined(p, op, 1, b, n, x, n, NULL, &result));
  CHECK_MSG(result.backward_error < 1e-13, "backward error %g", result.backward_error);
  for (int64_t i = 0; i < n; i++)
    CHECK_MSG(fabs(x[i] - (double)(i + 1)) < bound * (double)n, "x[%d] = %g", (int)i, x[i]);
  tristar_analysis_get_stats(an, &stats);
  return stats;
}

/* Returns b = op(A) (1, 2, ...) for a CSC view with 64-bit ptr and 32-bit index. */
static double *right_hand_side(const tristar_view *a, tristar_op op) {
  const int64_t *ptr = a->ptr;
  const int32_t *index = a->index;
  const double *values = a->values, sign = a->symmetry == TRISTAR_SKEW_SYMMETRIC ? -1 : 1;
  double *b = xcalloc((size_t)a->rows, sizeof *b);
  for (int64_t j = 0; j < a->cols; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++) {
      const int64_t row = op == TRISTAR_N ? index[p] : j, col = op == TRISTAR_N ? j : index[p];
      b[row] += values[p] * (double)(col + 1);
      if (a->symmetry != TRISTAR_GENERAL && row != col) b[col] += sign * values[p] * (double)(row + 1);
    }
  return b;
}

static void check_orderings(const char *kind, int64_t k, double bound) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_analysis_options o;
  tristar_view v = generated_view(ts, kind, k, &m);
  OWNED double *b = right_hand_side(&v, TRISTAR_N);
  OWNED int64_t *permutation = xmalloc((size_t)v.rows * sizeof *permutation);
  uint64_t state = 3;
  for (int64_t i = 0; i < v.rows; i++) permutation[i] = i;
  for (int64_t i = v.rows - 1; i > 0; i--) { /* a random permutation */
    const int64_t j = (int64_t)(next_random(&state) % (uint64_t)(i + 1)), swap = permutation[i];
    permutation[i] = permutation[j];
    permutation[j] = swap;
  }
  for (int matching = TRISTAR_MATCHING_AUTO; matching <= TRISTAR_MATCHING_ON; matching++) {
    tristar_analysis_options_init(&o);
    o.method = TRISTAR_METHOD_LU;
    o.matching = (tristar_matching)matching;
    const tristar_analysis_stats best = solve(&v, &o, b, TRISTAR_N, bound);
    CHECK(best.matched == (matching == TRISTAR_MATCHING_ON));
    o.seed = 5;
    (void)solve(&v, &o, b, TRISTAR_N, bound);
    for (o.leaf_parts = 2; o.leaf_parts <= 8; o.leaf_parts *= 2) (void)solve(&v, &o, b, TRISTAR_N, bound);
    o.leaf_parts = 0;
    o.ordering = TRISTAR_ORDERING_NATURAL;
    const tristar_analysis_stats natural = solve(&v, &o, b, TRISTAR_N, bound);
    o.ordering = TRISTAR_ORDERING_USER;
    o.permutation = permutation;
    const tristar_analysis_stats random = solve(&v, &o, b, TRISTAR_N, bound);
    CHECK_MSG(best.nnz_lower < natural.nnz_lower && natural.nnz_lower < random.nnz_lower,
              "fill: METIS %lld, natural %lld, random %lld", (long long)best.nnz_lower,
              (long long)natural.nnz_lower, (long long)random.nnz_lower);
  }
}

/* ---- Orderings that are chosen or computed here ---- */

/* An ordering function; arg counts its calls. */
static int reverse(void *arg, int64_t n, const int64_t *ptr, const int32_t *index, int64_t *permutation) {
  ++*(int *)arg;
  CHECK(n == 0 || (ptr[n] >= 0 && (ptr[n] == 0 || index[0] < n)));
  for (int64_t k = 0; k < n; k++) permutation[k] = n - 1 - k;
  return 0;
}

static int fail(void *arg, int64_t n, const int64_t *ptr, const int32_t *index, int64_t *permutation) {
  (void)n, (void)ptr, (void)index, (void)permutation;
  return *(const int *)arg;
}

/* The statistics contain the ordering that was used; only AUTO gives a reason. */
static void check_taken(const char *kind, int64_t k, double bound) {
  static const tristar_ordering orderings[] = {TRISTAR_ORDERING_METIS, TRISTAR_ORDERING_NATURAL,
                                               TRISTAR_ORDERING_AMD, TRISTAR_ORDERING_DISSECTION,
                                               TRISTAR_ORDERING_CALLBACK};
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  int calls = 0;
  tristar_view v = generated_view(ts, kind, k, &m);
  OWNED double *b = right_hand_side(&v, TRISTAR_N);
  CHECK(o.ordering == TRISTAR_ORDERING_AUTO && o.solves == 0);
  o.order = reverse;
  o.order_arg = &calls;
  tristar_analysis_stats stats = solve(&v, &o, b, TRISTAR_N, bound);
  CHECK(stats.ordering == TRISTAR_ORDERING_AMD &&
        *stats.ordering_reason != '\0'); /* AUTO uses AMD for a small matrix */
  o.leaf_parts = 2;
  stats = solve(&v, &o, b, TRISTAR_N, bound);
  CHECK(stats.ordering == TRISTAR_ORDERING_METIS && strstr(stats.ordering_reason, "separator tree") != NULL);
  o.leaf_parts = 0;
  CHECK(calls == 0);
  for (size_t i = 0; i < sizeof orderings / sizeof *orderings; i++) {
    o.ordering = orderings[i];
    stats = solve(&v, &o, b, TRISTAR_N, bound);
    CHECK(stats.ordering == orderings[i] && *stats.ordering_reason == '\0');
  }
  CHECK(calls == 1);
}

/* An ordering function that fails, and one for a matrix that needs a second method. The function is called
 * once. */
static void check_callback(void) {
  const int64_t ptr[] = {0, 2, 4, 5};
  const int32_t index[] = {0, 1, 1, 2, 2};
  const double values[] = {1, 3, 1, 1, 5}; /* indefinite: Cholesky fails, then L D L^T */
  const tristar_view v = {
      TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 3, 3, ptr, index, values, 64, 32, 0};
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  int calls = 0, code = 17;
  OWNED double *b = right_hand_side(&v, TRISTAR_N);
  o.ordering = TRISTAR_ORDERING_CALLBACK;
  o.order = reverse;
  o.order_arg = &calls;
  (void)solve(&v, &o, b, TRISTAR_N, 1e-13);
  CHECK(calls == 1);
  o.order = fail;
  o.order_arg = &code;
  CHECK_STATUS(tristar_analyze(ts, &v, &o, &an), TRISTAR_ERR_RUNTIME);
  CHECK_ERROR(ts, "returned 17");
}

/* The same matrix by rows: the arrays of the columns of A are those of the rows of A^T. */
static void check_rows(const char *kind, int64_t k) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_view v = generated_view(ts, kind, k, &m);
  for (int op = 0; op < 2; op++) {
    OWNED double *b = right_hand_side(&v, op ? TRISTAR_T : TRISTAR_N);
    tristar_view r = v;
    (void)solve(&v, NULL, b, op ? TRISTAR_T : TRISTAR_N, 1e-10);
    r.format = TRISTAR_CSR; /* op(A) of the rows is the transposed op of the columns */
    (void)solve(&r, NULL, b, op ? TRISTAR_N : TRISTAR_T, 1e-10);
    tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
    o.matching = TRISTAR_MATCHING_ON;
    o.method = TRISTAR_METHOD_LU;
    (void)solve(&r, &o, b, op ? TRISTAR_N : TRISTAR_T, 1e-10);
  }
}

/* A symmetric matrix stored as its upper triangle, and with both triangles. */
static void check_triangles(void) {
  const int64_t ptr[] = {0, 1, 3, 5, 8}, full_ptr[] = {0, 3, 6, 9, 12};
  const int32_t upper[] = {0, 0, 1, 1, 2, 0, 2, 3}, full[] = {0, 1, 3, 0, 1, 2, 1, 2, 3, 0, 2, 3};
  const double values[] = {5, -1, 6, -2, 7, -1, -1, 8}, all[] = {5, -1, -1, -1, 6, -2, -2, 7, -1, -1, -1, 8};
  const tristar_view u = {
      TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 4, 4, ptr, upper, values, 64, 32, 0};
  const tristar_view f = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 4, 4, full_ptr, full, all, 64, 32, 0};
  OWNED double *b = right_hand_side(&u, TRISTAR_N), *same = right_hand_side(&f, TRISTAR_N);
  CHECK(memcmp(b, same, 4 * sizeof *b) == 0);
  CHECK(solve(&u, NULL, b, TRISTAR_N, 1e-14).method == TRISTAR_METHOD_LLT);
  CHECK(solve(&f, NULL, b, TRISTAR_N, 1e-14).method == TRISTAR_METHOD_LLT); /* AUTO detects the symmetry */
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  o.method = TRISTAR_METHOD_LU;
  (void)solve(&u, &o, b, TRISTAR_N, 1e-14);
  (void)solve(&f, &o, b, TRISTAR_T, 1e-14);
}

static void check_skew(void) {
  const int64_t ptr[] = {0, 2, 3, 4, 4};
  const int32_t index[] = {1, 3, 2, 3};
  const double values[] = {2, -1, 3, 4};
  const tristar_view v = {
      TRISTAR_CSC, TRISTAR_SKEW_SYMMETRIC, TRISTAR_DOUBLE, 4, 4, ptr, index, values, 64, 32, 0};
  for (int op = 0; op < 2; op++) {
    OWNED double *b = right_hand_side(&v, TRISTAR_N);
    for (int i = 0; op && i < 4; i++) b[i] = -b[i]; /* A^T = -A */
    CHECK(solve(&v, NULL, b, op ? TRISTAR_T : TRISTAR_N, 1e-13).method == TRISTAR_METHOD_LU);
  }
}

/* Indefinite with a positive diagonal: Cholesky fails, and L D L^T follows, with and without values in the
 * analysis. */
static void check_fallback(void) {
  const int64_t ptr[] = {0, 2, 4, 5};
  const int32_t index[] = {0, 1, 1, 2, 2};
  double values[] = {1, 3, 1, 1, 5};
  tristar_view v = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 3, 3, ptr, index, values, 64, 32, 0};
  tristar_analysis_options o;
  OWNED double *b = right_hand_side(&v, TRISTAR_N);
  warnings = 0;
  (void)solve(&v, NULL, b, TRISTAR_N, 1e-13);
  CHECK(warnings == 1);
  v.values = NULL;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, NULL);
  tristar_factor_t *f = NEW_FACTOR(an, values);
  CHECK(warnings == 2);
  tristar_factor_destroy(&f);
  tristar_analysis_destroy(&an);
  tristar_analysis_options_init(&o);
  o.method = TRISTAR_METHOD_LLT; /* a requested method is not replaced by another one */
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_STATUS(tristar_factor(an, values, &f), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  CHECK(f == NULL && warnings == 2);
}

/* A dissection of this cube takes more time than it saves in one factorization. Many factorizations, and
 * batches of many systems, gain from it. */
static void check_factorizations(void) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  tristar_batch_options of_batch = DEFAULTS(tristar_batch_options);
  tristar_view v = generated_view(ts, "poisson3d27", 12, &m);
  double flops[2], batch_flops[2];
  for (int many = 0; many < 2; many++) {
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
    CLEANUP(tristar_batch_destroy) tristar_batch_t *batch = NULL;
    tristar_analysis_stats stats;
    tristar_batch_stats taken;
    o.factorizations = many ? 1000 : 0;
    of_batch.systems = many ? 1000 : 1;
    CHECK_OK(tristar_analyze(ts, &v, &o, &an));
    CHECK_OK(tristar_analysis_get_stats(an, &stats));
    CHECK(stats.ordering == (many ? TRISTAR_ORDERING_DISSECTION : TRISTAR_ORDERING_AMD));
    flops[many] = stats.flops;
    CHECK_OK(tristar_batch(ts, &v, &of_batch, &batch));
    CHECK_OK(tristar_batch_get_stats(batch, &taken));
    batch_flops[many] = taken.flops;
  }
  CHECK_MSG(flops[1] < 0.8 * flops[0], "%g operations, %g by AMD", flops[1], flops[0]);
  CHECK_MSG(batch_flops[1] < 0.8 * batch_flops[0], "%g operations, %g by AMD", batch_flops[1],
            batch_flops[0]);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_config config = DEFAULTS(tristar_config);
  config.check = 1;
  config.log = count_warnings;
  CHECK_OK(tristar_create(&config, &ts));
  RUN(check_orderings("s2d9pt", 20, 1e-10));
  RUN(check_orderings("convdiff3d", 9, 1e-10));
  RUN(check_taken("s2d9pt", 20, 1e-10));
  RUN(check_taken("convdiff3d", 9, 1e-10));
  RUN(check_factorizations());
  RUN(check_callback());
  RUN(check_rows("convdiff3d", 7));
  RUN(check_rows("fusion2d", 3));
  RUN(check_rows("circuit", 150));
  RUN(check_triangles());
  RUN(check_skew());
  RUN(check_fallback());
  close_context(&ts);
  return 0;
}
