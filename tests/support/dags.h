/* From a pattern to the DAG of a solve, for the tests of dag/. */
#pragma once

#include "dag/dag.h"
#include "dag/steps.h"
#include "tests/support/patterns.h"

/* All structures that a plan builds. */
typedef struct structure {
  tsi_graph *graph;
  tsi_symbolic *symbolic;
  tsi_panels *panels;
  tsi_chunks *chunks;
  tsi_sweep *sweep;
  tsi_dag *dag;
} structure;

/* single: no supernodes are merged, and each panel is a chunk. width: maximum width of panels. */
typedef struct structure_options {
  bool single;
  tsi_index width;
  double ceiling_bytes, floor_bytes, slice_bytes; /* of chunks */
} structure_options;

/* Builds the structures. Returns the status of the first failure; release the structures built so far. */
static inline tristar_status structure_build(tsi_env *env, const pattern *a, const structure_options *o,
                                             structure *s) {
  tsi_symbolic_options options;
  tsi_chunk_options chunk;
  memset(s, 0, sizeof *s);
  tsi_symbolic_options_init(&options);
  options.relax = o->single ? 0 : options.relax;
  TSI_TRY(tsi_graph_create(env, a->n, a->ptr, a->index, NULL, false, &s->graph));
  TSI_TRY(tsi_symbolic_create(env, s->graph, &options, &s->symbolic));
  TSI_TRY(tsi_panels_create(env, s->symbolic, o->width, &s->panels));
  tsi_chunk_options_init(&chunk, TSI_CHUNK_FLOOR_BYTES, s->symbolic->nnz_stored, 8);
  chunk.ceiling_bytes = o->ceiling_bytes;
  chunk.floor_bytes = o->floor_bytes;
  chunk.slice_bytes = o->slice_bytes;
  chunk.whole_bytes = 0;
  chunk.single = o->single;
  TSI_TRY(tsi_chunks_create(env, 1, &(tsi_side){s->symbolic, s->panels}, &chunk, &s->chunks));
  TSI_TRY(tsi_sweep_create(env, s->chunks, s->panels, 8, &s->sweep));
  return tsi_dag_create(env, s->sweep, s->sweep, &s->dag);
}

static inline void structure_release(tsi_env *env, structure *s) {
  TSI_FREE(env, s->dag);
  TSI_FREE(env, s->sweep);
  TSI_FREE(env, s->chunks);
  TSI_FREE(env, s->panels);
  TSI_FREE(env, s->symbolic);
  TSI_FREE(env, s->graph);
}

/* Chooses a pseudo-random legal order of the steps; seed 0: the order of the list. */
static inline void choose_order(tsi_env *env, const tsi_steps *steps, uint64_t seed, tsi_index *order) {
  tsi_adjacency *after;
  tsi_index *waits, *ready, count = 0, done = 0;
  for (tsi_index k = 0; k < steps->count; k++) order[k] = k;
  if (seed == 0) return;
  CHECK_OK(tsi_adjacency_create(env, steps->count, steps->edges, steps->edge, TSI_AFTER, &after));
  waits = calloc((size_t)steps->count + 1, sizeof *waits);
  ready = malloc((size_t)(steps->count + 1) * sizeof *ready);
  for (tsi_count e = 0; e < steps->edges; e++) waits[steps->edge[e].item]++;
  for (tsi_index k = 0; k < steps->count; k++)
    if (waits[k] == 0) ready[count++] = k;
  while (count > 0) {
    const tsi_index pick = lcg_below(&seed, count), k = ready[pick];
    ready[pick] = ready[--count];
    order[done++] = k;
    for (tsi_count e = after->ptr[k]; e < after->ptr[k + 1]; e++)
      if (--waits[after->list[e]] == 0) ready[count++] = after->list[e];
  }
  CHECK(done == steps->count);
  TSI_FREE(env, after);
  free(waits);
  free(ready);
}
