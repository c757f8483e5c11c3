/* Incomplete factors on the pattern of A, all rows in one pass, for matrices without difficulties; by scalar
 * type.
 *
 * Job. Make the rows that ilu_dense and ic_dense make (incomplete.h), with the same bits, and inverse[i], the
 * inverse of the pivot of row i. Properties of A are checked in the same pass. Return false if A or a pivot
 * does not permit this; all output is then invalid.
 *
 * Reads   rows of a matrix.   Writes  factors, their diagonal entries, inverses of pivots.
 * row: n scalars of scratch with any finite values. */
#pragma once

#include "codelets/cpu/rows/incomplete.h"

/* The entries of a row right of the diagonal whose images were not visited yet: the first one, its distance
 * from the diagonal, and the number of entries from it on. One cache line holds this data of a row. */
typedef struct tsi_unmet {
  tsi_count first;
  tsi_index passed, left;
} tsi_unmet;

typedef struct tsi_at_once_kernels {
  /* Also finds out->diagonal. a and out may have the same values. */
  bool (*ilu)(const tsi_factor_rows *a, double shift, void *row, void *inverse, tsi_factor_rows *out);
  /* The upper triangle of row i of A begins with entry first[i] of a->values; cross and out->diagonal are
   * given. */
  bool (*ic)(const tsi_factor_rows *a, const tsi_count *first, double shift, bool adjoint, void *row,
             const tsi_index *cross, void *inverse, tsi_factor_rows *out);
  /* Does the same for a matrix with both triangles; finds out->diagonal and cross. *equal: are all mirror
   * images equal? Returns false if an entry has no image. unmet: n, scratch. */
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
