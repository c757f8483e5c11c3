/* Symbolic factorization: see symbolic.h.
 *
 * The columns are renumbered three times: by the ordering, by a postorder of the column elimination tree, and
 * by the final postorder of the merged supernodes. Each renumbering keeps ancestors behind descendants, so
 * the filled graph stays the one of the ordering. */
#include "partition/order/symbolic.h"

#include "partition/order/etree.h"
#include "partition/order/ordering.h"
#include "partition/order/supernodes.h"
#include "runtime/base/env.h"

/* ---- Separator trees ----------------------------------------------------------------------------------- */

/* A top separator tree for an ordering without one, cut from its elimination tree.
 *
 * Job. Columns of disjoint subtrees of an elimination tree have no common entries. So the root of the
 * separator tree takes columns from the top, until the other subtrees form two halves of about the same work.
 * Each half is cut likewise. A node chooses the cut with the least sum of its own work and the work of the
 * larger half, the first of several. If the tree does not branch, the node takes no columns. Nodes are
 * numbered as in ordering.h.
 * Invariants: the parent of a column is in its own node or in an ancestor of this node. A column with one
 * child is in the child's node: if the node takes it, too, the work of the larger half decreases by at most
 * the work of this column. So no node separates the columns of a pair (pairs.h).
 *
 * A node works on a forest. Its roots are in a heap, the heaviest on top. A cut removes the heaviest root,
 * and its children become roots. If one subtree is heavier than all others together, it is one half;
 * otherwise the subtrees are added to the lighter half in turn, heaviest first. */

/* Maximum number of cuts into halves of similar work that a node tries: the first ones are good, and each
 * takes a sort. */
#define BALANCED_CUTS 32

typedef struct forest {
  const tsi_index *parent;
  tsi_index *size; /* n: columns of each subtree, which are just before its root */
  double *weight;  /* n: operations of each subtree */
  tsi_index count; /* roots */
  tsi_index *heap; /* n */
  double all;      /* Operations of all these subtrees. */
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

/* Removes the heaviest root; returns its operations without the operations of its subtrees. */
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

/* Sorts the roots, heaviest first, so they remain a heap; returns the work of the larger half. second (count,
 * may be NULL): is the subtree in the second half? */
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

/* Number of columns that the node takes. */
static tsi_index choose_cut(forest *f, tsi_index *scratch) {
  double own = 0, least = halve(f, scratch, NULL);
  tsi_index taken = 0, best = 0, column;
  for (int balanced = !is_one_sided(f); f->count > 0 && own < least && balanced < BALANCED_CUTS;) {
    own += open_heaviest(f, &column);
    taken++;
    balanced += !is_one_sided(f);
    const double cost = own + (is_one_sided(f) ? f->weight[f->heap[0]] : halve(f, scratch, NULL));
    if (cost >= least * (1 - 1e-9)) continue; /* must be less by more than roundoff */
    least = cost;
    best = taken;
  }
  return best;
}

/* ---- The tree ------------------------------------------------------------------------------------------ */

/* The forests of the nodes: the roots of node t begin at first[t]; there is memory for as many roots as
 * columns. */
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

/* Takes the columns of node t and passes the other ones to its children. */
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

/* count: entries of each column of L; leaf_parts: a power of two. part: n; part_columns: 2*leaf_parts - 1,
 * columns of each node, of which leaves may have none. Errors: MEMORY. */
static tristar_status separators_of_tree(tsi_env *env, tsi_index n, const tsi_index *parent,
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

/* ---- Symbolic structure -------------------------------------------------------------------------------- */

/* Temporary data of tsi_symbolic_create. */
typedef struct work {
  const tsi_graph *graph;
  tsi_index *parent;        /* For each column. */
  tsi_index *count;         /* Entries of each column of L. */
  tsi_index *part;          /* For each vertex its node in the top separator tree; NULL: there is no tree. */
  tsi_index *column_part;   /* The same for each column. */
  tsi_supernode_tree *tree; /* Fundamental supernodes. */
  tsi_index *tree_part;     /* For each of these supernodes its node in the top separator tree. */
} work;

void tsi_symbolic_options_init(tsi_symbolic_options *options) {
  *options = (tsi_symbolic_options){
      .ordering = TSI_ORDER_METIS,
      .leaf_parts = 1,
      .seed = 1,
      .cores = 1,
      .relax = 0.6,
      .costs = {.factorizations = 1, .solves = 10, .entry_bytes = sizeof(double), .flops_factor = 1}};
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

/* Orders the vertices that are not among the last ones; the last ones follow. */
static tristar_status order_before_last(tsi_env *env, const tsi_symbolic_options *options,
                                        const tsi_graph *graph, tsi_index *perm) {
  const tsi_index n = graph->n, rest = n - options->last_count;
  TSI_SCRATCH_ZERO(env, tsi_index, number, n);
  TSI_SCRATCH(env, tsi_index, vertex, n);
  TSI_OWNED tsi_graph *part = NULL;
  tsi_index at = 0;
  for (tsi_index k = 0; k < options->last_count; k++) {
    number[options->last[k]] = TSI_NONE;
    perm[rest + k] = options->last[k];
  }
  if (options->ordering == TSI_ORDER_GIVEN) {
    TSI_TRY(tsi_invert_permutation(env, n, options->given, vertex)); /* verifies it */
    for (tsi_index k = 0; k < n; k++)
      if (number[options->given[k]] != TSI_NONE) perm[at++] = options->given[k];
    if (options->choice) *options->choice = (tsi_order_choice){TSI_ORDER_GIVEN, ""};
    return TRISTAR_OK;
  }
  for (tsi_index v = 0; v < n; v++) {
    if (number[v] == TSI_NONE) continue;
    vertex[at] = v;
    number[v] = at++;
  }
  TSI_TRY(tsi_graph_part(env, graph, number, rest, &part));
  TSI_TRY(tsi_order(env, part, options, perm, NULL, NULL));
  for (tsi_index k = 0; k < rest; k++) perm[k] = vertex[perm[k]];
  return TRISTAR_OK;
}

/* Makes the last columns a chain, like the columns of a supernode. The first one becomes the parent of their
 * other children. */
static void chain_last(tsi_index n, tsi_index last_count, tsi_index *parent) {
  const tsi_index first = n - last_count;
  for (tsi_index j = 0; j < first; j++)
    if (parent[j] != TSI_NONE && parent[j] > first) parent[j] = first;
  for (tsi_index j = first; j < n; j++) parent[j] = j + 1 < n ? j + 1 : TSI_NONE;
}

/* Orders the vertices and computes the column elimination tree, with its nodes numbered in postorder. */
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
  if (options->last_count > 0 && w->part != NULL)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "columns that are last, and a separator tree");
  TSI_TRY(options->last_count > 0 ? order_before_last(env, options, w->graph, sy->perm)
                                  : tsi_order(env, w->graph, options, sy->perm, w->part, sy->part_columns));
  sy->leaf_parts = options->leaf_parts;
  TSI_TRY(tsi_invert_permutation(env, n, sy->perm, sy->inverse));
  tsi_log(env, TRISTAR_LOG_PROGRESS, "symbolic: elimination tree of %d columns", n);
  TSI_TRY(tsi_etree(env, w->graph, sy->perm, sy->inverse, w->parent));
  if (options->last_count > 0) chain_last(n, options->last_count, w->parent);
  TSI_TRY(tsi_postorder(env, n, w->parent, NULL, order));
  return renumber_columns(env, sy, order, w->parent);
}

/* The permuted lower triangle by columns: row[ptr[j] .. ptr[j+1]-1] are the rows below the diagonal. Without
 * a branch, which processors could not predict: the last row written may be invalid. */
static tristar_status lower_triangle(tsi_env *env, const tsi_graph *graph, const tsi_symbolic *sy,
                                     tsi_count **ptr, tsi_index **row) {
  tsi_count at = 0;
  TSI_TRY(TSI_ALLOC(env, *ptr, sy->n + 1));
  TSI_TRY(TSI_ALLOC(env, *row, graph->ptr[graph->n] / 2 + 1));
  for (tsi_index j = 0; j < sy->n; j++) {
    tsi_index v = sy->perm[j];
    (*ptr)[j] = at;
    for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) {
      (*row)[at] = sy->inverse[graph->adj[p]];
      at += (*row)[at] > j;
    }
  }
  (*ptr)[sy->n] = at;
  return TRISTAR_OK;
}

/* Computes column counts, and the sizes that follow from them. The last columns are full. */
static tristar_status count_columns(tsi_env *env, const tsi_symbolic_options *options, work *w,
                                    tsi_symbolic *sy) {
  TSI_OWNED tsi_count *ptr = NULL;
  TSI_OWNED tsi_index *row = NULL;
  TSI_TRY(lower_triangle(env, w->graph, sy, &ptr, &row));
  TSI_TRY(TSI_ALLOC_IN(w, w->count, sy->n));
  TSI_TRY(tsi_column_counts(env, sy->n, w->parent, ptr, row, w->count));
  TSI_TRY(tsi_tree_height(env, sy->n, w->parent, &sy->etree_height));
  for (tsi_index k = 0; k < options->last_count; k++)
    w->count[sy->inverse[options->last[k]]] = options->last_count - k;
  for (tsi_index j = 0; j < sy->n; j++) {
    sy->nnz_exact += w->count[j];
    sy->flops += (double)w->count[j] * w->count[j];
  }
  for (double k = 1; k <= options->last_count; k++) sy->flops -= k * k;
  return TRISTAR_OK;
}

tristar_status tsi_symbolic_measure(tsi_env *env, const tsi_graph *graph, const tsi_index *perm,
                                    tsi_fill *fill) {
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  options.ordering = TSI_ORDER_GIVEN;
  options.given = perm;
  TSI_SCRATCH(env, work, w, 1);
  *w = (work){.graph = graph};
  TSI_SCRATCH_ZERO(env, tsi_symbolic, sy, 1);
  sy->n = graph->n;
  TSI_TRY(order_columns(env, &options, w, sy));
  TSI_TRY(count_columns(env, &options, w, sy));
  TSI_SCRATCH_ZERO(env, double, below, sy->n); /* entries on the heaviest path below each column */
  *fill = (tsi_fill){.entries = (double)sy->nnz_exact, .flops = sy->flops};
  for (tsi_index j = 0; j < sy->n; j++) {
    const double path = below[j] + w->count[j];
    const tsi_index up = w->parent[j];
    if (up != TSI_NONE && path > below[up]) below[up] = path;
    if (path > fill->path_entries) fill->path_entries = path;
  }
  return TRISTAR_OK;
}

/* Finds the top separator node of each column, if there is such a tree: from the ordering, or cut from the
 * elimination tree. */
static tristar_status find_parts(tsi_env *env, const tsi_symbolic_options *options, work *w,
                                 tsi_symbolic *sy) {
  if (options->last_count > 0) { /* a part of their own, so they are not merged with others */
    TSI_TRY(TSI_ALLOC_ZERO_IN(w, w->column_part, sy->n));
    for (tsi_index k = 0; k < options->last_count; k++) w->column_part[sy->inverse[options->last[k]]] = 1;
  }
  if (w->part != NULL || options->group != NULL) TSI_TRY(TSI_ALLOC_ZERO_IN(w, w->column_part, sy->n));
  if (w->part != NULL && tsi_order_makes_tree(options))
    for (tsi_index k = 0; k < sy->n; k++) w->column_part[k] = w->part[sy->perm[k]];
  else if (w->part != NULL) {
    TSI_TRY(separators_of_tree(env, sy->n, w->parent, w->count, sy->leaf_parts, w->column_part,
                               sy->part_columns));
    for (tsi_index k = 0; k < sy->n; k++) w->part[sy->perm[k]] = w->column_part[k];
  }
  for (tsi_index k = 0; options->group != NULL && k < sy->n; k++) /* numbers after the nodes of the tree */
    if (options->group[sy->perm[k]] > 0)
      w->column_part[k] = 2 * sy->leaf_parts - 2 + options->group[sy->perm[k]];
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

/* Row i of L has entries on the paths from the entries of A's row i up to i: row i is added to each supernode
 * on these paths below the supernode of i. Rows are added in ascending order, so the lists need no
 * sorting. */
static tristar_status fill_rows(tsi_env *env, const tsi_graph *graph, tsi_symbolic *sy) {
  TSI_TRY(TSI_ALLOC_IN(sy, sy->rows, sy->row_ptr[sy->count]));
  TSI_SCRATCH(env, tsi_index, owner, sy->n);
  TSI_SCRATCH(env, tsi_index, mark, sy->count); /* the latest row that was added */
  TSI_SCRATCH(env, tsi_count, next, sy->count);
  TSI_SCRATCH(env, tsi_index, below, sy->n);
  for (tsi_index s = 0; s < sy->count; s++) {
    mark[s] = TSI_NONE;
    next[s] = sy->row_ptr[s];
    for (tsi_index j = sy->start[s]; j < sy->start[s + 1]; j++) owner[j] = s;
  }
  for (tsi_index i = 0; i < sy->n; i++) {
    const tsi_index count = tsi_graph_list_below(graph, sy->inverse, sy->perm[i], i, below);
    mark[owner[i]] = i;
    for (tsi_index c = 0; c < count; c++) {
      for (tsi_index s = owner[below[c]]; mark[s] != i; s = sy->parent[s]) {
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

/* Computes the final supernodes and their rows from the column elimination tree. */
static tristar_status build_supernodes(tsi_env *env, const tsi_symbolic_options *options, work *w,
                                       tsi_symbolic *sy) {
  TSI_TRY(find_supernodes(env, w, sy->n));
  TSI_SCRATCH(env, tsi_index, column_order, sy->n);
  TSI_TRY(tsi_amalgamate(env, w->tree, w->tree_part, options->relax, sy, column_order));
  TSI_TRY(renumber_columns(env, sy, column_order, w->parent));
  TSI_TRY(note_parts(w, sy));
  TSI_TRY(tsi_watch_look(env, options->watch, "symbolic factorization"));
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
  TSI_TRY(tsi_watch_look(env, options->watch, "symbolic factorization"));
  TSI_TRY(count_columns(env, options, w, sy));
  TSI_TRY(find_parts(env, options, w, sy));
  TSI_TRY(tsi_watch_look(env, options->watch, "symbolic factorization"));
  TSI_TRY(build_supernodes(env, options, w, sy));
  tsi_log(env, TRISTAR_LOG_PROGRESS, "symbolic: %d supernodes, %lld entries of L, %lld stored", sy->count,
          (long long)sy->nnz_exact, (long long)sy->nnz_stored);
  if (env->check) TSI_TRY(tsi_symbolic_check(env, sy, graph));
  *out = tsi_take(&sy);
  return TRISTAR_OK;
}
