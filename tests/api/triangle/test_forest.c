/* Forests: matrices whose elimination tree has very many small subtrees, roots or links. The factorization
 * gives the same bits with tasks and without StarPU, a small backward error, needs little more memory than
 * the factor, and names the row of a bad pivot wherever its tree is. */
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_stats.h"

/* Lower triangle of a symmetric matrix, by columns. */
typedef struct forest {
  int64_t n, *ptr;
  int32_t *row;
  double *value;
} forest;

static void start(forest *a, int64_t n, int64_t entries) {
  a->n = 0;
  a->ptr = xcalloc((size_t)n + 1, sizeof *a->ptr);
  a->row = xmalloc((size_t)entries * sizeof *a->row);
  a->value = xmalloc((size_t)entries * sizeof *a->value);
}

static void finish(forest *a) {
  free(a->ptr);
  free(a->row);
  free(a->value);
}

/* Begins the next column. */
static void begin_column(forest *a) {
  a->n++;
  a->ptr[a->n] = a->ptr[a->n - 1];
}
static void put(forest *a, int64_t row, double value) {
  const int64_t at = a->ptr[a->n]++;
  a->row[at] = (int32_t)row;
  a->value[at] = value;
}

/* Adds diagonal blocks of `size` rows: dense, or chains. */
static void add_blocks(forest *a, int64_t blocks, int64_t size, bool dense) {
  for (int64_t k = 0; k < blocks * size; k++) {
    const int64_t end = a->n + size - k % size;
    begin_column(a);
    put(a, a->n - 1, (dense ? (double)size : 2) + 0.001 * (double)(k % 97));
    for (int64_t i = a->n; i < (dense || a->n == end ? end : a->n + 1); i++) put(a, i, -0.9);
  }
}

/* Adds a chain in which each link has a leaf: leaf, link, leaf, link, ... */
static void add_caterpillar(forest *a, int64_t links) {
  for (int64_t k = 0; k < links; k++) {
    begin_column(a);
    put(a, a->n - 1, 2);
    put(a, a->n, -0.5);
    begin_column(a);
    put(a, a->n - 1, 3);
    if (k + 1 < links) put(a, a->n + 1, -1);
  }
}

/* Adds rows that are coupled only with the last row. */
static void add_arrow(forest *a, int64_t n) {
  const int64_t last = a->n + n - 1;
  for (int64_t k = 0; k + 1 < n; k++) {
    begin_column(a);
    put(a, a->n - 1, 2);
    put(a, last, 1e-3);
  }
  begin_column(a);
  put(a, last, 4);
}

/* Adds a cube of m^3 points. */
static void add_cube(forest *a, int64_t m) {
  for (int64_t k = 0; k < m * m * m; k++) {
    begin_column(a);
    put(a, a->n - 1, 6.5);
    if (k % m + 1 < m) put(a, a->n, -1);
    if (k / m % m + 1 < m) put(a, a->n - 1 + m, -1);
    if (k / (m * m) + 1 < m) put(a, a->n - 1 + m * m, -1);
  }
}

static tristar_view view_of(const forest *a) {
  return stored_view(TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, a->n, a->n, a->ptr, a->row, a->value);
}

static const tristar_analysis_options *options_of(tristar_method method, tristar_ordering ordering) {
  static tristar_analysis_options options;
  tristar_analysis_options_init(&options);
  options.method = method;
  options.ordering = ordering;
  return &options;
}

static tristar_t *contexts[2]; /* without StarPU; with StarPU */

static void solve(const forest *a, tristar_t *ts, tristar_method method, tristar_ordering ordering,
                  double peak, const double *b, double *x) {
  const tristar_view view = view_of(a);
  tristar_factor_stats stats;
  tristar_refine_result result;
  CLEANUP(tristar_analysis_destroy)
  tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, options_of(method, ordering));
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NEW_FACTOR(an, a->value);
  CHECK_OK(tristar_factor_get_stats(f, &stats));
  CHECK_MSG((double)stats.peak_bytes < peak * (double)stats.factor_bytes,
            "%lld rows: %zu bytes at the peak, %zu in the factor", (long long)a->n, stats.peak_bytes,
            stats.factor_bytes);
  CHECK(stats.perturbed_pivots == 0);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_solve_refined(p, TRISTAR_N, 1, b, a->n, x, a->n, NULL, &result));
  CHECK_MSG(result.backward_error < 1e-14, "%lld rows: backward error %g", (long long)a->n,
            result.backward_error);
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, a->n, x, a->n));
}

/* peak: bound of the peak memory, as a multiple of the memory of the factor. */
static void check(const forest *a, tristar_method method, tristar_ordering ordering, double peak) {
  OWNED double *b = xmalloc((size_t)a->n * sizeof *b), *x = xmalloc(2 * (size_t)a->n * sizeof *x);
  fill_random(b, a->n, 1);
  for (int k = 0; k < 2; k++) solve(a, contexts[k], method, ordering, peak, b, x + k * a->n);
  CHECK_MSG(memcmp(x, x + a->n, (size_t)a->n * sizeof *x) == 0, "%lld rows: other bits with tasks",
            (long long)a->n);
}

/* The pivot of one row is not positive. */
static void check_bad_pivot(forest *a, int64_t row) {
  const tristar_view view = view_of(a);
  const double kept = a->value[a->ptr[row]];
  char message[512], expected[64];
  tristar_t *ts = contexts[1];
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_analysis_destroy)
  tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, options_of(TRISTAR_METHOD_LLT, TRISTAR_ORDERING_METIS));
  a->value[a->ptr[row]] = -1;
  CHECK_STATUS(tristar_factor(an, a->value, &f), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  CHECK(f == NULL);
  tristar_get_error(ts, message, sizeof message);
  snprintf(expected, sizeof expected, "row %lld ", (long long)row);
  CHECK_MSG(strstr(message, expected) != NULL, "row %lld: %s", (long long)row, message);
  a->value[a->ptr[row]] = kept;
  CHECK_OK(tristar_factor(an, a->value, &f));
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_config config = DEFAULTS(tristar_config);
  forest a;
  setenv("STARPU_NCPU", "2", 1);
  config.check = 1;
  for (int k = 0; k < 2; k++) {
    config.use_starpu = k;
    CHECK_OK(tristar_create(&config, &contexts[k]));
  }

  start(&a, 50000, 50000); /* a diagonal matrix: each row is a tree of its own */
  add_blocks(&a, 50000, 1, true);
  RUN(check(&a, TRISTAR_METHOD_AUTO, TRISTAR_ORDERING_METIS, 3));
  RUN(check(&a, TRISTAR_METHOD_LU, TRISTAR_ORDERING_METIS, 3));
  RUN(check(&a, TRISTAR_METHOD_LDLT, TRISTAR_ORDERING_METIS, 3));
  RUN(check_bad_pivot(&a, 12345));
  finish(&a);

  start(&a, 40000, 200000); /* trees of all sizes, some of them single rows */
  add_blocks(&a, 1000, 7, true);
  add_cube(&a, 17);
  add_blocks(&a, 10000, 1, true);
  add_blocks(&a, 400, 12, false);
  RUN(check(&a, TRISTAR_METHOD_AUTO, TRISTAR_ORDERING_METIS, 4));
  RUN(check_bad_pivot(&a, 7000 + 17 * 17 * 17 + 777));
  RUN(check_bad_pivot(&a, 6999));
  finish(&a);

  start(&a, 60000, 120000); /* long paths */
  add_blocks(&a, 1, 20000, false);
  RUN(check(&a, TRISTAR_METHOD_AUTO, TRISTAR_ORDERING_NATURAL, 3));
  add_caterpillar(&a, 10000);
  RUN(check(&a, TRISTAR_METHOD_AUTO, TRISTAR_ORDERING_NATURAL, 3.5));
  finish(&a);

  start(&a, 30000, 60000); /* one node with many children */
  add_arrow(&a, 30000);
  RUN(check(&a, TRISTAR_METHOD_AUTO, TRISTAR_ORDERING_METIS, 6));
  finish(&a);
  for (int k = 0; k < 2; k++) tristar_destroy(&contexts[k]);
  return 0;
}
