/* A function for each kind of step: see execution.h. */
#include "runtime/exec/steps/execution.h"

#include <sched.h>

#include "runtime/base/clock.h"
#include "runtime/exec/steps/exchange.h"

typedef void (*step_function)(tsi_execution *e, tsi_index argument, int worker);

/* A step that streams the factor records its processor. Nodes of a sweep: its chunks, then its slices. */
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
NODE_STEP(solve_diagonal, forward)
NODE_STEP(forward_sum, forward)
NODE_STEP(backward_sum, backward)

/* A block cut has tables of one sweep; products have both. */
static void run_read_chunk(tsi_execution *e, tsi_index argument, int worker) {
  (void)worker;
  e->nodes->read_chunk(e->forward ? e->forward : e->backward, &e->call, argument);
}
static void run_write_chunk(tsi_execution *e, tsi_index argument, int worker) {
  (void)worker;
  e->nodes->write_chunk(e->backward ? e->backward : e->forward, &e->call, argument);
}

static void multiply(const tsi_execution *e, bool backward, tsi_index number) {
  if (e->blocks[backward]) {
    tsi_block_run(e->blocks[backward], number, e->call.stride, e->call.workspace);
    return;
  }
  const tsi_row_block *block = &e->products[backward]->block[number];
  e->spmv->multiply(e->product_rows[backward], block->first, block->end, block->add, e->call.stride,
                    e->call.workspace);
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
/* Copies x of the owners of its off-rows. */
static void run_backward_border(tsi_execution *e, tsi_index argument, int worker) {
  const tsi_solve_chunk *chunk = &e->backward->chunk[argument];
  (void)worker;
  for (tsi_index q = 0; q < chunk->target_count; q++)
    e->nodes->backward_push(e->backward, &e->call, (tsi_index)chunk->targets + q);
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
    [TSI_STEP_DIAGONAL] = run_solve_diagonal,
    [TSI_STEP_BACKWARD_ROWS] = run_backward_rows,
    [TSI_STEP_WRITE] = run_write_chunk,
    [TSI_STEP_ARRIVAL] = run_arrival,
    [TSI_STEP_FORWARD_SUM] = run_forward_sum,
    [TSI_STEP_FORWARD_RECEIVE] = run_forward_receive,
    [TSI_STEP_BACKWARD_SUM] = run_backward_sum,
    [TSI_STEP_BACKWARD_RECEIVE] = run_backward_receive,
    [TSI_STEP_EXCHANGE] = run_exchange,
    [TSI_STEP_GRID_FORWARD] = run_nothing, /* these steps only send */
    [TSI_STEP_GRID_BACKWARD] = run_nothing,
    [TSI_STEP_FORWARD_BORDER] = run_nothing, /* its data is there before */
    [TSI_STEP_BACKWARD_BORDER] = run_backward_border,
};

static void run_step(tsi_execution *e, const tsi_steps *steps, tsi_index number, int worker) {
  const tsi_step *step = &steps->step[number];
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

void tsi_execution_run(tsi_execution *e, const tsi_steps *steps, tsi_index count, const tsi_index *number,
                       int worker) {
  for (tsi_index q = 0; q < count; q++) run_step(e, steps, number[q], worker);
}
