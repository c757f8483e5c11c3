/* Check of distributed triangles: see spread_rows.h. */
#include "runtime/exec/device/spread_rows.h"

/* Finds the bundle in which each own row is solved, and counts the writes to slots. */
static tristar_status list_bundles(tsi_env *env, const tsi_spread_plan *plan, tsi_index *solved,
                                   tsi_index *made) {
  const tsi_gpu_spread *t = &plan->tables;
  for (tsi_index k = 0; k < t->bundles; k++)
    for (tsi_index item = t->bundle[k].first; item < t->bundle[k].first + t->bundle[k].items; item++) {
      const tsi_index row = t->row[item];
      const bool own = t->bundle[k].kind == TSI_SPREAD_ROWS;
      if (item >= plan->items || row < 0 || row >= (own ? plan->rows : plan->slots))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "item %d of bundle %d is row or slot %d", item, k, row);
      if (own)
        solved[row] = k;
      else
        made[row]++;
    }
  for (tsi_index slot = 0; slot < plan->slots; slot++)
    if (made[slot] != 1) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "slot %d is written %d times", slot, made[slot]);
  return TRISTAR_OK;
}

static tristar_status check_items(tsi_env *env, const tsi_lines *lines, const tsi_spread_plan *plan,
                                  const tsi_index *solved, tsi_index *times) {
  const tsi_gpu_spread *t = &plan->tables;
  for (tsi_index k = 0; k < t->bundles; k++) {
    const tsi_spread_bundle *b = &t->bundle[k];
    if (b->items > TSI_SPREAD_BUNDLE / t->threads)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "bundle %d has %d items", k, b->items);
    for (tsi_index e = t->begin[b->first]; e < t->begin[b->first + b->items]; e++) {
      const tsi_index column = t->column[e];
      if (column < 0 || column >= plan->rows || solved[column] >= k)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "bundle %d reads row %d, which is solved later", k, column);
      if (plan->order[column] != lines->index[plan->source[e]])
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "entry %d has another column", e);
      times[plan->source[e]]++;
    }
  }
  return TRISTAR_OK;
}

tristar_status tsi_spread_check(tsi_env *env, const tsi_lines *lines, const tsi_spread_options *options,
                                const tsi_spread_plan *plan) {
  TSI_SCRATCH_ZERO(env, tsi_index, solved, plan->rows);
  TSI_SCRATCH_ZERO(env, tsi_index, made, plan->slots);
  TSI_SCRATCH_ZERO(env, tsi_index, times, lines->ptr[lines->n]);
  TSI_TRY(list_bundles(env, plan, solved, made));
  TSI_TRY(check_items(env, lines, plan, solved, times));
  for (tsi_index i = 0; i < lines->n; i++) {
    tsi_count e, end;
    for (tsi_lines_inner(lines, i, &e, &end); e < end; e++)
      if (times[e] != (options->owner[lines->index[e]] == options->pe))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "entry %lld is in %d items", (long long)e, times[e]);
  }
  return TRISTAR_OK;
}
