/* Systems of a group of rows: K = L L^H, L z = b, L^H g = z for as many rows of a sparse approximate inverse
 * as a register has lanes (tsi_fsai_group of fsai.h), for the file's scalar type.
 *
 * Lanes are independent: the numbers of a lane do not depend on the other lanes. */
#pragma once

#include <math.h>

#include "codelets/cpu/fsai/fsai.h"
#include "codelets/cpu/base/vector.h"

#define ROWS_AT_ONCE 4 /* maximum number of rows of L that are computed at the same time */

typedef struct cell {
  reg part[PARTS];
} cell;

#define EACH_ROW(q) UNROLL for (int q = 0; q < rows; q++)
#define EACH_COLUMN(k) UNROLL for (int k = 0; k < columns; k++)

/* x -= a conj(y) */
INLINE void subtract_adjoint(cell *x, cell a, cell y) {
  x->part[0] -= a.part[0] * y.part[0];
#if TSI_COMPLEX
  x->part[0] -= a.part[1] * y.part[1];
  x->part[1] -= a.part[1] * y.part[0];
  x->part[1] += a.part[0] * y.part[1];
#endif
}

/* x -= a y */
INLINE void subtract_product(cell *x, cell a, cell y) {
  x->part[0] -= a.part[0] * y.part[0];
#if TSI_COMPLEX
  x->part[0] += a.part[1] * y.part[1];
  x->part[1] -= a.part[0] * y.part[1];
  x->part[1] -= a.part[1] * y.part[0];
#endif
}

INLINE cell times(cell x, reg factor) {
  EACH_PART(p) x.part[p] *= factor;
  return x;
}

INLINE cell *row_of(const tsi_fsai_group *w, tsi_index r) {
  return (cell *)w->l + (ptrdiff_t)w->stride * r;
}

/* ---- Factoring ----------------------------------------------------------------------------------------- */

/* Sets rows r .. end - 1 of K to the identity, and b to zero there. */
static void open_rows(const tsi_fsai_group *w, tsi_index r, tsi_index end) {
  for (; r < end; r++) {
    cell *row = row_of(w, r);
    for (tsi_index c = 0; c <= r; c++) row[c] = (cell){{{0}}};
    row[r].part[0] += 1;
    ((cell *)w->b)[r] = (cell){{{0}}};
  }
}

/* Rows of K that become rows of L, and the remainders of their diagonal and of b. */
typedef struct rows_of_k {
  cell *row[ROWS_AT_ONCE], right[ROWS_AT_ONCE];
  reg pivot[ROWS_AT_ONCE];
} rows_of_k;

/* Eliminates columns j .. j + columns - 1 of these rows; columns is 1 or 2. */
INLINE void eliminate_columns(const tsi_fsai_group *w, const int rows, const int columns, tsi_index j,
                              rows_of_k *x) {
  const cell *known[2];
  cell left[ROWS_AT_ONCE][2], y[2];
  EACH_COLUMN(k) known[k] = row_of(w, j + k);
  EACH_ROW(q) EACH_COLUMN(k) left[q][k] = x->row[q][j + k];
  for (tsi_index c = 0; c < j; c++) {
    EACH_COLUMN(k) y[k] = known[k][c];
    EACH_ROW(q) {
      const cell a = x->row[q][c];
      EACH_COLUMN(k) subtract_adjoint(&left[q][k], a, y[k]);
    }
  }
  EACH_COLUMN(k) {
    const reg inverse = ((const reg *)w->inverse)[j + k];
    const cell z = ((const cell *)w->z)[j + k];
    EACH_ROW(q) {
      const cell entry = times(left[q][k], inverse);
      if (k == 0 && columns == 2) subtract_adjoint(&left[q][1], entry, known[1][j]);
      EACH_PART(p) x->pivot[q] -= entry.part[p] * entry.part[p];
      subtract_product(&x->right[q], entry, z);
      x->row[q][j + k] = entry;
    }
  }
}

/* Eliminates columns from .. to - 1 of rows r .. r + rows - 1. */
INLINE void eliminate_rows(const tsi_fsai_group *w, const int rows, tsi_index r, tsi_index from,
                           tsi_index to) {
  rows_of_k x;
  tsi_index j = from;
  EACH_ROW(q) {
    x.row[q] = row_of(w, r + q);
    x.right[q] = ((const cell *)w->b)[r + q];
    x.pivot[q] = x.row[q][r + q].part[0];
  }
  for (; j + 2 <= to; j += 2) eliminate_columns(w, rows, 2, j, &x);
  if (j < to) eliminate_columns(w, rows, 1, j, &x);
  EACH_ROW(q) {
    ((cell *)w->b)[r + q] = x.right[q];
    x.row[q][r + q].part[0] = x.pivot[q];
  }
}

/* Finishes row r, which lacks only its diagonal entry. Returns whether all lanes have a pivot. */
INLINE bool finish_row(const tsi_fsai_group *w, tsi_index r, tsi_real pivot[LANES]) {
  tsi_real inverse[LANES], part[PARTS * LANES];
  bool good = true;
  memcpy(pivot, &row_of(w, r)[r].part[0], sizeof inverse);
  for (int l = 0; l < LANES; l++) {
    good &= pivot[l] > 0 && isfinite(pivot[l]);
    inverse[l] = 1 / (tsi_real)sqrt((double)pivot[l]);
  }
  memcpy((reg *)w->inverse + r, inverse, sizeof inverse);
  const cell z = times(((const cell *)w->b)[r], *(const reg *)inverse);
  ((cell *)w->z)[r] = z;
  memcpy(part, &z, sizeof part);
  for (int l = 0; l < LANES; l++) {
    double square = (double)part[l] * (double)part[l];
    if (TSI_COMPLEX) square += (double)part[LANES + l] * (double)part[LANES + l];
    w->psi[l] -= square;
  }
  return good;
}

/* Eliminates the columns before r of rows r .. end - 1, at most ROWS_AT_ONCE rows. */
static void eliminate_before(const tsi_fsai_group *w, tsi_index r, tsi_index end) {
  if (end - r == 4) eliminate_rows(w, 4, r, 0, r);
  if (end - r == 3) eliminate_rows(w, 3, r, 0, r);
  if (end - r == 2) eliminate_rows(w, 2, r, 0, r);
  if (end - r == 1) eliminate_rows(w, 1, r, 0, r);
}

/* ---- Solving ------------------------------------------------------------------------------------------- */

/* Solves L^H g = z for the first `size` rows. */
static void solve_lanes(const tsi_fsai_group *w, tsi_index size) {
  const reg *inverse = w->inverse;
  const cell *z = w->z;
  cell *g = w->g;
  tsi_index k = size;
  for (tsi_index j = 0; j < size; j++) g[j] = z[j];
  for (; k >= 2; k -= 2) {
    const cell *last = row_of(w, k - 1), *other = row_of(w, k - 2);
    const cell a = times(g[k - 1], inverse[k - 1]);
    cell b = g[k - 2];
    subtract_adjoint(&b, a, last[k - 2]);
    b = times(b, inverse[k - 2]);
    g[k - 1] = a;
    g[k - 2] = b;
    for (tsi_index j = 0; j < k - 2; j++) {
      cell left = g[j];
      subtract_adjoint(&left, a, last[j]);
      subtract_adjoint(&left, b, other[j]);
      g[j] = left;
    }
  }
  if (k == 1) g[0] = times(g[0], inverse[0]);
}
