/* Factors on all ranks: see team_factor.h. */
#include "runtime/mpi/factor/team_factor.h"

#include "dag/factor/front_owners.h"
#include "runtime/factor/scaling.h"
#include "runtime/base/clock.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/solve/queue.h"
#include "runtime/process/extract.h"
#include "runtime/exec/starpu/idle.h"

/* ---- What follows from the structure ------------------------------------------------------------------- */

/* Finds the position of each panel of own fronts: in the share if it stores the whole panel, else in
 * `passing`. */
static tristar_status place_panels(tristar_distributed_t *d, tsi_team_factor *team_factor) {
  tristar_status status = TRISTAR_OK;
  const tsi_panels *panels = team_factor->fronts.tree->panels;
  const tsi_process *p = d->process;
  const tsi_share *share = p->share;
  tsi_count *place = NULL;
  TSI_TRY_OUT(TSI_ALLOC(&d->ts->env, place, (tsi_count)panels->count + 1));
  for (tsi_index j = 0; j <= panels->count; j++) place[j] = -1;
  for (tsi_index k = 0; k < share->chunks->count; k++)
    for (tsi_index j = share->chunks->panel[k]; j < share->chunks->panel[k + 1]; j++) {
      const tsi_index panel = team_factor->panel[j];
      if ((share->role[k] & TSI_ROLE_DIAGONAL) && share->panels->height[j] == panels->height[panel])
        place[panel] = p->begin[j];
    }
  for (tsi_index j = 0; j < panels->count; j++)
    team_factor->passing += place[j] < 0 && team_factor->fronts.owner[panels->supernode[j]] == share->rank;
out:
  team_factor->analysis.panel_values = place;
  return status;
}

/* Fills the analysis to which the part refers. */
static void fill_analysis(const tristar_distributed_t *d, tsi_team_factor *team_factor,
                          const tsi_front_structure *whole) {
  const tsi_factor_kind *kind = &d->process->kind;
  struct tristar_analysis_s *an = &team_factor->analysis;
  team_factor->pattern =
      (tsi_pattern){.n = team_factor->fronts.tree->symbolic->n, .scalar = kind->user_scalar};
  an->ts = d->ts;
  an->pattern = &team_factor->pattern;
  an->options.inverse = (tristar_inverse)kind->inverse;
  an->factor_scalar = kind->factor_scalar;
  an->symbolic = team_factor->fronts.tree->symbolic;
  an->panels = team_factor->fronts.tree->panels;
  an->stats.method = whole->method;
  an->stats.n = whole->symbolic->n;
  an->stats.stored_lower = whole->symbolic->nnz_stored;
}

/* Collective. Finds the user's rows and columns of the columns of the part. mine: an earlier failure of this
 * rank. */
static tristar_status name_rows(tristar_distributed_t *d, tsi_team_factor *team_factor, tristar_status mine) {
  tsi_env *env = &d->ts->env;
  struct tristar_analysis_s *an = &team_factor->analysis;
  const tsi_index n = team_factor->pattern.n;
  TSI_OWNED tsi_index *column = NULL;
  tristar_status status = mine;
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, column, n);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, an->in_row, n);
  if (status == TRISTAR_OK && !d->one_place) status = TSI_ALLOC(env, an->out_row, n);
  for (tsi_index j = 0; status == TRISTAR_OK && j < n; j++)
    column[j] = tsi_front_part_there(&team_factor->fronts, j);
  TSI_TRY(tsi_directory_query(env, d->transport, d->in_row, status, n, column, an->in_row));
  if (d->one_place)
    an->out_row = an->in_row;
  else
    TSI_TRY(tsi_directory_query(env, d->transport, d->out_row, TRISTAR_OK, n, column, an->out_row));
  return TRISTAR_OK;
}

static tristar_status fill_part(tristar_distributed_t *d, tsi_team_factor *team_factor) {
  tsi_env *env = &d->ts->env;
  const tsi_process *p = d->process;
  struct tristar_factor_s *part = &team_factor->part;
  part->ts = d->ts;
  part->analysis = &team_factor->analysis;
  part->user_bytes = p->user_bytes;
  part->scalar_bytes = p->scalar_bytes;
  if (p->kind.pivots) TSI_TRY(TSI_ALLOC(env, part->pivots, team_factor->pattern.n));
  if (p->kind.indefinite)
    TSI_TRY(TSI_ALLOC_SIZED(env, part->inverse, 2 * (size_t)team_factor->pattern.n, p->scalar_bytes));
  return TRISTAR_OK;
}

/* Numbers the panels of the factor in the part. */
static tristar_status number_panels(tsi_env *env, const tsi_panels *panels, const tsi_tree_part *part,
                                    tsi_index **number) {
  TSI_TRY(TSI_ALLOC(env, *number, panels->count));
  for (tsi_index p = 0; p < panels->count; p++) (*number)[p] = TSI_NONE;
  for (tsi_index s = 0; s < part->symbolic->count; s++) {
    const tsi_index first = panels->first[part->supernode[s]];
    for (tsi_index p = part->panels->first[s]; p < part->panels->first[s + 1]; p++)
      (*number)[first + p - part->panels->first[s]] = p;
  }
  return TRISTAR_OK;
}

/* Creates this rank's part of the fronts, and its part of the layout with the panels to hand on. Meanwhile
 * team_factor has the owners and teams of all supernodes. */
static tristar_status take_part(tristar_distributed_t *d, tsi_team_factor *team_factor,
                                const tsi_shared_structure *structure, const tsi_front_structure *fronts) {
  tsi_env *env = &d->ts->env;
  const tsi_process *p = d->process;
  const tsi_share *share = p->share;
  const tsi_front_whole whole = {fronts, team_factor->owner, team_factor->teams, NULL};
  TSI_OWNED tsi_index *number = NULL;
  TSI_SCRATCH_ZERO(env, bool, requested, structure->symbolic->count);
  for (tsi_index j = 0; j < share->panels->count; j++)
    requested[structure->panels->supernode[share->panel[j]]] = true;
  TSI_TRY(tsi_front_part_create(env, &whole, share->rank, requested, &team_factor->fronts));
  TSI_TRY(number_panels(env, structure->panels, team_factor->fronts.tree, &number));
  TSI_TRY(tsi_layout_part_create(env, p->layout, number, team_factor->fronts.tree->panels->count,
                                 &team_factor->layout));
  TSI_TRY(TSI_ALLOC(env, team_factor->panel, share->panels->count));
  for (tsi_index j = 0; j < share->panels->count; j++) team_factor->panel[j] = number[share->panel[j]];
  return TRISTAR_OK;
}

/* Frees the data that only a factorization needs. */
static void release_values(tsi_env *env, tsi_team_factor *team_factor) {
  TSI_FREE(env, team_factor->values);
  for (int k = 0; k < 2; k++) {
    void **passing = team_factor->part.passing[k];
    for (tsi_index p = 0; passing && p < team_factor->fronts.tree->panels->count; p++)
      TSI_FREE(env, passing[p]);
    TSI_FREE(env, team_factor->part.passing[k]);
  }
  TSI_FREE(env, team_factor->part.row_scale);
  TSI_FREE(env, team_factor->part.col_scale);
  tsi_pivot_sizes_release(&team_factor->sizes);
}

static void destroy_team_factor(tristar_distributed_t *d, tsi_team_factor **out) {
  if (*out == NULL) return;
  tsi_team_factor *team_factor = *out;
  tsi_env *env = &d->ts->env;
  release_values(env, team_factor);
  tsi_team_factor_release_lists(env, team_factor);
  TSI_FREE(env, team_factor->teams);
  tsi_front_part_destroy(env, &team_factor->fronts);
  TSI_FREE(env, team_factor->layout);
  TSI_FREE(env, team_factor->panel);
  TSI_FREE(env, team_factor->owner);
  TSI_FREE(env, team_factor->analysis.panel_values);
  TSI_FREE(env, team_factor->analysis.second);
  if (team_factor->analysis.out_row != team_factor->analysis.in_row)
    TSI_FREE(env, team_factor->analysis.out_row);
  TSI_FREE(env, team_factor->analysis.in_row);
  TSI_FREE(env, team_factor->part.pivots);
  TSI_FREE(env, team_factor->part.inverse);
  TSI_FREE(env, *out);
}

/* Local. */
static tristar_status create_team_factor(tristar_distributed_t *d, const tsi_shared_structure *structure,
                                         tristar_factor_t *source) {
  tsi_env *env = &d->ts->env;
  const tristar_method method = structure->kind.lu           ? TRISTAR_METHOD_LU
                                : structure->kind.indefinite ? TRISTAR_METHOD_LDLT
                                                             : TRISTAR_METHOD_LLT;
  const tsi_front_structure fronts = {structure->symbolic, structure->panels, method, &d->ts->fronts};
  tsi_team_factor *team_factor = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, team_factor, 1));
  d->team_factor = team_factor;
  d->team_factor_destroy = destroy_team_factor;
  team_factor->source = source;
  TSI_TRY(TSI_ALLOC(env, team_factor->owner, structure->symbolic->count));
  TSI_TRY(tsi_front_owners_choose(env, d->process->layout, &fronts, team_factor->owner, &team_factor->teams,
                                  NULL));
  TSI_TRY(take_part(d, team_factor, structure, &fronts));
  if (source == NULL || d->of_rows) {
    TSI_FREE(env, team_factor->owner);
    TSI_FREE(env, team_factor->teams);
  }
  fill_analysis(d, team_factor, &fronts);
  TSI_TRY(place_panels(d, team_factor));
  return fill_part(d, team_factor);
}

/* Local. Allocates the panels that are factored here, and lists of panels for other ranks. */
static tristar_status make_space(tsi_env *env, tsi_team_factor *team_factor, tsi_process *p) {
  struct tristar_factor_s *part = &team_factor->part;
  TSI_TRY(tsi_process_need_streams(p));
  part->lower = p->lower;
  part->upper = p->upper;
  for (int upper = 0; upper < (part->upper ? 2 : 1) && team_factor->passing > 0; upper++)
    TSI_TRY(TSI_ALLOC_ZERO(env, part->passing[upper], team_factor->fronts.tree->panels->count));
  return TRISTAR_OK;
}

/* Copies order and figures of the pivots to rank 0's factor. */
static void note_outcome(tsi_team_factor *team_factor, const tsi_numeric *numeric) {
  tristar_factor_t *source = team_factor->source;
  if (source == NULL) return;
  const tsi_pivot_figures figures = tsi_numeric_figures(numeric);
  source->stats.perturbed_pivots = figures.perturbed;
  source->stats.smallest_pivot = source->analysis->pattern->n > 0 ? figures.smallest : 0;
  source->stats.largest_pivot = figures.largest;
  source->stats.growth = figures.strongest;
  source->stats.unstable_pivots = team_factor->part.stats.unstable_pivots;
  source->stats.judged = source->stats.singular = 0;
  source->inverse_growth = team_factor->part.inverse_growth;
  tsi_factor_order_pivots(source);
}

/* Collective. Factors, from the values of the supply to the values of the process. */
static tristar_status factor(tristar_distributed_t *d, const tsi_supply *supply) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  tsi_team_factor *team_factor = d->team_factor;
  tsi_process *p = d->process;
  struct tristar_factor_s *part = &team_factor->part;
  tsi_numeric *numeric = NULL;
  TSI_TRY_OUT(supply->scales(supply, d));
  part->part_spread = tsi_scaling_spread_of((tsi_index)d->n, part->row_scale, part->col_scale);
  TSI_TRY_OUT(tsi_team_factor_take_entries(d, supply));
  TSI_TRY_OUT(tsi_transport_agree(d->transport, make_space(env, team_factor, p)));
  TSI_TRY_OUT(tsi_team_factor_run(d, team_factor, false, &numeric));
  if (tsi_numeric_is_doubtful(numeric)) {
    int interchanged = tsi_factor_interchanged(part); /* in columns of the part */
    TSI_TRY_OUT(tsi_transport_unite(d->transport, &interchanged, 1, MPI_INT, MPI_MAX));
    if (interchanged) TSI_TRY_OUT(tsi_team_factor_run_fixed(d, team_factor, &numeric));
  }
  TSI_FREE(env, team_factor->values);
  TSI_TRY_OUT(tsi_team_factor_unite_columns(d, team_factor, sizeof *numeric->share, TSI_UNION_BITS,
                                            numeric->share, NULL));
  TSI_TRY_OUT(tsi_transport_agree(d->transport, tsi_numeric_finish(numeric, part)));
  TSI_TRY_OUT(tsi_transport_unite(d->transport, &part->inherited_error, 1, MPI_DOUBLE, MPI_MAX));
  TSI_TRY_OUT(tsi_transport_unite(d->transport, &part->inverse_growth, 1, MPI_DOUBLE, MPI_MAX));
  TSI_TRY_OUT(tsi_team_factor_test_pivots(d));
  note_outcome(team_factor, numeric);
  tsi_numeric_destroy(&numeric);
  TSI_TRY_OUT(tsi_agree_on_kind(d, team_factor->source, part->row_scale != NULL));
  TSI_TRY_OUT(tsi_team_factor_hand_on(d, team_factor));
  tsi_extract_columns(part, p->share, team_factor->panel, p->pivots, p->inverse, p->row_scale, p->col_scale);
  release_values(env, team_factor);
  TSI_TRY_OUT(supply->matrix(supply, d));
out:
  tsi_numeric_destroy(&numeric);
  release_values(env, team_factor);
  return status;
}

/* ---- Calls --------------------------------------------------------------------------------------------- */

/* Only rank 0 has values to check. */
static tristar_status take_values(tristar_distributed_t *d, tristar_analysis_t *analysis, const void *values,
                                  tristar_factor_t **source) {
  tsi_env *env = &d->ts->env;
  if (tsi_transport_rank(d->transport) != 0) {
    if (analysis != NULL)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "an analysis is passed on rank %d: only rank 0 may have one",
               tsi_transport_rank(d->transport));
    return TRISTAR_OK;
  }
  if (analysis == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "analysis is NULL on rank 0");
  if (values == NULL && analysis->pattern->ptr[analysis->pattern->n] > 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "values is NULL on rank 0");
  TSI_TRY(tsi_analysis_need_whole(analysis));
  TSI_TRY(tsi_factor_create(analysis, values, source));
  return tsi_factor_choose_method(*source);
}

/* Collective. Creates the data that do not depend on values. *sizes is moved to the team_factor. */
static tristar_status lay_out(tristar_distributed_t *d, double floor_bytes, tsi_pivot_sizes *sizes) {
  tristar_factor_t *source = d->source;
  TSI_CLEANUP(tsi_shared_structure_release) tsi_shared_structure structure = {.borrowed = false};
  TSI_TRY(tsi_distributed_lay_out(d, source, floor_bytes, &structure));
  double bytes = 0;
  tristar_status status = create_team_factor(d, &structure, source);
  const bool loads = floor_bytes > 0; /* tsi_team_factor_lay_out: values exist already */
  if (status == TRISTAR_OK && !loads) status = tsi_team_factor_forecast(d, &structure, &bytes);
  if (d->team_factor) d->team_factor->sizes = *sizes;
  if (d->team_factor) sizes->column = NULL;
  TSI_TRY(tsi_transport_agree(d->transport, status));
  tsi_shared_structure_release(&structure);
  tsi_distributed_discard_structure(d);
  if (source && d->of_rows && !tsi_factor_delays(source)) tsi_analysis_discard_rows(source->analysis);
  TSI_TRY(tsi_team_factor_share_pivoting(d));
  return name_rows(d, d->team_factor, tsi_team_factor_check_limit(d, bytes));
}

tristar_status tsi_team_factor_lay_out(tristar_distributed_t *d, double floor_bytes) {
  tsi_pivot_sizes none = {.column = NULL};
  const tristar_status status = lay_out(d, floor_bytes, &none);
  if (d->source && d->of_rows) tsi_analysis_discard_rows(d->source->analysis);
  return status;
}

/* Collective. Factors with the present analysis of rank 0. */
static tristar_status create_once(tristar_distributed_t *d, const tsi_supply *supply) {
  tristar_status status = TRISTAR_OK;
  tsi_pivot_sizes sizes = {.column = NULL};
  TSI_TRY_OUT(supply->measure(supply, d, &sizes));
  TSI_TRY_OUT(lay_out(d, 0, &sizes));
  TSI_TRY_OUT(factor(d, supply));
out:
  tsi_pivot_sizes_release(&sizes);
  if (status != TRISTAR_OK && !(d->team_factor && d->team_factor->part.dependent))
    tsi_distributed_release_layout(d);
  return status;
}

/* Runs the same rounds as tsi_factor_run_stable. */
tristar_status tsi_team_factor_create(tristar_distributed_t *d, const tsi_supply *supply) {
  tristar_status status = create_once(d, supply);
  bool again = true;
  for (int round = 0; round < TSI_PIVOT_ROUNDS && again; round++) {
    status = tsi_team_factor_reorder(d, supply, status, &again);
    if (again) status = create_once(d, supply);
  }
  if (d->source && tsi_factor_delays(d->source) && supply->discard) supply->discard(supply, d);
  return status;
}

/* Collective. *again: METHOD_AUTO continues with L D L^T after this failure. */
static tristar_status fall_back(tristar_distributed_t *d, tristar_factor_t *source, bool *again) {
  tristar_status status = TRISTAR_OK;
  int requested = source && source->analysis->fallback;
  TSI_TRY(TSI_MPI(&d->ts->env, "MPI_Bcast",
                  MPI_Bcast(&requested, 1, MPI_INT, 0, tsi_transport_comm(d->transport))));
  *again = requested != 0;
  if (!*again) return TRISTAR_OK;
  if (source) status = tsi_factor_fall_back(source);
  if (source && status == TRISTAR_OK) status = tsi_factor_check_values(source);
  return tsi_transport_agree(d->transport, status);
}

/* Collective. */
static tristar_status factor_any(tristar_distributed_t *d) {
  bool again;
  const tristar_status first = tsi_team_factor_create(d, &tsi_supply_of_one);
  if (first != TRISTAR_ERR_NOT_POSITIVE_DEFINITE) return first;
  TSI_TRY(fall_back(d, d->source, &again));
  return again ? tsi_team_factor_create(d, &tsi_supply_of_one) : first;
}

static tristar_status factor_again(const tsi_remaking *how, tristar_distributed_t *d, bool substitute) {
  tristar_status status = TRISTAR_OK;
  (void)how;
  tsi_distributed_release_layout(d);
  if (d->source) status = substitute ? tsi_factor_substitute(d->source) : tsi_factor_match_again(d->source);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  TSI_TRY(tsi_team_factor_create(d, &tsi_supply_of_one));
  return tsi_distributed_make_ready(d);
}

static tristar_status rematch(const tsi_remaking *how, const tristar_distributed_t *d,
                              tristar_distributed_t *other) {
  tristar_status status = TRISTAR_OK;
  (void)how;
  if (d->source) status = tsi_factor_prepare_again(d->source, false, &other->source);
  TSI_TRY(tsi_transport_agree(other->transport, status));
  TSI_TRY(tsi_team_factor_create(other, &tsi_supply_of_one));
  return tsi_distributed_make_ready(other);
}

static const tsi_remaking remaking_of_one = {
    .factor_again = factor_again, .rematch = rematch, .remedy = "tristar_distributed_factor"};

void tsi_team_factor_note_costs(tristar_distributed_t *d, size_t memory, double seconds) {
  tristar_distributed_stats *stats = &d->stats;
  stats->factor_seconds = seconds;
  stats->factor_peak_bytes = (double)(atomic_load(&d->ts->env.memory.recent) - memory);
  if (d->source) tsi_factor_fill_stats(d->source, memory, seconds);
  tsi_log(&d->ts->env, TRISTAR_LOG_INFO,
          "factored together: rank %d, %.3g s, %.1f MB at the peak, %lld messages, %.1f MB sent", stats->rank,
          seconds, stats->factor_peak_bytes / 1e6,
          (long long)(stats->fan_in.messages + stats->hand_on.messages),
          (double)(stats->fan_in.bytes + stats->hand_on.bytes) / 1e6);
}

tristar_status tristar_distributed_factor(tristar_t *ts, MPI_Comm comm, tristar_analysis_t *analysis,
                                          const void *values, const tristar_distributed_options *options,
                                          tristar_distributed_t **out) {
  tristar_status status = TRISTAR_OK;
  tristar_distributed_t *d = NULL;
  TSI_ENTER(ts, ts);
  const double begin = tsi_clock();
  if (out != NULL) *out = NULL;
  const size_t memory = tsi_memory_watch(&ts->env);
  tsi_idle_dismiss();
  TSI_TRY_OUT(tsi_distributed_create(ts, comm, options, out, &d));
  TSI_TRY_OUT(tsi_distributed_agree(d, take_values(d, analysis, values, &d->source)));
  status = factor_any(d);
  if (status == TRISTAR_OK) TSI_TRY_OUT(tsi_distributed_make_ready(d));
  TSI_TRY_OUT(tsi_distributed_judge_first(&d, &remaking_of_one, status));
  tsi_team_factor_note_costs(d, memory, tsi_clock() - begin - d->stats.start_seconds);
  d->stats.distribute_seconds = tsi_clock() - begin - d->stats.start_seconds;
out:
  tsi_idle_recall();
  if (status != TRISTAR_OK) tristar_distributed_destroy(&d);
  if (out != NULL) *out = d;
  return tsi_answer(&ts->env, status);
}

/* Local. Checks the arguments, before the present values are lost. */
static tristar_status check_arguments(const tristar_distributed_t *d, const void *values) {
  const tsi_env *env = &d->ts->env;
  if (d->of_rows)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "all ranks had rows of the matrix: tristar_dmatrix_refactor takes its new values over");
  if (d->team_factor == NULL)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "rank 0 factored alone: tristar_distributed_update takes its new values over");
  if (d->source == NULL) return TRISTAR_OK;
  const tsi_pattern *pattern = d->source->analysis->pattern;
  if (values == NULL && pattern->ptr[pattern->n] > 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "values is NULL on rank 0");
  return TRISTAR_OK;
}

/* Local. Copies the values on rank 0, and checks that they can be factored like the earlier ones. */
static tristar_status replace_values(const tristar_distributed_t *d, const void *values) {
  tristar_factor_t *source = d->source;
  if (source == NULL) return TRISTAR_OK;
  tsi_pattern_take(source->analysis->pattern, values, source->values);
  return tsi_factor_explain(source, tsi_factor_check_values(source));
}

/* Collective. */
static tristar_status renew(tristar_distributed_t *d, const tsi_supply *supply) {
  TSI_CLEANUP(tsi_pivot_sizes_release) tsi_pivot_sizes sizes = {.column = NULL};
  TSI_TRY(supply->measure(supply, d, &sizes));
  d->team_factor->sizes = sizes;
  sizes.column = NULL;
  tristar_status status = factor(d, supply);
  if (d->source) status = tsi_factor_explain(d->source, status);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  return tsi_distributed_take_values(d);
}

tristar_status tsi_team_factor_renew(tristar_distributed_t *d, const tsi_supply *supply,
                                     const tsi_remaking *how, tristar_status before, size_t memory,
                                     double begin) {
  d->valid = d->team_factor->part.dependent = false;
  TSI_TRY(tsi_transport_agree(d->transport, before));
  d->team_factor->part.stats.singular = 0;
  TSI_TRY(tsi_distributed_judge_renewed(d, how, renew(d, supply)));
  tsi_team_factor_note_costs(d, memory, tsi_clock() - begin);
  return TRISTAR_OK;
}

tristar_status tristar_distributed_refactor(tristar_distributed_t *d, const void *values) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(d, d->ts);
  tsi_queue_drain(d);
  tsi_idle_dismiss();
  const double begin = tsi_clock();
  const size_t memory = tsi_memory_watch(&d->ts->env);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, check_arguments(d, values)));
  TSI_TRY_OUT(tsi_team_factor_renew(d, &tsi_supply_of_one, &remaking_of_one, replace_values(d, values),
                                    memory, begin));
out:
  tsi_idle_recall();
  return tsi_answer(&d->ts->env, status);
}

tristar_status tristar_distributed_get_factor_stats(const tristar_distributed_t *d,
                                                    tristar_factor_stats *factor,
                                                    tristar_analysis_stats *analysis) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(d, d->ts);
  tsi_env *env = &d->ts->env;
  if (d->source == NULL)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT,
                 "only rank 0 has these figures, of a factor of tristar_distributed_factor");
  if (factor != NULL) *factor = d->source->stats;
  if (analysis != NULL) *analysis = d->source->analysis->stats;
out:
  return tsi_answer(env, status);
}
