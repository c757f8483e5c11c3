/* Kernels of the triangular solve on packed panels (see panel.h), one table per instruction set.
 *
 * Workspace of a chunk: rows of nrhs contiguous scalars, tsi_workspace_stride(nrhs) apart. Rows 0 .. nc-1
 * hold x for the chunk's own columns, the rows after them hold, forward, the update vector u (what the chunk
 * adds to rows that it does not own), and, backward, a copy of the x of those rows. A panel's row indices are
 * rows of this workspace, so one index serves both.
 *
 *   forward,  panel K:   x_K := T_K P_K x_K;            w[rows] := w[rows] - R_K x_K
 *   backward, panel K:   x_K := P_K' T_K' (x_K - R_K' w[rows])
 *
 * T the triangle (inverted diagonal block), R the rectangle, P the row interchanges inside the diagonal block
 * (LU only: on the lower factor; NULL otherwise). That is TSI_INVERSE_DIAGONAL. With TSI_INVERSE_NONE
 * (panel.h) T^-1 and T'^-1 stand in the place of T and T'. With TSI_INVERSE_PARTITIONED, where R is already
 * multiplied by T,
 *
 *   forward,  panel K:   x_K := P_K x_K;   w[rows] := w[rows] - R_K x_K;   x_K := T_K x_K
 *   backward, panel K:   x_K := P_K' (T_K' x_K - R_K' w[rows])
 *
 * What lies between the nrhs scalars of a row and the next row is padding. Kernels may compute with it as
 * with right-hand sides: where it is zero it stays zero, and in rows that a kernel overwrites it is. The
 * order of every sum is fixed by the arguments, so results repeat bit for bit.
 *
 * Kernels take plain pointers and sizes, hold no state and check nothing. */
#pragma once

#include "codelets/cpu/base/ahead.h"
#include "codelets/cpu/base/panel.h"

/* Scalars from a row of a workspace to the next: 1, 2, 4, or a multiple of 8, which is a multiple of what any
 * register holds. The instruction set does not matter, so that processors of several kinds can work on one
 * solve. */
static inline tsi_index tsi_workspace_stride(tsi_index nrhs) {
  return nrhs <= 2 ? nrhs : nrhs <= 4 ? 4 : (tsi_index)tsi_round_up_block(nrhs);
}

/* Scalars of scratch that a kernel call needs. */
#define TSI_KERNEL_SCRATCH (TSI_PANEL_WIDTH_MAX * 24)

/* values, w, x, u, sum, scratch: arrays of the table's scalar type. */
typedef struct tsi_kernels {
  const char *isa;     /* "base", "avx2", "avx512" */
  tsi_inverse inverse; /* the treatment of diagonal blocks that the panels must have */
  /* Sweeps count panels in ascending (forward) or descending (backward) order. pivots: n, indexed by
   * panel.column, or NULL. */
  void (*forward)(tsi_index count, const tsi_panel *panels, const void *values, const tsi_index *rows,
                  const tsi_index *pivots, tsi_index nrhs, void *w, void *scratch);
  void (*backward)(tsi_index count, const tsi_panel *panels, const void *values, const tsi_index *rows,
                   const tsi_index *pivots, tsi_index nrhs, void *w, void *scratch);
  /* Only the diagonal part of one panel. */
  void (*forward_triangle)(const tsi_panel *panel, const void *values, const tsi_index *pivots,
                           tsi_index nrhs, void *x, void *scratch);
  void (*backward_triangle)(const tsi_panel *panel, const void *values, const tsi_index *pivots,
                            tsi_index nrhs, void *x, void *scratch);
  /* x := P x, or, undo, P' x. pivots: as above. */
  void (*interchange)(const tsi_panel *panel, const tsi_index *pivots, tsi_index nrhs, void *x, bool undo);
  /* Rows first .. first+count-1 of one panel's rectangle; first is a multiple of TSI_ROW_BLOCK.
   * forward:  u := -R x  (overwrites; u has count rows);   backward: sum := R' w  (overwrites; sum has
   * `width` rows). */
  void (*forward_slice)(const tsi_panel *panel, const void *values, tsi_index first, tsi_index count,
                        tsi_index nrhs, const void *x, void *u, void *scratch);
  void (*backward_slice)(const tsi_panel *panel, const void *values, tsi_index first, tsi_index count,
                         tsi_index nrhs, const void *w, void *sum, void *scratch);
  /* The whole rectangle alone: w[row] := w[row] - R x; x := x - R' w[row]. Where values is the rectangle
   * without a triangle before it, panel->values is minus the size of that triangle. ahead NULL: entries that
   * follow, or, transposed, precede those that are read. row NULL, with one right-hand side transposed only:
   * rows 0, 1, ... NULL in tables of narrower formats. */
  void (*subtract)(const tsi_panel *panel, const void *values, const tsi_ahead *ahead, const tsi_index *row,
                   tsi_index nrhs, const void *x, void *w, void *scratch);
  void (*subtract_transposed)(const tsi_panel *panel, const void *values, const tsi_ahead *ahead,
                              const tsi_index *row, tsi_index nrhs, void *x, const void *w, void *scratch);
  /* Tables of narrower formats: to[i] := 2^exponent from[i], `count` entries as scalars. Else NULL. */
  void (*widen)(tsi_count count, const void *from, int exponent, void *to);
} tsi_kernels;

/* The table for a scalar type ('s', 'd', 'c', 'z') and a treatment on this processor. isa (may be NULL: the
 * best) asks for one by its name; NULL is returned if it cannot run here. */
const tsi_kernels *tsi_kernels_select(char scalar, tsi_inverse inverse, const char *isa);
