/* A dissection by helpers equals a dissection by one process, bit for bit: with any number of cores, without
 * the helper program, and if helpers fail or are killed. No process and no file remains. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "partition/order/merged.h"
#include "partition/order/ordering.h"
#include "tests/support/allocations.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

static tsi_graph *graph_of(tsi_env *env, pattern a) {
  tsi_graph *graph = NULL;
  CHECK_OK(tsi_graph_create(env, a.n, a.ptr, a.index, NULL, false, &graph));
  pattern_free(&a);
  return graph;
}

static tsi_index *dissect(tsi_env *env, const tsi_graph *graph, int cores, int seed) {
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  options.ordering = TSI_ORDER_DISSECTION;
  options.cores = cores;
  options.seed = seed;
  tsi_index *perm = xcalloc((size_t)graph->n + 1, sizeof *perm);
  OWNED tsi_index *inverse = xcalloc((size_t)graph->n + 1, sizeof *inverse);
  CHECK_OK(tsi_order(env, graph, &options, perm, NULL, NULL));
  CHECK_OK(tsi_invert_permutation(env, graph->n, perm, inverse));
  return perm;
}

/* Several cores compute the same order as one process. No file and no child is left. */
static void check_same(tsi_env *env, const tsi_graph *graph, int cores) {
  const int files = open_files();
  OWNED tsi_index *alone = dissect(env, graph, 1, 1), *shared = dissect(env, graph, cores, 1);
  CHECK_MSG(memcmp(alone, shared, (size_t)graph->n * sizeof *alone) == 0, "%d cores", cores);
  CHECK(open_files() == files);
  errno = 0;
  CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* ---- Messages of the log ---- */

static struct { int helpers_lost, progress, last; } logged;

static void count_log(void *arg, tristar_log_level level, const char *text) {
  int percent = -1;
  (void)arg;
  logged.helpers_lost += level == TRISTAR_LOG_INFO && strstr(text, "goes on alone") != NULL;
  if (sscanf(text, "ordering %d%%", &percent) != 1) return;
  if (logged.last == 100) logged.last = 0; /* another ordering begins */
  CHECK(percent >= logged.last && percent <= 100);
  logged.last = percent;
  logged.progress++;
}

static void watch(tsi_env *env) {
  memset(&logged, 0, sizeof logged);
  env->log = count_log;
  env->log_level = TRISTAR_LOG_PROGRESS;
}

/* ---- Cores ---- */

static void check_cores(tsi_env *env) {
  tsi_graph *cube = graph_of(env, pattern_grid(32, 32, 32, false));
  tsi_graph *flat = graph_of(env, pattern_grid(200, 210, 1, true));
  CHECK(unsetenv("TRISTAR_HELPERS") == 0);
  for (int cores = 1; cores <= 5; cores += 2) {
    watch(env);
    OWNED tsi_index *perm = dissect(env, cube, cores, 1);
    CHECK(logged.helpers_lost == 0 && logged.progress > 2 && logged.last == 100);
    env->log = NULL;
    check_same(env, cube, cores);
    check_same(env, flat, cores);
  }
  OWNED tsi_index *first = dissect(env, cube, 2, 1), *second = dissect(env, cube, 2, 2);
  CHECK(memcmp(first, second, (size_t)cube->n * sizeof *first) != 0); /* the seed reaches the helpers */
  TSI_FREE(env, cube);
  TSI_FREE(env, flat);
}

/* The host program ignores SIGCHLD. */
static void check_ignored(tsi_env *env) {
  tsi_graph *cube = graph_of(env, pattern_grid(30, 30, 30, false));
  void (*before)(int) = signal(SIGCHLD, SIG_IGN);
  CHECK(before != SIG_ERR);
  watch(env);
  check_same(env, cube, 2);
  CHECK(logged.helpers_lost == 0);
  signal(SIGCHLD, before);
  env->log = NULL;
  TSI_FREE(env, cube);
}

/* ---- Helpers that fail ---- */

static void write_program(const char *folder, const char *text) {
  char path[200];
  CHECK(mkdir(folder, 0777) == 0 || errno == EEXIST);
  snprintf(path, sizeof path, "%s/order_part", folder);
  (void)unlink(path);
  if (text == NULL) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
  CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) && close(file) == 0);
}

static void check_failing(tsi_env *env) {
  static const char *const programs[] = {NULL, "#!/bin/sh\nexit 1\n", "#!/bin/sh\nkill -9 $$\n",
                                         "#!/bin/sh\nexit 0\n", "no program\n"};
  tsi_graph *cube = graph_of(env, pattern_grid(30, 30, 30, false));
  CHECK(setenv("TRISTAR_HELPERS", "helpers", 1) == 0);
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
    write_program("helpers", programs[k]);
    watch(env);
    check_same(env, cube, 3);
    CHECK_MSG(logged.helpers_lost == (programs[k] != NULL), "program %d",
              (int)k); /* without a program no helper is started */
  }
  env->log = NULL;
  CHECK(unsetenv("TRISTAR_HELPERS") == 0);
  TSI_FREE(env, cube);
}

/* ---- Merged vertices ---- */

/* Each point of a grid has `least` to `most` unknowns, coupled with each other and with those of adjacent
 * points. */
static tsi_graph *unknowns(tsi_env *env, tsi_index k, tsi_index least, tsi_index most, tsi_index *point) {
  tsi_graph *points = graph_of(env, pattern_grid(k, k, k, false));
  OWNED tsi_index *first = xcalloc((size_t)points->n + 1, sizeof *first);
  tsi_index n = 0;
  for (tsi_index p = 0; p < points->n; p++) {
    first[p] = n;
    for (tsi_index i = 0; i < least + p % (most - least + 1); i++) point[n++] = p;
  }
  first[points->n] = n;
  pattern a = pattern_begin(n);
  for (tsi_index v = 0; v < n; v++) {
    const tsi_index p = point[v];
    for (tsi_index u = first[p]; u < first[p + 1]; u++) pattern_add(&a, u, v);
    for (tsi_count e = points->ptr[p]; e < points->ptr[p + 1]; e++)
      for (tsi_index u = first[points->adj[e]]; u < first[points->adj[e] + 1]; u++) pattern_add(&a, u, v);
  }
  pattern_finish(&a);
  TSI_FREE(env, points);
  return graph_of(env, a);
}

/* The unknowns of a point are consecutive in the order, and several cores compute the same order. */
static void check_merged(tsi_env *env) {
  enum { K = 14, MOST = 4 };
  static tsi_index point[K * K * K * MOST];
  for (tsi_index least = 2; least <= 3; least++) {
    const tsi_index most = least == 3 ? 3 : MOST; /* equal or different numbers of unknowns */
    tsi_graph *graph = unknowns(env, K, least, most, point);
    OWNED tsi_index *perm = dissect(env, graph, 2, 1), *seen = xcalloc((size_t)graph->n, sizeof *seen);
    for (tsi_index k = 0; k < graph->n; k++)
      if (k == 0 || point[perm[k]] != point[perm[k - 1]]) CHECK(seen[point[perm[k]]]++ == 0);
    check_same(env, graph, 2);
    TSI_FREE(env, graph);
  }
}

/* Vertices with the same neighbours form a group. Vertices 2 and 3 stay single. */
static void check_groups(tsi_env *env) {
  idx_t xadj[] = {0, 2, 4, 7, 10, 12, 14}, perm[6];
  idx_t adj[] = {1, 2, 0, 2, 0, 1, 3, 2, 4, 5, 3, 5, 3, 4}; /* triangles 0 1 2 and 3 4 5, joined by 2 - 3 */
  const tsi_component c = {.n = 6, .xadj = xadj, .adj = adj, .perm = perm};
  TSI_OWNED tsi_merged *m = NULL;
  CHECK_OK(tsi_merged_create(env, &c, &m));
  CHECK(m != NULL && m->groups.n == 4);
  CHECK(m->weight != NULL && m->weight[0] == 2 && m->weight[1] == 1 && m->weight[2] == 1 &&
        m->weight[3] == 2);
  CHECK(m->member[m->start[3]] == 4 && m->member[m->start[3] + 1] == 5);
  CHECK(m->groups.xadj[4] == 6 && m->groups.adj[0] == 1); /* the groups form a path */
  const idx_t order[] = {3, 0, 1, 2}, expected[] = {4, 5, 0, 1, 2, 3};
  memcpy(m->groups.perm, order, sizeof order);
  tsi_merged_expand(m, perm);
  CHECK(memcmp(perm, expected, sizeof expected) == 0);
}

int test_shared_order(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  tsi_env_init(&env);
  RUN(check_groups(&env));
  RUN(check_cores(&env));
  RUN(check_ignored(&env));
  RUN(check_failing(&env));
  RUN(check_merged(&env));
  CHECK(env.memory.current == 0);
  return 0;
}
