/* Updates a symmetric factor by terms of rank one, panel by panel: A + alpha v v^H (v v^T unless adjoint).
 *
 * The panel has the diagonal block L_K and the rows G below it. Let p = L_K^-1 v_K and D be the block of
 * pivots (L L^T: ones). Then D + alpha p p^H = K D' K^H, K unit lower triangular, K_ij = p_i b_j for i > j,
 * and
 *
 *   L_K' = L_K K      z = v below; for each column j in order: z := z - p_j G_j,  G_j' = G_j + b_j z
 *   v' = z
 *
 * (Gill, Golub, Murray and Saunders 1974, method C1; Davis and Hager 1999). Products need L_K^-1, which is
 * what most panels store: L_K'^-1 = K^-1 L_K^-1. L L^T multiplies columns of L' by the roots of D'. Pivots of
 * order 2 are blocks of D. The order of rows and the orders of pivots do not change. */
#pragma once

#include "codelets/cpu/base/panel.h"

typedef struct tsi_rank_panel {
  tsi_index w, m;
  tsi_inverse inverse; /* not TSI_INVERSE_PARTITIONED */
  bool adjoint;
  void *values; /* the packed panel (panel.h) */
  void *pivots; /* L D L^T: D^-1 as in tsi_pivoting (front.h), 2 w scalars; NULL: L L^T */
} tsi_rank_panel;

typedef struct tsi_rank_kernels {
  /* Adds the term to a panel. own: w entries of v, in the order of the panel. rest: m entries of v in the
   * rows below, in and out. alpha: scalar factor of the remaining term, in and out. work: 4 w scalars.
   * Returns false if a pivot would not be positive (L L^T), or be zero, or not finite; the pivots are then
   * invalid. */
  bool (*add)(const tsi_rank_panel *panel, const void *own, void *rest, void *alpha, void *work);
  /* Adds L_K D t to y_own and G D t to y_rest, t = L_K^H own + G^H rest. Also adds the absolute values of the
   * terms to size, w + m numbers: |D t| + |L_K D t| for the own rows, |G| |D t| below. work: 2 w scalars. */
  void (*apply)(const tsi_rank_panel *panel, const void *own, const void *rest, void *y_own, void *y_rest,
                double *size, void *work);
} tsi_rank_kernels;

const tsi_rank_kernels *tsi_rank_kernels_select(char scalar);
