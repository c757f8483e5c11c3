/* A matrix on the pattern of A + A^H, and a Hermitian matrix near it. From the latter, patterns of sparse
 * approximate inverses are computed (codelets/cpu/fsai/fsai_pair.h).
 *
 * Reads   rows of A.   Writes  its own rows, or borrows the rows of A if their pattern is symmetric.
 * Invariant: the columns of a row ascend. They include the diagonal, and the mirror image of each entry
 * exists. */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/context/context.h"

typedef struct tsi_symmetrized {
  tsi_factor_rows rows; /* A, with zeros for added entries */
  bool own;             /* the object owns the rows; false: A owns them */
  void *part;           /* values of the Hermitian matrix; NULL: not requested */
} tsi_symmetrized;

/* a has values and must outlive out. part: compute the Hermitian matrix. out: to be finished, also after a
 * failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_symmetrize(tristar_t *ts, char scalar, const tsi_factor_rows *a, bool part,
                                              tsi_symmetrized *out);
void tsi_symmetrized_finish(tsi_symmetrized *s);

/* Replaces each magnitude by the maximum of the entry and its mirror image. The pattern is symmetric. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_symmetrize_magnitudes(tsi_env *env, const tsi_factor_rows *a,
                                                         double *magnitude);
