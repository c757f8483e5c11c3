/* Fills the streams of rows: see row_filling.h. */
#include "runtime/rows/row_filling.h"

/* Calls fill(..., bytes, near) with both as constants: a separate loop over entries for each. */
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

/* Lists the given rows in the order of a sweep. */
static void list_rows(const tsi_row_form *f, tsi_index *row) {
  const tsi_index n = f->rows->lines.n, *order = tsi_row_order(f);
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index r = f->backward ? n - 1 - k : k;
    row[k] = order ? order[r] : r;
  }
}

/* ---- From rows ----------------------------------------------------------------------------------------- */

/* Prefetches data of the rows after row[k], like tsi_lines_fetch, and also values and inverses. bytes: a
 * constant. */
CONSTANTS void fetch_row(const tsi_row_factor *rows, const tsi_index *row, tsi_index k, const size_t bytes) {
  enum { NEXT = 8 };
  const tsi_count *ptr = rows->lines.ptr;
  if (rows->lines.n - k <= 2 * NEXT) return;
  const tsi_index i = row[k + NEXT];
  const tsi_count first = ptr[i];
  const char *from = (const char *)rows->values + (size_t)first * bytes;
  __builtin_prefetch(ptr + row[k + 2 * NEXT]);
  __builtin_prefetch(rows->lines.index + first);
  __builtin_prefetch(from);
  __builtin_prefetch(from + TSI_CACHE_LINE);
  __builtin_prefetch((const char *)rows->inverse + (size_t)i * bytes);
}

/* Entries of a row that are copied at once in the forward sweep. At the end of a row the group includes
 * entries behind it; the next row overwrites their places. */
#define GROUP 4

/* Source and target of the filling of rows. */
typedef struct filling {
  const tsi_index *index, *place;
  const void *given;
  tsi_index *to_index;
  uint16_t *to_offset;
  void *to_values;
} filling;

/* Masks for the entries of a group that belong to the row, by the number of remaining entries: all bits are
 * set, or none. */
static const tsi_index is_own[GROUP + 1][GROUP] = {
    {0, 0, 0, 0}, {-1, 0, 0, 0}, {-1, -1, 0, 0}, {-1, -1, -1, 0}, {-1, -1, -1, -1}};

/* Copies entry e and the following ones, `all` of them, of which `own` belong to the row. zero: the column of
 * offset 0. Returns the bits of their distances that do not fit into an offset. */
CONSTANTS tsi_index fill_group(const filling *f, tsi_count e, tsi_count to, const tsi_index all,
                               tsi_count own, tsi_index zero, size_t bytes, bool near, bool moved) {
  const tsi_index *mask = is_own[tsi_count_min(own, GROUP)];
  tsi_index column[GROUP], far = 0;
  for (tsi_index l = 0; l < all; l++) {
    tsi_copy_scalar(bytes, f->to_values, to + l, f->given, e + l);
    column[l] = f->index[e + l];
  }
  if (moved)
    for (tsi_index l = 0; l < all; l++) column[l] = f->place[column[l]];
  for (tsi_index l = 0; l < all; l++) {
    const tsi_index distance = column[l] - zero;
    if (near) {
      f->to_offset[to + l] = (uint16_t)distance;
      far |= distance & mask[l];
    } else
      f->to_index[to + l] = column[l];
  }
  return far & ~(tsi_index)TSI_ROW_NEAR;
}

/* Fills the rows of the sweep from lines that are these rows. Returns the bits of distances that do not fit
 * into an offset. Constants: bytes to moved. */
CONSTANTS tsi_index fill_each(const tsi_row_form *f, tsi_row_arrays *a, const size_t bytes, const bool near,
                              const bool backward, const bool moved) {
  const tsi_row_factor *rows = f->rows;
  const tsi_lines lines = rows->lines;
  const tsi_index n = lines.n, base = tsi_row_offset_base(backward), *place = f->place;
  const tsi_count last = lines.ptr[n] - GROUP; /* last possible start of a group */
  const char *inverse = rows->inverse;
  const filling fill = {lines.index, f->place, rows->values, a->index, a->offset, a->values};
  const tsi_index *row = a->row;
  char *to_inverse = a->inverse;
  tsi_count *ptr = a->ptr, to = 0;
  tsi_index far = 0;
  for (tsi_index k = 0; k < n && far == 0; k++) {
    const tsi_index i = row[k];
    fetch_row(rows, row, k, bytes);
    const tsi_index zero = (moved ? place[i] : i) - base;
    /* except the diagonal */
    tsi_count e = lines.ptr[i] + backward, end = lines.ptr[i + 1] - !backward;
    ptr[k] = to;
    tsi_copy_scalar(bytes, to_inverse, k, inverse, i);
    if (backward) {
      while (end > e) far |= fill_group(&fill, --end, to++, 1, 1, zero, bytes, near, moved);
      continue;
    }
    tsi_count left = end - e;
    for (; left > 0 && tsi_count_max(to, e) <= last; left -= GROUP) {
      far |= fill_group(&fill, e, to, GROUP, left, zero, bytes, near, moved);
      to += GROUP;
      e += GROUP;
    }
    if (left < 0) to += left;
    for (; left > 0; left--) far |= fill_group(&fill, e++, to++, 1, 1, zero, bytes, near, moved);
  }
  ptr[n] = to;
  return far;
}

/* The lines are the rows of the sweep. *fits: not near, or all columns are near; else the result cannot be
 * used. */
CONSTANTS void fill_from_rows(const tsi_row_form *f, tsi_row_arrays *a, bool *fits, const size_t bytes,
                              const bool near) {
  list_rows(f, a->row);
  if (f->place)
    *fits = (f->backward ? fill_each(f, a, bytes, near, true, true)
                         : fill_each(f, a, bytes, near, false, true)) == 0;
  else
    *fits = (f->backward ? fill_each(f, a, bytes, near, true, false)
                         : fill_each(f, a, bytes, near, false, false)) == 0;
}

/* ---- From columns -------------------------------------------------------------------------------------- */

/* Entries, or rows, that are prefetched if accesses are scattered. */
#define SOON 16

/* Counts the entries of each given row, if the lines are the columns of the sweep's rows. */
static tristar_status count_from_columns(tsi_env *env, const tsi_lines *lines, tsi_index **count) {
  const tsi_count entries = lines->ptr[lines->n];
  const tsi_index *index = lines->index;
  TSI_TRY(TSI_ALLOC_ZERO(env, *count, lines->n));
  for (tsi_count e = 0; e < entries; e++) (*count)[index[e]]++;
  return TRISTAR_OK;
}

/* end: n, the end of each given row, from the numbers of entries. Each row has a diagonal entry, of which the
 * inverse is stored. bytes: a constant. */
CONSTANTS void end_rows(const tsi_row_form *f, const tsi_index *count, tsi_count *end, tsi_row_arrays *a,
                        const size_t bytes) {
  const tsi_row_factor *rows = f->rows;
  const tsi_index n = rows->lines.n, *order = tsi_row_order(f);
  const char *inverse = rows->inverse;
  void *to_inverse = a->inverse;
  tsi_index *row = a->row;
  tsi_count *ptr = a->ptr, to = 0;
  const tsi_index step = f->backward ? -1 : 1, begin = f->backward ? n - 1 : 0;
  const bool apart = order && !tsi_row_has_windows(f->cut);
  for (tsi_index k = 0, r = begin; k < n; k++, r += step) {
    const tsi_index i = order ? order[r] : r;
    if (apart && n - k > SOON) {
      const tsi_index soon = order[r + step * SOON];
      __builtin_prefetch(count + soon);
      __builtin_prefetch(end + soon, 1);
      __builtin_prefetch(inverse + (size_t)soon * bytes);
    }
    row[k] = i;
    tsi_copy_scalar(bytes, to_inverse, k, inverse, i);
    ptr[k] = to;
    to += count[i] - 1;
    end[i] = to;
  }
  ptr[n] = to;
}

/* Copies the lines, beginning with the entry that a sweep uses last: each given row is filled from its end.
 * If columns are near, writes are near each other, too. Rows of a window are filled in another order than
 * that of memory, so processors do not prefetch the targets of writes. So while a row is filled, the row at
 * the same position in the next window is prefetched. A window is in the cache when its first row is filled.
 * window: its number of rows, or 0. Returns the bits of distances that do not fit into an offset. Constants:
 * bytes to moved. */
CONSTANTS tsi_index fill_lines(const tsi_row_form *f, tsi_count *end, const tsi_row_arrays *a,
                               tsi_index window, const size_t bytes, const bool near, const bool backward,
                               const bool moved) {
  const tsi_row_factor *rows = f->rows;
  const tsi_count *from = rows->lines.ptr, *ptr = a->ptr;
  const tsi_index *index = rows->lines.index, *place = f->place;
  const char *given = rows->values;
  char *values = a->values;
  tsi_index *column = a->index;
  uint16_t *offset = a->offset;
  const tsi_index n = rows->lines.n, base = tsi_row_offset_base(backward);
  const tsi_count ahead = backward ? SOON : -SOON, entries = from[n];
  tsi_index far = 0;
  for (tsi_index k = 0; k < n && far == 0; k++) {
    const tsi_index j = backward ? k : n - 1 - k, number = moved ? place[j] : j;
    const tsi_count first = from[j] + !backward, stop = from[j + 1] - backward; /* except the diagonal */
    if (first == stop) continue;
    if (window > 0) {
      const tsi_index i = index[backward ? first : stop - 1], behind = (backward ? n - 1 - i : i) - window;
      if (behind >= 0) {
        __builtin_prefetch(values + (size_t)ptr[behind] * bytes, 1);
        if (near) __builtin_prefetch(offset + ptr[behind], 1);
      }
    }
    for (tsi_count e = backward ? first : stop - 1; backward ? e < stop : e >= first;
         e += backward ? 1 : -1) {
      const tsi_index i = index[e];
      const tsi_count to = --end[i];
      if (!near && e + ahead >= 0 && e + ahead < entries)
        __builtin_prefetch(values + (size_t)end[index[e + ahead]] * bytes, 1);
      tsi_copy_scalar(bytes, values, to, given, e);
      if (near) {
        const tsi_index distance = number - (moved ? place[i] : i) + base;
        offset[to] = (uint16_t)distance;
        far |= distance & ~(tsi_index)TSI_ROW_NEAR;
      } else
        column[to] = number;
    }
  }
  return far;
}

/* *fits: see fill_from_rows. */
CONSTANTS void fill_from_columns(const tsi_row_form *f, tsi_count *end, const tsi_row_arrays *a, bool *fits,
                                 const size_t bytes, const bool near) {
  const tsi_index window = f->cut && tsi_row_has_windows(f->cut) ? f->cut->start[1] : 0;
  if (f->place)
    *fits = (f->backward ? fill_lines(f, end, a, 0, bytes, near, true, true)
                         : fill_lines(f, end, a, 0, bytes, near, false, true)) == 0;
  else
    *fits = (f->backward ? fill_lines(f, end, a, window, bytes, near, true, false)
                         : fill_lines(f, end, a, window, bytes, near, false, false)) == 0;
}

/* ---- Either way ---------------------------------------------------------------------------------------- */

tristar_status tsi_row_allocate_indices(tsi_env *env, const tsi_row_form *f, tsi_row_arrays *a) {
  return TSI_ALLOC(env, a->index, f->rows->lines.ptr[f->rows->lines.n] + TSI_ENTRIES_AHEAD);
}

/* Replaces offsets, which do not fit, by indices. */
static tristar_status take_indices(tsi_env *env, const tsi_row_form *f, tsi_row_arrays *a) {
  TSI_FREE(env, a->offset);
  return tsi_row_allocate_indices(env, f, a);
}

static tristar_status fill_rows(tsi_env *env, const tsi_row_form *f, tsi_row_arrays *a) {
  const size_t bytes = f->rows->scalar_bytes;
  bool fits;
  WITH_CONSTANTS(bytes, a->offset != NULL, fill_from_rows, f, a, &fits);
  if (fits) return TRISTAR_OK;
  TSI_TRY(take_indices(env, f, a));
  WITH_CONSTANTS(bytes, false, fill_from_rows, f, a, &fits);
  return TRISTAR_OK;
}

static tristar_status fill_columns(tsi_env *env, const tsi_row_form *f, const tsi_index *counted,
                                   tsi_row_arrays *a) {
  const tsi_row_factor *rows = f->rows;
  const size_t bytes = rows->scalar_bytes;
  TSI_OWNED tsi_index *count = NULL;
  bool fits;
  TSI_SCRATCH(env, tsi_count, end, rows->lines.n);
  if (counted == NULL) {
    TSI_TRY(count_from_columns(env, &rows->lines, &count));
    counted = count;
  }
  switch (bytes) {
  case 4:
    end_rows(f, counted, end, a, 4);
    break;
  case 8:
    end_rows(f, counted, end, a, 8);
    break;
  default:
    end_rows(f, counted, end, a, 16);
  }
  WITH_CONSTANTS(bytes, a->offset != NULL, fill_from_columns, f, end, a, &fits);
  if (fits) return TRISTAR_OK;
  TSI_TRY(take_indices(env, f, a));
  for (tsi_index k = 0; k < rows->lines.n; k++) end[a->row[k]] = a->ptr[k + 1];
  WITH_CONSTANTS(bytes, false, fill_from_columns, f, end, a, &fits);
  return TRISTAR_OK;
}

tristar_status tsi_row_fill(tsi_env *env, const tsi_row_form *f, const tsi_index *counted,
                            tsi_row_arrays *a) {
  return f->rows->lines.columns == f->backward ? fill_rows(env, f, a) : fill_columns(env, f, counted, a);
}
