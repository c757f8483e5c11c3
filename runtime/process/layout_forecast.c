/* tristar_layout_forecast: bytes of all ranks, one after the other (rank_forecast.h), and simulated seconds.
 *
 * For each rank, its process and its part of the tree are created, measured and released.
 *
 * Reads   an analysis.   Writes  the caller's forecast. */
#include "dag/factor/front_owners.h"
#include "runtime/base/range.h"
#include "runtime/factor/factor_forecast.h"
#include "runtime/process/layout_words.h"
#include "runtime/process/rank_forecast.h"
#include "runtime/process/traffic.h"
#include "runtime/solve/device_split_options.h"

typedef struct maker {
  tristar_analysis_t *analysis;
  const tristar_factor_t *factor; /* without values */
  const tristar_layout *words;
  int64_t nrhs;
  tsi_front_structure fronts;
  tsi_index *owner;
  tsi_front_teams *teams;
  tsi_front_weights weights;
} maker;

static tristar_status check(const tristar_analysis_t *an, int64_t nrhs) {
  const tsi_env *env = &an->ts->env;
  const char *what = an->imported          ? "of imported factors, which are there"
                     : an->schur_count > 0 ? "with rows of a Schur complement"
                                           : NULL;
  if (nrhs < 1 || nrhs > INT32_MAX) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs = %lld", (long long)nrhs);
  if (what != NULL) TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "no forecast %s", what);
  return TRISTAR_OK;
}

static tristar_status make_process(tsi_env *env, const maker *m, tsi_index rank, tsi_process **out) {
  const tsi_factor_kind kind = tsi_factor_kind_of(m->factor);
  const tsi_process_options options = {.layout = tsi_analysis_layout_options(m->analysis, m->words, false),
                                       .tree = tsi_tree_of(m->words),
                                       .rank = rank,
                                       .later = true};
  return tsi_process_create(env, &kind, m->fronts.symbolic, m->fronts.panels, &options, out);
}

/* Measures the workspace of solves, and the rows of b and x. */
static tristar_status weigh_solve(tsi_env *env, const maker *m, tsi_process *process, double *bytes) {
  const size_t before = atomic_load(&env->memory.current);
  const tsi_index stride = tsi_workspace_stride(tsi_columns_of(m->nrhs));
  const double columns = process->share->panels->start[process->share->panels->count];
  tsi_process_run *run = NULL;
  TSI_TRY(tsi_process_run_create(process, stride, &run));
  *bytes = (double)(atomic_load(&env->memory.current) - before) +
           2 * columns * stride * (double)process->user_bytes;
  tsi_process_run_destroy(&run);
  return TRISTAR_OK;
}

/* Rank 0 holds `held` bytes and searches an order for the whole matrix. Then all ranks factor again, and rank
 * 0 has the analysis of the new order in addition to the first one. */
static tristar_status add_search(const maker *m, double held, double peak, tristar_ranks_forecast *out) {
  const tristar_analysis_t *an = m->analysis;
  const double n = an->symbolic->n, entries = (double)an->stats.nnz;
  double search;
  TSI_TRY(tsi_factor_weigh_search(an, &search));
  /* The rows of the matrix, and the lists for the entries of fronts. */
  const double matrix = entries * (sizeof(tsi_index) + (double)m->factor->user_bytes) + sizeof(tsi_count) * n;
  const double lists = entries * (sizeof(tsi_index) + sizeof(tsi_count));
  if (search > 0)
    out->search_peak_bytes =
        tsi_double_max(held + matrix + lists + search, peak + (double)tsi_analysis_bytes(an));
  return TRISTAR_OK;
}

static tristar_status add_part(tsi_env *env, const maker *m, tsi_index rank, tsi_process *process,
                               const tsi_front_part *part, size_t before, tristar_ranks_forecast *out) {
  const tsi_rank_source source = {.ts = m->analysis->ts,
                                  .panels = m->fronts.panels,
                                  .method = m->fronts.method,
                                  .process = process,
                                  .part = part,
                                  .entries = m->analysis->stats.nnz};
  tsi_rank_bytes bytes;
  double solve;
  tsi_layout_discard_rows(env, process->layout);
  const double structure = (double)(atomic_load(&env->memory.current) - before);
  TSI_TRY(tsi_rank_forecast_make(env, &source, &bytes));
  TSI_TRY(weigh_solve(env, m, process, &solve));
  const double peak = structure + tsi_rank_peak(&bytes);
  tsi_range_add(&out->factor_bytes, bytes.panels, rank);
  tsi_range_add(&out->factor_peak_bytes, peak, rank);
  tsi_range_add(&out->solve_bytes, solve, rank);
  tsi_range_add(&out->peak_bytes, tsi_double_max(peak, structure + bytes.kept + solve), rank);
  if (rank == 0) TSI_TRY(add_search(m, structure + bytes.kept, peak, out));
  return TRISTAR_OK;
}

static tristar_status add_rank(tsi_env *env, const maker *m, tsi_index rank, tristar_ranks_forecast *out) {
  const tsi_front_whole whole = {&m->fronts, m->owner, m->teams, &m->weights};
  const size_t before = atomic_load(&env->memory.current);
  TSI_CLEANUP(tsi_process_destroy) tsi_process *process = NULL;
  tsi_front_part part;
  TSI_TRY(make_process(env, m, rank, &process));
  TSI_SCRATCH_ZERO(env, bool, requested, m->fronts.symbolic->count);
  for (tsi_index j = 0; j < process->share->panels->count; j++)
    requested[m->fronts.panels->supernode[process->share->panel[j]]] = true;
  TSI_TRY(tsi_front_part_create(env, &whole, rank, requested, &part));
  const size_t scratch = (size_t)m->fronts.symbolic->count * sizeof *requested;
  const tristar_status status = add_part(env, m, rank, process, &part, before + scratch, out);
  tsi_front_part_destroy(env, &part);
  return status;
}

static tristar_status weigh_ranks(tsi_env *env, maker *m, tristar_ranks_forecast *out) {
  const tristar_analysis_t *an = m->analysis;
  TSI_OWNED tsi_layout *layout = NULL;
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  TSI_TRY(tsi_layout_make(env, an, m->words, m->nrhs, false, &layout));
  TSI_TRY(tsi_factor_create_empty(m->analysis, &factor));
  out->ranks = tsi_layout_ranks(layout);
  m->factor = factor;
  m->fronts = (tsi_front_structure){an->symbolic, an->panels, an->stats.method, &an->ts->fronts};
  TSI_TRY(TSI_ALLOC_IN(m, m->owner, an->symbolic->count));
  TSI_TRY(tsi_front_owners_choose(env, layout, &m->fronts, m->owner, &m->teams, NULL));
  tsi_own(m, m->teams);
  TSI_TRY(tsi_factorization_weigh(env, an->symbolic, m->fronts.method, m->fronts.options, &m->weights));
  tsi_own(m, m->weights.subtree);
  for (tsi_index r = 0; r < out->ranks; r++) TSI_TRY(add_rank(env, m, r, out));
  return TRISTAR_OK;
}

static tristar_status make(tristar_analysis_t *an, const tristar_layout *words, int64_t nrhs,
                           const tristar_cluster *cluster, tristar_ranks_forecast *out) {
  tsi_env *env = &an->ts->env;
  tristar_cluster here;
  tristar_simulated simulated;
  TSI_TRY(check(an, nrhs));
  TSI_TRY(tsi_analysis_need_whole(an));
  TSI_SCRATCH_ZERO(env, maker, m, 1);
  *m = (maker){.analysis = an, .words = words, .nrhs = nrhs};
  TSI_TRY(weigh_ranks(env, m, out));
  if (cluster == NULL) here = tsi_cluster_here(&an->ts->machine, 0, TSI_MESSAGE_SECONDS);
  if (cluster == NULL) cluster = &here;
  TSI_TRY(tristar_layout_predict_factor(an, words, cluster, &simulated));
  out->factor_seconds = simulated.seconds;
  TSI_TRY(tristar_layout_predict(an, words, nrhs, cluster, &simulated));
  out->solve_seconds = simulated.seconds;
  return TRISTAR_OK;
}

tristar_status tristar_layout_forecast(tristar_analysis_t *analysis, const tristar_layout *layout,
                                       int64_t nrhs, const tristar_cluster *cluster,
                                       tristar_ranks_forecast *out) {
  tristar_layout fallback;
  tristar_status status = TRISTAR_OK;
  if (out != NULL) memset(out, 0, sizeof *out);
  TSI_ENTER(analysis, analysis->ts);
  tsi_env *env = &analysis->ts->env;
  tristar_layout_init(&fallback);
  if (out == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "out is NULL");
  status = make(analysis, layout ? layout : &fallback, nrhs, cluster, out);
  if (status != TRISTAR_OK) memset(out, 0, sizeof *out);
out:
  return tsi_answer(env, status);
}
