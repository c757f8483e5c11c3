/* tristar_plan: chunks, DAG, and the tables that the kernels read. See plan.h. */
#include "runtime/solve/plan.h"

#include <inttypes.h>

#include "runtime/base/threads.h"
#include "runtime/factor/storage.h"
#include "runtime/rows/row_factor.h"
#include "runtime/machine/calibration.h"
#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/base/progress.h"
#include "runtime/solve/in_flight.h"
#include "runtime/solve/numa.h"
#include "runtime/machine/predict.h"
#include "runtime/solve/block_plan.h"
#include "runtime/solve/device_subtrees.h"
#include "runtime/solve/request.h"
#include "runtime/solve/spmv.h"
#include "tristar_trace.h"
#include "tristar_typed.h"
#include "runtime/matrix/view.h"
#include "runtime/rows/row_choice.h"

void tristar_plan_options_init_sized(tristar_plan_options *options, size_t size) {
  const tristar_plan_options defaults = {.engine = TRISTAR_ENGINE_AUTO, .nrhs = 1};
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

tsi_chunk_options tsi_plan_chunk_options(const tristar_factor_t *factor, const tristar_plan_options *o) {
  tsi_chunk_options options;
  tsi_chunk_options_init(&options, tsi_calibration_now(&factor->ts->machine).floor_bytes,
                         factor->analysis->symbolic->nnz_stored, factor->scalar_bytes);
  if (o->chunk_bytes_max > 0) {
    options.ceiling_bytes = (double)o->chunk_bytes_max;
    if (options.slice_bytes > options.ceiling_bytes) options.slice_bytes = options.ceiling_bytes;
    options.whole_bytes = 0;
    if (options.floor_bytes > options.ceiling_bytes / 2) options.floor_bytes = options.ceiling_bytes / 2;
  }
  if (o->chunk_bytes_min > 0) {
    options.floor_bytes = (double)o->chunk_bytes_min;
    options.whole_bytes = 2 * options.floor_bytes;
    if (options.ceiling_bytes < 2 * options.floor_bytes) options.ceiling_bytes = 2 * options.floor_bytes;
  }
  options.single = o->granularity == TRISTAR_TASKS_SUPERNODES && o->kernel == TRISTAR_KERNEL_PANELS;
  return options;
}

/* Returns the bytes that a solve reads per entry of the factor. */
static size_t entry_bytes(const tristar_plan_t *plan) {
  return plan->options.storage == TRISTAR_STORAGE_FULL
             ? plan->factor->scalar_bytes
             : tsi_storage_entry_bytes(plan->factor, plan->options.storage);
}

/* Cuts the panels of each side into chunks. device: see tsi_device_split_options. */
static tristar_status choose_panel_chunks(tsi_env *env, tristar_plan_t *plan, const tsi_index *device) {
  const tristar_analysis_t *an = plan->factor->analysis;
  if (plan->cut.scalar_bytes == 0) plan->cut = tsi_plan_chunk_options(plan->factor, &plan->options);
  tsi_chunk_options options = plan->cut;
  plan->stats.floor_bytes = options.floor_bytes;
  plan->stats.ceiling_bytes = options.ceiling_bytes;
  options.device = device;
  tsi_side side[2];
  tsi_chunks *chunks[2] = {NULL, NULL};
  for (int i = 0; i < plan->sides; i++)
    side[i] = (tsi_side){tsi_analysis_structure(an, i).symbolic, tsi_analysis_structure(an, i).panels};
  TSI_TRY(tsi_chunks_create(env, plan->sides, side, &options, chunks));
  for (int i = 0; i < plan->sides; i++) plan->side[i].chunks = chunks[i];
  return TRISTAR_OK;
}

/* Makes the chunks of a matrix that is solved row by row; its cut was chosen at the import. */
static tristar_status choose_row_chunks(tsi_env *env, const tristar_plan_t *plan, tsi_chunks **chunks) {
  const tsi_row_factor *rows = plan->factor->rows;
  tsi_row_cut whole = *rows->cut; /* on a device: one chunk of all rows */
  whole.count = 1;
  whole.start = (tsi_index[2]){0, whole.n};
  return tsi_row_chunks_create(env, &rows->lines, plan->triangle ? &whole : rows->cut, chunks);
}

static tristar_status choose_chunks(tsi_env *env, tristar_plan_t *plan, const tsi_index *device) {
  const tristar_factor_t *factor = plan->factor;
  const int sides = plan->sides;
  plan->stats.partition = TRISTAR_PARTITION_SUPERNODES;
  if (factor->rows) {
    plan->stats.partition = tsi_partition_of_way(factor->rows->cut->way);
    TSI_TRY(choose_row_chunks(env, plan, &plan->side[0].chunks));
  } else
    TSI_TRY(choose_panel_chunks(env, plan, device));
  for (int i = 0; i < sides; i++)
    TSI_TRY(tsi_sweep_create(env, plan->side[i].chunks, tsi_analysis_structure(factor->analysis, i).panels,
                             entry_bytes(plan), &plan->side[i].sweep));
  for (int d = 0; d < sides; d++) {
    TSI_TRY(tsi_dag_create(env, plan->side[d].sweep, plan->side[sides - 1 - d].sweep, &plan->dag[d]));
    TSI_TRY(TSI_ALLOC(env, plan->order[d], plan->dag[d]->tasks));
    TSI_TRY(tsi_dag_order(env, plan->dag[d], plan->options.order_seed, plan->order[d]));
  }
  return TRISTAR_OK;
}

static tristar_status note_chunks(tsi_env *env, tristar_plan_t *plan) {
  const tsi_chunks *chunks = plan->side[0].chunks;
  const tsi_panels *panels = plan->factor->analysis->panels;
  TSI_TRY(TSI_ALLOC(env, plan->chunk_of_supernode, plan->factor->analysis->symbolic->count));
  for (tsi_index c = 0; c < chunks->count; c++)
    for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1]; p++)
      if (p == panels->first[panels->supernode[p]]) plan->chunk_of_supernode[panels->supernode[p]] = c;
  return TRISTAR_OK;
}

/* Fills the tables for the kernels of a side. All sides share the workspace. */
static tristar_status fill_tables(tristar_plan_t *plan, int i) {
  tsi_plan_side *side = &plan->side[i];
  const tsi_structure structure = tsi_analysis_structure(plan->factor->analysis, i);
  const tsi_tables_source source = {.chunks = side->chunks,
                                    .sweep = side->sweep,
                                    .panels = structure.panels,
                                    .panel_values = structure.panel_values,
                                    .rows_of = plan->side[plan->sides - 1].chunks,
                                    .by_column = plan->spmv != NULL || plan->factor->rows != NULL};
  TSI_TRY(tsi_tables_create(plan, &source, &side->tables));
  const tsi_count n = plan->factor->analysis->symbolic->n;
  plan->workspace_rows = plan->spmv ? 2 * n : plan->factor->rows ? n : side->tables.workspace_rows;
  return TRISTAR_OK;
}

/* Lists the user's rows of every chunk in ascending order. place: final row of each user's row. */
static tristar_status list_user_rows(tsi_env *env, const tristar_plan_t *plan, const tsi_index *place,
                                     tsi_index **list) {
  const tsi_chunks *chunks = plan->side[0].chunks;
  const tsi_index n = plan->factor->analysis->symbolic->n;
  TSI_TRY(TSI_ALLOC(env, *list, 2 * (tsi_count)n));
  TSI_SCRATCH(env, tsi_index, owner, n);
  TSI_SCRATCH(env, tsi_index, next, chunks->count);
  tsi_chunk_owners(chunks, owner);
  for (tsi_index c = 0; c < chunks->count; c++) next[c] = chunks->column[c];
  for (tsi_index row = 0; row < n; row++) {
    const tsi_index c = owner[place[row]], at = next[c]++;
    (*list)[at] = place[row] - chunks->column[c];
    (*list)[n + (tsi_count)at] = row;
  }
  return TRISTAR_OK;
}

static tristar_status list_rows(tsi_env *env, tristar_plan_t *plan) {
  const tristar_analysis_t *an = plan->factor->analysis;
  TSI_OWNED tsi_index *in = NULL, *out = NULL;
  TSI_TRY(list_user_rows(env, plan, an->in_place, &in));
  if (!an->one_order) TSI_TRY(list_user_rows(env, plan, an->out_place, &out));
  plan->in_list = in;
  plan->out_list = an->one_order ? in : out;
  in = out = NULL;
  return TRISTAR_OK;
}

tristar_status tsi_plan_need_lists(tristar_plan_t *plan) {
  pthread_mutex_lock(&plan->lock);
  const tristar_status status = plan->in_list ? TRISTAR_OK : list_rows(&plan->ts->env, plan);
  pthread_mutex_unlock(&plan->lock);
  return status;
}

static void point_to_data(tristar_plan_t *plan, int i) {
  tsi_plan_side *side = &plan->side[i];
  const tristar_analysis_t *an = plan->factor->analysis;
  const tsi_kernels *kernels = tsi_kernels_select(an->factor_scalar, tsi_analysis_inverse(an), plan->ts->isa);
  side->data = (tsi_solve_data){
      .kernels = plan->storage ? &plan->storage->sweeps : kernels,
      .chunks = side->chunks->count,
      .chunk = side->tables.chunk,
      .slice = side->tables.slice,
      .panel = side->tables.panel,
      .local_row = side->chunks->local_row,
      .off = side->chunks->off,
      .pair = side->tables.pair,
      .by_target = side->sweep->by_target,
      .push = plan->options.updates == TRISTAR_UPDATES_PUSH,
      .rows = plan->factor->rows ? tsi_spmv_kernels_select(an->factor_scalar, plan->ts->isa) : NULL,
      .second = plan->factor->analysis->symbolic->n};
}

static void fill_stats(tristar_plan_t *plan) {
  const tristar_factor_t *factor = plan->factor;
  const tsi_dag *dag = plan->dag[0];
  const tsi_sweep *forward = dag->forward;
  const bool both = !tsi_factor_is_triangle(factor); /* a triangle has one sweep */
  tristar_plan_stats *stats = &plan->stats;
  stats->chunks = forward->chunks;
  stats->slices = tsi_index_max(forward->slices, dag->backward->slices);
  stats->width = forward->width;
  stats->depth = forward->depth;
  stats->critical_bytes = both ? dag->critical_bytes : dag->critical_bytes / 2;
  for (int i = 0; i < (both ? 2 : 1); i++) {
    const tsi_symbolic *symbolic = tsi_analysis_structure(factor->analysis, i < plan->sides ? i : 0).symbolic;
    stats->stream_bytes += (double)symbolic->nnz_stored * (double)entry_bytes(plan);
    stats->exact_bytes += (double)symbolic->nnz_exact * (double)entry_bytes(plan);
  }
  if (plan->options.compress > 0) {
    const tsi_storage_figures figures = tsi_storage_describe(plan->storage, false);
    const double share = figures.bytes / (figures.full_bytes > 0 ? figures.full_bytes : 1);
    const double narrow = (double)entry_bytes(plan) / (double)factor->scalar_bytes;
    stats->stream_bytes *= share / narrow;
    stats->exact_bytes *= share / narrow;
    stats->critical_bytes *= share / narrow;
  }
  if (plan->spmv) tsi_spmv_weigh(plan, &stats->stream_bytes, &stats->critical_bytes);
  const bool lanes = plan->way.kind == TRISTAR_WAY_LANES, tasks = tsi_way_has_tasks(&plan->way);
  stats->workers = tasks ? tsi_starpu_cpu_workers() : lanes ? factor->rows->cut->lanes : 1;
  stats->scheduler = tasks ? tsi_starpu_scheduler() : lanes ? "lanes" : "serial";
}

/* Makes the first replay, so that the first solve finds its workspace and its tasks. */
static tristar_status warm_up(tristar_plan_t *plan) {
  tristar_status status = TRISTAR_OK;
  const tsi_step_list list = tsi_plan_list(plan);
  tsi_replay *replay = NULL;
  tsi_tasks *tasks;
  TSI_TRY_OUT(tsi_replay_take(plan, tsi_workspace_stride(tsi_plan_columns(&plan->options)), &replay));
  TSI_TRY_OUT(tsi_replay_tasks(replay, list, tsi_plan_sweeps(plan), &tasks));
  const tsi_recording *recording = &replay->executor[list][tsi_plan_sweeps(plan)].recording;
  plan->stats.tasks = tsi_way_has_tasks(&plan->way) ? recording->list->count + 1 : 0;
  plan->stats.edges = recording->list->edges;
  plan->stats.predicted_seconds = recording->predicted;
  tsi_small_triangle_prepare(plan, recording);
out:
  if (replay) tsi_replay_give_back(replay);
  return status;
}

tristar_status tsi_plan_check_options(const tsi_env *env, const tristar_plan_options *options) {
  if ((unsigned)options->engine > TRISTAR_ENGINE_TASKS || options->nrhs < 0 || options->chunk_bytes_min < 0 ||
      options->chunk_bytes_max < 0 || (unsigned)options->placement > TRISTAR_PLACEMENT_ON)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "engine %d, nrhs %" PRId64 ", chunk bytes %" PRId64 " to %" PRId64 ", placement %d",
             (int)options->engine, options->nrhs, options->chunk_bytes_min, options->chunk_bytes_max,
             (int)options->placement);
  if ((unsigned)options->refine > TRISTAR_REFINE_NEVER)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "refine is %d", (int)options->refine);
  if ((unsigned)options->scheduling > TRISTAR_SCHEDULING_LEVELS ||
      (unsigned)options->updates > TRISTAR_UPDATES_PUSH ||
      (unsigned)options->granularity > TRISTAR_TASKS_SUPERNODES ||
      (unsigned)options->kernel > TRISTAR_KERNEL_SPMV)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "scheduling %d, updates %d, granularity %d, kernel %d",
             (int)options->scheduling, (int)options->updates, (int)options->granularity,
             (int)options->kernel);
  if (options->fuse_columns < 0 || options->fuse_columns > TSI_NRHS_BLOCK)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "fuse_columns is %" PRId64 ", not 0 .. %d", options->fuse_columns,
             TSI_NRHS_BLOCK);
  if ((unsigned)options->storage > TRISTAR_STORAGE_BFLOAT16) /* tristar_plan has already replaced AUTO */
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "storage is %d", (int)options->storage);
  if (!(options->compress >= 0 && options->compress < 1))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "compress is %g, not 0 .. 1", options->compress);
  if (options->release_factor && !tsi_storage_is_requested(options))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s",
             "release_factor needs compress or a narrower storage: solves read the factor itself");
  if (!(options->accuracy >= 0 && options->accuracy < 1))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "accuracy is %g, not 0 .. 1", options->accuracy);
  if (options->accuracy > 0 && options->refine == TRISTAR_REFINE_NEVER)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "accuracy is %g, which REFINE_NEVER cannot reach", options->accuracy);
  if ((unsigned)options->place > TRISTAR_PLACE_GPU || options->device_bytes < 0 || options->device_solves < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "place %d, device bytes %" PRId64 ", device solves %" PRId64,
             (int)options->place, options->device_bytes, options->device_solves);
  return TRISTAR_OK;
}

tristar_status tsi_plan_create(tristar_factor_t *factor, const tristar_plan_options *options,
                               const tsi_chunk_options *cut, tsi_device_split_options *places,
                               tristar_plan_t **out) {
  tristar_status status = TRISTAR_OK;
  tristar_plan_t *plan = NULL;
  tsi_env *env = &factor->ts->env;
  const double begin = tsi_clock();
  const bool devices = places->device != NULL || places->triangle != NULL;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, plan, 1));
  status = tsi_mutex_init(env, &plan->lock);
  if (status != TRISTAR_OK) { /* there is nothing yet that tsi_plan_free could release */
    TSI_FREE(env, plan);
    goto out;
  }
  atomic_init(&plan->references, 1);
  plan->ts = factor->ts;
  tsi_env_retain(env);
  plan->factor = tsi_factor_share(factor);
  plan->insertable = (tsi_insertable){.functions = &tsi_plan_insertion,
                                      .ts = plan->ts,
                                      .rows = factor->analysis->pattern->n,
                                      .scalar = factor->user_bytes,
                                      .order = &plan->ts->solves.order};
  plan->options = *options;
  if (cut != NULL) plan->cut = *cut;
  if (factor->rows) plan->options.updates = TRISTAR_UPDATES_PULL; /* there are no updates */
  plan->sides = tsi_analysis_sides(factor->analysis);
  plan->sum_is_finite =
      tsi_spmv_kernels_select(plan->factor->analysis->pattern->scalar, plan->ts->isa)->sum_is_finite;
  plan->nodes =
      (factor->rows ? tsi_row_node_kernels_select : tsi_node_kernels_select)(factor->analysis->factor_scalar);
  plan->triangle = tsi_take(&places->triangle);
  TSI_TRY_OUT(choose_chunks(env, plan, places->device));
  TSI_TRY_OUT(tsi_progress_look(env, TRISTAR_PHASE_PLAN, 0.3));
  plan->way = tsi_way_of_plan(plan, devices);
  if (plan->way.kind != TRISTAR_WAY_SERIAL)
    TSI_TRY_OUT(tsi_context_need_starpu(plan->ts, &plan->stats.start_seconds));
  TSI_TRY_OUT(tsi_statistics_create(env, tsi_way_has_tasks(&plan->way), devices, &plan->solved));
  tsi_numa_init(plan);
  if (options->kernel == TRISTAR_KERNEL_SPMV) TSI_TRY_OUT(tsi_spmv_create(plan, &plan->spmv));
  if (plan->triangle == NULL) {
    TSI_TRY_OUT(tsi_block_plan_create(plan, &plan->blocks));
    if (factor->rows) plan->pieces = tsi_row_factor_pieces(factor->rows);
  }
  TSI_TRY_OUT(note_chunks(env, plan));
  for (int i = 0; i < plan->sides; i++) TSI_TRY_OUT(fill_tables(plan, i));
  if (tsi_storage_is_requested(options)) {
    const tsi_plan_side *lower = &plan->side[0], *upper = &plan->side[plan->sides - 1];
    const tsi_storage_options requested = tsi_storage_requested(options, plan->ts->isa);
    TSI_TRY_OUT(tsi_storage_create(factor, &requested,
                                   (const tsi_panel *[]){lower->tables.panel, upper->tables.panel},
                                   (const tsi_chunks *[]){lower->chunks, upper->chunks}, &plan->storage));
  }
  for (int i = 0; i < plan->sides; i++) point_to_data(plan, i);
  plan->block = TSI_NRHS_BLOCK;
  plan->followed = TSI_BLOCKS;
  TSI_TRY_OUT(tsi_fuse_init(plan));
  if (places->device) {
    TSI_TRY_OUT(tsi_device_subtrees_create(plan, places));
    tsi_device_subtrees_limit(plan, places->memory);
  }
  if (plan->triangle) tsi_plan_triangle_limit(plan);
  plan->stats.nrhs_block = plan->block;
  if (!factor->rows) TSI_TRY_OUT(tsi_plan_need_lists(plan));
  fill_stats(plan);
  plan->stats.unfit_bytes = places->unfit_bytes;
  plan->stats.devices = plan->subtrees ? tsi_device_subtrees_devices(plan->subtrees) : plan->triangle != NULL;
  TSI_TRY_OUT(tsi_progress_look(env, TRISTAR_PHASE_PLAN, 0.7));
  TSI_TRY_OUT(warm_up(plan));
  plan->stats.plan_seconds = tsi_clock() - begin - plan->stats.start_seconds;
  tsi_log(env, TRISTAR_LOG_INFO, "plan: %lld chunks, %lld slices, %s on %d workers, kernels %s, %.3g s",
          (long long)plan->stats.chunks, (long long)plan->stats.slices, plan->stats.scheduler,
          plan->stats.workers, plan->side[0].data.kernels->isa, plan->stats.plan_seconds);
out:
  if (status != TRISTAR_OK) tristar_plan_destroy(&plan);
  *out = plan;
  return status;
}

/* Makes a plan with subtrees on devices. If this fails with PLACE_AUTO, all subtrees are on the cores. */
static tristar_status create_placed(tristar_factor_t *factor, const tristar_plan_options *options,
                                    const tsi_chunk_options *cut, double *start_seconds,
                                    tristar_plan_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  tsi_device_split_options places;
  status = tsi_device_split_options_choose(factor, options, start_seconds, &places);
  if (status == TRISTAR_OK) status = tsi_plan_create(factor, options, cut, &places, out);
  if (status != TRISTAR_OK && status != TRISTAR_ERR_CANCELLED && places.optional) {
    tsi_device_split_options cores = {.device = NULL};
    tsi_log(env, TRISTAR_LOG_WARNING, "PLACE_AUTO: all is solved on the cores: %s", tsi_error_text(env));
    tsi_device_split_options_finish(env, &places);
    status = tsi_plan_create(factor, options, cut, &cores, out);
  }
  tsi_device_split_options_finish(env, &places);
  return status;
}

tristar_status tsi_plan_cut(tristar_factor_t *factor, const tristar_plan_options *options,
                            const tsi_chunk_options *cut, tristar_plan_t **out) {
  double start_seconds = 0;
  *out = NULL;
  TSI_TRY(tsi_plan_check_options(&factor->ts->env, options));
  TSI_TRY(tsi_factor_need_values(factor));
  TSI_TRY(tsi_storage_check(factor, options));
  const double begin = tsi_clock();
  TSI_TRY(create_placed(factor, options, cut, &start_seconds, out));
  (*out)->stats.plan_seconds = tsi_clock() - begin - start_seconds - (*out)->stats.start_seconds;
  (*out)->stats.start_seconds += start_seconds;
  return TRISTAR_OK;
}

int tristar_plan_get_device(const tristar_plan_t *plan, int i, tristar_device_stats *stats) {
  tristar_device_stats found;
  const bool there = plan != NULL && !tsi_env_is_inherited(&plan->ts->env) &&
                     (plan->triangle ? i == 0 && tsi_plan_triangle_describe(plan, &found)
                                     : tsi_device_subtrees_describe(plan, i, &found));
  if (there && stats != NULL) *stats = found;
  return there;
}

int tristar_plan_get_subtree(const tristar_plan_t *plan, int64_t i, tristar_subtree_stats *stats) {
  const bool there = plan != NULL && plan->subtrees != NULL && i >= 0 && i < plan->subtrees->count;
  if (there && stats != NULL) *stats = tsi_device_subtree_describe(plan, (tsi_index)i);
  return there;
}

static void note_storage(const tristar_plan_t *plan, bool changing, tristar_plan_stats *stats) {
  const tsi_storage_figures figures = tsi_storage_describe(plan->storage, changing);
  stats->storage_bytes = figures.bytes;
  stats->storage_saved = figures.full_bytes - figures.bytes;
  for (int f = 0; f < TSI_FORMATS; f++) stats->storage_panels[f] = figures.panels[f];
  stats->compress = plan->options.compress;
  stats->compressed_panels = figures.tiled;
  stats->compressed_blocks = figures.tiles;
  stats->low_rank_blocks = figures.products;
  stats->rank_share = figures.rank_share;
  stats->compressed_full_bytes = figures.tiled_full_bytes;
  stats->compressed_bytes = figures.tiled_bytes;
  stats->factor_released = plan->factor->released;
}

/* Copies the statistics. An inherited plan does not change, and its lock may never be released. */
static tristar_plan_stats copy_stats(const tristar_plan_t *plan) {
  const bool changing = !tsi_env_is_inherited(&plan->ts->env);
  if (changing) pthread_mutex_lock((pthread_mutex_t *)&plan->lock);
  tristar_plan_stats stats = plan->stats;
  stats.perturbed_pivots = plan->factor->stats.perturbed_pivots;
  stats.refines = tsi_plan_refines(plan);
  stats.storage = plan->options.storage;
  if (plan->storage) note_storage(plan, changing, &stats);
  if (changing) pthread_mutex_unlock((pthread_mutex_t *)&plan->lock);
  return stats;
}

tristar_status tristar_plan_get_stats(const tristar_plan_t *plan, tristar_plan_stats *stats) {
  TSI_GET(plan, stats, copy_stats(plan));
}

const int32_t *tristar_plan_get_chunk_of_supernode(const tristar_plan_t *plan) {
  if (plan != NULL) return plan->chunk_of_supernode;
  (void)TSI_NULL(plan);
  return NULL;
}

tristar_status tristar_plan_write_dot(const tristar_plan_t *plan, const char *path) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  if (path == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "path is NULL");
  TSI_TRY_OUT(tsi_sweep_write_dot(env, plan->side[0].sweep, plan->side[0].chunks, path));
out:
  return tsi_answer(env, status);
}

static void drop(void *arg) {
  tristar_plan_t *plan = arg;
  tristar_t *ts = plan->ts;
  tsi_env_retain(&ts->env);
  tsi_plan_drop(plan);
  tsi_solves_reclaim(&ts->solves);
  tsi_env_release(&ts->env);
}

/* The program has dropped the context, so no later call frees retired plans: waits for the plan's solves
 * first. */
static void drop_after_solves(void *arg) {
  tsi_plan_settle(arg);
  drop(arg);
}

void tristar_plan_destroy(tristar_plan_t **plan) {
  if (plan == NULL || *plan == NULL) return;
  tristar_plan_t *p = *plan;
  tristar_t *ts = p->ts;
  *plan = NULL;
  if (tsi_env_abandon(&ts->env, p)) return;
  if (atomic_load(&ts->dropped))
    tsi_context_call_waiting(ts, drop_after_solves, p);
  else
    drop(p);
}

void tsi_plan_free(tristar_plan_t *p) {
  tsi_env *env = &p->ts->env;
  while (p->free_replays != NULL) {
    tsi_replay *replay = p->free_replays;
    p->free_replays = replay->next;
    tsi_replay_destroy(&replay);
  }
  tsi_device_subtrees_destroy(p);
  tsi_device_triangle_destroy(&p->triangle);
  for (int i = 0; i < 2; i++) {
    tsi_plan_side *side = &p->side[i];
    TSI_FREE(env, p->dag[i]);
    TSI_FREE(env, p->order[i]);
    TSI_FREE(env, side->sweep);
    TSI_FREE(env, side->chunks);
  }
  tsi_spmv_destroy(env, &p->spmv);
  tsi_block_plan_destroy(env, &p->blocks);
  if (p->kept != NULL) p->destroy_kept(&p->kept);
  tsi_storage_destroy(env, &p->storage);
  if (p->out_list != p->in_list) TSI_FREE(env, p->out_list);
  TSI_FREE(env, p->in_list);
  TSI_FREE(env, p->chunk_of_supernode);
  tsi_statistics_destroy(env, &p->solved);
  tristar_factor_destroy(&p->factor);
  pthread_mutex_destroy(&p->lock);
  TSI_FREE(env, p);
  tsi_env_release(env);
}

tristar_status tristar_plan_check_scalar(const tristar_plan_t *plan, tristar_scalar scalar) {
  TSI_ENTER(plan, plan->ts);
  return tsi_answer(&plan->ts->env,
                    tsi_check_scalar(&plan->ts->env, plan->factor->analysis->pattern->scalar, scalar));
}
