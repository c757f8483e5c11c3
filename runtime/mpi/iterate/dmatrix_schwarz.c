/* Additive Schwarz preconditioners on distributed rows: see tristar_dmatrix_mpi.h.
 *
 * Job. The subdomain of a rank consists of its rows and the near rows of other ranks (near_rows.h), in the
 * order of the whole matrix. An application gathers remote entries, solves with the subdomain, and returns
 * remote entries to their owners, which add them in the order of the ranks.
 *
 * Reads   the matrix, options.   Writes  a preconditioner that owns its data, with a reference to the matrix
 * for its transport.
 * Invariants
 *   - a vector of the subdomain: `before` remote entries, the own ones, the other remote entries
 *   - after a failure a rank still takes part in the exchanges of an application */
#include <inttypes.h>

#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/mpi/comm/halo.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/matrix/near_rows.h"
#include "runtime/iterate/precond/precond.h"

/* Data of a preconditioner. */
typedef struct schwarz {
  tristar_t *ts;
  tristar_dmatrix_t *matrix;
  const tsi_sparse_kernels *sparse;
  size_t bytes;                /* of a scalar */
  tsi_index rows, before, all; /* rows: own; before: remote rows before them; all: of the subdomain */
  bool restricted;
  tsi_halo *halo;
  char *ghost;  /* all - rows entries */
  char *vector; /* all */
  tristar_precond_t *local;
  tristar_analysis_t *analysis; /* these three: for complete factors */
  tristar_factor_t *factor;
  tristar_plan_t *plan;
} schwarz;

static void release(void *arg) {
  schwarz *s = arg;
  tsi_env *env = &s->ts->env;
  tristar_precond_destroy(&s->local);
  tristar_plan_destroy(&s->plan);
  tristar_factor_destroy(&s->factor);
  tristar_analysis_destroy(&s->analysis);
  tsi_halo_destroy(&s->halo);
  TSI_FREE(env, s->ghost);
  TSI_FREE(env, s->vector);
  tristar_dmatrix_destroy(&s->matrix);
  TSI_FREE(env, s);
}

/* ---- Applications -------------------------------------------------------------------------------------- */

/* Copy remote entries to a vector of the subdomain, and back. */
static void put_ghosts(const schwarz *s) {
  const size_t before = (size_t)s->before * s->bytes, after = (size_t)(s->before + s->rows) * s->bytes;
  memcpy(s->vector, s->ghost, before);
  memcpy(s->vector + after, s->ghost + before, (size_t)s->all * s->bytes - after);
}
static void take_ghosts(const schwarz *s) {
  const size_t before = (size_t)s->before * s->bytes, after = (size_t)(s->before + s->rows) * s->bytes;
  memcpy(s->ghost, s->vector, before);
  memcpy(s->ghost + before, s->vector + after, (size_t)s->all * s->bytes - after);
}

static tristar_status apply_column(const schwarz *s, tristar_op op, const char *b, char *x) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &s->ts->env;
  char *own = s->vector + (size_t)s->before * s->bytes;
  memcpy(own, b, (size_t)s->rows * s->bytes);
  status = tsi_halo_fill(env, s->halo, s->bytes, own, s->ghost);
  put_ghosts(s);
  const tristar_status solved = tristar_precond_apply(s->local, op, 1, s->vector, s->all, s->vector, s->all);
  if (status == TRISTAR_OK) status = solved;
  memcpy(x, own, (size_t)s->rows * s->bytes);
  if (s->restricted) return status;
  take_ghosts(s);
  const tristar_status added = tsi_halo_add(env, s->halo, s->bytes, s->ghost, x, s->sparse->add_at);
  return status == TRISTAR_OK ? added : status;
}

static tristar_status apply(void *arg, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  const schwarz *s = arg;
  tristar_status status = TRISTAR_OK;
  if (s->restricted && op != TRISTAR_N)
    TSI_FAIL(&s->ts->env, TRISTAR_ERR_UNSUPPORTED, "a restricted Schwarz preconditioner has no transpose");
  if (s->rows == 0) b = x = s->vector; /* b and x may be NULL */
  for (int64_t c = 0; c < nrhs; c++) {
    const tristar_status own = apply_column(s, op, (const char *)b + (size_t)(c * ldb) * s->bytes,
                                            (char *)x + (size_t)(c * ldx) * s->bytes);
    if (status == TRISTAR_OK) status = own;
  }
  return status;
}

/* ---- Subdomains ---------------------------------------------------------------------------------------- */

/* Collective. Checks that the options of all ranks are valid and the same. */
static tristar_status agree(tristar_dmatrix_t *d, const tristar_precond_options *o, int overlap,
                            int restricted, bool is_requested) {
  static const char *const name[] = {"kind",  "level",  "fill",      "steps",      "per_step",  "power",
                                     "block", "single", "overlap",   "restricted", "drop",      "modified",
                                     "omega", "shift",  "reduction", "prefilter",  "postfilter"};
  tsi_env *env = &d->ts->env;
  tristar_status status = TRISTAR_OK;
  const double real[] = {o->drop, o->modified, o->omega, o->shift, o->reduction, o->prefilter, o->postfilter};
  int64_t value[17] = {(int64_t)o->kind, o->level, o->fill,        o->steps, o->per_step,
                       o->power,         o->block, o->single != 0, overlap,  restricted != 0};
  memcpy(value + 10, real, sizeof real);
  if (!is_requested) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "precond is NULL");
  if (overlap < 0) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "overlap is %d", overlap);
  if (o->kind == TRISTAR_PRECOND_FUNCTION)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "a function stands for no subdomain");
  if (o->kind != TRISTAR_PRECOND_PLAN) TSI_TRY_OUT(tsi_precond_check_options(env, o));
out:
  return tsi_transport_same(d->transport, status, (int)(sizeof value / sizeof *value), name, value, 0, NULL);
}

/* Collective. Connects the remote rows with their owners. */
static tristar_status connect(tristar_dmatrix_t *d, const tsi_near_rows *near, schwarz *s) {
  tsi_env *env = &d->ts->env;
  const tsi_index others = s->all - s->rows;
  TSI_OWNED tsi_index *number = NULL;
  tristar_status status = TSI_ALLOC(env, number, others);
  if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED(env, s->ghost, (size_t)others + 1, s->bytes);
  if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED(env, s->vector, (size_t)s->all + 1, s->bytes);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  for (tsi_index k = 0; k < others; k++) number[k] = near->number[k < s->before ? k : k + s->rows];
  return tsi_dmatrix_connect(d, d->transport, others, number, &s->halo);
}

/* Local. Computes complete factors. */
static tristar_status factorize(schwarz *s, const tristar_view *view, const tristar_precond_options *o) {
  tristar_plan_options options;
  tristar_plan_options_init(&options);
  options.engine = o->engine;
  TSI_TRY(tristar_analyze(s->ts, view, NULL, &s->analysis));
  TSI_TRY(tristar_factor(s->analysis, view->values, &s->factor));
  TSI_TRY(tristar_plan(s->factor, &options, &s->plan));
  return tristar_precond_of_plan(s->plan, &s->local);
}

/* Local. Creates the approximate inverse of the subdomain's matrix. */
static tristar_status solve_with(tristar_dmatrix_t *d, const tsi_near_rows *near, schwarz *s,
                                 const tristar_precond_options *o) {
  const tristar_view view = {.format = TRISTAR_CSR,
                             .symmetry = TRISTAR_GENERAL,
                             .scalar = d->scalar,
                             .rows = s->all,
                             .cols = s->all,
                             .ptr = near->a.ptr,
                             .index = near->a.index,
                             .values = near->a.values,
                             .ptr_bits = 64,
                             .index_bits = 32};
  return o->kind == TRISTAR_PRECOND_PLAN ? factorize(s, &view, o)
                                         : tristar_precond(s->ts, &view, o, &s->local);
}

/* Local. Fills the statistics of the subdomain. */
static tristar_status report(const schwarz *s, double begin, tristar_precond_t *m) {
  tristar_precond_stats local;
  tristar_factor_stats complete = {.nnz_factor = 0};
  TSI_TRY(tristar_precond_get_stats(s->local, &local));
  if (s->factor != NULL) TSI_TRY(tristar_factor_get_stats(s->factor, &complete));
  m->stats.nnz = local.nnz;
  m->stats.nnz_lower = local.nnz_lower + complete.nnz_factor;
  m->stats.nnz_upper = local.nnz_upper;
  m->stats.setup_seconds = tsi_clock() - begin;
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status make(tristar_dmatrix_t *d, const tristar_precond_options *o, int overlap,
                           bool restricted, tristar_precond_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const double begin = tsi_clock();
  tsi_near_rows near = {.rows = 0};
  schwarz *s = NULL;
  status = tsi_dmatrix_need_whole(d);
  if (status == TRISTAR_OK) status = TSI_ALLOC_ZERO(env, s, 1);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  TSI_TRY_OUT(tsi_near_rows_gather(d, overlap, false, &near));
  s->ts = d->ts;
  s->matrix = tsi_dmatrix_share(d);
  s->sparse = d->sparse;
  s->bytes = d->bytes;
  s->rows = near.rows;
  s->before = near.first;
  s->all = near.a.n;
  s->restricted = restricted;
  TSI_TRY_OUT(connect(d, &near, s));
  TSI_TRY_OUT(tsi_transport_agree(d->transport, solve_with(d, &near, s, o)));
  status = tsi_precond_of_own(d->ts, o, d->n, (char)d->scalar, apply, s, release, out);
  if (status == TRISTAR_OK) status = report(s, begin, *out);
  if (*out != NULL) s = NULL; /* the preconditioner owns it */
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
out:
  tsi_near_rows_finish(&near);
  if (s != NULL) {
    s->ts = d->ts;
    release(s);
  }
  return status;
}

tristar_status tristar_dmatrix_schwarz(tristar_dmatrix_t *matrix, const tristar_precond_options *options,
                                       int overlap, int restricted, tristar_precond_t **precond) {
  tristar_status status = TRISTAR_OK;
  tristar_precond_options full;
  if (precond != NULL) *precond = NULL;
  TSI_ENTER(matrix, matrix->ts);
  TSI_TRY_OUT(tsi_transport_agree(matrix->transport,
                                  TSI_OPTIONS(&matrix->ts->env, tristar_precond_options, options, &full)));
  TSI_TRY_OUT(agree(matrix, &full, overlap, restricted, precond != NULL));
  TSI_TRY_OUT(make(matrix, &full, overlap, restricted != 0, precond));
out:
  if (status != TRISTAR_OK && precond != NULL) tristar_precond_destroy(precond);
  return tsi_answer(&matrix->ts->env, status);
}
