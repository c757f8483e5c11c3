/* TriStar: chosen entries of the inverse of a matrix that was factored.
 *
 *   tristar_inverse_diagonal   the diagonal of A^-1: variances, if A is an inverse covariance
 *   tristar_inverse_pattern    A^-1 where A has entries: traces of A^-1 dA, derivatives of log det A
 *   tristar_inverse_entries    any entries
 *
 * Two ways compute them. The recursion (Takahashi, Fagan and Chen 1973; Erisman and Tinney 1975) goes from
 * the roots of the assembly tree down, with dense products, through the supernodes of the entries and their
 * ancestors; it costs at most about as much as the factorization times 3, and computes all entries that have
 * a place in L or U. Solves with sparse unit vectors, 64 at a time, read only the chunks on the paths of the
 * entries. Each request takes the way with the least predicted work; entries without a place in L or U, as a
 * matching can leave on the diagonal, always take solves. So do all if pivots have grown by more than
 * eps^(-1/6) (tristar_factor_stats), since the recursion then loses twice as many digits. It stores, for each
 * supernode on a path of the tree, a dense square matrix of the size of its front. The calling thread does
 * its work.
 *
 * LU, LDLT and LLT, all types. Entries have the accuracy of solves with the scaled matrix that are not
 * refined. If these are inaccurate, because pivots were perturbed or trial solves in that scaling lost
 * digits, all entries take solves that are refined, 16 at a time: one for each column of the entries, so n
 * for a diagonal (tristar_plan_stats.inverse_solves). tristar_set_progress follows solves by their blocks,
 * and can cancel them. The functions return ACCURACY if the factor does not store the matrix, if the matrix
 * is singular, or if a refined solve has a backward error above eps^(2/3). Imported factors and triangles
 * take solves. Errors of all: ARGUMENT, MEMORY, STALE, RUNTIME, ACCURACY, CANCELLED, NOT_FINITE; UNSUPPORTED
 * (a factor with a Schur complement, tristar_schur.h; a plan with KERNEL_SPMV, or a storage other than FULL;
 * single_factors). */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_INVERSE_H
#define TRISTAR_INVERSE_H

#ifdef __cplusplus
extern "C" {
#endif

/* values[i] = (A^-1)_ii, n scalars of the type of A. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_inverse_diagonal(tristar_plan_t *plan, void *values);

/* Entry k of the view of tristar_analyze, in row i and column j: values[k] = (op(A)^-1)_ij, in the order and
 * the number of its values. With OP_T all of them have a place in L or U; the trace of A^-1 B is the sum of
 * these times the values of B. Of a symmetric kind, each pair has one value; its symmetry holds exactly on
 * the diagonal. Also UNSUPPORTED: an imported factor. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_inverse_pattern(tristar_plan_t *plan, tristar_op op,
                                                                   void *values);

/* values[k] = (A^-1)_ij for i = row[k], j = column[k], from 0: count of each, in any order; entries may
 * repeat. Also ARGUMENT: a number out of range (the message names it). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_inverse_entries(tristar_plan_t *plan, int64_t count,
                                                                   const int64_t *row, const int64_t *column,
                                                                   void *values);

#ifdef __cplusplus
}
#endif
#endif
