/* Verifies device tables: that they hold the factor which they were made from, each piece once. The order of
 * tickets is verified in device_check_order.c. */
#include "runtime/execute/device_check.h"

#include "runtime/execute/device_block.h"

#define BROKEN(...) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, __VA_ARGS__)

/* ---- The block ----------------------------------------------------------------------------------------- */

static tristar_status check_block(tsi_env *env, const tsi_device_tables *t) {
  tristar_status status = TRISTAR_OK;
  const tsi_device_sweep *f = &t->forward, *b = &t->backward;
  const size_t index = sizeof(tsi_index), nodes = (size_t)t->nodes, off_rows = (size_t)t->off_rows;
  const tsi_block_array arrays[] = {{"nodes", t->node, nodes * sizeof *t->node},
                                    {"panels", t->panel, (size_t)t->panels * sizeof *t->panel},
                                    {"rows", t->row, (size_t)t->rows * index},
                                    {"starts of gather lists", t->gather_ptr, ((size_t)t->n + 1) * index},
                                    {"gather lists", t->gather, off_rows * index},
                                    {"owners", t->owner, off_rows * index},
                                    {"forward tickets", f->ticket, (size_t)f->tickets * sizeof *f->ticket},
                                    {"forward order", f->order, nodes * index},
                                    {"forward waits", f->before, (size_t)f->waits * index},
                                    {"backward tickets", b->ticket, (size_t)b->tickets * sizeof *b->ticket},
                                    {"backward order", b->order, nodes * index},
                                    {"backward waits", b->before, (size_t)b->waits * index}};
  const size_t count = sizeof arrays / sizeof *arrays,
               outside = tsi_block_find_outside(t->block, t->bytes, arrays, count);
  if (outside < count) BROKEN("the %s are not in the block of %zu bytes", arrays[outside].name, t->bytes);
out:
  return status;
}

/* ---- Nodes and panels ---------------------------------------------------------------------------------- */

static tristar_status check_slices(tsi_env *env, const tsi_device_tables *t, tsi_index c) {
  tristar_status status = TRISTAR_OK;
  const tsi_device_node *chunk = &t->node[c];
  tsi_index row = 0;
  for (tsi_index k = 0; k < chunk->slices; k++) {
    const tsi_index number = chunk->slice + k;
    if (number < t->chunks || number >= t->nodes) BROKEN("node %d has slice %d", c, number);
    const tsi_device_node *s = &t->node[number];
    if (s->kind != TSI_DEVICE_SLICE || s->panel != chunk->panel || s->panels != 1 ||
        s->column != chunk->column || s->columns != chunk->columns || s->x != chunk->x ||
        s->update != chunk->update || s->off != chunk->off || s->off_rows != chunk->off_rows ||
        s->sums != chunk->sums + k * chunk->columns || s->slices != 0)
      BROKEN("node %d is not a slice of node %d", number, c);
    if (s->first != row || s->count <= 0 || row % TSI_ROW_BLOCK != 0)
      BROKEN("node %d, a slice of node %d: rows %d + %d follow %d", number, c, s->first, s->count, row);
    row += s->count;
  }
  if (chunk->slices > 0 && (chunk->panels != 1 || row != t->panel[chunk->panel].height))
    BROKEN("node %d: its slices have %d rows", c, row);
out:
  return status;
}

/* A chunk is that of the source, and its rows of the workspace follow those of the chunk before. row: the
 * first that is free; moved to the end. slice: number of the next slice. */
static tristar_status check_chunk(tsi_env *env, const tsi_device_tables *t, const tsi_chunks *chunks,
                                  tsi_index c, tsi_index *row, tsi_index *slice) {
  tristar_status status = TRISTAR_OK;
  const tsi_device_node *node = &t->node[c];
  const bool sliced = tsi_chunk_slices(chunks, c) > 0;
  if (node->panel != chunks->panel[c] || node->panels != chunks->panel[c + 1] - chunks->panel[c] ||
      node->column != chunks->column[c] || node->columns != tsi_chunk_columns(chunks, c) ||
      node->off != chunks->off_ptr[c] || node->off_rows != tsi_chunk_off_rows(chunks, c) ||
      node->slices != tsi_chunk_slices(chunks, c) || node->first != 0 || node->count != node->off_rows)
    BROKEN("node %d is not chunk %d", c, c);
  if (sliced ? node->kind != TSI_DEVICE_SLICED || node->slice != *slice
             : node->kind != TSI_DEVICE_CHUNK && node->kind != TSI_DEVICE_WARP)
    BROKEN("node %d is of kind %d, and has slices from node %d on", c, node->kind, node->slice);
  if (node->x < *row || node->x % TSI_ROW_BLOCK != 0 || node->update < node->x + node->columns ||
      node->sums != node->update + node->off_rows)
    BROKEN("node %d: x in row %d, off-rows in row %d, sums in row %d of the workspace, after %d", c, node->x,
           node->update, node->sums, *row);
  TSI_TRY(check_slices(env, t, c));
  *row = node->sums + node->slices * node->columns;
  *slice += node->slices;
out:
  return status;
}

static tristar_status check_nodes(tsi_env *env, const tsi_device_tables *t, const tsi_chunks *chunks) {
  tristar_status status = TRISTAR_OK;
  tsi_index row = 0, slice = t->chunks;
  if (t->chunks != chunks->count || t->nodes != chunks->count + chunks->slices ||
      t->off_rows != chunks->off_ptr[chunks->count])
    BROKEN("%d chunks, %d nodes and %d off-rows", t->chunks, t->nodes, t->off_rows);
  for (tsi_index c = 0; c < t->chunks; c++) TSI_TRY(check_chunk(env, t, chunks, c, &row, &slice));
  if (row > t->workspace_rows || slice != t->nodes)
    BROKEN("%d of %d rows of the workspace are taken, slices end with node %d", row, t->workspace_rows,
           slice);
out:
  return status;
}

static tristar_status check_panels(tsi_env *env, const tsi_device_tables *t,
                                   const tsi_tables_source *source) {
  tristar_status status = TRISTAR_OK;
  const tsi_panels *panels = source->panels;
  if (t->panels != panels->count || t->rows != source->chunks->local_rows)
    BROKEN("%d panels with %lld rows", t->panels, (long long)t->rows);
  for (tsi_index c = 0; c < t->chunks; c++)
    for (tsi_index p = t->node[c].panel; p < t->node[c].panel + t->node[c].panels; p++) {
      const tsi_panel *panel = &t->panel[p];
      if (panel->values != source->panel_values[p] || panel->width != tsi_panel_width(panels, p) ||
          panel->height != panels->height[p] || panel->column != panels->start[p] ||
          panel->x != panel->column - t->node[c].column || panel->row != source->chunks->panel_row[p])
        BROKEN("panel %d of node %d", p, c);
      if (t->node[c].kind == TSI_DEVICE_WARP && panel->width > TSI_WARP_WIDTH)
        BROKEN("panel %d of node %d has %d columns, too many for a warp", p, c, panel->width);
    }
  for (tsi_count k = 0; k < t->rows; k++)
    if (t->row[k] != source->chunks->local_row[k])
      BROKEN("row %lld of panels is %d", (long long)k, t->row[k]);
out:
  return status;
}

/* ---- Updates ------------------------------------------------------------------------------------------- */

/* The off-row that row r of the workspace is, counted over all chunks; -1: none. */
static tsi_index off_row_at(const tsi_device_tables *t, const tsi_index *node_of_row, tsi_index r) {
  if (r < 0 || r >= t->workspace_rows || node_of_row[r] == TSI_NONE) return -1;
  const tsi_device_node *node = &t->node[node_of_row[r]];
  return r >= node->update && r < node->update + node->off_rows ? node->off + r - node->update : -1;
}

/* The lists of all columns: each off-row in that of its own column, once. Their length says that none is
 * missing. */
static tristar_status check_gather(tsi_env *env, const tsi_device_tables *t, const tsi_chunks *chunks,
                                   const tsi_index *node_of_row) {
  tristar_status status = TRISTAR_OK;
  if (t->gather_ptr[0] != 0 || t->gather_ptr[t->n] != t->off_rows)
    BROKEN("%d of %d updates are gathered", t->gather_ptr[t->n], t->off_rows);
  for (tsi_index j = 0; j < t->n; j++) {
    if (t->gather_ptr[j] > t->gather_ptr[j + 1]) BROKEN("the gather list of column %d", j);
    for (tsi_index e = t->gather_ptr[j]; e < t->gather_ptr[j + 1]; e++) {
      const tsi_index off = off_row_at(t, node_of_row, t->gather[e]);
      if (off < 0 || chunks->off[off] != j || (e > t->gather_ptr[j] && t->gather[e] <= t->gather[e - 1]))
        BROKEN("column %d gathers row %d of the workspace", j, t->gather[e]);
    }
  }
out:
  return status;
}

static tristar_status check_owners(tsi_env *env, const tsi_device_tables *t, const tsi_chunks *chunks,
                                   const tsi_index *node_of_row) {
  tristar_status status = TRISTAR_OK;
  for (tsi_index e = 0; e < t->off_rows; e++) {
    const tsi_index r = t->owner[e], owner = r >= 0 && r < t->workspace_rows ? node_of_row[r] : TSI_NONE;
    if (owner == TSI_NONE || r >= t->node[owner].x + t->node[owner].columns ||
        t->node[owner].column + r - t->node[owner].x != chunks->off[e])
      BROKEN("off-row %d, column %d, is read from row %d of the workspace", e, chunks->off[e], r);
  }
out:
  return status;
}

tristar_status tsi_device_tables_check(tsi_env *env, const tsi_device_tables *tables,
                                       const tsi_tables_source *source) {
  tristar_status status = TRISTAR_OK;
  tsi_index *node_of_row = NULL; /* rows of the workspace; TSI_NONE: of none */
  TSI_TRY(check_block(env, tables));
  TSI_TRY(check_nodes(env, tables, source->chunks));
  TSI_TRY(check_panels(env, tables, source));
  TSI_TRY(TSI_ALLOC(env, node_of_row, tables->workspace_rows));
  for (tsi_index r = 0; r < tables->workspace_rows; r++) node_of_row[r] = TSI_NONE;
  for (tsi_index c = 0; c < tables->chunks; c++)
    for (tsi_index r = tables->node[c].x; r < tables->node[c].sums; r++) node_of_row[r] = c;
  TSI_TRY(check_gather(env, tables, source->chunks, node_of_row));
  TSI_TRY(check_owners(env, tables, source->chunks, node_of_row));
  TSI_TRY(tsi_device_order_check(env, tables, node_of_row, false));
  TSI_TRY(tsi_device_order_check(env, tables, node_of_row, true));
out:
  TSI_FREE(env, node_of_row);
  return status;
}
