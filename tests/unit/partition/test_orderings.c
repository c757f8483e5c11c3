/* Every ordering is a permutation, the same in each run. Scotch is tested if it is available; otherwise its
 * ordering is refused. AMD and dissection cause less fill than the natural order. ORDER_AUTO takes the one
 * with less predicted time and returns a reason. The factor has the size of the symbolic factor. */
#include "partition/order/ordering.h"
#include "partition/order/symbolic.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"

static const tsi_ordering_kind kinds[] = {TSI_ORDER_METIS, TSI_ORDER_AMD, TSI_ORDER_DISSECTION,
                                          TSI_ORDER_AUTO, TSI_ORDER_NATURAL};
enum { KINDS = sizeof kinds / sizeof *kinds };

static tsi_graph *graph_of(tsi_env *env, const pattern *a) {
  tsi_graph *graph = NULL;
  CHECK_OK(tsi_graph_create(env, a->n, a->ptr, a->index, NULL, false, &graph));
  return graph;
}

/* Makes the graph of a box of k x k x depth points, coupled along the axes. */
static tsi_graph *box(tsi_env *env, tsi_index k, tsi_index depth) {
  CLEANUP(pattern_free) pattern a = pattern_grid(k, k, depth, false);
  return graph_of(env, &a);
}

static tsi_index *order(tsi_env *env, const tsi_graph *graph, const tsi_symbolic_options *options) {
  tsi_index *perm = xcalloc((size_t)graph->n + 1, sizeof *perm);
  OWNED tsi_index *inverse = xcalloc((size_t)graph->n + 1, sizeof *inverse);
  CHECK_OK(tsi_order(env, graph, options, perm, NULL, NULL));
  CHECK_OK(tsi_invert_permutation(env, graph->n, perm, inverse));
  return perm;
}

static tsi_fill measure(tsi_env *env, const tsi_graph *graph, const tsi_index *perm) {
  tsi_fill fill;
  CHECK_OK(tsi_symbolic_measure(env, graph, perm, &fill));
  return fill;
}

static void check_case(tsi_env *env, const char *name, const pattern *a) {
  tsi_graph *graph = graph_of(env, a);
  tsi_order_choice choice;
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  options.choice = &choice;
  for (int k = 0; k < KINDS; k++) {
    options.ordering = kinds[k];
    OWNED tsi_index *perm = order(env, graph, &options), *again = order(env, graph, &options);
    CHECK_MSG(memcmp(perm, again, (size_t)graph->n * sizeof *perm) == 0, "%s, ordering %d", name,
              (int)kinds[k]);
    CHECK((*choice.reason != '\0') == (kinds[k] == TSI_ORDER_AUTO));
    CHECK(kinds[k] == TSI_ORDER_AUTO ? choice.kind == TSI_ORDER_AMD : choice.kind == kinds[k]);
  }
  TSI_FREE(env, graph);
}

/* The figures of an ordering equal those of the symbolic factorization: entries, operations, heaviest
 * path. */
static void check_measure(tsi_env *env) {
  tsi_graph *graph = box(env, 6, 5);
  tsi_symbolic_options options;
  tsi_symbolic *sy;
  tsi_symbolic_options_init(&options);
  options.relax = 0;
  for (int k = 0; k < KINDS; k++) {
    options.ordering = kinds[k];
    OWNED tsi_index *perm = order(env, graph, &options);
    const tsi_fill fill = measure(env, graph, perm);
    CHECK_OK(tsi_symbolic_create(env, graph, &options, &sy));
    CHECK(fill.entries == (double)sy->nnz_exact && fill.flops == sy->flops);
    CHECK(fill.path_entries >= (double)sy->etree_height && fill.path_entries <= fill.entries);
    TSI_FREE(env, sy);
  }
  /* a chain in its order is one path: n columns of two entries, except the last one */
  CLEANUP(pattern_free) pattern chain = pattern_chain(9);
  tsi_graph *line = graph_of(env, &chain);
  const tsi_index in_order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  const tsi_fill fill = measure(env, line, in_order);
  CHECK(fill.entries == 17 && fill.path_entries == 17 && fill.flops == 8 * 4 + 1);
  TSI_FREE(env, line);
  TSI_FREE(env, graph);
}

/* Each method causes less fill in a grid than the natural order. */
static void check_fill(tsi_env *env) {
  tsi_graph *graph = box(env, 14, 14);
  tsi_symbolic_options options;
  tsi_fill fill[KINDS];
  tsi_symbolic_options_init(&options);
  for (int k = 0; k < KINDS; k++) {
    options.ordering = kinds[k];
    OWNED tsi_index *perm = order(env, graph, &options);
    fill[k] = measure(env, graph, perm);
  }
  for (int k = 0; k < KINDS - 1; k++)
    CHECK_MSG(fill[k].flops < 0.7 * fill[KINDS - 1].flops, "ordering %d: %g operations, natural %g",
              (int)kinds[k], fill[k].flops, fill[KINDS - 1].flops);
  TSI_FREE(env, graph);
}

/* AUTO chooses AMD for a flat box, and a dissection for a cube if there are many solves. */
static void check_auto(tsi_env *env) {
  tsi_graph *flat = box(env, 60, 1), *cube = box(env, 28, 28);
  tsi_order_choice choice;
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  options.ordering = TSI_ORDER_AUTO;
  options.choice = &choice;
  OWNED tsi_index *of_flat = order(env, flat, &options);
  CHECK_MSG(choice.kind == TSI_ORDER_AMD, "%s", choice.reason);
  CHECK(strstr(choice.reason, "could save") != NULL);
  options.costs.solves = 10000;
  OWNED tsi_index *of_cube = order(env, cube, &options);
  CHECK_MSG(choice.kind == TSI_ORDER_DISSECTION, "%s", choice.reason);
  CHECK(strstr(choice.reason, "less time") != NULL);
  options.ordering = TSI_ORDER_DISSECTION;
  OWNED tsi_index *dissected = order(env, cube, &options);
  CHECK(memcmp(of_cube, dissected, (size_t)cube->n * sizeof *of_cube) == 0);
  options.ordering = TSI_ORDER_AMD;
  OWNED tsi_index *amd = order(env, flat, &options);
  CHECK(memcmp(of_flat, amd, (size_t)flat->n * sizeof *amd) == 0);
  TSI_FREE(env, flat);
  TSI_FREE(env, cube);
}

static int reasons;

static void count_reasons(void *arg, tristar_log_level level, const char *text) {
  (void)arg;
  reasons += level == TRISTAR_LOG_INFO && strcmp(text, "ordering: AMD, because the matrix is small") == 0;
}

/* The reason of AUTO is logged once. */
static void check_log(tsi_env *env) {
  tsi_graph *graph = box(env, 5, 5);
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  env->log = count_reasons;
  env->log_level = TRISTAR_LOG_INFO;
  for (int k = 0; k < KINDS; k++) {
    options.ordering = kinds[k];
    OWNED tsi_index *perm = order(env, graph, &options);
  }
  CHECK(reasons == 1);
  env->log = NULL;
  TSI_FREE(env, graph);
}

/* With a separator tree ORDER_AUTO and ORDER_DISSECTION are METIS. */
static void check_tree(tsi_env *env) {
  tsi_graph *graph = box(env, 12, 12);
  tsi_order_choice choice;
  tsi_symbolic *metis, *other;
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  options.leaf_parts = 4;
  options.choice = &choice;
  CHECK_OK(tsi_symbolic_create(env, graph, &options, &metis));
  CHECK(choice.kind == TSI_ORDER_METIS && *choice.reason == '\0');
  for (int k = 0; k < 2; k++) {
    options.ordering = k == 0 ? TSI_ORDER_AUTO : TSI_ORDER_DISSECTION;
    CHECK_OK(tsi_symbolic_create(env, graph, &options, &other));
    CHECK(choice.kind == TSI_ORDER_METIS && strstr(choice.reason, "separator tree") != NULL);
    CHECK(memcmp(metis->perm, other->perm, (size_t)graph->n * sizeof *metis->perm) == 0);
    TSI_FREE(env, other);
  }
  options.ordering = TSI_ORDER_AMD; /* the tree is cut from the elimination tree */
  CHECK_OK(tsi_symbolic_create(env, graph, &options, &other));
  CHECK(choice.kind == TSI_ORDER_AMD && other->leaf_parts == 4);
  TSI_FREE(env, other);
  TSI_FREE(env, metis);
  TSI_FREE(env, graph);
}

/* ---- Dense vertices, parts without edges between them ---- */

/* Makes a box of k^3 points, two hubs that are coupled with all points, and single points. */
static tsi_graph *box_with_hubs(tsi_env *env, tsi_index k, tsi_index single) {
  tsi_graph *inner = box(env, k, k), *graph = NULL;
  const tsi_index m = inner->n, n = m + 2 + single;
  OWNED tsi_count *ptr = xcalloc((size_t)n + 1, sizeof *ptr);
  OWNED tsi_index *index = xcalloc((size_t)inner->ptr[m] + 2 * (size_t)m + 1, sizeof *index);
  tsi_count at = 0;
  for (tsi_index v = 0; v < n; v++) {
    ptr[v] = at;
    for (tsi_count p = v < m ? inner->ptr[v] : 0; v < m && p < inner->ptr[v + 1]; p++)
      index[at++] = inner->adj[p];
    for (tsi_index u = 0; (v == m || v == m + 1) && u < m; u++) index[at++] = u;
  }
  ptr[n] = at;
  CHECK_OK(tsi_graph_create(env, n, ptr, index, NULL, false, &graph));
  TSI_FREE(env, inner);
  return graph;
}

/* Points without neighbours are first in the order, hubs are last. */
static void check_dense(tsi_env *env) {
  tsi_graph *graph = box_with_hubs(env, 16, 5);
  const tsi_index n = graph->n;
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  for (int k = 0; k < KINDS - 1; k++) {
    options.ordering = kinds[k];
    OWNED tsi_index *perm = order(env, graph, &options);
    for (tsi_index i = 0; i < 5; i++) CHECK(perm[i] == n - 5 + i);
    CHECK(perm[n - 2] == n - 7 && perm[n - 1] == n - 6);
  }
  TSI_FREE(env, graph);
}

/* ---- Functions of the caller ---- */

static int reverse(void *arg, int64_t n, const int64_t *ptr, const int32_t *index, int64_t *permutation) {
  ++*(int *)arg;
  CHECK(ptr[0] == 0 && (n < 2 || index[0] == 1));
  for (int64_t k = 0; k < n; k++) permutation[k] = n - 1 - k;
  return 0;
}

static int refuse(void *arg, int64_t n, const int64_t *ptr, const int32_t *index, int64_t *permutation) {
  (void)ptr, (void)index;
  for (int64_t k = 0; k < n; k++) permutation[k] = k == n - 1 ? n : k;
  return *(int *)arg;
}

static void check_callback(tsi_env *env) {
  CLEANUP(pattern_free) pattern a = pattern_chain(7);
  tsi_graph *graph = graph_of(env, &a);
  int calls = 0, code = 3;
  tsi_symbolic_options options;
  tsi_index perm[7];
  tsi_symbolic_options_init(&options);
  options.ordering = TSI_ORDER_CALLBACK;
  options.order = reverse;
  options.order_arg = &calls;
  OWNED tsi_index *reversed = order(env, graph, &options);
  CHECK(calls == 1);
  for (tsi_index k = 0; k < 7; k++) CHECK(reversed[k] == 6 - k);
  options.order = refuse;
  options.order_arg = &code;
  CHECK_STATUS(tsi_order(env, graph, &options, perm, NULL, NULL), TRISTAR_ERR_RUNTIME);
  CHECK(strstr(tsi_error_text(env), "returned 3") != NULL);
  code = 0;
  CHECK_STATUS(tsi_order(env, graph, &options, perm, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK(strstr(tsi_error_text(env), "permutation[6] = 7") != NULL);
  TSI_FREE(env, graph);
}

/* ---- Scotch ---- */

/* The order is the same in each call, and another one with another seed. It causes much less fill than the
 * natural order, and not much more than METIS. */
static void check_scotch(tsi_env *env) {
  tsi_graph *cube = box(env, 14, 14), *flat = box(env, 60, 1), *dense = box_with_hubs(env, 16, 5);
  tsi_symbolic_options options;
  tsi_index perm[1];
  tsi_symbolic_options_init(&options);
  OWNED tsi_index *metis = order(env, cube, &options), *metis_of_flat = order(env, flat, &options);
  options.ordering = TSI_ORDER_SCOTCH;
  if (tristar_scotch_version() == NULL) {
    CHECK_STATUS(tsi_order(env, cube, &options, perm, NULL, NULL), TRISTAR_ERR_UNSUPPORTED);
    CHECK(strstr(tsi_error_text(env), "built without Scotch") != NULL);
  } else {
    OWNED tsi_index *first = order(env, cube, &options), *other = order(env, flat, &options),
                    *again = order(env, cube, &options), *hubs = order(env, dense, &options);
    CHECK(memcmp(first, again, (size_t)cube->n * sizeof *first) == 0);
    CHECK(measure(env, cube, first).flops < 1.3 * measure(env, cube, metis).flops);
    CHECK(measure(env, flat, other).flops < 1.3 * measure(env, flat, metis_of_flat).flops);
    CHECK(hubs[dense->n - 2] == dense->n - 7);
    options.seed = 7;
    OWNED tsi_index *seeded = order(env, cube, &options);
    CHECK(memcmp(first, seeded, (size_t)cube->n * sizeof *first) != 0);
    options.seed = 1;
    options.leaf_parts = 4; /* the tree is cut from the elimination tree */
    tsi_symbolic *sy;
    CHECK_OK(tsi_symbolic_create(env, cube, &options, &sy));
    CHECK(sy->leaf_parts == 4);
    TSI_FREE(env, sy);
  }
  TSI_FREE(env, cube);
  TSI_FREE(env, flat);
  TSI_FREE(env, dense);
}

int test_orderings(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  const char *name;
  pattern a;
  tsi_env_init(&env);
  env.check = true;
  for (int i = 0; pattern_case(i, &name, &a); i++) {
    RUN(check_case(&env, name, &a));
    pattern_free(&a);
  }
  RUN(check_measure(&env));
  RUN(check_fill(&env));
  RUN(check_auto(&env));
  RUN(check_log(&env));
  RUN(check_tree(&env));
  RUN(check_dense(&env));
  RUN(check_callback(&env));
  RUN(check_scotch(&env));
  CHECK(env.memory.current == 0);
  return 0;
}
