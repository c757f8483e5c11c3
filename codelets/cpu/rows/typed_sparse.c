/* Products with the user's matrix, norms and errors: see sparse.h. */
#include "codelets/cpu/rows/rounding.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "codelets/cpu/base/finite.h"
#include "codelets/cpu/base/scalar.h"
#include "runtime/base/sort.h"

#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define TINY FLT_MIN
#define WIDER_EPSILON DBL_EPSILON
#else
#define TINY DBL_MIN
#define WIDER_EPSILON LDBL_EPSILON
#endif

/* Returns |x| without the guards of cabs against overflow and underflow, which would take half of the time of
 * a residual. Squares of floats are exact in double: the bits of glibc's cabsf. In complex double the result
 * has one rounding error more than that of cabs. */
INLINE double magnitude(tsi_scalar x) {
#if TSI_COMPLEX
  const double re = (double)tsi_re(x), im = (double)tsi_im(x), square = re * re + im * im;
#ifdef TSI_SCALAR_C
  if (square < 1e280) return (double)(float)sqrt(square);
#else
  if (square > 1e-280 && square < 1e280) return sqrt(square);
#endif
#endif
  return (double)tsi_abs(x);
}

/* Mirror image of a stored entry. */
INLINE tsi_scalar mirrored(tristar_symmetry symmetry, tsi_scalar a) {
  return symmetry == TRISTAR_SKEW_SYMMETRIC ? -a : symmetry == TRISTAR_HERMITIAN ? tsi_conj(a) : a;
}

/* r = b - op(A) x. Constants: line j gives r[j] (dot); entries stand for their mirror images, too. Without
 * dot or with mirror, r is b initially. */
INLINE void subtract_product(const tsi_sparse *a, const bool dot, const bool mirror, const bool conjugate,
                             const tsi_scalar *b, const tsi_scalar *x, tsi_scalar *r) {
  const tsi_scalar *values = a->values;
  for (tsi_index j = 0; j < a->n; j++) {
    tsi_scalar sum = 0;
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const tsi_index i = a->index[p];
      tsi_scalar e = values[p], m = mirror ? mirrored(a->symmetry, e) : e;
      if (conjugate) {
        e = tsi_conj(e);
        m = tsi_conj(m);
      }
      if (dot)
        sum += e * x[i];
      else
        r[i] -= e * x[j];
      if (!mirror || i == j) continue;
      if (dot)
        r[i] -= m * x[j];
      else
        sum += m * x[i];
    }
    if (dot && !mirror)
      r[j] = b[j] - sum;
    else if (mirror)
      r[j] -= sum;
  }
}

static void residual(const tsi_sparse *a, tristar_op op, const void *b, const void *x, void *r) {
  const bool conjugate = op == TRISTAR_C, dot = a->by_rows == (op == TRISTAR_N);
  const bool mirror = a->symmetry != TRISTAR_GENERAL;
  if (mirror || !dot) memcpy(r, b, (size_t)a->n * sizeof(tsi_scalar));
  if (mirror)
    subtract_product(a, dot, true, conjugate, b, x, r);
  else if (dot)
    subtract_product(a, true, false, conjugate, b, x, r);
  else
    subtract_product(a, false, false, conjugate, b, x, r);
}

/* *sum += a x */
static void add_wider(tsi_wider *sum, tsi_scalar a, tsi_scalar x) {
#if TSI_COMPLEX
  const tsi_wider p = a, q = x;
  __real__ *sum += __real__ p * __real__ q - __imag__ p * __imag__ q;
  __imag__ *sum += __real__ p * __imag__ q + __imag__ p * __real__ q;
#else
  *sum += (tsi_wider)a * x;
#endif
}

static void residual_wider(const tsi_sparse *a, tristar_op op, const void *bv, const void *xv, void *rv) {
  const tsi_scalar *values = a->values, *b = bv, *x = xv;
  tsi_wider *r = rv;
  const bool mirror = a->symmetry != TRISTAR_GENERAL, conjugate = op == TRISTAR_C;
  const bool dot = a->by_rows == (op == TRISTAR_N); /* line j gives r[j] */
  for (tsi_index j = 0; j < a->n; j++) r[j] = b[j];
  for (tsi_index j = 0; j < a->n; j++)
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const tsi_index i = a->index[p];
      const tsi_scalar e = conjugate ? tsi_conj(values[p]) : values[p];
      const tsi_index to = dot ? j : i, from = dot ? i : j;
      add_wider(&r[to], -e, x[from]);
      if (mirror && i != j) add_wider(&r[from], -mirrored(a->symmetry, e), x[to]);
    }
}

static void narrow(tsi_index n, const void *from, void *to) {
  for (tsi_index i = 0; i < n; i++) ((tsi_scalar *)to)[i] = (tsi_scalar)((const tsi_wider *)from)[i];
}

/* y += |op(A)| v, v_i = |x_i| or, x NULL, |g_i| or, g NULL too, 1. Constants: dot and mirror as above, and
 * which of x and g is NULL. */
INLINE void add_absolute(const tsi_sparse *a, const bool dot, const bool mirror, const tsi_scalar *x,
                         const double *g, double *y) {
  const tsi_scalar *values = a->values;
#define ABSOLUTE(i) (x ? magnitude(x[i]) : g ? fabs(g[i]) : 1)
  for (tsi_index j = 0; j < a->n; j++) {
    const double xj = ABSOLUTE(j);
    double sum = 0;
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const tsi_index i = a->index[p];
      const double e = magnitude(values[p]);
      if (dot || (mirror && i != j)) sum += e * ABSOLUTE(i);
      if (!dot || (mirror && i != j)) y[i] += e * xj;
    }
    if (dot || mirror) y[j] += sum;
  }
}

/* The same, of zeros. */
INLINE void absolute_product(const tsi_sparse *a, tristar_op op, const tsi_scalar *x, const double *g,
                             double *y) {
  const bool dot = a->by_rows == (op == TRISTAR_N);
  for (tsi_index j = 0; j < a->n; j++) y[j] = 0;
  if (a->symmetry != TRISTAR_GENERAL)
    add_absolute(a, dot, true, x, g, y);
  else if (dot)
    add_absolute(a, true, false, x, g, y);
  else
    add_absolute(a, false, false, x, g, y);
}

static void bound(const tsi_sparse *a, tristar_op op, const void *x, double *y) {
  absolute_product(a, op, x, NULL, y);
}

/* r = b - op(A) x and y = |op(A)| |x|. All but the arrays are constants. The sums have the order of
 * subtract_product and add_absolute. Without dot or with mirror, r is b and y zero initially. */
INLINE void subtract_and_bound(const tsi_sparse *a, const bool dot, const bool mirror, const bool conjugate,
                               const tsi_scalar *b, const tsi_scalar *x, tsi_scalar *restrict r,
                               double *restrict y) {
  const tsi_scalar *values = a->values;
  for (tsi_index j = 0; j < a->n; j++) {
    tsi_scalar sum = 0;
    double total = 0;
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const tsi_index i = a->index[p];
      const double absolute = magnitude(values[p]);
      const bool image = mirror && i != j;
      tsi_scalar e = values[p], m = mirror ? mirrored(a->symmetry, e) : e;
      if (conjugate) {
        e = tsi_conj(e);
        m = tsi_conj(m);
      }
      if (dot)
        sum += e * x[i];
      else
        r[i] -= e * x[j];
      if (dot || image) total += absolute * magnitude(x[i]);
      if (!dot || image) y[i] += absolute * magnitude(x[j]);
      if (image && dot) r[i] -= m * x[j];
      if (image && !dot) sum += m * x[i];
    }
    if (dot && !mirror) {
      r[j] = b[j] - sum;
      y[j] = total;
    } else if (mirror) {
      r[j] -= sum;
      y[j] += total;
    }
  }
}

static void residual_and_bound(const tsi_sparse *a, tristar_op op, const void *b, const void *x, void *r,
                               double *y) {
  const bool conjugate = TSI_COMPLEX && op == TRISTAR_C, dot = a->by_rows == (op == TRISTAR_N);
  const bool mirror = a->symmetry != TRISTAR_GENERAL;
  if (mirror || !dot) {
    memcpy(r, b, (size_t)a->n * sizeof(tsi_scalar));
    memset(y, 0, (size_t)a->n * sizeof *y);
  }
  if (mirror && dot)
    subtract_and_bound(a, true, true, conjugate, b, x, r, y);
  else if (mirror)
    subtract_and_bound(a, false, true, conjugate, b, x, r, y);
  else if (dot)
    subtract_and_bound(a, true, false, conjugate, b, x, r, y);
  else
    subtract_and_bound(a, false, false, conjugate, b, x, r, y);
}

/* Sums over the entries of a row of op(A). */
typedef struct row_terms {
  tsi_scalar residual;
  double bound, weighted, plain;
} row_terms;

INLINE double weight_of(const double *g, tsi_index i) {
  return g ? fabs(g[i]) : 1;
}

/* dot, conjugate: constants, as above. The sums have the order of subtract_product and add_absolute. */
INLINE void add_terms(const tsi_sparse *a, const bool dot, const bool conjugate, const tsi_scalar *x,
                      const double *g, row_terms *terms) {
  const tsi_scalar *values = a->values;
  for (tsi_index j = 0; j < a->n; j++) {
    const double size = magnitude(x[j]), weight = weight_of(g, j);
    row_terms sum = {.residual = 0};
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) {
      const tsi_index i = a->index[p];
      const double absolute = magnitude(values[p]);
      const tsi_scalar e = conjugate ? tsi_conj(values[p]) : values[p];
      row_terms *to = dot ? &sum : &terms[i];
      if (dot)
        to->residual += e * x[i];
      else
        to->residual -= e * x[j];
      to->bound += absolute * (dot ? magnitude(x[i]) : size);
      to->weighted += absolute * (dot ? weight_of(g, i) : weight);
      to->plain += absolute;
    }
    if (!dot) continue;
    terms[j].residual -= sum.residual;
    terms[j].bound = sum.bound;
    terms[j].weighted = sum.weighted;
    terms[j].plain = sum.plain;
  }
}

static void residual_and_sums(const tsi_sparse *a, tristar_op op, const void *bv, const void *x,
                              const double *g, void *work, void *rv, double *y, double *row_sum) {
  const bool conjugate = TSI_COMPLEX && op == TRISTAR_C, dot = a->by_rows == (op == TRISTAR_N);
  const tsi_scalar *b = bv;
  tsi_scalar *r = rv;
  row_terms *terms = work;
  for (tsi_index i = 0; i < a->n; i++) terms[i] = (row_terms){.residual = b[i]};
  if (dot)
    add_terms(a, true, conjugate, x, g, terms);
  else if (g)
    add_terms(a, false, conjugate, x, g, terms);
  else
    add_terms(a, false, conjugate, x, NULL, terms);
  for (tsi_index i = 0; i < a->n; i++) {
    r[i] = terms[i].residual;
    y[i] = terms[i].bound;
    row_sum[i] = terms[i].weighted;
    row_sum[a->n + i] = terms[i].plain;
  }
}

static void weigh(const tsi_sparse *a, tristar_op op, const double *g, double *y) {
  if (g)
    absolute_product(a, op, NULL, g, y);
  else
    absolute_product(a, op, NULL, NULL, y);
}

static void sizes(tsi_index n, const void *xv, const double *g, double *weighted, double *plain) {
  const tsi_scalar *x = xv;
  *weighted = *plain = 0;
  for (tsi_index i = 0; i < n; i++) {
    const double size = magnitude(x[i]) / (g ? fabs(g[i]) : 1);
    *weighted = tsi_larger(*weighted, size);
    if (g) *plain = tsi_larger(*plain, magnitude(x[i]));
  }
  if (g == NULL) *plain = *weighted;
}

static double least_size(tsi_index n, const void *xv, const double *g) {
  const tsi_scalar *x = xv;
  double least = INFINITY;
  for (tsi_index i = 0; i < n; i++) {
    const double size = g ? magnitude(x[i]) / fabs(g[i]) : magnitude(x[i]);
    least = size < least ? size : least;
  }
  return least;
}

/* Returns the number that the residual of row i is divided by. */
INLINE double denominator(tsi_index n, const tsi_scalar *b, const double *bounds, const double *row_sum,
                          const tsi_sizes *of_x, const double rounding, tsi_index i) {
  if (row_sum == NULL) return bounds[i] + magnitude(b[i]);
  const double norm = of_x->with_weights
                          ? tsi_smaller(row_sum[i] * of_x->weighted, row_sum[n + i] * of_x->plain)
                          : row_sum[i] * of_x->weighted;
  const double bound_i = bounds[i] + magnitude(b[i]);
  const bool rounded = !(bound_i > rounding * (norm + magnitude(b[i]))) && isfinite(norm);
  return rounded ? bounds[i] + norm : bound_i;
}

/* Returns the backward error of a row whose denominator |A| |x| + |b| overflows although both terms are
 * finite. NaN: a term is not finite. */
static double quotient_near_limit(double size, double bound, double of_b) {
  const double quarters = bound / 4 + of_b / 4;
  return isfinite(quarters) ? size / 4 / quarters : NAN;
}

static double backward_error_near_limit(tsi_index n, const tsi_scalar *b, const tsi_scalar *r,
                                        const double *bounds, const double *row_sum, const tsi_sizes *of_x) {
  const double rounding = tsi_rounding_share(of_x->n, (double)TSI_EPSILON);
  double error = 0;
  for (tsi_index i = 0; i < n; i++) {
    const double size = magnitude(r[i]), bound_i = denominator(n, b, bounds, row_sum, of_x, rounding, i);
    if (size == 0 && bound_i == 0) continue; /* an empty row of zeros is solved exactly */
    const double quotient =
        isfinite(bound_i) ? size / bound_i : quotient_near_limit(size, bounds[i], magnitude(b[i]));
    if (!(quotient <= error)) error = quotient;
    if (isnan(error)) break;
  }
  return error;
}

/* Has no branches if all numbers are finite. */
INLINE double backward_error_of(tsi_index n, const tsi_scalar *b, const tsi_scalar *r, const double *bounds,
                                const double *row_sum, const tsi_sizes of_x) {
  const double rounding = tsi_rounding_share(of_x.n, (double)TSI_EPSILON);
  double error = 0, not_finite = 0;
  for (tsi_index i = 0; i < n; i++) {
    const double size = magnitude(r[i]), bound_i = denominator(n, b, bounds, row_sum, &of_x, rounding, i);
    const double quotient = size / (size == 0 ? 1 : bound_i);
    error = quotient > error ? quotient : error;
    not_finite += (size + bound_i) * 0;
  }
  return not_finite == 0 ? error : backward_error_near_limit(n, b, r, bounds, row_sum, &of_x);
}

static double backward_error(tsi_index n, const void *b, const void *r, const double *bounds,
                             const double *row_sum, const tsi_sizes *of_x) {
  tsi_sizes sizes = *of_x;
  if (row_sum == NULL) return backward_error_of(n, b, r, bounds, NULL, sizes);
  sizes.with_weights = true;
  if (of_x->with_weights) return backward_error_of(n, b, r, bounds, row_sum, sizes);
  sizes.with_weights = false;
  return backward_error_of(n, b, r, bounds, row_sum, sizes);
}

static void leave_solved(tsi_index n, const void *bv, void *rv, const double *bounds, const double *row_sum,
                         const tsi_sizes *of_x, double error) {
  const tsi_scalar *b = bv;
  tsi_scalar *r = rv;
  const double rounding = tsi_rounding_share(of_x->n, (double)TSI_EPSILON);
  for (tsi_index i = 0; i < n; i++)
    if (magnitude(r[i]) <= error * denominator(n, b, bounds, row_sum, of_x, rounding, i)) r[i] = 0;
}

static void residual_bound(tsi_index n, const void *bv, const void *rv, const double *bounds,
                           const tsi_index *terms, double *f) {
  const tsi_scalar *b = bv, *r = rv;
  for (tsi_index i = 0; i < n; i++) {
    const double size = bounds[i] + magnitude(b[i]);
    f[i] = magnitude(r[i]) + terms[i] * (double)TSI_EPSILON * size;
    if (size > 0) f[i] += terms[i] * (double)TINY; /* products that underflow */
  }
}

/* Returns |x|, or the largest number if |x| overflows. */
static double size_in_range(tsi_scalar x) {
  const double size = hypot((double)tsi_re(x), (double)tsi_im(x));
  return size <= DBL_MAX ? size : DBL_MAX;
}

static void part(tsi_count count, const void *values, tsi_part which, double *out) {
  const tsi_scalar *from = values;
  for (tsi_count p = 0; p < count; p++)
    out[p] = which == TSI_PART_REAL        ? (double)tsi_re(from[p])
             : which == TSI_PART_IMAGINARY ? (double)tsi_im(from[p])
                                           : size_in_range(from[p]);
}

static bool alike(tsi_scalar x, tsi_scalar y, double same) {
  return magnitude(x - y) <= same / 2 * (double)TSI_EPSILON * (magnitude(x) + magnitude(y));
}

/* Are entries (i,j) and (j,i) nearly equal? root_i, root_j: roots of |a_ii| and |a_jj|. Sums that cancel have
 * rounding errors of the size of the product of these roots, however small the sum is. But with a penalty, or
 * unknowns of very different units, such a difference would change the equation of the smaller diagonal
 * entry. So the difference is also bounded by the diagonal entries. */
static bool nearly_alike(tsi_scalar x, tsi_scalar y, double same, double root_i, double root_j) {
  const double least = root_i < root_j ? root_i : root_j, gap = magnitude(x - y);
  return same > 0 && gap <= same * (double)TSI_EPSILON * root_i * root_j &&
         gap <= pow((double)TSI_EPSILON, 0.75) * least * least;
}

/* Returns sqrt(|a_ii|) of a matrix whose lines ascend; 0: there is no such entry. */
static double root_of_diagonal(const tsi_sparse *a, tsi_index i) {
  const tsi_scalar *values = a->values;
  const tsi_count at = tsi_find_sorted(a->index, a->ptr[i], a->ptr[i + 1], i);
  return at == TSI_NONE ? 0 : sqrt(size_in_range(values[at]));
}

/* Is the matrix equal to its image, entry by entry, explicit zeros included, with an entry on each diagonal?
 * Most symmetric matrices are, and this test takes a third of the time of the following one. Line by line: an
 * entry (k, i) left of the diagonal of line i must be the image of the next entry of line k after its
 * diagonal. next[k] may point to the end of line k, never beyond: the entry there is the first one of line k
 * + 1. Its column is at most k + 1 < i, or, if k + 1 = i, at most k. So it cannot match. */
static bool is_own_image(const tsi_sparse *a, bool adjoint, tsi_count *restrict next) {
  const tsi_scalar *values = a->values;
  const tsi_index *index = a->index;
  tsi_count unmatched = 0; /* entries right of a diagonal */
  for (tsi_index i = 0; i < a->n; i++) {
    const tsi_count end = a->ptr[i + 1];
    tsi_count e = a->ptr[i];
    for (; e < end && index[e] < i; e++) {
      const tsi_count p = next[index[e]]++;
      if (index[p] != i || values[e] != (adjoint ? tsi_conj(values[p]) : values[p])) return false;
      unmatched--;
    }
    if (e == end || index[e] != i || values[e] != (adjoint ? tsi_conj(values[e]) : values[e])) return false;
    next[i] = e + 1;
    unmatched += end - e - 1;
  }
  return unmatched == 0;
}

/* Visits each line from the diagonal on: the images of its entries must be the next entries of their lines.
 */
static tsi_count first_unlike(const tsi_sparse *a, bool adjoint, double same, tsi_count *next,
                              bool *rounded) {
  const tsi_scalar *values = a->values;
  const tsi_count *ptr = a->ptr;
  const tsi_index *index = a->index;
  if (is_own_image(a, adjoint, next)) return ptr[a->n];
  for (tsi_index j = 0; j < a->n; j++) next[j] = ptr[j];
  for (tsi_index j = 0; j < a->n; j++) {
    tsi_count p = next[j]; /* earlier images advanced next[j] */
    for (; p < ptr[j + 1] && index[p] < j; p++)
      if (values[p] != 0) return p;
    for (; p < ptr[j + 1]; p++) {
      const tsi_index i = index[p];
      tsi_count *image = &next[i];
      for (; *image < ptr[i + 1] && index[*image] < j; ++*image)
        if (values[*image] != 0) return *image;
      const bool there = *image < ptr[i + 1] && index[*image] == j;
      if (!there) {
        if (values[p] != 0) return p;
        continue;
      }
      const tsi_scalar next_value = values[(*image)++], other = adjoint ? tsi_conj(next_value) : next_value;
      if (values[p] == other) continue;
      if (!alike(values[p], other, same) &&
          (i == j || !nearly_alike(values[p], other, same, root_of_diagonal(a, i), root_of_diagonal(a, j))))
        return p;
      *rounded = true;
    }
  }
  return ptr[a->n];
}

static tsi_count first_apart(tsi_count count, const void *av, const double *root_a, const void *bv,
                             const double *root_b, bool adjoint, bool *rounded) {
  const tsi_scalar *a = av, *b = bv;
  for (tsi_count k = 0; k < count; k++) {
    const tsi_scalar other = adjoint ? tsi_conj(b[k]) : b[k];
    if (a[k] == other) continue;
    if (!alike(a[k], other, TSI_SAME) && !nearly_alike(a[k], other, TSI_SAME, root_a[k], root_b[k])) return k;
    *rounded = true;
  }
  return count;
}

static void add_at(tsi_count count, const tsi_count *place, const void *from, void *to) {
  const tsi_scalar *x = from;
  tsi_scalar *y = to;
  for (tsi_count i = 0; i < count; i++) y[place[i]] += x[i];
}

static void add_wider_at(tsi_count count, const tsi_count *place, const void *from, void *to) {
  for (tsi_count i = 0; i < count; i++) ((tsi_wider *)to)[place[i]] += ((const tsi_wider *)from)[i];
}

static void gather(tsi_count count, const tsi_count *place, tristar_symmetry symmetry, const void *from,
                   void *to) {
  const tsi_scalar *a = from;
  tsi_scalar *out = to;
  for (tsi_count q = 0; q < count; q++) {
    const bool mirrored = place[q] < 0;
    const tsi_scalar x = a[mirrored ? ~place[q] : place[q]];
    out[q] = !mirrored                            ? x
             : symmetry == TRISTAR_HERMITIAN      ? tsi_conj(x)
             : symmetry == TRISTAR_SKEW_SYMMETRIC ? -x
                                                  : x;
  }
}

/* Number of values that are checked at a time: a loop without an exit can be vectorized. */
#define FINITE_BLOCK 512

static tsi_count first_not_finite(tsi_count count, const void *values) {
  const tsi_scalar *from = values;
  for (tsi_count begin = 0; begin < count; begin += FINITE_BLOCK) {
    const tsi_count end = tsi_count_min(begin + FINITE_BLOCK, count);
    if (tsi_are_finite(end - begin, from + begin)) continue;
    for (tsi_count p = begin; p < end; p++)
      if (!isfinite(tsi_re(from[p])) || !isfinite(tsi_im(from[p]))) return p;
  }
  return count;
}

static tsi_count invert(tsi_count count, const void *values, void *inverse) {
  const tsi_scalar *from = values;
  tsi_scalar *to = inverse;
  for (tsi_count begin = 0; begin < count; begin += FINITE_BLOCK) {
    const tsi_count some = tsi_count_min(FINITE_BLOCK, count - begin);
    for (tsi_count i = begin; i < begin + some; i++) to[i] = (tsi_scalar)1 / from[i];
    const tsi_count fails = first_not_finite(some, to + begin);
    if (fails < some) return begin + fails;
  }
  return count;
}

static void dot(tsi_index n, const void *xv, const void *yv, double out[2]) {
  const tsi_scalar *x = xv, *y = yv;
  tsi_wide sum = 0;
  for (tsi_index i = 0; i < n; i++) sum += tsi_conj((tsi_wide)x[i]) * (tsi_wide)y[i];
  out[0] = tsi_re(sum);
  out[1] = (double)tsi_im(sum);
}

static void axpy(tsi_index n, const double factor[2], const void *xv, void *yv) {
  const tsi_scalar *x = xv;
  tsi_scalar *y = yv, a = (tsi_real)factor[0];
#if TSI_COMPLEX
  __imag__ a = (tsi_real)factor[1];
#endif
  for (tsi_index i = 0; i < n; i++) y[i] += a * x[i];
}

static void add(tsi_index n, void *xv, const void *yv) {
  tsi_scalar *x = xv;
  const tsi_scalar *y = yv;
  for (tsi_index i = 0; i < n; i++) x[i] += y[i];
}

static void scale(tsi_index n, void *xv, const double *s, bool divide) {
  tsi_scalar *x = xv;
  for (tsi_index i = 0; s && i < n; i++)
    x[i] = (tsi_scalar)(divide ? (tsi_wide)x[i] / s[i]
                               : (tsi_wide)x[i] * s[i]); /* s may be no number of a single type */
}

static void multiply(tsi_index n, void *xv, double factor) {
  tsi_scalar *x = xv;
  for (tsi_index i = 0; i < n; i++) x[i] = (tsi_scalar)((tsi_wide)x[i] * factor);
}

static double one_norm(tsi_index n, const void *xv) {
  const tsi_scalar *x = xv;
  double sum = 0;
  for (tsi_index i = 0; i < n; i++) sum += magnitude(x[i]);
  return sum;
}

static tsi_index largest(tsi_index n, const void *xv) {
  const tsi_scalar *x = xv;
  tsi_index best = 0;
  for (tsi_index i = 1; i < n; i++)
    if (magnitude(x[i]) > magnitude(x[best])) best = i;
  return best;
}

static double largest_size(tsi_index n, const void *xv) {
  const tsi_scalar *x = xv;
  double most = 0;
  for (tsi_index i = 0; i < n; i++) most = tsi_larger(most, magnitude(x[i]));
  return most;
}

static double largest_scaled(tsi_index n, const void *xv, const double *s) {
  const tsi_scalar *x = xv;
  double most = 0;
  for (tsi_index i = 0; i < n; i++) {
    const double size = magnitude(x[i]) * (s ? s[i] : 1);
    most = tsi_larger(most, size);
  }
  return most;
}

static double smallest_scaled(tsi_index n, const void *xv, const double *s) {
  const tsi_scalar *x = xv;
  double least = INFINITY;
  for (tsi_index i = 0; i < n; i++) {
    const double size = magnitude(x[i]) * (s ? fabs(s[i]) : 1);
    if (size > 0 && size < least) least = size;
  }
  return least;
}

static void take_large(tsi_index n, void *xv, const double *s, double least, void *yv) {
  tsi_scalar *x = xv, *y = yv;
  for (tsi_index i = 0; i < n; i++) {
    const bool large = !(magnitude(x[i]) * (s ? fabs(s[i]) : 1) < least);
    y[i] = large ? x[i] : 0;
    if (large) x[i] = 0;
  }
}

static void sign(tsi_index n, const void *xv, void *zv) {
  const tsi_scalar *x = xv;
  tsi_scalar *z = zv;
  for (tsi_index i = 0; i < n; i++) z[i] = tsi_abs(x[i]) > 0 ? x[i] / tsi_abs(x[i]) : 1;
}

static void fill(tsi_index n, const double *from, void *xv) {
  tsi_scalar *x = xv;
  for (tsi_index i = 0; i < n; i++) x[i] = (tsi_real)from[i];
}

extern const tsi_sparse_kernels TSI_TYPED(tsi_sparse_kernels);
const tsi_sparse_kernels TSI_TYPED(tsi_sparse_kernels) = {
    .scalar_bytes = sizeof(tsi_scalar),
    .is_complex = TSI_COMPLEX,
    .epsilon = (double)TSI_EPSILON,
    .residual = residual,
    .residual_wider = residual_wider,
    .wider_bytes = sizeof(tsi_wider),
    .wider_epsilon = (double)WIDER_EPSILON,
    .narrow = narrow,
    .bound = bound,
    .weigh = weigh,
    .sizes = sizes,
    .least_size = least_size,
    .residual_and_bound = residual_and_bound,
    .residual_and_sums = residual_and_sums,
    .terms_bytes = sizeof(row_terms),
    .backward_error = backward_error,
    .leave_solved = leave_solved,
    .residual_bound = residual_bound,
    .part = part,
    .first_unlike = first_unlike,
    .first_apart = first_apart,
    .add_at = add_at,
    .add_wider_at = add_wider_at,
    .gather = gather,
    .first_not_finite = first_not_finite,
    .invert = invert,
    .dot = dot,
    .axpy = axpy,
    .add = add,
    .scale = scale,
    .multiply = multiply,
    .one_norm = one_norm,
    .largest_size = largest_size,
    .largest_scaled = largest_scaled,
    .smallest_scaled = smallest_scaled,
    .take_large = take_large,
    .largest = largest,
    .sign = sign,
    .fill = fill,
};
