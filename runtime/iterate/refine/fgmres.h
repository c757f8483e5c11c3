/* Flexible GMRES for one correction of an approximate solution.
 *
 * Job. Find d with op(A) d = r, where solves with the factors are the preconditioner (from the right):
 * Arnoldi's process builds an orthonormal basis V of the residuals and Z = M^-1 V; d = Z y minimizes |r - A
 * d| (Y. Saad, A flexible inner-outer preconditioned GMRES algorithm, SIAM J. Sci. Comput. 14 (1993),
 * algorithm 2.2). Factors that are far from exact, because pivots were perturbed or because they are single,
 * often differ from A by little more than a low rank, so few iterations do. Norms are those of residuals with
 * the rows scaled as the factorization scaled them, or the largest rows would hide all others.
 *
 * The norm of what remains is known at each iteration for nothing, the correction and what it is worth are
 * not: the caller is asked whether it is good enough only from that reduction of the norm on at which it may
 * be.
 *
 * Reads   a system, r.   Writes  d, work of its own: 2 (iterations + 1) + 1 vectors. */
#pragma once

#include "runtime/iterate/refine/system.h"

#define TSI_FGMRES_ITERATIONS 30 /* default of tristar_refine_options */

/* Who judges the correction d that would be given after so many iterations. */
typedef struct tsi_fgmres_judge {
  bool (*enough)(void *arg, int iterations, const void *d);
  void *arg;
  double reduction; /* of the norm of r: iterations end once it is reached and `enough` gives true */
  bool always;      /* `enough` is told of all iterations; the others go on whatever it gives */
} tsi_fgmres_judge;

/* r is overwritten, and free while the judge is asked. *iterations: those made, at most max_iterations.
 * Errors: MEMORY, those of the system's functions. */
TRISTAR_CHECKED tristar_status tsi_fgmres(const tsi_system *system, tristar_op op, void *r, void *d,
                                          int max_iterations, const tsi_fgmres_judge *judge, int *iterations);
