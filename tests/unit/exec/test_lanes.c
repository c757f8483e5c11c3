/* Lanes of random DAGs: they imply every edge, each of their waits is necessary for that, and checks report
 * broken lanes. In runs on one to four threads, which enter and leave at any time, each step runs once, alone
 * in its lane, after all steps that it waits for. Values have the bits of a serial run. Steps touch their
 * values without atomics, so the thread sanitizer reports a missing wait. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "dag/lanes.h"
#include "runtime/exec/steps/lane_run.h"
#include "tests/support/env_allocations.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

enum { RUNS = TSI_TESTS_RACES ? 10 : 40, THREADS = 4 };

/* After this generation the count of runs restarts from zero. */
#define LAST_GENERATION (((uint64_t)1 << 31) - 1)

static tsi_env env;

/* ---- Random DAGs --------------------------------------------------------------------------------------- */

typedef struct graph {
  tsi_index steps;
  tsi_count edges;
  tsi_edge *edge;
  tsi_index *order, *lane;
  int lanes;
} graph;

/* reach: maximum distance, in the order, of the steps that a step waits for; most: maximum number of these,
 * including duplicates. The first half of the lanes gets most of the steps; some lanes may be empty. */
static graph graph_create(tsi_index steps, tsi_index reach, tsi_index most, int lanes, uint64_t seed) {
  graph g = {.steps = steps, .lanes = lanes};
  g.edge = xmalloc((size_t)(steps * most + 1) * sizeof *g.edge);
  g.order = xmalloc((size_t)steps * sizeof *g.order + 1);
  g.lane = xmalloc((size_t)steps * sizeof *g.lane + 1);
  for (tsi_index q = 0; q < steps; q++) {
    const tsi_index other = lcg_below(&seed, q + 1);
    g.order[q] = g.order[other];
    g.order[other] = q;
  }
  for (tsi_index q = 0; q < steps; q++) {
    const int some = lcg_below(&seed, 3) == 0 ? lanes : lanes / 2 + 1;
    g.lane[q] = lcg_below(&seed, some);
    for (tsi_index k = q > 0 ? lcg_below(&seed, most + 1) : 0; k > 0; k--) {
      const tsi_index back = lcg_below(&seed, tsi_index_min(q, reach)) + 1;
      g.edge[g.edges++] = (tsi_edge){g.order[q], g.order[q - back]};
    }
  }
  return g;
}

static void graph_free(graph *g) {
  free(g->edge);
  free(g->order);
  free(g->lane);
}

static tsi_lanes *lanes_of(const graph *g) {
  tsi_lanes *lanes;
  CHECK_OK(tsi_lanes_create(&env, g->steps, g->edges, g->edge, g->order, g->lanes, g->lane, &lanes));
  CHECK(lanes->first[g->lanes] == g->steps);
  return lanes;
}

/* ---- Lists --------------------------------------------------------------------------------------------- */

static tristar_status check(const graph *g, const tsi_lanes *lanes) {
  return tsi_lanes_check(&env, lanes, g->steps, g->edges, g->edge);
}

/* Each wait in turn is reduced by one or removed. Then the lists must no longer imply all edges. */
static void check_needed(const graph *g, tsi_lanes *lanes) {
  const tsi_count waits = lanes->wait_ptr[g->steps];
  OWNED tsi_lane_wait *wait = xmalloc((size_t)waits * sizeof *wait + 1);
  if (waits > 0) memcpy(wait, lanes->wait, (size_t)waits * sizeof *wait);
  for (tsi_index at = 0; at < g->steps; at++)
    for (tsi_count w = lanes->wait_ptr[at]; w < lanes->wait_ptr[at + 1]; w++) {
      if (lanes->wait[w].passed > 1) {
        lanes->wait[w].passed--;
        CHECK_STATUS(check(g, lanes), TRISTAR_ERR_INTERNAL);
        lanes->wait[w] = wait[w];
      }
      memmove(lanes->wait + w, lanes->wait + w + 1, (size_t)(waits - w - 1) * sizeof *wait);
      for (tsi_index k = at + 1; k <= g->steps; k++) lanes->wait_ptr[k]--;
      CHECK_STATUS(check(g, lanes), TRISTAR_ERR_INTERNAL);
      memcpy(lanes->wait, wait, (size_t)waits * sizeof *wait);
      for (tsi_index k = at + 1; k <= g->steps; k++) lanes->wait_ptr[k]++;
    }
  CHECK_OK(check(g, lanes));
}

/* Steps that are missing, listed twice or unknown; waits for steps that do not exist or never run. */
static void check_broken(const graph *g, tsi_lanes *lanes) {
  BROKEN(lanes->first[g->lanes], g->steps - 1, check(g, lanes));
  if (g->lanes > 1) BROKEN(lanes->first[1], g->steps + 1, check(g, lanes));
  BROKEN(lanes->step[0], lanes->step[1], check(g, lanes));
  BROKEN(lanes->step[0], -1, check(g, lanes));
  BROKEN(lanes->step[0], g->steps, check(g, lanes));
  BROKEN(lanes->wait_ptr[1], -1, check(g, lanes));
  BROKEN(lanes->wait_ptr[1], lanes->wait_ptr[g->steps] + 1, check(g, lanes));
  for (tsi_index at = 0; at < g->steps; at++) {
    if (lanes->wait_ptr[at] == lanes->wait_ptr[at + 1]) continue;
    tsi_lane_wait *wait = &lanes->wait[lanes->wait_ptr[at]];
    const int lane = g->lane[lanes->step[at]];
    BROKEN(wait->passed, 0, check(g, lanes));
    BROKEN(wait->passed, tsi_lane_steps(lanes, wait->lane) + 1, check(g, lanes));
    BROKEN(wait->lane, -1, check(g, lanes));
    BROKEN(wait->lane, g->lanes, check(g, lanes));
    BROKEN(*wait, ((tsi_lane_wait){lane, at - lanes->first[lane] + 1}),
           check(g, lanes)); /* a step waits for itself */
  }
  CHECK_OK(check(g, lanes));
}

/* Each allocation fails in turn; no memory is lost. */
static void check_failures(const graph *g) {
  allocation_failures failing = fail_allocations(&env);
  while (next_failure(&failing)) {
    tsi_lanes *lanes;
    tsi_lane_run *run = NULL;
    tristar_status status =
        tsi_lanes_create(&env, g->steps, g->edges, g->edge, g->order, g->lanes, g->lane, &lanes);
    CHECK((status == TRISTAR_OK) == (lanes != NULL));
    if (status == TRISTAR_OK) status = tsi_lane_run_create(&env, NULL, NULL, lanes, &run);
    end_failure(&failing, status);
    CHECK((status == TRISTAR_OK) == (run != NULL));
    TSI_FREE(&env, run);
  }
  CHECK_MSG(failing.count >= 12, "%d allocations", (int)failing.count);
}

/* ---- Runs ---------------------------------------------------------------------------------------------- */

/* The data of the steps. Only `busy` is atomic. */
typedef struct work {
  const graph *g;
  tsi_adjacency *before;
  int generation, *ran; /* ran: latest generation of each step */
  double *value, *expected;
  atomic_int *busy; /* one for each lane */
  atomic_bool stop;
  tsi_lane_run *run;
} work;

static double value_of(const work *w, const double *value, tsi_index step) {
  double sum = w->generation + 1.0 / (step + 1);
  for (tsi_count e = w->before->ptr[step]; e < w->before->ptr[step + 1]; e++)
    sum += value[w->before->list[e]] / 3;
  return sum;
}

static void run_step(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index step) {
  work *w = call->workspace;
  atomic_int *busy = &w->busy[w->g->lane[step]];
  (void)data;
  CHECK(atomic_exchange_explicit(busy, 1, memory_order_relaxed) == 0);
  CHECK_MSG(w->ran[step] == w->generation - 1, "step %d: run %d after %d", step, w->generation, w->ran[step]);
  for (tsi_count e = w->before->ptr[step]; e < w->before->ptr[step + 1]; e++)
    CHECK_MSG(w->ran[w->before->list[e]] == w->generation, "run %d: step %d does not wait for %d",
              w->generation, step, w->before->list[e]);
  if (step % 7 == 0) sched_yield(); /* lets other threads run */
  w->value[step] = value_of(w, w->value, step);
  w->ran[step] = w->generation;
  atomic_store_explicit(busy, 0, memory_order_relaxed);
}

/* A thread that tries to join at any time, also before a run begins or after it has ended. */
typedef struct guest {
  pthread_t thread;
  work *w;
  int number;
} guest;

static void *visit(void *arg) {
  const guest *self = arg;
  uint64_t seed = (uint64_t)self->number;
  while (!atomic_load_explicit(&self->w->stop, memory_order_relaxed)) {
    tsi_lane_run_join(self->w->run, (int)lcg(&seed) & 0xff, self->number);
    for (uint32_t k = lcg(&seed) % 4; k > 0; k--) sched_yield();
  }
  return NULL;
}

static void check_all(const work *w) {
  for (tsi_index s = 0; s < w->g->steps; s++) CHECK(w->ran[s] == w->generation);
}

static void run_once(work *w, int number) {
  const tsi_index steps = w->g->steps;
  w->generation++;
  for (tsi_index q = 0; q < steps; q++)
    w->expected[w->g->order[q]] = value_of(w, w->expected, w->g->order[q]);
  tsi_lane_run_begin(w->run);
  if (number % 3 == 0) sched_yield(); /* lets the guests join first */
  tsi_lane_run_join(w->run, number, -1);
  check_all(w);
  CHECK(memcmp(w->value, w->expected, (size_t)steps * sizeof *w->value) == 0);
}

static void check_runs(const graph *g, int visitors, int runs) {
  const tsi_node_kernels nodes = {.forward_chunk = run_step};
  const tsi_solve_data data = {.chunks = g->steps};
  const size_t room = (size_t)g->steps + 1;
  work w = {.g = g,
            .ran = xcalloc(room, sizeof *w.ran),
            .value = xcalloc(room, sizeof *w.value),
            .expected = xcalloc(room, sizeof *w.expected),
            .busy = xcalloc((size_t)g->lanes + 1, sizeof *w.busy)};
  tsi_steps steps = {.count = g->steps, .step = xcalloc(room, sizeof *steps.step)};
  tsi_execution execution = {.nodes = &nodes, .forward = &data, .call = {.workspace = &w}};
  guest guests[THREADS];
  CHECK(w.ran != NULL && w.value != NULL && w.expected != NULL && w.busy != NULL && steps.step != NULL);
  for (tsi_index s = 0; s < g->steps; s++)
    steps.step[s] = (tsi_step){.kind = TSI_STEP_FORWARD_CHUNK, .argument = s};
  CHECK_OK(tsi_adjacency_create(&env, g->steps, g->edges, g->edge, TSI_BEFORE, &w.before));
  CHECK_OK(tsi_lane_run_create(&env, &execution, &steps, lanes_of(g), &w.run));
  w.generation = 1; /* a step that runs now would fail the test */
  tsi_lane_run_join(w.run, 0, -1);
  w.generation = 0;
  check_all(&w);
  if (visitors % 2 == 1) atomic_store(&w.run->generation, LAST_GENERATION - (uint64_t)runs / 2);
  for (int k = 0; k < visitors; k++) {
    guests[k].w = &w;
    guests[k].number = k + 1;
    CHECK(pthread_create(&guests[k].thread, NULL, visit, &guests[k]) == 0);
  }
  for (int k = 0; k < runs; k++) run_once(&w, k);
  atomic_store(&w.stop, true);
  for (int k = 0; k < visitors; k++) CHECK(pthread_join(guests[k].thread, NULL) == 0);
  tsi_lane_run_join(w.run, 0, -1); /* the run has ended: no step runs again */
  check_all(&w);
  TSI_FREE(&env, w.run);
  CHECK(w.run == NULL);
  TSI_FREE(&env, w.before);
  free(steps.step);
  free(w.ran);
  free(w.value);
  free(w.expected);
  free(w.busy);
}

int test_lanes(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const struct {
    tsi_index steps, reach, most;
    int lanes;
  } kind[] = {{0, 1, 1, 1},     {0, 1, 1, 3},    {1, 1, 1, 1},   {2, 1, 1, 4},  {40, 40, 0, 4},
              {40, 1, 1, 1},    {40, 1, 1, 5},   {60, 60, 4, 2}, {90, 9, 3, 3}, {120, 30, 6, 4},
              {150, 150, 2, 8}, {200, 5, 2, 64}, {70, 70, 9, 3}};
  tsi_env_init(&env);
  env.check = true;
  for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
    for (uint64_t seed = 1; seed <= 4; seed++) {
      CLEANUP(graph_free)
      graph g = graph_create(kind[k].steps, kind[k].reach, kind[k].most, kind[k].lanes, 100 * k + seed);
      tsi_lanes *lanes = lanes_of(&g);
      RUN(check_needed(&g, lanes));
      if (g.steps > 2) RUN(check_broken(&g, lanes));
      TSI_FREE(&env, lanes);
      CHECK(lanes == NULL);
      if (seed == 1 && g.steps > 0) RUN(check_failures(&g));
      RUN(check_runs(&g, (int)seed % THREADS, RUNS));
    }
  }
  CHECK(atomic_load(&env.memory.current) == 0);
  return 0;
}
