/* Verdict on a factorization whose pivots are suspicious.
 *
 * Job. Suspicious pivots were perturbed, are small relative to the entries of their columns, inherit errors
 * of other pivots, or have grown. They can mean that the matrix is singular to working precision, or that
 * solves lose digits. They can also be harmless. Trial solves with A and A^T and an estimate of the condition
 * decide; see tristar_singular and tristar_growth. If the scalings of rows or columns differ, further trials
 * have right-hand sides in the user's units. If units are apart, solves are refined without any trial. If
 * pivots only inherit errors, one solve usually shows that they are harmless. Factorizations without such
 * pivots cost nothing.
 *
 * Reads   the statistics of a factorization, which are equal on all members of the team; its system.
 * Writes  stats of the factor: judged, solve_error, reciprocal_condition. */
#pragma once

#include "runtime/iterate/refine/system.h"
#include "runtime/factor/factor.h"

/* Is the factorization suspicious? */
bool tsi_judge_is_needed(const tristar_factor_t *factor);
/* Are trials necessary? Not if only units or weak pivots are suspicious, and units are apart, or solves with
 * the previous values lost digits. Then the function sets stats.solve_error, so that solves are refined.
 * quiet: another process writes to the log. */
bool tsi_judge_is_due(tristar_factor_t *factor, bool quiet);

/* Bytes of the vectors of trials, without the workspace of the plan. *columns: number of trials that are
 * solved together. */
size_t tsi_judge_bytes(const tristar_analysis_t *analysis, tsi_index *columns);
/* Bytes of the vectors of an estimate of the condition, whose solves have one column. */
size_t tsi_judge_condition_bytes(const tristar_analysis_t *analysis);
/* Do the scalings of the matching require trials? */
bool tsi_judge_foresees(const tristar_analysis_t *analysis);

/* Can the matrix be singular, or can pivots consist only of errors of earlier pivots? */
bool tsi_judge_suspects(const tristar_factor_t *factor);

/* Is it unknown whether the matrix is singular? Then no pivot was small, but after their growth no digit is
 * certain, and even refined solves are inaccurate. */
bool tsi_judge_leaves_no_digit(const tristar_factor_t *factor);

/* Is another matching possible? */
bool tsi_judge_can_match(const tristar_analysis_t *analysis);

/* *error: raised to the largest backward error of trial solves without refinement; LU: also with A^T. Errors:
 * MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_solves(const tsi_system *system, const tristar_factor_t *factor,
                                                double *error);

/* *error: expected backward error of solves without refinement if the factors are rounded to numbers with
 * this epsilon, by trial solves; LU: also with A^T. Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_rounded(const tsi_system *system, const tristar_factor_t *factor,
                                                 double epsilon, double *error);

/* For a plan with rounded copies of the factor: do solves lose more than eps^(2/3) of this format
 * (accurate_plan.c)? Not needed if the plan always refines, or never. Trials are made once for the values of
 * the factor, but not for L L^T with ordinary values. May be called by any thread. Errors: MEMORY, those of
 * tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_storage(tristar_plan_t *plan);

/* For imported factors with their matrix. If units of its rows or columns are apart, makes trials in these
 * units. If inverted diagonal blocks have grown, measures the error. Errors: MEMORY, those of
 * tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_import(const tsi_system *system, tristar_factor_t *factor);

/* Estimates only the condition: sets stats.reciprocal_condition, stats.singular and surely_singular, and
 * raises stats.solve_error to the errors of trial solves, without a message. The matrix of the system may be
 * a submatrix that the factor solves with.
 * Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_measure(const tsi_system *system, tristar_factor_t *factor);

/* Judges a factor with plans after new values. status: of the factorization. If the matrix looks singular, a
 * second opinion follows. After a failure the factor is not valid. Errors: status; those of
 * tristar_refactor. */
TRISTAR_CHECKED tristar_status tsi_judge_renewed(tristar_factor_t *factor, tristar_status status);

/* *error: like tsi_judge_solves, for one right-hand side without a pattern, with A. */
TRISTAR_CHECKED tristar_status tsi_judge_one(const tsi_system *system, double *error);

/* tsi_judge_one with a plan that the factor stores. Errors: those of tristar_plan and tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_try(tristar_factor_t *factor, double *error);

/* Judges the factor of a system whose solves work. On many processes factor is the part of this process.
 * last: growth is not STALE. Errors: SINGULAR, STALE (of options.growth); MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge(const tsi_system *system, tristar_factor_t *factor, bool last);

/* Can solves without refinement lose rows whose terms are small, because of units or weak pivots? Raises
 * stats.solve_error, with a message. For a regular matrix without perturbed pivots; it may be a submatrix, as
 * in tsi_judge_measure. Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_small_rows(const tsi_system *system, tristar_factor_t *factor);

/* Judges a factorization with a Schur complement (schur_judge.c). Is A_II singular, and does a trial solve
 * with it lose digits? may_refine: if pivots of a regular A_II were perturbed, refined solves compute the
 * complement (tsi_schur_refine). Writes stats.judged and stats.solve_error. Errors: SINGULAR, ACCURACY,
 * MEMORY, those of tristar_plan. */
TRISTAR_CHECKED tristar_status tsi_schur_judge(tristar_factor_t *factor, bool may_refine);
/* tsi_judge_measure, tsi_judge_small_rows, tsi_judge_rounded for A_II. */
TRISTAR_CHECKED tristar_status tsi_schur_measure(tristar_plan_t *plan);
TRISTAR_CHECKED tristar_status tsi_schur_judge_small_rows(tristar_plan_t *plan);
TRISTAR_CHECKED tristar_status tsi_schur_judge_rounded(tristar_plan_t *plan, double epsilon, double *error);
/* Replaces the complement of the factorization by the result of refined solves with A_II. Sets
 * stats.schur_refined, which holds until the values change. Errors: ACCURACY (their backward errors exceed
 * eps^(2/3)), MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_schur_refine(tristar_plan_t *plan);

/* The arrays of a call that condenses or expands: op(A) x = `in`, where `given` is x_S for expanding. `out`
 * is g or x. The names are for messages. */
typedef struct tsi_schur_arrays {
  tristar_op op;
  char scalar; /* type of the arrays */
  const char *in_name, *out_name;
  const char *in, *given;
  int64_t ld_in, ld_given;
  char *out;
  int64_t ld_out, rows; /* rows: of `out` on this process */
} tsi_schur_arrays;

/* Computes columns first .. first + columns - 1 of v->out. After NOT_FINITE or ACCURACY with several columns
 * v->in is unchanged, also if v->out is the same array. */
typedef tristar_status (*tsi_schur_block)(void *context, const tsi_schur_arrays *v, int64_t first,
                                          tsi_index columns);

/* Computes all columns, at most `most` at a time. The columns of a block that fails are computed one by one.
 * A column with NOT_FINITE is filled with NaN. Collective if `block` is. Returns the first failure. */
TRISTAR_CHECKED tristar_status tsi_schur_run(tsi_env *env, const tsi_schur_arrays *v, int64_t nrhs,
                                             int64_t most, tsi_schur_block block, void *context);
