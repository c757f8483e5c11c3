/* Bundles: steps of a solve that one task runs, one after the other.
 *
 * Chunks are fine enough for many workers. They must not depend on the number of workers, as they decide the
 * order of sums. A runtime may schedule coarser units: a bundle is a set of steps that run in their order,
 * whatever the worker. So a few workers get few tasks, and every result keeps its bits.
 *
 * Two steps join one bundle if this costs no parallelism that is needed:
 *   - subtrees: forward, a step with all steps that it waits for, directly or not, if no other step waits for
 *     any of these; backward, a step with all steps that wait for it. Their weight is at most `light`. Within
 *     this weight, several subtrees join one bundle if the same step waits for them (forward), or if they
 *     wait for the same step (backward)
 *   - slices: steps with the same only predecessor (forward) or only successor (backward). Their weight is at
 *     most light / 4, and low enough to leave a bundle for each worker: near the root slices are all the work
 *     there is
 *   - chains: a step and the next one, if the second waits only for the first, and only the second waits for
 *     the first
 *   - all steps of a direction, if both directions are light
 *
 * Steps that exchange messages (steps.h: alone) stay alone: a message that a process sends must not wait for
 * a message that it receives, unless it depends on it. Exceptions are steps with with_before or with_after
 * (steps.h): they share a bundle with their only predecessor or successor.
 *
 * The graph of the bundles has no cycle: no edge enters a whole subtree (backward: leaves it); steps with the
 * same only predecessor, or successor, do not wait for each other; no other path leads from one end of an
 * edge of a chain to the other; no forward step waits for a backward step.
 *
 * Reads   tsi_steps.   Writes  a tsi_bundles that owns its arrays and is immutable afterwards.
 * Invariants (tsi_bundles_check)
 *   - item[ptr[b]] .. item[ptr[b+1]-1] are the steps of bundle b, ascending; each step is in one bundle
 *   - if a step waits for a step of another bundle, its bundle waits for that bundle
 *   - edges lead upwards, and each is listed once */
#pragma once

#include "dag/steps.h"

typedef struct tsi_bundles {
  tsi_index count;
  tsi_index *ptr;  /* count + 1 */
  tsi_index *item; /* steps */
  tsi_count edges;
  tsi_edge *edge; /* between bundles */
} tsi_bundles;

/* Bundles per worker and direction. With one right-hand side tasks are short, so there are just enough
 * bundles to balance the load. Between processes a message waits for the whole bundle that sends it, so
 * bundles are smaller. */
#define TSI_BUNDLES_ONE_RHS 5
#define TSI_BUNDLES_MORE_RHS 8
#define TSI_BUNDLES_MESSAGES 16

/* per_worker: one of the three numbers above. */
static inline double tsi_bundles_light(const tsi_steps *steps, int workers, int per_worker) {
  return tsi_steps_bytes(steps) / 2 / (per_worker * workers);
}

/* Returns the largest priority of the steps of a bundle, and the sum of their bytes. */
void tsi_bundle_weigh(const tsi_bundles *bundles, const tsi_steps *steps, tsi_index bundle, double *priority,
                      double *bytes);

/* light: bytes; 0: each step is a bundle, whatever the number of workers. workers: at least 1 if light is not
 * 0. Errors: MEMORY, INTERNAL (the steps are in no legal order). */
TRISTAR_CHECKED tristar_status tsi_bundles_create(tsi_env *env, const tsi_steps *steps, double light,
                                                  int workers, tsi_bundles **out);
TRISTAR_CHECKED tristar_status tsi_bundles_check(tsi_env *env, const tsi_bundles *bundles,
                                                 const tsi_steps *steps);
