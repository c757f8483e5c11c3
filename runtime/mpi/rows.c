/* Moves rows of b and x: see rows.h. */
#include "runtime/mpi/rows.h"

#include "runtime/mpi/bytes.h"

typedef struct counter {
  const tsi_process *process;
  const tsi_passed_rows *passed;
} counter;

/* The final column of what is passed as entry e. */
static tsi_index column_of(const counter *c, int64_t e) {
  const tsi_passed_rows *passed = c->passed;
  const tsi_index row = (tsi_index)(passed->row ? passed->row[e] : e);
  return passed->place ? passed->place[row] : row;
}

static int home_of(const counter *c, int64_t e) {
  return tsi_home_rank(c->process->layout, c->process->owner[column_of(c, e)]);
}

/* The local column of an entry that is at home here. */
static tsi_index local_column(const counter *c, int64_t e) {
  const tsi_process *p = c->process;
  const tsi_index column = column_of(c, e), chunk = p->owner[column];
  return p->share->chunks->column[p->share->local[chunk]] + column - p->layout->chunks->column[chunk];
}

static void count_rows(const counter *c, tsi_rows *rows) {
  const int me = c->process->share->rank;
  for (int r = 0; r < rows->ranks; r++) rows->user_count[r] = rows->home_count[r] = 0;
  for (int r = 0; r < rows->ranks; r++)
    for (int64_t i = c->passed->first[r]; i < c->passed->first[r + 1]; i++) {
      const int home = home_of(c, i);
      if (r == me && home == me) {
        rows->own++;
        continue;
      }
      if (r == me) rows->user_count[home]++;
      if (home == me) rows->home_count[r]++;
    }
  rows->users = rows->homes = 0;
  for (int r = 0; r < rows->ranks; r++) {
    rows->user_first[r] = (int)rows->users;
    rows->home_first[r] = (int)rows->homes;
    rows->users += rows->user_count[r];
    rows->homes += rows->home_count[r];
  }
}

static void list_rows(const counter *c, tsi_rows *rows) {
  const int me = c->process->share->rank;
  tsi_count at = 0, own = 0;
  for (int r = 0; r < rows->ranks; r++)
    for (int64_t i = c->passed->first[r]; i < c->passed->first[r + 1]; i++) {
      const int home = home_of(c, i);
      if (r == me && home == me) {
        rows->own_user[own] = (tsi_index)(i - c->passed->first[me]);
        rows->own_home[own++] = local_column(c, i);
        continue;
      }
      if (r == me) rows->user[rows->user_first[home]++] = (tsi_index)(i - c->passed->first[me]);
      if (home == me) rows->home[at++] = local_column(c, i);
    }
  for (int r = rows->ranks; r-- > 0;) rows->user_first[r] -= rows->user_count[r];
}

tristar_status tsi_rows_create(tsi_env *env, const tsi_process *process, const tsi_passed_rows *passed,
                               tsi_rows **out) {
  tristar_status status = TRISTAR_OK;
  const int ranks = passed->ranks;
  const counter c = {process, passed};
  tsi_rows *rows = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, rows, 1));
  rows->ranks = ranks;
  TSI_TRY(TSI_ALLOC(env, rows->user_count, ranks));
  TSI_TRY(TSI_ALLOC(env, rows->user_first, ranks));
  TSI_TRY(TSI_ALLOC(env, rows->home_count, ranks));
  TSI_TRY(TSI_ALLOC(env, rows->home_first, ranks));
  count_rows(&c, rows);
  TSI_TRY(TSI_ALLOC(env, rows->own_user, rows->own));
  TSI_TRY(TSI_ALLOC(env, rows->own_home, rows->own));
  TSI_TRY(TSI_ALLOC(env, rows->user, rows->users));
  TSI_TRY(TSI_ALLOC(env, rows->home, rows->homes));
  list_rows(&c, rows);
out:
  if (status != TRISTAR_OK) tsi_rows_destroy(env, &rows);
  *out = rows;
  return status;
}

void tsi_rows_destroy(tsi_env *env, tsi_rows **rows) {
  if (*rows == NULL) return;
  TSI_FREE(env, (*rows)->own_user);
  TSI_FREE(env, (*rows)->own_home);
  TSI_FREE(env, (*rows)->user_count);
  TSI_FREE(env, (*rows)->user_first);
  TSI_FREE(env, (*rows)->home_count);
  TSI_FREE(env, (*rows)->home_first);
  TSI_FREE(env, (*rows)->user);
  TSI_FREE(env, (*rows)->home);
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
  for (tsi_count e = 0; e < rows->own; e++)                                                                  \
    for (tsi_index c = 0; c < nrhs; c++)                                                                     \
      ((type *)to.data)[to_row[e] * to.row + c * to.column] =                                                \
          ((const type *)from.data)[from_row[e] * from.row + c * from.column];

/* Rows that stay on this rank. */
static void copy_own(const tsi_rows *rows, size_t bytes, tsi_index nrhs, const tsi_index *from_row,
                     tsi_row_array from, const tsi_index *to_row, tsi_row_array to) {
  BY_SIZE(bytes, COPY_OWN)
}

static tsi_items users_of(const tsi_rows *rows) {
  return (tsi_items){rows->user_count, rows->user_first};
}

static tsi_items homes_of(const tsi_rows *rows) {
  return (tsi_items){rows->home_count, rows->home_first};
}

tristar_status tsi_rows_to_homes(tsi_env *env, const tsi_rows *rows, MPI_Comm comm, size_t bytes,
                                 tsi_index nrhs, tsi_row_array user, tsi_row_array local, void *buffer) {
  tristar_status status = TRISTAR_OK;
  const size_t row = bytes * (size_t)nrhs;
  char *arrived = (char *)buffer + (size_t)rows->users * row;
  copy_rows(true, bytes, rows->users, rows->user, nrhs, user, buffer);
  copy_own(rows, bytes, nrhs, rows->own_user, user, rows->own_home, local);
  TSI_TRY(tsi_exchange_items(env, comm, row, buffer, users_of(rows), arrived, homes_of(rows)));
  copy_rows(false, bytes, rows->homes, rows->home, nrhs, local, arrived);
out:
  return status;
}

tristar_status tsi_rows_to_users(tsi_env *env, const tsi_rows *rows, MPI_Comm comm, size_t bytes,
                                 tsi_index nrhs, tsi_row_array local, tsi_row_array user, void *buffer) {
  tristar_status status = TRISTAR_OK;
  const size_t row = bytes * (size_t)nrhs;
  char *arrived = (char *)buffer + (size_t)rows->homes * row;
  copy_rows(true, bytes, rows->homes, rows->home, nrhs, local, buffer);
  copy_own(rows, bytes, nrhs, rows->own_home, local, rows->own_user, user);
  TSI_TRY(tsi_exchange_items(env, comm, row, buffer, homes_of(rows), arrived, users_of(rows)));
  copy_rows(false, bytes, rows->users, rows->user, nrhs, user, arrived);
out:
  return status;
}
