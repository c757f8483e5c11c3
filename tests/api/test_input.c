/* Bad input to the API: each gives its status and a message that names the cause, and leaves nothing behind.
 */
#include <limits.h>

#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"
#include "tristar_stats.h"

static tristar_t *ts;

static void expect(tristar_status got, tristar_status expected, const char *text, const char *file,
                   int line) {
  char message[512];
  tristar_get_error(ts, message, sizeof message);
  if (got != expected || (text != NULL && strstr(message, text) == NULL)) {
    fprintf(stderr, "%s:%d: %s, expected %s; message '%s', expected '%s'\n", file, line,
            tristar_status_name(got), tristar_status_name(expected), message, text ? text : "");
    exit(1);
  }
}
#define EXPECT(call, status, text) expect(call, status, text, __FILE__, __LINE__)

/* The columns of a 3 x 3 view: [4 1 0; 1 4 1; 0 1 4]. */
static int32_t ptr[] = {0, 2, 5, 7}, idx[] = {0, 1, 0, 1, 2, 1, 2};
static double val[] = {4, 1, 1, 4, 1, 1, 4};
static tristar_view good_view(void) {
  const tristar_view view = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 3, 3, ptr, idx, val, 32, 32, 0};
  return view;
}

static void check_views(void) {
  tristar_analysis_t *an = NULL;
  tristar_view v = good_view();
  EXPECT(tristar_analyze(ts, NULL, NULL, &an), TRISTAR_ERR_ARGUMENT, "view");
  EXPECT(tristar_analyze(ts, &v, NULL, NULL), TRISTAR_ERR_ARGUMENT, "analysis");
  CHECK_STATUS(tristar_analyze(NULL, &v, NULL, &an), TRISTAR_ERR_ARGUMENT);
#define VIEW(change, status, text)                                                                           \
  do {                                                                                                       \
    v = good_view();                                                                                         \
    change;                                                                                                  \
    EXPECT(tristar_analyze(ts, &v, NULL, &an), status, text);                                                \
    CHECK(an == NULL);                                                                                       \
  } while (0)
  VIEW(v.rows = 4, TRISTAR_ERR_RECTANGULAR, "4 rows, 3 columns");
  VIEW(v.rows = v.cols = -1, TRISTAR_ERR_ARGUMENT, "-1");
  VIEW(v.rows = v.cols = 1LL << 40, TRISTAR_ERR_TOO_LARGE, "1099511627776");
  VIEW(v.ptr_bits = 16, TRISTAR_ERR_ARGUMENT, "16");
  VIEW(v.base = 2, TRISTAR_ERR_ARGUMENT, "2");
  VIEW(v.ptr = NULL, TRISTAR_ERR_ARGUMENT, "NULL");
  VIEW(v.index = NULL, TRISTAR_ERR_ARGUMENT, "NULL");
  VIEW(v.scalar = (tristar_scalar)'x', TRISTAR_ERR_ARGUMENT, "");
  VIEW(idx[3] = 3, TRISTAR_ERR_FORMAT, "column 1");
  idx[3] = -1;
  VIEW((void)0, TRISTAR_ERR_FORMAT, "column 1");
  idx[3] = 1;
  ptr[2] = 1;
  VIEW((void)0, TRISTAR_ERR_FORMAT, "ptr");
  ptr[2] = 5;
  val[2] = NAN;
  VIEW((void)0, TRISTAR_ERR_NOT_FINITE, NULL);
  val[2] = -INFINITY;
  VIEW((void)0, TRISTAR_ERR_NOT_FINITE, NULL);
  val[2] = 1;
}

/* Numbers at the limits of 64 bits, with base 1. */
static void check_view_numbers(void) {
  tristar_analysis_t *an = NULL;
  static int64_t p[] = {1, 2, 3}, i[] = {1, 2};
  const double values[] = {1, 1};
  const tristar_view v = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 2, 2, p, i, values, 64, 64, 1};
  i[1] = INT64_MIN;
  EXPECT(tristar_analyze(ts, &v, NULL, &an), TRISTAR_ERR_FORMAT,
         "column 1, entry 1: index -9223372036854775808");
  i[1] = INT64_MAX;
  EXPECT(tristar_analyze(ts, &v, NULL, &an), TRISTAR_ERR_FORMAT, "column 1, entry 1: index");
  i[1] = 2;
  p[1] = INT64_MIN;
  EXPECT(tristar_analyze(ts, &v, NULL, &an), TRISTAR_ERR_FORMAT, "ptr falls");
  p[1] = 2, p[0] = INT64_MIN;
  EXPECT(tristar_analyze(ts, &v, NULL, &an), TRISTAR_ERR_FORMAT, "ptr[0]");
  p[0] = 1;
}

static void check_options(void) {
  tristar_analysis_t *an = NULL;
  tristar_analysis_options o;
  const tristar_view v = good_view();
  const int64_t twice[] = {0, 1, 1}, outside[] = {0, 1, 3};
#define OPTION(change, status, text)                                                                         \
  do {                                                                                                       \
    tristar_analysis_options_init(&o);                                                                       \
    change;                                                                                                  \
    EXPECT(tristar_analyze(ts, &v, &o, &an), status, text);                                                  \
    CHECK(an == NULL);                                                                                       \
  } while (0)
  OPTION(o.method = (tristar_method)9, TRISTAR_ERR_ARGUMENT, "method 9");
  OPTION(o.ordering = TRISTAR_ORDERING_USER, TRISTAR_ERR_ARGUMENT, "permutation");
  OPTION((o.ordering = TRISTAR_ORDERING_USER, o.permutation = twice), TRISTAR_ERR_ARGUMENT, "1");
  OPTION((o.ordering = TRISTAR_ORDERING_USER, o.permutation = outside), TRISTAR_ERR_ARGUMENT,
         "permutation[2] = 3");
  OPTION(o.leaf_parts = 3, TRISTAR_ERR_ARGUMENT, "3");
  OPTION(o.ordering = (tristar_ordering)99, TRISTAR_ERR_ARGUMENT, "ordering 99");
  OPTION(o.ordering = TRISTAR_ORDERING_CALLBACK, TRISTAR_ERR_ARGUMENT, "without a function");
  OPTION(o.solves = -1, TRISTAR_ERR_ARGUMENT, "solves is -1");
  OPTION(o.factorizations = -1, TRISTAR_ERR_ARGUMENT, "factorizations -1");
}

static void check_singular(void) {
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NULL;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p = NULL;
  tristar_analysis_options o;
  int32_t sptr[] = {0, 2, 4, 6}, sidx[] = {0, 1, 0, 1, 0, 1};
  double sval[] = {1, 2, 3, 4, 5, 6}, reciprocal = 1;
  tristar_view v = good_view();
  v.ptr = sptr;
  v.index = sidx;
  v.values = sval;
  EXPECT(tristar_analyze(ts, &v, NULL, &an), TRISTAR_ERR_SINGULAR, "structural rank 2 of 3");
  v.values = NULL;
  EXPECT(tristar_analyze(ts, &v, NULL, &an), TRISTAR_ERR_SINGULAR, "structural rank 2 of 3");
  v = good_view();
  double dependent[] = {1, 1, 1, 1, 0, 0, 1};
  v.values = dependent; /* [1 1 0; 1 1 0; 0 0 1] */
  CHECK_OK(tristar_analyze(ts, &v, NULL, &an));
  EXPECT(tristar_factor(an, dependent, &f), TRISTAR_ERR_SINGULAR, "of row ");
  tristar_analysis_destroy(&an);
  tristar_analysis_options_init(&o);
  o.singular = TRISTAR_SINGULAR_PERTURB;
  CHECK_OK(tristar_analyze(ts, &v, &o, &an));
  CHECK_OK(tristar_factor(an, dependent, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  CHECK_OK(tristar_condition(p, &reciprocal));
  tristar_factor_stats stats;
  tristar_factor_get_stats(f, &stats);
  CHECK_MSG(stats.perturbed_pivots == 1 && reciprocal < 1e-7, "%lld perturbed, condition %g",
            (long long)stats.perturbed_pivots, reciprocal);
  CHECK_MSG(stats.smallest_pivot < 1e-15 && stats.largest_pivot > 0.1, "pivots of %g to %g",
            stats.smallest_pivot, stats.largest_pivot);
}

static void check_factor(void) {
  tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = NULL;
  tristar_plan_t *p = NULL;
  double b[3] = {1, 2, 3}, x[3], bad[7], indefinite[7];
  const tristar_view v = good_view();
  memcpy(bad, val, sizeof val);
  memcpy(indefinite, val, sizeof val);
  bad[4] = NAN;
  indefinite[6] = -4;
  o.method = TRISTAR_METHOD_LLT;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &o);
  EXPECT(tristar_factor(an, NULL, &f), TRISTAR_ERR_ARGUMENT, "values");
  EXPECT(tristar_factor(an, val, NULL), TRISTAR_ERR_ARGUMENT, "factor");
  EXPECT(tristar_factor(an, bad, &f), TRISTAR_ERR_NOT_FINITE, "row 2, column 1");
  CHECK(f == NULL);
  EXPECT(tristar_factor(an, indefinite, &f), TRISTAR_ERR_NOT_POSITIVE_DEFINITE, "row 2");
  CHECK(f == NULL);
  CHECK_OK(tristar_factor(an, val, &f));
  CHECK_OK(tristar_plan(f, NULL, &p));
  EXPECT(tristar_refactor(f, NULL), TRISTAR_ERR_ARGUMENT, "values"); /* The values stay. */
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, 3, x, 3));
  EXPECT(tristar_refactor(f, indefinite), TRISTAR_ERR_NOT_POSITIVE_DEFINITE, "row 2");
  EXPECT(tristar_solve(p, TRISTAR_N, 1, b, 3, x, 3), TRISTAR_ERR_STALE, "no values");
  CHECK_OK(tristar_refactor(f, val));
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, 3, x, 3));
  for (int i = 0; i < 7; i++) bad[i] = 2 * val[i]; /* new values, the same plan */
  double y[3];
  CHECK_OK(tristar_refactor(f, bad));
  CHECK_OK(tristar_solve(p, TRISTAR_N, 1, b, 3, y, 3));
  for (int i = 0; i < 3; i++) CHECK(fabs(2 * y[i] - x[i]) < 1e-15);
  EXPECT(tristar_solve(p, (tristar_op)'X', 1, b, 3, x, 3), TRISTAR_ERR_ARGUMENT, "op");
  EXPECT(tristar_solve(p, TRISTAR_N, -1, b, 3, x, 3), TRISTAR_ERR_ARGUMENT, "nrhs is -1");
  EXPECT(tristar_solve(p, TRISTAR_N, 1, b, 2, x, 3), TRISTAR_ERR_ARGUMENT, "ldb = 2");
  EXPECT(tristar_solve(p, TRISTAR_N, 1, b, 3, x, 0), TRISTAR_ERR_ARGUMENT, "ldx = 0");
  EXPECT(tristar_solve(p, TRISTAR_N, 1, NULL, 3, x, 3), TRISTAR_ERR_ARGUMENT, "NULL");
  EXPECT(tristar_solve(p, TRISTAR_N, 1, b, 3, NULL, 3), TRISTAR_ERR_ARGUMENT, "NULL");
  EXPECT(tristar_solve(p, TRISTAR_N, 1, b, 3, b, 4), TRISTAR_ERR_ARGUMENT, "x is b");
  EXPECT(tristar_solve_refined(p, TRISTAR_N, 1, b, 3, b, 3, NULL, NULL), TRISTAR_ERR_ARGUMENT, "overlaps");
  EXPECT(tristar_residual(f, TRISTAR_N, 1, b, 3, x, 3, b, 4, NULL), TRISTAR_ERR_ARGUMENT,
         "r is b, but their strides differ");
  EXPECT(tristar_condition(p, NULL), TRISTAR_ERR_ARGUMENT, "reciprocal");
  CHECK_OK(tristar_solve(p, TRISTAR_N, 0, NULL, 3, NULL, 3)); /* nrhs = 0 */
  CHECK_STATUS(tristar_solve(NULL, TRISTAR_N, 1, b, 3, x, 3), TRISTAR_ERR_ARGUMENT);
  tristar_plan_destroy(&p);
  tristar_plan_options po = DEFAULTS(tristar_plan_options);
  po.accuracy = 1e-10; /* solves are refined */
  CHECK_OK(tristar_plan(f, &po, &p));
  EXPECT(tristar_solve(p, TRISTAR_N, 1, b, 3, b, 4), TRISTAR_ERR_ARGUMENT, "x is b");
  tristar_plan_destroy(&p);
  po.accuracy = 0;
  po.nrhs = -2;
  EXPECT(tristar_plan(f, &po, &p), TRISTAR_ERR_ARGUMENT, "nrhs -2");
  tristar_plan_options_init(&po);
  po.engine = TRISTAR_ENGINE_TASKS;
  EXPECT(tristar_plan(f, &po, &p), TRISTAR_ERR_UNSUPPORTED, "without StarPU");
}

/* Orders 0 and 1, a diagonal matrix, a dense one, an arrow, duplicates, CSR with base 1 and 64-bit
 * indices. */
static void check_edge_cases(void) {
  double b[3] = {6, 9, 6}, x[3];
  const int64_t none[] = {0};
  tristar_view v = {TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, 0, 0, none, none, val, 64, 64, 0};
  tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, NULL);
  tristar_factor_t *f = NEW_FACTOR(an, val);
  tristar_plan_t *p = NEW_PLAN(f, NULL);
  CHECK_OK(tristar_solve(p, TRISTAR_N, 2, b, 1, x, 1));
  tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
  tristar_analysis_destroy(&an);
  /* the valid matrix by rows, with base 1; its central 4 is stored as 1 + 3 */
  const int64_t rptr[] = {1, 3, 7, 9}, rcol[] = {1, 2, 1, 2, 2, 3, 2, 3};
  const double rval[] = {4, 1, 1, 1, 3, 1, 1, 4};
  const tristar_view r = {TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, 3, 3, rptr, rcol, rval, 64, 64, 1};
  for (int method = TRISTAR_METHOD_AUTO; method <= TRISTAR_METHOD_LU; method++) {
    tristar_analysis_options o = DEFAULTS(tristar_analysis_options);
    o.method = (tristar_method)method;
    CHECK_OK(tristar_analyze(ts, &r, &o, &an));
    CHECK_OK(tristar_factor(an, rval, &f));
    CHECK_OK(tristar_plan(f, NULL, &p));
    CHECK_OK(tristar_solve(p, TRISTAR_N, 1, (double[]){5, 6, 5}, 3, x, 3));
    for (int i = 0; i < 3; i++) CHECK_MSG(fabs(x[i] - 1) < 1e-14, "x[%d] = %g", i, x[i]);
    tristar_plan_destroy(&p);
    tristar_factor_destroy(&f);
    tristar_analysis_destroy(&an);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_config config = DEFAULTS(tristar_config);
  config.use_starpu = 0;
  config.workers = -1;
  CHECK_STATUS(tristar_create(&config, &ts), TRISTAR_ERR_ARGUMENT);
  CHECK(ts == NULL);
  CHECK_STATUS(tristar_create(&config, NULL), TRISTAR_ERR_ARGUMENT);
  config.workers = 0;
  config.check = 1;
  CHECK_OK(tristar_create(&config, &ts));
  CHECK(tristar_get_error(ts, NULL, 0) == 0);
  RUN(check_views());
  RUN(check_view_numbers());
  RUN(check_options());
  RUN(check_singular());
  RUN(check_factor());
  RUN(check_edge_cases());
  close_context(&ts);
  tristar_destroy(&ts);
  return 0;
}
