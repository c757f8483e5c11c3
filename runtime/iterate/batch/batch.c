/* Creates and destroys batches: see batch.h. */
#include "runtime/iterate/batch/batch.h"

#include <math.h>

#include "runtime/base/options.h"
#include "runtime/base/scalars.h"
#include "runtime/factor/factor.h"

#define USUAL_SYSTEMS 100

void tristar_batch_options_init_sized(tristar_batch_options *options, size_t size) {
  const tristar_batch_options defaults = {.ordering = TRISTAR_ORDERING_AUTO,
                                          .engine = TRISTAR_ENGINE_AUTO,
                                          .max_steps = 3,
                                          .method = TRISTAR_METHOD_LU};
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

static tristar_status check_options(const tsi_env *env, const tristar_batch_options *o) {
  if ((unsigned)o->engine > TRISTAR_ENGINE_TASKS)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "engine is %d", (int)o->engine);
  if (!(o->tolerance >= 0)) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "tolerance is %g", o->tolerance);
  if ((unsigned)o->method > TRISTAR_METHOD_LDLT)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "method is %d", (int)o->method);
  if (o->max_steps < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "max_steps is %d", o->max_steps);
  if (o->systems < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "systems is %lld", (long long)o->systems);
  return TRISTAR_OK;
}

/* ---- The typical values -------------------------------------------------------------------------------- */

/* Copies scales from the user's numbering to the order of the factored matrix: (*out)[place[i]] = scale[i].
 */
static tristar_status take_scale(tristar_batch_t *batch, const double *scale, const tsi_count *place,
                                 double **out) {
  if (scale == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_IN(batch, *out, batch->pattern->n));
  for (tsi_index i = 0; i < batch->pattern->n; i++) (*out)[place[i]] = scale[i];
  return TRISTAR_OK;
}

/* Do scales differ by more than solves can bridge? NULL: ones. */
static bool are_apart(const tristar_batch_t *batch, const double *scale) {
  const double limit = tsi_scalar_is_single(batch->pattern->scalar) ? 0x1p9 : 0x1p20;
  double least = INFINITY, most = 0;
  for (tsi_index k = 0; scale != NULL && k < batch->pattern->n; k++) {
    least = fmin(least, scale[k]);
    most = fmax(most, scale[k]);
  }
  return most > limit * least;
}

/* Are all pivots of the typical values on the diagonal of a symmetric or Hermitian matrix? */
static bool takes_diagonal(const tristar_batch_t *batch) {
  const tristar_symmetry symmetry = batch->pattern->symmetry;
  if (symmetry != TRISTAR_SYMMETRIC && symmetry != TRISTAR_HERMITIAN) return false;
  for (tsi_index i = 0; i < batch->pattern->n; i++)
    if (batch->row_place[i] != batch->column_place[i]) return false;
  return true;
}

/* Replaces the scales of row and column k by one common power of two. */
static void join_scales(tristar_batch_t *batch) {
  for (tsi_index k = 0; batch->scale != NULL && k < batch->pattern->n; k++) {
    const double both = batch->scale[k] * (batch->row_scale ? batch->row_scale[k] : 1);
    batch->scale[k] = ldexp(1, (int)floor(log2(both) / 2));
    if (batch->row_scale) batch->row_scale[k] = batch->scale[k];
  }
}

/* Copies orders and scales of a factor, with the interchanges inside its panels. */
static tristar_status take_order(tristar_batch_t *batch, const tristar_factor_t *factor) {
  tsi_env *env = &batch->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index n = an->pattern->n;
  TSI_TRY(tsi_pattern_copy(env, an->pattern, &batch->pattern));
  tsi_own(batch, batch->pattern);
  TSI_TRY(TSI_ALLOC_IN(batch, batch->row_place, n));
  TSI_TRY(TSI_ALLOC_IN(batch, batch->column_place, n));
  for (tsi_index k = 0; k < n; k++) {
    batch->row_place[an->in_row[factor->pivot_order ? factor->pivot_order[k] : k]] = k;
    batch->column_place[an->out_row[k]] = k;
  }
  TSI_TRY(take_scale(batch, factor->row_scale, batch->row_place, &batch->row_scale));
  TSI_TRY(take_scale(batch, factor->col_scale, batch->column_place, &batch->scale));
  batch->symmetric = batch->options.method != TRISTAR_METHOD_LU && takes_diagonal(batch);
  if (batch->symmetric) join_scales(batch);
  batch->structure.hermitian = batch->pattern->symmetry == TRISTAR_HERMITIAN;
  batch->structure.positive = batch->options.method == TRISTAR_METHOD_LLT;
  if (!batch->symmetric &&
      (batch->options.method == TRISTAR_METHOD_LLT || batch->options.method == TRISTAR_METHOD_LDLT))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "a batch of L D L^T has its pivots on the diagonal, as the typical values have them; these need "
             "other pivots: METHOD_LU or METHOD_AUTO");
  batch->units_apart = are_apart(batch, batch->row_scale) || are_apart(batch, batch->scale);
  return TRISTAR_OK;
}

/* Costs of a factorization and a solve, in operations of the former. Lanes read an entry of the factors in
 * the time of some operations. */
static double cost_of(const tristar_analysis_t *analysis) {
  const double operations_per_entry = 8;
  return analysis->stats.flops + operations_per_entry * (double)analysis->stats.nnz_lower;
}

/* AUTO prefers trees with light paths, which many cores climb side by side. One core solves a group of
 * systems: only the sum counts, so AMD may be better after all. If it has no memory, the analysis stays. */
static tristar_status compare_with_amd(tristar_t *ts, const tristar_view *a, tristar_analysis_options options,
                                       tristar_analysis_t **analysis) {
  tristar_analysis_t *other = NULL;
  options.ordering = TRISTAR_ORDERING_AMD;
  const tristar_status status = tristar_analyze(ts, a, &options, &other);
  if (status != TRISTAR_OK && status != TRISTAR_ERR_MEMORY) return status;
  if (other != NULL && cost_of(other) <= cost_of(*analysis)) {
    tristar_analysis_t *worse = *analysis;
    *analysis = other;
    other = worse;
  }
  tristar_analysis_destroy(&other);
  return TRISTAR_OK;
}

static tristar_status factor_as(tristar_t *ts, const tristar_view *a, const tristar_batch_options *o,
                                tristar_method method, tristar_factor_t **factor) {
  tristar_analysis_options options;
  tristar_analysis_t *analysis = NULL;
  tristar_analysis_options_init(&options);
  options.method = method;
  options.ordering = o->ordering;
  options.matching = o->matching;
  options.factorizations = o->systems > 0 ? o->systems : USUAL_SYSTEMS;
  options.solves = 1;
  tristar_status status = tristar_analyze(ts, a, &options, &analysis);
  if (status == TRISTAR_OK && o->ordering == TRISTAR_ORDERING_AUTO &&
      analysis->stats.ordering == TRISTAR_ORDERING_DISSECTION)
    status = compare_with_amd(ts, a, options, &analysis);
  if (status == TRISTAR_OK) status = tristar_factor(analysis, a->values, factor);
  tristar_analysis_destroy(&analysis);
  return status;
}

/* Factors the typical values. Positive definite values have all pivots on the diagonal; pivots of L U may be
 * there, too. */
static tristar_status factor_typical(tristar_t *ts, const tristar_view *a, const tristar_batch_options *o,
                                     tristar_factor_t **factor) {
  const bool symmetric = a->symmetry == TRISTAR_SYMMETRIC || a->symmetry == TRISTAR_HERMITIAN;
  if (!symmetric && (o->method == TRISTAR_METHOD_LLT || o->method == TRISTAR_METHOD_LDLT))
    TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT,
             "the method is L D L^T, but the view is not symmetric or Hermitian");
  const bool adjoint = symmetric && (a->symmetry == TRISTAR_HERMITIAN || tsi_scalar_width(a->scalar) == 1);
  if (o->method == TRISTAR_METHOD_LLT || (adjoint && o->method != TRISTAR_METHOD_LU)) {
    const tristar_status status = factor_as(ts, a, o, TRISTAR_METHOD_LLT, factor);
    if (status != TRISTAR_ERR_NOT_POSITIVE_DEFINITE || o->method == TRISTAR_METHOD_LLT) return status;
  }
  return factor_as(ts, a, o, TRISTAR_METHOD_LU, factor);
}

static tristar_status create(tristar_t *ts, const tristar_factor_t *factor,
                             const tristar_batch_options *options, tristar_batch_t **out) {
  TSI_TRY(TSI_ALLOC_ZERO(&ts->env, *out, 1));
  tristar_batch_t *batch = *out;
  batch->ts = ts;
  tsi_env_retain(&ts->env);
  batch->options = *options;
  const char scalar = factor->analysis->pattern->scalar;
  batch->kernels = tsi_batch_kernels_select(scalar, ts->isa);
  batch->tolerance =
      options->tolerance > 0 ? options->tolerance : pow(tsi_sparse_kernels_select(scalar)->epsilon, 0.75);
  if (factor->analysis->pattern->place == NULL) batch->analysis = tsi_analysis_share(factor->analysis);
  TSI_TRY(take_order(batch, factor));
  TSI_TRY(tsi_batch_find_structure(batch));
  if (batch->out_of_range) tristar_analysis_destroy(&batch->analysis);
  batch->stats.method = batch->symmetric ? TRISTAR_METHOD_LDLT : TRISTAR_METHOD_LU;
  batch->stats.lanes = batch->kernels->lanes;
  batch->stats.workers = 1;
  batch->stats.group_bytes =
      (double)(batch->stats.nnz + batch->stats.nnz_factor) * (double)batch->kernels->lane_bytes;
  return TRISTAR_OK;
}

tristar_status tristar_batch(tristar_t *ts, const tristar_view *a, const tristar_batch_options *options,
                             tristar_batch_t **batch) {
  tristar_status status = TRISTAR_OK;
  tristar_batch_options full;
  tristar_factor_t *factor = NULL;
  if (batch != NULL) *batch = NULL;
  TSI_ENTER(ts, ts);
  tsi_env *env = &ts->env;
  if (a == NULL || batch == NULL)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", a == NULL ? "a" : "batch");
  TSI_TRY_OUT(TSI_OPTIONS(env, tristar_batch_options, options, &full));
  TSI_TRY_OUT(check_options(env, &full));
  if (a->values == NULL)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "the view has no values: a batch needs typical ones");
  TSI_TRY_OUT(factor_typical(ts, a, &full, &factor));
  TSI_TRY_OUT(create(ts, factor, &full, batch));
out:
  tristar_factor_destroy(&factor);
  if (status != TRISTAR_OK) tristar_batch_destroy(batch);
  return tsi_answer(env, status);
}

tristar_status tristar_batch_get_stats(const tristar_batch_t *batch, tristar_batch_stats *stats) {
  TSI_GET(batch, stats, batch->stats);
}

/* ---- What is kept -------------------------------------------------------------------------------------- */

tristar_status tsi_batch_allocate_group(const tristar_batch_t *batch, tsi_batch_group *group) {
  tsi_env *env = &batch->ts->env;
  const tsi_batch_structure *s = &batch->structure;
  const size_t bytes = batch->kernels->lane_bytes;
  TSI_TRY(TSI_ALLOC_SIZED(env, group->a, s->a.ptr[s->n], bytes));
  TSI_TRY(TSI_ALLOC_SIZED_IN(group->a, group->factors.inverse, s->n, bytes));
  TSI_TRY(TSI_ALLOC_SIZED_IN(group->a, group->factors.l, s->l.ptr[s->n], bytes));
  return TSI_ALLOC_SIZED_IN(group->a, group->factors.u, batch->symmetric ? s->n : s->u.ptr[s->n], bytes);
}

void tsi_batch_release_group(tsi_batch_group *group) {
  tsi_release(group->a);
  *group = (tsi_batch_group){.a = NULL};
}

void tsi_batch_drop_systems(tristar_batch_t *batch) {
  const int lanes = batch->kernels ? batch->kernels->lanes : 1;
  for (int64_t s = 0; batch->system != NULL && s < batch->systems; s++) {
    tristar_plan_destroy(&batch->system[s].plan);
    tristar_factor_destroy(&batch->system[s].factor);
  }
  for (int64_t g = 0; batch->group != NULL && g * lanes < batch->systems; g++)
    tsi_batch_release_group(&batch->group[g]);
  TSI_FREE(&batch->ts->env, batch->system);
  TSI_FREE(&batch->ts->env, batch->group);
  batch->systems = batch->stats.systems = 0;
}

void tristar_batch_destroy(tristar_batch_t **batch) {
  if (batch == NULL || *batch == NULL) return;
  tristar_batch_t *b = *batch;
  tsi_env *env = &b->ts->env;
  *batch = NULL;
  if (tsi_env_abandon(env, b)) return;
  tsi_batch_drop_systems(b);
  tristar_analysis_destroy(&b->analysis);
  TSI_FREE(env, b);
  tsi_env_release(env);
}
