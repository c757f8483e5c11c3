/* Device tables: their check passes on all kinds of factors, and a walk of them, in the order of the tickets
 * and in others that the waits allow, solves as the plan does, for each scalar type, method, operation, part
 * and treatment of diagonal blocks. */
#include "tests/support/context.h"
#include "tests/support/device_solve.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"

typedef struct problem {
  const char *kind; /* a generated matrix, or (size 0) a file of the folder of real matrices */
  int64_t size;
  tristar_method method;
  tristar_symmetry symmetry; /* declared symmetry of a symmetric kind in a complex type */
  tristar_inverse inverse;
  double node_bytes;
  bool mixed; /* single factors of a double matrix */
} problem;

static const problem problems[] = {
    {"poisson3d7", 8, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 3000, false},
    {"s2d9pt", 20, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_NONE, 1000, false},
    {"poisson3d7", 7, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 2000, false},
    {"kkt3d", 5, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 1500, false},
    {"kkt3d", 5, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_PARTITIONED, 1500, false},
    {"kkt3d", 5, TRISTAR_METHOD_LU, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 2500,
     false}, /* with a matching */
    {"convdiff3d", 7, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_NONE, 2000, false},
    {"chem3d", 4, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_PARTITIONED, 64e3, false},
    {"fusion2d", 3, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_DIAGONAL, 3000, true},
};

static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                     &typed_complex_double};

static void solve_all(tristar_factor_t *factor, bool is_single, double node_bytes) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.engine = TRISTAR_ENGINE_SERIAL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, &options);
  CLEANUP(device_solver_close) device_solver s = device_solver_open(plan, node_bytes);
  for (int o = 0; o < TYPED_OPS; o++) {
    device_compare(&s, typed_ops[o], TRISTAR_PART_ALL, 2, is_single ? 2e-3 : 1e-9);
    device_compare(&s, typed_ops[o], TRISTAR_PART_L, 1, is_single ? 2e-3 : 1e-9);
    device_compare(&s, typed_ops[o], TRISTAR_PART_U, 1, is_single ? 2e-3 : 1e-9);
  }
}

static void check_problem(tristar_t *ts, const problem *p, const typed *t) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  OWNED void *values = typed_matrix(ts, p->kind, p->size, t, p->symmetry, &matrix, &view);
  options.method = p->method;
  options.inverse = p->inverse;
  options.single_factors = p->mixed;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(analysis, view.values);
  solve_all(factor, t->is_single || p->mixed, p->node_bytes);
}

/* ---- Extremes ------------------------------------------------------------------------------------------ */

typedef enum shape { DIAGONAL, DENSE, ARROW, SHAPES } shape;

static bool is_entry(shape which, int n, int i, int j) {
  return i == j || which == DENSE || (which == ARROW && (i == n - 1 || j == n - 1));
}

/* No row, one row, a diagonal matrix, a single supernode, one long row. */
static void check_shape(tristar_t *ts, shape which, int n) {
  OWNED int64_t *ptr = xcalloc((size_t)n + 1, sizeof *ptr);
  OWNED int32_t *index = xcalloc((size_t)n * (size_t)n + 1, sizeof *index);
  OWNED double *values = xcalloc((size_t)n * (size_t)n + 1, sizeof *values);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  int64_t entries = 0;
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) {
      if (!is_entry(which, n, i, j)) continue;
      index[entries] = i;
      values[entries++] = i == j ? n + 1 : 1 / (1.0 + i + 2 * j);
    }
    ptr[j + 1] = entries;
  }
  const tristar_view view =
      stored_view(TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, ptr, index, values);
  CHECK_OK(tristar_analyze(ts, &view, NULL, &analysis));
  CHECK_OK(tristar_factor(analysis, values, &factor));
  solve_all(factor, false, 500);
}

int test_device_tables(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++)
    for (int type = 0; type < 4; type++)
      if (!problems[k].mixed || !types[type]->is_single) RUN(check_problem(ts, &problems[k], types[type]));
  for (int n = 0; n < 50; n = 3 * n + 1)
    for (int k = 0; k < SHAPES; k++) RUN(check_shape(ts, (shape)k, n));
  RUN(check_shape(ts, DENSE, 512)); /* two panels of full width */
  return 0;
}
