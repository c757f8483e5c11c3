/* Solve kernels on packed panels: kernels.h defines the kernels, panel.h the storage of panels.
 *
 * This file is compiled for each scalar type (TSI_SCALAR_S, _D, _C, _Z) and each instruction set (TSI_ISA:
 * base, avx2, avx512). It uses vectors of 8 scalars, the height of a row block; the compiler maps them to the
 * registers of the instruction set.
 *
 * kernel_one.h is for one right-hand side, kernel_narrow.h for one and narrow panels, kernel_pair.h for two,
 * kernel_few.h for up to eight and narrow panels, kernel_strips.h for several. This file combines them to
 * panels, sweeps over panels, and row slices. Each of the three treatments of diagonal blocks has a table.
 * They differ only in the order of triangle and rectangle and, TSI_INVERSE_NONE, in the substitutions.
 *
 * It is also compiled for each narrower format of entries (entry.h, TSI_STORED), only for one right-hand side
 * and TSI_INVERSE_DIAGONAL; for all other cases see stored.h. */
#include <math.h>
#include <string.h>

#include "codelets/cpu/kernels.h"
#include "codelets/cpu/kernel_narrow.h"
#include "codelets/cpu/kernel_one.h"

#if TSI_STORED
#define ONE(nrhs) ((void)(nrhs), true)
#else
#include "codelets/cpu/kernel_few.h"
#include "codelets/cpu/kernel_strips.h"
#define ONE(nrhs) ((nrhs) == 1)
#endif

/* Returns the first entry of a panel. */
INLINE const tsi_entry *entries_of(const tsi_panel *panel, const void *values) {
  return (const tsi_entry *)((const tsi_scalar *)values + panel->values);
}
/* Returns its rectangle, even if values has no triangle and panel->values is minus the triangle's size. */
INLINE const tsi_entry *rectangle_of(const tsi_panel *panel, const void *values) {
#if TSI_STORED
  return entries_of(panel, values) + tsi_triangle_size(panel->width);
#else
  return (const tsi_scalar *)values + (panel->values + tsi_triangle_size(panel->width));
#endif
}

/* ---- Panels ------------------------------------------------------------------------------------------- */

/* Swaps rows k and pivot[k] of nrhs scalars. */
INLINE void swap_rows(const tsi_index *pivot, tsi_index k, tsi_index nrhs, ptrdiff_t ldx, tsi_scalar *x) {
  tsi_scalar *a = x + k * ldx, *b = x + pivot[k] * ldx;
  for (tsi_index c = 0; c < nrhs; c++) {
    const tsi_scalar swap = a[c];
    a[c] = b[c];
    b[c] = swap;
  }
}

/* Interchanges of the diagonal block, LAPACK's convention: row k was swapped with row pivot[k] >= k, k
 * ascending. undo: a constant. */
INLINE void swap_all(const tsi_panel *panel, const tsi_index *pivots, tsi_index nrhs, tsi_scalar *x,
                     const bool undo) {
  if (pivots == NULL) return;
  const tsi_index w = panel->width, *pivot = pivots + panel->column;
  const ptrdiff_t ldx = tsi_workspace_stride(nrhs);
  for (tsi_index k = 0; !undo && k < w; k++)
    if (pivot[k] != k) swap_rows(pivot, k, nrhs, ldx, x);
  for (tsi_index k = w; undo && k-- > 0;)
    if (pivot[k] != k) swap_rows(pivot, k, nrhs, ldx, x);
}

static void interchange(const tsi_panel *panel, const tsi_index *pivots, tsi_index nrhs, void *x, bool undo) {
  if (undo)
    swap_all(panel, pivots, nrhs, x, true);
  else
    swap_all(panel, pivots, nrhs, x, false);
}

/* x := T x, or T^-1 x if the triangle is not inverted. */
INLINE void apply_triangle(const tsi_inverse inverse, const tsi_entry *tri, tsi_index w, tsi_index nrhs,
                           tsi_scalar *x, tsi_scalar *scratch) {
  const bool solve = inverse == TSI_INVERSE_NONE;
  if (ONE(nrhs)) {
    solve ? substitute_1(tri, w, x) : triangle_1(tri, w, x, scratch);
    return;
  }
#if !TSI_STORED
  strips_triangle(solve, tri, w, nrhs, x, scratch);
#endif
}

/* x := T' x, or T'^-1 x if the triangle is not inverted. */
INLINE void apply_triangle_transposed(const tsi_inverse inverse, const tsi_entry *tri, tsi_index w,
                                      tsi_index nrhs, tsi_scalar *x, tsi_scalar *scratch) {
  const bool solve = inverse == TSI_INVERSE_NONE;
  if (ONE(nrhs)) {
    solve ? substitute_transposed_1(tri, w, x, scratch) : triangle_transposed_1(tri, w, x, scratch);
    return;
  }
#if !TSI_STORED
  strips_triangle_transposed(solve, tri, w, nrhs, x, scratch);
#endif
}

static void forward_triangle(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                             tsi_index nrhs, void *vector, void *work) {
  interchange(panel, pivots, nrhs, vector, false);
  apply_triangle(TSI_INVERSE_DIAGONAL, entries_of(panel, factor), panel->width, nrhs, vector, work);
}
#if !TSI_STORED
static void forward_triangle_none(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                                  tsi_index nrhs, void *vector, void *work) {
  interchange(panel, pivots, nrhs, vector, false);
  apply_triangle(TSI_INVERSE_NONE, entries_of(panel, factor), panel->width, nrhs, vector, work);
}
#endif

static void backward_triangle(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                              tsi_index nrhs, void *vector, void *work) {
  apply_triangle_transposed(TSI_INVERSE_DIAGONAL, entries_of(panel, factor), panel->width, nrhs, vector,
                            work);
  interchange(panel, pivots, nrhs, vector, true);
}
#if !TSI_STORED
static void backward_triangle_none(const tsi_panel *panel, const void *factor, const tsi_index *pivots,
                                   tsi_index nrhs, void *vector, void *work) {
  apply_triangle_transposed(TSI_INVERSE_NONE, entries_of(panel, factor), panel->width, nrhs, vector, work);
  interchange(panel, pivots, nrhs, vector, true);
}
#endif

/* w[rows] -= R x */
INLINE void subtract_product(const tsi_panel *panel, const void *values, const tsi_ahead *ahead,
                             const tsi_index *row, tsi_index nrhs, const tsi_scalar *x, tsi_scalar *work,
                             tsi_scalar *scratch) {
  const tsi_entry *rect = rectangle_of(panel, values);
  if (ONE(nrhs)) {
    rectangle_1(rect, panel->height, panel->width, row, x, work);
    return;
  }
#if !TSI_STORED
  strips_rectangle(rect, panel->height, panel->width, ahead, row, nrhs, x, work, scratch);
#else
  (void)ahead, (void)scratch;
#endif
}

/* Returns the number of row indices that are prefetched with a panel: AHEAD bytes. The processor prefetches
 * more. */
INLINE tsi_index rows_ahead(const tsi_panel *panel) {
  return tsi_index_min(panel->height, (tsi_index)(AHEAD / sizeof(tsi_index)));
}

INLINE void sweep_forward(const tsi_inverse inverse, tsi_index count, const tsi_panel *panels,
                          const void *values, const tsi_index *rows, const tsi_index *pivots, tsi_index nrhs,
                          tsi_scalar *work, tsi_scalar *scratch) {
  for (const tsi_panel *panel = panels; panel < panels + count; panel++) {
    tsi_scalar *x = work + (ptrdiff_t)panel->x * tsi_workspace_stride(nrhs);
    fetch_behind(rows + panel->row, rows_ahead(panel), sizeof *rows);
    if (inverse == TSI_INVERSE_DIAGONAL && ONE(nrhs) && is_narrow(panel->width)) {
      swap_all(panel, pivots, 1, x, false);
      narrow_forward(panel, entries_of(panel, values), rows + panel->row, x, work);
      continue;
    }
#if !TSI_STORED
    if (inverse == TSI_INVERSE_DIAGONAL && is_few(panel, nrhs)) {
      interchange(panel, pivots, nrhs, x, false);
      few_forward(nrhs, panel, entries_of(panel, values), rows + panel->row, x, work);
      continue;
    }
#endif
    if (inverse == TSI_INVERSE_DIAGONAL) forward_triangle(panel, values, pivots, nrhs, x, scratch);
#if !TSI_STORED
    if (inverse == TSI_INVERSE_NONE) forward_triangle_none(panel, values, pivots, nrhs, x, scratch);
#endif
    if (inverse == TSI_INVERSE_PARTITIONED) interchange(panel, pivots, nrhs, x, false);
    subtract_product(panel, values, NULL, rows + panel->row, nrhs, x, work, scratch);
    if (inverse == TSI_INVERSE_PARTITIONED) forward_triangle(panel, values, NULL, nrhs, x, scratch);
  }
}
static void forward(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                    const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_forward(TSI_INVERSE_DIAGONAL, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
#if !TSI_STORED
static void forward_none(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                         const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_forward(TSI_INVERSE_NONE, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
static void forward_off(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                        const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_forward(TSI_INVERSE_PARTITIONED, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
#endif

/* x -= R' w[rows] */
INLINE void subtract_transposed(const tsi_panel *panel, const void *values, const tsi_ahead *ahead,
                                const tsi_index *row, tsi_index nrhs, tsi_scalar *x, const tsi_scalar *work,
                                tsi_scalar *scratch) {
  const tsi_index m = panel->height, w = panel->width;
  const tsi_entry *rect = rectangle_of(panel, values);
  if (m == 0) return;
  if (ONE(nrhs)) {
    rectangle_transposed_1(rect, m, w, row, work, scratch);
    take_sums(x, scratch, w, true);
    return;
  }
#if !TSI_STORED
  strips_rectangle_transposed(rect, m, w, ahead, row, nrhs, x, work, true, scratch);
#else
  (void)ahead;
#endif
}

INLINE void sweep_backward(const tsi_inverse inverse, tsi_index count, const tsi_panel *panels,
                           const void *values, const tsi_index *rows, const tsi_index *pivots, tsi_index nrhs,
                           tsi_scalar *work, tsi_scalar *scratch) {
  for (const tsi_panel *panel = panels + count; panel-- > panels;) {
    tsi_scalar *x = work + (ptrdiff_t)panel->x * tsi_workspace_stride(nrhs);
    fetch_before(rows + panel->row, rows_ahead(panel), sizeof *rows);
    if (inverse == TSI_INVERSE_PARTITIONED) {
      backward_triangle(panel, values, NULL, nrhs, x, scratch);
      subtract_transposed(panel, values, NULL, rows + panel->row, nrhs, x, work, scratch);
      interchange(panel, pivots, nrhs, x, true);
    } else if (inverse == TSI_INVERSE_DIAGONAL && ONE(nrhs) && is_narrow(panel->width)) {
      narrow_backward(panel, entries_of(panel, values), rows + panel->row, x, work);
      swap_all(panel, pivots, 1, x, true);
#if !TSI_STORED
    } else if (inverse == TSI_INVERSE_DIAGONAL && is_few(panel, nrhs)) {
      few_backward(nrhs, panel, entries_of(panel, values), rows + panel->row, x, work);
      interchange(panel, pivots, nrhs, x, true);
#endif
    } else {
      subtract_transposed(panel, values, NULL, rows + panel->row, nrhs, x, work, scratch);
      if (inverse == TSI_INVERSE_DIAGONAL) backward_triangle(panel, values, pivots, nrhs, x, scratch);
#if !TSI_STORED
      if (inverse == TSI_INVERSE_NONE) backward_triangle_none(panel, values, pivots, nrhs, x, scratch);
#endif
    }
  }
}
static void backward(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                     const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_backward(TSI_INVERSE_DIAGONAL, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
#if !TSI_STORED
static void backward_none(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                          const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_backward(TSI_INVERSE_NONE, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
static void backward_off(tsi_index count, const tsi_panel *panels, const void *factor, const tsi_index *rows,
                         const tsi_index *pivots, tsi_index nrhs, void *workspace, void *scratch) {
  sweep_backward(TSI_INVERSE_PARTITIONED, count, panels, factor, rows, pivots, nrhs, workspace, scratch);
}
#endif

/* ---- Rectangles alone ---------------------------------------------------------------------------------- */

#if !TSI_STORED
static void subtract(const tsi_panel *panel, const void *values, const tsi_ahead *ahead, const tsi_index *row,
                     tsi_index nrhs, const void *x, void *work, void *scratch) {
  subtract_product(panel, values, ahead, row, nrhs, x, work, scratch);
}
static void subtract_back(const tsi_panel *panel, const void *values, const tsi_ahead *ahead,
                          const tsi_index *row, tsi_index nrhs, void *x, const void *work, void *scratch) {
  subtract_transposed(panel, values, ahead, row, nrhs, x, work, scratch);
}
#define ALONE .subtract = subtract, .subtract_transposed = subtract_back
#else
#define ALONE .widen = widen
static void widen(tsi_count count, const void *from, int exponent, void *to) {
  const stored_real *stored = from;
  tsi_real *real = to;
  const tsi_real scale = (tsi_real)ldexp(1, exponent);
  for (tsi_count i = 0; i < PARTS * count; i++) real[i] = scale * real_of(stored[i]);
}
#endif

/* ---- Row slices ---------------------------------------------------------------------------------------- */

static void forward_slice(const tsi_panel *panel, const void *factor, tsi_index first, tsi_index count,
                          tsi_index nrhs, const void *vector, void *update, void *strip) {
  const tsi_scalar *x = vector;
  tsi_scalar *u = update;
  const tsi_index w = panel->width;
  const tsi_entry *rect = rectangle_of(panel, factor) + (ptrdiff_t)first * w;
  if (ONE(nrhs)) {
    rectangle_slice_1(rect, panel->height - first, w, count, x, u);
    return;
  }
#if !TSI_STORED
  memset(u, 0, (size_t)count * (size_t)tsi_workspace_stride(nrhs) * sizeof *u);
  strips_rectangle(rect, count, w, NULL, NULL, nrhs, x, u, strip);
#else
  (void)strip;
#endif
}

static void backward_slice(const tsi_panel *panel, const void *factor, tsi_index first, tsi_index count,
                           tsi_index nrhs, const void *vector, void *result, void *partial) {
  const tsi_scalar *work = vector;
  tsi_scalar *out = result, *scratch = partial;
  const tsi_index w = panel->width;
  const tsi_entry *rect = rectangle_of(panel, factor) + (ptrdiff_t)first * w;
  if (ONE(nrhs)) {
    rectangle_transposed_1(rect, count, w, NULL, work, scratch);
    take_sums(out, scratch, w, false);
    return;
  }
#if !TSI_STORED
  memset(out, 0, (size_t)w * (size_t)tsi_workspace_stride(nrhs) * sizeof *out);
  strips_rectangle_transposed(rect, count, w, NULL, NULL, nrhs, out, work, false, scratch);
#endif
}

/* ---- Tables -------------------------------------------------------------------------------------------- */

#if defined TSI_STORED_S
#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_single_kernels), isa)
#elif defined TSI_STORED_B
#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_bfloat16_kernels), isa)
#else
#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_kernels), isa)
#endif

#define ENTRIES(treatment, forward_sweep, backward_sweep, forward_diagonal, backward_diagonal)               \
  {                                                                                                          \
    .isa = TSI_TEXT(TSI_ISA), .inverse = treatment, .forward = forward_sweep, .backward = backward_sweep,    \
    .forward_triangle = forward_diagonal, .backward_triangle = backward_diagonal,                            \
    .interchange = interchange, .forward_slice = forward_slice, .backward_slice = backward_slice, ALONE,     \
  }

#if TSI_STORED
extern const tsi_kernels TABLE(TSI_ISA);
const tsi_kernels TABLE(TSI_ISA) = ENTRIES(TSI_INVERSE_DIAGONAL, forward, backward, forward_triangle,
                                           backward_triangle);
#else
extern const tsi_kernels TABLE(TSI_ISA)[TSI_INVERSES];
const tsi_kernels TABLE(TSI_ISA)[TSI_INVERSES] = {
    [TSI_INVERSE_DIAGONAL] = ENTRIES(TSI_INVERSE_DIAGONAL, forward, backward, forward_triangle,
                                     backward_triangle),
    [TSI_INVERSE_NONE] = ENTRIES(TSI_INVERSE_NONE, forward_none, backward_none, forward_triangle_none,
                                 backward_triangle_none),
    [TSI_INVERSE_PARTITIONED] = ENTRIES(TSI_INVERSE_PARTITIONED, forward_off, backward_off, forward_triangle,
                                        backward_triangle),
};
#endif
