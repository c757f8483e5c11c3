/* Storage of a sparse matrix for products: see slices.h. */
#include "runtime/matrix/slices.h"

#include "runtime/base/grow.h"

#define SHORT_COLUMNS ((tsi_index)UINT16_MAX + 1) /* range of 16-bit offsets */
/* Rows that are stored side by side may have this factor more lanes than rows that are stored one by one. */
#define PADDING 1.25

typedef struct totals {
  tsi_count slices, groups, words, listed;
} totals;

static tsi_index length_of(const tsi_entries *e, tsi_index row) {
  return (tsi_index)(e->ptr[row + 1] - e->ptr[row]);
}

/* ---- The shape of a slice ------------------------------------------------------------------------------ */

static tsi_index groups_of(tsi_index entries) {
  return (tsi_index)(((uint32_t)entries + TSI_SLICE_ROWS - 1) / TSI_SLICE_ROWS);
}

/* Are the first 8 rows consecutive, each equal to the one before shifted by one column? */
static bool are_run(const tsi_entries *e, const tsi_index *row) {
  const tsi_count *ptr = e->ptr + row[0];
  const tsi_index length = (tsi_index)(ptr[1] - ptr[0]), entries = (TSI_SLICE_ROWS - 1) * length;
  const tsi_index *index = e->index + ptr[0];
  tsi_index other = 0, apart = 0; /* no early exit, so compilers can vectorize these loops */
  if (length == 0 || length > TSI_INDEX_MAX / TSI_SLICE_ROWS) return false;
  for (tsi_index r = 0; r < TSI_SLICE_ROWS; r++) other |= row[r] ^ (row[0] + r);
  if (other != 0 || ptr[TSI_SLICE_ROWS] - ptr[0] != (tsi_count)TSI_SLICE_ROWS * length) return false;
  for (tsi_index r = 2; r < TSI_SLICE_ROWS; r++) other |= ptr[r] != ptr[0] + (tsi_count)r * length;
  if (other != 0 || index[entries + length - 1] - index[length - 1] != TSI_SLICE_ROWS - 1) return false;
  for (tsi_index k = 0; k < entries; k++) apart |= (index[k + length] - index[k]) ^ 1;
  return apart == 0;
}

/* Number of rows in a slice: rows with entries, or empty rows. */
static tsi_index count_rows(const tsi_entries *e, const tsi_index *row, tsi_index left) {
  const bool empty = length_of(e, row[0]) == 0;
  tsi_index rows = 1;
  while (rows < TSI_SLICE_ROWS && rows < left && (length_of(e, row[rows]) == 0) == empty) rows++;
  return rows;
}

/* Does each of the 8 rows equal the first one, shifted? *step: row r is shifted by r columns. */
static bool are_moved(const tsi_entries *e, const tsi_index *row, tsi_index length, bool *step) {
  const tsi_index *first = e->index + e->ptr[row[0]];
  *step = true;
  for (tsi_index r = 1; r < TSI_SLICE_ROWS; r++) {
    const tsi_index *own = e->index + e->ptr[row[r]], by = own[0] - first[0];
    tsi_index apart = 0; /* no early exit, so compilers can vectorize it */
    if (length_of(e, row[r]) != length || own[length - 1] - first[length - 1] != by) return false;
    for (tsi_index k = 1; k < length - 1; k++) apart |= (own[k] - first[k]) ^ by;
    if (apart != 0) return false;
    *step = *step && by == r;
  }
  return true;
}

/* Returns SHORT if 16 bits are enough for the columns of the rows; *base: the first of them. */
static tsi_slice_kind find_span(const tsi_entries *e, const tsi_index *row, tsi_index rows, tsi_index *base) {
  tsi_index first = TSI_INDEX_MAX, last = 0;
  for (tsi_index r = 0; r < rows; r++) {
    first = tsi_index_min(first, e->index[e->ptr[row[r]]]);
    last = tsi_index_max(last, e->index[e->ptr[row[r] + 1] - 1]);
  }
  *base = first;
  return last - first < SHORT_COLUMNS ? TSI_SLICE_SHORT : TSI_SLICE_LONG;
}

/* The slice that begins with the first of the remaining rows. */
static tsi_slice shape(const tsi_entries *e, const tsi_index *row, tsi_index left) {
  const tsi_index length = length_of(e, row[0]);
  if (left >= TSI_SLICE_ROWS && are_run(e, row))
    return (tsi_slice){.row = row[0], .groups = length, .kind = TSI_SLICE_RUN, .rows = TSI_SLICE_ROWS};
  const tsi_index rows = count_rows(e, row, left);
  tsi_slice s = {.row = row[0], .kind = TSI_SLICE_LONG, .rows = (uint8_t)rows};
  tsi_count alone = 0;
  bool step;
  for (tsi_index r = 0; r < rows; r++) {
    s.groups = tsi_index_max(s.groups, length_of(e, row[r]));
    alone += groups_of(length_of(e, row[r]));
    s.listed = s.listed || row[r] != row[0] + r;
  }
  if (s.groups == 0) return s;
  if (s.groups > PADDING * (double)alone) {
    s.groups = groups_of(length);
    s.along = true;
    s.listed = false;
    s.rows = 1;
  }
  if (s.rows == TSI_SLICE_ROWS && are_moved(e, row, length, &step))
    s.kind = step ? TSI_SLICE_RUN : TSI_SLICE_SHIFT;
  else
    s.kind = (uint8_t)find_span(e, row, s.rows, &s.base);
  return s;
}

/* ---- Windows ------------------------------------------------------------------------------------------- */

static tsi_index window_rows(const tsi_sliced *a, tsi_index w) {
  return tsi_index_min(a->rows - w * TSI_WINDOW_ROWS, TSI_WINDOW_ROWS);
}

static void list_rows(tsi_index first, tsi_index count, tsi_index *row) {
  for (tsi_index r = 0; r < count; r++) row[r] = first + r;
}

/* Lists the longest rows first. Equally long rows, and all rows longer than a window, keep their order. */
static void list_by_length(const tsi_entries *e, tsi_index first, tsi_index count, tsi_index *row) {
  tsi_index begin[TSI_WINDOW_ROWS + 2], longest = 0;
  for (tsi_index r = 0; r < count; r++) longest = tsi_index_max(longest, length_of(e, first + r));
  longest = tsi_index_min(longest, TSI_WINDOW_ROWS);
#define PLACE(r) (longest - tsi_index_min(length_of(e, first + (r)), longest))
  memset(begin, 0, ((size_t)longest + 2) * sizeof *begin);
  for (tsi_index r = 0; r < count; r++) begin[PLACE(r) + 1]++;
  for (tsi_index p = 0; p <= longest; p++) begin[p + 1] += begin[p];
  for (tsi_index r = 0; r < count; r++) row[begin[PLACE(r)]++] = first + r;
}

/* Finds the slices of rows. slice: memory for as many as there are rows. */
static totals measure(const tsi_entries *e, const tsi_index *row, tsi_index rows, tsi_slice *slice) {
  totals t = {0};
  for (tsi_index r = 0; r < rows; slice++) {
    *slice = shape(e, row + r, rows - r);
    t.slices++;
    t.groups += slice->groups;
    t.words += tsi_slice_words(slice);
    t.listed += slice->listed ? slice->rows : 0;
    r += slice->rows;
  }
  return t;
}

static size_t value_bytes(const tsi_sliced *a) {
  return a->narrow ? a->bytes / 2 : a->bytes;
}

static size_t bytes_of(const totals *t, size_t value) {
  return (size_t)t->slices * sizeof(tsi_slice) + (size_t)t->groups * TSI_SLICE_ROWS * value +
         (size_t)(t->words + t->listed) * sizeof(tsi_index);
}

/* A window in one order: its rows and their slices. */
typedef struct arranged {
  totals all;
  tsi_index row[TSI_WINDOW_ROWS];
  tsi_slice slice[TSI_WINDOW_ROWS];
} arranged;

/* Arranges the rows of a window in the order with fewer bytes. The bytes are those of wide values, so sums do
 * not depend on narrow storage. Returns one of `both`, which are scratch for the two orders. */
static const arranged *arrange(const tsi_sliced *a, const tsi_entries *e, tsi_index w, arranged both[2]) {
  const tsi_index first = w * TSI_WINDOW_ROWS, count = window_rows(a, w);
  arranged *own = &both[0], *sorted = &both[1];
  list_rows(first, count, own->row);
  own->all = measure(e, own->row, count, own->slice);
  if (own->all.groups * TSI_SLICE_ROWS == tsi_slices_window_entries(a, w, e->ptr)) return own;
  list_by_length(e, first, count, sorted->row);
  sorted->all = measure(e, sorted->row, count, sorted->slice);
  return bytes_of(&sorted->all, a->bytes) < bytes_of(&own->all, a->bytes) ? sorted : own;
}

/* ---- Columns and values -------------------------------------------------------------------------------- */

static tsi_index row_of(const tsi_sliced *a, const tsi_slice *s, tsi_index lane) {
  return s->listed ? a->row[s->row + lane] : s->row + lane;
}

/* The entries of a lane: in group k < count, entry first + k step; in later groups, the column of entry
 * `last`. */
typedef struct lane_entries {
  tsi_count first, last;
  tsi_index count, step;
} lane_entries;

static inline __attribute__((always_inline)) lane_entries lane_of(const tsi_sliced *a, const tsi_slice *s,
                                                                  const tsi_count *ptr, tsi_index l) {
  const bool own = !s->along && l < s->rows;
  const tsi_index row = row_of(a, s, own ? l : 0), length = (tsi_index)(ptr[row + 1] - ptr[row]);
  if (s->along)
    return (lane_entries){ptr[row] + l, ptr[row + 1] - 1, groups_of(tsi_index_max(length - l, 0)),
                          TSI_SLICE_ROWS};
  return (lane_entries){ptr[row], ptr[row + 1] - 1, own ? length : 0, 1};
}

static inline tsi_count entry_of(const lane_entries *l, tsi_index k) {
  return k < l->count ? l->first + (tsi_count)k * l->step : l->last;
}

static void put_columns(const tsi_sliced *a, const tsi_slice *s, const tsi_entries *e, tsi_index *word) {
  uint16_t *offset = (uint16_t *)word;
  const tsi_index *first = e->index + e->ptr[row_of(a, s, 0)];
  if (s->kind == TSI_SLICE_SHIFT)
    for (tsi_index l = 0; l < TSI_SLICE_ROWS; l++) *word++ = e->index[e->ptr[row_of(a, s, l)]] - first[0];
  if (s->kind == TSI_SLICE_RUN || s->kind == TSI_SLICE_SHIFT) {
    memcpy(word, first, (size_t)s->groups * sizeof *word);
    return;
  }
  for (tsi_index l = 0; l < TSI_SLICE_ROWS && s->groups > 0; l++) {
    const lane_entries own = lane_of(a, s, e->ptr, l);
    for (tsi_index k = 0; k < s->groups; k++) {
      const tsi_index column = e->index[entry_of(&own, k)];
      if (s->kind == TSI_SLICE_SHORT)
        offset[TSI_SLICE_ROWS * k + l] = (uint16_t)(column - s->base);
      else
        word[TSI_SLICE_ROWS * k + l] = column;
    }
  }
}

/* Allocates memory for this many more slices and listed rows; if it is too small, at least doubles it. */
static tristar_status make_space(tsi_env *env, tsi_sliced *out, const totals *used, const totals *more,
                                 totals *capacity) {
  if (used->slices + more->slices > capacity->slices) {
    capacity->slices = tsi_count_max(2 * capacity->slices, used->slices + more->slices);
    TSI_TRY(tsi_grow(env, (void **)&out->slice, sizeof *out->slice, used->slices, capacity->slices));
  }
  if (used->listed + more->listed > capacity->listed) {
    capacity->listed = tsi_count_max(2 * capacity->listed, used->listed + more->listed);
    TSI_TRY(tsi_grow(env, (void **)&out->row, sizeof *out->row, used->listed, capacity->listed));
  }
  return TRISTAR_OK;
}

/* Appends the slices of a window, and the rows of listed slices. */
static void append(const arranged *from, const totals *used, tsi_sliced *out) {
  tsi_index first = 0, listed = (tsi_index)used->listed;
  for (tsi_count i = 0; i < from->all.slices; i++) {
    tsi_slice *s = &out->slice[used->slices + i];
    *s = from->slice[i];
    if (s->listed) {
      memcpy(out->row + listed, from->row + first, s->rows * sizeof *out->row);
      s->row = listed;
      listed += s->rows;
    }
    first += from->slice[i].rows;
  }
}

/* Lists all slices; the arrays may be larger than needed. */
static tristar_status list_slices(tsi_env *env, const tsi_entries *rows, tsi_sliced *out, totals *all) {
  TSI_OWNED arranged *both = NULL;
  totals capacity = {.slices = rows->n / TSI_SLICE_ROWS + 1};
  TSI_TRY(TSI_ALLOC(env, both, 2));
  TSI_TRY(TSI_ALLOC(env, out->slice, capacity.slices));
  TSI_TRY(TSI_ALLOC(env, out->row, capacity.listed));
  for (tsi_index w = 0; w < out->windows; w++) {
    const arranged *own = arrange(out, rows, w, both);
    TSI_TRY(make_space(env, out, all, &own->all, &capacity));
    append(own, all, out);
    out->window[w] = (tsi_slice_window){(tsi_index)all->slices, all->groups, all->words};
    all->slices += own->all.slices;
    all->groups += own->all.groups;
    all->words += own->all.words;
    all->listed += own->all.listed;
  }
  out->window[out->windows] = (tsi_slice_window){(tsi_index)all->slices, all->groups, all->words};
  if (capacity.slices > all->slices)
    TSI_TRY(tsi_grow(env, (void **)&out->slice, sizeof *out->slice, all->slices, all->slices));
  if (capacity.listed > all->listed)
    TSI_TRY(tsi_grow(env, (void **)&out->row, sizeof *out->row, all->listed, all->listed));
  return TRISTAR_OK;
}

tristar_status tsi_slices_make(tsi_env *env, const tsi_entries *rows, size_t bytes, bool narrow,
                               tsi_sliced *out) {
  const tsi_index windows = rows->n / TSI_WINDOW_ROWS + (rows->n % TSI_WINDOW_ROWS > 0);
  totals all = {0};
  *out = (tsi_sliced){.rows = rows->n, .windows = windows, .bytes = bytes, .narrow = narrow};
  TSI_TRY(TSI_ALLOC(env, out->window, (tsi_count)windows + 1));
  TSI_TRY(list_slices(env, rows, out, &all));
  TSI_TRY(TSI_ALLOC(env, out->word, all.words));
  TSI_TRY(TSI_ALLOC_SIZED(env, out->values, all.groups, TSI_SLICE_ROWS * value_bytes(out)));
  tsi_index *word = out->word;
  for (const tsi_slice *s = out->slice; s < out->slice + all.slices; word += tsi_slice_words(s++))
    put_columns(out, s, rows, word);
  return TRISTAR_OK;
}

/* Value number `at` becomes value e of `from`. bytes, narrow: constants. */
static inline __attribute__((always_inline)) void put_value(const size_t bytes, const bool narrow,
                                                            const void *from, tsi_count e, void *values,
                                                            tsi_count at) {
  const size_t parts = bytes / sizeof(double);
  if (narrow)
    for (size_t p = 0; p < parts; p++)
      ((float *)values)[(size_t)at * parts + p] = (float)((const double *)from)[(size_t)e * parts + p];
  else
    memcpy((char *)values + (size_t)at * bytes, (const char *)from + (size_t)e * bytes, bytes);
}

/* Are the rows consecutive and equally long? */
static bool is_even(const tsi_slice *s) {
  return !s->listed && (s->kind == TSI_SLICE_RUN || s->kind == TSI_SLICE_SHIFT);
}

static inline __attribute__((always_inline)) void put_values(const tsi_sliced *a, tsi_index w,
                                                             const tsi_count *ptr, const void *from,
                                                             const size_t bytes, const bool narrow) {
  static const double zero[2] = {0, 0};
  const tsi_slice *end = a->slice + a->window[w + 1].slice;
  const tsi_count begin = ptr[w * TSI_WINDOW_ROWS];
  tsi_count at = a->window[w].group * TSI_SLICE_ROWS;
  for (const tsi_slice *s = a->slice + a->window[w].slice; s < end;
       at += (tsi_count)s++->groups * TSI_SLICE_ROWS) {
    if (is_even(s)) {
      const tsi_count length = s->groups, first = ptr[s->row] - begin;
      tsi_count to = at;
      for (tsi_count e = first; e < first + length; e++, to += TSI_SLICE_ROWS) {
        put_value(bytes, narrow, from, e, a->values, to);
        put_value(bytes, narrow, from, e + length, a->values, to + 1);
        put_value(bytes, narrow, from, e + 2 * length, a->values, to + 2);
        put_value(bytes, narrow, from, e + 3 * length, a->values, to + 3);
        put_value(bytes, narrow, from, e + 4 * length, a->values, to + 4);
        put_value(bytes, narrow, from, e + 5 * length, a->values, to + 5);
        put_value(bytes, narrow, from, e + 6 * length, a->values, to + 6);
        put_value(bytes, narrow, from, e + 7 * length, a->values, to + 7);
      }
      continue;
    }
    for (tsi_index l = 0; l < TSI_SLICE_ROWS && s->groups > 0; l++) {
      const lane_entries own = lane_of(a, s, ptr, l);
      tsi_count to = at + l;
      for (tsi_index k = 0; k < own.count; k++, to += TSI_SLICE_ROWS)
        put_value(bytes, narrow, from, own.first - begin + (tsi_count)k * own.step, a->values, to);
      for (tsi_index k = own.count; k < s->groups; k++, to += TSI_SLICE_ROWS)
        put_value(bytes, narrow, zero, 0, a->values, to);
    }
  }
}

void tsi_slices_fill(const tsi_sliced *a, tsi_index window, const tsi_count *ptr, const void *values) {
  if (a->narrow && a->bytes == 8)
    put_values(a, window, ptr, values, 8, true);
  else if (a->narrow)
    put_values(a, window, ptr, values, 16, true);
  else if (a->bytes == 4)
    put_values(a, window, ptr, values, 4, false);
  else if (a->bytes == 8)
    put_values(a, window, ptr, values, 8, false);
  else
    put_values(a, window, ptr, values, 16, false);
}

tsi_count tsi_slices_window_entries(const tsi_sliced *a, tsi_index window, const tsi_count *ptr) {
  const tsi_index first = window * TSI_WINDOW_ROWS;
  return ptr[first + window_rows(a, window)] - ptr[first];
}

tristar_status tsi_slices_take(tsi_env *env, const tsi_entries *rows, bool narrow, tsi_sliced *out) {
  TSI_TRY(tsi_slices_make(env, rows, rows->bytes, narrow, out));
  if (env->check) TSI_TRY(tsi_slices_check(env, out, rows));
  for (tsi_index w = 0; w < out->windows; w++)
    tsi_slices_fill(out, w, rows->ptr,
                    (const char *)rows->item + (size_t)rows->ptr[w * TSI_WINDOW_ROWS] * rows->bytes);
  return TRISTAR_OK;
}

void tsi_slices_finish(tsi_sliced *a) {
  tsi_release(tsi_take(&a->window));
  tsi_release(tsi_take(&a->slice));
  tsi_release(tsi_take(&a->word));
  tsi_release(tsi_take(&a->row));
  tsi_release(tsi_take(&a->values));
}

/* ---- Sizes --------------------------------------------------------------------------------------------- */

static totals count_all(const tsi_sliced *a) {
  totals all = {0};
  if (a->window == NULL) return all;
  const tsi_slice_window *end = &a->window[a->windows];
  all = (totals){end->slice, end->group, end->word, 0};
  for (tsi_index i = 0; i < end->slice; i++) all.listed += a->slice[i].listed ? a->slice[i].rows : 0;
  return all;
}

size_t tsi_slices_bytes(const tsi_sliced *a) {
  const totals all = count_all(a);
  return bytes_of(&all, value_bytes(a)) +
         (a->window != NULL ? ((size_t)a->windows + 1) * sizeof *a->window : 0);
}

/* The column that the kernels read. */
static tsi_index column_of(const tsi_slice *s, const tsi_index *word, tsi_index k, tsi_index lane) {
  switch ((tsi_slice_kind)s->kind) {
  case TSI_SLICE_RUN:
    return word[k] + lane;
  case TSI_SLICE_SHIFT:
    return word[TSI_SLICE_ROWS + k] + word[lane];
  case TSI_SLICE_SHORT:
    return s->base + ((const uint16_t *)word)[TSI_SLICE_ROWS * k + lane];
  case TSI_SLICE_LONG:
    break;
  }
  return word[TSI_SLICE_ROWS * k + lane];
}

static tristar_status check_slice(tsi_env *env, const tsi_sliced *a, const tsi_slice *s,
                                  const tsi_index *word, const tsi_entries *rows, tsi_count *entries) {
  for (tsi_index l = 0; l < TSI_SLICE_ROWS && s->groups > 0; l++) {
    const lane_entries own = lane_of(a, s, rows->ptr, l);
    *entries += own.count;
    for (tsi_index k = 0; k < s->groups; k++)
      if (column_of(s, word, k, l) != rows->index[entry_of(&own, k)])
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "slice of row %d, group %d, lane %d: column %d, not %d",
                 row_of(a, s, 0), k, l, column_of(s, word, k, l), rows->index[entry_of(&own, k)]);
  }
  return TRISTAR_OK;
}

tristar_status tsi_slices_check(tsi_env *env, const tsi_sliced *a, const tsi_entries *rows) {
  tsi_count entries = 0, lines = 0, word = 0;
  for (tsi_index i = 0; i < a->window[a->windows].slice; i++) {
    const tsi_slice *s = &a->slice[i];
    TSI_TRY(check_slice(env, a, s, a->word + word, rows, &entries));
    word += tsi_slice_words(s);
    lines += s->rows;
  }
  if (lines != rows->n || entries != rows->ptr[rows->n])
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "the slices have %lld rows and %lld entries, the matrix %d and %lld",
             (long long)lines, (long long)entries, rows->n, (long long)rows->ptr[rows->n]);
  return TRISTAR_OK;
}
