/* The steps of a sweep in a workspace, between steps that copy b to the workspace and steps that copy x from
 * it. The rows of the workspace have another order than b and x.
 *
 * Job. b and x are cut into pieces of consecutive rows in the user's order, so the user's memory is accessed
 * in its order. The rows of a piece may be anywhere in the workspace. So all pieces of b are copied before
 * the sweep begins, and x is copied after the sweep has ended.
 *
 * Reads   the steps of a sweep.
 * Writes  a tsi_steps that owns its arrays: READ 0 .. pieces - 1, the steps of the sweep in their order,
 * WRITE 0 .. pieces - 1.
 * Invariants (tsi_moved_steps_check)
 *   - the edges between steps of the sweep are the same as before
 *   - a path of edges leads from every READ to each step of the sweep, and from there to every WRITE */
#pragma once

#include "dag/steps.h"

/* bytes: moved by all pieces of b together, and again by all pieces of x. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_moved_steps_create(tsi_env *env, const tsi_steps *sweep, tsi_index pieces,
                                                      double bytes, tsi_steps **out);
/* Errors: MEMORY; INTERNAL: the message names the step. */
TRISTAR_CHECKED tristar_status tsi_moved_steps_check(tsi_env *env, const tsi_steps *steps,
                                                     const tsi_steps *sweep, tsi_index pieces);
