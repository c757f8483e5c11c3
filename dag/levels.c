/* Sorts items into level sets: see levels.h. */
#include "dag/levels.h"

static tristar_status check_edges(tsi_env *env, tsi_index items, tsi_count edges, const tsi_edge *edge) {
  for (tsi_count e = 0; e < edges; e++)
    if (edge[e].before < 0 || edge[e].before >= edge[e].item || edge[e].item >= items)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "item %d of %d waits for item %d", edge[e].item, items,
               edge[e].before);
  return TRISTAR_OK;
}

/* Fills level (items); returns the number of levels. */
static tsi_index find_levels(tsi_index items, const tsi_adjacency *before, tsi_index *level) {
  tsi_index count = 0;
  for (tsi_index i = 0; i < items; i++) {
    level[i] = 0;
    for (tsi_count e = before->ptr[i]; e < before->ptr[i + 1]; e++)
      level[i] = tsi_index_max(level[i], level[before->list[e]] + 1);
    count = tsi_index_max(count, level[i] + 1);
  }
  return count;
}

/* Lists the items of each level, ascending. */
static void sort_items(tsi_levels *levels, tsi_index items, const tsi_index *level) {
  for (tsi_index i = 0; i < items; i++) levels->ptr[level[i] + 1]++;
  for (tsi_index l = 0; l < levels->count; l++) levels->ptr[l + 1] += levels->ptr[l];
  for (tsi_index i = 0; i < items; i++) levels->item[levels->ptr[level[i]]++] = i;
  for (tsi_index l = levels->count; l > 0; l--) levels->ptr[l] = levels->ptr[l - 1];
  levels->ptr[0] = 0;
}

tristar_status tsi_levels_create(tsi_env *env, tsi_index items, tsi_count edges, const tsi_edge *edge,
                                 tsi_levels **out) {
  TSI_OWNED tsi_adjacency *before = NULL;
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_levels, levels, 1);
  TSI_TRY(check_edges(env, items, edges, edge));
  TSI_TRY(tsi_adjacency_create(env, items, edges, edge, TSI_BEFORE, &before));
  TSI_SCRATCH(env, tsi_index, level, items);
  levels->count = find_levels(items, before, level);
  TSI_TRY(TSI_ALLOC_ZERO_IN(levels, levels->ptr, (tsi_count)levels->count + 1));
  TSI_TRY(TSI_ALLOC_IN(levels, levels->item, items));
  sort_items(levels, items, level);
  if (env->check) TSI_TRY(tsi_levels_check(env, levels, items, edges, edge));
  *out = tsi_take(&levels);
  return TRISTAR_OK;
}

tristar_status tsi_levels_check(tsi_env *env, const tsi_levels *levels, tsi_index items, tsi_count edges,
                                const tsi_edge *edge) {
  TSI_SCRATCH(env, tsi_index, level, items);
  TSI_SCRATCH_ZERO(env, bool, touches, items); /* The item waits for an item of the level before its own. */
  for (tsi_index i = 0; i < items; i++) level[i] = TSI_NONE;
  if (levels->ptr[0] != 0 || levels->ptr[levels->count] != items)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "levels hold %d of %d items", levels->ptr[levels->count], items);
  for (tsi_index l = 0; l < levels->count; l++)
    for (tsi_index q = levels->ptr[l]; q < levels->ptr[l + 1]; q++) {
      const tsi_index i = levels->item[q];
      if (i < 0 || i >= items || level[i] != TSI_NONE || (q > levels->ptr[l] && i <= levels->item[q - 1]))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "level %d lists item %d", l, i);
      level[i] = l;
    }
  for (tsi_count e = 0; e < edges; e++) {
    const tsi_index l = level[edge[e].item], before = level[edge[e].before];
    if (before >= l)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "item %d of level %d waits for item %d of level %d", edge[e].item,
               l, edge[e].before, before);
    touches[edge[e].item] |= before == l - 1;
  }
  for (tsi_index i = 0; i < items; i++)
    if (level[i] > 0 && !touches[i])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "item %d of level %d waits for none of the level before", i,
               level[i]);
  return TRISTAR_OK;
}
