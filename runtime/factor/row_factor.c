/* A triangular matrix by rows: see row_factor.h. */
#include "runtime/factor/row_factor.h"

#include <stdlib.h>

#include "codelets/cpu/sparse.h"
#include "runtime/base/threads.h"

#define NEAR UINT16_MAX /* distances that fit */

/* What an offset counts from: a column is its row, and the offset, less this (spmv.h). */
static inline tsi_index base_of(bool backward) {
  return backward ? 0 : NEAR;
}

/* One right-hand side: chunks with at least so many rows a run have runs. */
#define ROWS_A_RUN 5

tristar_status tsi_row_factor_create(tsi_env *env, tsi_row_cut *cut, const tsi_lines *lines,
                                     const void *values, size_t scalar_bytes, tsi_row_factor **out) {
  tristar_status status = TRISTAR_OK;
  tsi_row_factor *rows = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, rows, 1));
  TSI_TRY(tsi_mutex_init(env, &rows->lock));
  rows->cut = cut;
  rows->lines = *lines;
  rows->values = values;
  rows->scalar_bytes = scalar_bytes;
  *out = rows;
  return TRISTAR_OK;
out:
  TSI_FREE(env, rows);
  tsi_row_cut_destroy(env, &cut);
  return status;
}

static void release_sweep(tsi_env *env, tsi_row_factor *rows, int k) {
  tsi_row_arrays *a = &rows->array[k];
  TSI_FREE(env, a->row);
  TSI_FREE(env, a->ptr);
  TSI_FREE(env, a->index);
  TSI_FREE(env, a->offset);
  TSI_FREE(env, a->values);
  TSI_FREE(env, a->inverse);
  TSI_FREE(env, a->run_ptr);
  TSI_FREE(env, a->run);
  rows->sweep[k] = (tsi_row_sweep){.n = 0};
}

static void release_matrix(tsi_env *env, tsi_row_matrix *matrix) {
  TSI_FREE(env, matrix->ptr);
  TSI_FREE(env, matrix->index);
  TSI_FREE(env, matrix->values);
  TSI_FREE(env, matrix->inverse);
  matrix->rows = (tsi_triangle_rows){NULL, NULL, NULL, NULL};
}

void tsi_row_factor_destroy(tsi_env *env, tsi_row_factor **rows) {
  if (*rows == NULL) return;
  for (int k = 0; k < 4; k++) release_sweep(env, *rows, k);
  for (int k = 0; k < 2; k++) release_matrix(env, &(*rows)->matrix[k]);
  TSI_FREE(env, (*rows)->inverse);
  TSI_FREE(env, (*rows)->place);
  tsi_pattern_destroy(env, &(*rows)->own_pattern);
  TSI_FREE(env, (*rows)->own_values);
  tsi_row_cut_destroy(env, &(*rows)->cut);
  pthread_mutex_destroy(&(*rows)->lock);
  TSI_FREE(env, *rows);
}

static tristar_status allocate_scalars(tsi_env *env, const tsi_row_factor *rows, tsi_count count,
                                       void **out) {
  return tsi_allocate(env, (size_t)count, rows->scalar_bytes, __func__, __FILE__, __LINE__, out);
}

/* to[a] = from[b]: scalars of 4, 8 or 16 bytes, a constant where it matters. */
static inline void copy_scalar(size_t bytes, void *to, tsi_count a, const void *from, tsi_count b) {
  switch (bytes) {
  case 4:
    memcpy((char *)to + 4 * a, (const char *)from + 4 * b, 4);
    break;
  case 8:
    memcpy((char *)to + 8 * a, (const char *)from + 8 * b, 8);
    break;
  default:
    memcpy((char *)to + 16 * a, (const char *)from + 16 * b, 16);
  }
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

static void list_places(const tsi_row_cut *cut, tsi_index *place) {
  for (tsi_index r = 0; r < cut->n; r++) place[cut->order[r]] = r;
}

static tristar_status need_place(tsi_env *env, tsi_row_factor *rows) {
  tristar_status status = TRISTAR_OK;
  if (!is_moved(rows) || rows->place) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, rows->place, rows->cut->n));
  list_places(rows->cut, rows->place);
out:
  return status;
}

/* ---- Values -------------------------------------------------------------------------------------------- */

/* The entries of line j that are not on the diagonal, which is the last one of a row, the first one of a
 * column, or missing. */
static inline void inner(const tsi_lines *lines, tsi_index j, tsi_count *first, tsi_count *end) {
  *first = lines->ptr[j];
  *end = lines->ptr[j + 1];
  if (*first == *end) return;
  if (lines->columns)
    *first += lines->index[*first] == j;
  else
    *end -= lines->index[*end - 1] == j;
}

tristar_status tsi_row_factor_fill(tsi_env *env, char scalar, const char *name, tsi_row_factor *rows) {
  tristar_status status = TRISTAR_OK;
  const tsi_lines *lines = &rows->lines;
  const tsi_index n = lines->n;
  const tsi_sparse_kernels *sparse = tsi_sparse_kernels_select(scalar);
  void *diagonal = NULL;
  /* their arrays stay: the pattern does */
  for (int k = 0; k < 4; k++) rows->sweep[k] = (tsi_row_sweep){.n = 0};
  for (int k = 0; k < 2; k++) rows->matrix[k].rows = (tsi_triangle_rows){NULL, NULL, NULL, NULL};
  const tsi_count bad = sparse->first_not_finite(lines->ptr[n], rows->values);
  if (bad < lines->ptr[n]) {
    tsi_index line = 0;
    while (lines->ptr[line + 1] <= bad) line++;
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "%s: NaN or infinity in entry (%d, %d)", name, line,
             lines->index[bad]);
  }
  TSI_TRY(tsi_allocate_zero(env, (size_t)n, rows->scalar_bytes, __func__, __FILE__, __LINE__, &diagonal));
  if (rows->inverse == NULL) TSI_TRY(allocate_scalars(env, rows, n, &rows->inverse));
  for (tsi_index j = 0; j < n; j++) {
    tsi_count first, end;
    inner(lines, j, &first, &end);
    const tsi_count at = lines->columns ? lines->ptr[j] : end;
    if (end - first < lines->ptr[j + 1] - lines->ptr[j])
      copy_scalar(rows->scalar_bytes, diagonal, j, rows->values, at);
  }
  const tsi_count fails = sparse->invert(n, diagonal, rows->inverse);
  if (fails == n) goto out;
  const char *at = (const char *)diagonal + (size_t)fails * rows->scalar_bytes;
  if (sparse->largest_size(1, at) <= 0)
    TSI_FAIL(env, TRISTAR_ERR_SINGULAR, "%s: diagonal entry %d (counted from 0) is zero or missing", name,
             (int)fails);
  TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
           "%s: diagonal entry %d (counted from 0) is too close to zero: its inverse is out of range", name,
           (int)fails);
out:
  TSI_FREE(env, diagonal);
  return status;
}

/* ---- Streams ------------------------------------------------------------------------------------------- */

/* The given rows in the order in which a sweep takes them. */
static void list_rows(const form *f, tsi_index *row) {
  const tsi_index n = f->rows->lines.n;
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index r = f->backward ? n - 1 - k : k;
    row[k] = f->order ? f->order[r] : r;
  }
}

/* Are all columns near their rows, as the streams number them? */
static bool are_near(const tsi_lines *lines, const tsi_index *place) {
  for (tsi_index j = 0; j < lines->n; j++) {
    if (lines->ptr[j] == lines->ptr[j + 1]) continue;
    for (tsi_count e = lines->ptr[j]; place && e < lines->ptr[j + 1]; e++)
      if (abs(place[j] - place[lines->index[e]]) > NEAR) return false;
    if (place) continue;
    const tsi_index far = lines->index[lines->columns ? lines->ptr[j + 1] - 1 : lines->ptr[j]];
    if ((lines->columns ? far - j : j - far) > NEAR) return false;
  }
  return true;
}

/* Beside tsi_lines_fetch: the values, and what follows them. */
static inline void fetch_values(const tsi_row_factor *rows, const tsi_index *row, tsi_index k) {
  enum { NEXT = 4 };
  if (rows->lines.n - k <= NEXT) return;
  const tsi_index i = row[k + NEXT];
  const char *from = (const char *)rows->values + (size_t)rows->lines.ptr[i] * rows->scalar_bytes;
  __builtin_prefetch(from);
  __builtin_prefetch(from + TSI_CACHE_LINE);
  __builtin_prefetch((const char *)rows->inverse + (size_t)i * rows->scalar_bytes);
}

/* The lines are the rows of the sweep. */
CONSTANTS void fill_from_rows(const form *f, tsi_row_arrays *a, size_t bytes, bool near) {
  const tsi_row_factor *rows = f->rows;
  const tsi_lines *lines = &rows->lines;
  const bool backward = f->backward;
  const tsi_index n = lines->n, *index = lines->index, base = base_of(backward), *place = f->place;
  const void *given = rows->values, *inverse = rows->inverse;
  tsi_index *row = a->row, *to_index = a->index;
  void *to_values = a->values, *to_inverse = a->inverse;
  uint16_t *offset = a->offset;
  tsi_count *ptr = a->ptr, to = 0;
  list_rows(f, row);
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index i = row[k];
    tsi_count first, end;
    tsi_lines_fetch(lines, row, k, n);
    fetch_values(rows, row, k);
    inner(lines, i, &first, &end);
    ptr[k] = to;
    copy_scalar(bytes, to_inverse, k, inverse, i);
    for (tsi_count q = first; q < end; q++, to++) {
      const tsi_count e = backward ? first + (end - 1 - q) : q;
      copy_scalar(bytes, to_values, to, given, e);
      const tsi_index column = number_of(place, index[e]);
      if (near)
        offset[to] = (uint16_t)(column - number_of(place, i) + base);
      else
        to_index[to] = column;
    }
  }
  ptr[n] = to;
}

/* Entries, or rows, that are fetched ahead of those at work where they lie in no order. */
#define SOON 16

/* The lines are the columns of the sweep's rows. end: n, where each given row ends. */
static void count_from_columns(const form *f, tsi_count *end, tsi_row_arrays *a) {
  const tsi_row_factor *rows = f->rows;
  const tsi_lines *lines = &rows->lines;
  const tsi_index n = lines->n, *index = lines->index;
  const tsi_count entries = lines->ptr[n];
  tsi_index *row = a->row;
  tsi_count *ptr = a->ptr, to = 0;
  list_rows(f, row);
  memset(end, 0, (size_t)n * sizeof *end);
  for (tsi_count e = 0; e < entries; e++) end[index[e]]++;
  for (tsi_index j = 0; j < n; j++) {
    tsi_count first, stop;
    inner(lines, j, &first, &stop);
    end[j] -= lines->ptr[j + 1] - lines->ptr[j] - (stop - first); /* the diagonal */
  }
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index i = row[k];
    if (n - k > SOON) {
      __builtin_prefetch(end + row[k + SOON], 1);
      __builtin_prefetch((const char *)rows->inverse + (size_t)row[k + SOON] * rows->scalar_bytes);
    }
    copy_scalar(rows->scalar_bytes, a->inverse, k, rows->inverse, i);
    ptr[k] = to;
    to += end[i];
    end[i] = to;
  }
  ptr[n] = to;
}

/* From the last entry that a sweep makes use of on: each given row is filled from its end. */
CONSTANTS void fill_from_columns(const form *f, tsi_count *end, tsi_row_arrays *a, size_t bytes, bool near) {
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
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index j = backward ? k : n - 1 - k, number = number_of(place, j);
    tsi_count first, stop;
    inner(lines, j, &first, &stop);
    for (tsi_count q = first; q < stop; q++) {
      const tsi_count e = backward ? q : first + (stop - 1 - q);
      const tsi_index i = index[e];
      const tsi_count to = --end[i];
      if (e + ahead >= 0 && e + ahead < entries) {
        const tsi_count soon = end[index[e + ahead]];
        __builtin_prefetch((const char *)values + (size_t)soon * bytes, 1);
      }
      copy_scalar(bytes, values, to, given, e);
      if (near)
        offset[to] = (uint16_t)(number - number_of(place, i) + base);
      else
        column[to] = number;
    }
  }
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

static tsi_index count_runs(const form *f, const tsi_count *ptr, tsi_index c) {
  tsi_index runs = 1, first, end;
  rows_of_chunk(f, c, &first, &end);
  for (tsi_index k = first + 1; k < end; k++) runs += ptr[k + 1] - ptr[k] != ptr[k] - ptr[k - 1];
  return runs <= (end - first) / ROWS_A_RUN ? runs : 0;
}

static tristar_status list_runs(tsi_env *env, const form *f, tsi_row_arrays *a) {
  tristar_status status = TRISTAR_OK;
  const tsi_index chunks = count_chunks(f);
  TSI_TRY(TSI_ALLOC(env, a->run_ptr, (tsi_count)chunks + 1));
  a->run_ptr[0] = 0;
  for (tsi_index c = 0; c < chunks; c++) a->run_ptr[c + 1] = a->run_ptr[c] + count_runs(f, a->ptr, c);
  TSI_TRY(TSI_ALLOC(env, a->run, a->run_ptr[chunks]));
  for (tsi_index c = 0; c < chunks; c++) {
    tsi_index first, end;
    if (a->run_ptr[c] == a->run_ptr[c + 1]) continue;
    rows_of_chunk(f, c, &first, &end);
    tsi_row_run *run = a->run + a->run_ptr[c] - 1;
    for (tsi_index k = first; k < end; k++) {
      const tsi_index entries = (tsi_index)(a->ptr[k + 1] - a->ptr[k]);
      if (k == first || run->entries != entries) *++run = (tsi_row_run){0, entries};
      run->rows++;
    }
  }
out:
  return status;
}

/* The arrays of a sweep, all but runs. */
static tristar_status allocate_sweep(tsi_env *env, const form *f, tsi_row_arrays *a) {
  tristar_status status = TRISTAR_OK;
  const tsi_row_factor *rows = f->rows;
  const tsi_index n = rows->lines.n;
  const tsi_count entries = rows->lines.ptr[n];
  TSI_TRY(TSI_ALLOC(env, a->row, n));
  TSI_TRY(TSI_ALLOC(env, a->ptr, (tsi_count)n + 1));
  TSI_TRY(allocate_scalars(env, rows, entries, &a->values));
  TSI_TRY(allocate_scalars(env, rows, n, &a->inverse));
  if (are_near(&rows->lines, f->place))
    TSI_TRY(TSI_ALLOC(env, a->offset, entries));
  else
    TSI_TRY(TSI_ALLOC(env, a->index, entries));
out:
  return status;
}

/* Windows, whose rows lie side by side in b and x. */
static bool is_fetched(const tsi_row_factor *rows) {
  return rows->cut->way == TSI_ROWS_SUPERSTEPS && rows->cut->lanes == 1 && is_long(rows);
}

static tristar_status make_sweep(tsi_env *env, tsi_row_factor *rows, bool backward, bool plain) {
  tristar_status status = TRISTAR_OK;
  const int number = backward + 2 * plain;
  tsi_row_arrays *a = &rows->array[number];
  const bool anew = a->run_ptr == NULL;
  tsi_count *end = NULL;
  TSI_TRY(need_place(env, rows));
  const form f = form_of(rows, backward, plain);
  if (anew) TSI_TRY(allocate_sweep(env, &f, a));
  const bool near = a->offset != NULL;
  if (rows->lines.columns == backward)
    WITH_CONSTANTS(rows->scalar_bytes, near, fill_from_rows, &f, a);
  else {
    TSI_TRY(TSI_ALLOC(env, end, rows->lines.n));
    count_from_columns(&f, end, a);
    WITH_CONSTANTS(rows->scalar_bytes, near, fill_from_columns, &f, end, a);
  }
  if (anew) TSI_TRY(list_runs(env, &f, a));
  for (tsi_index k = 0; f.place && k < rows->lines.n; k++) a->row[k] = f.place[a->row[k]];
  rows->sweep[number] = (tsi_row_sweep){
      .stream = {a->row, a->ptr, a->index, a->offset, base_of(backward), a->values, a->inverse},
      rows->lines.n,
      !plain && is_fetched(rows),
      plain ? 0 : tsi_row_factor_pieces(rows),
      a->run_ptr,
      a->run};
out:
  TSI_FREE(env, end);
  if (status != TRISTAR_OK) release_sweep(env, rows, number);
  return status;
}

static tristar_status need_sweep(tsi_env *env, tsi_row_factor *rows, bool backward, bool plain) {
  return rows->sweep[backward + 2 * plain].stream.row ? TRISTAR_OK : make_sweep(env, rows, backward, plain);
}

static tristar_status take_sweep(tsi_env *env, tsi_row_factor *rows, bool backward, bool plain,
                                 const tsi_row_sweep **out) {
  pthread_mutex_lock(&rows->lock);
  const tristar_status status = need_sweep(env, rows, backward, plain);
  pthread_mutex_unlock(&rows->lock);
  *out = &rows->sweep[backward + 2 * plain];
  return status;
}

tristar_status tsi_row_factor_sweep(tsi_env *env, tsi_row_factor *rows, bool backward,
                                    const tsi_row_sweep **out) {
  return take_sweep(env, rows, backward, false, out);
}

tristar_status tsi_row_factor_plain(tsi_env *env, tsi_row_factor *rows, bool backward,
                                    const tsi_row_sweep **out) {
  return take_sweep(env, rows, backward, is_moved(rows), out);
}

/* ---- Rows for a workspace ------------------------------------------------------------------------------ */

static tristar_status make_matrix(tsi_env *env, tsi_row_factor *rows, bool backward) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = rows->cut->n;
  const size_t bytes = rows->scalar_bytes;
  tsi_row_matrix *matrix = &rows->matrix[backward];
  tsi_index *place = NULL;
  tsi_count to = 0;
  TSI_TRY(need_sweep(env, rows, backward, false));
  const bool moved = rows->place != NULL;
  const tsi_row_stream *s = &rows->sweep[backward].stream;
  if (!moved) {
    TSI_TRY(TSI_ALLOC(env, place, n));
    list_places(rows->cut, place);
  }
  if (matrix->ptr == NULL) {
    TSI_TRY(TSI_ALLOC(env, matrix->ptr, (tsi_count)n + 1));
    TSI_TRY(TSI_ALLOC(env, matrix->index, s->ptr[n]));
    TSI_TRY(allocate_scalars(env, rows, s->ptr[n], &matrix->values));
    TSI_TRY(allocate_scalars(env, rows, n, &matrix->inverse));
  }
  for (tsi_index r = 0; r < n; r++) {
    const tsi_index k = backward ? n - 1 - r : r, i = s->row[k];
    matrix->ptr[r] = to;
    copy_scalar(bytes, matrix->inverse, r, s->inverse, k);
    for (tsi_count e = s->ptr[k]; e < s->ptr[k + 1]; e++, to++) {
      matrix->index[to] = number_of(place, s->index ? s->index[e] : i + s->offset[e] - s->base);
      copy_scalar(bytes, matrix->values, to, s->values, e);
    }
  }
  matrix->ptr[n] = to;
  matrix->rows = (tsi_triangle_rows){matrix->ptr, matrix->index, matrix->values, matrix->inverse};
out:
  TSI_FREE(env, place);
  if (status != TRISTAR_OK) release_matrix(env, matrix);
  return status;
}

tristar_status tsi_row_factor_rows(tsi_env *env, tsi_row_factor *rows, bool backward,
                                   const tsi_triangle_rows **out) {
  tristar_status status = TRISTAR_OK;
  pthread_mutex_lock(&rows->lock);
  if (rows->matrix[backward].rows.ptr == NULL) status = make_matrix(env, rows, backward);
  pthread_mutex_unlock(&rows->lock);
  *out = &rows->matrix[backward].rows;
  return status;
}
