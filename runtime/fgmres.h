/* Flexible GMRES for one correction of an approximate solution.
 *
 * Job. Find d with op(A) d = r, where solves with the factors are the preconditioner (from the right):
 * Arnoldi's process builds an orthonormal basis V of the residuals and Z = M^-1 V; d = Z y minimizes |r - A
 * d| (Y. Saad, A flexible inner-outer preconditioned GMRES algorithm, SIAM J. Sci. Comput. 14 (1993),
 * algorithm 2.2). Factors that are far from exact, because pivots were perturbed or because they are single,
 * often differ from A by little more than a low rank, so few iterations do.
 *
 * Reads   the matrix, a plan, r.   Writes  d, work of its own: 2 (iterations + 1) vectors. */
#ifndef TSI_RUNTIME_FGMRES_H
#define TSI_RUNTIME_FGMRES_H

#include "runtime/plan.h"

/* r is overwritten. *iterations: those made, at most max_iterations. Errors: MEMORY, those of tristar_solve.
 */
TRISTAR_CHECKED tristar_status tsi_fgmres(tristar_plan_t *plan, tristar_op op, void *r, void *d,
                                          int max_iterations, int *iterations);

#endif
