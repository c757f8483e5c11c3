/* Properties of the matrix of a factor, and errors of solutions. */
#include <float.h>

#include "tests/fuzz/api.h"

/* ---- What is known of a factor ------------------------------------------------------------------------- */

double unit_roundoff(tristar_scalar scalar) {
  return is_single(scalar) ? 0x1p-24 : 0x1p-53;
}

size_t scalar_bytes(const cell *c) {
  return (is_complex(c->p->scalar) ? 2 : 1) * (is_single(c->p->scalar) ? sizeof(float) : sizeof(double));
}

/* Is a double matrix factored in single precision? */
bool mixed(const cell *c) {
  return c->eps > 1e-10 && !is_single(c->p->scalar);
}

/* Entries of A and A^-1 differ so much in size, or are so near the ends of the range, that their products
 * overflow or underflow. */
bool badly_scaled(const cell *c) {
  const reference *r = values_reference(c->p, c->v);
  const long double most = c->eps > 1e-10 ? 1e9L : 1e75L;
  return r->trusted && (r->most > most || r->least < 1 / most);
}

/* Is the matrix far enough from singular that its factors are useful? */
bool well_conditioned(const cell *c) {
  const reference *r = values_reference(c->p, c->v);
  return r->trusted && r->bauer * c->p->n * c->eps < 1e-3L;
}

/* Does the analysis have other values, so that its method does not suit the values of the cell? */
bool analyzed_otherwise(const cell *c) {
  if (c->p->symmetry != TRISTAR_GENERAL || c->options.method == TRISTAR_METHOD_LU) return false;
  if (!c->values_known)
    return c->options.method != TRISTAR_METHOD_AUTO && !(c->v->hermitian || c->v->symmetric);
  return (c->analyzed_hermitian && !c->v->hermitian) ||
         (!c->analyzed_hermitian && c->analyzed_symmetric && !c->v->symmetric);
}

/* Are the values dominant, and does the pattern have the whole diagonal? */
static bool is_dominant(const cell *c) {
  for (int i = 0; i < c->p->n; i++)
    if (c->v->truth[i][i] == 0) return false;
  return c->v->style == DOMINANT && c->p->symmetry != TRISTAR_SKEW_SYMMETRIC;
}

/* May pivots be tiny even if the matrix is well conditioned, because nothing moves larger entries to the
 * diagonal? */
bool lacks_pivots(const cell *c) {
  return c->options.matching == TRISTAR_MATCHING_OFF && c->options.method != TRISTAR_METHOD_LLT &&
         !is_dominant(c);
}

/* Was the matching computed for very different values? It permutes and scales the matrix for all later
 * values, so the factors may be useless (see the header). */
bool matched_otherwise(const cell *c) {
  return c->analyzed != NULL && c->analyzed != c->v && c->options.method != TRISTAR_METHOD_LLT &&
         c->options.matching != TRISTAR_MATCHING_OFF;
}

/* Does this kind of factorization suit these values? */
static bool fits_method(const cell *c) {
  if (c->options.method == TRISTAR_METHOD_LLT) return c->v->hermitian;
  return true;
}

long double magnitude_of_op(values *v, tristar_op op, int i, int j) {
  return cabsl(reference_op(v->truth, op, i, j));
}

/* ---- Right-hand sides ---------------------------------------------------------------------------------- */

number rhs_entry(const cell *c, rhs_kind kind, uint64_t seed, int i, int k) {
  number b = hash_uniform(seed, i, k);
  if (is_complex(c->p->scalar)) __imag__ b = hash_uniform(seed + 1, i, k);
  if (kind == RHS_ZERO || (kind == RHS_ONE && i != (int)(seed % (unsigned)c->p->n))) return 0;
  if (kind == RHS_LARGE) return b * (is_single(c->p->scalar) ? 1e10L : 1e100L);
  if (kind == RHS_PRODUCT && c->v != NULL) {
    b = 0;
    for (int j = 0; j < c->p->n; j++) b += c->v->truth[i][j];
  }
  return b;
}

/* ---- Judgement of solutions ---------------------------------------------------------------------------- */

/* Smallest positive number of a type. */
long double smallest_number(tristar_scalar scalar) {
  return is_single(scalar) ? FLT_TRUE_MIN : DBL_TRUE_MIN;
}

errors measure(const cell *c, tristar_op op, const number *b, const number *x) {
  const int n = c->p->n;
  const double eps = 2 * unit_roundoff(c->p->scalar);
  const reference *r = values_reference(c->p, c->v);
  number truth[ORDER_MOST];
  long double residual[ORDER_MOST], size[ORDER_MOST], row_sum[ORDER_MOST], bounds[ORDER_MOST];
  long double most_residual = 0, most_sum = 0, most_x = 0, most_b = 0, most_difference = 0;
  errors e = {.finite = true};
  for (int i = 0; i < n; i++) {
    e.finite = e.finite && isfinite(creall(x[i])) && isfinite(cimagl(x[i]));
    most_x = fmaxl(most_x, cabsl(x[i]));
    most_b = fmaxl(most_b, cabsl(b[i]));
  }
  for (int i = 0; i < n; i++) {
    number sum = b[i];
    size[i] = cabsl(b[i]);
    row_sum[i] = 0;
    for (int j = 0; j < n; j++) {
      sum -= reference_op(c->v->truth, op, i, j) * x[j];
      size[i] += magnitude_of_op(c->v, op, i, j) * cabsl(x[j]);
      row_sum[i] += magnitude_of_op(c->v, op, i, j);
    }
    residual[i] = cabsl(sum);
    most_residual = fmaxl(most_residual, residual[i]);
    most_sum = fmaxl(most_sum, row_sum[i]);
  }
  if (most_residual > 0) e.backward = most_residual / (most_sum * most_x + most_b);
  for (int i = 0; i < n; i++) {
    long double bound = size[i];
    if (bound < fmin(1000 * n * eps, 1e-3) * (row_sum[i] * most_x + cabsl(b[i])))
      bound = size[i] - cabsl(b[i]) + row_sum[i] * most_x;
    bounds[i] = bound;
    if (bound > 0) e.underflow = fmaxl(e.underflow, 4 * n * smallest_number(c->p->scalar) / bound);
    if (residual[i] > 0) e.documented = fmaxl(e.documented, residual[i] / bound);
    if (residual[i] > 0) e.strict = fmaxl(e.strict, residual[i] / size[i]);
  }
  if (!r->trusted) return e;
  /* An inaccurate truth gives no errors of x. */
  if (reference_solve(r, c->v->truth, op, b, truth) > 1e-15L) return e;
  for (int i = 0; i < n; i++) {
    long double sum = 0, documented = 0;
    for (int j = 0; j < n; j++) {
      const long double inverse = cabsl(reference_op(((reference *)r)->inverse, op, i, j));
      sum += inverse * size[j];
      documented += inverse * bounds[j];
    }
    e.sensitivity = fmaxl(e.sensitivity, sum);
    e.documented_sensitivity = fmaxl(e.documented_sensitivity, documented);
    most_difference = fmaxl(most_difference, cabsl(x[i] - truth[i]));
  }
  e.forward = most_x > 0 ? most_difference / most_x : most_difference > 0 ? INFINITY : 0;
  e.sensitivity = most_x > 0 ? e.sensitivity / most_x : 0;
  e.documented_sensitivity = most_x > 0 ? e.documented_sensitivity / most_x : 0;
  return e;
}

void fetch_column(const cell *c, const void *array, int64_t begin, int64_t stride, number *column) {
  for (int i = 0; i < c->p->n; i++) column[i] = get(c->p->scalar, array, (int)(begin + i * stride));
}

/* Is the number in a range in which products and sums do not overflow, and few products underflow? */
bool in_range(const cell *c, number a) {
  const long double size = cabsl(a), most = is_single(c->p->scalar) ? 1e14L : 1e140L;
  return size == 0 || (size < most && size > 1 / most);
}

/* Judges one column of a solve without refinement. */
void judge_plain(const cell *c, tristar_op op, const number *b, const number *x) {
  if (c->v == NULL || c->p->n == 0 || !c->v->finite || !well_conditioned(c) || matched_otherwise(c)) return;
  const errors e = measure(c, op, b, x);
  if (badly_scaled(c) || (mixed(c) && !c->v->fits_single)) return; /* judged as refined */
  for (int i = 0; mixed(c) && i < c->p->n; i++)
    if (cabsl(b[i]) > 1e30L) return;
  MUST(e.finite, "a solution is not finite; condition %Lg", c->v->reference.bauer);
  const bool definite = fits_method(c) && c->options.method == TRISTAR_METHOD_LLT;
  const bool stable = definite || is_dominant(c) || c->imported;
  const long double limit =
      100.0L * (c->p->n + 10) * c->eps * (stable && !definite && !c->imported ? 1 : c->v->reference.kappa);
  if (stable)
    MUST(e.backward <= limit, "backward error %Lg is above %Lg; condition %Lg", e.backward, limit,
         c->v->reference.kappa);
}
