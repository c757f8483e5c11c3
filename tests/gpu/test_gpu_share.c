/* By the cost model, solves with factors of 0.5 GB and more use at least 35 % of an H100's bandwidth, for
 * each of the six families of matrices of Liu, Ding, Sao, Williams, Li (SC 2023). Factors are structures
 * without values: nothing reads them. */
#include <string.h>

#include "runtime/machine/devices.h"
#include "runtime/solve/device_choice.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tristar_matrix.h"

static const struct {
  const char *kind;
  int64_t size;
} matrices[] = {{"s2d9pt", 1024},  {"kkt3d", 37},  {"elasticity3d", 30},
                {"maxwell3d", 35}, {"chem3d", 33}, {"fusion2d", 101}};

static const tsi_device *find_device(const char *name) {
  const tsi_device *device;
  for (int k = 0; (device = tsi_device_get(k)) != NULL; k++)
    if (strcmp(device->name, name) == 0) return device;
  CHECK_MSG(false, "no device %s", name);
  return NULL;
}

static void check_share(tristar_t *ts, const tsi_device *device, const char *kind, int64_t size) {
  const tsi_device_costs costs = tsi_device_costs_of(device);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tsi_device_forecast best;
  tristar_view view = generated_view(ts, kind, size, &matrix);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, NULL);
  char values = 0;
  const tristar_factor_t factor = {
      .ts = ts, .analysis = analysis, .scalar_bytes = sizeof(double), .lower = &values, .upper = &values};
  CHECK_OK(tsi_device_choose(tsi_context_env(ts), &factor, &costs, &best));
  const double bytes = best.solve.factor_bytes / 2, share = 2 * bytes / best.solve.seconds / device->peak;
  CHECK_MSG(bytes >= 0.5e9, "%s:%d has a factor of %g bytes only", kind, (int)size, bytes);
  CHECK_MSG(share >= 0.35, "%s:%d: %.1f %% of the bandwidth", kind, (int)size, 100 * share);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  const tsi_device *device = find_device("H100");
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(false);
  for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++)
    RUN(check_share(ts, device, matrices[k].kind, matrices[k].size));
  return 0;
}
