/* See triangle_turn.h. */
#include "runtime/matrix/triangle_turn.h"

#define CONSTANTS static inline __attribute__((always_inline))
#define COLUMNS 512 /* whose values are looked at, and then moved */

/* What is known of a row while columns are taken, in one word, which is read and written at once: the place
 * of its next entry (lower), or of its latest one (upper); above these bits its level. */
typedef uint64_t row_state;

static inline tsi_index place_of(row_state state) {
  return (tsi_index)(uint32_t)state;
}

static inline tsi_index level_of(row_state state) {
  return (tsi_index)(state >> 32);
}

static inline row_state make_state(tsi_index place, tsi_index level) {
  return (uint64_t)(uint32_t)level << 32 | (uint32_t)place;
}

/* Entries of each row: an index beyond the last row counts as n. Gives how many indices are not above the one
 * before. state: n + 1. */
static tsi_count count_rows(const tsi_column_arrays *from, row_state *state) {
  const tsi_index *index = from->index;
  const uint32_t n = (uint32_t)from->n;
  const tsi_count entries = from->ptr[n];
  tsi_count falls = 0;
  tsi_index last = -1;
  for (tsi_index i = 0; i <= from->n; i++) state[i] = 0;
  for (tsi_count e = 0; e < entries; e++) {
    const uint32_t i = (uint32_t)index[e];
    falls += index[e] <= last;
    last = index[e];
    state[i < n ? i : n]++;
  }
  return falls;
}

/* From numbers of entries to where rows begin. */
static void begin_rows(const tsi_column_arrays *from, row_state *state, tsi_count *ptr) {
  tsi_index begin = 0;
  for (tsi_index i = 0; i < from->n; i++) {
    const tsi_index end = begin + place_of(state[i]);
    ptr[i] = begin;
    state[i] = make_state(from->lower ? begin : end, 0);
    begin = end;
  }
  ptr[from->n] = begin;
}

/* Entry e, of column j, of a row with that state. */
CONSTANTS tsi_index put(const tsi_column_arrays *from, tsi_index j, tsi_count e, row_state state,
                        tsi_entries *to, const bool lower, const size_t bytes) {
  const tsi_index at = lower ? place_of(state) : place_of(state) - 1;
  to->index[at] = j;
  memcpy((char *)to->item + (size_t)at * bytes, (const char *)from->values + (size_t)e * bytes, bytes);
  return lower ? at + 1 : at;
}

/* Columns first .. end - 1. Gives the highest level of their rows. carried: the level that the next row has
 * at least: mostly it waits for the row before, whose level would come to it through memory. */
CONSTANTS tsi_index take_columns(const tsi_column_arrays *from, tsi_index first, tsi_index end,
                                 row_state *state, tsi_turned *to, tsi_index *carried, const bool lower,
                                 const size_t bytes) {
  tsi_entries rows = to->rows;
  char *diagonal = to->known.diagonal;
  tsi_index highest = 0, from_before = *carried;
  for (tsi_index k = first; k < end; k++) {
    const tsi_index j = lower ? k : first + (end - 1 - k), behind = lower ? j + 1 : j - 1;
    const tsi_index own = tsi_index_max(level_of(state[j]), from_before);
    tsi_count e = from->ptr[j], stop = from->ptr[j + 1];
    to->level[j] = own;
    highest = tsi_index_max(highest, own);
    from_before = 0;
    if (e < stop && from->index[lower ? e : stop - 1] == j) {
      const tsi_count at = lower ? e : stop - 1;
      state[j] = make_state(put(from, j, at, state[j], &rows, lower, bytes), 0);
      tsi_copy_scalar(bytes, diagonal, j, from->values, at);
      e += lower;
      stop -= !lower;
    } else
      memset(diagonal + (size_t)j * bytes, 0, bytes);
    if (e < stop && from->index[lower ? e : stop - 1] == behind) {
      const row_state s = state[behind];
      from_before = own + 1;
      state[behind] = make_state(put(from, j, lower ? e : stop - 1, s, &rows, lower, bytes), level_of(s));
      e += lower;
      stop -= !lower;
    }
    for (; e < stop; e++) {
      const tsi_index i = from->index[e];
      const row_state s = state[i];
      state[i] = make_state(put(from, j, e, s, &rows, lower, bytes), tsi_index_max(level_of(s), own + 1));
    }
  }
  *carried = from_before;
  return highest;
}

static tsi_index take(const tsi_column_arrays *from, tsi_index first, tsi_index end, row_state *state,
                      tsi_turned *to, tsi_index *carried) {
  switch (to->rows.bytes) {
  case 4:
    return from->lower ? take_columns(from, first, end, state, to, carried, true, 4)
                       : take_columns(from, first, end, state, to, carried, false, 4);
  case 8:
    return from->lower ? take_columns(from, first, end, state, to, carried, true, 8)
                       : take_columns(from, first, end, state, to, carried, false, 8);
  default:
    return from->lower ? take_columns(from, first, end, state, to, carried, true, 16)
                       : take_columns(from, first, end, state, to, carried, false, 16);
  }
}

static void take_all(const tsi_column_arrays *from, const tsi_sparse_kernels *kernels, row_state *state,
                     tsi_turned *to) {
  const tsi_index n = from->n;
  tsi_index highest = TSI_NONE, carried = 0;
  to->known.finite = true;
  for (tsi_index taken = 0, count; taken < n; taken += count) {
    count = tsi_index_min(COLUMNS, n - taken);
    const tsi_index first = from->lower ? taken : n - taken - count;
    const tsi_count begin = from->ptr[first], entries = from->ptr[first + count] - begin;
    const char *values = (const char *)from->values + (size_t)begin * to->rows.bytes;
    to->known.finite = to->known.finite && kernels->first_not_finite(entries, values) == entries;
    highest = tsi_index_max(highest, take(from, first, first + count, state, to, &carried));
  }
  to->levels = highest + 1;
}

void tsi_turned_finish(tsi_env *env, tsi_turned *turned) {
  tsi_entries_finish(env, &turned->rows);
  TSI_FREE(env, turned->level);
  TSI_FREE(env, turned->known.diagonal);
}

tristar_status tsi_triangle_turn(tsi_env *env, const tsi_column_arrays *columns, bool *done,
                                 tsi_turned *out) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = columns->n;
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(columns->scalar);
  row_state *state = NULL;
  *done = false;
  *out = (tsi_turned){.rows = {.n = n, .bytes = kernels->scalar_bytes}};
  if (columns->ptr[n] > TSI_INDEX_MAX) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, state, (tsi_count)n + 1));
  if (count_rows(columns, state) != columns->falls) goto out;
  TSI_TRY(TSI_ALLOC(env, out->rows.ptr, (tsi_count)n + 1));
  begin_rows(columns, state, out->rows.ptr);
  TSI_TRY(tsi_entries_allocate(env, &out->rows));
  TSI_TRY(TSI_ALLOC(env, out->level, n));
  TSI_TRY(tsi_allocate(env, (size_t)n, out->rows.bytes, __func__, __FILE__, __LINE__, &out->known.diagonal));
  take_all(columns, kernels, state, out);
  *done = true;
out:
  TSI_FREE(env, state);
  if (!*done) tsi_turned_finish(env, out);
  return status;
}
