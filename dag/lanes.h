/* Lanes: steps in the order in which a few threads work through them, and where these wait for each other.
 *
 * Job. Each step belongs to a lane. The steps of a lane run one after the other; before a step runs, other
 * lanes must have come as far as its waits say. A wait that is known to hold already, by an earlier one of
 * the lane or through a third lane, is left out (vector clocks; Mattern 1989).
 *
 * Reads   the edges of steps, a lane for each step, a legal order.
 * Writes  a tsi_lanes that owns its arrays and is immutable afterwards.
 * Invariants (tsi_lanes_check)
 *   - each step is listed once, in its lane
 *   - waits are for at least one step, and no more than the lane has
 *   - for each edge the step that is waited for is an earlier one of the same lane, or waits imply that its
 *     lane has passed it
 *   - waits lead to earlier steps of the legal order, so that there is no cycle: a lane that waits for
 * nothing, or for what is done, exists until all are through */
#pragma once

#include "dag/adjacency.h"

/* `passed` steps of a lane are through. */
typedef struct tsi_lane_wait {
  tsi_index lane, passed;
} tsi_lane_wait;

typedef struct tsi_lanes {
  int count;
  tsi_index *first;    /* count + 1: into step and wait_ptr */
  tsi_index *step;     /* steps: lane by lane */
  tsi_count *wait_ptr; /* steps + 1: the waits of each place */
  tsi_lane_wait *wait;
} tsi_lanes;

/* order: steps, a legal one; lane: by step, 0 .. lanes - 1. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_lanes_create(tsi_env *env, tsi_index steps, tsi_count edges,
                                                const tsi_edge *edge, const tsi_index *order, int lanes,
                                                const tsi_index *lane, tsi_lanes **out);
TRISTAR_CHECKED tristar_status tsi_lanes_check(tsi_env *env, const tsi_lanes *lanes, tsi_index steps,
                                               tsi_count edges, const tsi_edge *edge);

static inline tsi_index tsi_lane_steps(const tsi_lanes *lanes, int lane) {
  return lanes->first[lane + 1] - lanes->first[lane];
}
