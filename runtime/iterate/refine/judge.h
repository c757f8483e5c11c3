/* Verdict on a factorization whose pivots are suspicious.
 *
 * Job. Pivots that were perturbed, that are small beside the entries of their columns, that inherit errors of
 * others, or that have grown, can mean that the matrix is singular to working precision, or that solves lose
 * digits. They can also mean nothing. Trial solves with A and A^T and an estimate of the condition decide,
 * see tristar_singular and tristar_growth. Where the scalings of rows or columns differ, more trials have
 * right-hand sides in the user's units; where they are apart, solves refine, and no trial has to show it.
 * Where pivots inherit errors and nothing else is wrong, one solve mostly shows that they mean nothing.
 * Factorizations without such pivots cost nothing.
 *
 * Reads   the figures of a factorization, which are the same on all members of the team; its system.
 * Writes  stats of the factor: judged, solve_error, reciprocal_condition. */
#pragma once

#include "runtime/iterate/refine/system.h"
#include "runtime/factor/factor.h"

/* Is there anything to look at? */
bool tsi_judge_is_needed(const tristar_factor_t *factor);
/* Are there trials to make? Not if units are apart, or solves with the values before lost digits, as units or
 * weak pivots made them, and nothing else is wrong: then the function sets stats.solve_error, so that solves
 * refine. quiet: another process writes to the log. */
bool tsi_judge_is_due(tristar_factor_t *factor, bool quiet);

/* Columns of a trial at most. */
enum { TSI_TRIAL_COLUMNS = 8 };
/* Bytes of the vectors of trials with so many columns, beside the workspace of the plan. */
size_t tsi_judge_bytes(const tristar_analysis_t *analysis, tsi_index columns);
/* Columns of the trials that the scalings of the matching call for; 0: for none. */
tsi_index tsi_judge_foreseen(const tristar_analysis_t *analysis);

/* Can the matrix be singular, or pivots be nothing but errors of earlier ones? */
bool tsi_judge_suspects(const tristar_factor_t *factor);

/* Is it unknown whether the matrix is singular? No pivot was small, but growth leaves no digit of any, and
 * not even refined solves are accurate. */
bool tsi_judge_leaves_no_digit(const tristar_factor_t *factor);

/* Would another matching be possible? */
bool tsi_judge_can_match(const tristar_analysis_t *analysis);

/* *error: the largest backward error of trial solves without refinement, or what it was before; LU: also with
 * A^T. Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_solves(const tsi_system *system, const tristar_factor_t *factor,
                                                double *error);

/* *error: what solves without refinement may lose, by trial solves, if the factors are rounded to numbers of
 * that epsilon; LU: also with A^T. Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_rounded(const tsi_system *system, const tristar_factor_t *factor,
                                                 double epsilon, double *error);

/* Of a plan with rounded copies of the factor, unless it refines anyway, or never: do solves lose more than
 * eps^(2/3) of that format (accurate_plan.c)? Trials are made once for the values that the factor has, but
 * not for L L^T of ordinary values. Any thread may ask. Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_storage(tristar_plan_t *plan);

/* Imported factors whose matrix is known: if the units of rows or columns of it are apart, trials in these
 * units; if inverted diagonal blocks have grown, what these cost. Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_import(const tsi_system *system, tristar_factor_t *factor);

/* Estimates the condition alone: sets stats.reciprocal_condition, stats.singular and surely_singular, and
 * raises stats.solve_error to the errors of trial solves, without a message. The system may be of a part of
 * the matrix that the factor solves with.
 * Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_measure(const tsi_system *system, tristar_factor_t *factor);

/* After new values for a factor with plans, whose factorization had this status: judges it, and looks again
 * at a matrix that looks singular. After a failure the factor is not valid. Errors: status; those of
 * tristar_refactor. */
TRISTAR_CHECKED tristar_status tsi_judge_renewed(tristar_factor_t *factor, tristar_status status);

/* The same of one right-hand side without a pattern, with A. */
TRISTAR_CHECKED tristar_status tsi_judge_one(const tsi_system *system, const tristar_factor_t *factor,
                                             double *error);

/* tsi_judge_one with a plan of the factor, which it keeps. Errors: those of tristar_plan and
 * tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge_try(tristar_factor_t *factor, double *error);

/* Judges the factor of a system whose solves work. On one of many processes factor is its part. last: growth
 * is not STALE. Errors: SINGULAR, STALE (of options.growth); MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_judge(const tsi_system *system, tristar_factor_t *factor, bool last);

/* After a factorization that leaves rows to a Schur complement (schur_judge.c): is A_II singular, and does a
 * trial solve with it lose digits? may_refine: if pivots of a regular A_II were perturbed, refined solves
 * compute the complement (tsi_schur_refine). Writes stats.judged and stats.solve_error. Errors: SINGULAR,
 * ACCURACY, MEMORY, those of tristar_plan. */
TRISTAR_CHECKED tristar_status tsi_schur_judge(tristar_factor_t *factor, bool may_refine);
/* tsi_judge_measure of A_II. */
TRISTAR_CHECKED tristar_status tsi_schur_measure(tristar_plan_t *plan);
/* The complement by refined solves with A_II, in the place of that of the factorization. Sets
 * stats.schur_refined, for as long as the factor has these values. Errors: ACCURACY (their backward errors
 * exceed eps^(2/3)), MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_schur_refine(tristar_plan_t *plan);
