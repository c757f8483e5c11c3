/* Edges of the DAG of a solve; its check; legal orders of its tasks, for the serial replay that the tests use
 * as an oracle. */
#include "dag/dag.h"

tsi_index tsi_dag_turn(const tsi_dag *dag, tsi_index v) {
  const tsi_sweep *f = dag->forward;
  const bool last = f->next_ptr[v] == f->next_ptr[v + 1];
  if (dag->forward == dag->backward) return last ? v : TSI_NONE; /* A root has no slices. */
  if (v >= f->chunks) return f->slice_chunk[v - f->chunks];
  return !last && f->next[f->next_ptr[v]] >= f->chunks ? TSI_NONE : v; /* Its slices come later. */
}

void tsi_dag_for_each_edge(const tsi_dag *dag, void (*visit)(void *arg, tsi_index task, tsi_index before),
                           void *arg) {
  const tsi_sweep *f = dag->forward, *b = dag->backward;
  for (tsi_index v = 0; v < f->nodes; v++)
    for (tsi_count e = f->prev_ptr[v]; e < f->prev_ptr[v + 1]; e++) visit(arg, v, f->prev[e]);
  for (tsi_index v = 0; v < b->nodes; v++)
    for (tsi_count e = b->next_ptr[v]; e < b->next_ptr[v + 1]; e++)
      visit(arg, f->nodes + v, f->nodes + b->next[e]);
  for (tsi_index v = 0; v < f->nodes; v++)
    if (tsi_dag_turn(dag, v) != TSI_NONE) visit(arg, f->nodes + tsi_dag_turn(dag, v), v);
}

static void count_edge(void *arg, tsi_index task, tsi_index before) {
  tsi_count *ptr = arg;
  (void)task;
  ptr[before + 1]++;
}

/* Successor lists of the combined graph. */
typedef struct successors {
  tsi_count *ptr;
  tsi_index *list;
  tsi_index *waits; /* tasks that each task still waits for */
} successors;

static void list_edge(void *arg, tsi_index task, tsi_index before) {
  successors *s = arg;
  s->list[s->ptr[before]++] = task;
  s->waits[task]++;
}

/* A linear congruential generator modulo 2^64 with Knuth's multiplier (MMIX); the high bits are used. */
static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Chunks ascending (each before its slices), then the reverse for the backward sweep. */
static void natural(const tsi_dag *dag, tsi_index *order) {
  const tsi_index forward = dag->forward->nodes, tasks = dag->tasks;
  tsi_sweep_order(dag->forward, order);
  tsi_sweep_order(dag->backward, order + forward);
  for (tsi_index a = forward, b = tasks - 1; a < b; a++, b--) {
    const tsi_index keep = order[a];
    order[a] = order[b];
    order[b] = keep;
  }
  for (tsi_index q = forward; q < tasks; q++) order[q] += forward;
}

tristar_status tsi_dag_order(tsi_env *env, const tsi_dag *dag, unsigned seed, tsi_index *order) {
  tristar_status status = TRISTAR_OK;
  const tsi_index tasks = dag->tasks;
  successors s = {NULL, NULL, NULL};
  tsi_index *ready = NULL;
  if (seed == 0) {
    natural(dag, order);
    return TRISTAR_OK;
  }
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, s.ptr, (tsi_count)tasks + 2));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, s.waits, tasks));
  TSI_TRY_OUT(TSI_ALLOC(env, ready, tasks));
  tsi_dag_for_each_edge(dag, count_edge, s.ptr + 1);
  for (tsi_index v = 0; v < tasks; v++) s.ptr[v + 2] += s.ptr[v + 1];
  TSI_TRY_OUT(TSI_ALLOC(env, s.list, s.ptr[tasks + 1]));
  s.ptr++; /* list_edge moves ptr[v] from the start of v's list to its end */
  tsi_dag_for_each_edge(dag, list_edge, &s);
  s.ptr--;
  uint64_t state = seed;
  tsi_index waiting = 0, done = 0;
  for (tsi_index v = 0; v < tasks; v++)
    if (s.waits[v] == 0) ready[waiting++] = v;
  while (waiting > 0) {
    const tsi_index pick = (tsi_index)(next_random(&state) % (uint64_t)waiting);
    const tsi_index v = ready[pick];
    ready[pick] = ready[--waiting];
    order[done++] = v;
    for (tsi_count e = s.ptr[v]; e < s.ptr[v + 1]; e++)
      if (--s.waits[s.list[e]] == 0) ready[waiting++] = s.list[e];
  }
  if (done < tasks)
    TSI_FAIL_OUT(env, TRISTAR_ERR_INTERNAL, "the DAG has a cycle: %d of %d tasks can run", done, tasks);
out:
  TSI_FREE(env, s.ptr);
  TSI_FREE(env, s.list);
  TSI_FREE(env, s.waits);
  TSI_FREE(env, ready);
  return status;
}

typedef struct priority_check {
  const tsi_dag *dag;
  tsi_index task, before;
} priority_check;

static void check_priority(void *arg, tsi_index task, tsi_index before) {
  priority_check *check = arg;
  if (check->dag->priority[before] <= check->dag->priority[task]) {
    check->task = task;
    check->before = before;
  }
}

tristar_status tsi_dag_check(tsi_env *env, const tsi_dag *dag) {
  priority_check check = {dag, TSI_NONE, TSI_NONE};
  TSI_SCRATCH(env, tsi_index, order, dag->tasks);
  TSI_TRY(tsi_dag_order(env, dag, 1, order)); /* fails on a cycle */
  tsi_dag_for_each_edge(dag, check_priority, &check);
  if (check.task != TSI_NONE)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "task %d waits for task %d of lower priority", check.task,
             check.before);
  return TRISTAR_OK;
}
