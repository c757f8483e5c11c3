/* The steps of a sweep whose rows are moved: those of the sweep, which work in a workspace, between steps
 * that bring b there and take x from there.
 *
 * Job. b and x are cut into pieces of the user's order, which is read and written as memory is; the rows of a
 * piece may lie anywhere in the workspace. So all pieces of b are there before the sweep begins, and the
 * sweep has ended before a piece of x leaves.
 *
 * Reads   the steps of a sweep.
 * Writes  a tsi_steps that owns its arrays: READ 0 .. pieces - 1, the steps of the sweep in their order,
 * WRITE 0 .. pieces - 1. Invariants (tsi_moved_steps_check)
 *   - among the steps of the sweep edges are those that it had
 *   - each of them comes after all READ, and before all WRITE, by a path of edges */
#pragma once

#include "dag/steps.h"

/* bytes: that all pieces of b, or of x, move. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_moved_steps_create(tsi_env *env, const tsi_steps *sweep, tsi_index pieces,
                                                      double bytes, tsi_steps **out);
/* Errors: MEMORY; INTERNAL: the message names the step. */
TRISTAR_CHECKED tristar_status tsi_moved_steps_check(tsi_env *env, const tsi_steps *steps,
                                                     const tsi_steps *sweep, tsi_index pieces);
