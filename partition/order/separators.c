/* See separators.h.
 *
 * A node works on a forest, whose roots are in a heap, the heaviest on top. Its cuts are made by taking the
 * heaviest root away, whose children become roots. As long as one subtree is heavier than all others
 * together, it is one half; else the subtrees go to the lighter half in turn, heaviest first. */
#include "partition/order/separators.h"

#include "partition/order/ordering.h"

/* Cuts into halves of similar work that a node looks at: the first ones are good, and each takes a sort. */
#define BALANCED_CUTS 32

typedef struct forest {
  const tsi_index *parent;
  tsi_index *size; /* n: columns of each subtree; they come right before its root */
  double *weight;  /* n: operations of each subtree */
  tsi_index count; /* roots */
  tsi_index *heap; /* n */
  double all;      /* operations of these subtrees */
} forest;

/* ---- The heap ------------------------------------------------------------------------------------------ */

static bool is_heavier(const forest *f, tsi_index a, tsi_index b) {
  return f->weight[a] > f->weight[b] || (f->weight[a] == f->weight[b] && a < b);
}

static void add_root(forest *f, tsi_index root) {
  tsi_index at = f->count++;
  f->all += f->weight[root];
  for (; at > 0 && is_heavier(f, root, f->heap[(at - 1) / 2]); at = (at - 1) / 2)
    f->heap[at] = f->heap[(at - 1) / 2];
  f->heap[at] = root;
}

static tsi_index take_heaviest(forest *f) {
  const tsi_index top = f->heap[0], last = f->heap[--f->count];
  tsi_index at = 0;
  for (tsi_index child = 1; child < f->count; child = 2 * at + 1) {
    if (child + 1 < f->count && is_heavier(f, f->heap[child + 1], f->heap[child])) child++;
    if (!is_heavier(f, f->heap[child], last)) break;
    f->heap[at] = f->heap[child];
    at = child;
  }
  f->heap[at] = last;
  f->all = f->count > 0 ? f->all - f->weight[top] : 0;
  return top;
}

/* The heaviest root goes; gives its operations without those of its subtrees. */
static double open_heaviest(forest *f, tsi_index *column) {
  const tsi_index root = take_heaviest(f), first = root - f->size[root];
  double own = f->weight[root];
  for (tsi_index child = root - 1; child > first; child -= f->size[child]) {
    own -= f->weight[child];
    add_root(f, child);
  }
  *column = root;
  return own;
}

/* ---- Cuts ---------------------------------------------------------------------------------------------- */

static bool is_one_sided(const forest *f) {
  return f->count > 0 && 2 * f->weight[f->heap[0]] >= f->all;
}

/* Sorts the roots, heaviest first, which leaves them a heap; returns the work of the larger half. second
 * (count, may be NULL): is the subtree in the second half? */
static double halve(forest *f, tsi_index *scratch, bool *second) {
  double half[2] = {0, 0};
  const tsi_index roots = f->count;
  if (!is_one_sided(f)) {
    for (tsi_index k = 0; k < roots; k++) scratch[k] = take_heaviest(f);
    for (tsi_index k = 0; k < roots; k++) add_root(f, scratch[k]);
  }
  for (tsi_index k = 0; k < roots; k++) {
    const int to = is_one_sided(f) ? k > 0 : half[1] < half[0];
    half[to] += f->weight[f->heap[k]];
    if (second) second[k] = to == 1;
  }
  return half[0] > half[1] ? half[0] : half[1];
}

static void fill(forest *f, const tsi_index *roots, tsi_index count) {
  f->count = 0;
  f->all = 0;
  for (tsi_index k = 0; k < count; k++) add_root(f, roots[k]);
}

/* How many columns the node takes. */
static tsi_index choose_cut(forest *f, tsi_index *scratch) {
  double own = 0, least = halve(f, scratch, NULL);
  tsi_index taken = 0, best = 0, column;
  for (int balanced = !is_one_sided(f); f->count > 0 && own < least && balanced < BALANCED_CUTS;) {
    own += open_heaviest(f, &column);
    taken++;
    balanced += !is_one_sided(f);
    const double cost = own + (is_one_sided(f) ? f->weight[f->heap[0]] : halve(f, scratch, NULL));
    if (cost >= least * (1 - 1e-9)) continue; /* by more than roundoff */
    least = cost;
    best = taken;
  }
  return best;
}

/* ---- The tree ------------------------------------------------------------------------------------------ */

/* The forests of the nodes: roots from first[t] on, in a place for as many as there are columns. */
typedef struct nodes {
  tsi_index leaf_parts;
  tsi_index *first, *count, *roots;
} nodes;

static void mark_leaf(const forest *f, const nodes *w, tsi_index t, tsi_index *part,
                      tsi_index *part_columns) {
  for (tsi_index k = w->first[t]; k < w->first[t] + w->count[t]; k++) {
    const tsi_index root = w->roots[k];
    part_columns[t] += f->size[root];
    for (tsi_index j = root - f->size[root] + 1; j <= root; j++) part[j] = t;
  }
}

/* Takes the columns of node t and hands the rest to its children. */
static void split(forest *f, nodes *w, tsi_index t, tsi_index *scratch, bool *second, tsi_index *part,
                  tsi_index *part_columns) {
  const tsi_index root = 2 * w->leaf_parts - 2, right = root - 2 * (root - t) - 1, left = right - 1;
  tsi_index columns = 0, column;
  fill(f, w->roots + w->first[t], w->count[t]);
  part_columns[t] = choose_cut(f, scratch);
  fill(f, w->roots + w->first[t], w->count[t]);
  for (tsi_index k = 0; k < part_columns[t]; k++) {
    open_heaviest(f, &column);
    part[column] = t;
  }
  halve(f, scratch, second);
  for (tsi_index k = 0; k < f->count; k++) columns += second[k] ? 0 : f->size[f->heap[k]];
  w->first[left] = w->first[t];
  w->first[right] = w->first[t] + columns;
  for (tsi_index k = 0; k < f->count; k++) {
    const tsi_index to = second[k] ? right : left;
    w->roots[w->first[to] + w->count[to]++] = f->heap[k];
  }
}

/* Sizes and operations of subtrees. */
static void weigh(tsi_index n, const tsi_index *count, forest *f) {
  for (tsi_index j = 0; j < n; j++) {
    f->size[j] = 1;
    f->weight[j] = (double)count[j] * count[j];
  }
  for (tsi_index j = 0; j < n; j++)
    if (f->parent[j] != TSI_NONE) {
      f->size[f->parent[j]] += f->size[j];
      f->weight[f->parent[j]] += f->weight[j];
    }
}

tristar_status tsi_separators_of_tree(tsi_env *env, tsi_index n, const tsi_index *parent,
                                      const tsi_index *count, tsi_index leaf_parts, tsi_index *part,
                                      tsi_index *part_columns) {
  const tsi_index root = 2 * leaf_parts - 2;
  TSI_SCRATCH(env, forest, f, 1);
  *f = (forest){.parent = parent};
  TSI_SCRATCH(env, nodes, w, 1);
  *w = (nodes){.leaf_parts = leaf_parts};
  TSI_TRY(TSI_ALLOC_IN(f, f->size, n));
  TSI_TRY(TSI_ALLOC_IN(f, f->weight, n));
  TSI_TRY(TSI_ALLOC_IN(f, f->heap, n));
  TSI_SCRATCH(env, tsi_index, scratch, n);
  TSI_SCRATCH(env, bool, second, n);
  TSI_TRY(TSI_ALLOC_IN(w, w->roots, n));
  TSI_TRY(TSI_ALLOC_ZERO_IN(w, w->first, root + 1));
  TSI_TRY(TSI_ALLOC_ZERO_IN(w, w->count, root + 1));
  weigh(n, count, f);
  for (tsi_index j = 0; j < n; j++)
    if (parent[j] == TSI_NONE) w->roots[w->count[root]++] = j;
  for (tsi_index t = root; t >= 0; t--) {
    part_columns[t] = 0;
    if (t < leaf_parts)
      mark_leaf(f, w, t, part, part_columns);
    else
      split(f, w, t, scratch, second, part, part_columns);
  }
  return TRISTAR_OK;
}
