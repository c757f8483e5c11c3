/* Rows of the two factors of a sparse approximate inverse of any matrix, by scalar type and instruction set.
 *
 * Job. Row i of the lower triangle G_L and column i of the upper triangle G_U with A^-1 ~ G_U G_L (Kolotilina
 * and Yeremin 1993). On the columns P up to i of a pattern that both share,
 *
 *   g A[P, P] = e_i^T,  A[P, P] h = e_i      by one dense L U with partial pivoting
 *   row i of G_L = g / a, column i of G_U = h / b,  a b = d = g_i = h_i,  a = sqrt |d|
 *
 * so that (G_L A G_U)_ii = 1. Where A is Hermitian and positive definite, G_L = G and G_U = G^H (fsai.h).
 *
 * Patterns are those of rows of a Hermitian matrix near A (fsai.h): H = (S A + (S A)^H) / 2, S diagonal, of
 * numbers of magnitude 1 that make the diagonal of S A positive; S changes G_L G_U by as much as A. A row
 * whose part of H is not positive definite keeps the pattern that it has when this shows, and goes on from
 * there: the columns with the largest entries of g A and A h join it, which for a Hermitian A are those of
 * the gradient.
 *
 * Reads   rows of A, patterns.   Writes  rows of G_L, columns of G_U, scratch.
 * Assumes: the pattern of A is symmetric; columns of rows ascend.
 * Invariant: what row i becomes depends on A, its pattern and the limits alone. */
#pragma once

#include "codelets/cpu/fsai/fsai.h"

/* Scratch of one row at a time. */
typedef struct tsi_fsai_pair_work {
  tsi_index most;         /* columns of a pattern, the diagonal among them */
  void *system;           /* most x most: A[P, P] by rows, then its factors */
  tsi_index *order;       /* most: which row of A[P, P] each row of the factors is */
  void *g, *h, *solution; /* most */
  tsi_index *kept;        /* most: a pattern whose system is regular */
  double *size;           /* by slot of tsi_fsai_work: what orders columns */
} tsi_fsai_pair_work;

typedef struct tsi_fsai_pair_kernels {
  const char *isa;
  /* The phases of S: phase[i] makes entry (i, i) of S A positive; 1 where it is zero. */
  void (*find_phases)(const tsi_factor_rows *a, void *phase);
  /* part: the values of H, at the places of A's. next: n, scratch. */
  void (*take_part)(const tsi_factor_rows *a, const void *phase, tsi_count *next, void *part);
  /* The pattern of a row whose part of H is not positive definite goes on, per_step columns at a time, up to
   * `room` with the diagonal. part: the values of H. reach: its arrays by column and by slot, and for
   * picks. */
  void (*grow)(const tsi_matrix_rows *a, const void *part, tsi_index per_step, tsi_index room,
               tsi_fsai_row *row, tsi_fsai_work *reach, tsi_fsai_pair_work *work);
  /* Row i of G_L and column i of G_U. row: the pattern, ascending with the diagonal last, as tsi_fsai_kernels
   * leave it; then values of G_L. upper: the values of G_U. Entries that are small in both factors, as
   * `postfilter` says, leave the pattern. kind: ZERO, the small system is singular. */
  void (*row)(const tsi_matrix_rows *a, double postfilter, tsi_fsai_row *row, void *upper,
              tsi_fsai_pair_work *work);
} tsi_fsai_pair_kernels;

/* As tsi_kernels_select. */
const tsi_fsai_pair_kernels *tsi_fsai_pair_kernels_select(char scalar, const char *isa);
