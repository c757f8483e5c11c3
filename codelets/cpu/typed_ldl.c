/* L D L^T of the diagonal block of a panel with pivots of order 1 and 2, and the rows below it: see front.h.
 *
 * J. R. Bunch and L. Kaufman, Some stable methods for calculating inertia and solving symmetric linear
 * systems, Math. Comp. 31 (1977), algorithm A. The block is kept in full while it is factored, so that an
 * interchange is one of rows and one of columns; it has at most TSI_PANEL_WIDTH_MAX columns. P A P^T = L D
 * L^T, where P applies the interchanges k <-> pivot[k], k ascending.
 *
 * Rows of the upper triangle, which differ from their columns by rounding errors, take no part in products:
 * U of the L U that would result is not D L^T, and the difference grows with the inverse of L. */
#include <math.h>

#include "codelets/cpu/base/blas.h"
#include "codelets/cpu/front.h"

#define ALPHA                                                                                                \
  ((tsi_real)0.6403882032022076) /* (1 + sqrt(17)) / 8 bounds the growth over a pivot of order 2 */

/* The block, column-major, leading dimension ld. */
typedef struct block {
  tsi_scalar *a;
  ptrdiff_t ld;
  tsi_index b;
  bool adjoint;
  tsi_index *pivot;
  tsi_scalar *inverse;
  tsi_pivoting *result;
} block;

static tsi_scalar image(bool adjoint, tsi_scalar x) {
  return adjoint ? tsi_conj(x) : x;
}

/* Rows and columns k and r: rows everywhere (also in L), columns in what is left. */
static void interchange(const block *m, tsi_index k, tsi_index from, tsi_index r) {
  if (k == r) return;
  const double size = m->result->column_size[k];
  m->result->column_size[k] = m->result->column_size[r];
  m->result->column_size[r] = size;
  for (tsi_index j = 0; j < 4 && m->result->second != NULL; j++) { /* their pairs are no more */
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

/* Row of the largest entry of column k in rows k+1 .. b-1; k if there is none. */
static tsi_index largest_below(const block *m, tsi_index k) {
  tsi_index best = k + 1 < m->b ? k + 1 : k;
  for (tsi_index i = k + 2; i < m->b; i++)
    if (tsi_abs(m->a[i + k * m->ld]) > tsi_abs(m->a[best + k * m->ld])) best = i;
  return best;
}

static double largest_size(const block *m) {
  double largest = 0;
  for (tsi_index k = 0; k < m->b; k++) largest = fmax(largest, m->result->column_size[k]);
  return largest;
}

/* The largest entry of column k in rows k + 2 .. b-1 of the block. */
static double largest_behind(const block *m, tsi_index k, tsi_index column) {
  double most = 0;
  for (tsi_index i = k + 2; i < m->b; i++) most = fmax(most, (double)tsi_abs(m->a[i + column * m->ld]));
  return most;
}

/* Is a pivot of this size large enough? */
static bool exceeds_tiny(const block *m, double size) {
  if (size >= m->result->tiny) return true;
  m->result->nearest = fmin(m->result->nearest, size);
  return false;
}

/* The order of the pivot at k that the order of the columns gives, if it passes the threshold test of
 * threshold.h in the block; else 0. */
static int follow_order(const block *m, tsi_index k, double diagonal, double lambda) {
  const double u = m->result->threshold;
  if (k + 1 == m->b || !m->result->second[k + 1])
    return diagonal >= u * lambda && exceeds_tiny(m, diagonal) ? 1 : 0;
  const tsi_scalar d11 = m->a[k + k * m->ld], d21 = m->a[k + 1 + k * m->ld],
                   d22 = m->a[k + 1 + (k + 1) * m->ld];
  const double g1 = largest_behind(m, k, k), g2 = largest_behind(m, k, k + 1);
  const double one = (double)tsi_abs(d11), two = (double)tsi_abs(d22), off = (double)tsi_abs(d21);
  const double determinant = (double)tsi_abs(d11 * d22 - d21 * image(m->adjoint, d21));
  const bool passes = u * (two * g1 + off * g2) <= determinant && u * (off * g1 + one * g2) <= determinant;
  if (!passes || !(determinant > 0)) return 0;
  const double size = determinant / fmax(off, fmax(one, two));
  const double largest = fmax(m->result->column_size[k], m->result->column_size[k + 1]);
  return size > m->result->least * largest && exceeds_tiny(m, size) ? 2 : 0;
}

/* Order of the pivot at k; *r: the row to interchange with k (order 1) or k + 1 (order 2). */
static int choose(const block *m, tsi_index k, tsi_index *r) {
  const tsi_real diagonal = tsi_abs(m->a[k + k * m->ld]);
  const tsi_index below = largest_below(m, k);
  const tsi_real lambda = below == k ? 0 : tsi_abs(m->a[below + k * m->ld]);
  *r = k;
  if (m->result->second != NULL) {
    const int order = follow_order(m, k, (double)diagonal, (double)lambda);
    *r = k + (order == 2);
    if (order > 0) return order;
  }
  if (diagonal >= ALPHA * lambda) return 1;
  if ((double)lambda < m->result->nearest) m->result->nearest = (double)lambda;
  if (lambda < (tsi_real)m->result->tiny) return 1;
  /* what cancellation has left of a row that depends on others: with another row it would look like a pivot
   */
  if ((double)lambda <= m->result->least * largest_size(m)) return 1;
  tsi_real sigma = 0;
  for (tsi_index j = k; j < m->b; j++)
    if (j != below && tsi_abs(m->a[below + j * m->ld]) > sigma) sigma = tsi_abs(m->a[below + j * m->ld]);
  if (diagonal * sigma >= ALPHA * lambda * lambda) return 1;
  *r = below;
  return tsi_abs(m->a[below + below * m->ld]) >= ALPHA * sigma ? 1 : 2;
}

/* Free of rounding errors of the imaginary part. */
static tsi_scalar diagonal_of(const block *m, tsi_index k) {
  const tsi_scalar entry = m->a[k + k * m->ld];
  return m->adjoint ? tsi_re(entry) : entry;
}

/* Eliminates column k with its diagonal entry. */
static bool eliminate_1(const block *m, tsi_index k) {
  tsi_scalar *column = m->a + k * m->ld;
  column[k] = diagonal_of(m, k);
  const tsi_real size = tsi_abs(column[k]), tiny = (tsi_real)m->result->tiny;
  const bool perturb = tsi_pivoting_note(m->result, k, (double)size);
  if (m->result->failed != TSI_NONE) return false;
  if (perturb) column[k] = tsi_re(column[k]) < 0 ? -tiny : tiny;
  m->inverse[2 * k] = 1 / column[k];
  m->inverse[2 * k + 1] = 0;
  for (tsi_index j = k + 1; j < m->b; j++) {
    const tsi_scalar factor = image(m->adjoint, column[j]) * m->inverse[2 * k];
    tsi_scalar *to = m->a + j * m->ld;
    if (factor != 0)
      for (tsi_index i = k + 1; i < m->b; i++) to[i] -= column[i] * factor;
  }
  for (tsi_index i = k + 1; i < m->b; i++) column[i] *= m->inverse[2 * k];
  return true;
}

/* Notes the size of the pivot of order 2 at k, whose largest entry is `most`. */
static void measure_2(const block *m, tsi_index k, double determinant, double most) {
  const double columns = sqrt(m->result->column_size[k]) * sqrt(m->result->column_size[k + 1]);
  const double least = determinant / most;
  const bool by_least = m->result->threshold > 0 || least < TSI_SMALL_PIVOT * TSI_EPSILON * columns;
  tsi_pivoting_measure(m->result, k, by_least ? least : sqrt(determinant), columns);
}

/* Eliminates columns k and k + 1 with their diagonal block [d11 image(d21); d21 d22]. */
static bool eliminate_2(const block *m, tsi_index k) {
  tsi_scalar *c1 = m->a + k * m->ld, *c2 = c1 + m->ld;
  const tsi_scalar d21 = c1[k + 1], d12 = image(m->adjoint, d21);
  const tsi_scalar d11 = diagonal_of(m, k), d22 = diagonal_of(m, k + 1);
  const tsi_scalar determinant =
      d11 * d22 - d21 * d12; /* |.| >= (1 - alpha^2) |d21|^2 by the choice of the pivot */
  if (!isfinite(tsi_abs(determinant)) || determinant == 0) {
    tsi_pivoting_fail(m->result, k, TSI_PIVOT_NOT_FINITE);
    return false;
  }
  measure_2(m, k, (double)tsi_abs(determinant),
            fmax((double)tsi_abs(d21), fmax((double)tsi_abs(d11), (double)tsi_abs(d22))));
  const tsi_scalar i11 = d22 / determinant, i22 = d11 / determinant, i21 = -d21 / determinant,
                   i12 = -d12 / determinant;
  m->inverse[2 * k] = i11;
  m->inverse[2 * k + 1] = i21;
  m->inverse[2 * k + 2] = i22;
  m->inverse[2 * k + 3] = 0;
  for (tsi_index j = k + 2; j < m->b; j++) {
    const tsi_scalar r1 = image(m->adjoint, c1[j]), r2 = image(m->adjoint, c2[j]);
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

void TSI_TYPED(tsi_stripe_diagonal_ldl)(const tsi_front_stripe *panel, tsi_index *pivot,
                                        tsi_pivoting *result) {
  const int ld = panel->ldl;
  const tsi_index o = panel->begin, b = panel->rows;
  const block m = {panel->d, ld, b, result->adjoint, pivot, result->inverse, result};
  tsi_pivoting_begin(result);
  if (o > 0) tsi_gemm(CblasNoTrans, CblasNoTrans, b, b, o, panel->l, ld, panel->u, panel->ldu, m.a, ld);
  for (tsi_index j = 0; j < b; j++)
    for (tsi_index i = j + 1; i < b; i++) m.a[j + i * m.ld] = image(m.adjoint, m.a[i + j * m.ld]);
  for (tsi_index k = 0; k < b;) {
    tsi_index r;
    const int order = choose(&m, k, &r);
    pivot[k] = order == 1 ? r : k;
    if (order == 2) pivot[k + 1] = r;
    interchange(&m, k + order - 1, k, r);
    if (!(order == 1 ? eliminate_1(&m, k) : eliminate_2(&m, k))) return;
    k += order;
  }
}

void TSI_TYPED(tsi_front_diagonal_ldl)(const tsi_front *front, tsi_index o, tsi_index b, tsi_index *pivot,
                                       tsi_pivoting *result) {
  const tsi_front_stripe panel = tsi_front_stripe_of(front, sizeof(tsi_scalar), o, o + b);
  TSI_TYPED(tsi_stripe_diagonal_ldl)(&panel, pivot, result);
}

/* Columns of W = L D become those of L = W D^-1. */
static void divide(tsi_scalar *w, ptrdiff_t ld, tsi_index rows, tsi_index b, const tsi_scalar *inverse,
                   bool adjoint) {
  for (tsi_index k = 0; k < b; k++) {
    tsi_scalar *c1 = w + k * ld;
    const tsi_scalar i11 = inverse[2 * k], i21 = inverse[2 * k + 1];
    if (i21 == 0) {
      for (tsi_index i = 0; i < rows; i++) c1[i] *= i11;
      continue;
    }
    const tsi_scalar i22 = inverse[2 * k + 2], i12 = image(adjoint, i21);
    tsi_scalar *c2 = c1 + ld;
    for (tsi_index i = 0; i < rows; i++) {
      const tsi_scalar w1 = c1[i], w2 = c2[i];
      c1[i] = w1 * i11 + w2 * i21;
      c2[i] = w1 * i12 + w2 * i22;
    }
    k++;
  }
}

/* W = L D: rows of the columns of a panel, of which those of the panels before it are in l. */
static void find_products(const tsi_front_stripe *panel, const tsi_scalar *l, int ld, tsi_index rows,
                          const tsi_index *pivot, bool adjoint, tsi_scalar *w) {
  const tsi_index o = panel->begin, b = panel->rows;
  if (o > 0) tsi_gemm(CblasNoTrans, CblasNoTrans, rows, b, o, l, ld, panel->u, panel->ldu, w, ld);
  for (tsi_index k = 0; k < b; k++) {
    tsi_scalar *x = w + (ptrdiff_t)k * ld, *y = w + (ptrdiff_t)pivot[k] * ld;
    for (tsi_index i = 0; i < rows && pivot[k] != k; i++) {
      const tsi_scalar swap = x[i];
      x[i] = y[i];
      y[i] = swap;
    }
  }
  tsi_trsm(CblasRight, CblasLower, adjoint ? CblasConjTrans : CblasTrans, CblasUnit, rows, b, panel->d,
           panel->ldl, w, ld);
}

/* U = (L D)^T of the rows of a stripe. */
static void write_upper(const tsi_front_stripe *stripe, tsi_index o, tsi_index b, bool adjoint) {
  const tsi_scalar *w = (const tsi_scalar *)stripe->l + (ptrdiff_t)o * stripe->ldl;
  for (tsi_index i = 0; i < stripe->rows; i++) {
    tsi_scalar *u = (tsi_scalar *)stripe->u + o + (ptrdiff_t)i * stripe->ldu;
    for (tsi_index k = 0; k < b; k++) u[k] = image(adjoint, w[i + (ptrdiff_t)k * stripe->ldl]);
  }
}

void TSI_TYPED(tsi_stripe_below_ldl)(const tsi_front_stripe *panel, const tsi_front_stripe *stripe,
                                     const tsi_index *pivot, const void *inverse, bool adjoint) {
  const int ld = stripe->ldl;
  tsi_scalar *l = stripe->l, *w = l + (ptrdiff_t)panel->begin * ld;
  find_products(panel, l, ld, stripe->rows, pivot, adjoint, w);
  write_upper(stripe, panel->begin, panel->rows, adjoint);
  divide(w, ld, stripe->rows, panel->rows, inverse, adjoint);
}

void TSI_TYPED(tsi_front_below_ldl)(const tsi_front *front, tsi_index o, tsi_index b, tsi_index r0,
                                    tsi_index r1, const tsi_index *pivot, const void *inverse, bool adjoint) {
  const int ld = front->f;
  const tsi_index split = tsi_index_max(r0, tsi_index_min(r1, front->w));
  const tsi_front_stripe panel = tsi_front_stripe_of(front, sizeof(tsi_scalar), o, o + b),
                         inside = tsi_front_stripe_of(front, sizeof(tsi_scalar), r0, split),
                         behind = tsi_front_stripe_of(front, sizeof(tsi_scalar), split, r1);
  tsi_scalar *l = (tsi_scalar *)front->p + r0, *w = l + (ptrdiff_t)o * ld;
  find_products(&panel, l, ld, r1 - r0, pivot, adjoint, w);
  if (inside.rows > 0) write_upper(&inside, o, b, adjoint);
  if (behind.rows > 0) write_upper(&behind, o, b, adjoint);
  divide(w, ld, r1 - r0, b, inverse, adjoint);
}
