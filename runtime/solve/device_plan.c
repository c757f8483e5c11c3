/* See device_plan.h. */
#include "runtime/solve/device_plan.h"

#include "runtime/machine/devices.h"

void tsi_device_options_init(tsi_device_options *options, size_t scalar_bytes) {
  *options = (tsi_device_options){.node_bytes = 64e3,
                                  .group_bytes = 32e3,
                                  .warp_bytes = 32e3,
                                  .scalar_bytes = scalar_bytes,
                                  .costs = tsi_device_costs_of(tsi_device_get(0))};
}

/* Makes structures with panels of another width. */
static tristar_status cut_panels(tsi_env *env, const tristar_analysis_t *an, tsi_index width, int sides,
                                 tsi_structure *structure) {
  for (int i = 0; i < sides; i++) {
    structure[i] = (tsi_structure){.symbolic = tsi_analysis_structure(an, i).symbolic};
    TSI_TRY(tsi_panels_create(env, structure[i].symbolic, width, &structure[i].panels));
    TSI_TRY(tsi_place_panels(env, structure[i].panels, &structure[i].panel_values));
  }
  return TRISTAR_OK;
}

static tristar_status create_side(tsi_env *env, const tsi_structure *structure, tsi_inverse inverse, int i,
                                  tsi_device_plan *plan) {
  tsi_device_side *side = &plan->side[i];
  TSI_TRY(tsi_sweep_create(env, side->chunks, structure->panels, plan->options.scalar_bytes, &side->sweep));
  const tsi_tables_source source = {.chunks = side->chunks,
                                    .sweep = side->sweep,
                                    .panels = structure->panels,
                                    .panel_values = structure->panel_values,
                                    .rows_of = plan->side[plan->sides - 1].chunks};
  return tsi_device_tables_create(env, &source, inverse, &plan->options, &side->tables);
}

static tristar_status create_sides(tsi_env *env, const tristar_analysis_t *analysis,
                                   const tsi_structure *structure, tsi_device_plan *plan) {
  const tsi_chunk_options options = tsi_device_chunk_options(&plan->options);
  tsi_side side[2];
  tsi_chunks *chunks[2] = {NULL, NULL};
  for (int i = 0; i < plan->sides; i++) side[i] = (tsi_side){structure[i].symbolic, structure[i].panels};
  TSI_TRY(tsi_chunks_create(env, plan->sides, side, &options, chunks));
  for (int i = 0; i < plan->sides; i++) plan->side[i].chunks = chunks[i];
  for (int i = 0; i < plan->sides; i++)
    TSI_TRY(create_side(env, &structure[i], tsi_analysis_inverse(analysis), i, plan));
  return TRISTAR_OK;
}

tristar_status tsi_device_plan_create(tsi_env *env, const tristar_factor_t *factor,
                                      const tsi_device_options *options, tsi_device_plan **out) {
  tristar_status status = TRISTAR_OK;
  const tristar_analysis_t *an = factor->analysis;
  tsi_device_plan *plan = NULL;
  tsi_structure structure[2] = {tsi_analysis_structure(an, 0), tsi_analysis_structure(an, 1)},
                own[2] = {{0}, {0}};
  *out = NULL;
  if (factor->rows)
    TSI_FAIL_OUT(env, TRISTAR_ERR_UNSUPPORTED, "a triangular matrix without supernodes has no panels");
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, plan, 1));
  plan->options = *options;
  plan->sides = tsi_analysis_sides(an);
  if (options->panel_width > 0) TSI_TRY_OUT(cut_panels(env, an, options->panel_width, plan->sides, own));
  TSI_TRY_OUT(create_sides(env, an, options->panel_width > 0 ? own : structure, plan));
out:
  for (int i = 0; i < 2; i++) {
    TSI_FREE(env, own[i].panels);
    TSI_FREE(env, own[i].panel_values);
  }
  if (status != TRISTAR_OK) tsi_device_plan_destroy(&plan);
  *out = plan;
  return status;
}

void tsi_device_plan_destroy(tsi_device_plan **plan) {
  if (*plan == NULL) return;
  for (int i = 0; i < 2; i++) {
    tsi_device_side *side = &(*plan)->side[i];
    tsi_device_tables_destroy(&side->tables);
    tsi_release(side->sweep);
    tsi_release(side->chunks);
  }
  tsi_release(tsi_take(plan));
}

tsi_device_call tsi_device_call_of(const tsi_solve_call *call, const tsi_index *from) {
  const bool forward = !call->read_backward, backward = !call->write_forward;
  return (tsi_device_call){
      .forward = {forward ? call->forward_values : NULL, call->forward_pivots ? from : NULL},
      .backward = {backward ? call->backward_values : NULL, call->backward_pivots ? from : NULL},
      .inverse = call->inverse,
      .adjoint = call->adjoint,
      .conjugate_in = call->conjugate_in,
      .conjugate_backward = call->conjugate_backward,
      .conjugate_out = call->conjugate_out,
      .wide = call->wide,
      .in_row = call->in_row,
      .out_row = call->out_row,
      .in_scale = call->in_scale,
      .out_scale = call->out_scale,
      .b = call->b,
      .x = call->x,
      .b_row = call->b_row,
      .b_column = call->b_column,
      .x_row = call->x_row,
      .x_column = call->x_column,
      .combines = call->combines,
      .alpha = {call->alpha[0], call->alpha[1]},
      .beta = {call->beta[0], call->beta[1]},
      .nrhs = call->nrhs,
      .stride = call->stride,
      .workspace = call->workspace};
}
