/* Creates, updates and destroys preconditioners: tristar_precond, tristar_precond_of_plan,
 * tristar_precond_of_function, tristar_precond_update. */
#include "runtime/iterate/precond/precond.h"
#include "runtime/base/options.h"

#include <inttypes.h>
#include <math.h>

#include "runtime/iterate/precond/fsai_nodes.h"
#include "runtime/solve/in_flight.h"
#include "tristar_typed.h"
#include "runtime/matrix/view.h"
#include "runtime/rows/row_choice.h"

void tristar_precond_options_init_sized(tristar_precond_options *options, size_t size) {
  const tristar_precond_options defaults = {.kind = TRISTAR_PRECOND_ILU,
                                            .drop = 1e-3,
                                            .fill = 10,
                                            .omega = 1,
                                            .steps = 5,
                                            .per_step = 3,
                                            .reduction = 1e-3,
                                            .partition = TRISTAR_PARTITION_AUTO,
                                            .engine = TRISTAR_ENGINE_AUTO,
                                            .nrhs = 1};
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

/* ---- Options ------------------------------------------------------------------------------------------- */

static tristar_status check_plan_options(tsi_env *env, const tristar_precond_options *o) {
  TSI_TRY(tsi_partition_check(env, o->partition));
  if ((unsigned)o->engine > TRISTAR_ENGINE_TASKS)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "engine is %d", (int)o->engine);
  if (o->nrhs < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs is %" PRId64, o->nrhs);
  if ((unsigned)o->place > TRISTAR_PLACE_GPU || o->device_bytes < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "place is %d, device_bytes %" PRId64, (int)o->place, o->device_bytes);
  if (o->place == TRISTAR_PLACE_GPU && (o->kind == TRISTAR_PRECOND_NONE || o->kind == TRISTAR_PRECOND_JACOBI))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "PLACE_GPU: %s has neither sweeps nor products",
             o->kind == TRISTAR_PRECOND_NONE ? "NONE" : "JACOBI");
  return TRISTAR_OK;
}

static bool is_share(double x) {
  return x >= 0 && x <= 1;
}

static tristar_status check_fsai_options(tsi_env *env, const tristar_precond_options *o) {
  if (o->steps < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "steps is %" PRId64, o->steps);
  if (o->per_step < 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "per_step is %" PRId64 "; it is a number from 1 on", o->per_step);
  if (o->power < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "power is %d", o->power);
  if (o->block < TRISTAR_PRECOND_BLOCK_AUTO || o->block > TSI_FSAI_NODE_MOST)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "block is %d; it is a number up to %d, or BLOCK_AUTO", o->block,
             TSI_FSAI_NODE_MOST);
  if (!is_share(o->reduction))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "reduction is %g; it is a share from 0 to 1", o->reduction);
  if (!is_share(o->prefilter))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "prefilter is %g; it is a share from 0 to 1", o->prefilter);
  if ((unsigned)o->pair > TRISTAR_PAIR_AUTO) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "pair is %d", (int)o->pair);
  if (!is_share(o->postfilter))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "postfilter is %g; it is a share from 0 to 1", o->postfilter);
  return TRISTAR_OK;
}

tristar_status tsi_precond_check_options(tsi_env *env, const tristar_precond_options *o) {
  const tristar_precond_kind kind = o->kind;
  const bool by_level = kind == TRISTAR_PRECOND_ILU || kind == TRISTAR_PRECOND_IC;
  const bool by_size = kind == TRISTAR_PRECOND_ILUT || kind == TRISTAR_PRECOND_ICT;
  if (kind == TRISTAR_PRECOND_PLAN || kind == TRISTAR_PRECOND_FUNCTION)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "kind is %s",
             kind == TRISTAR_PRECOND_PLAN ? "PLAN: tristar_precond_of_plan makes it"
                                          : "FUNCTION: tristar_precond_of_function makes it");
  if ((unsigned)kind > TRISTAR_PRECOND_FUNCTION) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "kind is %d", (int)kind);
  if (by_level && o->level < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "level is %d", o->level);
  if (by_level && !is_share(o->modified))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "modified is %g; it is a share from 0 to 1", o->modified);
  if (by_size && !(o->drop >= 0 && isfinite(o->drop)))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "drop is %g; it is a finite number from 0 on", o->drop);
  if (by_size && o->fill < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "fill is %" PRId64, o->fill);
  if (kind == TRISTAR_PRECOND_FSAI) TSI_TRY(check_fsai_options(env, o));
  if ((by_level || by_size || kind == TRISTAR_PRECOND_FSAI) && !(o->shift >= 0 && isfinite(o->shift)))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "shift is %g; it is a finite number from 0 on", o->shift);
  if (kind == TRISTAR_PRECOND_SSOR && !(o->omega > 0 && o->omega < 2))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "omega is %g; it lies between 0 and 2", o->omega);
  return check_plan_options(env, o);
}

/* ---- Making -------------------------------------------------------------------------------------------- */

/* Makes a preconditioner without a function yet. Errors: MEMORY. */
static tristar_status create(tristar_t *ts, tristar_precond_kind kind, tsi_index n, char scalar,
                             tristar_precond_t **out) {
  TSI_TRY(TSI_ALLOC_ZERO(&ts->env, *out, 1));
  tristar_precond_t *p = *out;
  p->ts = ts;
  tsi_env_retain(&ts->env);
  p->n = n;
  p->sparse = tsi_sparse_kernels_select(scalar);
  p->kernels = tsi_incomplete_kernels_select(scalar);
  tristar_precond_options_init(&p->options);
  p->options.kind = kind;
  p->symmetry = TRISTAR_GENERAL;
  p->stats = (tristar_precond_stats){.kind = kind, .scalar = (tristar_scalar)scalar, .n = n};
  const tristar_status status = tsi_row_sweeps_begin(p);
  if (status != TRISTAR_OK) tristar_precond_destroy(out);
  return status;
}

tristar_status tsi_precond_verify(tristar_precond_t *precond) {
  const tristar_view *view = tsi_take(&precond->unverified);
  return view != NULL ? tsi_view_check(&precond->ts->env, view) : TRISTAR_OK;
}

/* The view, without values if the factorization verifies them. */
static tristar_view to_be_verified(const tristar_precond_options *options, const tristar_view *view) {
  tristar_view out = *view;
  if (tsi_precond_shows_values(options, view)) out.values = NULL;
  return out;
}

/* Sets new values and computes all that depends on them. factors: computes only these. */
static tristar_status take_values(tristar_precond_t *p, const tristar_view *view, tsi_factor_rows *factors) {
  tsi_env *env = &p->ts->env;
  TSI_OWNED void *sums = NULL;
  const void *values = view->values;
  p->unverified = tsi_precond_shows_values(&p->options, view) ? view : NULL;
  if (p->pattern->place != NULL) {
    TSI_TRY(tsi_precond_verify(p));
    TSI_TRY(tsi_pattern_allocate_values(env, p->pattern, &sums));
    tsi_pattern_take(p->pattern, values, sums);
    TSI_TRY(tsi_pattern_check_values(env, p->pattern, sums));
    values = sums;
  }
  TSI_TRY(factors != NULL ? tsi_precond_incomplete(p, values, factors) : tsi_precond_set_up(p, values));
  p->unverified = NULL;
  p->valid = factors == NULL;
  return TRISTAR_OK;
}

static tristar_status check_view(tsi_env *env, const tristar_view *view) {
  if (view == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "view is NULL");
  if (view->values == NULL && view->rows > 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  return TRISTAR_OK;
}

/* Makes a preconditioner without values. */
static tristar_status begin(tristar_t *ts, const tristar_view *view, const tristar_precond_options *options,
                            tristar_precond_t **out) {
  tristar_precond_options full;
  tsi_env *env = &ts->env;
  TSI_OWNED tsi_pattern *pattern = NULL;
  TSI_TRY(TSI_OPTIONS(env, tristar_precond_options, options, &full));
  TSI_TRY(tsi_precond_check_options(env, &full));
  TSI_TRY(check_view(env, view));
  const tristar_view places = to_be_verified(&full, view);
  TSI_TRY(tsi_pattern_create(env, &places, &pattern));
  TSI_TRY(create(ts, full.kind, pattern->n, pattern->scalar, out));
  (*out)->options = full;
  (*out)->pattern = tsi_take(&pattern);
  (*out)->stats.nnz = tsi_pattern_entries((*out)->pattern);
  return TRISTAR_OK;
}

tristar_status tristar_precond(tristar_t *ts, const tristar_view *view,
                               const tristar_precond_options *options, tristar_precond_t **precond) {
  tristar_status status = TRISTAR_OK;
  tristar_precond_t *p = NULL;
  if (precond != NULL) *precond = NULL;
  TSI_ENTER(ts, ts);
  tsi_env *env = &ts->env;
  const double since = tsi_workers_clock(&ts->workers), started = tsi_workers_start_seconds(&ts->workers);
  if (precond == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "precond is NULL");
  TSI_TRY_OUT(begin(ts, view, options, &p));
  TSI_TRY_OUT(take_values(p, view, NULL));
  p->stats.setup_seconds = tsi_workers_clock(&ts->workers) - since;
  p->stats.start_seconds = tsi_workers_start_seconds(&ts->workers) - started;
  *precond = tsi_take(&p);
out:
  tristar_precond_destroy(&p);
  return tsi_answer(env, status);
}

tristar_status tsi_incomplete_factors(tristar_t *ts, const tristar_view *view,
                                      const tristar_precond_options *options, tsi_factor_rows *factors) {
  tristar_status status = TRISTAR_OK;
  tristar_precond_t *p = NULL;
  *factors = (tsi_factor_rows){.values = NULL};
  TSI_TRY_OUT(begin(ts, view, options, &p));
  TSI_TRY_OUT(take_values(p, view, factors));
  tsi_precond_leave_pattern(p, factors);
out:
  if (status != TRISTAR_OK && p != NULL) tsi_precond_finish_factors(p, factors);
  tristar_precond_destroy(&p);
  return tsi_answer(&ts->env, status);
}

tristar_status tristar_precond_of_plan(tristar_plan_t *plan, tristar_precond_t **precond) {
  tristar_status status = TRISTAR_OK;
  if (precond != NULL) *precond = NULL;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  if (precond == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "precond is NULL");
  const tsi_pattern *pattern = plan->factor->analysis->pattern;
  TSI_TRY_OUT(create(plan->ts, TRISTAR_PRECOND_PLAN, pattern->n, pattern->scalar, precond));
  (*precond)->plan = tsi_plan_share(plan);
  (*precond)->stats.on_device = plan->stats.devices > 0;
  (*precond)->valid = true;
out:
  return tsi_answer(env, status);
}

tristar_status tristar_precond_of_function(tristar_t *ts, int64_t n, tristar_scalar scalar,
                                           tristar_precond_fn function, void *arg,
                                           tristar_precond_t **precond) {
  tristar_status status = TRISTAR_OK;
  tsi_index order;
  if (precond != NULL) *precond = NULL;
  TSI_ENTER(ts, ts);
  tsi_env *env = &ts->env;
  if (precond == NULL || function == NULL)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", precond ? "function" : "precond");
  if (n < 0) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "n is %" PRId64, n);
  if (!tsi_to_index(n, &order)) TSI_FAIL_OUT(env, TRISTAR_ERR_TOO_LARGE, "n is %" PRId64, n);
  if (tsi_sparse_kernels_select((char)scalar) == NULL)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "scalar is %d", (int)scalar);
  TSI_TRY_OUT(create(ts, TRISTAR_PRECOND_FUNCTION, order, (char)scalar, precond));
  (*precond)->function = function;
  (*precond)->arg = arg;
  (*precond)->valid = true;
out:
  return tsi_answer(env, status);
}

tristar_status tsi_precond_of_own(tristar_t *ts, const tristar_precond_options *options, tsi_index n,
                                  char scalar, tristar_precond_fn function, void *arg,
                                  void (*release)(void *arg), tristar_precond_t **precond) {
  TSI_TRY(create(ts, options->kind, n, scalar, precond));
  (*precond)->options = *options;
  (*precond)->function = function;
  (*precond)->arg = arg;
  (*precond)->release = release;
  (*precond)->valid = true;
  return TRISTAR_OK;
}

/* ---- Later --------------------------------------------------------------------------------------------- */

tristar_status tristar_precond_update(tristar_precond_t *precond, const tristar_view *view) {
  tristar_status status = TRISTAR_OK;
  bool fits;
  TSI_ENTER(precond, precond->ts);
  tsi_env *env = &precond->ts->env;
  tsi_workers *workers = &precond->ts->workers;
  const double begin = tsi_workers_clock(workers);
  if (precond->pattern == NULL)
    TSI_FAIL_OUT(
        env, TRISTAR_ERR_UNSUPPORTED,
        precond->release != NULL
            ? "a preconditioner of a matrix on many processes takes no view: tristar_dmatrix_fsai_update "
              "updates an approximate inverse, others are made anew"
            : "the program updates what it gave: a plan's factor, or a function");
  precond->valid = false;
  TSI_TRY_OUT(check_view(env, view));
  const tristar_view places = to_be_verified(&precond->options, view);
  TSI_TRY_OUT(tsi_pattern_fits(env, precond->pattern, &places, &fits));
  if (!fits)
    TSI_FAIL_OUT(env, TRISTAR_ERR_STALE,
                 "the matrix has not the pattern that the preconditioner was made of: make another one");
  precond->stats.symbolic_seconds = 0;
  TSI_TRY_OUT(take_values(precond, view, NULL));
  precond->stats.setup_seconds = tsi_workers_clock(workers) - begin;
  precond->stats.start_seconds = 0;
  precond->stats.updates++;
out:
  return tsi_answer(env, status);
}

tristar_status tristar_precond_get_stats(const tristar_precond_t *precond, tristar_precond_stats *stats) {
  TSI_GET(precond, stats, tsi_row_sweeps_stats(precond));
}

void tristar_precond_destroy(tristar_precond_t **precond) {
  if (precond == NULL || *precond == NULL) return;
  tristar_precond_t *p = *precond;
  tsi_env *env = &p->ts->env;
  *precond = NULL;
  if (tsi_env_abandon(env, p)) return;
  if (p->release != NULL) p->release(p->arg);
  tristar_plan_destroy(&p->plan);
  tsi_precond_drop_sweeps(p);
  tsi_row_sweeps_finish(p);
  tsi_fsai_destroy(&p->fsai);
  tsi_row_tasks_destroy(&p->tasks);
  if (p->pattern != NULL && p->full.ptr == p->pattern->ptr)
    p->full = (tsi_entries){.n = 0}; /* borrowed from the pattern */
  tsi_entries_finish(&p->full);
  TSI_FREE(env, p->rows.diagonal);
  tsi_factor_rows_finish(&p->filled);
  TSI_FREE(env, p->pattern);
  TSI_FREE(env, p->diagonal);
  TSI_FREE(env, p);
  tsi_env_release(env);
}

tristar_status tristar_precond_check_scalar(const tristar_precond_t *precond, tristar_scalar scalar) {
  TSI_ENTER(precond, precond->ts);
  return tsi_answer(&precond->ts->env,
                    tsi_check_scalar(&precond->ts->env, (char)precond->stats.scalar, scalar));
}
