/* See triangle_turn.h. */
#include "runtime/matrix/triangle_turn.h"

#define CONSTANTS static inline __attribute__((always_inline))
#define BLOCK 1024  /* entries that are verified, and then counted */
#define COLUMNS 512 /* columns whose values are verified, and then copied */

/* State of a row while columns are visited, in one word, which is read and written at once. Low half:
 * position of its next entry (lower), or of its latest one (upper). High half: its level. */
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

/* Counts the entries of each row in state (n). Returns the number of indices that are not above the one
 * before, or TSI_NONE if an index is out of range. Blocks are verified by loops that compilers can
 * vectorize. */
static tsi_count count_rows(const tsi_column_arrays *from, row_state *state) {
  const tsi_index *index = from->index;
  const uint32_t end = (uint32_t)from->n - 1;
  const tsi_count entries = from->ptr[from->n];
  tsi_count falls = 0;
  for (tsi_index i = 0; i < from->n; i++) state[i] = 0;
  for (tsi_count begin = 0, stop; begin < entries; begin = stop) {
    stop = tsi_count_min(begin + BLOCK, entries);
    uint32_t outside = 0; /* highest bit: an index is below 0, or above the last row */
    tsi_index fallen = 0;
    for (tsi_count e = begin; e < stop; e++) outside |= (uint32_t)index[e] | (end - (uint32_t)index[e]);
    for (tsi_count e = begin + (begin == 0); e < stop; e++) fallen += index[e] <= index[e - 1];
    if (outside >> 31) return TSI_NONE;
    falls += fallen;
    for (tsi_count e = begin; e < stop; e++) state[index[e]]++;
  }
  return falls;
}

/* Converts numbers of entries to the positions of rows. */
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

/* Source and destination of the columns, in local variables: stores of values cannot change these. */
typedef struct arrays {
  const tsi_index *from_index;
  const char *from_values;
  tsi_index *index;
  char *values;
} arrays;

/* Puts entry e of column j into a row with this position. Returns the next position. */
CONSTANTS tsi_index put(const arrays *a, tsi_index j, tsi_count e, tsi_index place, const bool lower,
                        const size_t bytes) {
  const tsi_index at = lower ? place : place - 1;
  a->index[at] = j;
  memcpy(a->values + (size_t)at * bytes, a->from_values + (size_t)e * bytes, bytes);
  return lower ? at + 1 : at;
}

/* Copies columns first .. end - 1. Returns the highest level of their rows. carried: the least level of the
 * next row, which mostly waits for the row before; so this level need not be read from memory. */
CONSTANTS tsi_index take_columns(const tsi_column_arrays *from, tsi_index first, tsi_index end,
                                 row_state *state, tsi_turned *to, tsi_index *carried, const bool lower,
                                 const size_t bytes) {
  const arrays a = {from->index, from->values, to->rows.index, to->rows.item};
  const tsi_count *ptr = from->ptr;
  const tsi_index *index = from->index;
  tsi_index *level = to->level, highest = 0, from_before = *carried;
  char *diagonal = to->properties.diagonal;
  for (tsi_index k = first; k < end; k++) {
    const tsi_index j = lower ? k : first + (end - 1 - k), behind = lower ? j + 1 : j - 1;
    const row_state of = state[j];
    const tsi_index own = tsi_index_max(level_of(of), from_before);
    tsi_count e = ptr[j], stop = ptr[j + 1];
    level[j] = own;
    highest = tsi_index_max(highest, own);
    from_before = 0;
    if (e < stop && index[lower ? e : stop - 1] == j) {
      const tsi_count at = lower ? e : stop - 1;
      state[j] = make_state(put(&a, j, at, place_of(of), lower, bytes), 0);
      tsi_copy_scalar(bytes, diagonal, j, a.from_values, at);
      e += lower;
      stop -= !lower;
    } else
      memset(diagonal + (size_t)j * bytes, 0, bytes);
    if (e < stop && index[lower ? e : stop - 1] == behind) {
      const row_state s = state[behind];
      from_before = own + 1;
      state[behind] = make_state(put(&a, j, lower ? e : stop - 1, place_of(s), lower, bytes), level_of(s));
      e += lower;
      stop -= !lower;
    }
    for (; e < stop; e++) {
      const tsi_index i = index[e];
      const row_state s = state[i];
      state[i] = make_state(put(&a, j, e, place_of(s), lower, bytes), tsi_index_max(level_of(s), own + 1));
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
  to->properties.finite = true;
  for (tsi_index taken = 0, count; taken < n; taken += count) {
    count = tsi_index_min(COLUMNS, n - taken);
    const tsi_index first = from->lower ? taken : n - taken - count;
    const tsi_count begin = from->ptr[first], entries = from->ptr[first + count] - begin;
    const char *values = (const char *)from->values + (size_t)begin * to->rows.bytes;
    to->properties.finite = to->properties.finite && kernels->first_not_finite(entries, values) == entries;
    highest = tsi_index_max(highest, take(from, first, first + count, state, to, &carried));
  }
  to->levels = highest + 1;
}

void tsi_turned_finish(tsi_turned *turned) {
  tsi_entries_finish(&turned->rows);
  tsi_release(tsi_take(&turned->level));
  tsi_release(tsi_take(&turned->properties.diagonal));
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
  TSI_TRY_OUT(TSI_ALLOC(env, state, (tsi_count)n + 1));
  if (count_rows(columns, state) != columns->falls) goto out;
  TSI_TRY_OUT(TSI_ALLOC(env, out->rows.ptr, (tsi_count)n + 1));
  begin_rows(columns, state, out->rows.ptr);
  TSI_TRY_OUT(tsi_entries_allocate(env, &out->rows));
  TSI_TRY_OUT(TSI_ALLOC(env, out->level, n));
  TSI_TRY_OUT(TSI_ALLOC_SIZED(env, out->properties.diagonal, n, out->rows.bytes));
  take_all(columns, kernels, state, out);
  *done = true;
out:
  TSI_FREE(env, state);
  if (!*done) tsi_turned_finish(out);
  return status;
}
