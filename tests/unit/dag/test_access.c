/* Reads and writes of the steps of solves: no DAG of any variant has a race, and without any edge of its
 * transitively reduced graph it has one. The library's proof agrees with a search through all pairs and all
 * paths, also for random lists of steps.
 *
 * If barriers between level sets replace edges, no level has a race, and a step that runs one level too early
 * causes one, also in the products of the partitioned inverse.
 *
 * {grids, random patterns} x {pull, push} x {both sweeps, one} x {slices read x before or after the
 * triangle}; programs of all processes: test_layout. */
#include "dag/product_steps.h"
#include "tests/support/env_allocations.h"
#include "tests/support/dags.h"
#include "tests/support/races.h"
#include "tests/support/subtests.h"

enum { REMOVED = 6 };

/* Adds up to two edges to random earlier steps for each step. */
static void add_pseudo_random(uint64_t *seed, tsi_index steps, tsi_edge *edge, tsi_count *edges) {
  for (tsi_index k = 1; k < steps; k++)
    for (tsi_index q = lcg_below(seed, 3); q > 0; q--) edge[(*edges)++] = (tsi_edge){k, lcg_below(seed, k)};
}

typedef struct random_list {
  uint64_t seed;
  tsi_index buffers, rows;
} random_list;

/* Lists the same accesses in every call for a step. */
static void list_random(const void *arg, tsi_index step, tsi_access_lister *l) {
  const random_list *random = arg;
  uint64_t seed = random->seed + 1000003u * (uint64_t)step;
  (void)lcg_below(&seed, 2);
  for (tsi_index q = lcg_below(&seed, 4); q > 0; q--) {
    const tsi_index first = lcg_below(&seed, random->rows), rows = lcg_below(&seed, 4);
    const tsi_access_mode mode = (tsi_access_mode)(1 + lcg_below(&seed, 3));
    tsi_access_add(l, mode, (tsi_buffer_kind)lcg_below(&seed, 2), lcg_below(&seed, random->buffers), first,
                   first + rows);
  }
}

/* Random steps and edges, most of them with races. */
static void check_random(tsi_env *env) {
  int with = 0, without = 0;
  for (uint64_t number = 1; number <= 600; number++) {
    uint64_t seed = number;
    const tsi_index steps = 1 + lcg_below(&seed, number % 3 == 0 ? 300 : 12);
    const random_list random = {number, 1 + lcg_below(&seed, 5), 1 + lcg_below(&seed, 9)};
    tsi_access_list *list;
    tsi_adjacency *before;
    tsi_edge *edge = xmalloc(3 * (size_t)steps * sizeof *edge);
    tsi_count edges = 0;
    reach r = {.steps = steps, .words = steps / 64 + 1};
    r.bit = xmalloc((size_t)(r.steps + 1) * (size_t)r.words * sizeof *r.bit);
    add_pseudo_random(&seed, steps, edge, &edges);
    CHECK_OK(tsi_access_list_create(env, steps, list_random, &random, &list));
    CHECK_OK(tsi_adjacency_create(env, steps, edges, edge, TSI_BEFORE, &before));
    find_pairs(&r, list);
    find_paths(&r, before, -1);
    const bool there = races_there(env, "random", &r, list, edges, edge);
    with += there;
    without += !there;
    CHECK_STATUS(tsi_access_check(env, list, edges, edge), there ? TRISTAR_ERR_INTERNAL : TRISTAR_OK);
    TSI_FREE(env, before);
    TSI_FREE(env, list);
    free(edge);
    free(r.bit);
    free(r.pair);
  }
  CHECK_MSG(with > 50 && without > 50, "%d lists with races, %d without", with, without);
}

/* Chooses two thirds of the chunks without updates from others and without slices. */
static bool *choose_for_device(const structure *s) {
  const tsi_sweep *sweep = s->dag->forward;
  bool *on_device = xcalloc((size_t)s->chunks->count + 1, sizeof *on_device);
  for (tsi_index c = 0; c < s->chunks->count; c++)
    on_device[c] =
        c % 3 < 2 && tsi_chunk_slices(s->chunks, c) == 0 && sweep->target_ptr[c] == sweep->target_ptr[c + 1];
  return on_device;
}

/* Checks one structure in all variants. */
static void check_structure(tsi_env *env, const char *name, const structure *s) {
  OWNED tsi_index *order = xmalloc((size_t)s->dag->tasks * sizeof *order);
  OWNED bool *on_device = choose_for_device(s);
  CHECK_OK(tsi_dag_order(env, s->dag, 0, order));
  for (int variant = 0; variant < 32; variant++) {
    const bool before = variant & 8, push = variant & 1, in_place = variant & 2, device = variant & 16;
    const int sweeps = variant & 4 ? 1 + (variant & 3) % 2 : 0;
    const tsi_steps_source source = {.dag = s->dag,
                                     .order = order,
                                     .forward_chunks = s->chunks,
                                     .backward_chunks = s->chunks,
                                     .forward = sweeps != 2,
                                     .backward = sweeps != 1,
                                     .push = push,
                                     .before = before,
                                     .in_place = in_place,
                                     .on_device = device ? on_device : NULL};
    tsi_steps *steps;
    tsi_access_list *list;
    if (device && push) continue;
    CHECK_OK(tsi_steps_create(env, &source, &steps));
    CHECK_OK(tsi_steps_list_accesses(env, steps, &source, &list));
    races_check(env, name, steps, list, REMOVED, (uint64_t)variant + 1);
    TSI_FREE(env, list);
    TSI_FREE(env, steps);
  }
}

/* ---- Level sets --------------------------------------------------------------------------------------- */

static int64_t planted;

/* Do two steps access the same rows, and at least one of them writes? */
static bool in_conflict(const tsi_access_list *list, tsi_index one, tsi_index other) {
  for (tsi_count a = list->ptr[one]; a < list->ptr[one + 1]; a++)
    for (tsi_count b = list->ptr[other]; b < list->ptr[other + 1]; b++) {
      const tsi_access *x = &list->access[a], *y = &list->access[b];
      if (x->kind == y->kind && x->item == y->item && x->first < y->end && y->first < x->end &&
          (x->mode | y->mode) & TSI_ACCESS_W)
        return true;
    }
  return false;
}

/* Exchanges the items of levels l - 1 and l. */
static void exchange_levels(tsi_levels *levels, tsi_index l) {
  const tsi_index first = levels->ptr[l - 1], middle = levels->ptr[l], end = levels->ptr[l + 1];
  OWNED tsi_index *copy = xmalloc((size_t)(end - first) * sizeof *copy);
  memcpy(copy, levels->item + middle, (size_t)(end - middle) * sizeof *copy);
  memcpy(copy + (end - middle), levels->item + first, (size_t)(middle - first) * sizeof *copy);
  memcpy(levels->item + first, copy, (size_t)(end - first) * sizeof *copy);
  levels->ptr[l] = first + end - middle;
}

static bool levels_in_conflict(const tsi_access_list *list, const tsi_levels *levels, tsi_index l) {
  for (tsi_index q = levels->ptr[l]; q < levels->ptr[l + 1]; q++)
    for (tsi_index k = levels->ptr[l - 1]; k < levels->ptr[l]; k++)
      if (in_conflict(list, levels->item[q], levels->item[k])) return true;
  return false;
}

/* A level that runs before its predecessor must be detected, if steps of both conflict. */
static void check_exchanged(tsi_env *env, const char *name, const tsi_access_list *list, tsi_levels *levels,
                            tsi_index l) {
  const bool there = levels_in_conflict(list, levels, l);
  exchange_levels(levels, l);
  CHECK_MSG(tsi_access_check_levels(env, list, levels) == (there ? TRISTAR_ERR_INTERNAL : TRISTAR_OK),
            "%s: level %d runs before the one below it", name, l);
  exchange_levels(levels, l);
  planted += there;
}

/* No two steps of a level conflict. If a step runs one level too early, it is detected if and only if it
 * conflicts with a step of that level. needed: there must be such a conflict. first, last: the levels whose
 * steps are moved. */
static void check_levels(tsi_env *env, const char *name, const tsi_access_list *list, tsi_levels *levels,
                         tsi_index first, tsi_index last, bool needed) {
  CHECK_OK(tsi_access_check_levels(env, list, levels));
  for (tsi_index l = first; l <= last; l++) check_exchanged(env, name, list, levels, l);
  for (tsi_index l = first; l <= last; l++)
    for (tsi_index q = levels->ptr[l]; q < levels->ptr[l + 1]; q++) {
      const tsi_index moved = levels->item[q], at = levels->ptr[l];
      levels->item[q] = levels->item[at];
      levels->item[at] = moved;
      levels->ptr[l]++;
      bool there = false;
      for (tsi_index k = levels->ptr[l - 1]; k < levels->ptr[l] - 1 && !there; k++)
        there = in_conflict(list, moved, levels->item[k]);
      CHECK_MSG(there || !needed, "%s: step %d of level %d need not wait", name, moved, l);
      CHECK_MSG(tsi_access_check_levels(env, list, levels) == (there ? TRISTAR_ERR_INTERNAL : TRISTAR_OK),
                "%s: step %d of level %d runs one level earlier", name, moved, l);
      levels->ptr[l]--;
      levels->item[at] = levels->item[q];
      levels->item[q] = moved;
      planted += there;
    }
}

static void check_dag_levels(tsi_env *env, const structure *s) {
  OWNED tsi_index *order = xmalloc((size_t)s->dag->tasks * sizeof *order);
  CHECK_OK(tsi_dag_order(env, s->dag, 0, order));
  for (int push = 0; push < 2; push++) {
    const tsi_steps_source source = {.dag = s->dag,
                                     .order = order,
                                     .forward_chunks = s->chunks,
                                     .backward_chunks = s->chunks,
                                     .forward = true,
                                     .backward = true,
                                     .push = push};
    tsi_steps *steps;
    tsi_levels *levels;
    tsi_access_list *list;
    CHECK_OK(tsi_steps_create(env, &source, &steps));
    CHECK_OK(tsi_levels_create(env, steps->count, steps->edges, steps->edge, &levels));
    CHECK_OK(tsi_steps_list_accesses(env, steps, &source, &list));
    check_levels(env, push ? "push" : "pull", list, levels, 1, levels->count - 1, true);
    TSI_FREE(env, list);
    TSI_FREE(env, levels);
    TSI_FREE(env, steps);
  }
}

/* Steps of the partitioned inverse. The moved steps are blocks of all products but the first one of each
 * direction. A panel may wait for parts of another supernode that it does not need. */
static void check_products(tsi_env *env, const structure *s) {
  tsi_levels *of_panels, *levels;
  tsi_products *products[2];
  tsi_steps *steps;
  tsi_access_list *list;
  CHECK_OK(tsi_panel_levels(env, s->symbolic, s->panels, &of_panels));
  for (int backward = 0; backward < 2; backward++)
    CHECK_OK(
        tsi_products_create(env, s->symbolic, s->panels, of_panels, backward, 12, 200, &products[backward]));
  for (int diagonal = 0; diagonal < 2; diagonal++) {
    const tsi_product_steps_source source = {
        .chunks = s->chunks, .products = {products[0], products[1]}, .scalar_bytes = 8, .diagonal = diagonal};
    const tsi_index stages = products[0]->stages, second = 1 + stages + diagonal;
    CHECK_OK(tsi_product_steps_create(env, &source, &steps, &levels));
    CHECK(levels->count == 2 * stages + 2 + diagonal);
    CHECK_OK(tsi_product_steps_list_accesses(env, steps, &source, &list));
    check_levels(env, "forward products", list, levels, 2, stages, false);
    check_levels(env, "backward products", list, levels, second + 1, second + stages - 1, false);
    TSI_FREE(env, list);
    TSI_FREE(env, levels);
    TSI_FREE(env, steps);
  }
  for (int backward = 0; backward < 2; backward++) TSI_FREE(env, products[backward]);
  TSI_FREE(env, of_panels);
}

static void check_pattern(tsi_env *env, const char *name, pattern a) {
  static const structure_options options[] = {{false, 16, 3000, 800, 400},
                                              {true, 8, 1500, 400, 300},
                                              {false, 4, 700, 100, 100},
                                              {false, 8, 20000, 5000, 3000}};
  for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
    structure s;
    CHECK_OK(structure_build(env, &a, &options[k], &s));
    check_structure(env, name, &s);
    check_dag_levels(env, &s);
    check_products(env, &s);
    structure_release(env, &s);
  }
  pattern_free(&a);
}

/* Each allocation fails in turn. */
static void check_allocations(void) {
  const random_list random = {5, 3, 8};
  tsi_env env;
  tsi_env_init(&env);
  allocation_failures failing = fail_allocations(&env);
  while (next_failure(&failing)) {
    tsi_access_list *list = NULL;
    tsi_conflict found;
    tristar_status status = tsi_access_list_create(&env, 60, list_random, &random, &list);
    CHECK((list != NULL) == (status == TRISTAR_OK));
    if (status == TRISTAR_OK) status = tsi_access_find_conflict(&env, list, 0, NULL, &found);
    end_failure(&failing, status);
    TSI_FREE(&env, list);
  }
}

int test_access(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  RUN(check_random(&env));
  RUN(check_allocations());
  RUN(check_pattern(&env, "grid", pattern_grid(7, 7, 1, false)));
  RUN(check_pattern(&env, "cube", pattern_grid(4, 4, 4, false)));
  for (uint64_t seed = 1; seed <= 4; seed++) RUN(check_pattern(&env, "random", pattern_random(40, 70, seed)));
  CHECK_TOTAL(planted > 1000, "only %lld steps ran too early", (long long)planted);
  CHECK_TOTAL(races_removals > 1000, "only %lld edges were removed", (long long)races_removals);
  CHECK(atomic_load(&env.memory.current) == 0);
  return 0;
}
