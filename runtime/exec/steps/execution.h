/* Execution of steps: the data of the steps of a solve, and a function for each kind of step.
 *
 * Job. Run steps (dag/steps.h), one after the other, on the calling thread, which may be a StarPU worker or
 * the thread of a solve. With messages (dag/program.h, exchange.h) a step packs and sends its messages at its
 * end.
 *
 * Reads   the steps; the data to which the members of an execution point.
 * Writes  workspace, outbox and x of the execution; times and processors, if requested.
 * Invariant: the bits of x depend on the steps, but neither on their order, if it is a legal one, nor on the
 * threads that run them. */
#pragma once

#include "codelets/cpu/rows/blocks.h"
#include "codelets/cpu/node.h"
#include "codelets/cpu/rows/spmv.h"
#include "dag/products.h"
#include "dag/steps.h"
#include "runtime/exec/steps/task_list.h"

struct tsi_execution;
struct tsi_exchange;

/* Functions for steps of chunks on devices. */
typedef struct tsi_execution_devices {
  void *context;
  /* The data of such a step when it is recorded for an execution. The sweeps of the execution are set, except
   * in the first recording of all. */
  const tsi_task_data *(*data_of)(void *context, const struct tsi_execution *e, const tsi_step *step);
  /* Starts such a step on a device; returns 0 or an error number. */
  int (*run)(void *context, const struct tsi_execution *e, const tsi_step *step, void *const memory[]);
} tsi_execution_devices;

/* Data of the steps. */
typedef struct tsi_execution {
  const tsi_node_kernels *nodes;
  const tsi_solve_data *forward, *backward; /* tables of the two sweeps */
  const tsi_spmv_kernels *spmv;             /* only for KERNEL_SPMV: this and the next two */
  const tsi_products *products[2];          /* forward, backward */
  const tsi_spmv_rows *product_rows[2];     /* the same with values */
  const tsi_block_program *blocks[2];   /* instead of them for a block cut, for the rows steps; else NULL */
  struct tsi_exchange *exchange;        /* NULL: there are no messages */
  const tsi_execution_devices *devices; /* NULL: no step runs on a device */
  tsi_solve_call call;
  double *step_start; /* by step: time of its start (tsi_clock), for traces; NULL: not recorded */
  /* by node of the forward sweep, then of the backward one: processor that ran its task; NULL: not recorded
   */
  int *processor;
  tsi_index forward_nodes; /* nodes of the forward sweep in processor */
} tsi_execution;

/* Runs the steps number[0] .. number[count-1], in this order. worker: StarPU's number, or the slot of a
 * helper; -1 on the calling thread. */
void tsi_execution_run(tsi_execution *e, const tsi_steps *steps, tsi_index count, const tsi_index *number,
                       int worker);
