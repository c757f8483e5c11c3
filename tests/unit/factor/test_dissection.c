/* The nested dissection of a matrix alone: a permutation that separates a grid, the same one as in a symbolic
 * analysis. Each of its allocations fails once. */
#include "partition/order/symbolic.h"
#include "runtime/factor/analysis.h"
#include "tests/support/env_allocations.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

static void check_permutation(const char *name, const tsi_index *position, tsi_index n) {
  OWNED bool *taken = xcalloc((size_t)n + 1, sizeof *taken);
  for (tsi_index v = 0; v < n; v++) {
    CHECK_MSG(position[v] >= 0 && position[v] < n && !taken[position[v]], "%s: vertex %d comes as %d-th",
              name, (int)v, (int)position[v]);
    taken[position[v]] = true;
  }
}

/* Counts the level sets of the lower triangle in an order that contains every edge of the pattern. */
static int count_levels(const pattern *a, const tsi_index *position) {
  int *level = xcalloc((size_t)a->n + 1, sizeof *level), most = 0;
  tsi_index *vertex = xcalloc((size_t)a->n + 1, sizeof *vertex);
  for (tsi_index v = 0; v < a->n; v++) vertex[position[v]] = v;
  for (tsi_index k = 0; k < a->n; k++)
    for (tsi_count e = a->ptr[vertex[k]]; e < a->ptr[vertex[k] + 1]; e++) {
      const tsi_index to = position[a->index[e]];
      if (to > k && level[to] <= level[k]) level[to] = level[k] + 1;
      if (to > k && level[to] > most) most = level[to];
    }
  free(level);
  free(vertex);
  return most + 1;
}

static void check_all(tsi_env *env) {
  const char *name;
  pattern a;
  for (int i = 0; pattern_case(i, &name, &a); i++) {
    tsi_index *position = xcalloc((size_t)a.n + 1, sizeof *position);
    CHECK_STATUS(tsi_dissect(env, a.n, a.ptr, a.index, position), TRISTAR_OK);
    check_permutation(name, position, a.n);
    free(position);
    pattern_free(&a);
  }
}

/* A chain of n vertices has n level sets; after a dissection it has about 2 log2 n. */
static void check_chain(tsi_env *env) {
  enum { N = 1000 };
  static tsi_index position[N];
  CLEANUP(pattern_free) pattern chain = pattern_chain(N);
  CHECK_STATUS(tsi_dissect(env, N, chain.ptr, chain.index, position), TRISTAR_OK);
  const int levels = count_levels(&chain, position);
  CHECK_MSG(levels >= 2 && levels <= 200, "%d level sets", levels);
}

static void fail_each(void) {
  CLEANUP(pattern_free) pattern grid = pattern_grid(8, 8, 1, true);
  tsi_index position[64];
  tsi_env env;
  tsi_env_init(&env);
  allocation_failures failing = fail_allocations(&env);
  while (next_failure(&failing))
    end_failure(&failing, tsi_dissect(&env, grid.n, grid.ptr, grid.index, position));
  CHECK(failing.count >= 3);
}

int test_dissection(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  tsi_env_init(&env);
  RUN(check_all(&env));
  RUN(check_chain(&env));
  CHECK(env.memory.current == 0);
  RUN(fail_each());
  return 0;
}
