/* Verdict on a factorization with suspicious pivots: see judge.h. */
#include "runtime/iterate/refine/judge.h"

#include <math.h>
#include <stdio.h>

#include "codelets/cpu/front.h"
#include "runtime/factor/scaling.h"
#include "runtime/iterate/refine/condition.h"
#include "runtime/iterate/refine/forward_error.h"
#include "runtime/iterate/refine/refinement.h"

#define NO_DIGIT 0.1 /* size of rounding errors, relative to the scaled matrix, that leaves no digit */
#define GROWN 1000   /* growth that requires a trial solve; single precision: eps^-1/3, 200 */
/* Exponents of eps. A solve may lose more than eps^(2/3) in rows of small terms in three cases: a pivot is
 * below eps^WEAK of its column; its share divided by the ratio of the scalings is below eps^WEAK_APART;
 * inverses grow beyond eps^-WEAK_INVERSES (100; single precision 8). If pivots are weak, trials may miss
 * errors that are eps^-MISSED times as large. */
#define WEAK 0.3
#define WEAK_APART 0.56
#define WEAK_INVERSES 0.128
#define MISSED 0.2
#define MISSED_UNEVEN 0.1 /* for uneven units */
#define FEW_ROWS 100      /* for fewer rows FEW_TRIALS may miss too many errors */
#define FEW_TRIALS 2
#define TRIAL_COLUMNS 8 /* largest number of trials that are solved together */
#define SMALL_SHARE 4   /* the vectors of trials have at most a quarter of the entries of L and U */

static double epsilon_of(const tristar_factor_t *factor) {
  return tsi_sparse_kernels_select(factor->analysis->factor_scalar)->epsilon;
}

/* Can the matrix be singular? */
static bool is_suspicious(const tristar_factor_t *factor) {
  const double noise = epsilon_of(factor) * fmax(1, factor->stats.growth);
  return factor->stats.perturbed_pivots > 0 || factor->weakest_pivot < TSI_SMALL_PIVOT * noise ||
         noise > NO_DIGIT;
}

bool tsi_judge_leaves_no_digit(const tristar_factor_t *factor) {
  return factor->stats.judged && factor->stats.perturbed_pivots == 0 && !factor->dependent &&
         !factor->surely_singular && !(factor->stats.reciprocal_condition > 0) &&
         epsilon_of(factor) * factor->stats.growth > NO_DIGIT;
}

/* Can a pivot consist only of errors of earlier pivots? */
static bool inherits_errors(const tristar_factor_t *factor) {
  return factor->fixed ||
         factor->inherited_error * pow(epsilon_of(factor), 0.7) * fmax(1, factor->stats.growth) > 1;
}

/* The same for pivots that are not small; below, if also solves lose digits. */
static bool may_inherit_some(const tristar_factor_t *factor) {
  return factor->inherited_error * sqrt(epsilon_of(factor)) * fmax(1, factor->stats.growth) > 1;
}
static bool may_inherit_errors(const tristar_factor_t *factor) {
  return tsi_factor_loses_digits(factor) && may_inherit_some(factor);
}

static bool has_grown(const tristar_factor_t *factor) {
  return factor->stats.growth > fmin(GROWN, 1 / cbrt(epsilon_of(factor)));
}

/* May solves lose digits of rows with small terms? Units that are apart increase the loss by a pivot. spread:
 * tsi_scaling_spread. */
static bool is_weak(const tristar_factor_t *factor, int spread) {
  const double epsilon = epsilon_of(factor), pivot = factor->weakest_pivot;
  return pivot < pow(epsilon, WEAK) || factor->inverse_growth > pow(epsilon, -WEAK_INVERSES) ||
         (pivot < TSI_WEAK && ldexp(pivot, -spread) < pow(epsilon, WEAK_APART));
}

/* Do growth and units together cause this loss? Trials in the sizes of the scaling do not show it: x is small
 * in the column whose pivots grow. */
static bool grows_in_units(const tristar_factor_t *factor, int spread) {
  return has_grown(factor) && ldexp(factor->stats.growth, spread) > 1 / cbrt(epsilon_of(factor));
}

/* Expected errors of solves, from the errors of a few trials. missed: an exponent of eps. */
static double expect(const tristar_factor_t *factor, double error, double missed) {
  return error / pow(epsilon_of(factor), missed);
}

/* Are units so far apart that solves lose rows of some right-hand sides, even if trials show no loss? */
static bool are_apart(const tristar_analysis_t *an, int spread) {
  return spread > tsi_apart_units(an->factor_scalar);
}

/* Can solves lose digits because of units? Rounding errors of the largest rows are eps 2^spread times the
 * terms of the smallest row (sigma(A, x) of Skeel 1980). With the errors that trials miss, this is eps^(2/3)
 * beyond 2^12, in single precision 2^5. */
static bool are_uneven(const tristar_analysis_t *an, int spread) {
  const double epsilon = tsi_sparse_kernels_select(an->factor_scalar)->epsilon;
  return ldexp(1, spread) > pow(epsilon, MISSED_UNEVEN - 1.0 / 3);
}

/* tsi_judge_is_needed for a given spread. */
static bool is_needed(const tristar_factor_t *factor, int spread) {
  return is_suspicious(factor) || is_weak(factor, spread) || inherits_errors(factor) ||
         tsi_factor_inverts_badly(factor) || has_grown(factor) || are_uneven(factor->analysis, spread);
}

bool tsi_judge_is_needed(const tristar_factor_t *factor) {
  return is_needed(factor, tsi_scaling_spread(factor));
}

/* Apart from inherited errors, can only units and weak pivots cause errors? */
static bool is_harmless(const tristar_factor_t *factor) {
  return !is_suspicious(factor) && !tsi_factor_inverts_badly(factor) && !has_grown(factor) &&
         factor->stats.perturbed_pivots == 0;
}

/* The result of trials for units and weak pivots, taken from the trials of the previous values: solves lose
 * digits. This decides only whether solves are refined, which is safe. 0: trials are necessary. */
static double known_loss(const tristar_factor_t *factor) {
  if (factor->loss == 0 || factor->analysis->options.growth != TRISTAR_GROWTH_WARN) return 0;
  return ldexp(1, factor->loss - 64);
}

/* Uses this loss as the verdict, if possible. */
static bool take_known_loss(tristar_factor_t *factor, int spread) {
  const bool weak = is_weak(factor, spread);
  if (known_loss(factor) == 0 || !is_harmless(factor) || (weak && !factor->loses_by_weakness)) return false;
  if (!weak) factor->scaled_error = 0;
  factor->stats.judged = 1;
  factor->stats.solve_error = known_loss(factor);
  return true;
}

/* Stores the loss of digits that units, or weak pivots, have caused, if any. */
static void note_loss(tristar_factor_t *factor, bool weak) {
  const double error = factor->stats.solve_error;
  int exponent;
  if (!tsi_factor_loses_digits(factor) || !is_harmless(factor) || !(error < 0x1p62)) return;
  if (frexp(error, &exponent) <= 0.5) exponent--;
  factor->loss = (int8_t)(64 + exponent);
  factor->loses_by_weakness = weak;
  /* the same figure as after a refactorization with the same values, which makes no trials */
  if (known_loss(factor) > 0) factor->stats.solve_error = known_loss(factor);
}

/* The solves with this factor that are refined. */
static const char *refining(const tristar_factor_t *factor) {
  return factor->analysis->schur_count > 0 ? "tristar_schur_condense and tristar_schur_expand refine"
                                           : "tristar_solve refines";
}

static void note_units(tristar_factor_t *factor, int spread, bool quiet) {
  note_loss(factor, false);
  if (!tsi_factor_loses_digits(factor) || quiet) return;
  if (are_apart(factor->analysis, spread))
    tsi_log(&factor->ts->env, TRISTAR_LOG_WARNING,
            "factor: scalings of rows or columns differ by 2^%d: solves that are not refined may lose all "
            "digits of some rows; %s",
            spread, refining(factor));
  else
    tsi_log(&factor->ts->env, TRISTAR_LOG_INFO,
            "factor: scalings of rows or columns differ by 2^%d: solves that are not refined may have "
            "backward errors of %.1e; %s",
            spread, factor->stats.solve_error, refining(factor));
}

/* The verdict for units that are apart: scaled b and x may have entries of any size, and a solve without
 * refinement loses the small ones. */
static void take_units(tristar_factor_t *factor, int spread, bool quiet) {
  factor->stats.judged = 1;
  factor->stats.solve_error = tsi_larger(factor->stats.solve_error, 1);
  note_units(factor, spread, quiet);
}

/* Uses this verdict, unless there are other suspicions. */
static bool take_units_alone(tristar_factor_t *factor, int spread, bool quiet) {
  if (!are_apart(factor->analysis, spread) || spread > TSI_FAR_UNITS || is_weak(factor, spread) ||
      !is_harmless(factor))
    return false;
  take_units(factor, spread, quiet);
  return true;
}

/* Are trials in the sizes of the scaling needless if the matrix is regular? */
static bool is_fine(const tristar_factor_t *factor, int spread) {
  return !is_weak(factor, spread) && !has_grown(factor) && !tsi_factor_inverts_badly(factor) &&
         spread <= TSI_FAR_UNITS;
}

bool tsi_judge_is_due(tristar_factor_t *factor, bool quiet) {
  const int spread = tsi_scaling_spread(factor);
  const bool needed = is_needed(factor, spread);
  if (!needed) factor->loss = 0;
  if (known_loss(factor) == 0) factor->scaled_error = 0;
  if (!needed) return false;
  const bool suspects = inherits_errors(factor) || is_suspicious(factor);
  return suspects || (may_inherit_some(factor) && !is_fine(factor, spread)) ||
         !(take_known_loss(factor, spread) || take_units_alone(factor, spread, quiet));
}

bool tsi_judge_suspects(const tristar_factor_t *factor) {
  return is_suspicious(factor) || inherits_errors(factor);
}

bool tsi_judge_can_match(const tristar_analysis_t *analysis) {
  return analysis->options.matching != TRISTAR_MATCHING_OFF && analysis->stats.method != TRISTAR_METHOD_LLT;
}

/* ---- Trial solves -------------------------------------------------------------------------------------- */

/* Right-hand sides of a trial. The first two have the sizes of the scaling. */
typedef enum trial {
  TRIAL_LARGE,    /* |op(A)| g, g the scaling of the columns: x is large if A is nearly singular */
  TRIAL_MODERATE, /* op(A) x for an x of the size of g */
  TRIAL_ONES,     /* ones, in the user's units */
  TRIAL_FEW,      /* ones in a quarter of the rows, zeros in the others */
  TRIAL_SOME,     /* random, of size one in the user's units; so are the next two */
  TRIAL_UNITS = TRIAL_SOME + 3, /* op(A) x for a random x of size one in the user's units */
  TRIAL_LAST = TRIAL_UNITS + 2  /* the same for two further x, with half of their entries zero */
} trial;

/* Data that all trials share. */
typedef struct trials {
  const tsi_system *system;
  bool strict;                  /* as tsi_system.strict */
  bool full;                    /* no entry of x is zero, because a rounded copy loses the rows of zeros */
  tsi_residual residual;        /* for the op of the last trials; system NULL: there were none */
  tsi_index at_once;            /* number of trials that are solved together */
  double known, known_weakness; /* known_loss; the same if weak pivots were its cause, otherwise 0 */
} trials;

/* Frees the memory. Further trials are possible. */
static void finish_trials(trials *t) {
  tsi_residual_finish(&t->residual);
  t->residual = (tsi_residual){.system = NULL};
}

static tristar_status need_residual(trials *t, tristar_op op) {
  if (t->residual.system == NULL || t->residual.op != op) {
    finish_trials(t);
    TSI_TRY(tsi_residual_begin(t->system, op, &t->residual));
    t->residual.frugal = true;
  }
  t->residual.strict = t->strict;
  return TRISTAR_OK;
}

/* An entry of b, or of x. scatter: number of its row. Zeros create rows that have only small terms. */
static double trial_entry(const trials *t, trial which, double scatter, double unit) {
  const double share = scatter * (which > TRIAL_FEW ? which - TRIAL_FEW : 1),
               entry = share - (int)share - 0.5;
  if (which == TRIAL_ONES) return 1;
  if (which == TRIAL_FEW) return share < 0.25;
  return which > TRIAL_UNITS && !t->full && fabs(entry) < 0.25 ? 0 : entry * unit;
}

static tristar_status make_trial(trials *t, tristar_op op, trial which, char *b, char *x) {
  const tsi_system *system = t->system;
  const tsi_sparse_kernels *kernels = system->kernels;
  const double *g = tsi_system_column_weight(system, op);
  double *real = t->residual.bound; /* both are free until x is there */
  char *zero = t->residual.vector;
  if (which == TRIAL_LARGE) {
    TSI_TRY(tsi_residual_need_weighted(&t->residual));
    kernels->fill(system->n, t->residual.row_sum, b);
    return TRISTAR_OK;
  }
  const bool of_b = which >= TRIAL_ONES && which < TRIAL_UNITS;
  for (tsi_index i = 0; i < system->n; i++) {
    const double unit = g != NULL && which == TRIAL_MODERATE ? g[i] : 1;
    real[i] = trial_entry(t, which, tsi_system_scatter(system, op, !of_b, i), unit);
  }
  if (of_b) {
    kernels->fill(system->n, real, b);
    return TRISTAR_OK;
  }
  kernels->fill(system->n, real, x);
  memset(zero, 0, (size_t)system->n * kernels->scalar_bytes);
  return tsi_system_residual(system, op, zero, x, b);
}

/* Number of trials that are solved together. It is the same on one process and on many, since the rounding
 * errors depend on it. The vectors take less memory than most factorizations free before the trials, so that
 * a forecast is right with and without trials. */
static tsi_index columns_of(const tristar_analysis_t *an) {
  const double stored = (tsi_analysis_is_lu(an) ? 2 : 1) * (double)an->stats.stored_lower,
               factor = stored / SMALL_SHARE, vectors = 3 * (double)an->stats.n;
  return factor >= TRIAL_COLUMNS * vectors ? TRIAL_COLUMNS
         : factor >= vectors               ? (tsi_index)(factor / vectors)
                                           : 1;
}

static trials begin_trials(const tsi_system *system, const tristar_factor_t *factor) {
  return (trials){.system = system, .strict = system->strict, .at_once = columns_of(factor->analysis)};
}

/* x = op(A)^-1 b for `count` columns, without refinement. */
static tristar_status solve_trials(const trials *t, tristar_op op, size_t count, const void *b, void *x) {
  const tsi_system *system = t->system;
  const tsi_index n = system->n;
  if (!system->wide) return system->functions->solve(system->context, op, (int64_t)count, b, n, x, n);
  TSI_CLEANUP(tsi_refinement_finish) tsi_refinement r = {0};
  tsi_refinement_begin_solves(system, op, &r);
  memcpy(x, b, count * (size_t)n * system->kernels->scalar_bytes);
  return tsi_solve_in_range(&r, (int64_t)count, x, x);
}

/* Solves the trials from `first` to `last` without refinement. *error: raised to the largest of their errors;
 * infinite if x is beyond the range of numbers. */
static tristar_status try_solve(trials *t, tristar_op op, trial first, trial last, double *error) {
  const tsi_system *system = t->system;
  const size_t column = (size_t)system->n * system->kernels->scalar_bytes, most = (size_t)t->at_once;
  size_t left = (size_t)(last - first + 1);
  TSI_OWNED char *b = NULL;
  TSI_TRY(need_residual(t, op));
  TSI_TRY(
      tsi_team_agree(system->team, TSI_ALLOC_SIZED(system->env, b, 2 * (left < most ? left : most), column)));
  for (size_t some; left > 0; left -= some, first += (trial)some) {
    some = left < most ? left : most;
    char *x = b + some * column;
    for (size_t k = 0; k < some; k++)
      TSI_TRY(make_trial(t, op, first + (trial)k, b + k * column, x + k * column));
    const tristar_status status = solve_trials(t, op, some, b, x);
    if (status == TRISTAR_ERR_NOT_FINITE) *error = INFINITY;
    if (status == TRISTAR_ERR_NOT_FINITE) continue;
    TSI_TRY(status);
    for (size_t k = 0; k < some; k++) {
      double found;
      TSI_TRY(tsi_residual_find(&t->residual, b + k * column, x + k * column, &found));
      *error = isfinite(found) ? tsi_larger(*error, found) : INFINITY;
    }
  }
  return TRISTAR_OK;
}

static bool are_alike(tsi_index n, const double *one, const double *other) {
  for (tsi_index i = 0; i < n; i++)
    if ((one ? one[i] : 1) != (other ? other[i] : 1)) return false;
  return true;
}

/* Is A symmetric? It is with L L^T and L D L^T, unless an import orders or scales rows and columns
 * differently. */
static bool is_symmetric(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index n = an->pattern->n;
  if (an->stats.method == TRISTAR_METHOD_LU) return false;
  return !an->imported || (are_alike(n, factor->row_scale, factor->col_scale) &&
                           memcmp(an->in_row, an->out_row, (size_t)n * sizeof *an->in_row) == 0);
}

/* Solves the trials with A^T and A. With L U both lose different digits; if A is symmetric, A alone suffices.
 * A is last, since further trials begin with A and use the same row sums. */
static tristar_status try_solves(trials *t, const tristar_factor_t *factor, trial first, trial last,
                                 double *error) {
  if (!is_symmetric(factor)) TSI_TRY(try_solve(t, TRISTAR_T, first, last, error));
  return try_solve(t, TRISTAR_N, first, last, error);
}

/* The same, if the error decides only whether solves are refined. The last two trials, which lose most, are
 * the first group, and the others the second. No group follows a group that loses digits. missed: see
 * expect(). */
static tristar_status try_until_lost(trials *t, const tristar_factor_t *factor, trial first, trial last,
                                     double missed, double *error) {
  const double most = tsi_acceptable_error(epsilon_of(factor));
  const trial pair = last - 1;
  for (int transposed = 0; transposed < (is_symmetric(factor) ? 1 : 2); transposed++) {
    const tristar_op op = transposed ? TRISTAR_T : TRISTAR_N;
    if (expect(factor, *error, missed) <= most) TSI_TRY(try_solve(t, op, pair, last, error));
    if (first < pair && expect(factor, *error, missed) <= most)
      TSI_TRY(try_solve(t, op, first, pair - 1, error));
  }
  return TRISTAR_OK;
}

size_t tsi_judge_bytes(const tristar_analysis_t *an, tsi_index *columns) {
  const size_t scalar = tsi_sparse_kernels_select(an->pattern->scalar)->scalar_bytes;
  *columns = columns_of(an);
  const size_t parts = an->factor_scalar != an->pattern->scalar ? 2 : 0; /* of a b that spans too much */
  const size_t vectors = (2 * (size_t)*columns + 1 + parts) * scalar,    /* b, x, the residual */
      sums = 3 * sizeof(double);                                         /* row sums, the bound */
  return (size_t)an->pattern->n * (vectors + sums);
}

size_t tsi_judge_condition_bytes(const tristar_analysis_t *an) {
  const size_t scalar = tsi_sparse_kernels_select(an->pattern->scalar)->scalar_bytes;
  return tsi_forward_error_bytes(an->pattern->n, scalar);
}

bool tsi_judge_foresees(const tristar_analysis_t *an) {
  const int spread = tsi_scaling_spread_of(an->pattern->n, an->row_scale, an->col_scale);
  return spread > TSI_FAR_UNITS || (are_uneven(an, spread) && !are_apart(an, spread));
}

tristar_status tsi_judge_solves(const tsi_system *system, const tristar_factor_t *factor, double *error) {
  TSI_CLEANUP(finish_trials)
  trials t = begin_trials(system, factor);
  return try_solves(&t, factor, TRIAL_LARGE, TRIAL_UNITS, error);
}

tristar_status tsi_judge_rounded(const tsi_system *system, const tristar_factor_t *factor, double epsilon,
                                 double *error) {
  TSI_CLEANUP(finish_trials)
  trials t = begin_trials(system, factor);
  t.full = true;
  *error = 0;
  TSI_TRY(try_solves(&t, factor, TRIAL_LARGE, TRIAL_LAST, error));
  *error /= pow(epsilon, MISSED);
  return TRISTAR_OK;
}

tristar_status tsi_judge_one(const tsi_system *system, double *error) {
  TSI_CLEANUP(finish_trials)
  trials t = {.system = system, .strict = system->strict, .at_once = 1};
  return try_solve(&t, TRISTAR_N, TRIAL_SOME, TRIAL_SOME, error);
}

/* ---- Verdicts ------------------------------------------------------------------------------------------ */

static tristar_status estimate(const tsi_system *system, double error, double *reciprocal, double *distance) {
  const tristar_refine_result found = {.initial_backward_error = error};
  TSI_CLEANUP(tsi_forward_error_finish) tsi_forward_error solves = {0};
  TSI_TRY(tsi_forward_error_begin(system, TRISTAR_N, 1, &solves));
  TSI_TRY(tsi_forward_error_condition(&solves, &found, reciprocal));
  *distance = solves.distance;
  return TRISTAR_OK;
}

/* Findings about a factor before any trial. */
typedef struct first_look {
  bool sound;  /* The condition need not be estimated. */
  bool fine;   /* The scaled system needs no trials. */
  double size; /* Size of the inverse of the scaled matrix (tsi_condition_glance); 0: not computed. */
} first_look;

/* Pivots can consist only of errors of earlier pivots. Usually they do not: one solve shows that the inverse
 * is not large, and the condition need not be estimated. */
static tristar_status look(const tsi_system *system, const tristar_factor_t *factor, int spread,
                           first_look *l) {
  const bool grown = has_grown(factor) || tsi_factor_inverts_badly(factor),
             suspicious = is_suspicious(factor), far = spread > TSI_FAR_UNITS;
  *l = (first_look){.sound = !tsi_judge_suspects(factor)};
  if (!l->sound && !suspicious && !grown && !far) {
    TSI_TRY(tsi_condition_glance(system, &l->size));
    l->sound = l->size < pow(epsilon_of(factor), -0.4);
  }
  l->fine = l->sound && is_fine(factor, spread);
  return TRISTAR_OK;
}

/* Describes suspicious pivots for messages. */
static void describe_pivots(const tristar_factor_t *factor, size_t size, char *text) {
  const long long perturbed = (long long)factor->stats.perturbed_pivots;
  text[0] = 0;
  if (factor->weakest_row != TSI_NONE)
    snprintf(text, size, ", the pivot of row %d (counted from 0) is %.1e times its column",
             factor->weakest_row, factor->weakest_pivot);
  const size_t used = strlen(text);
  if (perturbed > 0)
    snprintf(text + used, size - used, ", %lld pivot%s perturbed", perturbed, perturbed > 1 ? "s" : "");
}

/* The largest reciprocal condition of a singular matrix. Rounding errors give it a condition of about 1 / (n
 * eps). If pivots were perturbed, refined solves leave more. If pivots only inherit errors, the residual of
 * the null vector is zero within rounding errors. */
static double most_of_singular(const tsi_system *system, const tristar_factor_t *factor) {
  const double epsilon = system->kernels->epsilon;
  if (!is_suspicious(factor)) return epsilon;
  if (factor->stats.perturbed_pivots > 0) return pow(epsilon, 0.85);
  return fmin((double)system->team->n * epsilon, pow(epsilon, 0.95));
}

static tristar_status measure(const tsi_system *system, tristar_factor_t *factor, double error) {
  tristar_factor_stats *stats = &factor->stats;
  const double most = most_of_singular(system, factor);
  double distance;
  TSI_TRY(estimate(system, error, &stats->reciprocal_condition, &distance));
  stats->singular = !(stats->reciprocal_condition > most);
  factor->surely_singular = stats->singular && distance <= most;
  return TRISTAR_OK;
}

/* Do solves without refinement prove that the matrix is regular? */
static tristar_status measure_factors(const tsi_system *system, tristar_factor_t *factor, bool *regular) {
  tristar_factor_stats *stats = &factor->stats;
  double reciprocal;
  *regular = false;
  if (system->wide || system->rounded) return TRISTAR_OK;
  TSI_TRY(tsi_condition_of_factors(system, &reciprocal, regular));
  if (!*regular) return TRISTAR_OK;
  stats->reciprocal_condition = reciprocal;
  stats->singular = 0;
  factor->surely_singular = false;
  return TRISTAR_OK;
}

/* Measures the condition. The factors of a badly scaled matrix may be worse than the matrix, so refined
 * solves decide. */
static tristar_status measure_well(const tsi_system *system, tristar_factor_t *factor) {
  bool regular;
  TSI_TRY(measure_factors(system, factor, &regular));
  if (regular) return TRISTAR_OK;
  TSI_TRY(measure(system, factor, factor->stats.solve_error));
  return factor->stats.singular ? measure(system, factor, 1) : TRISTAR_OK;
}

tristar_status tsi_judge_measure(const tsi_system *system, tristar_factor_t *factor) {
  TSI_CLEANUP(finish_trials)
  trials t = begin_trials(system, factor);
  TSI_TRY(try_solves(&t, factor, TRIAL_LARGE, TRIAL_MODERATE, &factor->stats.solve_error));
  factor->stats.judged = 1;
  finish_trials(&t);
  return measure_well(system, factor);
}

static tristar_status judge_condition(const tsi_system *system, const tristar_factor_t *factor) {
  char pivots[160];
  const double reciprocal = factor->stats.reciprocal_condition;
  if (!factor->stats.singular) return TRISTAR_OK;
  describe_pivots(factor, sizeof pivots, pivots);
  if (factor->analysis->options.singular == TRISTAR_SINGULAR_REFUSE && reciprocal <= 0)
    TSI_FAIL(
        system->env, TRISTAR_ERR_SINGULAR,
        "not even refined solves are accurate%s: the matrix is singular to working precision, or, if the "
        "matching of the analysis was found for other values, these need an analysis of their own",
        pivots);
  if (factor->analysis->options.singular == TRISTAR_SINGULAR_REFUSE)
    TSI_FAIL(system->env, TRISTAR_ERR_SINGULAR,
             "the matrix is singular to working precision: estimated reciprocal condition %.1e%s", reciprocal,
             pivots);
  if (system->team->own == 0)
    tsi_log(system->env, TRISTAR_LOG_WARNING,
            "factor: the matrix is singular to working precision: estimated reciprocal condition %.1e%s",
            reciprocal, pivots);
  return TRISTAR_OK;
}

/* Reports the loss of digits if pivots have grown or were perturbed. */
static tristar_status judge_growth(const tsi_system *system, const tristar_factor_t *factor, bool last) {
  const tristar_factor_stats *stats = &factor->stats;
  char text[400];
  if (!tsi_factor_loses_digits(factor)) return TRISTAR_OK;
  if (tsi_factor_inverts_badly(factor) && stats->growth <= GROWN) {
    if (system->team->own == 0)
      tsi_log(system->env, TRISTAR_LOG_WARNING,
              "factor: inverses of diagonal blocks grow to %.1e times their diagonals: solves that are not "
              "refined have backward errors of about %.1e",
              factor->inverse_growth, stats->solve_error);
    return TRISTAR_OK;
  }
  snprintf(
      text, sizeof text,
      "pivots grow to %.1e times the entries of the scaled matrix, %lld are perturbed: solves that are not "
      "refined have backward errors of about %.1e; tristar_solve refines; if the matching of the analysis "
      "was found "
      "for other values, analyze these",
      stats->growth, (long long)stats->perturbed_pivots, stats->solve_error);
  if (factor->analysis->options.growth == TRISTAR_GROWTH_MATCH && !last)
    TSI_FAIL(system->env, TRISTAR_ERR_STALE, "%s", text);
  if (system->team->own == 0) tsi_log(system->env, TRISTAR_LOG_WARNING, "factor: %s", text);
  return TRISTAR_OK;
}

/* Are trials for weak pivots necessary, if solves lose no digits for other reasons? */
static bool tries_weakness(const tristar_factor_t *factor, int spread) {
  return factor->stats.perturbed_pivots == 0 && (is_weak(factor, spread) || grows_in_units(factor, spread));
}

/* If units are uneven, solves may lose digits of small rows, and trials show it. Trials for weak pivots
 * include these trials, with a lower limit. */
static tristar_status judge_units(trials *t, tristar_factor_t *factor, int spread) {
  const bool quiet = t->system->team->own != 0, all = t->system->team->n <= FEW_ROWS;
  double found = 0;
  if (tsi_factor_loses_digits(factor) || !are_uneven(factor->analysis, spread)) return TRISTAR_OK;
  if (are_apart(factor->analysis, spread)) {
    take_units(factor, spread, quiet);
    return TRISTAR_OK;
  }
  t->strict = false;
  factor->stats.judged = 1;
  factor->stats.solve_error = tsi_larger(factor->stats.solve_error, t->known);
  const bool lost = tsi_factor_loses_digits(factor);
  if (!lost && tries_weakness(factor, spread)) return TRISTAR_OK;
  if (!lost)
    TSI_TRY(try_until_lost(t, factor, all ? TRIAL_ONES : TRIAL_UNITS + 1 - FEW_TRIALS,
                           all ? TRIAL_LAST : TRIAL_UNITS, MISSED_UNEVEN, &found));
  factor->stats.solve_error = tsi_larger(factor->stats.solve_error, expect(factor, found, MISSED_UNEVEN));
  note_units(factor, spread, quiet);
  return TRISTAR_OK;
}

/* If pivots are weak, x can be much larger than the sizes of b and A suggest. A solve without refinement then
 * loses rows in which x is small. Trials show most of these rows; the condition, or the size of the inverse,
 * bounds all. size: see first_look. */
static tristar_status judge_weakness(trials *t, tristar_factor_t *factor, int spread, double size) {
  const tsi_system *system = t->system;
  tristar_factor_stats *stats = &factor->stats;
  double found = 0;
  if (!tries_weakness(factor, spread)) return TRISTAR_OK;
  t->strict = false;
  if (t->known_weakness > 0) {
    stats->solve_error = tsi_larger(stats->solve_error, t->known_weakness);
    note_loss(factor, true);
    return TRISTAR_OK;
  }
  if (factor->weakest_pivot < sqrt(epsilon_of(factor))) /* some b loses this much, in a row of small terms */
    stats->solve_error = tsi_larger(stats->solve_error, epsilon_of(factor) / factor->weakest_pivot);
  if (!tsi_factor_loses_digits(factor))
    TSI_TRY(try_until_lost(t, factor, TRIAL_ONES, TRIAL_LAST, MISSED, &found));
  stats->solve_error = tsi_larger(stats->solve_error, expect(factor, found, MISSED));
  if (stats->reciprocal_condition > 0 && !stats->singular)
    stats->solve_error = tsi_larger(stats->solve_error, epsilon_of(factor) / stats->reciprocal_condition);
  if (stats->reciprocal_condition < 0)
    stats->solve_error = tsi_larger(stats->solve_error, epsilon_of(factor) * size);
  factor->scaled_error = tsi_larger(factor->scaled_error, found);
  note_loss(factor, true);
  if (tsi_factor_loses_digits(factor) && system->team->own == 0)
    tsi_log(
        system->env, tsi_factor_inverts_badly(factor) ? TRISTAR_LOG_WARNING : TRISTAR_LOG_INFO,
        "factor: pivots, or inverses of diagonal blocks, have entries of very different sizes: solves that "
        "are not refined may have backward errors of %.1e; %s",
        stats->solve_error, refining(factor));
  return TRISTAR_OK;
}

tristar_status tsi_judge_small_rows(const tsi_system *system, tristar_factor_t *factor) {
  const int spread = tsi_scaling_spread(factor);
  TSI_CLEANUP(finish_trials)
  trials t = begin_trials(system, factor);
  TSI_TRY(judge_units(&t, factor, spread));
  return tsi_factor_loses_digits(factor) ? TRISTAR_OK : judge_weakness(&t, factor, spread, 0);
}

tristar_status tsi_judge(const tsi_system *system, tristar_factor_t *factor, bool last) {
  tristar_factor_stats *stats = &factor->stats;
  const int spread = tsi_scaling_spread(factor);
  first_look l;
  TSI_CLEANUP(finish_trials)
  trials t = begin_trials(system, factor);
  TSI_TRY(look(system, factor, spread, &l));
  if (l.sound && l.size > 0 && take_known_loss(factor, spread)) return TRISTAR_OK;
  t.known = known_loss(factor);
  t.known_weakness = factor->loses_by_weakness ? t.known : 0;
  if (t.known_weakness == 0) factor->scaled_error = 0;
  factor->loss = 0;
  if (l.fine) return judge_units(&t, factor, spread);
  TSI_TRY(try_solves(&t, factor, TRIAL_LARGE, TRIAL_MODERATE, &stats->solve_error));
  factor->scaled_error = tsi_larger(factor->scaled_error, stats->solve_error);
  stats->judged = 1;
  if (factor->analysis->options.growth == TRISTAR_GROWTH_MATCH && !last)
    TSI_TRY(judge_growth(system, factor, last)); /* the condition may be a property of the factors alone */
  if (!l.sound) {
    finish_trials(&t);
    TSI_TRY(measure_well(system, factor));
    TSI_TRY(judge_condition(system, factor));
  }
  TSI_TRY(judge_growth(system, factor, last));
  if (stats->perturbed_pivots == 0) TSI_TRY(judge_units(&t, factor, spread));
  if (!tsi_factor_loses_digits(factor)) TSI_TRY(judge_weakness(&t, factor, spread, l.size));
  if (!tsi_judge_suspects(factor) && may_inherit_errors(factor)) {
    finish_trials(&t);
    TSI_TRY(measure_well(system, factor));
    TSI_TRY(judge_condition(system, factor));
  }
  if (stats->perturbed_pivots > 0 && !tsi_factor_loses_digits(factor) && system->team->own == 0)
    tsi_log(system->env, TRISTAR_LOG_WARNING,
            "factor: pivots were perturbed, %lld in all: solutions need refinement (tristar_solve refines by "
            "default)",
            (long long)stats->perturbed_pivots);
  return TRISTAR_OK;
}

/* Rows in units of 2^-1000 make x exceed the range of numbers: such a trial is ignored. */
tristar_status tsi_judge_import(const tsi_system *system, tristar_factor_t *factor) {
  tristar_factor_stats *stats = &factor->stats;
  TSI_CLEANUP(finish_trials)
  trials t = begin_trials(system, factor);
  t.strict = factor->row_weight != NULL;
  stats->judged = 1;
  stats->solve_error = 0;
  for (trial which = TRIAL_ONES; which <= TRIAL_LAST; which++) {
    double error = 0;
    TSI_TRY(try_solves(&t, factor, which, which, &error));
    if (isfinite(error))
      stats->solve_error = fmax(stats->solve_error, t.strict ? expect(factor, error, MISSED) : error);
  }
  factor->scaled_error = stats->solve_error;
  if (are_apart(factor->analysis, tsi_scaling_spread(factor)))
    stats->solve_error = fmax(stats->solve_error, 1);
  if (tsi_factor_loses_digits(factor))
    tsi_log(system->env, TRISTAR_LOG_WARNING,
            "import: solves that are not refined have backward errors of about %.1e; tristar_solve refines",
            stats->solve_error);
  return TRISTAR_OK;
}
