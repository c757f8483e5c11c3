/* Records steps as tasks, and runs them: see executor.h. */
#include "runtime/solve/executor.h"

#include <sched.h>

#include "runtime/base/clock.h"
#include "runtime/solve/exchange.h"
#include "runtime/solve/spmv.h"

/* ---- Steps -------------------------------------------------------------------------------------------- */

typedef void (*step_function)(tsi_execution *e, tsi_index argument, int worker);

/* A step that streams factor: it notes where it runs. Nodes of a sweep: its chunks, then its slices. */
static void note_processor(const tsi_execution *e, tsi_index node, int worker) {
  if (e->processor != NULL && worker >= 0) e->processor[node] = sched_getcpu();
}
#define STREAM_STEP(step, side, first_node)                                                                  \
  static void run_##step(tsi_execution *e, tsi_index argument, int worker) {                                 \
    note_processor(e, (first_node) + argument, worker);                                                      \
    e->nodes->step(e->side, &e->call, argument);                                                             \
  }
STREAM_STEP(forward_chunk, forward, 0)
STREAM_STEP(forward_slice, forward, e->forward->chunks)
STREAM_STEP(backward_chunk, backward, e->forward_nodes)
STREAM_STEP(backward_slice, backward, e->forward_nodes + e->backward->chunks)

#define NODE_STEP(step, side)                                                                                \
  static void run_##step(tsi_execution *e, tsi_index argument, int worker) {                                 \
    (void)worker;                                                                                            \
    e->nodes->step(e->side, &e->call, argument);                                                             \
  }
NODE_STEP(forward_push, forward)
NODE_STEP(backward_push, backward)
NODE_STEP(read_chunk, forward)
NODE_STEP(turn_chunk, forward)
NODE_STEP(write_chunk, backward)
NODE_STEP(forward_sum, forward)
NODE_STEP(backward_sum, backward)

static void multiply(const tsi_execution *e, bool backward, tsi_index number) {
  const tsi_row_block *block = &e->spmv->products[backward]->block[number];
  e->spmv->kernels->multiply(&e->product[backward]->rows, block->first, block->end, block->add,
                             e->call.stride, e->call.workspace);
}
static void run_forward_rows(tsi_execution *e, tsi_index argument, int worker) {
  (void)worker;
  multiply(e, false, argument);
}
static void run_backward_rows(tsi_execution *e, tsi_index argument, int worker) {
  (void)worker;
  multiply(e, true, argument);
}

static void run_arrival(tsi_execution *e, tsi_index argument, int worker) {
  (void)worker;
  tsi_exchange_wait(e->exchange, argument);
}
static void run_forward_receive(tsi_execution *e, tsi_index argument, int worker) {
  (void)worker;
  tsi_exchange_take_x(e->exchange, e, argument, false);
}
static void run_backward_receive(tsi_execution *e, tsi_index argument, int worker) {
  (void)worker;
  tsi_exchange_take_x(e->exchange, e, argument, true);
}
static void run_exchange(tsi_execution *e, tsi_index argument, int worker) {
  (void)worker;
  tsi_exchange_add(e->exchange, e, argument);
}
static void run_nothing(tsi_execution *e, tsi_index argument, int worker) {
  (void)e;
  (void)argument;
  (void)worker;
}

/* To add a kind of step, add its function here. */
static const step_function functions[TSI_STEP_KINDS] = {
    [TSI_STEP_FORWARD_CHUNK] = run_forward_chunk,
    [TSI_STEP_FORWARD_SLICE] = run_forward_slice,
    [TSI_STEP_FORWARD_PUSH] = run_forward_push,
    [TSI_STEP_BACKWARD_CHUNK] = run_backward_chunk,
    [TSI_STEP_BACKWARD_SLICE] = run_backward_slice,
    [TSI_STEP_BACKWARD_PUSH] = run_backward_push,
    [TSI_STEP_READ] = run_read_chunk,
    [TSI_STEP_FORWARD_ROWS] = run_forward_rows,
    [TSI_STEP_TURN] = run_turn_chunk,
    [TSI_STEP_BACKWARD_ROWS] = run_backward_rows,
    [TSI_STEP_WRITE] = run_write_chunk,
    [TSI_STEP_ARRIVAL] = run_arrival,
    [TSI_STEP_FORWARD_SUM] = run_forward_sum,
    [TSI_STEP_FORWARD_RECEIVE] = run_forward_receive,
    [TSI_STEP_BACKWARD_SUM] = run_backward_sum,
    [TSI_STEP_BACKWARD_RECEIVE] = run_backward_receive,
    [TSI_STEP_EXCHANGE] = run_exchange,
    [TSI_STEP_GRID_FORWARD] = run_nothing, /* they only send */
    [TSI_STEP_GRID_BACKWARD] = run_nothing,
};

static void run_step(const tsi_recording *recording, tsi_index number, int worker) {
  tsi_execution *e = recording->execution;
  const tsi_step *step = &recording->steps->step[number];
  double start;
  if (e->step_start) e->step_start[number] = tsi_clock();
  if (e->exchange == NULL || step->kind == TSI_STEP_ARRIVAL) {
    functions[step->kind](e, step->argument, worker);
    return;
  }
  if (!tsi_exchange_begin_step(e->exchange, worker, &start)) return;
  functions[step->kind](e, step->argument, worker);
  tsi_exchange_end_step(e->exchange, e, number, worker, start);
}

/* The body of every task. */
static void run_items(void *context, const tsi_index argument[4], int worker) {
  const tsi_recording *recording = context;
  for (tsi_index q = argument[0]; q < argument[1]; q++) run_step(recording, recording->item[q], worker);
}

/* ---- Recording ---------------------------------------------------------------------------------------- */

/* A task for items first .. end - 1; of several: their largest priority, and all bytes. */
static tristar_status add_items(tsi_recording *recording, tsi_index first, tsi_index end, double priority,
                                double bytes, tsi_index *number) {
  const tsi_index argument[4] = {first, end, 0, 0};
  const tsi_step *step = end > first ? &recording->steps->step[recording->item[first]] : NULL;
  const char *name = end - first == 1 ? tsi_step_name(step->kind) : end > first ? "bundle" : "barrier";
  return tsi_tasks_add(recording->tasks, name, run_items, recording, argument, priority,
                       tsi_task_microseconds(bytes), number);
}

static tristar_status add_step(tsi_recording *recording, tsi_index at, tsi_index *number) {
  const tsi_step *step = &recording->steps->step[recording->item[at]];
  return add_items(recording, at, at + 1, step->priority, step->bytes, number);
}

static tristar_status add_event(tsi_recording *recording, const tsi_step *arrival) {
  return tsi_tasks_add_event(recording->tasks, tsi_step_name(TSI_STEP_ARRIVAL),
                             &recording->event[arrival->argument]);
}

/* Tasks that run as soon as those that they wait for are through; task k is bundle k. */
static tristar_status add_bundles(tsi_recording *recording) {
  tristar_status status = TRISTAR_OK;
  const tsi_bundles *bundles = recording->bundles;
  tsi_index number;
  for (tsi_index k = 0; k < bundles->count; k++) {
    const tsi_step *first = &recording->steps->step[bundles->item[bundles->ptr[k]]];
    double priority, bytes;
    tsi_bundle_weigh(bundles, recording->steps, k, &priority, &bytes);
    if (first->kind == TSI_STEP_ARRIVAL)
      TSI_TRY(add_event(recording, first));
    else
      TSI_TRY(add_items(recording, bundles->ptr[k], bundles->ptr[k + 1], priority, bytes, &number));
  }
  for (tsi_count e = 0; e < bundles->edges; e++)
    TSI_TRY(tsi_tasks_after(recording->tasks, bundles->edge[e].item, bundles->edge[e].before));
out:
  return status;
}

/* Tasks level by level; between two levels a task without work waits for all of the former, and all of the
 * latter wait for it. */
static tristar_status add_levels(tsi_recording *recording) {
  tristar_status status = TRISTAR_OK;
  const tsi_levels *levels = recording->levels;
  tsi_index barrier = TSI_NONE, first = 0, number;
  for (tsi_index l = 0; l < levels->count; l++) {
    for (tsi_index q = levels->ptr[l]; q < levels->ptr[l + 1]; q++) {
      TSI_TRY(add_step(recording, q, &number));
      TSI_TRY(tsi_tasks_after(recording->tasks, number, barrier));
    }
    if (l + 1 == levels->count) break;
    const tsi_index end = tsi_tasks_count(recording->tasks);
    TSI_TRY(add_items(recording, 0, 0, 1, 0, &barrier));
    for (; first < end; first++) TSI_TRY(tsi_tasks_after(recording->tasks, barrier, first));
    first = barrier + 1;
  }
out:
  return status;
}

static tristar_status add_listed(tsi_env *env, tsi_recording *recording) {
  tristar_status status = TRISTAR_OK;
  tsi_index number;
  TSI_TRY(TSI_ALLOC(env, recording->order, recording->steps->count));
  recording->item = recording->order;
  for (tsi_index k = 0; k < recording->steps->count; k++) {
    recording->order[k] = k;
    TSI_TRY(add_step(recording, k, &number));
  }
out:
  return status;
}

static tristar_status add_tasks(tsi_env *env, const tsi_grouping *grouping, tsi_recording *recording) {
  tristar_status status = TRISTAR_OK;
  if (grouping->listed) return add_listed(env, recording);
  if (recording->levels) {
    recording->item = recording->levels->item;
    return add_levels(recording);
  }
  TSI_TRY(tsi_bundles_create(env, recording->steps, grouping->light, grouping->workers, &recording->bundles));
  recording->item = recording->bundles->item;
  TSI_TRY(add_bundles(recording));
out:
  return status;
}

tristar_status tsi_recording_create(tsi_env *env, tsi_execution *execution, const tsi_steps *steps,
                                    tsi_grouping grouping, tsi_recording *recording) {
  tristar_status status = TRISTAR_OK;
  recording->execution = execution;
  recording->steps = steps;
  recording->levels = grouping.levels;
  recording->bytes = tsi_steps_bytes(steps);
  TSI_TRY(tsi_tasks_create(env, &recording->tasks));
  if (execution->exchange)
    TSI_TRY(TSI_ALLOC(env, recording->event, tsi_exchange_receives(execution->exchange)));
  TSI_TRY(add_tasks(env, &grouping, recording));
  if (grouping.on_starpu) TSI_TRY(tsi_tasks_record(recording->tasks));
out:
  if (status != TRISTAR_OK) tsi_recording_release(env, recording);
  return status;
}

void tsi_recording_release(tsi_env *env, tsi_recording *recording) {
  tsi_tasks_destroy(&recording->tasks);
  tsi_bundles_destroy(env, &recording->bundles);
  tsi_levels_destroy(env, &recording->levels);
  tsi_steps_destroy(env, &recording->owned);
  TSI_FREE(env, recording->order);
  TSI_FREE(env, recording->event);
  *recording = (tsi_recording){.tasks = NULL};
}
