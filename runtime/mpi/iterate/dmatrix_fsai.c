/* Sparse approximate inverses of distributed matrices, M^-1 = G^H G or G_U G_L: see tristar_dmatrix_mpi.h.
 *
 * Job. A rank computes the rows of G in its block, from its rows of A and the near rows of other ranks
 * (near_rows.h). G is a distributed matrix with the same blocks: an application is two products. New values
 * of A give new values on the existing pattern of G. A pair has two matrices, G_L and G_U^T, with the same
 * pattern.
 *
 * Reads   the matrix, options.   Writes  a preconditioner that owns G.
 * Invariants
 *   - unknowns of a node that share a pattern have one owner
 *   - renumbered rows keep their order: with enough levels a row of G is computed as on one process,
 *     operation by operation
 *   - all ranks return the same status; a message has row numbers of the whole matrix */
#include <inttypes.h>

#include "runtime/base/clock.h"
#include "runtime/base/fingerprint.h"
#include "runtime/base/options.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/matrix/near_rows.h"
#include "runtime/mpi/matrix/symmetric_rows.h"
#include "runtime/iterate/precond/fsai_rows.h"
#include "runtime/iterate/precond/hermitian_part.h"
#include "runtime/iterate/precond/precond.h"

/* ---- Applications -------------------------------------------------------------------------------------- */

/* Data of a preconditioner. */
typedef struct inverse {
  tristar_dmatrix_t *g;     /* G, or G_L */
  tristar_dmatrix_t *upper; /* G_U^T; NULL: G_U is G^H */
  char *between;            /* TSI_DCOLUMNS vectors */
  /* of updates */
  int levels;
  uint64_t stored;     /* fingerprint of the pattern of this rank's rows of A */
  tsi_entries pattern; /* of this rank's rows of G, among the near rows; other rows are empty */
} inverse;

static void release_inverse(void *arg) {
  inverse *v = arg;
  tsi_env *env = &v->g->ts->env;
  TSI_FREE(env, v->between);
  tsi_entries_finish(&v->pattern);
  tristar_dmatrix_destroy(&v->g);
  tristar_dmatrix_destroy(&v->upper);
  TSI_FREE(env, v);
}

/* x = conj(b); x may be b. */
static void conjugate(const tristar_dmatrix_t *g, int64_t columns, const char *b, size_t next_b, char *x,
                      size_t next_x) {
  const tsi_incomplete_kernels *kernels = tsi_incomplete_kernels_select((char)g->scalar);
  for (int64_t c = 0; c < columns; c++) {
    char *to = x + (size_t)c * next_x;
    if (b != x) memcpy(to, b + (size_t)c * next_b, (size_t)g->n * g->bytes);
    kernels->conjugate(g->n, to);
  }
}

/* Applies to a strip of at most TSI_DCOLUMNS vectors; op: N or, for a pair, T. After a failure this rank
 * still takes part in the messages. */
static tristar_status apply_strip(const inverse *v, tristar_op op, int64_t columns, const char *b,
                                  int64_t ldb, char *x, int64_t ldx) {
  const bool other = op != TRISTAR_N;
  tristar_dmatrix_t *first = other ? v->upper : v->g;
  tristar_dmatrix_t *second = v->upper == NULL || other ? v->g : v->upper;
  const tristar_op back = v->upper == NULL ? TRISTAR_C : TRISTAR_T;
  TSI_TRY(tsi_dmatrix_need(first, TRISTAR_N, columns, false));
  TSI_TRY(tsi_dmatrix_need(second, back, columns, false));
  const tristar_status down = tsi_dmatrix_apply(first, TRISTAR_N, columns, b, ldb, v->between, v->g->n);
  tristar_status status = tsi_dmatrix_apply(second, back, columns, v->between, v->g->n, x, ldx);
  if (down != TRISTAR_OK) status = down;
  return status;
}

/* If M is Hermitian, M^T = conj(M). Else M^T is applied, and M^H B = conj(M^T conj(B)). */
static tristar_status apply(void *arg, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  const inverse *v = arg;
  const tristar_dmatrix_t *g = v->g;
  tristar_status status = TRISTAR_OK;
  const bool pair = v->upper != NULL;
  const bool conjugated = op == (pair ? TRISTAR_C : TRISTAR_T) && g->sparse->is_complex;
  const tristar_op own_op = pair && op != TRISTAR_N ? TRISTAR_T : TRISTAR_N;
  const size_t next_b = (size_t)ldb * g->bytes, next_x = (size_t)ldx * g->bytes;
  if (g->n == 0) b = x = v->between; /* b and x may be NULL */
  for (int64_t c = 0; c < nrhs; c += TSI_DCOLUMNS) {
    const int64_t columns = tsi_count_min(nrhs - c, TSI_DCOLUMNS);
    const char *from = (const char *)b + (size_t)c * next_b;
    char *to = (char *)x + (size_t)c * next_x;
    if (conjugated) conjugate(g, columns, from, next_b, to, next_x);
    const tristar_status own =
        apply_strip(v, own_op, columns, conjugated ? to : from, conjugated ? ldx : ldb, to, ldx);
    if (status == TRISTAR_OK) status = own;
    if (conjugated) conjugate(g, columns, to, next_x, to, next_x);
  }
  return status;
}

/* ---- The matrix ---------------------------------------------------------------------------------------- */

/* Collective. Checks that the options of all ranks are valid and the same. */
static tristar_status agree(tristar_dmatrix_t *d, const tristar_precond_options *o, int levels,
                            bool is_requested) {
  static const char *const name[] = {"steps",  "per_step",  "power",     "block",      "single", "pair",
                                     "levels", "reduction", "prefilter", "postfilter", "shift"};
  tsi_env *env = &d->ts->env;
  tristar_status status = TRISTAR_OK;
  const double real[] = {o->reduction, o->prefilter, o->postfilter, o->shift};
  int64_t value[11] = {o->steps, o->per_step, o->power, o->block, o->single != 0, o->pair, levels};
  memcpy(value + 7, real, sizeof real);
  if (!is_requested) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "precond is NULL");
  if (o->kind != TRISTAR_PRECOND_FSAI)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "kind is %d: FSAI alone is made of rows on all ranks",
                 (int)o->kind);
  if (levels < 0) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "levels is %d", levels);
  TSI_TRY_OUT(tsi_precond_check_options(env, o));
  if (o->place == TRISTAR_PLACE_GPU)
    TSI_FAIL_OUT(env, TRISTAR_ERR_UNSUPPORTED, "PLACE_GPU: an inverse of all ranks is applied on the cores");
out:
  return tsi_transport_same(d->transport, status, 11, name, value, 0, NULL);
}

/* The same on all ranks. Chooses a pair or a single factor, if the symmetry determines it. */
static tristar_status check_symmetry(const tristar_dmatrix_t *d, tristar_pair *pair) {
  tsi_env *env = &d->ts->env;
  const bool skew = d->stats.symmetry == TRISTAR_SKEW_SYMMETRIC;
  const bool transposed = d->stats.symmetry == TRISTAR_SYMMETRIC && d->sparse->is_complex;
  if (*pair == TRISTAR_PAIR_AUTO && (skew || transposed)) *pair = TRISTAR_PAIR_ALWAYS;
  if (*pair == TRISTAR_PAIR_AUTO && d->stats.symmetry != TRISTAR_GENERAL) *pair = TRISTAR_PAIR_NEVER;
  if (*pair == TRISTAR_PAIR_NEVER && skew)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "a skew-symmetric matrix has no sparse approximate inverse");
  if (*pair == TRISTAR_PAIR_NEVER && transposed)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "a sparse approximate inverse is that of a Hermitian matrix, but this one is complex symmetric; "
             "a pair of factors (option pair) takes such a matrix");
  return TRISTAR_OK;
}

/* Local. Checks that the own rows have diagonal entries; other ranks check theirs. */
static tristar_status find_diagonal(const tristar_dmatrix_t *d) {
  for (tsi_index i = 0; i < d->n; i++) {
    const int64_t row = tsi_dmatrix_first(d) + i;
    if (tsi_dmatrix_find(d, (tsi_index)row, (tsi_index)row) < 0)
      TSI_FAIL(&d->ts->env, TRISTAR_ERR_SINGULAR,
               "row %" PRId64 ", counted from 0, has no entry on the diagonal", row);
  }
  return TRISTAR_OK;
}

/* Fingerprint of the pattern of this rank's rows, which are in one piece. */
static uint64_t fingerprint(const tristar_dmatrix_t *d) {
  const tsi_count *ptr = d->whole->ptr;
  const uint64_t x = tsi_fingerprint(0, ptr, ((size_t)d->n + 1) * sizeof *ptr);
  return tsi_fingerprint(x, d->column, (size_t)ptr[d->n] * sizeof *d->column);
}

/* Collective. For a pair, gathers rows on the pattern of A + A^H. */
static tristar_status gather_near(tristar_dmatrix_t *d, const tristar_precond_options *o, int levels,
                                  bool pair, tsi_near_rows *near) {
  TSI_CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *both = NULL;
  tsi_near_rows_finish(near);
  if (pair) TSI_TRY(tsi_symmetric_rows(d, &both));
  return tsi_near_rows_gather(pair ? both : d, levels, o->power < 2, near);
}

/* Collective. stored: fingerprint of the pattern of this rank's rows. pair: AUTO becomes the choice. */
static tristar_status gather_rows(tristar_dmatrix_t *d, const tristar_precond_options *o, int levels,
                                  tristar_pair *pair, tsi_near_rows *near, uint64_t *stored) {
  tristar_status status = TRISTAR_OK;
  const bool had_whole = d->whole != NULL;
  TSI_TRY_OUT(check_symmetry(d, pair));
  tristar_status own = tsi_dmatrix_need_whole(d);
  if (own == TRISTAR_OK) own = find_diagonal(d);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, own));
  *stored = fingerprint(d);
  const bool open = *pair != TRISTAR_PAIR_ALWAYS;
  TSI_TRY_OUT(gather_near(d, o, levels, !open, near));
  if (open && d->stats.symmetry == TRISTAR_GENERAL) {
    TSI_TRY_OUT(tsi_compare_images(d, near, pair));
    if (*pair == TRISTAR_PAIR_ALWAYS) TSI_TRY_OUT(gather_near(d, o, levels, true, near));
  }
  TSI_TRY_OUT(tsi_transport_agree(d->transport, tsi_find_diagonal(&d->ts->env, &near->a)));
  tsi_shift_diagonal(d->sparse, &near->a, o->shift);
out:
  if (!had_whole) tsi_dmatrix_release_whole(d);
  return status;
}

/* Number of nodes of the own rows. */
static tsi_index count_own(const tsi_near_rows *near, const tsi_fsai_nodes *nodes) {
  if (nodes->count == 0 || near->rows == 0) return 0;
  return nodes->of[near->first + near->rows - 1] + 1 - nodes->of[near->first];
}

/* Collective. Finds nodes among the near rows. Without nodes, rows are computed one by one. */
static tristar_status find_nodes(const tristar_dmatrix_t *d, const tristar_precond_options *o,
                                 const tsi_near_rows *near, tsi_fsai_nodes *nodes) {
  tsi_env *env = &d->ts->env;
  int64_t count[2] = {near->rows, 0};
  TSI_TRY(tsi_transport_agree(d->transport,
                              tsi_fsai_nodes_make(env, o->block, &near->a, near->number, near->link, nodes)));
  if (o->block >= 0) return TRISTAR_OK;
  count[1] = count_own(near, nodes);
  TSI_TRY(tsi_transport_unite(d->transport, count, 2, MPI_INT64_T, MPI_SUM));
  if (!tsi_fsai_nodes_pay(count[0], count[1])) tsi_fsai_nodes_finish(nodes);
  return TRISTAR_OK;
}

/* ---- G ------------------------------------------------------------------------------------------------- */

/* Local. g: the rows of this rank, with the numbers of near rows. pattern: existing pattern of G, or NULL.
 * upper: NULL, or, for a pair, the values of the columns of G_U. */
static tristar_status compute(tristar_dmatrix_t *d, const tristar_precond_options *o,
                              const tsi_near_rows *near, const tsi_fsai_nodes *nodes,
                              const tsi_entries *pattern, tsi_entries *g, void **upper,
                              double *symbolic_seconds) {
  tsi_env *env = &d->ts->env;
  tsi_fsai_job job = tsi_fsai_job_of(d->ts, o, (char)d->scalar, &near->a);
  TSI_CLEANUP(tsi_entries_finish) tsi_entries start = {.ptr = NULL};
  TSI_CLEANUP(tsi_symmetrized_finish) tsi_symmetrized both = {.part = NULL};
  tsi_breakdown breakdown;
  const double begin = tsi_clock();
  job.first = near->first;
  job.rows = near->rows;
  if (nodes->count > 0) job.nodes = nodes;
  job.upper = upper;
  if (upper != NULL && pattern == NULL && o->steps > 0) {
    TSI_TRY(tsi_symmetrize(d->ts, (char)d->scalar, &near->a, true, &both));
    job.part = both.part;
  }
  if (pattern != NULL)
    tsi_fsai_keep_patterns(&job, pattern);
  else
    TSI_TRY(tsi_fsai_start(env, o, (char)d->scalar, &near->a, nodes, upper != NULL, &start));
  *symbolic_seconds += tsi_clock() - begin;
  if (start.ptr != NULL) job.given = &start;
  TSI_TRY(tsi_fsai_rows(&job, g, &breakdown));
  if (breakdown.kind != TSI_BREAKDOWN_NONE)
    TSI_TRY(tsi_breakdown_report(env, breakdown.kind, near->number[breakdown.row]));
  return TRISTAR_OK;
}

/* Local. Replaces columns of g by columns of the whole matrix. */
static void number_columns(const tsi_near_rows *near, const tsi_entries *g) {
  for (tsi_count e = 0; e < g->ptr[g->n]; e++) g->index[e] = near->number[g->index[e]];
}

/* ---- Patterns ------------------------------------------------------------------------------------------ */

/* Local. Keeps the pattern of this rank's rows of G. */
static tristar_status keep_pattern(const tristar_dmatrix_t *d, const tsi_near_rows *near,
                                   const tsi_entries *g, tsi_entries *pattern) {
  tsi_env *env = &d->ts->env;
  TSI_TRY(tsi_entries_begin(env, near->a.n, 0, pattern));
  for (tsi_index i = 0; i < near->a.n; i++) {
    const tsi_index own = i - near->first;
    const tsi_count count = own >= 0 && own < near->rows ? g->ptr[own + 1] - g->ptr[own] : 0;
    pattern->ptr[i + 1] = pattern->ptr[i] + count;
  }
  TSI_TRY(TSI_ALLOC(env, pattern->index, g->ptr[g->n]));
  if (g->ptr[g->n] > 0) memcpy(pattern->index, g->index, (size_t)g->ptr[g->n] * sizeof *g->index);
  return TRISTAR_OK;
}

/* ---- G on all ranks ------------------------------------------------------------------------------------ */

static tristar_view view_of(const tristar_dmatrix_t *d, const tsi_entries *g, const void *values) {
  tristar_view view = tsi_dmatrix_view(d, d->stats.n);
  view.ptr = g->ptr;
  view.index = g->index;
  view.values = values;
  return view;
}

/* Collective. Creates a distributed factor with these values. */
static tristar_status distribute(tristar_dmatrix_t *d, const tristar_precond_options *o, const tsi_entries *g,
                                 const void *values, tristar_dmatrix_t **out) {
  const tristar_dmatrix_options options = {
      .size = sizeof options, .engine = o->engine, .scalar = (int)d->scalar};
  const tristar_view view = view_of(d, g, values);
  return tsi_dmatrix_create(d->ts, tsi_transport_comm(d->transport), &view, &options,
                            tsi_fsai_is_single(o, (char)d->scalar), out);
}

/* Collective. upper: values of the columns of G_U, which are freed; NULL: no pair. */
static tristar_status make_factors(tristar_dmatrix_t *d, const tristar_precond_options *o,
                                   const tsi_entries *g, void **upper, inverse **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  inverse *v = NULL;
  tristar_status own = TSI_ALLOC_ZERO(env, v, 1);
  if (own == TRISTAR_OK) own = TSI_ALLOC_SIZED(env, v->between, (size_t)d->n + 1, TSI_DCOLUMNS * d->bytes);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, own));
  TSI_TRY_OUT(distribute(d, o, g, g->item, &v->g));
  if (upper != NULL) {
    TSI_TRY_OUT(distribute(d, o, g, *upper, &v->upper));
    TSI_FREE(env, *upper);
  }
  *out = tsi_take(&v);
out:
  if (v != NULL) {
    TSI_FREE(env, v->between);
    tristar_dmatrix_destroy(&v->g);
  }
  TSI_FREE(env, v);
  return status;
}

static void report_seconds(tristar_precond_t *p, double all, double symbolic) {
  p->stats.setup_seconds = all;
  p->stats.symbolic_seconds = symbolic;
  p->stats.numeric_seconds = all - symbolic;
}

/* Bytes of the inverse on this rank. */
static size_t count_bytes(const inverse *v) {
  const tsi_entries *pattern = &v->pattern;
  tristar_dmatrix_stats lower, upper = {.matrix_bytes = 0};
  (void)tristar_dmatrix_get_stats(v->g, &lower);
  if (v->upper != NULL) (void)tristar_dmatrix_get_stats(v->upper, &upper);
  return lower.matrix_bytes + upper.matrix_bytes + tsi_dpiece_bytes(pattern) +
         (size_t)v->g->n * TSI_DCOLUMNS * v->g->bytes;
}

/* Collective. */
static tristar_status make(tristar_dmatrix_t *d, const tristar_precond_options *o, int levels,
                           tristar_precond_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const double begin = tsi_clock();
  tsi_near_rows near = {.rows = 0};
  tsi_fsai_nodes nodes = {.count = 0};
  tsi_entries g = {.ptr = NULL}, pattern = {.ptr = NULL};
  void *upper = NULL;
  inverse *v = NULL;
  uint64_t stored;
  tristar_pair pair = o->pair;
  double symbolic_seconds = 0;
  TSI_TRY_OUT(gather_rows(d, o, levels, &pair, &near, &stored));
  void **const requested = pair == TRISTAR_PAIR_ALWAYS ? &upper : NULL;
  if (requested == NULL) TSI_TRY_OUT(find_nodes(d, o, &near, &nodes));
  symbolic_seconds = tsi_clock() - begin;
  tristar_status own = compute(d, o, &near, &nodes, NULL, &g, requested, &symbolic_seconds);
  if (own == TRISTAR_OK) own = keep_pattern(d, &near, &g, &pattern);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, own));
  number_columns(&near, &g);
  const tsi_index own_nodes = count_own(&near, &nodes);
  tsi_fsai_nodes_finish(&nodes);
  tsi_near_rows_finish(&near);
  const tsi_count entries = g.ptr[g.n];
  TSI_TRY_OUT(make_factors(d, o, &g, requested, &v));
  tsi_entries_finish(&g); /* before another form is allocated */
  v->levels = levels;
  v->stored = stored;
  v->pattern = pattern;
  pattern = (tsi_entries){.ptr = NULL};
  TSI_TRY_OUT(requested != NULL ? tsi_dmatrix_need(v->upper, TRISTAR_T, 1, false)
                                : tsi_dmatrix_need(v->g, TRISTAR_C, 1, false));
  own = tsi_precond_of_own(d->ts, o, d->n, (char)d->scalar, apply, v, release_inverse, out);
  if (own == TRISTAR_OK) v = NULL;
  TSI_TRY_OUT(tsi_transport_agree(d->transport, own));
  (*out)->stats.nnz = d->stats.nnz;
  (*out)->stats.nodes = own_nodes;
  tsi_precond_report_fill(*out, entries, requested != NULL ? entries : 0);
  (*out)->stats.bytes = count_bytes((*out)->arg);
  report_seconds(*out, tsi_clock() - begin, symbolic_seconds);
out:
  tsi_fsai_nodes_finish(&nodes);
  tsi_near_rows_finish(&near);
  tsi_entries_finish(&g);
  tsi_entries_finish(&pattern);
  TSI_FREE(env, upper);
  if (v != NULL) release_inverse(v);
  return status;
}

tristar_status tristar_dmatrix_fsai(tristar_dmatrix_t *matrix, const tristar_precond_options *options,
                                    int levels, tristar_precond_t **precond) {
  tristar_status status = TRISTAR_OK;
  tristar_precond_options full;
  if (precond != NULL) *precond = NULL;
  TSI_ENTER(matrix, matrix->ts);
  TSI_TRY_OUT(tsi_transport_agree(matrix->transport,
                                  TSI_OPTIONS(&matrix->ts->env, tristar_precond_options, options, &full)));
  if (options == NULL) full.kind = TRISTAR_PRECOND_FSAI;
  TSI_TRY_OUT(agree(matrix, &full, levels, precond != NULL));
  TSI_TRY_OUT(make(matrix, &full, levels, precond));
out:
  if (status != TRISTAR_OK && precond != NULL) tristar_precond_destroy(precond);
  return tsi_answer(&matrix->ts->env, status);
}

/* ---- New values ---------------------------------------------------------------------------------------- */

/* Local. Checks that the inverse can be updated from this matrix. */
static tristar_status check_inverse(const tristar_dmatrix_t *d, const tristar_precond_t *p) {
  tsi_env *env = &d->ts->env;
  if (p == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "precond is NULL");
  if (p->release != release_inverse)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the preconditioner is none of tristar_dmatrix_fsai");
  const tristar_dmatrix_t *g = ((const inverse *)p->arg)->g;
  if (g->scalar != d->scalar)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the matrix has values of type %c, the inverse of type %c",
             (int)d->scalar, (int)g->scalar);
  if (!tsi_dmatrix_same_blocks(d, g))
    TSI_FAIL(
        env, TRISTAR_ERR_STALE,
        "the matrix has other rows on the ranks than that which the inverse was made of: make another one");
  return TRISTAR_OK;
}

/* Local. */
static tristar_status check_pattern(const tristar_dmatrix_t *d, const inverse *v, const tsi_near_rows *near,
                                    uint64_t stored) {
  if (v->stored != stored || v->pattern.n != near->a.n)
    TSI_FAIL(&d->ts->env, TRISTAR_ERR_STALE,
             "the matrix has not the pattern that the inverse was made of: make another one");
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status renew(tristar_dmatrix_t *d, tristar_precond_t *p) {
  const double begin = tsi_clock();
  const inverse *v = p->arg;
  TSI_CLEANUP(tsi_near_rows_finish) tsi_near_rows near = {.rows = 0};
  TSI_CLEANUP(tsi_fsai_nodes_finish) tsi_fsai_nodes nodes = {.count = 0};
  TSI_CLEANUP(tsi_entries_finish) tsi_entries g = {.ptr = NULL};
  TSI_OWNED void *upper = NULL;
  void **const requested = v->upper != NULL ? &upper : NULL;
  uint64_t stored;
  tristar_pair pair = requested != NULL ? TRISTAR_PAIR_ALWAYS : TRISTAR_PAIR_NEVER;
  TSI_TRY(gather_rows(d, &p->options, v->levels, &pair, &near, &stored));
  double symbolic_seconds = tsi_clock() - begin;
  TSI_TRY(tsi_transport_agree(d->transport, check_pattern(d, v, &near, stored)));
  if (requested == NULL) TSI_TRY(find_nodes(d, &p->options, &near, &nodes));
  TSI_TRY(tsi_transport_agree(
      d->transport, compute(d, &p->options, &near, &nodes, &v->pattern, &g, requested, &symbolic_seconds)));
  number_columns(&near, &g);
  tsi_fsai_nodes_finish(&nodes);
  tsi_near_rows_finish(&near);
  const tristar_view lower_view = view_of(d, &g, g.item), upper_view = view_of(d, &g, upper);
  TSI_TRY(tsi_dmatrix_take_values(v->g, &lower_view));
  if (requested != NULL) TSI_TRY(tsi_dmatrix_take_values(v->upper, &upper_view));
  report_seconds(p, tsi_clock() - begin, symbolic_seconds);
  p->stats.updates++;
  p->valid = true;
  return TRISTAR_OK;
}

tristar_status tristar_dmatrix_fsai_update(tristar_dmatrix_t *matrix, tristar_precond_t *precond) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(matrix, matrix->ts);
  TSI_TRY_OUT(tsi_transport_agree(matrix->transport, check_inverse(matrix, precond)));
  precond->valid = false;
  TSI_TRY_OUT(renew(matrix, precond));
out:
  return tsi_answer(&matrix->ts->env, status);
}
