/* Verifies the invariants of tsi_sweep that sweep.h states. */
#include "dag/dag.h"

static tristar_status check_pairs(tsi_env *env, const tsi_sweep *sweep, const tsi_chunks *chunks) {
  for (tsi_index c = 0; c < sweep->chunks; c++) {
    tsi_index at = 0, target = c;
    for (tsi_count q = sweep->source_ptr[c]; q < sweep->source_ptr[c + 1]; q++) {
      const tsi_sweep_pair *pair = &sweep->pair[q];
      const tsi_index *off = chunks->off + chunks->off_ptr[c] + pair->first;
      if (pair->source != c || pair->first != at || pair->count <= 0 || pair->target <= target)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "pair %lld: source %d, target %d, rows %d + %d", (long long)q,
                 pair->source, pair->target, pair->first, pair->count);
      if (off[0] < chunks->column[pair->target] || off[pair->count - 1] >= chunks->column[pair->target + 1])
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "pair %lld: rows %d to %d are not in chunk %d", (long long)q,
                 off[0], off[pair->count - 1], pair->target);
      at += pair->count;
      target = pair->target;
    }
    if (at != tsi_chunk_off_rows(chunks, c))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d: %d of %d updates are consumed", c, at,
               tsi_chunk_off_rows(chunks, c));
  }
  return TRISTAR_OK;
}

/* Verifies that by_target lists every pair once, grouped by target, with ascending sources. */
static tristar_status check_by_target(tsi_env *env, const tsi_sweep *sweep) {
  TSI_SCRATCH_ZERO(env, bool, seen, sweep->pairs);
  if (sweep->target_ptr[0] != 0 || sweep->target_ptr[sweep->chunks] != sweep->pairs)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%lld of %lld pairs are gathered",
             (long long)sweep->target_ptr[sweep->chunks], (long long)sweep->pairs);
  for (tsi_index c = 0; c < sweep->chunks; c++)
    for (tsi_count q = sweep->target_ptr[c]; q < sweep->target_ptr[c + 1]; q++) {
      const tsi_count number = sweep->by_target[q];
      if (number < 0 || number >= sweep->pairs || seen[number] || sweep->pair[number].target != c ||
          (q > sweep->target_ptr[c] &&
           sweep->pair[sweep->by_target[q - 1]].source >= sweep->pair[number].source))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d gathers pair %lld", c, (long long)number);
      seen[number] = true;
    }
  return TRISTAR_OK;
}

/* Marks with `stamp` all nodes that can be reached from `from`. */
static void reach(const tsi_sweep *sweep, tsi_index from, tsi_index stamp, tsi_index *mark,
                  tsi_index *stack) {
  tsi_index depth = 0;
  stack[depth++] = from;
  mark[from] = stamp;
  while (depth > 0) {
    const tsi_index v = stack[--depth];
    for (tsi_count e = sweep->next_ptr[v]; e < sweep->next_ptr[v + 1]; e++)
      if (mark[sweep->next[e]] != stamp) {
        mark[sweep->next[e]] = stamp;
        stack[depth++] = sweep->next[e];
      }
  }
}

/* Verifies that the target of every pair can be reached from the nodes that make the pair's rows. */
static tristar_status check_complete(tsi_env *env, const tsi_sweep *sweep, const tsi_chunks *chunks) {
  TSI_SCRATCH(env, tsi_index, mark, sweep->nodes);
  TSI_SCRATCH(env, tsi_index, stack, sweep->nodes);
  for (tsi_index v = 0; v < sweep->nodes; v++) mark[v] = TSI_NONE;
  for (tsi_index v = 0; v < sweep->nodes; v++) {
    const bool slice = v >= sweep->chunks;
    const tsi_index c = slice ? sweep->slice_chunk[v - sweep->chunks] : v;
    tsi_index first = 0, end = tsi_chunk_off_rows(chunks, c);
    if (slice) {
      const tsi_index k = v - sweep->chunks;
      first = chunks->slice_row[k];
      if (k + 1 < chunks->slice_ptr[c + 1]) end = chunks->slice_row[k + 1];
    }
    reach(sweep, v, v, mark, stack);
    for (tsi_count q = sweep->source_ptr[c]; q < sweep->source_ptr[c + 1]; q++) {
      const tsi_sweep_pair *pair = &sweep->pair[q];
      if (pair->first < end && pair->first + pair->count > first && mark[pair->target] != v)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d gathers from %s of chunk %d without waiting for it",
                 pair->target, slice ? "a slice" : "the panels", c);
    }
  }
  return TRISTAR_OK;
}

/* Verifies that edges lead upwards, and that prev lists the same edges as next. */
static tristar_status check_edges(tsi_env *env, const tsi_sweep *sweep) {
  TSI_SCRATCH(env, tsi_index, left, sweep->nodes); /* incoming edges not yet seen */
  for (tsi_index v = 0; v < sweep->nodes; v++)
    left[v] = (tsi_index)(sweep->prev_ptr[v + 1] - sweep->prev_ptr[v]);
  for (tsi_index v = 0; v < sweep->nodes; v++)
    for (tsi_count e = sweep->next_ptr[v]; e < sweep->next_ptr[v + 1]; e++) {
      const tsi_index to = sweep->next[e], c = v < sweep->chunks ? v : sweep->slice_chunk[v - sweep->chunks];
      bool listed = false;
      if (to < 0 || to >= sweep->nodes ||
          (to < sweep->chunks ? to <= c : v >= sweep->chunks || sweep->slice_chunk[to - sweep->chunks] != c))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "node %d of chunk %d has an edge to node %d", v, c, to);
      for (tsi_count p = sweep->prev_ptr[to]; p < sweep->prev_ptr[to + 1]; p++) listed |= sweep->prev[p] == v;
      if (!listed || left[to]-- == 0)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "node %d does not list its predecessor %d", to, v);
    }
  for (tsi_index v = 0; v < sweep->nodes; v++)
    if (left[v] != 0)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "node %d lists %d predecessors too many", v, left[v]);
  return TRISTAR_OK;
}

tristar_status tsi_sweep_check(tsi_env *env, const tsi_sweep *sweep, const tsi_chunks *chunks) {
  TSI_TRY(check_pairs(env, sweep, chunks));
  TSI_TRY(check_by_target(env, sweep));
  TSI_TRY(check_edges(env, sweep));
  return check_complete(env, sweep, chunks);
}
