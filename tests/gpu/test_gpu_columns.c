/* The GPU kernel of columns: solves with D alone are those of the CPU, and so are solves by products, where
 * it stands before, between and after the products, with rows that are permuted, scaled, conjugated, combined
 * with x, and with the two columns of a pivot; with the same bits whatever grid and schedule are. */
#include "runtime/exec/device/device_products.h"
#include "runtime/solve/spmv.h"
#include "tests/support/gpu/device_problem.h"
#include "tests/support/gpu/run_columns.h"
#include "tests/support/gpu/run_rows.h"
#include "tests/support/subtests.h"

static const problem problems[] = {
    {"poisson3d7", 4, TRISTAR_METHOD_LLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 0},
    {"kkt3d", 3, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC, TRISTAR_INVERSE_DIAGONAL, 0},
    {"maxwell3d", 2, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN, TRISTAR_INVERSE_DIAGONAL, 0},
    {"convdiff3d", 3, TRISTAR_METHOD_LU, TRISTAR_GENERAL, TRISTAR_INVERSE_DIAGONAL, 0},
};

static run_grid grid_number(unsigned k) {
  return (run_grid){
      .blocks = 1 + 2 * k, .resident = 1 + k, .threads = k ? 128 : 64, .warp = k ? 64 : 32, .seed = k};
}

/* A factor, the plan that solves with it here, and one solve. */
typedef struct work {
  tristar_plan_t *plan;
  unsigned type;
  int64_t n, nrhs;
  size_t bytes;             /* of b and of x */
  void *b, *before, *right; /* x before, and as it should be afterwards */
  tristar_request_t request;
} work;

static void work_open(tristar_plan_t *plan, unsigned type, const tristar_solve_options *options, int64_t nrhs,
                      work *w) {
  const typed *t = types[type].type;
  *w = (work){.plan = plan, .type = type, .n = plan->factor->analysis->pattern->n, .nrhs = nrhs};
  w->bytes = (size_t)(w->n * nrhs) * t->bytes;
  w->b = random_scalars(t, w->n * nrhs, 3);
  w->before = random_scalars(t, w->n * nrhs, 4);
  w->right = xmalloc(w->bytes);
  memcpy(w->right, w->before, w->bytes);
  CHECK_OK(tristar_solve_with(plan, options, nrhs, w->b, w->right, NULL));
  CHECK_OK(tsi_request_prepare(&w->request, plan, options, nrhs));
  w->request.call.b = w->b;
  w->request.call.nrhs = (tsi_index)nrhs;
}
static void work_close(work *w) {
  tsi_request_cancel(&w->request);
  free(w->b);
  free(w->before);
  free(w->right);
}

static tsi_gpu_columns columns_of(const work *w, void *x) {
  tsi_gpu_columns s = {.call = tsi_device_call_of(&w->request.call, NULL), .n = (tsi_index)w->n};
  s.call.x = x;
  s.call.stride = (tsi_index)w->nrhs;
  return s;
}

static void launch(const work *w, const tsi_gpu_columns *s, unsigned k) {
  const run_grid grid = grid_number(k);
  const run_outcome got = run_columns(types[w->type].scalars, s, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
}

/* solve(w, x, k) gives the right x, and the same bits with each grid k. */
static void compare(const work *w, void (*solve)(const work *w, void *x, unsigned k), const char *what) {
  const typed *t = types[w->type].type;
  OWNED void *first = xmalloc(w->bytes), *x = xmalloc(w->bytes);
  for (unsigned k = 0; k < 2; k++) {
    memcpy(x, w->before, w->bytes);
    solve(w, x, k);
    if (k == 0) memcpy(first, x, w->bytes);
    CHECK_MSG(memcmp(first, x, w->bytes) == 0, "%s: other bits", what);
  }
  const double differs = difference(t, w->n * w->nrhs, w->right, first);
  CHECK_MSG(differs <= (t->is_single ? 1e-3 : 1e-11), "%s, %s, %d right-hand sides: differs by %g", what,
            types[w->type].scalars, (int)w->nrhs, differs);
}

/* ---- D alone ------------------------------------------------------------------------------------------- */

static void solve_diagonal(const work *w, void *x, unsigned k) {
  tsi_gpu_columns s = columns_of(w, x);
  s.reads = s.writes = true;
  launch(w, &s, k);
}

static void check_diagonal(tristar_plan_t *plan, unsigned type, tristar_op op, int64_t nrhs) {
  static const double alpha[] = {0.5, 0.25}, beta[] = {-2, 1};
  static const float alpha_single[] = {0.5f, 0.25f}, beta_single[] = {-2, 1};
  tristar_solve_options options;
  tristar_solve_options_init(&options);
  options.part = TRISTAR_PART_D;
  options.op = op;
  if (nrhs > 1) {
    options.alpha = types[type].type->is_single ? (const void *)alpha_single : alpha;
    options.beta = types[type].type->is_single ? (const void *)beta_single : beta;
  }
  CLEANUP(work_close) work w;
  work_open(plan, type, &options, nrhs, &w);
  compare(&w, solve_diagonal, "D");
}

/* ---- Around products ----------------------------------------------------------------------------------- */

/* The product of one direction, from rows of the workspace to others. */
static void multiply_rows(const work *w, bool backward, void *workspace, unsigned k) {
  tristar_plan_t *plan = w->plan;
  tsi_env *env = &plan->ts->env;
  const typed *t = types[w->type].type;
  const bool upper =
      (backward ? w->request.call.backward_values : w->request.call.forward_values) == plan->factor->upper;
  const tsi_spmv_rows *rows;
  tsi_device_row_plan device;
  run_grid grid = grid_number(k);
  grid.threads = 64;
  CHECK_OK(tsi_spmv_prepare(plan, backward, upper, &rows));
  CHECK_OK(tsi_device_products_create(env, plan->spmv->products[backward], rows, 2 * (tsi_index)w->n, 32,
                                      &device));
  OWNED void *values = xmalloc(((size_t)device.tables.entries + 1) * t->bytes);
  tsi_device_rows_fill(&device, t->bytes, rows->values, values);
  const tsi_gpu_rows s = {
      .tables = device.tables,
      .call = {.nrhs = (tsi_index)w->nrhs, .stride = (tsi_index)w->nrhs, .workspace = workspace},
      .values = values};
  const run_outcome got = run_rows(types[w->type].scalars, &s, true, 1, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
  tsi_device_rows_destroy(&device);
}

/* b to rows 0 .., from there forward to rows n .., D^-1 there, from there backward to rows 0 .., and to x. */
static void solve_by_products(const work *w, void *x, unsigned k) {
  const tsi_gpu_columns given = columns_of(w, x);
  const tsi_index n = (tsi_index)w->n;
  OWNED void *workspace = xmalloc(2 * w->bytes);
  tsi_gpu_columns s = given;
  memset(workspace, 0xff, 2 * w->bytes);
  s.call.workspace = workspace;
  s.reads = true;
  s.call.inverse = NULL;
  s.call.conjugate_backward = false;
  launch(w, &s, k);
  multiply_rows(w, false, workspace, k);
  s.reads = false;
  s.from = s.to = n;
  s.call.inverse = given.call.inverse;
  s.call.conjugate_backward = given.call.conjugate_backward;
  launch(w, &s, k);
  multiply_rows(w, true, workspace, k);
  s.writes = true;
  s.from = 0;
  s.call.inverse = NULL;
  s.call.conjugate_backward = false;
  launch(w, &s, k);
}

static void check_products(tristar_plan_t *plan, unsigned type, tristar_op op, int64_t nrhs) {
  tristar_solve_options options;
  tristar_solve_options_init(&options);
  options.op = op;
  CLEANUP(work_close) work w;
  work_open(plan, type, &options, nrhs, &w);
  compare(&w, solve_by_products, "products");
}

/* ---- All ----------------------------------------------------------------------------------------------- */

static void check(tristar_t *ts, const problem *p, unsigned type, unsigned variant) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  CLEANUP(solver_close) solver s = solver_open(ts, p, types[type].type, false);
  tristar_plan_options options;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *products;
  tristar_plan_options_init(&options);
  options.engine = TRISTAR_ENGINE_SERIAL;
  options.kernel = TRISTAR_KERNEL_SPMV;
  CHECK_OK(tristar_plan(s.factor, &options, &products));
  for (unsigned k = 0; k < 3; k++) {
    if (p->method == TRISTAR_METHOD_LDLT) check_diagonal(s.plan, type, ops[k], k == variant % 3 ? 1 : 3);
    check_products(products, type, ops[k], k == variant % 3 ? 3 : 1);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  for (unsigned k = 0; k < sizeof problems / sizeof *problems; k++)
    for (unsigned type = 0; type < 4; type++) RUN(check(ts, &problems[k], type, k + type));
  return 0;
}
