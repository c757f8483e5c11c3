/* The records of a plan: see objects.h. */
#include <math.h>

#include "runtime/save/objects.h"

typedef struct saved_plan {
  tristar_plan_options options;
  tsi_chunk_options cut;
} saved_plan;

#define L(member) TSI_FIELD(saved_plan, member)
static const tsi_field plan_fields[] = {
    L(options.engine),
    L(options.nrhs),
    L(options.chunk_bytes_min),
    L(options.chunk_bytes_max),
    L(options.order_seed),
    L(options.placement),
    L(options.scheduling),
    L(options.updates),
    L(options.granularity),
    L(options.kernel),
    L(options.place),
    L(options.device_bytes),
    L(options.device_solves),
    L(options.refine),
    L(options.fuse_columns),
    L(options.storage),
    L(options.accuracy),
    L(options.compress),
    L(cut.floor_bytes),
    L(cut.ceiling_bytes),
    L(cut.group_bytes),
    L(cut.panel_bytes),
    L(cut.slice_bytes),
    L(cut.whole_bytes),
    L(cut.single),
};

tristar_status tsi_plan_put(tsi_sink *sink, const tristar_plan_t *plan) {
  const saved_plan saved = {.options = plan->options, .cut = plan->cut};
  TSI_TRY(tsi_factor_put(sink, plan->factor));
  return TSI_PUT_FIELDS(sink, "plan", plan_fields, &saved);
}

tristar_status tsi_plan_take(tsi_source *source, tristar_factor_t *factor, tristar_plan_t **out) {
  saved_plan saved = {.cut.scalar_bytes = factor->scalar_bytes};
  *out = NULL;
  tristar_plan_options_init(&saved.options);
  TSI_TRY(TSI_TAKE_FIELDS(source, "plan", plan_fields, &saved));
  const double weight[] = {saved.cut.floor_bytes, saved.cut.ceiling_bytes, saved.cut.group_bytes,
                           saved.cut.panel_bytes, saved.cut.slice_bytes,   saved.cut.whole_bytes};
  for (size_t k = 0; k < sizeof weight / sizeof *weight; k++)
    if (!isfinite(weight[k]) || weight[k] < 0)
      TSI_DAMAGED(source, "weight %zu of the chunks is %g", k, weight[k]);
  return tsi_plan_cut(factor, &saved.options, &saved.cut, out);
}
