/* Dense work of the selected inverse on one panel: see runtime/iterate/refine/selected_inverse.c.
 *
 * Z is the part of the inverse that belongs to a front: f x f, column-major. The panel has rows and columns o
 * .. o+w-1. The m = f - o - w rows and columns behind them, R, are known:
 *
 *   Z_RK = -Z_RR G    Z_KR = -H Z_RR    Z_KK = U^-1 D^-1 L^-1 + H Z_RR G    G = L_RK L^-1, H = U^-1 U_KR
 *
 * (Erisman and Tinney 1975). The forward kernels (kernels.h) turn a unit matrix into L^-1 over -G, and U^-T
 * over -H^T: w + m rows of w scalars, `stride` apart. */
#pragma once

#include "runtime/base/types.h"

typedef struct tsi_selected_panel {
  tsi_index o, w, m, f, stride;
  void *z;
  void *lower;         /* L^-1 over -G; D^-1 L^-1 over -G afterwards */
  void *upper;         /* LU: U^-T over -H^T; else scratch of the same size */
  bool full;           /* LU */
  bool adjoint;        /* not LU: U = L^H; false: U = L^T */
  const void *inverse; /* D^-1 as in tsi_pivoting (front.h); NULL: D = 1 */
} tsi_selected_panel;

typedef struct tsi_selected_kernels {
  size_t scalar_bytes;
  /* Writes a unit matrix of order w over m rows of zeros. */
  void (*unit)(tsi_index w, tsi_index m, tsi_index stride, void *x);
  void (*panel)(const tsi_selected_panel *panel);
  /* Copies entries of the parent's Z at position[i], position[j] to the last m rows and columns of to (order
   * f).
   */
  void (*gather)(tsi_index m, const tsi_index *position, const void *parent, tsi_index of_parent, void *to,
                 tsi_index f);
} tsi_selected_kernels;

const tsi_selected_kernels *tsi_selected_kernels_select(char scalar);
