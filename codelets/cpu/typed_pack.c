/* From a factored front to packed panels (panel.h): inverts the diagonal blocks and reorders the entries. */
#include <string.h>

#include "codelets/cpu/blas.h"
#include "codelets/cpu/front.h"

/* Entry (row i, column k) of what is packed is a[i * row_step + k * column_step]. */
typedef struct source {
  const tsi_scalar *a;
  ptrdiff_t row_step, column_step;
} source;

/* Writes the lower triangle of the b x b source in row blocks. Returns the end. */
static tsi_scalar *pack_triangle(source s, tsi_index b, tsi_scalar *to) {
  for (tsi_index r = 0; r < b; r += TSI_ROW_BLOCK) {
    const tsi_index rows = tsi_index_min(TSI_ROW_BLOCK, b - r);
    for (tsi_index k = 0; k < r; k++)
      for (tsi_index i = 0; i < rows; i++) *to++ = s.a[(r + i) * s.row_step + k * s.column_step];
    for (tsi_index k = 0; k < rows; k++)
      for (tsi_index i = k; i < rows; i++) *to++ = s.a[(r + i) * s.row_step + (r + k) * s.column_step];
  }
  return to;
}

/* Writes `rows` rows of b columns that continue a rectangle after `before` rows: a row block may come from
 * two sources, so the place of every entry is computed. height: rows of the whole rectangle. */
static void pack_rows(source s, tsi_index rows, tsi_index b, tsi_index before, tsi_index height,
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

static void zero_between(tsi_scalar *from, tsi_scalar *to) {
  while (from < to) *from++ = 0;
}

/* Copies a b x b block and inverts its lower or upper triangle. */
static void invert(const tsi_scalar *block, int ld, tsi_index b, const char *uplo, const char *diag,
                   tsi_scalar *inverse) {
  int info = 0; /* cannot be positive: no pivot is zero */
  for (tsi_index k = 0; k < b; k++)
    memcpy(inverse + (ptrdiff_t)k * b, block + (ptrdiff_t)k * ld, (size_t)b * sizeof *inverse);
  TSI_LAPACK(trtri)(uplo, diag, &b, inverse, &b, &info);
  if (*diag == 'U')
    for (tsi_index k = 0; k < b; k++) inverse[k + (ptrdiff_t)k * b] = 1;
}

void TSI_TYPED(tsi_front_pack_lower)(const tsi_front *front, tsi_index o, tsi_index b, bool unit, void *panel,
                                     void *scratch) {
  tsi_scalar *lower = panel, *work = scratch;
  const ptrdiff_t f = front->f;
  const tsi_index below = front->f - o - b;
  const tsi_scalar *diagonal = (const tsi_scalar *)front->p + o + o * f;
  tsi_scalar *rectangle = lower + tsi_triangle_size(b), *end = lower + tsi_panel_size(b, below);
  invert(diagonal, front->f, b, "L", unit ? "U" : "N", work);
  zero_between(pack_triangle((source){work, 1, b}, b, lower), rectangle);
  pack_rows((source){diagonal + b, 1, f}, below, b, 0, below, rectangle);
  zero_between(rectangle + (ptrdiff_t)below * b, end);
}

/* The transpose of U's panel. */
static void pack_upper(const tsi_front *front, tsi_index o, tsi_index b, tsi_scalar *upper,
                       tsi_scalar *work) {
  const ptrdiff_t f = front->f;
  const tsi_index below = front->f - o - b, inside = front->w - o - b;
  const tsi_scalar *diagonal = (const tsi_scalar *)front->p + o + o * f;
  tsi_scalar *rectangle = upper + tsi_triangle_size(b), *end = upper + tsi_panel_size(b, below);
  invert(diagonal, front->f, b, "U", "N", work);
  zero_between(pack_triangle((source){work, b, 1}, b, upper), rectangle);
  pack_rows((source){diagonal + b * f, f, 1}, inside, b, 0, below, rectangle);
  pack_rows((source){(const tsi_scalar *)front->q + o, front->w, 1}, front->m, b, inside, below, rectangle);
  zero_between(rectangle + (ptrdiff_t)below * b, end);
}

void TSI_TYPED(tsi_front_pack)(const tsi_front *front, tsi_index o, tsi_index b, void *lower, void *upper,
                               void *work) {
  TSI_TYPED(tsi_front_pack_lower)(front, o, b, front->q != NULL, lower, work);
  if (front->full) pack_upper(front, o, b, upper, work);
}

void TSI_TYPED(tsi_front_add_column)(const tsi_front *front, tsi_index column, tsi_count count,
                                     const tsi_index *row, const void *values, const tsi_count *index) {
  const tsi_scalar *from = values;
  tsi_scalar *to = (tsi_scalar *)front->p + column * (ptrdiff_t)front->f;
  for (tsi_count e = 0; e < count; e++)
    if (row[e] >= 0) to[row[e]] += from[index ? index[e] : e];
}

tsi_index TSI_TYPED(tsi_front_zero_diagonal)(const tsi_front *front) {
  const tsi_scalar *p = front->p;
  for (tsi_index k = 0; k < front->w; k++)
    if (p[k + k * (ptrdiff_t)front->f] == 0) return k;
  return TSI_NONE;
}

tsi_index TSI_TYPED(tsi_front_invert_diagonal)(tsi_index n, const tsi_index *order, const void *diagonal,
                                               void *inverse) {
  const tsi_scalar *d = diagonal;
  tsi_scalar *out = inverse;
  for (tsi_index j = 0; j < n; j++) {
    if (d[order[j]] == 0) return order[j];
    out[2 * (ptrdiff_t)j] = 1 / d[order[j]];
    out[2 * (ptrdiff_t)j + 1] = 0;
  }
  return TSI_NONE;
}
