/* Incomplete factorizations and the diagonals of preconditioners, by scalar type.
 *
 * Reads   rows of a matrix, factors so far.   Writes  factors, vectors. */
#ifndef TSI_CODELETS_CPU_INCOMPLETE_H
#define TSI_CODELETS_CPU_INCOMPLETE_H

#include "runtime/base/types.h"
#include "tristar.h"

/* Why a factorization ended before its last row. */
typedef enum tsi_breakdown_kind {
  TSI_BREAKDOWN_NONE,
  TSI_BREAKDOWN_ZERO,         /* a pivot that is zero, or subnormal: it has no inverse */
  TSI_BREAKDOWN_NOT_POSITIVE, /* a pivot of a positive definite matrix that is not positive */
  TSI_BREAKDOWN_NOT_FINITE    /* NaN or infinity in the row */
} tsi_breakdown_kind;

typedef struct tsi_breakdown {
  tsi_breakdown_kind kind;
  tsi_index row;
} tsi_breakdown;

typedef struct tsi_incomplete_kernels {
  /* inverse[i] = 1 / diagonal[i]; inverse may be diagonal */
  tsi_breakdown (*invert)(tsi_index n, const void *diagonal, void *inverse);
  /* x = d x, entry by entry; conjugate: with the conjugates of d */
  void (*scale)(tsi_index n, const void *d, bool conjugate, void *x);
  /* x = conj(x) */
  void (*conjugate)(tsi_index n, void *x);
} tsi_incomplete_kernels;

/* For 's', 'd', 'c' or 'z'; NULL for anything else. */
const tsi_incomplete_kernels *tsi_incomplete_kernels_select(char scalar);

#endif
