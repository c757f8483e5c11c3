/* Verifies the invariants of a tsi_symbolic that symbolic.h lists, one function for each group of them.
 *
 * Every function relies only on properties that the functions before it have verified: broken structures are
 * reported, not followed. Time is O(n + nnz(A) + rows). */
#include "partition/order/ordering.h"
#include "partition/order/symbolic.h"

#define BROKEN(...) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "symbolic: " __VA_ARGS__)

/* Verifies that perm and inverse are permutations, inverse to each other. */
static tristar_status check_permutation(tsi_env *env, const tsi_symbolic *sy) {
  if (sy->n < 0) BROKEN("n = %d", sy->n);
  for (tsi_index k = 0; k < sy->n; k++) {
    tsi_index v = sy->perm[k];
    if (v < 0 || v >= sy->n) BROKEN("perm[%d] = %d is not in 0..%d", k, v, sy->n - 1);
    if (sy->inverse[v] != k) BROKEN("perm[%d] = %d, but inverse[%d] = %d", k, v, v, sy->inverse[v]);
  }
  return TRISTAR_OK;
}

/* Verifies that the columns are divided into nonempty runs. */
static tristar_status check_columns(tsi_env *env, const tsi_symbolic *sy) {
  if (sy->count < 0 || sy->start[0] != 0)
    BROKEN("%d supernodes, the first starts at column %d", sy->count, sy->start[0]);
  for (tsi_index s = 0; s < sy->count; s++)
    if (sy->start[s + 1] <= sy->start[s])
      BROKEN("supernode %d starts at column %d, the next one at %d", s, sy->start[s], sy->start[s + 1]);
  if (sy->start[sy->count] != sy->n)
    BROKEN("the supernodes end at column %d of %d", sy->start[sy->count], sy->n);
  return TRISTAR_OK;
}

/* Verifies that the rows of each supernode ascend, below its columns. */
static tristar_status check_rows(tsi_env *env, const tsi_symbolic *sy) {
  if (sy->row_ptr[0] != 0) BROKEN("row_ptr[0] = %lld", (long long)sy->row_ptr[0]);
  for (tsi_index s = 0; s < sy->count; s++) {
    if (sy->row_ptr[s + 1] < sy->row_ptr[s])
      BROKEN("row_ptr of supernode %d descends from %lld to %lld", s, (long long)sy->row_ptr[s],
             (long long)sy->row_ptr[s + 1]);
    tsi_index before = sy->start[s + 1] - 1;
    for (tsi_count p = sy->row_ptr[s]; p < sy->row_ptr[s + 1]; p++) {
      if (sy->rows[p] <= before || sy->rows[p] >= sy->n)
        BROKEN("row %d of supernode %d follows %d and must be in %d..%d", sy->rows[p], s, before,
               sy->start[s + 1], sy->n - 1);
      before = sy->rows[p];
    }
  }
  return TRISTAR_OK;
}

/* Verifies that parent is the supernode of the first row. */
static tristar_status check_parents(tsi_env *env, const tsi_symbolic *sy) {
  for (tsi_index s = 0; !sy->closed && s < sy->count; s++) /* before chains of parents are followed */
    if (sy->parent[s] != TSI_NONE && (sy->parent[s] <= s || sy->parent[s] >= sy->count))
      BROKEN("parent %d of supernode %d", sy->parent[s], s);
  for (tsi_index s = 0; s < sy->count; s++) {
    tsi_index up = sy->parent[s];
    if (!sy->closed) {
      for (tsi_count p = sy->row_ptr[s]; p < sy->row_ptr[s + 1]; p++) {
        while (up != TSI_NONE && sy->start[up + 1] <= sy->rows[p]) up = sy->parent[up];
        if (up == TSI_NONE || sy->rows[p] < sy->start[up])
          BROKEN("row %d of supernode %d is no column of an ancestor", sy->rows[p], s);
      }
      continue;
    }
    if (sy->row_ptr[s] == sy->row_ptr[s + 1]) {
      if (up != TSI_NONE) BROKEN("supernode %d has no rows, but parent %d", s, up);
      continue;
    }
    tsi_index first = sy->rows[sy->row_ptr[s]];
    if (up <= s || up >= sy->count || first < sy->start[up] || first >= sy->start[up + 1])
      BROKEN("parent %d of supernode %d does not hold its first row %d", up, s, first);
  }
  return TRISTAR_OK;
}

static tsi_count stored_entries(const tsi_symbolic *sy, tsi_index s) {
  tsi_count columns = sy->start[s + 1] - sy->start[s];
  return columns * (columns + 1) / 2 + columns * (sy->row_ptr[s + 1] - sy->row_ptr[s]);
}

/* Visits the children of `node` (TSI_NONE: the roots) from the last one, number `last`, down to `first`: each
 * must end where the next one begins, and must not be lighter than the next one. */
static tristar_status check_children(tsi_env *env, const tsi_symbolic *sy, tsi_index node, tsi_index first,
                                     tsi_index last, const tsi_index *size, const tsi_count *weight) {
  for (tsi_index c = last, next = TSI_NONE; c >= first; next = c, c -= size[c]) {
    if (sy->parent[c] != node)
      BROKEN("no postorder: the subtree of supernode %d holds %d, whose parent is %d", node, c,
             sy->parent[c]);
    if (sy->closed && next != TSI_NONE && weight[c] < weight[next])
      BROKEN("children %d (%lld entries) and %d (%lld) of supernode %d are not in the order of their weight",
             c, (long long)weight[c], next, (long long)weight[next], node);
  }
  return TRISTAR_OK;
}

/* Verifies that subtrees are contiguous, heavy ones first, and that the height is right. */
static tristar_status check_postorder(tsi_env *env, const tsi_symbolic *sy) {
  tsi_index highest = 0;
  TSI_SCRATCH_ZERO(env, tsi_index, size, sy->count);
  TSI_SCRATCH_ZERO(env, tsi_index, height, sy->count);
  TSI_SCRATCH_ZERO(env, tsi_count, weight, sy->count);
  for (tsi_index s = 0; s < sy->count; s++) { /* children come before their parents */
    tsi_index up = sy->parent[s];
    size[s]++;
    height[s]++;
    weight[s] += stored_entries(sy, s);
    highest = tsi_index_max(highest, height[s]);
    if (up == TSI_NONE) continue;
    size[up] += size[s];
    weight[up] += weight[s];
    height[up] = tsi_index_max(height[up], height[s]);
  }
  for (tsi_index s = 0; s < sy->count; s++)
    TSI_TRY(check_children(env, sy, s, s - size[s] + 1, s - 1, size, weight));
  TSI_TRY(check_children(env, sy, TSI_NONE, 0, sy->count - 1, size, weight));
  if (sy->tree_height != highest) BROKEN("tree_height = %d, must be %d", sy->tree_height, highest);
  if (sy->etree_height < highest || sy->etree_height > sy->n)
    BROKEN("etree_height = %d is not in %d..%d", sy->etree_height, highest, sy->n);
  return TRISTAR_OK;
}

/* Verifies that rows behind the parent's columns are rows of the parent. Both lists ascend. */
static tristar_status check_containment(tsi_env *env, const tsi_symbolic *sy) {
  for (tsi_index s = 0; sy->closed && s < sy->count; s++) {
    tsi_index up = sy->parent[s];
    if (up == TSI_NONE) continue;
    tsi_count q = sy->row_ptr[up];
    for (tsi_count p = sy->row_ptr[s]; p < sy->row_ptr[s + 1]; p++) {
      if (sy->rows[p] < sy->start[up + 1]) continue;
      while (q < sy->row_ptr[up + 1] && sy->rows[q] < sy->rows[p]) q++;
      if (q == sy->row_ptr[up + 1] || sy->rows[q] != sy->rows[p])
        BROKEN("row %d of supernode %d is missing in its parent %d", sy->rows[p], s, up);
    }
  }
  return TRISTAR_OK;
}

/* Verifies that each entry of A + A^T below the diagonal is in its supernode. */
static tristar_status check_entries(tsi_env *env, const tsi_symbolic *sy, const tsi_graph *graph) {
  if (graph == NULL) return TRISTAR_OK;
  if (graph->n != sy->n) BROKEN("n = %d, but the graph has %d vertices", sy->n, graph->n);
  TSI_SCRATCH(env, tsi_index, mark, sy->n); /* the latest supernode with this row */
  for (tsi_index i = 0; i < sy->n; i++) mark[i] = TSI_NONE;
  for (tsi_index s = 0; s < sy->count; s++) {
    for (tsi_index j = sy->start[s]; j < sy->start[s + 1]; j++) mark[j] = s;
    for (tsi_count p = sy->row_ptr[s]; p < sy->row_ptr[s + 1]; p++) mark[sy->rows[p]] = s;
    for (tsi_index j = sy->start[s]; j < sy->start[s + 1]; j++) {
      tsi_index v = sy->perm[j];
      for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) {
        tsi_index i = sy->inverse[graph->adj[p]];
        if (i > j && mark[i] != s) BROKEN("supernode %d has no row %d for the entry in column %d", s, i, j);
      }
    }
  }
  return TRISTAR_OK;
}

/* Verifies the totals. Operations do not count columns that are not eliminated: these are one root. */
static tristar_status check_totals(tsi_env *env, const tsi_symbolic *sy) {
  tsi_count stored = 0, of_root = 0;
  for (tsi_index s = 0; s < sy->count; s++) {
    stored += stored_entries(sy, s);
    if (sy->parent[s] == TSI_NONE && stored_entries(sy, s) > of_root) of_root = stored_entries(sy, s);
  }
  if (sy->nnz_stored != stored)
    BROKEN("nnz_stored = %lld, must be %lld", (long long)sy->nnz_stored, (long long)stored);
  if (sy->nnz_exact < sy->n || sy->nnz_exact > stored)
    BROKEN("nnz_exact = %lld is not in %d..%lld", (long long)sy->nnz_exact, sy->n, (long long)stored);
  if (!(sy->flops >= (double)(sy->nnz_exact - of_root)))
    BROKEN("flops = %g for %lld entries", sy->flops, (long long)sy->nnz_exact);
  return TRISTAR_OK;
}

/* Verifies that the parts form the top separator tree: a supernode's parent is in its own part or in an
 * ancestor. */
static tristar_status check_parts(tsi_env *env, const tsi_symbolic *sy) {
  tsi_index leaves = sy->leaf_parts, nodes = 2 * leaves - 1;
  if (leaves < 1 || leaves > TSI_MAX_LEAF_PARTS || (leaves & (leaves - 1)) != 0)
    BROKEN("leaf_parts = %d is no power of two", leaves);
  if (leaves == 1 && sy->part == NULL && sy->part_columns == NULL) return TRISTAR_OK;
  if (leaves == 1 || sy->part == NULL || sy->part_columns == NULL)
    BROKEN("leaf_parts = %d, part is %s, part_columns is %s", leaves, sy->part ? "set" : "NULL",
           sy->part_columns ? "set" : "NULL");
  TSI_SCRATCH(env, tsi_count, left, nodes); /* columns not yet visited */
  for (tsi_index t = 0; t < nodes; t++) left[t] = sy->part_columns[t];
  for (tsi_index s = 0; s < sy->count; s++)
    if (sy->part[s] < 0 || sy->part[s] >= nodes)
      BROKEN("part %d of supernode %d is not in 0..%d", sy->part[s], s, nodes - 1);
  for (tsi_index s = 0; s < sy->count; s++) {
    tsi_index t = sy->part[s];
    left[t] -= sy->start[s + 1] - sy->start[s];
    if (sy->parent[s] == TSI_NONE) continue;
    tsi_index above = sy->part[sy->parent[s]];
    while (t < above) t = tsi_separator_parent(leaves, t); /* ancestors have higher numbers */
    if (t != above)
      BROKEN("supernode %d of part %d has parent %d of part %d, which is not above", s, sy->part[s],
             sy->parent[s], above);
  }
  for (tsi_index t = 0; t < nodes; t++)
    if (left[t] != 0)
      BROKEN("part_columns[%d] = %d, the supernodes have %lld", t, sy->part_columns[t],
             sy->part_columns[t] - (long long)left[t]);
  return TRISTAR_OK;
}

tristar_status tsi_symbolic_check(tsi_env *env, const tsi_symbolic *symbolic, const tsi_graph *graph) {
  TSI_TRY(check_permutation(env, symbolic));
  TSI_TRY(check_columns(env, symbolic));
  TSI_TRY(check_rows(env, symbolic));
  TSI_TRY(check_parents(env, symbolic));
  TSI_TRY(check_postorder(env, symbolic));
  TSI_TRY(check_containment(env, symbolic));
  TSI_TRY(check_entries(env, symbolic, graph));
  TSI_TRY(check_totals(env, symbolic));
  return check_parts(env, symbolic);
}
