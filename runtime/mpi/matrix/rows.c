/* Sends rows of b and x: see rows.h. */
#include "runtime/mpi/matrix/rows.h"

/* The local column of a final column that is at home here. */
static tsi_index local_column(const tsi_process *p, tsi_index column) {
  const tsi_index chunk = tsi_chunk_of(p->layout->chunks, column);
  return p->share->chunks->column[p->share->local[chunk]] + column - p->layout->chunks->column[chunk];
}

/* Local. home: the home of each row that this rank passes. */
static tristar_status count_rows(tsi_env *env, const tsi_transport *transport, const tsi_process *process,
                                 tsi_index count, const tsi_index *column, int **home, tsi_rows *rows) {
  TSI_TRY(tsi_route_begin(env, transport, &rows->route));
  TSI_TRY(TSI_ALLOC(env, *home, count));
  for (tsi_index i = 0; i < count; i++) {
    (*home)[i] = tsi_home_of(process->layout, column[i]);
    if ((*home)[i] == rows->route.rank)
      rows->own++;
    else
      rows->route.goes[(*home)[i] + 1]++;
  }
  return TRISTAR_OK;
}

/* Local. leave: final columns of the rows that are sent. */
static tristar_status list_rows(tsi_env *env, const tsi_process *process, tsi_index count,
                                const tsi_index *column, const int *home, tsi_rows *rows, tsi_index **leave) {
  tsi_count user = tsi_route_sent(&rows->route), local = tsi_route_received(&rows->route);
  TSI_TRY(TSI_ALLOC_IN(rows, rows->user, user + rows->own));
  TSI_TRY(TSI_ALLOC_IN(rows, rows->local, local + rows->own));
  TSI_TRY(TSI_ALLOC(env, *leave, user));
  for (tsi_index i = 0; i < count; i++) {
    if (home[i] == rows->route.rank) {
      rows->user[user++] = i;
      rows->local[local++] = local_column(process, column[i]);
      continue;
    }
    const tsi_count at = rows->route.next[home[i]]++;
    rows->user[at] = i;
    (*leave)[at] = column[i];
  }
  return TRISTAR_OK;
}

tristar_status tsi_rows_create(tsi_env *env, tsi_transport *transport, const tsi_process *process,
                               tsi_index count, const tsi_index *column, tsi_rows **out) {
  TSI_CLEANUP(tsi_rows_destroy) tsi_rows *rows = NULL;
  TSI_OWNED tsi_index *leave = NULL;
  TSI_OWNED int *home = NULL;
  *out = NULL;
  TSI_TRY(tsi_transport_agree(transport, TSI_ALLOC_ZERO(env, rows, 1)));
  tristar_status status = count_rows(env, transport, process, count, column, &home, rows);
  TSI_TRY(tsi_route_connect(env, transport, status, &rows->route));
  TSI_TRY(tsi_transport_agree(transport, list_rows(env, process, count, column, home, rows, &leave)));
  TSI_TRY(tsi_route_pass(env, &rows->route, sizeof *leave, false, leave, rows->local));
  for (tsi_count e = 0; e < tsi_route_received(&rows->route); e++)
    rows->local[e] = local_column(process, rows->local[e]);
  *out = tsi_take(&rows);
  return TRISTAR_OK;
}

void tsi_rows_destroy(tsi_rows **rows) {
  if (*rows == NULL) return;
  tsi_route_finish(&(*rows)->route);
  tsi_release(tsi_take(rows));
}

typedef struct pair_of_doubles {
  double a[2];
} pair_of_doubles;

/* COPY(type) with a type of `bytes` bytes: with a constant size, the compiler inlines the copies. */
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

/* Copies rows list[0 .. count-1] of an array of nrhs columns, row by row, to or from the buffer. */
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

/* Copies the rows that this rank passes and is the home of. */
static void copy_own(tsi_count count, size_t bytes, tsi_index nrhs, const tsi_index *from_row,
                     tsi_row_array from, const tsi_index *to_row, tsi_row_array to){BY_SIZE(bytes, COPY_OWN)}

tristar_status tsi_rows_move(tsi_env *env, const tsi_rows *rows, size_t bytes, tsi_index nrhs,
                             tsi_row_array user, tsi_row_array local, bool to_user, void *buffer) {
  const tsi_count passed = tsi_route_sent(&rows->route), at_home = tsi_route_received(&rows->route);
  const tsi_count leave = to_user ? at_home : passed, arrive = to_user ? passed : at_home;
  const tsi_index *from = to_user ? rows->local : rows->user, *to = to_user ? rows->user : rows->local;
  const tsi_row_array source = to_user ? local : user, target = to_user ? user : local;
  const size_t row = bytes * (size_t)nrhs;
  char *arrived = (char *)buffer + (size_t)leave * row;
  copy_rows(true, bytes, leave, from, nrhs, source, buffer);
  copy_own(rows->own, bytes, nrhs, from + leave, source, to + arrive, target);
  TSI_TRY(tsi_route_pass(env, &rows->route, row, to_user, buffer, arrived));
  copy_rows(false, bytes, arrive, to, nrhs, target, arrived);
  return TRISTAR_OK;
}
