/* Verifies the invariants of placings: see device_split.h. */
#include "partition/device/device_split.h"

#include <math.h>

/* Finds the root of the subtree with supernode s; TSI_NONE: s is an ancestor. root: already set for
 * parents. */
static tristar_status find_root(tsi_env *env, const tsi_symbolic *symbolic, tsi_index s, bool is_root,
                                tsi_index *root) {
  const tsi_index parent = symbolic->parent[s], above = parent == TSI_NONE ? TSI_NONE : root[parent];
  if (is_root && above != TSI_NONE)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "subtree %d is in subtree %d", s, above);
  root[s] = is_root ? s : above;
  return TRISTAR_OK;
}

/* For sums of whole bytes, or of estimates in another order. */
static bool is_near(double a, double b) {
  return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

static tristar_status check_subtree(tsi_env *env, const tsi_device_split *placing,
                                    const tsi_symbolic *symbolic, const tsi_panels *panels,
                                    const tsi_device_split_costs *costs, tsi_index k, const tsi_index *root) {
  const tsi_split_subtree *t = &placing->subtree[k];
  const double seconds = t->device == TSI_NONE ? 0 : 2 * tsi_device_split_device_seconds(costs, t);
  tsi_index columns = 0;
  double entries = 0, bytes = 0, extra = 0, scratch = 0;
  for (tsi_index s = 0; s <= t->root; s++) {
    if (root[s] != t->root) continue;
    if (costs->shared && costs->shared[s])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "supernode %d in subtree %d is shared", s, t->root);
    columns += symbolic->start[s + 1] - symbolic->start[s];
    for (tsi_index p = panels->first[s]; p < panels->first[s + 1]; p++)
      entries += (double)tsi_panel_entries(panels, p);
    bytes += costs->stored[s];
    extra += costs->extra ? costs->extra[s] : 0;
    scratch += costs->scratch ? costs->scratch[s] : 0;
  }
  if (t->columns != columns || t->entries != entries || t->bytes != bytes || t->seconds != seconds ||
      t->border != tsi_device_split_border(costs, symbolic, t->root) ||
      !is_near(t->memory, tsi_device_split_memory(costs, bytes, extra, t->border)) ||
      !is_near(t->scratch, scratch + t->border * costs->border_scratch) ||
      (t->device != TSI_NONE && (t->device < 0 || t->device >= placing->devices)))
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "subtree %d on device %d: %d columns, a border of %d, %g entries",
             t->root, t->device, t->columns, t->border, t->entries);
  return TRISTAR_OK;
}

static tristar_status check_loads(tsi_env *env, const tsi_device_split *placing,
                                  const tsi_device_split_costs *costs) {
  for (tsi_index d = 0; d < placing->devices; d++) {
    const tsi_device_load *load = &placing->load[d];
    tsi_device_load sum = {0};
    for (tsi_index k = 0; k < placing->count; k++)
      if (placing->subtree[k].device == d) tsi_device_load_add(costs, &placing->subtree[k], &sum);
    if (sum.subtrees != load->subtrees || sum.bytes != load->bytes || sum.up != load->up ||
        sum.down != load->down || sum.seconds != load->seconds || sum.memory != load->memory ||
        sum.scratch != load->scratch || tsi_device_load_memory(load) > costs->device_memory)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "device %d: %d subtrees of %g bytes, %g bytes up, %g down", d,
               load->subtrees, load->bytes, load->up, load->down);
  }
  return TRISTAR_OK;
}

/* schedule: a new one. */
static tristar_status check_times(tsi_env *env, const tsi_device_split *placing,
                                  const tsi_device_split_costs *costs, tsi_device_split_schedule *schedule) {
  tsi_device_split_times t;
  TSI_TRY(tsi_device_split_schedule_run(env, schedule, placing->subtree, placing->count, &t));
  if (placing->seconds != 2 * t.end || placing->cores_seconds != 2 * t.cores ||
      placing->above_seconds != 2 * (t.end - t.subtrees))
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL,
             "the schedule of a sweep takes %g s, %g s for subtrees; placed: %g s, %g s above", t.end,
             t.subtrees, placing->seconds, placing->above_seconds);
  if (!costs->devices_first && placing->seconds > placing->only_cores)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "placed %g s, the cores alone %g s", placing->seconds,
             placing->only_cores);
  return TRISTAR_OK;
}

tristar_status tsi_device_split_check(tsi_env *env, const tsi_device_split *placing,
                                      const tsi_symbolic *symbolic, const tsi_panels *panels,
                                      const tsi_device_split_costs *costs) {
  TSI_OWNED tsi_device_split_schedule *schedule = NULL;
  TSI_SCRATCH_ZERO(env, bool, is_root, symbolic->count);
  TSI_SCRATCH(env, tsi_index, root, symbolic->count);
  for (tsi_index k = 0; k < placing->count; k++) is_root[placing->subtree[k].root] = true;
  for (tsi_index s = symbolic->count; s-- > 0;) TSI_TRY(find_root(env, symbolic, s, is_root[s], root));
  for (tsi_index k = 0; k < placing->count; k++)
    TSI_TRY(check_subtree(env, placing, symbolic, panels, costs, k, root));
  TSI_TRY(check_loads(env, placing, costs));
  TSI_TRY(tsi_device_split_schedule_create(env, symbolic, panels, costs, &schedule));
  return check_times(env, placing, costs, schedule);
}
