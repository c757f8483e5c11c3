/* tsi_graph_parts makes no empty part if there are at least as many vertices as parts, and numbers parts
 * within bounds. METIS's k-way method alone makes empty parts of some of these graphs, without an error. */
#include "partition/order/graph.h"
#include "partition/order/parts.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

enum { N_MAX = 700, ENTRIES_MAX = 4000 };

typedef struct edges {
  tsi_index n, count, from[ENTRIES_MAX], to[ENTRIES_MAX];
} edges;

static void add(edges *e, tsi_index i, tsi_index j) {
  if (i == j || e->count >= ENTRIES_MAX) return;
  e->from[e->count] = i;
  e->to[e->count++] = j;
}

/* Partitions the graph with these edges and checks the parts. */
static void cut(tsi_env *env, const char *name, const edges *e, tsi_index parts) {
  static tsi_count ptr[N_MAX + 1];
  static tsi_index index[ENTRIES_MAX], part[N_MAX], again[N_MAX];
  tsi_index size[N_MAX] = {0}, used = 0;
  tsi_graph *graph = NULL;
  memset(ptr, 0, sizeof ptr);
  for (tsi_index k = 0; k < e->count; k++) ptr[e->to[k] + 1]++;
  for (tsi_index j = 0; j < e->n; j++) ptr[j + 1] += ptr[j];
  for (tsi_index j = 0, k = 0; j < e->n; j++)
    for (tsi_index c = 0; c < e->count; c++)
      if (e->to[c] == j) index[k++] = e->from[c];
  CHECK_OK(tsi_graph_create(env, e->n, ptr, index, NULL, false, &graph));
  CHECK_OK(tsi_graph_parts(env, graph, parts, part));
  CHECK_OK(tsi_graph_parts(env, graph, parts, again));
  for (tsi_index v = 0; v < e->n; v++) {
    CHECK_MSG(part[v] >= 0 && part[v] < parts, "%s: vertex %d is in part %d of %d", name, v, part[v], parts);
    CHECK_MSG(part[v] == again[v], "%s: vertex %d changes its part", name, v);
    used += size[part[v]]++ == 0;
  }
  CHECK_MSG(used == (parts < e->n ? parts : e->n), "%s, %d vertices: %d of %d parts have vertices", name,
            e->n, used, parts);
  TSI_FREE(env, graph);
}

static void cut_all(tsi_env *env, const char *name, const edges *e) {
  for (tsi_index parts = 1; parts <= 33 && parts <= e->n + 3; parts++) cut(env, name, e, parts);
  cut(env, name, e, e->n / 8);
  cut(env, name, e, e->n);
}

int test_graph_parts(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static edges e;
  static const tsi_index sizes[] = {8, 9, 16, 63, 64, 150, 300};
  tsi_env env;
  tsi_env_init(&env);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    uint64_t seed = 11;
    const tsi_index n = sizes[k];
    e = (edges){.n = n};
    for (tsi_index i = 1; i < n; i++) add(&e, i, 0);
    RUN(cut_all(&env, "star", &e));
    for (tsi_index i = 1; i < n; i++) add(&e, i, i - 1);
    RUN(cut_all(&env, "wheel", &e));
    e = (edges){.n = n};
    for (tsi_index i = 1; i < n; i++) add(&e, i, i - 1);
    RUN(cut_all(&env, "chain", &e));
    e = (edges){.n = n};
    add(&e, 0, 1);
    RUN(cut_all(&env, "one edge", &e));
    e = (edges){.n = n};
    for (tsi_index i = 0; i < n && i < 40; i++)
      for (tsi_index j = 0; j < i; j++) add(&e, i, j);
    RUN(cut_all(&env, "clique and single vertices", &e));
    e = (edges){.n = n};
    for (tsi_index i = 0; i < 2 * n; i++) add(&e, lcg_below(&seed, n), lcg_below(&seed, n));
    RUN(cut_all(&env, "random", &e));
  }
  CHECK(env.memory.current == 0);
  return 0;
}
