/* Symbolic factorization: see symbolic.h.
 *
 * The columns are renumbered three times: by the ordering, by a postorder of the column elimination tree, and
 * by the final postorder of the merged supernodes. Each renumbering keeps ancestors behind descendants, so
 * the filled graph stays the one of the ordering. */
#include "partition/order/symbolic.h"

#include "partition/order/amalgamate.h"
#include "partition/order/etree.h"
#include "partition/order/ordering.h"
#include "partition/order/separators.h"

/* What lives only while a tsi_symbolic is built. */
typedef struct work {
  const tsi_graph *graph;
  tsi_index *parent;        /* of each column */
  tsi_index *count;         /* entries of each column of L */
  tsi_index *part;          /* top separator node of each vertex; NULL: no such tree */
  tsi_index *column_part;   /* the same for each column */
  tsi_supernode_tree *tree; /* fundamental supernodes */
  tsi_index *tree_part;     /* top separator node of each of them */
} work;

void tsi_symbolic_options_init(tsi_symbolic_options *options) {
  *options = (tsi_symbolic_options){
      .ordering = TSI_ORDER_METIS, .given = NULL, .leaf_parts = 1, .seed = 1, .relax = 0.6};
}

/* Column k becomes the former column order[k], in the permutation and in the tree. */
static tristar_status renumber_columns(tsi_env *env, tsi_symbolic *sy, const tsi_index *order,
                                       tsi_index *parent) {
  const tsi_index n = sy->n;
  TSI_SCRATCH(env, tsi_index, old_perm, n);
  TSI_SCRATCH(env, tsi_index, old_parent, n);
  TSI_SCRATCH(env, tsi_index, rank, n);
  memcpy(old_perm, sy->perm, (size_t)n * sizeof *old_perm);
  memcpy(old_parent, parent, (size_t)n * sizeof *old_parent);
  for (tsi_index k = 0; k < n; k++) rank[order[k]] = k;
  for (tsi_index k = 0; k < n; k++) {
    tsi_index up = old_parent[order[k]];
    parent[k] = up == TSI_NONE ? TSI_NONE : rank[up];
    sy->perm[k] = old_perm[order[k]];
    sy->inverse[sy->perm[k]] = k;
  }
  return TRISTAR_OK;
}

/* Orders the vertices and makes the column elimination tree, its nodes numbered in postorder. */
static tristar_status order_columns(tsi_env *env, const tsi_symbolic_options *options, work *w,
                                    tsi_symbolic *sy) {
  const tsi_index n = sy->n;
  TSI_TRY(TSI_ALLOC_IN(sy, sy->perm, n));
  TSI_TRY(TSI_ALLOC_IN(sy, sy->inverse, n));
  TSI_TRY(TSI_ALLOC_IN(w, w->parent, n));
  TSI_SCRATCH(env, tsi_index, order, n);
  if (options->leaf_parts > 1 && options->leaf_parts <= TSI_MAX_LEAF_PARTS) {
    TSI_TRY(TSI_ALLOC_IN(w, w->part, n));
    TSI_TRY(TSI_ALLOC_IN(sy, sy->part_columns, 2 * options->leaf_parts - 1));
  }
  TSI_TRY(tsi_order(env, w->graph, options, sy->perm, w->part, sy->part_columns));
  sy->leaf_parts = options->leaf_parts;
  TSI_TRY(tsi_invert_permutation(env, n, sy->perm, sy->inverse));
  tsi_log(env, TRISTAR_LOG_PROGRESS, "symbolic: elimination tree of %d columns", n);
  TSI_TRY(tsi_etree(env, w->graph, sy->perm, sy->inverse, w->parent));
  TSI_TRY(tsi_postorder(env, n, w->parent, NULL, order));
  return renumber_columns(env, sy, order, w->parent);
}

/* The permuted lower triangle, column by column: row[ptr[j] .. ptr[j+1]-1] are the rows below the diagonal.
 */
static tristar_status lower_triangle(tsi_env *env, const tsi_graph *graph, const tsi_symbolic *sy,
                                     tsi_count **ptr, tsi_index **row) {
  tsi_count at = 0;
  TSI_TRY(TSI_ALLOC(env, *ptr, sy->n + 1));
  TSI_TRY(TSI_ALLOC(env, *row, graph->ptr[graph->n] / 2));
  for (tsi_index j = 0; j < sy->n; j++) {
    tsi_index v = sy->perm[j];
    (*ptr)[j] = at;
    for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) {
      tsi_index i = sy->inverse[graph->adj[p]];
      if (i > j) (*row)[at++] = i;
    }
  }
  (*ptr)[sy->n] = at;
  return TRISTAR_OK;
}

/* Column counts, and the sizes that follow from them. */
static tristar_status count_columns(tsi_env *env, work *w, tsi_symbolic *sy) {
  TSI_OWNED tsi_count *ptr = NULL;
  TSI_OWNED tsi_index *row = NULL;
  TSI_TRY(lower_triangle(env, w->graph, sy, &ptr, &row));
  TSI_TRY(TSI_ALLOC_IN(w, w->count, sy->n));
  TSI_TRY(tsi_column_counts(env, sy->n, w->parent, ptr, row, w->count));
  TSI_TRY(tsi_tree_height(env, sy->n, w->parent, &sy->etree_height));
  for (tsi_index j = 0; j < sy->n; j++) {
    sy->nnz_exact += w->count[j];
    sy->flops += (double)w->count[j] * w->count[j];
  }
  return TRISTAR_OK;
}

/* The top separator node of each column, if there is such a tree: that of the ordering, or one that is cut
 * from the elimination tree. */
static tristar_status find_parts(tsi_env *env, const tsi_symbolic_options *options, work *w,
                                 tsi_symbolic *sy) {
  if (w->part == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_IN(w, w->column_part, sy->n));
  if (options->ordering == TSI_ORDER_METIS) {
    for (tsi_index k = 0; k < sy->n; k++) w->column_part[k] = w->part[sy->perm[k]];
    return TRISTAR_OK;
  }
  TSI_TRY(tsi_separators_of_tree(env, sy->n, w->parent, w->count, sy->leaf_parts, w->column_part,
                                 sy->part_columns));
  for (tsi_index k = 0; k < sy->n; k++) w->part[sy->perm[k]] = w->column_part[k];
  return TRISTAR_OK;
}

/* Fundamental supernodes. */
static tristar_status find_supernodes(tsi_env *env, work *w, tsi_index n) {
  TSI_TRY(tsi_supernodes_create(env, n, w->parent, w->count, w->column_part, &w->tree));
  tsi_own(w, w->tree);
  if (w->column_part) {
    TSI_TRY(TSI_ALLOC_IN(w, w->tree_part, w->tree->count));
    tsi_index j = 0;
    for (tsi_index f = 0; f < w->tree->count; j += w->tree->columns[f++]) w->tree_part[f] = w->column_part[j];
  }
  return TRISTAR_OK;
}

/* The top separator node of each supernode. */
static tristar_status note_parts(const work *w, tsi_symbolic *sy) {
  if (w->part == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_IN(sy, sy->part, sy->count));
  for (tsi_index s = 0; s < sy->count; s++) sy->part[s] = w->part[sy->perm[sy->start[s]]];
  return TRISTAR_OK;
}

/* Row i of L is where the paths from the entries of A's row i up to i lead through: each supernode on them,
 * below i's own, gets row i. Rows come in ascending order, so the lists need no sorting. */
static tristar_status fill_rows(tsi_env *env, const tsi_graph *graph, tsi_symbolic *sy) {
  TSI_TRY(TSI_ALLOC_IN(sy, sy->rows, sy->row_ptr[sy->count]));
  TSI_SCRATCH(env, tsi_index, owner, sy->n);
  TSI_SCRATCH(env, tsi_index, mark, sy->count); /* the latest row that came by */
  TSI_SCRATCH(env, tsi_count, next, sy->count);
  for (tsi_index s = 0; s < sy->count; s++) {
    mark[s] = TSI_NONE;
    next[s] = sy->row_ptr[s];
    for (tsi_index j = sy->start[s]; j < sy->start[s + 1]; j++) owner[j] = s;
  }
  for (tsi_index i = 0; i < sy->n; i++) {
    tsi_index v = sy->perm[i];
    mark[owner[i]] = i;
    for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) {
      tsi_index j = sy->inverse[graph->adj[p]];
      if (j > i) continue;
      for (tsi_index s = owner[j]; mark[s] != i; s = sy->parent[s]) {
        if (next[s] == sy->row_ptr[s + 1] || sy->parent[s] == TSI_NONE)
          TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "supernode %d has more than the %lld rows counted", s,
                   (long long)(sy->row_ptr[s + 1] - sy->row_ptr[s]));
        mark[s] = i;
        sy->rows[next[s]++] = i;
      }
    }
  }
  for (tsi_index s = 0; s < sy->count; s++)
    if (next[s] != sy->row_ptr[s + 1])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "supernode %d has %lld rows less than counted", s,
               (long long)(sy->row_ptr[s + 1] - next[s]));
  return TRISTAR_OK;
}

/* From the column elimination tree to the final supernodes and their rows. */
static tristar_status build_supernodes(tsi_env *env, double relax, work *w, tsi_symbolic *sy) {
  TSI_TRY(find_supernodes(env, w, sy->n));
  TSI_SCRATCH(env, tsi_index, column_order, sy->n);
  TSI_TRY(tsi_amalgamate(env, w->tree, w->tree_part, relax, sy, column_order));
  TSI_TRY(renumber_columns(env, sy, column_order, w->parent));
  TSI_TRY(note_parts(w, sy));
  TSI_TRY(fill_rows(env, w->graph, sy));
  return tsi_tree_height(env, sy->count, sy->parent, &sy->tree_height);
}

tristar_status tsi_symbolic_create(tsi_env *env, const tsi_graph *graph, const tsi_symbolic_options *options,
                                   tsi_symbolic **out) {
  *out = NULL;
  TSI_SCRATCH(env, work, w, 1);
  *w = (work){.graph = graph};
  TSI_SCRATCH_ZERO(env, tsi_symbolic, sy, 1);
  sy->n = graph->n;
  sy->closed = true;
  TSI_TRY(order_columns(env, options, w, sy));
  TSI_TRY(count_columns(env, w, sy));
  TSI_TRY(find_parts(env, options, w, sy));
  TSI_TRY(build_supernodes(env, options->relax, w, sy));
  tsi_log(env, TRISTAR_LOG_PROGRESS, "symbolic: %d supernodes, %lld entries of L, %lld stored", sy->count,
          (long long)sy->nnz_exact, (long long)sy->nnz_stored);
  if (env->check) TSI_TRY(tsi_symbolic_check(env, sy, graph));
  *out = sy;
  sy = NULL;
  return TRISTAR_OK;
}
