/* Threshold pivoting in a dense front: elimination of the fully summed columns whose pivots pass the test.
 *
 * The front is of order f, column-major, with all of its entries. Its first `candidates` rows and columns are
 * fully summed. A pivot of a fully summed row and column is eliminated if it bounds the entries of L by
 * 1 / threshold:
 *
 *   LU                |a_rk| >= threshold max_i |a_ik|. Row r is the row of the diagonal of column k if this
 *                     passes, else the fully summed row of the largest entry.
 *   LDLT, of order 1  |a_kk| >= threshold max_{i != k} |a_ik|.
 *   LDLT, of order 2  |D^-1| (g_k, g_r)^T <= 1 / threshold. g_k and g_r are the largest entries of both
 *                     columns outside D. D must not be singular up to rounding errors. (Duff and Reid,
 *                     The multifrontal solution of indefinite sparse symmetric linear equations, ACM TOMS
 *                     9, 1983)
 *
 * If pivots of both orders pass, the one with the smaller bound is eliminated. Columns are tested in their
 * order, in windows of 64 columns, which are always up to date; products update the other columns after each
 * window. Columns that fail are tested again as long as others have passed. Afterwards rows and columns
 * 0 .. eliminated - 1 are the pivots in their order, and the Schur complement follows. If all rows and
 * columns are fully summed, and threshold <= 1/2 (LDLT), only columns of rounding errors fail. */
#pragma once

#include <stdbool.h>

#include "runtime/base/types.h"

typedef struct tsi_threshold_front {
  tsi_index f, candidates;
  void *a;            /* f x f: in the front, out the Schur complement in the last rows and columns */
  tsi_index *row;     /* candidates: numbers of the rows, interchanged along with them; LDLT: NULL */
  tsi_index *column;  /* candidates: numbers of the columns. Row and column of one number: a diagonal entry */
  const double *size; /* by number of a column: entries up to `noise` times this are rounding errors */
  double noise, threshold;
  /* Called before each window with the number of pivots so far. If it returns true, the elimination ends, and
   * the content of the front is undefined. NULL: not called. */
  bool (*is_cancelled)(void *arg, tsi_index pivots);
  void *arg;
  bool *second;         /* LDLT, out, candidates: the second column of a pivot of order 2; LU: NULL */
  tsi_index eliminated; /* out */
} tsi_threshold_front;

typedef struct tsi_threshold_kernels {
  void (*eliminate)(tsi_threshold_front *front);
  /* Copies the last m rows and columns of a matrix of order f, column-major without gaps. */
  void (*copy_corner)(tsi_index f, const void *a, tsi_index m, void *to);
  /* Returns the number of columns of a packed panel (panel.h; not TSI_INVERSE_PARTITIONED) with an entry
   * above `most` below the diagonal block. size: w numbers of scratch. */
  tsi_index (*count_above)(tsi_index w, tsi_index m, const void *packed, double most, double *size);
} tsi_threshold_kernels;

const tsi_threshold_kernels *tsi_threshold_kernels_select(char scalar);
