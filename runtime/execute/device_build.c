/* See device_build.h. */
#include "runtime/execute/device_build.h"

#include "runtime/execute/device_block.h"
#include "runtime/execute/device_order.h"

tsi_chunk_options tsi_device_chunk_options(const tsi_device_options *options) {
  return (tsi_chunk_options){.ceiling_bytes = options->node_bytes,
                             .group_bytes = options->group_bytes,
                             .slice_bytes = options->node_bytes / 2,
                             .scalar_bytes = options->scalar_bytes};
}

/* ---- Weights ------------------------------------------------------------------------------------------- */

double tsi_device_node_bytes(const tsi_device_tables *tables, tsi_index number, size_t scalar_bytes) {
  const tsi_device_node *node = &tables->node[number];
  double entries = 0;
  for (tsi_index p = node->panel; p < node->panel + node->panels; p++) {
    const double w = tables->panel[p].width;
    if (node->kind != TSI_DEVICE_SLICE) entries += w * (w + 1) / 2;
    if (node->kind != TSI_DEVICE_SLICED)
      entries += w * (node->kind == TSI_DEVICE_SLICE ? node->count : tables->panel[p].height);
  }
  return entries * (double)scalar_bytes;
}

double tsi_device_node_latency(const tsi_device_node *node, const tsi_device_costs *costs) {
  const double panel = node->kind == TSI_DEVICE_WARP    ? costs->warp_seconds
                       : node->kind == TSI_DEVICE_SLICE ? 0
                                                        : costs->panel_seconds;
  return costs->node_seconds + node->panels * panel;
}

static tristar_status weigh_nodes(tsi_env *env, const tsi_device_tables *tables,
                                  const tsi_device_options *options, double **seconds) {
  tristar_status status = TRISTAR_OK;
  const tsi_device_costs *costs = &options->costs;
  TSI_TRY(TSI_ALLOC(env, *seconds, tables->nodes));
  for (tsi_index v = 0; v < tables->nodes; v++) {
    const bool warp = tables->node[v].kind == TSI_DEVICE_WARP;
    (*seconds)[v] = tsi_device_node_latency(&tables->node[v], costs) +
                    tsi_device_node_bytes(tables, v, options->scalar_bytes) /
                        (warp ? costs->warp_bandwidth : costs->block_bandwidth);
  }
out:
  return status;
}

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/* Arrays of the tables while they are written. */
typedef struct arrays {
  tsi_device_node *node;
  tsi_panel *panel;
  tsi_index *row, *gather_ptr, *gather, *owner;
} arrays;

static bool is_narrow(const tsi_panel *panel, tsi_index count) {
  for (tsi_index p = 0; p < count; p++)
    if (panel[p].width > TSI_WARP_WIDTH) return false;
  return true;
}

static tsi_device_node describe_chunk(const tsi_solve_chunk *chunk, tsi_index chunks) {
  const tsi_index x = (tsi_index)chunk->workspace, update = x + chunk->update;
  return (tsi_device_node){.kind = chunk->slices > 0 ? TSI_DEVICE_SLICED : TSI_DEVICE_CHUNK,
                           .panel = chunk->panel,
                           .panels = chunk->panels,
                           .column = chunk->column,
                           .columns = chunk->columns,
                           .x = x,
                           .update = update,
                           .off = (tsi_index)chunk->off,
                           .off_rows = chunk->off_rows,
                           .sums = update + chunk->off_rows,
                           .slice = chunk->slices > 0 ? chunks + chunk->slice : 0,
                           .slices = chunk->slices,
                           .count = chunk->off_rows};
}

static void describe_nodes(const tsi_tables *cpu, const tsi_sweep *sweep, tsi_device_node *node) {
  for (tsi_index c = 0; c < sweep->chunks; c++) {
    node[c] = describe_chunk(&cpu->chunk[c], sweep->chunks);
    for (tsi_index k = 0; k < node[c].slices; k++) {
      tsi_device_node *slice = &node[node[c].slice + k];
      *slice = node[c];
      slice->kind = TSI_DEVICE_SLICE;
      slice->sums = node[c].sums + k * node[c].columns;
      slice->slice = slice->slices = 0;
      slice->first = cpu->slice[node[c].slice + k - sweep->chunks].first;
      slice->count = cpu->slice[node[c].slice + k - sweep->chunks].count;
    }
  }
}

static void choose_warps(const tsi_device_tables *tables, const tsi_device_options *options,
                         tsi_device_node *node) {
  for (tsi_index c = 0; c < tables->chunks; c++)
    if (node[c].kind == TSI_DEVICE_CHUNK && is_narrow(tables->panel + node[c].panel, node[c].panels) &&
        tsi_device_node_bytes(tables, c, options->scalar_bytes) <= options->warp_bytes)
      node[c].kind = TSI_DEVICE_WARP;
}

/* Where x of final column j of a chunk is. */
static tsi_index x_row(const tsi_device_node *node, tsi_index j) {
  return node->x + j - node->column;
}

/* Off-rows by column, chunks ascending; and where their columns are. */
static void list_rows(const tsi_tables_source *source, arrays *a, tsi_index n) {
  const tsi_chunks *chunks = source->chunks;
  const tsi_sweep *sweep = source->sweep;
  const tsi_count off_rows = chunks->off_ptr[chunks->count];
  for (tsi_index j = 0; j <= n; j++) a->gather_ptr[j] = 0;
  for (tsi_count e = 0; e < off_rows; e++) a->gather_ptr[chunks->off[e] + 1]++;
  for (tsi_index j = 0; j < n; j++) a->gather_ptr[j + 1] += a->gather_ptr[j];
  for (tsi_count q = 0; q < sweep->pairs; q++) {
    const tsi_device_node *from = &a->node[sweep->pair[q].source], *to = &a->node[sweep->pair[q].target];
    for (tsi_index i = sweep->pair[q].first; i < sweep->pair[q].first + sweep->pair[q].count; i++) {
      const tsi_index j = chunks->off[from->off + i];
      a->owner[from->off + i] = x_row(to, j);
      a->gather[a->gather_ptr[j]++] = from->update + i;
    }
  }
  for (tsi_index j = n; j > 0; j--) a->gather_ptr[j] = a->gather_ptr[j - 1];
  a->gather_ptr[0] = 0;
}

/* ---- One block of memory ------------------------------------------------------------------------------- */

/* Where the sweep's arrays are, in the block at `block` from `bytes` on; gives the end. */
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

/* Where all other arrays are. */
static size_t place_arrays(tsi_device_tables *t, char *block, arrays *a) {
  size_t bytes = 0;
  TSI_TAKE(a->node, t->node, t->nodes);
  TSI_TAKE(a->panel, t->panel, t->panels);
  TSI_TAKE(a->row, t->row, t->rows);
  TSI_TAKE(a->gather_ptr, t->gather_ptr, (tsi_count)t->n + 1);
  TSI_TAKE(a->gather, t->gather, t->off_rows);
  TSI_TAKE(a->owner, t->owner, t->off_rows);
  return bytes;
}

static tristar_status check_sizes(tsi_env *env, const tsi_tables_source *source, const tsi_tables *cpu) {
  tristar_status status = TRISTAR_OK;
  if (cpu->workspace_rows > TSI_INDEX_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld rows of a workspace for %d chunks are beyond %d",
             (long long)cpu->workspace_rows, source->chunks->count, TSI_INDEX_MAX);
out:
  return status;
}

/* Nodes, as their tickets are made from them: in memory of their own. */
static tristar_status make_tickets(tsi_env *env, const tsi_tables *cpu, const tsi_tables_source *source,
                                   const tsi_device_options *options, tsi_device_tables *t,
                                   tsi_device_node *node, tsi_device_tickets tickets[2]) {
  tristar_status status = TRISTAR_OK;
  double *seconds = NULL;
  t->panel = cpu->panel;
  t->node = node;
  describe_nodes(cpu, source->sweep, node);
  choose_warps(t, options, node);
  TSI_TRY(weigh_nodes(env, t, options, &seconds));
  for (int backward = 0; backward < 2; backward++)
    TSI_TRY(tsi_device_tickets_create(env, source->sweep, backward, node, seconds, &tickets[backward]));
out:
  TSI_FREE(env, seconds);
  return status;
}

tristar_status tsi_device_tables_create(tsi_env *env, const tsi_tables_source *source, tsi_inverse inverse,
                                        const tsi_device_options *options, tsi_device_tables *tables) {
  tristar_status status = TRISTAR_OK;
  const tsi_chunks *chunks = source->chunks;
  tsi_tables cpu = {0};
  tsi_device_tickets tickets[2] = {{0}, {0}};
  tsi_device_node *node = NULL;
  arrays a;
  *tables = (tsi_device_tables){0};
  TSI_TRY(tsi_tables_create(env, source, &cpu));
  TSI_TRY(check_sizes(env, source, &cpu));
  *tables = (tsi_device_tables){.inverse = inverse,
                                .n = chunks->count > 0 ? chunks->column[chunks->count] : 0,
                                .panels = source->panels->count,
                                .chunks = chunks->count,
                                .nodes = source->sweep->nodes,
                                .off_rows = (tsi_index)chunks->off_ptr[chunks->count],
                                .workspace_rows = (tsi_index)cpu.workspace_rows,
                                .rows = chunks->local_rows};
  TSI_TRY(TSI_ALLOC(env, node, tables->nodes));
  TSI_TRY(make_tickets(env, &cpu, source, options, tables, node, tickets));
  const size_t middle = place_arrays(tables, NULL, &a),
               end = place_sweep(&tickets[0], tables->nodes, NULL, middle, &tables->forward);
  tables->bytes = place_sweep(&tickets[1], tables->nodes, NULL, end, &tables->backward);
  TSI_TRY(tsi_allocate_zero(env, tables->bytes, 1, __func__, __FILE__, __LINE__, &tables->block));
  (void)place_arrays(tables, tables->block, &a);
  (void)place_sweep(&tickets[0], tables->nodes, tables->block, middle, &tables->forward);
  (void)place_sweep(&tickets[1], tables->nodes, tables->block, end, &tables->backward);
  memcpy(a.node, node, (size_t)tables->nodes * sizeof *node);
  memcpy(a.panel, cpu.panel, (size_t)tables->panels * sizeof *a.panel);
  memcpy(a.row, chunks->local_row, (size_t)tables->rows * sizeof *a.row);
  list_rows(source, &a, tables->n);
  if (env->check) TSI_TRY(tsi_device_tables_check(env, tables, source));
out:
  tsi_tables_destroy(env, &cpu);
  for (int k = 0; k < 2; k++) tsi_device_tickets_destroy(env, &tickets[k]);
  TSI_FREE(env, node);
  if (status != TRISTAR_OK) tsi_device_tables_destroy(env, tables);
  return status;
}

void tsi_device_tables_destroy(tsi_env *env, tsi_device_tables *tables) {
  TSI_FREE(env, tables->block);
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
