/* Determinant and inertia of a matrix from its pivots.
 *
 * The diagonal of a packed triangle holds the reciprocals of the diagonal of L (LLT) or of U (LU), whatever
 * the treatment of diagonal blocks (panel.h); `inverse` holds D^-1 (LDLT). With the scalings R and C of rows
 * and columns, and the permutations P and Q of rows and columns into factor order,
 *
 *   det A = det P det Q det(L D U) / (det R det C).
 *
 * A perturbed pivot has an unknown sign, unless it is a null pivot: a pivot of a singular matrix of which
 * only rounding errors were left. Null pivots are at most eps^NULL_PIVOT of the largest entry of the scaled
 * matrix, perturbed or not. Where units are far apart, the limit is a few epsilons of this entry. Other
 * perturbed pivots were set to eps^(1/2) of it. If pivots have grown, so have rounding errors. If these may
 * exceed a null pivot, no pivot of a singular matrix is certain.
 *
 * If the factors leave doubt, the values are factored once more, with a matching of their own. So are values
 * whose scaling has units that are far apart: where the sizes of entries follow no units, such a scaling can
 * make pivots of entries that are only rounding errors beside others. The scaling of a matching makes the
 * entries of one permutation, the one with the largest product, one, and all others smaller.
 *
 * Reads   a factor.   Writes  nothing else.
 * Source  Sylvester's law of inertia; Golub and Van Loan, Matrix Computations, section 8.1. */
#include <math.h>
#include <stdio.h>

#include "codelets/cpu/base/panel.h"
#include "runtime/base/scalars.h"
#include "runtime/factor/scaling.h"
#include "tristar_stats.h"

#define NULL_PIVOT 0.8
#define FAR_NULL_PIVOT 4 /* Epsilons of the largest entry: limit of what cancellation leaves (front.c). */
#define UNKNOWN 8        /* Times eps^(1/2) of the largest entry: pivots below may have been perturbed. */

/* Product of many factors; its value is mantissa 2^exponent. */
typedef struct product {
  double re, im;
  int64_t exponent;
} product;

static void normalize(product *p) {
  int shift;
  (void)frexp(fmax(fabs(p->re), fabs(p->im)), &shift);
  p->re = ldexp(p->re, -shift);
  p->im = ldexp(p->im, -shift);
  p->exponent += shift;
}

static void multiply(product *p, product factor) {
  normalize(&factor);
  const double re = p->re * factor.re - p->im * factor.im;
  p->im = p->re * factor.im + p->im * factor.re;
  p->re = re;
  p->exponent += factor.exponent;
  normalize(p);
}

/* Both parts are divided by the square of the mantissa, which is between 1/4 and 2. */
static product reciprocal(product p) {
  const double square = p.re * p.re + p.im * p.im;
  product result = {p.re / square, -p.im / square, -p.exponent};
  normalize(&result);
  return result;
}

static product scalar_at(char scalar, const void *array, tsi_count i) {
  double part[2];
  tsi_scalar_read(scalar, array, (size_t)i, part);
  return (product){part[0], part[1], 0};
}

/* Summary of all pivots. */
typedef struct pivots {
  double null, unknown; /* Limits of the absolute value. */
  bool far;             /* Units are far apart, or a row of the scaled matrix is small. */
  product all;          /* Product of the reciprocals. */
  int64_t positive, negative, zero, uncertain;
} pivots;

/* Counts one pivot. size: its absolute value; negative: the sign of a real one. */
static void count(pivots *p, double size, bool negative) {
  if (size <= p->null)
    p->zero++;
  else if (size <= p->unknown)
    p->uncertain++;
  else if (negative)
    p->negative++;
  else
    p->positive++;
}

/* Counts a pivot D of order 2. size: the square root of the absolute value of its determinant. The others are
 * entries of D^-1: its diagonal entries, and the absolute value of the off-diagonal one. D has one eigenvalue
 * of each sign if its determinant is negative, else two with the sign of its diagonal entries. D is singular
 * if its smaller eigenvalue is zero but for rounding errors; its reciprocal is the larger eigenvalue of D^-1.
 * If the off-diagonal entry of D is only rounding errors, too, they have reached all later pivots. */
static void count_pair(pivots *p, double size, bool opposite, double first, double second, double off) {
  const double least = 1 / fmax(fabs(off), fmax(fabs(first), fabs(second)));
  const bool down = first + second < 0; /* Sign of the smaller eigenvalue. */
  if (least <= p->null) {
    count(p, least, down);
    if (size <= p->null)
      p->uncertain++;
    else
      count(p, size / least * size, opposite ? !down : down);
    return;
  }
  count(p, size, opposite || first < 0);
  count(p, size, !opposite && first < 0);
}

/* Counts the pivots of L D L^T, of order 1 or 2. */
static void add_blocks(const tristar_factor_t *factor, pivots *p) {
  const char scalar = factor->analysis->factor_scalar;
  for (tsi_index k = 0; k < factor->analysis->symbolic->n; k++) {
    const product i11 = scalar_at(scalar, factor->inverse, 2 * (tsi_count)k);
    const product i21 = scalar_at(scalar, factor->inverse, 2 * (tsi_count)k + 1);
    if (i21.re == 0 && i21.im == 0) {
      count(p, 1 / hypot(i11.re, i11.im), i11.re < 0);
      multiply(&p->all, i11);
      continue;
    }
    const product i22 = scalar_at(scalar, factor->inverse, 2 * (tsi_count)++k);
    product diagonal = {1, 0, 0}, other = {1, 0, 0};
    multiply(&diagonal, i11);
    multiply(&diagonal, i22);
    multiply(&other, i21);
    multiply(&other, factor->adjoint ? (product){i21.re, -i21.im, 0} : i21);
    const int64_t most = diagonal.exponent > other.exponent ? diagonal.exponent : other.exponent;
    const int down = (int)fmax((double)(diagonal.exponent - most), -2000),
              less = (int)fmax((double)(other.exponent - most), -2000);
    const product block = {ldexp(diagonal.re, down) - ldexp(other.re, less),
                           ldexp(diagonal.im, down) - ldexp(other.im, less), most};
    const double size = exp2(-0.5 * (double)most) / sqrt(hypot(block.re, block.im));
    count_pair(p, size, block.re < 0, i11.re, i22.re, hypot(i21.re, i21.im));
    multiply(&p->all, block);
  }
}

/* Counts the pivots of L L^T, squares of the diagonal of L, or of LU. */
static void add_diagonal(const tristar_factor_t *factor, pivots *p) {
  const tsi_panels *panels = factor->analysis->panels;
  const bool lu = tsi_analysis_is_lu(factor->analysis);
  for (tsi_index panel = 0; panel < panels->count; panel++) {
    const char *triangle = tsi_factor_panel(factor, lu, panel);
    const tsi_index w = tsi_panel_width(panels, panel);
    for (tsi_index k = 0; k < w; k++) {
      const tsi_index r = k / TSI_ROW_BLOCK * TSI_ROW_BLOCK, rows = tsi_index_min(TSI_ROW_BLOCK, w - r);
      const tsi_count at = tsi_triangle_block(r) + (tsi_count)rows * r + tsi_corner_column(rows, k - r);
      const product entry = scalar_at(factor->analysis->factor_scalar, triangle, at);
      const double size = 1 / hypot(entry.re, entry.im);
      count(p, lu ? size : size * size, false);
      multiply(&p->all, entry);
      if (!lu) multiply(&p->all, entry);
    }
  }
}

/* Finds the largest entry of the scaled matrix, which is symmetric. *far: some row has no entry near it. */
static tristar_status find_largest_entry(const tristar_factor_t *factor, double *largest, bool *far) {
  tsi_env *env = &factor->ts->env;
  const tsi_pattern *pattern = factor->analysis->pattern;
  const tsi_index n = pattern->n;
  const double *scale = factor->row_scale;
  double least = INFINITY;
  TSI_OWNED double *magnitude = NULL, *of_row = NULL;
  TSI_TRY(tsi_pattern_part(env, pattern, factor->values, TSI_PART_MAGNITUDE, &magnitude));
  TSI_TRY(TSI_ALLOC_ZERO(env, of_row, n));
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index i = pattern->index[p];
      const double scaled = scale ? tsi_scaled(magnitude[p], scale[i], scale[j]) : magnitude[p];
      of_row[i] = fmax(of_row[i], scaled);
      of_row[j] = fmax(of_row[j], scaled);
    }
  *largest = 0;
  for (tsi_index i = 0; i < n; i++) {
    *largest = fmax(*largest, of_row[i]);
    least = fmin(least, of_row[i]);
  }
  *far = least < ldexp(*largest, -tsi_apart_units(factor->analysis->factor_scalar));
  return TRISTAR_OK;
}

static double epsilon_of(const tristar_factor_t *factor) {
  return tsi_sparse_kernels_select(factor->analysis->factor_scalar)->epsilon;
}

/* Are these single factors of a matrix in double precision? Rounding A alone can change the sign of an
 * eigenvalue, whatever the sizes of the pivots. */
static bool rounds_matrix(const tristar_factor_t *factor) {
  return factor->analysis->factor_scalar != (char)factor->analysis->pattern->scalar;
}

/* Multiplies and counts the pivots. Sets all but the limits. */
static void read_pivots(const tristar_factor_t *factor, pivots *p) {
  p->all = (product){1, 0, 0};
  normalize(&p->all);
  if (factor->inverse)
    add_blocks(factor, p);
  else
    add_diagonal(factor, p);
}

/* Initializes a summary with the limits for counts. singular: null pivots count as zeros. */
static tristar_status find_limits(const tristar_factor_t *factor, bool singular, pivots *p) {
  const double epsilon = epsilon_of(factor), growth = fmax(1, factor->stats.growth);
  const bool doubtful = singular || factor->stats.perturbed_pivots > 0;
  double largest = 0;
  bool far = false;
  *p = (pivots){.null = -1, .unknown = -1};
  if (doubtful) {
    TSI_TRY(find_largest_entry(factor, &largest, &far));
    p->far = far || tsi_scaling_spread(factor) > tsi_apart_units(factor->analysis->factor_scalar);
    p->unknown = UNKNOWN * sqrt(epsilon) * largest;
  }
  if (singular) p->null = largest * (p->far ? FAR_NULL_PIVOT * epsilon * growth : pow(epsilon, NULL_PIVOT));
  return TRISTAR_OK;
}

/* Have pivots grown so much that rounding errors can be larger than null pivots? */
static bool has_grown(const tristar_factor_t *factor) {
  return factor->stats.growth * epsilon_of(factor) > pow(epsilon_of(factor), NULL_PIVOT);
}

/* -1 if the order is an odd permutation, else 1. seen: n times false, which are set. */
static double parity(tsi_index n, const int64_t *order, bool *seen) {
  double sign = 1;
  for (tsi_index k = 0; k < n; k++) {
    if (seen[k]) continue;
    for (int64_t at = order[k]; at != k; at = order[at]) {
      seen[at] = true;
      sign = -sign;
    }
  }
  return sign;
}

/* det P det Q. Rows and columns of symmetric factors have the same order. */
static tristar_status find_sign(const tristar_factor_t *factor, double *sign) {
  tsi_env *env = &factor->ts->env;
  const tsi_index n = factor->analysis->symbolic->n;
  TSI_OWNED int64_t *order = NULL;
  TSI_OWNED bool *seen = NULL;
  *sign = 1;
  if (!tsi_analysis_is_lu(factor->analysis)) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, order, 2 * (size_t)n));
  TSI_TRY(TSI_ALLOC_ZERO(env, seen, 2 * (size_t)n));
  TSI_TRY(tristar_factor_get_order(factor, order, order + n, NULL, NULL));
  *sign = parity(n, order, seen) * parity(n, order + n, seen + n);
  return TRISTAR_OK;
}

static void divide_by_scales(tsi_index n, const double *scale, product *p) {
  for (tsi_index k = 0; k < n && scale != NULL; k++) {
    product factor = {scale[k], 0, 0};
    normalize(&factor);
    multiply(p, reciprocal(factor));
  }
}

static tristar_status check_factor(const tristar_factor_t *factor, const char *what) {
  TSI_TRY(tsi_factor_need_values(factor));
  TSI_TRY(tsi_analysis_need_whole(factor->analysis));
  if (factor->analysis->imported)
    TSI_FAIL(&factor->ts->env, TRISTAR_ERR_UNSUPPORTED, "the %s of imported factors is not computed", what);
  return TRISTAR_OK;
}

/* A second factorization of the same values. */
typedef struct attempt {
  bool made;
  tristar_status status;
} attempt;

/* The end of a message that names a second factorization. text: at least 80 characters. */
static const char *describe_failure(attempt second, char *text) {
  text[0] = '\0';
  if (second.status != TRISTAR_OK) snprintf(text, 80, ": it returned %s", tristar_status_name(second.status));
  return text;
}

/* The end of a message that does not. text: at least 200 characters. */
static const char *describe_attempt(attempt second, char *text) {
  char failure[80];
  text[0] = '\0';
  if (second.made)
    snprintf(text, 200, ", and a second factorization, with a matching and delayed pivots, did not help%s",
             describe_failure(second, failure));
  return text;
}

static tristar_status fail_perturbed(const tristar_factor_t *factor, const char *what, attempt second) {
  char text[200];
  if (factor->stats.perturbed_pivots == 0 && factor->stats.singular)
    TSI_FAIL(
        &factor->ts->env, TRISTAR_ERR_ACCURACY,
        "the %s is unknown: pivots have grown to %.1e times their columns, and the factors look singular%s",
        what, factor->stats.growth, describe_attempt(second, text));
  if (factor->stats.perturbed_pivots == 0 && rounds_matrix(factor))
    TSI_FAIL(&factor->ts->env, TRISTAR_ERR_ACCURACY,
             "the %s is unknown: factors are in single precision, and in a second factorization, in double "
             "precision, pivots are perturbed, have grown, or are only rounding errors%s",
             what, describe_failure(second, text));
  if (factor->stats.perturbed_pivots == 0)
    TSI_FAIL(&factor->ts->env, TRISTAR_ERR_ACCURACY,
             "the %s is unknown: scalings of rows or columns differ by more than 2^%d, and in a second "
             "factorization, with a matching and delayed pivots, pivots are perturbed, or grow%s",
             what, tsi_apart_units(factor->analysis->factor_scalar), describe_failure(second, text));
  TSI_FAIL(&factor->ts->env, TRISTAR_ERR_ACCURACY, "the %s is unknown: %lld pivots were perturbed%s", what,
           (long long)factor->stats.perturbed_pivots, describe_attempt(second, text));
}

/* Factors the same values with a matching and delayed pivots, without single_factors, by LU or L D L^T.
 * *other: these factors; NULL: there are none, and *second has the reason. */
static tristar_status factor_again(const tristar_factor_t *factor, tristar_factor_t **other,
                                   attempt *second) {
  tristar_status status = tsi_factor_prepare_again(factor, true, other);
  if (status == TRISTAR_OK) {
    (*other)->analysis->options.pivoting = TRISTAR_PIVOTING_DELAYED; /* No other factor has this analysis. */
    status = tsi_factor_run_stable(*other);
  }
  if (status != TRISTAR_OK) tristar_factor_destroy(other);
  *second = (attempt){true, status};
  return tsi_status_ends_call(status) ? status : TRISTAR_OK;
}

static tristar_status multiply_pivots(const tristar_factor_t *factor, tristar_determinant *determinant) {
  const tsi_index n = factor->analysis->symbolic->n;
  pivots p = {.null = -1};
  double sign;
  TSI_TRY(find_sign(factor, &sign));
  read_pivots(factor, &p); /* Counts are not used, so limits are not needed. */
  product d = reciprocal(p.all);
  divide_by_scales(n, factor->row_scale, &d);
  divide_by_scales(n, factor->col_scale, &d);
  const double size = hypot(d.re, d.im);
  /* Adding 0 turns -0 into 0. */
  *determinant = (tristar_determinant){.mantissa = {sign * d.re, sign * d.im + 0.0},
                                       .exponent = d.exponent,
                                       .sign = {sign * d.re / size, sign * d.im / size + 0.0},
                                       .log_abs = log(size) + (double)d.exponent * log(2)};
  return TRISTAR_OK;
}

/* Can the scaling hide entries of the determinant? */
static bool is_scaled_apart(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  return an->stats.method != TRISTAR_METHOD_LLT && !an->keeps_scaling &&
         tsi_scaling_spread(factor) > tsi_apart_units(an->factor_scalar);
}

/* May a pivot be only rounding errors, in factors without a verdict? */
static bool has_tiny_pivot(const tristar_factor_t *factor) {
  return factor->stats.smallest_pivot <= pow(epsilon_of(factor), NULL_PIVOT) * factor->stats.largest_pivot;
}

/* The same for a second factorization. Single factors can lack a verdict, as a pivot that is tiny in double
 * precision is not small among their rounding errors. */
static bool may_be_singular(const tristar_factor_t *factor, const tristar_factor_t *other) {
  return factor->analysis->symbolic->n > 0 && rounds_matrix(factor) && !factor->stats.judged &&
         has_tiny_pivot(other);
}

static tristar_status find_determinant(const tristar_factor_t *factor, tristar_determinant *determinant) {
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *other = NULL;
  TSI_TRY(check_factor(factor, "determinant"));
  if (factor->stats.singular && (factor->surely_singular || !has_grown(factor))) {
    *determinant = (tristar_determinant){.log_abs = -INFINITY};
    return TRISTAR_OK;
  }
  const bool fine =
                 !factor->stats.singular && factor->stats.perturbed_pivots == 0 && !is_scaled_apart(factor),
             known = fine && !rounds_matrix(factor);
  if (known && !tsi_factor_loses_digits(factor)) return multiply_pivots(factor, determinant);
  attempt second;
  const tristar_status again = factor_again(factor, &other, &second);
  if (!known || again == TRISTAR_ERR_CANCELLED) TSI_TRY(again);
  const bool better = other != NULL && other->stats.perturbed_pivots == 0 && !has_grown(other);
  if (known && !better) return multiply_pivots(factor, determinant);
  if (!better || (!fine && has_tiny_pivot(other)) || may_be_singular(factor, other))
    return fail_perturbed(factor, "determinant", second);
  return multiply_pivots(other, determinant);
}

/* Certainty of the signs of all pivots. */
typedef enum certainty { UNKNOWN_SIGNS, LIKELY_SIGNS, KNOWN_SIGNS } certainty;

/* Counts the signs of the pivots. Where units are far apart, a pivot can look like a null pivot because the
 * scaling does not suit its row. */
static tristar_status count_pivots(const tristar_factor_t *factor, bool singular, tristar_inertia *inertia,
                                   certainty *known) {
  pivots p;
  const bool doubtful = singular || factor->stats.perturbed_pivots > 0;
  TSI_TRY(find_limits(factor, singular, &p));
  read_pivots(factor, &p);
  *inertia = (tristar_inertia){.positive = p.positive, .negative = p.negative, .zero = p.zero};
  *known = KNOWN_SIGNS;
  if (p.uncertain > 0 || (singular && p.zero == 0) || (doubtful && has_grown(factor)))
    *known = UNKNOWN_SIGNS;
  else if (p.zero > 0 && p.far)
    *known = LIKELY_SIGNS;
  return TRISTAR_OK;
}

/* Counts the signs again in a second factorization unless they are certain; those of single factors never
 * are. LIKELY_SIGNS become certain if both agree. *second: that factorization. */
static tristar_status count_twice(const tristar_factor_t *factor, tristar_inertia *inertia, certainty *known,
                                  attempt *second) {
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *other = NULL;
  const bool singular = factor->stats.singular;
  tristar_inertia counted;
  certainty again;
  *second = (attempt){false, TRISTAR_OK};
  TSI_TRY(count_pivots(factor, singular, inertia, known));
  if (rounds_matrix(factor))
    *known = UNKNOWN_SIGNS;
  else if (*known == KNOWN_SIGNS || factor->analysis->stats.method == TRISTAR_METHOD_LLT)
    return TRISTAR_OK;
  TSI_TRY(factor_again(factor, &other, second));
  if (other == NULL) return TRISTAR_OK;
  TSI_TRY(count_pivots(other, singular, &counted, &again));
  const bool same = counted.positive == inertia->positive && counted.negative == inertia->negative;
  if (again == KNOWN_SIGNS || (again == LIKELY_SIGNS && *known == LIKELY_SIGNS && same)) *known = KNOWN_SIGNS;
  if (may_be_singular(factor, other)) *known = UNKNOWN_SIGNS;
  *inertia = counted;
  return TRISTAR_OK;
}

static tristar_status find_inertia(const tristar_factor_t *factor, tristar_inertia *inertia) {
  const tristar_analysis_t *an = factor->analysis;
  tsi_env *env = &factor->ts->env;
  tristar_inertia found;
  certainty known;
  attempt second;
  char text[200];
  TSI_TRY(check_factor(factor, "inertia"));
  if (tsi_analysis_is_lu(an))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "an inertia needs L L^T or L D L^T of a symmetric or Hermitian matrix, not LU");
  if (an->stats.method == TRISTAR_METHOD_LDLT && !factor->adjoint &&
      tsi_scalar_width((tristar_scalar)an->pattern->scalar) == 2)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "a complex symmetric matrix has no inertia: its eigenvalues are complex");
  TSI_TRY(count_twice(factor, &found, &known, &second));
  if (known != KNOWN_SIGNS && (factor->stats.perturbed_pivots > 0 || rounds_matrix(factor)))
    return fail_perturbed(factor, "inertia", second);
  if (known != KNOWN_SIGNS)
    TSI_FAIL(env, TRISTAR_ERR_ACCURACY,
             "the inertia is unknown: the matrix is nearly singular, or pivots have grown, and the signs of "
             "the smallest pivots are not clear%s",
             describe_attempt(second, text));
  *inertia = found;
  return TRISTAR_OK;
}

tristar_status tristar_factor_get_determinant(const tristar_factor_t *factor,
                                              tristar_determinant *determinant) {
  TSI_ENTER(factor, factor->ts);
  if (determinant == NULL) return TSI_NULL(determinant);
  return tsi_answer(&factor->ts->env, find_determinant(factor, determinant));
}

tristar_status tristar_factor_get_inertia(const tristar_factor_t *factor, tristar_inertia *inertia) {
  TSI_ENTER(factor, factor->ts);
  if (inertia == NULL) return TSI_NULL(inertia);
  return tsi_answer(&factor->ts->env, find_inertia(factor, inertia));
}
