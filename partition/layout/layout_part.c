/* Parts of a layout: see layout.h. */
#include "partition/layout/layout.h"

/* Copies an array into one that `owner` owns. */
#define COPY(owner, from, to, count)                                                                         \
  do {                                                                                                       \
    TSI_TRY(TSI_ALLOC_IN(owner, to, count));                                                                 \
    memcpy(to, from, (size_t)(count) * sizeof *(from));                                                      \
  } while (0)

/* Does the part have the panel of chunk c, which is spread? */
static bool has_rows(const tsi_layout *layout, const tsi_index *number, tsi_index c) {
  return !layout->whole[c] && number[layout->chunks->panel[c]] != TSI_NONE;
}

/* Lists the panels of the part for each chunk. */
static void list_panels(const tsi_layout *layout, const tsi_index *number, tsi_index panels,
                        tsi_index *panel) {
  const tsi_chunks *chunks = layout->chunks;
  panel[chunks->count] = panels;
  for (tsi_index c = chunks->count; c-- > 0;) {
    panel[c] = panel[c + 1];
    for (tsi_index p = chunks->panel[c + 1]; p-- > chunks->panel[c];)
      if (number[p] != TSI_NONE) panel[c] = number[p];
  }
}

static tristar_status take_rows(const tsi_layout *layout, const tsi_index *number, tsi_chunks *to) {
  const tsi_chunks *from = layout->chunks;
  TSI_TRY(TSI_ALLOC_IN(to, to->off_ptr, (tsi_count)from->count + 1));
  to->off_ptr[0] = 0;
  for (tsi_index c = 0; c < from->count; c++)
    to->off_ptr[c + 1] = to->off_ptr[c] + (has_rows(layout, number, c) ? tsi_chunk_off_rows(from, c) : 0);
  TSI_TRY(TSI_ALLOC_IN(to, to->off, to->off_ptr[from->count]));
  for (tsi_index c = 0; c < from->count; c++) {
    const size_t rows = (size_t)(to->off_ptr[c + 1] - to->off_ptr[c]);
    if (rows > 0) memcpy(to->off + to->off_ptr[c], from->off + from->off_ptr[c], rows * sizeof *to->off);
  }
  return TRISTAR_OK;
}

tristar_status tsi_layout_part_create(tsi_env *env, const tsi_layout *layout, const tsi_index *number,
                                      tsi_index panels, tsi_layout **out) {
  const tsi_index count = layout->chunks->count;
  *out = NULL;
  TSI_SCRATCH(env, tsi_layout, part, 1);
  *part = *layout;
  part->chunks = NULL;
  part->node = part->row = part->column = NULL;
  part->whole = NULL;
  part->bytes = NULL;
  COPY(part, layout->node, part->node, count);
  COPY(part, layout->row, part->row, count);
  COPY(part, layout->column, part->column, count);
  COPY(part, layout->whole, part->whole, count);
  COPY(part, layout->bytes, part->bytes, count);
  TSI_TRY(TSI_ALLOC_ZERO_IN(part, part->chunks, 1));
  part->chunks->count = count;
  COPY(part->chunks, layout->chunks->column, part->chunks->column, count + 1);
  TSI_TRY(TSI_ALLOC_IN(part->chunks, part->chunks->panel, (tsi_count)count + 1));
  list_panels(layout, number, panels, part->chunks->panel);
  TSI_TRY(take_rows(layout, number, part->chunks));
  *out = tsi_take(&part);
  return TRISTAR_OK;
}

void tsi_layout_discard_rows(tsi_env *env, tsi_layout *layout) {
  tsi_chunks *chunks = layout->chunks;
  TSI_FREE(env, chunks->off_ptr);
  TSI_FREE(env, chunks->off);
  TSI_FREE(env, chunks->first_off);
  TSI_FREE(env, chunks->panel_row);
  TSI_FREE(env, chunks->local_row);
  TSI_FREE(env, chunks->slice_ptr);
  TSI_FREE(env, chunks->slice_row);
  chunks->local_rows = 0;
  chunks->slices = 0;
}
