/* Verifies device tables: each piece of the factor is in them once. device_check_order.c verifies the order
 * of tickets. */
#include "runtime/exec/device/device_check.h"

#include "runtime/exec/device/device_block.h"

#define BROKEN(...) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, __VA_ARGS__)

/* ---- The block ----------------------------------------------------------------------------------------- */

static tristar_status check_block(tsi_env *env, const tsi_device_tables *t) {
  const tsi_device_sweep *f = &t->forward, *b = &t->backward;
  const size_t index = sizeof(tsi_index), nodes = (size_t)t->nodes, off_rows = (size_t)t->off_rows;
  const tsi_block_array arrays[] = {
      {"nodes", t->node, nodes * sizeof *t->node},
      {"panels", t->panel, (size_t)t->panels * sizeof *t->panel},
      {"rows", t->row, (size_t)t->rows * index},
      {"starts of gather lists", t->gather_ptr, ((size_t)t->n + off_rows + 1) * index},
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
  return TRISTAR_OK;
}

/* ---- Nodes and panels ---------------------------------------------------------------------------------- */

/* Whether the node belongs to the chunk, by their common members. */
static bool is_part(const tsi_device_node *node, const tsi_device_node *chunk) {
  return node->panel == chunk->panel && node->panels == 1 && node->column == chunk->column &&
         node->columns == chunk->columns && node->x == chunk->x && node->update == chunk->update &&
         node->solution == chunk->solution && node->off == chunk->off && node->off_rows == chunk->off_rows &&
         node->slice == 0 && node->slices == 0 && node->piece == 0 && node->pieces == 0;
}

static tristar_status check_slices(tsi_env *env, const tsi_device_tables *t, tsi_index c) {
  const tsi_device_node *chunk = &t->node[c];
  tsi_index row = 0;
  for (tsi_index k = 0; k < chunk->slices; k++) {
    const tsi_index number = chunk->slice + k, left = chunk->slices - k - TSI_SUM_SLICES;
    const bool adds = k % TSI_SUM_SLICES == 0 && left > 0;
    if (number < t->chunks || number >= t->nodes) BROKEN("node %d has slice %d", c, number);
    const tsi_device_node *s = &t->node[number];
    if (s->kind != TSI_DEVICE_SLICE || !is_part(s, chunk) || s->sums != chunk->sums + k * chunk->columns ||
        s->begin != 0 || s->end != 0)
      BROKEN("node %d is not a slice of node %d", number, c);
    if (s->first != row || s->count <= 0 || row % TSI_ROW_BLOCK != 0)
      BROKEN("node %d, a slice of node %d: rows %d + %d follow %d", number, c, s->first, s->count, row);
    if (s->adds != (adds ? tsi_index_min(left, TSI_SUM_SLICES) : 0) ||
        s->add != (adds ? s->sums + TSI_SUM_SLICES * chunk->columns : 0))
      BROKEN("node %d, slice %d of node %d, adds %d sums from row %d on", number, k, c, s->adds, s->add);
    row += s->count;
  }
  if (chunk->slices > 0 && (chunk->panels != 1 || row != t->panel[chunk->panel].height))
    BROKEN("node %d: its slices have %d rows", c, row);
  return TRISTAR_OK;
}

/* row: the start of the node; moved to its end. column: the end of its columns, backward; moved to their
 * start. */
static tristar_status check_piece(tsi_env *env, const tsi_device_node *chunk, const tsi_device_node *node,
                                  tsi_index *row, tsi_index *column) {
  if (node->kind != TSI_DEVICE_TRIANGLE || node->sums != chunk->sums || node->add != chunk->sums ||
      node->adds != tsi_index_min(chunk->slices, TSI_SUM_SLICES))
    BROKEN("a triangle from column %d on: kind %d, adds %d sums from row %d on", chunk->column, node->kind,
           node->adds, node->add);
  if (node->first != *row || node->count <= 0 || *row % TSI_ROW_BLOCK != 0 || node->end != *column ||
      node->begin >= node->end || node->begin % TSI_ROW_BLOCK != 0)
    BROKEN("a triangle from column %d on: rows %d + %d follow %d, columns %d to %d precede %d", chunk->column,
           node->first, node->count, *row, node->begin, node->end, *column);
  *row += node->count;
  *column = node->begin;
  return TRISTAR_OK;
}

static tristar_status check_triangle(tsi_env *env, const tsi_device_tables *t, tsi_index c) {
  const tsi_device_node *chunk = &t->node[c];
  tsi_index row = 0, column = chunk->columns;
  for (tsi_index k = chunk->piece; k < chunk->piece + chunk->pieces; k++) {
    if (!is_part(&t->node[k], chunk)) BROKEN("node %d is not of the triangle of node %d", k, c);
    TSI_TRY(check_piece(env, chunk, &t->node[k], &row, &column));
  }
  if (row != chunk->columns || column != 0 || (t->inverse == TSI_INVERSE_NONE && chunk->pieces > 1))
    BROKEN("node %d: %d of %d rows of a triangle in %d nodes", c, row, chunk->columns, chunk->pieces);
  return TRISTAR_OK;
}

/* Next free numbers: rows of the workspace, rows for solutions, nodes of slices and of triangles. */
typedef struct free_numbers {
  tsi_index row, solution, slice, piece;
} free_numbers;

static tristar_status check_sliced(tsi_env *env, const tsi_device_tables *t, tsi_index c,
                                   free_numbers *next) {
  const tsi_device_node *node = &t->node[c];
  if (node->slice != next->slice || node->solution != next->solution || node->piece != next->piece ||
      node->pieces > t->nodes - next->piece)
    BROKEN("node %d: slices from node %d on, other nodes %d + %d, solution in row %d", c, node->slice,
           node->piece, node->pieces, node->solution);
  TSI_TRY(check_slices(env, t, c));
  TSI_TRY(check_triangle(env, t, c));
  next->slice += node->slices;
  next->piece += node->pieces;
  next->solution += node->columns;
  return TRISTAR_OK;
}

/* Whether the node is a sliced chunk, or a whole chunk; some members are not used then. */
static bool is_sliced(const tsi_device_node *node) {
  return node->kind == TSI_DEVICE_SLICED && node->pieces > 0 && node->first == 0 &&
         node->count == node->off_rows && node->begin == 0 && node->end == 0 && node->add == 0 &&
         node->adds == 0;
}
static bool is_whole(const tsi_device_node *node) {
  return (node->kind == TSI_DEVICE_CHUNK || node->kind == TSI_DEVICE_WARP) && node->first == 0 &&
         node->count == node->off_rows && node->solution == node->x && node->slice == 0 && node->piece == 0 &&
         node->pieces == 0 && node->begin == 0 && node->end == 0 && node->add == 0 && node->adds == 0;
}

/* Checks that a chunk is as in the source, and that its rows of the workspace follow the rows of the chunk
 * before. */
static tristar_status check_chunk(tsi_env *env, const tsi_device_tables *t, const tsi_chunks *chunks,
                                  tsi_index c, free_numbers *next) {
  const tsi_device_node *node = &t->node[c];
  const bool sliced = tsi_chunk_slices(chunks, c) > 0;
  if (node->panel != chunks->panel[c] || node->panels != chunks->panel[c + 1] - chunks->panel[c] ||
      node->column != chunks->column[c] || node->columns != tsi_chunk_columns(chunks, c) ||
      node->off != chunks->off_ptr[c] || node->off_rows != tsi_chunk_off_rows(chunks, c) ||
      node->slices != tsi_chunk_slices(chunks, c))
    BROKEN("node %d is not chunk %d", c, c);
  if (sliced ? !is_sliced(node) : !is_whole(node))
    BROKEN("node %d is of kind %d with rows %d + %d", c, node->kind, node->first, node->count);
  if (node->x < next->row || node->x % TSI_ROW_BLOCK != 0 || node->update < node->x + node->columns ||
      node->sums != node->update + node->off_rows)
    BROKEN("node %d: x in row %d, off-rows in row %d, sums in row %d of the workspace, after %d", c, node->x,
           node->update, node->sums, next->row);
  if (sliced) TSI_TRY(check_sliced(env, t, c, next));
  next->row = node->sums + node->slices * node->columns;
  return TRISTAR_OK;
}

/* The first row for solutions; these are the last rows of the workspace. */
static tsi_index first_solution(const tsi_device_tables *t) {
  tsi_index row = t->workspace_rows;
  for (tsi_index c = 0; c < t->chunks; c++)
    if (t->node[c].kind == TSI_DEVICE_SLICED) row -= t->node[c].columns;
  return row;
}

static tristar_status check_nodes(tsi_env *env, const tsi_device_tables *t, const tsi_chunks *chunks) {
  const tsi_index slices = chunks->count + chunks->slices, solution = first_solution(t);
  free_numbers next = {.solution = solution, .slice = chunks->count, .piece = slices};
  if (t->chunks != chunks->count || t->nodes < slices || t->off_rows != chunks->off_ptr[chunks->count])
    BROKEN("%d chunks, %d nodes and %d off-rows", t->chunks, t->nodes, t->off_rows);
  for (tsi_index c = 0; c < t->chunks; c++) TSI_TRY(check_chunk(env, t, chunks, c, &next));
  if (next.slice != slices || next.piece != t->nodes || next.row > solution)
    BROKEN(
        "rows of the workspace before %d of %d are taken, solutions begin with %d, slices end with node %d, "
        "all with %d",
        next.row, t->workspace_rows, solution, next.slice, next.piece);
  return TRISTAR_OK;
}

static tristar_status check_panels(tsi_env *env, const tsi_device_tables *t,
                                   const tsi_tables_source *source) {
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
  return TRISTAR_OK;
}

/* ---- Updates ------------------------------------------------------------------------------------------- */

/* The off-row at row r of the workspace, counted over all chunks; -1: none. */
static tsi_index off_row_at(const tsi_device_tables *t, const tsi_index *node_of_row, tsi_index r) {
  if (r < 0 || r >= t->workspace_rows || node_of_row[r] == TSI_NONE) return -1;
  const tsi_device_node *node = &t->node[node_of_row[r]];
  return r >= node->update && r < node->update + node->off_rows ? node->off + r - node->update : -1;
}

/* Checks the lists: each off-row is once in a list of its own column, of a later chunk. Their length shows
 * that none is missing. */
static tristar_status check_list(tsi_env *env, const tsi_device_tables *t, const tsi_chunks *chunks,
                                 const tsi_index *node_of_row, tsi_index list, tsi_index reader) {
  const tsi_index column = list < t->n ? list : chunks->off[list - t->n];
  if (t->gather_ptr[list] > t->gather_ptr[list + 1]) BROKEN("gather list %d", list);
  for (tsi_index e = t->gather_ptr[list]; e < t->gather_ptr[list + 1]; e++) {
    const tsi_index off = off_row_at(t, node_of_row, t->gather[e]);
    if (off < 0 || chunks->off[off] != column || node_of_row[t->gather[e]] >= reader ||
        (e > t->gather_ptr[list] && t->gather[e] <= t->gather[e - 1]))
      BROKEN("list %d, of column %d, gathers row %d of the workspace", list, column, t->gather[e]);
  }
  return TRISTAR_OK;
}

static tristar_status check_gather(tsi_env *env, const tsi_device_tables *t, const tsi_chunks *chunks,
                                   const tsi_index *node_of_row) {
  if (t->gather_ptr[0] != 0 || t->gather_ptr[t->n + t->off_rows] != t->off_rows)
    BROKEN("%d of %d updates are gathered", t->gather_ptr[t->n + t->off_rows], t->off_rows);
  for (tsi_index c = 0; c < t->chunks; c++) {
    const tsi_device_node *node = &t->node[c];
    for (tsi_index j = node->column; j < node->column + node->columns; j++)
      TSI_TRY(check_list(env, t, chunks, node_of_row, j, c));
    for (tsi_index i = node->off; i < node->off + node->off_rows; i++)
      TSI_TRY(check_list(env, t, chunks, node_of_row, t->n + i, c));
  }
  return TRISTAR_OK;
}

static tristar_status check_owners(tsi_env *env, const tsi_device_tables *t, const tsi_chunks *chunks,
                                   const tsi_index *node_of_row) {
  for (tsi_index e = 0; e < t->off_rows; e++) {
    const tsi_index r = t->owner[e], owner = r >= 0 && r < t->workspace_rows ? node_of_row[r] : TSI_NONE;
    if (owner == TSI_NONE || r < t->node[owner].solution ||
        r >= t->node[owner].solution + t->node[owner].columns ||
        t->node[owner].column + r - t->node[owner].solution != chunks->off[e])
      BROKEN("off-row %d, column %d, is read from row %d of the workspace", e, chunks->off[e], r);
  }
  return TRISTAR_OK;
}

tristar_status tsi_device_tables_check(tsi_env *env, const tsi_device_tables *tables,
                                       const tsi_tables_source *source) {
  TSI_TRY(check_block(env, tables));
  TSI_TRY(check_nodes(env, tables, source->chunks));
  TSI_TRY(check_panels(env, tables, source));
  /* [rows of the workspace]: their chunk; TSI_NONE: none */
  TSI_SCRATCH(env, tsi_index, node_of_row, tables->workspace_rows);
  for (tsi_index r = 0; r < tables->workspace_rows; r++) node_of_row[r] = TSI_NONE;
  for (tsi_index c = 0; c < tables->chunks; c++) {
    const tsi_device_node *node = &tables->node[c];
    for (tsi_index r = node->x; r < node->sums; r++) node_of_row[r] = c;
    for (tsi_index k = 0; k < node->columns; k++) node_of_row[node->solution + k] = c;
  }
  TSI_TRY(check_gather(env, tables, source->chunks, node_of_row));
  TSI_TRY(check_owners(env, tables, source->chunks, node_of_row));
  TSI_TRY(tsi_device_order_check(env, tables, node_of_row, false));
  return tsi_device_order_check(env, tables, node_of_row, true);
}
