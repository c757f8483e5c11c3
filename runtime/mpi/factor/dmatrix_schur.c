/* The Schur complement of unknowns S of a distributed matrix, and solves with it.
 *
 *   [ 0          ]     [ A_II  A_IS ] [ X  ]
 *   [ complement ] = - [ A_SI  A_SS ] [ -1 ],   A_II X = A_IS,
 *
 * with a distributed factor of A_II, for some columns of S at a time. The product has the rows of S on their
 * owners, which send them to rank 0. Condensing and expanding solve with A_II once each:
 *
 *   g = b_S - op(A)_SI z,   op(A)_II z = b_I;   op(A)_II x_I = b_I - op(A)_IS x_S.
 *
 * Reads   the rows of all ranks, vectors of all ranks.
 * Writes  the complement and g on rank 0, x on all ranks.
 * Invariants: no rank stores more of A_II, its factor and vectors than for solves with it; each rank stores
 * the number of each row. The factor is a factor of the matrix with the same generation. */
#include "runtime/base/scalars.h"
#include "runtime/iterate/refine/judge.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/factor/dmatrix_factor.h"
#include "runtime/solve/request.h"

enum { COLUMNS_MOST = 32 }; /* columns of S, or right-hand sides, at a time */

struct tristar_dmatrix_schur_s {
  tristar_t *ts;
  tristar_dmatrix_t *matrix;     /* a reference */
  int64_t generation;            /* generation of the factored values; -1: none are factored */
  tristar_distributed_t *factor; /* of A_II */
  tsi_index count;               /* unknowns in S */
  tsi_index *place;              /* by row of the matrix: its number in I, or ~ its number in S */
  tsi_index inner, own;          /* this rank's rows of I, of S */
  tsi_index *number;             /* own: numbers in S */
  int64_t *first;                /* ranks + 1, on rank 0: first row of S of each rank in number_all */
  tsi_index *number_all;         /* rank 0: numbers in S, rank after rank */
};
typedef struct tristar_dmatrix_schur_s complement;

/* Buffers for some columns. */
typedef struct work {
  const complement *complement;
  char *x;                /* inner x columns: b, then x */
  char *vector, *product; /* n of this rank x columns */
  char *rows, *rows_all;  /* own x columns, by rows; on rank 0 those of all ranks */
  char *given_s;          /* count x columns; NULL except for expanding */
} work;

static void finish(work *w) {
  tsi_release(tsi_take(&w->x));
  tsi_release(tsi_take(&w->vector));
  tsi_release(tsi_take(&w->product));
  tsi_release(tsi_take(&w->rows));
  tsi_release(tsi_take(&w->rows_all));
  tsi_release(tsi_take(&w->given_s));
}

/* ---- S and I ------------------------------------------------------------------------------------------- */

/* Rank 0. */
static tristar_status check_s(const complement *c, int64_t count, const void *s, int64_t lds) {
  if (s == NULL || lds < count)
    TSI_FAIL(&c->ts->env, TRISTAR_ERR_ARGUMENT, "s is NULL, or lds is %lld, below count, %lld",
             (long long)lds, (long long)count);
  return TRISTAR_OK;
}

/* Rank 0. */
static tristar_status check_unknowns(const complement *c, int64_t count, const int64_t *unknowns) {
  tsi_env *env = &c->ts->env;
  const int64_t n = c->matrix->stats.n;
  if (unknowns == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknowns is NULL");
  TSI_SCRATCH_ZERO(env, bool, seen, n);
  for (int64_t k = 0; k < count; k++) {
    if (unknowns[k] < 0 || unknowns[k] >= n || seen[unknowns[k]])
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknowns[%lld] is %lld, listed twice or outside 0 .. %lld",
               (long long)k, (long long)unknowns[k], (long long)n - 1);
    seen[unknowns[k]] = true;
  }
  return TRISTAR_OK;
}

/* Collective. Marks the rows of S. mine: an earlier failure of this rank. */
static tristar_status take_unknowns(complement *c, tristar_status mine, int64_t count,
                                    const int64_t *unknowns) {
  static const char *const name[] = {"the number of unknowns"};
  tsi_transport *transport = c->matrix->transport;
  tsi_env *env = &c->matrix->ts->env;
  const int64_t n = c->matrix->stats.n;
  TSI_OWNED int64_t *list = NULL;
  if (mine == TRISTAR_OK && (count < 1 || count >= n))
    mine = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__,
                    "count is %lld, and the matrix has %lld rows: at least one row must be eliminated",
                    (long long)count, (long long)n);
  if (mine == TRISTAR_OK && tsi_transport_rank(transport) == 0) mine = check_unknowns(c, count, unknowns);
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

/* This rank's rows of I without the columns of S; if the matrix has a symmetric kind, the lower triangle. */
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

/* Collective. Creates A_II as a matrix of its own. */
static tristar_status make_inner(const complement *c, tristar_dmatrix_t **inner) {
  const tristar_dmatrix_t *m = c->matrix;
  TSI_CLEANUP(release_rows) inner_rows rows = {.ptr = NULL};
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
  return tristar_dmatrix_create(m->ts, tsi_transport_comm(m->transport), &view, &plain, inner);
}

/* Collective, after tsi_dmatrix_need_whole. */
static tristar_status factor(complement *c, const tristar_analysis_options *analysis,
                             const tristar_distributed_options *options) {
  TSI_CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *inner = NULL;
  c->generation = -1;
  TSI_TRY(make_inner(c, &inner));
  if (c->factor == NULL)
    TSI_TRY(tristar_dmatrix_factor(inner, analysis, options, &c->factor));
  else
    TSI_TRY(tristar_dmatrix_refactor(inner, c->factor));
  c->factor->options.refine = TRISTAR_REFINE_AUTO; /* otherwise the complement may have no correct digit */
  c->generation = c->matrix->generation;
  return TRISTAR_OK;
}

/* Collective. Finds the owners of the rows of S. */
static tristar_status find_owners(complement *c) {
  const tristar_dmatrix_t *m = c->matrix;
  tsi_env *env = &m->ts->env;
  MPI_Comm comm = tsi_transport_comm(m->transport);
  const bool root = tsi_transport_rank(m->transport) == 0;
  const int ranks = tsi_transport_size(m->transport);
  const tsi_index *own = c->place + tsi_dmatrix_first(m);
  tristar_status mine = TSI_ALLOC(env, c->number, c->own);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_ZERO(env, c->first, ranks + 1);
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

/* ---- Vectors ------------------------------------------------------------------------------------------- */

/* Collective. Allocates buffers for `columns` columns, but at most COLUMNS_MOST. */
static tristar_status prepare(const complement *c, int64_t columns, bool expands, work *w) {
  const tristar_dmatrix_t *m = c->matrix;
  tsi_env *env = &m->ts->env;
  const size_t column = (size_t)tsi_count_min(COLUMNS_MOST, columns) * m->bytes;
  w->complement = c;
  tristar_status mine = TSI_ALLOC_SIZED(env, w->x, c->inner, column);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_SIZED(env, w->vector, m->n, column);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_SIZED(env, w->product, m->n, column);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_SIZED(env, w->rows, c->own, column);
  if (mine == TRISTAR_OK && tsi_transport_rank(m->transport) == 0)
    mine = TSI_ALLOC_SIZED(env, w->rows_all, c->count, column);
  if (mine == TRISTAR_OK && expands) mine = TSI_ALLOC_SIZED(env, w->given_s, c->count, column);
  return tsi_transport_agree(m->transport, mine);
}

static const tsi_index *places_here(const complement *c) {
  return c->place + tsi_dmatrix_first(c->matrix);
}

/* Local. Copies the rows of I of w->vector or w->product to w->x, or back. */
static void move_inner(const complement *c, const work *w, tsi_index columns, char *vectors, bool back) {
  const size_t bytes = c->matrix->bytes;
  const tsi_index *own = places_here(c);
  char *x = w->x;
  for (tsi_index k = 0; k < columns; k++)
    for (tsi_index i = 0; i < c->matrix->n; i++, vectors += bytes) {
      if (own[i] < 0) continue;
      memcpy(back ? vectors : x, back ? x : vectors, bytes);
      x += bytes;
    }
}

static void copy_columns(const complement *c, tsi_index columns, const void *from, int64_t ld_from, char *to,
                         int64_t ld_to) {
  const size_t bytes = c->matrix->bytes;
  for (int64_t k = 0; k < columns; k++)
    memcpy(to + (size_t)(k * ld_to) * bytes, (const char *)from + (size_t)(k * ld_from) * bytes,
           (size_t)c->matrix->n * bytes);
}

/* Local. Copies w->given_s to the rows of S of w->vector. */
static void put_given(const complement *c, const work *w, tsi_index columns) {
  const size_t bytes = c->matrix->bytes;
  const tsi_index *own = places_here(c);
  char *to = w->vector;
  for (tsi_index k = 0; k < columns; k++)
    for (tsi_index i = 0; i < c->matrix->n; i++, to += bytes)
      if (own[i] < 0)
        memcpy(to, w->given_s + ((size_t)k * (size_t)c->count + (size_t)~own[i]) * bytes, bytes);
}

/* Collective. w->x = op(A)_II^-1 w->x. */
static tristar_status solve_inner(const complement *c, const work *w, tristar_op op, tsi_index columns) {
  const tsi_index ld = tsi_index_max(c->inner, 1);
  return tristar_distributed_solve(c->factor, op, columns, w->x, ld, w->x, ld);
}

/* Collective. w->product = w->product - op(A) w->vector; fresh: = - op(A) w->vector. */
static tristar_status subtract_product(const complement *c, const work *w, tristar_op op, tsi_index columns,
                                       bool fresh) {
  static const double minus_one[2] = {-1, 0}, one[2] = {1, 0};
  tristar_dmatrix_t *m = c->matrix;
  const tsi_index ld = tsi_index_max(m->n, 1);
  double alpha[2], beta[2];
  tsi_scalar_write((char)m->scalar, alpha, 0, minus_one);
  tsi_scalar_write((char)m->scalar, beta, 0, one);
  return tristar_dmatrix_multiply(m, op, columns, alpha, w->vector, ld, fresh ? NULL : beta, w->product, ld);
}

/* ---- Columns of S -------------------------------------------------------------------------------------- */

/* Local. Sets w->x to columns begin .. begin + columns - 1 of A_IS. */
static void fill_columns(const complement *c, const work *w, tsi_index begin, tsi_index columns) {
  const tristar_dmatrix_t *m = c->matrix;
  const tsi_rows_matrix *whole = m->whole;
  const tsi_index *own = c->place + tsi_dmatrix_first(m);
  const size_t bytes = m->bytes;
  size_t row = 0;
  memset(w->x, 0, (size_t)c->inner * (size_t)columns * bytes);
  for (tsi_index i = 0; i < m->n; i++) {
    if (own[i] < 0) continue;
    for (tsi_count e = whole->ptr[i]; e < whole->ptr[i + 1]; e++) {
      const tsi_index k = ~c->place[m->column[e]] - begin;
      if (k >= 0 && k < columns)
        memcpy(w->x + ((size_t)k * (size_t)c->inner + row) * bytes,
               (const char *)whole->values + (size_t)e * bytes, bytes);
    }
    row++;
  }
}

/* Local. Sets the vectors to [X; -1], from X. */
static void fill_vectors(const complement *c, const work *w, tsi_index begin, tsi_index columns) {
  static const double minus_one[2] = {-1, 0}, zero[2] = {0, 0};
  const tristar_dmatrix_t *m = c->matrix;
  const tsi_index *own = c->place + tsi_dmatrix_first(m);
  const char *from = w->x;
  for (tsi_index k = 0; k < columns; k++)
    for (tsi_index i = 0; i < m->n; i++) {
      const size_t at = (size_t)k * (size_t)m->n + (size_t)i;
      if (own[i] < 0)
        tsi_scalar_write((char)m->scalar, w->vector, at, ~own[i] == begin + k ? minus_one : zero);
      else {
        memcpy(w->vector + at * m->bytes, from, m->bytes);
        from += m->bytes;
      }
    }
}

/* Fails if one of the columns of s has NaN or infinity. name, first_row and first: name of s, and number of
 * its first row and column, for the message. */
static tristar_status need_finite(const complement *c, const char *name, tsi_count rows, tsi_count first_row,
                                  tsi_count first, tsi_index columns, const char *s, int64_t lds) {
  const tristar_dmatrix_t *m = c->matrix;
  for (tsi_index k = 0; k < columns; k++) {
    const tsi_count row = m->sparse->first_not_finite(rows, s + (size_t)(k * lds) * m->bytes);
    if (row < rows)
      TSI_FAIL(&m->ts->env, TRISTAR_ERR_NOT_FINITE,
               "entry (%lld, %lld) of %s, counted from 0, is NaN or beyond the range of numbers",
               (long long)(first_row + row), (long long)(first + k), name);
  }
  return TRISTAR_OK;
}

/* Collective. Gathers the rows of S of the product on rank 0, and copies them to s. name: of s, for
 * messages. */
static tristar_status gather_rows(const complement *c, const work *w, const char *name, tsi_index begin,
                                  tsi_index columns, char *s, int64_t lds) {
  const tristar_dmatrix_t *m = c->matrix;
  const tsi_index *own = c->place + tsi_dmatrix_first(m);
  const size_t bytes = m->bytes, row_bytes = (size_t)columns * bytes;
  char *to = w->rows;
  for (tsi_index i = 0; i < m->n; i++)
    for (tsi_index k = 0; own[i] < 0 && k < columns; k++, to += bytes)
      memcpy(to, w->product + ((size_t)k * (size_t)m->n + (size_t)i) * bytes, bytes);
  const tristar_status moved = tsi_move_blocks(&m->ts->env, tsi_transport_comm(m->transport), c->first,
                                               row_bytes, true, w->rows_all, c->own, w->rows);
  TSI_TRY(tsi_transport_agree(m->transport, moved));
  tristar_status mine = TRISTAR_OK;
  if (tsi_transport_rank(m->transport) == 0) {
    for (tsi_index r = 0; r < c->count; r++)
      for (tsi_index k = 0; k < columns; k++)
        memcpy(s + ((size_t)(begin + k) * (size_t)lds + (size_t)c->number_all[r]) * bytes,
               w->rows_all + (size_t)r * row_bytes + (size_t)k * bytes, bytes);
    mine = need_finite(c, name, c->count, 0, begin, columns, s + (size_t)(begin * lds) * bytes, lds);
  }
  return tsi_transport_agree(m->transport, mine);
}

/* Rank 0. If the matrix has a symmetric kind, mirrors the lower triangle. Removes rounding errors from the
 * diagonal: it is real for a Hermitian matrix and zero for a skew-symmetric one. */
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

/* Collective, after tsi_dmatrix_need_whole. */
static tristar_status compute(const complement *c, char *s, int64_t lds) {
  TSI_CLEANUP(finish) work w = {.x = NULL};
  TSI_TRY(prepare(c, c->count, false, &w));
  for (tsi_index begin = 0, columns; begin < c->count; begin += columns) {
    columns = tsi_index_min(COLUMNS_MOST, c->count - begin);
    fill_columns(c, &w, begin, columns);
    TSI_TRY(solve_inner(c, &w, TRISTAR_N, columns));
    fill_vectors(c, &w, begin, columns);
    TSI_TRY(subtract_product(c, &w, TRISTAR_N, columns, true));
    TSI_TRY(gather_rows(c, &w, "the Schur complement", begin, columns, s, lds));
  }
  if (tsi_transport_rank(c->matrix->transport) == 0) mirror(c, s, lds);
  return TRISTAR_OK;
}

/* ---- The object ---------------------------------------------------------------------------------------- */

/* Collective. */
static void destroy(complement **schur) {
  complement *c = tsi_take(schur);
  if (c == NULL) return;
  tristar_distributed_destroy(&c->factor);
  tristar_dmatrix_destroy(&c->matrix);
  tsi_release(tsi_take(&c->place));
  tsi_release(tsi_take(&c->number));
  tsi_release(tsi_take(&c->first));
  tsi_release(tsi_take(&c->number_all));
  tsi_release(c);
}

/* Collective. mine: an earlier failure of this rank. */
static tristar_status create(tristar_dmatrix_t *matrix, tristar_status mine, int64_t count,
                             const int64_t *unknowns, const tristar_analysis_options *analysis,
                             const tristar_distributed_options *options, complement **out) {
  TSI_CLEANUP(destroy) complement *c = NULL;
  const tristar_status allocated = TSI_ALLOC_ZERO(&matrix->ts->env, c, 1);
  TSI_TRY(tsi_transport_agree(matrix->transport, allocated));
  c->ts = matrix->ts;
  c->matrix = tsi_dmatrix_share(matrix);
  TSI_TRY(take_unknowns(c, mine, count, unknowns));
  TSI_TRY(tsi_transport_agree(matrix->transport, tsi_dmatrix_need_whole(matrix)));
  TSI_TRY(factor(c, analysis, options));
  TSI_TRY(find_owners(c));
  *out = tsi_take(&c);
  return TRISTAR_OK;
}

tristar_status tristar_dmatrix_schur_create(tristar_dmatrix_t *matrix, int64_t count, const int64_t *unknowns,
                                            const tristar_analysis_options *analysis,
                                            const tristar_distributed_options *options,
                                            tristar_dmatrix_schur_t **schur) {
  tristar_status status = TRISTAR_OK;
  if (schur != NULL) *schur = NULL;
  TSI_ENTER(matrix, matrix->ts);
  const bool lean = matrix->whole == NULL;
  complement *c = NULL;
  if (schur == NULL)
    status = tsi_fail(&matrix->ts->env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "schur is NULL");
  status = create(matrix, status, count, unknowns, analysis, options, &c);
  if (lean) tsi_dmatrix_release_whole(matrix);
  if (schur != NULL) *schur = c;
  return tsi_answer(&matrix->ts->env, status);
}

void tristar_dmatrix_schur_destroy(tristar_dmatrix_schur_t **schur) {
  if (schur == NULL || *schur == NULL) return;
  complement *c = tsi_take(schur);
  if (tsi_env_abandon(&c->ts->env, c)) return;
  destroy(&c);
}

tristar_status tristar_dmatrix_schur_refactor(tristar_dmatrix_schur_t *schur) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(schur, schur->ts);
  tristar_dmatrix_t *m = schur->matrix;
  const bool lean = m->whole == NULL;
  TSI_TRY_OUT(tsi_transport_agree(m->transport, tsi_dmatrix_need_whole(m)));
  TSI_TRY_OUT(factor(schur, NULL, NULL));
out:
  if (lean) tsi_dmatrix_release_whole(m);
  return tsi_answer(&m->ts->env, status);
}

/* Local. */
static tristar_status need_values(const complement *c) {
  if (c->generation == c->matrix->generation) return TRISTAR_OK;
  TSI_FAIL(&c->ts->env, TRISTAR_ERR_STALE,
           "the matrix has other values than those that were factored: call tristar_dmatrix_schur_refactor");
}

tristar_status tristar_dmatrix_schur_get(tristar_dmatrix_schur_t *schur, void *s, int64_t lds) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(schur, schur->ts);
  tristar_dmatrix_t *m = schur->matrix;
  const bool lean = m->whole == NULL;
  tristar_status mine = need_values(schur);
  if (mine == TRISTAR_OK && tsi_transport_rank(m->transport) == 0)
    mine = check_s(schur, schur->count, s, lds);
  TSI_TRY_OUT(tsi_transport_agree(m->transport, mine));
  TSI_TRY_OUT(tsi_transport_agree(m->transport, tsi_dmatrix_need_whole(m)));
  TSI_TRY_OUT(compute(schur, s, lds));
out:
  if (lean) tsi_dmatrix_release_whole(m);
  return tsi_answer(&m->ts->env, status);
}

tristar_status tristar_dmatrix_schur(tristar_dmatrix_t *matrix, int64_t count, const int64_t *unknowns,
                                     const tristar_analysis_options *analysis,
                                     const tristar_distributed_options *options, void *s, int64_t lds) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(matrix, matrix->ts);
  TSI_CLEANUP(destroy) complement *c = NULL;
  const bool lean = matrix->whole == NULL;
  const complement requested = {.ts = matrix->ts};
  if (tsi_transport_rank(matrix->transport) == 0 && count > 0) status = check_s(&requested, count, s, lds);
  TSI_TRY_OUT(create(matrix, status, count, unknowns, analysis, options, &c));
  TSI_TRY_OUT(compute(c, s, lds));
out:
  if (lean) tsi_dmatrix_release_whole(matrix);
  return tsi_answer(&matrix->ts->env, status);
}

/* ---- Condensing and expanding -------------------------------------------------------------------------- */

/* An array of the caller. */
typedef struct columns_of {
  const char *name;
  const void *array;
  int64_t rows, ld;
} columns_of;

/* Collective. */
static tristar_status check_call(const complement *c, tristar_op op, int64_t nrhs, int arrays,
                                 const columns_of *array) {
  static const char *const name[] = {"nrhs", "op"};
  const int64_t value[] = {nrhs, op};
  tsi_env *env = &c->ts->env;
  tristar_status mine = need_values(c);
  if (mine == TRISTAR_OK) mine = tsi_check_op(env, op);
  if (mine == TRISTAR_OK && nrhs < 0)
    mine = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "nrhs is %lld", (long long)nrhs);
  for (int k = 0; k < arrays && mine == TRISTAR_OK; k++)
    if (array[k].rows > 0 && nrhs > 0 && (array[k].array == NULL || array[k].ld < array[k].rows))
      mine = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__,
                      "%s is NULL, or its leading dimension is %lld, below %lld", array[k].name,
                      (long long)array[k].ld, (long long)array[k].rows);
  const columns_of *last = &array[arrays - 1];
  if (mine == TRISTAR_OK && last->rows > 0 && nrhs > 0)
    mine = tsi_check_in_place(env, (tsi_named_array){array->name, array->array, 1, array->ld, 0},
                              (tsi_named_array){last->name, last->array, 1, last->ld, 0});
  return tsi_transport_same(c->matrix->transport, mine, 2, name, value, 0, NULL);
}

static int64_t rows_on_root(const complement *c) {
  return tsi_transport_rank(c->matrix->transport) == 0 ? c->count : 0;
}

/* Does this status of an inner solve leave vectors to continue with? */
static bool goes_on(tristar_status solved, tsi_index columns) {
  return solved == TRISTAR_OK || (solved == TRISTAR_ERR_ACCURACY && columns == 1);
}

/* The address of a column. */
static char *column_of(const complement *c, const char *array, int64_t ld, int64_t column) {
  return (char *)(uintptr_t)array + (size_t)(column * ld) * c->matrix->bytes;
}

/* Collective, after an inner solve that does not go on. The message of the solve has the rows and columns of
 * A_II. If only one column is NOT_FINITE, it is replaced by one that has the caller's. */
static tristar_status fail_block(const work *w, const tsi_schur_arrays *v, int64_t first, tsi_index columns,
                                 tristar_status solved) {
  const complement *c = w->complement;
  const tristar_dmatrix_t *m = c->matrix;
  if (solved != TRISTAR_ERR_NOT_FINITE || columns > 1) return solved;
  tristar_status mine = need_finite(c, v->in_name, m->n, tsi_dmatrix_first(m), first, 1,
                                    column_of(c, v->in, v->ld_in, first), v->ld_in);
  if (mine == TRISTAR_OK && w->given_s != NULL)
    mine = need_finite(c, "x_s", c->count, 0, first, 1, w->given_s, c->count);
  TSI_TRY(tsi_transport_agree(m->transport, mine));
  TSI_FAIL(&m->ts->env, TRISTAR_ERR_NOT_FINITE,
           "a solve for column %lld of %s, counted from 0, is beyond the range of numbers", (long long)first,
           v->out_name);
}

static tristar_status condense_block(void *context, const tsi_schur_arrays *v, int64_t first,
                                     tsi_index columns) {
  const work *w = context;
  const complement *c = w->complement;
  const tristar_dmatrix_t *m = c->matrix;
  copy_columns(c, columns, column_of(c, v->in, v->ld_in, first), v->ld_in, w->product, m->n);
  move_inner(c, w, columns, w->product, false);
  const tristar_status solved = solve_inner(c, w, v->op, columns);
  if (!goes_on(solved, columns)) return fail_block(w, v, first, columns, solved);
  memset(w->vector, 0, (size_t)m->n * (size_t)columns * m->bytes);
  move_inner(c, w, columns, w->vector, true);
  TSI_TRY(subtract_product(c, w, v->op, columns, false));
  TSI_TRY(gather_rows(c, w, "g", (tsi_index)first, columns, v->out, v->ld_out));
  return solved;
}

static tristar_status expand_block(void *context, const tsi_schur_arrays *v, int64_t first,
                                   tsi_index columns) {
  const work *w = context;
  const complement *c = w->complement;
  const tristar_dmatrix_t *m = c->matrix;
  const size_t of_s = (size_t)c->count * m->bytes;
  for (int64_t k = 0; k < columns && rows_on_root(c) > 0; k++)
    memcpy(w->given_s + (size_t)k * of_s, column_of(c, v->given, v->ld_given, first + k), of_s);
  TSI_TRY(
      tsi_broadcast_bytes(&m->ts->env, tsi_transport_comm(m->transport), w->given_s, (size_t)columns * of_s));
  copy_columns(c, columns, column_of(c, v->in, v->ld_in, first), v->ld_in, w->product, m->n);
  memset(w->vector, 0, (size_t)m->n * (size_t)columns * m->bytes);
  put_given(c, w, columns);
  TSI_TRY(subtract_product(c, w, v->op, columns, false));
  move_inner(c, w, columns, w->product, false);
  const tristar_status solved = solve_inner(c, w, v->op, columns);
  if (!goes_on(solved, columns)) return fail_block(w, v, first, columns, solved);
  move_inner(c, w, columns, w->vector, true); /* the rows of S are x_S already */
  TSI_TRY(tsi_transport_agree(
      m->transport, need_finite(c, "x", m->n, tsi_dmatrix_first(m), first, columns, w->vector, m->n)));
  copy_columns(c, columns, w->vector, m->n, column_of(c, v->out, v->ld_out, first), v->ld_out);
  return solved;
}

tristar_status tristar_dmatrix_schur_condense(tristar_dmatrix_schur_t *schur, tristar_op op, int64_t nrhs,
                                              const void *b, int64_t ldb, void *g, int64_t ldg) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(schur, schur->ts);
  const complement *c = schur;
  const tristar_dmatrix_t *m = c->matrix;
  TSI_CLEANUP(finish) work w = {.x = NULL};
  const tsi_schur_arrays v = {.op = op,
                              .scalar = (char)m->scalar,
                              .in_name = "b",
                              .out_name = "g",
                              .in = b,
                              .ld_in = ldb,
                              .out = g,
                              .ld_out = ldg,
                              .rows = rows_on_root(c)};
  const columns_of arrays[] = {{"b", b, m->n, ldb}, {"g", g, rows_on_root(c), ldg}};
  TSI_TRY_OUT(check_call(c, op, nrhs, 2, arrays));
  TSI_TRY_OUT(prepare(c, nrhs, false, &w));
  TSI_TRY_OUT(tsi_schur_run(&c->ts->env, &v, nrhs, COLUMNS_MOST, condense_block, &w));
out:
  return tsi_answer(&m->ts->env, status);
}

tristar_status tristar_dmatrix_schur_expand(tristar_dmatrix_schur_t *schur, tristar_op op, int64_t nrhs,
                                            const void *b, int64_t ldb, const void *x_s, int64_t ldxs,
                                            void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(schur, schur->ts);
  const complement *c = schur;
  const tristar_dmatrix_t *m = c->matrix;
  TSI_CLEANUP(finish) work w = {.x = NULL};
  const tsi_schur_arrays v = {.op = op,
                              .scalar = (char)m->scalar,
                              .in_name = "b",
                              .out_name = "x",
                              .in = b,
                              .given = x_s,
                              .ld_in = ldb,
                              .ld_given = ldxs,
                              .out = x,
                              .ld_out = ldx,
                              .rows = m->n};
  const columns_of arrays[] = {{"b", b, m->n, ldb}, {"x_s", x_s, rows_on_root(c), ldxs}, {"x", x, m->n, ldx}};
  TSI_TRY_OUT(check_call(c, op, nrhs, 3, arrays));
  TSI_TRY_OUT(prepare(c, nrhs, true, &w));
  TSI_TRY_OUT(tsi_schur_run(&c->ts->env, &v, nrhs, COLUMNS_MOST, expand_block, &w));
out:
  return tsi_answer(&m->ts->env, status);
}
