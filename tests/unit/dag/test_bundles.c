/* Bundles of steps on random trees, with slices and with edges that no tree has: the invariants hold for any
 * weight, few workers get few bundles, and chains and subtrees are bundled. */
#include "dag/bundles.h"
#include "tests/support/env_allocations.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

/* A solve with a forest. Forward each node waits for its children; some nodes have slices that wait for
 * their chunk, and for which the parent waits. The edges of the backward sweep are reversed. extra: number
 * of additional edges. */
typedef struct problem {
  tsi_steps steps;
  tsi_index chunk[400], end[400]; /* first forward step of each node, and the step after its last slice */
} problem;

static void add_step(problem *p, tsi_step_kind kind, double bytes) {
  p->steps.step[p->steps.count++] = (tsi_step){.kind = kind, .bytes = bytes};
}

static void add_edge(problem *p, tsi_index item, tsi_index before) {
  p->steps.edge[p->steps.edges++] = (tsi_edge){item, before};
}

static void make(problem *p, tsi_index nodes, tsi_index extra, uint64_t seed) {
  tsi_steps *steps = &p->steps;
  tsi_index parent[400];
  uint64_t state = seed;
  *steps = (tsi_steps){0};
  steps->step = xmalloc(8 * (size_t)nodes * sizeof *steps->step);
  steps->edge = xmalloc((16 * (size_t)nodes + (size_t)extra) * sizeof *steps->edge);
  for (tsi_index v = 0; v < nodes; v++) {
    parent[v] = v + 1 < nodes && lcg_below(&state, 20) > 0
                    ? v + 1 + lcg_below(&state, tsi_index_min(nodes - v - 1, 6))
                    : TSI_NONE;
    p->chunk[v] = steps->count;
    add_step(p, TSI_STEP_FORWARD_CHUNK, 1 + lcg_below(&state, 100));
    const tsi_index slices =
        lcg_below(&state, 5) == 0 && parent[v] != TSI_NONE ? 1 + lcg_below(&state, 3) : 0;
    for (tsi_index k = 0; k < slices; k++) add_step(p, TSI_STEP_FORWARD_SLICE, 1 + lcg_below(&state, 20));
    p->end[v] = steps->count;
    for (tsi_index k = p->chunk[v] + 1; k < p->end[v]; k++) add_edge(p, k, p->chunk[v]);
  }
  for (tsi_index v = 0; v < nodes; v++)
    for (tsi_index k = tsi_index_min(p->chunk[v] + 1, p->end[v] - 1); k < p->end[v]; k++)
      if (parent[v] != TSI_NONE) add_edge(p, p->chunk[parent[v]], k);
  for (tsi_index e = 0; e < extra && steps->count > 1; e++) {
    const tsi_index before = lcg_below(&state, steps->count - 1);
    add_edge(p, before + 1 + lcg_below(&state, steps->count - before - 1), before);
  }
  const tsi_index half = steps->count;
  const tsi_count edges = steps->edges;
  for (tsi_index k = half; k-- > 0;) {
    const bool slice = steps->step[k].kind == TSI_STEP_FORWARD_SLICE;
    add_step(p, slice ? TSI_STEP_BACKWARD_SLICE : TSI_STEP_BACKWARD_CHUNK, steps->step[k].bytes);
  }
  for (tsi_count e = 0; e < edges; e++)
    add_edge(p, 2 * half - 1 - steps->edge[e].before, 2 * half - 1 - steps->edge[e].item);
  for (tsi_index v = 0; v < nodes; v++)
    if (parent[v] == TSI_NONE) add_edge(p, 2 * half - 1 - p->chunk[v], p->chunk[v]);
}

static void release(problem *p) {
  free(p->steps.step);
  free(p->steps.edge);
}

/* The weight of a bundle without the steps that continue a chain is at most `light`, unless it is a single
 * step. */
static void check_weights(const tsi_bundles *bundles, const tsi_steps *steps, double light) {
  OWNED tsi_index *in = xcalloc((size_t)steps->count, sizeof *in),
                  *out = xcalloc((size_t)steps->count, sizeof *out);
  OWNED tsi_index *before = xcalloc((size_t)steps->count, sizeof *before);
  for (tsi_count e = 0; e < steps->edges; e++) {
    in[steps->edge[e].item]++;
    out[steps->edge[e].before]++;
    before[steps->edge[e].item] = steps->edge[e].before;
  }
  for (tsi_index k = 0; k < bundles->count; k++) {
    double bytes = 0;
    int heads = 0;
    for (tsi_index q = bundles->ptr[k]; q < bundles->ptr[k + 1]; q++) {
      const tsi_index i = bundles->item[q];
      if (in[i] == 1 && out[before[i]] == 1) continue;
      bytes += steps->step[i].bytes;
      heads++;
    }
    CHECK(heads <= 1 || bytes <= light);
  }
}

static void check_random(tsi_env *env) {
  static problem p;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    const tsi_index nodes = 1 + (tsi_index)(seed % 97) * 4;
    make(&p, nodes, seed % 3 == 0 ? (tsi_index)(seed % 40) : 0, seed);
    tsi_index before = p.steps.count + 1;
    const double light[] = {0, 30, 200, 1000, 1e9};
    for (int i = 0; i < 5; i++) {
      tsi_bundles *bundles;
      CHECK_OK(tsi_bundles_create(env, &p.steps, light[i], 1 + (int)(seed % 8), &bundles));
      CHECK_OK(tsi_bundles_check(env, bundles, &p.steps));
      if (i == 0) CHECK(bundles->count == p.steps.count);
      if (light[i] >= 200 && seed % 3 != 0 && seed % 8 == 0) CHECK(bundles->count <= before);
      check_weights(bundles, &p.steps, light[i]);
      before = bundles->count;
      TSI_FREE(env, bundles);
      CHECK(bundles == NULL);
    }
    release(&p);
  }
}

/* Marks a fifth of the steps as alone, and half of the slices as partners of their chunks. */
static void mark_alone(problem *p, uint64_t seed) {
  uint64_t state = seed;
  tsi_step *step = p->steps.step;
  for (tsi_index i = 0; i < p->steps.count; i++) step[i].alone = lcg_below(&state, 5) == 0;
  for (tsi_index i = 0; i < p->steps.count; i++) {
    if (step[i].kind != TSI_STEP_FORWARD_SLICE && step[i].kind != TSI_STEP_BACKWARD_SLICE) continue;
    step[i].alone = false;
    if (lcg_below(&state, 2) == 0) continue;
    step[i].with_before = step[i].kind == TSI_STEP_FORWARD_SLICE;
    step[i].with_after = !step[i].with_before;
  }
}

/* Returns the only predecessor (before) or successor of a step; TSI_NONE: there are none or several. */
static tsi_index only_neighbour(const tsi_steps *steps, tsi_index i, bool before) {
  tsi_index found = TSI_NONE;
  for (tsi_count e = 0; e < steps->edges; e++)
    if ((before ? steps->edge[e].item : steps->edge[e].before) == i) {
      if (found != TSI_NONE) return TSI_NONE;
      found = before ? steps->edge[e].before : steps->edge[e].item;
    }
  return found;
}

/* A step that is alone shares its bundle only with its partners, and partners are in the bundle of their
 * chunk. */
static void check_alone(tsi_env *env) {
  static problem p;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    make(&p, 1 + (tsi_index)(seed % 97) * 2, 0, seed);
    mark_alone(&p, seed);
    const tsi_step *step = p.steps.step;
    tsi_bundles *bundles;
    tsi_index *bundle_of = xcalloc((size_t)p.steps.count + 1, sizeof *bundle_of);
    CHECK_OK(tsi_bundles_create(env, &p.steps, 300, 2, &bundles));
    CHECK_OK(tsi_bundles_check(env, bundles, &p.steps));
    for (tsi_index k = 0; k < bundles->count; k++)
      for (tsi_index q = bundles->ptr[k]; q < bundles->ptr[k + 1]; q++) bundle_of[bundles->item[q]] = k;
    for (tsi_index i = 0; i < p.steps.count; i++) {
      const bool partner = step[i].with_before || step[i].with_after;
      const tsi_index other = partner ? only_neighbour(&p.steps, i, step[i].with_before) : TSI_NONE;
      if (other != TSI_NONE) CHECK(bundle_of[i] == bundle_of[other]);
      if (!step[i].alone) continue;
      for (tsi_index q = bundles->ptr[bundle_of[i]]; q < bundles->ptr[bundle_of[i] + 1]; q++) {
        const tsi_step *mate = &step[bundles->item[q]];
        CHECK(bundles->item[q] == i || mate->with_before || mate->with_after);
      }
    }
    TSI_FREE(env, bundles);
    free(bundle_of);
    release(&p);
  }
}

/* A tree with one root and no slices is one bundle in each direction if it is light enough; a chain always
 * is. */
static void check_whole(tsi_env *env) {
  enum { N = 15 };
  tsi_step step[2 * N];
  tsi_edge edge[2 * N];
  tsi_bundles *bundles;
  for (int chain = 0; chain < 2; chain++) {
    tsi_steps steps = {.count = 2 * N, .step = step, .edge = edge};
    for (tsi_index k = 0; k < 2 * N; k++)
      step[k] = (tsi_step){.kind = k < N ? TSI_STEP_FORWARD_CHUNK : TSI_STEP_BACKWARD_CHUNK, .bytes = 10};
    for (tsi_index v = 1; v < N; v++) { /* a heap, numbered from the leaves; or a chain */
      const tsi_index item = N - 1 - (chain ? v - 1 : (v - 1) / 2), before = N - 1 - v;
      edge[steps.edges++] = (tsi_edge){item, before};
      edge[steps.edges++] = (tsi_edge){2 * N - 1 - before, 2 * N - 1 - item};
    }
    edge[steps.edges++] = (tsi_edge){N, N - 1};
    CHECK_OK(tsi_bundles_create(env, &steps, chain ? 1 : 1000, 1, &bundles));
    CHECK(bundles->count == 2 && bundles->edges == 1);
    TSI_FREE(env, bundles);
    CHECK_OK(tsi_bundles_create(env, &steps, 75, 1, &bundles)); /* a subtree of the root weighs 70 */
    CHECK(bundles->count == (chain ? 4 : 6));
    TSI_FREE(env, bundles);
  }
  tsi_steps none = {0};
  CHECK_OK(tsi_bundles_create(env, &none, 1, 1, &bundles));
  CHECK(bundles->count == 0);
  TSI_FREE(env, bundles);
}

/* The slices of a panel form as many bundles as there are workers, unless they are light. */
static void check_slices(tsi_env *env) {
  enum { SLICES = 16 };
  tsi_step step[SLICES + 2] = {{.kind = TSI_STEP_FORWARD_CHUNK, .bytes = 10}};
  tsi_edge edge[2 * SLICES];
  tsi_steps steps = {.count = SLICES + 2, .step = step, .edge = edge};
  const tsi_index expected[][2] = {{1, 8 + 2}, {4, 8 + 2}, {16, 16 + 2}, {64, 16 + 2}};
  step[SLICES + 1] = (tsi_step){.kind = TSI_STEP_FORWARD_CHUNK, .bytes = 1000};
  for (tsi_index k = 1; k <= SLICES; k++) {
    step[k] = (tsi_step){.kind = TSI_STEP_FORWARD_SLICE, .bytes = 10};
    edge[steps.edges++] = (tsi_edge){k, 0};
    edge[steps.edges++] = (tsi_edge){SLICES + 1, k};
  }
  for (int i = 0; i < 4; i++) {
    tsi_bundles *bundles;
    CHECK_OK(tsi_bundles_create(env, &steps, 80, (int)expected[i][0], &bundles));
    CHECK_MSG(bundles->count == expected[i][1], "%d workers: %d bundles", expected[i][0], bundles->count);
    TSI_FREE(env, bundles);
  }
  tsi_bundles *bundles;
  CHECK_OK(tsi_bundles_create(env, &steps, 800, 4, &bundles));
  CHECK_MSG(bundles->count == 4 + 2, "%d bundles", bundles->count);
  TSI_FREE(env, bundles);
}

/* The priority of a bundle is the largest one of its steps, and its weight is the sum. */
static void check_sums(tsi_env *env) {
  tsi_step step[] = {{.kind = TSI_STEP_FORWARD_CHUNK, .priority = 5, .bytes = 10},
                     {.kind = TSI_STEP_FORWARD_CHUNK, .priority = 9, .bytes = 20},
                     {.kind = TSI_STEP_FORWARD_CHUNK, .priority = 7, .bytes = 40}};
  tsi_edge edge[] = {{1, 0}, {2, 1}};
  const tsi_steps steps = {.count = 3, .edges = 2, .step = step, .edge = edge};
  tsi_bundles *bundles;
  double priority, bytes;
  CHECK_OK(tsi_bundles_create(env, &steps, 1000, 1, &bundles));
  CHECK(bundles->count == 1);
  tsi_bundle_weigh(bundles, &steps, 0, &priority, &bytes);
  CHECK(priority >= 9 && priority <= 9 && bytes >= 70 && bytes <= 70);
  TSI_FREE(env, bundles);
}

static void check_corruption(tsi_env *env) {
  static problem p;
  tsi_bundles *bundles;
  make(&p, 60, 0, 5);
#define BUNDLES tsi_bundles_check(env, bundles, &p.steps)
  CHECK_OK(tsi_bundles_create(env, &p.steps, 200, 1, &bundles));
  BROKEN(bundles->item[0], bundles->item[1], BUNDLES);
  BROKEN(bundles->item[0], p.steps.count, BUNDLES);
  BROKEN(bundles->ptr[bundles->count], bundles->ptr[bundles->count] - 1, BUNDLES);
  BROKEN(bundles->edge[0].before, bundles->edge[0].item, BUNDLES);
  BROKEN(bundles->edge[1], bundles->edge[0], BUNDLES);
  BROKEN(bundles->edges, bundles->edges - 1, BUNDLES);
  CHECK_OK(BUNDLES);
  TSI_FREE(env, bundles);
  release(&p);
}

static void check_failures(void) {
  static problem p;
  make(&p, 40, 0, 9);
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  allocation_failures failing = fail_allocations(&env);
  while (next_failure(&failing)) {
    tsi_bundles *bundles;
    const tristar_status status = tsi_bundles_create(&env, &p.steps, 200, 1, &bundles);
    end_failure(&failing, status);
    CHECK((bundles != NULL) == (status == TRISTAR_OK));
    TSI_FREE(&env, bundles);
  }
  release(&p);
}

int test_bundles(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  tsi_env_init(&env);
  RUN(check_random(&env));
  RUN(check_alone(&env));
  RUN(check_whole(&env));
  RUN(check_slices(&env));
  RUN(check_sums(&env));
  RUN(check_corruption(&env));
  CHECK(atomic_load(&env.memory.current) == 0);
  RUN(check_failures());
  return 0;
}
