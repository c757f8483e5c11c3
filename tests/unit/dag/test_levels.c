/* Level sets, steps and the layout of sparse products: right on random graphs and on small patterns, every
 * broken invariant is found, and every allocation may fail. */
#include "dag/levels.h"

#include "dag/products.h"
#include "dag/steps.h"
#include "tests/support/env_allocations.h"
#include "tests/support/dags.h"
#include "tests/support/subtests.h"

/* Makes a random graph with `edges` edges, some of them twice. */
static tsi_edge *draw_edges(tsi_index items, tsi_count edges, uint64_t seed) {
  tsi_edge *edge = xmalloc((size_t)(edges + 1) * sizeof *edge);
  for (tsi_count e = 0; e < edges; e++) {
    edge[e].item = 1 + lcg_below(&seed, items - 1);
    edge[e].before = lcg_below(&seed, edge[e].item);
  }
  return edge;
}

static void check_random(tsi_env *env, tsi_index items, tsi_count edges, uint64_t seed) {
  tsi_levels *levels;
  OWNED tsi_edge *edge = draw_edges(items, edges, seed);
  OWNED tsi_index *depth = xcalloc((size_t)items, sizeof *depth);
  for (bool more = true; more;) { /* longest paths by relaxation */
    more = false;
    for (tsi_count e = 0; e < edges; e++)
      if (depth[edge[e].item] <= depth[edge[e].before]) {
        depth[edge[e].item] = depth[edge[e].before] + 1;
        more = true;
      }
  }
  CHECK_OK(tsi_levels_create(env, items, edges, edge, &levels));
  for (tsi_index l = 0; l < levels->count; l++)
    for (tsi_index q = levels->ptr[l]; q < levels->ptr[l + 1]; q++) CHECK(depth[levels->item[q]] == l);
  TSI_FREE(env, levels);
}

static void check_corruption(tsi_env *env) {
  tsi_edge edge[] = {{2, 0}, {2, 1}, {3, 2}, {4, 0}};
  tsi_levels *levels;
#define LEVELS tsi_levels_check(env, levels, 5, 4, edge)
  CHECK_OK(tsi_levels_create(env, 5, 4, edge, &levels));
  CHECK(levels->count == 3 && levels->ptr[1] == 2 && levels->ptr[2] == 4 && levels->item[3] == 4);
  BROKEN(levels->item[0], 1, LEVELS);
  BROKEN(levels->item[0], 5, LEVELS);
  BROKEN(levels->ptr[1], 3, LEVELS);
  BROKEN(levels->ptr[1], 1, LEVELS);
  BROKEN(levels->ptr[3], 4, LEVELS);
  BROKEN(levels->ptr[2], 3, LEVELS); /* item 4 is one level too late */
  CHECK_OK(LEVELS);
  TSI_FREE(env, levels);
  edge[3].before = 4;
  CHECK_STATUS(tsi_levels_create(env, 5, 4, edge, &levels), TRISTAR_ERR_INTERNAL);
  CHECK(levels == NULL);
  CHECK_OK(tsi_levels_create(env, 0, 0, NULL, &levels));
  CHECK(levels->count == 0);
  TSI_FREE(env, levels);
}

/* The tested lists, and the structures they are made of. */
typedef struct lists {
  structure of;
  tsi_index *order;
  tsi_levels *panel_levels, *step_levels;
  tsi_products *products[2];
  tsi_steps *steps;
} lists;

/* Returns the first failure. */
static tristar_status build(tsi_env *env, const pattern *a, tsi_index width, bool single, bool push,
                            lists *l) {
  const structure_options options = {
      .single = single, .width = width, .ceiling_bytes = 800, .floor_bytes = 100, .slice_bytes = 100};
  structure *s = &l->of;
  memset(l, 0, sizeof *l);
  TSI_TRY(structure_build(env, a, &options, s));
  TSI_TRY(TSI_ALLOC(env, l->order, s->dag->tasks));
  TSI_TRY(tsi_dag_order(env, s->dag, 3, l->order));
  TSI_TRY(tsi_panel_levels(env, s->symbolic, s->panels, &l->panel_levels));
  for (int backward = 0; backward < 2; backward++)
    TSI_TRY(tsi_products_create(env, s->symbolic, s->panels, l->panel_levels, backward, 12, 200,
                                &l->products[backward]));
  const tsi_steps_source source = {s->dag, l->order, s->chunks, s->chunks, true,
                                   true,   push,     false,     false,     NULL};
  TSI_TRY(tsi_steps_create(env, &source, &l->steps));
  return tsi_levels_create(env, l->steps->count, l->steps->edges, l->steps->edge, &l->step_levels);
}

static void release(tsi_env *env, lists *l) {
  TSI_FREE(env, l->steps);
  for (int backward = 0; backward < 2; backward++) TSI_FREE(env, l->products[backward]);
  TSI_FREE(env, l->panel_levels);
  TSI_FREE(env, l->step_levels);
  TSI_FREE(env, l->order);
  structure_release(env, &l->of);
}

/* Each task occurs once; with push each pair occurs once in each direction. Each product has all entries. */
static void check_counts(const lists *l, bool single, bool push) {
  const structure *s = &l->of;
  tsi_count entries = 0;
  tsi_index kinds[TSI_STEP_KINDS] = {0};
  for (tsi_index k = 0; k < l->steps->count; k++) kinds[l->steps->step[k].kind]++;
  CHECK(kinds[TSI_STEP_FORWARD_CHUNK] == s->chunks->count &&
        kinds[TSI_STEP_BACKWARD_CHUNK] == s->chunks->count);
  CHECK(kinds[TSI_STEP_FORWARD_SLICE] == s->chunks->slices &&
        kinds[TSI_STEP_BACKWARD_SLICE] == s->chunks->slices);
  CHECK(kinds[TSI_STEP_FORWARD_PUSH] == (push ? s->sweep->pairs : 0));
  CHECK(kinds[TSI_STEP_BACKWARD_PUSH] == (push ? s->sweep->pairs : 0));
  if (single) CHECK(s->chunks->count == s->panels->count && s->chunks->slices == 0);
  for (tsi_index p = 0; p < s->panels->count; p++) entries += tsi_panel_entries(s->panels, p);
  for (int backward = 0; backward < 2; backward++)
    CHECK(l->products[backward]->ptr[l->products[backward]->rows] == entries);
}

static void check_patterns(tsi_env *env) {
  const char *name;
  pattern a;
  lists l;
  for (int i = 0; pattern_case(i, &name, &a); i++) {
    for (int variant = 0; variant < 12; variant++) {
      const bool single = variant & 1, push = variant & 2;
      CHECK_OK(build(env, &a, variant < 4 ? 8 : variant < 8 ? 16 : 128, single, push, &l));
      check_counts(&l, single, push);
      release(env, &l);
    }
    pattern_free(&a);
  }
}

static void check_products_corruption(tsi_env *env) {
  CLEANUP(pattern_free) pattern a = pattern_grid(9, 9, 1, true);
  lists l;
  CHECK_OK(build(env, &a, 8, false, false, &l));
  for (int backward = 0; backward < 2; backward++) {
    tsi_products *products = l.products[backward];
#define PRODUCTS tsi_products_check(env, products, l.of.symbolic)
    CHECK(products->blocks > products->stages);
    BROKEN(products->row[1], products->row[0], PRODUCTS);
    BROKEN(products->row[0], a.n, PRODUCTS);
    BROKEN(products->row[products->rows - 1], -1, PRODUCTS);
    BROKEN(products->ptr[1], products->ptr[0], PRODUCTS);
    BROKEN(products->block[0].add, true, PRODUCTS);
    BROKEN(products->block[1].first, products->block[1].first + 1, PRODUCTS);
    BROKEN(products->block[products->blocks - 1].end, products->rows - 1, PRODUCTS);
    BROKEN(products->block_ptr[products->stages], products->blocks - 1, PRODUCTS);
    CHECK_OK(PRODUCTS);
  }
  release(env, &l);
}

static void check_steps_corruption(tsi_env *env) {
  CLEANUP(pattern_free) pattern a = pattern_grid(9, 9, 1, true);
  lists l;
  CHECK_OK(build(env, &a, 8, false, true, &l));
  const tsi_steps_source source = {l.of.dag, l.order, l.of.chunks, l.of.chunks, true,
                                   true,     true,    false,       false,       NULL};
  tsi_steps *steps = l.steps;
#define STEPS tsi_steps_check(env, steps, &source)
  BROKEN(steps->count, steps->count - 1, STEPS);
  BROKEN(steps->step[0].argument, -1, STEPS);
  BROKEN(steps->step[0].argument, l.of.chunks->count, STEPS);
  BROKEN(steps->step[1], steps->step[0], STEPS);
  BROKEN(steps->step[0].kind, TSI_STEP_KINDS, STEPS);
  BROKEN(steps->step[0].kind, TSI_STEP_DIAGONAL, STEPS);
  BROKEN(steps->edge[0].before, steps->edge[0].item, STEPS);
  BROKEN(steps->edge[0].item, steps->count, STEPS);
  CHECK_OK(STEPS);
  release(env, &l);
}

static void check_failures(void) {
  CLEANUP(pattern_free) pattern a = pattern_grid(7, 7, 1, true);
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  for (int push = 0; push < 2; push++) {
    allocation_failures failing = fail_allocations(&env);
    while (next_failure(&failing)) {
      lists l;
      end_failure(&failing, build(&env, &a, 8, false, push, &l));
      release(&env, &l);
    }
  }
}

int test_levels(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  for (uint64_t seed = 1; seed < 40; seed++)
    RUN(check_random(&env, 2 + (tsi_index)seed * 3, (tsi_count)(seed * seed), seed));
  RUN(check_patterns(&env));
  env.check = false;
  RUN(check_corruption(&env));
  RUN(check_products_corruption(&env));
  RUN(check_steps_corruption(&env));
  CHECK(atomic_load(&env.memory.current) == 0);
  RUN(check_failures());
  return 0;
}
