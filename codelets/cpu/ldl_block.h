/* Factors a diagonal block as L D L^T with pivots of order 1 and 2. For files compiled for each scalar type.
 *
 * J. R. Bunch and L. Kaufman, Some stable methods for calculating inertia and solving symmetric linear
 * systems, Math. Comp. 31 (1977), algorithm A. Both triangles of the block are stored during the
 * factorization, so that rows and columns are interchanged as a whole. The block has at most
 * TSI_PANEL_WIDTH_MAX columns. P A P^T = L D L^T, where P applies the interchanges k <-> pivot[k], k
 * ascending. */
#pragma once

#include <math.h>

#include "codelets/cpu/base/scalar.h"
#include "codelets/cpu/front.h"

#define TSI_LDL_ALPHA                                                                                        \
  ((tsi_real)0.6403882032022076) /* (1 + sqrt(17)) / 8 bounds the growth over a pivot of order 2 */

/* b x b, column-major, leading dimension ld. */
typedef struct tsi_ldl_block {
  tsi_scalar *a;
  ptrdiff_t ld;
  tsi_index b;
  bool adjoint;
  tsi_index *pivot;
  tsi_scalar *inverse;
  tsi_pivoting *result;
} tsi_ldl_block;

static inline tsi_scalar tsi_ldl_image(bool adjoint, tsi_scalar x) {
  return adjoint ? tsi_conj(x) : x;
}

/* Interchanges rows and columns k and r: rows everywhere (also in L), columns only in the remaining block. */
static inline void tsi_ldl_interchange(const tsi_ldl_block *m, tsi_index k, tsi_index from, tsi_index r) {
  if (k == r) return;
  const double size = m->result->column_size[k];
  m->result->column_size[k] = m->result->column_size[r];
  m->result->column_size[r] = size;
  for (tsi_index j = 0; j < 4 && m->result->second != NULL; j++) { /* dissolves their pairs */
    const tsi_index column = (j & 2 ? k : r) + (j & 1);
    if (column < m->b) m->result->second[column] = false;
  }
  for (tsi_index j = 0; j < m->b; j++) {
    const tsi_scalar swap = m->a[k + j * m->ld];
    m->a[k + j * m->ld] = m->a[r + j * m->ld];
    m->a[r + j * m->ld] = swap;
  }
  for (tsi_index i = from; i < m->b; i++) {
    const tsi_scalar swap = m->a[i + k * m->ld];
    m->a[i + k * m->ld] = m->a[i + r * m->ld];
    m->a[i + r * m->ld] = swap;
  }
}

/* Returns the row of the largest entry of column k in rows k+1 .. b-1; k if there is no such row. */
static inline tsi_index tsi_ldl_largest_below(const tsi_ldl_block *m, tsi_index k) {
  tsi_index best = k + 1 < m->b ? k + 1 : k;
  for (tsi_index i = k + 2; i < m->b; i++)
    if (tsi_abs(m->a[i + k * m->ld]) > tsi_abs(m->a[best + k * m->ld])) best = i;
  return best;
}

static inline double tsi_ldl_largest_size(const tsi_ldl_block *m) {
  double largest = 0;
  for (tsi_index k = 0; k < m->b; k++) largest = fmax(largest, m->result->column_size[k]);
  return largest;
}

/* Returns the size of the largest entry of the column in rows k + 2 .. b-1 of the block. */
static inline double tsi_ldl_largest_behind(const tsi_ldl_block *m, tsi_index k, tsi_index column) {
  double most = 0;
  for (tsi_index i = k + 2; i < m->b; i++) most = fmax(most, (double)tsi_abs(m->a[i + column * m->ld]));
  return most;
}

/* Is a pivot of this size large enough? */
static inline bool tsi_ldl_exceeds_tiny(const tsi_ldl_block *m, double size) {
  if (size >= m->result->tiny) return true;
  m->result->nearest = fmin(m->result->nearest, size);
  return false;
}

/* Returns the order of the pivot at k that the column order proposes (result->second), if it passes the
 * threshold test of threshold.h in the block; else 0. */
static inline int tsi_ldl_follow_order(const tsi_ldl_block *m, tsi_index k, double diagonal, double lambda) {
  const double u = m->result->threshold;
  if (k + 1 == m->b || !m->result->second[k + 1])
    return diagonal >= u * lambda && tsi_ldl_exceeds_tiny(m, diagonal) ? 1 : 0;
  const tsi_scalar d11 = m->a[k + k * m->ld], d21 = m->a[k + 1 + k * m->ld],
                   d22 = m->a[k + 1 + (k + 1) * m->ld];
  const double g1 = tsi_ldl_largest_behind(m, k, k), g2 = tsi_ldl_largest_behind(m, k, k + 1);
  const double one = (double)tsi_abs(d11), two = (double)tsi_abs(d22), off = (double)tsi_abs(d21);
  const double determinant = (double)tsi_abs(d11 * d22 - d21 * tsi_ldl_image(m->adjoint, d21));
  const bool passes = u * (two * g1 + off * g2) <= determinant && u * (off * g1 + one * g2) <= determinant;
  if (!passes || !(determinant > 0)) return 0;
  const double size = determinant / fmax(off, fmax(one, two));
  const double largest = fmax(m->result->column_size[k], m->result->column_size[k + 1]);
  return size > m->result->least * largest && tsi_ldl_exceeds_tiny(m, size) ? 2 : 0;
}

/* Returns the order of the pivot at k. *r: the row to interchange with k (order 1) or k + 1 (order 2). */
static inline int tsi_ldl_choose(const tsi_ldl_block *m, tsi_index k, tsi_index *r) {
  const tsi_real diagonal = tsi_abs(m->a[k + k * m->ld]);
  const tsi_index below = tsi_ldl_largest_below(m, k);
  const tsi_real lambda = below == k ? 0 : tsi_abs(m->a[below + k * m->ld]);
  *r = k;
  if (m->result->second != NULL) {
    const int order = tsi_ldl_follow_order(m, k, (double)diagonal, (double)lambda);
    *r = k + (order == 2);
    if (order > 0) return order;
  }
  if (diagonal >= TSI_LDL_ALPHA * lambda) return 1;
  if ((double)lambda < m->result->nearest) m->result->nearest = (double)lambda;
  if (lambda < (tsi_real)m->result->tiny) return 1;
  /* The row depends on others, and cancellation left only rounding errors. Together with another row it would
   * look like a pivot. */
  if ((double)lambda <= m->result->least * tsi_ldl_largest_size(m)) return 1;
  tsi_real sigma = 0;
  for (tsi_index j = k; j < m->b; j++)
    if (j != below && tsi_abs(m->a[below + j * m->ld]) > sigma) sigma = tsi_abs(m->a[below + j * m->ld]);
  if (diagonal * sigma >= TSI_LDL_ALPHA * lambda * lambda) return 1;
  *r = below;
  return tsi_abs(m->a[below + below * m->ld]) >= TSI_LDL_ALPHA * sigma ? 1 : 2;
}

/* Returns diagonal entry k; of a Hermitian block without the rounding errors in its imaginary part. */
static inline tsi_scalar tsi_ldl_diagonal(const tsi_ldl_block *m, tsi_index k) {
  const tsi_scalar entry = m->a[k + k * m->ld];
  return m->adjoint ? tsi_re(entry) : entry;
}

/* Eliminates column k with its diagonal entry as pivot. */
static inline bool tsi_ldl_eliminate_1(const tsi_ldl_block *m, tsi_index k) {
  tsi_scalar *column = m->a + k * m->ld;
  column[k] = tsi_ldl_diagonal(m, k);
  const tsi_real size = tsi_abs(column[k]), tiny = (tsi_real)m->result->tiny;
  const bool perturb = tsi_pivoting_note(m->result, k, (double)size);
  if (m->result->failed != TSI_NONE) return false;
  if (perturb) column[k] = tsi_re(column[k]) < 0 ? -tiny : tiny;
  m->inverse[2 * k] = 1 / column[k];
  m->inverse[2 * k + 1] = 0;
  for (tsi_index j = k + 1; j < m->b; j++) {
    const tsi_scalar factor = tsi_ldl_image(m->adjoint, column[j]) * m->inverse[2 * k];
    tsi_scalar *to = m->a + j * m->ld;
    if (factor != 0)
      for (tsi_index i = k + 1; i < m->b; i++) to[i] -= column[i] * factor;
  }
  for (tsi_index i = k + 1; i < m->b; i++) column[i] *= m->inverse[2 * k];
  return true;
}

/* Records the size of the pivot of order 2 at k. most: size of its largest entry. */
static inline void tsi_ldl_measure_2(const tsi_ldl_block *m, tsi_index k, double determinant, double most) {
  const double columns = sqrt(m->result->column_size[k]) * sqrt(m->result->column_size[k + 1]);
  const double least = determinant / most;
  const bool by_least = m->result->threshold > 0 || least < TSI_SMALL_PIVOT * TSI_EPSILON * columns;
  tsi_pivoting_measure(m->result, k, by_least ? least : sqrt(determinant), columns);
}

/* Eliminates columns k and k + 1 with the pivot [d11 tsi_ldl_image(d21); d21 d22]. */
static inline bool tsi_ldl_eliminate_2(const tsi_ldl_block *m, tsi_index k) {
  tsi_scalar *c1 = m->a + k * m->ld, *c2 = c1 + m->ld;
  const tsi_scalar d21 = c1[k + 1], d12 = tsi_ldl_image(m->adjoint, d21);
  const tsi_scalar d11 = tsi_ldl_diagonal(m, k), d22 = tsi_ldl_diagonal(m, k + 1);
  const tsi_scalar determinant =
      d11 * d22 - d21 * d12; /* |.| >= (1 - alpha^2) |d21|^2 by the choice of the pivot */
  if (!isfinite(tsi_abs(determinant)) || determinant == 0) {
    tsi_pivoting_fail(m->result, k, TSI_PIVOT_NOT_FINITE);
    return false;
  }
  tsi_ldl_measure_2(m, k, (double)tsi_abs(determinant),
                    fmax((double)tsi_abs(d21), fmax((double)tsi_abs(d11), (double)tsi_abs(d22))));
  const tsi_scalar i11 = d22 / determinant, i22 = d11 / determinant, i21 = -d21 / determinant,
                   i12 = -d12 / determinant;
  m->inverse[2 * k] = i11;
  m->inverse[2 * k + 1] = i21;
  m->inverse[2 * k + 2] = i22;
  m->inverse[2 * k + 3] = 0;
  for (tsi_index j = k + 2; j < m->b; j++) {
    const tsi_scalar r1 = tsi_ldl_image(m->adjoint, c1[j]), r2 = tsi_ldl_image(m->adjoint, c2[j]);
    const tsi_scalar f1 = i11 * r1 + i12 * r2, f2 = i21 * r1 + i22 * r2;
    tsi_scalar *to = m->a + j * m->ld;
    for (tsi_index i = k + 2; i < m->b; i++) to[i] -= c1[i] * f1 + c2[i] * f2;
  }
  for (tsi_index i = k + 2; i < m->b; i++) {
    const tsi_scalar w1 = c1[i], w2 = c2[i];
    c1[i] = w1 * i11 + w2 * i21;
    c2[i] = w1 * i12 + w2 * i22;
  }
  c1[k + 1] = 0; /* L is the identity inside the pivot */
  return true;
}

/* Factors the block. On entry the lower triangle holds A; afterwards L is below the diagonal, and the rest is
 * scratch. Writes pivot, inverse and the outcome. Returns false if a pivot is unusable. */
static inline bool tsi_ldl_factor(const tsi_ldl_block *m) {
  tsi_pivoting_begin(m->result);
  for (tsi_index j = 0; j < m->b; j++)
    for (tsi_index i = j + 1; i < m->b; i++)
      m->a[j + i * m->ld] = tsi_ldl_image(m->adjoint, m->a[i + j * m->ld]);
  for (tsi_index k = 0; k < m->b;) {
    tsi_index r;
    const int order = tsi_ldl_choose(m, k, &r);
    m->pivot[k] = order == 1 ? r : k;
    if (order == 2) m->pivot[k + 1] = r;
    tsi_ldl_interchange(m, k + order - 1, k, r);
    if (!(order == 1 ? tsi_ldl_eliminate_1(m, k) : tsi_ldl_eliminate_2(m, k))) return false;
    k += order;
  }
  return true;
}
