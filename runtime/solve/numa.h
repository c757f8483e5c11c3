/* NUMA placement: moves the pages of the factor to the NUMA nodes of the cores that stream them.
 *
 * Job. During the first whole solve of a plan on StarPU each task records the processor that it runs on.
 * After this solve the bytes of the factor that each task streamed are moved to the node of its processor. If
 * both sweeps stream the same values, the forward sweep decides.
 *
 * Reads   plan, the context's topology.
 * Writes  execution.processor of a replay during this solve; the system's page tables. Never a value.
 * Invariants
 *   - at most one replay of a plan records at a time, and none after pages were moved
 *   - tasks write different entries of execution.processor of a replay, which is read when all have ended
 *   - only whole pages are moved, and only if all their bytes belong to one node */
#pragma once

#include "runtime/solve/plan.h"

/* plan->placement */
enum { TSI_PLACEMENT_NONE, TSI_PLACEMENT_REQUESTED, TSI_PLACEMENT_NOTING, TSI_PLACEMENT_DONE };

/* Bytes begin .. end-1 and their new node; node -1: they are not moved. */
typedef struct tsi_numa_range {
  uintptr_t begin, end;
  int node;
} tsi_numa_range;

/* Converts ascending ranges that do not overlap into the ranges to be moved, in place, and returns their
 * number. Adjacent ranges of one node are joined. Then each range is reduced to its whole pages; empty ranges
 * and ranges without node are dropped. page: a power of two. */
tsi_count tsi_numa_choose(tsi_numa_range *range, tsi_count count, uintptr_t page);

/* Decides whether the pages of the plan's factor shall be placed. Sets plan->placement. */
void tsi_numa_init(tristar_plan_t *plan);

/* Call them before and after the tasks of a replay run. whole: the tasks solve for all rows with all sweeps.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numa_begin(tsi_replay *replay, bool whole);
void tsi_numa_end(tsi_replay *replay);
