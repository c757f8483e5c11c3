/* Krylov methods on a matrix whose rows lie on all ranks, and these rows in one piece: see dmatrix.h. */
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/mpi/comm/mailbox.h"

/* ---- Rows in one piece --------------------------------------------------------------------------------- */

/* Local. */
static tristar_status allocate_whole(tristar_dmatrix_t *d) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  tsi_rows_matrix *m;
  const size_t entries = (size_t)d->stats.nnz, all = (size_t)d->n + (size_t)d->halo->ghosts;
  TSI_TRY(TSI_ALLOC_ZERO(env, d->whole, 1));
  m = d->whole;
  m->n = d->n;
  m->halo = d->halo;
  TSI_TRY(TSI_ALLOC(env, m->column, d->n));
  TSI_TRY(TSI_ALLOC_ZERO(env, m->ptr, (tsi_count)d->n + 1));
  TSI_TRY(TSI_ALLOC(env, m->index, entries));
  TSI_TRY(TSI_ALLOC(env, d->column, entries));
  TSI_TRY(tsi_allocate(env, entries, d->bytes, __func__, __FILE__, __LINE__, &m->values));
  TSI_TRY(tsi_allocate(env, all, 2 * sizeof(double), __func__, __FILE__, __LINE__, &m->vector));
out:
  return status;
}

/* A piece's lines: the rows that they are (NULL: all), where its columns are here and over the whole matrix.
 */
typedef struct piece {
  const tsi_entries *lines;
  const tsi_count *row;
  tsi_index local;
  const tsi_index *column;
} piece;

static piece diagonal_of(const tristar_dmatrix_t *d) {
  return (piece){&d->form[TSI_DPLAIN].diagonal, NULL, 0, d->whole->column};
}

static piece block_of(const tristar_dmatrix_t *d, int o) {
  const tsi_index first = d->owner[o].first;
  return (piece){&d->form[TSI_DPLAIN].block[o], d->form[TSI_DPLAIN].row[o], d->n + first,
                 d->ghost_column + first};
}

static tsi_count row_of(const piece *p, tsi_index line) {
  return p->row != NULL ? p->row[line] : line;
}

static void count_lines(const piece *p, tsi_count *ptr) {
  for (tsi_index l = 0; l < p->lines->n; l++)
    ptr[row_of(p, l) + 1] += p->lines->ptr[l + 1] - p->lines->ptr[l];
}

/* ptr[i]: where row i goes on. */
static void append_lines(const tristar_dmatrix_t *d, const piece *p) {
  const tsi_rows_matrix *m = d->whole;
  for (tsi_index l = 0; l < p->lines->n; l++) {
    const tsi_count begin = p->lines->ptr[l], count = p->lines->ptr[l + 1] - begin, at = m->ptr[row_of(p, l)];
    for (tsi_count e = 0; e < count; e++) {
      m->index[at + e] = p->local + p->lines->index[begin + e];
      d->column[at + e] = p->column[p->lines->index[begin + e]];
    }
    memcpy((char *)m->values + (size_t)at * d->bytes, (const char *)p->lines->item + (size_t)begin * d->bytes,
           (size_t)count * d->bytes);
    m->ptr[row_of(p, l)] += count;
  }
}

/* Owners before this rank have the columns before its own. */
static void fill_whole(tristar_dmatrix_t *d) {
  tsi_rows_matrix *m = d->whole;
  const piece diagonal = diagonal_of(d);
  const int rank = tsi_transport_rank(d->transport);
  for (tsi_index i = 0; i < d->n; i++) m->column[i] = (tsi_index)tsi_dmatrix_first(d) + i;
  count_lines(&diagonal, m->ptr);
  for (int o = 0; o < d->owners; o++) {
    const piece block = block_of(d, o);
    count_lines(&block, m->ptr);
  }
  for (tsi_index i = 0; i < d->n; i++) m->ptr[i + 1] += m->ptr[i];
  for (int o = 0, done = 0; o <= d->owners; o++) {
    if (!done && (o == d->owners || d->owner[o].rank > rank)) {
      append_lines(d, &diagonal);
      done = 1;
    }
    if (o == d->owners) break;
    const piece block = block_of(d, o);
    append_lines(d, &block);
  }
  memmove(m->ptr + 1, m->ptr, (size_t)d->n * sizeof *m->ptr);
  m->ptr[0] = 0;
}

tristar_status tsi_dmatrix_need_whole(tristar_dmatrix_t *d) {
  if (d->whole != NULL) return TRISTAR_OK;
  const tristar_status status = allocate_whole(d);
  if (status != TRISTAR_OK)
    tsi_dmatrix_release_whole(d);
  else
    fill_whole(d);
  return status;
}

void tsi_dmatrix_release_whole(tristar_dmatrix_t *d) {
  if (d->whole != NULL) d->whole->halo = NULL; /* the matrix has it */
  tsi_rows_matrix_destroy(&d->ts->env, &d->whole);
  TSI_FREE(&d->ts->env, d->column);
}

/* ---- Solvers ------------------------------------------------------------------------------------------- */

/* What a product needs is gone where a rank failed to make more of it. */
static tristar_status multiply(void *arg, const void *x, void *y) {
  tristar_status status = TRISTAR_OK;
  tristar_dmatrix_t *d = arg;
  TSI_TRY(tsi_dmatrix_need(d, TRISTAR_N, 1, false));
  TSI_TRY(tsi_dmatrix_apply(d, TRISTAR_N, 1, x, d->n, y, d->n));
out:
  return status;
}

static tristar_status multiply_blocks(void *arg, const void *x, void *y, tsi_crew_function done,
                                      void *context) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_dmatrix_need(arg, TRISTAR_N, 1, false));
  TSI_TRY(tsi_dmatrix_apply_blocks(arg, x, y, done, context));
out:
  return status;
}

static tristar_status multiply_columns(void *arg, int count, const void *x, void *y, int64_t ld) {
  tristar_status status = TRISTAR_OK;
  tristar_dmatrix_t *d = arg;
  TSI_TRY(tsi_dmatrix_need(d, TRISTAR_N, count, false));
  TSI_TRY(tsi_dmatrix_apply(d, TRISTAR_N, count, x, ld, y, ld));
out:
  return status;
}

static tristar_status take(void *context, size_t bytes, const void *x, const void **all) {
  const tristar_dmatrix_t *d = context;
  return tsi_rows_matrix_take(&d->ts->env, d->whole, bytes, x, all);
}

static void *room(void *context, size_t bytes) {
  return tsi_rows_matrix_room(((const tristar_dmatrix_t *)context)->whole, bytes);
}

static tristar_status give(void *context, size_t bytes, void *y, tsi_add_at *add) {
  const tristar_dmatrix_t *d = context;
  return tsi_rows_matrix_give(&d->ts->env, d->whole, bytes, y, add);
}

static tristar_status get_system(void *arg, const tsi_system **system) {
  static const tsi_system_functions functions = {.take = take, .room = room, .give = give};
  tristar_status status = TRISTAR_OK;
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
out:
  return status;
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

tristar_status tristar_dmatrix_krylov(tristar_dmatrix_t *matrix, const tristar_krylov_options *options,
                                      tristar_krylov_t **krylov) {
  tristar_status status = TRISTAR_OK;
  if (krylov != NULL) *krylov = NULL;
  TSI_ENTER(matrix, matrix->ts);
  tsi_env *env = &matrix->ts->env;
  const tsi_krylov_operator operator= {.n = matrix->n,
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
                                       .get_system = get_system};
  if (krylov == NULL)
    status = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "krylov is NULL");
  TSI_TRY(tsi_transport_agree(matrix->transport, status));
  status = tsi_krylov_create(matrix->ts, &operator, options, krylov);
out:
  return tsi_answer(env, status);
}
