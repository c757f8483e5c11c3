/* Small fronts: see small_front.h. Compiled for each scalar type and instruction set.
 *
 * The columns of the supernode are copied to arrays of whole vectors, padded with zeros, so that no loop has
 * a remainder: the diagonal block to D, the rows below to B. Each elimination updates all columns to its
 * right. Then the columns of Q and C follow: L U solves for 8 columns of Q at a time, one in each lane of
 * vectors, and updates some columns of C at a time. */
#include "codelets/cpu/small_front.h"

#include "codelets/cpu/base/scalar.h"

#if !TSI_COMPLEX
#include "codelets/cpu/base/pack.h"
#include "codelets/cpu/base/vector.h"
#include "codelets/cpu/ldl_block.h"

enum { W = TSI_SMALL_WIDTH, M = TSI_SMALL_ROWS };

/* Sizes of a front; by value, so that stores to the arrays of a block do not make the compiler read them
 * again. */
typedef struct shape {
  int parts; /* number of vectors in a column of D, a constant */
  tsi_index w, m;
  tsi_index vectors; /* of B in a column */
} shape;

typedef struct block {
  _Alignas(64) tsi_scalar d[W][W], l[W][W]; /* by column: what is left, and U; L below the diagonal, else 0 */
  _Alignas(64) tsi_scalar b[W][M];          /* by column */
  _Alignas(64) tsi_scalar reciprocal[W];    /* of the diagonal of U, LLT: of L */
  tsi_index row[W];                         /* of Q, for each row of L */
} block;

/* Results of checks of entries that are packed. A structure of its own, so that it stays in registers. */
typedef struct watch {
  vec nothing; /* zeros, unless an entry is not finite */
  vec growth;  /* largest so far in each lane, see note_growth */
} watch;

/* A one with zeros around it: unit + W - i is column i of the identity. */
static const tsi_scalar unit[2 * W] = {[W] = 1};

/* a - v t, rounded once if the processor can. gcc alone would not do so if it computes the product
 * separately, and the bits would depend on the sizes of the front. */
INLINE vec minus_times(vec a, vec v, tsi_scalar t) {
#if defined __FMA__ && REG_BYTES == 64
  EACH_REG(r) a.r[r] = (reg)_mm512_fnmadd_pd((__m512d)v.r[r], _mm512_set1_pd(t), (__m512d)a.r[r]);
#elif defined __FMA__ && REAL_BYTES == 8
  EACH_REG(r) a.r[r] = (reg)_mm256_fnmadd_pd((__m256d)v.r[r], _mm256_set1_pd(t), (__m256d)a.r[r]);
#elif defined __FMA__
  EACH_REG(r) a.r[r] = (reg)_mm256_fnmadd_ps((__m256)v.r[r], _mm256_set1_ps(t), (__m256)a.r[r]);
#else
  EACH_REG(r) a.r[r] -= v.r[r] * t;
#endif
  return a;
}
INLINE vec times(vec a, tsi_scalar t) {
  EACH_REG(r) a.r[r] *= t;
  return a;
}

/* Returns the number of scalars in vector v of a column of `rows` rows. */
INLINE tsi_index scalars_of(tsi_index rows, tsi_index v) {
  return tsi_index_min(B, rows - v * B);
}

/* Records in `seen` whether entries of a panel are finite; returns the entries. */
INLINE vec noted(watch *seen, vec v) {
  seen->nothing = plus(seen->nothing, times(v, 0));
  return v;
}

/* low: a constant. If true, one vector holds the rows of C, so there is no loop over the vectors of B. */
INLINE shape shape_of(const tsi_front *front, const int parts, const bool low, tsi_index w) {
  const tsi_index vectors = low ? front->m > 0 : (front->m + B - 1) / B;
  return (shape){.parts = parts, .w = w, .m = front->m, .vectors = vectors};
}

INLINE void load_block(const shape s, const tsi_front *front, block *a) {
  const tsi_scalar *column = front->p;
  for (tsi_index k = 0; k < s.w; k++, column += front->f) {
    for (int v = 0; v < s.parts; v++) store(a->d[k] + v * B, load_some(column + v * B, scalars_of(s.w, v)));
    for (tsi_index v = 0; v < s.vectors; v++)
      store(a->b[k] + v * B, load_some(column + s.w + v * B, scalars_of(s.m, v)));
  }
}

/* Divides the remainder of column k of L and B by the pivot. */
INLINE void scale_column(const shape s, block *a, tsi_index k, tsi_scalar pivot) {
  const tsi_scalar t = 1 / pivot;
  a->reciprocal[k] = t;
  for (int v = 0; v < s.parts; v++) {
    const int above = (int)k + 1 - v * B;
    store(a->l[k] + v * B, scalars_from(times(load(a->d[k] + v * B), t), above < 0   ? 0
                                                                         : above > B ? B
                                                                                     : above));
  }
  for (tsi_index v = 0; v < s.vectors; v++) store(a->b[k] + v * B, times(load(a->b[k] + v * B), t));
}

/* Column j -= t times column k of L and B. */
INLINE void subtract_column(const shape s, block *a, tsi_index k, tsi_index j, tsi_scalar t) {
  for (int v = 0; v < s.parts; v++)
    store(a->d[j] + v * B, minus_times(load(a->d[j] + v * B), load(a->l[k] + v * B), t));
  for (tsi_index v = 0; v < s.vectors; v++)
    store(a->b[j] + v * B, minus_times(load(a->b[j] + v * B), load(a->b[k] + v * B), t));
}

/* A column of C, from vector v on, -= B u. */
INLINE void subtract_product(const shape s, const block *a, tsi_index v, const tsi_scalar *u, tsi_scalar *c) {
  for (; v < s.vectors; v++) {
    const tsi_index count = scalars_of(s.m, v);
    vec left = load_some(c + v * B, count);
    for (tsi_index k = 0; k < s.w; k++) left = minus_times(left, load(a->b[k] + v * B), u[k]);
    store_some(c + v * B, left, count);
  }
}

/* ---- Packing ------------------------------------------------------------------------------------------- */

/* Inverts a triangle by substitution, row by row: entry (i, k) below the diagonal is from[i * row_step + k *
 * column_step]. diagonal: its reciprocals, NULL: ones. No scalar is written where a vector is read soon. */
INLINE void invert(const shape s, watch *seen, const tsi_scalar *from, ptrdiff_t row_step,
                   ptrdiff_t column_step, const tsi_scalar *diagonal, tsi_scalar *x) {
  for (tsi_index i = 0; i < s.w; i++) {
    vec row[2];
    for (int v = 0; v < s.parts; v++) row[v] = load(unit + W - i + v * B);
    for (tsi_index k = 0; k < i; k++)
      for (int v = 0; v < s.parts; v++)
        row[v] = minus_times(row[v], load(x + k * W + v * B), from[i * row_step + k * column_step]);
    for (int v = 0; v < s.parts; v++)
      store(x + i * W + v * B, noted(seen, diagonal ? times(row[v], diagonal[i]) : row[v]));
  }
}

/* Returns the smaller, or larger, number of each lane; b if one is NaN. */
INLINE vec choose(vec a, vec b, const bool smaller) {
  EACH_REG(r) {
    const mask takes_a = smaller ? a.r[r] < b.r[r] : a.r[r] > b.r[r];
    a.r[r] = (reg)((takes_a & (mask)a.r[r]) | (~takes_a & (mask)b.r[r]));
  }
  return a;
}
INLINE vec absolute(vec a) {
  EACH_REG(r) {
    const reg minus_zero = -(reg){0};
    a.r[r] = (reg)((mask)a.r[r] & ~(mask)minus_zero);
  }
  return a;
}
INLINE vec all_lanes(tsi_scalar t) {
  vec v = no_vec();
  EACH_REG(r) v.r[r] += t;
  return v;
}

/* inverse_growth (front.h) of an inverse that invert() has made. diagonal: its diagonal, NULL: ones. Lanes
 * beyond the last row are zeros in x. */
INLINE void note_growth(const shape s, watch *seen, const tsi_scalar *diagonal, const tsi_scalar *x) {
  vec size[2];
  _Alignas(64) tsi_scalar sizes[W] = {0};
  for (int v = 0; v < s.parts; v++) {
    size[v] = all_lanes(1);
    if (diagonal) {
      const vec part = absolute(load_some(diagonal + v * B, scalars_of(s.w, v)));
      EACH_REG(r) size[v].r[r] /= part.r[r];
    }
    store(sizes + v * B, size[v]);
  }
  for (tsi_index i = 0; i < s.w; i++)
    for (int v = 0; v < s.parts; v++) {
      const vec least = diagonal ? choose(all_lanes(sizes[i]), size[v], true) : size[v];
      vec grown = absolute(load(x + i * W + v * B));
      EACH_REG(r) grown.r[r] *= least.r[r];
      seen->growth = choose(grown, seen->growth, false);
    }
}

/* Copies the triangle, with zeros on its diagonal; arguments as above. (`from` is not const, because gcc
 * would assume that it was never written.) */
SHARED void copy_triangle(tsi_index w, tsi_scalar *from, ptrdiff_t row_step, ptrdiff_t column_step,
                          tsi_scalar *x) {
  for (tsi_index i = 0; i < w; i++)
    for (tsi_index k = 0; k < W; k++) x[i * W + k] = k < i ? from[i * row_step + k * column_step] : 0;
}

/* Packs a triangle of up to 8 rows, x by rows. Returns the end. */
INLINE tsi_scalar *pack_rows(const tsi_index w, const tsi_scalar *x, tsi_scalar *to) {
  UNROLL for (tsi_index k = 0; k < w; k++) UNROLL for (tsi_index i = k; i < w; i++) *to++ = x[i * W + k];
  return to;
}
SHARED tsi_scalar *pack_corner(tsi_index w, const tsi_scalar *x, tsi_scalar *to) {
  switch (w) {
  case 1:
    return pack_rows(1, x, to);
  case 2:
    return pack_rows(2, x, to);
  case 3:
    return pack_rows(3, x, to);
  case 4:
    return pack_rows(4, x, to);
  case 5:
    return pack_rows(5, x, to);
  case 6:
    return pack_rows(6, x, to);
  case 7:
    return pack_rows(7, x, to);
  default:
    return pack_rows(8, x, to);
  }
}

/* Stores the first `count` scalars of v. If they fit before `end`, the end of the panel, all of v is stored:
 * later stores overwrite the other scalars. */
INLINE void store_inside(tsi_scalar *to, vec v, tsi_index count, const tsi_scalar *end) {
  if (to + B <= end)
    store(to, v);
  else
    store_some(to, v, count);
}

/* Packs all of a panel before its rectangle; arguments as above. Returns the rectangle. */
INLINE tsi_scalar *begin_panel(const shape s, watch *seen, tsi_scalar *from, ptrdiff_t row_step,
                               ptrdiff_t column_step, const tsi_scalar *diagonal, tsi_inverse inverse,
                               tsi_scalar *to) {
  _Alignas(64) tsi_scalar x[W * W];
  tsi_scalar *rectangle = to + tsi_triangle_size(s.w);
  if (s.w == 1) { /* D = D^-1 up to the reciprocal */
    store(to, no_vec());
    *to = diagonal ? diagonal[0] : 1;
    (void)noted(seen, all_lanes(*to));
    return rectangle;
  }
  if (inverse == TSI_INVERSE_NONE) {
    copy_triangle(s.w, from, row_step, column_step, x);
    for (tsi_index i = 0; i < s.w; i++) {
      x[i * W + i] = diagonal ? diagonal[i] : 1;
      for (int v = 0; v < s.parts; v++) (void)noted(seen, load(x + i * W + v * B));
    }
  } else {
    invert(s, seen, from, row_step, column_step, diagonal, x);
    note_growth(s, seen, diagonal, x);
  }
  if (s.parts == 1)
    to = pack_corner(s.w, x, to);
  else
    to = tsi_pack_triangle((tsi_pack_source){x, W, 1}, s.w, to);
  tsi_zero_between(to, rectangle);
  return rectangle;
}

/* TSI_INVERSE_PARTITIONED: R = B L^-1 by substitution, whose backward error is smaller than that of a product
 * with the inverse. */
SHARED void divide_block(const shape s, const block *a, const tsi_scalar *diagonal, tsi_scalar r[W][M]) {
  for (tsi_index k = s.w; k-- > 0;)
    for (tsi_index v = 0; v < s.vectors; v++) {
      vec x = load(a->b[k] + v * B);
      for (tsi_index j = k + 1; j < s.w; j++) x = minus_times(x, load(r[j] + v * B), a->l[k][j]);
      store(r[k] + v * B, diagonal ? times(x, diagonal[k]) : x);
    }
}

INLINE void pack_lower(const shape s, block *a, watch *seen, const tsi_scalar *diagonal,
                       const tsi_small_factors *made) {
  _Alignas(64) tsi_scalar r[W][M];
  const bool divided = made->inverse == TSI_INVERSE_PARTITIONED;
  tsi_scalar *to = begin_panel(s, seen, a->l[0], 1, W, diagonal, made->inverse, made->lower);
  tsi_scalar *end = (tsi_scalar *)made->lower + tsi_panel_size(s.w, s.m);
  if (divided) divide_block(s, a, diagonal, r);
  for (tsi_index v = 0; v < s.vectors; v++) {
    const tsi_index count = scalars_of(s.m, v);
    for (tsi_index k = 0; k < s.w; k++, to += count)
      store_inside(to, noted(seen, load((divided ? r[k] : a->b[k]) + v * B)), count, end);
  }
  tsi_zero_between(to, end);
}

INLINE void finish(const watch *seen, tsi_small_factors *made) {
  tsi_scalar growth[B];
  if (sum_vec(seen->nothing) != 0) tsi_pivoting_fail(made->result, 0, TSI_PIVOT_NOT_FINITE);
  store(growth, seen->growth);
  made->growth = 0;
  for (int l = 0; l < B; l++)
    made->growth = (double)growth[l] > made->growth ? (double)growth[l] : made->growth;
}

/* ---- L U ----------------------------------------------------------------------------------------------- */

INLINE void swap(tsi_scalar *x, tsi_index i, tsi_index k) {
  const tsi_scalar keep = x[i];
  x[i] = x[k];
  x[k] = keep;
}

/* Makes the row of the largest entry of column k, from row k on, row k. */
INLINE void interchange(const shape s, block *a, tsi_index k, tsi_index *pivot) {
  tsi_index best = k;
  tsi_real most = tsi_abs(a->d[k][k]);
  for (tsi_index i = k + 1; i < s.w; i++) {
    const tsi_real size = tsi_abs(a->d[k][i]);
    best = size > most ? i : best; /* without a branch, which no processor could predict */
    most = size > most ? size : most;
  }
  pivot[k] = best;
  if (best == k) return;
  for (tsi_index j = 0; j < s.w; j++) swap(a->d[j], k, best);
  for (tsi_index j = 0; j < k; j++) swap(a->l[j], k, best);
  const tsi_index row = a->row[k];
  a->row[k] = a->row[best];
  a->row[best] = row;
}

/* Eliminates the columns. Returns false if a pivot is unusable. */
INLINE bool eliminate(const shape s, block *a, const tsi_small_factors *made) {
  tsi_pivoting *result = made->result;
  const tsi_real tiny = (tsi_real)result->tiny;
  for (tsi_index k = 0; k < s.w; k++) a->row[k] = k;
  for (tsi_index k = 0; k < s.w; k++) {
    interchange(s, a, k, made->pivot);
    tsi_scalar *pivot = &a->d[k][k];
    const tsi_real size = tsi_abs(*pivot);
    if (tsi_pivoting_note(result, k, (double)size)) *pivot = size == 0 ? tiny : *pivot / size * tiny;
    if (result->failed != TSI_NONE) return false;
    scale_column(s, a, k, *pivot);
    for (tsi_index j = k + 1; j < s.w; j++)
      if (a->d[j][k] != 0) subtract_column(s, a, k, j, a->d[j][k]);
  }
  return true;
}

/* Turns `count` <= 8 columns of Q into columns of U: lane l of u[k] is row k of column l, zero beyond. */
INLINE void solve_columns(const shape s, const block *a, watch *seen, const tsi_scalar *q, tsi_index count,
                          vec *u) {
  tsi_index at[B];
  for (int l = 0; l < B; l++) at[l] = tsi_index_min(l, count - 1) * s.w;
  for (tsi_index k = 0; k < s.w; k++) {
    const tsi_scalar *row = q + a->row[k];
#define COLUMN_LANE(l) row[at[r * WIDE + (l)]]
    EACH_REG(r) u[k].r[r] = (reg){EACH_LANE(COLUMN_LANE)};
    if (count < B) u[k] = scalars_below(u[k], count);
  }
  for (tsi_index k = 0; k < s.w; k++) {
    const vec v = noted(seen, u[k]);
    for (tsi_index i = k + 1; i < s.w; i++) u[i] = minus_times(u[i], v, a->l[k][i]);
  }
}

/* TSI_INVERSE_PARTITIONED: computes rows of the rectangle, u U^-1, by substitution. */
SHARED void divide_columns(tsi_index w, const block *a, const vec *u, vec *r) {
  for (tsi_index k = w; k-- > 0;) {
    vec x = u[k];
    for (tsi_index j = k + 1; j < w; j++) x = minus_times(x, r[j], a->d[j][k]);
    r[k] = times(x, a->reciprocal[k]);
  }
}

/* Number of columns of C that are updated at a time: as many as registers hold. */
enum { TOGETHER = REGS > 2 ? 2 : 4 };

/* Subtracts `b` u from rows of `columns` columns of C, which are `m` scalars apart, in whole vectors. u
 * begins with the first of these columns; its row k is at u + k B. */
INLINE void subtract_rows(const shape s, const int columns, const tsi_scalar *b, const tsi_scalar *u,
                          const bool whole, tsi_scalar *c) {
  vec left[TOGETHER];
  const tsi_index m = s.m;
  UNROLL for (int j = 0; j < columns; j++) left[j] = whole || (j + 1 < columns && 2 * m >= B)
                                                         ? load(c + (ptrdiff_t)j * m)
                                                         : load_some(c + (ptrdiff_t)j * m, m);
  for (tsi_index k = 0; k < s.w; k++) {
    const vec column = load(b + k * M);
    UNROLL for (int j = 0; j < columns; j++) left[j] = minus_times(left[j], column, u[k * B + j]);
  }
  UNROLL for (int j = 0; j < columns; j++) {
    if (whole ||
        (j + 1 < columns && 2 * m >= B)) /* the next column overwrites scalars behind the end of a column */
      store(c + (ptrdiff_t)j * m, left[j]);
    else
      store_some(c + (ptrdiff_t)j * m, left[j], m);
  }
}

/* Does the same for all rows. If the last rows do not fill a vector, they are the end of a vector whose other
 * rows were updated before: `end` has zeros there. */
INLINE void subtract_columns(const shape s, const block *a, const int columns, const tsi_scalar *end,
                             const tsi_scalar *u, tsi_scalar *c) {
  if (s.m < B) {
    subtract_rows(s, columns, a->b[0], u, false, c);
    return;
  }
  for (tsi_index i = 0; i + B <= s.m; i += B) subtract_rows(s, columns, a->b[0] + i, u, true, c + i);
  if (s.m % B > 0) subtract_rows(s, columns, end, u, true, c + s.m - B);
}

/* The last rows of B, shifted to the end of a vector behind zeros. */
INLINE void shift_end(const shape s, const block *a, tsi_scalar end[W][M]) {
  store(end[0], no_vec());
  if (s.m < B || s.m % B == 0) return;
  for (tsi_index k = 0; k < s.w; k++)
    store(end[k], scalars_from(load(a->b[k] + s.m - B), B - (int)(s.m % B)));
}

INLINE void factor_lu(const tsi_front *front, const shape s, tsi_small_factors *made) {
  block a;
  watch seen = {no_vec(), no_vec()};
  _Alignas(64) tsi_scalar end[W][M], rows[W][B];
  vec u[W], divided[W];
  const tsi_index w = s.w, m = s.m;
  const tsi_scalar *q = front->q;
  tsi_scalar *c = front->c;
  load_block(s, front, &a);
  if (!eliminate(s, &a, made)) return;
  pack_lower(s, &a, &seen, NULL, made);
  tsi_scalar *to = begin_panel(s, &seen, a.d[0], W, 1, a.reciprocal, made->inverse, made->upper);
  tsi_scalar *to_end = (tsi_scalar *)made->upper + tsi_panel_size(w, m);
  shift_end(s, &a, end);
  for (tsi_index j = 0; j < m; j += B, q += (ptrdiff_t)B * w) {
    const tsi_index count = tsi_index_min(B, m - j);
    solve_columns(s, &a, &seen, q, count, u);
    const vec *packed = u;
    if (made->inverse == TSI_INVERSE_PARTITIONED) {
      divide_columns(w, &a, u, divided);
      for (tsi_index k = 0; k < w; k++) (void)noted(&seen, divided[k]);
      packed = divided;
    }
    for (tsi_index k = 0; k < w; k++, to += count) {
      store_inside(to, packed[k], count, to_end);
      store(rows[k], u[k]);
    }
    tsi_index l = 0;
    for (; l + TOGETHER <= count; l += TOGETHER, c += TOGETHER * (ptrdiff_t)m)
      subtract_columns(s, &a, TOGETHER, end[0], rows[0] + l, c);
    for (; l < count; l++, c += m) subtract_columns(s, &a, 1, end[0], rows[0] + l, c);
  }
  tsi_zero_between(to, to_end);
  finish(&seen, made);
}

/* The function of a method, with constants for the sizes that most fronts have. */
#define FRONT(name, factor)                                                                                  \
  static void name(const tsi_front *front, tsi_small_factors *made) {                                        \
    tsi_pivoting_begin(made->result);                                                                        \
    if (front->w == 1 && front->m <= B)                                                                      \
      factor(front, shape_of(front, 1, true, 1), made);                                                      \
    else if (front->w <= B && front->m <= B)                                                                 \
      factor(front, shape_of(front, 1, true, front->w), made);                                               \
    else if (front->w <= B)                                                                                  \
      factor(front, shape_of(front, 1, false, front->w), made);                                              \
    else                                                                                                     \
      factor(front, shape_of(front, 2, false, front->w), made);                                              \
  }
FRONT(lu_front, factor_lu)

/* ---- L L^T --------------------------------------------------------------------------------------------- */

/* Replaces the pivot of column k by its square root. Returns false if it is unusable. */
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

/* The lower triangle of C -= B U^T, U by columns as B is. The rows of C above its diagonal that share a
 * vector with it are scratch. */
INLINE void subtract_symmetric(const shape s, const block *a, tsi_scalar u[W][M], tsi_scalar *c) {
  for (tsi_index j = 0; j < s.m; j++) {
    tsi_scalar row[W];
    for (tsi_index k = 0; k < s.w; k++) row[k] = u[k][j];
    subtract_product(s, a, j / B, row, c + (ptrdiff_t)j * s.m);
  }
}

INLINE void factor_llt(const tsi_front *front, const shape s, tsi_small_factors *made) {
  block a;
  watch seen = {no_vec(), no_vec()};
  load_block(s, front, &a);
  for (tsi_index k = 0; k < s.w; k++) {
    if (!take_root(&a, k, made->result)) return;
    scale_column(s, &a, k, a.d[k][k]);
    for (tsi_index j = k + 1; j < s.w; j++) subtract_column(s, &a, k, j, a.l[k][j]);
  }
  pack_lower(s, &a, &seen, a.reciprocal, made);
  subtract_symmetric(s, &a, a.b, front->c);
  finish(&seen, made);
}

FRONT(llt_front, factor_llt)

/* ---- L D L^T ------------------------------------------------------------------------------------------- */

/* Factors a diagonal block. Not inlined: its loops are over few scalars. */
SHARED bool factor_diagonal(const tsi_ldl_block *m) {
  return tsi_ldl_factor(m);
}

/* Turns the columns of B into columns of L D. */
INLINE void find_products(const shape s, block *a, const tsi_index *pivot) {
  for (tsi_index k = 0; k < s.w; k++)
    for (tsi_index v = 0; v < s.vectors && pivot[k] != k; v++) {
      const vec keep = load(a->b[k] + v * B);
      store(a->b[k] + v * B, load(a->b[pivot[k]] + v * B));
      store(a->b[pivot[k]] + v * B, keep);
    }
  for (tsi_index k = 0; k < s.w; k++)
    for (tsi_index j = k + 1; j < s.w; j++)
      for (tsi_index v = 0; v < s.vectors; v++)
        store(a->b[j] + v * B, minus_times(load(a->b[j] + v * B), load(a->b[k] + v * B), a->l[k][j]));
}

/* Turns the columns of L D, which are kept in `product`, into columns of L. */
INLINE void divide_products(const shape s, block *a, const tsi_scalar *inverse, tsi_scalar product[W][M]) {
  for (tsi_index k = 0; k < s.w; k++) {
    const tsi_scalar i11 = inverse[2 * k], i21 = inverse[2 * k + 1];
    const bool pair = i21 != 0;
    for (tsi_index v = 0; v < s.vectors; v++) {
      const vec one = load(a->b[k] + v * B);
      store(product[k] + v * B, one);
      vec l = times(one, i11);
      if (pair) {
        const vec other = load(a->b[k + 1] + v * B);
        store(product[k + 1] + v * B, other);
        store(a->b[k + 1] + v * B, minus_times(times(one, i21), other, -inverse[2 * k + 2]));
        l = minus_times(l, other, -i21);
      }
      store(a->b[k] + v * B, l);
    }
    k += pair;
  }
}

INLINE void factor_ldl(const tsi_front *front, const shape s, tsi_small_factors *made) {
  block a;
  watch seen = {no_vec(), no_vec()};
  _Alignas(64) tsi_scalar product[W][M];
  load_block(s, front, &a);
  const tsi_ldl_block m = {a.d[0],      W, s.w, made->result->adjoint, made->pivot, made->result->inverse,
                           made->result};
  if (!factor_diagonal(&m)) return;
  for (tsi_index k = 0; k < s.w; k++)
    for (tsi_index i = 0; i < W; i++) a.l[k][i] = i > k && i < s.w ? a.d[k][i] : 0;
  find_products(s, &a, made->pivot);
  divide_products(s, &a, made->result->inverse, product);
  pack_lower(s, &a, &seen, NULL, made);
  subtract_symmetric(s, &a, product, front->c);
  finish(&seen, made);
}
FRONT(ldl_front, factor_ldl)
#else
#define lu_front NULL
#define llt_front NULL
#define ldl_front NULL
#endif

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_small_kernels), isa)

extern const tsi_small_kernels TABLE(TSI_ISA);
const tsi_small_kernels TABLE(TSI_ISA) = {
    .isa = TSI_TEXT(TSI_ISA), .lu = lu_front, .llt = llt_front, .ldl = ldl_front};
