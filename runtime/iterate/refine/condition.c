/* The condition of the scaled matrix: see condition.h. */
#include "runtime/iterate/refine/condition.h"

#include <math.h>
#include <stdlib.h>

#include "codelets/cpu/rows/rounding.h"
#include "runtime/factor/scaling_work.h"

typedef struct scaled_inverse {
  const tsi_system *system;
  double *row, *column; /* the scaling: n; NULL: ones */
  bool is_given;        /* it is the scaling of the factorization */
  double reduce[2];     /* powers of two that keep solves with A and A^H in range */
  tsi_range sums[2];    /* positive finite sums of the rows and columns of R |A| C, see find_norm */
  tsi_multiply_columns solve;
  void *arg;
} scaled_inverse;

/* x := B^-1 x or B^-H x, where B^-1 = C^-1 A^-1 R^-1; one column. */
static tristar_status solve_scaled(void *arg, bool adjoint, tsi_index count, void *x) {
  const scaled_inverse *inverse = arg;
  const tsi_system *system = inverse->system;
  const double *first = adjoint ? inverse->column : inverse->row,
               *second = adjoint ? inverse->row : inverse->column;
  const double reduce = inverse->reduce[adjoint];
  system->kernels->scale(system->n, x, first, true);
  if (reduce != 1) system->kernels->multiply(system->n, x, reduce);
  TSI_TRY(inverse->solve(inverse->arg, adjoint, count, x));
  system->kernels->scale(system->n, x, second, true);
  if (reduce != 1) system->kernels->multiply(system->n, x, 1 / reduce);
  return TRISTAR_OK;
}

/* Factor for a solve whose result is divided by this scaling: without it the result, near 1 / scale, could be
 * infinite. */
static double reduction(const tsi_system *system, const double *scale) {
  double largest = 0;
  for (tsi_index i = 0; i < system->n; i++)
    if (fabs(scale[i]) > largest) largest = fabs(scale[i]);
  return tsi_team_largest(system->team, largest) > 0x1p900 ? 0x1p-100 : 1;
}

#define SWEEPS 10 /* maximum number of sweeps of the equilibration */
#define EVEN 4    /* largest exponent of sums that are near enough to one */

/* Computes sums of the rows (N) or columns (T) of R |A| C. */
static tristar_status find_sums(const tsi_system *system, tristar_op op, const double *row,
                                const double *column, double *sum) {
  const bool rows = op == TRISTAR_N;
  const double *own = rows ? row : column;
  TSI_TRY(tsi_system_weigh(system, op, rows ? column : row, sum));
  for (tsi_index i = 0; i < system->n; i++) sum[i] *= own[i];
  return TRISTAR_OK;
}

/* The maximum norm (N) or 1-norm (T) of R |A| C. Stores the range of the sums. sum: n of scratch. */
static tristar_status find_norm(scaled_inverse *inverse, tristar_op op, double *sum, double *norm) {
  const tsi_system *system = inverse->system;
  tsi_range range = {.least = INFINITY, .largest = 0};
  *norm = 0;
  TSI_TRY(find_sums(system, op, inverse->row, inverse->column, sum));
  for (tsi_index i = 0; i < system->n; i++) {
    *norm = tsi_larger(*norm, fabs(sum[i]));
    if (!(sum[i] > 0 && isfinite(sum[i]))) continue;
    range.largest = sum[i] > range.largest ? sum[i] : range.largest;
    range.least = sum[i] < range.least ? sum[i] : range.least;
  }
  inverse->sums[op == TRISTAR_T] = range;
  *norm = tsi_team_largest(system->team, *norm);
  return TRISTAR_OK;
}

/* scale = scale / sqrt(sum), by powers of two. Returns the largest absolute exponent of a sum. */
static int divide_by_roots(tsi_index n, const double *sum, double *scale) {
  int farthest = 0;
  for (tsi_index i = 0; i < n; i++) {
    if (!(sum[i] > 0 && isfinite(sum[i]))) continue;
    const int exponent = tsi_scaling_exponent(sum[i]) - 1, far = abs(exponent);
    scale[i] *= tsi_scaling_power(-(exponent / 2));
    farthest = far > farthest ? far : farthest;
  }
  return farthest;
}

tristar_status tsi_equilibrate(const tsi_system *system, double *row, double *column, double *sum) {
  const tsi_index n = system->n;
  double farthest = INFINITY;
  for (int sweep = 0; sweep < SWEEPS && farthest > EVEN; sweep++) {
    TSI_TRY(find_sums(system, TRISTAR_N, row, column, sum));
    TSI_TRY(find_sums(system, TRISTAR_T, row, column, sum + n));
    const int rows = divide_by_roots(n, sum, row), columns = divide_by_roots(n, sum + n, column);
    farthest = tsi_team_largest(system->team, rows > columns ? rows : columns);
  }
  return system->team->failure;
}

static tristar_status equilibrate(const scaled_inverse *inverse, double *sum) {
  for (tsi_index i = 0; i < inverse->system->n; i++) inverse->row[i] = inverse->column[i] = 1;
  return tsi_equilibrate(inverse->system, inverse->row, inverse->column, sum);
}

/* Chooses the scaling of the factorization; if it has none, an equilibration. */
static tristar_status choose_scaling(scaled_inverse *inverse, double *sum) {
  const tsi_system *system = inverse->system;
  inverse->is_given = tsi_team_any(system->team, system->range[0] != NULL || system->range[1] != NULL);
  if (!inverse->is_given) return equilibrate(inverse, sum);
  for (tsi_index i = 0; i < system->n; i++) {
    inverse->row[i] = system->range[0] ? system->range[0][i] : 1;
    inverse->column[i] = system->range[1] ? system->range[1][i] : 1;
  }
  return TRISTAR_OK;
}

/* ---- Null vectors -------------------------------------------------------------------------------------- */

#define NULL_STEPS 2
#define MORE_STEPS 2  /* further steps near the limit of singular matrices, if pivots were perturbed */
#define NEARLY 32     /* ratio to this limit that is near */
#define SINGULAR 0.85 /* exponent of eps: largest 1 / condition of a singular matrix */

/* Vectors of the user's scalar type. */
typedef struct null_search {
  scaled_inverse *inverse;
  tsi_multiply_columns well; /* Solves as accurately as possible. */
  char *u, *r, *product, *zero;
} null_search;

/* r = -B u, for B = R A C. */
static tristar_status multiply_scaled(const null_search *s) {
  const tsi_system *system = s->inverse->system;
  const tsi_sparse_kernels *kernels = system->kernels;
  memcpy(s->product, s->u, (size_t)system->n * kernels->scalar_bytes);
  kernels->scale(system->n, s->product, s->inverse->column, false);
  TSI_TRY(tsi_system_residual(system, TRISTAR_N, s->zero, s->product, s->r));
  kernels->scale(system->n, s->r, s->inverse->row, false);
  return TRISTAR_OK;
}

/* *distance: the smallest relative change of all entries of A that makes it singular with the null vector C
 * u. This is the largest |A C u| in any row, relative to |A| |C u| (Oettli and Prager 1964). It does not
 * depend on scalings. product and r belong to u; real: 2 n of scratch. */
static tristar_status measure_distance(const null_search *s, double *real, double *distance) {
  const tsi_system *system = s->inverse->system;
  const tsi_index n = system->n;
  double farthest = 0;
  TSI_TRY(tsi_system_bound(system, TRISTAR_N, s->product, real));
  system->kernels->part(n, s->r, TSI_PART_MAGNITUDE, real + n);
  for (tsi_index i = 0; i < n; i++) {
    const double left = real[n + i] / fabs(s->inverse->row[i]);
    if (left != 0 && !(left <= farthest * real[i])) farthest = left / real[i];
  }
  *distance = tsi_team_largest(system->team, isnan(farthest) ? INFINITY : farthest);
  return TRISTAR_OK;
}

/* The distance for u. If it is too large, the distance for u without entries that may be rounding errors: the
 * null vector of a block has only such entries in all other rows. real: 2 n of scratch. */
static tristar_status find_distance(const null_search *s, double *real, double *distance) {
  const tsi_system *system = s->inverse->system;
  const tsi_sparse_kernels *kernels = system->kernels;
  const size_t bytes = (size_t)system->n * kernels->scalar_bytes;
  TSI_TRY(measure_distance(s, real, distance));
  if (*distance <= pow(kernels->epsilon, SINGULAR)) return TRISTAR_OK;
  const double largest = tsi_team_largest(system->team, kernels->largest_size(system->n, s->u));
  kernels->take_large(system->n, s->u, NULL, sqrt(kernels->epsilon) * largest, s->r);
  memcpy(s->u, s->r, bytes);
  TSI_TRY(multiply_scaled(s));
  return measure_distance(s, real, distance);
}

/* Is the result uncertain because solves were not as accurate as possible? They leave too much of other
 * vectors, or fail if the right-hand side consists of rounding errors. */
static bool is_undecided(const null_search *s, double reciprocal) {
  const tsi_system *system = s->inverse->system;
  const double most = pow(system->kernels->epsilon, SINGULAR);
  return system->perturbed && reciprocal > most && reciprocal <= NEARLY * most;
}

/* Lowers *reciprocal to |B u| / (|B| |u|), or to the rounding errors of B u. No reciprocal condition exceeds
 * these. u approaches a null vector of B if there is one. If pivots were perturbed, B^-1 is not the inverse,
 * but u - B^-1 (B u) keeps the null vectors in u, and little else. norm: of B; real: 2 n of scratch. */
static tristar_status search_null_vector(const null_search *s, double norm, double *real, double *reciprocal,
                                         double *distance) {
  const tsi_system *system = s->inverse->system;
  tsi_team *team = system->team;
  const tsi_sparse_kernels *kernels = system->kernels;
  const tsi_index n = system->n;
  for (tsi_index i = 0; i < n; i++) real[i] = 0.5 + tsi_system_scatter(system, TRISTAR_N, true, i);
  kernels->fill(n, real, s->u);
  memset(s->zero, 0, (size_t)n * kernels->scalar_bytes);
  for (int step = 0;; step++) {
    TSI_TRY(multiply_scaled(s));
    const double size = tsi_team_sum(team, kernels->one_norm(n, s->u)),
                 left = tsi_team_sum(team, kernels->one_norm(n, s->r));
    if (!(size > 0) || !isfinite(left)) break; /* B is not singular, or its solves fail */
    *reciprocal = fmin(*reciprocal, fmax(left / size / norm, kernels->epsilon));
    if (step >= NULL_STEPS && *reciprocal <= pow(kernels->epsilon, SINGULAR))
      return find_distance(s, real, distance);
    if (step >= NULL_STEPS && (step == NULL_STEPS + MORE_STEPS || !is_undecided(s, *reciprocal))) break;
    if (is_undecided(s, *reciprocal)) s->inverse->solve = s->well;
    TSI_TRY(solve_scaled(s->inverse, false, 1, s->r));
    kernels->add(n, s->u, s->r);
  }
  return team->failure;
}

static tristar_status find_null_vector(scaled_inverse *inverse, tsi_multiply_columns well, double norm,
                                       double *real, double *reciprocal, double *distance) {
  const tsi_system *system = inverse->system;
  const size_t column = (size_t)system->n * system->kernels->scalar_bytes;
  TSI_OWNED char *vectors = NULL;
  TSI_TRY(tsi_team_agree(system->team, TSI_ALLOC_SIZED(system->env, vectors, 4, column)));
  const null_search search = {
      inverse, well, vectors, vectors + column, vectors + 2 * column, vectors + 3 * column};
  return search_null_vector(&search, norm, real, reciprocal, distance);
}

static void set_reductions(scaled_inverse *inverse) {
  inverse->reduce[0] = reduction(inverse->system, inverse->column);
  inverse->reduce[1] = reduction(inverse->system, inverse->row);
}

/* A solve without refinement. */
static tristar_status solve_once(void *arg, bool adjoint, tsi_index count, void *x) {
  const tsi_system *system = arg;
  return system->functions->solve(system->context, adjoint ? TRISTAR_C : TRISTAR_N, count, x, system->n, x,
                                  system->n);
}

/* Chooses the scaling of the factorization. If it has none, the matrix is definite; then entry (i, j) is
 * divided by the square roots of the sums of rows i and j. */
static tristar_status take_scaling(scaled_inverse *inverse, double *sum) {
  const tsi_system *system = inverse->system;
  const tsi_index n = system->n;
  if (tsi_team_any(system->team, system->range[0] != NULL || system->range[1] != NULL))
    return choose_scaling(inverse, sum);
  for (tsi_index i = 0; i < n; i++) inverse->row[i] = inverse->column[i] = 1;
  TSI_TRY(find_sums(system, TRISTAR_N, inverse->row, inverse->column, sum));
  (void)divide_by_roots(n, sum, inverse->row);
  memcpy(inverse->column, inverse->row, (size_t)n * sizeof *sum);
  return TRISTAR_OK;
}

tristar_status tsi_condition_glance(const tsi_system *system, double *size) {
  const tsi_sparse_kernels *kernels = system->kernels;
  tsi_team *team = system->team;
  const tsi_index n = system->n;
  scaled_inverse inverse = {.system = system, .solve = solve_once, .arg = (void *)(uintptr_t)system};
  TSI_OWNED double *real = NULL;
  TSI_OWNED char *x = NULL;
  *size = 0;
  if (team->n == 0) return TRISTAR_OK;
  tristar_status status = TSI_ALLOC(system->env, real, 3 * (tsi_count)n);
  if (status == TRISTAR_OK) status = TSI_ALLOC(system->env, x, (size_t)n * kernels->scalar_bytes);
  TSI_TRY(tsi_team_agree(team, status));
  inverse.row = real + n;
  inverse.column = inverse.row + n;
  TSI_TRY(take_scaling(&inverse, real));
  set_reductions(&inverse);
  for (tsi_index i = 0; i < n; i++) real[i] = tsi_system_scatter(system, TRISTAR_N, false, i) - 0.5;
  kernels->fill(n, real, x);
  const double before = tsi_team_largest(team, kernels->largest_size(n, x));
  TSI_TRY(solve_scaled(&inverse, false, 1, x));
  const bool lost = tsi_team_any(team, kernels->first_not_finite(n, x) < n);
  *size = lost ? INFINITY : tsi_team_largest(team, kernels->largest_size(n, x)) / before;
  return team->failure;
}

/* Multiplies scale by size, or divides it (sign -1), by powers of two. */
static void multiply_by_powers(tsi_index n, const double *size, int sign, double *scale) {
  for (tsi_index i = 0; i < n; i++)
    if (size[i] > 0 && isfinite(size[i]))
      scale[i] = ldexp(scale[i], sign * (tsi_scaling_exponent(size[i]) - 1));
}

/* Estimates the condition in the scaling of *inverse. norm: of B. sum: n of scratch. */
static tristar_status estimate(scaled_inverse *inverse, double *sum, double *norm, double *reciprocal) {
  const tsi_system *system = inverse->system;
  double inverse_norm;
  set_reductions(inverse);
  TSI_TRY(find_norm(inverse, TRISTAR_T, sum, norm));
  TSI_TRY(tsi_estimate_one_norms(system->env, system->kernels, system->team, system->n, 1, solve_scaled,
                                 inverse, &inverse_norm));
  /* at most one, except for rounding, which is coarse for subnormal numbers */
  *reciprocal = *norm > 0 && inverse_norm > 0 ? fmin(1, 1 / *norm / inverse_norm) : 0;
  return TRISTAR_OK;
}

/* Exponent of the ratio of sums that only occurs with a scaling for other values. */
#define STALE 8

/* Returns true if the scaling of the factorization, kept by a refactorization, suits other values. The sums
 * of rows and columns in this scaling must be stored. */
static bool is_stale(const scaled_inverse *inverse) {
  const tsi_range *rows = &inverse->sums[0], *columns = &inverse->sums[1];
  tsi_team *team = inverse->system->team;
  if (!inverse->is_given) return false;
  const double largest = tsi_team_largest(team, fmax(rows->largest, columns->largest)),
               least = -tsi_team_largest(team, -fmin(rows->least, columns->least));
  return ldexp(largest, -STALE) > least;
}

/* If the scaling is stale, the result is the condition of the equilibrated matrix, if that is better. sum: of
 * begin_condition. */
static tristar_status estimate_equilibrated(scaled_inverse *inverse, double *sum, double *norm,
                                            double *reciprocal) {
  const tsi_index n = inverse->system->n;
  double other, of_other, of_rows, *kept = sum + 4 * (size_t)n;
  if (!inverse->is_given) return TRISTAR_OK;
  TSI_TRY(find_norm(inverse, TRISTAR_N, sum, &of_rows)); /* estimate() has stored the sums of the columns */
  const bool stale = is_stale(inverse);
  TSI_TRY(inverse->system->team->failure);
  if (!stale) return TRISTAR_OK;
  memcpy(kept, inverse->row, 2 * (size_t)n * sizeof *kept);
  TSI_TRY(equilibrate(inverse, sum));
  TSI_TRY(estimate(inverse, sum, &other, &of_other));
  if (of_other > *reciprocal) {
    *norm = other;
    *reciprocal = of_other;
    return TRISTAR_OK;
  }
  memcpy(inverse->row, kept, 2 * (size_t)n * sizeof *kept);
  set_reductions(inverse);
  return TRISTAR_OK;
}

/* *sum: 2 n of scratch and the scalings of *inverse; others: also space for other scalings, 2 n. */
static tristar_status begin_condition(scaled_inverse *inverse, bool others, double **sum) {
  const tsi_system *system = inverse->system;
  TSI_TRY(
      tsi_team_agree(system->team, TSI_ALLOC(system->env, *sum, (others ? 6 : 4) * (tsi_count)system->n)));
  inverse->row = *sum + 2 * (size_t)system->n;
  inverse->column = inverse->row + system->n;
  TSI_TRY(choose_scaling(inverse, *sum));
  set_reductions(inverse);
  return TRISTAR_OK;
}

#define PROBES 4             /* largest number of vectors without a pattern */
#define MOST_ERROR 0.1       /* largest relative error of a condition beyond eps^(-1/2) */
#define ILL_CONDITIONED 0.75 /* exponent of eps: least 1 / condition from solves without refinement */

/* A number in [-1, 1] from a number of tsi_system_scatter. The numbers of tsi_system_scatter cannot be used
 * directly: their sums over many rows are smaller than sums of random numbers, so constant vectors would have
 * no share. */
static double random_entry(double scatter, int probe) {
  uint32_t h = (uint32_t)(scatter * 0x1p32) + (uint32_t)probe;
  for (int round = 0; round < 3; round++) h = (h ^ h >> 15) * 2654435761U;
  return (double)(h ^ h >> 16) * 0x1p-31 - 1;
}

/* b := R^-1 v, for a v without a pattern. real: n of scratch. */
static void make_probe(const scaled_inverse *inverse, int which, double *real, char *b) {
  const tsi_system *system = inverse->system;
  const tsi_index n = system->n;
  for (tsi_index i = 0; i < n; i++)
    real[i] = random_entry(tsi_system_scatter(system, TRISTAR_N, false, i), which);
  system->kernels->fill(n, real, b);
  system->kernels->scale(n, b, inverse->row, true);
  if (inverse->reduce[0] != 1) system->kernels->multiply(n, b, inverse->reduce[0]);
}

/* Minimum share along a left null vector, times sqrt(n), that one of so many probes has: a smaller s for
 * fewer probes (tsi_condition_of_factors). */
static const double least_share[PROBES] = {1e-7, 2.6e-4, 3.7e-3, 0.025};

/* *regular: solves of probes prove B regular (tsi_condition_of_factors); false if they are not finite.
 * *error: see tsi_condition_of_factors. sum: n of scratch. */
static tristar_status probe(scaled_inverse *inverse, double *sum, bool *regular, double *error) {
  const tsi_system *system = inverse->system;
  const tsi_sparse_kernels *kernels = system->kernels;
  const tsi_index n = system->n;
  const size_t column = (size_t)n * kernels->scalar_bytes;
  TSI_OWNED char *b = NULL;
  const double limit = pow(kernels->epsilon, SINGULAR), n_all = (double)system->team->n;
  double norm, left = 0, size = 0;
  *regular = false;
  TSI_TRY(tsi_team_agree(system->team, TSI_ALLOC_SIZED(system->env, b, 3, column)));
  char *x = b + column, *r = x + column;
  TSI_TRY(find_norm(inverse, TRISTAR_N, sum, &norm));
  for (int k = 0; k < PROBES; k++) {
    make_probe(inverse, k, sum, b);
    memcpy(x, b, column);
    TSI_TRY(inverse->solve(inverse->arg, false, 1, x));
    TSI_TRY(tsi_system_residual(system, TRISTAR_N, b, x, r));
    kernels->scale(n, r, inverse->row, false);
    kernels->scale(n, x, inverse->column, true);
    if (kernels->first_not_finite(n, r) < n || kernels->first_not_finite(n, x) < n) left = INFINITY;
    left = tsi_team_largest(system->team, tsi_larger(left, kernels->largest_size(n, r)));
    size = tsi_team_largest(system->team, tsi_larger(size, kernels->largest_size(n, x)));
    const double least = least_share[k] / 2 / sqrt(n_all) * inverse->reduce[0];
    *error = n_all * left / least_share[k] / inverse->reduce[0];
    *regular = left < least && limit * norm * size < least;
    if (*regular && *error < MOST_ERROR) break;
  }
  return system->team->failure;
}

tristar_status tsi_condition_of_factors(const tsi_system *system, double *reciprocal, bool *regular) {
  scaled_inverse inverse = {.system = system, .solve = solve_once, .arg = (void *)(uintptr_t)system};
  const double epsilon = system->kernels->epsilon;
  double norm, error;
  TSI_OWNED double *sum = NULL;
  *reciprocal = 1;
  *regular = true;
  if (system->team->n == 0) return TRISTAR_OK;
  TSI_TRY(begin_condition(&inverse, false, &sum));
  TSI_TRY(probe(&inverse, sum, regular, &error));
  if (!*regular) return TRISTAR_OK;
  TSI_TRY(estimate(&inverse, sum, &norm, reciprocal));
  if (*reciprocal > sqrt(epsilon)) return TRISTAR_OK;
  *regular = *reciprocal > pow(epsilon, ILL_CONDITIONED) && error < MOST_ERROR;
  if (!*regular) return TRISTAR_OK;
  *regular = !is_stale(&inverse); /* tsi_condition then uses another scaling */
  return system->team->failure;
}

#define SWEEPS_BY_SOLUTIONS 4

/* Computes scalings for which |A| |x| and |x| have entries near one. x is the solution for a b without a
 * pattern, as large as |A| |x| before. Repeated, this is the power method for |A^-1| |A|, whose spectral
 * radius is the smallest condition of any scaling (Bauer 1963). sum: 2 n, x: n of scratch. *finite is false
 * if a solve failed. */
static tristar_status scale_by_solutions(scaled_inverse *inverse, double *sum, char *x, bool *finite) {
  const tsi_system *system = inverse->system;
  const tsi_index n = system->n;
  *finite = true;
  for (int sweep = 1; sweep <= SWEEPS_BY_SOLUTIONS && *finite; sweep++) {
    TSI_TRY(find_sums(system, TRISTAR_N, inverse->row, inverse->column, sum));
    for (tsi_index i = 0; i < n; i++) {
      const double share = tsi_system_scatter(system, TRISTAR_N, false, i) * sweep;
      if (share - floor(share) < 0.5) sum[i] = -sum[i];
    }
    system->kernels->fill(n, sum, x);
    TSI_TRY(solve_scaled(inverse, false, 1, x));
    system->kernels->part(n, x, TSI_PART_MAGNITUDE, sum);
    const bool lost = system->kernels->first_not_finite(n, x) < n;
    *finite = !tsi_team_any(system->team, lost);
    if (!*finite) break;
    multiply_by_powers(n, sum, 1, inverse->column);
    TSI_TRY(find_sums(system, TRISTAR_N, inverse->row, inverse->column, sum));
    multiply_by_powers(n, sum, -1, inverse->row);
    set_reductions(inverse);
  }
  return system->team->failure;
}

/* No scaling by the sizes of entries suits all matrices. In triangles, for example, an entry of the inverse
 * may be huge although small relative changes of A change it little. So a matrix that looks singular, but has
 * no null vector, is tried in a scaling that suits its inverse. The factors are accurate only in the old
 * scaling, so the probes test solves in the new one. sum: 2 n of scratch. */
static tristar_status estimate_by_solutions(scaled_inverse *inverse, tsi_multiply_columns well, double *sum,
                                            double *reciprocal, double *distance) {
  const tsi_system *system = inverse->system;
  double norm, other, error, other_distance = INFINITY;
  bool finite, regular;
  TSI_OWNED char *x = NULL;
  TSI_TRY(tsi_team_agree(system->team,
                         TSI_ALLOC_SIZED(system->env, x, system->n, system->kernels->scalar_bytes)));
  TSI_TRY(scale_by_solutions(inverse, sum, x, &finite));
  if (!finite) return TRISTAR_OK;
  TSI_TRY(probe(inverse, sum, &regular, &error));
  if (!regular) return TRISTAR_OK;
  TSI_TRY(estimate(inverse, sum, &norm, &other));
  if (other > *reciprocal && (system->perturbed || other < sqrt(system->kernels->epsilon)))
    TSI_TRY(find_null_vector(inverse, well, norm, sum, &other, &other_distance));
  if (!(other > *reciprocal)) return TRISTAR_OK;
  *reciprocal = other;
  *distance = other_distance;
  return TRISTAR_OK;
}

tristar_status tsi_condition(const tsi_system *system, tsi_multiply_columns solve, tsi_multiply_columns well,
                             void *arg, double *reciprocal, double *distance) {
  scaled_inverse inverse = {.system = system, .solve = solve, .arg = arg};
  double norm;
  TSI_OWNED double *sum = NULL;
  *reciprocal = 1;
  *distance = INFINITY;
  if (system->team->n == 0) return TRISTAR_OK;
  TSI_TRY(begin_condition(&inverse, true, &sum));
  TSI_TRY(estimate(&inverse, sum, &norm, reciprocal));
  if (*reciprocal < sqrt(system->kernels->epsilon))
    TSI_TRY(estimate_equilibrated(&inverse, sum, &norm, reciprocal));
  const bool doubtful = system->perturbed || *reciprocal < sqrt(system->kernels->epsilon);
  if (doubtful && *reciprocal > 0) TSI_TRY(find_null_vector(&inverse, well, norm, sum, reciprocal, distance));
  const double most = pow(system->kernels->epsilon, SINGULAR);
  if (*reciprocal > 0 && *reciprocal <= most && *distance > most)
    TSI_TRY(estimate_by_solutions(&inverse, well, sum, reciprocal, distance));
  return TRISTAR_OK;
}
