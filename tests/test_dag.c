/* Chunks and DAG on generated problems: the checks pass for many granularities, and fail for each invariant
 * that is broken. */
#include "dag/dag.h"
#include "tests/dags.h"

/* A grid of k x k x kz points with 7-point coupling. */
static void build(tsi_env *env, structure *s, tsi_index k, tsi_index kz, tsi_index width, double ceiling) {
  const structure_options options = {
      .width = width, .ceiling_bytes = ceiling, .floor_bytes = ceiling / 4, .slice_bytes = ceiling / 8};
  pattern a = pattern_grid(k, k, kz, false);
  CHECK_OK(structure_build(env, &a, &options, s));
  pattern_free(&a);
}

static void check_edge(void *arg, tsi_index task, tsi_index before) {
  const tsi_index *place = arg;
  CHECK_MSG(place[before] < place[task], "task %d comes before %d", task, before);
}

static void check_orders(tsi_env *env, const tsi_dag *dag) {
  const tsi_index tasks = dag->tasks;
  tsi_index *order = malloc((size_t)tasks * sizeof *order), *place = malloc((size_t)tasks * sizeof *place);
  for (unsigned seed = 0; seed < 4; seed++) {
    for (tsi_index k = 0; k < tasks; k++) place[k] = TSI_NONE;
    CHECK_OK(tsi_dag_order(env, dag, seed, order));
    for (tsi_index k = 0; k < tasks; k++) {
      CHECK(order[k] >= 0 && order[k] < tasks && place[order[k]] == TSI_NONE);
      place[order[k]] = k;
    }
    tsi_dag_for_each_edge(dag, check_edge, place);
  }
  free(order);
  free(place);
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
  BROKEN(sweep->next[sweep->next_ptr[linked]], linked, SWEEP); /* a cycle, and incomplete */
  BROKEN(sweep->next[sweep->next_ptr[sliced]], sweep->chunks - 1, SWEEP);
  BROKEN(sweep->prev[0], sweep->prev[0] + 1, SWEEP);
  BROKEN(s->dag->priority[0], 0, DAG);
  CHECK_OK(CHUNKS);
  CHECK_OK(SWEEP);
  CHECK_OK(DAG);
}

int main(void) {
  tsi_env env;
  structure s;
  tsi_env_init(&env);
  env.check = true;
  static const double ceilings[] = {200, 2e3, 2e4, 1e6, 1e9};
  for (size_t c = 0; c < sizeof ceilings / sizeof *ceilings; c++)
    for (tsi_index width = 8; width <= 128; width *= 4)
      for (int grid = 0; grid < 4; grid++) {
        build(&env, &s, grid == 0 ? 1 : grid == 1 ? 40 : 9, grid == 3 ? 9 : 1, width, ceilings[c]);
        check_orders(&env, s.dag);
        /* the structure is closed: reduced, one edge a node is left, besides those to slices */
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
  check_corruption(&env, &s);
  structure_release(&env, &s);
  CHECK(atomic_load(&env.memory.current) == 0);
  tsi_env_finish(&env);
  return 0;
}
