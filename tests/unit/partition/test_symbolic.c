/* Properties of the symbolic factorization: its own check, a dense boolean elimination as an independent
 * computation of the filled matrix, quality of the orderings, and refusal of wrong input. That the check
 * itself notices broken structures is the subject of test_symbolic_check. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "partition/order/ordering.h"
#include "partition/order/symbolic.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

#define N_MAX 150

static tsi_graph *graph_of(tsi_env *env, const pattern *a) {
  tsi_graph *graph = NULL;
  CHECK_OK(tsi_graph_create(env, a->n, a->ptr, a->index, NULL, false, &graph));
  return graph;
}

static tsi_symbolic *analyze(tsi_env *env, const tsi_graph *graph, const tsi_symbolic_options *options) {
  tsi_symbolic *sy = NULL;
  tristar_status status = tsi_symbolic_create(env, graph, options, &sy);
  CHECK_MSG(status == TRISTAR_OK, "%s", tsi_error_text(env));
  return sy;
}

/* ---- The filled matrix, by elimination of dense columns ---- */

static bool filled[N_MAX][N_MAX]; /* lower triangle */

static void eliminate(const tsi_graph *graph, const tsi_symbolic *sy) {
  tsi_index n = sy->n;
  memset(filled, 0, sizeof filled);
  for (tsi_index v = 0; v < n; v++) {
    filled[v][v] = true;
    for (tsi_count p = graph->ptr[v]; p < graph->ptr[v + 1]; p++)
      filled[sy->inverse[v]][sy->inverse[graph->adj[p]]] = true;
  }
  for (tsi_index k = 0; k < n; k++)
    for (tsi_index j = k + 1; j < n; j++)
      for (tsi_index i = j; filled[j][k] && i < n; i++)
        if (filled[i][k]) filled[i][j] = true;
}

static bool is_stored(const tsi_symbolic *sy, tsi_index s, tsi_index i) {
  if (i < sy->start[s + 1]) return true;
  for (tsi_count p = sy->row_ptr[s]; p < sy->row_ptr[s + 1]; p++)
    if (sy->rows[p] == i) return true;
  return false;
}

/* Each entry of the filled matrix is stored, and the totals are those of the filled matrix. */
static void compare_filled(const char *name, const tsi_graph *graph, const tsi_symbolic *sy) {
  tsi_count nnz = 0;
  double flops = 0;
  tsi_index height[N_MAX] = {0}, highest = 0;
  eliminate(graph, sy);
  for (tsi_index s = 0; s < sy->count; s++)
    for (tsi_index j = sy->start[s]; j < sy->start[s + 1]; j++) {
      tsi_index count = 0, parent = TSI_NONE;
      for (tsi_index i = j; i < sy->n; i++) {
        if (!filled[i][j]) continue;
        CHECK_MSG(is_stored(sy, s, i), "%s: entry %d,%d has no place in supernode %d", name, i, j, s);
        if (count == 1) parent = i;
        count++;
      }
      nnz += count;
      flops += (double)count * count;
      highest = tsi_index_max(highest, height[j] + 1);
      if (parent != TSI_NONE) height[parent] = tsi_index_max(height[parent], height[j] + 1);
    }
  CHECK_MSG(nnz == sy->nnz_exact, "%s: %lld entries, not %lld", name, (long long)nnz,
            (long long)sy->nnz_exact);
  CHECK_MSG(fabs(flops - sy->flops) <= 1e-12 * flops, "%s: %g flops, not %g", name, flops, sy->flops);
  CHECK_MSG(highest == sy->etree_height, "%s: height %d, not %d", name, highest, sy->etree_height);
}

/* Without merging no zeros are stored, and a child is attached to the first column of its parent. Columns
 * j-1 and j are in different supernodes only if j has another child, its structure differs, or another part
 * begins. */
static void check_fundamental(const char *name, const tsi_symbolic *sy) {
  CHECK_MSG(sy->nnz_stored == sy->nnz_exact, "%s: stored %lld, exact %lld", name, (long long)sy->nnz_stored,
            (long long)sy->nnz_exact);
  for (tsi_index s = 1; s < sy->count; s++) {
    tsi_index j = sy->start[s], children = 0;
    bool same = filled[j][j - 1] && (sy->part == NULL || sy->part[s] == sy->part[s - 1]);
    for (tsi_index i = j + 1; i < sy->n; i++) same = same && filled[i][j] == filled[i][j - 1];
    for (tsi_index c = 0; c < s; c++) {
      if (sy->parent[c] != s) continue;
      children++;
      CHECK_MSG(sy->rows[sy->row_ptr[c]] == j, "%s: supernode %d holds more than supernode %d's parent", name,
                s, c);
    }
    CHECK_MSG(!same || children != 1, "%s: supernodes %d and %d are one", name, s - 1, s);
  }
}

static void check_same(const char *name, const tsi_symbolic *a, const tsi_symbolic *b) {
  size_t count = (size_t)a->count, n = (size_t)a->n;
  CHECK_MSG(a->count == b->count && a->nnz_exact == b->nnz_exact && a->nnz_stored == b->nnz_stored &&
                memcmp(a->perm, b->perm, n * sizeof *a->perm) == 0 &&
                memcmp(a->start, b->start, (count + 1) * sizeof *a->start) == 0 &&
                memcmp(a->row_ptr, b->row_ptr, (count + 1) * sizeof *a->row_ptr) == 0 &&
                memcmp(a->rows, b->rows, (size_t)a->row_ptr[count] * sizeof *a->rows) == 0,
            "%s: two runs differ", name);
}

static void test_options(tsi_env *env, const char *name, const tsi_graph *graph,
                         const tsi_symbolic_options *options) {
  tsi_symbolic *sy = analyze(env, graph, options), *again = analyze(env, graph, options);
  compare_filled(name, graph, sy);
  if (options->relax <= 0) check_fundamental(name, sy);
  check_same(name, sy, again);
  CHECK(sy->leaf_parts == options->leaf_parts);
  TSI_FREE(env, sy);
  CHECK(sy == NULL);
  TSI_FREE(env, again);
}

/* All orderings, all relaxations, several separator trees. */
static void test_case(tsi_env *env, const char *name, const pattern *a) {
  tsi_graph *graph = graph_of(env, a);
  tsi_symbolic_options options;
  tsi_index given[N_MAX];
  uint64_t seed = 5;
  for (tsi_index i = 0; i < a->n; i++) {
    tsi_index k = lcg_below(&seed, i + 1);
    given[i] = given[k];
    given[k] = i;
  }
  tsi_symbolic_options_init(&options);
  const double relax[] = {0, options.relax, 1};
  for (int r = 0; r < 3; r++) {
    options.relax = relax[r];
    options.given = given;
    for (options.leaf_parts = 1; options.leaf_parts <= 16; options.leaf_parts *= 2) {
      options.ordering = TSI_ORDER_NATURAL;
      test_options(env, name, graph, &options);
      options.ordering = TSI_ORDER_GIVEN;
      test_options(env, name, graph, &options);
      options.ordering = TSI_ORDER_METIS;
      test_options(env, name, graph, &options);
    }
    options.leaf_parts = 1;
  }
  TSI_FREE(env, graph);
}

/* ---- Quality ---- */

static tsi_symbolic *analyze_pattern(tsi_env *env, pattern *a, const tsi_symbolic_options *options) {
  tsi_graph *graph = graph_of(env, a);
  tsi_symbolic *sy = analyze(env, graph, options);
  TSI_FREE(env, graph);
  pattern_free(a);
  return sy;
}

/* Nested dissection of a k x k grid gives O(k^2 log k) entries, the natural order k^3. So an inverted
 * permutation is detected. */
static void test_fill(tsi_env *env) {
  const tsi_index k = 60;
  pattern a = pattern_grid(k, k, 1, false);
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  tsi_symbolic *sy = analyze_pattern(env, &a, &options);
  CHECK_MSG(sy->nnz_exact < 75000 && sy->etree_height < 250, "%lld entries, height %d",
            (long long)sy->nnz_exact, sy->etree_height);
  a = pattern_grid(k, k, 1, false);
  options.seed = 7;
  tsi_symbolic *other = analyze_pattern(env, &a, &options);
  CHECK(memcmp(sy->perm, other->perm, (size_t)sy->n * sizeof *sy->perm) !=
        0); /* another seed gives another order */
  TSI_FREE(env, sy);
  TSI_FREE(env, other);
}

/* Vertices with very many neighbours are eliminated last. So there is no fill, whatever the number of
 * parts. */
static void test_arrow(tsi_env *env) {
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  for (tsi_index hubs = 1; hubs <= 3; hubs++)
    for (options.leaf_parts = 1; options.leaf_parts <= 4; options.leaf_parts *= 4) {
      const tsi_index n = 2000;
      pattern a = pattern_arrow(n, hubs);
      options.relax = 0;
      tsi_symbolic *sy = analyze_pattern(env, &a, &options);
      CHECK_MSG(sy->nnz_exact == (tsi_count)(n - hubs) * (hubs + 1) + hubs * (hubs + 1) / 2, "%lld entries",
                (long long)sy->nnz_exact);
      if (options.leaf_parts > 1) /* vertices that METIS did not order are distributed to the leaves */
        for (tsi_index t = 0; t < options.leaf_parts; t++)
          CHECK_MSG(sy->part_columns[t] > n / options.leaf_parts - 5, "part %d has %d columns", t,
                    sy->part_columns[t]);
      TSI_FREE(env, sy);
    }
}

/* A separator tree that is cut from the elimination tree has leaves and separators of similar quality as
 * METIS_NodeNDP. A chain in its natural order cannot be cut, so it is one leaf. */
static void test_cut(tsi_env *env) {
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  for (int solid = 0; solid < 2; solid++)
    for (tsi_index leaf_parts = 2; leaf_parts <= 16; leaf_parts *= 2) {
      const tsi_index k = solid ? 20 : 80, n = k * k * (solid ? k : 1);
      tsi_index least[2] = {n, n}, separators[2] = {0, 0};
      pattern a = pattern_grid(k, k, solid ? k : 1, false);
      options.ordering = TSI_ORDER_METIS;
      options.leaf_parts = 1;
      tsi_symbolic *plain = analyze_pattern(env, &a, &options);
      options.given = plain->perm;
      options.leaf_parts = leaf_parts;
      for (int cut = 0; cut < 2; cut++) {
        options.ordering = cut ? TSI_ORDER_GIVEN : TSI_ORDER_METIS;
        a = pattern_grid(k, k, solid ? k : 1, false);
        tsi_symbolic *sy = analyze_pattern(env, &a, &options);
        for (tsi_index t = 0; t < 2 * leaf_parts - 1; t++)
          if (t >= leaf_parts)
            separators[cut] += sy->part_columns[t];
          else
            least[cut] = tsi_index_min(least[cut], sy->part_columns[t]);
        TSI_FREE(env, sy);
      }
      CHECK_MSG(separators[1] <= separators[0] * 5 / 4 + 8 && 2 * least[1] >= least[0],
                "%d leaves: separators of %d columns, of METIS %d; the smallest leaf has %d, of METIS %d",
                leaf_parts, separators[1], separators[0], least[1], least[0]);
      TSI_FREE(env, plain);
    }
  pattern chain = pattern_chain(500);
  options.ordering = TSI_ORDER_NATURAL;
  options.leaf_parts = 4;
  tsi_symbolic *sy = analyze_pattern(env, &chain, &options);
  CHECK(sy->part_columns[0] == sy->n);
  TSI_FREE(env, sy);
}

/* Merging removes most of the tiny supernodes at the cost of few zeros. It never joins parts. */
static void test_merging(tsi_env *env) {
  const struct {
    tsi_index k, kz;
    double zeros; /* tolerated share of zeros */
  } grids[] = {{150, 1, 0.12}, {30, 30, 0.04}};
  for (int g = 0; g < 2; g++) {
    tsi_symbolic_options options;
    tsi_symbolic_options_init(&options);
    options.leaf_parts = 4;
    pattern a = pattern_grid(grids[g].k, grids[g].k, grids[g].kz, g == 0);
    tsi_symbolic *merged = analyze_pattern(env, &a, &options);
    options.relax = 0;
    a = pattern_grid(grids[g].k, grids[g].k, grids[g].kz, g == 0);
    tsi_symbolic *fundamental = analyze_pattern(env, &a, &options);
    CHECK(merged->nnz_exact == fundamental->nnz_exact);
    CHECK_MSG((double)merged->nnz_stored <= (1 + grids[g].zeros) * (double)merged->nnz_exact, "%lld, %lld",
              (long long)merged->nnz_stored, (long long)merged->nnz_exact);
    CHECK_MSG(merged->count < 0.7 * fundamental->count, "%d of %d", merged->count, fundamental->count);
    CHECK(merged->tree_height <= fundamental->tree_height);
    TSI_FREE(env, merged);
    TSI_FREE(env, fundamental);
  }
}

/* The share of zeros is at most `relax`. In a chain groups could grow without bound. */
static void test_share(tsi_env *env) {
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  options.ordering = TSI_ORDER_NATURAL;
  for (int tenths = 1; tenths <= 6; tenths++) {
    pattern a = pattern_chain(3000);
    options.relax = tenths / 10.0;
    tsi_symbolic *sy = analyze_pattern(env, &a, &options);
    CHECK_MSG((double)(sy->nnz_stored - sy->nnz_exact) <= options.relax * (double)sy->nnz_stored,
              "relax 0.%d: %lld entries stored, %lld exact", tenths, (long long)sy->nnz_stored,
              (long long)sy->nnz_exact);
    TSI_FREE(env, sy);
  }
}

/* A tree whose depth is the number of its nodes. */
static void test_depth(tsi_env *env) {
  const tsi_index n = 200000;
  pattern a = pattern_chain(n);
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  options.ordering = TSI_ORDER_NATURAL;
  options.relax = 0;
  tsi_symbolic *sy = analyze_pattern(env, &a, &options);
  CHECK(sy->etree_height == n && sy->tree_height == n - 1 && sy->nnz_exact == 2 * (tsi_count)n - 1);
  for (tsi_index k = 0; k < n; k++) CHECK(sy->perm[k] == k);
  TSI_FREE(env, sy);
}

/* ---- The same seed gives the same ordering, also when several threads order at the same time ---- */

typedef struct thread_work {
  tsi_env *env;
  const tsi_graph *graph;
  tsi_symbolic *sy;
} thread_work;

static void *run_thread(void *arg) {
  thread_work *work = arg;
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  work->sy = analyze(work->env, work->graph, &options);
  return NULL;
}

static void test_threads(tsi_env *env) {
  CLEANUP(pattern_free) pattern a = pattern_grid(40, 40, 1, true);
  tsi_graph *graph = graph_of(env, &a);
  thread_work work[4];
  pthread_t thread[4];
  for (int t = 0; t < 4; t++) {
    work[t] = (thread_work){env, graph, NULL};
    CHECK(pthread_create(&thread[t], NULL, run_thread, &work[t]) == 0);
  }
  for (int t = 0; t < 4; t++) CHECK(pthread_join(thread[t], NULL) == 0);
  for (int t = 0; t < 4; t++) check_same("threads", work[0].sy, work[t].sy);
  for (int t = 0; t < 4; t++) TSI_FREE(env, work[t].sy);
  TSI_FREE(env, graph);
}

/* ---- Wrong input ---- */

static void refuse(tsi_env *env, const tsi_symbolic_options *options, const char *text) {
  CLEANUP(pattern_free) pattern a = pattern_chain(4);
  tsi_graph *graph = graph_of(env, &a);
  tsi_symbolic *sy = NULL;
  CHECK_STATUS(tsi_symbolic_create(env, graph, options, &sy), TRISTAR_ERR_ARGUMENT);
  CHECK(sy == NULL);
  CHECK_MSG(strstr(tsi_error_text(env), text) != NULL, "\"%s\" is not in \"%s\"", text, tsi_error_text(env));
  TSI_FREE(env, graph);
}

static void test_errors(tsi_env *env) {
  const tsi_index twice[4] = {2, 0, 2, 1}, beyond[4] = {0, 1, 2, 4}, negative[4] = {0, -1, 2, 3};
  const tsi_index leaf_parts[] = {0, -2, 3, 12, 2 * TSI_MAX_LEAF_PARTS};
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  options.ordering = TSI_ORDER_GIVEN;
  refuse(env, &options, "no permutation");
  options.given = twice;
  refuse(env, &options, "permutation[0] = permutation[2] = 2");
  options.given = beyond;
  refuse(env, &options, "permutation[3] = 4");
  options.given = negative;
  refuse(env, &options, "permutation[1] = -1");
  for (int i = 0; i < 5; i++)
    for (int k = 0; k < 2; k++) {
      options.ordering = k == 0 ? TSI_ORDER_NATURAL : TSI_ORDER_METIS;
      options.leaf_parts = leaf_parts[i];
      refuse(env, &options, "power of two");
    }
  options.leaf_parts = 1;
  options.ordering = (tsi_ordering_kind)77;
  refuse(env, &options, "77");
}

int test_symbolic(int argc, char **argv) {
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
  RUN(test_cut(&env));
  RUN(test_fill(&env));
  RUN(test_arrow(&env));
  RUN(test_merging(&env));
  RUN(test_share(&env));
  RUN(test_depth(&env));
  RUN(test_threads(&env));
  RUN(test_errors(&env));
  CHECK(env.memory.current == 0);
  return 0;
}
