/* Plans on two devices that have memory for all of the factor and what comes with it, for three quarters of
 * its panels, a half, a quarter, nothing: they solve as the serial executor does, with the same bits each
 * time; with less memory no more of the factor is on devices, and what plans tell adds up. */
#include <math.h>

#include "tests/flow.h"

enum { SHARES = 5 };

static double solve_differs(const flow *f, tristar_plan_t *plan, const double *expected) {
  const int64_t n = f->view.rows;
  double *b = malloc((size_t)n * sizeof *b), *x = malloc((size_t)n * sizeof *x),
         *again = malloc((size_t)n * sizeof *x);
  double worst = 0;
  CHECK(b && x && again);
  fill_random(b, n, 3);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, x, n));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, again, n));
  CHECK(memcmp(x, again, (size_t)n * sizeof *x) == 0);
  for (int64_t i = 0; i < n; i++) worst = larger_error(worst, fabs(x[i] - expected[i]));
  free(b);
  free(x);
  free(again);
  return worst;
}

/* Of the factor, what the subtrees on devices have; the devices tell the same, none of them more than `room`.
 */
static double placed_bytes(const tristar_plan_t *plan, double room) {
  tristar_subtree_stats subtree;
  tristar_device_stats device;
  double bytes = 0, told = 0;
  for (int64_t k = 0; tristar_plan_get_subtree(plan, k, &subtree); k++) bytes += subtree.factor_bytes;
  for (int i = 0; tristar_plan_get_device(plan, i, &device); i++) {
    CHECK_MSG(device.factor_bytes <= room, "%g bytes on a device, %g are allowed", device.factor_bytes, room);
    told += device.factor_bytes;
  }
  CHECK(bytes == told);
  return bytes;
}

static void check_shares(tristar_t *ts, const char *kind, int64_t size) {
  static const double shares[SHARES] = {2, 0.75, 0.5, 0.25, 0};
  tristar_plan_options options;
  tristar_plan_stats stats;
  tristar_plan_t *plan;
  flow f;
  double before = INFINITY, unfit = 0;
  flow_create(ts, kind, size, TRISTAR_ENGINE_SERIAL, 0, &f);
  const int64_t n = f.view.rows;
  double *b = malloc((size_t)n * sizeof *b), *expected = malloc((size_t)n * sizeof *expected);
  CHECK(b && expected);
  fill_random(b, n, 3);
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 1, b, n, expected, n));
  tristar_factor_stats factor;
  CHECK_OK(tristar_factor_get_stats(f.factor, &factor));
  for (int k = 0; k < SHARES; k++) {
    tristar_plan_options_init(&options);
    options.place = TRISTAR_PLACE_GPU;
    options.device_bytes = 1 + (int64_t)(shares[k] * (double)factor.factor_bytes);
    CHECK_OK(tristar_plan(f.factor, &options, &plan));
    CHECK_OK(tristar_plan_get_stats(plan, &stats));
    const double placed = placed_bytes(plan, (double)options.device_bytes),
                 differs = solve_differs(&f, plan, expected);
    CHECK_MSG(differs <= 1e-10, "%s, %g of the panels: x differs by %g", kind, shares[k], differs);
    CHECK_MSG(placed <= before && stats.unfit_bytes >= unfit,
              "%s, %g of the panels: %g bytes, more memory: %g", kind, shares[k], placed, before);
    CHECK_MSG((placed > 0) == (shares[k] > 0) && (stats.devices > 0) == (placed > 0),
              "%s, %g of the panels: %g bytes on %d devices", kind, shares[k], placed, (int)stats.devices);
    CHECK((stats.unfit_bytes > 0) == (k > 0));
    before = placed;
    unfit = stats.unfit_bytes;
    tristar_plan_destroy(&plan);
  }
  free(b);
  free(expected);
  flow_destroy(&f);
}

int main(void) {
  tristar_t *ts;
  CHECK_OK(tristar_create(NULL, &ts));
  check_shares(ts, "s2d9pt", 30);
  check_shares(ts, "poisson3d7", 9);
  check_shares(ts, "convdiff3d", 8);
  check_shares(ts, "kkt3d", 5);
  tristar_destroy(&ts);
  return 0;
}
