/* Builds the DAG of a solve from its chunks: see dag.h. */
#include "dag/dag.h"

#include <stdio.h>

/* Owner chunk of every column. */
static void find_owners(const tsi_chunks *chunks, tsi_index *owner) {
  for (tsi_index c = 0; c < chunks->count; c++)
    for (tsi_index j = chunks->column[c]; j < chunks->column[c + 1]; j++) owner[j] = c;
}

/* Cuts the off-rows of every chunk by owner. With dag->pair NULL only counts. */
static void list_pairs(tsi_dag *dag, const tsi_chunks *chunks, const tsi_index *owner) {
  tsi_count count = 0;
  for (tsi_index c = 0; c < chunks->count; c++) {
    const tsi_index *off = chunks->off + chunks->off_ptr[c];
    const tsi_index rows = tsi_chunk_off_rows(chunks, c);
    dag->source_ptr[c] = count;
    for (tsi_index first = 0, end; first < rows; first = end, count++) {
      const tsi_index target = owner[off[first]];
      for (end = first; end < rows && off[end] < chunks->column[target + 1];) end++;
      if (dag->pair) dag->pair[count] = (tsi_pair){c, target, first, end - first};
    }
  }
  dag->source_ptr[chunks->count] = dag->pairs = count;
}

/* Pair numbers by target; sources ascend because pairs are listed by source. */
static void sort_pairs_by_target(tsi_dag *dag) {
  for (tsi_index c = 0; c <= dag->chunks; c++) dag->target_ptr[c] = 0;
  for (tsi_count q = 0; q < dag->pairs; q++) dag->target_ptr[dag->pair[q].target + 1]++;
  for (tsi_index c = 0; c < dag->chunks; c++) dag->target_ptr[c + 1] += dag->target_ptr[c];
  for (tsi_count q = 0; q < dag->pairs; q++) dag->by_target[dag->target_ptr[dag->pair[q].target]++] = q;
  for (tsi_index c = dag->chunks; c > 0; c--) dag->target_ptr[c] = dag->target_ptr[c - 1];
  dag->target_ptr[0] = 0;
}

/* The forward successors: slices of a sliced chunk, else the owner of the first off-row. */
static void list_successors(tsi_dag *dag, const tsi_chunks *chunks, const tsi_index *owner) {
  tsi_count count = 0;
  for (tsi_index c = 0; c < dag->chunks; c++) {
    dag->next_ptr[c] = count;
    if (tsi_chunk_slices(chunks, c) > 0)
      for (tsi_index k = chunks->slice_ptr[c]; k < chunks->slice_ptr[c + 1]; k++)
        dag->next[count++] = dag->chunks + k;
    else if (tsi_chunk_off_rows(chunks, c) > 0)
      dag->next[count++] = owner[chunks->off[chunks->off_ptr[c]]];
  }
  for (tsi_index k = 0; k < dag->slices; k++) {
    const tsi_index c = dag->slice_chunk[k];
    dag->next_ptr[dag->chunks + k] = count;
    dag->next[count++] = owner[chunks->off[chunks->off_ptr[c] + chunks->slice_row[k]]];
  }
  dag->next_ptr[dag->nodes] = dag->edges = count;
}

static void list_predecessors(tsi_dag *dag) {
  for (tsi_index v = 0; v <= dag->nodes; v++) dag->prev_ptr[v] = 0;
  for (tsi_count e = 0; e < dag->edges; e++) dag->prev_ptr[dag->next[e] + 1]++;
  for (tsi_index v = 0; v < dag->nodes; v++) dag->prev_ptr[v + 1] += dag->prev_ptr[v];
  for (tsi_index v = 0; v < dag->nodes; v++)
    for (tsi_count e = dag->next_ptr[v]; e < dag->next_ptr[v + 1]; e++)
      dag->prev[dag->prev_ptr[dag->next[e]]++] = v;
  for (tsi_index v = dag->nodes; v > 0; v--) dag->prev_ptr[v] = dag->prev_ptr[v - 1];
  dag->prev_ptr[0] = 0;
}

static void weigh_nodes(tsi_dag *dag, const tsi_chunks *chunks, const tsi_panels *panels,
                        size_t scalar_bytes) {
  for (tsi_index c = 0; c < dag->chunks; c++) {
    tsi_count entries = 0;
    for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1]; p++)
      entries += tsi_panel_entries(panels, p);
    for (tsi_index k = chunks->slice_ptr[c]; k < chunks->slice_ptr[c + 1]; k++) {
      const tsi_count part =
          (tsi_count)tsi_slice_rows(chunks, panels, c, k) * tsi_panel_width(panels, chunks->panel[c]);
      dag->bytes[dag->chunks + k] = (double)part * (double)scalar_bytes;
      entries -= part;
    }
    dag->bytes[c] = (double)entries * (double)scalar_bytes;
  }
}

/* Forward order of the nodes: each chunk, then its slices. visit counts from 0. */
static void natural_order(const tsi_dag *dag, tsi_index *order) {
  tsi_index at = 0, k = 0;
  for (tsi_index c = 0; c < dag->chunks; c++) {
    order[at++] = c;
    while (k < dag->slices && dag->slice_chunk[k] == c) order[at++] = dag->chunks + k++;
  }
}

/* Heaviest remaining path of every task; a task costs at least one byte, so priorities strictly fall along
 * edges. */
static void set_priorities(tsi_dag *dag, const tsi_index *order) {
  double *forward = dag->priority, *backward = dag->priority + dag->nodes;
  dag->critical_bytes = 0;
  for (tsi_index q = 0; q < dag->nodes; q++) { /* backward tasks end at the leaves */
    const tsi_index v = order[q];
    backward[v] = 0;
    for (tsi_count e = dag->prev_ptr[v]; e < dag->prev_ptr[v + 1]; e++)
      if (backward[dag->prev[e]] > backward[v]) backward[v] = backward[dag->prev[e]];
    backward[v] += dag->bytes[v] + 1;
  }
  for (tsi_index q = dag->nodes; q-- > 0;) {
    const tsi_index v = order[q];
    forward[v] = tsi_dag_turns(dag, v) ? backward[v] : 0;
    for (tsi_count e = dag->next_ptr[v]; e < dag->next_ptr[v + 1]; e++)
      if (forward[dag->next[e]] > forward[v]) forward[v] = forward[dag->next[e]];
    forward[v] += dag->bytes[v] + 1;
    if (forward[v] > dag->critical_bytes) dag->critical_bytes = forward[v];
  }
}

/* Depth of the forward DAG and its widest level. depth_of and level: nodes entries of scratch. */
static void measure(tsi_dag *dag, const tsi_index *order, tsi_index *depth_of, tsi_index *level) {
  dag->width = dag->depth = 0;
  for (tsi_index v = 0; v < dag->nodes; v++) level[v] = 0;
  for (tsi_index q = 0; q < dag->nodes; q++) {
    const tsi_index v = order[q];
    depth_of[v] = 0;
    for (tsi_count e = dag->prev_ptr[v]; e < dag->prev_ptr[v + 1]; e++)
      depth_of[v] = tsi_index_max(depth_of[v], depth_of[dag->prev[e]] + 1);
    dag->depth = tsi_index_max(dag->depth, depth_of[v] + 1);
    dag->width = tsi_index_max(dag->width, ++level[depth_of[v]]);
  }
}

static tristar_status allocate(tsi_env *env, tsi_dag *dag) {
  tristar_status status = TRISTAR_OK;
  const tsi_count nodes = dag->nodes;
  TSI_TRY(TSI_ALLOC(env, dag->slice_chunk, dag->slices));
  TSI_TRY(TSI_ALLOC(env, dag->next_ptr, nodes + 1));
  TSI_TRY(TSI_ALLOC(env, dag->next, 2 * nodes)); /* one edge a node, and one to each slice */
  TSI_TRY(TSI_ALLOC(env, dag->prev_ptr, nodes + 1));
  TSI_TRY(TSI_ALLOC(env, dag->prev, 2 * nodes));
  TSI_TRY(TSI_ALLOC(env, dag->source_ptr, (tsi_count)dag->chunks + 1));
  TSI_TRY(TSI_ALLOC(env, dag->target_ptr, (tsi_count)dag->chunks + 1));
  TSI_TRY(TSI_ALLOC(env, dag->bytes, nodes));
  TSI_TRY(TSI_ALLOC(env, dag->priority, 2 * nodes));
out:
  return status;
}

tristar_status tsi_dag_create(tsi_env *env, const tsi_chunks *chunks, const tsi_panels *panels,
                              size_t scalar_bytes, tsi_dag **out) {
  tristar_status status = TRISTAR_OK;
  tsi_dag *dag = NULL;
  tsi_index *owner = NULL, *order = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, dag, 1));
  dag->chunks = chunks->count;
  dag->slices = chunks->slices;
  dag->nodes = dag->chunks + dag->slices;
  TSI_TRY(allocate(env, dag));
  TSI_TRY(TSI_ALLOC(env, owner, chunks->count > 0 ? chunks->column[chunks->count] : 0));
  TSI_TRY(TSI_ALLOC(env, order, 3 * (tsi_count)dag->nodes));
  for (tsi_index c = 0; c < chunks->count; c++)
    for (tsi_index k = chunks->slice_ptr[c]; k < chunks->slice_ptr[c + 1]; k++) dag->slice_chunk[k] = c;
  find_owners(chunks, owner);
  list_pairs(dag, chunks, owner);
  TSI_TRY(TSI_ALLOC(env, dag->pair, dag->pairs));
  TSI_TRY(TSI_ALLOC(env, dag->by_target, dag->pairs));
  list_pairs(dag, chunks, owner);
  sort_pairs_by_target(dag);
  list_successors(dag, chunks, owner);
  list_predecessors(dag);
  weigh_nodes(dag, chunks, panels, scalar_bytes);
  natural_order(dag, order);
  set_priorities(dag, order);
  measure(dag, order, order + dag->nodes, order + 2 * (tsi_count)dag->nodes);
  if (env->check) TSI_TRY(tsi_dag_check(env, dag, chunks));
out:
  TSI_FREE(env, owner);
  TSI_FREE(env, order);
  if (status != TRISTAR_OK) tsi_dag_destroy(env, &dag);
  *out = dag;
  return status;
}

void tsi_dag_destroy(tsi_env *env, tsi_dag **dag) {
  if (*dag == NULL) return;
  TSI_FREE(env, (*dag)->slice_chunk);
  TSI_FREE(env, (*dag)->next_ptr);
  TSI_FREE(env, (*dag)->next);
  TSI_FREE(env, (*dag)->prev_ptr);
  TSI_FREE(env, (*dag)->prev);
  TSI_FREE(env, (*dag)->pair);
  TSI_FREE(env, (*dag)->source_ptr);
  TSI_FREE(env, (*dag)->target_ptr);
  TSI_FREE(env, (*dag)->by_target);
  TSI_FREE(env, (*dag)->bytes);
  TSI_FREE(env, (*dag)->priority);
  TSI_FREE(env, *dag);
}

void tsi_dag_for_each_edge(const tsi_dag *dag, void (*visit)(void *arg, tsi_index task, tsi_index before),
                           void *arg) {
  for (tsi_index v = 0; v < dag->nodes; v++) {
    for (tsi_count e = dag->prev_ptr[v]; e < dag->prev_ptr[v + 1]; e++) visit(arg, v, dag->prev[e]);
    for (tsi_count e = dag->next_ptr[v]; e < dag->next_ptr[v + 1]; e++)
      visit(arg, dag->nodes + v, dag->nodes + dag->next[e]);
    if (tsi_dag_turns(dag, v)) visit(arg, dag->nodes + v, v);
  }
}

tristar_status tsi_dag_write_dot(tsi_env *env, const tsi_dag *dag, const tsi_chunks *chunks,
                                 const char *path) {
  tristar_status status = TRISTAR_OK;
  FILE *file = fopen(path, "w");
  if (file == NULL) TSI_FAIL(env, TRISTAR_ERR_IO, "%s: cannot be opened for writing", path);
  fprintf(file, "digraph forward {\n  rankdir=BT;\n  node [shape=box, fontname=\"sans-serif\"];\n");
  for (tsi_index c = 0; c < dag->chunks; c++)
    fprintf(file, "  c%d [label=\"chunk %d\\ncolumns %d..%d\\n%.0f kB\"];\n", c, c, chunks->column[c],
            chunks->column[c + 1] - 1, dag->bytes[c] / 1e3);
  for (tsi_index k = 0; k < dag->slices; k++)
    fprintf(file, "  s%d [shape=ellipse, label=\"slice of %d\\n%.0f kB\"];\n", k, dag->slice_chunk[k],
            dag->bytes[dag->chunks + k] / 1e3);
  for (tsi_index v = 0; v < dag->nodes; v++)
    for (tsi_count e = dag->next_ptr[v]; e < dag->next_ptr[v + 1]; e++) {
      const tsi_index to = dag->next[e];
      fprintf(file, "  %c%d -> %c%d;\n", v < dag->chunks ? 'c' : 's', v < dag->chunks ? v : v - dag->chunks,
              to < dag->chunks ? 'c' : 's', to < dag->chunks ? to : to - dag->chunks);
    }
  fprintf(file, "}\n");
  if (ferror(file))
    status = tsi_fail(env, TRISTAR_ERR_IO, __func__, __FILE__, __LINE__, "%s: cannot be written", path);
out:
  if (file && fclose(file) != 0 && status == TRISTAR_OK)
    status = tsi_fail(env, TRISTAR_ERR_IO, __func__, __FILE__, __LINE__, "%s: cannot be written", path);
  return status;
}
