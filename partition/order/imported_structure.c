/* Tree, supernodes and rows of given factors: see imported_structure.h. */
#include "partition/order/imported_structure.h"

#include "partition/order/etree.h"
#include "partition/order/supernodes.h"
#include "runtime/base/sort.h"

/* Are the rows of column j stored as the end of the rows of column j - 1? */
static bool shares(const tsi_columns *c, tsi_index j) {
  return c->count[j - 1] == c->count[j] + 1 && c->ptr[j] == c->ptr[j - 1] + 1;
}

/* Does column j + 1 have the rows of column j without the first, which is j + 1? */
static bool continues(const tsi_columns *c, tsi_index j) {
  if (c->count[j] != c->count[j + 1] + 1 || c->row[c->ptr[j]] != j + 1) return false;
  if (shares(c, j + 1)) return true;
  return memcmp(c->row + c->ptr[j] + 1, c->row + c->ptr[j + 1], (size_t)c->count[j + 1] * sizeof *c->row) ==
         0;
}

/* Linked lists of columns: each column waits for its next row. */
typedef struct waiting {
  tsi_index *first; /* n: first column that waits for a row */
  tsi_index *next;  /* n: the next column that waits for the same row */
  tsi_index *seen;  /* n: number of visited rows of a column */
} waiting;

/* Lets column j wait for its next row, if needed: if the next column continues it, its first row is
 * enough. */
static void wait_for_next(const tsi_columns *c, waiting *w, tsi_index j) {
  if (w->seen[j] == c->count[j]) return;
  if (w->seen[j] == 1 && j + 1 < c->n && continues(c, j)) return;
  const tsi_index row = c->row[c->ptr[j] + w->seen[j]++];
  w->next[j] = w->first[row];
  w->first[row] = j;
}

/* Adds the entry (i, j): the present root of j's tree becomes a child of i. Paths are compressed (Liu
 * 1986). */
static void join(tsi_index i, tsi_index j, tsi_index *parent, tsi_index *ancestor) {
  while (j != i) {
    const tsi_index up = ancestor[j];
    ancestor[j] = i;
    if (up == TSI_NONE) parent[j] = i;
    if (up == TSI_NONE || up == i) return;
    j = up;
  }
}

/* The elimination tree of all sides together, row by row: at row i the lists contain all columns with an
 * entry there. */
static tristar_status find_tree(tsi_env *env, int sides, const tsi_columns *columns, tsi_index *parent) {
  const tsi_index n = columns->n;
  TSI_SCRATCH(env, tsi_index, ancestor, n);
  TSI_SCRATCH(env, waiting, w, sides);
  for (int i = 0; i < sides; i++) {
    TSI_TRY(TSI_ALLOC_IN(w, w[i].first, n));
    TSI_TRY(TSI_ALLOC_IN(w, w[i].next, n));
    TSI_TRY(TSI_ALLOC_ZERO_IN(w, w[i].seen, n));
    for (tsi_index j = 0; j < n; j++) w[i].first[j] = TSI_NONE;
  }
  for (tsi_index i = 0; i < n; i++) {
    parent[i] = ancestor[i] = TSI_NONE;
    for (int side = 0; side < sides; side++) {
      for (tsi_index j = w[side].first[i], next; j != TSI_NONE; j = next) {
        next = w[side].next[j];
        join(i, j, parent, ancestor);
        wait_for_next(&columns[side], &w[side], j);
      }
      wait_for_next(&columns[side], &w[side], i);
    }
  }
  return TRISTAR_OK;
}

/* Temporary data. */
typedef struct work {
  int sides;
  const tsi_columns *columns;
  tsi_index *parent;  /* Parents of the given columns. */
  tsi_index *order;   /* The given column that the postorder visits as number k. */
  tsi_index *up;      /* Parents in this order. */
  tsi_index *entries; /* Entries of each column in this order, mean over the sides, with the diagonal. */
  bool *joins;
  tsi_supernode_tree *tree;
} work;

/* Finds runs of columns with the same rows on every side. */
static tristar_status find_supernodes(tsi_env *env, work *w) {
  const tsi_index n = w->columns->n;
  TSI_TRY(TSI_ALLOC_IN(w, w->parent, n));
  TSI_TRY(TSI_ALLOC_IN(w, w->order, n));
  TSI_TRY(TSI_ALLOC_IN(w, w->up, n));
  TSI_TRY(TSI_ALLOC_IN(w, w->entries, n));
  TSI_TRY(TSI_ALLOC_IN(w, w->joins, n));
  TSI_SCRATCH(env, tsi_index, rank, n);
  TSI_TRY(find_tree(env, w->sides, w->columns, w->parent));
  TSI_TRY(tsi_postorder(env, n, w->parent, NULL, w->order));
  for (tsi_index k = 0; k < n; k++) rank[w->order[k]] = k;
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index j = w->order[k];
    tsi_count sum = 0;
    w->up[k] = w->parent[j] == TSI_NONE ? TSI_NONE : rank[w->parent[j]];
    w->joins[k] = k > 0 && w->order[k - 1] == j - 1;
    for (int i = 0; i < w->sides; i++) {
      sum += w->columns[i].count[j];
      w->joins[k] = w->joins[k] && continues(&w->columns[i], j - 1);
    }
    w->entries[k] = 1 + (tsi_index)((sum + w->sides - 1) / w->sides);
  }
  TSI_TRY(tsi_supernodes_of_runs(env, n, w->up, w->entries, w->joins, &w->tree));
  tsi_own(w, w->tree);
  return TRISTAR_OK;
}

/* Lists the rows of supernode s, each once; counts them if out is NULL. mark[i] == s: row i is already
 * listed. */
static tsi_count list_rows(const tsi_columns *c, const tsi_symbolic *sy, tsi_index s, tsi_index *mark,
                           tsi_index *out) {
  const tsi_index end = sy->start[s + 1];
  tsi_count count = 0;
  for (tsi_index k = sy->start[s]; k < end; k++) {
    const tsi_index j = sy->perm[k];
    if (k > sy->start[s] && sy->perm[k - 1] == j - 1 && shares(c, j)) continue;
    for (tsi_count p = c->ptr[j]; p < c->ptr[j] + c->count[j]; p++) {
      const tsi_index i = sy->inverse[c->row[p]];
      if (i < end || mark[i] == s) continue;
      mark[i] = s;
      if (out) out[count] = i;
      count++;
    }
  }
  return count;
}

/* Fills the rows and totals of one side. */
static tristar_status fill_side(tsi_env *env, const tsi_columns *c, tsi_symbolic *sy) {
  TSI_SCRATCH(env, tsi_index, mark, sy->n);
  for (tsi_index j = 0; j < sy->n; j++) mark[j] = TSI_NONE;
  sy->nnz_exact = sy->nnz_stored = 0;
  sy->flops = 0;
  for (tsi_index j = 0; j < sy->n; j++) {
    const double entries = 1.0 + c->count[j];
    sy->nnz_exact += 1 + (tsi_count)c->count[j];
    sy->flops += entries * entries;
  }
  sy->row_ptr[0] = 0;
  for (tsi_index s = 0; s < sy->count; s++) {
    const tsi_count columns = sy->start[s + 1] - sy->start[s], rows = list_rows(c, sy, s, mark, NULL);
    sy->row_ptr[s + 1] = sy->row_ptr[s] + rows;
    sy->nnz_stored += columns * (columns + 1) / 2 + columns * rows;
  }
  TSI_TRY(TSI_ALLOC_IN(sy, sy->rows, sy->row_ptr[sy->count]));
  for (tsi_index j = 0; j < sy->n; j++) mark[j] = TSI_NONE;
  for (tsi_index s = 0; s < sy->count; s++) {
    tsi_index *rows = sy->rows + sy->row_ptr[s];
    const tsi_count count = list_rows(c, sy, s, mark, rows);
    tsi_sort_indices(rows, count);
  }
  return TRISTAR_OK;
}

/* Copies everything except the rows. */
static tristar_status copy_supernodes(tsi_env *env, const tsi_symbolic *from, tsi_symbolic **out) {
  tsi_symbolic *to;
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  to = *out;
  to->n = from->n;
  to->count = from->count;
  to->leaf_parts = 1;
  to->tree_height = from->tree_height;
  to->etree_height = from->etree_height;
  TSI_TRY(TSI_ALLOC_IN(to, to->perm, from->n));
  TSI_TRY(TSI_ALLOC_IN(to, to->inverse, from->n));
  TSI_TRY(TSI_ALLOC_IN(to, to->start, (tsi_count)from->count + 1));
  TSI_TRY(TSI_ALLOC_IN(to, to->parent, from->count));
  TSI_TRY(TSI_ALLOC_IN(to, to->row_ptr, (tsi_count)from->count + 1));
  memcpy(to->perm, from->perm, (size_t)from->n * sizeof *to->perm);
  memcpy(to->inverse, from->inverse, (size_t)from->n * sizeof *to->inverse);
  memcpy(to->start, from->start, ((size_t)from->count + 1) * sizeof *to->start);
  memcpy(to->parent, from->parent, (size_t)from->count * sizeof *to->parent);
  return TRISTAR_OK;
}

static bool same_rows(const tsi_symbolic *a, const tsi_symbolic *b) {
  return memcmp(a->row_ptr, b->row_ptr, ((size_t)a->count + 1) * sizeof *a->row_ptr) == 0 &&
         memcmp(a->rows, b->rows, (size_t)a->row_ptr[a->count] * sizeof *a->rows) == 0;
}

/* Numbers columns and supernodes. */
static tristar_status number(tsi_env *env, work *w, double relax, tsi_symbolic *sy) {
  const tsi_index n = sy->n;
  TSI_TRY(find_supernodes(env, w));
  TSI_SCRATCH(env, tsi_index, column_order, n);
  TSI_TRY(tsi_amalgamate(env, w->tree, NULL, relax, sy, column_order));
  TSI_TRY(TSI_ALLOC_IN(sy, sy->perm, n));
  TSI_TRY(TSI_ALLOC_IN(sy, sy->inverse, n));
  for (tsi_index k = 0; k < n; k++) {
    sy->perm[k] = w->order[column_order[k]];
    sy->inverse[sy->perm[k]] = k;
  }
  TSI_TRY(tsi_tree_height(env, n, w->up, &sy->etree_height));
  return tsi_tree_height(env, sy->count, sy->parent, &sy->tree_height);
}

tristar_status tsi_symbolic_of_imported(tsi_env *env, int sides, const tsi_columns *columns, double relax,
                                        tsi_symbolic *out[2]) {
  TSI_OWNED tsi_symbolic *second = NULL;
  out[0] = out[1] = NULL;
  TSI_SCRATCH(env, work, w, 1);
  *w = (work){.sides = sides, .columns = columns};
  TSI_SCRATCH_ZERO(env, tsi_symbolic, first, 1);
  first->n = columns->n;
  first->leaf_parts = 1;
  TSI_TRY(number(env, w, relax, first));
  if (sides == 2) TSI_TRY(copy_supernodes(env, first, &second));
  TSI_TRY(fill_side(env, &columns[0], first));
  if (sides == 2) TSI_TRY(fill_side(env, &columns[1], second));
  if (sides == 2 && same_rows(first, second)) TSI_FREE(env, second);
  if (env->check) TSI_TRY(tsi_symbolic_check(env, first, NULL));
  if (env->check && second) TSI_TRY(tsi_symbolic_check(env, second, NULL));
  out[0] = first;
  out[1] = second;
  first = second = NULL;
  return TRISTAR_OK;
}
