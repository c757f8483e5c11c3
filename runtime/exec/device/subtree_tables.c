/* See subtree_tables.h. */
#include "runtime/exec/device/subtree_tables.h"

/* Finds the positions of the subtree's values, and of its panels in them. */
static tristar_status place_values(tsi_env *env, const tsi_subtree_source *source,
                                   tsi_subtree_tables *subtree, tsi_count **values) {
  const tsi_index count = subtree->subtree->panels->count;
  const tsi_count *place = source->panel_values + (subtree->subtree->panel - source->first);
  subtree->first_value = place[0] / TSI_SUBTREE_ALIGNMENT * TSI_SUBTREE_ALIGNMENT;
  subtree->end_value = place[count];
  TSI_TRY(TSI_ALLOC(env, *values, count));
  for (tsi_index p = 0; p < count; p++) (*values)[p] = place[p] - subtree->first_value;
  return TRISTAR_OK;
}

tristar_status tsi_subtree_tables_create(tsi_env *env, const tsi_subtree_source *source, tsi_index chunk,
                                         const tsi_device_options *options, tsi_subtree_tables **out) {
  const tsi_chunk_options cut = tsi_device_chunk_options(options);
  TSI_CLEANUP(tsi_subtree_tables_destroy) tsi_subtree_tables *subtree = NULL;
  TSI_OWNED tsi_count *values = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, subtree, 1));
  TSI_TRY(tsi_device_subtree_create(env, source->chunks, source->symbolic, source->panels, chunk,
                                    &subtree->subtree));
  TSI_TRY(tsi_device_subtree_cut(env, subtree->subtree, &cut, &subtree->chunks));
  TSI_TRY(tsi_sweep_create(env, subtree->chunks, subtree->subtree->panels, options->scalar_bytes,
                           &subtree->sweep));
  TSI_TRY(place_values(env, source, subtree, &values));
  const tsi_tables_source tables = {.chunks = subtree->chunks,
                                    .sweep = subtree->sweep,
                                    .panels = subtree->subtree->panels,
                                    .panel_values = values,
                                    .rows_of = subtree->chunks};
  TSI_TRY(tsi_device_tables_create(env, &tables, source->inverse, options, &subtree->tables));
  subtree->border_row = subtree->tables.workspace_rows;
  for (tsi_index c = subtree->tables.chunks; c > 0 && subtree->tables.node[c - 1].panels == 0; c--)
    subtree->border_row = subtree->tables.node[c - 1].x;
  *out = tsi_take(&subtree);
  return TRISTAR_OK;
}

tsi_device_call tsi_subtree_tables_call(const tsi_solve_call *call, bool backward,
                                        const tsi_subtree_memory *memory) {
  const bool pivoted = (backward ? call->backward_pivots : call->forward_pivots) != NULL;
  const tsi_device_values values = {memory->values, pivoted ? memory->from : NULL}, none = {NULL, NULL};
  return (tsi_device_call){.forward = backward ? none : values,
                           .backward = backward ? values : none,
                           .inverse = call->inverse ? memory->inverse : NULL,
                           .adjoint = call->adjoint,
                           .conjugate_backward = call->conjugate_backward,
                           .b = memory->x,
                           .x = memory->x,
                           .b_row = call->stride,
                           .b_column = 1,
                           .x_row = call->stride,
                           .x_column = 1,
                           .nrhs = call->stride, /* so the padding of the host also has defined values */
                           .stride = call->stride,
                           .workspace = memory->workspace};
}

void tsi_subtree_tables_destroy(tsi_subtree_tables **subtree) {
  if (*subtree == NULL) return;
  tsi_device_tables_destroy(&(*subtree)->tables);
  tsi_release((*subtree)->sweep);
  tsi_release((*subtree)->chunks);
  tsi_release((*subtree)->subtree);
  tsi_release(tsi_take(subtree));
}
