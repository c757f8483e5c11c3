/* See process_subtrees.h. */
#include "runtime/process/process_subtrees.h"

#include "partition/cut/tree_part.h"
#include "runtime/solve/device_subtrees.h"
#include "runtime/solve/device_choice.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/exec/starpu/tasks.h"

/* ---- Choice -------------------------------------------------------------------------------------------- */

/* The supernodes that a process owns as a whole, and their ancestors. */
typedef struct own_tree {
  tsi_tree_part *part;
  bool *shared; /* supernodes of the part: ancestors that are not owned as a whole */
} own_tree;

/* whole: supernodes of the factor. */
static tristar_status cut_tree(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                               const bool *whole, own_tree *tree) {
  TSI_SCRATCH(env, bool, has, symbolic->count);
  memcpy(has, whole, (size_t)symbolic->count * sizeof *has);
  for (tsi_index s = 0; s < symbolic->count; s++) /* parents have larger numbers */
    if (has[s] && symbolic->parent[s] != TSI_NONE) has[symbolic->parent[s]] = true;
  TSI_TRY(tsi_tree_part_create(env, symbolic, panels, has, &tree->part));
  tsi_own(tree, tree->part);
  TSI_TRY(TSI_ALLOC_IN(tree, tree->shared, tree->part->symbolic->count));
  for (tsi_index k = 0; k < tree->part->symbolic->count; k++)
    tree->shared[k] = !whole[tree->part->supernode[k]];
  return TRISTAR_OK;
}

/* Finds the supernodes that the process owns as a whole. Returns whether there is one. */
static bool find_whole(const tsi_layout *layout, const tsi_panels *panels, tsi_index rank, bool *whole,
                       tsi_index supernodes) {
  const tsi_chunks *chunks = layout->chunks;
  const tsi_index grid = layout->px * layout->py;
  bool any = false;
  for (tsi_index s = 0; s < supernodes; s++) whole[s] = false;
  for (tsi_index c = 0; c < chunks->count; c++) {
    if (!layout->whole[c] || !tsi_layout_has(layout, rank / grid, layout->node[c]) ||
        tsi_layout_anchor(layout, c, rank / grid) != rank)
      continue;
    for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1]; p++) whole[panels->supernode[p]] = true;
    any = true;
  }
  return any;
}

/* The part as a factor without values, for forecasts. */
typedef struct outline {
  struct tristar_analysis_s analysis;
  struct tristar_factor_s factor;
} outline;

static tristar_status outline_of(tristar_t *ts, const tsi_factor_kind *kind, const tsi_tree_part *part,
                                 outline *of) {
  static char values; /* never read */
  static tsi_index pivot;
  *of = (outline){.analysis = {.ts = ts, .factor_scalar = kind->factor_scalar}};
  of->analysis.symbolic = part->symbolic;
  of->analysis.panels = part->panels;
  of->analysis.options.inverse = (tristar_inverse)kind->inverse;
  of->analysis.stats.method = kind->lu           ? TRISTAR_METHOD_LU
                              : kind->indefinite ? TRISTAR_METHOD_LDLT
                                                 : TRISTAR_METHOD_LLT;
  of->factor.ts = ts;
  of->factor.analysis = &of->analysis;
  of->factor.scalar_bytes = tsi_sparse_kernels_select(kind->factor_scalar)->scalar_bytes;
  of->factor.lower = &values;
  of->factor.upper = kind->lu ? &values : NULL;
  of->factor.pivots = kind->pivots ? &pivot : NULL;
  of->factor.inverse = kind->indefinite ? &values : NULL;
  TSI_TRY(tsi_place_panels(&ts->env, part->panels, &of->analysis.panel_values));
  tsi_own(of, of->analysis.panel_values);
  return TRISTAR_OK;
}

/* Replaces the devices of the part's supernodes by those of the factor's supernodes. */
static tristar_status take_over(tsi_env *env, const tsi_symbolic *symbolic, const own_tree *tree,
                                tsi_device_split_options *places) {
  tsi_index *device = NULL;
  if (places->device == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, device, symbolic->count));
  for (tsi_index s = 0; s < symbolic->count; s++) device[s] = TSI_NONE;
  for (tsi_index k = 0; k < tree->part->symbolic->count; k++)
    device[tree->part->supernode[k]] = places->device[k];
  TSI_FREE(env, places->device);
  places->device = device;
  return TRISTAR_OK;
}

/* device_bytes as an option of a plan. on_starpu: StarPU runs. */
static int64_t bytes_requested(const tsi_process_wishes *wishes, bool on_starpu) {
  if (wishes->device_bytes > 0) return (int64_t)wishes->device_bytes;
  if (wishes->sharers < 2 || !on_starpu || tsi_devices_count(NULL) == 0) return 0;
  return (int64_t)(TSI_DEVICE_MEMORY_SHARE * tsi_device_describe(0).memory / wishes->sharers);
}

tristar_status tsi_process_places(tristar_t *ts, const tsi_factor_kind *kind, const tsi_symbolic *symbolic,
                                  const tsi_panels *panels, const tsi_process_options *options,
                                  const tsi_process_wishes *wishes, tsi_device_split_options *places) {
  tsi_env *env = &ts->env;
  tristar_plan_options plan;
  double seconds = 0;
  *places = (tsi_device_split_options){.device = NULL};
  if (wishes->place == TRISTAR_PLACE_CPU) return TRISTAR_OK;
  tristar_plan_options_init(&plan);
  plan.engine = options->workers > 0 ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL;
  plan.nrhs = wishes->columns;
  plan.place = wishes->place;
  plan.device_bytes = bytes_requested(wishes, options->workers > 0);
  plan.chunk_bytes_max = (int64_t)options->layout.ceiling_bytes;
  TSI_OWNED tsi_layout *layout = NULL;
  TSI_TRY(tsi_layout_create(env, symbolic, panels, &options->layout, &layout));
  TSI_SCRATCH(env, bool, whole, symbolic->count);
  if (!find_whole(layout, panels, options->rank, whole, symbolic->count)) return TRISTAR_OK;
  TSI_SCRATCH_ZERO(env, own_tree, tree, 1);
  TSI_TRY(cut_tree(env, symbolic, panels, whole, tree));
  TSI_SCRATCH(env, outline, of, 1);
  TSI_TRY(outline_of(ts, kind, tree->part, of));
  tristar_status status =
      tsi_device_split_options_choose_shared(&of->factor, &plan, tree->shared, &seconds, places);
  if (status == TRISTAR_OK) status = take_over(env, symbolic, tree, places);
  if (status != TRISTAR_OK) tsi_device_split_options_finish(env, places);
  return status;
}

/* ---- Subtrees ------------------------------------------------------------------------------------------ */

/* Creates subtree b of local chunk k. */
static tristar_status create_subtree(const tsi_process *process, const tsi_symbolic *symbolic,
                                     const tsi_panels *panels, const tsi_device_options *cut,
                                     tsi_plan_subtree *b) {
  const tsi_chunks *own = process->share->chunks, *chunks = process->layout->chunks;
  const tsi_index c = process->share->chunk[b->chunk];
  const tsi_resident_source source = {
      .sides = 1,
      .subtree = {{chunks, symbolic, panels, process->begin + own->panel[b->chunk], process->kind.inverse,
                   chunks->panel[c]}},
      .chunk = c,
      .column = own->column[b->chunk],
      .scalar_bytes = process->scalar_bytes,
      .stream = {process->lower, process->upper},
      .from = process->from,
      .inverse = process->inverse};
  return tsi_resident_create(process->env, &source, cut, &b->resident);
}

/* The device of local chunk k if the process owns the chunk as a whole; else TSI_NONE. */
static tsi_index device_of(const tsi_process *process, const tsi_panels *panels, const tsi_index *device,
                           tsi_index k) {
  const tsi_index c = process->share->chunk[k];
  if (!process->layout->whole[c] || !(process->share->role[k] & TSI_ROLE_DIAGONAL)) return TSI_NONE;
  return device[panels->supernode[process->layout->chunks->panel[c]]];
}

tristar_status tsi_process_subtrees_create(tsi_process *process, const tsi_symbolic *symbolic,
                                           const tsi_panels *panels, const tsi_process_options *options) {
  tsi_env *env = process->env;
  const tsi_share *share = process->share;
  TSI_OWNED tsi_plan_subtrees *all = NULL;
  if (options->layout.device == NULL) return TRISTAR_OK;
  TSI_TRY(tsi_device_subtrees_allocate(env, share->chunks->count, &all));
  all->scalar = process->kind.factor_scalar;
  all->scalar_bytes = process->scalar_bytes;
  all->stream[0] = process->lower;
  all->stream[1] = process->upper;
  all->sides = 1;
  all->chunk[0] = process->tables.chunk;
  for (tsi_index k = 0; k < share->chunks->count; k++)
    tsi_device_subtrees_note(all, k, device_of(process, panels, options->layout.device, k));
  if (all->count == 0) return TRISTAR_OK;
  process->subtrees = tsi_take(&all);
  if (process->pivots)
    TSI_TRY(TSI_ALLOC_IN(process, process->from, share->panels->start[share->panels->count]));
  for (tsi_index b = 0; b < process->subtrees->count; b++)
    TSI_TRY(create_subtree(process, symbolic, panels, &options->cut, &process->subtrees->subtree[b]));
  return TRISTAR_OK;
}

void tsi_process_subtrees_destroy(tsi_process *process) {
  tsi_plan_subtrees *all = process->subtrees;
  if (all == NULL) return;
  for (tsi_index b = 0; b < all->count; b++) tsi_resident_destroy(&all->subtree[b].resident);
  TSI_FREE(process->env, process->subtrees);
}

tristar_status tsi_process_renew(tsi_process *process) {
  if (process->subtrees == NULL) return TRISTAR_OK;
  TSI_TRY(tsi_tasks_check_waiting(process->env));
  if (process->from) tsi_device_interchanges(process->share->panels, process->pivots, process->from);
  for (tsi_index b = 0; b < process->subtrees->count; b++)
    TSI_TRY(tsi_resident_renew(process->env, process->subtrees->subtree[b].resident));
  return TRISTAR_OK;
}

bool tsi_process_describe_device(const tsi_process *process, int i, tsi_index columns,
                                 tristar_device_stats *stats) {
  return tsi_device_subtrees_describe_device(process->subtrees, i, tsi_workspace_stride(columns), TSI_BOTH,
                                             stats);
}
