/* tristar_dmatrix_schur: the Schur complement of unknowns S of a matrix whose rows all ranks have.
 *
 *   [ 0          ]     [ A_II  A_IS ] [ X  ]
 *   [ complement ] = - [ A_SI  A_SS ] [ -1 ],   A_II X = A_IS,
 *
 * with a distributed factor of A_II, some columns of S at a time. The product has the rows of S where they
 * are, and they are sent to rank 0.
 *
 * Reads   the rows of all ranks.   Writes  the complement on rank 0.
 * Invariant: no rank has more of A_II, of its factor and of vectors than for solves with it; each has the
 * number of each row, while the call lasts. */
#include "runtime/base/scalars.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/factor/dmatrix_factor.h"

enum { COLUMNS_MOST = 32 }; /* of S at a time */

typedef struct complement {
  tristar_dmatrix_t *matrix;
  tristar_distributed_t *factor; /* of A_II */
  tsi_index count;               /* of S */
  tsi_index *place;              /* by row of the matrix: its number in I, or ~ its number in S */
  tsi_index inner, own;          /* rows of I, of S here */
  tsi_index *number;             /* own: numbers in S */
  int64_t *first;                /* ranks + 1: where the rows of S of each rank begin, on rank 0 */
  tsi_index *number_all;         /* rank 0: numbers in S, rank after rank */
  char *x;                       /* inner x columns: b, then x */
  char *vector, *product;        /* rows here x columns */
  char *rows, *rows_all;         /* own x columns, by rows; on rank 0 all of them */
} complement;

static void release(complement *c) {
  tristar_distributed_destroy(&c->factor);
  tsi_release(c->place);
  tsi_release(c->number);
  tsi_release(c->first);
  tsi_release(c->number_all);
  tsi_release(c->x);
  tsi_release(c->vector);
  tsi_release(c->product);
  tsi_release(c->rows);
  tsi_release(c->rows_all);
}

/* ---- S and I ------------------------------------------------------------------------------------------- */

/* Rank 0. */
static tristar_status check_unknowns(const complement *c, int64_t count, const int64_t *unknowns,
                                     const void *s, int64_t lds) {
  tsi_env *env = &c->matrix->ts->env;
  const int64_t n = c->matrix->stats.n;
  if (unknowns == NULL || s == NULL || lds < count)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknowns or s is NULL, or lds is %lld, below count, %lld",
             (long long)lds, (long long)count);
  TSI_SCRATCH_ZERO(env, bool, seen, n);
  for (int64_t k = 0; k < count; k++) {
    if (unknowns[k] < 0 || unknowns[k] >= n || seen[unknowns[k]])
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknowns[%lld] is %lld, listed twice or outside 0 .. %lld",
               (long long)k, (long long)unknowns[k], (long long)n - 1);
    seen[unknowns[k]] = true;
  }
  return TRISTAR_OK;
}

/* Collective. Which rows are of S. */
static tristar_status take_unknowns(complement *c, int64_t count, const int64_t *unknowns, const void *s,
                                    int64_t lds) {
  static const char *const name[] = {"the number of unknowns"};
  tsi_transport *transport = c->matrix->transport;
  tsi_env *env = &c->matrix->ts->env;
  const int64_t n = c->matrix->stats.n;
  tristar_status mine = TRISTAR_OK;
  TSI_OWNED int64_t *list = NULL;
  if (count < 1 || count >= n)
    mine = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__,
                    "count is %lld, and the matrix has %lld rows: at least one row must be eliminated",
                    (long long)count, (long long)n);
  if (mine == TRISTAR_OK && tsi_transport_rank(transport) == 0)
    mine = check_unknowns(c, count, unknowns, s, lds);
  TSI_TRY(tsi_transport_same(transport, mine, 1, name, &count, 0, NULL));
  mine = TSI_ALLOC(env, list, count);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_ZERO(env, c->place, n);
  TSI_TRY(tsi_transport_agree(transport, mine));
  if (tsi_transport_rank(transport) == 0) memcpy(list, unknowns, (size_t)count * sizeof *list);
  TSI_TRY(tsi_broadcast_bytes(env, tsi_transport_comm(transport), list, (size_t)count * sizeof *list));
  c->count = (tsi_index)count;
  for (int64_t k = 0; k < count; k++) c->place[list[k]] = ~(tsi_index)k;
  tsi_index inner = 0;
  for (int64_t i = 0; i < n; i++)
    if (c->place[i] >= 0) c->place[i] = inner++;
  const tsi_index *own = c->place + tsi_dmatrix_first(c->matrix);
  for (tsi_index i = 0; i < c->matrix->n; i++) c->own += own[i] < 0;
  c->inner = c->matrix->n - c->own;
  return TRISTAR_OK;
}

/* ---- The factor of A_II -------------------------------------------------------------------------------- */

/* The rows of I here, whose entries in S are left out; of a symmetric kind the lower triangle. */
typedef struct inner_rows {
  int64_t *ptr;
  tsi_index *index;
  char *values;
} inner_rows;

static void release_rows(inner_rows *r) {
  tsi_release(r->ptr);
  tsi_release(r->index);
  tsi_release(r->values);
}

/* Local. */
static tristar_status list_rows(const complement *c, inner_rows *r) {
  const tristar_dmatrix_t *m = c->matrix;
  tsi_env *env = &m->ts->env;
  const tsi_rows_matrix *whole = m->whole;
  const tsi_index *own = c->place + tsi_dmatrix_first(m);
  const bool half = m->stats.symmetry != TRISTAR_GENERAL;
  int64_t *next;
  TSI_TRY(TSI_ALLOC(env, r->ptr, (tsi_count)c->inner + 1));
  TSI_TRY(TSI_ALLOC(env, r->index, whole->ptr[m->n]));
  TSI_TRY(TSI_ALLOC_SIZED(env, r->values, whole->ptr[m->n], m->bytes));
  next = r->ptr;
  *next = 0;
  for (tsi_index i = 0; i < m->n; i++) {
    if (own[i] < 0) continue;
    next[1] = next[0];
    for (tsi_count e = whole->ptr[i]; e < whole->ptr[i + 1]; e++) {
      const tsi_index column = c->place[m->column[e]];
      if (column < 0 || (half && column > own[i])) continue;
      r->index[next[1]] = column;
      memcpy(r->values + (size_t)next[1]++ * m->bytes, (const char *)whole->values + (size_t)e * m->bytes,
             m->bytes);
    }
    next++;
  }
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status factor(complement *c, const tristar_analysis_options *analysis,
                             const tristar_distributed_options *options) {
  const tristar_dmatrix_t *m = c->matrix;
  TSI_CLEANUP(release_rows) inner_rows rows = {.ptr = NULL};
  TSI_CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *inner = NULL;
  tristar_dmatrix_options plain;
  tristar_view view = tsi_dmatrix_view(m, m->stats.n - c->count);
  TSI_TRY(tsi_transport_agree(m->transport, list_rows(c, &rows)));
  tristar_dmatrix_options_init(&plain);
  plain.engine = TRISTAR_ENGINE_SERIAL; /* there are no products */
  view.symmetry = m->stats.symmetry;
  view.rows = c->inner;
  view.ptr = rows.ptr;
  view.index = rows.index;
  view.values = rows.values;
  TSI_TRY(tristar_dmatrix_create(m->ts, tsi_transport_comm(m->transport), &view, &plain, &inner));
  release_rows(&rows);
  rows = (inner_rows){.ptr = NULL};
  return tristar_dmatrix_factor(inner, analysis, options, &c->factor);
}

/* ---- Columns of S -------------------------------------------------------------------------------------- */

/* Collective. Room for vectors, and who has which rows of S. */
static tristar_status prepare(complement *c) {
  const tristar_dmatrix_t *m = c->matrix;
  tsi_env *env = &m->ts->env;
  MPI_Comm comm = tsi_transport_comm(m->transport);
  const bool root = tsi_transport_rank(m->transport) == 0;
  const int ranks = tsi_transport_size(m->transport);
  const tsi_index *own = c->place + tsi_dmatrix_first(m);
  const size_t column = (size_t)tsi_index_min(COLUMNS_MOST, c->count) * m->bytes;
  tristar_status mine = TSI_ALLOC_SIZED(env, c->x, c->inner, column);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_SIZED(env, c->vector, m->n, column);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_SIZED(env, c->product, m->n, column);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_SIZED(env, c->rows, c->own, column);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC(env, c->number, c->own);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_ZERO(env, c->first, ranks + 1);
  if (mine == TRISTAR_OK && root) mine = TSI_ALLOC_SIZED(env, c->rows_all, c->count, column);
  if (mine == TRISTAR_OK && root) mine = TSI_ALLOC(env, c->number_all, c->count);
  TSI_TRY(tsi_transport_agree(m->transport, mine));
  tsi_index at = 0;
  for (tsi_index i = 0; i < m->n; i++)
    if (own[i] < 0) c->number[at++] = ~own[i];
  TSI_TRY(tsi_gather_first(env, comm, c->own, c->first));
  const tristar_status moved =
      tsi_move_blocks(env, comm, c->first, sizeof *c->number, true, c->number_all, c->own, c->number);
  return tsi_transport_agree(m->transport, moved);
}

/* Local. Columns begin .. begin + columns - 1 of A_IS. */
static void fill_columns(const complement *c, tsi_index begin, tsi_index columns) {
  const tristar_dmatrix_t *m = c->matrix;
  const tsi_rows_matrix *whole = m->whole;
  const tsi_index *own = c->place + tsi_dmatrix_first(m);
  const size_t bytes = m->bytes;
  size_t row = 0;
  memset(c->x, 0, (size_t)c->inner * (size_t)columns * bytes);
  for (tsi_index i = 0; i < m->n; i++) {
    if (own[i] < 0) continue;
    for (tsi_count e = whole->ptr[i]; e < whole->ptr[i + 1]; e++) {
      const tsi_index k = ~c->place[m->column[e]] - begin;
      if (k >= 0 && k < columns)
        memcpy(c->x + ((size_t)k * (size_t)c->inner + row) * bytes,
               (const char *)whole->values + (size_t)e * bytes, bytes);
    }
    row++;
  }
}

/* Local. [X; -1] from X. */
static void fill_vectors(const complement *c, tsi_index begin, tsi_index columns) {
  static const double minus_one[2] = {-1, 0}, zero[2] = {0, 0};
  const tristar_dmatrix_t *m = c->matrix;
  const tsi_index *own = c->place + tsi_dmatrix_first(m);
  const char *from = c->x;
  for (tsi_index k = 0; k < columns; k++)
    for (tsi_index i = 0; i < m->n; i++) {
      const size_t at = (size_t)k * (size_t)m->n + (size_t)i;
      if (own[i] < 0)
        tsi_scalar_write((char)m->scalar, c->vector, at, ~own[i] == begin + k ? minus_one : zero);
      else {
        memcpy(c->vector + at * m->bytes, from, m->bytes);
        from += m->bytes;
      }
    }
}

/* Collective. The rows of S of the product, to rank 0 and there to s. */
static tristar_status gather_rows(const complement *c, tsi_index begin, tsi_index columns, char *s,
                                  int64_t lds) {
  const tristar_dmatrix_t *m = c->matrix;
  const tsi_index *own = c->place + tsi_dmatrix_first(m);
  const size_t bytes = m->bytes, row_bytes = (size_t)columns * bytes;
  char *to = c->rows;
  for (tsi_index i = 0; i < m->n; i++)
    for (tsi_index k = 0; own[i] < 0 && k < columns; k++, to += bytes)
      memcpy(to, c->product + ((size_t)k * (size_t)m->n + (size_t)i) * bytes, bytes);
  const tristar_status moved = tsi_move_blocks(&m->ts->env, tsi_transport_comm(m->transport), c->first,
                                               row_bytes, true, c->rows_all, c->own, c->rows);
  TSI_TRY(tsi_transport_agree(m->transport, moved));
  if (tsi_transport_rank(m->transport) > 0) return TRISTAR_OK;
  for (tsi_index r = 0; r < c->count; r++)
    for (tsi_index k = 0; k < columns; k++)
      memcpy(s + ((size_t)(begin + k) * (size_t)lds + (size_t)c->number_all[r]) * bytes,
             c->rows_all + (size_t)r * row_bytes + (size_t)k * bytes, bytes);
  return TRISTAR_OK;
}

/* Rank 0. Of a symmetric kind the upper triangle mirrors the lower one. Of a Hermitian matrix the diagonal is
 * real, of a skew-symmetric one it is zero: rounding errors are not. */
static void mirror(const complement *c, char *s, int64_t lds) {
  const tristar_dmatrix_t *m = c->matrix;
  const tristar_symmetry symmetry = m->stats.symmetry;
  for (int64_t j = 0; j < c->count && symmetry != TRISTAR_GENERAL; j++) {
    const size_t diagonal = (size_t)(j * lds + j);
    double part[2];
    for (int64_t i = 0; i < j; i++) {
      const tsi_count from = ~(tsi_count)(i * lds + j);
      m->sparse->gather(1, &from, symmetry, s, s + (size_t)(j * lds + i) * m->bytes);
    }
    tsi_scalar_read((char)m->scalar, s, diagonal, part);
    if (symmetry == TRISTAR_SKEW_SYMMETRIC) part[0] = part[1] = 0;
    if (symmetry == TRISTAR_HERMITIAN) part[1] = 0;
    tsi_scalar_write((char)m->scalar, s, diagonal, part);
  }
}

/* Collective. */
static tristar_status compute(complement *c, char *s, int64_t lds) {
  static const double minus_one[2] = {-1, 0};
  tristar_dmatrix_t *m = c->matrix;
  const tsi_index ld = tsi_index_max(c->inner, 1), ld_all = tsi_index_max(m->n, 1);
  double alpha[2];
  tsi_scalar_write((char)m->scalar, alpha, 0, minus_one);
  TSI_TRY(prepare(c));
  for (tsi_index begin = 0, columns; begin < c->count; begin += columns) {
    columns = tsi_index_min(COLUMNS_MOST, c->count - begin);
    fill_columns(c, begin, columns);
    TSI_TRY(tristar_distributed_solve(c->factor, TRISTAR_N, columns, c->x, ld, c->x, ld));
    fill_vectors(c, begin, columns);
    TSI_TRY(
        tristar_dmatrix_multiply(m, TRISTAR_N, columns, alpha, c->vector, ld_all, NULL, c->product, ld_all));
    TSI_TRY(gather_rows(c, begin, columns, s, lds));
  }
  if (tsi_transport_rank(m->transport) == 0) mirror(c, s, lds);
  return TRISTAR_OK;
}

tristar_status tristar_dmatrix_schur(tristar_dmatrix_t *matrix, int64_t count, const int64_t *unknowns,
                                     const tristar_analysis_options *analysis,
                                     const tristar_distributed_options *options, void *s, int64_t lds) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(matrix, matrix->ts);
  TSI_CLEANUP(release) complement c = {.matrix = matrix};
  const bool lean = matrix->whole == NULL;
  TSI_TRY_OUT(take_unknowns(&c, count, unknowns, s, lds));
  TSI_TRY_OUT(tsi_transport_agree(matrix->transport, tsi_dmatrix_need_whole(matrix)));
  TSI_TRY_OUT(factor(&c, analysis, options));
  TSI_TRY_OUT(compute(&c, s, lds));
out:
  if (lean) tsi_dmatrix_release_whole(matrix);
  return tsi_answer(&matrix->ts->env, status);
}
