/* Placement: the pages of the factor go to the NUMA nodes of the cores that stream them.
 *
 * Job. During the first whole solve of a plan on StarPU each task notes the processor that it runs on. When
 * that solve is over, the bytes of factor that each task streamed are moved to the node of its processor.
 * Where both sweeps stream the same values, the forward one decides.
 *
 * Reads   plan, the context's topology.
 * Writes  execution.processor of a replay while that solve runs; the system's page tables. Never any value.
 * Invariants
 *   - at most one replay of a plan notes at a time, and once pages were moved none does any more
 *   - tasks write different entries of execution.processor of a replay, which is read when all have ended
 *   - only whole pages are moved, and only such that lie in bytes of one node */
#pragma once

#include "runtime/solve/plan.h"

/* plan->placement */
enum { TSI_PLACEMENT_NONE, TSI_PLACEMENT_WANTED, TSI_PLACEMENT_NOTING, TSI_PLACEMENT_DONE };

/* Bytes begin .. end-1 for a node; node -1: they stay where they are. */
typedef struct tsi_numa_range {
  uintptr_t begin, end;
  int node;
} tsi_numa_range;

/* Turns ascending ranges that do not overlap into those to be moved: neighbours of one node become one range,
 * others are cut to the whole pages inside them; what is then empty, or of no node, is left out. In place;
 * the number of those left. page: a power of two. */
tsi_count tsi_numa_choose(tsi_numa_range *range, tsi_count count, uintptr_t page);

/* Says whether the plan wants placement. Sets plan->placement. */
void tsi_numa_init(tristar_plan_t *plan);

/* Before and after the tasks of a replay run. whole: they are a solve with all rows and sweeps. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numa_begin(tsi_replay *replay, bool whole);
void tsi_numa_end(tsi_replay *replay);
