/* TriStar: Schur complements, and solves in which the caller solves with the Schur complement.
 *
 * Let S be a set of unknowns (rows and columns of A), and I the others:
 *
 *   A = [ A_II  A_IS ]       Schur complement  A_SS - A_SI A_II^-1 A_IS
 *       [ A_SI  A_SS ]
 *
 *   tristar_analysis_options.schur, schur_count     S; its unknowns are ordered last, as one dense front
 *   tristar_factor, tristar_refactor                factor A_II and compute the Schur complement
 *   tristar_schur_get                               copies it
 *   tristar_plan, tristar_schur_condense            g = b_S - A_SI A_II^-1 b_I
 *   the caller                                      solves (Schur complement) x_S = g, by any method
 *   tristar_schur_expand                            x_I = A_II^-1 (b_I - A_IS x_S)
 *
 * A_II is scaled as a matrix of its own. Units of the rows and columns of S, powers of two, are those of the
 * rows and columns of the Schur complement, and change no bit of its fractions.
 *
 * The caller may change the Schur complement and g before he solves: substructuring adds those of all
 * subdomains. A_SS, the Schur complement and A itself may be singular; A_II must not be. METHOD_LLT needs a
 * positive definite A_II only.
 *
 * What a factorization leaves out is what solves with all of A need: tristar_solve, the solves of
 * tristar_solve.h with PART_ALL, determinants, inertias and saving return UNSUPPORTED, and so do functions of
 * many processes; tristar_dmatrix_schur (tristar_dmatrix_mpi.h) computes the complement there. PART_L, PART_D
 * and PART_U act on L, D and U of
 *
 *   A = [ L_II    ] [ D_II          ] [ U_II  U_IS ]
 *       [ L_SI  I ] [       complement ] [        I ]
 *
 * with I in the place of the complement. A matching (tristar_matching) moves rows of A_II only.
 *
 * Perturbed pivots. If pivots of a regular A_II were perturbed, also with a matching, refined solves with
 * A_II compute the complement: tristar_factor_stats.schur_refined is 1, and the log has a warning. Then
 * condensing and expanding make one refined solve each (also with REFINE_NEVER), and the factorization one
 * for each unknown of S. Their errors are also those of tristar_solve. PART_L, PART_D and PART_U still act on
 * the factors with perturbed pivots.
 *
 * Units and weak pivots. If no pivot was perturbed, but tristar_solve would refine with A_II
 * (tristar_stats.h), condensing and expanding make one refined solve each, except with REFINE_NEVER. The
 * factorization computes the complement.
 *
 * Narrower storage (tristar_plan_options.storage) without an accuracy: trial solves with A_II test the
 * rounded factor once for each set of values. If they lose digits, condensing and expanding make one refined
 * solve each, and the log has a warning. Without memory for the trials both return MEMORY. REFINE_NEVER: no
 * trials.
 *
 * Errors of tristar_analyze: ARGUMENT (a row out of range, or listed twice, or all rows: the message names
 * it), SINGULAR (A_II is structurally singular, or skew-symmetric of odd order), UNSUPPORTED (leaf_parts >
 * 1). Errors of tristar_factor: SINGULAR if A_II is singular to working precision (tristar_stats.h), unless
 * the analysis has SINGULAR_PERTURB; ACCURACY if a trial solve with A_II has a backward error above
 * eps^(1/3), or refined solves one above eps^(2/3). From eps^(2/3) on the log has a warning
 * (tristar_factor_stats.solve_error). With SINGULAR_PERTURB solves are refined only if an x of a trial
 * differs by eps^(1/4).
 *
 * Columns that fail. If condensing or expanding returns NOT_FINITE or ACCURACY, at least one column failed.
 * All others are valid in y, g and x. A column that failed with NOT_FINITE is filled with NaN in g or x. A
 * column that failed with ACCURACY has the best values that were found. The message names the first column
 * that failed. A call with a single column returns the status of that column.
 *
 * Memory: the Schur complement is stored as a square matrix, and the factor has as many zeros for L (LU: for
 * L and U) besides. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_SCHUR_H
#define TRISTAR_SCHUR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Copies the Schur complement, schur_count x schur_count, in the units of A: row and column k are unknown
 * schur[k]. s: column-major, leading dimension lds >= schur_count, scalars of the type of A. Of a symmetric
 * or Hermitian matrix both triangles are written. Errors: ARGUMENT (also: the analysis has no schur), STALE,
 * NOT_FINITE (an entry is beyond the range of numbers). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_schur_get(const tristar_factor_t *factor, void *s,
                                                             int64_t lds);

/* The right-hand sides of the Schur complement of op(A): g = b_S - op(A)_SI op(A)_II^-1 b_I, one forward
 * sweep. That complement is op(Schur complement of A). b: n x nrhs, ldb >= n. y: n x nrhs, ldy >= n, receives
 * what tristar_schur_expand continues with; y may be b (ldy == ldb). g: schur_count x nrhs, ldg >=
 * schur_count, in the order of schur. All are column-major. Errors: ARGUMENT (also: the analysis has no
 * schur), MEMORY, STALE, RUNTIME, NOT_FINITE (g has NaN or infinity, also if b has; or a refined solve is
 * beyond the range of numbers); of refined solves: ACCURACY. See "Columns that fail" above. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_schur_condense(tristar_plan_t *plan, tristar_op op,
                                                                  int64_t nrhs, const void *b, int64_t ldb,
                                                                  void *y, int64_t ldy, void *g, int64_t ldg);

/* The solution of op(A) x = b from its unknowns in S, one backward sweep: x_I = op(A)_II^-1 (b_I - op(A)_IS
 * x_S). y: from tristar_schur_condense with the same plan and op. x_s: schur_count x nrhs, ldxs >=
 * schur_count, in the order of schur. x: n x nrhs, ldx >= n; its rows of S become x_s. x may be y (ldx ==
 * ldy). Errors: ARGUMENT (also: the analysis has no schur), MEMORY, STALE, RUNTIME, NOT_FINITE (x has NaN or
 * infinity, also if y or x_s has); of refined solves: ACCURACY. See "Columns that fail" above. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_schur_expand(tristar_plan_t *plan, tristar_op op,
                                                                int64_t nrhs, const void *y, int64_t ldy,
                                                                const void *x_s, int64_t ldxs, void *x,
                                                                int64_t ldx);

#ifdef __cplusplus
}
#endif
#endif
