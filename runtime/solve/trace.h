/* Traces: when and where each task of one solve ran, and each step within it.
 *
 * Job. A solve that has a tsi_trace calls tsi_trace_begin before the tasks of a block of right-hand sides
 * start, which makes room and has them note their times, and tsi_trace_note when they have ended.
 *
 * Reads   the recording of each block, the spans that its tasks noted.
 * Writes  a tristar_trace_t; step_start of the execution, which points into the trace until
 * tsi_trace_forget.
 * Invariants
 *   - the recordings of all blocks are of the same steps, grouped alike: block k has items k * count ..
 * (k + 1) * count - 1 of each list
 *   - steps are listed task by task; an item waits for items with lower numbers
 *   - a step ends where the next one of its task begins, the last one with the task */
#pragma once

#include "runtime/solve/executor.h"
#include "runtime/solve/statistics.h"

/* Of one block: tasks or steps, and what they wait for. */
typedef struct tsi_trace_graph {
  tsi_index count;
  tsi_adjacency *before;
} tsi_trace_graph;

typedef struct tsi_trace {
  /* set before the first block */
  int64_t blocks;
  double begin;                        /* tsi_clock() at the start of the solve */
  const tsi_statistics *statistics;    /* whose workers they are */
  const tsi_sweep *forward, *backward; /* that run; NULL: none */
  const tsi_index *chunk;              /* numbers of chunks of the sweeps; NULL: their own */
  bool pieces;                         /* READ and WRITE move pieces of b and x, not chunks */
  tristar_trace_t *out;                /* of tsi_trace_open */
  int64_t begun, noted;
  double *start;    /* blocks x steps: when each began; 0: with its task */
  tsi_count *first; /* tasks + 1: first step of each, */
  tsi_index *place; /* and the steps in that order: their numbers in the recording */
  tsi_trace_graph tasks, steps;
} tsi_trace;

/* *trace is zero. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_trace_open(tristar_t *ts, tsi_trace *trace);
/* Frees its arrays, and trace->out, if that is not NULL. */
void tsi_trace_release(tsi_env *env, tsi_trace *trace);

/* A block is about to run. Errors: MEMORY, INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_trace_begin(tsi_trace *trace, const tsi_executor *executor);
/* It has run. */
void tsi_trace_note(tsi_trace *trace, const tsi_executor *executor);
/* Notes nothing of the executor's tasks any more. */
void tsi_trace_forget(const tsi_executor *executor);

/* Marks the chains that bound the time: once, when everything else is filled in. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_trace_mark_chains(tsi_env *env, tristar_trace_t *trace);
