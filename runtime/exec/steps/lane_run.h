/* Runs of lanes: steps on a few threads that wait for each other point to point. The third form of the
 * executor, beside tasks of StarPU and plain calls (recording.h).
 *
 * Job. A member is a thread that works on a run. It takes a lane that nobody works on, and runs its steps one
 * after the other. Where a step has to wait for a lane that somebody works on, the member looks until that
 * one is far enough; where it is a lane that nobody works on, the member leaves its own and takes that. So
 * any number of members ends a run, also one, also if others come late, or not at all, or leave.
 *
 * Reads   the lanes (dag/lanes.h), the steps.   Writes  what the steps write; the state of the lanes.
 * Invariants
 *   - a lane is worked on by one member at a time; how far it is is written when a step has ended, and read
 *     before another one that waits for it begins
 *   - a member that comes late finds another generation of the run, and does nothing: the run itself must
 *     outlive it, not what the steps work with
 *   - the bits of the result depend on neither the members nor their number */
#pragma once

#include <stdatomic.h>

#include "dag/lanes.h"
#include "runtime/exec/steps/execution.h"

typedef struct tsi_lane_state {
  _Atomic(uint64_t) word; /* generation, whether somebody works on it, and steps that are through */
  char rest[TSI_CACHE_LINE - sizeof(uint64_t)];
} tsi_lane_state;

typedef struct tsi_lane_run {
  tsi_execution *execution;
  const tsi_steps *steps;
  tsi_lanes *lanes;
  tsi_lane_state *state;        /* by lane */
  _Atomic(uint64_t) generation; /* of the latest run */
} tsi_lane_run;

/* Takes over the lanes, also on failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_lane_run_create(tsi_env *env, tsi_execution *execution,
                                                   const tsi_steps *steps, tsi_lanes *lanes,
                                                   tsi_lane_run **out);
/* Begins a run: the one before has ended. */
void tsi_lane_run_begin(tsi_lane_run *run);
/* Works on the latest run that has begun, until it has ended. lane: where to look first; any number >= 0.
 * worker: as for tsi_execution_run. */
void tsi_lane_run_join(tsi_lane_run *run, int lane, int worker);
