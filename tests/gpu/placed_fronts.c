/* Tests of factorizations with fronts on emulated devices. In each factorization of a test, fronts of a few
 * hundred operations or more are cut into tiles and placed on devices, if StarPU may be used. Linked with
 * --wrap=tristar_factor. The checks of the test then apply to these factors. */
#include <stdatomic.h>

#include "runtime/factor/factor.h"
#include "runtime/exec/starpu/tasks.h"
#include "tests/support/check.h"

static const tsi_factorization_options small = {16, 500, 2e4, 0};

tristar_status __real_tristar_factor(tristar_analysis_t *analysis, const void *values,
                                     tristar_factor_t **factor);
tristar_status __wrap_tristar_factor(tristar_analysis_t *analysis, const void *values,
                                     tristar_factor_t **factor);

static atomic_llong placed;

tristar_status __wrap_tristar_factor(tristar_analysis_t *analysis, const void *values,
                                     tristar_factor_t **factor) {
  tristar_factor_stats stats;
  if (analysis && analysis->ts->workers.allowed && tsi_tasks_may_wait()) {
    analysis->ts->fronts = small;
    analysis->options.place = TRISTAR_PLACE_GPU;
  }
  const tristar_status status = __real_tristar_factor(analysis, values, factor);
  if (status == TRISTAR_OK && tristar_factor_get_stats(*factor, &stats) == TRISTAR_OK)
    atomic_fetch_add(&placed, stats.device_fronts);
  return status;
}

/* A test without such a front would test nothing. */
__attribute__((destructor)) static void check_placed(void) {
  if (atomic_load(&placed) > 0) return;
  fputs("no front was on a device\n", stderr);
  _Exit(1);
}
