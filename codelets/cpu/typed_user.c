/* Copies entries between the user's b and x and rows of the workspace: see user_rows.h.
 *
 * A separate file, because each expansion of these loops is long, and all kinds of solves share them. */
#include "codelets/cpu/user_rows.h"

#include <string.h>

#define UNROLL _Pragma("GCC unroll 8")

/* Number of rows that are read or written at a time, for one right-hand side after the other. They stay in
 * the nearest cache, and the user's columns do not evict each other, even if all have the same offset in a
 * page. */
#define ROWS 64

/* Rows of one chunk: entry e < count is its local row local[e] (NULL: e) and row user[e] of the user's array
 * (NULL: the same number in the final order). */
typedef struct row_list {
  tsi_index count;
  const tsi_index *local, *user;
  tsi_index first;        /* final number of the chunk's first row */
  bool compact;           /* the user's array has only these rows */
  const tsi_index *whole; /* compact: by final number, the row in the user's full array; NULL: the same */
} row_list;

static row_list all_rows(const tsi_solve_chunk *chunk, const tsi_index *map, tsi_user_rows rows) {
  const tsi_index first = chunk->column;
  row_list list = {.count = chunk->columns, .user = map ? map + first : NULL, .first = first};
  if (rows.local) list.local = rows.local + first, list.user = rows.user + first;
  return list;
}

/* Returns the part of a user's compact array for a chunk. */
static row_list some_rows(const tsi_solve_chunk *chunk, tsi_index number, const tsi_index *ptr,
                          const tsi_index *local, const tsi_index *user, const tsi_index *map) {
  const tsi_index begin = ptr[number];
  return (row_list){.count = ptr[number + 1] - begin,
                    .local = local + begin,
                    .user = user + begin,
                    .first = chunk->column,
                    .compact = true,
                    .whole = map};
}

static tsi_index local_row(const row_list *rows, tsi_index e) {
  return rows->local ? rows->local[e] : e;
}
static tsi_index user_row(const row_list *rows, tsi_index e) {
  return rows->user ? rows->user[e] : rows->first + e;
}
/* Returns the index of the scaling of entry e. */
static tsi_index scale_row(const row_list *rows, const bool compact, tsi_index e) {
  if (!compact) return user_row(rows, e);
  const tsi_index j = rows->first + rows->local[e];
  return rows->whole ? rows->whole[j] : j;
}

/* Returns the position of the entry that is read or written `few` columns after entry e of column c: in the
 * next columns, or, after the last column, ROWS entries further on. */
INLINE ptrdiff_t entry_ahead(const tsi_solve_call *call, const row_list *rows, tsi_index e, tsi_index c,
                             const int few, int64_t row, int64_t column) {
  const bool next = c + few < call->nrhs;
  return (next ? user_row(rows, e) : user_row(rows, tsi_index_min(e + ROWS, rows->count - 1))) * row +
         (next ? c + few : 0) * column;
}

/* Reads columns c .. c+few-1 of b to x_c, scaled in the user's type, for entries begin .. end-1; few: a
 * constant. plain: in the type of the factors, not conjugated and not compact; then the next entries are
 * prefetched. */
INLINE void read_entries(const bool plain, const int few, const tsi_solve_call *call, const row_list *rows,
                         tsi_index begin, tsi_index end, tsi_index c, tsi_scalar *x) {
  const double *scale = call->in_scale;
  const bool apart = few == 1 && call->columns;
  const void *b = apart ? call->columns[c].b : call->b;
  const ptrdiff_t stride = call->stride, column = call->b_column, first = apart ? 0 : c * column;
  for (tsi_index e = begin; e < end; e++) {
    const ptrdiff_t at = user_row(rows, e) * call->b_row + first;
    const ptrdiff_t ahead = entry_ahead(call, rows, e, c, few, call->b_row, column);
    const double s = scale ? scale[scale_row(rows, !plain && rows->compact, e)] : 1.0;
    tsi_scalar *to = x + local_row(rows, e) * stride + c;
    UNROLL for (int k = 0; k < few; k++) {
      tsi_scalar value;
      if (plain && few > 1) __builtin_prefetch((const tsi_scalar *)b + ahead + k * column, 0);
      if (plain || !call->wide)
        value = (tsi_scalar)(s * (tsi_wide)((const tsi_scalar *)b)[at + k * column]);
      else
        value = (tsi_scalar)(s * ((const tsi_wide *)b)[at + k * column]);
      to[k] = !plain && call->conjugate_in ? tsi_conj(value) : value;
    }
  }
}

/* combines: call->combines as a constant. */
INLINE void write_some(const bool plain, const bool combines, const int few, const tsi_solve_call *call,
                       const row_list *rows, tsi_index begin, tsi_index end, tsi_index c,
                       const tsi_scalar *x) {
  const double *scale = call->out_scale;
  const bool apart = few == 1 && call->columns;
  void *to_x = apart ? call->columns[c].x : call->x;
  const ptrdiff_t stride = call->stride, column = call->x_column, first = apart ? 0 : c * column;
  for (tsi_index e = begin; e < end; e++) {
    const ptrdiff_t at = user_row(rows, e) * call->x_row + first;
    const ptrdiff_t ahead = entry_ahead(call, rows, e, c, few, call->x_row, column);
    const double s = scale ? scale[scale_row(rows, !plain && rows->compact, e)] : 1.0;
    const tsi_scalar *from = x + local_row(rows, e) * stride + c;
    UNROLL for (int k = 0; k < few; k++) {
      tsi_scalar value = from[k];
      if (plain && few > 1) __builtin_prefetch((const tsi_scalar *)to_x + ahead + k * column, 1);
      if (!plain && call->conjugate_out) value = tsi_conj(value);
      tsi_wide out = s * (tsi_wide)value;
      if (plain || !call->wide) {
        tsi_scalar *to = (tsi_scalar *)to_x + at + k * column;
        if (combines) out = combined(call, (tsi_wide)*to, out);
        *to = (tsi_scalar)out;
      } else {
        tsi_wide *to = (tsi_wide *)to_x + at + k * column;
        *to = combines ? combined(call, *to, out) : out;
      }
    }
  }
}
INLINE void write_entries(const bool plain, const int few, const tsi_solve_call *call, const row_list *rows,
                          tsi_index begin, tsi_index end, tsi_index c, const tsi_scalar *x) {
  write_some(plain, false, few, call, rows, begin, end, c, x);
}
INLINE void combine_entries(const bool plain, const int few, const tsi_solve_call *call, const row_list *rows,
                            tsi_index begin, tsi_index end, tsi_index c, const tsi_scalar *x) {
  write_some(plain, true, few, call, rows, begin, end, c, x);
}

/* Reads or writes all entries: ROWS entries of 8 columns at a time, then of 4, 2 and 1 columns. If not plain,
 * or if columns are in separate arrays: of 1 column. */
#define MOVE_ENTRIES(entries, call, rows, x)                                                                 \
  for (tsi_index begin = 0; begin < (rows)->count; begin += ROWS) {                                          \
    const tsi_index nrhs = (call)->nrhs, end = tsi_index_min((rows)->count, begin + ROWS);                   \
    tsi_index c = 0;                                                                                         \
    for (; !plain && c < nrhs; c++) entries(false, 1, call, rows, begin, end, c, x);                         \
    for (; (call)->columns && c < nrhs; c++) entries(true, 1, call, rows, begin, end, c, x);                 \
    for (; c + 8 <= nrhs; c += 8) entries(true, 8, call, rows, begin, end, c, x);                            \
    for (; c + 4 <= nrhs; c += 4) entries(true, 4, call, rows, begin, end, c, x);                            \
    for (; c + 2 <= nrhs; c += 2) entries(true, 2, call, rows, begin, end, c, x);                            \
    for (; c < nrhs; c++) entries(true, 1, call, rows, begin, end, c, x);                                    \
  }

static void move_in(const bool plain, const tsi_solve_call *call, const row_list *rows, tsi_scalar *x) {
  MOVE_ENTRIES(read_entries, call, rows, x)
}
static void move_out(const bool plain, const tsi_solve_call *call, const row_list *rows,
                     const tsi_scalar *x) {
  if (call->combines)
    MOVE_ENTRIES(combine_entries, call, rows, x)
  else
    MOVE_ENTRIES(write_entries, call, rows, x)
}

/* Notes what was written to x, if it is watched. Numbers that are written as they are in the workspace are
 * added up there. */
static void watch_rows(const tsi_solve_call *call, const tsi_solve_chunk *chunk, const row_list *rows,
                       const tsi_scalar *x) {
  tsi_wide sum = 0;
  if (call->watch == NULL) return;
  if (!call->out_scale && !call->wide && !call->combines) {
    watch_numbers(call, (tsi_count)chunk->columns * call->stride, x);
    return;
  }
  for (tsi_index c = 0; c < call->nrhs; c++) {
    const void *to = call->columns ? call->columns[c].x : call->x;
    const ptrdiff_t first = call->columns ? 0 : c * call->x_column;
    for (tsi_index e = 0; e < rows->count; e++) {
      const ptrdiff_t at = user_row(rows, e) * call->x_row + first;
      sum += call->wide ? ((const tsi_wide *)to)[at] : (tsi_wide)((const tsi_scalar *)to)[at];
    }
  }
  watch_sum(call, sum);
}

void TSI_TYPED(tsi_read_user)(const tsi_solve_call *call, const tsi_solve_chunk *chunk, tsi_index number,
                              void *workspace) {
  tsi_scalar *x = workspace;
  const tsi_solve_sparse *sparse = call->sparse;
  const bool compact = sparse && sparse->in_ptr;
  const row_list rows =
      compact ? some_rows(chunk, number, sparse->in_ptr, sparse->in_local, sparse->in_from, call->in_row)
              : all_rows(chunk, call->in_row, call->in_rows);
  if (compact || call->nrhs < call->stride)
    memset(x, 0, (size_t)chunk->columns * (size_t)call->stride * sizeof *x);
  move_in(!(compact || call->wide || call->conjugate_in), call, &rows, x);
}

void TSI_TYPED(tsi_write_user)(const tsi_solve_call *call, const tsi_solve_chunk *chunk, tsi_index number,
                               const void *workspace) {
  const tsi_scalar *x = workspace;
  const tsi_solve_sparse *sparse = call->sparse;
  const bool compact = sparse && sparse->out_ptr;
  const row_list rows =
      compact ? some_rows(chunk, number, sparse->out_ptr, sparse->out_local, sparse->out_to, call->out_row)
              : all_rows(chunk, call->out_row, call->out_rows);
  move_out(!(compact || call->wide || call->conjugate_out), call, &rows, x);
  watch_rows(call, chunk, &rows, x);
}

/* ---- Tasks --------------------------------------------------------------------------------------------- */

void TSI_TYPED(tsi_read_chunk)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  read_user(call, &data->chunk[number], number, chunk_rows(call, &data->chunk[number]));
}

void TSI_TYPED(tsi_write_chunk)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  write_user(call, &data->chunk[number], number, chunk_rows(call, &data->chunk[number]));
}
