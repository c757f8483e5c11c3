/* Moves rows of b and x: see rows.h. */
#include "runtime/mpi/matrix/rows.h"

#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"

/* Rows that this rank passes. */
typedef struct counter {
  const tsi_process *process;
  tsi_index count;
  const tsi_index *column; /* final */
  int *home;               /* the rank that is home of each */
} counter;

static tristar_status find_homes(tsi_env *env, counter *c) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, c->home, c->count));
  for (tsi_index i = 0; i < c->count; i++) c->home[i] = tsi_home_of(c->process->layout, c->column[i]);
out:
  return status;
}

/* The local column of a final one that is at home here. */
static tsi_index local_column(const tsi_process *p, tsi_index column) {
  const tsi_index chunk = tsi_chunk_of(p->layout->chunks, column);
  return p->share->chunks->column[p->share->local[chunk]] + column - p->layout->chunks->column[chunk];
}

static void count_rows(const counter *c, tsi_rows *rows) {
  const int me = c->process->share->rank;
  for (int r = 0; r < rows->ranks; r++) rows->user.there[r] = 0;
  for (tsi_index i = 0; i < c->count; i++) {
    if (c->home[i] == me)
      rows->own++;
    else
      rows->user.there[c->home[i]]++;
  }
}

/* Those that leave, and their final columns. */
static void list_rows(const counter *c, tsi_rows *rows, tsi_index *column) {
  const int me = c->process->share->rank;
  tsi_count own = 0;
  for (tsi_index i = 0; i < c->count; i++) {
    if (c->home[i] == me) {
      rows->user.own[own] = i;
      rows->home.own[own++] = local_column(c->process, c->column[i]);
      continue;
    }
    const int at = rows->user.first[c->home[i]]++;
    rows->user.list[at] = i;
    column[at] = c->column[i];
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

static tsi_items items_of(const tsi_rows_side *side) {
  return (tsi_items){side->there, side->first};
}

/* Local: everything but what comes. */
static tristar_status begin(tsi_env *env, counter *c, int ranks, tsi_rows **out) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  (*out)->ranks = ranks;
  TSI_TRY(side_create(env, ranks, &(*out)->user));
  TSI_TRY(side_create(env, ranks, &(*out)->home));
  TSI_TRY(find_homes(env, c));
  count_rows(c, *out);
out:
  return status;
}

/* Local: how many come is known. */
static tristar_status reserve(tsi_env *env, tsi_rows *rows, tsi_index **column) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(side_reserve(env, rows, &rows->user));
  TSI_TRY(side_reserve(env, rows, &rows->home));
  TSI_TRY(TSI_ALLOC(env, *column, rows->user.count));
out:
  return status;
}

tristar_status tsi_rows_create(tsi_env *env, tsi_transport *transport, const tsi_process *process,
                               tsi_index count, const tsi_index *column, tsi_rows **out) {
  tristar_status status = TRISTAR_OK;
  MPI_Comm comm = tsi_transport_comm(transport);
  counter c = {.process = process, .count = count, .column = column};
  tsi_rows *rows = NULL;
  tsi_index *leave = NULL;
  *out = NULL;
  TSI_TRY(tsi_transport_agree(transport, begin(env, &c, tsi_transport_size(transport), &rows)));
  TSI_TRY(TSI_MPI(env, "MPI_Alltoall",
                  MPI_Alltoall(rows->user.there, 1, MPI_INT, rows->home.there, 1, MPI_INT, comm)));
  TSI_TRY(tsi_transport_agree(transport, reserve(env, rows, &leave)));
  list_rows(&c, rows, leave);
  TSI_TRY(tsi_exchange_items(env, comm, sizeof *leave, leave, items_of(&rows->user), rows->home.list,
                             items_of(&rows->home)));
  for (tsi_count e = 0; e < rows->home.count; e++)
    rows->home.list[e] = local_column(process, rows->home.list[e]);
out:
  TSI_FREE(env, c.home);
  TSI_FREE(env, leave);
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
                     tsi_row_array from, const tsi_index *to_row, tsi_row_array to){BY_SIZE(bytes, COPY_OWN)}

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
