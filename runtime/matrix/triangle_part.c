/* See triangle_part.h. */
#include "runtime/matrix/triangle_part.h"

#include "runtime/matrix/view.h"

#define BLOCK 512 /* Lines that are copied, and then verified in the cache. */

/* One triangle of a pattern. In a symmetric kind, entries of the other triangle are replaced by their mirror
 * images. */
typedef struct triangle_of {
  const tsi_pattern *pattern;
  const void *values;
  bool below; /* Line j has the indices from j on; otherwise the indices up to j. */
  bool unit;
} triangle_of;

/* Finds the place of entry e of line j in the triangle; false: it is not in the triangle. */
static bool find_place(const triangle_of *t, tsi_index j, tsi_count e, tsi_index *line, tsi_index *index,
                       bool *mirrored) {
  const tsi_index i = t->pattern->index[e];
  *mirrored = t->below ? i < j : i > j;
  *line = *mirrored ? i : j;
  *index = *mirrored ? j : i;
  return !(*mirrored && t->pattern->symmetry == TRISTAR_GENERAL) && !(t->unit && i == j);
}

static void count_entries(const triangle_of *t, tsi_count *ptr) {
  const tsi_pattern *p = t->pattern;
  tsi_index line, index;
  bool mirrored;
  for (tsi_index j = 0; j < p->n; j++) {
    ptr[j + 1] += t->unit;
    for (tsi_count e = p->ptr[j]; e < p->ptr[j + 1]; e++)
      if (find_place(t, j, e, &line, &index, &mirrored)) ptr[line + 1]++;
  }
}

static void put_one(const tsi_sparse_kernels *kernels, tsi_index j, tsi_entries *out) {
  const double one = 1;
  kernels->fill(1, &one, (char *)out->item + (size_t)tsi_entries_put(out, j, j) * out->bytes);
}

static void copy_entries(const triangle_of *t, tsi_entries *out) {
  const tsi_pattern *p = t->pattern;
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(p->scalar);
  tsi_index line, index;
  bool mirrored;
  for (tsi_index j = 0; j < p->n; j++) {
    if (t->unit && t->below) put_one(kernels, j, out);
    for (tsi_count e = p->ptr[j]; e < p->ptr[j + 1]; e++) {
      if (!find_place(t, j, e, &line, &index, &mirrored)) continue;
      const tsi_count to = tsi_entries_put(out, line, index), from = mirrored ? ~e : e;
      kernels->gather(1, &from, p->symmetry, t->values, (char *)out->item + (size_t)to * out->bytes);
    }
    if (t->unit && !t->below) put_one(kernels, j, out);
  }
}

/* Lines are sorted, as mirror images may be anywhere. */
static tristar_status filter(tsi_env *env, const tsi_pattern *p, const void *values, bool lower, bool unit,
                             tsi_entries *out) {
  const triangle_of t = {p, values, lower != p->by_rows, unit};
  TSI_TRY(tsi_entries_begin(env, p->n, tsi_sparse_kernels_select(p->scalar)->scalar_bytes, out));
  count_entries(&t, out->ptr);
  TSI_TRY(tsi_entries_reserve(env, out));
  copy_entries(&t, out);
  tsi_entries_end(out);
  return tsi_entries_sort(env, out);
}

/* ---- Lines that ascend --------------------------------------------------------------------------------- */

/* The part of a line in the triangle: first .. end - 1, without the diagonal of a unit triangle. */
typedef struct line_part {
  tsi_count first, end;
} line_part;

typedef struct taking {
  const tristar_view *view;
  tsi_index n;
  bool below, unit; /* as in triangle_of */
} taking;

/* Finds the part of line j; false: the line is not in order. The functions for both widths of indices are the
 * same. */
#define FIND_PART(name, type)                                                                                \
  static bool name(const taking *t, tsi_index j, tsi_count begin, tsi_count stop, line_part *part) {         \
    const type *index = (const type *)t->view->index;                                                        \
    const int64_t base = t->view->base;                                                                      \
    int64_t last = base - 1;  /* no differences of wrong indices: they may overflow */                       \
    tsi_count before = begin; /* Number of indices below j. */                                               \
    for (tsi_count e = begin; e < stop; e++) {                                                               \
      if (index[e] <= last || index[e] - base >= t->n) return false;                                         \
      last = index[e];                                                                                       \
      before += last - base < j;                                                                             \
    }                                                                                                        \
    const bool diagonal = before < stop && index[before] - base == j;                                        \
    part->first = t->below ? before + (diagonal && t->unit) : begin;                                         \
    part->end = t->below ? stop : before + (diagonal && !t->unit);                                           \
    return true;                                                                                             \
  }
FIND_PART(find_part_32, int32_t)
FIND_PART(find_part_64, int64_t)

#define COPY_INDICES(name, type)                                                                             \
  static void name(const taking *t, line_part part, tsi_index *to) {                                         \
    const type *index = (const type *)t->view->index;                                                        \
    for (tsi_count e = part.first; e < part.end; e++) *to++ = (tsi_index)(index[e] - t->view->base);         \
  }
COPY_INDICES(copy_indices_32, int32_t)
COPY_INDICES(copy_indices_64, int64_t)

/* Finds the parts of all lines, and ptr of the result; false: not all lines are in order. */
static bool find_parts(const taking *t, line_part *part, tsi_count *ptr) {
  const bool wide = t->view->index_bits == 64;
  tsi_count stop = tsi_view_begin(t->view, 0);
  ptr[0] = 0;
  if (stop != 0) return false;
  for (tsi_index j = 0; j < t->n; j++) {
    const tsi_count begin = stop;
    stop = tsi_view_begin(t->view, (int64_t)j + 1);
    if (stop < begin || !(wide ? find_part_64 : find_part_32)(t, j, begin, stop, &part[j])) return false;
    ptr[j + 1] = ptr[j] + part[j].end - part[j].first + t->unit;
  }
  return true;
}

static void copy_parts(const taking *t, const line_part *part, const tsi_count *ptr, tsi_index *index,
                       char *values) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->view->scalar);
  const size_t scalar = kernels->scalar_bytes;
  const bool wide = t->view->index_bits == 64;
  const double one = 1;
  for (tsi_index j = 0; j < t->n; j++) {
    const tsi_count to = ptr[j] + (t->unit && t->below), at = t->below ? ptr[j] : ptr[j + 1] - 1;
    (wide ? copy_indices_64 : copy_indices_32)(t, part[j], index + to);
    memcpy(values + (size_t)to * scalar, (const char *)t->view->values + (size_t)part[j].first * scalar,
           (size_t)(part[j].end - part[j].first) * scalar);
    if (!t->unit) continue;
    index[at] = j;
    kernels->fill(1, &one, values + (size_t)at * scalar);
  }
}

/* ---- Ascending lines of arrays that contain only the triangle ------------------------------------------ */

/* Sets the starts of lines; false: ptr decreases, or does not begin with 0. */
#define TAKE_PTR(name, type)                                                                                 \
  static bool name(const taking *t, tsi_count *ptr) {                                                        \
    const type *given = (const type *)t->view->ptr;                                                          \
    const type base = (type)t->view->base;                                                                   \
    const tsi_count n = t->n;                                                                                \
    tsi_count falls = given[0] != base;                                                                      \
    ptr[0] = 0;                                                                                              \
    for (tsi_count j = 1; j <= n; j++) {                                                                     \
      ptr[j] = given[j] - base;                                                                              \
      falls += given[j] < given[j - 1];                                                                      \
    }                                                                                                        \
    return falls == 0;                                                                                       \
  }
TAKE_PTR(take_ptr_32, int32_t)
TAKE_PTR(take_ptr_64, int64_t)

static bool take_ptr(const taking *t, tsi_count *ptr) {
  return (t->view->ptr_bits == 64 ? take_ptr_64 : take_ptr_32)(t, ptr);
}

/* State of the verification from one line to the next. */
typedef struct ends {
  int64_t last;    /* Last index of the latest line. */
  tsi_count falls; /* Number of lines whose first index is not above the last index of the line before. */
} ends;

/* Negative if a > b. 32-bit indices use a difference, which could overflow with 64 bits. */
#define ABOVE_32(a, b) ((b) - (a))
#define ABOVE_64(a, b) (-(int64_t)((a) > (b)))

/* Verifies that the first and the last index of lines first .. stop - 1 are in the triangle. */
#define SEE_ENDS(name, type, ABOVE)                                                                          \
  static bool name(const taking *t, const tsi_count *ptr, tsi_index first, tsi_index stop, ends *seen) {     \
    const type *index = (const type *)t->view->index;                                                        \
    const int64_t base = t->view->base, n = t->n;                                                            \
    int64_t outside = 0;             /* negative: an index is outside */                                     \
    ends now = *seen;                /* a copy in registers */                                               \
    const int64_t by_row = t->below; /* growth of the least index per row; 1 - this: of the greatest */      \
    int64_t least = base + (t->below ? first : 0), most = base + (t->below ? n - 1 : first);                 \
    tsi_count begin = ptr[first];                                                                            \
    for (int64_t j = first; j < stop; j++, least += by_row, most += !by_row) {                               \
      const tsi_count end = ptr[j + 1];                                                                      \
      if (begin == end) continue;                                                                            \
      const int64_t low = index[begin], high = index[end - 1];                                               \
      begin = end;                                                                                           \
      now.falls += low <= now.last;                                                                          \
      now.last = high;                                                                                       \
      outside |= ABOVE(least, low) | ABOVE(high, most);                                                      \
    }                                                                                                        \
    *seen = now;                                                                                             \
    return outside >= 0;                                                                                     \
  }
SEE_ENDS(see_ends_32, int32_t, ABOVE_32)
SEE_ENDS(see_ends_64, int64_t, ABOVE_64)

static bool see_ends(const taking *t, const tsi_count *ptr, tsi_index first, tsi_index stop, ends *seen) {
  return (t->view->index_bits == 64 ? see_ends_64 : see_ends_32)(t, ptr, first, stop, seen);
}

static ends begin_ends(const taking *t) {
  return (ends){t->view->base - 1, 0};
}

/* Copies entries begin .. end - 1. Returns the number of indices that are not above the one before. Indices
 * inside a line are not verified yet: differences of unsigned numbers do not overflow. */
#define COPY_SOME(name, type)                                                                                \
  static tsi_count name(const taking *t, tsi_count begin, tsi_count end, tsi_index *to) {                    \
    const type *index = (const type *)t->view->index;                                                        \
    const uint64_t base = (uint64_t)t->view->base;                                                           \
    tsi_count falls = 0, e = begin;                                                                          \
    if (e == 0 && end > 0) to[e++] = (tsi_index)((uint64_t)index[0] - base);                                 \
    for (; e < end; e++) {                                                                                   \
      to[e] = (tsi_index)((uint64_t)index[e] - base);                                                        \
      falls += index[e] <= index[e - 1];                                                                     \
    }                                                                                                        \
    return falls;                                                                                            \
  }
COPY_SOME(copy_some_32, int32_t)
COPY_SOME(copy_some_64, int64_t)

/* Copies the diagonal of lines first .. stop - 1, whose indices have been copied. bytes: a constant. */
static inline __attribute__((always_inline)) void copy_scalars(const taking *t, const tsi_entries *out,
                                                               tsi_index first, tsi_index stop,
                                                               char *diagonal, const size_t bytes) {
  const char *values = out->item;
  const tsi_count *ptr = out->ptr, last = !t->below; /* the diagonal is the first or the last entry */
  const tsi_index *index = out->index;
  for (tsi_index j = first; j < stop; j++) {
    const tsi_count at = ptr[j + last] - last;
    if (ptr[j] < ptr[j + 1] && index[at] == j)
      tsi_copy_scalar(bytes, diagonal, j, values, at);
    else
      memset(diagonal + (size_t)j * bytes, 0, bytes);
  }
}

static void copy_diagonal(const taking *t, const tsi_entries *out, tsi_index first, tsi_index stop,
                          void *diagonal) {
  switch (out->bytes) {
  case 4:
    copy_scalars(t, out, first, stop, diagonal, 4);
    break;
  case 8:
    copy_scalars(t, out, first, stop, diagonal, 8);
    break;
  default:
    copy_scalars(t, out, first, stop, diagonal, 16);
  }
}

/* Copies lines block by block, and verifies each block while it is in the cache. seen NULL: the ends of lines
 * were verified before. *falls: number of indices that are not above the one before. Returns false if the
 * ends of a line are outside. */
static bool copy_lines(const taking *t, const tsi_entries *out, ends *seen, tsi_count *falls,
                       tsi_triangle_values *properties) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->view->scalar);
  *falls = 0;
  properties->finite = true;
  for (tsi_index first = 0, stop; first < t->n; first = stop) {
    stop = first + tsi_index_min(BLOCK, t->n - first);
    const tsi_count begin = out->ptr[first], end = out->ptr[stop];
    const size_t offset = (size_t)begin * out->bytes;
    const char *from = (const char *)t->view->values + offset;
    if (seen && !see_ends(t, out->ptr, first, stop, seen)) return false;
    *falls += (t->view->index_bits == 64 ? copy_some_64 : copy_some_32)(t, begin, end, out->index);
    if (begin < end) memcpy((char *)out->item + offset, from, (size_t)(end - begin) * out->bytes);
    properties->finite = properties->finite && kernels->first_not_finite(end - begin, from) == end - begin;
    copy_diagonal(t, out, first, stop, properties->diagonal);
  }
  return true;
}

/* *taken: all lines were in order, and out and `properties` are filled; otherwise both are empty. */
static tristar_status take_whole(tsi_env *env, const taking *t, bool *taken, tsi_triangle_values *properties,
                                 tsi_entries *out) {
  tristar_status status = TRISTAR_OK;
  ends seen = begin_ends(t);
  tsi_count falls;
  *taken = false;
  TSI_TRY_OUT(TSI_ALLOC(env, out->ptr, (tsi_count)t->n + 1));
  /* most other arrays fail this first test */
  if (!take_ptr(t, out->ptr) || !see_ends(t, out->ptr, 0, tsi_index_min(BLOCK, t->n), &seen)) goto out;
  TSI_TRY_OUT(tsi_entries_allocate(env, out));
  TSI_TRY_OUT(TSI_ALLOC_SIZED(env, properties->diagonal, t->n, out->bytes));
  seen = begin_ends(t);
  *taken = copy_lines(t, out, &seen, &falls, properties) && falls == seen.falls;
out:
  if (!*taken) {
    tsi_entries_finish(out);
    TSI_FREE(env, properties->diagonal);
    properties->finite = false;
  }
  return status;
}

/* ---- Any view ------------------------------------------------------------------------------------------ */

/* Can the arrays of the view be read at all? */
static bool is_plain(const tristar_view *v) {
  return (v->symmetry == TRISTAR_GENERAL || v->symmetry == TRISTAR_SYMMETRIC) && v->rows == v->cols &&
         v->rows >= 0 && v->rows <= TSI_INDEX_MAX && v->ptr != NULL && v->index != NULL &&
         v->values != NULL && (v->base == 0 || v->base == 1) && (v->ptr_bits == 32 || v->ptr_bits == 64) &&
         (v->index_bits == 32 || v->index_bits == 64) &&
         (v->format == TRISTAR_CSR || v->format == TRISTAR_CSC) &&
         tsi_sparse_kernels_select((char)v->scalar) != NULL;
}

/* Is the first entry off the diagonal below it? Reads at most two entries of each line. */
static bool first_is_below(const taking *t) {
  for (tsi_index j = 0; j < t->n; j++) {
    const tsi_count begin = tsi_view_begin(t->view, j), stop = tsi_view_begin(t->view, (int64_t)j + 1);
    if (begin < 0 || stop < begin) return false;
    for (tsi_count e = begin; e < stop && e < begin + 2; e++) {
      const int64_t i = tsi_view_index(t->view, e);
      if (i != j) return i > j;
    }
  }
  return false;
}

bool tsi_triangle_has_columns(const tristar_view *view, tristar_uplo uplo, tristar_diag diag) {
  if (!is_plain(view) || diag == TRISTAR_UNIT || view->index_bits != 32 || view->base != 0) return false;
  const bool lower = uplo == TRISTAR_LOWER;
  const taking t = {view, (tsi_index)view->rows, lower, false};
  /* in a symmetric matrix, rows of the other triangle are columns of this one */
  return view->symmetry == TRISTAR_SYMMETRIC ? first_is_below(&t) == lower : view->format == TRISTAR_CSC;
}

tristar_status tsi_triangle_columns(tsi_env *env, const tristar_view *view, tristar_uplo uplo,
                                    tsi_count **ptr, tsi_column_arrays *columns) {
  const taking t = {view, (tsi_index)view->rows, uplo == TRISTAR_LOWER, false};
  TSI_TRY(TSI_ALLOC(env, *ptr, (tsi_count)t.n + 1));
  *columns = (tsi_column_arrays){.n = t.n,
                                 .lower = t.below,
                                 .scalar = (char)view->scalar,
                                 .ptr = *ptr,
                                 .index = view->index,
                                 .values = view->values};
  ends seen = begin_ends(&t);
  if (!take_ptr(&t, *ptr) || !see_ends(&t, *ptr, 0, t.n, &seen)) TSI_FREE(env, *ptr);
  columns->falls = seen.falls;
  return TRISTAR_OK;
}

tristar_status tsi_triangle_take_columns(tsi_env *env, const tristar_view *view,
                                         const tsi_column_arrays *columns, tsi_count **ptr,
                                         tsi_pattern **pattern, void **values,
                                         tsi_triangle_values *properties) {
  tristar_status status = TRISTAR_OK;
  const taking t = {view, columns->n, columns->lower, false};
  tsi_entries out = {
      .n = t.n, .bytes = tsi_sparse_kernels_select(columns->scalar)->scalar_bytes, .ptr = *ptr};
  tsi_count falls;
  *ptr = NULL;
  *pattern = NULL;
  *values = NULL;
  *properties = (tsi_triangle_values){.diagonal = NULL};
  TSI_TRY_OUT(tsi_entries_allocate(env, &out));
  TSI_TRY_OUT(TSI_ALLOC_SIZED(env, properties->diagonal, t.n, out.bytes));
  (void)copy_lines(&t, &out, NULL, &falls, properties);
  if (falls == columns->falls)
    TSI_TRY_OUT(tsi_pattern_from_entries(env, &out, false, columns->scalar, pattern, values));
out:
  tsi_entries_finish(&out);
  if (*pattern == NULL) TSI_FREE(env, properties->diagonal);
  return status;
}

/* Finds the parts of the triangle if a symmetric matrix stores all entries in it. */
static bool find_all(taking t, line_part *part, tsi_count *ptr) {
  const bool unit = t.unit;
  t.unit = false;
  if (!find_parts(&t, part, ptr) || ptr[t.n] != tsi_view_begin(t.view, t.n)) return false;
  t.unit = unit;
  return !unit || find_parts(&t, part, ptr);
}

/* *taken: the lines were in order, and out is filled. *turned: its lines are columns instead of rows, or vice
 * versa: the lines of the stored triangle of a symmetric matrix are also the lines of the other triangle.
 * properties: filled if it costs nothing. */
static tristar_status take_parts(tsi_env *env, const tristar_view *view, const triangle_of *which,
                                 bool *taken, bool *turned, tsi_triangle_values *properties,
                                 tsi_entries *out) {
  *taken = *turned = false;
  if (!is_plain(view)) return TRISTAR_OK;
  const bool symmetric = view->symmetry == TRISTAR_SYMMETRIC;
  taking t = {view, (tsi_index)view->rows, which->below, which->unit};
  const size_t scalar = tsi_sparse_kernels_select((char)view->scalar)->scalar_bytes;
  *out = (tsi_entries){.n = t.n, .bytes = scalar};
  if (symmetric) {
    t.below = first_is_below(&t);
    *turned = t.below != which->below;
  }
  if (!t.unit) TSI_TRY(take_whole(env, &t, taken, properties, out));
  if (*taken) return TRISTAR_OK;
  TSI_SCRATCH(env, line_part, part, t.n);
  TSI_TRY(TSI_ALLOC(env, out->ptr, (tsi_count)t.n + 1));
  *taken = symmetric ? find_all(t, part, out->ptr) : find_parts(&t, part, out->ptr);
  if (!*taken) {
    TSI_FREE(env, out->ptr);
    return TRISTAR_OK;
  }
  TSI_TRY(tsi_entries_allocate(env, out));
  copy_parts(&t, part, out->ptr, out->index, out->item);
  return TRISTAR_OK;
}

/* ---- Either way ---------------------------------------------------------------------------------------- */

static tristar_status filter_view(tsi_env *env, const tristar_view *view, bool lower, bool unit,
                                  tsi_entries *out) {
  TSI_OWNED tsi_pattern *pattern = NULL;
  TSI_OWNED void *values = NULL; /* summed */
  tristar_view places = *view;
  places.values = NULL; /* values of the other triangle are not verified */
  TSI_TRY(tsi_pattern_create(env, &places, &pattern));
  if (!unit) TSI_TRY(tsi_view_check_diagonal(env, view));
  TSI_TRY(tsi_pattern_allocate_values(env, pattern, &values));
  tsi_pattern_take(pattern, view->values, values);
  return filter(env, pattern, values, lower, unit, out);
}

tristar_status tsi_triangle_part(tsi_env *env, const tristar_view *view, tristar_uplo uplo, tristar_diag diag,
                                 tsi_pattern **pattern, void **values, tsi_triangle_values *properties) {
  tristar_status status = TRISTAR_OK;
  const bool lower = uplo == TRISTAR_LOWER, unit = diag == TRISTAR_UNIT,
             by_rows = view->format == TRISTAR_CSR;
  const triangle_of which = {NULL, NULL, lower != by_rows, unit};
  tsi_entries f = {.ptr = NULL};
  bool taken, turned;
  *pattern = NULL;
  *values = NULL;
  *properties = (tsi_triangle_values){.diagonal = NULL};
  TSI_TRY_OUT(take_parts(env, view, &which, &taken, &turned, properties, &f));
  turned = taken && turned;
  if (!taken) TSI_TRY_OUT(filter_view(env, view, lower, unit, &f));
  TSI_TRY_OUT(tsi_pattern_from_entries(env, &f, by_rows != turned, (char)view->scalar, pattern, values));
out:
  tsi_entries_finish(&f);
  if (status != TRISTAR_OK) TSI_FREE(env, properties->diagonal);
  return status;
}
