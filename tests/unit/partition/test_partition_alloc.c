/* Every allocation of the symbolic layer fails once: the status is MEMORY, the output NULL, and nothing
 * leaks. */
#include "partition/order/matching.h"
#include "partition/order/symbolic.h"
#include "tests/support/env_allocations.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

/* Runs a public operation on the pattern and returns its status; all memory is freed. */
typedef tristar_status operation(tsi_env *env, const pattern *a, int variant);

static tristar_status run_graph(tsi_env *env, const pattern *a, int variant) {
  tsi_graph *graph = NULL;
  tristar_status status = tsi_graph_create(env, a->n, a->ptr, a->index, NULL, variant > 0, &graph);
  CHECK((graph != NULL) == (status == TRISTAR_OK));
  TSI_FREE(env, graph);
  return status;
}

/* variant: number of leaf parts; 0 or negative: natural order, with -variant leaf parts. */
static tristar_status run_symbolic(tsi_env *env, const pattern *a, int variant) {
  tsi_graph *graph = NULL;
  tsi_symbolic *sy = NULL;
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  if (variant <= 0) options.ordering = TSI_ORDER_NATURAL;
  if (variant != 0) options.leaf_parts = variant < 0 ? -variant : variant;
  tristar_status status = tsi_graph_create(env, a->n, a->ptr, a->index, NULL, false, &graph);
  if (status == TRISTAR_OK) {
    status = tsi_symbolic_create(env, graph, &options, &sy);
    CHECK((sy != NULL) == (status == TRISTAR_OK));
  }
  TSI_FREE(env, sy);
  TSI_FREE(env, graph);
  return status;
}

/* variant: an ordering. */
static tristar_status run_ordering(tsi_env *env, const pattern *a, int variant) {
  tsi_graph *graph = NULL;
  tsi_symbolic *sy = NULL;
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  options.ordering = (tsi_ordering_kind)variant;
  options.costs.solves = 1e9; /* so many solves that AUTO dissects */
  tristar_status status = tsi_graph_create(env, a->n, a->ptr, a->index, NULL, false, &graph);
  if (status == TRISTAR_OK) {
    status = tsi_symbolic_create(env, graph, &options, &sy);
    CHECK((sy != NULL) == (status == TRISTAR_OK));
  }
  TSI_FREE(env, sy);
  TSI_FREE(env, graph);
  return status;
}

/* variant 0: weighted (0.5^k on the diagonals, so that searches are needed); 1: only the rank */
static tristar_status run_matching(tsi_env *env, const pattern *a, int variant) {
  tsi_index rank = 0, row_of[200];
  double magnitude[2000], r[200], c[200];
  CHECK(a->n <= 200 && a->ptr[a->n] <= 2000);
  if (variant == 1) return tsi_structural_rank(env, a->n, a->ptr, a->index, &rank, NULL);
  for (tsi_count p = 0; p < a->ptr[a->n]; p++) magnitude[p] = pow(0.5, (double)(p * 7 % 31));
  return tsi_matching(env, a->n, a->ptr, a->index, magnitude, row_of, r, c, &rank, NULL);
}

/* Each allocation of the operation fails in turn. */
static void fail_each(const char *name, operation *run, const pattern *a, int variant) {
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  allocation_failures failing = fail_allocations(&env);
  while (next_failure(&failing)) end_failure(&failing, run(&env, a, variant));
  CHECK_MSG(failing.count >= 3, "%s, variant %d: only %lld allocations", name, variant,
            (long long)failing.count);
}

/* Makes a pattern with two unknowns at each vertex, which a dissection merges. */
static pattern doubled(const pattern *a) {
  pattern b = pattern_begin(2 * a->n);
  for (tsi_index j = 0; j < a->n; j++)
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++)
      for (tsi_index k = 0; k < 4; k++) pattern_add(&b, 2 * a->index[p] + k % 2, 2 * j + k / 2);
  pattern_finish(&b);
  return b;
}

int test_partition_alloc(int argc, char **argv) {
  subtests_begin(&argc, argv);
  pattern grid = pattern_grid(8, 8, 1, true), arrow = pattern_arrow(150, 2),
          random = pattern_random(60, 90, 3), cube = pattern_grid(11, 11, 11, false), twins = doubled(&cube);
  RUN(fail_each("graph", run_graph, &grid, 0));
  RUN(fail_each("graph", run_graph, &grid, 1));
  RUN(fail_each("graph", run_graph, &random, 0));
  for (int leaf_parts = -4; leaf_parts <= 4; leaf_parts += leaf_parts < -2 || leaf_parts >= 2 ? 2 : 1) {
    RUN(fail_each("symbolic", run_symbolic, &grid, leaf_parts));
    RUN(fail_each("symbolic", run_symbolic, &arrow, leaf_parts));
    RUN(fail_each("symbolic", run_symbolic, &random, leaf_parts));
  }
  for (int k = TSI_ORDER_AMD; k <= TSI_ORDER_AUTO; k++) {
    if (k == TSI_ORDER_CALLBACK) continue;
    RUN(fail_each("ordering", run_ordering, &cube, k));
    RUN(fail_each("ordering", run_ordering, &twins, k));
  }
  RUN(fail_each("matching", run_matching, &grid, 0));
  RUN(fail_each("matching", run_matching, &random, 0)); /* structurally singular */
  RUN(fail_each("structural rank", run_matching, &grid, 1));
  pattern_free(&grid);
  pattern_free(&arrow);
  pattern_free(&random);
  pattern_free(&cube);
  pattern_free(&twins);
  return 0;
}
