/* Elimination trees: see etree.h. */
#include "partition/order/etree.h"

tristar_status tsi_etree(tsi_env *env, const tsi_graph *graph, const tsi_index *perm,
                         const tsi_index *inverse, tsi_index *parent) {
  TSI_SCRATCH(env, tsi_index, ancestor, graph->n); /* an ancestor, for short cuts on paths */
  TSI_SCRATCH(env, tsi_index, below, graph->n);
  for (tsi_index k = 0; k < graph->n; k++) {
    const tsi_index count = tsi_graph_list_below(graph, inverse, perm[k], k, below);
    parent[k] = TSI_NONE;
    ancestor[k] = TSI_NONE;
    for (tsi_index c = 0; c < count; c++) {
      tsi_index i = below[c];
      while (ancestor[i] != TSI_NONE && ancestor[i] != k) {
        tsi_index up = ancestor[i];
        ancestor[i] = k;
        i = up;
      }
      if (ancestor[i] == TSI_NONE) {
        ancestor[i] = k;
        parent[i] = k;
      }
    }
  }
  return TRISTAR_OK;
}

/* Merges two lists of nodes, heaviest first; of equal nodes the one of list a comes first. */
static tsi_index merge_lists(const tsi_count *weight, tsi_index *next, tsi_index a, tsi_index b) {
  tsi_index first, *end = &first;
  while (a != TSI_NONE && b != TSI_NONE) {
    tsi_index *from = weight[b] > weight[a] ? &b : &a;
    *end = *from;
    end = &next[*from];
    *from = *end;
  }
  *end = a != TSI_NONE ? a : b;
  return first;
}

/* Sorts the first `count` nodes of a list, heaviest first, stably. *rest: the node behind them. */
static tsi_index sort_list(const tsi_count *weight, tsi_index *next, tsi_index list, tsi_index count,
                           tsi_index *rest) {
  if (count == 1) {
    *rest = next[list];
    next[list] = TSI_NONE;
    return list;
  }
  const tsi_index first = sort_list(weight, next, list, count / 2, &list);
  const tsi_index second = sort_list(weight, next, list, count - count / 2, rest);
  return merge_lists(weight, next, first, second);
}

/* Lists of children: head[parent], next[child]; slot n of head holds the roots. The heaviest comes first;
 * among equals, or without weights, the lowest number. */
static void list_children(tsi_index n, const tsi_index *parent, const tsi_count *weight, tsi_index *head,
                          tsi_index *next) {
  for (tsi_index j = 0; j <= n; j++) head[j] = TSI_NONE;
  for (tsi_index j = n - 1; j >= 0; j--) {
    tsi_index up = parent[j] == TSI_NONE ? n : parent[j];
    next[j] = head[up];
    head[up] = j;
  }
  for (tsi_index up = 0; weight != NULL && up <= n; up++) {
    tsi_index count = 0, rest;
    for (tsi_index child = head[up]; child != TSI_NONE; child = next[child]) count++;
    if (count > 1) head[up] = sort_list(weight, next, head[up], count, &rest);
  }
}

tristar_status tsi_postorder(tsi_env *env, tsi_index n, const tsi_index *parent, const tsi_count *weight,
                             tsi_index *order) {
  TSI_SCRATCH(env, tsi_index, head, n + 1);
  TSI_SCRATCH(env, tsi_index, next, n);
  list_children(n, parent, weight, head, next);
  tsi_index k = 0;
  tsi_index at = n; /* the node whose children are being visited; n: the parent of the roots */
  while (at != TSI_NONE) {
    tsi_index child = head[at];
    if (child != TSI_NONE) {
      head[at] = next[child];
      at = child;
    } else if (at == n) {
      at = TSI_NONE;
    } else {
      order[k++] = at;
      at = parent[at] == TSI_NONE ? n : parent[at];
    }
  }
  return TRISTAR_OK;
}

/* The root of i's tree in a disjoint-set forest, with path halving. */
static tsi_index find(tsi_index *up, tsi_index i) {
  while (up[i] != i) {
    up[i] = up[up[i]];
    i = up[i];
  }
  return i;
}

/* State of a row in the sweep over the columns. */
typedef struct row_state {
  tsi_index last_column; /* the latest column with an entry in this row */
  tsi_index last_leaf;   /* the latest leaf of this row's subtree */
} row_state;

/* The columns of L with an entry in row i form a subtree of the elimination tree. Its leaves j are the
 * columns of A's row i that have no other column of this row below them. A leaf adds 1 to the count of each
 * column from j upwards. If two such paths meet, the column where they meet is corrected by -1. */
static void count_leaves(tsi_index n, const tsi_index *parent, const tsi_count *ptr, const tsi_index *row,
                         row_state *state, const tsi_index *first, tsi_index *set, tsi_index *count) {
  for (tsi_index j = 0; j < n; j++) {
    tsi_index up = parent[j];
    if (up != TSI_NONE) count[up]--; /* the row of j itself ends at j */
    for (tsi_count p = ptr[j]; p < ptr[j + 1]; p++) {
      row_state *r = &state[row[p]];
      if (r->last_column < first[j]) {
        count[j]++;
        if (r->last_leaf != TSI_NONE) count[find(set, r->last_leaf)]--;
        r->last_leaf = j;
      }
      r->last_column = j;
    }
    if (up != TSI_NONE) set[j] = up;
  }
}

tristar_status tsi_column_counts(tsi_env *env, tsi_index n, const tsi_index *parent, const tsi_count *ptr,
                                 const tsi_index *row, tsi_index *count) {
  TSI_SCRATCH(env, tsi_index, first, n); /* lowest number in the subtree of j */
  TSI_SCRATCH(env, tsi_index, set, n);
  TSI_SCRATCH(env, row_state, state, n);
  for (tsi_index j = 0; j < n; j++) {
    first[j] = set[j] = j;
    state[j] = (row_state){TSI_NONE, TSI_NONE};
  }
  for (tsi_index j = 0; j < n; j++) {
    count[j] = first[j] == j; /* a leaf of the elimination tree starts with its diagonal entry */
    if (parent[j] != TSI_NONE) first[parent[j]] = tsi_index_min(first[parent[j]], first[j]);
  }
  count_leaves(n, parent, ptr, row, state, first, set, count);
  for (tsi_index j = 0; j < n; j++)
    if (parent[j] != TSI_NONE) count[parent[j]] += count[j];
  return TRISTAR_OK;
}

tristar_status tsi_tree_height(tsi_env *env, tsi_index n, const tsi_index *parent, tsi_index *height) {
  *height = 0;
  TSI_SCRATCH_ZERO(env, tsi_index, below, n); /* nodes on the longest path below j */
  for (tsi_index j = 0; j < n; j++) {
    if (parent[j] != TSI_NONE) below[parent[j]] = tsi_index_max(below[parent[j]], below[j] + 1);
    *height = tsi_index_max(*height, below[j] + 1);
  }
  return TRISTAR_OK;
}
