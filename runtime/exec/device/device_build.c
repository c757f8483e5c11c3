/* See device_build.h. */
#include "runtime/exec/device/device_build.h"

#include <math.h>

#include "runtime/exec/device/device_block.h"
#include "runtime/exec/device/device_order.h"

/* Bytes that a warp streams in the time that it takes for a panel in addition to streaming. */
static double panel_weight(const tsi_device_options *options) {
  return options->costs.warp_seconds * options->costs.warp_bandwidth;
}

tsi_chunk_options tsi_device_chunk_options(const tsi_device_options *options) {
  return (tsi_chunk_options){.ceiling_bytes = options->node_bytes,
                             .group_bytes = options->group_bytes,
                             .panel_bytes = panel_weight(options),
                             .slice_bytes = options->node_bytes / 2,
                             .scalar_bytes = options->scalar_bytes};
}

/* ---- Weights ------------------------------------------------------------------------------------------- */

/* Entries of rows begin .. end-1 of a triangle. */
static double triangle_entries(double begin, double end) {
  return (end * (end + 1) - begin * (begin + 1)) / 2;
}

double tsi_device_node_bytes(const tsi_device_tables *tables, tsi_index number, size_t scalar_bytes) {
  const tsi_device_node *node = &tables->node[number];
  const double count = node->count;
  double entries = 0;
  if (node->kind == TSI_DEVICE_SLICED) return 0;
  if (node->kind == TSI_DEVICE_TRIANGLE)
    return triangle_entries(node->first, node->first + count) * (double)scalar_bytes;
  for (tsi_index p = node->panel; p < node->panel + node->panels; p++) {
    const double w = tables->panel[p].width;
    entries +=
        node->kind == TSI_DEVICE_SLICE ? w * count : triangle_entries(0, w) + w * tables->panel[p].height;
  }
  return entries * (double)scalar_bytes;
}

double tsi_device_node_latency(const tsi_device_tables *tables, tsi_index number,
                               const tsi_device_costs *costs) {
  const tsi_device_node *node = &tables->node[number];
  const bool walks = node->kind == TSI_DEVICE_CHUNK || node->kind == TSI_DEVICE_WARP ||
                     (node->kind == TSI_DEVICE_TRIANGLE && tables->inverse == TSI_INVERSE_NONE);
  if (!walks) return costs->node_seconds;
  return costs->node_seconds +
         node->panels * (node->kind == TSI_DEVICE_WARP ? costs->warp_seconds : costs->panel_seconds);
}

static tristar_status weigh_nodes(tsi_env *env, const tsi_device_tables *tables,
                                  const tsi_device_options *options, double **seconds) {
  const tsi_device_costs *costs = &options->costs;
  TSI_TRY(TSI_ALLOC(env, *seconds, tables->nodes));
  for (tsi_index v = 0; v < tables->nodes; v++) {
    const bool warp = tables->node[v].kind == TSI_DEVICE_WARP;
    (*seconds)[v] = tsi_device_node_latency(tables, v, costs) +
                    tsi_device_node_bytes(tables, v, options->scalar_bytes) /
                        (warp ? costs->warp_bandwidth : costs->block_bandwidth);
  }
  return TRISTAR_OK;
}

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/* Source of the tables, and their parts before these are copied to one block of memory. */
typedef struct making {
  tsi_env *env;
  const tsi_tables_source *source;
  const tsi_device_options *options;
  tsi_device_tables *t; /* its pointers are NULL, except the panels of `cpu` and the parts created here */
  tsi_tables cpu;
  tsi_device_node *node;
  tsi_index *gather_ptr, *gather, *owner;
  tsi_device_tickets tickets[2];
} making;

static tsi_index round_up(tsi_index rows) {
  return (rows + TSI_ROW_BLOCK - 1) / TSI_ROW_BLOCK * TSI_ROW_BLOCK;
}

/* Number of nodes into which the triangle of a sliced chunk with so many columns is cut: none is much lighter
 * than a slice. */
static tsi_index triangle_pieces(const making *m, tsi_index columns) {
  const double bytes = triangle_entries(0, columns) * (double)m->options->scalar_bytes,
               pieces = bytes / m->options->node_bytes * 2;
  const tsi_index most = columns / (2 * TSI_ROW_BLOCK); /* the last one is half as high as the average */
  if (m->t->inverse == TSI_INVERSE_NONE || pieces < 2 || most < 2) return 1;
  return pieces < most ? (tsi_index)pieces : most;
}

/* The first row of piece k of a triangle: pieces have about equal numbers of entries. */
static tsi_index piece_begin(tsi_index columns, tsi_index pieces, tsi_index k) {
  const tsi_index row = round_up((tsi_index)(columns * sqrt((double)k / pieces)));
  return row < columns ? row : columns;
}

static tsi_device_node describe_chunk(const tsi_solve_chunk *chunk) {
  const tsi_index x = (tsi_index)chunk->workspace, update = x + chunk->update;
  return (tsi_device_node){.kind = TSI_DEVICE_CHUNK,
                           .panel = chunk->panel,
                           .panels = chunk->panels,
                           .column = chunk->column,
                           .columns = chunk->columns,
                           .x = x,
                           .update = update,
                           .solution = x,
                           .off = (tsi_index)chunk->off,
                           .off_rows = chunk->off_rows,
                           .sums = update + chunk->off_rows,
                           .count = chunk->off_rows};
}

/* Sets the rows of piece k of a triangle, and the columns that are their mirror image. */
static void describe_piece(tsi_index pieces, tsi_index k, tsi_device_node *node) {
  const tsi_index columns = node->columns, mirror = round_up(columns);
  node->first = piece_begin(columns, pieces, k);
  node->count = piece_begin(columns, pieces, k + 1) - node->first;
  node->begin = mirror - round_up(node->first + node->count);
  node->end = tsi_index_min(columns, mirror - node->first);
}

/* Describes the nodes of sliced chunk c; the nodes of its triangle begin at *piece. */
static void describe_sliced(const making *m, tsi_index c, tsi_index *piece) {
  const tsi_solve_chunk *chunk = &m->cpu.chunk[c];
  const tsi_index chunks = m->source->sweep->chunks, pieces = triangle_pieces(m, chunk->columns);
  tsi_device_node *node = &m->node[c];
  for (tsi_index k = 0; k < chunk->slices; k++) {
    tsi_device_node *slice = &m->node[chunks + chunk->slice + k];
    *slice = *node;
    slice->kind = TSI_DEVICE_SLICE;
    slice->sums = node->sums + k * node->columns;
    slice->first = m->cpu.slice[chunk->slice + k].first;
    slice->count = m->cpu.slice[chunk->slice + k].count;
    if (k % TSI_SUM_SLICES != 0 || k + TSI_SUM_SLICES >= chunk->slices) continue;
    slice->add = slice->sums + TSI_SUM_SLICES * node->columns;
    slice->adds = tsi_index_min(TSI_SUM_SLICES, chunk->slices - k - TSI_SUM_SLICES);
  }
  for (tsi_index k = 0; k < pieces; k++) {
    tsi_device_node *triangle = &m->node[*piece + k];
    *triangle = *node;
    triangle->kind = TSI_DEVICE_TRIANGLE;
    triangle->add = node->sums;
    triangle->adds = tsi_index_min(TSI_SUM_SLICES, chunk->slices);
    describe_piece(pieces, k, triangle);
  }
  node->kind = TSI_DEVICE_SLICED;
  node->slice = chunks + chunk->slice;
  node->slices = chunk->slices;
  node->piece = *piece;
  node->pieces = pieces;
  *piece += pieces;
}

static tsi_index count_nodes(const making *m) {
  tsi_index nodes = m->source->sweep->nodes;
  for (tsi_index c = 0; c < m->t->chunks; c++)
    if (m->cpu.chunk[c].slices > 0) nodes += triangle_pieces(m, m->cpu.chunk[c].columns);
  return nodes;
}

/* Describes all nodes. Rows for solutions follow the rows of the CPU's tables. */
static tristar_status describe_nodes(making *m) {
  tsi_env *env = m->env;
  tsi_count rows = m->cpu.workspace_rows;
  tsi_index piece = m->source->sweep->nodes;
  for (tsi_index c = 0; c < m->t->chunks; c++)
    if (m->cpu.chunk[c].slices > 0) rows += m->cpu.chunk[c].columns;
  if (rows > TSI_INDEX_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld rows of a workspace for %d chunks are beyond %d",
             (long long)rows, m->t->chunks, TSI_INDEX_MAX);
  m->t->workspace_rows = (tsi_index)m->cpu.workspace_rows;
  for (tsi_index c = 0; c < m->t->chunks; c++) {
    m->node[c] = describe_chunk(&m->cpu.chunk[c]);
    if (m->cpu.chunk[c].slices == 0) continue;
    m->node[c].solution = m->t->workspace_rows;
    m->t->workspace_rows += m->node[c].columns;
    describe_sliced(m, c, &piece);
  }
  return TRISTAR_OK;
}

static bool is_narrow(const tsi_panel *panel, tsi_index count) {
  for (tsi_index p = 0; p < count; p++)
    if (panel[p].width > TSI_WARP_WIDTH) return false;
  return true;
}

static void choose_warps(const making *m) {
  const tsi_device_options *options = m->options;
  for (tsi_index c = 0; c < m->t->chunks; c++) {
    tsi_device_node *node = &m->node[c];
    if (node->kind == TSI_DEVICE_CHUNK && is_narrow(m->t->panel + node->panel, node->panels) &&
        tsi_device_node_bytes(m->t, c, options->scalar_bytes) + node->panels * panel_weight(options) <=
            options->warp_bytes)
      node->kind = TSI_DEVICE_WARP;
  }
}

/* ---- Lists --------------------------------------------------------------------------------------------- */

/* The list that gathers off-row i of chunk c: the list of the parent's off-row with the same column, if there
 * is one; else the list of the column. at: where the search in the parent's off-rows continues, as columns
 * ascend. */
static tsi_index list_of(const making *m, tsi_index c, tsi_index parent, tsi_index i, tsi_index *at) {
  const tsi_chunks *chunks = m->source->chunks;
  const tsi_index *off = chunks->off + chunks->off_ptr[parent], column = chunks->off[chunks->off_ptr[c] + i];
  const tsi_index off_rows = tsi_chunk_off_rows(chunks, parent);
  if (column < chunks->column[parent + 1]) return column;
  while (*at < off_rows && off[*at] < column) ++*at;
  return *at < off_rows && off[*at] == column ? m->t->n + (tsi_index)chunks->off_ptr[parent] + *at : column;
}

/* Fills gather_ptr, from the list of each off-row, and gather, chunks ascending. */
static void list_gathers(const making *m, const tsi_index *list) {
  const tsi_index lists = m->t->n + m->t->off_rows;
  for (tsi_index l = 0; l <= lists; l++) m->gather_ptr[l] = 0;
  for (tsi_index e = 0; e < m->t->off_rows; e++) m->gather_ptr[list[e] + 1]++;
  for (tsi_index l = 0; l < lists; l++) m->gather_ptr[l + 1] += m->gather_ptr[l];
  for (tsi_index c = 0; c < m->t->chunks; c++)
    for (tsi_index i = 0; i < m->node[c].off_rows; i++)
      m->gather[m->gather_ptr[list[m->node[c].off + i]]++] = m->node[c].update + i;
  for (tsi_index l = lists; l > 0; l--) m->gather_ptr[l] = m->gather_ptr[l - 1];
  m->gather_ptr[0] = 0;
}

static tristar_status list_rows(making *m) {
  tsi_env *env = m->env;
  const tsi_chunks *chunks = m->source->chunks;
  const tsi_sweep *sweep = m->source->sweep;
  tsi_index at = 0;
  TSI_SCRATCH(env, tsi_index, list, m->t->off_rows);
  for (tsi_count q = 0; q < sweep->pairs; q++) {
    const tsi_sweep_pair *pair = &sweep->pair[q];
    const tsi_device_node *from = &m->node[pair->source], *to = &m->node[pair->target];
    const tsi_index parent = sweep->pair[sweep->source_ptr[pair->source]].target;
    if (pair->first == 0) at = 0;
    for (tsi_index i = pair->first; i < pair->first + pair->count; i++) {
      m->owner[from->off + i] = to->solution + chunks->off[from->off + i] - to->column;
      list[from->off + i] = list_of(m, pair->source, parent, i, &at);
    }
  }
  list_gathers(m, list);
  return TRISTAR_OK;
}

/* ---- One block of memory ------------------------------------------------------------------------------- */

/* Places the sweep's arrays in the block at `block`, beginning at `bytes`; returns the end. */
static size_t place_sweep(const tsi_device_tickets *tickets, tsi_index nodes, char *block, size_t bytes,
                          tsi_device_sweep *sweep) {
  tsi_device_ticket *ticket;
  tsi_index *order, *before;
  sweep->tickets = tickets->tickets;
  sweep->waits = tickets->waits;
  TSI_TAKE(ticket, sweep->ticket, tickets->tickets);
  TSI_TAKE(order, sweep->order, nodes);
  TSI_TAKE(before, sweep->before, tickets->waits);
  if (block) {
    memcpy(ticket, tickets->ticket, (size_t)tickets->tickets * sizeof *ticket);
    memcpy(order, tickets->order, (size_t)nodes * sizeof *order);
    memcpy(before, tickets->before, (size_t)tickets->waits * sizeof *before);
  }
  return bytes;
}

/* Places all other arrays. */
static size_t place_arrays(const making *m, char *block, tsi_device_tables *t) {
  size_t bytes = 0;
  tsi_device_node *node;
  tsi_panel *panel;
  tsi_index *row, *gather_ptr, *gather, *owner;
  const tsi_count lists = (tsi_count)t->n + t->off_rows;
  TSI_TAKE(node, t->node, t->nodes);
  TSI_TAKE(panel, t->panel, t->panels);
  TSI_TAKE(row, t->row, t->rows);
  TSI_TAKE(gather_ptr, t->gather_ptr, lists + 1);
  TSI_TAKE(gather, t->gather, t->off_rows);
  TSI_TAKE(owner, t->owner, t->off_rows);
  if (block) {
    memcpy(node, m->node, (size_t)t->nodes * sizeof *node);
    memcpy(panel, m->cpu.panel, (size_t)t->panels * sizeof *panel);
    memcpy(row, m->source->chunks->local_row, (size_t)t->rows * sizeof *row);
    memcpy(gather_ptr, m->gather_ptr, ((size_t)lists + 1) * sizeof *gather_ptr);
    memcpy(gather, m->gather, (size_t)t->off_rows * sizeof *gather);
    memcpy(owner, m->owner, (size_t)t->off_rows * sizeof *owner);
  }
  return bytes;
}

static tristar_status fill_block(const making *m) {
  tsi_env *env = m->env;
  tsi_device_tables *t = m->t;
  const size_t middle = place_arrays(m, NULL, t),
               end = place_sweep(&m->tickets[0], t->nodes, NULL, middle, &t->forward);
  t->bytes = place_sweep(&m->tickets[1], t->nodes, NULL, end, &t->backward);
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, t->block, t->bytes, 1));
  (void)place_arrays(m, t->block, t);
  (void)place_sweep(&m->tickets[0], t->nodes, t->block, middle, &t->forward);
  (void)place_sweep(&m->tickets[1], t->nodes, t->block, end, &t->backward);
  return TRISTAR_OK;
}

/* Creates nodes, lists and tickets, in separate memory. */
static tristar_status make_parts(making *m) {
  tsi_env *env = m->env;
  tsi_device_tables *t = m->t;
  TSI_OWNED double *seconds = NULL;
  TSI_TRY(tsi_tables_create(m, m->source, &m->cpu));
  t->nodes = count_nodes(m);
  TSI_TRY(TSI_ALLOC_IN(m, m->node, t->nodes));
  TSI_TRY(TSI_ALLOC_IN(m, m->gather_ptr, (tsi_count)t->n + t->off_rows + 1));
  TSI_TRY(TSI_ALLOC_IN(m, m->gather, t->off_rows));
  TSI_TRY(TSI_ALLOC_IN(m, m->owner, t->off_rows));
  t->panel = m->cpu.panel;
  t->node = m->node;
  t->gather_ptr = m->gather_ptr;
  t->gather = m->gather;
  TSI_TRY(describe_nodes(m));
  choose_warps(m);
  TSI_TRY(list_rows(m));
  TSI_TRY(weigh_nodes(env, t, m->options, &seconds));
  for (int backward = 0; backward < 2; backward++)
    TSI_TRY(tsi_device_tickets_create(m, t, m->source->sweep, backward, seconds, &m->tickets[backward]));
  return TRISTAR_OK;
}

tristar_status tsi_device_tables_create(tsi_env *env, const tsi_tables_source *source, tsi_inverse inverse,
                                        const tsi_device_options *options, tsi_device_tables *tables) {
  const tsi_chunks *chunks = source->chunks;
  *tables = (tsi_device_tables){.inverse = inverse,
                                .n = chunks->count > 0 ? chunks->column[chunks->count] : 0,
                                .panels = source->panels->count,
                                .chunks = chunks->count,
                                .off_rows = (tsi_index)chunks->off_ptr[chunks->count],
                                .rows = chunks->local_rows};
  TSI_SCRATCH(env, making, m, 1);
  *m = (making){.env = env, .source = source, .options = options, .t = tables};
  TSI_TRY(make_parts(m));
  TSI_TRY(fill_block(m));
  return env->check ? tsi_device_tables_check(env, tables, source) : TRISTAR_OK;
}

void tsi_device_tables_destroy(tsi_device_tables *tables) {
  tsi_release(tables->block);
  *tables = (tsi_device_tables){0};
}

void tsi_device_interchanges(const tsi_panels *panels, const tsi_index *pivots, tsi_index *from) {
  for (tsi_index p = 0; p < panels->count; p++) {
    const tsi_index *pivot = pivots + panels->start[p];
    tsi_index *to = from + panels->start[p];
    const tsi_index width = tsi_panel_width(panels, p);
    for (tsi_index k = 0; k < width; k++) to[k] = k;
    for (tsi_index k = 0; k < width; k++) {
      const tsi_index swap = to[k];
      to[k] = to[pivot[k]];
      to[pivot[k]] = swap;
    }
  }
}
