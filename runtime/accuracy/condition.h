/* The condition of a matrix as it was scaled for the factorization, B = R A C.
 *
 * Job. 1 / (|B| |B^-1|), 1-norms, the second one estimated by solves with A that the caller brings.
 *
 * Reads   a plan's factor, its matrix.   Writes  work of its own. */
#ifndef TSI_RUNTIME_ACCURACY_CONDITION_H
#define TSI_RUNTIME_ACCURACY_CONDITION_H

#include "runtime/matrix/norm_estimate.h"
#include "runtime/solve/plan.h"

/* solve: x := A^-1 x or, adjoint, A^-H x; one column. 1 for an empty matrix, 0 where a solve is not finite.
 * The factor has its matrix. Errors: MEMORY, those of solve. */
TRISTAR_CHECKED tristar_status tsi_condition(const tristar_plan_t *plan, tsi_multiply_columns solve,
                                             void *arg, double *reciprocal);

#endif
