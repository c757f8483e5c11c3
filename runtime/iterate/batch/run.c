/* Factors and solves the systems of a batch: tristar_batch_factor, _solve and _factor_solve. See batch.h. */
#include "runtime/iterate/batch/batch.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "runtime/base/clock.h"
#include "runtime/base/in_place.h"
#include "runtime/base/progress.h"
#include "runtime/base/scalars.h"
#include "runtime/context/crew.h"
#include "runtime/factor/factor.h"
#include "tristar_solve.h"

/* State of a call. Systems that do not suit the common pivots are left to the calling thread. */
typedef struct job {
  tristar_batch_t *batch;
  int64_t count;
  bool factors, solves, keeps;
  const char *values; /* NULL: the values of stored groups */
  int64_t stride;
  tristar_op op;
  int64_t nrhs, ldb, bstride, ldx, xstride;
  const char *b;
  char *x;
  int64_t *apart; /* count: the first right-hand side that the group has not solved; the later ones are not
                     solved either. NONE_APART: all solved. */
  double *error;  /* count */
  tsi_batch_group *workspace; /* for each member: a group, unless groups are stored */
  char **scratch;             /* for each member, see below */
  size_t user_bytes;          /* size of a scalar */
  tsi_failure failure;        /* the first failure of a group */
  _Atomic(int64_t) done;      /* columns of groups done so far, for the progress */
} job;

#define NONE_APART INT64_MAX

/* Vectors in the scratch of a member. Values of a group follow if the user has several entries at one
 * place. */
enum { OF_FACTOR, OF_B, OF_X, OF_R, VECTORS };

static void *vector_of(const job *j, int member, int which) {
  return j->scratch[member] + (size_t)which * (size_t)j->batch->structure.n * j->batch->kernels->lane_bytes;
}

/* The system of lane l of a group. Surplus lanes hold the last system. */
static int64_t system_of(const job *j, tsi_index group, int l) {
  const int64_t s = (int64_t)group * j->batch->kernels->lanes + l;
  return s < j->count ? s : j->count - 1;
}

static bool is_spare(const job *j, tsi_index group, int l) {
  return (int64_t)group * j->batch->kernels->lanes + l >= j->count;
}

/* ---- Groups -------------------------------------------------------------------------------------------- */

/* Values of system s in the order of the pattern: the user's array, or, if the user has several entries at
 * one place, their sums in the scratch of lane l. */
static const void *values_of(const job *j, int member, int64_t s, int l) {
  const tsi_pattern *pattern = j->batch->pattern;
  const char *given = j->values + (size_t)(s * j->stride) * j->user_bytes;
  if (pattern->place == NULL) return given;
  char *sums = vector_of(j, member, VECTORS);
  sums += (size_t)l * (size_t)pattern->ptr[pattern->n] * j->user_bytes;
  tsi_pattern_take(pattern, given, sums);
  return sums;
}

static double real_at(char scalar, const void *real) {
  return tsi_scalar_is_single(scalar) ? (double)*(const float *)real : *(const double *)real;
}

/* Can the lanes store these values without loss? */
static bool fit(const tristar_batch_t *batch, const void *values) {
  const int64_t count =
      batch->pattern->ptr[batch->pattern->n] * tsi_scalar_width((tristar_scalar)batch->pattern->scalar);
  const size_t bytes = batch->kernels->real_bytes;
  for (int64_t e = 0; e < count; e++) {
    const double size = fabs(real_at(batch->pattern->scalar, (const char *)values + (size_t)e * bytes));
    if (size != 0 && !(size >= batch->least_value && size <= batch->most_value)) return false;
  }
  return true;
}

/* Does b have an entry that is not zero, though all of them are zero in lane l? */
static bool loses_b(const job *j, int member, int64_t system, int64_t column, int l) {
  const tristar_batch_t *batch = j->batch;
  const char scalar = batch->pattern->scalar;
  const size_t reals = j->user_bytes / batch->kernels->real_bytes;
  const char *lanes = vector_of(j, member, OF_B);
  const char *b = j->b + (size_t)(system * j->bstride + column * j->ldb) * j->user_bytes;
  bool some = false;
  for (size_t i = 0; i < (size_t)batch->structure.n * reals; i++) {
    const size_t at = i * TSI_BATCH_BYTES + (size_t)l * batch->kernels->real_bytes;
    if (real_at(scalar, lanes + at) != 0) return false;
    some = some || real_at(scalar, b + i * batch->kernels->real_bytes) != 0;
  }
  return some;
}

#define SINGULAR 0.85 /* exponent of eps: largest 1 / condition of lanes that may be singular */

/* Returns those of the doubtful lanes that may be singular. */
static unsigned may_be_singular(const job *j, int member, const tsi_batch_group *workspace,
                                unsigned doubtful) {
  const tristar_batch_t *batch = j->batch;
  const tsi_batch_kernels *k = batch->kernels;
  const double most = pow(tsi_sparse_kernels_select(batch->pattern->scalar)->epsilon, -SINGULAR);
  double condition[TSI_BATCH_BYTES];
  unsigned lanes = 0;
  if (doubtful == 0) return 0;
  k->condition(&batch->structure, workspace->a, &workspace->factors, vector_of(j, member, OF_R), condition);
  for (int l = 0; l < k->lanes; l++) lanes |= (unsigned)!(condition[l] <= most) << l;
  return lanes & doubtful;
}

/* x: lane numbers to multiply by L^-1, or NULL. */
static void factor_group(const job *j, tsi_index group, int member, tsi_batch_group *workspace, void *x) {
  const tristar_batch_t *batch = j->batch;
  const tsi_batch_kernels *k = batch->kernels;
  const tsi_batch_structure *s = &batch->structure;
  const tsi_pattern *pattern = batch->pattern;
  const tsi_batch_targets targets = {batch->place, batch->image, pattern->symmetry, batch->entry_scale};
  const void *values[TSI_BATCH_BYTES];
  for (int l = 0; l < k->lanes; l++) values[l] = values_of(j, member, system_of(j, group, l), l);
  k->load(pattern->ptr[pattern->n], &targets, values, workspace->a);
  const unsigned outside = j->keeps ? k->outside(s->a.ptr[s->n], workspace->a) : 0;
  unsigned doubtful,
      bad = k->factor(s, workspace->a, vector_of(j, member, OF_FACTOR), &workspace->factors, x, &doubtful);
  bad |= may_be_singular(j, member, workspace, doubtful & ~bad);
  for (int l = 0; l < k->lanes; l++)
    if (!is_spare(j, group, l) && (bad >> l & 1 || (outside >> l & 1 && !fit(batch, values[l]))))
      j->apart[system_of(j, group, l)] = 0;
}

/* Refines the lanes whose errors are too large. error: of each lane; updated. */
static void refine(const job *j, int member, const tsi_batch_group *workspace, double *error) {
  const tristar_batch_t *batch = j->batch;
  const tsi_batch_kernels *k = batch->kernels;
  const tsi_batch_structure *s = &batch->structure;
  void *b = vector_of(j, member, OF_B), *x = vector_of(j, member, OF_X), *r = vector_of(j, member, OF_R);
  const double *weight = j->op == TRISTAR_N ? batch->scale : batch->row_scale;
  if (!batch->units_apart) weight = NULL;
  k->residual(s, j->op, workspace->a, b, weight, x, r, error);
  for (int step = 0; step < batch->options.max_steps; step++) {
    unsigned lanes = 0;
    for (int l = 0; l < k->lanes; l++) lanes |= (unsigned)!(error[l] <= batch->tolerance) << l;
    if (lanes == 0) return;
    k->solve(s, &workspace->factors, j->op, false, r);
    k->add(s->n, lanes, r, x);
    k->residual(s, j->op, workspace->a, b, weight, x, r, error);
  }
}

/* Loads a right-hand side of all systems of a group to b and x of the member. */
static void load_column(const job *j, tsi_index group, int64_t column, int member) {
  const tristar_batch_t *batch = j->batch;
  const tsi_batch_kernels *k = batch->kernels;
  const bool plain = j->op == TRISTAR_N;
  const tsi_batch_targets in = {.place = plain ? batch->row_place : batch->column_place,
                                .scale = plain ? batch->row_scale : batch->scale};
  const void *b[TSI_BATCH_BYTES];
  for (int l = 0; l < k->lanes; l++)
    b[l] = j->b + (size_t)(system_of(j, group, l) * j->bstride + column * j->ldb) * j->user_bytes;
  void *lane_b = vector_of(j, member, OF_B);
  k->load(batch->structure.n, &in, b, lane_b);
  memcpy(vector_of(j, member, OF_X), lane_b, (size_t)batch->structure.n * k->lane_bytes);
}

/* Solves for a loaded right-hand side. begun: x has been multiplied by L^-1. */
static void solve_column(const job *j, tsi_index group, int64_t column, int member,
                         const tsi_batch_group *workspace, bool begun) {
  const tristar_batch_t *batch = j->batch;
  const tsi_batch_kernels *k = batch->kernels;
  const tsi_batch_structure *s = &batch->structure;
  const bool plain = j->op == TRISTAR_N;
  const tsi_batch_targets out = {.place = plain ? batch->column_place : batch->row_place,
                                 .scale = plain ? batch->scale : batch->row_scale};
  void *x[TSI_BATCH_BYTES], *lane_x = vector_of(j, member, OF_X);
  double error[TSI_BATCH_BYTES];
  k->solve(s, &workspace->factors, j->op, begun, lane_x);
  refine(j, member, workspace, error);
  const unsigned lost = out.scale ? k->overflows(s->n, out.scale, lane_x) : 0;
  for (int l = 0; l < k->lanes; l++) {
    const int64_t system = system_of(j, group, l);
    x[l] = j->x + (size_t)(system * j->xstride + column * j->ldx) * j->user_bytes;
    if (is_spare(j, group, l)) {
      x[l] = NULL;
    } else if (j->apart[system] != NONE_APART || !(error[l] <= batch->tolerance) || lost >> l & 1 ||
               (error[l] == 0 && loses_b(j, member, system, column, l))) {
      j->apart[system] = tsi_count_min(j->apart[system], column);
      x[l] = NULL; /* x may be b, which solve_apart reads */
    } else if (error[l] > j->error[system]) {
      j->error[system] = error[l];
    }
  }
  k->unload(s->n, &out, lane_x, x);
}

static tsi_index groups_of(const job *j) {
  const int lanes = j->batch->kernels->lanes;
  return (tsi_index)((j->count + lanes - 1) / lanes);
}

/* Has no group failed, and has the progress function not cancelled? */
static bool goes_on(job *j) {
  const tsi_env *env = &j->batch->ts->env;
  const double all = (double)groups_of(j) * (double)(j->solves && j->nrhs > 0 ? j->nrhs : 1);
  const tristar_phase phase = j->factors ? TRISTAR_PHASE_FACTOR : TRISTAR_PHASE_SOLVE;
  if (tsi_progress_follows(env) && !tsi_failure_exists(&j->failure))
    tsi_failure_keep(env, &j->failure, tsi_progress_look(&j->batch->ts->env, phase, (double)j->done / all));
  return !tsi_failure_exists(&j->failure);
}

static void run_group(void *context, tsi_index group, int member) {
  job *j = context;
  tsi_batch_group *workspace = j->workspace != NULL ? &j->workspace[member] : &j->batch->group[group];
  const bool begins = j->factors && j->solves && j->nrhs > 0 && j->op == TRISTAR_N;
  if (begins) load_column(j, group, 0, member);
  if (j->factors && goes_on(j))
    factor_group(j, group, member, workspace, begins ? vector_of(j, member, OF_X) : NULL);
  for (int64_t column = 0; j->solves && column < j->nrhs && goes_on(j); column++, j->done++) {
    const bool begun = begins && column == 0;
    if (!begun) load_column(j, group, column, member);
    solve_column(j, group, column, member, workspace, begun);
  }
  if (!j->solves || j->nrhs == 0) j->done++;
}

/* ---- Systems by themselves ----------------------------------------------------------------------------- */

/* Values of a stored system in the order of the pattern: the lane of its group without the scales. */
static void restore_values(const job *j, int64_t system, void *values) {
  const tristar_batch_t *batch = j->batch;
  const tsi_batch_kernels *k = batch->kernels;
  const tsi_batch_structure *s = &batch->structure;
  const char scalar = batch->pattern->scalar;
  const char *a = batch->group[system / k->lanes].a;
  for (tsi_count p = 0; p < batch->pattern->ptr[s->n]; p++) {
    double part[2] = {0, 0};
    const size_t e = (size_t)batch->place[p];
    const double scale = batch->entry_scale ? batch->entry_scale[e] : 1;
    for (int i = 0; i < tsi_scalar_width((tristar_scalar)scalar); i++) {
      const char *lane =
          a + e * k->lane_bytes + (size_t)i * TSI_BATCH_BYTES + (size_t)(system % k->lanes) * k->real_bytes;
      part[i] = real_at(scalar, lane) / scale;
    }
    tsi_scalar_write(scalar, values, (size_t)p, part);
  }
}

/* Analyzes a system by itself. AUTO means a matching: the pivots of the typical values do not suit. */
static tristar_status analyze_apart(const tristar_batch_t *batch, const tristar_view *a,
                                    tristar_analysis_t **analysis) {
  tristar_analysis_options options;
  tristar_analysis_options_init(&options);
  options.method = batch->symmetric && batch->options.method != TRISTAR_METHOD_AUTO ? batch->options.method
                                                                                    : TRISTAR_METHOD_LU;
  options.ordering = batch->options.ordering;
  options.matching = batch->options.matching;
  if (options.matching == TRISTAR_MATCHING_AUTO) options.matching = TRISTAR_MATCHING_ON;
  return tristar_analyze(batch->ts, a, &options, analysis);
}

/* Factors a system with pivots of its own. again: not with the analysis of the typical values. That is also
 * not used for a stored system that loses digits in the lanes, because a second attempt would restore its
 * values from there. */
static tristar_status factor_apart(const job *j, int64_t system, bool again, tsi_batch_system *out) {
  const tristar_batch_t *batch = j->batch;
  tristar_plan_options plan;
  TSI_OWNED void *values = NULL;
  TSI_TRY(tsi_pattern_allocate_values(&batch->ts->env, batch->pattern, &values));
  if (j->values == NULL)
    restore_values(j, system, values);
  else
    tsi_pattern_take(batch->pattern, j->values + (size_t)(system * j->stride) * j->user_bytes, values);
  tristar_status status = TRISTAR_OK;
  if (batch->analysis != NULL && !again && !(j->keeps && !fit(batch, values)))
    status = tristar_factor(batch->analysis, values, &out->factor);
  if (tsi_status_ends_call(status)) return status;
  if (out->factor != NULL && (out->factor->stats.perturbed_pivots > 0 || out->factor->stats.singular))
    tristar_factor_destroy(&out->factor);
  if (out->factor == NULL) {
    const tristar_view view = tsi_pattern_view(batch->pattern, values);
    tristar_analysis_t *analysis = NULL;
    status = analyze_apart(batch, &view, &analysis);
    if (status == TRISTAR_OK) status = tristar_factor(analysis, values, &out->factor);
    tristar_analysis_destroy(&analysis);
  }
  tristar_plan_options_init(&plan);
  plan.engine = TRISTAR_ENGINE_SERIAL;
  return status == TRISTAR_OK ? tristar_plan(out->factor, &plan, &out->plan) : status;
}

/* Factors a system by itself, and replaces *of if this succeeds. */
static tristar_status replace_system(const job *j, int64_t system, bool again, tsi_batch_system *of) {
  tsi_batch_system next = {.status = TRISTAR_OK};
  const tristar_status status = factor_apart(j, system, again, &next);
  tsi_batch_system *unused = status == TRISTAR_OK ? of : &next;
  tristar_plan_destroy(&unused->plan);
  tristar_factor_destroy(&unused->factor);
  if (status == TRISTAR_OK) *of = next;
  return status;
}

/* Checks the right-hand sides from the first one that the group has not solved. */
static tristar_status check_finite(const job *j, int64_t system) {
  const tsi_sparse_kernels *k = tsi_sparse_kernels_select(j->batch->pattern->scalar);
  const tsi_index n = j->batch->structure.n;
  for (int64_t column = j->apart[system]; column < j->nrhs; column++) {
    const char *b = j->b + (size_t)(system * j->bstride + column * j->ldb) * j->user_bytes;
    const tsi_count row = k->first_not_finite(n, b);
    if (row < n)
      TSI_FAIL(&j->batch->ts->env, TRISTAR_ERR_NOT_FINITE,
               "b has NaN or infinity in row %lld, column %lld (counted from 0)", (long long)row,
               (long long)column);
  }
  return TRISTAR_OK;
}

/* Solves for the right-hand sides from the first one that the group has not solved, and again with an
 * analysis of the system's own if the analysis of the typical values does not suit. If x is b, works on a
 * copy of b. */
static tristar_status solve_apart(const job *j, int64_t system, tsi_batch_system *of) {
  const tristar_batch_t *batch = j->batch;
  tristar_refine_result result;
  tsi_env *env = &batch->ts->env;
  TSI_OWNED char *copy = NULL;
  const int64_t first = j->apart[system], nrhs = j->nrhs - first;
  const double epsilon = tsi_sparse_kernels_select(batch->pattern->scalar)->epsilon;
  const void *b = j->b + (size_t)(system * j->bstride + first * j->ldb) * j->user_bytes;
  void *x = j->x + (size_t)(system * j->xstride + first * j->ldx) * j->user_bytes;
  if (j->b == j->x && nrhs > 0) {
    const int64_t scalars = (nrhs - 1) * j->ldb + batch->structure.n;
    TSI_TRY(TSI_ALLOC_SIZED(env, copy, scalars, j->user_bytes));
    memcpy(copy, b, (size_t)scalars * j->user_bytes);
    b = copy;
  }
  tristar_status status = tristar_solve_refined(of->plan, j->op, nrhs, b, j->ldb, x, j->ldx, NULL, &result);
  const bool suits = status == TRISTAR_OK && result.backward_error <= batch->tolerance;
  if (!suits && of->factor->analysis == batch->analysis && !tsi_status_ends_call(status)) {
    TSI_TRY(replace_system(j, system, true, of));
    status = tristar_solve_refined(of->plan, j->op, nrhs, b, j->ldb, x, j->ldx, NULL, &result);
  }
  TSI_TRY(status);
  if (!(result.backward_error <= j->error[system])) j->error[system] = result.backward_error;
  if (!(result.backward_error <= cbrt(epsilon)))
    TSI_FAIL(env, TRISTAR_ERR_ACCURACY, "the backward error of the solution is %.1e", result.backward_error);
  return TRISTAR_OK;
}

static void fill_nan(const job *j, int64_t system) {
  const double nan[2] = {NAN, NAN};
  for (int64_t column = 0; column < j->nrhs; column++)
    for (tsi_index i = 0; i < j->batch->structure.n; i++)
      tsi_scalar_write(j->batch->pattern->scalar, j->x, (size_t)(system * j->xstride + column * j->ldx + i),
                       nan);
  j->error[system] = INFINITY;
}

/* Works on a system that its group has not solved, or that has a plan of its own. kept: the stored system, or
 * NULL. */
static tristar_status run_apart(const job *j, int64_t system, tsi_batch_system *kept) {
  tsi_batch_system here = {.status = TRISTAR_OK}, *of = kept != NULL ? kept : &here;
  tristar_status status = j->solves ? check_finite(j, system) : TRISTAR_OK;
  if (status == TRISTAR_OK && of->plan == NULL) status = replace_system(j, system, false, of);
  if (j->keeps) of->status = status; /* else the stored factors are as usable as before */
  if (status == TRISTAR_OK && j->solves) status = solve_apart(j, system, of);
  tristar_plan_destroy(&here.plan);
  tristar_factor_destroy(&here.factor);
  return status;
}

/* Factors or solves the systems that the groups have left. status: of each system, or NULL. After a status
 * that ends the call, no more systems are factored or solved. Then every system without a solution gets this
 * status, which is returned. Otherwise returns the first status that is not OK. */
static tristar_status run_rest(const job *j, tristar_status *status) {
  tristar_batch_t *batch = j->batch;
  const tsi_env *env = &batch->ts->env;
  char text[TSI_MESSAGE_SIZE] = "";
  int64_t worst = -1;
  tristar_status first = TRISTAR_OK;
  bool ended = false;
  batch->stats.apart = 0;
  for (int64_t s = 0; s < j->count; s++) {
    tsi_batch_system *kept = j->keeps || j->values == NULL ? &batch->system[s] : NULL;
    tristar_status here = TRISTAR_OK;
    if (j->apart[s] != NONE_APART) {
      if (!ended) batch->stats.apart++;
      here = ended                                        ? first
             : kept != NULL && kept->status != TRISTAR_OK ? TRISTAR_ERR_STALE
                                                          : run_apart(j, s, kept);
      if (here == TRISTAR_ERR_STALE)
        (void)tsi_fail(env, here, __func__, __FILE__, __LINE__, "its factorization failed");
      if (here != TRISTAR_OK && j->solves) fill_nan(j, s);
      if (!ended && here != TRISTAR_OK && (worst < 0 || tsi_status_ends_call(here))) {
        snprintf(text, sizeof text, "%s", tsi_error_text(env));
        worst = s;
        first = here;
      }
      ended = ended || tsi_status_ends_call(here);
    }
    if (status != NULL) status[s] = here;
  }
  for (int64_t s = 0; ended && status != NULL && s < j->count; s++)
    if (status[s] != TRISTAR_OK) status[s] = first;
  if (first == TRISTAR_OK || first == TRISTAR_ERR_CANCELLED) return first;
  TSI_FAIL(env, first, "system %" PRId64 " of %" PRId64 ", counted from 0: %.400s", worst, j->count, text);
}

/* ---- Calls --------------------------------------------------------------------------------------------- */

/* Bytes that a group reads and writes, approximately. The crew uses them to predict the time of tasks. */
static double bytes_of_group(const job *j) {
  const tristar_batch_t *batch = j->batch;
  const double lane = (double)batch->kernels->lane_bytes;
  double bytes = 0;
  if (j->factors) bytes += lane * (1.5 * batch->stats.flops + 2 * (double)batch->stats.nnz);
  if (j->solves)
    bytes += lane * (double)j->nrhs * (double)(3 * batch->stats.nnz + 2 * batch->stats.nnz_factor);
  return bytes;
}

static tristar_status make_space(job *j, int members) {
  const tristar_batch_t *batch = j->batch;
  tsi_env *env = &batch->ts->env;
  const size_t group_values =
      batch->pattern->place == NULL
          ? 0
          : (size_t)batch->pattern->ptr[batch->pattern->n] * (size_t)batch->kernels->lanes * j->user_bytes;
  const size_t bytes = VECTORS * (size_t)batch->structure.n * batch->kernels->lane_bytes + group_values;
  for (int m = 0; m < members; m++) {
    TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, j->scratch[m], bytes, 1));
    tsi_own(j->scratch, j->scratch[m]);
    if (j->workspace == NULL) continue;
    const tristar_status status = tsi_batch_allocate_group(batch, &j->workspace[m]);
    if (j->workspace[m].a != NULL) tsi_own(j->workspace, j->workspace[m].a); /* also of an incomplete group */
    TSI_TRY(status);
  }
  return TRISTAR_OK;
}

/* Starting StarPU takes about a tenth of a second. AUTO starts it once the calls of a batch have taken that
 * long. */
#define START_SECONDS 0.1

static tristar_engine engine_of(const tristar_batch_t *batch) {
  const bool starts = !batch->ts->workers.running && batch->seconds < START_SECONDS;
  return batch->options.engine == TRISTAR_ENGINE_AUTO && starts ? TRISTAR_ENGINE_SERIAL
                                                                : batch->options.engine;
}

static tristar_status run_groups(job *j) {
  tristar_batch_t *batch = j->batch;
  tsi_env *env = &batch->ts->env;
  TSI_OWNED char **scratch = NULL;
  TSI_OWNED tsi_batch_group *workspace = NULL;
  TSI_CLEANUP(tsi_crew_finish) tsi_crew crew = {.ts = NULL};
  double start_seconds;
  if (j->count > INT32_MAX) TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%" PRId64 " systems", j->count);
  const tsi_index groups = groups_of(j);
  const double bytes = bytes_of_group(j) * groups;
  TSI_TRY(tsi_crew_begin(batch->ts, "batch_groups", engine_of(batch), TSI_RUNS_LONG, groups, bytes,
                         &start_seconds, &crew));
  TSI_TRY(TSI_ALLOC_ZERO(env, scratch, crew.members));
  if (j->factors && !j->keeps) TSI_TRY(TSI_ALLOC_ZERO(env, workspace, crew.members));
  j->scratch = scratch;
  j->workspace = workspace;
  TSI_TRY(make_space(j, crew.members));
  batch->stats.workers = crew.members;
  TSI_TRY(tsi_crew_run(&crew, TSI_CREW_MATRIX, bytes, run_group, j));
  return tsi_failure_report(env, &j->failure);
}

/* Allocates groups for the systems of a call that stores factors. They replace the stored ones. */
static tristar_status keep_systems(const job *j) {
  tristar_batch_t *batch = j->batch;
  tsi_env *env = &batch->ts->env;
  const int lanes = batch->kernels->lanes;
  tsi_batch_drop_systems(batch);
  TSI_TRY(TSI_ALLOC_ZERO(env, batch->system, j->count));
  TSI_TRY(TSI_ALLOC_ZERO(env, batch->group, (j->count + lanes - 1) / lanes));
  batch->systems = j->count;
  for (int64_t g = 0; g * lanes < j->count; g++) TSI_TRY(tsi_batch_allocate_group(batch, &batch->group[g]));
  batch->stats.systems = j->count;
  return TRISTAR_OK;
}

static tristar_status check_values(const job *j) {
  const tsi_env *env = &j->batch->ts->env;
  if (j->count < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "count is %" PRId64, j->count);
  if (j->values == NULL && j->count > 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  if (j->stride < j->batch->pattern->given && j->count > 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "stride is %" PRId64 ", but a system has %" PRId64 " values",
             j->stride, j->batch->pattern->given);
  return TRISTAR_OK;
}

static tristar_status check_vectors(const job *j) {
  const tsi_env *env = &j->batch->ts->env;
  const int64_t n = j->batch->structure.n;
  if (j->op != TRISTAR_N && j->op != TRISTAR_T && j->op != TRISTAR_C)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "op is %d", (int)j->op);
  if (j->nrhs < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs is %" PRId64, j->nrhs);
  if (j->nrhs == 0 || j->count == 0 || n == 0) return TRISTAR_OK;
  if (j->b == NULL || j->x == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", j->b ? "x" : "b");
  if (j->ldb < n || j->ldx < n)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "the leading dimensions of b and x are %" PRId64 " and %" PRId64 ", n is %" PRId64, j->ldb,
             j->ldx, n);
  if (j->count > 1 && (j->bstride < 0 || j->xstride < (j->nrhs - 1) * j->ldx + n))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "the strides of b and x are %" PRId64 " and %" PRId64
             ", but the solutions of a system take %" PRId64,
             j->bstride, j->xstride, (j->nrhs - 1) * j->ldx + n);
  return tsi_check_in_place(env, (tsi_named_array){"b", j->b, 1, j->ldb, j->bstride},
                            (tsi_named_array){"x", j->x, 1, j->ldx, j->xstride});
}

/* *each: does `status` hold the results of all systems? */
static tristar_status run_job(job *j, double *errors, tristar_status *status, bool *each) {
  tristar_batch_t *batch = j->batch;
  tsi_env *env = &batch->ts->env;
  j->user_bytes = tsi_sparse_kernels_select(batch->pattern->scalar)->scalar_bytes;
  TSI_SCRATCH(env, int64_t, apart, j->count);
  TSI_SCRATCH_ZERO(env, double, error, j->count);
  tristar_status result = TRISTAR_OK;
  for (int64_t s = 0; s < j->count; s++) apart[s] = batch->out_of_range ? 0 : NONE_APART;
  j->apart = apart;
  j->error = error;
  if (j->keeps) result = keep_systems(j);
  if (j->values == NULL) /* stored factors */
    for (int64_t s = 0; s < j->count; s++)
      if (batch->system[s].plan != NULL || batch->system[s].status != TRISTAR_OK) apart[s] = 0;
  const bool nothing = j->count == 0 || batch->out_of_range || (!j->factors && j->nrhs == 0);
  if (!nothing && result == TRISTAR_OK) result = run_groups(j);
  *each = result == TRISTAR_OK;
  if (*each) result = run_rest(j, status);
  if (j->keeps && tsi_status_ends_call(result)) *each = false;
  if (errors != NULL && j->count > 0) memcpy(errors, error, (size_t)j->count * sizeof *errors);
  return result;
}

/* Refuses concurrent calls. If the call fails as a whole, all systems get its status. */
static tristar_status run_alone(job *j, double *errors, tristar_status *status, double *seconds) {
  tristar_batch_t *batch = j->batch;
  const double begin = tsi_clock();
  if (atomic_exchange(&batch->busy, true))
    TSI_FAIL(&batch->ts->env, TRISTAR_ERR_BUSY, "another call with this batch has not ended");
  bool each = false;
  const tristar_status result = run_job(j, errors, status, &each);
  for (int64_t s = 0; s < j->count && !each; s++) {
    if (errors != NULL) errors[s] = INFINITY;
    if (status != NULL) status[s] = result;
  }
  if (j->keeps && !each) tsi_batch_drop_systems(batch); /* Some groups may lack values or factors. */
  *seconds = tsi_clock() - begin;
  batch->seconds += *seconds;
  atomic_store(&batch->busy, false);
  return result;
}

tristar_status tristar_batch_factor(tristar_batch_t *batch, int64_t count, const void *values, int64_t stride,
                                    tristar_status *status) {
  tristar_status result = TRISTAR_OK;
  TSI_ENTER(batch, batch->ts);
  job j = {
      .batch = batch, .count = count, .values = values, .stride = stride, .factors = true, .keeps = true};
  result = check_values(&j);
  if (result == TRISTAR_OK) result = run_alone(&j, NULL, status, &batch->stats.factor_seconds);
  return tsi_answer(&batch->ts->env, result);
}

tristar_status tristar_batch_solve(tristar_batch_t *batch, tristar_op op, int64_t nrhs, const void *b,
                                   int64_t ldb, int64_t bstride, void *x, int64_t ldx, int64_t xstride,
                                   double *errors, tristar_status *status) {
  tristar_status result = TRISTAR_OK;
  TSI_ENTER(batch, batch->ts);
  job j = {.batch = batch,
           .count = batch->systems,
           .solves = true,
           .op = op,
           .nrhs = nrhs,
           .b = b,
           .ldb = ldb,
           .bstride = bstride,
           .x = x,
           .ldx = ldx,
           .xstride = xstride};
  result = check_vectors(&j);
  if (result == TRISTAR_OK && batch->group == NULL)
    result = tsi_fail(&batch->ts->env, TRISTAR_ERR_STALE, __func__, __FILE__, __LINE__,
                      "the batch has no factors: call tristar_batch_factor first");
  if (result == TRISTAR_OK) result = run_alone(&j, errors, status, &batch->stats.solve_seconds);
  return tsi_answer(&batch->ts->env, result);
}

tristar_status tristar_batch_factor_solve(tristar_batch_t *batch, int64_t count, const void *values,
                                          int64_t stride, tristar_op op, int64_t nrhs, const void *b,
                                          int64_t ldb, int64_t bstride, void *x, int64_t ldx, int64_t xstride,
                                          double *errors, tristar_status *status) {
  tristar_status result = TRISTAR_OK;
  TSI_ENTER(batch, batch->ts);
  job j = {.batch = batch,
           .count = count,
           .values = values,
           .stride = stride,
           .factors = true,
           .solves = true,
           .op = op,
           .nrhs = nrhs,
           .b = b,
           .ldb = ldb,
           .bstride = bstride,
           .x = x,
           .ldx = ldx,
           .xstride = xstride};
  result = check_values(&j);
  if (result == TRISTAR_OK) result = check_vectors(&j);
  if (result == TRISTAR_OK) result = run_alone(&j, errors, status, &batch->stats.factor_seconds);
  return tsi_answer(&batch->ts->env, result);
}
