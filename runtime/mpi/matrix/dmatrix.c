/* Creation of a matrix whose rows are distributed over all ranks; products with it. See dmatrix.h,
 * tristar_dmatrix_mpi.h. */
#include "runtime/mpi/matrix/dmatrix.h"

#include <inttypes.h>

#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/matrix/matrix.h"
#include "runtime/matrix/view.h"
#include "runtime/mpi/comm/blocks.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/comm/team.h"
#include "runtime/solve/request.h"

void tristar_dmatrix_options_init_sized(tristar_dmatrix_options *options, size_t size) {
  const tristar_dmatrix_options defaults = {.engine = TRISTAR_ENGINE_AUTO};
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

/* ---- Creation ------------------------------------------------------------------------------------------ */

/* Collective. */
static tristar_status take_blocks(tristar_dmatrix_t *d, const tristar_dmatrix_options *options,
                                  const tristar_view *view, tristar_status mine) {
  TSI_OWNED tsi_rank_block *blocks = NULL;
  const int ranks = tsi_transport_size(d->transport);
  TSI_TRY(tsi_rank_blocks_gather(&d->ts->env, d->transport, mine, view, &blocks));
  TSI_TRY(tsi_dmatrix_agree(d, options,
                            tsi_dmatrix_choose_scalar(d, options, view->scalar, view->values != NULL)));
  for (int r = 0; r < ranks; r++) d->start[r + 1] = d->start[r] + blocks[r].rows;
  return TRISTAR_OK;
}

static void fill_stats(tristar_dmatrix_t *d) {
  const tsi_dform *form = &d->form[TSI_DPLAIN];
  const int64_t bytes = (int64_t)d->bytes;
  tristar_dmatrix_stats *s = &d->stats;
  s->rank = tsi_transport_rank(d->transport);
  s->ranks = tsi_transport_size(d->transport);
  s->workers = d->crew->workers;
  s->scalar = d->scalar;
  s->n = d->start[s->ranks];
  s->first = tsi_dmatrix_first(d);
  s->rows = d->n;
  s->ghosts = d->halo->ghosts;
  s->owners = d->owners;
  s->requesters = s->askers = d->requesters;
  s->product = (tristar_message_count){d->requesters, d->halo->requested * bytes};
  s->transposed = (tristar_message_count){d->owners, d->halo->ghosts * bytes};
  s->nnz = form->diagonal.ptr[d->n];
  for (int o = 0; o < d->owners; o++) s->nnz += form->block[o].ptr[form->block[o].n];
}

/* Local. Creates the diagonal block for products and the buffers, and hires the threads that multiply. */
static tristar_status prepare(tristar_dmatrix_t *d, tristar_engine engine) {
  tsi_env *env = &d->ts->env;
  tsi_dform *plain = &d->form[TSI_DPLAIN];
  const size_t strip = TSI_DCOLUMNS * d->bytes;
  tsi_index lines = TSI_BLOCK_ROWS;
  for (int o = 0; o < d->owners; o++) lines = tsi_index_max(lines, plain->block[o].n);
  TSI_TRY(tsi_dmatrix_store(d));
  TSI_TRY(TSI_ALLOC_SIZED_IN(d, d->ghost, d->halo->ghosts, strip));
  TSI_TRY(TSI_ALLOC_SIZED_IN(d, d->requested, d->halo->requested, strip));
  TSI_TRY(TSI_ALLOC_SIZED_IN(d, d->part, lines, d->bytes));
  TSI_TRY(tsi_dmatrix_hire_crew(d, engine));
  if (env->check) TSI_TRY(tsi_dmatrix_check(d));
  fill_stats(d);
  return TRISTAR_OK;
}

tristar_status tsi_dmatrix_finish(tristar_dmatrix_t *d, tristar_engine engine) {
  tsi_env *env = &d->ts->env;
  TSI_TRY(tsi_transport_agree(d->transport, prepare(d, engine)));
  TSI_TRY(tsi_transport_team(env, d->transport, d->stats.n, NULL, &d->team));
  TSI_TRY(tsi_dmatrix_need(d, TRISTAR_N, 1, false));
  return TSI_MPI(env, "MPI_Allreduce",
                 MPI_Allreduce(&d->stats.nnz, &d->stats.nnz_all, 1, MPI_INT64_T, MPI_SUM,
                               tsi_transport_comm(d->transport)));
}

/* is_complex: the user's values are complex. */
static void report_symmetry(tristar_dmatrix_t *d, tristar_symmetry symmetry, bool is_complex) {
  const bool both = symmetry == TRISTAR_SYMMETRIC && !is_complex && d->sparse->is_complex;
  d->stats.symmetry = both ? TRISTAR_HERMITIAN : symmetry;
}

/* Collective. mine: an earlier failure of this rank. */
static tristar_status take_view(tristar_dmatrix_t *d, const tristar_dmatrix_options *options,
                                const tristar_view *view, tristar_status mine) {
  TSI_TRY(take_blocks(d, options, view, mine));
  TSI_TRY(tsi_dmatrix_take_rows(d, view));
  report_symmetry(d, view->symmetry, tsi_scalar_width(view->scalar) == 2);
  return tsi_dmatrix_finish(d, options->engine);
}

/* The generated part as the rows of this rank. */
static tristar_view rows_of(const tristar_matrix_t *generated) {
  tristar_view view;
  tristar_matrix_get_view(generated, &view);
  view.format = TRISTAR_CSR;
  view.rows = generated->cols;
  view.cols = generated->rows;
  return view;
}

/* Collective. A model problem: kind and k, or kind NULL and a path "gen:KIND:K". */
static tristar_status take_model(tristar_dmatrix_t *d, const tristar_dmatrix_options *options,
                                 const char *kind, int64_t k, const char *path) {
  tsi_env *env = &d->ts->env;
  TSI_CLEANUP(tristar_matrix_destroy) tristar_matrix_t *generated = NULL;
  tristar_view view = {0};
  tsi_matrix_part part = {.number = tsi_transport_rank(d->transport),
                          .parts = tsi_transport_size(d->transport)};
  const tristar_status mine = kind != NULL ? tsi_matrix_generate(env, kind, k, &part, &generated)
                                           : tsi_matrix_generate_path(env, path, &part, &generated);
  if (mine == TRISTAR_OK) view = rows_of(generated);
  TSI_TRY(take_view(d, options, &view, mine));
  report_symmetry(d, part.symmetry, false);
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status take_file(tristar_dmatrix_t *d, const tristar_dmatrix_options *options,
                                const char *path) {
  tristar_symmetry symmetry;
  bool is_complex;
  TSI_CLEANUP(tsi_dlist_release) tsi_dlist list = {.count = 0};
  TSI_TRY(tsi_dmatrix_read_file(d, path, options, &list, &symmetry, &is_complex));
  TSI_TRY(tsi_dmatrix_assemble(d, &list, symmetry));
  report_symmetry(d, symmetry, is_complex);
  return tsi_dmatrix_finish(d, options->engine);
}

tristar_status tsi_dmatrix_begin(tristar_t *ts, MPI_Comm comm, tristar_status mine, tristar_dmatrix_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tsi_transport *transport = NULL;
  tristar_dmatrix_t *d = NULL;
  TSI_TRY_OUT(tsi_transport_create(env, comm, TSI_TRANSPORT_DIRECT, !ts->workers.allowed, mine, &transport));
  TSI_TRY_OUT(tsi_transport_agree(transport, TSI_ALLOC_ZERO(env, d, 1)));
  d->ts = ts;
  atomic_init(&d->references, 1);
  tsi_env_retain(env);
  d->transport = tsi_take(&transport);
  TSI_TRY_OUT(tsi_transport_agree(d->transport,
                                  TSI_ALLOC_ZERO_IN(d, d->start, tsi_transport_size(d->transport) + 1)));
out:
  if (d != NULL && d->transport == NULL) TSI_FREE(env, d);
  tsi_transport_destroy(&transport);
  *out = d;
  return status;
}

/* Local. */
static tristar_status need(tristar_t *ts, const void *argument, const char *name) {
  if (argument != NULL) return TRISTAR_OK;
  TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT, "%s is NULL", name);
}

/* Collective. Returns the new matrix, or destroys it after a failure. */
static tristar_status end(tristar_status status, double start, tristar_dmatrix_t *d,
                          tristar_dmatrix_t **matrix) {
  if (status != TRISTAR_OK) tristar_dmatrix_destroy(&d);
  if (d != NULL) d->stats.create_seconds = tsi_clock() - start - d->stats.start_seconds;
  if (matrix != NULL) *matrix = d;
  return status;
}

tristar_status tsi_dmatrix_create(tristar_t *ts, MPI_Comm comm, const tristar_view *rows,
                                  const tristar_dmatrix_options *options, bool narrow,
                                  tristar_dmatrix_t **matrix) {
  tristar_dmatrix_t *d = NULL;
  tristar_dmatrix_options full;
  const double start = tsi_clock();
  tristar_status status = need(ts, matrix, "matrix");
  if (status == TRISTAR_OK) status = TSI_OPTIONS(&ts->env, tristar_dmatrix_options, options, &full);
  status = tsi_dmatrix_begin(ts, comm, status, &d);
  if (status == TRISTAR_OK) {
    d->narrow = narrow;
    status = take_view(d, &full, rows, TRISTAR_OK);
  }
  return end(status, start, d, matrix);
}

tristar_status tristar_dmatrix_create(tristar_t *ts, MPI_Comm comm, const tristar_view *rows,
                                      const tristar_dmatrix_options *options, tristar_dmatrix_t **matrix) {
  if (matrix != NULL) *matrix = NULL;
  TSI_ENTER(ts, ts);
  return tsi_answer(&ts->env, tsi_dmatrix_create(ts, comm, rows, options, false, matrix));
}

/* Creates a matrix from a file or model problem `path`, or, if path is NULL, from the model problem `kind`,
 * k. status: of the arguments checked so far. */
static tristar_status create_from(tristar_t *ts, MPI_Comm comm, tristar_status status, const char *kind,
                                  int64_t k, const char *path, const tristar_dmatrix_options *options,
                                  tristar_dmatrix_t **matrix) {
  tristar_dmatrix_t *d = NULL;
  tristar_dmatrix_options full;
  const double start = tsi_clock();
  const bool file = path != NULL && strncmp(path, "gen:", 4) != 0;
  if (status == TRISTAR_OK) status = need(ts, matrix, "matrix");
  if (status == TRISTAR_OK) status = TSI_OPTIONS(&ts->env, tristar_dmatrix_options, options, &full);
  status = tsi_dmatrix_begin(ts, comm, status, &d);
  if (status == TRISTAR_OK) status = file ? take_file(d, &full, path) : take_model(d, &full, kind, k, path);
  return end(status, start, d, matrix);
}

tristar_status tristar_dmatrix_generate(tristar_t *ts, MPI_Comm comm, const char *kind, int64_t k,
                                        const tristar_dmatrix_options *options, tristar_dmatrix_t **matrix) {
  if (matrix != NULL) *matrix = NULL;
  TSI_ENTER(ts, ts);
  const tristar_status status = need(ts, kind, "kind");
  return tsi_answer(&ts->env, create_from(ts, comm, status, kind, k, NULL, options, matrix));
}

tristar_status tristar_dmatrix_read(tristar_t *ts, MPI_Comm comm, const char *path,
                                    const tristar_dmatrix_options *options, tristar_dmatrix_t **matrix) {
  if (matrix != NULL) *matrix = NULL;
  TSI_ENTER(ts, ts);
  const tristar_status status = need(ts, path, "path");
  return tsi_answer(&ts->env, create_from(ts, comm, status, NULL, 0, path, options, matrix));
}

tristar_dmatrix_t *tsi_dmatrix_share(tristar_dmatrix_t *d) {
  atomic_fetch_add(&d->references, 1);
  return d;
}

void tristar_dmatrix_destroy(tristar_dmatrix_t **matrix) {
  if (matrix == NULL || *matrix == NULL) return;
  tristar_dmatrix_t *d = *matrix;
  tsi_env *env = &d->ts->env;
  *matrix = NULL;
  if (tsi_env_abandon(env, d) || atomic_fetch_sub(&d->references, 1) > 1) return;
  tsi_dmatrix_dismiss_crew(d);
  tsi_dmatrix_release_whole(d);
  tsi_dmatrix_release_product(d);
  tsi_halo_destroy(&d->halo);
  tsi_halo_destroy(&d->origins);
  TSI_FREE(env, d->origin);
  TSI_FREE(env, d->team.all);
  tsi_transport_destroy(&d->transport);
  TSI_FREE(env, d);
  tsi_env_release(env);
}

/* ---- Statistics ---------------------------------------------------------------------------------------- */

static size_t matrix_bytes(const tristar_dmatrix_t *d) {
  const size_t entries = (size_t)d->stats.nnz, rows = (size_t)d->n;
  size_t bytes = 0;
  for (int f = 0; f < TSI_DFORMS; f++) {
    const tsi_dform *form = &d->form[f];
    if (!form->there) continue;
    bytes += tsi_dpiece_bytes(&form->diagonal) + tsi_halves_bytes(&form->stored);
    for (int o = 0; o < d->owners; o++) {
      bytes += tsi_dpiece_bytes(&form->block[o]);
      if (form->row != NULL) bytes += (size_t)form->block[o].n * sizeof **form->row;
    }
  }
  if (d->whole != NULL)
    bytes += (rows + 1) * sizeof *d->whole->ptr + entries * (2 * sizeof *d->column + d->bytes) +
             rows * sizeof *d->whole->column;
  return bytes;
}

tristar_status tristar_dmatrix_get_stats(const tristar_dmatrix_t *matrix, tristar_dmatrix_stats *stats) {
  if (stats != NULL) memset(stats, 0, sizeof *stats);
  if (matrix == NULL) return TSI_NULL(matrix);
  if (stats == NULL) return TSI_NULL(stats);
  *stats = matrix->stats;
  stats->matrix_bytes = matrix_bytes(matrix);
  return TRISTAR_OK;
}

tristar_view tsi_dmatrix_view(const tristar_dmatrix_t *d, int64_t cols) {
  return (tristar_view){.format = TRISTAR_CSR,
                        .symmetry = TRISTAR_GENERAL,
                        .scalar = d->scalar,
                        .rows = d->n,
                        .cols = cols,
                        .ptr_bits = 64,
                        .index_bits = 32};
}

tristar_status tristar_dmatrix_get_view(tristar_dmatrix_t *matrix, tristar_view *view) {
  tristar_status status = TRISTAR_OK;
  if (view != NULL) memset(view, 0, sizeof *view);
  TSI_ENTER(matrix, matrix->ts);
  if (view == NULL) TSI_FAIL_OUT(&matrix->ts->env, TRISTAR_ERR_ARGUMENT, "view is NULL");
  TSI_TRY_OUT(tsi_dmatrix_need_whole(matrix));
  *view = tsi_dmatrix_view(matrix, matrix->stats.n);
  view->ptr = matrix->whole->ptr;
  view->index = matrix->column;
  view->values = matrix->whole->values;
out:
  return tsi_answer(&matrix->ts->env, status);
}

tristar_status tristar_dmatrix_get_diagonal(const tristar_dmatrix_t *matrix, tristar_view *view) {
  if (view != NULL) memset(view, 0, sizeof *view);
  TSI_ENTER(matrix, matrix->ts);
  if (view == NULL) return TSI_NULL(view);
  const tsi_entries *diagonal = &matrix->form[TSI_DPLAIN].diagonal;
  *view = tsi_dmatrix_view(matrix, matrix->n);
  view->ptr = diagonal->ptr;
  view->index = diagonal->index;
  view->values = diagonal->item;
  return TRISTAR_OK;
}

/* ---- Y = alpha op(A) X + beta Y ------------------------------------------------------------------------ */

static void read_factor(tristar_scalar scalar, const void *from, double otherwise, double factor[2]) {
  const tristar_view one = {.scalar = scalar, .values = from};
  tsi_view_value(&one, 0, factor);
  if (from == NULL) factor[0] = otherwise;
}

static bool is_real(const double factor[2], double value) {
  return factor[0] == value && factor[1] == 0;
}

/* y = alpha p + beta y, for one column. Overwrites p. */
static void combine(const tristar_dmatrix_t *d, const double alpha[2], char *p, const double beta[2],
                    char *y) {
  for (tsi_index first = 0; first < d->n; first += TSI_BLOCK_ROWS) {
    const tsi_index rows = tsi_index_min(d->n - first, TSI_BLOCK_ROWS);
    const size_t at = (size_t)first * d->bytes, bytes = (size_t)rows * d->bytes;
    if (!is_real(alpha, 1)) {
      memcpy(d->part, p + at, bytes);
      memset(p + at, 0, bytes);
      d->kernels->axpy(rows, alpha, d->part, p + at);
    }
    if (is_real(beta, 0))
      memcpy(y + at, p + at, bytes);
    else
      d->kernels->xpay(rows, beta, p + at, y + at);
  }
}

/* All ranks call it; an error is returned on this rank only. */
static tristar_status multiply(tristar_dmatrix_t *d, tristar_op op, int64_t nrhs, const double alpha[2],
                               const char *x, int64_t ldx, const double beta[2], char *y, int64_t ldy) {
  tristar_status status = TRISTAR_OK;
  if (is_real(alpha, 1) && is_real(beta, 0)) return tsi_dmatrix_apply(d, op, nrhs, x, ldx, y, ldy);
  for (int64_t c = 0; c < nrhs; c += TSI_DCOLUMNS) {
    const int64_t columns = tsi_count_min(nrhs - c, TSI_DCOLUMNS);
    const tristar_status own =
        tsi_dmatrix_apply(d, op, columns, x + (size_t)(c * ldx) * d->bytes, ldx, d->product, d->n);
    if (status == TRISTAR_OK) status = own;
    for (int64_t k = 0; k < columns; k++)
      combine(d, alpha, d->product + (size_t)k * (size_t)d->n * d->bytes, beta,
              y + (size_t)((c + k) * ldy) * d->bytes);
  }
  return status;
}

tristar_status tristar_dmatrix_multiply(tristar_dmatrix_t *matrix, tristar_op op, int64_t nrhs,
                                        const void *alpha, const void *x, int64_t ldx, const void *beta,
                                        void *y, int64_t ldy) {
  tristar_status status = TRISTAR_OK;
  static const char *const name[] = {
      "op", "nrhs", "alpha, real part", "alpha, imaginary part", "beta, real part", "beta, imaginary part"};
  double factor[4];
  int64_t wish[6] = {op, nrhs};
  TSI_ENTER(matrix, matrix->ts);
  tsi_env *env = &matrix->ts->env;
  read_factor(matrix->scalar, alpha, 1, factor);
  read_factor(matrix->scalar, beta, 0, factor + 2);
  memcpy(wish + 2, factor, sizeof factor);
  tristar_status mine = tsi_check_op(env, op);
  if (mine == TRISTAR_OK) mine = tsi_check_columns(env, matrix->n, nrhs, x, ldx, y, ldy);
  TSI_TRY_OUT(tsi_transport_same(matrix->transport, mine, 6, name, wish, 0, NULL));
  TSI_TRY_OUT(tsi_dmatrix_need(matrix, op, nrhs, !is_real(factor, 1) || !is_real(factor + 2, 0)));
  if (matrix->n == 0) { /* x and y may be NULL */
    x = y = matrix->part;
    ldx = ldy = 0;
  }
  mine = multiply(matrix, op, nrhs, factor, x, ldx, factor + 2, y, ldy);
  TSI_TRY_OUT(tsi_transport_agree(matrix->transport, mine));
out:
  return tsi_answer(env, status);
}
