/* What the steps of the two sweeps of a solve read and write; see access.h, and codelets/cpu/node.h for what
 * they do.
 *
 * Where both sweeps are the same one, forward updates and what the backward sweep copies share their memory,
 * and so do partial sums; else each sweep has its own, and items of the backward sweep count on from those of
 * the forward one. */
#pragma once

#include "dag/access.h"
#include "dag/steps.h"

typedef struct tsi_access_sweeps {
  const tsi_sweep *forward, *backward;
  const tsi_chunks *forward_chunks, *backward_chunks;
  bool only_forward, only_backward;
  bool push;
  bool before;   /* INVERSE_PARTITIONED: forward slices read x as it was before the triangle */
  bool in_place; /* x is b: chunk by chunk the same rows */
} tsi_access_sweeps;

/* The accesses of a step, if it is of a kind that sweeps have (also FORWARD_SUM and BACKWARD_SUM). */
void tsi_access_add_sweep_step(const tsi_access_sweeps *sweeps, const tsi_step *step,
                               tsi_access_lister *lister);

/* Of chunk c: its segment; the partial sum of its first slice in the backward sweep. */
void tsi_access_add_segment(const tsi_access_sweeps *sweeps, tsi_access_mode mode, tsi_index c,
                            tsi_access_lister *lister);
void tsi_access_add_first_partial(const tsi_access_sweeps *sweeps, tsi_access_mode mode, tsi_index c,
                                  tsi_access_lister *lister);
