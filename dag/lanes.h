/* Lanes: for each of a few threads the order of its steps, and the points at which it waits for other
 * threads.
 *
 * Job. Each step belongs to a lane. The steps of a lane run one after the other. Before a step runs, other
 * lanes must have run the numbers of steps that its waits list. A wait is left out if an earlier wait of the
 * lane, or a wait through a third lane, implies it (vector clocks; Mattern 1989).
 *
 * Reads   the edges of the steps, a lane for each step, a legal order.
 * Writes  a tsi_lanes that owns its arrays and is immutable afterwards.
 * Invariants (tsi_lanes_check)
 *   - each step is listed once, in its lane
 *   - a wait is for at least one step, and for no more steps than the lane has
 *   - for each edge, the predecessor is an earlier step of the same lane, or waits imply that its lane has
 *     run it
 *   - waits refer to earlier steps of the legal order, so there is no cycle: until all steps have run, some
 *     lane can continue */
#pragma once

#include "dag/adjacency.h"

/* The wait ends when `passed` steps of the lane have run. */
typedef struct tsi_lane_wait {
  tsi_index lane, passed;
} tsi_lane_wait;

typedef struct tsi_lanes {
  int count;
  tsi_index *first;    /* count + 1: into step and wait_ptr */
  tsi_index *step;     /* steps: lane by lane */
  tsi_count *wait_ptr; /* steps + 1: the waits of each step, in the order of `step` */
  tsi_lane_wait *wait;
} tsi_lanes;

/* order: a legal order of the steps. lane: the lane of each step, 0 .. lanes - 1. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_lanes_create(tsi_env *env, tsi_index steps, tsi_count edges,
                                                const tsi_edge *edge, const tsi_index *order, int lanes,
                                                const tsi_index *lane, tsi_lanes **out);
TRISTAR_CHECKED tristar_status tsi_lanes_check(tsi_env *env, const tsi_lanes *lanes, tsi_index steps,
                                               tsi_count edges, const tsi_edge *edge);

static inline tsi_index tsi_lane_steps(const tsi_lanes *lanes, int lane) {
  return lanes->first[lane + 1] - lanes->first[lane];
}
