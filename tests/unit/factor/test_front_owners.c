/* Owners of fronts: every front is on a process of its node in the tree, and a whole subtree if the layout
 * has it there. A front in tiles has a team that contains its node. The arithmetic on the path to the last
 * front is within its bounds. The results are the same each time. The part of a process has the same steps
 * and messages. */
#include "dag/factor/front_part.h"
#include "runtime/factor/analysis.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/small_layouts.h"
#include "tests/support/subtests.h"

#define ROUNDING 1e-9

/* Owners and teams for one layout. */
typedef struct found {
  const tristar_analysis_t *an;
  tsi_layout *layout;
  tristar_method method;
  tsi_index *owner;
  tsi_front_teams *teams;
  double path, total, most, chain; /* flops: `most`: of one process; `chain`: of fronts along a path */
} found;

static void *allocate(tsi_index count, size_t size) {
  void *array = xcalloc((size_t)count + 1, size);
  return array;
}

static tsi_front_structure structure_of(const found *f) {
  return (tsi_front_structure){f->an->symbolic, f->an->panels, f->method, &f->an->ts->fronts};
}

static void choose(tsi_env *env, const tristar_analysis_t *an, const tsi_layout_options *options,
                   tristar_method method, found *f) {
  *f = (found){.an = an, .method = method};
  CHECK_OK(tsi_layout_create(env, an->symbolic, an->panels, options, &f->layout));
  f->owner = allocate(an->symbolic->count, sizeof *f->owner);
  const tsi_front_structure fronts = structure_of(f);
  CHECK_OK(tsi_front_owners_choose(env, f->layout, &fronts, f->owner, &f->teams, &f->path));
}

static void release(tsi_env *env, found *f) {
  TSI_FREE(env, f->layout);
  TSI_FREE(env, f->teams);
  free(f->owner);
}

static void check_places(const found *f) {
  const tsi_layout *layout = f->layout;
  const tsi_symbolic *symbolic = f->an->symbolic;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index k = tsi_chunk_of(f->layout->chunks, symbolic->start[s]), rank = f->owner[s];
    CHECK(rank >= 0 && rank < tsi_layout_ranks(layout));
    CHECK(tsi_layout_has(layout, rank / (layout->px * layout->py), layout->node[k]));
    if (layout->whole[k])
      CHECK(rank == tsi_layout_anchor(layout, k, tsi_layout_home(layout, layout->node[k])));
  }
}

/* Returns the first process of the team of a front; *end: one after the last one. */
static tsi_index team_of(const found *f, tsi_index s, tsi_index *end) {
  *end = f->teams ? f->teams->end[s] : f->owner[s] + 1;
  return f->teams ? f->teams->begin[s] : f->owner[s];
}

static int shared; /* number of shared fronts in all layouts */

static void check_teams(tsi_env *env, const found *f) {
  const tsi_layout *layout = f->layout;
  const tsi_symbolic *symbolic = f->an->symbolic;
  OWNED bool *tiled = allocate(symbolic->count, sizeof *tiled);
  if (f->teams) CHECK_OK(tsi_front_teams_check(env, f->teams, f->owner));
  CHECK_OK(tsi_factorization_find_tiled(env, symbolic, f->method, &f->an->ts->fronts, tiled));
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index k = tsi_chunk_of(f->layout->chunks, symbolic->start[s]), grid = layout->px * layout->py;
    tsi_index end;
    const tsi_index begin = team_of(f, s, &end);
    if (end - begin == 1) continue;
    shared++;
    CHECK(tiled[s] && !layout->whole[k]);
    for (tsi_index r = begin; r < end; r++) CHECK(tsi_layout_has(layout, r / grid, layout->node[k]));
  }
}

static void count_flops(found *f) {
  const tsi_symbolic *symbolic = f->an->symbolic;
  OWNED double *load = allocate(tsi_layout_ranks(f->layout), sizeof *load),
               *chain = allocate(symbolic->count, sizeof *chain);
  for (tsi_index s = symbolic->count; s-- > 0;) {
    tsi_index end;
    const tsi_index begin = team_of(f, s, &end);
    const double flops = tsi_front_flops(symbolic, f->method, s) / (end - begin);
    chain[s] = flops + (symbolic->parent[s] == TSI_NONE ? 0 : chain[symbolic->parent[s]]);
    f->total += flops * (end - begin);
    f->chain = fmax(f->chain, chain[s]);
    for (tsi_index r = begin; r < end; r++) {
      load[r] += flops;
      f->most = fmax(f->most, load[r]);
    }
  }
}

/* If every front may be on any process of one grid, the schedule is close to a lower bound. */
static void check_path(const found *f) {
  const tsi_index ranks = tsi_layout_ranks(f->layout);
  const double above = 1 + ROUNDING, below = 1 - ROUNDING;
  CHECK(f->path >= below * f->most && f->path >= below * f->chain && f->path <= above * f->total);
  CHECK(ranks > 1 || f->path >= below * f->total);
  if (f->teams == NULL && f->layout->map == TSI_MAP_CYCLIC && f->layout->pz == 1 && ranks > 1)
    CHECK_MSG(f->path <= 1.2 * (f->total / ranks + f->chain), "%d ranks: path %g of %g, chain %g", ranks,
              f->path, f->total, f->chain);
}

/* Teams are only formed if they do not lengthen the schedule. If messages are very slow, there are none. */
static void check_gain(tsi_env *env, const found *f) {
  tsi_factorization_options options = f->an->ts->fronts;
  tsi_front_structure fronts = structure_of(f);
  OWNED tsi_index *owner = allocate(f->an->symbolic->count, sizeof *owner);
  tsi_front_teams *teams;
  double path;
  fronts.options = &options;
  options.scalar_flops = INFINITY;
  CHECK_OK(tsi_front_owners_choose(env, f->layout, &fronts, owner, &teams, &path));
  CHECK(teams == NULL);
  CHECK_MSG(f->path <= path, "path %g with teams, %g without", f->path, path);
}

static void check_same(tsi_env *env, const found *f) {
  const tsi_symbolic *symbolic = f->an->symbolic;
  OWNED tsi_index *again = allocate(symbolic->count, sizeof *again);
  const tsi_front_structure fronts = structure_of(f);
  tsi_front_teams *teams;
  CHECK_OK(tsi_front_owners_choose(env, f->layout, &fronts, again, &teams, NULL));
  CHECK((teams == NULL) == (f->teams == NULL));
  for (tsi_index s = 0; s < symbolic->count; s++) CHECK(again[s] == f->owner[s]);
  for (tsi_index s = 0; teams && s < symbolic->count; s++)
    CHECK(teams->begin[s] == f->teams->begin[s] && teams->end[s] == f->teams->end[s]);
  TSI_FREE(env, teams);
}

/* The part of a process gives the same steps and messages as the whole tree. A wrong part is detected. */
static void check_part(tsi_env *env, const found *f, tsi_index rank) {
  const tsi_front_structure fronts = structure_of(f);
  const tsi_front_whole whole = {&fronts, f->owner, f->teams, NULL};
  const tsi_symbolic *symbolic = fronts.symbolic;
  const tsi_front_owners all = {.owner = f->owner, .rank = rank, .teams = f->teams};
  OWNED bool *wanted = xcalloc((size_t)symbolic->count + 1, sizeof *wanted);
  tsi_front_part part;
  tsi_factorization *a, *b;
  CHECK_OK(tsi_front_part_create(env, &whole, rank, wanted, &part));
  CHECK_OK(tsi_front_part_check(env, &part, &whole, rank));
  const tsi_front_owners own = tsi_front_part_owners(&part, rank);
  CHECK_OK(tsi_factorization_create(env, symbolic, fronts.panels, f->method, fronts.options, &all, &a));
  CHECK_OK(tsi_factorization_create(env, part.tree->symbolic, part.tree->panels, f->method, fronts.options,
                                    &own, &b));
  CHECK(a->steps->count == b->steps->count && a->steps->edges == b->steps->edges);
  CHECK(a->sends == b->sends && a->receives == b->receives && a->tiled_count == b->tiled_count);
  for (tsi_index k = 0; k < a->steps->count; k++)
    CHECK(a->steps->step[k].kind == b->steps->step[k].kind && a->part[k].work == b->part[k].work &&
          a->part[k].first == part.tree->supernode[b->part[k].first]);
  for (tsi_index m = 0; m < a->sends; m++)
    CHECK(a->send[m].peer == b->send[m].peer && a->send[m].tag == b->send[m].tag &&
          a->send[m].supernode == part.tree->supernode[b->send[m].supernode]);
  for (tsi_index m = 0; m < a->receives; m++)
    CHECK(a->receive[m].peer == b->receive[m].peer && a->receive[m].tag == b->receive[m].tag);
  for (tsi_index s = 0; s < symbolic->count; s++)
    if (!tsi_front_is_shared(f->teams, s))
      CHECK(tsi_front_part_taker(&part, symbolic->start[s], symbolic->start[s]) == f->owner[s]);
  if (part.tree->symbolic->count > 0) {
    part.owner[0]++;
    CHECK(tsi_front_part_check(env, &part, &whole, rank) == TRISTAR_ERR_INTERNAL);
    part.owner[0]--;
    part.who[0] = part.who[0] == 0 ? 1 : 0;
    CHECK(tsi_front_part_check(env, &part, &whole, rank) == TRISTAR_ERR_INTERNAL);
  }
  TSI_FREE(env, a);
  TSI_FREE(env, b);
  tsi_front_part_destroy(env, &part);
}

static void check_layout(tsi_env *env, const tristar_analysis_t *an, tsi_index px, tsi_index py,
                         tsi_index pz) {
  static const tristar_method methods[] = {TRISTAR_METHOD_LLT, TRISTAR_METHOD_LU};
  for (int variant = 0; variant < 8; variant++) {
    const tsi_layout_options options = small_layout(px, py, pz, variant);
    found f;
    choose(env, an, &options, methods[variant / 4], &f);
    check_places(&f);
    check_teams(env, &f);
    count_flops(&f);
    check_path(&f);
    check_gain(env, &f);
    check_same(env, &f);
    if (variant % 4 == 0)
      for (tsi_index r = 0; r < px * py * pz; r++) check_part(env, &f, r);
    release(env, &f);
  }
}

/* narrow: panels of 8 columns, so that small fronts have several tiles. */
static void check_matrix(tristar_t *ts, const char *kind, int64_t k, bool narrow) {
  static const tsi_index grids[][2] = {{1, 1}, {2, 1}, {2, 2}, {3, 2}};
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_view view = generated_view(ts, kind, k, &matrix);
  if (narrow) options.merge = TRISTAR_MERGE_NONE;
  for (tsi_index pz = 1; pz <= 8; pz *= 2) {
    options.leaf_parts = pz;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &view, &options);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
      check_layout(tsi_context_env(ts), an, grids[g][0], grids[g][1], pz);
  }
}

int test_front_owners(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  RUN(check_matrix(ts, "s2d9pt", 40, false));
  RUN(check_matrix(ts, "poisson3d7", 9, false));
  RUN(check_matrix(ts, "circuit", 2000, false));
  RUN(check_matrix(ts, "chain", 50, false));
  ts->fronts = (tsi_factorization_options){16, 1e4, 1e5, 10};
  RUN(check_matrix(ts, "s2d9pt", 40, true));
  RUN(check_matrix(ts, "poisson3d7", 9, true));
  CHECK_TOTAL(shared > 100, "%d fronts are shared", shared);
  return 0;
}
