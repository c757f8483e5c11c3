/* Steps with numbers: what the steps of a solve work with, and a function for each kind of them.
 *
 * Job. Run steps (dag/steps.h), one after the other, on whatever thread calls: a StarPU worker or the calling
 * thread of a solve. With messages (dag/program.h, exchange.h) a step packs and sends at its end what others
 * are to get.
 *
 * Reads   the steps; what the members of an execution point to.
 * Writes  workspace, outbox and x of the execution; the notes that somebody asked for.
 * Invariants
 *   - the bits of x depend on the steps and not on their order, as long as it is a legal one, nor on the
 * threads that run them */
#pragma once

#include "codelets/cpu/rows/blocks.h"
#include "codelets/cpu/node.h"
#include "codelets/cpu/rows/spmv.h"
#include "dag/products.h"
#include "dag/steps.h"
#include "runtime/exec/steps/task_list.h"

struct tsi_execution;
struct tsi_exchange;

/* What the steps of chunks on devices need. */
typedef struct tsi_execution_devices {
  void *context;
  /* The data of such a step, as it is recorded for an execution, whose sweeps are known unless it is the
   * first recording of all. */
  const tsi_task_data *(*data_of)(void *context, const struct tsi_execution *e, const tsi_step *step);
  /* Starts one on a device; returns 0 or an error number. */
  int (*run)(void *context, const struct tsi_execution *e, const tsi_step *step, void *const memory[]);
} tsi_execution_devices;

/* What steps work with. */
typedef struct tsi_execution {
  const tsi_node_kernels *nodes;
  const tsi_solve_data *forward, *backward; /* of the two sweeps */
  const tsi_spmv_kernels *spmv;             /* KERNEL_SPMV only: this and */
  const tsi_products *products[2];          /* forward, backward, */
  const tsi_spmv_rows *product_rows[2];     /* the same with values */
  const tsi_block_program *blocks[2];       /* the same of a block cut, for the rows steps; else NULL */
  struct tsi_exchange *exchange;            /* NULL: there are no messages */
  const tsi_execution_devices *devices;     /* NULL: no step works on a device */
  tsi_solve_call call;
  double *step_start; /* by step: when it began (tsi_clock), where a trace wants to know; NULL: not noted */
  /* by node of the forward sweep, then of the backward one: where its task ran; NULL: that is not noted */
  int *processor;
  tsi_index forward_nodes; /* of processor */
} tsi_execution;

/* Runs the steps number[0] .. number[count-1], in this order. worker: StarPU's number, or the slot of a
 * helper; -1 on the calling thread. */
void tsi_execution_run(tsi_execution *e, const tsi_steps *steps, tsi_index count, const tsi_index *number,
                       int worker);
