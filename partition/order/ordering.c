/* Fill-reducing orderings: see ordering.h. */
#include "partition/order/ordering.h"

#include "partition/order/core_graph.h"
#include "partition/order/scotch_call.h"
#include "partition/order/shared_order.h"
#include "partition/order/minimum_degree.h"
#include "partition/order/order_choice.h"

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

/* ---- Components ---------------------------------------------------------------------------------------- */

/* Orders each component of the core by METIS, AMD, SCOTCH or DISSECTION. Adds AMD's prediction to *fill. */
static tristar_status order_components(tsi_env *env, const tsi_core_graph *core, tsi_ordering_kind kind,
                                       const tsi_symbolic_options *options, tsi_fill *fill) {
  const tsi_method method = {.kind = kind, .leaf_parts = 1, .seed = options->seed, .fill = fill};
  tsi_watch *watch = options->watch;
  tsi_component c;
  tsi_index placed = 0;
  for (tsi_index i = 0; tsi_core_next(core, &i, &c); placed += (tsi_index)c.n) {
    if (watch != NULL) watch->from = (double)placed / core->n, watch->part = (double)c.n / core->n;
    tsi_watch_note(watch, 0);
    TSI_TRY(tsi_watch_look(env, watch, "ordering"));
    if (c.n <= TSI_MINIMUM_DEGREE_VERTICES)
      tsi_minimum_degree(&c, fill);
    else if (kind == TSI_ORDER_DISSECTION)
      TSI_TRY(tsi_shared_order(env, &c, options->seed, options->cores, watch));
    else
      TSI_TRY(tsi_component_order(env, &c, &method, watch));
  }
  return TRISTAR_OK;
}

/* perm of the graph: vertices without neighbours, the core, dense vertices. */
static tristar_status assemble(tsi_env *env, const tsi_graph *graph, const tsi_core_graph *core,
                               tsi_index *perm) {
  tsi_index at = 0;
  for (tsi_index v = 0; v < graph->n; v++)
    if (core->core_of[v] == TSI_ISOLATED) perm[at++] = v;
  for (tsi_index c = 0; c < core->components; c++)
    for (tsi_index k = core->first[c]; k < core->first[c + 1]; k++)
      perm[at++] = core->vertex[core->first[c] + core->perm[k]];
  return tsi_core_place_dense(env, graph, core, at, perm);
}

/* ---- Separator trees ----------------------------------------------------------------------------------- */

/* The positions of each node's columns in the ordering: a node comes after its left and its right subtree. */
static tristar_status lay_out_nodes(tsi_env *env, tsi_index leaf_parts, const tsi_index *columns,
                                    tsi_index *first) {
  tsi_index root = 2 * leaf_parts - 2;
  /* columns in the subtree of a node, then the end of its positions */
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

/* Adds the vertices without neighbours to the smallest leaves, the dense ones to the root. */
static void complete_parts(tsi_index n, const tsi_core_graph *core, tsi_index leaf_parts, tsi_index *part,
                           tsi_index *part_columns) {
  tsi_count left = 0, in_leaves = 0; /* vertices */
  for (tsi_index v = 0; v < n; v++) left += core->core_of[v] == TSI_ISOLATED;
  for (tsi_index t = 0; t < leaf_parts; t++) in_leaves += part_columns[t];
  tsi_count target = (in_leaves + left + leaf_parts - 1) / leaf_parts;
  tsi_index leaf = 0;
  for (tsi_index v = 0; v < n; v++) {
    if (core->core_of[v] >= 0) continue;
    while (leaf < leaf_parts - 1 && part_columns[leaf] >= target) leaf++;
    part[v] = core->core_of[v] == TSI_DENSE ? 2 * leaf_parts - 2 : leaf;
    part_columns[part[v]]++;
  }
}

/* The same with a separator tree. sizes: vertices of the core in each node, in the order of perm. */
static tristar_status assemble_tree(tsi_env *env, const tsi_graph *graph, const tsi_core_graph *core,
                                    tsi_index leaf_parts, const idx_t *sizes, tsi_index *perm,
                                    tsi_index *part, tsi_index *part_columns) {
  const tsi_index nodes = 2 * leaf_parts - 1;
  TSI_SCRATCH(env, tsi_index, next, nodes);
  for (tsi_index t = 0; t < nodes; t++) part_columns[t] = (tsi_index)sizes[t];
  TSI_TRY(lay_out_nodes(env, leaf_parts, part_columns, next));
  for (tsi_index t = 0; t < nodes; t++)
    for (tsi_index k = next[t]; k < next[t] + part_columns[t]; k++) part[core->vertex[core->perm[k]]] = t;
  complete_parts(graph->n, core, leaf_parts, part, part_columns);
  TSI_TRY(lay_out_nodes(env, leaf_parts, part_columns, next));
  for (tsi_index v = 0; v < graph->n; v++)
    if (core->core_of[v] == TSI_ISOLATED) perm[next[part[v]]++] = v;
  for (tsi_index k = 0; k < core->n; k++) {
    const tsi_index v = core->vertex[core->perm[k]];
    perm[next[part[v]]++] = v;
  }
  return tsi_core_place_dense(env, graph, core, next[nodes - 1], perm);
}

/* Orders the whole core by METIS_NodeNDP. */
static tristar_status order_tree(tsi_env *env, const tsi_graph *graph, const tsi_symbolic_options *options,
                                 tsi_index *perm, tsi_index *part, tsi_index *part_columns) {
  const tsi_index leaf_parts = options->leaf_parts, nodes = 2 * leaf_parts - 1;
  TSI_OWNED tsi_core_graph *core = NULL;
  tsi_component c;
  tsi_fill ignored = {0};
  idx_t sum = 0;
  TSI_TRY(tsi_core_create(env, graph, true, &core));
  tsi_log(env, TRISTAR_LOG_PROGRESS, "ordering: METIS, %d vertices, %d leaves", core->n, leaf_parts);
  TSI_SCRATCH_ZERO(env, idx_t, sizes, nodes); /* METIS does not write sizes below an empty node */
  const tsi_method method = {TSI_ORDER_METIS, leaf_parts, options->seed, sizes, &ignored};
  for (tsi_index i = 0; tsi_core_next(core, &i, &c);)
    TSI_TRY(tsi_component_order(env, &c, &method, options->watch));
  for (tsi_index t = 0; t < nodes; t++) sum += sizes[t];
  if (sum != core->n)
    TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "METIS_NodeNDP: the parts of %d vertices sum up to %lld", core->n,
             (long long)sum);
  return assemble_tree(env, graph, core, leaf_parts, sizes, perm, part, part_columns);
}

/* ---- Methods ------------------------------------------------------------------------------------------- */

static tristar_status order_core(tsi_env *env, const tsi_graph *graph, const tsi_symbolic_options *options,
                                 tsi_index *perm) {
  TSI_OWNED tsi_core_graph *core = NULL;
  tsi_fill fill = {0};
  TSI_TRY(tsi_core_create(env, graph, false, &core));
  tsi_log(env, TRISTAR_LOG_PROGRESS, "ordering: %d vertices, %d components", core->n, core->components);
  TSI_TRY(order_components(env, core, options->ordering, options, &fill));
  return assemble(env, graph, core, perm);
}

/* A dissection with less than this share of AMD's predicted time is better, whatever AMD's measured time. */
#define CLEARLY_LESS 0.8

/* Computes a dissection besides AMD's perm and prediction; the better of the two stays in perm. */
static tristar_status try_dissection(tsi_env *env, const tsi_graph *graph, const tsi_core_graph *core,
                                     const tsi_symbolic_options *options, const tsi_fill *predicted,
                                     tsi_index *perm, tsi_order_choice *choice) {
  const tsi_order_costs *costs = &options->costs;
  tsi_fill amd = *predicted, dissection, ignored = {0};
  TSI_SCRATCH(env, tsi_index, other, graph->n);
  TSI_TRY(order_components(env, core, TSI_ORDER_DISSECTION, options, &ignored));
  TSI_TRY(assemble(env, graph, core, other));
  TSI_TRY(tsi_symbolic_measure(env, graph, other, &dissection));
  if (tsi_order_seconds(&dissection, costs) > CLEARLY_LESS * tsi_order_seconds(predicted, costs))
    TSI_TRY(tsi_symbolic_measure(env, graph, perm, &amd));
  if (!tsi_order_takes_dissection(&amd, &dissection, costs, &choice->reason)) return TRISTAR_OK;
  choice->kind = TSI_ORDER_DISSECTION;
  memcpy(perm, other, (size_t)graph->n * sizeof *perm);
  return TRISTAR_OK;
}

static tristar_status order_auto(tsi_env *env, const tsi_graph *graph, const tsi_symbolic_options *options,
                                 tsi_index *perm, tsi_order_choice *choice) {
  TSI_OWNED tsi_core_graph *core = NULL;
  tsi_fill fill = {0};
  TSI_TRY(tsi_core_create(env, graph, false, &core));
  TSI_TRY(order_components(env, core, TSI_ORDER_AMD, options, &fill));
  TSI_TRY(assemble(env, graph, core, perm));
  choice->kind = TSI_ORDER_AMD;
  const bool more = tsi_order_tries_dissection(core->n, &fill, &options->costs, &choice->reason);
  tsi_log(env, TRISTAR_LOG_PROGRESS, "ordering: AMD predicts %.3g entries of L, %.3g operations%s",
          fill.entries, fill.flops, more ? "; a dissection is tried" : "");
  if (more) TSI_TRY(try_dissection(env, graph, core, options, &fill, perm, choice));
  return TRISTAR_OK;
}

/* Orders by the caller's function. */
static tristar_status order_callback(tsi_env *env, const tsi_graph *graph,
                                     const tsi_symbolic_options *options, tsi_index *perm) {
  TSI_SCRATCH_ZERO(env, int64_t, order, graph->n);
  const int code = options->order(options->order_arg, graph->n, graph->ptr, graph->adj, order);
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "the function of ORDERING_CALLBACK returned %d", code);
  for (tsi_index k = 0; k < graph->n; k++)
    if (!tsi_to_index(order[k], &perm[k]) || perm[k] >= graph->n)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
               "the function of ORDERING_CALLBACK: permutation[%d] = %lld is outside 0 .. %d", k,
               (long long)order[k], graph->n - 1);
  return TRISTAR_OK;
}

tristar_status tsi_order(tsi_env *env, const tsi_graph *graph, const tsi_symbolic_options *options,
                         tsi_index *perm, tsi_index *part, tsi_index *part_columns) {
  static const char *const names[] = {
      [TSI_ORDER_METIS] = "METIS", [TSI_ORDER_AMD] = "AMD", [TSI_ORDER_DISSECTION] = "dissection"};
  const tsi_index leaf_parts = options->leaf_parts;
  tsi_order_choice choice = {options->ordering, ""};
  if (options->ordering == TSI_ORDER_SCOTCH) TSI_TRY(tsi_scotch_need(env));
  if (leaf_parts < 1 || leaf_parts > TSI_MAX_LEAF_PARTS || (leaf_parts & (leaf_parts - 1)) != 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "leaf_parts = %d is not a power of two in 1..%d", leaf_parts,
             TSI_MAX_LEAF_PARTS);
  if (tsi_order_makes_tree(options)) {
    choice.kind = TSI_ORDER_METIS;
    if (options->ordering != TSI_ORDER_METIS) choice.reason = "it makes the separator tree";
    TSI_TRY(order_tree(env, graph, options, perm, part, part_columns));
  } else
    switch (options->ordering) {
    case TSI_ORDER_METIS:
    case TSI_ORDER_AMD:
    case TSI_ORDER_DISSECTION:
    case TSI_ORDER_SCOTCH:
      TSI_TRY(order_core(env, graph, options, perm));
      break;
    case TSI_ORDER_AUTO:
      TSI_TRY(order_auto(env, graph, options, perm, &choice));
      break;
    case TSI_ORDER_CALLBACK:
      TSI_TRY(order_callback(env, graph, options, perm));
      break;
    case TSI_ORDER_NATURAL:
      for (tsi_index k = 0; k < graph->n; k++) perm[k] = k;
      break;
    case TSI_ORDER_GIVEN:
      if (options->given == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "no permutation was given");
      memcpy(perm, options->given, (size_t)graph->n * sizeof *perm);
      break;
    default:
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknown ordering %d", (int)options->ordering);
    }
  if (*choice.reason != '\0')
    tsi_log(env, TRISTAR_LOG_INFO, "ordering: %s, because %s", names[choice.kind], choice.reason);
  if (options->choice != NULL) *options->choice = choice;
  return TRISTAR_OK;
}
