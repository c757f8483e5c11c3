/* Writes the entries of a panel in the order of panel.h. For files that are compiled for each scalar type. */
#pragma once

#include "codelets/cpu/base/panel.h"
#include "codelets/cpu/base/scalar.h"

/* The source: entry (row i, column k) is a[i * row_step + k * column_step]. */
typedef struct tsi_pack_source {
  const tsi_scalar *a;
  ptrdiff_t row_step, column_step;
} tsi_pack_source;

/* Writes the lower triangle of the b x b source in row blocks. Returns the end. */
INLINE tsi_scalar *tsi_pack_triangle(tsi_pack_source s, tsi_index b, tsi_scalar *to) {
  for (tsi_index r = 0; r < b; r += TSI_ROW_BLOCK) {
    const tsi_index rows = tsi_index_min(TSI_ROW_BLOCK, b - r);
    for (tsi_index k = 0; k < r; k++)
      for (tsi_index i = 0; i < rows; i++) *to++ = s.a[(r + i) * s.row_step + k * s.column_step];
    for (tsi_index k = 0; k < rows; k++)
      for (tsi_index i = k; i < rows; i++) *to++ = s.a[(r + i) * s.row_step + (r + k) * s.column_step];
  }
  return to;
}

/* Appends `rows` rows of b columns to a rectangle that has `before` rows. A row block may have two sources,
 * so the position of every entry is computed. height: rows of the whole rectangle. */
INLINE void tsi_pack_rows(tsi_pack_source s, tsi_index rows, tsi_index b, tsi_index before, tsi_index height,
                          tsi_scalar *rectangle) {
  for (tsi_index i = 0; i < rows;) {
    const tsi_index at = before + i, block = at / TSI_ROW_BLOCK * TSI_ROW_BLOCK, inside = at - block;
    const tsi_index stride = tsi_index_min(TSI_ROW_BLOCK, height - block);
    const tsi_index count = tsi_index_min(stride - inside, rows - i);
    tsi_scalar *to = rectangle + (ptrdiff_t)block * b + inside;
    for (tsi_index k = 0; k < b; k++)
      for (tsi_index l = 0; l < count; l++)
        to[(ptrdiff_t)k * stride + l] = s.a[(i + l) * s.row_step + k * s.column_step];
    i += count;
  }
}

INLINE void tsi_zero_between(tsi_scalar *from, tsi_scalar *to) {
  while (from < to) *from++ = 0;
}
