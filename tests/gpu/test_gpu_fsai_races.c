/* Under the thread sanitizer, each thread of the grid being one for it, the GPU kernels of sparse approximate
 * inverses and of products by rows have no race, and a missing barrier is one. */
#include "tests/support/gpu/count_reports.h"
#include "tests/support/gpu/hermitian.h"
#include "tests/support/gpu/run_fsai.h"
#include "tests/support/gpu/run_spmv.h"

static run_grid grid_number(unsigned seed, int fault) {
  return (run_grid){.blocks = 2, .resident = 2, .threads = 64, .warp = 32, .seed = seed, .fault = fault};
}

/* With a fault lanes may take different branches, so some of them may not end. */
static int count_races(const hermitian *a, const device_inverse *d, int fault) {
  reports = 0;
  for (unsigned seed = 0; seed < 2 && reports == 0; seed++) {
    const run_grid grid = grid_number(seed, fault);
    const run_outcome got = run_fsai("d", &d->rows, a->n, seed == 1, &grid);
    CHECK_MSG(got.ended || fault != GPU_NO_FAULT, "%s", got.problem);
  }
  return reports;
}

static int count_races_of_lists(const device_inverse *d) {
  const run_grid grid = grid_number(3, GPU_NO_FAULT);
  reports = 0;
  const run_outcome got = run_fsai_rows("d", &d->packed, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
  return reports;
}

static int count_races_of_adjoint(const device_inverse *d) {
  const tsi_gpu_fsai_rows *g = &d->packed;
  const size_t entries = (size_t)g->ptr[g->count];
  const run_grid grid = grid_number(5, GPU_NO_FAULT);
  const tsi_gpu_fsai_adjoint s = {.g = {g->ptr, g->packed_index, g->packed_values},
                                  .n = g->count,
                                  .ptr = xcalloc((size_t)g->count + 1, sizeof(tsi_count)),
                                  .index = xcalloc(entries, sizeof(tsi_index)),
                                  .values = xcalloc(entries, sizeof(double))};
  CHECK(s.ptr != NULL && s.index != NULL && s.values != NULL);
  reports = 0;
  const run_outcome got = run_fsai_adjoint("d", &s, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
  free(s.ptr);
  free(s.index);
  free(s.values);
  return reports;
}

/* Counts the races of the product with the G of the lists. */
static int count_races_of_product(const device_inverse *d) {
  const tsi_gpu_fsai_rows *g = &d->packed;
  const run_grid grid = grid_number(4, GPU_NO_FAULT);
  OWNED double *x = xcalloc((size_t)g->count, 2 * sizeof *x), *y = xcalloc((size_t)g->count, 2 * sizeof *y);
  const tsi_gpu_spmv s = {.a = {g->ptr, g->packed_index, g->packed_values},
                          .rows = g->count,
                          .threads = tsi_gpu_spmv_threads(g->count, g->ptr[g->count]),
                          .nrhs = 2,
                          .x = x,
                          .x_row = 2,
                          .x_column = 1,
                          .y = y,
                          .y_row = 2,
                          .y_column = 1,
                          .alpha = {1, 0},
                          .beta = {1, 0}};
  reports = 0;
  const run_outcome got = run_spmv("d", &s, g->count, &grid);
  CHECK_MSG(got.ended, "%s", got.problem);
  return reports;
}

int main(void) {
  const tsi_fsai_limits grows = {.steps = 3, .per_step = 3, .postfilter = 0.1}, stays = {.per_step = 1};
  CLEANUP(hermitian_free)
  hermitian a = hermitian_create(triangle_create(TRIANGLE_RANDOM, 24, 2), &typed_double, 0.9, 5);
  device_inverse d = device_inverse_create(&a, &grows, NULL),
                 given = device_inverse_create(&a, &stays, &a.lower);
  CHECK(count_races(&a, &d, GPU_NO_FAULT) == 0);
  CHECK(count_races_of_lists(&d) == 0);
  CHECK(count_races_of_product(&d) == 0);
  CHECK(count_races_of_adjoint(&d) == 0);
  CHECK(count_races(&a, &given, GPU_NO_FAULT) == 0);
  static const tsi_index last[] = {22, 23}; /* each report takes time */
  d.rows.row = last;
  d.rows.count = 2;
  CHECK(count_races(&a, &d, GPU_FAULT_BARRIER) > 0);
  CHECK(count_races(&a, &d, GPU_FAULT_WARP_BARRIER) > 0);
  device_inverse_free(&d);
  device_inverse_free(&given);
  return 0;
}
