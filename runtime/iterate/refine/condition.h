/* The condition of a matrix as it was scaled for the factorization, B = R A C.
 *
 * Job. 1 / (|B| |B^-1|), 1-norms, the second one estimated by solves with A that the caller brings. Where
 * pivots were perturbed, solves hide null vectors of A: a search for one lowers the number. B seems to be
 * nearly singular if the scaling does not suit the values or the inverse. Then the number can be that of
 * another scaling, if it is larger: an equilibration, or a scaling by solutions, in which residuals of
 * solves have to prove A regular.
 *
 * Reads   a system.   Writes  work of its own. */
#pragma once

#include "runtime/iterate/refine/norm_estimate.h"
#include "runtime/iterate/refine/system.h"

/* solve: x := A^-1 x or, adjoint, A^-H x; one column. well: the same as accurate as possible, for few more
 * steps to a null vector. 1 for an empty matrix, 0 where a solve is not finite.
 * *distance: the matrix becomes singular if its entries change by that share of themselves; infinite: no such
 * number was found. Errors: MEMORY, those of solve. */
TRISTAR_CHECKED tristar_status tsi_condition(const tsi_system *system, tsi_multiply_columns solve,
                                             tsi_multiply_columns well, void *arg, double *reciprocal,
                                             double *distance);

/* |B^-1 v| / |v|, largest entries, for a v without a pattern: seldom far below |B^-1|. Infinite where the
 * solve is not finite. One solve without refinement. Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_condition_glance(const tsi_system *system, double *size);

/* 1 / condition of the factors' product, by solves without refinement, and whether they prove A regular.
 *
 * Let B + D be singular with the left null vector w, and r = v - B y for a v with random entries in [-1, 1].
 * Then w^H v = w^H (r - D y). The share |w^H v| / |w|_1 of v is below s / n^(1/2) with a probability of at
 * most 2^(1/2) s (Ball, Cube slicing in R^n, 1986), s = 0.025. For all of 4 probes: 2e-6. Otherwise, if all r
 * are smaller than half of that, s / 2 / n^(1/2) <= |D| |y|: maximum norms of r and y, and the largest sum of
 * a row of |D|. The probes measure |y|, so this holds whatever the errors of the factors are.
 * *regular: all r are that small, s / 2 / n^(1/2) > eps^0.85 |B| |y|, and the condition is below eps^(-1/2).
 * Then |D| > eps^0.85 |B|, which is beyond all limits for singular matrices (judge.c).
 *
 * The condition may be larger, below eps^(-3/4), if the residuals are so small that the number is accurate.
 * With y = X v, row i of F = 1 - B X has the 2-norm |r_i| / s at most, with the same probability. So |F| is n
 * |r| / s at most, in the 1-norm, with the maximum norm of r. The norm of X is that of B^-1, but for the
 * share |F|, which is to be below 0.1. The scaling has to suit the values: otherwise tsi_condition takes
 * another one.
 *
 * Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_condition_of_factors(const tsi_system *system, double *reciprocal,
                                                        bool *regular);

/* 1 / condition, by solves that are refined where they have to be (forward_error.h). */
TRISTAR_CHECKED tristar_status tsi_system_condition(const tsi_system *system, double *reciprocal);

/* Multiplies row and column, n each, by powers of two that bring the sums of rows and columns of R |A| C near
 * one (Ruiz 2001), so that neither units nor penalties count. sum: 2 n of scratch. Errors: of messages. */
TRISTAR_CHECKED tristar_status tsi_equilibrate(const tsi_system *system, double *row, double *column,
                                               double *sum);
