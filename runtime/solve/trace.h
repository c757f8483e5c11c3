/* Traces: when and where each task of one solve ran, and each step within it.
 *
 * Job. A request that has a tsi_trace calls tsi_trace_begin before the tasks of a block of right-hand sides
 * start, which makes room and has them note their times, and tsi_trace_note when they have ended.
 *
 * Reads   the recording of the block's replay, the spans that its tasks noted.
 * Writes  a tristar_trace_t; step_start of the replay, which points into the trace until the replay is given
 * back.
 * Invariants
 *   - all blocks run the same recording: block k has items k * count .. (k + 1) * count - 1 of each list
 *   - steps are listed task by task; an item waits for items with lower numbers
 *   - a step ends where the next one of its task begins, the last one with the task */
#ifndef TSI_RUNTIME_SOLVE_TRACE_H
#define TSI_RUNTIME_SOLVE_TRACE_H

#include "runtime/solve/request.h"
#include "tristar_trace.h"

/* Of one block: tasks or steps, and what they wait for. */
typedef struct tsi_trace_graph {
  tsi_index count;
  tsi_adjacency *before;
} tsi_trace_graph;

typedef struct tsi_trace {
  tristar_trace_t *out;
  int64_t blocks, begun, noted;
  double *start;    /* blocks x steps: when each began; 0: with its task */
  tsi_count *first; /* tasks + 1: first step of each, */
  tsi_index *place; /* and the steps in that order: their numbers in the recording */
  tsi_trace_graph tasks, steps;
} tsi_trace;

/* Errors: MEMORY, INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_trace_begin(tsi_trace *trace, const tristar_request_t *r,
                                               const tsi_block *block);
void tsi_trace_note(tsi_trace *trace, const tristar_request_t *r, const tsi_block *block);

/* Marks the longest chain of a list, and tells its length. longest: count, room. */
void tsi_trace_mark_critical(tristar_trace_list *list, double *longest);
/* Marks the tasks that bound the time. latest: workers, room; previous: count, room. */
void tsi_trace_mark_binding(tristar_trace_list *tasks, int workers, int64_t *latest, int64_t *previous);

#endif
