/* What the steps of the two sweeps of a solve read and write: see access.h. codelets/cpu/node.h describes
 * their work.
 *
 * If both sweeps are the same one, the forward updates and the backward copies of x share memory, and so do
 * the partial sums. Otherwise each sweep has its own memory, and the items of the backward sweep are numbered
 * after the items of the forward sweep. */
#pragma once

#include "dag/access.h"
#include "dag/steps.h"

typedef struct tsi_access_sweeps {
  const tsi_sweep *forward, *backward;
  const tsi_chunks *forward_chunks, *backward_chunks;
  bool only_forward, only_backward;
  bool push;
  bool before;   /* INVERSE_PARTITIONED: forward slices read x from before the solve with the triangle. */
  bool in_place; /* x and b have the same memory, and each chunk has the same rows of both. */
} tsi_access_sweeps;

/* Adds the accesses of a step, if sweeps have steps of its kind (FORWARD_SUM and BACKWARD_SUM included). */
void tsi_access_add_sweep_step(const tsi_access_sweeps *sweeps, const tsi_step *step,
                               tsi_access_lister *lister);

/* Accesses of chunk c: to its segment; to the partial sum of its first slice in the backward sweep. */
void tsi_access_add_segment(const tsi_access_sweeps *sweeps, tsi_access_mode mode, tsi_index c,
                            tsi_access_lister *lister);
void tsi_access_add_first_partial(const tsi_access_sweeps *sweeps, tsi_access_mode mode, tsi_index c,
                                  tsi_access_lister *lister);
