/* Fills the tables of the kernels: see tables.h. */
#include "runtime/exec/steps/tables.h"

static void fill_panels(const tsi_tables_source *source, tsi_panel *panel) {
  const tsi_panels *panels = source->panels;
  const tsi_chunks *chunks = source->chunks;
  for (tsi_index c = 0; c < chunks->count; c++)
    for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1]; p++)
      panel[p] = (tsi_panel){.values = source->panel_values[p],
                             .row = chunks->panel_row[p],
                             .width = tsi_panel_width(panels, p),
                             .height = panels->height[p],
                             .x = panels->start[p] - chunks->column[c],
                             .column = panels->start[p]};
}

static tsi_solve_chunk describe_chunk(const tsi_tables_source *source, tsi_index c, tsi_count row) {
  const tsi_chunks *chunks = source->chunks;
  const tsi_sweep *sweep = source->sweep;
  return (tsi_solve_chunk){.workspace = source->by_column ? chunks->column[c] : row,
                           .off = chunks->off_ptr[c],
                           .sources = sweep->target_ptr[c],
                           .targets = sweep->source_ptr[c],
                           .source_count = (tsi_index)(sweep->target_ptr[c + 1] - sweep->target_ptr[c]),
                           .target_count = (tsi_index)(sweep->source_ptr[c + 1] - sweep->source_ptr[c]),
                           .panel = chunks->panel[c],
                           .panels = chunks->panel[c + 1] - chunks->panel[c],
                           .column = chunks->column[c],
                           .columns = tsi_chunk_columns(chunks, c),
                           .update = chunks->first_off[c],
                           .off_rows = tsi_chunk_off_rows(chunks, c),
                           .slice = chunks->slice_ptr[c],
                           .slices = tsi_chunk_slices(chunks, c)};
}

tristar_status tsi_tables_create(void *owner, const tsi_tables_source *source, tsi_tables *tables) {
  const tsi_chunks *chunks = source->chunks;
  const tsi_sweep *sweep = source->sweep;
  *tables = (tsi_tables){0};
  TSI_TRY(TSI_ALLOC_IN(owner, tables->panel, source->panels->count));
  TSI_TRY(TSI_ALLOC_IN(owner, tables->chunk, chunks->count));
  TSI_TRY(TSI_ALLOC_IN(owner, tables->slice, chunks->slices));
  TSI_TRY(TSI_ALLOC_IN(owner, tables->pair, sweep->pairs));
  fill_panels(source, tables->panel);
  for (tsi_index c = 0; c < chunks->count; c++) {
    tables->chunk[c] = describe_chunk(source, c, tables->workspace_rows);
    for (tsi_index k = chunks->slice_ptr[c]; k < chunks->slice_ptr[c + 1]; k++)
      tables->slice[k] =
          (tsi_solve_slice){c, chunks->slice_row[k], tsi_slice_rows(chunks, source->panels, c, k)};
    tables->workspace_rows += tsi_round_up_block(tsi_chunk_local_rows(source->rows_of, c));
  }
  for (tsi_count q = 0; q < sweep->pairs; q++)
    tables->pair[q] = (tsi_solve_pair){sweep->pair[q].source, sweep->pair[q].target, sweep->pair[q].first,
                                       sweep->pair[q].count};
  return TRISTAR_OK;
}
