/* Bundles: steps of a solve that one task runs, one after the other.
 *
 * Chunks are as fine as many workers need, and must not depend on how many there are: they decide the order
 * of sums. What a runtime schedules may be coarser: a bundle is a set of steps that run in their order,
 * whatever the worker. So few workers get few tasks, and every result keeps its bits.
 *
 * Two steps come into one bundle where that takes nothing from the parallelism that is needed:
 *   - subtrees: forward, a step with all that it waits for, directly or not, if nothing else waits for any of
 * them; backward, a step with all that wait for it. Up to the weight `light`, and so for several of them that
 * the same step waits for, or that wait for the same step
 *   - slices: steps with the same only predecessor (forward) or only successor (backward), up to light / 4,
 * and so that a bundle of them is left for each worker: near the root they are all that there is to do
 *   - chains: a step and the next one, if nobody else has an edge between them
 *   - all of each direction, if each is light
 *
 * Steps that exchange messages (steps.h: alone) stay alone: what a process sends must not wait for what it
 * receives, unless it depends on it. A step may ask to be with its only predecessor, or successor, even so.
 *
 * The graph of the bundles has no cycle: a whole subtree has no edge into it (backward: out of it); steps
 * with the same only predecessor, or successor, do not wait for each other; a chain has no way around its
 * edges; nothing forward waits for anything backward.
 *
 * Reads   tsi_steps.   Writes  a tsi_bundles that owns its arrays and is immutable afterwards.
 * Invariants (tsi_bundles_check)
 *   - item[ptr[b]] .. item[ptr[b+1]-1] are the steps of bundle b, ascending; each step is in one bundle
 *   - a step that waits for one of another bundle: its bundle waits for that one
 *   - edges lead upwards, and each is there once */
#pragma once

#include "dag/steps.h"

typedef struct tsi_bundles {
  tsi_index count;
  tsi_index *ptr;  /* count + 1 */
  tsi_index *item; /* steps */
  tsi_count edges;
  tsi_edge *edge; /* between bundles */
} tsi_bundles;

/* Bundles for each worker in each direction: enough to balance the load, and no more than that takes where
 * tasks are short, with one right-hand side. Between processes what is sent waits for the whole bundle that
 * it comes from: those are smaller. */
#define TSI_BUNDLES_ONE_RHS 5
#define TSI_BUNDLES_MORE_RHS 8
#define TSI_BUNDLES_MESSAGES 16

/* per_worker: one of these. */
static inline double tsi_bundles_light(const tsi_steps *steps, int workers, int per_worker) {
  return tsi_steps_bytes(steps) / 2 / (per_worker * workers);
}

/* The largest priority of the steps of a bundle, and their bytes. */
void tsi_bundle_weigh(const tsi_bundles *bundles, const tsi_steps *steps, tsi_index bundle, double *priority,
                      double *bytes);

/* light: bytes; 0: each step is a bundle, however many workers. workers: else 1 or more. Errors: MEMORY,
 * INTERNAL (steps in no legal order). */
TRISTAR_CHECKED tristar_status tsi_bundles_create(tsi_env *env, const tsi_steps *steps, double light,
                                                  int workers, tsi_bundles **out);
TRISTAR_CHECKED tristar_status tsi_bundles_check(tsi_env *env, const tsi_bundles *bundles,
                                                 const tsi_steps *steps);
