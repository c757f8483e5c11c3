/* Maximum-product matching: permute large entries to the diagonal and scale them to one.
 *
 * Job. For a square matrix compute the row permutation that maximizes the product of the absolute values on
 * the diagonal. Compute row and column scalings such that every diagonal entry of the permuted, scaled matrix
 * is 1 in absolute value and no other entry is larger (I. S. Duff and J. Koster, SIAM J. Matrix Anal. Appl.
 * 20 (1999) and 22 (2001), option 5 of MC64: shortest augmenting paths on costs log(max|a_j|) - log|a_ij|,
 * scalings from the duals). This also yields the structural rank.
 *
 * Reads   column-compressed values; explicit zeros do not count as entries.
 * Writes  row_of_column (n), row_scale (n), col_scale (n), rank.
 * Invariants (when rank = n): row_of_column is a permutation; with r, c the scalings,
 *   |r_i a_ij c_j| <= 1 (to roundoff) everywhere and = 1 for i = row_of_column[j]; all scalings are positive
 *   and finite. Two exceptions keep <= 1 but not = 1: if the optimum takes far too long (large random
 *   matrices), the last columns are matched without it; if its scalings would overflow, the columns are
 *   scaled by their maxima instead. */
#pragma once

#include "runtime/base/watch.h"

/* magnitude[p] = |a| of entry p (finite, >= 0); duplicates must have been summed. If rank < n the matrix is
 * structurally singular; then the scalings are 1 and unmatched columns have row TSI_NONE. watch: may be NULL.
 * Errors: MEMORY, CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_matching(tsi_env *env, tsi_index n, const tsi_count *ptr,
                                            const tsi_index *index, const double *magnitude,
                                            tsi_index *row_of_column, double *row_scale, double *col_scale,
                                            tsi_index *rank, tsi_watch *watch);

/* Structural rank only (maximum cardinality matching), of a pattern. Errors: MEMORY, CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_structural_rank(tsi_env *env, tsi_index n, const tsi_count *ptr,
                                                   const tsi_index *index, tsi_index *rank, tsi_watch *watch);
