/* The diagonal block of A of a node of a sparse approximate inverse, and its Schur complement (fsai_nodes.h):
 * small and dense, in double precision, for the file's scalar type. */
#pragma once

#include "codelets/cpu/fsai/fsai_nodes.h"
#include "codelets/cpu/rows/pivots.h"
#include "codelets/cpu/base/scalar.h"

#define MOST TSI_FSAI_NODE_MOST

/* y += a x */
INLINE void add_wide(tsi_wide *y, tsi_wide a, tsi_wide x) {
#if TSI_COMPLEX
  __real__ *y += __real__ a * __real__ x - __imag__ a * __imag__ x;
  __imag__ *y += __real__ a * __imag__ x + __imag__ a * __real__ x;
#else
  *y += a * x;
#endif
}

/* Copies the entries of a row of A from position e on, in columns first .. row. */
INLINE void take_block_row(const tsi_matrix_rows *a, tsi_index row, tsi_count e, tsi_index first,
                           tsi_wide *block) {
  for (; e < a->ptr[row + 1] && a->index[e] <= row; e++)
    block[a->index[e] - first] = (tsi_wide)((const tsi_scalar *)a->values)[e];
}

/* Factors S = D D^H; only the lower triangle of S is given. down = D^-1; pivot: squares of D's diagonal
 * entries. *failed: the row of a breakdown. */
INLINE tsi_breakdown_kind invert_root(tsi_index size, tsi_wide s[MOST][MOST], tsi_wide down[MOST][MOST],
                                      double pivot[MOST], tsi_index *failed) {
  tsi_wide d[MOST][MOST];
  for (tsi_index r = 0; r < size; r++) {
    double rest = tsi_re(s[r][r]);
    tsi_scalar root;
    for (tsi_index c = 0; c < r; c++) {
      tsi_wide left = s[r][c];
      for (tsi_index k = 0; k < c; k++) add_wide(&left, -d[r][k], tsi_conj(d[c][k]));
      d[r][c] = left * tsi_re(down[c][c]);
      rest -= tsi_re(d[r][c]) * tsi_re(d[r][c]) + tsi_im(d[r][c]) * tsi_im(d[r][c]);
    }
    pivot[r] = rest;
    const tsi_breakdown_kind kind = tsi_pivot_root((tsi_real)rest, true, &root);
    *failed = r;
    if (kind != TSI_BREAKDOWN_NONE) return kind;
    down[r][r] = 1 / sqrt(rest);
    for (tsi_index c = 0; c < r; c++) {
      tsi_wide left = 0;
      for (tsi_index k = c; k < r; k++) add_wide(&left, -d[r][k], down[k][c]);
      down[r][c] = left * tsi_re(down[r][r]);
    }
  }
  return TSI_BREAKDOWN_NONE;
}
