/* Copies panels, or rows of them: see extract.h. */
#include "runtime/process/extract.h"

#include "runtime/base/sort.h"

/* Position of entry (row, column 0) in a packed rectangle of m rows and w columns, and the distance between
 * columns (panel.h). */
static tsi_count row_place(tsi_index m, tsi_index w, tsi_index row, tsi_index *step) {
  const tsi_index block = row / TSI_ROW_BLOCK * TSI_ROW_BLOCK;
  *step = tsi_index_min(TSI_ROW_BLOCK, m - block);
  return (tsi_count)block * w + row - block;
}

static void copy_row(const char *from, tsi_index from_step, char *to, tsi_index to_step, tsi_index w,
                     size_t bytes) {
  for (tsi_index k = 0; k < w; k++) {
    memcpy(to, from, bytes);
    from += (size_t)from_step * bytes;
    to += (size_t)to_step * bytes;
  }
}

static void copy_rows(const char *from, tsi_index m, const tsi_index *row, tsi_index count, tsi_index w,
                      size_t bytes, char *to) {
  for (tsi_index i = 0; i < count; i++) {
    tsi_index from_step, to_step;
    const tsi_count source = row_place(m, w, row[i], &from_step), target = row_place(count, w, i, &to_step);
    const char *a = from + (size_t)source * bytes;
    char *b = to + (size_t)target * bytes;
    switch (bytes) { /* with a constant size, the compiler inlines the copies */
    case 4:
      copy_row(a, from_step, b, to_step, w, 4);
      break;
    case 8:
      copy_row(a, from_step, b, to_step, w, 8);
      break;
    default:
      copy_row(a, from_step, b, to_step, w, 16);
    }
  }
}

void tsi_extract_panels(const tristar_factor_t *factor, bool upper, const tsi_share *share,
                        const tsi_count *begin, tsi_index first, tsi_index end, void *to) {
  const tristar_analysis_t *an = factor->analysis;
  const size_t bytes = factor->scalar_bytes;
  tsi_index k = tsi_find_range(share->chunks->panel, share->chunks->count, first); /* the chunk */
  memset(to, 0, (size_t)(begin[end] - begin[first]) * bytes);
  for (tsi_index j = first; j < end; j++) {
    const tsi_index p = share->panel[j], w = tsi_panel_width(an->panels, p), m = an->panels->height[p];
    const char *from = tsi_factor_panel(factor, upper, p);
    char *at = (char *)to + (size_t)(begin[j] - begin[first]) * bytes;
    while (share->chunks->panel[k + 1] <= j) k++;
    if (share->role[k] & TSI_ROLE_DIAGONAL) {
      memcpy(at, from, (size_t)tsi_triangle_size(w) * bytes);
      at += (size_t)tsi_triangle_size(w) * bytes;
    }
    from += (size_t)tsi_triangle_size(w) * bytes;
    if (share->panels->height[j] == m)
      memcpy(at, from, (size_t)w * (size_t)m * bytes);
    else
      copy_rows(from, m, share->row + share->row_ptr[j], share->panels->height[j], w, bytes, at);
  }
}

void tsi_extract_columns(const tristar_factor_t *factor, const tsi_share *share, const tsi_index *panel,
                         tsi_index *pivots, void *inverse, double *row_scale, double *col_scale) {
  const tristar_analysis_t *an = factor->analysis;
  const size_t pair = 2 * factor->scalar_bytes;
  for (tsi_index p = 0; p < share->panels->count; p++) {
    const tsi_index shift = an->panels->start[panel[p]] - share->panels->start[p];
    for (tsi_index j = share->panels->start[p]; j < share->panels->start[p + 1]; j++) {
      const tsi_index column = j + shift;
      if (pivots) pivots[j] = factor->pivots[column];
      if (inverse)
        memcpy((char *)inverse + (size_t)j * pair, (const char *)factor->inverse + (size_t)column * pair,
               pair);
      if (row_scale) row_scale[j] = factor->row_scale[an->in_row[column]];
      if (col_scale) col_scale[j] = factor->col_scale[an->out_row[column]];
    }
  }
}
