/* Changes one panel of a factor by a term of rank one: see low_rank.h. */
#include <math.h>

#include "codelets/cpu/base/scalar.h"
#include "codelets/cpu/low_rank.h"

static tsi_scalar image(const tsi_rank_panel *panel, tsi_scalar x) {
  return panel->adjoint ? tsi_conj(x) : x;
}

/* Pivots and alpha of a Hermitian matrix are free of rounding errors of the imaginary part. */
static tsi_scalar real_if_adjoint(const tsi_rank_panel *panel, tsi_scalar x) {
  return panel->adjoint ? tsi_re(x) : x;
}

static bool is_finite(tsi_scalar x) {
  return isfinite((double)tsi_re(x)) && isfinite((double)tsi_im(x));
}

/* Entry (i, j), j <= i, of the packed triangle. */
static tsi_scalar *triangle_entry(const tsi_rank_panel *panel, tsi_index i, tsi_index j) {
  const tsi_index first = i / TSI_ROW_BLOCK * TSI_ROW_BLOCK;
  const tsi_index rows = tsi_index_min(TSI_ROW_BLOCK, panel->w - first);
  tsi_scalar *block = (tsi_scalar *)panel->values + tsi_triangle_block(first);
  if (j < first) return block + (ptrdiff_t)j * rows + i - first;
  return block + (ptrdiff_t)rows * first + tsi_corner_column(rows, j - first) + i - j;
}

/* Rows first .. first + rows - 1 of the triangle. */
typedef struct row_block {
  tsi_index rows;
  tsi_scalar *before; /* rows x first, by columns */
  tsi_scalar *corner; /* packed by columns */
} row_block;

static row_block block_of(const tsi_rank_panel *panel, tsi_index first) {
  const tsi_index rows = tsi_index_min(TSI_ROW_BLOCK, panel->w - first);
  tsi_scalar *before = (tsi_scalar *)panel->values + tsi_triangle_block(first);
  return (row_block){rows, before, before + (ptrdiff_t)rows * first};
}

/* sum += (the columns before the corner) x */
static void add_rows(const row_block *t, tsi_index first, const tsi_scalar *x, tsi_scalar *sum) {
  const tsi_scalar *at = t->before;
  for (tsi_index j = 0; j < first; j++, at += t->rows)
    for (tsi_index r = 0; r < t->rows; r++) sum[r] += at[r] * x[j];
}

static tsi_scalar *rectangle(const tsi_rank_panel *panel) {
  return (tsi_scalar *)panel->values + tsi_triangle_size(panel->w);
}

/* Returns the order of the pivot at k. */
static tsi_index order_of(const tsi_rank_panel *panel, tsi_index k) {
  return panel->pivots && ((const tsi_scalar *)panel->pivots)[2 * k + 1] != 0 ? 2 : 1;
}

/* A pivot of order 2, or the inverse of one: [first image(below); below second]. */
typedef struct pair {
  tsi_scalar first, below, second;
} pair;

/* Returns false if d has no inverse. */
static bool invert(const tsi_rank_panel *panel, const pair *d, pair *out) {
  const tsi_scalar determinant = d->first * d->second - d->below * image(panel, d->below);
  *out = (pair){d->second / determinant, -d->below / determinant, d->first / determinant};
  return determinant != 0 && is_finite(out->first) && is_finite(out->below) && is_finite(out->second);
}

static pair inverse_at(const tsi_rank_panel *panel, tsi_index k) {
  const tsi_scalar *inverse = (const tsi_scalar *)panel->pivots + 2 * k;
  return (pair){inverse[0], inverse[1], inverse[2]};
}

/* ---- A term -------------------------------------------------------------------------------------------- */

/* The change of the panel's columns. */
typedef struct change {
  tsi_scalar *p, *b; /* w */
  tsi_scalar *root;  /* w; L L^T */
  tsi_scalar alpha;
} change;

/* p = L_K^-1 own, row block by row block: first the columns before it, then its corner. */
static void solve_own(const tsi_rank_panel *panel, const tsi_scalar *own, tsi_scalar *p) {
  const bool inverted = panel->inverse != TSI_INVERSE_NONE;
  for (tsi_index first = 0; first < panel->w; first += TSI_ROW_BLOCK) {
    const row_block t = block_of(panel, first);
    tsi_scalar sum[TSI_ROW_BLOCK] = {0};
    add_rows(&t, first, inverted ? own : p, sum);
    const tsi_scalar *c = t.corner;
    for (tsi_index j = 0; j < t.rows; c += t.rows - j++) {
      if (!inverted) p[first + j] = (own[first + j] - sum[j]) * c[0];
      const tsi_scalar x = inverted ? own[first + j] : p[first + j];
      for (tsi_index r = inverted ? j : j + 1; r < t.rows; r++) sum[r] += c[r - j] * x;
    }
    for (tsi_index r = 0; r < t.rows && inverted; r++) p[first + r] = sum[r];
  }
}

static bool change_llt(change *c, tsi_index k) {
  const tsi_real pivot = 1 + tsi_re(c->alpha * c->p[k] * tsi_conj(c->p[k]));
  if (!(pivot > 0) || !isfinite((double)pivot)) return false;
  c->b[k] = c->alpha * tsi_conj(c->p[k]) / pivot;
  c->root[k] = (tsi_real)sqrt((double)pivot);
  c->alpha /= pivot;
  return true;
}

/* pivots: of the changed panel. */
static bool change_1(const tsi_rank_panel *panel, change *c, tsi_index k, tsi_scalar *pivots) {
  const tsi_scalar before = 1 / pivots[2 * k], other = image(panel, c->p[k]);
  const tsi_scalar now = real_if_adjoint(panel, before + c->alpha * c->p[k] * other);
  if (now == 0 || !is_finite(1 / now)) return false;
  c->b[k] = c->alpha * other / now;
  c->alpha *= before / now;
  pivots[2 * k] = 1 / now;
  return true;
}

static bool change_2(const tsi_rank_panel *panel, change *c, tsi_index k, tsi_scalar *pivots) {
  const tsi_scalar p1 = c->p[k], p2 = c->p[k + 1], o1 = image(panel, p1), o2 = image(panel, p2);
  const pair before = inverse_at(panel, k);
  pair d, now;
  if (!invert(panel, &before, &d)) return false;
  d.first = real_if_adjoint(panel, d.first + c->alpha * p1 * o1);
  d.below += c->alpha * p2 * o1;
  d.second = real_if_adjoint(panel, d.second + c->alpha * p2 * o2);
  if (!invert(panel, &d, &now)) return false;
  c->b[k] = c->alpha * (o1 * now.first + o2 * now.below);
  c->b[k + 1] = c->alpha * (o1 * image(panel, now.below) + o2 * now.second);
  c->alpha = real_if_adjoint(panel, c->alpha - c->alpha * (c->b[k] * p1 + c->b[k + 1] * p2));
  pivots[2 * k] = now.first;
  pivots[2 * k + 1] = now.below;
  pivots[2 * k + 2] = now.second;
  return now.below != 0; /* zero marks a pivot of order 1 */
}

static bool find_change(const tsi_rank_panel *panel, change *c) {
  tsi_scalar *pivots = panel->pivots;
  for (tsi_index k = 0, order; k < panel->w; k += order) {
    order = order_of(panel, k);
    const bool fine = pivots == NULL ? change_llt(c, k)
                      : order == 2   ? change_2(panel, c, k, pivots)
                                     : change_1(panel, c, k, pivots);
    if (!fine || !is_finite(c->alpha)) return false;
  }
  return true;
}

/* Returns the first column of the pivot of column i. */
static tsi_index pivot_begin(const tsi_rank_panel *panel, tsi_index i) {
  return i > 0 && order_of(panel, i - 1) == 2 ? i - 1 : i;
}

/* Changes the rows of one row block, column by column. */
INLINE void change_rows(const tsi_rank_panel *panel, const change *c, const tsi_index rows, tsi_scalar *g,
                        tsi_scalar *z) {
  for (tsi_index k = 0, order; k < panel->w; k += order) {
    tsi_scalar *first = g + (ptrdiff_t)k * rows, *second = first + rows;
    order = order_of(panel, k);
    for (tsi_index i = 0; i < rows; i++) {
      z[i] -= c->p[k] * first[i];
      if (order == 2) z[i] -= c->p[k + 1] * second[i];
      first[i] += c->b[k] * z[i];
      if (order == 2) second[i] += c->b[k + 1] * z[i];
      if (panel->pivots == NULL) first[i] *= c->root[k];
    }
  }
}

/* L L^T: changes a column of a row block of the inverse; continues the sum of earlier rows. */
INLINE tsi_scalar change_column(const change *c, tsi_index i, tsi_index rows, tsi_scalar *entry,
                                tsi_scalar sum) {
  for (tsi_index r = 0; r < rows; r++) {
    const tsi_scalar now = entry[r] - c->p[i + r] * sum;
    sum += c->b[i + r] * now;
    entry[r] = now / c->root[i + r];
  }
  return sum;
}

static void change_inverse_llt(const tsi_rank_panel *panel, const change *c, tsi_scalar *sums) {
  for (tsi_index first = 0; first < panel->w; first += TSI_ROW_BLOCK) {
    const row_block t = block_of(panel, first);
    tsi_scalar *corner = t.corner;
    for (tsi_index j = 0; j < first; j++)
      sums[j] = change_column(c, first, t.rows, t.before + (ptrdiff_t)j * t.rows, sums[j]);
    for (tsi_index j = 0; j < t.rows; corner += t.rows - j++)
      sums[first + j] = change_column(c, first + j, t.rows - j, corner, 0);
  }
}

/* L D L^T: L_K'^-1 = K^-1 L_K^-1. sums: w, over earlier rows. */
static void change_inverse(const tsi_rank_panel *panel, const change *c, tsi_scalar *sums) {
  for (tsi_index j = 0; j < panel->w; j++) sums[j] = 0;
  for (tsi_index k = 0, order; k < panel->w; k += order) {
    order = order_of(panel, k);
    for (tsi_index j = 0; j < k + order; j++) {
      const tsi_scalar before = sums[j];
      for (tsi_index i = tsi_index_max(j, k); i < k + order; i++) {
        tsi_scalar *entry = triangle_entry(panel, i, j);
        *entry -= c->p[i] * before;
        sums[j] += c->b[i] * *entry;
      }
    }
  }
}

/* L_K' = L_K K; the diagonal of L L^T holds reciprocals. */
static void change_diagonal(const tsi_rank_panel *panel, const change *c, const tsi_scalar *own) {
  for (tsi_index i = 0; i < panel->w; i++) {
    tsi_scalar z = own[i];
    const tsi_index end = pivot_begin(panel, i);
    for (tsi_index k = 0, order; k < end; k += order) {
      order = order_of(panel, k);
      for (tsi_index j = k; j < k + order; j++) z -= c->p[j] * *triangle_entry(panel, i, j);
      for (tsi_index j = k; j < k + order; j++) {
        tsi_scalar *entry = triangle_entry(panel, i, j);
        *entry += c->b[j] * z;
        if (panel->pivots == NULL) *entry *= c->root[j];
      }
    }
    if (panel->pivots == NULL) *triangle_entry(panel, i, i) /= c->root[i];
  }
}

static bool add(const tsi_rank_panel *panel, const void *own, void *rest, void *alpha, void *work) {
  tsi_scalar *space = work, *z = rest, *g = rectangle(panel);
  change c = {.p = space, .b = space + panel->w, .root = space + 2 * panel->w, .alpha = *(tsi_scalar *)alpha};
  if (c.alpha == 0) return true;
  solve_own(panel, own, c.p);
  if (!find_change(panel, &c)) return false;
  for (tsi_index i = 0; i < panel->m; i += TSI_ROW_BLOCK, g += TSI_ROW_BLOCK * (ptrdiff_t)panel->w) {
    const tsi_index rows = tsi_index_min(TSI_ROW_BLOCK, panel->m - i);
    if (rows == TSI_ROW_BLOCK)
      change_rows(panel, &c, TSI_ROW_BLOCK, g, z + i);
    else
      change_rows(panel, &c, rows, g, z + i);
  }
  if (panel->inverse == TSI_INVERSE_NONE)
    change_diagonal(panel, &c, own);
  else if (panel->pivots == NULL)
    change_inverse_llt(panel, &c, space + 3 * panel->w);
  else
    change_inverse(panel, &c, space + 3 * panel->w);
  *(tsi_scalar *)alpha = c.alpha;
  return true;
}

/* ---- A product ----------------------------------------------------------------------------------------- */

/* t = L_K^H own */
static void multiply_transposed(const tsi_rank_panel *panel, const tsi_scalar *own, tsi_scalar *t) {
  const bool inverted = panel->inverse != TSI_INVERSE_NONE;
  const tsi_scalar sign = inverted ? -1 : 1, *x = inverted ? t : own;
  for (tsi_index i = 0; i < panel->w; i++) t[i] = inverted ? own[i] : 0;
  for (tsi_index first = (panel->w - 1) / TSI_ROW_BLOCK * TSI_ROW_BLOCK; first >= 0; first -= TSI_ROW_BLOCK) {
    const row_block block = block_of(panel, first);
    for (tsi_index j = block.rows; j-- > 0;) {
      const tsi_scalar *c = block.corner + tsi_corner_column(block.rows, j), diagonal = image(panel, c[0]);
      tsi_scalar sum = inverted ? t[first + j] : own[first + j] / diagonal;
      for (tsi_index r = j + 1; r < block.rows; r++) sum += sign * image(panel, c[r - j]) * x[first + r];
      t[first + j] = inverted ? sum / diagonal : t[first + j] + sum;
    }
    for (tsi_index j = 0; j < first; j++) {
      const tsi_scalar *at = block.before + (ptrdiff_t)j * block.rows;
      tsi_scalar sum = 0;
      for (tsi_index r = 0; r < block.rows; r++) sum += image(panel, at[r]) * x[first + r];
      t[j] += sign * sum;
    }
  }
}

/* y += L_K t. work: w. */
static void multiply_own(const tsi_rank_panel *panel, const tsi_scalar *t, tsi_scalar *y, tsi_scalar *work) {
  const bool inverted = panel->inverse != TSI_INVERSE_NONE;
  for (tsi_index first = 0; first < panel->w; first += TSI_ROW_BLOCK) {
    const row_block block = block_of(panel, first);
    const tsi_scalar *c = block.corner;
    tsi_scalar sum[TSI_ROW_BLOCK] = {0};
    add_rows(&block, first, inverted ? work : t, sum);
    for (tsi_index j = 0; j < block.rows; c += block.rows - j++) {
      work[first + j] = inverted ? (t[first + j] - sum[j]) / c[0] : sum[j] + t[first + j] / c[0];
      const tsi_scalar x = inverted ? work[first + j] : t[first + j];
      for (tsi_index r = j + 1; r < block.rows; r++) sum[r] += c[r - j] * x;
    }
    for (tsi_index r = 0; r < block.rows; r++) y[first + r] += work[first + r];
  }
}

/* t := D t for a pivot of order 2; NaN if the pivot has no inverse. */
static void multiply_pair(const tsi_rank_panel *panel, tsi_index k, tsi_scalar *t) {
  const tsi_scalar first = t[0], second = t[1];
  const pair inverse = inverse_at(panel, k);
  pair d;
  if (!invert(panel, &inverse, &d)) d.first = d.second = (tsi_real)NAN;
  t[0] = d.first * first + image(panel, d.below) * second;
  t[1] = d.below * first + d.second * second;
}

/* t := D t. */
static void multiply_pivots(const tsi_rank_panel *panel, tsi_scalar *t) {
  const tsi_scalar *inverse = panel->pivots;
  for (tsi_index k = 0, order; inverse && k < panel->w; k += order) {
    order = order_of(panel, k);
    if (order == 2)
      multiply_pair(panel, k, t + k);
    else
      t[k] /= inverse[2 * k];
  }
}

/* t += G^H x */
static void gather_below(const tsi_rank_panel *panel, const tsi_scalar *x, tsi_scalar *t) {
  const tsi_scalar *at = rectangle(panel);
  for (tsi_index i = 0; i < panel->m; i += TSI_ROW_BLOCK) {
    const tsi_index rows = tsi_index_min(TSI_ROW_BLOCK, panel->m - i);
    for (tsi_index j = 0; j < panel->w; j++, at += rows)
      for (tsi_index r = 0; r < rows; r++) t[j] += image(panel, at[r]) * x[i + r];
  }
}

/* y += G t, size += |G| |t| */
static void scatter_below(const tsi_rank_panel *panel, const tsi_scalar *t, tsi_scalar *y, double *size) {
  const tsi_scalar *at = rectangle(panel);
  for (tsi_index i = 0; i < panel->m; i += TSI_ROW_BLOCK) {
    const tsi_index rows = tsi_index_min(TSI_ROW_BLOCK, panel->m - i);
    for (tsi_index j = 0; j < panel->w; j++, at += rows)
      for (tsi_index r = 0; r < rows; r++) {
        const tsi_scalar term = at[r] * t[j];
        y[i + r] += term;
        size[i + r] += fabs((double)tsi_re(term)) + fabs((double)tsi_im(term));
      }
  }
}

static void apply(const tsi_rank_panel *panel, const void *own, const void *rest, void *y_own, void *y_rest,
                  double *size, void *work) {
  tsi_scalar *t = work, *product = t + panel->w;
  multiply_transposed(panel, own, t);
  gather_below(panel, rest, t);
  multiply_pivots(panel, t);
  multiply_own(panel, t, y_own, product);
  for (tsi_index i = 0; i < panel->w; i++) size[i] += (double)tsi_abs(t[i]) + (double)tsi_abs(product[i]);
  scatter_below(panel, t, y_rest, size + panel->w);
}

extern const tsi_rank_kernels TSI_TYPED(tsi_rank_kernels);
const tsi_rank_kernels TSI_TYPED(tsi_rank_kernels) = {.add = add, .apply = apply};
