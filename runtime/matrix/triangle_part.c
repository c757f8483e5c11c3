/* See triangle_part.h. */
#include "runtime/matrix/triangle_part.h"

#include "runtime/matrix/view.h"

#define BLOCK 512 /* lines that are copied, and looked at in the cache */

/* One triangle of a pattern. Of a symmetric kind entries of the other triangle stand at their mirror places.
 */
typedef struct triangle_of {
  const tsi_pattern *pattern;
  const void *values;
  bool below; /* of line j the indices from j on count, else those up to j */
  bool unit;
} triangle_of;

/* Where entry e of line j stands in the triangle: false: nowhere. */
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

/* Lines come out sorted: mirror images may stand anywhere. */
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

/* Which part of a line is the triangle's: from `first` up to `end`, the diagonal left out of a unit one. */
typedef struct line_part {
  tsi_count first, end;
} line_part;

typedef struct taking {
  const tristar_view *view;
  tsi_index n;
  bool below, unit; /* as in triangle_of */
} taking;

/* The part of line j, if the line is in order. The functions for each width of indices are the same. */
#define FIND_PART(name, type)                                                                                \
  static bool name(const taking *t, tsi_index j, tsi_count begin, tsi_count stop, line_part *part) {         \
    const type *index = (const type *)t->view->index;                                                        \
    const int64_t base = t->view->base;                                                                      \
    int64_t last = base - 1;  /* no difference of what is not in the matrix: it may overflow */              \
    tsi_count before = begin; /* indices below j */                                                          \
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

/* The parts of all lines, and ptr of what comes out. false: not all lines are in order. */
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

/* ---- Lines that ascend and are the triangle's from end to end ------------------------------------------ */

/* Where lines begin. false: ptr falls, or does not begin with 0. */
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

/* What is to hold of the entries from one line to the next. */
typedef struct ends {
  int64_t last;    /* index of the latest line */
  tsi_count falls; /* lines that begin with an index that is not above the last one of the line before */
} ends;

/* Negative where a > b: of 32-bit indices by a difference, which may overflow in 64 bits. */
#define ABOVE_32(a, b) ((b) - (a))
#define ABOVE_64(a, b) (-(int64_t)((a) > (b)))

/* The first and the last index of lines first .. stop - 1 are the triangle's. */
#define SEE_ENDS(name, type, ABOVE)                                                                          \
  static bool name(const taking *t, const tsi_count *ptr, tsi_index first, tsi_index stop, ends *seen) {     \
    const type *index = (const type *)t->view->index;                                                        \
    const int64_t base = t->view->base, n = t->n;                                                            \
    int64_t outside = 0;             /* negative: an end is */                                               \
    ends now = *seen;                /* not in memory */                                                     \
    const int64_t by_row = t->below; /* what the least index grows by, and what the greatest does not */     \
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

/* Entries begin .. end - 1. Gives how many indices are not above the one before. Those inside a line may be
 * anything yet: differences of unsigned numbers do not overflow. */
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

/* Of lines first .. stop - 1, whose indices were copied. bytes: a constant. */
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

/* Copies block of lines after block, and looks at each while it is in the cache; seen NULL: their ends were
 * seen before. *falls: indices that are not above the one before. false: the ends of a line are outside. */
static bool copy_lines(const taking *t, const tsi_entries *out, ends *seen, tsi_count *falls,
                       tsi_triangle_values *known) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->view->scalar);
  *falls = 0;
  known->finite = true;
  for (tsi_index first = 0, stop; first < t->n; first = stop) {
    stop = first + tsi_index_min(BLOCK, t->n - first);
    const tsi_count begin = out->ptr[first], end = out->ptr[stop];
    const size_t offset = (size_t)begin * out->bytes;
    const char *from = (const char *)t->view->values + offset;
    if (seen && !see_ends(t, out->ptr, first, stop, seen)) return false;
    *falls += (t->view->index_bits == 64 ? copy_some_64 : copy_some_32)(t, begin, end, out->index);
    if (begin < end) memcpy((char *)out->item + offset, from, (size_t)(end - begin) * out->bytes);
    known->finite = known->finite && kernels->first_not_finite(end - begin, from) == end - begin;
    copy_diagonal(t, out, first, stop, known->diagonal);
  }
  return true;
}

/* *taken: all lines were so, and out is full, and `known`; else both are empty. */
static tristar_status take_whole(tsi_env *env, const taking *t, bool *taken, tsi_triangle_values *known,
                                 tsi_entries *out) {
  tristar_status status = TRISTAR_OK;
  ends seen = begin_ends(t);
  tsi_count falls;
  *taken = false;
  TSI_TRY_OUT(TSI_ALLOC(env, out->ptr, (tsi_count)t->n + 1));
  /* most that are not so show it at once */
  if (!take_ptr(t, out->ptr) || !see_ends(t, out->ptr, 0, tsi_index_min(BLOCK, t->n), &seen)) goto out;
  TSI_TRY_OUT(tsi_entries_allocate(env, out));
  TSI_TRY_OUT(TSI_ALLOC_SIZED(env, known->diagonal, t->n, out->bytes));
  seen = begin_ends(t);
  *taken = copy_lines(t, out, &seen, &falls, known) && falls == seen.falls;
out:
  if (!*taken) {
    tsi_entries_finish(out);
    TSI_FREE(env, known->diagonal);
    known->finite = false;
  }
  return status;
}

/* ---- Any view ------------------------------------------------------------------------------------------ */

/* What a view must be for its arrays to be read at all. */
static bool is_plain(const tristar_view *v) {
  return (v->symmetry == TRISTAR_GENERAL || v->symmetry == TRISTAR_SYMMETRIC) && v->rows == v->cols &&
         v->rows >= 0 && v->rows <= TSI_INDEX_MAX && v->ptr != NULL && v->index != NULL &&
         v->values != NULL && (v->base == 0 || v->base == 1) && (v->ptr_bits == 32 || v->ptr_bits == 64) &&
         (v->index_bits == 32 || v->index_bits == 64) &&
         (v->format == TRISTAR_CSR || v->format == TRISTAR_CSC) &&
         tsi_sparse_kernels_select((char)v->scalar) != NULL;
}

/* Of the first entry off the diagonal: does it stand below it? Reads only what a first look at a line may. */
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
  /* of a symmetric matrix rows of the other triangle are columns of this one */
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
                                         tsi_pattern **pattern, void **values, tsi_triangle_values *known) {
  tristar_status status = TRISTAR_OK;
  const taking t = {view, columns->n, columns->lower, false};
  tsi_entries out = {
      .n = t.n, .bytes = tsi_sparse_kernels_select(columns->scalar)->scalar_bytes, .ptr = *ptr};
  tsi_count falls;
  *ptr = NULL;
  *pattern = NULL;
  *values = NULL;
  *known = (tsi_triangle_values){.diagonal = NULL};
  TSI_TRY_OUT(tsi_entries_allocate(env, &out));
  TSI_TRY_OUT(TSI_ALLOC_SIZED(env, known->diagonal, t.n, out.bytes));
  (void)copy_lines(&t, &out, NULL, &falls, known);
  if (falls == columns->falls)
    TSI_TRY_OUT(tsi_pattern_from_entries(env, &out, false, columns->scalar, pattern, values));
out:
  tsi_entries_finish(&out);
  if (*pattern == NULL) TSI_FREE(env, known->diagonal);
  return status;
}

/* The parts of the one triangle that a symmetric matrix is to store all of. */
static bool find_all(taking t, line_part *part, tsi_count *ptr) {
  const bool unit = t.unit;
  t.unit = false;
  if (!find_parts(&t, part, ptr) || ptr[t.n] != tsi_view_begin(t.view, t.n)) return false;
  t.unit = unit;
  return !unit || find_parts(&t, part, ptr);
}

/* *taken: the lines were in order, and out is full: by lines as wanted, or, *turned, by the others: a
 * symmetric matrix stores one triangle, whose lines are those of the other one, too. known: filled where it
 * costs nothing. */
static tristar_status take_parts(tsi_env *env, const tristar_view *view, const triangle_of *which,
                                 bool *taken, bool *turned, tsi_triangle_values *known, tsi_entries *out) {
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
  if (!t.unit) TSI_TRY(take_whole(env, &t, taken, known, out));
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
  places.values = NULL; /* those of the other triangle may be anything */
  TSI_TRY(tsi_pattern_create(env, &places, &pattern));
  if (!unit) TSI_TRY(tsi_view_check_diagonal(env, view));
  TSI_TRY(tsi_pattern_allocate_values(env, pattern, &values));
  tsi_pattern_take(pattern, view->values, values);
  return filter(env, pattern, values, lower, unit, out);
}

tristar_status tsi_triangle_part(tsi_env *env, const tristar_view *view, tristar_uplo uplo, tristar_diag diag,
                                 tsi_pattern **pattern, void **values, tsi_triangle_values *known) {
  tristar_status status = TRISTAR_OK;
  const bool lower = uplo == TRISTAR_LOWER, unit = diag == TRISTAR_UNIT,
             by_rows = view->format == TRISTAR_CSR;
  const triangle_of which = {NULL, NULL, lower != by_rows, unit};
  tsi_entries f = {.ptr = NULL};
  bool taken, turned;
  *pattern = NULL;
  *values = NULL;
  *known = (tsi_triangle_values){.diagonal = NULL};
  TSI_TRY_OUT(take_parts(env, view, &which, &taken, &turned, known, &f));
  turned = taken && turned;
  if (!taken) TSI_TRY_OUT(filter_view(env, view, lower, unit, &f));
  TSI_TRY_OUT(tsi_pattern_from_entries(env, &f, by_rows != turned, (char)view->scalar, pattern, values));
out:
  tsi_entries_finish(&f);
  if (status != TRISTAR_OK) TSI_FREE(env, known->diagonal);
  return status;
}
