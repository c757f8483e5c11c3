/* The condition of a matrix as it was scaled for the factorization, B = R A C.
 *
 * Job. Compute 1 / (|B| |B^-1|) in 1-norms. |B^-1| is estimated by solves with A that the caller supplies. If
 * pivots were perturbed, solves hide null vectors of A; a search for one reduces the result. B seems nearly
 * singular if the scaling does not suit the values or the inverse. Then the condition in another scaling
 * replaces the result if it is better. The other scalings are an equilibration, and a scaling by solutions in
 * which residuals of solves must prove A regular.
 *
 * Reads   a system.   Writes  its own work arrays. */
#pragma once

#include "runtime/iterate/refine/norm_estimate.h"
#include "runtime/iterate/refine/system.h"

/* solve: x := A^-1 x or, adjoint, A^-H x; one column. well: the same as accurately as possible, for a few
 * more steps to a null vector. *reciprocal: 1 for an empty matrix, 0 if a solve is not finite. *distance:
 * relative change of all entries that makes the matrix singular; infinite if none was found. Errors: MEMORY,
 * those of solve. */
TRISTAR_CHECKED tristar_status tsi_condition(const tsi_system *system, tsi_multiply_columns solve,
                                             tsi_multiply_columns well, void *arg, double *reciprocal,
                                             double *distance);

/* *size: |B^-1 v| / |v| in maximum norms, for a v without a pattern: rarely far below |B^-1|. Infinite if the
 * solve is not finite. One solve without refinement. Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_condition_glance(const tsi_system *system, double *size);

/* 1 / condition of the factors' product, by solves without refinement, and whether they prove A regular.
 *
 * Let B + D be singular with the left null vector w, and r = v - B y for a v with random entries in [-1, 1].
 * Then w^H v = w^H (r - D y). The share |w^H v| / |w|_1 of v is below s / n^(1/2) with a probability of at
 * most 2^(1/2) s (Ball, Cube slicing in R^n, 1986). Otherwise, if all r are smaller than half of this limit,
 * s / 2 / n^(1/2) <= |D| |y|: maximum norms of r and y, and the largest sum of a row of |D|. The probes
 * measure |y|, so this holds for any errors of the factors. For 1, 2, 3 and 4 probes s is
 * 1e-7, 2.6e-4, 3.7e-3 and 0.025: no further probe is solved if so few prove A regular. The probability that
 * all of k probes have smaller shares is at most (2^(1/2) s)^k, in sum 2e-6.
 *
 * *regular: all r are that small, s / 2 / n^(1/2) > eps^0.85 |B| |y|, and the condition is below eps^(-1/2).
 * Then |D| > eps^0.85 |B|, which exceeds all limits for singular matrices (judge.c).
 *
 * The condition may be larger, below eps^(-3/4), if the residuals are so small that the result is accurate.
 * With y = X v, row i of F = 1 - B X has a 2-norm of at most |r_i| / s, with the same probability. So |F| is
 * at most n |r| / s, with the 1-norm of F and the maximum norm of r. The norm of X is the norm of B^-1 up to
 * the share |F|, which must be below 0.1. The scaling must suit the values: otherwise tsi_condition uses
 * another one.
 *
 * Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_condition_of_factors(const tsi_system *system, double *reciprocal,
                                                        bool *regular);

/* 1 / condition, by solves that are refined where necessary (forward_error.h). */
TRISTAR_CHECKED tristar_status tsi_system_condition(const tsi_system *system, double *reciprocal);

/* Multiplies row and column, n each, by powers of two that bring the sums of rows and columns of R |A| C near
 * one (Ruiz 2001). So neither units nor penalties count. sum: 2 n of scratch. Errors: those of messages. */
TRISTAR_CHECKED tristar_status tsi_equilibrate(const tsi_system *system, double *row, double *column,
                                               double *sum);
