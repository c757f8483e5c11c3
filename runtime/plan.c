/* tristar_plan: chunks, DAG, and the tables that the kernels read. See plan.h. */
#include "runtime/plan.h"

#include <inttypes.h>
#include <starpu.h>

#include "runtime/clock.h"

void tristar_plan_options_init(tristar_plan_options *options) {
  memset(options, 0, sizeof *options);
  options->engine = TRISTAR_ENGINE_AUTO;
  options->nrhs = 1;
}

static tristar_status choose_chunks(tsi_env *env, tristar_plan_t *plan) {
  tristar_status status = TRISTAR_OK;
  const tristar_analysis_t *an = plan->factor->analysis;
  tsi_chunk_options options;
  tsi_chunk_options_init(&options, an->symbolic->nnz_stored, plan->factor->scalar_bytes);
  if (plan->options.chunk_bytes_max > 0) {
    options.ceiling_bytes = (double)plan->options.chunk_bytes_max;
    if (options.slice_bytes > options.ceiling_bytes) options.slice_bytes = options.ceiling_bytes;
    options.whole_bytes = 0;
    if (options.floor_bytes > options.ceiling_bytes / 2) options.floor_bytes = options.ceiling_bytes / 2;
  }
  if (plan->options.chunk_bytes_min > 0) {
    options.floor_bytes = (double)plan->options.chunk_bytes_min;
    options.whole_bytes = 2 * options.floor_bytes;
    if (options.ceiling_bytes < 2 * options.floor_bytes) options.ceiling_bytes = 2 * options.floor_bytes;
  }
  TSI_TRY(tsi_chunks_create(env, an->symbolic, an->panels, &options, &plan->chunks));
  TSI_TRY(tsi_dag_create(env, plan->chunks, an->panels, plan->factor->scalar_bytes, &plan->dag));
  TSI_TRY(TSI_ALLOC(env, plan->order, 2 * (tsi_count)plan->dag->nodes));
  TSI_TRY(tsi_dag_order(env, plan->dag, plan->options.order_seed, plan->order));
out:
  return status;
}

static tristar_status fill_panels(tsi_env *env, tristar_plan_t *plan) {
  tristar_status status = TRISTAR_OK;
  const tristar_analysis_t *an = plan->factor->analysis;
  const tsi_panels *panels = an->panels;
  TSI_TRY(TSI_ALLOC(env, plan->panel, panels->count));
  TSI_TRY(TSI_ALLOC(env, plan->chunk_of_supernode, an->symbolic->count));
  for (tsi_index c = 0; c < plan->chunks->count; c++)
    for (tsi_index p = plan->chunks->panel[c]; p < plan->chunks->panel[c + 1]; p++) {
      plan->panel[p] = (tsi_panel){.values = an->panel_values[p],
                                   .row = plan->chunks->panel_row[p],
                                   .width = tsi_panel_width(panels, p),
                                   .height = panels->height[p],
                                   .x = panels->start[p] - plan->chunks->column[c],
                                   .column = panels->start[p]};
      if (p == panels->first[panels->supernode[p]]) plan->chunk_of_supernode[panels->supernode[p]] = c;
    }
out:
  return status;
}

static tristar_status fill_chunks(tsi_env *env, tristar_plan_t *plan) {
  tristar_status status = TRISTAR_OK;
  const tsi_chunks *chunks = plan->chunks;
  const tsi_dag *dag = plan->dag;
  tsi_count row = 0;
  TSI_TRY(TSI_ALLOC(env, plan->chunk, chunks->count));
  TSI_TRY(TSI_ALLOC(env, plan->slice, chunks->slices));
  TSI_TRY(TSI_ALLOC(env, plan->pair, dag->pairs));
  for (tsi_index c = 0; c < chunks->count; c++) {
    tsi_solve_chunk *to = &plan->chunk[c];
    *to = (tsi_solve_chunk){.workspace = row,
                            .off = chunks->off_ptr[c],
                            .sources = dag->target_ptr[c],
                            .targets = dag->source_ptr[c],
                            .source_count = (tsi_index)(dag->target_ptr[c + 1] - dag->target_ptr[c]),
                            .target_count = (tsi_index)(dag->source_ptr[c + 1] - dag->source_ptr[c]),
                            .panel = chunks->panel[c],
                            .panels = chunks->panel[c + 1] - chunks->panel[c],
                            .column = chunks->column[c],
                            .columns = tsi_chunk_columns(chunks, c),
                            .off_rows = tsi_chunk_off_rows(chunks, c),
                            .slice = chunks->slice_ptr[c],
                            .slices = tsi_chunk_slices(chunks, c)};
    for (tsi_index k = 0; k < to->slices; k++)
      plan->slice[to->slice + k] =
          (tsi_solve_slice){c, chunks->slice_row[to->slice + k],
                            tsi_slice_rows(chunks, plan->factor->analysis->panels, c, to->slice + k)};
    /* chunks begin on cache lines of their own */
    row += tsi_round_up_block((tsi_count)to->columns + to->off_rows + (tsi_count)to->slices * to->columns);
  }
  plan->workspace_rows = row;
  for (tsi_count q = 0; q < dag->pairs; q++)
    plan->pair[q] =
        (tsi_solve_pair){dag->pair[q].source, dag->pair[q].target, dag->pair[q].first, dag->pair[q].count};
out:
  return status;
}

static void point_to_data(tristar_plan_t *plan) {
  plan->nodes = tsi_node_kernels_select(plan->factor->analysis->factor_scalar);
  plan->data = (tsi_solve_data){.kernels = tsi_kernels_select(plan->factor->analysis->factor_scalar, NULL),
                                .chunk = plan->chunk,
                                .slice = plan->slice,
                                .panel = plan->panel,
                                .local_row = plan->chunks->local_row,
                                .off = plan->chunks->off,
                                .pair = plan->pair,
                                .by_target = plan->dag->by_target};
}

static void fill_stats(tristar_plan_t *plan) {
  const tristar_analysis_t *an = plan->factor->analysis;
  tristar_plan_stats *stats = &plan->stats;
  stats->chunks = plan->dag->chunks;
  stats->slices = plan->dag->slices;
  stats->tasks = plan->use_tasks ? 2 * (int64_t)plan->dag->nodes + 1 : 0;
  stats->edges = 2 * plan->dag->edges;
  for (tsi_index v = 0; v < plan->dag->nodes; v++) stats->edges += tsi_dag_turns(plan->dag, v);
  stats->width = plan->dag->width;
  stats->depth = plan->dag->depth;
  stats->critical_bytes = plan->dag->critical_bytes;
  stats->stream_bytes = 2.0 * (double)an->symbolic->nnz_stored * (double)plan->factor->scalar_bytes;
  stats->exact_bytes = 2.0 * (double)an->symbolic->nnz_exact * (double)plan->factor->scalar_bytes;
  stats->workers = plan->use_tasks ? (int)starpu_cpu_worker_get_count() : 1;
  stats->scheduler = plan->use_tasks ? starpu_sched_ctx_get_sched_policy(0)->policy_name : "serial";
}

tristar_status tristar_plan(tristar_factor_t *factor, const tristar_plan_options *options,
                            tristar_plan_t **out) {
  tristar_status status = TRISTAR_OK;
  tristar_plan_options defaults;
  tristar_plan_t *plan = NULL;
  tsi_replay *replay = NULL;
  if (factor == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &factor->ts->env;
  const double begin = tsi_clock();
  if (out == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "plan is NULL");
  *out = NULL;
  tristar_plan_options_init(&defaults);
  if (options == NULL) options = &defaults;
  if ((unsigned)options->engine > TRISTAR_ENGINE_TASKS || options->nrhs < 0 || options->chunk_bytes_min < 0 ||
      options->chunk_bytes_max < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "engine %d, nrhs %" PRId64 ", chunk bytes %" PRId64 " to %" PRId64,
             (int)options->engine, options->nrhs, options->chunk_bytes_min, options->chunk_bytes_max);
  if (!factor->valid)
    TSI_FAIL(env, TRISTAR_ERR_STALE, "the factor holds no values: its last refactorization failed");
  TSI_TRY(TSI_ALLOC_ZERO(env, plan, 1));
  pthread_mutex_init(&plan->lock, NULL);
  plan->ts = factor->ts;
  plan->factor = tsi_factor_share(factor);
  plan->options = *options;
  TSI_TRY(choose_chunks(env, plan));
  plan->use_tasks = options->engine == TRISTAR_ENGINE_TASKS ||
                    (options->engine == TRISTAR_ENGINE_AUTO && plan->ts->use_starpu && plan->dag->nodes > 1);
  if (plan->use_tasks) TSI_TRY(tsi_context_need_starpu(plan->ts));
  TSI_TRY(fill_panels(env, plan));
  TSI_TRY(fill_chunks(env, plan));
  point_to_data(plan);
  fill_stats(plan);
  const tsi_index nrhs = (tsi_index)tsi_count_min(options->nrhs > 0 ? options->nrhs : 1, TSI_NRHS_BLOCK);
  TSI_TRY(tsi_replay_take(plan, nrhs == 1 ? 1 : (nrhs + 7) / 8 * 8, &replay));
  tsi_replay_give_back(replay);
  plan->stats.plan_seconds = tsi_clock() - begin;
  tsi_log(env, TRISTAR_LOG_INFO, "plan: %d chunks, %d slices, %s on %d workers, kernels %s, %.3g s",
          plan->dag->chunks, plan->dag->slices, plan->stats.scheduler, plan->stats.workers,
          plan->data.kernels->isa, plan->stats.plan_seconds);
out:
  if (status != TRISTAR_OK) tristar_plan_destroy(&plan);
  if (out != NULL) *out = plan;
  return status;
}

void tristar_plan_get_stats(const tristar_plan_t *plan, tristar_plan_stats *stats) {
  pthread_mutex_lock((pthread_mutex_t *)&plan->lock);
  *stats = plan->stats;
  pthread_mutex_unlock((pthread_mutex_t *)&plan->lock);
}

const int32_t *tristar_plan_chunk_of_supernode(const tristar_plan_t *plan) {
  return plan->chunk_of_supernode;
}

tristar_status tristar_plan_write_dot(const tristar_plan_t *plan, const char *path) {
  if (plan == NULL || path == NULL) return TRISTAR_ERR_ARGUMENT;
  return tsi_dag_write_dot(&plan->ts->env, plan->dag, plan->chunks, path);
}

void tristar_plan_destroy(tristar_plan_t **plan) {
  if (plan == NULL || *plan == NULL) return;
  tristar_plan_t *p = *plan;
  tsi_env *env = &p->ts->env;
  *plan = NULL;
  while (p->free_replays != NULL) {
    tsi_replay *replay = p->free_replays;
    p->free_replays = replay->next;
    tsi_replay_destroy(&replay);
  }
  tsi_chunks_destroy(env, &p->chunks);
  tsi_dag_destroy(env, &p->dag);
  TSI_FREE(env, p->order);
  TSI_FREE(env, p->chunk);
  TSI_FREE(env, p->slice);
  TSI_FREE(env, p->panel);
  TSI_FREE(env, p->pair);
  TSI_FREE(env, p->chunk_of_supernode);
  tristar_factor_destroy(&p->factor);
  pthread_mutex_destroy(&p->lock);
  TSI_FREE(env, p);
}
