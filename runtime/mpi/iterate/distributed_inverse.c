/* Selected entries of the inverse of a distributed factor: see tristar_mpi.h.
 *
 * Entry (i, j) is row i of the solution with unit vector j. Several columns are solved at a time; each rank
 * takes the entries in the rows that it passes. If pivots were perturbed, or solves lose digits, solutions
 * are refined. Else only the chunks that the entries need run.
 *
 * Reads   a distributed factor, the lists of rank 0.   Writes  the caller's values.
 * Invariant: all ranks have the columns of each block, in the same order. */
#include <stdlib.h>

#include "runtime/base/scalars.h"
#include "runtime/iterate/refine/refinement.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/solve/queue.h"
#include "runtime/solve/request.h"

enum { BLOCK = 64, REFINED_BLOCK = 16 }; /* unit vectors per solve */

/* Entry of the inverse. */
typedef struct entry {
  int64_t row, column;
  int64_t place; /* position in the list of the caller */
} entry;

typedef struct requested {
  tristar_distributed_t *d;
  tristar_symmetry symmetry; /* of A, sent by rank 0 */
  bool refined;
  int64_t first, rows; /* first row and number of rows of b and x on this rank */
  int64_t *at;         /* rows: index of the row in `row`, or -1 */
  int64_t *row;        /* rows: rows of x that a block needs */
  char *values;        /* in the order of the caller's list */
  char *b, *x;         /* refined: rows x block; else b: block x block, x: listed rows x block */
} requested;

static void finish(requested *w) {
  tsi_release(tsi_take(&w->at));
  tsi_release(tsi_take(&w->row));
  tsi_release(tsi_take(&w->b));
  tsi_release(tsi_take(&w->x));
}

static char scalar_of(const tristar_distributed_t *d) {
  return d->process->kind.user_scalar;
}

static int64_t block_of(const requested *w) {
  return w->refined ? REFINED_BLOCK : BLOCK;
}

/* ---- Before a request ---------------------------------------------------------------------------------- */

/* Local, and the same on all ranks. */
static tristar_status check(const tristar_distributed_t *d, bool *refined) {
  TSI_TRY(tsi_distributed_check_ready(d));
  *refined = d->stats.perturbed_pivots > 0 || d->loses_digits ||
             d->process->kind.factor_scalar != d->process->kind.user_scalar;
  if (d->singular)
    TSI_FAIL(&d->ts->env, TRISTAR_ERR_ACCURACY,
             "entries of the inverse would be inaccurate: the matrix is singular to working precision");
  if (*refined && !d->has_matrix)
    TSI_FAIL(
        &d->ts->env, TRISTAR_ERR_ACCURACY,
        "entries of the inverse would be inaccurate, as pivots were perturbed or solves lose digits; the "
        "factor does not store the matrix");
  return TRISTAR_OK;
}

/* Local. columns: largest number of a block. */
static tristar_status begin(requested *w, int64_t columns) {
  tsi_env *env = &w->d->ts->env;
  const size_t bytes = w->d->process->user_bytes,
               column = (size_t)tsi_count_min(columns, block_of(w)) * bytes;
  const int rank = tsi_transport_rank(w->d->transport);
  w->first = w->d->first[rank];
  w->rows = tsi_distributed_own_rows(w->d);
  TSI_TRY(TSI_ALLOC(env, w->at, w->rows));
  TSI_TRY(TSI_ALLOC(env, w->row, w->rows));
  TSI_TRY(TSI_ALLOC_SIZED(env, w->b, w->refined ? w->rows : BLOCK, column));
  TSI_TRY(TSI_ALLOC_SIZED(env, w->x, w->rows, column));
  for (int64_t i = 0; i < w->rows; i++) w->at[i] = -1;
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status share_symmetry(requested *w) {
  w->symmetry = w->d->stats.symmetry;
  return tsi_broadcast_bytes(&w->d->ts->env, tsi_transport_comm(w->d->transport), &w->symmetry,
                             sizeof w->symmetry);
}

/* ---- A block of columns -------------------------------------------------------------------------------- */

/* Collective. Rank 0 passes the unit vectors; x has the rows of w->row. */
static tristar_status solve_units(requested *w, int64_t columns, const int64_t *column, int64_t rows) {
  const bool root = tsi_transport_rank(w->d->transport) == 0;
  tristar_solve_options options;
  tristar_solve_options_init(&options);
  memset(w->b, 0, (size_t)(columns * columns) * w->d->process->user_bytes);
  for (int64_t c = 0; c < columns; c++)
    tsi_scalar_write(scalar_of(w->d), w->b, (size_t)(c * (columns + 1)), (const double[]){1, 0});
  options.b_rows = root ? columns : 0;
  options.b_row = column;
  options.x_rows = rows;
  options.x_row = w->row;
  const tristar_status status = tristar_distributed_solve_with(w->d, &options, columns, w->b, w->x, NULL);
  return status == TRISTAR_ERR_NOT_FINITE ? TRISTAR_OK : status; /* each requested entry is checked */
}

/* Collective. x has all rows of this rank. */
static tristar_status solve_units_refined(requested *w, int64_t columns, const int64_t *column) {
  const double most = tsi_acceptable_error(tsi_sparse_kernels_select(scalar_of(w->d))->epsilon);
  const int64_t ld = w->rows > 0 ? w->rows : 1;
  tristar_refine_result result;
  memset(w->b, 0, (size_t)(columns * w->rows) * w->d->process->user_bytes);
  for (int64_t c = 0; c < columns; c++)
    if (column[c] >= w->first && column[c] < w->first + w->rows)
      tsi_scalar_write(scalar_of(w->d), w->b, (size_t)(c * w->rows + column[c] - w->first),
                       (const double[]){1, 0});
  TSI_TRY(tristar_distributed_solve_refined(w->d, TRISTAR_N, columns, w->b, ld, w->x, ld, NULL, &result));
  if (!(result.backward_error <= most))
    TSI_FAIL(&w->d->ts->env, TRISTAR_ERR_ACCURACY,
             "entries of the inverse would be inaccurate: refined solves have the backward error %.1e",
             result.backward_error);
  return TRISTAR_OK;
}

/* Collective. Takes `count` entries of these columns; columns and entries ascend alike. */
static tristar_status take_block(requested *w, int64_t columns, const int64_t *column, int64_t count,
                                 const entry *e) {
  const size_t bytes = w->d->process->user_bytes;
  int64_t rows = 0;
  for (int64_t k = 0; k < count; k++) {
    const int64_t i = e[k].row - w->first;
    if (i < 0 || i >= w->rows || w->at[i] >= 0) continue;
    w->at[i] = rows;
    w->row[rows++] = e[k].row;
  }
  tristar_status mine = TRISTAR_OK;
  const tristar_status status =
      w->refined ? solve_units_refined(w, columns, column) : solve_units(w, columns, column, rows);
  for (int64_t k = 0, c = 0; k < count && status == TRISTAR_OK; k++) {
    const int64_t i = e[k].row - w->first;
    while (column[c] != e[k].column) c++;
    if (i < 0 || i >= w->rows) continue;
    const int64_t from = w->refined ? i + c * w->rows : w->at[i] + c * rows;
    memcpy(w->values + (size_t)e[k].place * bytes, w->x + (size_t)from * bytes, bytes);
    if (e[k].row == e[k].column)
      tsi_scalar_fix_diagonal(w->symmetry, scalar_of(w->d), w->values, (size_t)e[k].place);
    if (mine == TRISTAR_OK)
      mine = tsi_inverse_entry_check(&w->d->ts->env, scalar_of(w->d), w->values, e[k].place, e[k].row,
                                     e[k].column);
  }
  for (int64_t r = 0; r < rows; r++) w->at[w->row[r] - w->first] = -1;
  return status != TRISTAR_OK ? status : tsi_transport_agree(w->d->transport, mine);
}

/* Collective. Takes all entries, which ascend by columns. */
static tristar_status take_entries(requested *w, int64_t count, const entry *e) {
  int64_t column[BLOCK], columns = 0, from = 0;
  for (int64_t k = 0; k < count; k++) {
    if (columns > 0 && column[columns - 1] == e[k].column) continue;
    if (columns == block_of(w)) {
      TSI_TRY(take_block(w, columns, column, k - from, e + from));
      columns = 0;
      from = k;
    }
    column[columns++] = e[k].column;
  }
  return columns > 0 ? take_block(w, columns, column, count - from, e + from) : TRISTAR_OK;
}

/* ---- The diagonal -------------------------------------------------------------------------------------- */

tristar_status tristar_distributed_inverse_diagonal(tristar_distributed_t *d, void *values) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(d, d->ts);
  tsi_env *env = &d->ts->env;
  TSI_CLEANUP(finish) requested w = {.d = d};
  entry e[BLOCK];
  tsi_queue_drain(d);
  tristar_status mine = check(d, &w.refined);
  if (mine == TRISTAR_OK && values == NULL && tsi_distributed_own_rows(d) > 0)
    mine = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "values is NULL");
  if (mine == TRISTAR_OK) mine = begin(&w, d->n);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, mine));
  TSI_TRY_OUT(share_symmetry(&w));
  w.values = values;
  for (int64_t first = 0, count; first < d->n; first += count) {
    count = tsi_count_min(block_of(&w), d->n - first);
    for (int64_t k = 0; k < count; k++) e[k] = (entry){first + k, first + k, first + k - w.first};
    TSI_TRY_OUT(take_entries(&w, count, e));
  }
out:
  return tsi_answer(env, status);
}

/* ---- Entries of a list --------------------------------------------------------------------------------- */

static int compare_columns(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->column != y->column) return x->column < y->column ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* Rank 0. */
static tristar_status check_list(const tristar_distributed_t *d, int64_t count, const int64_t *row,
                                 const int64_t *column, const void *values) {
  const tsi_env *env = &d->ts->env;
  if (count > 0 && (row == NULL || column == NULL || values == NULL))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is NULL",
             row == NULL      ? "row"
             : column == NULL ? "column"
                              : "values");
  for (int64_t k = 0; k < count; k++)
    if (row[k] < 0 || row[k] >= d->n || column[k] < 0 || column[k] >= d->n)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "entry %lld is (%lld, %lld), the matrix has %lld rows",
               (long long)k, (long long)row[k], (long long)column[k], (long long)d->n);
  return TRISTAR_OK;
}

/* Collective. The owner of an entry's row has its value; other ranks have zeros. */
static tristar_status sum_on_root(const tristar_distributed_t *d, int64_t count, void *values) {
  const char scalar = scalar_of(d);
  const bool single = tsi_scalar_is_single(scalar), root = tsi_transport_rank(d->transport) == 0;
  const size_t bytes = single ? sizeof(float) : sizeof(double);
  const int64_t numbers = count * (int64_t)(d->process->user_bytes / bytes);
  MPI_Comm comm = tsi_transport_comm(d->transport);
  for (int64_t first = 0; first < numbers; first += TSI_MESSAGE_ITEMS) {
    const int part = (int)tsi_count_min(TSI_MESSAGE_ITEMS, numbers - first);
    char *at = (char *)values + (size_t)first * bytes;
    TSI_TRY(TSI_MPI(
        &d->ts->env, "MPI_Reduce",
        MPI_Reduce(root ? MPI_IN_PLACE : at, at, part, single ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM, 0, comm)));
  }
  return TRISTAR_OK;
}

/* Collective. Broadcasts the list of rank 0. */
static tristar_status share_list(const tristar_distributed_t *d, int64_t count, const int64_t *row,
                                 const int64_t *column, entry *e) {
  for (int64_t k = 0; k < count && tsi_transport_rank(d->transport) == 0; k++)
    e[k] = (entry){row[k], column[k], k};
  if (tsi_transport_rank(d->transport) == 0) qsort(e, (size_t)count, sizeof *e, compare_columns);
  return tsi_broadcast_bytes(&d->ts->env, tsi_transport_comm(d->transport), e, (size_t)count * sizeof *e);
}

tristar_status tristar_distributed_inverse_entries(tristar_distributed_t *d, int64_t count,
                                                   const int64_t *row, const int64_t *column, void *values) {
  static const char *const name[] = {"the number of entries"};
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(d, d->ts);
  tsi_env *env = &d->ts->env;
  TSI_CLEANUP(finish) requested w = {.d = d};
  TSI_OWNED entry *e = NULL;
  TSI_OWNED char *found = NULL;
  const bool root = tsi_transport_rank(d->transport) == 0;
  tsi_queue_drain(d);
  tristar_status mine = check(d, &w.refined);
  if (mine == TRISTAR_OK && count < 0)
    mine =
        tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "count is %lld", (long long)count);
  if (mine == TRISTAR_OK && root) mine = check_list(d, count, row, column, values);
  TSI_TRY_OUT(tsi_transport_same(d->transport, mine, 1, name, &count, 0, NULL));
  mine = begin(&w, count);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC(env, e, count);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_SIZED_ZERO(env, found, (size_t)count, d->process->user_bytes);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, mine));
  w.values = found;
  TSI_TRY_OUT(share_symmetry(&w));
  TSI_TRY_OUT(share_list(d, count, row, column, e));
  TSI_TRY_OUT(take_entries(&w, count, e));
  TSI_TRY_OUT(sum_on_root(d, count, found));
  if (root && count > 0) memcpy(values, found, (size_t)count * d->process->user_bytes);
out:
  return tsi_answer(env, status);
}
