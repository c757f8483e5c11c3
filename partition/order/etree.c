/* Elimination trees: see etree.h. */
#include "partition/order/etree.h"

#include <stdlib.h>

tristar_status tsi_etree(tsi_env *env, const tsi_graph *graph, const tsi_index *perm,
                         const tsi_index *inverse, tsi_index *parent) {
  TSI_SCRATCH(env, tsi_index, ancestor, graph->n); /* a known ancestor, where paths are cut short */
  for (tsi_index k = 0; k < graph->n; k++) {
    tsi_index v = perm[k];
    parent[k] = TSI_NONE;
    ancestor[k] = TSI_NONE;
    for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) {
      tsi_index i = inverse[graph->adj[p]];
      if (i > k) continue;
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

typedef struct weighted {
  tsi_count weight;
  tsi_index node;
} weighted;

/* Lightest first; among equals the highest number first. */
static int compare_weighted(const void *pa, const void *pb) {
  const weighted *a = pa, *b = pb;
  if (a->weight != b->weight) return a->weight < b->weight ? -1 : 1;
  return a->node > b->node ? -1 : 1;
}

/* Lists of children: head[parent], next[child]; slot n of head holds the roots. Nodes are pushed to the
 * front, the one that comes first last. */
static tristar_status list_children(tsi_env *env, tsi_index n, const tsi_index *parent,
                                    const tsi_count *weight, tsi_index *head, tsi_index *next) {
  TSI_OWNED weighted *sorted = NULL;
  if (weight) {
    TSI_TRY(TSI_ALLOC(env, sorted, n));
    for (tsi_index j = 0; j < n; j++) sorted[j] = (weighted){weight[j], j};
    qsort(sorted, (size_t)n, sizeof *sorted, compare_weighted);
  }
  for (tsi_index j = 0; j <= n; j++) head[j] = TSI_NONE;
  for (tsi_index k = 0; k < n; k++) {
    tsi_index j = weight ? sorted[k].node : n - 1 - k;
    tsi_index up = parent[j] == TSI_NONE ? n : parent[j];
    next[j] = head[up];
    head[up] = j;
  }
  return TRISTAR_OK;
}

tristar_status tsi_postorder(tsi_env *env, tsi_index n, const tsi_index *parent, const tsi_count *weight,
                             tsi_index *order) {
  TSI_SCRATCH(env, tsi_index, head, n + 1);
  TSI_SCRATCH(env, tsi_index, next, n);
  TSI_TRY(list_children(env, n, parent, weight, head, next));
  tsi_index k = 0;
  tsi_index at = n; /* the node whose children are being visited; n: above the roots */
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

/* What the sweep over the columns knows about a row. */
typedef struct row_state {
  tsi_index last_column; /* the latest column with an entry in this row */
  tsi_index last_leaf;   /* the latest leaf of this row's subtree */
} row_state;

/* The columns of L with an entry in row i form a subtree of the elimination tree. Its leaves j are those
 * columns of A's row i without another such column below them; a leaf adds 1 to the count of each column from
 * j upwards, and paths that meet are corrected by -1 where they meet. */
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
