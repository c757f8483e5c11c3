/* Verifies the invariants of tsi_chunks that chunks.h states. */
#include "partition/cut/chunks.h"

static tristar_status check_intervals(tsi_env *env, const tsi_chunks *chunks, const tsi_panels *panels) {
  if (chunks->panel[chunks->count] != panels->count || (chunks->count > 0 && chunks->panel[0] != 0))
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunks hold panels %d to %d of %d", chunks->panel[0],
             chunks->panel[chunks->count], panels->count);
  for (tsi_index c = 0; c < chunks->count; c++)
    if (chunks->panel[c] >= chunks->panel[c + 1] || chunks->column[c] != panels->start[chunks->panel[c]] ||
        chunks->column[c + 1] != panels->start[chunks->panel[c + 1]])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d: panels %d to %d, columns from %d", c, chunks->panel[c],
               chunks->panel[c + 1] - 1, chunks->column[c]);
  return TRISTAR_OK;
}

/* The final number of row i of panel p, from the symbolic structure. */
static tsi_index panel_row(const tsi_symbolic *symbolic, const tsi_panels *panels, tsi_index p, tsi_index i) {
  const tsi_index s = panels->supernode[p];
  const tsi_index inside = symbolic->start[s + 1] - panels->start[p + 1];
  return i < inside ? panels->start[p + 1] + i : symbolic->rows[symbolic->row_ptr[s] + i - inside];
}

static tristar_status check_rows(tsi_env *env, const tsi_chunks *chunks, const tsi_symbolic *symbolic,
                                 const tsi_panels *panels, tsi_index c) {
  const tsi_index columns = tsi_chunk_columns(chunks, c), off_rows = tsi_chunk_off_rows(chunks, c);
  const tsi_index first_off = chunks->first_off[c];
  const tsi_index *off = chunks->off + chunks->off_ptr[c];
  TSI_SCRATCH_ZERO(env, bool, seen, off_rows);
  for (tsi_index q = 0; q < off_rows; q++)
    if (off[q] < chunks->column[c + 1] || off[q] >= symbolic->n || (q > 0 && off[q] <= off[q - 1]))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d: off-row %d is %d", c, q, off[q]);
  for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1]; p++)
    for (tsi_index i = 0; i < panels->height[p]; i++) {
      const tsi_index local = chunks->local_row[chunks->panel_row[p] + i];
      if (local < 0 || (local >= columns && local < first_off) || local >= first_off + off_rows)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d, panel %d: row %d is local %d", c, p, i, local);
      const tsi_index row = local < columns ? chunks->column[c] + local : off[local - first_off];
      if (local >= columns) seen[local - first_off] = true;
      if (row != panel_row(symbolic, panels, p, i))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d, panel %d: row %d is %d instead of %d", c, p, i, row,
                 panel_row(symbolic, panels, p, i));
    }
  for (tsi_index q = 0; q < off_rows; q++)
    if (!seen[q]) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d: no panel has its off-row %d", c, off[q]);
  return TRISTAR_OK;
}

static tristar_status check_slices(tsi_env *env, const tsi_chunks *chunks, const tsi_panels *panels,
                                   tsi_index c) {
  const tsi_index first = chunks->slice_ptr[c], end = chunks->slice_ptr[c + 1];
  if (end < first || (end > first && chunks->panel[c + 1] != chunks->panel[c] + 1))
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d has slices %d to %d and %d panels", c, first, end - 1,
             chunks->panel[c + 1] - chunks->panel[c]);
  for (tsi_index k = first; k < end; k++)
    if (chunks->slice_row[k] % 8 != 0 || (k == first) != (chunks->slice_row[k] == 0) ||
        tsi_slice_rows(chunks, panels, c, k) <= 0)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d: slice %d begins at row %d and has %d rows", c, k - first,
               chunks->slice_row[k], tsi_slice_rows(chunks, panels, c, k));
  return TRISTAR_OK;
}

tristar_status tsi_chunks_check(tsi_env *env, const tsi_chunks *chunks, const tsi_symbolic *symbolic,
                                const tsi_panels *panels) {
  TSI_TRY(check_intervals(env, chunks, panels));
  for (tsi_index c = 0; c < chunks->count; c++) {
    TSI_TRY(check_rows(env, chunks, symbolic, panels, c));
    TSI_TRY(check_slices(env, chunks, panels, c));
  }
  if (chunks->slice_ptr[chunks->count] != chunks->slices)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%d slices are listed, %d belong to chunks", chunks->slices,
             chunks->slice_ptr[chunks->count]);
  return TRISTAR_OK;
}
