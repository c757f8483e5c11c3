/* Rows of the two factors of a sparse approximate inverse of any matrix, by scalar type and instruction set.
 *
 * Job. Compute row i of the lower triangle G_L and column i of the upper triangle G_U with A^-1 ~ G_U G_L
 * (Kolotilina and Yeremin 1993). Both share a pattern; on its columns P up to i,
 *
 *   g A[P, P] = e_i^T,  A[P, P] h = e_i      by one dense L U with partial pivoting
 *   row i of G_L = g / a, column i of G_U = h / b,  a b = d = g_i = h_i,  a = sqrt |d|
 *
 * so that (G_L A G_U)_ii = 1. If A is Hermitian and positive definite, G_L = G and G_U = G^H (fsai.h).
 *
 * Patterns are those of rows (fsai.h) of a Hermitian matrix near A: H = (S A + (S A)^H) / 2. S is diagonal;
 * its entries have magnitude 1 and make the diagonal of S A positive. S changes G_U G_L in the same way as
 * A^-1. If the part of H of a row is not positive definite, the row keeps the pattern found so far and
 * continues from there. Then the columns with the largest entries of g A and A h join it; for a Hermitian A
 * these are the columns of the gradient.
 *
 * Reads   rows of A, patterns.   Writes  rows of G_L, columns of G_U, scratch.
 * Assumes: the pattern of A is symmetric; columns of rows ascend.
 * Invariant: row i depends only on A, its pattern and the limits. */
#pragma once

#include "codelets/cpu/fsai/fsai.h"

/* Scratch for one row at a time. */
typedef struct tsi_fsai_pair_work {
  tsi_index most;         /* maximum number of columns of a pattern, including the diagonal */
  void *system;           /* most x most: A[P, P] by rows, then its factors */
  tsi_index *order;       /* most: row of A[P, P] for each row of the factors */
  void *g, *h, *solution; /* most */
  tsi_index *kept;        /* most: a pattern whose system is regular */
  double *size;           /* by slot of tsi_fsai_work: key that orders columns */
} tsi_fsai_pair_work;

typedef struct tsi_fsai_pair_kernels {
  const char *isa;
  /* Computes the phases of S: phase[i] makes entry (i, i) of S A positive; 1 if it is zero. */
  void (*find_phases)(const tsi_factor_rows *a, void *phase);
  /* part: the values of H, in the order of A's. next: n, scratch. */
  void (*take_part)(const tsi_factor_rows *a, const void *phase, tsi_count *next, void *part);
  /* Continues the pattern of a row whose part of H is not positive definite, per_step columns at a time, up
   * to `space` columns with the diagonal. part: the values of H. reach: its arrays by column, by slot, and
   * for picks are used. */
  void (*grow)(const tsi_matrix_rows *a, const void *part, tsi_index per_step, tsi_index space,
               tsi_fsai_row *row, tsi_fsai_work *reach, tsi_fsai_pair_work *work);
  /* Computes row i of G_L and column i of G_U. row: the pattern made by tsi_fsai_kernels, ascending with the
   * diagonal last; receives the values of G_L. upper: receives the values of G_U. Entries that are small in
   * both factors by `postfilter` are dropped from the pattern. kind: ZERO if the small system is singular. */
  void (*row)(const tsi_matrix_rows *a, double postfilter, tsi_fsai_row *row, void *upper,
              tsi_fsai_pair_work *work);
} tsi_fsai_pair_kernels;

/* As tsi_kernels_select. */
const tsi_fsai_pair_kernels *tsi_fsai_pair_kernels_select(char scalar, const char *isa);
