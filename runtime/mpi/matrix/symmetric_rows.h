/* Is a distributed matrix Hermitian? And one on the pattern of A + A^H: zeros where A has the mirror image of
 * an entry alone.
 *
 * Reads   rows of all ranks.   Writes  a matrix of its own, with the same blocks.
 * Invariant: an entry of that has its mirror image, on whatever ranks both are. */
#pragma once

#include "runtime/mpi/matrix/near_rows.h"
#include "tristar_precond.h"

/* Collective. near: rows of d. Are entries mirror images of each other, as far as both are near, and has each
 * that couples ranks one? AUTO becomes NEVER if so, else ALWAYS. Errors: ARGUMENT (NEVER, and they are not:
 * the message names two entries, or how many couplings have none), MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_compare_images(const tristar_dmatrix_t *d, const tsi_near_rows *near,
                                                  tristar_pair *pair);

/* Collective; d->whole is there. *out has rows in one piece, too; tristar_dmatrix_destroy frees it, after a
 * failure it is NULL. Errors: TOO_LARGE, MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_symmetric_rows(const tristar_dmatrix_t *d, tristar_dmatrix_t **out);
