/* Moves rows of b and x: see rows.h. */
#include "runtime/mpi/rows.h"

#include "runtime/mpi/bytes.h"

typedef struct counter {
  const tsi_process *process;
  const tsi_passed_rows *passed;
  int *home;        /* chunks of the layout: the rank that is home of each */
  tsi_index *shift; /* those at home here: from a final to a local column */
} counter;

static tristar_status counter_create(tsi_env *env, const tsi_process *p, counter *c) {
  tristar_status status = TRISTAR_OK;
  const tsi_chunks *all = p->layout->chunks, *own = p->share->chunks;
  TSI_TRY(TSI_ALLOC(env, c->home, all->count));
  TSI_TRY(TSI_ALLOC(env, c->shift, all->count));
  for (tsi_index k = 0; k < all->count; k++) {
    c->home[k] = tsi_home_rank(p->layout, k);
    c->shift[k] = c->home[k] == p->share->rank ? own->column[p->share->local[k]] - all->column[k] : 0;
  }
out:
  return status;
}

/* The final column of what is passed as entry e. */
static tsi_index column_of(const counter *c, int64_t e) {
  const tsi_passed_rows *passed = c->passed;
  const tsi_index row = (tsi_index)(passed->row ? passed->row[e] : e);
  return passed->place ? passed->place[row] : row;
}

static int home_of(const counter *c, int64_t e) {
  return c->home[tsi_chunk_of(c->process->layout->chunks, column_of(c, e))];
}

/* The local column of an entry that is at home here. */
static tsi_index local_column(const counter *c, int64_t e) {
  const tsi_index column = column_of(c, e);
  return column + c->shift[tsi_chunk_of(c->process->layout->chunks, column)];
}

static void count_rows(const counter *c, tsi_rows *rows) {
  const int me = c->process->share->rank;
  for (int r = 0; r < rows->ranks; r++) rows->user.there[r] = rows->home.there[r] = 0;
  for (int r = 0; r < rows->ranks; r++)
    for (int64_t i = c->passed->first[r]; i < c->passed->first[r + 1]; i++) {
      const int home = home_of(c, i);
      if (r == me && home == me) {
        rows->own++;
        continue;
      }
      if (r == me) rows->user.there[home]++;
      if (home == me) rows->home.there[r]++;
    }
}

static void list_rows(const counter *c, tsi_rows *rows) {
  const int me = c->process->share->rank;
  tsi_count at = 0, own = 0;
  for (int r = 0; r < rows->ranks; r++)
    for (int64_t i = c->passed->first[r]; i < c->passed->first[r + 1]; i++) {
      const int home = home_of(c, i);
      if (r == me && home == me) {
        rows->user.own[own] = (tsi_index)(i - c->passed->first[me]);
        rows->home.own[own++] = local_column(c, i);
        continue;
      }
      if (r == me) rows->user.list[rows->user.first[home]++] = (tsi_index)(i - c->passed->first[me]);
      if (home == me) rows->home.list[at++] = local_column(c, i);
    }
  for (int r = rows->ranks; r-- > 0;) rows->user.first[r] -= rows->user.there[r];
}

static tristar_status side_create(tsi_env *env, int ranks, tsi_rows_side *side) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, side->there, ranks));
  TSI_TRY(TSI_ALLOC(env, side->first, ranks));
out:
  return status;
}

/* Rows are counted: room for the lists. */
static tristar_status side_reserve(tsi_env *env, const tsi_rows *rows, tsi_rows_side *side) {
  tristar_status status = TRISTAR_OK;
  for (int r = 0; r < rows->ranks; r++) {
    side->first[r] = (int)side->count;
    side->count += side->there[r];
  }
  TSI_TRY(TSI_ALLOC(env, side->own, rows->own));
  TSI_TRY(TSI_ALLOC(env, side->list, side->count));
out:
  return status;
}

static void side_finish(tsi_env *env, tsi_rows_side *side) {
  TSI_FREE(env, side->own);
  TSI_FREE(env, side->list);
  TSI_FREE(env, side->there);
  TSI_FREE(env, side->first);
}

tristar_status tsi_rows_create(tsi_env *env, const tsi_process *process, const tsi_passed_rows *passed,
                               tsi_rows **out) {
  tristar_status status = TRISTAR_OK;
  counter c = {.process = process, .passed = passed};
  tsi_rows *rows = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, rows, 1));
  rows->ranks = passed->ranks;
  TSI_TRY(counter_create(env, process, &c));
  TSI_TRY(side_create(env, rows->ranks, &rows->user));
  TSI_TRY(side_create(env, rows->ranks, &rows->home));
  count_rows(&c, rows);
  TSI_TRY(side_reserve(env, rows, &rows->user));
  TSI_TRY(side_reserve(env, rows, &rows->home));
  list_rows(&c, rows);
out:
  TSI_FREE(env, c.home);
  TSI_FREE(env, c.shift);
  if (status != TRISTAR_OK) tsi_rows_destroy(env, &rows);
  *out = rows;
  return status;
}

void tsi_rows_destroy(tsi_env *env, tsi_rows **rows) {
  if (*rows == NULL) return;
  side_finish(env, &(*rows)->user);
  side_finish(env, &(*rows)->home);
  TSI_FREE(env, *rows);
}

typedef struct pair_of_doubles {
  double a[2];
} pair_of_doubles;

/* COPY(type) with a type of that many bytes: a constant size makes the copies moves. */
#define BY_SIZE(bytes, COPY)                                                                                 \
  switch (bytes) {                                                                                           \
  case sizeof(float):                                                                                        \
    COPY(float)                                                                                              \
    break;                                                                                                   \
  case sizeof(double):                                                                                       \
    COPY(double)                                                                                             \
    break;                                                                                                   \
  default:                                                                                                   \
    COPY(pair_of_doubles)                                                                                    \
  }

/* Rows list[0 .. count-1] of an array of nrhs columns, row by row. */
#define COPY_ROWS(type)                                                                                      \
  for (tsi_count e = 0; e < count; e++)                                                                      \
    for (tsi_index c = 0; c < nrhs; c++) {                                                                   \
      type *packed = (type *)buffer + e * nrhs + c;                                                          \
      type *place = (type *)array.data + list[e] * array.row + c * array.column;                             \
      if (pack)                                                                                              \
        *packed = *place;                                                                                    \
      else                                                                                                   \
        *place = *packed;                                                                                    \
    }

static void copy_rows(bool pack, size_t bytes, tsi_count count, const tsi_index *list, tsi_index nrhs,
                      tsi_row_array array, void *buffer) {
  BY_SIZE(bytes, COPY_ROWS)
}

#define COPY_OWN(type)                                                                                       \
  for (tsi_count e = 0; e < count; e++)                                                                      \
    for (tsi_index c = 0; c < nrhs; c++)                                                                     \
      ((type *)to.data)[to_row[e] * to.row + c * to.column] =                                                \
          ((const type *)from.data)[from_row[e] * from.row + c * from.column];

/* Rows that stay on this rank. */
static void copy_own(tsi_count count, size_t bytes, tsi_index nrhs, const tsi_index *from_row,
                     tsi_row_array from, const tsi_index *to_row, tsi_row_array to) {
  BY_SIZE(bytes, COPY_OWN)
}

static tsi_items items_of(const tsi_rows_side *side) {
  return (tsi_items){side->there, side->first};
}

tristar_status tsi_rows_move(tsi_env *env, const tsi_rows *rows, MPI_Comm comm, size_t bytes, tsi_index nrhs,
                             tsi_row_array user, tsi_row_array local, bool to_user, void *buffer) {
  tristar_status status = TRISTAR_OK;
  const tsi_rows_side *from = to_user ? &rows->home : &rows->user, *to = to_user ? &rows->user : &rows->home;
  const tsi_row_array source = to_user ? local : user, target = to_user ? user : local;
  const size_t row = bytes * (size_t)nrhs;
  char *arrived = (char *)buffer + (size_t)from->count * row;
  copy_rows(true, bytes, from->count, from->list, nrhs, source, buffer);
  copy_own(rows->own, bytes, nrhs, from->own, source, to->own, target);
  TSI_TRY(tsi_exchange_items(env, comm, row, buffer, items_of(from), arrived, items_of(to)));
  copy_rows(false, bytes, to->count, to->list, nrhs, target, arrived);
out:
  return status;
}
