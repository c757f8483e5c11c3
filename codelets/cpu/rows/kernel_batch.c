/* Factors of many matrices in lanes: see batch.h. Compiled for each scalar type and instruction set. */
#include "codelets/cpu/rows/batch.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "codelets/cpu/base/scalar.h"

#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define REAL_BYTES 4
#define SMALLEST FLT_MIN
#define LARGEST FLT_MAX
#define MULTIPLIER 600.f
#define TINY 3e-4f
#define DEPENDENT (4096 * FLT_EPSILON)
#define DOUBTFUL 4.9e-3f
typedef int32_t integer;
#define BITS_BUT_SIGN INT32_MAX
#else
#define REAL_BYTES 8
#define SMALLEST DBL_MIN
#define LARGEST DBL_MAX
#define MULTIPLIER 2e6
#define TINY 1e-8
#define DEPENDENT (4096 * DBL_EPSILON)
#define DOUBTFUL 6e-6
typedef int64_t integer;
#define BITS_BUT_SIGN INT64_MAX
#endif

#if defined __AVX512F__
#define REGISTER_BYTES 64
#elif defined __AVX2__
#define REGISTER_BYTES 32
#else
#define REGISTER_BYTES 16
#endif
#define LANES (TSI_BATCH_BYTES / REAL_BYTES)
#define WIDTH (REGISTER_BYTES / REAL_BYTES) /* reals in a register */
#define REGISTERS (TSI_BATCH_BYTES / REGISTER_BYTES)
#define UNROLL _Pragma("GCC unroll 4")
#define UNROLL_WIDE _Pragma("GCC unroll 16")
#define EACH(r) _Pragma("GCC unroll 4") for (int r = 0; r < REGISTERS; r++)
#define EACH_LANE(l) for (int l = 0; l < LANES; l++)

typedef tsi_real vec __attribute__((vector_size(REGISTER_BYTES)));
typedef integer mask __attribute__((vector_size(REGISTER_BYTES)));

/* Real numbers of all lanes, in as many registers as needed. */
typedef union reals {
  vec v[REGISTERS];
  tsi_real lane[LANES];
} reals;

typedef struct number {
  reals re;
#if TSI_COMPLEX
  reals im;
#endif
} number;

/* ---- Arithmetic ---------------------------------------------------------------------------------------- */

/* Returns the lanes of a where the mask is set, and those of b elsewhere. */
INLINE vec pick(mask where, vec a, vec b) {
  return (vec)((where & (mask)a) | (~where & (mask)b));
}

INLINE vec positive(vec a) {
  return (vec)((mask)a & BITS_BUT_SIGN);
}

INLINE number zero(void) {
  return (number){.re = {.lane = {0}}};
}

INLINE number conjugate(number a) {
#if TSI_COMPLEX
  EACH(r) a.im.v[r] = -a.im.v[r];
#endif
  return a;
}

/* *x -= a b */
INLINE void subtract_product(number *x, const number *a, const number *b) {
  EACH(r) {
#if TSI_COMPLEX
    x->re.v[r] -= a->re.v[r] * b->re.v[r] - a->im.v[r] * b->im.v[r];
    x->im.v[r] -= a->re.v[r] * b->im.v[r] + a->im.v[r] * b->re.v[r];
#else
    x->re.v[r] -= a->re.v[r] * b->re.v[r];
#endif
  }
}

INLINE number product(const number *a, const number *b) {
  number x;
  EACH(r) {
#if TSI_COMPLEX
    x.re.v[r] = a->re.v[r] * b->re.v[r] - a->im.v[r] * b->im.v[r];
    x.im.v[r] = a->re.v[r] * b->im.v[r] + a->im.v[r] * b->re.v[r];
#else
    x.re.v[r] = a->re.v[r] * b->re.v[r];
#endif
  }
  return x;
}

/* Returns |a| of register r. Complex: |Re a| + |Im a|, which is at most sqrt(2) |a|. */
INLINE vec size(const number *a, int r) {
#if TSI_COMPLEX
  return positive(a->re.v[r]) + positive(a->im.v[r]);
#else
  return positive(a->re.v[r]);
#endif
}

/* Returns 1 / a. Complex: without overflow if the result is in range (Smith 1962). */
INLINE number inverse_of(const number *a) {
  number x;
  EACH(r) {
#if TSI_COMPLEX
    const mask first = positive(a->re.v[r]) >= positive(a->im.v[r]);
    const vec big = pick(first, a->re.v[r], a->im.v[r]), small = pick(first, a->im.v[r], a->re.v[r]);
    const vec ratio = small / big, scale = 1 / (big + small * ratio), cross = -ratio * scale;
    x.re.v[r] = pick(first, scale, -cross);
    x.im.v[r] = pick(first, cross, -scale);
#else
    x.re.v[r] = 1 / a->re.v[r];
#endif
  }
  return x;
}

/* *sum += |a|^2 */
INLINE void add_square(reals *sum, const number *a) {
  EACH(r) {
    sum->v[r] += a->re.v[r] * a->re.v[r];
#if TSI_COMPLEX
    sum->v[r] += a->im.v[r] * a->im.v[r];
#endif
  }
}

/* Returns a bit for each lane whose number is not finite. */
INLINE unsigned not_finite(const number *a) {
  unsigned bad = 0;
  EACH_LANE(l) {
    tsi_real x = a->re.lane[l];
#if TSI_COMPLEX
    x = (x - x) + (a->im.lane[l] - a->im.lane[l]);
#endif
    bad |= (unsigned)(x - x != 0) << l;
  }
  return bad;
}

/* *lost becomes NaN in the lanes where scale * a is not finite. */
INLINE void add_rest(number *lost, const number *a, tsi_real scale) {
  EACH(r) {
    const vec re = scale * a->re.v[r];
    lost->re.v[r] += re - re;
#if TSI_COMPLEX
    const vec im = scale * a->im.v[r];
    lost->im.v[r] += im - im;
#endif
  }
}

/* Data to detect weak and invalid pivots: see the kernel `factor`. */
typedef struct pivots {
  reals least, most; /* minimum and maximum of their sizes */
  reals multipliers; /* largest sum of squares of a column of L */
  reals share;       /* largest ratio of an entry of A to the pivot of its column */
  number lost;       /* NaN if a pivot is invalid, else 0 */
} pivots;

INLINE pivots no_pivots(void) {
  pivots p = {.most = {.lane = {0}}, .multipliers = {.lane = {0}}, .share = {.lane = {0}}, .lost = zero()};
  EACH_LANE(l) p.least.lane[l] = INFINITY;
  return p;
}

/* *largest = max(*largest, |a|) */
INLINE void add_size(reals *largest, const number *a) {
  EACH(r) {
    const vec now = size(a, r);
    largest->v[r] = pick(now > largest->v[r], now, largest->v[r]);
  }
}

/* inverse: of the pivot. squares: sum of the squares of its column of L. largest: entry of its column of A.
 */
INLINE void note(pivots *p, const number *pivot, const number *inverse, const reals *squares,
                 const reals *largest) {
  add_rest(&p->lost, inverse, 1);
  EACH(r) {
    const vec now = size(pivot, r), sum = squares->v[r];
    p->least.v[r] = pick(now < p->least.v[r], now, p->least.v[r]);
    p->most.v[r] = pick(now > p->most.v[r], now, p->most.v[r]);
    p->multipliers.v[r] = pick(sum > p->multipliers.v[r], sum, p->multipliers.v[r]);
    const vec share = largest->v[r] * size(inverse, r);
    p->share.v[r] = pick(share > p->share.v[r], share, p->share.v[r]);
  }
}

/* Returns a bit for each lane with a weak or invalid pivot. doubtful: see the kernel `factor`. */
INLINE unsigned have_weak(const pivots *p, unsigned *doubtful) {
  unsigned weak = not_finite(&p->lost);
  *doubtful = 0;
  EACH(r) {
    const vec squares = p->multipliers.v[r], share = p->share.v[r];
    const mask is_weak = (squares > MULTIPLIER * MULTIPLIER) | (share * DEPENDENT > 1) |
                         (p->least.v[r] < TINY * p->most.v[r]),
               doubts = (share * DOUBTFUL > 1) | (squares * (DOUBTFUL * DOUBTFUL) > 1);
    for (int l = 0; l < WIDTH; l++) {
      weak |= (unsigned)(is_weak[l] & 1) << (r * WIDTH + l);
      *doubtful |= (unsigned)(doubts[l] & 1) << (r * WIDTH + l);
    }
  }
  return weak;
}

/* ---- Between the user's arrays and lanes --------------------------------------------------------------- */

/* A block is WIDTH registers. As the user's numbers it has BLOCK consecutive scalars of WIDTH systems, one
 * system for each register; as lane numbers it has the parts of these scalars, one after the other. Its
 * transposition converts one into the other. */
#define BLOCK (WIDTH / (1 + TSI_COMPLEX))

typedef tsi_real user_vec __attribute__((vector_size(REGISTER_BYTES), aligned(REAL_BYTES), may_alias));

#if WIDTH == 2
#define PLACES(f, d) f(0, d), f(1, d)
#elif WIDTH == 4
#define PLACES(f, d) f(0, d), f(1, d), f(2, d), f(3, d)
#elif WIDTH == 8
#define PLACES(f, d) f(0, d), f(1, d), f(2, d), f(3, d), f(4, d), f(5, d), f(6, d), f(7, d)
#else
#define PLACES(f, d)                                                                                         \
  f(0, d), f(1, d), f(2, d), f(3, d), f(4, d), f(5, d), f(6, d), f(7, d), f(8, d), f(9, d), f(10, d),        \
      f(11, d), f(12, d), f(13, d), f(14, d), f(15, d)
#endif
#if defined __clang__
#define SHUFFLE(a, b, f, d) __builtin_shufflevector(a, b, PLACES(f, d))
#else
#define SHUFFLE(a, b, f, d) __builtin_shuffle(a, b, (mask){PLACES(f, d)})
#endif
#define UPPER_LEFT(l, d) ((l) & (d) ? WIDTH + (l) - (d) : (l))
#define LOWER_RIGHT(l, d) ((l) & (d) ? WIDTH + (l) : (l) + (d))

/* Exchanges two d x d blocks of each 2 d x 2 d block. */
#define EXCHANGE(v, d)                                                                                       \
  _Pragma("GCC unroll 16") for (int i = 0; i < WIDTH; i++) if ((i & (d)) == 0) {                             \
    const vec above = v[i], below = v[i + (d)];                                                              \
    v[i] = SHUFFLE(above, below, UPPER_LEFT, d);                                                             \
    v[i + (d)] = SHUFFLE(above, below, LOWER_RIGHT, d);                                                      \
  }

INLINE void transpose(vec v[WIDTH]) {
#if WIDTH > 8
  EXCHANGE(v, 8)
#endif
#if WIDTH > 4
  EXCHANGE(v, 4)
#endif
#if WIDTH > 2
  EXCHANGE(v, 2)
#endif
  EXCHANGE(v, 1)
}

/* Stores register r of a number times +-scale[at], and of its conjugate. part: real and imaginary part. */
INLINE void put_scaled(number *to, const double *scale, tsi_count at, int r, const vec *part, bool negates,
                       bool conjugates) {
  const tsi_real plain = scale ? (tsi_real)scale[at] : 1, factor = negates ? -plain : plain;
  to[at].re.v[r] = factor * part[0];
#if TSI_COMPLEX
  to[at].im.v[r] = (conjugates ? -factor : factor) * part[1];
#else
  (void)conjugates;
#endif
}

/* Stores entry e and its mirror image. */
INLINE void put_entry(number *to, const tsi_batch_targets *targets, tsi_count e, int r, const vec *part) {
  put_scaled(to, targets->scale, targets->place[e], r, part, false, false);
  if (targets->image && targets->image[e] >= 0)
    put_scaled(to, targets->scale, targets->image[e], r, part, targets->symmetry == TRISTAR_SKEW_SYMMETRIC,
               targets->symmetry == TRISTAR_HERMITIAN);
}

static void load(tsi_count count, const tsi_batch_targets *targets, const void *const *values, void *a) {
  tsi_count e = 0;
  for (; e + BLOCK <= count; e += BLOCK) EACH(r) {
      vec v[WIDTH];
      UNROLL_WIDE for (int l = 0; l < WIDTH; l++) v[l] =
          *(const user_vec *)((const tsi_scalar *)values[r * WIDTH + l] + e);
      transpose(v);
      UNROLL_WIDE for (int q = 0; q < BLOCK; q++) put_entry(a, targets, e + q, r, &v[q * (1 + TSI_COMPLEX)]);
    }
  for (; e < count; e++) {
    number x;
    EACH_LANE(l) {
      const tsi_scalar value = ((const tsi_scalar *)values[l])[e];
      x.re.lane[l] = tsi_re(value);
#if TSI_COMPLEX
      x.im.lane[l] = tsi_im(value);
#endif
    }
    EACH(r) {
#if TSI_COMPLEX
      const vec part[] = {x.re.v[r], x.im.v[r]};
#else
      const vec part[] = {x.re.v[r]};
#endif
      put_entry(a, targets, e, r, part);
    }
  }
}

static void unload(tsi_count count, const tsi_batch_targets *targets, const void *w, void *const *x) {
  const number *const from = w;
  const double *scale = targets->scale;
  tsi_count i = 0;
  for (; i + BLOCK <= count; i += BLOCK) EACH(r) {
      vec v[WIDTH];
      UNROLL_WIDE for (int q = 0; q < BLOCK; q++) {
        const tsi_count at = targets->place[i + q];
        const tsi_real factor = scale ? (tsi_real)scale[at] : 1;
#if TSI_COMPLEX
        v[2 * q] = factor * from[at].re.v[r];
        v[2 * q + 1] = factor * from[at].im.v[r];
#else
        v[q] = factor * from[at].re.v[r];
#endif
      }
      transpose(v);
      UNROLL_WIDE for (int l = 0; l < WIDTH; l++) if (x[r * WIDTH + l] != NULL) *
          (user_vec *)((tsi_scalar *)x[r * WIDTH + l] + i) = v[l];
    }
  for (; i < count; i++) {
    const tsi_count at = targets->place[i];
    const tsi_real factor = scale ? (tsi_real)scale[at] : 1;
    EACH_LANE(l) {
      if (x[l] == NULL) continue;
      tsi_scalar value;
#if TSI_COMPLEX
      __real__ value = factor * from[at].re.lane[l];
      __imag__ value = factor * from[at].im.lane[l];
#else
      value = factor * from[at].re.lane[l];
#endif
      ((tsi_scalar *)x[l])[i] = value;
    }
  }
}

static unsigned overflows(tsi_index n, const double *scale, const void *w) {
  const number *const from = w;
  number lost = zero();
  for (tsi_index i = 0; i < n; i++) add_rest(&lost, &from[i], (tsi_real)scale[i]);
  return not_finite(&lost);
}

static unsigned outside(tsi_count count, const void *a) {
  const number *const from = a;
  mask inside[REGISTERS];
  unsigned lanes = 0;
  EACH(r) inside[r] = ~(mask){0};
  for (tsi_count e = 0; e < count; e++) EACH(r) {
      const vec re = positive(from[e].re.v[r]);
      inside[r] &= (re >= SMALLEST) & (re <= LARGEST);
#if TSI_COMPLEX
      const vec im = positive(from[e].im.v[r]);
      inside[r] &= (im >= SMALLEST) & (im <= LARGEST);
#endif
    }
  EACH_LANE(l) lanes |= (unsigned)(inside[l / WIDTH][l % WIDTH] == 0) << l;
  return lanes;
}

/* ---- Factorization ------------------------------------------------------------------------------------- */

/* x -= x_k times column k */
INLINE void subtract_column(const tsi_batch_columns *c, tsi_index k, const number *values, const number x_k,
                            number *x) {
  const tsi_count end = c->ptr[k + 1];
  for (tsi_count e = c->ptr[k]; e < end; e++) subtract_product(&x[c->index[e]], &values[e], &x_k);
}

/* Does the same for a chain of columns from k on: a triangle, and rows that are read and written once. count:
 * a constant. */
INLINE void subtract_chain(const tsi_batch_columns *c, tsi_index k, const int count, const number *values,
                           number *x) {
  number factor[TSI_BATCH_CHAIN];
  const number *column[TSI_BATCH_CHAIN];
  UNROLL for (int i = 0; i < count; i++) {
    factor[i] = x[k + i];
    UNROLL for (int q = 0; q < i; q++)
        subtract_product(&factor[i], &values[c->ptr[k + q] + i - q - 1], &factor[q]);
    x[k + i] = factor[i];
    column[i] = values + c->ptr[k + i] + count - 1 - i;
  }
  const tsi_index *row = c->index + c->ptr[k + count - 1];
  const tsi_count rows = c->ptr[k + count] - c->ptr[k + count - 1];
  for (tsi_count e = 0; e < rows; e++) {
    number to = x[row[e]];
    UNROLL for (int i = 0; i < count; i++) subtract_product(&to, &column[i][e], &factor[i]);
    x[row[e]] = to;
  }
}

/* Subtracts column k of L and the next columns of its chain, at most `most` columns. Returns their number. */
INLINE int subtract_lower(const tsi_batch_structure *s, tsi_index k, tsi_index most, const number *l,
                          number *x) {
  const int chain = s->chain[k] < most ? s->chain[k] : (int)most;
  if (chain == 4)
    subtract_chain(&s->l, k, 4, l, x);
  else if (chain >= 2)
    subtract_chain(&s->l, k, 2, l, x);
  else
    subtract_column(&s->l, k, l, x[k], x);
  return chain == 4 ? 4 : chain >= 2 ? 2 : 1;
}

/* x -= columns k .. k + count - 1 of L times `factor`, in row j and below; entry e of U is (k, j). Column j
 * of L D L^T is that of A without these, for all k. count: a constant. */
INLINE void subtract_mirrored(const tsi_batch_structure *s, tsi_count e, tsi_index k, const int count,
                              const number *l, const number *d, number *x) {
  number factor[TSI_BATCH_CHAIN];
  const number *column[TSI_BATCH_CHAIN];
  UNROLL for (int i = 0; i < count; i++) {
    column[i] = l + s->mirror[e + i];
    const number other = s->hermitian ? conjugate(*column[i]) : *column[i];
    factor[i] = product(&other, &d[k + i]);
  }
  const tsi_count first = s->mirror[e + count - 1], rows = s->l.ptr[k + count] - first;
  const tsi_index *row = s->l.index + first;
  for (tsi_count q = 0; q < rows; q++) {
    number to = x[row[q]];
    UNROLL for (int i = 0; i < count; i++) subtract_product(&to, &column[i][q], &factor[i]);
    x[row[q]] = to;
  }
}

/* Computes column j of L and D from the remainder of A in this column, whose largest entry was `largest`.
 * y (NULL: none): y -= y_j times column j of L. */
INLINE void end_column(const tsi_batch_structure *s, tsi_index j, const reals *largest, number *l,
                       number *inverse, number *x, number *y, pivots *seen) {
  const number pivot = inverse_of(&x[j]), before = x[j];
  reals squares = {.lane = {0}};
  inverse[j] = pivot;
  x[j] = zero();
  for (tsi_count e = s->l.ptr[j]; e < s->l.ptr[j + 1]; e++) {
    number *const from = &x[s->l.index[e]];
    const number multiplier = product(from, &pivot);
    add_square(&squares, &multiplier);
    l[e] = multiplier;
    *from = zero();
    if (y) subtract_product(&y[s->l.index[e]], &multiplier, &y[j]);
  }
  note(seen, &before, &pivot, &squares, largest);
}

static unsigned factor_symmetric(const tsi_batch_structure *s, const number *a, number *x,
                                 const tsi_batch_factors *out, number *y, unsigned *doubtful) {
  number *const l = out->l, *const d = out->u;
  pivots seen = no_pivots();
  for (tsi_index j = 0; j < s->n; j++) {
    reals largest = {.lane = {0}};
    for (tsi_count e = s->a.ptr[j]; e < s->a.ptr[j + 1]; e++) {
      if (s->a.index[e] >= j) x[s->a.index[e]] = a[e];
      add_size(&largest, &a[e]);
    }
    for (tsi_count e = s->u.ptr[j]; e < s->u.ptr[j + 1];) {
      const tsi_index k = s->u.index[e], most = j - k;
      const int chain = s->chain[k] < most ? s->chain[k] : (int)most, count = chain == 4   ? 4
                                                                              : chain >= 2 ? 2
                                                                                           : 1;
      if (count == 4)
        subtract_mirrored(s, e, k, 4, l, d, x);
      else if (count == 2)
        subtract_mirrored(s, e, k, 2, l, d, x);
      else
        subtract_mirrored(s, e, k, 1, l, d, x);
      e += count;
    }
#if TSI_COMPLEX
    if (s->hermitian) x[j].im = zero().im;
#endif
    d[j] = x[j];
    if (s->positive) EACH(r) seen.lost.re.v[r] += pick(d[j].re.v[r] > 0, (vec){0}, (vec){0} + (tsi_real)NAN);
    end_column(s, j, &largest, l, out->inverse, x, y, &seen);
  }
  return have_weak(&seen, doubtful);
}

static unsigned factor(const tsi_batch_structure *s, const void *a_values, void *work,
                       const tsi_batch_factors *out, void *y, unsigned *doubtful) {
  const number *const a = a_values;
  if (s->mirror) return factor_symmetric(s, a, work, out, y, doubtful);
  number *const x = work, *const l = out->l, *const u = out->u, *const inverse = out->inverse;
  pivots seen = no_pivots();
  for (tsi_index j = 0; j < s->n; j++) {
    reals largest = {.lane = {0}};
    for (tsi_count e = s->a.ptr[j]; e < s->a.ptr[j + 1]; e++) {
      x[s->a.index[e]] = a[e];
      add_size(&largest, &a[e]);
    }
    for (tsi_count e = s->u.ptr[j]; e < s->u.ptr[j + 1];) {
      const tsi_index k = s->u.index[e];
      const int count = subtract_lower(s, k, j - k, l, x); /* all of these are rows of column j of U */
      for (int i = 0; i < count; i++) {
        u[e + i] = x[k + i];
        x[k + i] = zero();
      }
      e += count;
    }
    end_column(s, j, &largest, l, inverse, x, y, &seen);
  }
  return have_weak(&seen, doubtful);
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

/* Returns x_k - (column k)^T x, or x_k - (column k)^H x. */
INLINE number minus_dot(const tsi_batch_columns *c, tsi_index k, const number *values, bool adjoint,
                        const number *x) {
  number s = x[k];
  for (tsi_count e = c->ptr[k]; e < c->ptr[k + 1]; e++) {
    const number value = adjoint ? conjugate(values[e]) : values[e];
    subtract_product(&s, &value, &x[c->index[e]]);
  }
  return s;
}

INLINE void solve_transposed(const tsi_batch_structure *s, const tsi_batch_factors *factors, bool adjoint,
                             number *x) {
  const number *const inverse = factors->inverse;
  for (tsi_index k = 0; k < s->n; k++) {
    const number sum = minus_dot(&s->u, k, factors->u, adjoint, x);
    const number pivot = adjoint ? conjugate(inverse[k]) : inverse[k];
    x[k] = product(&sum, &pivot);
  }
  for (tsi_index k = s->n - 1; k >= 0; k--) x[k] = minus_dot(&s->l, k, factors->l, adjoint, x);
}

/* x := L^-1 x */
INLINE void solve_lower(const tsi_batch_structure *s, const number *l, number *x) {
  for (tsi_index k = 0; k < s->n;) k += subtract_lower(s, k, s->n - k, l, x);
}

/* Solves with L D L^T, or, conjugates, with its conjugate. begun: x is L^-1 x already. */
INLINE void solve_symmetric(const tsi_batch_structure *s, const tsi_batch_factors *factors,
                            const bool conjugates, bool begun, number *x) {
  const number *const l = factors->l, *const inverse = factors->inverse;
  const bool upper = s->hermitian != conjugates; /* the upper factor is conjugated */
  for (tsi_index k = 0; k < s->n && conjugates; k++)
    for (tsi_count e = s->l.ptr[k]; e < s->l.ptr[k + 1]; e++) {
      const number value = conjugate(l[e]);
      subtract_product(&x[s->l.index[e]], &value, &x[k]);
    }
  if (!conjugates && !begun) solve_lower(s, l, x);
  for (tsi_index k = s->n - 1; k >= 0; k--) {
    const number pivot = conjugates ? conjugate(inverse[k]) : inverse[k];
    x[k] = product(&x[k], &pivot);
    x[k] = minus_dot(&s->l, k, l, upper, x);
  }
}

static void solve(const tsi_batch_structure *s, const tsi_batch_factors *factors, tristar_op op, bool begun,
                  void *vector) {
  const number *const inverse = factors->inverse;
  number *const x = vector;
  if (s->mirror) {
    if (TSI_COMPLEX && op == (s->hermitian ? TRISTAR_T : TRISTAR_C))
      solve_symmetric(s, factors, true, false, x);
    else
      solve_symmetric(s, factors, false, begun, x);
    return;
  }
  if (op != TRISTAR_N) {
    if (op == TRISTAR_C && TSI_COMPLEX)
      solve_transposed(s, factors, true, x);
    else
      solve_transposed(s, factors, false, x);
    return;
  }
  if (!begun) solve_lower(s, factors->l, x);
  for (tsi_index k = s->n - 1; k >= 0; k--) {
    x[k] = product(&x[k], &inverse[k]);
    subtract_column(&s->u, k, factors->u, x[k], x);
  }
}

/* ---- Condition ---------------------------------------------------------------------------------------- */

INLINE reals largest_of(const tsi_batch_structure *s, tsi_index j, const number *a) {
  reals largest = {.lane = {0}};
  for (tsi_count e = s->a.ptr[j]; e < s->a.ptr[j + 1]; e++) add_size(&largest, &a[e]);
  return largest;
}

/* *x += |a| y */
INLINE void add_product(number *x, const number *a, const number *y) {
  EACH(r) x->re.v[r] += size(a, r) * y->re.v[r];
}

/* x := |L| |U| x, or |L| |D| |L|^T x. */
static void multiply_sizes(const tsi_batch_structure *s, const tsi_batch_factors *factors, number *x) {
  const number *const l = factors->l, *const u = factors->u, *const inverse = factors->inverse;
  for (tsi_index k = 0; k < s->n; k++) {
    if (s->mirror)
      for (tsi_count e = s->l.ptr[k]; e < s->l.ptr[k + 1]; e++) add_product(&x[k], &l[e], &x[s->l.index[e]]);
    else
      for (tsi_count e = s->u.ptr[k]; e < s->u.ptr[k + 1]; e++) add_product(&x[s->u.index[e]], &u[e], &x[k]);
    EACH(r) x[k].re.v[r] /= size(&inverse[k], r);
  }
  for (tsi_index k = s->n - 1; k >= 0; k--)
    for (tsi_count e = s->l.ptr[k]; e < s->l.ptr[k + 1]; e++) add_product(&x[s->l.index[e]], &l[e], &x[k]);
}

static void condition(const tsi_batch_structure *s, const void *a, const tsi_batch_factors *factors,
                      void *vector, double *out) {
  number *const x = vector;
  reals most = {.lane = {0}};
  for (tsi_index j = 0; j < s->n; j++) {
    const reals largest = largest_of(s, j, a);
    x[j] = zero();
    EACH(r) x[j].re.v[r] = 1 / largest.v[r];
  }
  multiply_sizes(s, factors, x);
  for (tsi_index i = 0; i < s->n; i++) { /* irregular factors: no left null vector is orthogonal to x */
    const double any = i * 0.6180339887498949, part = any - floor(any);
    EACH(r) x[i].re.v[r] *= (tsi_real)(part < 0.5 ? -0.5 - part : part);
  }
  solve(s, factors, TRISTAR_N, false, x);
  for (tsi_index j = 0; j < s->n; j++) {
    const reals largest = largest_of(s, j, a);
    EACH(r) {
      const vec now = size(&x[j], r) * largest.v[r];
      most.v[r] = pick((now > most.v[r]) | (now != now), now, most.v[r]); /* a NaN stays */
    }
  }
  EACH_LANE(l) out[l] = most.lane[l];
}

/* ---- Residuals ----------------------------------------------------------------------------------------- */

/* Returns a bit for each lane with zeros only. */
static unsigned are_zero(tsi_index n, const number *x) {
  unsigned zeros = (1u << LANES) - 1;
  for (tsi_index i = 0; i < n && zeros != 0; i++) EACH(v) {
      const vec entry = size(&x[i], v);
      for (int l = 0; l < WIDTH; l++)
        if (!(entry[l] == 0)) zeros &= ~(1u << (v * WIDTH + l));
    }
  return zeros;
}

/* Computes the residual by rows of op(A): row i has the entries a[at[e]], or a[e] if at is NULL, of
 * rows->ptr[i] <= e < rows->ptr[i + 1]. */
INLINE void residual_by_rows(const tsi_index n, const tsi_batch_columns *rows, const tsi_count *at,
                             const bool conjugates, const number *a, const number *b, const double *weight,
                             const number *x, number *r, double *error) {
  reals largest = {.lane = {0}}, most_weighted = {.lane = {0}}, worst = {.lane = {0}};
  for (tsi_index i = 0; i < n; i++) EACH(v) {
      const vec entry = size(&x[i], v);
      largest.v[v] = pick(entry > largest.v[v], entry, largest.v[v]);
      if (weight == NULL) continue;
      const vec of_user = entry * (tsi_real)weight[i];
      most_weighted.v[v] = pick(of_user > most_weighted.v[v], of_user, most_weighted.v[v]);
    }
  reals least; /* Rounding of numbers below SMALLEST does not matter in rows with larger bounds. */
  EACH(v) least.v[v] = (tsi_real)n * SMALLEST * (largest.v[v] + 2);
  for (tsi_index i = 0; i < n; i++) {
    number rest = b[i];
    /* of |op(A)| |x| + |b|, of |op(A)|, and of the latter with weights */
    reals bound, row_sum = {.lane = {0}}, weighted = {.lane = {0}};
    EACH(v) bound.v[v] = size(&rest, v);
    for (tsi_count e = rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
      const number *const entry = &a[at ? at[e] : e], *const factor = &x[rows->index[e]];
      const number value = conjugates ? conjugate(*entry) : *entry;
      subtract_product(&rest, &value, factor);
      EACH(v) {
        const vec absolute = size(&value, v);
        bound.v[v] += absolute * size(factor, v);
        row_sum.v[v] += absolute;
      }
    }
    for (tsi_count e = rows->ptr[i]; weight != NULL && e < rows->ptr[i + 1]; e++)
      EACH(v) weighted.v[v] += size(&a[at ? at[e] : e], v) / (tsi_real)weight[rows->index[e]];
    r[i] = rest;
    EACH(v) {
      const vec norm = row_sum.v[v] * largest.v[v], other = weighted.v[v] * most_weighted.v[v];
      const vec whole = weight ? pick(other < norm, other, norm) : norm, plain = bound.v[v];
      const vec most = pick(plain > (tsi_real)n * TSI_EPSILON * whole, plain, plain + whole);
      const mask sure = (most > least.v[v]) & (most <= LARGEST);
      const vec ratio = size(&rest, v) / (vec)(sure & (mask)most); /* not finite: not sure */
      worst.v[v] = pick((ratio > worst.v[v]) | (ratio != ratio), ratio, worst.v[v]); /* a NaN stays */
    }
  }
  bool all_finite = true;
  EACH_LANE(l) {
    error[l] = worst.lane[l];
    all_finite = all_finite && error[l] <= LARGEST;
  }
  if (all_finite) return;
  const unsigned zeros = are_zero(n, x) & are_zero(n, b);
  EACH_LANE(l) if (zeros >> l & 1) error[l] = 0;
}

static void residual(const tsi_batch_structure *s, tristar_op op, const void *a, const void *b,
                     const double *weight, const void *x, void *r, double *error) {
  if (s->mirror != NULL && op == TRISTAR_N) op = s->hermitian ? TRISTAR_C : TRISTAR_T; /* A = op(A) */
  if (op == TRISTAR_N)
    residual_by_rows(s->n, &s->rows, s->position, false, a, b, weight, x, r, error);
  else if (op == TRISTAR_C && TSI_COMPLEX)
    residual_by_rows(s->n, &s->a, NULL, true, a, b, weight, x, r, error);
  else
    residual_by_rows(s->n, &s->a, NULL, false, a, b, weight, x, r, error);
}

static void add(tsi_index n, unsigned lanes, const void *y, void *x) {
  const number *const from = y;
  number *const to = x;
  reals share;
  EACH_LANE(l) share.lane[l] = (tsi_real)(lanes >> l & 1);
  for (tsi_index i = 0; i < n; i++) EACH(r) {
      const mask here = share.v[r] > 0;
      to[i].re.v[r] = pick(here, to[i].re.v[r] + from[i].re.v[r], to[i].re.v[r]);
#if TSI_COMPLEX
      to[i].im.v[r] = pick(here, to[i].im.v[r] + from[i].im.v[r], to[i].im.v[r]);
#endif
    }
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_batch_kernels), isa)

const tsi_batch_kernels TABLE(TSI_ISA) = {.isa = TSI_TEXT(TSI_ISA),
                                          .lanes = LANES,
                                          .lane_bytes = sizeof(number),
                                          .real_bytes = sizeof(tsi_real),
                                          .load = load,
                                          .unload = unload,
                                          .overflows = overflows,
                                          .outside = outside,
                                          .factor = factor,
                                          .solve = solve,
                                          .condition = condition,
                                          .residual = residual,
                                          .add = add};
