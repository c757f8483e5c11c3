/* Data of a process: see process.h. */
#include "runtime/process/process.h"

#include "runtime/solve/device_subtrees.h"
#include "runtime/process/process_subtrees.h"

tsi_factor_kind tsi_factor_kind_of(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  return (tsi_factor_kind){.n = an->symbolic->n,
                           .user_scalar = an->pattern->scalar,
                           .factor_scalar = an->factor_scalar,
                           .inverse = tsi_analysis_inverse(an),
                           .lu = tsi_analysis_is_lu(an),
                           .adjoint = factor->adjoint,
                           .scaled = factor->row_scale != NULL,
                           .pivots = factor->pivots != NULL,
                           .indefinite = factor->inverse != NULL,
                           .imported = an->imported};
}

tristar_status tsi_place_share(tsi_env *env, const tsi_share *share, tsi_count **begin) {
  const tsi_panels *panels = share->panels;
  tsi_count at = tsi_triangle_size(TSI_PANEL_WIDTH_MAX); /* the first panel may have no triangle */
  TSI_TRY(TSI_ALLOC(env, *begin, (tsi_count)panels->count + 1));
  for (tsi_index k = 0; k < share->chunks->count; k++)
    for (tsi_index j = share->chunks->panel[k]; j < share->chunks->panel[k + 1]; j++) {
      const tsi_index w = tsi_panel_width(panels, j);
      const bool triangle = share->role[k] & TSI_ROLE_DIAGONAL;
      (*begin)[j] = at;
      at += tsi_panel_size(w, panels->height[j]) - (triangle ? 0 : tsi_triangle_size(w));
    }
  (*begin)[panels->count] = at;
  return TRISTAR_OK;
}

/* Fills the tables of the kernels. */
static tristar_status fill_tables(tsi_process *process) {
  tsi_env *env = process->env;
  const tsi_share *share = process->share;
  TSI_TRY(tsi_place_share(env, share, &process->begin));
  tsi_own(process, process->begin);
  TSI_SCRATCH(env, tsi_count, values, share->panels->count);
  for (tsi_index k = 0; k < share->chunks->count; k++)
    for (tsi_index j = share->chunks->panel[k]; j < share->chunks->panel[k + 1]; j++) {
      const bool triangle = share->role[k] & TSI_ROLE_DIAGONAL;
      values[j] = process->begin[j] - (triangle ? 0 : tsi_triangle_size(tsi_panel_width(share->panels, j)));
    }
  const tsi_tables_source source = {.chunks = share->chunks,
                                    .sweep = process->sweep,
                                    .panels = share->panels,
                                    .panel_values = values,
                                    .rows_of = share->chunks};
  return tsi_tables_create(process, &source, &process->tables);
}

static tristar_status find_homes(tsi_process *process) {
  const tsi_share *share = process->share;
  TSI_TRY(TSI_ALLOC_IN(process, process->home, share->chunks->count));
  for (tsi_index k = 0; k < share->chunks->count; k++)
    process->home[k] = tsi_home_rank(process->layout, share->chunk[k]) == share->rank;
  return TRISTAR_OK;
}

static tristar_status point_to_data(tsi_process *process, const char *isa) {
  const tsi_program *program = process->program;
  const tsi_tables *tables = &process->tables;
  if (process->kind.inverse == TSI_INVERSE_PARTITIONED)
    TSI_FAIL(
        process->env, TRISTAR_ERR_UNSUPPORTED,
        "distributed solves need diagonal blocks that are inverted or not, not TRISTAR_INVERSE_PARTITIONED");
  process->messages = (tsi_solve_messages){
      .forward = {program->forward.first, program->forward.count, program->forward.row},
      .backward = {program->backward.first, program->backward.count, program->backward.row},
      .reads = process->home,
      .writes = process->home};
  process->data =
      (tsi_solve_data){.kernels = tsi_kernels_select(process->kind.factor_scalar, process->kind.inverse, isa),
                       .chunks = process->share->chunks->count,
                       .chunk = tables->chunk,
                       .slice = tables->slice,
                       .panel = tables->panel,
                       .local_row = process->share->chunks->local_row,
                       .off = process->share->chunks->off,
                       .pair = tables->pair,
                       .by_target = process->sweep->by_target,
                       .messages = &process->messages};
  process->nodes = tsi_node_kernels_select(process->kind.factor_scalar);
  return TRISTAR_OK;
}

static tristar_status allocate_stream(tsi_process *process, void **out) {
  const size_t size = (size_t)process->begin[process->share->panels->count], bytes = process->scalar_bytes;
  TSI_TRY(TSI_ALLOC_SIZED_IN(process, *out, size + TSI_STREAM_PAD, bytes));
  memset((char *)*out + size * bytes, 0, TSI_STREAM_PAD * bytes);
  return TRISTAR_OK;
}

tristar_status tsi_process_need_streams(tsi_process *process) {
  if (process->lower == NULL) TSI_TRY(allocate_stream(process, &process->lower));
  if (process->kind.lu && process->upper == NULL) TSI_TRY(allocate_stream(process, &process->upper));
  return TRISTAR_OK;
}

static tristar_status allocate_values(tsi_process *process, bool later) {
  const size_t columns = (size_t)process->share->panels->start[process->share->panels->count];
  if (!later) TSI_TRY(tsi_process_need_streams(process));
  if (process->kind.pivots) TSI_TRY(TSI_ALLOC_IN(process, process->pivots, columns));
  if (process->kind.indefinite)
    TSI_TRY(TSI_ALLOC_SIZED_IN(process, process->inverse, 2 * columns, process->scalar_bytes));
  return tsi_process_scale(process, process->kind.scaled);
}

tristar_status tsi_process_scale(tsi_process *process, bool scaled) {
  tsi_env *env = process->env;
  const size_t columns = (size_t)process->share->panels->start[process->share->panels->count];
  process->kind.scaled = scaled;
  if (scaled) {
    if (process->row_scale == NULL) TSI_TRY(TSI_ALLOC_IN(process, process->row_scale, columns));
    if (process->col_scale == NULL) TSI_TRY(TSI_ALLOC_IN(process, process->col_scale, columns));
  } else {
    TSI_FREE(env, process->row_scale);
    TSI_FREE(env, process->col_scale);
  }
  return TRISTAR_OK;
}

tristar_status tsi_process_create(tsi_env *env, const tsi_factor_kind *kind, const tsi_symbolic *symbolic,
                                  const tsi_panels *panels, const tsi_process_options *options,
                                  tsi_process **out) {
  TSI_CLEANUP(tsi_process_destroy) tsi_process *process = NULL;
  TSI_OWNED tsi_participants *participants = NULL;
  const tsi_index grid = options->layout.px * options->layout.py;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, process, 1));
  process->env = env;
  process->kind = *kind;
  process->user_bytes = tsi_sparse_kernels_select(kind->user_scalar)->scalar_bytes;
  process->scalar_bytes = tsi_sparse_kernels_select(kind->factor_scalar)->scalar_bytes;
  process->workers = options->workers;
  TSI_TRY(tsi_layout_create(env, symbolic, panels, &options->layout, &process->layout));
  process->layout_options = options->layout;
  process->layout_options.device = NULL;
  TSI_TRY(tsi_sweep_create(env, process->layout->chunks, panels, process->scalar_bytes, &process->whole));
  TSI_TRY(tsi_participants_create(env, process->layout, options->rank / grid, &participants));
  process->share_options = tsi_share_options_of(&options->layout);
  TSI_TRY(tsi_share_create(env, process->layout, panels, options->rank, &process->share_options,
                           &process->share));
  TSI_TRY(tsi_sweep_create(env, process->share->chunks, process->share->panels, process->scalar_bytes,
                           &process->sweep));
  TSI_TRY(fill_tables(process));
  TSI_TRY(allocate_values(process, options->later && options->layout.device == NULL));
  TSI_TRY(tsi_process_subtrees_create(process, symbolic, panels, options));
  const tsi_program_source source = {.layout = process->layout,
                                     .participants = participants,
                                     .share = process->share,
                                     .sweep = process->sweep,
                                     .tree = options->tree,
                                     .on_device = process->subtrees ? process->subtrees->on_device : NULL};
  TSI_TRY(tsi_program_create(env, &source, &process->program));
  TSI_TRY(find_homes(process));
  TSI_TRY(point_to_data(process, options->isa));
  *out = tsi_take(&process);
  return TRISTAR_OK;
}

void tsi_process_destroy(tsi_process **process) {
  if (*process == NULL) return;
  tsi_process *p = *process;
  tsi_env *env = p->env;
  tsi_process_subtrees_destroy(p);
  TSI_FREE(env, p->program);
  TSI_FREE(env, p->sweep);
  TSI_FREE(env, p->whole);
  TSI_FREE(env, p->share);
  TSI_FREE(env, p->layout);
  TSI_FREE(env, *process);
}
