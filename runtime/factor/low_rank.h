/* Adds a product W W^H (W W^T unless adjoint) of low rank to a symmetric matrix and its factor, or subtracts
 * it.
 *
 * A term of W changes the panels on the path from its first row to the root (Davis and Hager 1999; 2001 for
 * several terms); see codelets/cpu/low_rank.h. Rounding errors, and pivots that become small, can spoil the
 * result. So the path is multiplied by a vector before and after. If the difference does not match the
 * product W W^H, the new values are factored.
 *
 * Reads   W.   Writes  the values of a factor, its panels and D. After a failure these are as before. */
#pragma once

#include "runtime/factor/factor.h"
#include "tristar_update.h"

/* Sets *fine: the factor with the changed path may be used. Errors: MEMORY, those of tristar_solve. */
typedef tristar_status (*tsi_low_rank_verdict)(tristar_factor_t *factor, bool *fine);

/* subtract: A - W W^H. result: as in tristar_update_low_rank, except for the flops of a factorization of all
 * supernodes. After an error of the verdict the factor is not valid. Errors: those of
 * tristar_update_low_rank. */
TRISTAR_CHECKED tristar_status tsi_factor_add_low_rank(tristar_factor_t *factor, const tristar_view *w,
                                                       bool subtract, tsi_low_rank_verdict verdict,
                                                       tristar_update_result *result);
