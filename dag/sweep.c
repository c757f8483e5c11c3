/* Builds the DAG of one triangular factor from its chunks: see sweep.h. */
#include "dag/sweep.h"

/* ---- Edges --------------------------------------------------------------------------------------------- */

/* The edges of a sweep, transitively reduced: next_ptr, next, prev_ptr, prev, edges. The transitive reduction
 * of a DAG is unique (Aho, Garey, Ullman 1972). Nodes are visited from the last to the first, so the edges of
 * their successors are already reduced. The targets of a node are taken in ascending order, and a target that
 * an earlier one leads to is dropped. In an elimination tree the first target also has the other targets, and
 * no search is made. Other searches end at the highest target. */

/* Limit of the steps of the reduction, per edge on average. Beyond it, edges are kept unreduced, which costs
 * time but is correct. Structures of direct solvers need a few steps per edge. */
#define STEPS_PER_EDGE 1000

typedef struct reducer {
  tsi_sweep *sweep;
  tsi_index *count; /* nodes: number of edges kept, from next_ptr on */
  tsi_index *mark;  /* nodes: the last node from which it was reached */
  tsi_index *stack; /* nodes */
  tsi_count steps;  /* Steps left until the limit. */
} reducer;

/* Off-rows first .. end-1 of its chunk that a node makes. */
static void rows_of(const tsi_sweep *sweep, const tsi_chunks *chunks, tsi_index v, tsi_index *first,
                    tsi_index *end) {
  const tsi_index c = v < sweep->chunks ? v : sweep->slice_chunk[v - sweep->chunks];
  *first = 0;
  *end = tsi_chunk_off_rows(chunks, c);
  if (v < sweep->chunks) return;
  const tsi_index k = v - sweep->chunks;
  *first = chunks->slice_row[k];
  if (k + 1 < chunks->slice_ptr[c + 1]) *end = chunks->slice_row[k + 1];
}

/* The targets of a node, ascending; to may be NULL. Returns their number. */
static tsi_index targets_of(const tsi_sweep *sweep, const tsi_chunks *chunks, tsi_index v, tsi_index *to) {
  const tsi_index c = v < sweep->chunks ? v : sweep->slice_chunk[v - sweep->chunks];
  tsi_index first, end, count = 0;
  if (v < sweep->chunks && tsi_chunk_slices(chunks, c) > 0) {
    for (tsi_index k = chunks->slice_ptr[c]; k < chunks->slice_ptr[c + 1]; k++, count++)
      if (to) to[count] = sweep->chunks + k;
    return count;
  }
  rows_of(sweep, chunks, v, &first, &end);
  for (tsi_count q = sweep->source_ptr[c]; q < sweep->source_ptr[c + 1]; q++) {
    const tsi_sweep_pair *pair = &sweep->pair[q];
    if (pair->first >= end || pair->first + pair->count <= first) continue;
    if (to) to[count] = pair->target;
    count++;
  }
  return count;
}

/* Marks all nodes that `from` leads to, up to chunk `last`. */
static void reach(reducer *r, tsi_index from, tsi_index last, tsi_index stamp) {
  const tsi_sweep *sweep = r->sweep;
  tsi_index depth = 0;
  r->mark[from] = stamp;
  r->stack[depth++] = from;
  while (depth > 0) {
    const tsi_index v = r->stack[--depth];
    for (tsi_index e = 0; e < r->count[v]; e++) {
      const tsi_index to = sweep->next[sweep->next_ptr[v] + e];
      const tsi_index chunk = to < sweep->chunks ? to : sweep->slice_chunk[to - sweep->chunks];
      r->steps--;
      if (chunk > last || r->mark[to] == stamp) continue;
      r->mark[to] = stamp;
      r->stack[depth++] = to;
    }
  }
}

/* Are the unmarked ones of the `count` targets also targets of chunk c? All ascend. */
static bool has_targets(reducer *r, tsi_index c, const tsi_index *target, tsi_index count, tsi_index stamp) {
  const tsi_sweep_pair *pair = r->sweep->pair;
  tsi_count q = r->sweep->source_ptr[c];
  const tsi_count end = r->sweep->source_ptr[c + 1];
  for (tsi_index k = 0; k < count; k++) {
    r->steps--;
    if (r->mark[target[k]] == stamp) continue;
    for (; q < end && pair[q].target < target[k]; q++) r->steps--;
    if (q == end || pair[q].target != target[k]) return false;
  }
  return true;
}

/* Keeps the targets of v that no other target leads to. */
static void reduce(reducer *r, tsi_index v) {
  tsi_index *next = r->sweep->next + r->sweep->next_ptr[v];
  const tsi_index all = r->count[v];
  if (all < 2 || next[0] >= r->sweep->chunks || r->steps < 0) return;
  const tsi_index last = next[all - 1];
  tsi_index kept = 0;
  for (tsi_index e = 0; e < all; e++) {
    const tsi_index to = next[e];
    if (r->mark[to] == v) continue;
    next[kept++] = to;
    if (has_targets(r, to, next + e + 1, all - e - 1, v)) break;
    reach(r, to, last, v);
  }
  r->count[v] = kept;
}

/* Closes the gaps of dropped edges. */
static void compact(reducer *r) {
  tsi_sweep *sweep = r->sweep;
  tsi_count at = 0;
  for (tsi_index v = 0; v < sweep->nodes; v++) {
    const tsi_count from = sweep->next_ptr[v];
    sweep->next_ptr[v] = at;
    for (tsi_index e = 0; e < r->count[v]; e++) sweep->next[at++] = sweep->next[from + e];
  }
  sweep->next_ptr[sweep->nodes] = sweep->edges = at;
}

static void list_predecessors(tsi_sweep *sweep) {
  for (tsi_index v = 0; v <= sweep->nodes; v++) sweep->prev_ptr[v] = 0;
  for (tsi_count e = 0; e < sweep->edges; e++) sweep->prev_ptr[sweep->next[e] + 1]++;
  for (tsi_index v = 0; v < sweep->nodes; v++) sweep->prev_ptr[v + 1] += sweep->prev_ptr[v];
  for (tsi_index v = 0; v < sweep->nodes; v++)
    for (tsi_count e = sweep->next_ptr[v]; e < sweep->next_ptr[v + 1]; e++)
      sweep->prev[sweep->prev_ptr[sweep->next[e]]++] = v;
  for (tsi_index v = sweep->nodes; v > 0; v--) sweep->prev_ptr[v] = sweep->prev_ptr[v - 1];
  sweep->prev_ptr[0] = 0;
}

/* Errors: MEMORY. */
static tristar_status list_edges(tsi_env *env, tsi_sweep *sweep, const tsi_chunks *chunks) {
  const tsi_index nodes = sweep->nodes;
  TSI_SCRATCH(env, reducer, r, 1);
  *r = (reducer){.sweep = sweep};
  TSI_TRY(TSI_ALLOC_IN(r, r->count, nodes));
  TSI_TRY(TSI_ALLOC_IN(r, r->mark, nodes));
  TSI_TRY(TSI_ALLOC_IN(r, r->stack, nodes));
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->next_ptr, (tsi_count)nodes + 1));
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->prev_ptr, (tsi_count)nodes + 1));
  sweep->next_ptr[0] = 0;
  for (tsi_index v = 0; v < nodes; v++) {
    r->mark[v] = TSI_NONE;
    r->count[v] = targets_of(sweep, chunks, v, NULL);
    sweep->next_ptr[v + 1] = sweep->next_ptr[v] + r->count[v];
  }
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->next, sweep->next_ptr[nodes]));
  for (tsi_index v = 0; v < nodes; v++) (void)targets_of(sweep, chunks, v, sweep->next + sweep->next_ptr[v]);
  r->steps = STEPS_PER_EDGE * sweep->next_ptr[nodes];
  for (tsi_index c = sweep->chunks; c-- > 0;) {
    for (tsi_index k = chunks->slice_ptr[c]; k < chunks->slice_ptr[c + 1]; k++) reduce(r, sweep->chunks + k);
    reduce(r, c);
  }
  compact(r);
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->prev, sweep->edges));
  list_predecessors(sweep);
  return TRISTAR_OK;
}

/* ---- Pairs, bytes, depths ------------------------------------------------------------------------------ */

/* Cuts the off-rows of every chunk by owner. If sweep->pair is NULL, only counts. */
static void list_pairs(tsi_sweep *sweep, const tsi_chunks *chunks, const tsi_index *owner) {
  tsi_count count = 0;
  for (tsi_index c = 0; c < chunks->count; c++) {
    const tsi_index *off = chunks->off + chunks->off_ptr[c];
    const tsi_index rows = tsi_chunk_off_rows(chunks, c);
    sweep->source_ptr[c] = count;
    for (tsi_index first = 0, end; first < rows; first = end, count++) {
      const tsi_index target = owner[off[first]];
      for (end = first; end < rows && off[end] < chunks->column[target + 1];) end++;
      if (sweep->pair) sweep->pair[count] = (tsi_sweep_pair){c, target, first, end - first};
    }
  }
  sweep->source_ptr[chunks->count] = sweep->pairs = count;
}

/* Pair numbers by target; sources ascend because pairs are listed by source. */
static void sort_pairs_by_target(tsi_sweep *sweep) {
  for (tsi_index c = 0; c <= sweep->chunks; c++) sweep->target_ptr[c] = 0;
  for (tsi_count q = 0; q < sweep->pairs; q++) sweep->target_ptr[sweep->pair[q].target + 1]++;
  for (tsi_index c = 0; c < sweep->chunks; c++) sweep->target_ptr[c + 1] += sweep->target_ptr[c];
  for (tsi_count q = 0; q < sweep->pairs; q++)
    sweep->by_target[sweep->target_ptr[sweep->pair[q].target]++] = q;
  for (tsi_index c = sweep->chunks; c > 0; c--) sweep->target_ptr[c] = sweep->target_ptr[c - 1];
  sweep->target_ptr[0] = 0;
}

static void weigh_nodes(tsi_sweep *sweep, const tsi_chunks *chunks, const tsi_panels *panels,
                        size_t scalar_bytes) {
  for (tsi_index c = 0; c < sweep->chunks; c++) {
    tsi_count entries = 0;
    if (chunks->entries) { /* Each entry has a column number. */
      sweep->bytes[c] = (double)chunks->entries[c] * (double)(scalar_bytes + sizeof(tsi_index));
      continue;
    }
    for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1]; p++)
      entries += tsi_panel_entries(panels, p);
    for (tsi_index k = chunks->slice_ptr[c]; k < chunks->slice_ptr[c + 1]; k++) {
      const tsi_count part =
          (tsi_count)tsi_slice_rows(chunks, panels, c, k) * tsi_panel_width(panels, chunks->panel[c]);
      sweep->bytes[sweep->chunks + k] = (double)part * (double)scalar_bytes;
      entries -= part;
    }
    sweep->bytes[c] = (double)entries * (double)scalar_bytes;
  }
}

void tsi_sweep_order(const tsi_sweep *sweep, tsi_index *order) {
  tsi_index at = 0, k = 0;
  for (tsi_index c = 0; c < sweep->chunks; c++) {
    order[at++] = c;
    while (k < sweep->slices && sweep->slice_chunk[k] == c) order[at++] = sweep->chunks + k++;
  }
}

/* Depth of the DAG and its widest level. scratch: 3 * nodes. */
static void measure(tsi_sweep *sweep, tsi_index *scratch) {
  tsi_index *order = scratch, *depth_of = order + sweep->nodes, *level = depth_of + sweep->nodes;
  tsi_sweep_order(sweep, order);
  sweep->width = sweep->depth = 0;
  for (tsi_index v = 0; v < sweep->nodes; v++) level[v] = 0;
  for (tsi_index q = 0; q < sweep->nodes; q++) {
    const tsi_index v = order[q];
    depth_of[v] = 0;
    for (tsi_count e = sweep->prev_ptr[v]; e < sweep->prev_ptr[v + 1]; e++)
      depth_of[v] = tsi_index_max(depth_of[v], depth_of[sweep->prev[e]] + 1);
    sweep->depth = tsi_index_max(sweep->depth, depth_of[v] + 1);
    sweep->width = tsi_index_max(sweep->width, ++level[depth_of[v]]);
  }
}

static tristar_status allocate(tsi_sweep *sweep) {
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->slice_chunk, sweep->slices));
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->source_ptr, (tsi_count)sweep->chunks + 1));
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->target_ptr, (tsi_count)sweep->chunks + 1));
  return TSI_ALLOC_IN(sweep, sweep->bytes, sweep->nodes);
}

tristar_status tsi_sweep_create(tsi_env *env, const tsi_chunks *chunks, const tsi_panels *panels,
                                size_t scalar_bytes, tsi_sweep **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_sweep, sweep, 1);
  sweep->chunks = chunks->count;
  sweep->slices = chunks->slices;
  sweep->nodes = sweep->chunks + sweep->slices;
  TSI_TRY(allocate(sweep));
  TSI_SCRATCH(env, tsi_index, owner, chunks->count > 0 ? chunks->column[chunks->count] : 0);
  TSI_SCRATCH(env, tsi_index, scratch, 3 * (tsi_count)sweep->nodes);
  for (tsi_index c = 0; c < chunks->count; c++)
    for (tsi_index k = chunks->slice_ptr[c]; k < chunks->slice_ptr[c + 1]; k++) sweep->slice_chunk[k] = c;
  tsi_chunk_owners(chunks, owner);
  list_pairs(sweep, chunks, owner);
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->pair, sweep->pairs));
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->by_target, sweep->pairs));
  list_pairs(sweep, chunks, owner);
  sort_pairs_by_target(sweep);
  TSI_TRY(list_edges(env, sweep, chunks));
  weigh_nodes(sweep, chunks, panels, scalar_bytes);
  measure(sweep, scratch);
  if (env->check) TSI_TRY(tsi_sweep_check(env, sweep, chunks));
  *out = tsi_take(&sweep);
  return TRISTAR_OK;
}
