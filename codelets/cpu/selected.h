/* Dense work of the selected inverse on one panel: see runtime/iterate/refine/selected_inverse.c.
 *
 * Z is the part of the inverse that belongs to a front: f x f, column-major. The panel has rows and columns o
 * .. o+w-1, and the m = f - o - w rows and columns behind them are computed:
 *
 *   Z_RK = -Z_RR G    Z_KR = -H Z_RR    Z_KK = U^-1 D^-1 L^-1 + H Z_RR G    G = L_RK L^-1, H = U^-1 U_KR
 *
 * (Erisman and Tinney 1975). L^-1 over -G, and U^-T over -H^T, are what forward kernels (kernels.h) make of a
 * unit matrix: w + m rows of w scalars, `stride` apart. */
#pragma once

#include "runtime/base/types.h"

typedef struct tsi_selected_panel {
  tsi_index o, w, m, f, stride;
  void *z;
  void *lower;         /* L^-1 over -G; D^-1 L^-1 over -G afterwards */
  void *upper;         /* LU: U^-T over -H^T; else room for as many */
  bool full;           /* LU */
  bool adjoint;        /* else: U = L^H; false: L^T */
  const void *inverse; /* D^-1 as in tsi_pivoting (front.h); NULL: D = 1 */
} tsi_selected_panel;

typedef struct tsi_selected_kernels {
  size_t scalar_bytes;
  /* A unit matrix of order w over m rows of zeros. */
  void (*unit)(tsi_index w, tsi_index m, tsi_index stride, void *x);
  void (*panel)(const tsi_selected_panel *panel);
  /* The last m rows and columns of to (order f): entries of the parent's Z at position[i], position[j]. */
  void (*gather)(tsi_index m, const tsi_index *position, const void *parent, tsi_index of_parent, void *to,
                 tsi_index f);
} tsi_selected_kernels;

const tsi_selected_kernels *tsi_selected_kernels_select(char scalar);
