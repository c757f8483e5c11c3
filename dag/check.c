/* Verifies the invariants of tsi_dag that dag.h states. */
#include "dag/dag.h"

static tristar_status check_pairs(tsi_env *env, const tsi_dag *dag, const tsi_chunks *chunks) {
  tristar_status status = TRISTAR_OK;
  for (tsi_index c = 0; c < dag->chunks; c++) {
    tsi_index at = 0, target = c;
    for (tsi_count q = dag->source_ptr[c]; q < dag->source_ptr[c + 1]; q++) {
      const tsi_pair *pair = &dag->pair[q];
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
out:
  return status;
}

/* Every pair once in by_target, grouped by target, sources ascending. */
static tristar_status check_by_target(tsi_env *env, const tsi_dag *dag) {
  tristar_status status = TRISTAR_OK;
  bool *seen = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, seen, dag->pairs));
  if (dag->target_ptr[0] != 0 || dag->target_ptr[dag->chunks] != dag->pairs)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%lld of %lld pairs are gathered",
             (long long)dag->target_ptr[dag->chunks], (long long)dag->pairs);
  for (tsi_index c = 0; c < dag->chunks; c++)
    for (tsi_count q = dag->target_ptr[c]; q < dag->target_ptr[c + 1]; q++) {
      const tsi_count number = dag->by_target[q];
      if (number < 0 || number >= dag->pairs || seen[number] || dag->pair[number].target != c ||
          (q > dag->target_ptr[c] && dag->pair[dag->by_target[q - 1]].source >= dag->pair[number].source))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d gathers pair %lld", c, (long long)number);
      seen[number] = true;
    }
out:
  TSI_FREE(env, seen);
  return status;
}

/* Marks with stamp all nodes that forward edges reach from `from`. */
static void reach(const tsi_dag *dag, tsi_index from, tsi_index stamp, tsi_index *mark, tsi_index *stack) {
  tsi_index depth = 0;
  stack[depth++] = from;
  mark[from] = stamp;
  while (depth > 0) {
    const tsi_index v = stack[--depth];
    for (tsi_count e = dag->next_ptr[v]; e < dag->next_ptr[v + 1]; e++)
      if (mark[dag->next[e]] != stamp) {
        mark[dag->next[e]] = stamp;
        stack[depth++] = dag->next[e];
      }
  }
}

/* Every pair's target is reached from the nodes that make the pair's rows. Backward edges are the same
 * reversed. */
static tristar_status check_complete(tsi_env *env, const tsi_dag *dag, const tsi_chunks *chunks) {
  tristar_status status = TRISTAR_OK;
  tsi_index *mark = NULL, *stack = NULL;
  TSI_TRY(TSI_ALLOC(env, mark, dag->nodes));
  TSI_TRY(TSI_ALLOC(env, stack, dag->nodes));
  for (tsi_index v = 0; v < dag->nodes; v++) mark[v] = TSI_NONE;
  for (tsi_index v = 0; v < dag->nodes; v++) {
    const bool slice = v >= dag->chunks;
    const tsi_index c = slice ? dag->slice_chunk[v - dag->chunks] : v;
    tsi_index first = 0, end = tsi_chunk_off_rows(chunks, c);
    if (slice) {
      const tsi_index k = v - dag->chunks;
      first = chunks->slice_row[k];
      if (k + 1 < chunks->slice_ptr[c + 1]) end = chunks->slice_row[k + 1];
    }
    reach(dag, v, v, mark, stack);
    for (tsi_count q = dag->source_ptr[c]; q < dag->source_ptr[c + 1]; q++) {
      const tsi_pair *pair = &dag->pair[q];
      if (pair->first < end && pair->first + pair->count > first && mark[pair->target] != v)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d gathers from %s of chunk %d without waiting for it",
                 pair->target, slice ? "a slice" : "the panels", c);
    }
  }
out:
  TSI_FREE(env, mark);
  TSI_FREE(env, stack);
  return status;
}

typedef struct priority_check {
  const tsi_dag *dag;
  tsi_index task, before;
} priority_check;

static void check_priority(void *arg, tsi_index task, tsi_index before) {
  priority_check *check = arg;
  if (check->dag->priority[before] <= check->dag->priority[task]) {
    check->task = task;
    check->before = before;
  }
}

tristar_status tsi_dag_check(tsi_env *env, const tsi_dag *dag, const tsi_chunks *chunks) {
  tristar_status status = TRISTAR_OK;
  tsi_index *order = NULL;
  priority_check check = {dag, TSI_NONE, TSI_NONE};
  TSI_TRY(check_pairs(env, dag, chunks));
  TSI_TRY(check_by_target(env, dag));
  TSI_TRY(TSI_ALLOC(env, order, 2 * (tsi_count)dag->nodes));
  TSI_TRY(tsi_dag_order(env, dag, 1, order)); /* fails on a cycle */
  TSI_TRY(check_complete(env, dag, chunks));
  tsi_dag_for_each_edge(dag, check_priority, &check);
  if (check.task != TSI_NONE)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "task %d waits for task %d of lower priority", check.task,
             check.before);
out:
  TSI_FREE(env, order);
  return status;
}
