/* Pivots of a dense front that pass a threshold test, and those that have to wait for the parent's front.
 *
 * The front is of order f, column-major, with all of its entries. Its first `candidates` rows and columns are
 * fully summed: pivots are taken from them. A pivot is taken if it bounds the entries of L by 1 / threshold:
 *
 *   LU     |a_rk| >= threshold max_i |a_ik|; r is the diagonal of column k if that passes, else the row of
 *          the largest candidate
 *   LDLT   of order 1 |a_kk| >= threshold max_{i != k} |a_ik|; of order 2 |D^-1| (g_k, g_r)^T <= 1 /
 * threshold, g the largest entries of both columns outside D (Duff and Reid, The multifrontal solution of
 *          indefinite sparse symmetric linear equations, ACM TOMS 9 (1983)); if both pass, the one that
 *          bounds the entries of L by less
 *
 * Candidates are tested in their order, 64 columns at a time, which are up to date; the others are updated by
 * products when these are done. Columns that fail are tested again as long as others have passed. Afterwards
 * rows and columns 0 .. eliminated - 1 are pivots, and behind them is the Schur complement. If all rows and
 * columns are candidates, and threshold <= 1/2 (LDLT), all columns pass but those of rounding errors. */
#pragma once

#include <stdbool.h>

#include "runtime/base/types.h"

typedef struct tsi_threshold_front {
  tsi_index f, candidates;
  void *a;            /* f x f: in the front, out the Schur complement in the last rows and columns */
  tsi_index *row;     /* candidates: numbers of rows, interchanged with them; LDLT: NULL */
  tsi_index *column;  /* candidates: the same of columns. A row and a column of one number are a diagonal. */
  const double *size; /* by number of a column: entries up to `noise` times this are rounding errors */
  double noise, threshold;
  bool *second;         /* LDLT, out, candidates: the second column of a pivot of order 2; LU: NULL */
  tsi_index eliminated; /* out */
} tsi_threshold_front;

typedef struct tsi_threshold_kernels {
  void (*eliminate)(tsi_threshold_front *front);
  /* The last m rows and columns of a matrix of order f, column-major without gaps. */
  void (*copy_corner)(tsi_index f, const void *a, tsi_index m, void *to);
  /* Columns of a packed panel (panel.h; not TSI_INVERSE_PARTITIONED) of which a row below the diagonal block
   * has an entry above `most`. size: w numbers of scratch. */
  tsi_index (*count_above)(tsi_index w, tsi_index m, const void *packed, double most, double *size);
} tsi_threshold_kernels;

const tsi_threshold_kernels *tsi_threshold_kernels_select(char scalar);
