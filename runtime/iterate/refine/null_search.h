/* The null space of op(A) of any order, and the proof that nothing of it is missing.
 *
 * Job. Factors with many perturbed pivots lose null vectors in a block iteration (null_vectors.h): other
 * vectors grow in each step. So what was found is put to the test by probes. A probe is a vector x without a
 * pattern. A x holds nothing of the null vectors that x has, so no solution z of A z = A x can hold them,
 * whatever solves it. If x - z has nothing left but what was found, then with near certainty x has no other
 * null vector, and neither has A. If something is left, it is a null vector that was missed, and further
 * probes follow; or the solver fails, and the null space is unknown. Solves are refined, with FGMRES where
 * corrections fail.
 *
 * Reads   a system.   Writes  the basis, and work of its own.
 * A header of its own because searches need projections, and projections null vectors. */
#pragma once

#include "runtime/iterate/refine/null_vectors.h"

/* Finds an orthonormal basis of at most `most` vectors, in the units of the user. v->count > most: there are
 * more. *v is zero, and to be finished whatever the status. Errors: MEMORY, and as a solve. */
TRISTAR_CHECKED tristar_status tsi_null_search(const tsi_system *system, tristar_op op, tsi_index most,
                                               tsi_null_vectors *v);
