/* A matrix on the pattern of A + A^H, and the Hermitian matrix near it that patterns of sparse approximate
 * inverses adapt to (codelets/cpu/fsai/fsai_pair.h).
 *
 * Reads   rows of A.   Writes  rows of its own, or borrows those of A where their pattern is symmetric.
 * Invariant: columns of a row ascend, the diagonal is one of them, and so is the mirror image of each entry.
 */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/context/context.h"

typedef struct tsi_symmetrized {
  tsi_factor_rows rows; /* A, zero where it has no entry */
  bool own;             /* else the rows are A's */
  void *part;           /* the values of the Hermitian matrix; NULL: not wanted */
} tsi_symmetrized;

/* a has values. out: to be finished, also after a failure; a outlives it. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_symmetrize(tristar_t *ts, char scalar, const tsi_factor_rows *a, bool part,
                                              tsi_symmetrized *out);
void tsi_symmetrized_finish(tsi_symmetrized *s);

/* Of rows with a symmetric pattern: each magnitude becomes the larger one of it and its mirror image's.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_symmetrize_magnitudes(tsi_env *env, const tsi_factor_rows *a,
                                                         double *magnitude);
