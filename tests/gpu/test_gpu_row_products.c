/* The products of a partitioned inverse by the GPU kernels of rows: the matrices of a plan that multiplies
 * with them, forward and backward, of L and of U, four scalar types, one right-hand side and several, as the
 * CPU's kernel has them, within roundoff; the same bits whatever launches, warps and schedule are. Faults
 * that are planted into the tables are found by their check. */
#include "runtime/exec/device/device_products.h"
#include "runtime/solve/spmv.h"
#include "tests/support/context.h"
#include "tests/support/gpu/run_rows.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"

typedef struct problem {
  const char *kind;
  int64_t size;
  tristar_method method;
} problem;

static const problem problems[] = {{"poisson3d7", 4, TRISTAR_METHOD_LLT},
                                   {"convdiff3d", 3, TRISTAR_METHOD_LU}};

/* Rows of the workspace, which a plan takes for t, x and y. */
static tsi_index workspace_rows(const tristar_plan_t *plan) {
  return 2 * plan->factor->analysis->symbolic->n;
}

static void multiply_on_host(const tristar_plan_t *plan, const tsi_products *products,
                             const tsi_spmv_rows *rows, tsi_index stride, void *workspace) {
  for (tsi_index b = 0; b < products->blocks; b++)
    plan->spmv->kernels->multiply(rows, products->block[b].first, products->block[b].end,
                                  products->block[b].add, stride, workspace);
}

static void check_product(const tristar_plan_t *plan, const typed *t, const tsi_device_row_plan *device,
                          const tsi_products *products, const tsi_spmv_rows *rows, tsi_index nrhs,
                          unsigned variant) {
  const int64_t scalars = (int64_t)workspace_rows(plan) * nrhs;
  const size_t bytes = (size_t)scalars * t->bytes;
  OWNED char *from = xmalloc(bytes), *right = xmalloc(bytes), *first = xmalloc(bytes), *w = xmalloc(bytes),
             *values = xmalloc((size_t)(device->tables.entries + 1) * t->bytes);
  const char name[] = {(char)t->scalar, 0};
  double part[2], largest = 0;
  for (int64_t i = 0; i < scalars; i++) {
    fill_random(part, 2, (uint64_t)i);
    number z = part[0];
    __imag__ z = part[1];
    put(t, from, i, z);
  }
  memcpy(right, from, bytes);
  multiply_on_host(plan, products, rows, nrhs, right);
  tsi_device_rows_fill(device, t->bytes, rows->values, values);
  for (unsigned k = 0; k < 2; k++) {
    const run_grid grid = {.blocks = 1 + 2 * k,
                           .resident = 1 + k,
                           .threads = 64,
                           .warp = (unsigned)device->tables.lanes << k,
                           .seed = variant + k};
    const tsi_gpu_rows launch = {
        .tables = device->tables, .call = {.nrhs = nrhs, .stride = nrhs, .workspace = w}, .values = values};
    memcpy(w, from, bytes);
    const run_outcome got = run_rows(name, &launch, k == 0, 1, &grid);
    CHECK_MSG(got.ended, "%s", got.problem);
    if (k == 0) memcpy(first, w, bytes);
    CHECK(memcmp(first, w, bytes) == 0);
  }
  for (int64_t i = 0; i < scalars; i++) largest = fmax(largest, magnitude(get(t, right, i)));
  for (int64_t i = 0; i < scalars; i++)
    CHECK_MSG(magnitude(get(t, right, i) - get(t, first, i)) <= 1e3 * t->roundoff * largest,
              "row %d, right-hand side %d", (int)(i / nrhs), (int)(i % nrhs));
}

#define CHECK_TABLES tsi_device_products_check(env, device, products, rows, workspace)

static void break_tables(tsi_env *env, const tsi_device_row_plan *device, const tsi_products *products,
                         const tsi_spmv_rows *rows, tsi_index workspace) {
  const tsi_device_rows *t = &device->tables;
  for (int k = 0; k < 6; k++) {
    const tsi_index by = k % 2 ? 1 : -1;
    tsi_device_bundle *b = (tsi_device_bundle *)t->bundle + k * (t->bundles - 1) / 5;
    tsi_device_phase *phase = (tsi_device_phase *)t->phase + k * (t->phases - 1) / 5;
    tsi_index *row = (tsi_index *)t->row + k * (t->updates - 1) / 5,
              *end = (tsi_index *)t->end + k * (t->updates - 1) / 5;
    BROKEN(b->entry, b->entry + by, CHECK_TABLES);
    BROKEN(b->at, b->at + by, CHECK_TABLES);
    BROKEN(b->first, b->first + by, CHECK_TABLES);
    BROKEN(b->rows, (uint8_t)(b->rows + by), CHECK_TABLES);
    BROKEN(b->base, b->base + by, CHECK_TABLES);
    BROKEN(b->fresh, !b->fresh, CHECK_TABLES);
    BROKEN(phase->kind, TSI_PHASE_UPDATE, CHECK_TABLES);
    BROKEN(phase->tickets, phase->tickets + by, CHECK_TABLES);
    BROKEN(*row, *row + by, CHECK_TABLES);
    BROKEN(*end, *end + by, CHECK_TABLES);
    BROKEN(device->source[k], device->source[k] + by, CHECK_TABLES);
  }
  CHECK_OK(CHECK_TABLES);
}

/* One direction, L or U. */
static void check_direction(tristar_plan_t *plan, const typed *t, bool backward, bool upper,
                            unsigned variant) {
  tsi_env *env = &plan->ts->env;
  const tsi_products *products = plan->spmv->products[backward];
  const tsi_index workspace = workspace_rows(plan);
  const tsi_spmv_rows *rows;
  tsi_device_row_plan device;
  CHECK_OK(tsi_spmv_prepare(plan, backward, upper, &rows));
  CHECK_OK(tsi_device_products_create(env, products, rows, workspace, 32, &device)); /* checks */
  check_product(plan, t, &device, products, rows, variant % 2 ? 8 : 1, variant);
  if (!t->is_complex && t->is_single) break_tables(env, &device, products, rows, workspace);
  tsi_device_rows_destroy(&device);
}

static void check_problem(tristar_t *ts, const problem *p, const typed *t, unsigned variant) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  tristar_analysis_options options;
  tristar_plan_options how;
  OWNED void *values = typed_matrix(ts, p->kind, p->size, t, TRISTAR_HERMITIAN, &matrix, &view);
  tristar_analysis_options_init(&options);
  options.method = p->method;
  CHECK_OK(tristar_analyze(ts, &view, &options, &analysis));
  CHECK_OK(tristar_factor(analysis, view.values, &factor));
  tristar_plan_options_init(&how);
  how.engine = TRISTAR_ENGINE_SERIAL;
  how.kernel = TRISTAR_KERNEL_SPMV;
  CHECK_OK(tristar_plan(factor, &how, &plan));
  for (int upper = 0; upper < (p->method == TRISTAR_METHOD_LU ? 2 : 1); upper++)
    for (int backward = 0; backward < 2; backward++)
      check_direction(plan, t, backward, upper, variant + (unsigned)(2 * upper + backward));
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(true);
  for (unsigned k = 0; k < sizeof problems / sizeof *problems; k++)
    for (unsigned type = 0; type < 4; type++) RUN(check_problem(ts, &problems[k], types[type], k + type));
  return 0;
}
