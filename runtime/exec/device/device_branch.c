/* See device_branch.h. */
#include "runtime/exec/device/device_branch.h"

/* Where the branch's values are, and each of its panels in them. */
static tristar_status place_values(tsi_env *env, const tsi_branch_source *source, tsi_device_branch *branch,
                                   tsi_count **values) {
  tristar_status status = TRISTAR_OK;
  const tsi_index count = branch->branch->panels->count;
  const tsi_count *place = source->panel_values + (branch->branch->panel - source->first);
  branch->first_value = place[0] / TSI_BRANCH_ALIGNMENT * TSI_BRANCH_ALIGNMENT;
  branch->end_value = place[count];
  TSI_TRY(TSI_ALLOC(env, *values, count));
  for (tsi_index p = 0; p < count; p++) (*values)[p] = place[p] - branch->first_value;
out:
  return status;
}

tristar_status tsi_device_branch_create(tsi_env *env, const tsi_branch_source *source, tsi_index chunk,
                                        const tsi_device_options *options, tsi_device_branch **out) {
  tristar_status status = TRISTAR_OK;
  const tsi_chunk_options cut = tsi_device_chunk_options(options);
  tsi_device_branch *branch = NULL;
  tsi_count *values = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, branch, 1));
  TSI_TRY(tsi_branch_create(env, source->chunks, source->symbolic, source->panels, chunk, &branch->branch));
  TSI_TRY(tsi_branch_cut(env, branch->branch, &cut, &branch->chunks));
  TSI_TRY(
      tsi_sweep_create(env, branch->chunks, branch->branch->panels, options->scalar_bytes, &branch->sweep));
  TSI_TRY(place_values(env, source, branch, &values));
  const tsi_tables_source tables = {.chunks = branch->chunks,
                                    .sweep = branch->sweep,
                                    .panels = branch->branch->panels,
                                    .panel_values = values,
                                    .rows_of = branch->chunks};
  TSI_TRY(tsi_device_tables_create(env, &tables, source->inverse, options, &branch->tables));
  branch->border_row = branch->tables.workspace_rows;
  for (tsi_index c = branch->tables.chunks; c > 0 && branch->tables.node[c - 1].panels == 0; c--)
    branch->border_row = branch->tables.node[c - 1].x;
out:
  TSI_FREE(env, values);
  if (status != TRISTAR_OK) tsi_device_branch_destroy(env, &branch);
  *out = branch;
  return status;
}

tsi_device_call tsi_device_branch_call(const tsi_solve_call *call, bool backward,
                                       const tsi_branch_memory *memory) {
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
                           .nrhs =
                               call->stride, /* what is padding on the host has defined values here, too */
                           .stride = call->stride,
                           .workspace = memory->workspace};
}

void tsi_device_branch_destroy(tsi_env *env, tsi_device_branch **branch) {
  if (*branch == NULL) return;
  tsi_device_tables_destroy(env, &(*branch)->tables);
  tsi_sweep_destroy(env, &(*branch)->sweep);
  tsi_chunks_destroy(env, &(*branch)->chunks);
  tsi_branch_destroy(env, &(*branch)->branch);
  TSI_FREE(env, *branch);
}
