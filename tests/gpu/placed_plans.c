/* Tests of solves with subtrees on emulated devices: whatever engine a test asks for, its plans have tasks on
 * cores and devices, where such plans can have them. Linked with --wrap=tristar_plan. What a test compares,
 * bits too, are then solves of such plans. */
#include <stdatomic.h>

#include "runtime/solve/places.h"
#include "tests/check.h"

/* Of the factor, for each of two devices: the cores have work as well. */
#define SHARE 0.3

tristar_status __real_tristar_plan(tristar_factor_t *factor, const tristar_plan_options *options,
                                   tristar_plan_t **plan);
tristar_status __wrap_tristar_plan(tristar_factor_t *factor, const tristar_plan_options *options,
                                   tristar_plan_t **plan);

static atomic_int placed;

tristar_status __wrap_tristar_plan(tristar_factor_t *factor, const tristar_plan_options *options,
                                   tristar_plan_t **plan) {
  tristar_plan_options o;
  tristar_factor_stats stats;
  if (factor == NULL || plan == NULL || tristar_factor_get_stats(factor, &stats) != TRISTAR_OK)
    return __real_tristar_plan(factor, options, plan);
  tristar_plan_options_init(&o);
  if (options) o = *options;
  o.engine = TRISTAR_ENGINE_TASKS;
  o.order_seed = 0;
  o.place = TRISTAR_PLACE_GPU;
  o.device_bytes = 1 + (int64_t)(SHARE * (double)stats.factor_bytes);
  if (tsi_places_obstacle(factor, &o)) return __real_tristar_plan(factor, options, plan);
  const tristar_status status = __real_tristar_plan(factor, &o, plan);
  if (status == TRISTAR_OK && tristar_plan_get_subtree(*plan, 0, NULL)) atomic_fetch_add(&placed, 1);
  return status;
}

/* A test that has no such plan tests nothing here. */
__attribute__((destructor)) static void check_placed(void) {
  if (atomic_load(&placed) > 0) return;
  fputs("no plan had a subtree on a device\n", stderr);
  _Exit(1);
}
