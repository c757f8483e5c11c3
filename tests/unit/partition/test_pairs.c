/* Pairs from a matching: partner is an involution, odd cycles leave their largest diagonal entry unpaired.
 * The joined graph gives both vertices of a pair the same neighbours, and the ordering keeps them adjacent.
 * No supernode and no node of a separator tree separates them. */
#include "partition/order/pairs.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"

/* Makes a random symmetric pattern. */
static void make_graph(tsi_env *env, tsi_index n, uint64_t seed, tsi_graph **graph) {
  uint64_t state = seed;
  OWNED tsi_count *ptr = xcalloc((size_t)n + 1, sizeof *ptr);
  OWNED tsi_index *index = xcalloc(3 * (size_t)n + 1, sizeof *index);
  for (tsi_index v = 0; v < n; v++) {
    ptr[v + 1] = ptr[v] + 3;
    for (int k = 0; k < 3; k++) index[ptr[v] + k] = (tsi_index)(next_random(&state) % (uint64_t)n);
  }
  CHECK_OK(tsi_graph_create(env, n, ptr, index, NULL, false, graph));
}

static bool has_neighbour(const tsi_graph *graph, tsi_index v, tsi_index u) {
  for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++)
    if (graph->adj[p] == u) return true;
  return false;
}

/* Checks the supernodes of the joined graph in an order in which the vertices of a pair are adjacent. */
static void check_supernodes(tsi_env *env, const tsi_graph *joined, const tsi_symbolic_options *options,
                             const tsi_index *partner) {
  tsi_symbolic *symbolic;
  CHECK_OK(tsi_symbolic_create(env, joined, options, &symbolic));
  for (tsi_index s = 0; s < symbolic->count; s++)
    for (tsi_index j = symbolic->start[s]; j < symbolic->start[s + 1]; j++) {
      const tsi_index other = symbolic->inverse[partner[symbolic->perm[j]]];
      CHECK_MSG(other >= symbolic->start[s] && other < symbolic->start[s + 1],
                "%d leaves: column %d: its partner %d is elsewhere", options->leaf_parts, j, other);
    }
  TSI_FREE(env, symbolic);
}

/* Chains that meet in one vertex. Separator trees cut them into parts of similar weight. */
static void check_chains(tsi_env *env, uint64_t seed) {
  enum { CHAINS = 5, MOST = 40 };
  uint64_t state = seed;
  tsi_count ptr[CHAINS * MOST + 2] = {0};
  tsi_index index[CHAINS * MOST + 1], perm[CHAINS * MOST + 1], partner[CHAINS * MOST + 1], n = 0;
  tsi_index last[CHAINS];
  tsi_graph *graph, *joined;
  tsi_symbolic_options options;
  for (int c = 0; c < CHAINS; c++) {
    const tsi_index length = 2 + (tsi_index)(next_random(&state) % (MOST - 1));
    for (tsi_index k = 0; k < length; k++, n++) { /* an edge to the previous vertex */
      ptr[n + 1] = ptr[n] + (k > 0);
      if (k > 0) index[ptr[n]] = n - 1;
      partner[n] = n;
    }
    last[c] = n - 1;
  }
  partner[n] = n;
  ptr[n + 1] = ptr[n] + CHAINS;
  for (int c = 0; c < CHAINS; c++) index[ptr[n] + c] = last[c];
  n++;
  for (tsi_index v = 0; v + 1 < n; v++) {
    perm[v] = v;
    if (partner[v] != v || index[ptr[v + 1]] != v || next_random(&state) % 3 == 0) continue;
    partner[v] = v + 1;
    partner[v + 1] = v;
  }
  perm[n - 1] = n - 1;
  CHECK_OK(tsi_graph_create(env, n, ptr, index, NULL, false, &graph));
  CHECK_OK(tsi_pairs_graph(env, graph, partner, &joined));
  tsi_symbolic_options_init(&options);
  options.ordering = TSI_ORDER_GIVEN;
  options.given = perm;
  for (options.leaf_parts = 1; options.leaf_parts <= 16; options.leaf_parts *= 2)
    check_supernodes(env, joined, &options, partner);
  TSI_FREE(env, graph);
  TSI_FREE(env, joined);
}

static void check(tsi_env *env, tsi_index n, uint64_t seed) {
  tsi_graph *graph, *joined;
  tsi_symbolic_options options;
  uint64_t state = seed;
  OWNED tsi_index *row = xcalloc((size_t)n + 1, sizeof *row),
                  *partner = xcalloc((size_t)n + 1, sizeof *partner);
  OWNED tsi_index *perm = xcalloc((size_t)n + 1, sizeof *perm),
                  *place = xcalloc((size_t)n + 1, sizeof *place);
  OWNED double *diagonal = xcalloc((size_t)n + 1, sizeof *diagonal);
  OWNED bool *visited = xcalloc((size_t)n + 1, sizeof *visited);
  for (tsi_index v = 0; v < n; v++) row[v] = v;
  for (tsi_index v = n - 1; v > 0; v--) { /* a random permutation */
    const tsi_index u = (tsi_index)(next_random(&state) % (uint64_t)(v + 1)), swap = row[v];
    row[v] = row[u];
    row[u] = swap;
  }
  fill_random(diagonal, n, seed);
  const tsi_index pairs = tsi_pairs_from_matching(n, row, diagonal, partner, visited);
  tsi_index alone = 0, odd = 0;
  for (tsi_index v = 0; v < n; v++) {
    CHECK(partner[v] >= 0 && partner[v] < n && partner[partner[v]] == v);
    CHECK(partner[v] == v || row[v] == partner[v] || row[partner[v]] == v);
    alone += partner[v] == v;
    visited[v] = false;
  }
  CHECK(2 * pairs + alone == n);
  for (tsi_index v = 0; v < n;
       v++) { /* one vertex of each odd cycle remains single: the one with the largest diagonal entry */
    tsi_index length = 0, best = v, single = TSI_NONE;
    for (tsi_index u = v; !visited[u]; u = row[u]) {
      visited[u] = true;
      length++;
      if (diagonal[u] > diagonal[best]) best = u;
      if (partner[u] == u) single = u;
    }
    if (length % 2 == 0) continue;
    odd++;
    CHECK_MSG(single == best, "cycle of %d: %d is alone, not %d", length, single, best);
  }
  CHECK(odd == alone);
  make_graph(env, n, seed + 1, &graph);
  CHECK_OK(tsi_pairs_graph(env, graph, partner, &joined));
  CHECK_OK(tsi_graph_check(env, joined));
  for (tsi_index v = 0; v < n; v++) {
    for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++)
      CHECK(has_neighbour(joined, v, graph->adj[p]));
    for (tsi_count p = joined->ptr[v]; p < joined->ptr[v + 1]; p++) {
      const tsi_index u = joined->adj[p];
      CHECK(u == partner[v] || u == partner[partner[v]] || has_neighbour(joined, partner[v], u));
    }
    CHECK(partner[v] == v || has_neighbour(joined, v, partner[v]));
  }
  tsi_symbolic_options_init(&options);
  CHECK_OK(tsi_pairs_order(env, graph, partner, &options, perm));
  OWNED tsi_index *perm_of_none = xmalloc(((size_t)n + 1) * sizeof *perm_of_none);
  for (tsi_index v = 0; v < n; v++) place[v] = TSI_NONE;
  for (tsi_index k = 0; k < n; k++) {
    CHECK(perm[k] >= 0 && perm[k] < n && place[perm[k]] == TSI_NONE);
    place[perm[k]] = k;
  }
  for (tsi_index v = 0; v < n; v++)
    CHECK(partner[v] == v || place[partner[v]] - place[v] == 1 || place[v] - place[partner[v]] == 1);
  options.ordering = TSI_ORDER_GIVEN;
  for (tsi_index k = 0; k < n; k++) place[k] = k; /* a given order: reversed or shuffled */
  for (tsi_index k = n - 1; k > 0; k--) {
    const tsi_index other =
        seed % 2 ? (tsi_index)(((uint64_t)k * 2654435761u + seed) % ((uint64_t)k + 1)) : n - 1 - k;
    if (seed % 2 == 0 && other >= k) break;
    const tsi_index keep = place[k];
    place[k] = place[other];
    place[other] = keep;
  }
  options.given = place;
  CHECK_OK(tsi_pairs_order(env, graph, partner, &options, perm));
  for (tsi_index k = 0, at = 0; k < n; k++) { /* a pair takes the position of its first vertex */
    const tsi_index v = place[k];
    if (at > 0 && perm[at - 1] == v) continue;
    bool before = false;
    for (tsi_index i = 0; i < at; i++) before = before || perm[i] == v;
    if (before) continue;
    CHECK(perm[at++] == v);
    if (partner[v] != v) CHECK(perm[at++] == partner[v]);
  }
  if (n > 1) {
    const tsi_index keep = place[1];
    place[1] = place[0];
    CHECK(tsi_pairs_order(env, graph, partner, &options, perm_of_none) == TRISTAR_ERR_ARGUMENT);
    place[1] = keep;
  }
  options.given = perm;
  for (options.leaf_parts = 1; options.leaf_parts <= 8; options.leaf_parts *= 2)
    check_supernodes(env, joined, &options, partner);
  TSI_FREE(env, graph);
  TSI_FREE(env, joined);
}

int test_pairs(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  for (tsi_index n = 0; n < 12; n++)
    for (uint64_t seed = 0; seed < 20; seed++) RUN(check(&env, n, seed));
  RUN(check(&env, 500, 1));
  RUN(check(&env, 3000, 2));
  for (uint64_t seed = 0; seed < 60; seed++) RUN(check_chains(&env, seed));
  CHECK(atomic_load(&env.memory.current) == 0);
  return 0;
}
