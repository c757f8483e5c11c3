/* Solve kernels on packed panels: see kernels.h for what they compute, panel.h for how panels lie in memory.
 *
 * This file is compiled for each scalar type (TSI_SCALAR_S, _D, _C, _Z) and each instruction set (TSI_ISA:
 * base, avx2, avx512). It is written in vectors of 8 scalars, the height of a row block; the compiler maps
 * them to the registers of the instruction set.
 *
 * kernel_one.h has one right-hand side, kernel_narrow.h one and narrow panels, kernel_pair.h two,
 * kernel_few.h up to eight and narrow panels, kernel_strips.h several; here panels, sweeps over panels and
 * row slices are made of them. The three treatments of diagonal blocks have a table each and share all but
 * the order of triangle and rectangle and, TSI_INVERSE_NONE, the substitutions.
 */
#include <string.h>

#include "codelets/cpu/kernels.h"
#include "codelets/cpu/kernel_few.h"
#include "codelets/cpu/kernel_narrow.h"
#include "codelets/cpu/kernel_one.h"
#include "codelets/cpu/kernel_strips.h"

/* ---- Panels ------------------------------------------------------------------------------------------- */

/* Interchanges of the diagonal block, LAPACK's convention: row k was swapped with row pivot[k] >= k, k
 * ascending. */
static void interchange(const tsi_panel *panel, const tsi_index *pivots, tsi_index nrhs, void *vector,
                        bool undo) {
  if (pivots == NULL) return;
  const tsi_index w = panel->width, *pivot = pivots + panel->column;
  const ptrdiff_t ldx = tsi_workspace_stride(nrhs);
  for (tsi_index q = 0; q < w; q++) {
    const tsi_index k = undo ? w - 1 - q : q;
    if (pivot[k] == k) continue;
    tsi_scalar *x = vector, *a = x + k * ldx, *b = x + pivot[k] * ldx;
    for (tsi_index c = 0; c < nrhs; c++) {
      const tsi_scalar swap = a[c];
      a[c] = b[c];
      b[c] = swap;
    }
  }
}

/* x := T x, or T^-1 x where the triangle is not inverted. */
INLINE void apply_triangle(const tsi_inverse inverse, const tsi_scalar *tri, tsi_index w, tsi_index nrhs,
                           tsi_scalar *x, tsi_scalar *scratch) {
  const bool solve = inverse == TSI_INVERSE_NONE;
  if (nrhs > 1)
    strips_triangle(solve, tri, w, nrhs, x, scratch);
  else
    solve ? substitute_1(tri, w, x) : triangle_1(tri, w, x, scratch);
}

/* x := T' x, or T'^-1 x where the triangle is not inverted. */
INLINE void apply_triangle_transposed(const tsi_inverse inverse, const tsi_scalar *tri, tsi_index w,
                                      tsi_index nrhs, tsi_scalar *x, tsi_scalar *scratch) {
  const bool solve = inverse == TSI_INVERSE_NONE;
  if (nrhs > 1)
    strips_triangle_transposed(solve, tri, w, nrhs, x, scratch);
  else
    solve ? substitute_transposed_1(tri, w, x, scratch) : triangle_transposed_1(tri, w, x, scratch);
}

static void forward_triangle(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                             tsi_index nrhs, void *vector, void *work) {
  const tsi_scalar *values = factor;
  interchange(panel, pivots, nrhs, vector, false);
  apply_triangle(TSI_INVERSE_DIAGONAL, values + panel->values, panel->width, nrhs, vector, work);
}
static void forward_triangle_none(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                                  tsi_index nrhs, void *vector, void *work) {
  const tsi_scalar *values = factor;
  interchange(panel, pivots, nrhs, vector, false);
  apply_triangle(TSI_INVERSE_NONE, values + panel->values, panel->width, nrhs, vector, work);
}

static void backward_triangle(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                              tsi_index nrhs, void *vector, void *work) {
  const tsi_scalar *values = factor;
  apply_triangle_transposed(TSI_INVERSE_DIAGONAL, values + panel->values, panel->width, nrhs, vector, work);
  interchange(panel, pivots, nrhs, vector, true);
}
static void backward_triangle_none(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                                   tsi_index nrhs, void *vector, void *work) {
  const tsi_scalar *values = factor;
  apply_triangle_transposed(TSI_INVERSE_NONE, values + panel->values, panel->width, nrhs, vector, work);
  interchange(panel, pivots, nrhs, vector, true);
}

/* w[rows] -= R x */
INLINE void subtract_product(const tsi_panel *panel, const tsi_scalar *values, const tsi_index *row,
                             tsi_index nrhs, const tsi_scalar *x, tsi_scalar *work, tsi_scalar *scratch) {
  const tsi_scalar *rect = values + panel->values + tsi_triangle_size(panel->width);
  if (nrhs == 1) {
    rectangle_1(rect, panel->height, panel->width, row, x, work);
    return;
  }
  strips_rectangle(rect, panel->height, panel->width, row, nrhs, x, work, scratch);
}

/* Row indices that are fetched with a panel: as many as AHEAD bytes are. More of them the processor foresees.
 */
INLINE tsi_index rows_ahead(const tsi_panel *panel) {
  return tsi_index_min(panel->height, (tsi_index)(AHEAD / sizeof(tsi_index)));
}

INLINE void sweep_forward(const tsi_inverse inverse, tsi_index count, const tsi_panel *panels,
                          const tsi_scalar *values, const tsi_index *rows, const tsi_index *pivots,
                          tsi_index nrhs, tsi_scalar *work, tsi_scalar *scratch) {
  for (const tsi_panel *panel = panels; panel < panels + count; panel++) {
    tsi_scalar *x = work + (ptrdiff_t)panel->x * tsi_workspace_stride(nrhs);
    fetch_behind(rows + panel->row, rows_ahead(panel), sizeof *rows);
    if (inverse == TSI_INVERSE_DIAGONAL && nrhs == 1 && is_narrow(panel->width)) {
      interchange(panel, pivots, 1, x, false);
      narrow_forward(panel, values + panel->values, rows + panel->row, x, work);
      continue;
    }
    if (inverse == TSI_INVERSE_DIAGONAL && is_few(panel, nrhs)) {
      interchange(panel, pivots, nrhs, x, false);
      few_forward(nrhs, panel, values + panel->values, rows + panel->row, x, work);
      continue;
    }
    if (inverse == TSI_INVERSE_DIAGONAL) forward_triangle(panel, values, pivots, nrhs, x, scratch);
    if (inverse == TSI_INVERSE_NONE) forward_triangle_none(panel, values, pivots, nrhs, x, scratch);
    if (inverse == TSI_INVERSE_PARTITIONED) interchange(panel, pivots, nrhs, x, false);
    subtract_product(panel, values, rows + panel->row, nrhs, x, work, scratch);
    if (inverse == TSI_INVERSE_PARTITIONED) forward_triangle(panel, values, NULL, nrhs, x, scratch);
  }
}
static void forward(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                    const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_forward(TSI_INVERSE_DIAGONAL, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
static void forward_none(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                         const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_forward(TSI_INVERSE_NONE, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
static void forward_off(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                        const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_forward(TSI_INVERSE_PARTITIONED, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}

/* x -= R' w[rows] */
INLINE void subtract_transposed(const tsi_panel *panel, const tsi_scalar *values, const tsi_index *row,
                                tsi_index nrhs, tsi_scalar *x, const tsi_scalar *work, tsi_scalar *scratch) {
  const tsi_index m = panel->height, w = panel->width;
  const tsi_scalar *rect = values + panel->values + tsi_triangle_size(w);
  if (m == 0) return;
  if (nrhs == 1) {
    rectangle_transposed_1(rect, m, w, row, work, scratch);
    take_sums(x, scratch, w, true);
    return;
  }
  strips_rectangle_transposed(rect, m, w, row, nrhs, x, work, true, scratch);
}

INLINE void sweep_backward(const tsi_inverse inverse, tsi_index count, const tsi_panel *panels,
                           const tsi_scalar *values, const tsi_index *rows, const tsi_index *pivots,
                           tsi_index nrhs, tsi_scalar *work, tsi_scalar *scratch) {
  for (const tsi_panel *panel = panels + count; panel-- > panels;) {
    tsi_scalar *x = work + (ptrdiff_t)panel->x * tsi_workspace_stride(nrhs);
    fetch_before(rows + panel->row, rows_ahead(panel), sizeof *rows);
    if (inverse == TSI_INVERSE_PARTITIONED) {
      backward_triangle(panel, values, NULL, nrhs, x, scratch);
      subtract_transposed(panel, values, rows + panel->row, nrhs, x, work, scratch);
      interchange(panel, pivots, nrhs, x, true);
    } else if (inverse == TSI_INVERSE_DIAGONAL && nrhs == 1 && is_narrow(panel->width)) {
      narrow_backward(panel, values + panel->values, rows + panel->row, x, work);
      interchange(panel, pivots, 1, x, true);
    } else if (inverse == TSI_INVERSE_DIAGONAL && is_few(panel, nrhs)) {
      few_backward(nrhs, panel, values + panel->values, rows + panel->row, x, work);
      interchange(panel, pivots, nrhs, x, true);
    } else {
      subtract_transposed(panel, values, rows + panel->row, nrhs, x, work, scratch);
      if (inverse == TSI_INVERSE_DIAGONAL) backward_triangle(panel, values, pivots, nrhs, x, scratch);
      if (inverse == TSI_INVERSE_NONE) backward_triangle_none(panel, values, pivots, nrhs, x, scratch);
    }
  }
}
static void backward(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                     const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_backward(TSI_INVERSE_DIAGONAL, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
static void backward_none(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                          const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_backward(TSI_INVERSE_NONE, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
static void backward_off(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                         const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_backward(TSI_INVERSE_PARTITIONED, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}

/* ---- Row slices ---------------------------------------------------------------------------------------- */

static void forward_slice(const tsi_panel *panel, const void *factor, tsi_index first, tsi_index count,
                          tsi_index nrhs, const void *vector, void *update, void *strip) {
  const tsi_scalar *values = factor, *x = vector;
  tsi_scalar *u = update;
  const tsi_index w = panel->width;
  const tsi_scalar *rect = values + panel->values + tsi_triangle_size(w) + (ptrdiff_t)first * w;
  if (nrhs == 1) {
    rectangle_slice_1(rect, panel->height - first, w, count, x, u);
    return;
  }
  memset(u, 0, (size_t)count * (size_t)tsi_workspace_stride(nrhs) * sizeof *u);
  strips_rectangle(rect, count, w, NULL, nrhs, x, u, strip);
}

static void backward_slice(const tsi_panel *panel, const void *factor, tsi_index first, tsi_index count,
                           tsi_index nrhs, const void *vector, void *result, void *partial) {
  const tsi_scalar *values = factor, *work = vector;
  tsi_scalar *out = result, *scratch = partial;
  const tsi_index w = panel->width;
  const tsi_scalar *rect = values + panel->values + tsi_triangle_size(w) + (ptrdiff_t)first * w;
  if (nrhs == 1) {
    rectangle_transposed_1(rect, count, w, NULL, work, scratch);
    take_sums(out, scratch, w, false);
    return;
  }
  memset(out, 0, (size_t)w * (size_t)tsi_workspace_stride(nrhs) * sizeof *out);
  strips_rectangle_transposed(rect, count, w, NULL, nrhs, out, work, false, scratch);
}

/* ---- Tables -------------------------------------------------------------------------------------------- */

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_kernels), isa)

#define ENTRIES(treatment, forward_sweep, backward_sweep, forward_diagonal, backward_diagonal)               \
  [treatment] = {                                                                                            \
      .isa = TSI_TEXT(TSI_ISA),                                                                              \
      .inverse = treatment,                                                                                  \
      .forward = forward_sweep,                                                                              \
      .backward = backward_sweep,                                                                            \
      .forward_triangle = forward_diagonal,                                                                  \
      .backward_triangle = backward_diagonal,                                                                \
      .interchange = interchange,                                                                            \
      .forward_slice = forward_slice,                                                                        \
      .backward_slice = backward_slice,                                                                      \
  }

extern const tsi_kernels TABLE(TSI_ISA)[TSI_INVERSES];
const tsi_kernels TABLE(TSI_ISA)[TSI_INVERSES] = {
    ENTRIES(TSI_INVERSE_DIAGONAL, forward, backward, forward_triangle, backward_triangle),
    ENTRIES(TSI_INVERSE_NONE, forward_none, backward_none, forward_triangle_none, backward_triangle_none),
    ENTRIES(TSI_INVERSE_PARTITIONED, forward_off, backward_off, forward_triangle, backward_triangle),
};
