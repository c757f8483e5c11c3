/* Fill-reducing orderings: see ordering.h.
 *
 * METIS sees the core of the graph only: vertices without neighbours are ordered first (they fill nothing),
 * and the few very dense ones last, as AMD does. Every separator would have to hold the dense ones anyway,
 * and with them METIS finds no good cut. It sees each connected component of the core by itself, as there is
 * nothing to separate between them, and it would take half of its time to find that out; and those of a few
 * vertices not at all. Only a separator tree is one of all of them. */
#include "partition/order/ordering.h"

#include <metis.h>
#include <stdlib.h>

#include "runtime/base/env.h"

/* ---- Small graphs -------------------------------------------------------------------------------------- */

/* Minimum degree ordering (Tinney and Walker 1967): eliminate a vertex of least degree, join its neighbours,
 * and so on. With sets of vertices as the bits of a word the degrees are exact and a step takes a few
 * instructions for each vertex: for graphs of so many vertices nested dissection has nothing to gain, and
 * costs 50 times as much.
 *
 * Among vertices of one degree the first is taken: the result depends on the graph only. */

#define MINIMUM_DEGREE_VERTICES 64

static tsi_index members_of(uint64_t set) {
  return (tsi_index)__builtin_popcountll(set);
}
static tsi_index first_of(uint64_t set) {
  return (tsi_index)__builtin_ctzll(set);
}

/* n <= MINIMUM_DEGREE_VERTICES. near[v]: bit u is set if u is a neighbour of v, not v itself; symmetric. It
 * is overwritten. order[k]: the vertex eliminated as k-th. */
static void minimum_degree(tsi_index n, uint64_t *near, tsi_index *order) {
  uint64_t left = n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
  for (tsi_index k = 0; k < n; k++) {
    tsi_index v = first_of(left);
    for (uint64_t rest = left & (left - 1); rest != 0; rest &= rest - 1)
      if (members_of(near[first_of(rest)]) < members_of(near[v])) v = first_of(rest);
    order[k] = v;
    left &= ~((uint64_t)1 << v);
    for (uint64_t rest = near[v]; rest != 0; rest &= rest - 1) {
      const tsi_index u = first_of(rest);
      near[u] = (near[u] | near[v]) & ~((uint64_t)1 << u) & ~((uint64_t)1 << v);
    }
  }
}

/* ---- Orderings ----------------------------------------------------------------------------------------- */

/* In core_of: why a vertex is not in the core. */
enum { ISOLATED = -1, DENSE = -2 };

/* Numbered component by component, ascending in each. */
typedef struct core_graph {
  tsi_index n;        /* vertices */
  tsi_index *core_of; /* number in the core of each vertex of the graph, ISOLATED or DENSE */
  tsi_index *vertex;  /* and back */
  tsi_index components;
  tsi_index *first;  /* components + 1: the first vertex of each */
  idx_t *xadj, *adj; /* what METIS reads of component c, both numbered from 0 there: xadj from first[c] + c */
  idx_t *perm, *iperm; /* likewise */
  idx_t *sizes;        /* of the nodes of the separator tree */
} core_graph;

pthread_mutex_t tsi_metis_lock = PTHREAD_MUTEX_INITIALIZER;

tristar_status tsi_metis_can_count(tsi_env *env, tsi_count edges) {
  if (edges > IDX_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "METIS cannot count %lld edges with its %d-bit integers",
             (long long)edges, IDXTYPEWIDTH);
  return TRISTAR_OK;
}

tristar_status tsi_metis_status(tsi_env *env, int code, tsi_index vertices, tsi_count edges) {
  if (code == METIS_ERROR_MEMORY)
    TSI_FAIL(env, TRISTAR_ERR_MEMORY, "METIS ran out of memory on %d vertices (code %d)", vertices, code);
  if (code != METIS_OK)
    TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "METIS failed on %d vertices, %lld edges (code %d)", vertices,
             (long long)edges, code);
  return TRISTAR_OK;
}

tristar_status tsi_invert_permutation(tsi_env *env, tsi_index n, const tsi_index *perm, tsi_index *inverse) {
  for (tsi_index v = 0; v < n; v++) inverse[v] = TSI_NONE;
  for (tsi_index k = 0; k < n; k++) {
    tsi_index v = perm[k];
    if (v < 0 || v >= n)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "permutation[%d] = %d is not in 0..%d", k, v, n - 1);
    if (inverse[v] != TSI_NONE)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "permutation[%d] = permutation[%d] = %d: each row once", inverse[v],
               k, v);
    inverse[v] = k;
  }
  return TRISTAR_OK;
}

static tsi_count degree(const tsi_graph *graph, tsi_index v) {
  return graph->ptr[v + 1] - graph->ptr[v];
}

/* Marks the dense vertices. Where there are many, the graph is dense rather than arrow-like: none is marked.
 */
static void mark_dense(const tsi_graph *graph, tsi_index *core_of) {
  const double limit = tsi_dense_limit(graph->n);
  tsi_index dense = 0;
  for (tsi_index v = 0; v < graph->n; v++) {
    core_of[v] = (double)degree(graph, v) > limit ? DENSE : ISOLATED;
    dense += core_of[v] == DENSE;
  }
  if ((double)dense <= limit) return;
  for (tsi_index v = 0; v < graph->n; v++) core_of[v] = ISOLATED;
}

/* Puts the vertices that can be reached from v, dense ones aside, behind the others of the queue, and gives
 * them the number of their component. */
static void reach(const tsi_graph *graph, tsi_index v, tsi_index component, core_graph *core) {
  tsi_index *queue = core->vertex, head = core->n;
  queue[core->n++] = v;
  core->core_of[v] = component;
  for (; head < core->n; head++)
    for (tsi_count p = graph->ptr[queue[head]]; p < graph->ptr[queue[head] + 1]; p++) {
      const tsi_index u = graph->adj[p];
      if (core->core_of[u] != ISOLATED) continue;
      core->core_of[u] = component;
      queue[core->n++] = u;
    }
}

static bool has_neighbour(const tsi_graph *graph, const tsi_index *core_of, tsi_index v) {
  for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++)
    if (core_of[graph->adj[p]] != DENSE) return true;
  return false;
}

/* Numbers the vertices that have a neighbour outside the dense ones. together: as one component. */
static void number_core(const tsi_graph *graph, bool together, core_graph *core) {
  tsi_index *first = core->first;
  for (tsi_index v = 0; v < graph->n; v++) {
    if (core->core_of[v] != ISOLATED || !has_neighbour(graph, core->core_of, v)) continue;
    if (core->components == 0 || !together) first[core->components++] = core->n;
    reach(graph, v, core->components - 1, core);
  }
  for (tsi_index v = 0; v < graph->n; v++) {
    if (core->core_of[v] < 0) continue;
    const tsi_index number = first[core->core_of[v]]++;
    core->vertex[number] = v;
    core->core_of[v] = number;
  }
  for (tsi_index c = core->components; c > 0; c--) first[c] = first[c - 1];
  first[0] = 0;
}

/* Fills xadj and adj. */
static void list_neighbours(const tsi_graph *graph, core_graph *core) {
  idx_t *xadj = core->xadj, *adj = core->adj;
  for (tsi_index c = 0; c < core->components; c++) {
    idx_t at = 0;
    for (tsi_index k = core->first[c]; k < core->first[c + 1]; k++) {
      const tsi_index v = core->vertex[k];
      *xadj++ = at;
      for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) {
        const tsi_index other = core->core_of[graph->adj[p]];
        if (other != DENSE) adj[at++] = other - core->first[c];
      }
    }
    *xadj++ = at;
    adj += at;
  }
}

static tristar_status build_core(tsi_env *env, const tsi_graph *graph, bool together, core_graph *core) {
  TSI_TRY(TSI_ALLOC_IN(core, core->core_of, graph->n));
  TSI_TRY(TSI_ALLOC_IN(core, core->vertex, graph->n));
  TSI_TRY(TSI_ALLOC_IN(core, core->first, graph->n / 2 + 1)); /* a component has two vertices or more */
  mark_dense(graph, core->core_of);
  number_core(graph, together, core);
  tsi_count edges = 0;
  for (tsi_index c = 0; c < core->n; c++) edges += degree(graph, core->vertex[c]);
  TSI_TRY(tsi_metis_can_count(env, edges));
  TSI_TRY(TSI_ALLOC_IN(core, core->xadj, (tsi_count)core->n + core->components));
  TSI_TRY(TSI_ALLOC_IN(core, core->adj, edges));
  TSI_TRY(TSI_ALLOC_IN(core, core->perm, core->n));
  TSI_TRY(TSI_ALLOC_IN(core, core->iperm, core->n));
  list_neighbours(graph, core);
  return TRISTAR_OK;
}

/* perm of a component of few vertices. */
static void order_small(idx_t n, const idx_t *xadj, const idx_t *adj, idx_t *perm) {
  uint64_t near[MINIMUM_DEGREE_VERTICES];
  tsi_index order[MINIMUM_DEGREE_VERTICES];
  for (idx_t v = 0; v < n; v++) {
    near[v] = 0;
    for (idx_t p = xadj[v]; p < xadj[v + 1]; p++) near[v] |= (uint64_t)1 << adj[p];
  }
  minimum_degree((tsi_index)n, near, order);
  for (idx_t k = 0; k < n; k++) perm[k] = order[k];
}

/* Runs METIS on component c. */
static tristar_status run_metis(tsi_env *env, core_graph *core, tsi_index c, idx_t *adj, tsi_index leaf_parts,
                                int seed) {
  idx_t options[METIS_NOPTIONS];
  const tsi_index first = core->first[c];
  idx_t *xadj = core->xadj + first + c, *perm = core->perm + first, *iperm = core->iperm + first;
  idx_t n = core->first[c + 1] - first;
  int code = METIS_OK;
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = seed;
  pthread_mutex_lock(&tsi_metis_lock);
  if (leaf_parts > 1)
    code = METIS_NodeNDP(n, xadj, adj, NULL, leaf_parts, options, perm, iperm, core->sizes);
  else
    code = METIS_NodeND(&n, xadj, adj, NULL, options, perm, iperm);
  pthread_mutex_unlock(&tsi_metis_lock);
  return tsi_metis_status(env, code, n, xadj[n]);
}

/* Orders the core: perm[first[c] + k] is then the vertex of component c eliminated as k-th of them. */
static tristar_status order_core(tsi_env *env, core_graph *core, tsi_index leaf_parts, int seed) {
  const tsi_index nodes = 2 * leaf_parts - 1;
  idx_t *adj = core->adj, sum = 0;
  TSI_TRY(TSI_ALLOC_ZERO_IN(core, core->sizes, nodes)); /* METIS leaves the nodes below an empty one alone */
  for (tsi_index c = 0; c < core->components; c++) {
    const tsi_index first = core->first[c], n = core->first[c + 1] - first;
    const idx_t *xadj = core->xadj + first + c;
    if (n <= MINIMUM_DEGREE_VERTICES && leaf_parts == 1)
      order_small(n, xadj, adj, core->perm + first);
    else
      TSI_TRY(run_metis(env, core, c, adj, leaf_parts, seed));
    adj += xadj[n];
  }
  if (leaf_parts == 1) core->sizes[0] = core->n;
  for (tsi_index t = 0; t < nodes; t++) sum += core->sizes[t];
  if (sum != core->n)
    TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "METIS_NodeNDP: the parts of %d vertices sum up to %lld", core->n,
             (long long)sum);
  return TRISTAR_OK;
}

/* The place of each node's columns in the ordering: a node comes after its left and its right subtree. */
static tristar_status lay_out_nodes(tsi_env *env, tsi_index leaf_parts, const tsi_index *columns,
                                    tsi_index *first) {
  tsi_index root = 2 * leaf_parts - 2;
  /* columns in the subtree of a node, then the end of its place */
  TSI_SCRATCH(env, tsi_index, subtree, root + 1);
  for (tsi_index t = 0; t <= root; t++) subtree[t] = columns[t];
  for (tsi_index t = 0; t < root; t++) subtree[tsi_separator_parent(leaf_parts, t)] += subtree[t];
  for (tsi_index t = root; t >= 0; t--) {
    first[t] = subtree[t] - columns[t];
    if (t < leaf_parts) continue;
    tsi_index right = root - 2 * (root - t) - 1;
    subtree[right - 1] = first[t] - subtree[right];
    subtree[right] = first[t];
  }
  return TRISTAR_OK;
}

/* Hands the vertices without neighbours to the smallest leaves, the dense ones to the root. */
static void complete_parts(tsi_index n, const core_graph *core, tsi_index leaf_parts, tsi_index *part,
                           tsi_index *part_columns) {
  tsi_count left = 0, in_leaves = 0; /* vertices */
  for (tsi_index v = 0; v < n; v++) left += core->core_of[v] == ISOLATED;
  for (tsi_index t = 0; t < leaf_parts; t++) in_leaves += part_columns[t];
  tsi_count target = (in_leaves + left + leaf_parts - 1) / leaf_parts;
  tsi_index leaf = 0;
  for (tsi_index v = 0; v < n; v++) {
    if (core->core_of[v] >= 0) continue;
    while (leaf < leaf_parts - 1 && part_columns[leaf] >= target) leaf++;
    part[v] = core->core_of[v] == DENSE ? 2 * leaf_parts - 2 : leaf;
    part_columns[part[v]]++;
  }
}

static int compare_dense(const void *pa, const void *pb) {
  const tsi_dense_vertex *a = pa, *b = pb;
  if (a->degree != b->degree) return a->degree < b->degree ? -1 : 1;
  return a->vertex < b->vertex ? -1 : 1;
}

void tsi_sort_dense(tsi_index count, tsi_dense_vertex *dense) {
  if (count > 0) qsort(dense, (size_t)count, sizeof *dense, compare_dense);
}

/* Appends the dense vertices at perm[at], those of low degree first. */
static tristar_status place_dense(tsi_env *env, const tsi_graph *graph, const core_graph *core, tsi_index at,
                                  tsi_index *perm) {
  tsi_index count = 0;
  TSI_SCRATCH(env, tsi_dense_vertex, dense, graph->n - at);
  for (tsi_index v = 0; v < graph->n; v++)
    if (core->core_of[v] == DENSE) dense[count++] = (tsi_dense_vertex){degree(graph, v), v};
  tsi_sort_dense(count, dense);
  for (tsi_index i = 0; i < count; i++) perm[at + i] = dense[i].vertex;
  return TRISTAR_OK;
}

/* perm from METIS's ordering of the core. part may be NULL: then there is only one node. */
static tristar_status assemble(tsi_env *env, const tsi_graph *graph, const core_graph *core,
                               tsi_index leaf_parts, tsi_index *perm, tsi_index *part,
                               tsi_index *part_columns) {
  tsi_index nodes = 2 * leaf_parts - 1;
  TSI_SCRATCH(env, tsi_index, next, nodes);
  if (part) {
    for (tsi_index t = 0; t < nodes; t++) part_columns[t] = (tsi_index)core->sizes[t];
    TSI_TRY(lay_out_nodes(env, leaf_parts, part_columns, next));
    for (tsi_index t = 0; t < nodes; t++)
      for (tsi_index k = next[t]; k < next[t] + part_columns[t]; k++) part[core->vertex[core->perm[k]]] = t;
    complete_parts(graph->n, core, leaf_parts, part, part_columns);
    TSI_TRY(lay_out_nodes(env, leaf_parts, part_columns, next));
  } else {
    next[0] = 0;
  }
  for (tsi_index v = 0; v < graph->n; v++)
    if (core->core_of[v] == ISOLATED) perm[next[part ? part[v] : 0]++] = v;
  for (tsi_index c = 0; c < core->components; c++)
    for (tsi_index k = core->first[c]; k < core->first[c + 1]; k++) {
      tsi_index v = core->vertex[core->first[c] + core->perm[k]];
      perm[next[part ? part[v] : 0]++] = v;
    }
  return place_dense(env, graph, core, next[nodes - 1], perm);
}

static tristar_status order_metis(tsi_env *env, const tsi_graph *graph, const tsi_symbolic_options *options,
                                  tsi_index *perm, tsi_index *part, tsi_index *part_columns) {
  TSI_SCRATCH_ZERO(env, core_graph, core, 1);
  if (options->leaf_parts == 1) part = NULL;
  TSI_TRY(build_core(env, graph, options->leaf_parts > 1, core));
  tsi_log(env, TRISTAR_LOG_PROGRESS, "ordering: METIS, %d vertices, %d components", core->n,
          core->components);
  TSI_TRY(order_core(env, core, options->leaf_parts, options->seed));
  return assemble(env, graph, core, options->leaf_parts, perm, part, part_columns);
}

tristar_status tsi_order(tsi_env *env, const tsi_graph *graph, const tsi_symbolic_options *options,
                         tsi_index *perm, tsi_index *part, tsi_index *part_columns) {
  tsi_index leaf_parts = options->leaf_parts;
  if (leaf_parts < 1 || leaf_parts > TSI_MAX_LEAF_PARTS || (leaf_parts & (leaf_parts - 1)) != 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "leaf_parts = %d is not a power of two in 1..%d", leaf_parts,
             TSI_MAX_LEAF_PARTS);
  switch (options->ordering) {
  case TSI_ORDER_METIS:
    TSI_TRY(order_metis(env, graph, options, perm, part, part_columns));
    break;
  case TSI_ORDER_NATURAL:
    for (tsi_index k = 0; k < graph->n; k++) perm[k] = k;
    break;
  case TSI_ORDER_GIVEN:
    if (options->given == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "no permutation was given");
    for (tsi_index k = 0; k < graph->n; k++) perm[k] = options->given[k];
    break;
  default:
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknown ordering %d", (int)options->ordering);
  }
  return TRISTAR_OK;
}
