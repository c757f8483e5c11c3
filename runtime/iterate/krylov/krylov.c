/* Creates, updates and destroys solvers: options, matrix, workspace. See krylov.h. */
#include "runtime/iterate/krylov/krylov.h"

#include <inttypes.h>
#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/iterate/krylov/run.h"
#include "tristar_typed.h"
#include "runtime/matrix/view.h"

#define RESTART_MOST 10000
#define SUMS_LEAST 6 /* minimum number of doubles that a block adds to sums: see vectors.c */
#define OFFSET 5     /* cache lines between vectors, so that their equal rows are in different cache sets */

void tristar_krylov_options_init_sized(tristar_krylov_options *options, size_t size) {
  const tristar_krylov_options defaults = {.method = TRISTAR_KRYLOV_AUTO,
                                           .tolerance = 1e-5,
                                           .divergence = 1e4,
                                           .max_iterations = 10000,
                                           .patience = 1000,
                                           .restart = 30,
                                           .block = 8};
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

const char *tristar_krylov_reason_text(tristar_krylov_reason reason) {
  switch (reason) {
  case TRISTAR_REASON_CONVERGED:
    return "converged";
  case TRISTAR_REASON_LIMIT:
    return "not converged within the limit of iterations";
  case TRISTAR_REASON_STAGNATED:
    return "stagnated: the norm no longer falls";
  case TRISTAR_REASON_DIVERGED:
    return "diverged: the norm has grown";
  case TRISTAR_REASON_INDEFINITE:
    return "the matrix is not positive definite";
  case TRISTAR_REASON_INDEFINITE_PRECOND:
    return "the preconditioner is not positive definite, or singular";
  case TRISTAR_REASON_BREAKDOWN:
    return "breakdown: the method cannot go on from here";
  case TRISTAR_REASON_NOT_FINITE:
    return "NaN or infinity came up";
  case TRISTAR_REASON_CANCELLED:
    return "cancelled";
  case TRISTAR_REASON_INACCURATE:
    return "not converged: the true residual contradicts the norm of the test; the matrix or the "
           "preconditioner "
           "may be singular";
  }
  return "unknown reason";
}

/* ---- Options ------------------------------------------------------------------------------------------- */

static bool is_bad(double tolerance) {
  return !(tolerance >= 0) || isinf(tolerance);
}

static tristar_status check_ranges(tsi_env *env, const tristar_krylov_options *o) {
  if ((unsigned)o->method > TRISTAR_KRYLOV_BLOCK_CG || (unsigned)o->side > TRISTAR_SIDE_RIGHT ||
      (unsigned)o->norm > TRISTAR_NORM_RESIDUAL || (unsigned)o->passes > TRISTAR_PASSES_TWO ||
      (unsigned)o->engine > TRISTAR_ENGINE_TASKS)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "method %d, side %d, norm %d, passes %d, engine %d: one is unknown",
             (int)o->method, (int)o->side, (int)o->norm, (int)o->passes, (int)o->engine);
  if (is_bad(o->tolerance) || is_bad(o->absolute) || is_bad(o->divergence))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "tolerance %g, absolute %g, divergence %g: one is negative, or no number", o->tolerance,
             o->absolute, o->divergence);
  if (o->max_iterations < 0 || o->patience < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "max_iterations is %" PRId64 ", patience %" PRId64, o->max_iterations,
             o->patience);
  if (o->restart < 1 || o->restart > RESTART_MOST)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "restart is %d, outside 1..%d", o->restart, RESTART_MOST);
  if (o->block < 1 || o->block > TSI_BLOCK_MOST)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "block is %d, outside 1..%d", o->block, TSI_BLOCK_MOST);
  if (o->history != NULL && o->history_most < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "history_most is %" PRId64, o->history_most);
  return TRISTAR_OK;
}

/* Replaces AUTO by a method, and DEFAULT by a side and a norm. */
static tristar_status resolve(tristar_krylov_t *k, tristar_krylov_options *o) {
  tsi_env *env = &k->ts->env;
  const bool automatic = o->method == TRISTAR_KRYLOV_AUTO;
  bool suits_cg = k->matrix.suits_cg;
  if (automatic && o->side != TRISTAR_SIDE_RIGHT && k->pattern != NULL)
    TSI_TRY(tsi_krylov_suits_cg(k, &suits_cg));
  if (automatic)
    o->method = suits_cg && o->side != TRISTAR_SIDE_RIGHT ? TRISTAR_KRYLOV_CG : TRISTAR_KRYLOV_GMRES;
  const bool cg = tsi_krylov_is_cg(o), flexible = o->method == TRISTAR_KRYLOV_FGMRES;
  const bool of_residual =
      automatic && !cg && o->norm == TRISTAR_NORM_RESIDUAL; /* GMRES from the right uses this norm */
  if (o->side == TRISTAR_SIDE_DEFAULT)
    o->side = flexible || of_residual ? TRISTAR_SIDE_RIGHT : TRISTAR_SIDE_LEFT;
  const bool right = o->side == TRISTAR_SIDE_RIGHT;
  if (o->norm == TRISTAR_NORM_DEFAULT) o->norm = right ? TRISTAR_NORM_RESIDUAL : TRISTAR_NORM_PRECONDITIONED;
  if (flexible && !right)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "FGMRES is preconditioned from the right only");
  if (cg && right) TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "CG is not preconditioned from the right");
  if (!cg && right != (o->norm == TRISTAR_NORM_RESIDUAL))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "a method that is preconditioned from the %s computes the norm of %s only",
             right ? "right" : "left", right ? "r" : "M^-1 r");
  return TRISTAR_OK;
}

/* ---- Workspace ----------------------------------------------------------------------------------------- */

static int count_vectors(const tristar_krylov_options *options) {
  const int own = tsi_krylov_group(options); /* copies of b */
  switch (options->method) {
  case TRISTAR_KRYLOV_CG:
    return own + tsi_cg_vectors(options);
  case TRISTAR_KRYLOV_BICGSTAB:
    return own + tsi_bicgstab_vectors(options);
  case TRISTAR_KRYLOV_PIPELINED_CG:
    return own + tsi_pipelined_cg_vectors(options);
  case TRISTAR_KRYLOV_BLOCK_CG:
    return own + tsi_block_cg_vectors(options);
  case TRISTAR_KRYLOV_AUTO: /* resolve has replaced it */
  case TRISTAR_KRYLOV_GMRES:
  case TRISTAR_KRYLOV_FGMRES:
    break;
  }
  return own + tsi_gmres_vectors(options);
}

static int count_columns(const tristar_krylov_options *options) {
  const bool basis = options->method == TRISTAR_KRYLOV_GMRES || options->method == TRISTAR_KRYLOV_FGMRES;
  return basis ? options->restart : 0;
}

static int count_sums(const tristar_krylov_options *options) {
  if (options->method == TRISTAR_KRYLOV_PIPELINED_CG) return tsi_pipelined_cg_sums();
  if (options->method == TRISTAR_KRYLOV_BLOCK_CG) return tsi_block_cg_sums(options);
  const int basis = 2 * count_columns(options);
  return basis > SUMS_LEAST ? basis : SUMS_LEAST;
}

static tristar_status allocate(const tristar_krylov_t *k, const tristar_krylov_options *options,
                               tsi_workspace *work) {
  tsi_env *env = &k->ts->env;
  const size_t lines = ((size_t)k->n * k->bytes + TSI_CACHE_LINE - 1) / TSI_CACHE_LINE + OFFSET;
  const size_t blocks = (size_t)k->crew.blocks;
  work->stride = lines * TSI_CACHE_LINE;
  work->vectors = count_vectors(options);
  work->sums = count_sums(options);
  work->runs = tsi_krylov_group(options);
  const size_t sums = (size_t)work->sums * sizeof *work->shares;
  TSI_TRY(TSI_ALLOC_SIZED(env, work->vector, work->vectors, work->stride));
  /* zero, because a product that fails writes no shares */
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, work->shares, blocks, sums));
  TSI_TRY(TSI_ALLOC(env, work->total, work->sums + TSI_SIGNALS));
  if (!tsi_krylov_is_alone(k))
    TSI_TRY(TSI_ALLOC(env, work->gathered, (int64_t)k->team->members * (work->sums + TSI_SIGNALS)));
  TSI_TRY(tsi_hessenberg_begin(env, count_columns(options), &work->small));
  TSI_TRY(TSI_ALLOC(env, work->run, work->runs));
  TSI_TRY(TSI_ALLOC(env, work->square, 3 * work->runs * work->runs));
  work->bytes = (size_t)work->vectors * work->stride + (blocks + 1) * sums;
  return TRISTAR_OK;
}

static void release(tsi_env *env, tsi_workspace *work) {
  TSI_FREE(env, work->vector);
  TSI_FREE(env, work->shares);
  TSI_FREE(env, work->total);
  TSI_FREE(env, work->gathered);
  TSI_FREE(env, work->run);
  TSI_FREE(env, work->square);
  tsi_hessenberg_finish(env, &work->small);
}

/* Replaces the workspace by one that is large enough for these options, unless the old one is. */
static tristar_status enlarge(tristar_krylov_t *k, const tristar_krylov_options *options) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &k->ts->env;
  tsi_workspace larger = {.vector = NULL}; /* after the exchange: the old workspace */
  if (k->work.vector != NULL && count_vectors(options) <= k->work.vectors &&
      count_sums(options) <= k->work.sums && count_columns(options) <= k->work.small.m &&
      tsi_krylov_group(options) <= k->work.runs)
    return status;
  TSI_TRY_OUT(allocate(k, options, &larger));
  const tsi_workspace before = k->work;
  k->work = larger;
  k->stats.workspace_bytes = larger.bytes;
  larger = before;
out:
  release(env, &larger);
  return status;
}

/* Bytes that a product reads and writes. For a function: the bytes of the vectors. */
static double product_bytes(const tristar_krylov_t *k) {
  return (double)tsi_halves_bytes(&k->stored) + 3 * (double)k->n * (double)k->bytes;
}

static tristar_status begin_crew(tristar_krylov_t *k, tristar_engine engine) {
  const tsi_index blocks = (tsi_index)(((int64_t)k->n + TSI_BLOCK_ROWS - 1) / TSI_BLOCK_ROWS);
  TSI_TRY(tsi_crew_begin(k->ts, "krylov_rows", engine, TSI_RUNS_SHORT, blocks, product_bytes(k),
                         &k->stats.start_seconds, &k->crew));
  k->unit = k->matrix.function == NULL ? tsi_halves_unit(&k->stored) : 1;
  if (k->unit > 1)
    TSI_TRY(tsi_crew_begin(k->ts, "krylov_rows", engine, TSI_RUNS_SHORT, tsi_units(blocks, k->unit),
                           product_bytes(k), &k->stats.start_seconds, &k->units));
  k->stats.workers = k->crew.workers;
  return TRISTAR_OK;
}

/* ---- Members of a team --------------------------------------------------------------------------------- */

tristar_status tsi_krylov_alike(tristar_krylov_t *k, const char *name, double value) {
  const double largest = tsi_team_largest(k->team, value);
  if (tsi_team_any(k->team, value != largest))
    TSI_FAIL(&k->ts->env, TRISTAR_ERR_ARGUMENT,
             "the ranks do not ask for the same: %s is %g here, %g at most", name, value, largest);
  return TRISTAR_OK;
}

/* Members with different options would take different decisions. */
static tristar_status check_alike(tristar_krylov_t *k, const tristar_krylov_options *o) {
  const struct {
    const char *name;
    double value;
  } wishes[] = {{"the method", o->method},
                {"the side", o->side},
                {"the norm", o->norm},
                {"tolerance", o->tolerance},
                {"absolute", o->absolute},
                {"divergence", o->divergence},
                {"max_iterations", (double)o->max_iterations},
                {"patience", (double)o->patience},
                {"restart", o->restart},
                {"block", o->block},
                {"passes", o->passes},
                {"guess", o->guess != 0}};
  for (size_t w = 0; w < sizeof wishes / sizeof *wishes && !tsi_krylov_is_alone(k); w++)
    TSI_TRY(tsi_krylov_alike(k, wishes[w].name, wishes[w].value));
  return TRISTAR_OK;
}

/* ---- Life ---------------------------------------------------------------------------------------------- */

static tristar_status take_operator(tristar_krylov_t *k, const tsi_krylov_operator *matrix) {
  tsi_env *env = &k->ts->env;
  const tristar_scalar scalar = matrix->scalar;
  k->matrix = *matrix;
  if (matrix->share != NULL) matrix->share(matrix->arg);
  k->n = matrix->n;
  k->scalar = scalar;
  k->kernels = tsi_krylov_kernels_select((char)scalar, k->ts->isa);
  k->sparse = tsi_sparse_kernels_select((char)scalar);
  if ((int)scalar != (char)scalar || k->sparse == NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknown scalar %d", (int)scalar);
  if (matrix->team != NULL) k->team = matrix->team;
  k->stats.nnz = matrix->nnz;
  return TRISTAR_OK;
}

/* Either view or matrix is NULL. */
static tristar_status create(tristar_t *ts, const tristar_view *view, const tsi_krylov_operator *matrix,
                             const tristar_krylov_options *options, tristar_krylov_t **out) {
  tsi_env *env = &ts->env;
  TSI_CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k = NULL;
  const double begin = tsi_clock();
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, k, 1));
  k->ts = ts;
  tsi_env_retain(env);
  k->alone = tsi_team_alone(0);
  k->team = &k->alone;
  k->scales = TSI_NO_SCALES;
  TSI_TRY(TSI_OPTIONS(env, tristar_krylov_options, options, &k->options));
  TSI_TRY(check_ranges(env, &k->options));
  if (view != NULL)
    TSI_TRY(tsi_krylov_take_matrix(k, view));
  else
    TSI_TRY(take_operator(k, matrix));
  TSI_TRY(resolve(k, &k->options));
  k->bytes = k->sparse->scalar_bytes;
  k->stats.n = k->n;
  TSI_TRY(begin_crew(k, k->options.engine));
  TSI_TRY(enlarge(k, &k->options));
  k->valid = true;
  k->stats.create_seconds = tsi_clock() - begin - k->stats.start_seconds;
  *out = tsi_take(&k);
  return TRISTAR_OK;
}

tristar_status tristar_krylov_create(tristar_t *ts, const tristar_view *view,
                                     const tristar_krylov_options *options, tristar_krylov_t **krylov) {
  tristar_status status = TRISTAR_OK;
  if (krylov != NULL) *krylov = NULL;
  TSI_ENTER(ts, ts);
  if (view == NULL || krylov == NULL)
    TSI_FAIL_OUT(&ts->env, TRISTAR_ERR_ARGUMENT, "%s is NULL", view == NULL ? "view" : "krylov");
  status = create(ts, view, NULL, options, krylov);
out:
  return tsi_answer(&ts->env, status);
}

tristar_status tristar_krylov_create_operator(tristar_t *ts, int64_t n, tristar_scalar scalar,
                                              tristar_operator_fn function, void *arg,
                                              const tristar_krylov_options *options,
                                              tristar_krylov_t **krylov) {
  tristar_status status = TRISTAR_OK;
  if (krylov != NULL) *krylov = NULL;
  TSI_ENTER(ts, ts);
  if (krylov == NULL) TSI_FAIL_OUT(&ts->env, TRISTAR_ERR_ARGUMENT, "krylov is NULL");
  tsi_krylov_operator matrix = {.scalar = scalar, .function = function, .arg = arg};
  if (function == NULL || n < 0)
    TSI_FAIL_OUT(&ts->env, TRISTAR_ERR_ARGUMENT, "%s",
                 function == NULL ? "function is NULL" : "n is negative");
  if (!tsi_to_index(n, &matrix.n)) TSI_FAIL_OUT(&ts->env, TRISTAR_ERR_TOO_LARGE, "n is %" PRId64, n);
  status = create(ts, NULL, &matrix, options, krylov);
out:
  return tsi_answer(&ts->env, status);
}

tristar_status tsi_krylov_create(tristar_t *ts, const tsi_krylov_operator *matrix,
                                 const tristar_krylov_options *options, tristar_krylov_t **krylov) {
  tristar_status status = create(ts, NULL, matrix, options, krylov);
  TSI_TRY_OUT(tsi_team_agree(matrix->team, status));
  TSI_TRY_OUT(check_alike(*krylov, &(*krylov)->options));
out:
  if (status != TRISTAR_OK)
    tristar_krylov_destroy(krylov); /* the status may be the failure of another rank */
  return status;
}

tristar_status tsi_krylov_need_values(const tristar_krylov_t *k) {
  if (k->valid) return TRISTAR_OK;
  TSI_FAIL(&k->ts->env, TRISTAR_ERR_STALE, "the matrix has no values: their latest update failed");
}

tristar_status tsi_krylov_take(tristar_krylov_t *k) {
  if (!atomic_exchange(&k->busy, true)) return TRISTAR_OK;
  TSI_FAIL(&k->ts->env, TRISTAR_ERR_BUSY, "another call with this solver has not ended");
}

void tsi_krylov_give(tristar_krylov_t *k) {
  atomic_store(&k->busy, false);
}

tristar_status tristar_krylov_set_options(tristar_krylov_t *krylov, const tristar_krylov_options *options) {
  tristar_status status = TRISTAR_OK;
  bool taken = false;
  TSI_ENTER(krylov, krylov->ts);
  tsi_env *env = &krylov->ts->env;
  TSI_TRY_OUT(tsi_krylov_take(krylov));
  taken = true;
  if (options == NULL) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "options is NULL");
  tristar_krylov_options now;
  status = TSI_OPTIONS(env, tristar_krylov_options, options, &now);
  if (status == TRISTAR_OK) status = check_ranges(env, &now);
  if (status == TRISTAR_OK) status = resolve(krylov, &now);
  if (status == TRISTAR_OK && now.engine != krylov->options.engine)
    status = tsi_fail(env, TRISTAR_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__,
                      "the engine of a solver is that of tristar_krylov_create");
  TSI_TRY_OUT(tsi_krylov_agree(krylov, status));
  TSI_TRY_OUT(check_alike(krylov, &now));
  TSI_TRY_OUT(tsi_krylov_agree(krylov, enlarge(krylov, &now)));
  krylov->options = now;
out:
  if (taken) tsi_krylov_give(krylov);
  return tsi_answer(env, status);
}

tristar_status tristar_krylov_update_values(tristar_krylov_t *krylov, const void *values) {
  tristar_status status = TRISTAR_OK;
  bool taken = false;
  TSI_ENTER(krylov, krylov->ts);
  tsi_env *env = &krylov->ts->env;
  TSI_TRY_OUT(tsi_krylov_take(krylov));
  taken = true;
  if (krylov->matrix.function != NULL)
    TSI_FAIL_OUT(env, TRISTAR_ERR_UNSUPPORTED, "the matrix is a function, which has its own values");
  if (values == NULL && krylov->pattern->given > 0) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  krylov->valid = false;
  TSI_TRY_OUT(tsi_krylov_take_values(krylov, values));
  krylov->valid = true;
out:
  if (taken) tsi_krylov_give(krylov);
  return tsi_answer(env, status);
}

/* With new values, a distributed matrix may be stored in another form. */
static tristar_krylov_stats stats_now(const tristar_krylov_t *k) {
  tristar_krylov_stats stats = k->stats;
  stats.method = k->options.method;
  if (k->matrix.bytes != NULL) stats.product_bytes = k->matrix.bytes(k->matrix.arg);
  return stats;
}

tristar_status tristar_krylov_get_stats(const tristar_krylov_t *krylov, tristar_krylov_stats *stats) {
  TSI_GET(krylov, stats, stats_now(krylov));
}

void tristar_krylov_destroy(tristar_krylov_t **krylov) {
  if (krylov == NULL || *krylov == NULL) return;
  tristar_krylov_t *k = *krylov;
  tsi_env *env = &k->ts->env;
  *krylov = NULL;
  if (tsi_env_abandon(env, k)) return;
  tsi_crew_finish(&k->crew);
  tsi_crew_finish(&k->units);
  release(env, &k->work);
  tsi_krylov_release_matrix(k);
  TSI_FREE(env, k);
  tsi_env_release(env);
}

tristar_status tristar_krylov_check_scalar(const tristar_krylov_t *krylov, tristar_scalar scalar) {
  TSI_ENTER(krylov, krylov->ts);
  return tsi_answer(&krylov->ts->env, tsi_check_scalar(&krylov->ts->env, (char)krylov->scalar, scalar));
}
