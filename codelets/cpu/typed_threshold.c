/* Threshold pivoting in a dense front: see threshold.h. */
#include "codelets/cpu/threshold.h"

#include <math.h>
#include <string.h>

#include "codelets/cpu/base/blas.h"
#include "codelets/cpu/base/panel.h"

#define WINDOW 64      /* number of columns that are kept up to date */
#define SMALL_GROWTH 2 /* pivots of order 1 with at most this |l_ik| are used without a test of order 2 */

/* The front during the search for pivots. Columns k .. wide-1 are up to date; of these, k .. tested-1 have
 * failed. Columns from `end` on have failed before. */
typedef struct block {
  tsi_threshold_front *front;
  tsi_scalar *a;
  ptrdiff_t ld;
  tsi_index first; /* first pivot of the window */
  tsi_index k;     /* number of pivots so far */
  tsi_index tested, wide, end;
} block;

static void swap_numbers(tsi_index *number, tsi_index i, tsi_index j) {
  const tsi_index keep = number[i];
  number[i] = number[j];
  number[j] = keep;
}

static void swap_columns(const block *m, tsi_index i, tsi_index j) {
  tsi_scalar *x = m->a + i * m->ld, *y = m->a + j * m->ld;
  if (i == j) return;
  for (tsi_index r = 0; r < m->front->f; r++) {
    const tsi_scalar keep = x[r];
    x[r] = y[r];
    y[r] = keep;
  }
  swap_numbers(m->front->column, i, j);
}

/* Swaps rows in the columns that are still needed. */
static void swap_rows(const block *m, tsi_index i, tsi_index j) {
  if (i == j) return;
  for (tsi_index c = m->first; c < m->front->f; c++) {
    const tsi_scalar keep = m->a[i + c * m->ld];
    m->a[i + c * m->ld] = m->a[j + c * m->ld];
    m->a[j + c * m->ld] = keep;
  }
  if (m->front->row != NULL) swap_numbers(m->front->row, i, j);
}

/* Exchanges columns; LDLT: also rows. */
static void exchange(const block *m, tsi_index i, tsi_index j) {
  swap_columns(m, i, j);
  if (m->front->row == NULL) swap_rows(m, i, j);
}

/* Returns the size of the largest entry of column c in rows begin .. end-1, except two rows. */
static double largest(const block *m, tsi_index c, tsi_index begin, tsi_index end, tsi_index but,
                      tsi_index nor, tsi_index *row) {
  const tsi_scalar *column = m->a + c * m->ld;
  double most = 0;
  *row = TSI_NONE;
  for (tsi_index i = begin; i < end; i++) {
    const double size = (double)tsi_abs(column[i]);
    if (i == but || i == nor || !(size > most)) continue;
    most = size;
    *row = i;
  }
  return most;
}

static double noise_of(const block *m, tsi_index c) {
  return m->front->noise * m->front->size[m->front->column[c]];
}

/* ---- Elimination --------------------------------------------------------------------------------------- */

/* Eliminates column k with the pivot in its row k. */
static void eliminate_1(block *m) {
  const tsi_index k = m->k, f = m->front->f;
  tsi_scalar *column = m->a + k * m->ld;
  const tsi_scalar inverse = 1 / column[k];
  for (tsi_index i = k + 1; i < f; i++) column[i] *= inverse;
  for (tsi_index j = k + 1; j < m->wide; j++) {
    tsi_scalar *to = m->a + j * m->ld;
    const tsi_scalar factor = to[k];
    if (factor != 0)
      for (tsi_index i = k + 1; i < f; i++) to[i] -= column[i] * factor;
  }
  m->k++;
}

/* Eliminates columns k and k + 1 with their diagonal block. */
static void eliminate_2(block *m) {
  const tsi_index k = m->k, f = m->front->f;
  tsi_scalar *c1 = m->a + k * m->ld, *c2 = c1 + m->ld;
  const tsi_scalar d11 = c1[k], d21 = c1[k + 1], d12 = c2[k], d22 = c2[k + 1];
  const tsi_scalar determinant = d11 * d22 - d21 * d12;
  const tsi_scalar i11 = d22 / determinant, i21 = -d21 / determinant, i12 = -d12 / determinant,
                   i22 = d11 / determinant;
  for (tsi_index i = k + 2; i < f; i++) {
    const tsi_scalar w1 = c1[i], w2 = c2[i];
    c1[i] = w1 * i11 + w2 * i21;
    c2[i] = w1 * i12 + w2 * i22;
  }
  c1[k + 1] = 0; /* L is the identity inside the pivot */
  for (tsi_index j = k + 2; j < m->wide; j++) {
    tsi_scalar *to = m->a + j * m->ld;
    const tsi_scalar f1 = to[k], f2 = to[k + 1];
    for (tsi_index i = k + 2; i < f; i++) to[i] -= c1[i] * f1 + c2[i] * f2;
  }
  m->front->second[k] = false;
  m->front->second[k + 1] = true;
  m->k += 2;
}

/* Updates columns begin .. end-1, which are not up to date, by the pivots of the window. */
static void update(const block *m, tsi_index begin, tsi_index end) {
  const tsi_index pivots = m->k - m->first, columns = end - begin;
  const int ld = (int)m->ld;
  tsi_scalar *diagonal = m->a + m->first + m->first * m->ld, *to = m->a + m->first + begin * m->ld;
  if (pivots == 0 || columns == 0) return;
  tsi_trsm(CblasLeft, CblasLower, CblasNoTrans, CblasUnit, pivots, columns, diagonal, ld, to, ld);
  if (m->front->f > m->k)
    tsi_gemm(CblasNoTrans, CblasNoTrans, m->front->f - m->k, columns, pivots, diagonal + pivots, ld, to, ld,
             to + pivots, ld);
}

/* ---- Tests --------------------------------------------------------------------------------------------- */

static void test_lu(block *m) {
  const tsi_threshold_front *front = m->front;
  const tsi_index c = m->tested;
  tsi_index row, any, diagonal = TSI_NONE;
  const double best = largest(m, c, m->k, front->candidates, TSI_NONE, TSI_NONE, &row);
  const double most = largest(m, c, m->k, front->f, TSI_NONE, TSI_NONE, &any);
  m->tested++;
  if (!(best >= front->threshold * most) || !(best > noise_of(m, c))) return;
  for (tsi_index i = m->k; i < front->candidates && diagonal == TSI_NONE; i++)
    if (front->row[i] == front->column[c]) diagonal = i;
  if (diagonal != TSI_NONE && (double)tsi_abs(m->a[diagonal + c * m->ld]) >= front->threshold * most)
    row = diagonal;
  swap_columns(m, c, m->k);
  swap_rows(m, row, m->k);
  eliminate_1(m);
}

/* Brings column r up to date, as the last one of the window. */
static tsi_index bring_in(block *m, tsi_index r) {
  if (r < m->wide) return r;
  if (r >= m->end) { /* it failed before */
    exchange(m, r, m->end);
    r = m->end++;
  }
  exchange(m, r, m->wide);
  update(m, m->wide, m->wide + 1);
  return m->wide++;
}

/* Returns the bound for entries of L with the pivot D of order 2 of columns c and r; INFINITY: D is singular
 * up to rounding errors. Each of its rows must exceed the noise after the other row is eliminated. */
static double growth_2(const block *m, tsi_index c, tsi_index r) {
  const tsi_scalar d11 = m->a[c + c * m->ld], d21 = m->a[r + c * m->ld], d12 = m->a[c + r * m->ld],
                   d22 = m->a[r + r * m->ld];
  const double determinant = (double)tsi_abs(d11 * d22 - d21 * d12);
  const double off = (double)tsi_abs(d21), one = (double)tsi_abs(d11), two = (double)tsi_abs(d22);
  const double noise_c = noise_of(m, c), noise_r = noise_of(m, r);
  const double cancelled = fmax(off * sqrt(noise_c) * sqrt(noise_r), fmax(one * noise_r, two * noise_c));
  tsi_index row;
  if (!(determinant > cancelled)) return INFINITY;
  const double g1 = largest(m, c, m->k, m->front->f, c, r, &row),
               g2 = largest(m, r, m->k, m->front->f, c, r, &row);
  return fmax(two * g1 + off * g2, off * g1 + one * g2) / determinant;
}

static void test_ldl(block *m) {
  const double most = 1 / m->front->threshold;
  tsi_index c = m->tested++, partner = TSI_NONE, any;
  const double diagonal = (double)tsi_abs(m->a[c + c * m->ld]);
  const double below = largest(m, c, m->k, m->front->f, c, c, &any);
  const double one = diagonal > noise_of(m, c) ? below / diagonal : INFINITY;
  double two = INFINITY;
  if (one > SMALL_GROWTH) {
    (void)largest(m, c, m->k, m->front->candidates, c, c, &partner);
    if (partner != TSI_NONE) partner = bring_in(m, partner);
    if (partner != TSI_NONE) two = growth_2(m, c, partner);
  }
  if (!(fmin(one, two) <= most)) return;
  exchange(m, c, m->k);
  if (one <= two) {
    m->front->second[m->k] = false;
    eliminate_1(m);
    return;
  }
  exchange(m, partner == m->k ? c : partner, m->k + 1);
  eliminate_2(m);
  m->tested = tsi_index_max(m->tested, m->k);
}

/* ---- A front ------------------------------------------------------------------------------------------- */

/* Exchanges the failed columns of the window with the last columns that are not tested yet. */
static void set_aside(block *m) {
  const tsi_index failed = m->wide - m->k, others = m->end - m->wide;
  for (tsi_index t = 0; t < failed && t < others; t++) exchange(m, m->k + t, m->end - 1 - t);
  m->end -= failed;
}

static void eliminate(tsi_threshold_front *front) {
  block m = {.front = front, .a = front->a, .ld = front->f};
  front->eliminated = 0;
  for (tsi_index before = -1; before < m.k && m.k < front->candidates;) {
    before = m.k;
    m.end = front->candidates;
    while (m.k < m.end) {
      if (front->is_cancelled != NULL && front->is_cancelled(front->arg, m.k)) return;
      m.first = m.tested = m.k;
      m.wide = tsi_index_min(m.k + WINDOW, m.end);
      while (m.tested < m.wide) front->row != NULL ? test_lu(&m) : test_ldl(&m);
      update(&m, m.wide, front->f);
      m.first = m.k;
      set_aside(&m);
    }
  }
  front->eliminated = m.k;
}

static void copy_corner(tsi_index f, const void *a, tsi_index m, void *to) {
  const tsi_scalar *from = (const tsi_scalar *)a + (f - m) * ((ptrdiff_t)f + 1);
  for (tsi_index j = 0; j < m; j++)
    memcpy((tsi_scalar *)to + (ptrdiff_t)j * m, from + (ptrdiff_t)j * f, (size_t)m * sizeof *from);
}

static tsi_index count_above(tsi_index w, tsi_index m, const void *packed, double most, double *size) {
  const tsi_scalar *at = (const tsi_scalar *)packed + tsi_triangle_size(w);
  tsi_index count = 0;
  for (tsi_index k = 0; k < w; k++) size[k] = 0;
  for (tsi_index r = 0; r < m; r += TSI_ROW_BLOCK) {
    const tsi_index rows = tsi_index_min(TSI_ROW_BLOCK, m - r);
    for (tsi_index k = 0; k < w; k++, at += rows)
      for (tsi_index i = 0; i < rows; i++) size[k] = fmax(size[k], (double)tsi_abs(at[i]));
  }
  for (tsi_index k = 0; k < w; k++) count += !(size[k] <= most);
  return count;
}

const tsi_threshold_kernels TSI_TYPED(tsi_threshold_kernels) = {
    .eliminate = eliminate, .copy_corner = copy_corner, .count_above = count_above};
