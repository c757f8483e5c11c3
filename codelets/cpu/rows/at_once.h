/* Incomplete factors on the pattern of A, all rows in one pass, where all goes well; by scalar type.
 *
 * Job. Make the rows that ilu_dense and ic_dense make (incomplete.h), with their bits, and inverse[i], of the
 * pivot of row i. What there is to know of A is found on the way. false: something is not as it should be,
 * and nothing that was written is of use.
 *
 * Reads   rows of a matrix.   Writes  factors, their diagonal entries, inverses of pivots.
 * row: n scalars of scratch, of any values that are finite. */
#pragma once

#include "codelets/cpu/rows/incomplete.h"

/* Of the entries right of the diagonal of a row: the first one whose image has not been met, how far it is
 * from the diagonal, and how many there are from it on. One line of the cache has all of a row. */
typedef struct tsi_unmet {
  tsi_count first;
  tsi_index passed, left;
} tsi_unmet;

typedef struct tsi_at_once_kernels {
  /* Finds out->diagonal. a and out may have the same values. */
  bool (*ilu)(const tsi_factor_rows *a, double shift, void *row, void *inverse, tsi_factor_rows *out);
  /* The upper triangle of row i of A begins with entry first[i] of a->values; cross and out->diagonal are
   * there. */
  bool (*ic)(const tsi_factor_rows *a, const tsi_count *first, double shift, bool adjoint, void *row,
             const tsi_index *cross, void *inverse, tsi_factor_rows *out);
  /* The same of a matrix with both triangles: finds out->diagonal and cross. *equal: are all mirror images
   * equal? If entries have no images, false is returned. unmet: n, scratch. */
  bool (*ic_both)(const tsi_factor_rows *a, double shift, bool adjoint, void *row, tsi_unmet *unmet,
                  tsi_index *cross, void *inverse, tsi_factor_rows *out, bool *equal);
} tsi_at_once_kernels;

extern const tsi_at_once_kernels tsi_at_once_kernels_s, tsi_at_once_kernels_d, tsi_at_once_kernels_c,
    tsi_at_once_kernels_z;

/* For 's', 'd', 'c' or 'z'. */
static inline const tsi_at_once_kernels *tsi_at_once_kernels_select(char scalar) {
  return scalar == 's'   ? &tsi_at_once_kernels_s
         : scalar == 'd' ? &tsi_at_once_kernels_d
         : scalar == 'c' ? &tsi_at_once_kernels_c
                         : &tsi_at_once_kernels_z;
}
