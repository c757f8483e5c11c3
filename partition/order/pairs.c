/* See pairs.h. */
#include "partition/order/pairs.h"

#include "partition/order/ordering.h"

/* Pairs the vertices of the cycle that begins at `first`, from `first` on; a last one without a partner is
 * not paired. */
static tsi_index pair_cycle(tsi_index first, const tsi_index *row_of_column, tsi_index *partner) {
  tsi_index pairs = 0, v = first;
  do {
    const tsi_index next = row_of_column[v];
    if (next == first) { /* no vertex left for a pair */
      partner[v] = v;
      break;
    }
    partner[v] = next;
    partner[next] = v;
    pairs++;
    v = row_of_column[next];
  } while (v != first);
  return pairs;
}

tsi_index tsi_pairs_from_matching(tsi_index n, const tsi_index *row_of_column, const double *diagonal,
                                  tsi_index *partner, bool *visited) {
  tsi_index pairs = 0;
  for (tsi_index v = 0; v < n; v++) visited[v] = false;
  for (tsi_index v = 0; v < n; v++) {
    if (visited[v]) continue;
    tsi_index length = 0, alone = v;
    for (tsi_index u = v; !visited[u]; u = row_of_column[u]) {
      visited[u] = true;
      length++;
      if (diagonal[u] > diagonal[alone]) alone = u;
    }
    /* an odd cycle begins after its unpaired vertex, so that this is the last one */
    pairs += pair_cycle(length % 2 == 0 ? v : row_of_column[alone], row_of_column, partner);
  }
  return pairs;
}

/* Writes the neighbours of v and their partners; a vertex may occur twice. */
static tsi_index *list_pairs_of(const tsi_graph *graph, const tsi_index *partner, tsi_index v,
                                tsi_index *to) {
  for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) {
    const tsi_index u = graph->adj[p];
    *to++ = u;
    if (partner[u] != u) *to++ = partner[u];
  }
  return to;
}

tristar_status tsi_pairs_graph(tsi_env *env, const tsi_graph *graph, const tsi_index *partner,
                               tsi_graph **out) {
  const tsi_index n = graph->n;
  *out = NULL;
  TSI_SCRATCH(env, tsi_count, ptr, (tsi_count)n + 1);
  /* entries of both vertices of a pair, each with its partner */
  TSI_SCRATCH(env, tsi_index, index, 4 * graph->ptr[n] + n);
  tsi_index *to = index;
  for (tsi_index v = 0; v < n; v++) {
    ptr[v] = to - index;
    to = list_pairs_of(graph, partner, v, to);
    if (partner[v] == v) continue;
    to = list_pairs_of(graph, partner, partner[v], to);
    *to++ = partner[v];
  }
  ptr[n] = to - index;
  return tsi_graph_create(env, n, ptr, index, NULL, false, out);
}

/* The graph of the pairs. group[v]: the pair's number; first[g]: its first vertex. */
static tristar_status compress(tsi_env *env, const tsi_graph *graph, const tsi_index *partner,
                               const tsi_index *group, const tsi_index *first, tsi_index groups,
                               tsi_graph **out) {
  tsi_count at = 0;
  TSI_SCRATCH(env, tsi_count, ptr, (tsi_count)groups + 1);
  TSI_SCRATCH(env, tsi_index, index, graph->ptr[graph->n]);
  for (tsi_index g = 0; g < groups; g++) {
    const tsi_index v = first[g], u = partner[v];
    ptr[g] = at;
    for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++) index[at++] = group[graph->adj[p]];
    if (u == v) continue;
    for (tsi_count p = graph->ptr[u]; p < graph->ptr[u + 1]; p++) index[at++] = group[graph->adj[p]];
  }
  ptr[groups] = at;
  return tsi_graph_create(env, groups, ptr, index, NULL, false, out);
}

/* The given order, with each pair at the position of its first vertex. position: n, scratch. */
static tristar_status follow(tsi_env *env, tsi_index n, const tsi_index *given, const tsi_index *partner,
                             tsi_index *position, tsi_index *perm) {
  tsi_index at = 0;
  TSI_TRY(tsi_invert_permutation(env, n, given, position));
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index v = given[k], u = partner[v];
    if (position[u] < k) continue;
    perm[at++] = v;
    if (u != v) perm[at++] = u;
  }
  return TRISTAR_OK;
}

tristar_status tsi_pairs_order(tsi_env *env, const tsi_graph *graph, const tsi_index *partner,
                               const tsi_symbolic_options *options, tsi_index *perm) {
  const tsi_index n = graph->n;
  tsi_symbolic_options plain = *options;
  TSI_OWNED tsi_graph *compressed = NULL;
  tsi_index groups = 0, at = 0;
  TSI_OWNED tsi_index *order = NULL, *first = NULL, *group = NULL;
  TSI_TRY(TSI_ALLOC(env, group, n));
  if (options->ordering == TSI_ORDER_GIVEN) {
    TSI_TRY(follow(env, n, options->given, partner, group, perm));
    return TRISTAR_OK;
  }
  TSI_TRY(TSI_ALLOC(env, first, n));
  for (tsi_index v = 0; v < n; v++) {
    if (partner[v] < v) {
      group[v] = group[partner[v]];
      continue;
    }
    group[v] = groups;
    first[groups++] = v;
  }
  TSI_TRY(compress(env, graph, partner, group, first, groups, &compressed));
  TSI_TRY(TSI_ALLOC(env, order, groups));
  plain.leaf_parts = 1;
  TSI_TRY(tsi_order(env, compressed, &plain, order, NULL, NULL));
  for (tsi_index k = 0; k < groups; k++) {
    const tsi_index v = first[order[k]];
    perm[at++] = v;
    if (partner[v] != v) perm[at++] = partner[v];
  }
  return TRISTAR_OK;
}
