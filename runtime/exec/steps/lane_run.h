/* Runs of lanes: steps on a few threads that wait for each other point to point. This is the third form of
 * the executor, besides tasks of StarPU and the calling thread (recording.h).
 *
 * Job. A member is a thread that works on a run. It takes a free lane, on which no member works, and runs its
 * steps one after the other. If a step has to wait for a lane on which another member works, the member polls
 * until that lane has run enough steps. If a step has to wait for a free lane, the member releases its own
 * lane and takes the free one. So any number of members completes a run, even a single one, and members may
 * come late, leave, or never come.
 *
 * Reads   the lanes (dag/lanes.h), the steps.   Writes  the results of the steps; the state of the lanes.
 * Invariants
 *   - one member at a time works on a lane. The number of its completed steps is written when a step has
 *     ended, and read before a step begins that waits for it
 *   - a member that comes late finds another generation of the run, and does nothing. So the run must outlive
 *     the member, but the data of the steps need not
 *   - the bits of the result depend neither on the members nor on their number */
#pragma once

#include <stdatomic.h>

#include "dag/lanes.h"
#include "runtime/exec/steps/execution.h"

typedef struct tsi_lane_state {
  _Atomic(uint64_t) word; /* generation, whether a member works on it, number of completed steps */
  char rest[TSI_CACHE_LINE - sizeof(uint64_t)];
} tsi_lane_state;

typedef struct tsi_lane_run {
  tsi_execution *execution;
  const tsi_steps *steps;
  tsi_lanes *lanes;
  tsi_lane_state *state;        /* [lanes] */
  _Atomic(uint64_t) generation; /* of the latest run */
} tsi_lane_run;

/* Moves the lanes to the run, also on failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_lane_run_create(tsi_env *env, tsi_execution *execution,
                                                   const tsi_steps *steps, tsi_lanes *lanes,
                                                   tsi_lane_run **out);
/* Begins a run. The previous run has ended. */
void tsi_lane_run_begin(tsi_lane_run *run);
/* Works on the latest run until it has ended. lane: first lane to try; any number >= 0. worker: as for
 * tsi_execution_run. */
void tsi_lane_run_join(tsi_lane_run *run, int lane, int worker);
