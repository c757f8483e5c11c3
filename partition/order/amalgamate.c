/* Merges small supernodes and numbers what comes out: see amalgamate.h. */
#include "partition/order/amalgamate.h"

#include "partition/order/etree.h"

/* What lives only meanwhile. */
typedef struct work {
  const tsi_supernode_tree *tree;
  tsi_index *group;           /* topmost supernode merged with each */
  tsi_index *rows;            /* of each group, at its topmost member */
  tsi_supernode_tree *merged; /* the groups, in the order of their topmost members */
  tsi_index *merged_of;       /* merged supernode of each */
  tsi_index *final;           /* final number of each merged supernode */
} work;

/* The tree of the groups. A group's number is the rank of its topmost member, so parents stay behind. */
static tristar_status merge_groups(work *w) {
  const tsi_supernode_tree *tree = w->tree;
  TSI_TRY(TSI_ALLOC_IN(w, w->merged_of, tree->count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(w, w->merged, 1));
  tsi_supernode_tree *merged = w->merged;
  for (tsi_index f = 0; f < tree->count; f++)
    if (w->group[f] == f) w->merged_of[f] = merged->count++;
  for (tsi_index f = 0; f < tree->count; f++) w->merged_of[f] = w->merged_of[w->group[f]];
  TSI_TRY(TSI_ALLOC_ZERO_IN(merged, merged->columns, merged->count));
  TSI_TRY(TSI_ALLOC_IN(merged, merged->parent, merged->count));
  TSI_TRY(TSI_ALLOC_IN(merged, merged->rows, merged->count));
  for (tsi_index f = 0; f < tree->count; f++) {
    tsi_index m = w->merged_of[f];
    merged->columns[m] += tree->columns[f];
    if (w->group[f] != f) continue;
    merged->parent[m] = tree->parent[f] == TSI_NONE ? TSI_NONE : w->merged_of[tree->parent[f]];
    merged->rows[m] = w->rows[f];
  }
  return TRISTAR_OK;
}

/* The final postorder of the groups, heaviest subtree first; final[m] is the new number. */
static tristar_status order_groups(tsi_env *env, work *w, tsi_index *order) {
  const tsi_supernode_tree *merged = w->merged;
  TSI_SCRATCH_ZERO(env, tsi_count, weight, merged->count); /* stored entries of the subtree */
  TSI_TRY(TSI_ALLOC_IN(w, w->final, merged->count));
  for (tsi_index m = 0; m < merged->count; m++) {
    tsi_count columns = merged->columns[m];
    weight[m] += columns * (columns + 1) / 2 + columns * merged->rows[m];
    if (merged->parent[m] != TSI_NONE) weight[merged->parent[m]] += weight[m];
  }
  TSI_TRY(tsi_postorder(env, merged->count, merged->parent, weight, order));
  for (tsi_index s = 0; s < merged->count; s++) w->final[order[s]] = s;
  return TRISTAR_OK;
}

/* Takes the groups over into the result, in their final order; column_order[k]: the column that becomes k. */
static tristar_status number_supernodes(tsi_env *env, work *w, tsi_symbolic *sy, tsi_index *column_order) {
  const tsi_supernode_tree *merged = w->merged;
  sy->count = merged->count;
  TSI_SCRATCH(env, tsi_index, order, sy->count);
  TSI_TRY(order_groups(env, w, order));
  TSI_SCRATCH(env, tsi_index, next, sy->count);
  TSI_TRY(TSI_ALLOC_IN(sy, sy->start, sy->count + 1));
  TSI_TRY(TSI_ALLOC_IN(sy, sy->parent, sy->count));
  TSI_TRY(TSI_ALLOC_IN(sy, sy->row_ptr, sy->count + 1));
  sy->start[0] = 0;
  sy->row_ptr[0] = 0;
  for (tsi_index s = 0; s < sy->count; s++) {
    tsi_index m = order[s], up = merged->parent[m];
    tsi_count columns = merged->columns[m];
    sy->start[s + 1] = sy->start[s] + merged->columns[m];
    sy->parent[s] = up == TSI_NONE ? TSI_NONE : w->final[up];
    sy->row_ptr[s + 1] = sy->row_ptr[s] + merged->rows[m];
    sy->nnz_stored += columns * (columns + 1) / 2 + columns * merged->rows[m];
    next[s] = sy->start[s];
  }
  for (tsi_index f = 0, j = 0; f < w->tree->count; f++) {
    tsi_index s = w->final[w->merged_of[f]];
    for (tsi_index c = 0; c < w->tree->columns[f]; c++) column_order[next[s]++] = j++;
  }
  return TRISTAR_OK;
}

tristar_status tsi_amalgamate(tsi_env *env, const tsi_supernode_tree *tree, const tsi_index *part,
                              double relax, tsi_symbolic *sy, tsi_index *column_order) {
  TSI_SCRATCH(env, work, w, 1);
  *w = (work){.tree = tree};
  TSI_TRY(TSI_ALLOC_IN(w, w->group, tree->count));
  TSI_TRY(TSI_ALLOC_IN(w, w->rows, tree->count));
  TSI_TRY(tsi_supernodes_merge(env, tree, part, relax, w->group, w->rows));
  TSI_TRY(merge_groups(w));
  return number_supernodes(env, w, sy, column_order);
}
