/* Chunks and DAG on generated problems: the checks pass for many granularities, and fail for each invariant
 * that is broken. */
#include "dag/dag.h"
#include "dag/steps.h"
#include "tests/support/dags.h"
#include "tests/support/subtests.h"

/* Builds the structures of a grid of k x k x kz points with a 7-point stencil. */
static void build(tsi_env *env, structure *s, tsi_index k, tsi_index kz, tsi_index width, double ceiling) {
  const structure_options options = {
      .width = width, .ceiling_bytes = ceiling, .floor_bytes = ceiling / 4, .slice_bytes = ceiling / 8};
  CLEANUP(pattern_free) pattern a = pattern_grid(k, k, kz, false);
  CHECK_OK(structure_build(env, &a, &options, s));
}

static void check_edge(void *arg, tsi_index task, tsi_index before) {
  const tsi_index *place = arg;
  CHECK_MSG(place[before] < place[task], "task %d comes before %d", task, before);
}

static void check_orders(tsi_env *env, const tsi_dag *dag) {
  const tsi_index tasks = dag->tasks;
  OWNED tsi_index *order = xmalloc((size_t)tasks * sizeof *order),
                  *place = xmalloc((size_t)tasks * sizeof *place);
  for (unsigned seed = 0; seed < 4; seed++) {
    for (tsi_index k = 0; k < tasks; k++) place[k] = TSI_NONE;
    CHECK_OK(tsi_dag_order(env, dag, seed, order));
    for (tsi_index k = 0; k < tasks; k++) {
      CHECK(order[k] >= 0 && order[k] < tasks && place[order[k]] == TSI_NONE);
      place[order[k]] = k;
    }
    tsi_dag_for_each_edge(dag, check_edge, place);
  }
}

/* The critical path is the heaviest path. Width and depth are those of levels by longest paths. */
static void check_measures(const tsi_dag *dag) {
  const tsi_sweep *sweep = dag->forward;
  OWNED tsi_index *order = xmalloc((size_t)sweep->nodes * sizeof *order);
  OWNED tsi_index *level = xcalloc((size_t)sweep->nodes, sizeof *level);
  tsi_index *count = xcalloc((size_t)sweep->nodes, sizeof *count), width = 0, depth = 0;
  double most = 0;
  for (tsi_index k = 0; k < dag->tasks; k++) most = dag->priority[k] > most ? dag->priority[k] : most;
  CHECK(dag->critical_bytes >= most && dag->critical_bytes <= most);
  tsi_sweep_order(sweep, order);
  for (tsi_index q = 0; q < sweep->nodes; q++) {
    const tsi_index v = order[q];
    width = tsi_index_max(width, ++count[level[v]]);
    depth = tsi_index_max(depth, level[v] + 1);
    for (tsi_count e = sweep->next_ptr[v]; e < sweep->next_ptr[v + 1]; e++)
      level[sweep->next[e]] = tsi_index_max(level[sweep->next[e]], level[v] + 1);
  }
  CHECK(sweep->width == width && sweep->depth == depth);
  free(count);
}

/* The pushes into a chunk run one after the other, with decreasing priorities. */
static void check_pushes(tsi_env *env, const structure *s) {
  tsi_steps *steps;
  OWNED tsi_index *order = xmalloc((size_t)s->dag->tasks * sizeof *order);
  CHECK_OK(tsi_dag_order(env, s->dag, 0, order));
  const tsi_steps_source source = {s->dag, order, s->chunks, s->chunks, true, true, true, false, false, NULL};
  CHECK_OK(tsi_steps_create(env, &source, &steps));
  for (tsi_count e = 0; e < steps->edges; e++) {
    const tsi_step *item = &steps->step[steps->edge[e].item], *before = &steps->step[steps->edge[e].before];
    if (item->kind != TSI_STEP_FORWARD_PUSH || before->kind != TSI_STEP_FORWARD_PUSH) continue;
    CHECK_MSG(before->priority > item->priority, "a push of priority %g before one of %g", before->priority,
              item->priority);
  }
  TSI_FREE(env, steps);
}

static double bytes_of(const structure *s, tsi_index first, tsi_index end) {
  double bytes = 0;
  for (tsi_index p = first; p < end; p++)
    bytes += (double)sizeof(double) * (double)tsi_panel_entries(s->panels, p);
  return bytes;
}

/* A chunk is at most as heavy as the ceiling, or is a single panel. A chunk of bottom subtrees that is
 * lighter than the floor includes the first panel of the parent supernode, if it fits and has no slices. */
static void check_weights(const structure *s, double ceiling, double floor) {
  const tsi_chunks *chunks = s->chunks;
  const tsi_index *parent = s->symbolic->parent, *owner = s->panels->supernode;
  OWNED double *subtree = xcalloc((size_t)s->symbolic->count, sizeof *subtree);
  for (tsi_index v = 0; v < s->symbolic->count; v++) {
    subtree[v] += bytes_of(s, s->panels->first[v], s->panels->first[v + 1]);
    if (parent[v] != TSI_NONE) subtree[parent[v]] += subtree[v];
  }
  for (tsi_index c = 0; c < chunks->count; c++) {
    const tsi_index next = chunks->panel[c + 1], last = owner[next - 1];
    const double bytes = bytes_of(s, chunks->panel[c], next);
    CHECK_MSG(bytes <= ceiling || next == chunks->panel[c] + 1 || chunks->count == 1,
              "chunk %d of %d: %g bytes, at most %g", c, chunks->count, bytes, ceiling);
    if (c + 1 == chunks->count || subtree[last] > ceiling || bytes >= floor || parent[last] != owner[next] ||
        subtree[owner[next]] <= ceiling || tsi_chunk_slices(chunks, c + 1) > 0)
      continue;
    CHECK_MSG(bytes + bytes_of(s, next, next + 1) > ceiling, "chunk %d of %d: %g bytes, at least %g", c,
              chunks->count, bytes, floor);
  }
}

static void check_corruption(tsi_env *env, structure *s) {
  tsi_chunks *chunks = s->chunks;
  tsi_sweep *sweep = s->sweep;
  tsi_index sliced = 0, linked = 0;
  while (tsi_chunk_slices(chunks, sliced) < 2) sliced++;
  while (tsi_chunk_off_rows(chunks, linked) < 2 || tsi_chunk_slices(chunks, linked) > 0) linked++;
#define CHUNKS tsi_chunks_check(env, chunks, s->symbolic, s->panels)
#define SWEEP tsi_sweep_check(env, sweep, chunks)
#define DAG tsi_dag_check(env, s->dag)
  BROKEN(chunks->panel[1], chunks->panel[1] + 1, CHUNKS);
  BROKEN(chunks->panel[chunks->count], s->panels->count - 1, CHUNKS);
  BROKEN(chunks->off[chunks->off_ptr[linked]], chunks->off[chunks->off_ptr[linked] + 1], CHUNKS);
  BROKEN(chunks->off[chunks->off_ptr[linked] + 1], s->symbolic->n, CHUNKS);
  BROKEN(chunks->local_row[0], chunks->local_row[1], CHUNKS);
  BROKEN(chunks->local_row[0], -1, CHUNKS);
  BROKEN(chunks->slice_row[chunks->slice_ptr[sliced] + 1],
         chunks->slice_row[chunks->slice_ptr[sliced] + 1] + 1, CHUNKS);
  BROKEN(chunks->slice_row[chunks->slice_ptr[sliced] + 1], 0, CHUNKS);
  BROKEN(chunks->slices, chunks->slices + 1, CHUNKS);
  BROKEN(s->panels->start[1], s->panels->start[1] + 1, tsi_panels_check(env, s->panels, s->symbolic));
  BROKEN(s->panels->height[0], s->panels->height[0] + 1, tsi_panels_check(env, s->panels, s->symbolic));
  BROKEN(s->panels->width_max, 1, tsi_panels_check(env, s->panels, s->symbolic));
  const tsi_count pair = sweep->source_ptr[linked];
  BROKEN(sweep->pair[pair].count, sweep->pair[pair].count + 1, SWEEP);
  BROKEN(sweep->pair[pair].target, sweep->chunks - 1 - (sweep->pair[pair].target == sweep->chunks - 1),
         SWEEP);
  BROKEN(sweep->pair[pair].source, linked + 1, SWEEP);
  BROKEN(sweep->by_target[0], sweep->by_target[1], SWEEP);
  BROKEN(sweep->next[sweep->next_ptr[linked]], linked, SWEEP); /* a cycle, and an edge is missing */
  BROKEN(sweep->next[sweep->next_ptr[sliced]], sweep->chunks - 1, SWEEP);
  BROKEN(sweep->prev[0], sweep->prev[0] + 1, SWEEP);
  BROKEN(s->dag->priority[0], 0, DAG);
  CHECK_OK(CHUNKS);
  CHECK_OK(SWEEP);
  CHECK_OK(DAG);
}

int test_dag(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tsi_env env;
  structure s;
  tsi_env_init(&env);
  env.check = true;
  static const double ceilings[] = {200, 2e3, 2e4, 1e6, 1e9};
  for (size_t c = 0; c < sizeof ceilings / sizeof *ceilings; c++)
    for (tsi_index width = 8; width <= 128; width *= 4)
      for (int grid = 0; grid < 4; grid++) {
        build(&env, &s, grid == 0 ? 1 : grid == 1 ? 40 : 9, grid == 3 ? 9 : 1, width, ceilings[c]);
        RUN(check_orders(&env, s.dag));
        RUN(check_measures(s.dag));
        RUN(check_pushes(&env, &s));
        if (s.chunks->count > 1) RUN(check_weights(&s, ceilings[c], ceilings[c] / 4));
        /* the edges are reduced, so each node has one, plus the edges of slices */
        CHECK(s.sweep->edges <= s.sweep->chunks + 2 * s.sweep->slices);
        if (ceilings[c] == 1e9) CHECK(s.chunks->count == 1);
        if (ceilings[c] == 200 && grid == 1) CHECK(s.chunks->count > 20);
        structure_release(&env, &s);
      }
  build(&env, &s, 12, 12, 32, 3e4);
  CHECK(s.chunks->count > 8 && s.chunks->slices > 8);
  CHECK_OK(tsi_sweep_write_dot(&env, s.sweep, s.chunks, "test_dag.dot"));
  CHECK_STATUS(tsi_sweep_write_dot(&env, s.sweep, s.chunks, "no/such/folder/x.dot"), TRISTAR_ERR_IO);
  env.check = false;
  RUN(check_corruption(&env, &s));
  structure_release(&env, &s);
  CHECK(atomic_load(&env.memory.current) == 0);
  return 0;
}
