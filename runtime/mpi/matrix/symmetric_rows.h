/* Tests whether a distributed matrix is Hermitian, and creates a matrix with the pattern of A + A^H: entries
 * that A does not have are zero.
 *
 * Reads   rows of all ranks.   Writes  a new matrix with the same blocks.
 * Invariant: each entry of the new matrix has its mirror image, on whatever ranks both are. */
#pragma once

#include "runtime/mpi/matrix/near_rows.h"
#include "tristar_precond.h"

/* Collective. near: near rows of d. Tests whether entries are mirror images of each other, if both are in
 * near, and whether each entry that couples ranks has a mirror image. AUTO becomes NEVER if so, else ALWAYS.
 * Errors: ARGUMENT (NEVER, but the matrix fails the test: the message names two entries, or counts couplings
 * without mirror image), MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_compare_images(const tristar_dmatrix_t *d, const tsi_near_rows *near,
                                                  tristar_pair *pair);

/* Collective; d->whole exists. *out also has its rows in one piece. tristar_dmatrix_destroy frees it; after a
 * failure it is NULL. Errors: TOO_LARGE, MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_symmetric_rows(const tristar_dmatrix_t *d, tristar_dmatrix_t **out);
