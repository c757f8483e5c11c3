/* Sweeps over panels of several formats, and the rounding of panels to a format: see stored.h. */
#include "codelets/cpu/tiles.h"

#include <math.h>
#include <string.h>

#include "codelets/cpu/base/scalar.h"
#include "codelets/cpu/node.h"

#define PARTS (1 + TSI_COMPLEX)

/* Number of entries of a rectangle, or of a small panel, that are widened at a time; they stay in the nearest
 * cache. */
#define PIECE 2048
/* Space for a triangle, and for the scalars that kernels read behind it. */
#define SPACE (TSI_PANEL_WIDTH_MAX * (TSI_PANEL_WIDTH_MAX + 1) / 2 + TSI_STREAM_PAD)

/* ---- Panels -------------------------------------------------------------------------------------------- */

/* Returns the kernels that read panel p, or the triangle of a panel in tiles, without widening; NULL: it is
 * widened. */
static const tsi_kernels *direct(const tsi_stored *s, tsi_index p, tsi_index nrhs) {
  const tsi_stored_panel *stored = &s->stored[p];
  const tsi_kernels *full = s->kernels[TSI_FORMAT_FULL];
  if (stored->format == TSI_FORMAT_FULL) return full;
  return nrhs == 1 && full->inverse == TSI_INVERSE_DIAGONAL && stored->triangle == 0 && stored->rectangle == 0
             ? s->kernels[stored->format]
             : NULL;
}

static size_t entry_bytes(int format) {
  return format == TSI_FORMAT_FULL     ? sizeof(tsi_scalar)
         : format == TSI_FORMAT_SINGLE ? PARTS * sizeof(float)
                                       : PARTS * sizeof(uint16_t);
}

/* Returns the address of entry `first` of panel p. */
static const char *entry_at(const tsi_stored *s, tsi_index p, tsi_count first) {
  const char *from = s->stored[p].base + (size_t)s->panel[p].values * sizeof(tsi_scalar);
  return from + (size_t)first * entry_bytes(s->stored[p].format);
}

/* Widens `count` entries of panel p, from number `first` on, and appends zeros. Returns the start of the
 * zeros. */
static tsi_scalar *widen(const tsi_stored *s, tsi_index p, tsi_count first, tsi_count count, int exponent,
                         tsi_scalar *to) {
  s->kernels[s->stored[p].format]->widen(count, entry_at(s, p, first), exponent, to);
  memset(to + count, 0, TSI_STREAM_PAD * sizeof *to);
  return to + count;
}

static tsi_scalar *widen_triangle(const tsi_stored *s, tsi_index p, tsi_scalar *to) {
  return widen(s, p, 0, tsi_triangle_size(s->panel[p].width), s->stored[p].triangle, to);
}

/* Widens rows first .. first+rows-1 of panel p's rectangle; returns them as a panel without a triangle. */
static tsi_panel widen_rows(const tsi_stored *s, tsi_index p, tsi_index first, tsi_index rows,
                            tsi_scalar *to) {
  tsi_panel piece = s->panel[p];
  const tsi_count triangle = tsi_triangle_size(piece.width);
  (void)widen(s, p, triangle + (tsi_count)first * piece.width, (tsi_count)rows * piece.width,
              s->stored[p].rectangle, to);
  piece.values = -triangle;
  piece.height = rows;
  return piece;
}

/* Returns the data that is read next: after, or downwards before, the piece of `rows` rows from row `first`
 * on. */
static tsi_ahead ahead_of(const tsi_stored *s, tsi_index p, tsi_index first, tsi_index rows, bool down) {
  const tsi_index w = s->panel[p].width;
  const tsi_count next = tsi_triangle_size(w) + (tsi_count)(down ? first : first + rows) * w;
  return (tsi_ahead){entry_at(s, p, next), (ptrdiff_t)entry_bytes(s->stored[p].format)};
}

/* Returns the number of rows of a rectangle of width w that are widened at a time: whole row blocks. */
static tsi_index piece_rows(tsi_index w) {
  return PIECE / w / TSI_ROW_BLOCK * TSI_ROW_BLOCK;
}

/* Is the panel small enough to be widened as a whole? */
static bool fits(const tsi_panel *panel) {
  return tsi_panel_size(panel->width, panel->height) <= PIECE;
}
static tsi_panel widen_panel(const tsi_stored *s, tsi_index p, tsi_scalar *to) {
  tsi_panel whole = s->panel[p];
  tsi_scalar *rectangle = widen_triangle(s, p, to);
  (void)widen_rows(s, p, 0, whole.height, rectangle);
  whole.values = 0;
  return whole;
}

/* ---- Sweeps -------------------------------------------------------------------------------------------- */

static void triangle_widened(const tsi_stored *s, tsi_index p, bool backward, const tsi_index *pivots,
                             tsi_index nrhs, void *x, void *scratch) {
  const tsi_kernels *full = s->kernels[TSI_FORMAT_FULL];
  tsi_scalar space[SPACE] __attribute__((aligned(64)));
  tsi_panel panel = s->panel[p];
  (void)widen_triangle(s, p, space);
  panel.values = 0;
  (backward ? full->backward_triangle : full->forward_triangle)(&panel, space, pivots, nrhs, x, scratch);
}

/* x := T x or T' x, or T^-1 x or T'^-1 x (kernels.h), with the stored triangle. */
static void apply_triangle(const tsi_stored *s, tsi_index p, bool backward, const tsi_index *pivots,
                           tsi_index nrhs, void *x, void *scratch) {
  const tsi_kernels *kernels = direct(s, p, nrhs);
  if (kernels == NULL)
    triangle_widened(s, p, backward, pivots, nrhs, x, scratch);
  else if (backward)
    kernels->backward_triangle(&s->panel[p], s->stored[p].base, pivots, nrhs, x, scratch);
  else
    kernels->forward_triangle(&s->panel[p], s->stored[p].base, pivots, nrhs, x, scratch);
}

static void forward_large(const tsi_stored *s, tsi_index p, const tsi_index *rows, const tsi_index *pivots,
                          tsi_index nrhs, tsi_scalar *x, void *work, void *scratch) {
  const tsi_kernels *full = s->kernels[TSI_FORMAT_FULL];
  const tsi_panel *panel = &s->panel[p];
  const bool off = full->inverse == TSI_INVERSE_PARTITIONED;
  const tsi_index most = piece_rows(panel->width);
  tsi_scalar space[PIECE + TSI_STREAM_PAD] __attribute__((aligned(64)));
  if (off)
    full->interchange(panel, pivots, nrhs, x, false);
  else
    triangle_widened(s, p, false, pivots, nrhs, x, scratch);
  for (tsi_index i = 0; i < panel->height; i += most) {
    const tsi_panel piece = widen_rows(s, p, i, tsi_index_min(most, panel->height - i), space);
    const tsi_ahead ahead = ahead_of(s, p, i, piece.height, false);
    full->subtract(&piece, space, &ahead, rows + panel->row + i, nrhs, x, work, scratch);
  }
  if (off) triangle_widened(s, p, false, NULL, nrhs, x, scratch);
}

static void backward_large(const tsi_stored *s, tsi_index p, const tsi_index *rows, const tsi_index *pivots,
                           tsi_index nrhs, tsi_scalar *x, const void *work, void *scratch) {
  const tsi_kernels *full = s->kernels[TSI_FORMAT_FULL];
  const tsi_panel *panel = &s->panel[p];
  const bool off = full->inverse == TSI_INVERSE_PARTITIONED;
  const tsi_index most = piece_rows(panel->width);
  tsi_scalar space[PIECE + TSI_STREAM_PAD] __attribute__((aligned(64)));
  if (off) triangle_widened(s, p, true, NULL, nrhs, x, scratch);
  for (tsi_index i = (panel->height - 1) / most * most; i >= 0 && panel->height > 0; i -= most) {
    const tsi_panel piece = widen_rows(s, p, i, tsi_index_min(most, panel->height - i), space);
    const tsi_ahead ahead = ahead_of(s, p, i, piece.height, true);
    full->subtract_transposed(&piece, space, &ahead, rows + panel->row + i, nrhs, x, work, scratch);
  }
  if (off)
    full->interchange(panel, pivots, nrhs, x, true);
  else
    triangle_widened(s, p, true, pivots, nrhs, x, scratch);
}

static void sweep_tiles(const tsi_stored *s, tsi_index p, bool backward, const tsi_index *rows,
                        const tsi_index *pivots, tsi_index nrhs, tsi_scalar *work, void *scratch) {
  const tsi_kernels *full = s->kernels[TSI_FORMAT_FULL];
  const tsi_tiling_kernels *tiling = tsi_tiling_kernels_select(TSI_LETTER_CHAR);
  const tsi_panel *panel = &s->panel[p];
  const tsi_index *row = rows + panel->row, m = panel->height;
  const bool off = full->inverse == TSI_INVERSE_PARTITIONED;
  tsi_scalar *x = work + (ptrdiff_t)panel->x * tsi_workspace_stride(nrhs);
  if (backward) {
    if (off) apply_triangle(s, p, true, NULL, nrhs, x, scratch);
    tiling->subtract_transposed(s, p, 0, m, row, nrhs, work, x, scratch);
    if (off)
      full->interchange(panel, pivots, nrhs, x, true);
    else
      apply_triangle(s, p, true, pivots, nrhs, x, scratch);
  } else {
    if (off)
      full->interchange(panel, pivots, nrhs, x, false);
    else
      apply_triangle(s, p, false, pivots, nrhs, x, scratch);
    tiling->subtract(s, p, 0, m, row, nrhs, x, work, scratch);
    if (off) apply_triangle(s, p, false, NULL, nrhs, x, scratch);
  }
}

static void sweep_small(const tsi_stored *s, tsi_index p, bool backward, const tsi_index *rows,
                        const tsi_index *pivots, tsi_index nrhs, void *work, void *scratch) {
  const tsi_kernels *full = s->kernels[TSI_FORMAT_FULL];
  tsi_scalar space[PIECE + 2 * TSI_STREAM_PAD] __attribute__((aligned(64)));
  const tsi_panel panel = widen_panel(s, p, space);
  (backward ? full->backward : full->forward)(1, &panel, space, rows, pivots, nrhs, work, scratch);
}

static void sweep_one(const tsi_stored *s, tsi_index p, bool backward, const tsi_index *rows,
                      const tsi_index *pivots, tsi_index nrhs, void *work, void *scratch) {
  tsi_scalar *x = (tsi_scalar *)work + (ptrdiff_t)s->panel[p].x * tsi_workspace_stride(nrhs);
  if (s->stored[p].tiles > 0)
    sweep_tiles(s, p, backward, rows, pivots, nrhs, work, scratch);
  else if (fits(&s->panel[p]))
    sweep_small(s, p, backward, rows, pivots, nrhs, work, scratch);
  else if (backward)
    backward_large(s, p, rows, pivots, nrhs, x, work, scratch);
  else
    forward_large(s, p, rows, pivots, nrhs, x, work, scratch);
}

/* Can one call of kernels sweep over panels p and q? */
static bool join(const tsi_stored *s, tsi_index p, tsi_index q, tsi_index nrhs) {
  const tsi_stored_panel *a = &s->stored[p], *b = &s->stored[q];
  return a->tiles == 0 && b->tiles == 0 && a->base == b->base && direct(s, p, nrhs) == direct(s, q, nrhs);
}

static const tsi_kernels *sweeping(const tsi_stored *s, tsi_index p, tsi_index nrhs) {
  return s->stored[p].tiles > 0 ? NULL : direct(s, p, nrhs);
}

static void forward(tsi_index count, const tsi_panel *panels, const void *values, const tsi_index *rows,
                    const tsi_index *pivots, tsi_index nrhs, void *work, void *scratch) {
  const tsi_stored *s = values;
  tsi_index p = (tsi_index)(panels - s->of);
  const tsi_index end = p + count;
  while (p < end) {
    const tsi_kernels *kernels = sweeping(s, p, nrhs);
    tsi_index next = p + 1;
    if (kernels) {
      while (next < end && join(s, p, next, nrhs)) next++;
      kernels->forward(next - p, s->panel + p, s->stored[p].base, rows, pivots, nrhs, work, scratch);
    } else
      sweep_one(s, p, false, rows, pivots, nrhs, work, scratch);
    p = next;
  }
}

static void backward(tsi_index count, const tsi_panel *panels, const void *values, const tsi_index *rows,
                     const tsi_index *pivots, tsi_index nrhs, void *work, void *scratch) {
  const tsi_stored *s = values;
  const tsi_index begin = (tsi_index)(panels - s->of);
  tsi_index end = begin + count;
  while (end > begin) {
    const tsi_kernels *kernels = sweeping(s, end - 1, nrhs);
    tsi_index p = end - 1;
    if (kernels) {
      while (p > begin && join(s, end - 1, p - 1, nrhs)) p--;
      kernels->backward(end - p, s->panel + p, s->stored[p].base, rows, pivots, nrhs, work, scratch);
    } else
      sweep_one(s, p, true, rows, pivots, nrhs, work, scratch);
    end = p;
  }
}

/* ---- Parts of one panel -------------------------------------------------------------------------------- */

static void forward_triangle(const tsi_panel *panel, const void *values, const tsi_index *pivots,
                             tsi_index nrhs, void *x, void *scratch) {
  const tsi_stored *s = values;
  apply_triangle(s, (tsi_index)(panel - s->of), false, pivots, nrhs, x, scratch);
}

static void backward_triangle(const tsi_panel *panel, const void *values, const tsi_index *pivots,
                              tsi_index nrhs, void *x, void *scratch) {
  const tsi_stored *s = values;
  apply_triangle(s, (tsi_index)(panel - s->of), true, pivots, nrhs, x, scratch);
}

static void forward_slice(const tsi_panel *panel, const void *values, tsi_index first, tsi_index count,
                          tsi_index nrhs, const void *x, void *update, void *scratch) {
  const tsi_stored *s = values;
  const tsi_index p = (tsi_index)(panel - s->of), most = piece_rows(panel->width);
  const tsi_kernels *kernels = direct(s, p, nrhs), *full = s->kernels[TSI_FORMAT_FULL];
  tsi_scalar space[PIECE + TSI_STREAM_PAD] __attribute__((aligned(64))), *u = update;
  if (s->stored[p].tiles > 0) {
    memset(u, 0, (size_t)(count * (ptrdiff_t)tsi_workspace_stride(nrhs)) * sizeof *u);
    tsi_tiling_kernels_select(TSI_LETTER_CHAR)->subtract(s, p, first, count, NULL, nrhs, x, update, scratch);
    return;
  }
  if (kernels) {
    kernels->forward_slice(&s->panel[p], s->stored[p].base, first, count, nrhs, x, update, scratch);
    return;
  }
  for (tsi_index i = 0; i < count; i += most) {
    const tsi_panel piece =
        widen_rows(s, p, first + i, tsi_index_min(most, panel->height - first - i), space);
    full->forward_slice(&piece, space, 0, tsi_index_min(most, count - i), nrhs, x,
                        u + (ptrdiff_t)i * tsi_workspace_stride(nrhs), scratch);
  }
}

static void backward_slice(const tsi_panel *panel, const void *values, tsi_index first, tsi_index count,
                           tsi_index nrhs, const void *vector, void *result, void *scratch) {
  const tsi_stored *s = values;
  const tsi_index p = (tsi_index)(panel - s->of), w = panel->width, most = piece_rows(w);
  const tsi_kernels *kernels = direct(s, p, nrhs), *full = s->kernels[TSI_FORMAT_FULL];
  const ptrdiff_t ld = tsi_workspace_stride(nrhs);
  const tsi_scalar *work = vector;
  tsi_scalar space[PIECE + TSI_STREAM_PAD] __attribute__((aligned(64))), *sum = result;
  if (kernels && s->stored[p].tiles == 0) {
    kernels->backward_slice(&s->panel[p], s->stored[p].base, first, count, nrhs, vector, result, scratch);
    return;
  }
  memset(sum, 0, (size_t)(w * ld) * sizeof *sum);
  if (s->stored[p].tiles > 0)
    tsi_tiling_kernels_select(TSI_LETTER_CHAR)
        ->subtract_transposed(s, p, first, count, NULL, nrhs, vector, result, scratch);
  for (tsi_index i = (count - 1) / most * most; i >= 0 && s->stored[p].tiles == 0; i -= most) {
    const tsi_panel piece = widen_rows(s, p, first + i, tsi_index_min(most, count - i), space);
    const tsi_ahead ahead = ahead_of(s, p, first + i, piece.height, true);
    full->subtract_transposed(&piece, space, &ahead, NULL, nrhs, sum, work + i * ld, scratch);
  }
  for (ptrdiff_t i = 0; i < w * ld; i++) sum[i] = -sum[i];
}

static void interchange(const tsi_panel *panel, const tsi_index *pivots, tsi_index nrhs, void *x, bool undo) {
  /* It reads no value, so any table can be used. */
  tsi_kernels_select(TSI_LETTER_CHAR, TSI_INVERSE_DIAGONAL, NULL)->interchange(panel, pivots, nrhs, x, undo);
}

/* ---- Rounding ------------------------------------------------------------------------------------------ */

/* Returns the largest real or imaginary part of so many scalars; NaN or infinite if one is. */
static double largest(tsi_count count, const tsi_scalar *values) {
  const tsi_real *real = (const tsi_real *)values;
  tsi_real most = 0, sum = 0;
  for (tsi_count i = 0; i < PARTS * count; i++) {
    const tsi_real size = real[i] < 0 ? -real[i] : real[i];
    most = size > most ? size : most;
    sum += 0 * size;
  }
  return (double)(most + sum);
}

/* Entries are not scaled if the largest one is between these. Then products with x stay in the range of
 * doubles, and entries that are lost below the range of float are smaller than the roundoff of the largest
 * one. */
#define SCALED_BELOW 0x1p-62
#define SCALED_ABOVE 0x1p62

static int16_t exponent_of(double most) {
  return (int16_t)(most == 0 || (most >= SCALED_BELOW && most <= SCALED_ABOVE) ? 0 : ilogb(most));
}

static const tsi_scalar *triangle_of(const tsi_panel *panel, const void *from) {
  return (const tsi_scalar *)from + panel->values;
}

static void choose(const tsi_panel *panel, const void *from, tsi_stored_panel *stored) {
  const tsi_scalar *triangle = triangle_of(panel, from);
  const tsi_count size = tsi_triangle_size(panel->width);
  const double most[2] = {largest(size, triangle),
                          largest((tsi_count)panel->width * panel->height, triangle + size)};
  if (stored->format == TSI_FORMAT_FULL || !isfinite(most[0]) || !isfinite(most[1])) {
    *stored = (tsi_stored_panel){.format = TSI_FORMAT_FULL};
    return;
  }
  stored->triangle = exponent_of(most[0]);
  stored->rectangle = exponent_of(most[1]);
}

static float rounded(tsi_real x, int exponent) {
  const double scaled = exponent == 0 ? (double)x : ldexp((double)x, -exponent);
  const float f = (float)scaled;
  return fabsf(f) < 0x1p-126f ? 0 : f;
}

/* Rounds to nearest, ties to even. */
static uint16_t upper_half(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static char *round_entries(tsi_count count, const void *from, int exponent, int format, void *entries) {
  const tsi_real *real = from;
  char *to = entries;
  if (format == TSI_FORMAT_FULL)
    memcpy(to, from, (size_t)count * sizeof(tsi_scalar));
  else if (format == TSI_FORMAT_SINGLE)
    for (tsi_count i = 0; i < PARTS * count; i++) ((float *)to)[i] = rounded(real[i], exponent);
  else
    for (tsi_count i = 0; i < PARTS * count; i++)
      ((uint16_t *)to)[i] = upper_half(rounded(real[i], exponent));
  return to + (size_t)count * entry_bytes(format);
}

static void narrow(const tsi_panel *panel, const void *from, const tsi_stored_panel *stored, void *to) {
  const tsi_scalar *triangle = triangle_of(panel, from);
  const tsi_count size = tsi_triangle_size(panel->width);
  char *rectangle = round_entries(size, triangle, stored->triangle, stored->format, to);
  if (stored->tiles == 0)
    (void)round_entries((tsi_count)panel->width * panel->height, triangle + size, stored->rectangle,
                        stored->format, rectangle);
}

/* ---- Table --------------------------------------------------------------------------------------------- */

#define SWEEPS(treatment)                                                                                    \
  [treatment] = {                                                                                            \
      .inverse = treatment,                                                                                  \
      .forward = forward,                                                                                    \
      .backward = backward,                                                                                  \
      .forward_triangle = forward_triangle,                                                                  \
      .backward_triangle = backward_triangle,                                                                \
      .interchange = interchange,                                                                            \
      .forward_slice = forward_slice,                                                                        \
      .backward_slice = backward_slice,                                                                      \
  }

extern const tsi_stored_kernels TSI_TYPED(tsi_stored_kernels);
const tsi_stored_kernels TSI_TYPED(tsi_stored_kernels) = {
    .scalar_bytes = sizeof(tsi_scalar),
#if defined TSI_SCALAR_D || defined TSI_SCALAR_Z
    .entry_bytes = {sizeof(tsi_scalar), PARTS * sizeof(float), PARTS * sizeof(uint16_t)},
#else
    .entry_bytes = {sizeof(tsi_scalar)},
#endif
    .sweeps = {SWEEPS(TSI_INVERSE_DIAGONAL), SWEEPS(TSI_INVERSE_NONE), SWEEPS(TSI_INVERSE_PARTITIONED)},
    .choose = choose,
    .narrow = narrow,
    .round = round_entries,
};
