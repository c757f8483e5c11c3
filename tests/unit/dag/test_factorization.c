/* The DAG of a factorization, without numbers, for many patterns, granularities and methods. Its check
 * passes. A path orders all pairs of steps that touch the same rows of a buffer if one of them writes;
 * without any edge of the transitively reduced graph some pair has no path. The same holds for each of
 * several processes that share the supernodes in any way, and each message that is sent is received. The
 * check fails for each broken invariant. */
#include "dag/factor/factorization.h"
#include "tests/support/env_allocations.h"
#include "tests/support/races.h"
#include "tests/support/subtests.h"

static const tristar_method methods[] = {TRISTAR_METHOD_LLT, TRISTAR_METHOD_LDLT, TRISTAR_METHOD_LU};

typedef struct structure {
  tsi_graph *graph;
  tsi_symbolic *symbolic;
  tsi_panels *panels;
  tsi_factorization *dag;
} structure;

typedef struct granularity {
  bool merged; /* supernodes are merged */
  tsi_index width;
  tsi_factorization_options options;
} granularity;

static tristar_status build(tsi_env *env, const pattern *a, tristar_method method, const granularity *g,
                            structure *s) {
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  if (!g->merged) options.relax = 0;
  memset(s, 0, sizeof *s);
  TSI_TRY(tsi_graph_create(env, a->n, a->ptr, a->index, NULL, false, &s->graph));
  TSI_TRY(tsi_symbolic_create(env, s->graph, &options, &s->symbolic));
  TSI_TRY(tsi_panels_create(env, s->symbolic, g->width, &s->panels));
  return tsi_factorization_create(env, s->symbolic, s->panels, method, &g->options, NULL, &s->dag);
}

static void release(tsi_env *env, structure *s) {
  TSI_FREE(env, s->dag);
  TSI_FREE(env, s->panels);
  TSI_FREE(env, s->symbolic);
  TSI_FREE(env, s->graph);
}

/* Data is written before it is read. The step that opens a front, or converts it to tiles, writes all of
 * it; the later steps only access this memory. Stripes and parts of shared fronts arrive in messages. */
static void check_written(const char *name, const tsi_access_list *list, bool shared) {
  const tsi_count count = list->ptr[list->steps];
  OWNED tsi_count *former =
      xmalloc((size_t)(count + 1) * sizeof *former); /* previous access of the same buffer; -1: none */
  for (tsi_count q = 0; q < count; q++) {
    const tsi_access *a = &list->access[q];
    tsi_count row = a->first;
    former[q] = q - 1;
    while (former[q] >= 0 &&
           (list->access[former[q]].kind != a->kind || list->access[former[q]].item != a->item))
      former[q]--;
    const bool first = former[q] < 0;
    if (a->kind == TSI_BUFFER_VALUES) continue;
    for (tsi_count before = -1; before < row;) {
      before = row;
      for (tsi_count p = former[q]; p >= 0; p = former[p]) {
        const tsi_access *b = &list->access[p];
        if ((b->mode & TSI_ACCESS_W) && b->first <= row && b->end > row) row = b->end;
      }
    }
    const bool whole = a->kind != TSI_BUFFER_PANEL && a->kind != TSI_BUFFER_PIVOT && !shared;
    if (a->mode == TSI_ACCESS_W && (first || !whole)) continue;
    CHECK_MSG(row >= a->end, "%s: access %lld: buffer %d %d, row %lld is not there yet", name, (long long)q,
              (int)a->kind, a->item, (long long)row);
  }
}

static void check_races(tsi_env *env, const char *name, const tsi_factorization *dag, tsi_index most,
                        uint64_t seed) {
  tsi_access_list *list;
  CHECK_OK(tsi_factorization_list_accesses(env, dag, &list));
  check_written(name, list, dag->teams != NULL);
  races_check(env, name, dag->steps, list, most, seed);
  TSI_FREE(env, list);
}

/* ---- Cases ---- */

static tsi_count seen[TSI_STEP_KINDS]; /* number of steps in all cases */

static void check_pattern(tsi_env *env, const char *name, const pattern *a, const granularity *g,
                          tsi_index most) {
  structure s;
  for (int k = 0; k < 3; k++) {
    const tristar_status status = build(env, a, methods[k], g, &s);
    CHECK_MSG(status == TRISTAR_OK, "%s: %s", name, tsi_error_text(env));
    for (tsi_index q = 0; q < s.dag->steps->count; q++) seen[s.dag->steps->step[q].kind]++;
    check_races(env, name, s.dag, most, (uint64_t)(k + 1));
    release(env, &s);
  }
}

/* The same with every other tiled front on a device. The check refuses steps that devices cannot run. */
static void check_devices(tsi_env *env) {
  static const granularity fine = {true, 8, {8, 2e3, 1e5, 0}};
  CLEANUP(pattern_free) pattern a = pattern_grid(24, 24, 1, true);
  for (int k = 0; k < 3; k++) {
    structure s;
    tsi_factorization *dag = NULL;
    tsi_index steps = 0, fronts = 0;
    CHECK_OK(build(env, &a, methods[k], &fine, &s));
    tsi_index *device = xmalloc((size_t)s.symbolic->count * sizeof *device);
    for (tsi_index q = 0; q < s.symbolic->count; q++) device[q] = q % 2 ? q % 3 : TSI_NONE;
    const tsi_front_owners owners = {.device = device};
    CHECK_OK(tsi_factorization_create(env, s.symbolic, s.panels, methods[k], &fine.options, &owners, &dag));
    for (tsi_index q = 0; q < dag->tiled_count; q++) fronts += dag->tiled[q] % 2;
    for (tsi_index q = 0; q < dag->steps->count; q++) {
      const tsi_step_kind kind = dag->steps->step[q].kind;
      seen[kind]++;
      steps += kind == TSI_STEP_FRONT_DEVICE;
    }
    CHECK_MSG(fronts > 2 && fronts < dag->tiled_count && steps == fronts, "%d of %d fronts, %d steps", fronts,
              dag->tiled_count, steps);
    check_races(env, "devices", dag, 20, (uint64_t)(k + 1));
    CHECK_OK(tsi_factorization_check(env, dag));
    device[dag->tiled[0]] = dag->tiled[0] % 2 ? TSI_NONE : 0;
    CHECK_STATUS(tsi_factorization_check(env, dag), TRISTAR_ERR_INTERNAL);
    TSI_FREE(env, dag);
    free(device);
    release(env, &s);
  }
}

/* From one step per front to one step for the whole matrix. */
static void check_cases(tsi_env *env) {
  static const granularity granularities[] = {
      {false, 8, {4, 0, 0, 0}},      {true, 8, {8, 500, 5e4, 0}},     {true, 16, {4, 2e3, 2e5, 0}},
      {false, 8, {16, 1e9, 1e5, 0}}, {true, 128, {512, 1e8, 4e6, 0}},
  };
  const char *name;
  pattern a;
  for (int i = 0; pattern_case(i, &name, &a); i++) {
    for (size_t g = 0; g < sizeof granularities / sizeof *granularities; g++)
      check_pattern(env, name, &a, &granularities[g], 20);
    pattern_free(&a);
  }
  check_devices(env);
  for (tsi_step_kind k = TSI_STEP_SUBTREE; k <= TSI_STEP_FRONT_CLOSE; k++)
    CHECK_MSG(seen[k] > 0, "no step %s", tsi_step_name(k));
}

static void check_grids(tsi_env *env) {
  static const granularity fine = {true, 8, {8, 2e3, 1e5, 0}}, coarse = {true, 32, {32, 5e4, 4e5, 0}};
  CLEANUP(pattern_free) pattern a = pattern_grid(40, 40, 1, true);
  check_pattern(env, "9-point grid", &a, &fine, 40);
  pattern_free(&a);
  a = pattern_grid(10, 10, 10, false);
  check_pattern(env, "7-point grid", &a, &coarse, 40);
}

/* ---- Several processes ---- */

enum { PROCESSES = 3 };

/* Chooses owners of supernodes: by subtrees, or randomly if `scattered`. */
static void choose_owners(const tsi_symbolic *symbolic, bool scattered, uint64_t seed, tsi_index *owner) {
  for (tsi_index s = symbolic->count; s-- > 0;) {
    const bool below = symbolic->parent[s] != TSI_NONE && symbolic->count - s > symbolic->count / 10;
    owner[s] = below && !scattered ? owner[symbolic->parent[s]] : (tsi_index)(next_random(&seed) % PROCESSES);
  }
}

/* Chooses teams around the owners of fronts with tiles. Other fronts are not shared. */
static void choose_teams(const structure *s, const granularity *g, const bool *tiled, uint64_t seed,
                         const tsi_index *owner, tsi_index *begin, tsi_index *end) {
  for (tsi_index k = 0; k < s->symbolic->count; k++) {
    begin[k] = owner[k] - (tsi_index)(next_random(&seed) % (uint64_t)(owner[k] + 1));
    end[k] = owner[k] + 1 + (tsi_index)(next_random(&seed) % (uint64_t)(PROCESSES - owner[k]));
    if (tiled[k] && tsi_front_tiles_of(s->symbolic, s->panels, g->options.tile, k).count >= end[k] - begin[k])
      continue;
    begin[k] = owner[k];
    end[k] = owner[k] + 1;
  }
}

static tsi_front_teams *make_teams(tsi_env *env, const structure *s, tristar_method method,
                                   const granularity *g, const tsi_index *owner, uint64_t seed) {
  tsi_front_teams *teams;
  const size_t count = (size_t)s->symbolic->count + 1;
  OWNED tsi_index *begin = xmalloc(count * sizeof *begin), *end = xmalloc(count * sizeof *end);
  OWNED bool *cut = xmalloc(count);
  CHECK_OK(tsi_factorization_find_tiled(env, s->symbolic, method, &g->options, cut));
  choose_teams(s, g, cut, seed, owner, begin, end);
  CHECK_OK(tsi_front_teams_create(env, s->symbolic, s->panels, method, g->options.tile, begin, end, &teams));
  CHECK_OK(tsi_front_teams_check(env, teams, owner));
  return teams;
}

/* The messages that `from` sends to `to` are those that `to` receives. */
static void check_meeting(const char *name, const tsi_factorization *from, const tsi_factorization *to) {
  tsi_index sent = 0, received = 0;
  for (tsi_index m = 0; m < from->sends; m++) {
    const tsi_front_message *message = &from->send[m];
    if (message->peer != to->rank) continue;
    tsi_index q = 0;
    while (q < to->receives && (to->receive[q].peer != from->rank || to->receive[q].tag != message->tag)) q++;
    CHECK_MSG(q < to->receives && to->receive[q].supernode == message->supernode &&
                  to->receive[q].piece == message->piece && to->receive[q].pieces == message->pieces,
              "%s: tag %d from %d to %d", name, message->tag, from->rank, to->rank);
    const tsi_front_parcel *sends = &from->out[message->parcel], *takes = &to->in[to->receive[q].parcel];
    CHECK(sends->kind == takes->kind && sends->tile == takes->tile && sends->skip == takes->skip &&
          sends->scalars == takes->scalars);
    sent++;
  }
  for (tsi_index q = 0; q < to->receives; q++) received += to->receive[q].peer == from->rank;
  CHECK_MSG(sent == received, "%s: %d messages from %d to %d, %d are expected", name, sent, from->rank,
            to->rank, received);
}

/* shared: fronts with tiles have teams. */
static void check_shared(tsi_env *env, const char *name, const pattern *a, tristar_method method,
                         const granularity *g, bool scattered, bool shared) {
  structure s;
  tsi_factorization *dag[PROCESSES];
  tsi_front_teams *teams = NULL;
  CHECK_OK(build(env, a, method, g, &s));
  tsi_index *owner = xmalloc((size_t)(s.symbolic->count + 1) * sizeof *owner);
  tsi_count tiled_fronts = 0;
  choose_owners(s.symbolic, scattered, 5, owner);
  if (shared) teams = make_teams(env, &s, method, g, owner, 7);
  for (tsi_index r = 0; r < PROCESSES; r++) {
    const tsi_front_owners owners = {.owner = owner, .rank = r, .teams = teams};
    const tristar_status status =
        tsi_factorization_create(env, s.symbolic, s.panels, method, &g->options, &owners, &dag[r]);
    CHECK_MSG(status == TRISTAR_OK, "%s: %s", name, tsi_error_text(env));
    for (tsi_index q = 0; q < dag[r]->tiled_count; q++) tiled_fronts += owner[dag[r]->tiled[q]] == r;
    check_races(env, name, dag[r], 10, (uint64_t)(r + 1));
  }
  CHECK_MSG(tiled_fronts == s.dag->tiled_count, "%s: %lld fronts are tiled, alone %d", name,
            (long long)tiled_fronts, s.dag->tiled_count);
  for (tsi_index r = 0; r < PROCESSES * PROCESSES; r++)
    check_meeting(name, dag[r / PROCESSES], dag[r % PROCESSES]);
  for (tsi_index r = 0; r < PROCESSES; r++) TSI_FREE(env, dag[r]);
  TSI_FREE(env, teams);
  free(owner);
  release(env, &s);
}

static void check_processes(tsi_env *env) {
  static const granularity fine = {true, 8, {8, 2e3, 1e5, 0}};
  const char *name;
  CLEANUP(pattern_free) pattern a;
  for (int i = 0; pattern_case(i, &name, &a); i++) {
    for (int k = 0; k < 4; k++) check_shared(env, name, &a, TRISTAR_METHOD_LU, &fine, k % 2, k / 2);
    pattern_free(&a);
  }
  a = pattern_grid(20, 20, 1, true);
  for (int k = 0; k < 12; k++) check_shared(env, "grid", &a, methods[k / 4], &fine, k % 2, k / 2 % 2);
}

/* A chain in which each link has a leaf. Ranges along the chain include the leaves. */
static void check_caterpillar(tsi_env *env) {
  static const granularity sizes[] = {
      {false, 8, {8, 1e9, 1e5, 0}}, {false, 8, {8, 1e9, 3e5, 0}}, {false, 8, {8, 1e9, 1e6, 0}}};
  CLEANUP(pattern_free) pattern a = pattern_begin(1200);
  for (tsi_index k = 0; k < 1200; k += 2) {
    pattern_add_both(&a, k, k + 1);
    if (k + 3 < 1200) pattern_add_both(&a, k + 1, k + 3);
  }
  pattern_finish(&a);
  for (int k = 0; k < 3; k++) check_pattern(env, "caterpillar", &a, &sizes[k], 10);
}

static tsi_index find(const tsi_factorization *dag, tsi_step_kind kind) {
  tsi_index k = 0;
  while (k < dag->steps->count && dag->steps->step[k].kind != kind) k++;
  CHECK(k < dag->steps->count);
  return k;
}

static const granularity tiled = {true, 8, {8, 1e4, 5e4, 0}};

/* The check detects each change of the steps of a front with tiles. */
#define DAG tsi_factorization_check(env, dag)
static void check_tile_corruption(tsi_env *env, tsi_factorization *dag) {
  tsi_step *close = &dag->steps->step[find(dag, TSI_STEP_FRONT_CLOSE)];
  tsi_step *below = &dag->steps->step[find(dag, TSI_STEP_FRONT_BELOW)];
#define PART(kind) dag->part[find(dag, kind)]
  BROKEN(PART(TSI_STEP_FRONT_ASSEMBLE).column, 1, DAG);
  BROKEN(PART(TSI_STEP_FRONT_ASSEMBLE).column_end, 1, DAG);
  BROKEN(PART(TSI_STEP_FRONT_DIAGONAL).panel, dag->panels->count, DAG);
  BROKEN(PART(TSI_STEP_FRONT_DIAGONAL).panel, PART(TSI_STEP_FRONT_DIAGONAL).panel + 1, DAG);
  BROKEN(PART(TSI_STEP_FRONT_PACK).panel, -1, DAG);
  BROKEN(PART(TSI_STEP_FRONT_BELOW).row_end, PART(TSI_STEP_FRONT_BELOW).row_end + 1, DAG);
  BROKEN(PART(TSI_STEP_FRONT_BELOW).row, 0, DAG);
  BROKEN(PART(TSI_STEP_FRONT_RIGHT).column, PART(TSI_STEP_FRONT_RIGHT).column + 1, DAG);
  BROKEN(PART(TSI_STEP_FRONT_SCHUR).row, PART(TSI_STEP_FRONT_SCHUR).row + 8, DAG);
  BROKEN(PART(TSI_STEP_FRONT_SCHUR).column, -8, DAG);
  BROKEN(PART(TSI_STEP_FRONT_CLOSE).tiled, dag->tiled_count, DAG);
  BROKEN(PART(TSI_STEP_FRONT_CLOSE).last, PART(TSI_STEP_FRONT_CLOSE).last + 1, DAG);
  BROKEN(close->kind, TSI_STEP_FRONT_OPEN, DAG);
  BROKEN(below->kind, TSI_STEP_FORWARD_CHUNK, DAG);
  BROKEN(dag->method, TRISTAR_METHOD_LLT, DAG); /* the method has no work on the right */
}

static void check_corruption(tsi_env *env) {
  CLEANUP(pattern_free) pattern a = pattern_grid(20, 20, 1, true);
  structure s;
  CHECK_OK(build(env, &a, TRISTAR_METHOD_LU, &tiled, &s));
  tsi_factorization *dag = s.dag;
  tsi_steps *steps = dag->steps;
  const tsi_index subtree = find(dag, TSI_STEP_SUBTREE), front = find(dag, TSI_STEP_FRONT);
  tsi_count e = 0;
  CHECK_OK(DAG);
  check_tile_corruption(env, dag);
  BROKEN(steps->count, steps->count - 1, DAG);
  BROKEN(steps->step[subtree].argument, subtree + 1, DAG);
  BROKEN(steps->step[subtree].kind, TSI_STEP_FRONT_OPEN, DAG);
  BROKEN(dag->part[subtree].tiled, 0, DAG);
  BROKEN(dag->part[subtree].last, dag->part[subtree].last + 1, DAG);
  BROKEN(dag->part[find(dag, TSI_STEP_FRONT_OPEN) - 1].last, dag->tiled[0], DAG);
  BROKEN(dag->part[subtree].last, s.symbolic->count, DAG);
  BROKEN(dag->part[subtree].first, -1, DAG);
  BROKEN(dag->part[front].first, dag->part[front].first - 1, DAG);
  while (steps->edge[e].item != front) e++;
  BROKEN(steps->edge[e].before, front, DAG);
  BROKEN(steps->edge[e].before, -1, DAG);
  BROKEN(steps->edge[e].item, steps->count, DAG);
  BROKEN(steps->edge[e].item, front + 1, DAG); /* the front does not wait for its child */
  BROKEN(steps->step[steps->edge[e].before].priority, 0, DAG);
  CHECK_OK(DAG);
  release(env, &s);
}

/* The check detects messages that do not match. */
static void check_message_corruption(tsi_env *env) {
  CLEANUP(pattern_free) pattern a = pattern_grid(20, 20, 1, true);
  structure s;
  tsi_factorization *dag;
  CHECK_OK(build(env, &a, TRISTAR_METHOD_LLT, &tiled, &s));
  tsi_index *owner = xmalloc((size_t)s.symbolic->count * sizeof *owner);
  choose_owners(s.symbolic, true, 3, owner);
  const tsi_front_owners owners = {.owner = owner, .rank = 1};
  CHECK_OK(
      tsi_factorization_create(env, s.symbolic, s.panels, TRISTAR_METHOD_LLT, &tiled.options, &owners, &dag));
  CHECK_OK(DAG);
  CHECK(dag->sends > 1 && dag->receives > 1);
  BROKEN(dag->sends, dag->sends - 1, DAG);
  BROKEN(dag->send[0].peer, 1, DAG);
  BROKEN(dag->send[0].piece, 1, DAG);
  BROKEN(dag->send[0].supernode, s.symbolic->count, DAG);
  BROKEN(dag->send[1].step, dag->steps->count, DAG);
  BROKEN(dag->receive[0].piece, 1, DAG);
  BROKEN(dag->receive[0].peer, 1, DAG);
  BROKEN(dag->part[find(dag, TSI_STEP_ARRIVAL)].first, s.symbolic->count - 1, DAG);
  BROKEN(dag->receive[1].supernode, s.symbolic->count - 1, DAG);
  BROKEN(dag->part[find(dag, TSI_STEP_ARRIVAL)].message, dag->receives, DAG);
  BROKEN(dag->steps->step[find(dag, TSI_STEP_ARRIVAL)].kind, TSI_STEP_FRONT, DAG);
  BROKEN(owner[dag->receive[0].supernode], 1, DAG);
  TSI_FREE(env, dag);
  free(owner);
  release(env, &s);
}

static tsi_index find_parcel(const tsi_front_parcel *parcel, tsi_index count, tsi_parcel_kind kind) {
  tsi_index k = 0;
  while (k < count && parcel[k].kind != kind) k++;
  CHECK(k < count);
  return k;
}

/* The check detects stripes and parts that do not match, and steps of another process. */
static void check_shared_corruption(tsi_env *env) {
  CLEANUP(pattern_free) pattern a = pattern_grid(20, 20, 1, true);
  structure s;
  tsi_factorization *dag;
  CHECK_OK(build(env, &a, TRISTAR_METHOD_LDLT, &tiled, &s));
  tsi_index *owner = xmalloc((size_t)s.symbolic->count * sizeof *owner);
  choose_owners(s.symbolic, true, 3, owner);
  tsi_front_teams *teams = make_teams(env, &s, TRISTAR_METHOD_LDLT, &tiled, owner, 7);
  const tsi_front_owners owners = {.owner = owner, .rank = 1, .teams = teams};
  CHECK_OK(tsi_factorization_create(env, s.symbolic, s.panels, TRISTAR_METHOD_LDLT, &tiled.options, &owners,
                                    &dag));
  CHECK_OK(DAG);
  tsi_front_parcel *leaves = &dag->out[find_parcel(dag->out, dag->outs, TSI_PARCEL_STRIPE)],
                   *comes = &dag->in[find_parcel(dag->in, dag->ins, TSI_PARCEL_STRIPE)],
                   *part = &dag->out[find_parcel(dag->out, dag->outs, TSI_PARCEL_PART)];
  BROKEN(leaves->tile, leaves->tile + 1, DAG);
  BROKEN(leaves->skip, leaves->skip + 1, DAG);
  BROKEN(leaves->scalars, leaves->scalars - 1, DAG);
  BROKEN(leaves->peer, 1, DAG);
  BROKEN(comes->tile, comes->tile + 1, DAG);
  BROKEN(comes->scalars, comes->scalars + 1, DAG);
  BROKEN(comes->kind, TSI_PARCEL_PART, DAG);
  BROKEN(part->scalars, part->scalars + 1, DAG);
  BROKEN(part->kind, TSI_PARCEL_WHOLE, DAG);
  BROKEN(dag->receive[0].parcel, dag->ins, DAG);
  const tsi_index shared = comes->supernode;
  tsi_index *tile = &teams->tile_owner[teams->tile_ptr[shared]];
  BROKEN(*tile, teams->end[shared], tsi_front_teams_check(env, teams, owner));
  BROKEN(owner[shared], teams->end[shared], tsi_front_teams_check(env, teams, owner));
  CHECK_OK(DAG);
  TSI_FREE(env, dag);
  TSI_FREE(env, teams);
  free(owner);
  release(env, &s);
}

/* Each allocation fails in turn. */
static void check_failures(void) {
  CLEANUP(pattern_free) pattern a = pattern_grid(9, 9, 1, true);
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  allocation_failures failing = fail_allocations(&env);
  while (next_failure(&failing)) {
    structure s;
    tsi_access_list *list = NULL;
    tristar_status status = build(&env, &a, TRISTAR_METHOD_LDLT, &tiled, &s);
    CHECK((s.dag != NULL) == (status == TRISTAR_OK));
    if (status == TRISTAR_OK) {
      status = tsi_factorization_list_accesses(&env, s.dag, &list);
      CHECK((list != NULL) == (status == TRISTAR_OK));
    }
    end_failure(&failing, status);
    TSI_FREE(&env, list);
    release(&env, &s);
  }
}

int test_factorization(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  RUN(check_cases(&env));
  RUN(check_grids(&env));
  RUN(check_caterpillar(&env));
  RUN(check_processes(&env));
  CHECK_TOTAL(races_removals >= 200, "only %lld edges were removed", (long long)races_removals);
  env.check = false;
  RUN(check_corruption(&env));
  RUN(check_message_corruption(&env));
  RUN(check_shared_corruption(&env));
  RUN(check_failures());
  CHECK(atomic_load(&env.memory.current) == 0);
  return 0;
}
