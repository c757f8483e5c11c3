/* tristar_layout_predict: see predict.h. */
#include "runtime/process/predict.h"

#include "codelets/cpu/rows/sparse.h"
#include "runtime/base/options.h"
#include "runtime/base/range.h"
#include "runtime/process/layout_words.h"
#include "runtime/process/process.h"
#include "runtime/process/traffic.h"

void tristar_cluster_init_sized(tristar_cluster *cluster, size_t size) {
  const tristar_cluster defaults = {.ranks_per_node = 1,
                                    .cores = 1,
                                    .core_bytes_per_second = 12e9,
                                    .cached_bytes_per_second = 40e9,
                                    .flops_per_second = 20e9,
                                    .step_seconds = 1e-6,
                                    .latency_seconds = 1.5e-6,
                                    .overhead_seconds = 5e-7,
                                    .bytes_per_second = 10e9,
                                    .local_latency_seconds = 5e-7,
                                    .local_overhead_seconds = 3e-7,
                                    .local_bytes_per_second = 5e9,
                                    .dense_flops_per_second = 40e9};
  tsi_options_init(cluster, size, &defaults, sizeof defaults);
}

/* ---- The programs of all processes -------------------------------------------------------------------- */

/* Number of panels that a step processes. */
static tsi_index panels_of(const tsi_chunks *chunks, const tsi_step *step) {
  const tsi_index c = step->argument;
  if (step->kind == TSI_STEP_FORWARD_SLICE || step->kind == TSI_STEP_BACKWARD_SLICE) return 1;
  if (step->kind != TSI_STEP_FORWARD_CHUNK && step->kind != TSI_STEP_BACKWARD_CHUNK) return 0;
  return chunks->panel[c + 1] - chunks->panel[c];
}

static tristar_status add_rank(tsi_env *env, const tristar_analysis_t *an, const tsi_layout *layout,
                               const tsi_participants *participants, const tsi_share_options *options,
                               tsi_tree tree, tsi_index rank, const tristar_cluster *cluster,
                               tsi_world *world) {
  TSI_OWNED tsi_share *share = NULL;
  TSI_OWNED tsi_sweep *sweep = NULL;
  TSI_OWNED tsi_program *program = NULL;
  TSI_TRY(tsi_share_create(env, layout, an->panels, rank, options, &share));
  TSI_TRY(tsi_sweep_create(env, share->chunks, share->panels, options->scalar_bytes, &sweep));
  const tsi_program_source source = {
      .layout = layout, .participants = participants, .share = share, .sweep = sweep, .tree = tree};
  TSI_TRY(tsi_program_create(env, &source, &program));
  TSI_TRY(tsi_world_add(env, world, program, !tsi_cluster_in_order(cluster)));
  if (cluster->drawn) TSI_TRY(tsi_world_draw(env, world, program, layout, share));
  for (tsi_index s = 0; s < program->steps->count; s++)
    world->rank[rank].step[s].seconds =
        cluster->panel_seconds * panels_of(share->chunks, &program->steps->step[s]);
  return TRISTAR_OK;
}

static tristar_status make_world(tsi_env *env, const tristar_analysis_t *an, const tristar_layout *words,
                                 int64_t nrhs, const tristar_cluster *cluster, tsi_world **out) {
  TSI_OWNED tsi_layout *layout = NULL;
  TSI_OWNED tsi_world *world = NULL;
  TSI_TRY(tsi_layout_make(env, an, words, nrhs, cluster->gpu_chunks, &layout));
  const tsi_layout_options options = tsi_analysis_layout_options(an, words, cluster->gpu_chunks);
  const tsi_share_options share = tsi_share_options_of(&options);
  const tsi_index grid = layout->px * layout->py;
  TSI_TRY(tsi_world_create(env, tsi_layout_ranks(layout), &world));
  for (tsi_index z = 0; z < layout->pz; z++) {
    TSI_OWNED tsi_participants *participants = NULL;
    TSI_TRY(tsi_participants_create(env, layout, z, &participants));
    for (tsi_index r = grid * z; r < grid * (z + 1); r++)
      TSI_TRY(add_rank(env, an, layout, participants, &share, tsi_tree_of(words), r, cluster, world));
  }
  TSI_TRY(tsi_world_join(env, world));
  *out = tsi_take(&world);
  return TRISTAR_OK;
}

/* ---- Figures over all processes ----------------------------------------------------------------------- */

tsi_simulated_sweeps tsi_simulation_sweeps(const tsi_simulation *s, tsi_index r) {
  const tsi_world_rank *program = &s->world->rank[r];
  double forward_end = 0, backward_begin = s->seconds;
  for (tsi_index k = 0; k < program->steps; k++) {
    const tsi_step_kind kind = program->step[k].kind;
    if (tsi_step_is_forward(kind))
      forward_end = tsi_double_max(forward_end, s->rank[r].end[k]);
    else if (kind != TSI_STEP_EXCHANGE && kind != TSI_STEP_ARRIVAL)
      backward_begin = tsi_double_min(backward_begin, s->rank[r].begin[k]);
  }
  return (tsi_simulated_sweeps){forward_end, s->seconds - backward_begin};
}

static void add_sweeps(const tsi_simulation *s, tsi_index r, tristar_simulated *out) {
  const tsi_simulated_sweeps sweeps = tsi_simulation_sweeps(s, r);
  tsi_range_add(&out->forward, sweeps.forward, r);
  tsi_range_add(&out->backward, sweeps.backward, r);
}

static void summarize(const tsi_simulation *s, bool sweeps, tristar_simulated *out) {
  const tsi_index ranks = s->world->ranks;
  const tsi_simulated_path path = tsi_simulation_path(s);
  tristar_traffic traffic = {0};
  for (tsi_index r = 0; r < ranks; r++) {
    const tsi_simulated_rank *own = &s->rank[r];
    const double busy = own->arithmetic + own->message[0] + own->message[1];
    tsi_range_add(&out->arithmetic, own->arithmetic, r);
    tsi_range_add(&out->inside, own->message[0], r);
    tsi_range_add(&out->between, own->message[1], r);
    tsi_range_add(&out->waiting, s->seconds * s->cluster.cores - busy, r);
    tsi_range_add(&out->active, own->active, r);
    if (sweeps) add_sweeps(s, r, out);
  }
  tsi_traffic_summarize(s->traffic, 0, s->row_bytes, &traffic);
  out->ranks = ranks;
  out->steps = s->world->steps;
  out->seconds = s->seconds;
  out->balance = out->arithmetic.mean > 0 ? out->arithmetic.max / out->arithmetic.mean : 1;
  out->path_arithmetic_seconds = path.arithmetic;
  out->path_inside_seconds = path.message[0];
  out->path_between_seconds = path.message[1];
  out->path_messages = path.messages;
  out->path_steps = path.steps;
  out->path_diagonal_seconds = path.part[TSI_PART_DIAGONAL];
  out->path_rows_seconds = path.part[TSI_PART_ROWS];
  out->broadcast = traffic.broadcast;
  out->reduction = traffic.reduction;
  out->grids = traffic.grids;
  out->all = traffic.all;
}

/* ---- All ---------------------------------------------------------------------------------------------- */

static tristar_status prepare(tsi_env *env, const tristar_analysis_t *an, const tristar_layout *layout,
                              int64_t nrhs, const tristar_cluster *cluster, tsi_predicted *p) {
  if (nrhs == 0 && cluster->drawn)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "the processes of the cluster are GPUs, which do not factor together");
  if (nrhs == 0) return tsi_predict_factor_world(env, an, layout, cluster, p);
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(an->factor_scalar);
  const double scalar_bytes = (double)kernels->scalar_bytes, columns = (double)nrhs;
  const double flops = columns * (kernels->is_complex ? 8 : 2) / scalar_bytes;
  TSI_TRY(make_world(env, an, layout, nrhs, cluster, &p->world));
  return tsi_simulation_create(env, p->world, cluster, scalar_bytes * columns, flops,
                               tsi_analysis_is_lu(an) ? 1 : 0.5, &p->simulation);
}

tristar_status tsi_layout_simulate(const tristar_analysis_t *analysis, const tristar_layout *layout,
                                   int64_t nrhs, const tristar_cluster *cluster,
                                   const tsi_simulation_clock *clock, tristar_simulated *out,
                                   tsi_predicted *predicted) {
  tsi_env *env = tsi_context_env(analysis->ts);
  tristar_layout fallback;
  tristar_cluster full;
  tsi_predicted own = {NULL, NULL};
  memset(out, 0, sizeof *out);
  tristar_layout_init(&fallback);
  TSI_TRY(tsi_cluster_take(env, cluster, &full));
  tristar_status status = prepare(env, analysis, layout ? layout : &fallback, nrhs, &full, &own);
  if (status == TRISTAR_OK) status = tsi_simulation_run(own.simulation, clock);
  if (status == TRISTAR_OK) summarize(own.simulation, nrhs > 0, out);
  if (predicted)
    *predicted = own;
  else
    tsi_predicted_release(analysis, &own);
  return status;
}

void tsi_predicted_release(const tristar_analysis_t *analysis, tsi_predicted *predicted) {
  tsi_env *env = tsi_context_env(analysis->ts);
  TSI_FREE(env, predicted->simulation);
  TSI_FREE(env, predicted->world);
}

tristar_status tristar_layout_predict(const tristar_analysis_t *analysis, const tristar_layout *layout,
                                      int64_t nrhs, const tristar_cluster *cluster, tristar_simulated *out) {
  tristar_status status = TRISTAR_OK;
  if (out == NULL) return TSI_NULL(out);
  memset(out, 0, sizeof *out);
  TSI_ENTER(analysis, analysis->ts);
  tsi_env *env = tsi_context_env(analysis->ts);
  if (nrhs < 1) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "nrhs = %lld", (long long)nrhs);
  TSI_TRY_OUT(tsi_layout_simulate(analysis, layout, nrhs, cluster, NULL, out, NULL));
out:
  return tsi_answer(env, status);
}

tristar_status tristar_layout_predict_factor(const tristar_analysis_t *analysis, const tristar_layout *layout,
                                             const tristar_cluster *cluster, tristar_simulated *out) {
  if (out == NULL) return TSI_NULL(out);
  memset(out, 0, sizeof *out);
  TSI_ENTER(analysis, analysis->ts);
  return tsi_answer(tsi_context_env(analysis->ts),
                    tsi_layout_simulate(analysis, layout, 0, cluster, NULL, out, NULL));
}
