/* A triangular matrix by rows: see row_factor.h. */
#include "runtime/rows/row_factor.h"

#include "codelets/cpu/rows/sparse.h"
#include "runtime/base/threads.h"
#include "runtime/rows/row_choice.h"
#include "runtime/rows/row_filling.h"

/* ---- Arrays of a stream -------------------------------------------------------------------------------- */

/* The arrays of one sweep, which row_filling.h fills: rows in the order of the cut, or as given; numbers as
 * given, or of the cut; entries in the order of the sweep; 16-bit distances if all columns are near; runs of
 * rows of equal length. The caller holds the lock. */

static tristar_status row_scalars(tsi_env *env, const tsi_row_factor *rows, tsi_count count, void **out) {
  return TSI_ALLOC_SIZED(env, *out, count, rows->scalar_bytes);
}

/* place[i], n: position of given row i in the order of the cut. */
static void row_places(const tsi_row_cut *cut, tsi_index *place) {
  for (tsi_index r = 0; r < cut->n; r++) place[cut->order[r]] = r;
}

/* For one right-hand side: minimum average number of rows per run in chunks that have runs. */
#define ROWS_A_RUN 5

/* Frees the arrays of sweep[k]. */
static void release_stream(tsi_env *env, tsi_row_factor *rows, int k) {
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

/* ---- Numbering ----------------------------------------------------------------------------------------- */

/* Whether vectors do not stay in the caches of a core until the next solve. */
static bool is_long(const tsi_row_factor *rows) {
  return (double)rows->cut->n * (double)rows->scalar_bytes > TSI_CACHED_VECTOR_BYTES;
}

bool tsi_row_factor_has_plain(const tsi_row_factor *rows) {
  const tsi_row_cut *cut = rows->cut;
  return cut->lanes > 1 && cut->count > 1 && (cut->way == TSI_ROWS_SUPERSTEPS || cut->way == TSI_ROWS_LEVELS);
}

/* Whether streams have the row numbers of the cut. */
static bool is_moved(const tsi_row_factor *rows) {
  return tsi_row_factor_has_plain(rows) && is_long(rows);
}

tsi_index tsi_row_factor_pieces(const tsi_row_factor *rows) {
  return is_moved(rows) ? (tsi_index)rows->cut->lanes : 0;
}

static tsi_row_form form_of(const tsi_row_factor *rows, bool backward, bool plain) {
  return (tsi_row_form){rows, backward, plain ? rows->alone : rows->cut, plain ? NULL : rows->place};
}

/* Finds the rows of the plain stream, for a single core. */
static tristar_status need_alone(tsi_env *env, tsi_row_factor *rows) {
  const tsi_lines *lines = &rows->lines;
  const tsi_row_way way = tsi_row_way_of_one(lines->n, lines->ptr[lines->n], rows->scalar_bytes);
  if (rows->alone != NULL || way == TSI_ROWS_WHOLE) return TRISTAR_OK;
  return tsi_row_choice_cut_for_one(env, lines, rows->cut->lower, rows->scalar_bytes, &rows->alone);
}

static tristar_status need_place(tsi_env *env, tsi_row_factor *rows) {
  if (!is_moved(rows) || rows->place) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, rows->place, rows->cut->n));
  row_places(rows->cut, rows->place);
  return TRISTAR_OK;
}

/* ---- Arrays -------------------------------------------------------------------------------------------- */

/* Whether all columns are near their rows, by the given numbers. Lines ascend, so one end of each suffices.
 */
static bool are_near(const tsi_lines *lines) {
  const tsi_count *ptr = lines->ptr;
  const tsi_index *index = lines->index;
  tsi_index far = 0; /* bits beyond those of an offset */
  for (tsi_index j = 0; j < lines->n && far == 0; j++) {
    if (ptr[j] == ptr[j + 1]) continue;
    const tsi_index distance = lines->columns ? index[ptr[j + 1] - 1] - j : j - index[ptr[j]];
    far = distance & ~(tsi_index)TSI_ROW_NEAR;
  }
  return far == 0;
}

/* Whether columns are scattered over vectors that do not stay in a core's caches: many lines have most
 * entries far from the diagonal. A sample of lines is inspected. */
static bool are_scattered(const tsi_row_factor *rows) {
  enum { LINES = 16 };
  const tsi_lines *lines = &rows->lines;
  tsi_index far = 0;
  if (!is_long(rows)) return false;
  for (tsi_index j = 0; j < lines->n; j += tsi_index_min(LINES, lines->n - j)) {
    if (lines->ptr[j] == lines->ptr[j + 1]) continue;
    const tsi_index middle = lines->index[(lines->ptr[j] + lines->ptr[j + 1]) / 2];
    far += (lines->columns ? middle - j : j - middle) > TSI_ROW_NEAR;
  }
  return far > lines->n / (4 * LINES);
}

/* Number of chunks of a stream: of the cut, or one if rows are as given. */
static inline tsi_index count_chunks(const tsi_row_form *f) {
  return f->cut ? f->cut->count : 1;
}

/* The rows of chunk c, by their positions in the order of the sweep. */
static void rows_of_chunk(const tsi_row_form *f, tsi_index c, tsi_index *first, tsi_index *end) {
  const tsi_row_cut *cut = f->cut;
  *first = 0;
  *end = f->rows->cut->n;
  if (cut == NULL) return;
  *first = f->backward ? cut->n - cut->start[c + 1] : cut->start[c];
  *end = *first + cut->start[c + 1] - cut->start[c];
}

/* Lists the runs of rows first .. end-1; returns their number, 0 if there are too many. run: allocated for
 * the largest number. */
static tsi_index list_chunk_runs(const tsi_count *ptr, tsi_index first, tsi_index end, tsi_row_run *run) {
  const tsi_index most = (end - first) / ROWS_A_RUN;
  tsi_index runs = 0, begin = first;
  if (first == end || most == 0) return 0;
  tsi_count length = ptr[first + 1] - ptr[first];
  for (tsi_index k = first + 1; k < end; k++) {
    const tsi_count own = ptr[k + 1] - ptr[k];
    if (own == length) continue;
    if (runs + 1 == most) return 0; /* the last run must fit, too */
    run[runs++] = (tsi_row_run){k - begin, (tsi_index)length};
    begin = k;
    length = own;
  }
  run[runs++] = (tsi_row_run){end - begin, (tsi_index)length};
  return runs;
}

static tristar_status list_runs(tsi_env *env, const tsi_row_form *f, tsi_row_arrays *a) {
  const tsi_index chunks = count_chunks(f);
  TSI_TRY(TSI_ALLOC(env, a->run, f->rows->lines.n / ROWS_A_RUN));
  TSI_TRY(TSI_ALLOC(env, a->run_ptr, (tsi_count)chunks + 1));
  a->run_ptr[0] = 0;
  for (tsi_index c = 0; c < chunks; c++) {
    tsi_index first, end;
    rows_of_chunk(f, c, &first, &end);
    a->run_ptr[c + 1] = a->run_ptr[c] + list_chunk_runs(a->ptr, first, end, a->run + a->run_ptr[c]);
  }
  return TRISTAR_OK;
}

/* Whether rows are in the given order. */
static bool are_given(const tsi_row_form *f) {
  return f->cut == NULL || f->cut->way == TSI_ROWS_WHOLE;
}

/* Stores the lengths of rows if there is a chunk without runs. */
static tristar_status list_lengths(tsi_env *env, const tsi_row_form *f, tsi_row_arrays *a) {
  const tsi_index n = f->rows->lines.n;
  tsi_index c = 0;
  tsi_count bits = 0; /* of all lengths */
  while (c < count_chunks(f) && a->run_ptr[c] < a->run_ptr[c + 1]) c++;
  if (c == count_chunks(f)) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, a->length, n));
  for (tsi_index k = 0; k < n; k++) {
    const tsi_count entries = a->ptr[k + 1] - a->ptr[k];
    a->length[k] = (uint16_t)entries;
    bits |= entries;
  }
  if (bits > UINT16_MAX) TSI_FREE(env, a->length);
  return TRISTAR_OK;
}

/* Allocates the arrays of a sweep except runs. near: with offsets. */
static tristar_status allocate_sweep(tsi_env *env, const tsi_row_form *f, bool near, tsi_row_arrays *a) {
  const tsi_row_factor *rows = f->rows;
  const tsi_index n = rows->lines.n;
  const tsi_count entries = rows->lines.ptr[n];
  TSI_TRY(TSI_ALLOC(env, a->row, n));
  TSI_TRY(TSI_ALLOC(env, a->ptr, (tsi_count)n + 1));
  TSI_TRY(row_scalars(env, rows, entries, &a->values));
  TSI_TRY(row_scalars(env, rows, n, &a->inverse));
  if (near)
    TSI_TRY(TSI_ALLOC(env, a->offset, entries));
  else
    TSI_TRY(tsi_row_allocate_indices(env, f, a));
  return TRISTAR_OK;
}

/* Whether there are windows, whose rows are contiguous in b and x. */
static bool is_fetched(const tsi_row_factor *rows) {
  return tsi_row_has_windows(rows->cut) && is_long(rows);
}

/* Creates sweep[backward + 2 plain], with the present values. Errors: MEMORY. */
static tristar_status make_stream(tsi_env *env, tsi_row_factor *rows, bool backward, bool plain) {
  tristar_status status = TRISTAR_OK;
  const int number = backward + 2 * plain;
  tsi_row_arrays *a = &rows->array[number];
  const bool fresh = a->run_ptr == NULL;
  TSI_TRY_OUT(need_place(env, rows));
  if (plain) TSI_TRY_OUT(need_alone(env, rows));
  const tsi_row_form f = form_of(rows, backward, plain);
  /* row_fill finds whether copied columns are near */
  if (fresh) TSI_TRY_OUT(allocate_sweep(env, &f, f.place || are_near(&rows->lines), a));
  TSI_TRY_OUT(tsi_row_fill(env, &f, rows->cut->entries, a));
  if (rows->lines.columns != backward) TSI_FREE(env, rows->cut->entries); /* no longer needed */
  if (a->index) memset(a->index + a->ptr[rows->lines.n], 0, TSI_ENTRIES_AHEAD * sizeof *a->index);
  if (fresh) {
    TSI_TRY_OUT(list_runs(env, &f, a));
    TSI_TRY_OUT(list_lengths(env, &f, a));
  }
  for (tsi_index k = 0; f.place && k < rows->lines.n; k++) a->row[k] = f.place[a->row[k]];
  rows->sweep[number] =
      (tsi_row_sweep){.stream = {a->row, are_given(&f) ? (backward ? -1 : 1) : 0, a->length, a->ptr, a->index,
                                 a->offset, a->index != NULL && are_scattered(rows),
                                 tsi_row_offset_base(backward), a->values, a->inverse},
                      rows->lines.n,
                      !plain && is_fetched(rows),
                      plain ? 0 : tsi_row_factor_pieces(rows),
                      count_chunks(&f),
                      f.cut ? f.cut->start : NULL,
                      a->run_ptr,
                      a->run};
out:
  if (status != TRISTAR_OK) release_stream(env, rows, number);
  return status;
}

/* ---- Factors ------------------------------------------------------------------------------------------- */

tristar_status tsi_row_factor_create(tsi_env *env, tsi_row_cut *cut, const tsi_lines *lines,
                                     const void *values, size_t scalar_bytes, tsi_row_factor **out) {
  tristar_status status = TRISTAR_OK;
  tsi_row_factor *rows = NULL;
  *out = NULL;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, rows, 1));
  TSI_TRY_OUT(tsi_mutex_init(env, &rows->lock));
  rows->cut = cut;
  rows->lines = *lines;
  rows->values = values;
  rows->scalar_bytes = scalar_bytes;
  for (int k = 0; k < 4; k++) atomic_init(&rows->there[k], false);
  *out = rows;
  return TRISTAR_OK;
out:
  TSI_FREE(env, rows);
  TSI_FREE(env, cut);
  return status;
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
  for (int k = 0; k < 4; k++) release_stream(env, *rows, k);
  for (int k = 0; k < 2; k++) release_matrix(env, &(*rows)->matrix[k]);
  TSI_FREE(env, (*rows)->inverse);
  TSI_FREE(env, (*rows)->place);
  TSI_FREE(env, (*rows)->own_pattern);
  TSI_FREE(env, (*rows)->own_values);
  TSI_FREE(env, (*rows)->cut);
  TSI_FREE(env, (*rows)->alone);
  pthread_mutex_destroy(&(*rows)->lock);
  TSI_FREE(env, *rows);
}

/* ---- Values -------------------------------------------------------------------------------------------- */

/* Allocates the diagonal entry of each line; zero if there is none. The caller frees the array. */
static tristar_status take_diagonal(tsi_env *env, const tsi_row_factor *rows, void **diagonal) {
  const tsi_lines *lines = &rows->lines;
  const size_t bytes = rows->scalar_bytes;
  TSI_TRY(row_scalars(env, rows, lines->n, diagonal));
  for (tsi_index j = 0; j < lines->n; j++) {
    const tsi_count first = lines->ptr[j], end = lines->ptr[j + 1], at = lines->columns ? first : end - 1;
    if (first < end && lines->index[at] == j)
      tsi_copy_scalar(bytes, *diagonal, j, rows->values, at);
    else
      memset((char *)*diagonal + (size_t)j * bytes, 0, bytes);
  }
  return TRISTAR_OK;
}

tristar_status tsi_row_factor_fill(tsi_env *env, char scalar, const char *name,
                                   const tsi_triangle_values *properties, tsi_row_factor *rows) {
  const tsi_lines *lines = &rows->lines;
  const tsi_index n = lines->n;
  const tsi_sparse_kernels *sparse = tsi_sparse_kernels_select(scalar);
  TSI_OWNED void *own = NULL;
  /* their arrays are kept: the pattern is the same */
  for (int k = 0; k < 4; k++) {
    rows->sweep[k] = (tsi_row_sweep){.n = 0};
    atomic_store(&rows->there[k], false);
  }
  for (int k = 0; k < 2; k++) rows->matrix[k].rows = (tsi_triangle_rows){NULL, NULL, NULL, NULL};
  const tsi_count bad = properties && properties->finite
                            ? lines->ptr[n]
                            : sparse->first_not_finite(lines->ptr[n], rows->values);
  if (bad < lines->ptr[n]) {
    tsi_index line = 0;
    while (lines->ptr[line + 1] <= bad) line++;
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "%s: NaN or infinity in entry (%d, %d)", name, line,
             lines->index[bad]);
  }
  const void *diagonal = properties ? properties->diagonal : NULL;
  if (diagonal == NULL) {
    TSI_TRY(take_diagonal(env, rows, &own));
    diagonal = own;
  }
  if (rows->inverse == NULL) TSI_TRY(row_scalars(env, rows, n, &rows->inverse));
  const tsi_count fails = sparse->invert(n, diagonal, rows->inverse);
  if (fails == n) return TRISTAR_OK;
  const char *at = (const char *)diagonal + (size_t)fails * rows->scalar_bytes;
  if (sparse->largest_size(1, at) <= 0)
    TSI_FAIL(env, TRISTAR_ERR_SINGULAR, "%s: diagonal entry %d (counted from 0) is zero or missing", name,
             (int)fails);
  TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
           "%s: diagonal entry %d (counted from 0) is too close to zero: its inverse is out of range", name,
           (int)fails);
}

/* ---- Streams ------------------------------------------------------------------------------------------- */

static tristar_status need_sweep(tsi_env *env, tsi_row_factor *rows, bool backward, bool plain) {
  return rows->sweep[backward + 2 * plain].stream.row ? TRISTAR_OK : make_stream(env, rows, backward, plain);
}

static tristar_status take_sweep(tsi_env *env, tsi_row_factor *rows, bool backward, bool plain,
                                 const tsi_row_sweep **out) {
  const int number = backward + 2 * plain;
  *out = &rows->sweep[number];
  if (atomic_load_explicit(&rows->there[number], memory_order_acquire)) return TRISTAR_OK;
  pthread_mutex_lock(&rows->lock);
  const tristar_status status = need_sweep(env, rows, backward, plain);
  if (status == TRISTAR_OK) atomic_store_explicit(&rows->there[number], true, memory_order_release);
  pthread_mutex_unlock(&rows->lock);
  return status;
}

tristar_status tsi_row_factor_sweep(tsi_env *env, tsi_row_factor *rows, bool backward,
                                    const tsi_row_sweep **out) {
  return take_sweep(env, rows, backward, false, out);
}

tristar_status tsi_row_factor_plain(tsi_env *env, tsi_row_factor *rows, bool backward, bool make,
                                    const tsi_row_sweep **out) {
  *out = NULL;
  if (!make && !atomic_load_explicit(&rows->there[backward + 2], memory_order_acquire)) return TRISTAR_OK;
  return take_sweep(env, rows, backward, true, out);
}

/* ---- Rows for a workspace ------------------------------------------------------------------------------ */

static tristar_status make_matrix(tsi_env *env, tsi_row_factor *rows, bool backward) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = rows->cut->n;
  const size_t bytes = rows->scalar_bytes;
  tsi_row_matrix *matrix = &rows->matrix[backward];
  tsi_index *place = NULL;
  tsi_count to = 0;
  TSI_TRY_OUT(need_sweep(env, rows, backward, false));
  const bool moved = rows->place != NULL;
  const tsi_row_stream *s = &rows->sweep[backward].stream;
  if (!moved) {
    TSI_TRY_OUT(TSI_ALLOC(env, place, n));
    row_places(rows->cut, place);
  }
  if (matrix->ptr == NULL) {
    TSI_TRY_OUT(TSI_ALLOC(env, matrix->ptr, (tsi_count)n + 1));
    TSI_TRY_OUT(TSI_ALLOC(env, matrix->index, s->ptr[n]));
    TSI_TRY_OUT(row_scalars(env, rows, s->ptr[n], &matrix->values));
    TSI_TRY_OUT(row_scalars(env, rows, n, &matrix->inverse));
  }
  for (tsi_index r = 0; r < n; r++) {
    const tsi_index k = backward ? n - 1 - r : r, i = s->row[k];
    matrix->ptr[r] = to;
    tsi_copy_scalar(bytes, matrix->inverse, r, s->inverse, k);
    for (tsi_count e = s->ptr[k]; e < s->ptr[k + 1]; e++, to++) {
      const tsi_index column = s->index ? s->index[e] : i + s->offset[e] - s->base;
      matrix->index[to] = moved ? column : place[column];
      tsi_copy_scalar(bytes, matrix->values, to, s->values, e);
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
