/* A symmetric matrix and its factor plus or minus a product W W^H (W W^T unless adjoint) of low rank.
 *
 * A term of W changes the panels on the path from its first row to the root (Davis and Hager 1999; 2001 for
 * several terms); see codelets/cpu/low_rank.h. Rounding errors, and pivots that become small, can spoil what
 * is left: the path is multiplied by a vector before and after, and if the difference is not that of the
 * product, the values are factored anew.
 *
 * Reads   W.   Writes  the values of a factor, its panels and D. After a failure these are as before. */
#pragma once

#include "runtime/factor/factor.h"
#include "tristar_update.h"

/* May a factor whose path has changed stay? Errors: MEMORY, those of tristar_solve. */
typedef tristar_status (*tsi_low_rank_verdict)(tristar_factor_t *factor, bool *fine);

/* subtract: A - W W^H. result: as of tristar_update_low_rank, but for the flops of a factorization of all
 * supernodes. After an error of the verdict the factor is not valid. Errors: those of
 * tristar_update_low_rank. */
TRISTAR_CHECKED tristar_status tsi_factor_add_low_rank(tristar_factor_t *factor, const tristar_view *w,
                                                       bool subtract, tsi_low_rank_verdict verdict,
                                                       tristar_update_result *result);
