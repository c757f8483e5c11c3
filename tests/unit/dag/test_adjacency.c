/* Lists of edges by item on random graphs: they equal the result of a search through all edges, every broken
 * invariant is found, and every allocation may fail. */
#include "dag/adjacency.h"

#include "tests/support/env_allocations.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

/* Makes edges in any direction, with loops and duplicates. */
static tsi_edge *draw_edges(tsi_index items, tsi_count edges, uint64_t seed) {
  tsi_edge *edge = xmalloc((size_t)(edges + 1) * sizeof *edge);
  for (tsi_count e = 0; e < edges; e++)
    edge[e] = (tsi_edge){.item = lcg_below(&seed, items), .before = lcg_below(&seed, items)};
  return edge;
}

static void check_random(tsi_env *env, tsi_index items, tsi_count edges, uint64_t seed) {
  OWNED tsi_edge *edge = draw_edges(items, edges, seed);
  tsi_adjacency *before, *after;
  CHECK_OK(tsi_adjacency_create(env, items, edges, edge, TSI_BEFORE, &before));
  CHECK_OK(tsi_adjacency_create(env, items, edges, edge, TSI_AFTER, &after));
  tsi_count b = 0, a = 0;
  for (tsi_index i = 0; i < items; i++) {
    CHECK(before->ptr[i] == b && after->ptr[i] == a);
    for (tsi_count e = 0; e < edges; e++) {
      if (edge[e].item == i) CHECK(before->list[b++] == edge[e].before);
      if (edge[e].before == i) CHECK(after->list[a++] == edge[e].item);
    }
    CHECK(tsi_degree(before, i) == b - before->ptr[i] && tsi_degree(after, i) == a - after->ptr[i]);
  }
  CHECK(b == edges && a == edges);
  TSI_FREE(env, before);
  TSI_FREE(env, after);
  CHECK(before == NULL && after == NULL);
}

static void check_small(tsi_env *env) {
  tsi_adjacency *lists;
  for (int side = 0; side < 2; side++) {
    CHECK_OK(tsi_adjacency_create(env, 0, 0, NULL, side ? TSI_AFTER : TSI_BEFORE, &lists));
    CHECK(lists->ptr[0] == 0);
    TSI_FREE(env, lists);
    CHECK_OK(tsi_adjacency_create(env, 3, 0, NULL, side ? TSI_AFTER : TSI_BEFORE, &lists));
    for (tsi_index i = 0; i < 3; i++) CHECK(tsi_degree(lists, i) == 0);
    TSI_FREE(env, lists);
  }
}

static void check_corruption(tsi_env *env) {
  const tsi_edge edge[] = {{2, 0}, {1, 0}, {2, 1}, {3, 2}, {2, 0}};
  tsi_adjacency *lists;
#define LISTS tsi_adjacency_check(env, lists, 4, 5, edge, TSI_BEFORE)
  CHECK_OK(tsi_adjacency_create(env, 4, 5, edge, TSI_BEFORE, &lists));
  CHECK(tsi_degree(lists, 0) == 0 && tsi_degree(lists, 2) == 3 && lists->list[2] == 1);
  BROKEN(lists->ptr[0], 1, LISTS);
  BROKEN(lists->ptr[4], 4, LISTS);
  BROKEN(lists->ptr[1], 1, LISTS);
  BROKEN(lists->ptr[2], 6, LISTS); /* after the end of the next list */
  BROKEN(lists->list[0], 1, LISTS);
  BROKEN(lists->list[2], 0, LISTS); /* changes the order */
  BROKEN(lists->list[4], -1, LISTS);
  CHECK_STATUS(tsi_adjacency_check(env, lists, 4, 5, edge, TSI_AFTER), TRISTAR_ERR_INTERNAL);
  CHECK_OK(LISTS);
  TSI_FREE(env, lists);
}

static void check_failures(void) {
  const tsi_edge edge[] = {{1, 0}, {2, 1}};
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  allocation_failures failing = fail_allocations(&env);
  while (next_failure(&failing)) {
    tsi_adjacency *lists;
    const tristar_status status = tsi_adjacency_create(&env, 3, 2, edge, TSI_BEFORE, &lists);
    end_failure(&failing, status);
    CHECK((lists != NULL) == (status == TRISTAR_OK));
    TSI_FREE(&env, lists);
  }
}

int test_adjacency(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  for (uint64_t seed = 1; seed < 40; seed++)
    RUN(check_random(&env, 1 + (tsi_index)seed * 3, (tsi_count)(seed * seed), seed));
  RUN(check_small(&env));
  env.check = false;
  RUN(check_corruption(&env));
  CHECK(atomic_load(&env.memory.current) == 0);
  RUN(check_failures());
  return 0;
}
