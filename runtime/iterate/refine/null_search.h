/* The null space of op(A) of any order, and the proof that no null vector is missing.
 *
 * Job. With many perturbed pivots, a block iteration (null_vectors.h) loses null vectors, since other vectors
 * grow in each step. So probes test the result. A probe is a vector x without a pattern. A x contains nothing
 * of the null vectors in x, so no solution z of A z = A x contains them, for any solver. If x - z contains
 * only null vectors that were found, then with near certainty x has no other null vector, and neither has A.
 * If something remains, it is a null vector that was missed, and further probes follow; or the solver fails,
 * and the null space is unknown. Solves are refined, with FGMRES if corrections fail.
 *
 * Reads   a system.   Writes  the basis, and its own work arrays.
 * A header of its own because searches need projections, and projections null vectors. */
#pragma once

#include "runtime/iterate/refine/null_vectors.h"

/* Finds an orthonormal basis of at most `most` vectors, in the user's units. v->count > most: there are more.
 * *v must be zero, and must be finished, also after a failure. Errors: MEMORY, those of a solve. */
TRISTAR_CHECKED tristar_status tsi_null_search(const tsi_system *system, tristar_op op, tsi_index most,
                                               tsi_null_vectors *v);
