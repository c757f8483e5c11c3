/* See device_memory.h. */
#include "runtime/solve/device_memory.h"

#include "codelets/cpu/base/panel.h"
#include "partition/order/borders.h"
#include "runtime/exec/device/subtree_tables.h"

/* Average bytes of tables per border row: its entry of gather_ptr, and its share of a node with two tickets
 * and their lists of waits. */
#define BORDER_TABLE_BYTES 12.0

/* ---- Estimates ----------------------------------------------------------------------------------------- */

void tsi_device_memory_finish(tsi_device_memory *memory) {
  tsi_release(tsi_take(&memory->stored));
  tsi_release(tsi_take(&memory->extra));
  tsi_release(tsi_take(&memory->scratch));
  tsi_release(tsi_take(&memory->border));
}

static tristar_status allocate(tsi_env *env, tsi_index count, tsi_device_memory *memory) {
  *memory = (tsi_device_memory){NULL, NULL, NULL, NULL};
  TSI_TRY(TSI_ALLOC_ZERO(env, memory->stored, count));
  TSI_TRY(TSI_ALLOC_ZERO(env, memory->extra, count));
  TSI_TRY(TSI_ALLOC_ZERO(env, memory->scratch, count));
  return TSI_ALLOC_ZERO(env, memory->border, count);
}

/* Sets the bytes of the factor that residents.c registers; they may be too large by the scalars before a
 * subtree that align its stream. */
static void find_stored(const tristar_factor_t *factor, double *stored, tsi_device_split_costs *costs) {
  const tristar_analysis_t *an = factor->analysis;
  const double scalar = (double)factor->scalar_bytes;
  const void *stream[2] = {factor->lower, factor->upper};
  const double column = (factor->pivots ? sizeof(tsi_index) : 0) + (factor->inverse ? 2 * scalar : 0);
  costs->subtree_bytes = 0;
  for (int k = 0; k < 2; k++) {
    const tsi_structure side = tsi_analysis_structure(an, k < tsi_analysis_sides(an) ? k : 0);
    if (stream[k] == NULL) continue;
    for (tsi_index s = 0; s < an->symbolic->count; s++)
      stored[s] += scalar * (double)(side.panel_values[side.panels->first[s + 1]] -
                                     side.panel_values[side.panels->first[s]]);
    costs->subtree_bytes += scalar * (TSI_SUBTREE_ALIGNMENT - 1 + TSI_STREAM_PAD);
  }
  for (tsi_index s = 0; s < an->symbolic->count; s++)
    stored[s] += column * (an->symbolic->start[s + 1] - an->symbolic->start[s]);
}

/* Counts the rows that a subtree shares with the cores in a solve: its border. If the sides differ, it is the
 * mean of both borders, because one of them crosses the bus in each sweep. */
static tristar_status find_borders(tsi_env *env, const tristar_analysis_t *an, tsi_index *border) {
  TSI_TRY(tsi_borders_count(env, an->symbolic, border));
  if (tsi_analysis_sides(an) == 1) return TRISTAR_OK;
  TSI_SCRATCH(env, tsi_index, other, an->symbolic->count);
  TSI_TRY(tsi_borders_count(env, an->other.symbolic, other));
  for (tsi_index s = 0; s < an->symbolic->count; s++) border[s] = (border[s] + other[s] + 1) / 2;
  return TRISTAR_OK;
}

/* Returns the bytes of tables of a chunk: its nodes, lists, rows of panels, but not its tickets. */
static double table_bytes(const tsi_device_tables *t, const tsi_device_node *node) {
  double indices = node->columns + 3.0 * node->off_rows, bytes;
  const tsi_panel *panel = t->panel + node->panel;
  for (tsi_index p = 0; p < node->panels; p++) /* panels of a supernode share rows */
    if (p == 0 || panel[p].row != panel[p - 1].row + panel[p].width) indices += panel[p].height;
  bytes = (1.0 + node->pieces + node->slices) * sizeof *node + (double)node->panels * sizeof *panel;
  return bytes + indices * sizeof(tsi_index);
}

static double ticket_bytes(const tsi_device_ticket *ticket) {
  return (double)sizeof *ticket + (double)(ticket->nodes + ticket->befores) * sizeof(tsi_index);
}

/* Adds the bytes of each node in the tables to the supernode of its first panel. */
static void add_tables(const tsi_panels *panels, const tsi_device_tables *t, double *bytes) {
  const tsi_device_sweep *sweep[2] = {&t->forward, &t->backward};
  for (tsi_index c = 0; c < t->chunks; c++)
    bytes[panels->supernode[t->node[c].panel]] += table_bytes(t, &t->node[c]);
  for (int k = 0; k < 2; k++)
    for (tsi_index i = 0; i < sweep[k]->tickets; i++)
      bytes[panels->supernode[t->node[sweep[k]->order[sweep[k]->ticket[i].first]].panel]] +=
          ticket_bytes(&sweep[k]->ticket[i]);
}

/* Returns the number of rows of the workspace of a chunk. */
static double workspace_rows(const tsi_device_node *node) {
  const double columns = node->columns;
  return (double)tsi_round_up_block(node->columns + node->off_rows) +
         (node->slices > 0 ? (node->slices + 1) * columns : 0);
}

tristar_status tsi_device_memory_estimate(tsi_env *env, const tristar_factor_t *factor,
                                          const tsi_device_plan *plan, tsi_device_split_costs *costs,
                                          tsi_device_memory *memory) {
  tristar_status status = TRISTAR_OK;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_symbolic *symbolic = an->symbolic;
  const double rows = costs->row_bytes * costs->solves;
  const int sides = plan->sides;
  TSI_TRY_OUT(allocate(env, symbolic->count, memory));
  find_stored(factor, memory->stored, costs);
  TSI_TRY_OUT(find_borders(env, an, memory->border));
  for (int i = 0; i < sides; i++) add_tables(an->panels, &plan->side[i].tables, memory->extra);
  for (tsi_index s = 0; s < symbolic->count; s++)
    memory->extra[s] += rows * (symbolic->start[s + 1] - symbolic->start[s]);
  const tsi_device_tables *t = &plan->side[0].tables;
  for (tsi_index c = 0; c < t->chunks; c++)
    memory->scratch[an->panels->supernode[t->node[c].panel]] += rows * workspace_rows(&t->node[c]);
  costs->stored = memory->stored;
  costs->extra = memory->extra;
  costs->scratch = memory->scratch;
  costs->border = memory->border;
  costs->border_bytes = sides * (BORDER_TABLE_BYTES + rows);
  costs->border_scratch = rows;
out:
  if (status != TRISTAR_OK) tsi_device_memory_finish(memory);
  return status;
}

/* ---- Of subtrees as they are cut ----------------------------------------------------------------------- */

size_t tsi_device_scratch_flags(const tsi_device_tables *tables, size_t row) {
  return ((size_t)tables->workspace_rows * row + 63) / 64 * 64;
}

/* The scratch ends with the counter of tickets and the flags. */
size_t tsi_device_scratch_bytes(const tsi_device_tables *tables, size_t row) {
  const tsi_index tickets = tsi_index_max(tables->forward.tickets, tables->backward.tickets);
  return tsi_device_scratch_flags(tables, row) + (1 + (size_t)tickets) * sizeof(int32_t);
}

/* Chunks of the factor, in which each subtree of a placing is one chunk. */
typedef struct cut_subtrees {
  int sides;
  tsi_index *device; /* supernodes */
  tsi_chunks *chunks[2];
} cut_subtrees;

static tristar_status cut(tsi_env *env, const tristar_analysis_t *an, const tsi_device_split_costs *costs,
                          const tsi_device_split *placing, cut_subtrees *c) {
  tsi_chunk_options options = costs->cut;
  tsi_side side[2];
  *c = (cut_subtrees){.sides = tsi_analysis_sides(an)};
  TSI_TRY(TSI_ALLOC(env, c->device, an->symbolic->count));
  tsi_device_split_devices(placing, an->symbolic, c->device);
  options.label = NULL;
  options.device = c->device;
  for (int i = 0; i < c->sides; i++)
    side[i] = (tsi_side){tsi_analysis_structure(an, i).symbolic, tsi_analysis_structure(an, i).panels};
  return tsi_chunks_create(env, c->sides, side, &options, c->chunks);
}

static void uncut(tsi_env *env, cut_subtrees *c) {
  TSI_FREE(env, c->device);
  for (int i = 0; i < 2; i++) TSI_FREE(env, c->chunks[i]);
}

/* Adds to *kept the bytes that a device stores in addition to the factor for chunk c, a subtree. Raises
 * *scratch to the scratch of the subtree, if that is larger. */
static tristar_status measure(tsi_env *env, const tristar_analysis_t *an, const tsi_device_options *options,
                              const tsi_device_split_costs *costs, const cut_subtrees *cuts, tsi_index c,
                              double *kept, double *scratch) {
  tsi_subtree_tables *subtree = NULL;
  for (int i = 0; i < cuts->sides; i++) {
    const tsi_structure side = tsi_analysis_structure(an, i);
    const tsi_subtree_source source = {
        cuts->chunks[i], side.symbolic, side.panels, side.panel_values, tsi_analysis_inverse(an), 0};
    TSI_TRY(tsi_subtree_tables_create(env, &source, c, options, &subtree));
    const double rows = subtree->subtree->border + (i == 0 ? subtree->subtree->columns : 0),
                 needs = (double)costs->solves *
                         (double)tsi_device_scratch_bytes(&subtree->tables, (size_t)costs->row_bytes);
    *kept += (double)subtree->tables.bytes + rows * costs->row_bytes * costs->solves;
    if (*scratch < needs) *scratch = needs;
    tsi_subtree_tables_destroy(&subtree);
  }
  return TRISTAR_OK;
}

tristar_status tsi_device_memory_measure(tsi_env *env, const tristar_factor_t *factor,
                                         const tsi_device_options *options,
                                         const tsi_device_split_costs *costs, const tsi_device_split *placing,
                                         double *bytes) {
  tristar_status status = TRISTAR_OK;
  const tristar_analysis_t *an = factor->analysis;
  cut_subtrees cuts = {.sides = 0};
  double *kept = NULL, *scratch = NULL;
  *bytes = 0;
  TSI_TRY_OUT(cut(env, an, costs, placing, &cuts));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, kept, placing->devices));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, scratch, placing->devices));
  for (tsi_index c = 0; c < cuts.chunks[0]->count; c++) {
    const tsi_index d = cuts.device[an->panels->supernode[cuts.chunks[0]->panel[c]]];
    if (d != TSI_NONE) TSI_TRY_OUT(measure(env, an, options, costs, &cuts, c, &kept[d], &scratch[d]));
  }
  for (tsi_index d = 0; d < placing->devices; d++) {
    const tsi_device_load *load = &placing->load[d];
    const double all = load->bytes + (double)load->subtrees * costs->subtree_bytes + kept[d] + scratch[d];
    if (*bytes < all) *bytes = all;
  }
out:
  uncut(env, &cuts);
  TSI_FREE(env, kept);
  TSI_FREE(env, scratch);
  return status;
}
