/* Builds the DAG of one triangular factor from its chunks: see sweep.h. */
#include "dag/sweep.h"

#include "dag/edges.h"

/* Cuts the off-rows of every chunk by owner. With sweep->pair NULL only counts. */
static void list_pairs(tsi_sweep *sweep, const tsi_chunks *chunks, const tsi_index *owner) {
  tsi_count count = 0;
  for (tsi_index c = 0; c < chunks->count; c++) {
    const tsi_index *off = chunks->off + chunks->off_ptr[c];
    const tsi_index rows = tsi_chunk_off_rows(chunks, c);
    sweep->source_ptr[c] = count;
    for (tsi_index first = 0, end; first < rows; first = end, count++) {
      const tsi_index target = owner[off[first]];
      for (end = first; end < rows && off[end] < chunks->column[target + 1];) end++;
      if (sweep->pair) sweep->pair[count] = (tsi_pair){c, target, first, end - first};
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
    if (chunks->entries) { /* each has its column's number */
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

static tristar_status allocate(tsi_env *env, tsi_sweep *sweep) {
  TSI_TRY(TSI_ALLOC(env, sweep->slice_chunk, sweep->slices));
  TSI_TRY(TSI_ALLOC(env, sweep->source_ptr, (tsi_count)sweep->chunks + 1));
  TSI_TRY(TSI_ALLOC(env, sweep->target_ptr, (tsi_count)sweep->chunks + 1));
  return TSI_ALLOC(env, sweep->bytes, sweep->nodes);
}

tristar_status tsi_sweep_create(tsi_env *env, const tsi_chunks *chunks, const tsi_panels *panels,
                                size_t scalar_bytes, tsi_sweep **out) {
  tristar_status status = TRISTAR_OK;
  tsi_sweep *sweep = NULL;
  tsi_index *owner = NULL, *scratch = NULL;
  *out = NULL;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, sweep, 1));
  sweep->chunks = chunks->count;
  sweep->slices = chunks->slices;
  sweep->nodes = sweep->chunks + sweep->slices;
  TSI_TRY_OUT(allocate(env, sweep));
  TSI_TRY_OUT(TSI_ALLOC(env, owner, chunks->count > 0 ? chunks->column[chunks->count] : 0));
  TSI_TRY_OUT(TSI_ALLOC(env, scratch, 3 * (tsi_count)sweep->nodes));
  for (tsi_index c = 0; c < chunks->count; c++)
    for (tsi_index k = chunks->slice_ptr[c]; k < chunks->slice_ptr[c + 1]; k++) sweep->slice_chunk[k] = c;
  tsi_chunk_owners(chunks, owner);
  list_pairs(sweep, chunks, owner);
  TSI_TRY_OUT(TSI_ALLOC(env, sweep->pair, sweep->pairs));
  TSI_TRY_OUT(TSI_ALLOC(env, sweep->by_target, sweep->pairs));
  list_pairs(sweep, chunks, owner);
  sort_pairs_by_target(sweep);
  TSI_TRY_OUT(tsi_sweep_list_edges(env, sweep, chunks));
  weigh_nodes(sweep, chunks, panels, scalar_bytes);
  measure(sweep, scratch);
  if (env->check) TSI_TRY_OUT(tsi_sweep_check(env, sweep, chunks));
out:
  TSI_FREE(env, owner);
  TSI_FREE(env, scratch);
  if (status != TRISTAR_OK) tsi_sweep_destroy(env, &sweep);
  *out = sweep;
  return status;
}

void tsi_sweep_destroy(tsi_env *env, tsi_sweep **sweep) {
  if (*sweep == NULL) return;
  TSI_FREE(env, (*sweep)->slice_chunk);
  TSI_FREE(env, (*sweep)->next_ptr);
  TSI_FREE(env, (*sweep)->next);
  TSI_FREE(env, (*sweep)->prev_ptr);
  TSI_FREE(env, (*sweep)->prev);
  TSI_FREE(env, (*sweep)->pair);
  TSI_FREE(env, (*sweep)->source_ptr);
  TSI_FREE(env, (*sweep)->target_ptr);
  TSI_FREE(env, (*sweep)->by_target);
  TSI_FREE(env, (*sweep)->bytes);
  TSI_FREE(env, *sweep);
}
