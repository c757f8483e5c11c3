/* Krylov methods on distributed matrices: see tristar_dmatrix_mpi.h. */
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/matrix/dmatrix.h"

/* tsi_dmatrix_need: the data of products are released if some rank failed to create more of them. */
static tristar_status multiply(void *arg, const void *x, void *y) {
  tristar_dmatrix_t *d = arg;
  TSI_TRY(tsi_dmatrix_need(d, TRISTAR_N, 1, false));
  return tsi_dmatrix_apply(d, TRISTAR_N, 1, x, d->n, y, d->n);
}

static tristar_status multiply_blocks(void *arg, const void *x, void *y, tsi_crew_function done,
                                      void *context) {
  TSI_TRY(tsi_dmatrix_need(arg, TRISTAR_N, 1, false));
  return tsi_dmatrix_apply_blocks(arg, x, y, done, context);
}

static tristar_status multiply_columns(void *arg, int count, const void *x, void *y, int64_t ld) {
  tristar_dmatrix_t *d = arg;
  TSI_TRY(tsi_dmatrix_need(d, TRISTAR_N, count, false));
  return tsi_dmatrix_apply(d, TRISTAR_N, count, x, ld, y, ld);
}

static tristar_status take(void *context, size_t bytes, const void *x, const void **all) {
  const tristar_dmatrix_t *d = context;
  return tsi_rows_matrix_take(&d->ts->env, d->whole, bytes, x, all);
}

static void *space(void *context, size_t bytes) {
  return tsi_rows_matrix_space(((const tristar_dmatrix_t *)context)->whole, bytes);
}

static tristar_status give(void *context, size_t bytes, void *y, tsi_add_at *add) {
  const tristar_dmatrix_t *d = context;
  return tsi_rows_matrix_give(&d->ts->env, d->whole, bytes, y, add);
}

static tristar_status get_system(void *arg, const tsi_system **system) {
  static const tsi_system_functions functions = {.take = take, .space = space, .give = give};
  tristar_dmatrix_t *d = arg;
  TSI_TRY(tsi_transport_agree(d->transport, tsi_dmatrix_need_whole(d)));
  d->team.number = d->whole->column;
  d->system = (tsi_system){.env = &d->ts->env,
                           .kernels = d->sparse,
                           .n = d->n,
                           .a = tsi_rows_matrix_sparse(d->whole),
                           .team = &d->team,
                           .functions = &functions,
                           .context = d};
  *system = &d->system;
  return TRISTAR_OK;
}

static double square_of(const tristar_dmatrix_t *d, const tsi_entries *e) {
  return tsi_sum_of_squares(d->kernels, d->bytes, e->n > 0 ? e->ptr[e->n] : 0, e->item);
}

static double square(void *arg) {
  tristar_dmatrix_t *d = arg;
  const tsi_dform *plain = &d->form[TSI_DPLAIN];
  if (d->square > 0) return d->square;
  d->square = square_of(d, &plain->diagonal);
  for (int o = 0; o < d->owners; o++) d->square += square_of(d, &plain->block[o]);
  return d->square;
}

static void share(void *arg) {
  (void)tsi_dmatrix_share(arg);
}

static void release(void *arg) {
  tristar_dmatrix_t *d = arg;
  tristar_dmatrix_destroy(&d);
}

static size_t product_bytes(const void *arg) {
  return tsi_dmatrix_product_bytes(arg);
}

/* On this rank. A GENERAL matrix counts as unsymmetric. */
static bool suits_cg(const tristar_dmatrix_t *d) {
  const tristar_symmetry symmetry = d->stats.symmetry;
  const tsi_entries *diagonal = &d->form[TSI_DPLAIN].diagonal;
  return (symmetry == TRISTAR_HERMITIAN || (symmetry == TRISTAR_SYMMETRIC && !d->sparse->is_complex)) &&
         tsi_diagonal_is_positive(d->scalar, d->n, diagonal->ptr, diagonal->index, diagonal->item);
}

tristar_status tristar_dmatrix_krylov(tristar_dmatrix_t *matrix, const tristar_krylov_options *options,
                                      tristar_krylov_t **krylov) {
  tristar_status status = TRISTAR_OK;
  if (krylov != NULL) *krylov = NULL;
  TSI_ENTER(matrix, matrix->ts);
  tsi_env *env = &matrix->ts->env;
  tsi_krylov_operator operator= {.n = matrix->n,
                                 .first = tsi_dmatrix_first(matrix),
                                 .nnz = matrix->stats.nnz,
                                 .bytes = product_bytes,
                                 .scalar = matrix->scalar,
                                 .function = multiply,
                                 .columns = multiply_columns,
                                 .blocks = multiply_blocks,
                                 .arg = matrix,
                                 .share = share,
                                 .release = release,
                                 .team = &matrix->team,
                                 .get_system = get_system,
                                 .square = square};
  if (krylov == NULL)
    status = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "krylov is NULL");
  TSI_TRY_OUT(tsi_transport_agree(matrix->transport, status));
  operator.suits_cg = !tsi_team_any(&matrix->team, !suits_cg(matrix));
  status = tsi_krylov_create(matrix->ts, &operator, options, krylov);
out:
  return tsi_answer(env, status);
}
