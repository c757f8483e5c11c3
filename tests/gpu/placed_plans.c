/* Tests of solves with subtrees on emulated devices. Plans have tasks on cores and devices, if they support
 * it, for any engine that a test requests. Linked with --wrap=tristar_plan. The comparisons of the test, bits
 * too, then apply to solves of these plans. */
#include <stdatomic.h>

#include "runtime/solve/device_split_options.h"
#include "tests/support/check.h"
#include "tristar_device.h"

/* Memory of each of two devices, as a fraction of what all subtrees need, so that the cores also have
 * work. If no subtree fits in it, as for a factor of one supernode, devices have all their memory. */
#define SHARE 0.3

tristar_status __real_tristar_plan(tristar_factor_t *factor, const tristar_plan_options *options,
                                   tristar_plan_t **plan);
tristar_status __wrap_tristar_plan(tristar_factor_t *factor, const tristar_plan_options *options,
                                   tristar_plan_t **plan);

static atomic_int placed;

/* Computes the bytes that devices need if all subtrees fit. */
static tristar_status needed(tristar_factor_t *factor, const tristar_plan_options *options, double *bytes) {
  tristar_plan_t *plan;
  tristar_device_stats d;
  const tristar_status status = __real_tristar_plan(factor, options, &plan);
  *bytes = 0;
  if (status != TRISTAR_OK) return status;
  for (int i = 0; tristar_plan_get_device(plan, i, &d); i++)
    *bytes += d.factor_bytes + d.table_bytes + d.workspace_bytes;
  tristar_plan_destroy(&plan);
  return TRISTAR_OK;
}

static bool has_device_subtree(const tristar_plan_t *plan) {
  return tristar_plan_get_subtree(plan, 0, NULL) > 0;
}

tristar_status __wrap_tristar_plan(tristar_factor_t *factor, const tristar_plan_options *options,
                                   tristar_plan_t **plan) {
  tristar_plan_options o = DEFAULTS(tristar_plan_options);
  double bytes;
  if (factor == NULL || plan == NULL) return __real_tristar_plan(factor, options, plan);
  if (options) o = *options;
  o.engine = TRISTAR_ENGINE_TASKS;
  o.order_seed = 0;
  o.place = TRISTAR_PLACE_GPU;
  if (tsi_device_split_options_obstacle(factor, &o)) return __real_tristar_plan(factor, options, plan);
  *plan = NULL;
  tristar_status status = needed(factor, &o, &bytes);
  if (status != TRISTAR_OK) return status;
  o.device_bytes = 1 + (int64_t)(SHARE * bytes);
  status = __real_tristar_plan(factor, &o, plan);
  if (status == TRISTAR_OK && bytes > 0 && !has_device_subtree(*plan)) {
    tristar_plan_destroy(plan);
    o.device_bytes = 0;
    status = __real_tristar_plan(factor, &o, plan);
  }
  if (status == TRISTAR_OK && has_device_subtree(*plan)) atomic_fetch_add(&placed, 1);
  return status;
}

/* A test without such a plan would test nothing. */
__attribute__((destructor)) static void check_placed(void) {
  if (atomic_load(&placed) > 0) return;
  fputs("no plan had a subtree on a device\n", stderr);
  _Exit(1);
}
