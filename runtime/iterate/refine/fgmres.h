/* Flexible GMRES for one correction of an approximate solution.
 *
 * Job. Find d with op(A) d = r, with solves with the factors as preconditioner (from the right). Arnoldi's
 * process builds an orthonormal basis V of the residuals and Z = M^-1 V; d = Z y minimizes |r - A d| (Y.
 * Saad, A flexible inner-outer preconditioned GMRES algorithm, SIAM J. Sci. Comput. 14 (1993), algorithm
 * 2.2). Factors can be far from exact, because pivots were perturbed or because they are single. Even so they
 * often differ from A by little more than a low rank, so a few iterations suffice. Norms are norms of
 * residuals with the row scaling of the factorization; otherwise the largest rows would hide all others.
 *
 * Each iteration yields the norm of the remaining residual at no cost, but not the correction or its error.
 * So the judge is called only after the norm has been reduced by a given factor.
 *
 * Reads   a system, r.   Writes  d, its own work arrays: two vectors, and two for each iteration and one
 * more. Those of four iterations are allocated together. */
#pragma once

#include "runtime/iterate/refine/system.h"

#define TSI_FGMRES_ITERATIONS 30 /* default in tristar_refine_options */

/* The test of the correction d after a number of iterations. */
typedef struct tsi_fgmres_judge {
  bool (*enough)(void *arg, int iterations, const void *d);
  void *arg;
  double reduction; /* of the norm of r: iterations end if it is reached and `enough` returns true */
  bool always;      /* `enough` is called after all iterations; before the reduction its result is ignored */
} tsi_fgmres_judge;

/* r is overwritten; the judge may use it as scratch. *iterations: number of iterations made, at most
 * max_iterations. Errors: MEMORY, those of the system's functions. */
TRISTAR_CHECKED tristar_status tsi_fgmres(const tsi_system *system, tristar_op op, void *r, void *d,
                                          int max_iterations, const tsi_fgmres_judge *judge, int *iterations);
