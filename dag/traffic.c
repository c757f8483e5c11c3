/* Counts messages and factor entries of all processes: see traffic.h. */
#include "dag/traffic.h"

tsi_traffic_class tsi_traffic_class_of(tsi_message_kind kind) {
  switch (kind) {
  case TSI_MESSAGE_FORWARD_X:
  case TSI_MESSAGE_BACKWARD_X:
  case TSI_MESSAGE_STRIPE:
  case TSI_MESSAGE_PANELS:
  case TSI_MESSAGE_AGREE:
    return TSI_TRAFFIC_BROADCAST;
  case TSI_MESSAGE_FORWARD_SUM:
  case TSI_MESSAGE_BACKWARD_SUM:
  case TSI_MESSAGE_COMPLEMENT:
    return TSI_TRAFFIC_REDUCTION;
  default:
    return TSI_TRAFFIC_GRIDS;
  }
}

typedef struct counter {
  const tsi_layout *layout;
  const tsi_panels *panels;
  tsi_index *owner; /* columns: the chunk */
  tsi_tree tree;
  tsi_traffic *traffic;
  tsi_pairs *pairs; /* NULL: not requested. */
  tsi_count *above; /* For the current grid, processes x (levels + 1): columns anchored above a level. */
} counter;

static void add(tsi_traffic_count *count, tsi_count rows) {
  count->messages++;
  count->rows += rows;
}

static tsi_count group_of(const tsi_pairs *pairs, tsi_index process) {
  return (tsi_count)process * pairs->cells / pairs->ranks;
}

static void add_message(const counter *co, tsi_traffic_class kind, tsi_index from, tsi_index to,
                        tsi_count rows) {
  const tsi_pairs *pairs = co->pairs;
  add(&co->traffic->rank[from].sent[kind], rows);
  add(&co->traffic->rank[to].received[kind], rows);
  if (pairs == NULL) return;
  add(&pairs->count[kind][group_of(pairs, from) * pairs->cells + group_of(pairs, to)], rows);
}

/* ---- In a grid ---------------------------------------------------------------------------------------- */

/* Counts the messages of the tree of chunk c: one down and one up for each member except the anchor. */
static void count_tree(const counter *co, const tsi_participant_list *list, tsi_index c, tsi_index z) {
  const tsi_layout *layout = co->layout;
  const tsi_index *process = list->process + list->ptr[c];
  const tsi_index members = (tsi_index)(list->ptr[c + 1] - list->ptr[c]) + 1;
  const tsi_index first = tsi_layout_rank(layout, 0, 0, z), columns = tsi_chunk_columns(layout->chunks, c);
  for (tsi_index i = 1; i < members; i++) {
    const tsi_index up = tsi_tree_parent(co->tree, i), child = first + process[i - 1];
    const tsi_index parent = up == 0 ? tsi_layout_anchor(layout, c, z) : first + process[up - 1];
    add_message(co, TSI_TRAFFIC_BROADCAST, parent, child, columns);
    add_message(co, TSI_TRAFFIC_REDUCTION, child, parent, columns);
  }
}

static tsi_count chunk_entries(const counter *co, tsi_index c) {
  tsi_count entries = 0;
  for (tsi_index p = co->layout->chunks->panel[c]; p < co->layout->chunks->panel[c + 1]; p++)
    entries += tsi_panel_entries(co->panels, p);
  return entries;
}

/* Counts the entries of chunk c that each process of grid z stores. */
static void count_entries(const counter *co, tsi_index c, tsi_index z) {
  const tsi_layout *layout = co->layout;
  const tsi_chunks *chunks = layout->chunks;
  const tsi_index first = tsi_layout_rank(layout, 0, 0, z), columns = tsi_chunk_columns(chunks, c);
  tsi_traffic_rank *rank = co->traffic->rank;
  tsi_count rest = chunk_entries(co, c);
  for (tsi_count q = chunks->off_ptr[c]; q < chunks->off_ptr[c + 1] && !layout->whole[c];) {
    const tsi_index target = co->owner[chunks->off[q]];
    const tsi_count begin = q;
    while (q < chunks->off_ptr[c + 1] && chunks->off[q] < chunks->column[target + 1]) q++;
    rank[first + tsi_layout_maker(layout, c, target)].entries += columns * (q - begin);
    rest -= columns * (q - begin);
  }
  rank[tsi_layout_anchor(layout, c, z)].entries += rest;
}

static tristar_status count_grid(tsi_env *env, const counter *co, tsi_index z) {
  const tsi_layout *layout = co->layout;
  TSI_OWNED tsi_participants *participants = NULL;
  TSI_TRY(tsi_participants_create(env, layout, z, &participants));
  for (tsi_index c = 0; c < layout->chunks->count; c++) {
    if (!tsi_layout_has(layout, z, layout->node[c])) continue;
    count_tree(co, &participants->holders, c, z);
    count_tree(co, &participants->contributors, c, z);
    if (tsi_layout_holds(layout, z, layout->node[c])) count_entries(co, c, z);
  }
  return TRISTAR_OK;
}

/* ---- Between grids ------------------------------------------------------------------------------------ */

static tsi_count *above_of(const counter *co, tsi_index process) {
  return co->above + (tsi_count)process * (co->layout->levels + 1);
}

static void find_above(const counter *co, tsi_index z) {
  const tsi_layout *layout = co->layout;
  const tsi_index levels = layout->levels, grid = layout->px * layout->py;
  memset(co->above, 0, (size_t)grid * ((size_t)levels + 1) * sizeof *co->above);
  for (tsi_index c = 0; c < layout->chunks->count; c++) {
    if (!tsi_layout_has(layout, z, layout->node[c])) continue;
    tsi_count *above = above_of(co, layout->row[c] + layout->px * layout->column[c]);
    for (tsi_index l = tsi_separator_level(layout->pz, layout->node[c]); l-- > 0;)
      above[l] += tsi_chunk_columns(layout->chunks, c);
  }
}

/* Counts messages between grid z and higher grids, so that each pair of grids is visited once. */
static void count_between(const counter *co, tsi_index z) {
  const tsi_layout *layout = co->layout;
  const tsi_index grid = layout->px * layout->py;
  find_above(co, z);
  for (tsi_index process = 0; process < grid; process++)
    for (tsi_index l = 0; l < layout->levels; l++) {
      const tsi_index bit = 1 << l, here = process + grid * z, there = process + grid * (z + bit);
      const tsi_count rows = above_of(co, process)[l];
      /* Replicated: all pairs that differ in bit l. Otherwise: pairs whose upper grid is an odd multiple of
       * it. */
      if ((z & bit) != 0 || (!layout->replicated && (z & (bit - 1)) != 0) || rows == 0) continue;
      add_message(co, TSI_TRAFFIC_GRIDS, here, there, rows);
      add_message(co, TSI_TRAFFIC_GRIDS, there, here, rows);
    }
}

/* ---- All ---------------------------------------------------------------------------------------------- */

/* Counts everything into co->traffic, which it creates, and co->pairs. */
static tristar_status count_all(tsi_env *env, counter *co) {
  tristar_status status = TRISTAR_OK;
  const tsi_layout *layout = co->layout;
  const tsi_count grid = (tsi_count)layout->px * layout->py;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, co->traffic, 1));
  co->traffic->ranks = tsi_layout_ranks(layout);
  co->traffic->grid_steps = layout->levels * (layout->replicated ? 1 : 2);
  TSI_TRY_OUT(TSI_ALLOC_ZERO_IN(co->traffic, co->traffic->rank, co->traffic->ranks));
  TSI_TRY_OUT(TSI_ALLOC(env, co->owner, co->panels->start[co->panels->count]));
  TSI_TRY_OUT(TSI_ALLOC(env, co->above, grid * (layout->levels + 1)));
  tsi_chunk_owners(layout->chunks, co->owner);
  for (tsi_index z = 0; z < layout->pz; z++) {
    TSI_TRY_OUT(count_grid(env, co, z));
    count_between(co, z);
  }
  if (env->check) TSI_TRY_OUT(tsi_traffic_check(env, co->traffic, layout, co->panels));
out:
  TSI_FREE(env, co->owner);
  TSI_FREE(env, co->above);
  return status;
}

tristar_status tsi_traffic_create(tsi_env *env, const tsi_layout *layout, const tsi_panels *panels,
                                  tsi_tree tree, tsi_traffic **out) {
  counter co = {.layout = layout, .panels = panels, .tree = tree};
  const tristar_status status = count_all(env, &co);
  if (status != TRISTAR_OK) TSI_FREE(env, co.traffic);
  *out = co.traffic;
  return status;
}

tristar_status tsi_pairs_create(tsi_env *env, const tsi_layout *layout, const tsi_panels *panels,
                                tsi_tree tree, tsi_index cells, tsi_pairs **out) {
  tristar_status status = TRISTAR_OK;
  counter co = {.layout = layout, .panels = panels, .tree = tree};
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, co.pairs, 1));
  co.pairs->ranks = tsi_layout_ranks(layout);
  co.pairs->cells = tsi_index_min(cells, co.pairs->ranks);
  for (int k = 0; k < TSI_TRAFFIC_CLASSES; k++)
    TSI_TRY_OUT(TSI_ALLOC_ZERO(env, co.pairs->count[k], (tsi_count)co.pairs->cells * co.pairs->cells));
  TSI_TRY_OUT(count_all(env, &co));
out:
  TSI_FREE(env, co.traffic);
  if (status != TRISTAR_OK) tsi_pairs_destroy(env, &co.pairs);
  *out = co.pairs;
  return status;
}

void tsi_pairs_destroy(tsi_env *env, tsi_pairs **pairs) {
  if (*pairs == NULL) return;
  for (int k = 0; k < TSI_TRAFFIC_CLASSES; k++) TSI_FREE(env, (*pairs)->count[k]);
  TSI_FREE(env, *pairs);
}

static tristar_status check_class(tsi_env *env, const tsi_traffic *traffic, tsi_traffic_class kind) {
  tsi_traffic_count sent = {0}, received = {0};
  for (tsi_index r = 0; r < traffic->ranks; r++) {
    const tsi_traffic_count *s = &traffic->rank[r].sent[kind], *t = &traffic->rank[r].received[kind];
    if (s->messages > s->rows || t->messages > t->rows)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "rank %d sends %lld messages of %lld rows", r,
               (long long)s->messages, (long long)s->rows);
    sent.messages += s->messages;
    sent.rows += s->rows;
    received.messages += t->messages;
    received.rows += t->rows;
  }
  if (sent.messages != received.messages || sent.rows != received.rows)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "class %d: %lld messages are sent, %lld received", (int)kind,
             (long long)sent.messages, (long long)received.messages);
  return TRISTAR_OK;
}

tristar_status tsi_traffic_check(tsi_env *env, const tsi_traffic *traffic, const tsi_layout *layout,
                                 const tsi_panels *panels) {
  const counter co = {.layout = layout, .panels = panels};
  tsi_count entries = 0;
  for (int k = 0; k < TSI_TRAFFIC_CLASSES; k++) TSI_TRY(check_class(env, traffic, (tsi_traffic_class)k));
  for (tsi_index c = 0; c < layout->chunks->count; c++) {
    const tsi_index level = tsi_separator_level(layout->pz, layout->node[c]);
    entries += chunk_entries(&co, c) * (layout->replicated ? 1 << level : 1);
  }
  for (tsi_index r = 0; r < traffic->ranks; r++) entries -= traffic->rank[r].entries;
  if (entries != 0) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%lld entries are on no process", (long long)entries);
  return TRISTAR_OK;
}
