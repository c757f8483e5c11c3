/* Makes the streams of rows: see row_streams.h. */
#include "runtime/factor/row_streams.h"

#define NEAR UINT16_MAX /* distances that fit */

/* What an offset counts from: a column is its row, and the offset, less this (spmv.h). */
static inline tsi_index base_of(bool backward) {
  return backward ? 0 : NEAR;
}

/* One right-hand side: chunks with at least so many rows a run have runs. */
#define ROWS_A_RUN 5

void tsi_row_stream_release(tsi_env *env, tsi_row_factor *rows, int k) {
  tsi_row_arrays *a = &rows->array[k];
  TSI_FREE(env, a->row);
  TSI_FREE(env, a->length);
  TSI_FREE(env, a->ptr);
  TSI_FREE(env, a->index);
  TSI_FREE(env, a->offset);
  TSI_FREE(env, a->values);
  TSI_FREE(env, a->inverse);
  TSI_FREE(env, a->run_ptr);
  TSI_FREE(env, a->run);
  rows->sweep[k] = (tsi_row_sweep){.n = 0};
}

/* fill(..., bytes, near) with both as constants: a loop over entries for each. */
#define WITH_CONSTANTS(bytes, near, fill, ...)                                                               \
  do {                                                                                                       \
    if ((bytes) == 8 && (near))                                                                              \
      fill(__VA_ARGS__, 8, true);                                                                            \
    else if ((bytes) == 8)                                                                                   \
      fill(__VA_ARGS__, 8, false);                                                                           \
    else if ((bytes) == 4)                                                                                   \
      fill(__VA_ARGS__, 4, near);                                                                            \
    else                                                                                                     \
      fill(__VA_ARGS__, 16, near);                                                                           \
  } while (0)
#define CONSTANTS static inline __attribute__((always_inline))

/* ---- Numbering ----------------------------------------------------------------------------------------- */

/* Vectors that do not stay in the caches of a core from one solve to the next. */
static bool is_long(const tsi_row_factor *rows) {
  return (double)rows->cut->n * (double)rows->scalar_bytes > TSI_CACHED_VECTOR_BYTES;
}

/* Streams are numbered as the cut orders rows. */
static bool is_moved(const tsi_row_factor *rows) {
  const tsi_row_cut *cut = rows->cut;
  return cut->lanes > 1 && cut->count > 1 &&
         (cut->way == TSI_ROWS_SUPERSTEPS || cut->way == TSI_ROWS_LEVELS) && is_long(rows);
}

/* Consecutive rows in each chunk. */
static bool has_windows(const tsi_row_cut *cut) {
  return cut->way == TSI_ROWS_SUPERSTEPS && cut->lanes == 1;
}

tsi_index tsi_row_factor_pieces(const tsi_row_factor *rows) {
  return is_moved(rows) ? (tsi_index)rows->cut->lanes : 0;
}

/* A stream that is made. */
typedef struct form {
  const tsi_row_factor *rows;
  bool backward;
  const tsi_index *order; /* of the cut; NULL: as given */
  const tsi_index *place; /* the numbers of the given rows; NULL: their own */
} form;

static form form_of(const tsi_row_factor *rows, bool backward, bool plain) {
  return (form){rows, backward, plain ? NULL : rows->cut->order, plain ? NULL : rows->place};
}

/* place NULL: its own */
static inline tsi_index number_of(const tsi_index *place, tsi_index given) {
  return place ? place[given] : given;
}

static tristar_status need_place(tsi_env *env, tsi_row_factor *rows) {
  tristar_status status = TRISTAR_OK;
  if (!is_moved(rows) || rows->place) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, rows->place, rows->cut->n));
  tsi_row_places(rows->cut, rows->place);
out:
  return status;
}

/* ---- Arrays -------------------------------------------------------------------------------------------- */

/* The given rows in the order in which a sweep takes them. */
static void list_rows(const form *f, tsi_index *row) {
  const tsi_index n = f->rows->lines.n;
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index r = f->backward ? n - 1 - k : k;
    row[k] = f->order ? f->order[r] : r;
  }
}

/* Are all columns near their rows, by the numbers that they have? Lines ascend: one end tells. */
static bool are_near(const tsi_lines *lines) {
  for (tsi_index j = 0; j < lines->n; j++) {
    if (lines->ptr[j] == lines->ptr[j + 1]) continue;
    const tsi_index far = lines->index[lines->columns ? lines->ptr[j + 1] - 1 : lines->ptr[j]];
    if ((lines->columns ? far - j : j - far) > NEAR) return false;
  }
  return true;
}

/* Are columns scattered over vectors that do not stay in a core's caches? So they are if many lines have most
 * entries far from the diagonal; some lines tell. */
static bool are_scattered(const tsi_row_factor *rows) {
  enum { LINES = 16 };
  const tsi_lines *lines = &rows->lines;
  tsi_index far = 0;
  if (!is_long(rows)) return false;
  for (tsi_index j = 0; j < lines->n; j += tsi_index_min(LINES, lines->n - j)) {
    if (lines->ptr[j] == lines->ptr[j + 1]) continue;
    const tsi_index middle = lines->index[(lines->ptr[j] + lines->ptr[j + 1]) / 2];
    far += (lines->columns ? middle - j : j - middle) > NEAR;
  }
  return far > lines->n / (4 * LINES);
}

/* Beside tsi_lines_fetch: the values, and what follows them. */
static inline void fetch_values(const tsi_row_factor *rows, const tsi_index *row, tsi_index k) {
  enum { NEXT = 8 };
  if (rows->lines.n - k <= NEXT) return;
  const tsi_index i = row[k + NEXT];
  const char *from = (const char *)rows->values + (size_t)rows->lines.ptr[i] * rows->scalar_bytes;
  __builtin_prefetch(from);
  __builtin_prefetch(from + TSI_CACHE_LINE);
  __builtin_prefetch((const char *)rows->inverse + (size_t)i * rows->scalar_bytes);
}

/* Entries of a row that are moved at once, forward: also those that follow it, where there are no more of its
 * own, whose places the next row takes. */
#define GROUP 4

/* What rows are filled from, and into. */
typedef struct filling {
  const tsi_index *index, *place;
  const void *given;
  tsi_index *to_index;
  uint16_t *to_offset;
  void *to_values;
} filling;

/* Entry e and the following ones, `all` of them, of which so many are the row's. zero: the
 * column of offset 0. Gives the bits of their distances that an offset has no room for. */
CONSTANTS tsi_index fill_group(const filling *f, tsi_count e, tsi_count to, const tsi_index all,
                               tsi_count own, tsi_index zero, size_t bytes, bool near) {
  tsi_index column[GROUP], far = 0;
  for (tsi_index l = 0; l < all; l++) {
    tsi_copy_scalar(bytes, f->to_values, to + l, f->given, e + l);
    column[l] = f->index[e + l];
  }
  if (f->place)
    for (tsi_index l = 0; l < all; l++) column[l] = f->place[column[l]];
  for (tsi_index l = 0; l < all; l++) {
    const tsi_index distance = column[l] - zero;
    if (near) {
      f->to_offset[to + l] = (uint16_t)distance;
      far |= l < own ? distance & ~(tsi_index)NEAR : 0;
    } else
      f->to_index[to + l] = column[l];
  }
  return far;
}

/* The lines are the rows of the sweep. *fits: not near, or all columns are; else what is made is of no use.
 */
CONSTANTS void fill_from_rows(const form *f, tsi_row_arrays *a, bool *fits, size_t bytes, bool near) {
  const tsi_row_factor *rows = f->rows;
  const tsi_lines *lines = &rows->lines;
  const bool backward = f->backward;
  const tsi_index n = lines->n, base = base_of(backward);
  const tsi_count entries = lines->ptr[n];
  const void *inverse = rows->inverse;
  const filling fill = {lines->index, f->place, rows->values, a->index, a->offset, a->values};
  tsi_index *row = a->row;
  void *to_inverse = a->inverse;
  tsi_count *ptr = a->ptr, to = 0;
  tsi_index far = 0; /* bits beyond those of an offset */
  list_rows(f, row);
  for (tsi_index k = 0; k < n && far == 0; k++) {
    const tsi_index i = row[k];
    tsi_lines_fetch(lines, row, k, n);
    fetch_values(rows, row, k);
    const tsi_index zero = number_of(f->place, i) - base;
    const tsi_count first = lines->ptr[i] + lines->columns,
                    end = lines->ptr[i + 1] - !lines->columns; /* but for the diagonal */
    ptr[k] = to;
    tsi_copy_scalar(bytes, to_inverse, k, inverse, i);
    if (backward) {
      for (tsi_count e = end; e-- > first; to++) far |= fill_group(&fill, e, to, 1, 1, zero, bytes, near);
      continue;
    }
    tsi_count left = end - first, e = first;
    for (; left > 0 && to + GROUP <= entries && e + GROUP <= entries; left -= GROUP) {
      far |= fill_group(&fill, e, to, GROUP, left, zero, bytes, near);
      to += GROUP;
      e += GROUP;
    }
    if (left < 0) to += left;
    for (; left > 0; left--) far |= fill_group(&fill, e++, to++, 1, 1, zero, bytes, near);
  }
  ptr[n] = to;
  *fits = far == 0;
}

/* Entries, or rows, that are fetched ahead of those at work where they lie in no order. */
#define SOON 16

/* The lines are the columns of the sweep's rows. end: n, where each given row ends; given with how many
 * entries it has. Each has one on the diagonal: there is its inverse. */
static void end_rows(const form *f, tsi_count *end, tsi_row_arrays *a) {
  const tsi_row_factor *rows = f->rows;
  const tsi_index n = rows->lines.n;
  tsi_index *row = a->row;
  tsi_count *ptr = a->ptr, to = 0;
  list_rows(f, row);
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index i = row[k];
    if (f->order && n - k > SOON) {
      __builtin_prefetch(end + row[k + SOON], 1);
      __builtin_prefetch((const char *)rows->inverse + (size_t)row[k + SOON] * rows->scalar_bytes);
    }
    tsi_copy_scalar(rows->scalar_bytes, a->inverse, k, rows->inverse, i);
    ptr[k] = to;
    to += end[i] - 1;
    end[i] = to;
  }
  ptr[n] = to;
}

/* How many entries each given row has; the cut may have counted them, and need not keep them. */
static void count_from_columns(tsi_env *env, const tsi_row_factor *rows, tsi_count *end) {
  const tsi_lines *lines = &rows->lines;
  const tsi_count entries = lines->ptr[lines->n];
  if (rows->cut->entries) {
    for (tsi_index i = 0; i < lines->n; i++) end[i] = rows->cut->entries[i];
    TSI_FREE(env, rows->cut->entries);
    return;
  }
  memset(end, 0, (size_t)lines->n * sizeof *end);
  for (tsi_count e = 0; e < entries; e++) end[lines->index[e]]++;
}

/* The rows of a window are filled in another order than that of memory, for which processors do not fetch
 * what is to be written: while row i is filled, what has the place in the window behind that the row has in
 * its own. So a window is there when its first row is filled. */
CONSTANTS void fetch_window(const form *f, const tsi_row_arrays *a, tsi_index i, tsi_index window,
                            size_t bytes, bool near) {
  const tsi_index k = (f->backward ? f->rows->lines.n - 1 - i : i) - window;
  if (k < 0) return;
  __builtin_prefetch((const char *)a->values + (size_t)a->ptr[k] * bytes, 1);
  if (near) __builtin_prefetch(a->offset + a->ptr[k], 1);
}

/* From the last entry that a sweep makes use of on: each given row is filled from its end. Where all are
 * near, so is what is written. *fits: see fill_from_rows. */
CONSTANTS void fill_from_columns(const form *f, tsi_count *end, tsi_row_arrays *a, bool *fits, size_t bytes,
                                 bool near) {
  const tsi_row_factor *rows = f->rows;
  const tsi_lines *lines = &rows->lines;
  const bool backward = f->backward;
  const tsi_index *index = lines->index, *place = f->place;
  const void *given = rows->values;
  void *values = a->values;
  tsi_index *column = a->index;
  uint16_t *offset = a->offset;
  const tsi_index n = lines->n, base = base_of(backward);
  const tsi_count ahead = backward ? SOON : -SOON, entries = lines->ptr[n];
  tsi_index far = 0; /* bits beyond those of an offset */
  const tsi_index window = f->order && has_windows(rows->cut) ? rows->cut->start[1] : 0; /* its rows */
  for (tsi_index k = 0; k < n && far == 0; k++) {
    const tsi_index j = backward ? k : n - 1 - k, number = number_of(place, j);
    const tsi_count first = lines->ptr[j] + lines->columns, stop = lines->ptr[j + 1] - !lines->columns;
    if (window > 0 && first < stop)
      fetch_window(f, a, index[lines->columns ? stop - 1 : first], window, bytes, near);
    for (tsi_count q = first; q < stop; q++) {
      const tsi_count e = backward ? q : first + (stop - 1 - q);
      const tsi_index i = index[e];
      const tsi_count to = --end[i];
      if (!near && e + ahead >= 0 && e + ahead < entries) {
        const tsi_count soon = end[index[e + ahead]];
        __builtin_prefetch((const char *)values + (size_t)soon * bytes, 1);
      }
      tsi_copy_scalar(bytes, values, to, given, e);
      if (near) {
        const tsi_index distance = number - number_of(place, i) + base;
        offset[to] = (uint16_t)distance;
        far |= distance & ~(tsi_index)NEAR;
      } else
        column[to] = number;
    }
  }
  *fits = far == 0;
}

/* The chunks of a stream: those of the cut; of the plain one all rows. */
static inline tsi_index count_chunks(const form *f) {
  return f->order ? f->rows->cut->count : 1;
}

/* The rows of chunk c, by their positions in the order of the sweep. */
static void rows_of_chunk(const form *f, tsi_index c, tsi_index *first, tsi_index *end) {
  const tsi_row_cut *cut = f->rows->cut;
  *first = 0;
  *end = cut->n;
  if (f->order == NULL) return;
  *first = f->backward ? cut->n - cut->start[c + 1] : cut->start[c];
  *end = *first + cut->start[c + 1] - cut->start[c];
}

/* The runs of rows first .. end-1: how many, 0: they are too many. Room for as many as they may be. */
static tsi_index list_chunk_runs(const tsi_count *ptr, tsi_index first, tsi_index end, tsi_row_run *run) {
  const tsi_index most = (end - first) / ROWS_A_RUN;
  tsi_index runs = 0, begin = first;
  for (tsi_index k = first; k < end; k++) {
    const tsi_count entries = ptr[k + 1] - ptr[k];
    if (k + 1 < end && ptr[k + 2] - ptr[k + 1] == entries) continue;
    if (runs == most) return 0;
    run[runs++] = (tsi_row_run){k + 1 - begin, (tsi_index)entries};
    begin = k + 1;
  }
  return runs;
}

static tristar_status list_runs(tsi_env *env, const form *f, tsi_row_arrays *a) {
  tristar_status status = TRISTAR_OK;
  const tsi_index chunks = count_chunks(f);
  TSI_TRY(TSI_ALLOC(env, a->run, f->rows->lines.n / ROWS_A_RUN));
  TSI_TRY(TSI_ALLOC(env, a->run_ptr, (tsi_count)chunks + 1));
  a->run_ptr[0] = 0;
  for (tsi_index c = 0; c < chunks; c++) {
    tsi_index first, end;
    rows_of_chunk(f, c, &first, &end);
    a->run_ptr[c + 1] = a->run_ptr[c] + list_chunk_runs(a->ptr, first, end, a->run + a->run_ptr[c]);
  }
out:
  return status;
}

/* Rows are as given: the plain stream, or the cut does not move them. */
static bool are_given(const form *f) {
  return f->order == NULL || f->rows->cut->way == TSI_ROWS_WHOLE;
}

/* If there is a chunk without runs. */
static tristar_status list_lengths(tsi_env *env, const form *f, tsi_row_arrays *a) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = f->rows->lines.n;
  tsi_index c = 0;
  tsi_count longest = 0;
  while (c < count_chunks(f) && a->run_ptr[c] < a->run_ptr[c + 1]) c++;
  if (c == count_chunks(f)) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, a->length, n));
  for (tsi_index k = 0; k < n; k++) {
    const tsi_count entries = a->ptr[k + 1] - a->ptr[k];
    a->length[k] = (uint16_t)entries;
    longest = tsi_count_max(longest, entries);
  }
  if (longest > UINT16_MAX) TSI_FREE(env, a->length);
out:
  return status;
}

static tristar_status allocate_indices(tsi_env *env, const form *f, tsi_row_arrays *a) {
  return TSI_ALLOC(env, a->index, f->rows->lines.ptr[f->rows->lines.n] + TSI_ENTRIES_AHEAD);
}

/* The arrays of a sweep, all but runs. near: with offsets. */
static tristar_status allocate_sweep(tsi_env *env, const form *f, bool near, tsi_row_arrays *a) {
  tristar_status status = TRISTAR_OK;
  const tsi_row_factor *rows = f->rows;
  const tsi_index n = rows->lines.n;
  const tsi_count entries = rows->lines.ptr[n];
  TSI_TRY(TSI_ALLOC(env, a->row, n));
  TSI_TRY(TSI_ALLOC(env, a->ptr, (tsi_count)n + 1));
  TSI_TRY(tsi_row_scalars(env, rows, entries, &a->values));
  TSI_TRY(tsi_row_scalars(env, rows, n, &a->inverse));
  if (near)
    TSI_TRY(TSI_ALLOC(env, a->offset, entries));
  else
    TSI_TRY(allocate_indices(env, f, a));
out:
  return status;
}

/* Offsets do not fit: indices take their place. */
static tristar_status take_indices(tsi_env *env, const form *f, tsi_row_arrays *a) {
  TSI_FREE(env, a->offset);
  return allocate_indices(env, f, a);
}

static tristar_status fill_rows(tsi_env *env, const form *f, tsi_row_arrays *a) {
  tristar_status status = TRISTAR_OK;
  const size_t bytes = f->rows->scalar_bytes;
  bool fits;
  WITH_CONSTANTS(bytes, a->offset != NULL, fill_from_rows, f, a, &fits);
  if (fits) return TRISTAR_OK;
  TSI_TRY(take_indices(env, f, a));
  WITH_CONSTANTS(bytes, false, fill_from_rows, f, a, &fits);
out:
  return status;
}

static tristar_status fill_columns(tsi_env *env, const form *f, tsi_row_arrays *a) {
  tristar_status status = TRISTAR_OK;
  const tsi_row_factor *rows = f->rows;
  const size_t bytes = rows->scalar_bytes;
  tsi_count *end = NULL;
  bool fits;
  TSI_TRY(TSI_ALLOC(env, end, rows->lines.n));
  count_from_columns(env, rows, end);
  end_rows(f, end, a);
  WITH_CONSTANTS(bytes, a->offset != NULL, fill_from_columns, f, end, a, &fits);
  if (fits) goto out;
  TSI_TRY(take_indices(env, f, a));
  for (tsi_index k = 0; k < rows->lines.n; k++) end[a->row[k]] = a->ptr[k + 1];
  WITH_CONSTANTS(bytes, false, fill_from_columns, f, end, a, &fits);
out:
  TSI_FREE(env, end);
  return status;
}

/* Windows, whose rows lie side by side in b and x. */
static bool is_fetched(const tsi_row_factor *rows) {
  return has_windows(rows->cut) && is_long(rows);
}

tristar_status tsi_row_stream_make(tsi_env *env, tsi_row_factor *rows, bool backward, bool plain) {
  tristar_status status = TRISTAR_OK;
  const int number = backward + 2 * plain;
  tsi_row_arrays *a = &rows->array[number];
  const bool anew = a->run_ptr == NULL;
  TSI_TRY(need_place(env, rows));
  const form f = form_of(rows, backward, plain);
  /* whether moved columns are near shows while they are moved */
  if (anew) TSI_TRY(allocate_sweep(env, &f, f.place || are_near(&rows->lines), a));
  TSI_TRY((rows->lines.columns == backward ? fill_rows : fill_columns)(env, &f, a));
  if (a->index) memset(a->index + a->ptr[rows->lines.n], 0, TSI_ENTRIES_AHEAD * sizeof *a->index);
  if (anew) {
    TSI_TRY(list_runs(env, &f, a));
    TSI_TRY(list_lengths(env, &f, a));
  }
  for (tsi_index k = 0; f.place && k < rows->lines.n; k++) a->row[k] = f.place[a->row[k]];
  rows->sweep[number] = (tsi_row_sweep){
      .stream = {a->row, are_given(&f) ? (backward ? -1 : 1) : 0, a->length, a->ptr, a->index, a->offset,
                 a->index != NULL && are_scattered(rows), base_of(backward), a->values, a->inverse},
      rows->lines.n,
      !plain && is_fetched(rows),
      plain ? 0 : tsi_row_factor_pieces(rows),
      a->run_ptr,
      a->run};
out:
  if (status != TRISTAR_OK) tsi_row_stream_release(env, rows, number);
  return status;
}
