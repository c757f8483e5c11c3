/* Factors of many matrices in lanes: see batch.h. Compiled for each scalar type and instruction set. */
#include "codelets/cpu/rows/batch.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "codelets/cpu/base/scalar.h"

#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define LANES (TSI_BATCH_BYTES / 4)
#define SMALLEST FLT_MIN
#define MULTIPLIER 600.f
#define TINY 3e-4f
typedef int32_t integer;
#else
#define LANES (TSI_BATCH_BYTES / 8)
#define SMALLEST DBL_MIN
#define MULTIPLIER 2e6
#define TINY 1e-8
typedef int64_t integer;
#endif

#if defined __AVX512F__
#define REGISTER_BYTES 64
#elif defined __AVX2__
#define REGISTER_BYTES 32
#else
#define REGISTER_BYTES 16
#endif
#define REGISTERS (TSI_BATCH_BYTES / REGISTER_BYTES)
#define UNROLL _Pragma("GCC unroll 4")
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
  return pick(a < 0, -a, a);
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

/* Data to detect weak pivots: see the kernel `factor`. */
typedef struct pivots {
  reals least, most; /* minimum and maximum of their sizes */
  reals multipliers; /* largest sum of squares of a column of L */
} pivots;

INLINE void note(pivots *p, const number *pivot, const reals *squares) {
  EACH(r) {
    const vec now = size(pivot, r), sum = squares->v[r];
    p->least.v[r] = pick(now < p->least.v[r], now, p->least.v[r]);
    p->most.v[r] = pick(now > p->most.v[r], now, p->most.v[r]);
    p->multipliers.v[r] = pick(sum > p->multipliers.v[r], sum, p->multipliers.v[r]);
  }
}

/* Returns a bit for each lane with a weak pivot. */
INLINE unsigned have_weak(const pivots *p) {
  unsigned weak = 0;
  EACH_LANE(l) {
    const bool grows = p->multipliers.lane[l] > MULTIPLIER * MULTIPLIER;
    weak |= (unsigned)(grows || p->least.lane[l] < TINY * p->most.lane[l]) << l;
  }
  return weak;
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

/* ---- Between the user's arrays and lanes --------------------------------------------------------------- */

INLINE void put(number *to, int l, tsi_scalar from) {
  to->re.lane[l] = tsi_re(from);
#if TSI_COMPLEX
  to->im.lane[l] = tsi_im(from);
#endif
}

static void load(tsi_count count, const tsi_count *source, const double *scale, tristar_symmetry symmetry,
                 const void *const *values, void *a) {
  number *const to = a;
  const bool conjugates = symmetry == TRISTAR_HERMITIAN, negates = symmetry == TRISTAR_SKEW_SYMMETRIC;
  for (tsi_count e = 0; e < count; e++) {
    const bool image = source[e] < 0;
    const tsi_count at = image ? ~source[e] : source[e];
    const tsi_real factor = (tsi_real)(image && negates ? -scale[e] : scale[e]);
    number x = zero();
    EACH_LANE(l) {
      const tsi_scalar value = ((const tsi_scalar *)values[l])[at];
      put(&x, l, factor * value);
    }
    to[e] = image && conjugates ? conjugate(x) : x;
  }
}

static void gather(tsi_index n, const tsi_index *row, const double *scale, const void *const *b, void *x) {
  number *const to = x;
  for (tsi_index i = 0; i < n; i++) {
    const tsi_real factor = scale ? (tsi_real)scale[i] : 1;
    EACH_LANE(l) put(&to[i], l, factor * ((const tsi_scalar *)b[l])[row[i]]);
  }
}

static void scatter(tsi_index n, const tsi_index *row, const double *scale, const void *w, void *const *x) {
  const number *const from = w;
  for (tsi_index i = 0; i < n; i++) {
    const tsi_real factor = scale ? (tsi_real)scale[i] : 1;
    EACH_LANE(l) {
      if (x[l] == NULL) continue;
      tsi_scalar value;
#if TSI_COMPLEX
      __real__ value = factor * from[i].re.lane[l];
      __imag__ value = factor * from[i].im.lane[l];
#else
      value = factor * from[i].re.lane[l];
#endif
      ((tsi_scalar *)x[l])[row[i]] = value;
    }
  }
}

static unsigned overflows(tsi_index n, const double *scale, const void *w) {
  const number *const from = w;
  number lost = zero();
  for (tsi_index i = 0; i < n; i++) EACH(r) {
      const vec re = (tsi_real)scale[i] * from[i].re.v[r];
      lost.re.v[r] += re - re; /* NaN */
#if TSI_COMPLEX
      const vec im = (tsi_real)scale[i] * from[i].im.v[r];
      lost.im.v[r] += im - im;
#endif
    }
  return not_finite(&lost);
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

/* Computes column j of L and D from the remainder of A in this column. */
INLINE unsigned end_column(const tsi_batch_structure *s, tsi_index j, number *l, number *inverse, number *x,
                           pivots *seen) {
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
  }
  note(seen, &before, &squares);
  return not_finite(&pivot);
}

INLINE unsigned not_positive(const number *a) {
  unsigned bad = 0;
  EACH_LANE(l) bad |= (unsigned)!(a->re.lane[l] > 0) << l;
  return bad;
}

static unsigned factor_symmetric(const tsi_batch_structure *s, const number *a, number *x,
                                 const tsi_batch_factors *out) {
  number *const l = out->l, *const d = out->u;
  unsigned bad = 0;
  pivots seen = {.most = {.lane = {0}}, .multipliers = {.lane = {0}}};
  EACH_LANE(i) seen.least.lane[i] = INFINITY;
  for (tsi_index j = 0; j < s->n; j++) {
    for (tsi_count e = s->a.ptr[j]; e < s->a.ptr[j + 1]; e++)
      if (s->a.index[e] >= j) x[s->a.index[e]] = a[e];
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
    if (s->positive) bad |= not_positive(&d[j]);
    bad |= end_column(s, j, l, out->inverse, x, &seen);
  }
  return bad | have_weak(&seen);
}

static unsigned factor(const tsi_batch_structure *s, const void *a_values, void *work,
                       const tsi_batch_factors *out) {
  const number *const a = a_values;
  if (s->mirror) return factor_symmetric(s, a, work, out);
  number *const x = work, *const l = out->l, *const u = out->u, *const inverse = out->inverse;
  unsigned bad = 0;
  pivots seen = {.most = {.lane = {0}}, .multipliers = {.lane = {0}}};
  EACH_LANE(i) seen.least.lane[i] = INFINITY;
  for (tsi_index j = 0; j < s->n; j++) {
    for (tsi_count e = s->a.ptr[j]; e < s->a.ptr[j + 1]; e++) x[s->a.index[e]] = a[e];
    for (tsi_count e = s->u.ptr[j]; e < s->u.ptr[j + 1];) {
      const tsi_index k = s->u.index[e];
      const int count = subtract_lower(s, k, j - k, l, x); /* all of these are rows of column j of U */
      for (int i = 0; i < count; i++) {
        u[e + i] = x[k + i];
        x[k + i] = zero();
      }
      e += count;
    }
    bad |= end_column(s, j, l, inverse, x, &seen);
  }
  return bad | have_weak(&seen);
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

/* Solves with L D L^T, or, conjugates, with its conjugate. */
INLINE void solve_symmetric(const tsi_batch_structure *s, const tsi_batch_factors *factors,
                            const bool conjugates, number *x) {
  const number *const l = factors->l, *const inverse = factors->inverse;
  const bool upper = s->hermitian != conjugates; /* the upper factor is conjugated */
  for (tsi_index k = 0; k < s->n && conjugates; k++)
    for (tsi_count e = s->l.ptr[k]; e < s->l.ptr[k + 1]; e++) {
      const number value = conjugate(l[e]);
      subtract_product(&x[s->l.index[e]], &value, &x[k]);
    }
  for (tsi_index k = 0; k < s->n && !conjugates;) k += subtract_lower(s, k, s->n - k, l, x);
  for (tsi_index k = s->n - 1; k >= 0; k--) {
    const number pivot = conjugates ? conjugate(inverse[k]) : inverse[k];
    x[k] = product(&x[k], &pivot);
    x[k] = minus_dot(&s->l, k, l, upper, x);
  }
}

static void solve(const tsi_batch_structure *s, const tsi_batch_factors *factors, tristar_op op,
                  void *vector) {
  const number *const inverse = factors->inverse;
  number *const x = vector;
  if (s->mirror) {
    if (TSI_COMPLEX && op == (s->hermitian ? TRISTAR_T : TRISTAR_C))
      solve_symmetric(s, factors, true, x);
    else
      solve_symmetric(s, factors, false, x);
    return;
  }
  if (op != TRISTAR_N) {
    if (op == TRISTAR_C && TSI_COMPLEX)
      solve_transposed(s, factors, true, x);
    else
      solve_transposed(s, factors, false, x);
    return;
  }
  for (tsi_index k = 0; k < s->n;) k += subtract_lower(s, k, s->n - k, factors->l, x);
  for (tsi_index k = s->n - 1; k >= 0; k--) {
    x[k] = product(&x[k], &inverse[k]);
    subtract_column(&s->u, k, factors->u, x[k], x);
  }
}

/* ---- Residuals ----------------------------------------------------------------------------------------- */

static void residual(const tsi_batch_structure *s, tristar_op op, const void *a_values, const void *b_values,
                     const double *weight, const void *x_values, void *r_values, void *work, double *error) {
  const number *const a = a_values, *const b = b_values, *const x = x_values;
  number *const r = r_values;
  /* of |op(A)| |x| + |b|, of |op(A)|, and of the latter with weights */
  reals *const bound = work, *const row_sum = bound + s->n, *const weighted = row_sum + s->n;
  reals largest = {.lane = {0}}, most_weighted = {.lane = {0}}, worst = {.lane = {0}};
  for (tsi_index i = 0; i < s->n; i++) {
    r[i] = b[i];
    EACH(v) {
      const vec entry = size(&x[i], v);
      bound[i].v[v] = size(&b[i], v);
      row_sum[i].v[v] = weighted[i].v[v] = (vec){0};
      largest.v[v] = pick(entry > largest.v[v], entry, largest.v[v]);
      if (weight == NULL) continue;
      const vec of_user = entry * (tsi_real)weight[i];
      most_weighted.v[v] = pick(of_user > most_weighted.v[v], of_user, most_weighted.v[v]);
    }
  }
  for (tsi_index j = 0; j < s->n; j++)
    for (tsi_count e = s->a.ptr[j]; e < s->a.ptr[j + 1]; e++) {
      const tsi_index to = op == TRISTAR_N ? s->a.index[e] : j, from = op == TRISTAR_N ? j : s->a.index[e];
      const number value = op == TRISTAR_C ? conjugate(a[e]) : a[e];
      subtract_product(&r[to], &value, &x[from]);
      EACH(v) {
        const vec entry = size(&value, v);
        bound[to].v[v] += entry * size(&x[from], v);
        row_sum[to].v[v] += entry;
        if (weight) weighted[to].v[v] += entry / (tsi_real)weight[from];
      }
    }
  for (tsi_index i = 0; i < s->n; i++) EACH(v) {
      const vec norm = row_sum[i].v[v] * largest.v[v], other = weighted[i].v[v] * most_weighted.v[v];
      const vec whole = weight ? pick(other < norm, other, norm) : norm, plain = bound[i].v[v];
      const vec most = pick(plain > (tsi_real)s->n * TSI_EPSILON * whole, plain, plain + whole);
      const vec ratio = size(&r[i], v) / pick(most > SMALLEST, most, most + SMALLEST);
      worst.v[v] = pick((ratio > worst.v[v]) | (ratio != ratio), ratio, worst.v[v]); /* a NaN stays */
    }
  EACH_LANE(l) error[l] = worst.lane[l];
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
                                          .gather = gather,
                                          .scatter = scatter,
                                          .overflows = overflows,
                                          .factor = factor,
                                          .solve = solve,
                                          .residual = residual,
                                          .add = add};
