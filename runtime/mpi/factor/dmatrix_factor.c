/* tristar_dmatrix_factor and tristar_dmatrix_refactor: see dmatrix_factor.h. */
#include "runtime/mpi/factor/dmatrix_factor.h"

#include <inttypes.h>

#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/solve/queue.h"
#include "runtime/exec/starpu/idle.h"

/* State of a factorization. */
typedef struct making {
  tsi_remaking how; /* first member */
  tristar_dmatrix_t *matrix;
  tristar_analysis_options options; /* of the analysis; permutation: on rank 0 */
  tristar_distributed_t *d;
  double *scale[2];
  tsi_index *place[2];
  bool lean;          /* as in the supply */
  bool keeps_scaling; /* as in an analysis */
  tsi_rows_supply supply;
} making;

static void release_scales(making *m) {
  for (int k = 0; k < 2; k++) {
    TSI_FREE(&m->matrix->ts->env, m->scale[k]);
    TSI_FREE(&m->matrix->ts->env, m->place[k]);
  }
}

/* Collective. Refuses options that differ between ranks. mine: an earlier failure of this rank. */
static tristar_status agree_on_analysis(const making *m, tristar_status mine) {
  static const char *const name[] = {
      "the method",     "the ordering", "leaf_parts",
      "the seed",       "the matching", "the treatment of diagonal blocks (inverse)",
      "merge",          "singular",     "growth",
      "single_factors", "pivoting",     "the bits of pivot_threshold"};
  const tristar_analysis_options *o = &m->options;
  int64_t value[] = {o->method, o->ordering, o->leaf_parts, (int64_t)o->seed,  o->matching, o->inverse,
                     o->merge,  o->singular, o->growth,     o->single_factors, o->pivoting, 0};
  const double threshold = o->pivot_threshold + 0.0; /* not -0.0 */
  memcpy(&value[11], &threshold, sizeof value[11]);
  return tsi_transport_same(m->d->transport, mine, (int)(sizeof value / sizeof *value), name, value, 0, NULL);
}

/* Collective. Computes a matching on rank 0; the sizes of entries exist only during the call. */
static tristar_status match(const making *m, tristar_method method, tsi_matched *matched) {
  tristar_status status = TRISTAR_OK;
  tristar_dmatrix_t *matrix = m->matrix;
  tsi_env *env = &matrix->ts->env;
  TSI_CLEANUP(tsi_entries_finish) tsi_entries sizes = {.n = 0};
  TSI_TRY(tsi_rows_gather_sizes(matrix, &sizes));
  tsi_watch watch = tsi_watch_begin(m->options.progress, m->options.progress_arg);
  if (tsi_transport_rank(matrix->transport) == 0) status = tsi_match(env, method, &sizes, matched, &watch);
  return tsi_transport_agree(matrix->transport, status);
}

/* Collective. Creates a factor without values on rank 0; the pattern exists only during the call. */
static tristar_status analyze(making *m, const tsi_rows_method *method) {
  tristar_status status = TRISTAR_OK;
  tristar_dmatrix_t *matrix = m->matrix;
  tsi_pattern *pattern = NULL;
  tristar_analysis_t *analysis = NULL;
  TSI_CLEANUP(tsi_matched_finish) tsi_matched matched = {.pairs = 0};
  TSI_OWNED tsi_index *order = NULL;
  tsi_chosen_method chosen = method->chosen;
  const double begin = tsi_clock();
  const bool mapped = method->match && chosen.method == TRISTAR_METHOD_LU;
  tristar_factor_destroy(&m->d->source);
  if (method->match) TSI_TRY(match(m, chosen.method, &matched));
  if (m->options.ordering == TRISTAR_ORDERING_PTSCOTCH)
    TSI_TRY(tsi_rows_order(matrix, m->options.seed, mapped, matched.row_map, &order));
  const double before = tsi_clock() - begin;
  TSI_TRY(tsi_dmatrix_gather_pattern(matrix, true, true, &pattern, NULL));
  chosen.matched = &matched;
  chosen.order = order;
  if (pattern != NULL) status = tsi_analyze_pattern(matrix->ts, pattern, &m->options, &chosen, &analysis);
  if (analysis != NULL) {
    analysis->stats.nnz = matrix->stats.nnz_all;
    analysis->stats.analyze_seconds += before;
    analysis->keeps_scaling = m->keeps_scaling;
    status = tsi_factor_create_empty(analysis, &m->d->source);
  }
  tristar_analysis_destroy(&analysis); /* the factor has its own reference */
  return tsi_transport_agree(m->d->transport, status);
}

static void prepare_supply(making *m, tristar_method method, bool adjoint) {
  const char scalar = (char)m->matrix->scalar;
  tsi_rows_supply_begin(m->matrix, m->scale, m->place, &m->supply);
  m->supply.lean = m->lean;
  m->supply.method = method;
  m->supply.adjoint = adjoint;
  m->supply.factor_scalar = tsi_factor_scalar(scalar, m->options.single_factors != 0);
  m->supply.singular = m->options.singular;
  m->supply.growth = m->options.growth;
  m->supply.matching = m->options.matching;
  m->supply.pivoting = m->options.pivoting;
}

/* Collective. METHOD_AUTO continues with L D L^T if Cholesky finds a pivot that is not positive. */
static tristar_status factor_any(making *m) {
  tsi_rows_method method;
  TSI_TRY(tsi_rows_choose_method(m->matrix, &m->options, &method));
  TSI_TRY(analyze(m, &method));
  prepare_supply(m, method.chosen.method, method.adjoint);
  tristar_status status = tsi_team_factor_create(m->d, &m->supply.supply);
  if (status != TRISTAR_ERR_NOT_POSITIVE_DEFINITE || !method.chosen.fallback) return status;
  status = TRISTAR_OK;
  if (m->d->source)
    tsi_log(&m->d->ts->env, TRISTAR_LOG_WARNING,
            "the matrix is not positive definite: L D L^T instead of Cholesky");
  method.chosen = (tsi_chosen_method){.method = TRISTAR_METHOD_LDLT, .rounded = method.chosen.rounded};
  TSI_TRY(tsi_transport_agree(m->d->transport, tsi_dmatrix_need_whole(m->matrix)));
  TSI_TRY(tsi_rows_need_matching(m->matrix, method.chosen.method, &m->options, &method.match));
  TSI_TRY(analyze(m, &method));
  prepare_supply(m, method.chosen.method, method.adjoint);
  return tsi_team_factor_create(m->d, &m->supply.supply);
}

/* Collective. Factors, and makes the factor ready for solves. */
static tristar_status factor_ready(making *m) {
  TSI_TRY(factor_any(m));
  TSI_TRY(tsi_distributed_use_rows(m->d, m->matrix->start));
  return tsi_distributed_make_ready(m->d);
}

/* ---- The same values once more ------------------------------------------------------------------------- */

/* Collective. Replaces an order of the caller by the order of the analysis, as in tsi_analysis_again.
 * permutation: on rank 0, freed by the caller; NULL on other ranks. */
static tristar_status take_order(const tristar_distributed_t *d, tristar_analysis_options *options,
                                 int64_t **permutation) {
  tsi_env *env = &d->ts->env;
  tristar_status status = TRISTAR_OK;
  TSI_OWNED tsi_index *order = NULL;
  if (options->ordering != TRISTAR_ORDERING_USER && options->ordering != TRISTAR_ORDERING_CALLBACK)
    return TRISTAR_OK;
  options->ordering = TRISTAR_ORDERING_USER;
  if (d->source != NULL) status = TSI_ALLOC(env, order, d->n);
  if (d->source != NULL && status == TRISTAR_OK) status = TSI_ALLOC(env, *permutation, d->n);
  TSI_TRY(tsi_directory_gather(env, d->transport, d->out_row, status, order));
  for (int64_t k = 0; d->source != NULL && k < d->n; k++) (*permutation)[k] = order[k];
  options->permutation = *permutation;
  return TRISTAR_OK;
}

/* Collective. Takes the options of rank 0's analysis, changed as by tsi_analysis_match_again. permutation:
 * see above. */
static tristar_status take_options(const tristar_distributed_t *d, tristar_analysis_options *options,
                                   int64_t **permutation) {
  if (d->source != NULL) {
    *options = d->source->analysis->options;
    options->method = d->source->analysis->stats.method;
  }
  TSI_TRY(tsi_broadcast_bytes(&d->ts->env, tsi_transport_comm(d->transport), options, sizeof *options));
  if (d->source == NULL) options->order = NULL;
  options->matching = TRISTAR_MATCHING_ON;
  options->singular = TRISTAR_SINGULAR_PERTURB;
  options->growth = TRISTAR_GROWTH_WARN;
  return take_order(d, options, permutation);
}

static tristar_status make_other(const making *from, const tristar_distributed_t *d, making *m) {
  TSI_OWNED int64_t *permutation = NULL;
  m->d->of_rows = true;
  m->d->pattern = d->pattern;
  TSI_TRY(take_options(d, &m->options, &permutation));
  TSI_TRY(tsi_transport_agree(m->d->transport, tsi_dmatrix_need_whole(from->matrix)));
  return factor_ready(m);
}

static tristar_status rematch(const tsi_remaking *how, const tristar_distributed_t *d,
                              tristar_distributed_t *other) {
  const making *from = (const making *)how;
  making m = {.matrix = from->matrix, .d = other, .lean = from->lean, .keeps_scaling = true};
  const tristar_status status = make_other(from, d, &m);
  release_scales(&m);
  return status;
}

/* The analysis was already made for these values. */
static tristar_status factor_again(const tsi_remaking *how, tristar_distributed_t *d, bool substitute) {
  making m = *(const making *)how;
  TSI_OWNED int64_t *permutation = NULL;
  if (substitute) m.options.inverse = TRISTAR_INVERSE_NONE;
  tristar_status status = take_order(d, &m.options, &permutation);
  tsi_distributed_release_layout(d);
  if (status == TRISTAR_OK) status = tsi_transport_agree(d->transport, tsi_dmatrix_need_whole(m.matrix));
  if (status == TRISTAR_OK) status = factor_ready(&m);
  release_scales(&m);
  return status;
}

static const tsi_remaking remaking_of_rows = {
    .factor_again = factor_again, .rematch = rematch, .suits = true, .remedy = "tristar_dmatrix_factor"};

/* ---- A factorization ----------------------------------------------------------------------------------- */

/* Number of grids of the layout, or the largest possible number if the layout is yet to be chosen. */
static int grids_of(const tristar_distributed_t *d) {
  const int ranks = tsi_transport_size(d->transport);
  int grids = 1;
  if (d->options.layout.px > 0) return d->options.layout.pz;
  while (ranks % (2 * grids) == 0 && (d->options.grids == 0 || 2 * grids <= d->options.grids)) grids *= 2;
  return grids;
}

static tristar_status check_options(const tsi_env *env, const tristar_analysis_options *options) {
  if (options->schur_count != 0)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "schur: on many processes tristar_dmatrix_schur computes Schur complements");
  return tsi_analysis_check_options(env, options);
}

/* Collective. */
static tristar_status make(making *m, size_t memory, double begin) {
  tristar_distributed_t *d = m->d;
  const int pz = grids_of(d);
  TSI_TRY(tsi_distributed_agree(d, check_options(&d->ts->env, &m->options)));
  TSI_TRY(agree_on_analysis(m, tsi_dmatrix_need_whole(m->matrix)));
  if (m->options.leaf_parts < pz) m->options.leaf_parts = pz;
  d->of_rows = true;
  TSI_TRY(tsi_dmatrix_fingerprint(m->matrix, &d->pattern));
  const tristar_status status = factor_ready(m);
  release_scales(m);
  TSI_TRY(tsi_distributed_judge_first(&m->d, &m->how, status));
  tsi_team_factor_note_costs(m->d, memory, tsi_clock() - begin - m->d->stats.start_seconds);
  return TRISTAR_OK;
}

tristar_status tristar_dmatrix_factor(tristar_dmatrix_t *matrix, const tristar_analysis_options *analysis,
                                      const tristar_distributed_options *options,
                                      tristar_distributed_t **out) {
  tristar_status status = TRISTAR_OK;
  if (out != NULL) *out = NULL;
  TSI_ENTER(matrix, matrix->ts);
  tristar_t *ts = matrix->ts;
  const double begin = tsi_clock();
  making m = {.how = remaking_of_rows, .matrix = matrix, .lean = matrix->whole == NULL};
  const size_t memory = tsi_memory_watch(&ts->env);
  tsi_idle_dismiss();
  TSI_TRY_OUT(tsi_distributed_create(ts, tsi_transport_comm(matrix->transport), options, out, &m.d));
  TSI_TRY_OUT(
      tsi_distributed_agree(m.d, TSI_OPTIONS(&ts->env, tristar_analysis_options, analysis, &m.options)));
  TSI_TRY_OUT(make(&m, memory, begin));
  m.d->stats.distribute_seconds = tsi_clock() - begin - m.d->stats.start_seconds;
out:
  tsi_idle_recall();
  release_scales(&m);
  if (m.lean) tsi_dmatrix_release_whole(matrix);
  if (status != TRISTAR_OK) tristar_distributed_destroy(&m.d);
  if (out != NULL) *out = m.d;
  return tsi_answer(&ts->env, status);
}

/* ---- New values ---------------------------------------------------------------------------------------- */

/* Local. Checks that this matrix can supply new values for this factor. */
static tristar_status check_pair(const tristar_dmatrix_t *matrix, const tristar_distributed_t *d) {
  const tsi_env *env = &d->ts->env;
  const tsi_factor_kind *kind = &d->process->kind;
  int likeness = MPI_UNEQUAL;
  if (!d->of_rows)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "rank 0 had the matrix: tristar_distributed_refactor, or _update, takes its new values over");
  if (matrix->ts != d->ts) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the matrix is of another context");
  TSI_TRY(TSI_MPI(
      env, "MPI_Comm_compare",
      MPI_Comm_compare(tsi_transport_comm(matrix->transport), tsi_transport_comm(d->transport), &likeness)));
  if (likeness != MPI_IDENT && likeness != MPI_CONGRUENT)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the matrix is on other ranks than the factor");
  if (matrix->stats.n != kind->n || (char)matrix->scalar != kind->user_scalar)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "the matrix has order %" PRId64 " and type %c, the factor %" PRId64 " and %c", matrix->stats.n,
             (int)matrix->scalar, kind->n, kind->user_scalar);
  return TRISTAR_OK;
}

/* Collective. Checks that the matrix has the pattern that was factored, and that its values fit the method.
 * If it has another pattern, the factor keeps its values: it is as valid as before.
 */
static tristar_status check_values(const making *m, tristar_method method, bool before, bool *adjoint) {
  uint64_t pattern;
  TSI_TRY(tsi_dmatrix_fingerprint(m->matrix, &pattern));
  if (pattern != m->d->pattern) {
    m->d->valid = before;
    TSI_FAIL(&m->d->ts->env, TRISTAR_ERR_ARGUMENT,
             "the matrix has another pattern than the one that was factored: tristar_dmatrix_factor it anew");
  }
  tristar_status status = tsi_rows_check_method(m->matrix, method, adjoint);
  if (m->d->source) status = tsi_factor_explain(m->d->source, status);
  return tsi_transport_agree(m->d->transport, status);
}

/* Collective. */
static tristar_status renew(making *m, size_t memory, double begin) {
  tristar_distributed_t *d = m->d;
  bool adjoint;
  TSI_TRY(tsi_transport_agree(d->transport, check_pair(m->matrix, d)));
  const tsi_factor_kind *kind = &d->process->kind;
  const tristar_analysis_options *options = &d->team_factor->analysis.options;
  const tristar_method method = d->team_factor->analysis.stats.method;
  const bool before = d->valid;
  d->valid = false;
  TSI_TRY(tsi_transport_agree(d->transport, tsi_dmatrix_need_whole(m->matrix)));
  TSI_TRY(check_values(m, method, before, &adjoint));
  m->options.single_factors = kind->factor_scalar != kind->user_scalar;
  m->options.singular = options->singular;
  m->options.growth = options->growth;
  m->options.matching = options->matching;
  m->options.pivoting = options->pivoting;
  prepare_supply(m, method, adjoint);
  return tsi_team_factor_renew(d, &m->supply.supply, &m->how, TRISTAR_OK, memory, begin);
}

tristar_status tristar_dmatrix_refactor(tristar_dmatrix_t *matrix, tristar_distributed_t *distributed) {
  TSI_ENTER(matrix, matrix->ts);
  TSI_ENTER(distributed, distributed->ts);
  tsi_env *env = &distributed->ts->env;
  tsi_queue_drain(distributed);
  const double begin = tsi_clock();
  const size_t memory = tsi_memory_watch(env);
  making m = {.how = remaking_of_rows, .matrix = matrix, .d = distributed, .lean = matrix->whole == NULL};
  tsi_idle_dismiss();
  const tristar_status status = renew(&m, memory, begin);
  tsi_idle_recall();
  release_scales(&m);
  if (m.lean) tsi_dmatrix_release_whole(matrix);
  return tsi_answer(env, status);
}
