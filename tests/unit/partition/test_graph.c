/* tsi_graph_create against a dense boolean A + A^T, and tsi_graph_check against broken graphs. */
#include "partition/order/graph.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

#define N_MAX 150

static bool entry_of[N_MAX][N_MAX];

/* entry_of[i][j]: A has an entry in the mapped row i and in column j. */
static void densify(const pattern *a, const tsi_index *row_map) {
  memset(entry_of, 0, sizeof entry_of);
  for (tsi_index j = 0; j < a->n; j++)
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++)
      entry_of[row_map ? row_map[a->index[p]] : a->index[p]][j] = true;
}

static void compare(const char *name, const tsi_graph *graph, tsi_index n) {
  CHECK_MSG(graph->n == n, "%s", name);
  for (tsi_index v = 0; v < n; v++) {
    tsi_count p = graph->ptr[v];
    for (tsi_index u = 0; u < n; u++)
      if (u != v && (entry_of[u][v] || entry_of[v][u])) {
        CHECK_MSG(p < graph->ptr[v + 1] && graph->adj[p] == u, "%s: edge %d-%d", name, v, u);
        p++;
      }
    CHECK_MSG(p == graph->ptr[v + 1], "%s: vertex %d has %lld neighbours too many", name, v,
              (long long)(graph->ptr[v + 1] - p));
  }
}

static void test_case(tsi_env *env, const char *name, const pattern *a) {
  tsi_graph *graph = NULL;
  tsi_index row_map[N_MAX];
  uint64_t seed = 3;
  densify(a, NULL);
  CHECK_OK(tsi_graph_create(env, a->n, a->ptr, a->index, NULL, false, &graph));
  compare(name, graph, a->n);
  TSI_FREE(env, graph);
  CHECK(graph == NULL);

  for (tsi_index i = 0; i < a->n; i++) { /* a random permutation of the rows */
    tsi_index k = lcg_below(&seed, i + 1);
    row_map[i] = row_map[k];
    row_map[k] = i;
  }
  densify(a, row_map);
  CHECK_OK(tsi_graph_create(env, a->n, a->ptr, a->index, row_map, false, &graph));
  compare(name, graph, a->n);
  TSI_FREE(env, graph);
}

/* One triangle is stored: the lower, the upper, or a mixture. */
static void test_triangles(tsi_env *env) {
  for (int kind = 0; kind < 3; kind++) {
    pattern full = pattern_random(60, 200, 11), half = pattern_begin(60);
    tsi_graph *graph = NULL;
    for (tsi_index j = 0; j < full.n; j++)
      for (tsi_count p = full.ptr[j]; p < full.ptr[j + 1]; p++) {
        tsi_index i = full.index[p], big = tsi_index_max(i, j), small = tsi_index_min(i, j);
        bool lower = kind == 0 || (kind == 2 && (big + small) % 2 == 0);
        pattern_add(&half, lower ? big : small, lower ? small : big);
      }
    pattern_finish(&half);
    densify(&full, NULL);
    CHECK_OK(tsi_graph_create(env, half.n, half.ptr, half.index, NULL, true, &graph));
    compare("triangle", graph, full.n);
    TSI_FREE(env, graph);
    pattern_free(&full);
    pattern_free(&half);
  }
}

static void test_triangle_with_row_map(tsi_env *env) {
  CLEANUP(pattern_free) pattern a = pattern_chain(3);
  tsi_index row_map[3] = {2, 0, 1};
  tsi_graph *graph = NULL;
  CHECK_STATUS(tsi_graph_create(env, a.n, a.ptr, a.index, row_map, true, &graph), TRISTAR_ERR_ARGUMENT);
  CHECK(graph == NULL);
}

/* Each round except the last one violates one invariant of the path 0 - 1 - 2 - 3. */
static void test_check(tsi_env *env) {
  const char *message[] = {"n = -1",
                           "ptr[0] = 1",
                           "ptr of vertex 1 descends",
                           "neighbour 4 of vertex 0",
                           "vertex 0 has a loop",
                           "neighbours 2, 0 of vertex 1 do not ascend",
                           "neighbours 2, 2 of vertex 1 do not ascend",
                           "reverse edges of 2",
                           ""};
  for (int broken = 0; broken <= 8; broken++) {
    tsi_count ptr[5] = {0, 1, 3, 5, 6};
    tsi_index adj[6] = {1, 0, 2, 1, 3, 2};
    tsi_graph graph = {.n = 4, .ptr = ptr, .adj = adj};
    if (broken == 0) graph.n = -1;
    if (broken == 1) ptr[0] = 1;
    if (broken == 2) ptr[2] = 0;
    if (broken == 3) adj[0] = 4;
    if (broken == 4) adj[0] = 0;
    if (broken == 5) adj[1] = 2, adj[2] = 0;
    if (broken == 6) adj[1] = 2;
    if (broken == 7) adj[0] = 2; /* the reverse edge is missing */
    CHECK_STATUS(tsi_graph_check(env, &graph), broken == 8 ? TRISTAR_OK : TRISTAR_ERR_INTERNAL);
    CHECK_MSG(strstr(tsi_error_text(env), message[broken]) != NULL, "round %d: \"%s\"", broken,
              tsi_error_text(env));
  }
  tsi_count ptr[4] = {0, 1, 2, 2};
  tsi_index adj[2] = {1, 2}; /* 0 -> 1 -> 2: all reverse edges are missing */
  tsi_graph graph = {.n = 3, .ptr = ptr, .adj = adj};
  CHECK_STATUS(tsi_graph_check(env, &graph), TRISTAR_ERR_INTERNAL);
}

int test_graph(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  const char *name;
  pattern a;
  tsi_env_init(&env);
  env.check = true;
  for (int i = 0; pattern_case(i, &name, &a); i++) {
    RUN(test_case(&env, name, &a));
    pattern_free(&a);
  }
  RUN(test_triangles(&env));
  RUN(test_triangle_with_row_map(&env));
  RUN(test_check(&env));
  CHECK(env.memory.current == 0);
  return 0;
}
