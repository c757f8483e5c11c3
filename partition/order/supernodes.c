/* Fundamental supernodes and relaxed merging: see supernodes.h.
 *
 * Merging a child of w columns and m rows into a parent of W columns and M rows, whose union has N rows,
 * stores w W + (w + W) N - w m - W M zeros (closed structures: N = M, so w (W + M - m)). A solve streams 8
 * bytes per sweep for each of them. N is taken to be the least possible. Merging saves one supernode per
 * sweep: the call, its set-up, and the gather and scatter of m rows. In units of one streamed entry, gain =
 * SUPERNODE_COST + ROW_COST m - zeros. Pairs are merged, fewest zeros first, while the gain is positive.
 * Zeros only grow as groups grow, so an outdated queue entry is put back with its new number. */
#include "partition/order/supernodes.h"

#include "partition/order/etree.h"

/* In stored entries (8 bytes, about 0.6 ns). A supernode costs a sweep 30 to 60 ns, which is 50 to 100
 * entries, but zeros also cost memory and, in the factorization, work: with half of that cost the grids of
 * model problems store 6 to 9 % (2D) and 2 to 4 % (3D) of zeros. */
enum { SUPERNODE_COST = 25, ROW_COST = 1 };

enum { QUEUE_SIZE = 4096 }; /* merges with this many more zeros are never considered */

tristar_status tsi_supernodes_create(tsi_env *env, tsi_index n, const tsi_index *parent,
                                     const tsi_index *count, const tsi_index *part,
                                     tsi_supernode_tree **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_index, children, n);
  TSI_SCRATCH(env, bool, joins, n);
  for (tsi_index j = 0; j < n; j++)
    if (parent[j] != TSI_NONE) children[parent[j]]++;
  for (tsi_index j = 0; j < n; j++)
    joins[j] = j > 0 && parent[j - 1] == j && children[j] == 1 && count[j - 1] == count[j] + 1 &&
               (part == NULL || part[j - 1] == part[j]);
  return tsi_supernodes_of_runs(env, n, parent, count, joins, out);
}

tristar_status tsi_supernodes_of_runs(tsi_env *env, tsi_index n, const tsi_index *parent,
                                      const tsi_index *count, const bool *joins, tsi_supernode_tree **out) {
  *out = NULL;
  TSI_SCRATCH(env, tsi_index, owner, n); /* supernode of each column */
  TSI_SCRATCH_ZERO(env, tsi_supernode_tree, tree, 1);
  for (tsi_index j = 0; j < n; j++) {
    if (!joins[j]) tree->count++;
    owner[j] = tree->count - 1;
  }
  TSI_TRY(TSI_ALLOC_ZERO_IN(tree, tree->columns, tree->count));
  TSI_TRY(TSI_ALLOC_IN(tree, tree->rows, tree->count));
  TSI_TRY(TSI_ALLOC_IN(tree, tree->parent, tree->count));
  for (tsi_index j = 0; j < n; j++) { /* the last column of each supernode decides */
    tsi_index s = owner[j];
    tree->columns[s]++;
    tree->rows[s] = count[j] - 1;
    tree->parent[s] = parent[j] == TSI_NONE ? TSI_NONE : owner[parent[j]];
  }
  *out = tsi_take(&tree);
  return TRISTAR_OK;
}

/* The present groups, and the children that may still be merged, in buckets by the zeros that this would
 * add. */
typedef struct merger {
  const tsi_supernode_tree *tree;
  tsi_index *rows;    /* Rows of the group, at its topmost member. */
  tsi_index *group;   /* A disjoint-set forest that points upwards; its roots are the topmost members. */
  tsi_count *columns; /* Columns of the group, at its topmost member. */
  tsi_count *zeros;   /* Stored zeros of the group, at its topmost member. */
  tsi_index *behind;  /* The next group in the same bucket. */
  tsi_index *bucket;  /* QUEUE_SIZE */
  tsi_count last;     /* The highest bucket used so far. */
  double relax;
} merger;

static tsi_index find_group(tsi_index *group, tsi_index s) {
  while (group[s] != s) {
    group[s] = group[group[s]];
    s = group[s];
  }
  return s;
}

/* Rows of group s and the group above it together: the rows of the latter, unless s has more rows that are
 * not its columns. */
static tsi_index rows_together(const merger *m, tsi_index s, tsi_index up) {
  return tsi_index_max(m->rows[up], (tsi_index)(m->rows[s] - m->columns[up]));
}

/* Zeros that merging adds: group s into the group above it, whose topmost member is up. */
static tsi_count zeros_added(const merger *m, tsi_index s, tsi_index up) {
  const tsi_count w = m->columns[s], wide = m->columns[up], rows = rows_together(m, s, up);
  return w * wide + (w + wide) * rows - w * m->rows[s] - wide * m->rows[up];
}

static bool worthwhile(const merger *m, tsi_index s, tsi_index up, tsi_count added) {
  if (added >= QUEUE_SIZE || added >= SUPERNODE_COST + ROW_COST * (tsi_count)m->rows[s]) return false;
  double columns = (double)(m->columns[s] + m->columns[up]);
  double stored = columns * (columns + 1) / 2 + columns * rows_together(m, s, up);
  return (double)(m->zeros[s] + m->zeros[up] + added) <= m->relax * stored;
}

/* Puts group s into the bucket of its zeros, unless these are too many. */
static void enqueue(merger *m, tsi_index s) {
  tsi_index up = find_group(m->group, m->tree->parent[s]);
  tsi_count added = zeros_added(m, s, up);
  if (added >= QUEUE_SIZE) return;
  if (added > m->last) m->last = added;
  m->behind[s] = m->bucket[added];
  m->bucket[added] = s;
}

static void merge_all(merger *m) {
  for (tsi_count zeros = 0; zeros <= m->last; zeros++)
    while (m->bucket[zeros] != TSI_NONE) {
      tsi_index s = m->bucket[zeros];
      m->bucket[zeros] = m->behind[s];
      tsi_index up = find_group(m->group, m->tree->parent[s]);
      tsi_count added = zeros_added(m, s, up);
      if (added > zeros) {
        enqueue(m, s);
      } else if (worthwhile(m, s, up, added)) {
        m->group[s] = up;
        m->rows[up] = rows_together(m, s, up);
        m->columns[up] += m->columns[s];
        m->zeros[up] += m->zeros[s] + added;
      }
    }
}

/* Relaxed merging of children into parents, as long as it makes a solve cheaper. group[s] becomes the topmost
 * member of the group of s. A group has a node and descendants of it; the parent of each member except the
 * topmost one is a member, too. part (count, may be NULL): supernodes of different parts are not merged.
 * relax: the largest share of zeros among the stored entries of a group; 0: nothing is merged. rows[s]: the
 * rows of the group with the topmost member s. Errors: MEMORY. */
static tristar_status merge(tsi_env *env, const tsi_supernode_tree *tree, const tsi_index *part, double relax,
                            tsi_index *group, tsi_index *rows) {
  TSI_SCRATCH(env, merger, m, 1);
  *m = (merger){.tree = tree, .group = group, .rows = rows, .relax = relax};
  for (tsi_index s = 0; s < tree->count; s++) {
    group[s] = s;
    rows[s] = tree->rows[s];
  }
  if (!(relax > 0)) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_IN(m, m->columns, tree->count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(m, m->zeros, tree->count));
  TSI_TRY(TSI_ALLOC_IN(m, m->behind, tree->count));
  TSI_TRY(TSI_ALLOC_IN(m, m->bucket, QUEUE_SIZE));
  for (tsi_index b = 0; b < QUEUE_SIZE; b++) m->bucket[b] = TSI_NONE;
  for (tsi_index s = 0; s < tree->count; s++) m->columns[s] = tree->columns[s];
  for (tsi_index s = tree->count - 1; s >= 0; s--) {
    tsi_index up = tree->parent[s];
    if (up != TSI_NONE && (part == NULL || part[s] == part[up])) enqueue(m, s);
  }
  merge_all(m);
  for (tsi_index s = 0; s < tree->count; s++) group[s] = find_group(group, s);
  return TRISTAR_OK;
}

/* ---- Merged supernodes, numbered ----------------------------------------------------------------------- */

/* Temporary data. */
typedef struct work {
  const tsi_supernode_tree *tree;
  tsi_index *group;           /* For each supernode the topmost member of its group. */
  tsi_index *rows;            /* Rows of each group, at its topmost member. */
  tsi_supernode_tree *merged; /* the groups, in the order of their topmost members */
  tsi_index *merged_of;       /* For each supernode its merged supernode. */
  tsi_index *final;           /* Final number of each merged supernode. */
} work;

/* The tree of the groups. A group's number is the rank of its topmost member, so parents come after
 * children. */
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

/* Copies the groups to the result, in their final order. column_order[k]: the column that becomes k. */
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
  TSI_TRY(merge(env, tree, part, relax, w->group, w->rows));
  TSI_TRY(merge_groups(w));
  return number_supernodes(env, w, sy, column_order);
}
