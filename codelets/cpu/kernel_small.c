/* Small fronts: see small_front.h. Compiled for each scalar type and instruction set.
 *
 * The columns of the supernode are copied to arrays of whole vectors, with zeros behind their ends, so that
 * no loop has a remainder: the diagonal block to D, the rows below to B. Each elimination updates all columns
 * to its right. Then the columns of Q and C follow, one after the other. */
#include "codelets/cpu/small_front.h"

#include "codelets/cpu/base/scalar.h"

#if !TSI_COMPLEX
#include "codelets/cpu/base/pack.h"
#include "codelets/cpu/base/vector.h"

enum { W = TSI_SMALL_WIDTH, M = TSI_SMALL_ROWS };

typedef struct block {
  tsi_index w, m;
  tsi_index vectors;                        /* of B in a column */
  _Alignas(64) tsi_scalar d[W][W], l[W][W]; /* by column: what is left, and U; L below the diagonal, else 0 */
  _Alignas(64) tsi_scalar b[W][M];          /* by column */
  tsi_scalar reciprocal[W];                 /* of the diagonal of U, LLT: of L */
  vec nothing;                              /* zeros, unless an entry of the panels is not finite */
} block;

/* A one with zeros around it: unit + W - i is column i of the identity. */
static const tsi_scalar unit[2 * W] = {[W] = 1};

INLINE vec minus_times(vec a, vec v, tsi_scalar t) {
  EACH_REG(r) a.r[r] -= v.r[r] * t;
  return a;
}
INLINE vec times(vec a, tsi_scalar t) {
  EACH_REG(r) a.r[r] *= t;
  return a;
}

/* Scalars of vector v of a column of `rows` rows. */
INLINE tsi_index scalars_of(tsi_index rows, tsi_index v) {
  return tsi_index_min(B, rows - v * B);
}

/* Entries of a panel: are they finite? */
INLINE vec noted(block *a, vec v) {
  a->nothing = plus(a->nothing, times(v, 0));
  return v;
}

/* parts: vectors in a column of D, a constant, as everywhere. */
INLINE void load_block(const tsi_front *front, const int parts, block *a) {
  const tsi_scalar *column = front->p;
  a->w = front->w;
  a->m = front->m;
  a->nothing = no_vec();
  a->vectors = (a->m + B - 1) / B;
  for (tsi_index k = 0; k < a->w; k++, column += front->f) {
    for (int v = 0; v < parts; v++) store(a->d[k] + v * B, load_some(column + v * B, scalars_of(a->w, v)));
    for (tsi_index v = 0; v < a->vectors; v++)
      store(a->b[k] + v * B, load_some(column + a->w + v * B, scalars_of(a->m, v)));
  }
}

/* Column k of L and B: what is left of it over the pivot. */
INLINE void scale_column(block *a, const int parts, tsi_index k, tsi_scalar pivot) {
  const tsi_scalar t = 1 / pivot;
  a->reciprocal[k] = t;
  for (int v = 0; v < parts; v++) {
    const int above = (int)k + 1 - v * B;
    store(a->l[k] + v * B, scalars_from(times(load(a->d[k] + v * B), t), above < 0   ? 0
                                                                         : above > B ? B
                                                                                     : above));
  }
  for (tsi_index v = 0; v < a->vectors; v++) store(a->b[k] + v * B, times(load(a->b[k] + v * B), t));
}

/* Column j -= t times column k of L and B. */
INLINE void subtract_column(block *a, const int parts, tsi_index k, tsi_index j, tsi_scalar t) {
  for (int v = 0; v < parts; v++)
    store(a->d[j] + v * B, minus_times(load(a->d[j] + v * B), load(a->l[k] + v * B), t));
  for (tsi_index v = 0; v < a->vectors; v++)
    store(a->b[j] + v * B, minus_times(load(a->b[j] + v * B), load(a->b[k] + v * B), t));
}

/* A column of C, from vector v on, -= B u. */
INLINE void subtract_product(const block *a, tsi_index v, const tsi_scalar *u, tsi_scalar *c) {
  for (; v < a->vectors; v++) {
    const tsi_index count = scalars_of(a->m, v);
    vec left = load_some(c + v * B, count);
    for (tsi_index k = 0; k < a->w; k++) left = minus_times(left, load(a->b[k] + v * B), u[k]);
    store_some(c + v * B, left, count);
  }
}

/* ---- Packing ------------------------------------------------------------------------------------------- */

/* The inverse of a triangle by substitution, row by row: entry (i, k) below the diagonal is from[i * row_step
 * + k * column_step]. diagonal: reciprocals, NULL: ones. No scalar is written where a vector is read soon. */
INLINE void invert(block *a, const int parts, const tsi_scalar *from, ptrdiff_t row_step,
                   ptrdiff_t column_step, const tsi_scalar *diagonal, tsi_scalar *x) {
  for (tsi_index i = 0; i < a->w; i++) {
    vec row[2];
    for (int v = 0; v < parts; v++) row[v] = load(unit + W - i + v * B);
    for (tsi_index k = 0; k < i; k++)
      for (int v = 0; v < parts; v++)
        row[v] = minus_times(row[v], load(x + k * W + v * B), from[i * row_step + k * column_step]);
    for (int v = 0; v < parts; v++)
      store(x + i * W + v * B, noted(a, diagonal ? times(row[v], diagonal[i]) : row[v]));
  }
}

INLINE void copy_triangle(block *a, const int parts, const tsi_scalar *from, ptrdiff_t row_step,
                          ptrdiff_t column_step, const tsi_scalar *diagonal, tsi_scalar *x) {
  for (tsi_index i = 0; i < a->w; i++) {
    for (tsi_index k = 0; k < W; k++) x[i * W + k] = k < i ? from[i * row_step + k * column_step] : 0;
    x[i * W + i] = diagonal ? diagonal[i] : 1;
    for (int v = 0; v < parts; v++) (void)noted(a, load(x + i * W + v * B));
  }
}

/* Packs all of a panel but its rectangle; arguments as above. Returns the rectangle. */
INLINE tsi_scalar *begin_panel(block *a, const int parts, const tsi_scalar *from, ptrdiff_t row_step,
                               ptrdiff_t column_step, const tsi_scalar *diagonal, tsi_inverse inverse,
                               tsi_scalar *to) {
  _Alignas(64) tsi_scalar x[W * W];
  tsi_scalar *rectangle = to + tsi_triangle_size(a->w);
  if (inverse == TSI_INVERSE_NONE)
    copy_triangle(a, parts, from, row_step, column_step, diagonal, x);
  else
    invert(a, parts, from, row_step, column_step, diagonal, x);
  tsi_zero_between(tsi_pack_triangle((tsi_pack_source){x, W, 1}, a->w, to), rectangle);
  tsi_zero_between(rectangle + (ptrdiff_t)a->m * a->w, to + tsi_panel_size(a->w, a->m));
  return rectangle;
}

/* TSI_INVERSE_PARTITIONED: R = B L^-1 by substitution, whose backward error is smaller than that of a product
 * with the inverse. */
INLINE void divide_block(const block *a, const tsi_scalar *diagonal, tsi_scalar r[W][M]) {
  for (tsi_index k = a->w; k-- > 0;)
    for (tsi_index v = 0; v < a->vectors; v++) {
      vec x = load(a->b[k] + v * B);
      for (tsi_index j = k + 1; j < a->w; j++) x = minus_times(x, load(r[j] + v * B), a->l[k][j]);
      store(r[k] + v * B, diagonal ? times(x, diagonal[k]) : x);
    }
}

INLINE void pack_lower(block *a, const int parts, const tsi_scalar *diagonal, const tsi_small_factors *made) {
  _Alignas(64) tsi_scalar r[W][M];
  const bool divided = made->inverse == TSI_INVERSE_PARTITIONED;
  tsi_scalar *to = begin_panel(a, parts, a->l[0], 1, W, diagonal, made->inverse, made->lower);
  if (divided) divide_block(a, diagonal, r);
  for (tsi_index v = 0; v < a->vectors; v++) {
    const tsi_index count = scalars_of(a->m, v);
    for (tsi_index k = 0; k < a->w; k++, to += count)
      store_some(to, noted(a, load((divided ? r[k] : a->b[k]) + v * B)), count);
  }
}

INLINE void check_panels(const block *a, const tsi_small_factors *made) {
  if (sum_vec(a->nothing) != 0) tsi_pivoting_fail(made->result, 0, TSI_PIVOT_NOT_FINITE);
}

/* ---- L U ----------------------------------------------------------------------------------------------- */

INLINE void swap(tsi_scalar *x, tsi_index i, tsi_index k) {
  const tsi_scalar keep = x[i];
  x[i] = x[k];
  x[k] = keep;
}

/* The row of the largest entry of column k, from row k on, becomes row k, also of Q. */
INLINE void interchange(block *a, tsi_index k, tsi_index *pivot, tsi_scalar *q) {
  tsi_index best = k;
  for (tsi_index i = k + 1; i < a->w; i++)
    if (tsi_abs(a->d[k][i]) > tsi_abs(a->d[k][best])) best = i;
  pivot[k] = best;
  if (best == k) return;
  for (tsi_index j = 0; j < a->w; j++) swap(a->d[j], k, best);
  for (tsi_index j = 0; j < k; j++) swap(a->l[j], k, best);
  for (tsi_index j = 0; j < a->m; j++) swap(q + (ptrdiff_t)j * a->w, k, best);
}

/* Does every pivot serve? */
INLINE bool eliminate(block *a, const int parts, tsi_scalar *q, const tsi_small_factors *made) {
  tsi_pivoting *result = made->result;
  const tsi_real tiny = (tsi_real)result->tiny;
  for (tsi_index k = 0; k < a->w; k++) {
    interchange(a, k, made->pivot, q);
    tsi_scalar *pivot = &a->d[k][k];
    const tsi_real size = tsi_abs(*pivot);
    if (tsi_pivoting_note(result, k, (double)size)) *pivot = size == 0 ? tiny : *pivot / size * tiny;
    if (result->failed != TSI_NONE) return false;
    scale_column(a, parts, k, *pivot);
    for (tsi_index j = k + 1; j < a->w; j++)
      if (a->d[j][k] != 0) subtract_column(a, parts, k, j, a->d[j][k]);
  }
  return true;
}

/* A column of Q becomes one of U. */
INLINE void solve_column(block *a, const int parts, const tsi_scalar *q, tsi_scalar *u) {
  vec x[2];
  for (int v = 0; v < parts; v++) x[v] = load_some(q + v * B, scalars_of(a->w, v));
  for (int v = 0; v < parts; v++) store(u + v * B, x[v]);
  for (tsi_index k = 0; k + 1 < a->w; k++) {
    const tsi_scalar t = u[k];
    for (int v = 0; v < parts; v++) x[v] = minus_times(x[v], load(a->l[k] + v * B), t);
    for (int v = 0; v < parts; v++) store(u + v * B, x[v]);
  }
  for (int v = 0; v < parts; v++) (void)noted(a, x[v]);
}

/* TSI_INVERSE_PARTITIONED: a row of the rectangle, u U^-1 by substitution. r: W zeros. */
INLINE void divide_row(block *a, const int parts, const tsi_scalar *u, tsi_scalar *r) {
  for (tsi_index k = a->w; k-- > 0;) {
    tsi_scalar x = u[k];
    for (tsi_index j = k + 1; j < a->w; j++) x -= r[j] * a->d[j][k];
    r[k] = x * a->reciprocal[k];
  }
  for (int v = 0; v < parts; v++) (void)noted(a, load(r + v * B));
}

INLINE void factor_lu(const tsi_front *front, const int parts, const tsi_small_factors *made) {
  block a;
  _Alignas(64) tsi_scalar u[W], divided[W] = {0};
  const tsi_scalar *packed = made->inverse == TSI_INVERSE_PARTITIONED ? divided : u;
  const tsi_index w = front->w, m = front->m;
  tsi_scalar *q = front->q;
  load_block(front, parts, &a);
  if (!eliminate(&a, parts, q, made)) return;
  pack_lower(&a, parts, NULL, made);
  tsi_scalar *to = begin_panel(&a, parts, a.d[0], W, 1, a.reciprocal, made->inverse, made->upper);
  for (tsi_index j = 0; j < m; j++) {
    const tsi_index stride = scalars_of(m, j / B);
    tsi_scalar *row = to + (ptrdiff_t)(j / B * B) * w + j % B;
    solve_column(&a, parts, q + (ptrdiff_t)j * w, u);
    if (packed == divided) divide_row(&a, parts, u, divided);
    for (tsi_index k = 0; k < w; k++) row[k * stride] = packed[k];
    subtract_product(&a, 0, u, (tsi_scalar *)front->c + (ptrdiff_t)j * m);
  }
  check_panels(&a, made);
}

static void lu_front(const tsi_front *front, const tsi_small_factors *made) {
  tsi_pivoting_begin(made->result);
  if (front->w <= B)
    factor_lu(front, 1, made);
  else
    factor_lu(front, 2, made);
}

/* ---- L L^T --------------------------------------------------------------------------------------------- */

/* Is the pivot of column k positive? */
INLINE bool take_root(block *a, tsi_index k, tsi_pivoting *result) {
  tsi_scalar *pivot = &a->d[k][k];
  if (!(*pivot > 0)) {
    tsi_pivoting_fail(result, k, isfinite(*pivot) ? TSI_PIVOT_NOT_POSITIVE : TSI_PIVOT_NOT_FINITE);
    return false;
  }
  *pivot = (tsi_scalar)sqrt((double)*pivot);
  (void)tsi_pivoting_note(result, k, (double)*pivot * (double)*pivot);
  return result->failed == TSI_NONE;
}

/* The rows of C above its diagonal that share a vector with it are scratch. */
INLINE void factor_llt(const tsi_front *front, const int parts, const tsi_small_factors *made) {
  block a;
  load_block(front, parts, &a);
  for (tsi_index k = 0; k < a.w; k++) {
    if (!take_root(&a, k, made->result)) return;
    scale_column(&a, parts, k, a.d[k][k]);
    for (tsi_index j = k + 1; j < a.w; j++) subtract_column(&a, parts, k, j, a.l[k][j]);
  }
  pack_lower(&a, parts, a.reciprocal, made);
  for (tsi_index j = 0; j < a.m; j++) {
    tsi_scalar row[W];
    for (tsi_index k = 0; k < a.w; k++) row[k] = a.b[k][j];
    subtract_product(&a, j / B, row, (tsi_scalar *)front->c + (ptrdiff_t)j * a.m);
  }
  check_panels(&a, made);
}

static void llt_front(const tsi_front *front, const tsi_small_factors *made) {
  tsi_pivoting_begin(made->result);
  if (front->w <= B)
    factor_llt(front, 1, made);
  else
    factor_llt(front, 2, made);
}
#else
#define lu_front NULL
#define llt_front NULL
#endif

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_small_kernels), isa)

extern const tsi_small_kernels TABLE(TSI_ISA);
const tsi_small_kernels TABLE(TSI_ISA) = {.isa = TSI_TEXT(TSI_ISA), .lu = lu_front, .llt = llt_front};
