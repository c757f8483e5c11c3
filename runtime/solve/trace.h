/* Traces: time and worker of each task of one solve, and of each of its steps.
 *
 * Job. A solve with a tsi_trace calls tsi_trace_begin before the tasks of a block of right-hand sides start.
 * This allocates memory and makes the tasks record their times. It calls tsi_trace_note when they have ended.
 *
 * Reads   the recording of each block, the spans that its tasks recorded.
 * Writes  a tristar_trace_t; step_start of the execution, which points into it until tsi_trace_discard.
 * Invariants
 *   - the recordings of all blocks have the same steps in the same groups: block k has items k * count ..
 *     (k + 1) * count - 1 of each list
 *   - steps are listed task by task; an item waits for items with lower numbers
 *   - a step ends where the next one of its task begins, the last one with the task */
#pragma once

#include "runtime/solve/executor.h"
#include "runtime/solve/statistics.h"

/* The tasks or the steps of one block, and their dependencies. */
typedef struct tsi_trace_graph {
  tsi_index count;
  tsi_adjacency *before;
} tsi_trace_graph;

typedef struct tsi_trace {
  /* set before the first block */
  int64_t blocks;
  double begin;                        /* tsi_clock() at the start of the solve */
  const tsi_statistics *statistics;    /* list of the workers */
  const tsi_sweep *forward, *backward; /* sweeps of the solve; NULL: none */
  const tsi_index *chunk;              /* numbers of the chunks of the sweeps; NULL: 0, 1, ... */
  bool pieces;                         /* READ and WRITE move pieces of b and x, not chunks */
  tristar_trace_t *out;                /* made by tsi_trace_open */
  int64_t begun, noted;
  double *start;    /* blocks x steps: start time of each step; 0: the start of its task */
  tsi_count *first; /* tasks + 1: first step of each task in `place` */
  tsi_index *place; /* steps in the order of the tasks: their numbers in the recording */
  tsi_trace_graph tasks, steps;
} tsi_trace;

/* *trace is zero. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_trace_open(tristar_t *ts, tsi_trace *trace);
/* Frees its arrays, and trace->out if it is not NULL. */
void tsi_trace_release(tsi_env *env, tsi_trace *trace);

/* Call it before a block runs. Errors: MEMORY, INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_trace_begin(tsi_trace *trace, const tsi_executor *executor);
/* Call it after the block has run. */
void tsi_trace_note(tsi_trace *trace, const tsi_executor *executor);
/* Stops recording the executor's tasks. */
void tsi_trace_discard(const tsi_executor *executor);

/* Marks the chains that bound the time. Call it once, after everything else is filled in. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_trace_mark_chains(tsi_env *env, tristar_trace_t *trace);
