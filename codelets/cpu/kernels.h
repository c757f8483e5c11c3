/* Kernels of the triangular solve on packed panels (see panel.h), one table per instruction set.
 *
 * Workspace of a chunk: rows of nrhs contiguous scalars, tsi_workspace_stride(nrhs) apart. Rows 0 .. nc-1
 * hold x of the chunk's own columns. The rows after them hold, forward, the update vector u (the chunk's
 * updates of rows of other chunks), and, backward, a copy of x of those rows. A panel's row indices are rows
 * of this workspace, so one index serves both.
 *
 *   forward,  panel K:   x_K := T_K P_K x_K;            w[rows] := w[rows] - R_K x_K
 *   backward, panel K:   x_K := P_K' T_K' (x_K - R_K' w[rows])
 *
 * T the triangle (inverted diagonal block), R the rectangle, P the row interchanges inside the diagonal block
 * (LU only: on the lower factor; NULL otherwise). This is TSI_INVERSE_DIAGONAL. With TSI_INVERSE_NONE
 * (panel.h) T^-1 and T'^-1 replace T and T'. With TSI_INVERSE_PARTITIONED, R is already multiplied by T:
 *
 *   forward,  panel K:   x_K := P_K x_K;   w[rows] := w[rows] - R_K x_K;   x_K := T_K x_K
 *   backward, panel K:   x_K := P_K' (T_K' x_K - R_K' w[rows])
 *
 * Padding follows the nrhs scalars of a row. Kernels may compute with it as with right-hand sides: zero
 * padding stays zero, and it becomes zero in rows that a kernel overwrites. The arguments fix the order of
 * every sum, so results repeat bit for bit.
 *
 * Kernels take plain pointers and sizes, have no state and check nothing. */
#pragma once

#include "codelets/cpu/base/ahead.h"
#include "codelets/cpu/base/panel.h"

/* Returns the number of scalars from a row of a workspace to the next: 1, 2, 4, or a multiple of 8, so that a
 * row is a whole number of registers. It does not depend on the instruction set, so processors of several
 * kinds can share a solve. */
static inline tsi_index tsi_workspace_stride(tsi_index nrhs) {
  return nrhs <= 2 ? nrhs : nrhs <= 4 ? 4 : (tsi_index)tsi_round_up_block(nrhs);
}

/* Number of scalars of scratch for a kernel call. */
#define TSI_KERNEL_SCRATCH (TSI_PANEL_WIDTH_MAX * 24)

/* values, w, x, u, sum, scratch: arrays of the table's scalar type. */
typedef struct tsi_kernels {
  const char *isa;     /* "base", "avx2", "avx512" */
  tsi_inverse inverse; /* required treatment of the diagonal blocks of panels */
  /* Sweeps count panels in ascending (forward) or descending (backward) order. pivots: n, indexed by
   * panel.column, or NULL. */
  void (*forward)(tsi_index count, const tsi_panel *panels, const void *values, const tsi_index *rows,
                  const tsi_index *pivots, tsi_index nrhs, void *w, void *scratch);
  void (*backward)(tsi_index count, const tsi_panel *panels, const void *values, const tsi_index *rows,
                   const tsi_index *pivots, tsi_index nrhs, void *w, void *scratch);
  /* Do only the triangle of one panel. */
  void (*forward_triangle)(const tsi_panel *panel, const void *values, const tsi_index *pivots,
                           tsi_index nrhs, void *x, void *scratch);
  void (*backward_triangle)(const tsi_panel *panel, const void *values, const tsi_index *pivots,
                            tsi_index nrhs, void *x, void *scratch);
  /* x := P x; undo: x := P' x. pivots: as above. */
  void (*interchange)(const tsi_panel *panel, const tsi_index *pivots, tsi_index nrhs, void *x, bool undo);
  /* Rows first .. first+count-1 of one panel's rectangle; first is a multiple of TSI_ROW_BLOCK.
   * forward:  u := -R x  (overwrites; u has count rows);   backward: sum := R' w  (overwrites; sum has
   * `width` rows). */
  void (*forward_slice)(const tsi_panel *panel, const void *values, tsi_index first, tsi_index count,
                        tsi_index nrhs, const void *x, void *u, void *scratch);
  void (*backward_slice)(const tsi_panel *panel, const void *values, tsi_index first, tsi_index count,
                         tsi_index nrhs, const void *w, void *sum, void *scratch);
  /* Do only the whole rectangle: w[row] := w[row] - R x; x := x - R' w[row]. If values has no triangle before
   * the rectangle, panel->values must be minus the size of the triangle. ahead NULL: prefetches the entries
   * after those that it reads, or, transposed, before them. row NULL (only transposed, one right-hand side):
   * rows 0, 1, ... NULL in tables of narrower formats. */
  void (*subtract)(const tsi_panel *panel, const void *values, const tsi_ahead *ahead, const tsi_index *row,
                   tsi_index nrhs, const void *x, void *w, void *scratch);
  void (*subtract_transposed)(const tsi_panel *panel, const void *values, const tsi_ahead *ahead,
                              const tsi_index *row, tsi_index nrhs, void *x, const void *w, void *scratch);
  /* Tables of narrower formats: to[i] := 2^exponent from[i], `count` entries as scalars. Else NULL. */
  void (*widen)(tsi_count count, const void *from, int exponent, void *to);
} tsi_kernels;

/* Returns the table for a scalar type ('s', 'd', 'c', 'z') and a treatment on this processor. isa: name of an
 * instruction set; NULL: the best one. Returns NULL if the processor does not have it. */
const tsi_kernels *tsi_kernels_select(char scalar, tsi_inverse inverse, const char *isa);
