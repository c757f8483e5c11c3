/* Fundamental supernodes and relaxed merging: see supernodes.h.
 *
 * Merging a child of w columns and m rows into a parent of W columns and M rows, whose union has N rows,
 * stores w W + (w + W) N - w m - W M zeros (closed structures: N = M, so w (W + M - m)), for each of which a
 * solve streams 8 bytes per sweep. N is taken to be the least that it can be. It saves one supernode per
 * sweep: the call, its set-up, and the gather and scatter of m rows. With the costs in units of one streamed
 * entry, gain = SUPERNODE_COST + ROW_COST m - zeros and pairs are merged, fewest zeros first, while the gain
 * is positive. Zeros only grow as groups grow, so a queue entry that is out of date is simply put back with
 * its new number. */
#include "partition/order/supernodes.h"

/* In stored entries (8 bytes, about 0.6 ns). A supernode costs a sweep 30 to 60 ns, which is 50 to 100 of
 * them, but zeros also cost memory and, in the factorization, work: with half of that the grids of model
 * problems store 6 to 9 % (2D) and 2 to 4 % (3D) of zeros. */
enum { SUPERNODE_COST = 25, ROW_COST = 1 };

enum { QUEUE_SIZE = 4096 }; /* merging that adds as many zeros is never considered */

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
  for (tsi_index j = 0; j < n; j++) { /* the last column of each has the final word */
    tsi_index s = owner[j];
    tree->columns[s]++;
    tree->rows[s] = count[j] - 1;
    tree->parent[s] = parent[j] == TSI_NONE ? TSI_NONE : owner[parent[j]];
  }
  *out = tree;
  tree = NULL;
  return TRISTAR_OK;
}

/* The groups so far, and the children that may still be merged, in buckets by the zeros this would add. */
typedef struct merger {
  const tsi_supernode_tree *tree;
  tsi_index *rows;    /* of the group, at its topmost member */
  tsi_index *group;   /* a disjoint-set forest that points upwards: its root is the topmost member */
  tsi_count *columns; /* of the group, at its topmost member */
  tsi_count *zeros;   /* stored zeros of the group, same place */
  tsi_index *behind;  /* the next one in the same bucket */
  tsi_index *bucket;  /* QUEUE_SIZE */
  double relax;
} merger;

static tsi_index find_group(tsi_index *group, tsi_index s) {
  while (group[s] != s) {
    group[s] = group[group[s]];
    s = group[s];
  }
  return s;
}

/* Rows of group s and the one above it together: those of the latter, unless s has more that are not its
 * columns. */
static tsi_index rows_together(const merger *m, tsi_index s, tsi_index up) {
  return tsi_index_max(m->rows[up], (tsi_index)(m->rows[s] - m->columns[up]));
}

/* Zeros of merging group s into the group above it, of which up is the topmost member. */
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

/* Puts group s into the bucket of its zeros, if merging it into the group above looks worthwhile. */
static void enqueue(merger *m, tsi_index s) {
  tsi_index up = find_group(m->group, m->tree->parent[s]);
  tsi_count added = zeros_added(m, s, up);
  if (added >= QUEUE_SIZE) return;
  m->behind[s] = m->bucket[added];
  m->bucket[added] = s;
}

static void merge_all(merger *m) {
  for (tsi_index zeros = 0; zeros < QUEUE_SIZE; zeros++)
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

tristar_status tsi_supernodes_merge(tsi_env *env, const tsi_supernode_tree *tree, const tsi_index *part,
                                    double relax, tsi_index *group, tsi_index *rows) {
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
