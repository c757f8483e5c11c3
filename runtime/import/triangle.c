/* Converts given triangular factors to one form: see triangle.h. */
#include "runtime/import/triangle.h"

#include <inttypes.h>

#include "runtime/base/sort.h"

/* Integer k of an array of 32- or 64-bit integers. */
static int64_t at(const void *array, int bits, int64_t k) {
  return bits == 32 ? ((const int32_t *)array)[k] : ((const int64_t *)array)[k];
}

static tristar_status check_arrays(tsi_env *env, tsi_index n, const tristar_triangle *t, const char *name) {
  const bool blocks = t->format == TRISTAR_TRIANGLE_SUPERNODES;
  if ((unsigned)t->format > TRISTAR_TRIANGLE_SUPERNODES)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s: format is %d", name, (int)t->format);
  if ((t->ptr_bits != 32 && t->ptr_bits != 64) || (t->index_bits != 32 && t->index_bits != 64))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s: ptr_bits is %d, index_bits %d: 32 or 64 is possible", name,
             t->ptr_bits, t->index_bits);
  if (blocks && (t->supernodes < 0 || t->supernodes > n))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s: %" PRId64 " supernodes for %d columns", name, t->supernodes, n);
  if (t->ptr == NULL || (blocks && n > 0 && (!t->index || !t->first || !t->blocks)))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s: an array is NULL", name);
  return TRISTAR_OK;
}

/* Positions of line j: begin .. end - 1. */
static void line(const tristar_triangle *t, int64_t j, int64_t *begin, int64_t *end) {
  *begin = at(t->ptr, t->ptr_bits, j);
  *end = t->end ? at(t->end, t->ptr_bits, j) : at(t->ptr, t->ptr_bits, j + 1);
}

/* Reads and checks the other index of entry p of line j. below: it must not be less than j; otherwise it must
 * not exceed j. */
static tristar_status read_index(tsi_env *env, tsi_index n, const tristar_triangle *t, int64_t j, int64_t p,
                                 bool below, const char *name, tsi_index *i) {
  const int64_t other = at(t->index, t->index_bits, p);
  if (other < 0 || other >= n || (below ? other < j : other > j))
    TSI_FAIL(env, TRISTAR_ERR_FORMAT,
             "%s: entry %" PRId64 ", in %s %" PRId64 ", has index %" PRId64 ": not in %d .. %d", name, p,
             t->format == TRISTAR_TRIANGLE_ROWS ? "row" : "column", j, other, below ? (tsi_index)j : 0,
             below ? n - 1 : (tsi_index)j);
  *i = (tsi_index)other;
  return TRISTAR_OK;
}

static tristar_status check_lines(tsi_env *env, tsi_index n, const tristar_triangle *t, const char *name,
                                  tsi_count *entries) {
  *entries = 0;
  for (tsi_index j = 0; j < n; j++) {
    int64_t begin, end;
    line(t, j, &begin, &end);
    if (begin < 0 || end < begin || end - begin > INT32_MAX)
      TSI_FAIL(env, TRISTAR_ERR_FORMAT, "%s: line %d has entries %" PRId64 " to %" PRId64, name, j, begin,
               end);
    *entries += end - begin;
  }
  if (*entries > 0 && (t->index == NULL || t->values == NULL))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s: an array is NULL", name);
  return TRISTAR_OK;
}

static tristar_status allocate(tsi_env *env, tsi_index n, tsi_count entries, bool source, tsi_triangle *out) {
  out->n = n;
  TSI_TRY(TSI_ALLOC(env, out->ptr, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC_ZERO(env, out->count, n));
  TSI_TRY(TSI_ALLOC(env, out->row, entries));
  TSI_TRY(TSI_ALLOC(env, out->values, n));
  if (source) TSI_TRY(TSI_ALLOC(env, out->source, entries));
  return TRISTAR_OK;
}

/* L by columns, U by rows: the lines are the columns. */
static tristar_status take_lines(tsi_env *env, tsi_index n, size_t scalar_bytes, const tristar_triangle *t,
                                 const char *name, tsi_triangle *out) {
  tsi_count entries, to = 0;
  TSI_TRY(check_lines(env, n, t, name, &entries));
  TSI_TRY(allocate(env, n, entries, false, out));
  for (tsi_index j = 0; j < n; j++) {
    int64_t begin, end;
    line(t, j, &begin, &end);
    out->ptr[j] = to;
    out->count[j] = (tsi_index)(end - begin);
    out->values[j] = end > begin ? (const char *)t->values + (size_t)begin * scalar_bytes : NULL;
    for (int64_t p = begin; p < end; p++) TSI_TRY(read_index(env, n, t, j, p, true, name, &out->row[to++]));
  }
  return TRISTAR_OK;
}

/* L by rows, U by columns: transposes them. The rows of a column ascend. */
static tristar_status transpose_lines(tsi_env *env, tsi_index n, const tristar_triangle *t, const char *name,
                                      tsi_triangle *out) {
  tsi_count entries, to = 0;
  tsi_index i = 0;
  TSI_TRY(check_lines(env, n, t, name, &entries));
  TSI_TRY(allocate(env, n, entries, true, out));
  for (tsi_index j = 0; j < n; j++) {
    int64_t begin, end;
    line(t, j, &begin, &end);
    for (int64_t p = begin; p < end; p++) {
      TSI_TRY(read_index(env, n, t, j, p, false, name, &i));
      out->count[i]++;
    }
  }
  for (tsi_index j = 0; j < n; j++) {
    out->ptr[j] = to;
    to += out->count[j];
    out->count[j] = 0;
    out->values[j] = t->values;
  }
  for (tsi_index j = 0; j < n; j++) {
    int64_t begin, end;
    line(t, j, &begin, &end);
    for (int64_t p = begin; p < end; p++) {
      i = (tsi_index)at(t->index, t->index_bits, p);
      const tsi_count e = out->ptr[i] + out->count[i]++;
      out->row[e] = j;
      out->source[e] = p;
    }
  }
  return TRISTAR_OK;
}

/* Reads and checks the columns of supernode s and the position of its rows. */
static tristar_status read_supernode(tsi_env *env, tsi_index n, const tristar_triangle *t, int64_t s,
                                     const char *name, tsi_index *first, tsi_index *end, int64_t *rows,
                                     int64_t *height) {
  const int64_t a = at(t->first, t->index_bits, s), b = at(t->first, t->index_bits, s + 1);
  const int64_t begin = at(t->ptr, t->ptr_bits, s), after = at(t->ptr, t->ptr_bits, s + 1);
  if (a < 0 || b <= a || b > n || (s == 0 && a != 0) || (s + 1 == t->supernodes && b != n))
    TSI_FAIL(env, TRISTAR_ERR_FORMAT,
             "%s: supernode %" PRId64 " begins at column %" PRId64 ", the next at column %" PRId64
             ", of %d columns",
             name, s, a, b, n);
  if (begin < 0 || after < begin || after - begin < b - a || after - begin > n)
    TSI_FAIL(env, TRISTAR_ERR_FORMAT,
             "%s: supernode %" PRId64 " has %" PRId64 " columns, and rows from %" PRId64
             " to before %" PRId64,
             name, s, b - a, begin, after);
  *rows = begin;
  *height = after - begin;
  if (t->blocks[s] == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s: block %" PRId64 " is NULL", name, s);
  for (int64_t k = 0; k < b - a; k++)
    if (at(t->index, t->index_bits, *rows + k) != a + k)
      TSI_FAIL(env, TRISTAR_ERR_FORMAT,
               "%s: row %" PRId64 " of supernode %" PRId64 " is %" PRId64 " instead of its column %" PRId64,
               name, k, s, at(t->index, t->index_bits, *rows + k), a + k);
  *first = (tsi_index)a;
  *end = (tsi_index)b;
  return TRISTAR_OK;
}

/* Makes columns from supernodes; the columns of one share its rows. */
static tristar_status take_supernodes(tsi_env *env, tsi_index n, size_t scalar_bytes,
                                      const tristar_triangle *t, const char *name, tsi_triangle *out) {
  tsi_count entries = 0, to = 0;
  tsi_index first, end;
  int64_t rows, height;
  if (t->supernodes == 0 && n > 0) TSI_FAIL(env, TRISTAR_ERR_FORMAT, "%s has no supernodes", name);
  for (int64_t s = 0; s < t->supernodes; s++) {
    TSI_TRY(read_supernode(env, n, t, s, name, &first, &end, &rows, &height));
    entries += height;
  }
  TSI_TRY(allocate(env, n, entries, false, out));
  for (int64_t s = 0; s < t->supernodes; s++) {
    TSI_TRY(read_supernode(env, n, t, s, name, &first, &end, &rows, &height));
    for (tsi_index j = first; j < end; j++) {
      const int64_t k = j - first;
      out->ptr[j] = to + k;
      out->count[j] = (tsi_index)(height - k);
      out->values[j] = (const char *)t->blocks[s] + (size_t)(k * height + k) * scalar_bytes;
    }
    for (int64_t k = 0; k < height; k++) {
      TSI_TRY(read_index(env, n, t, first, rows + k, true, name, &out->row[to]));
      if (k >= end - first && out->row[to] < end)
        TSI_FAIL(env, TRISTAR_ERR_FORMAT, "%s: supernode %" PRId64 " has row %d twice", name, s,
                 out->row[to]);
      to++;
    }
  }
  return TRISTAR_OK;
}

/* Do columns j - 1 and j share their rows? */
static bool shares(const tsi_triangle *t, tsi_index j) {
  return j > 0 && t->ptr[j] == t->ptr[j - 1] + 1 && t->count[j - 1] > 1;
}

/* Copies the rows of column j to `out`, sorted, without the diagonal and repetitions. Returns their
 * number. */
static tsi_index sort_column(const tsi_triangle *t, tsi_index j, tsi_index *out) {
  const tsi_index *row = t->row + t->ptr[j];
  tsi_index count = 0;
  bool sorted = true;
  for (tsi_index e = 0; e < t->count[j]; e++)
    if (row[e] != j) {
      sorted = sorted && (count == 0 || out[count - 1] < row[e]);
      out[count++] = row[e];
    }
  if (sorted) return count;
  return (tsi_index)tsi_sort_unique(out, count);
}

/* Computes `structure`. Only columns of supernodes share rows; they do so here, too. */
static tristar_status describe(tsi_env *env, tsi_triangle *t, bool supernodes) {
  tsi_columns *c = &t->structure;
  tsi_count entries = 0, to = 0;
  for (tsi_index j = 0; j < t->n; j++) entries += supernodes && shares(t, j) ? 0 : t->count[j];
  c->n = t->n;
  TSI_TRY(TSI_ALLOC(env, c->ptr, t->n));
  TSI_TRY(TSI_ALLOC(env, c->count, t->n));
  TSI_TRY(TSI_ALLOC(env, c->row, entries));
  for (tsi_index j = 0; j < t->n; j++) {
    if (supernodes && shares(t, j)) {
      c->ptr[j] = c->ptr[j - 1] + 1;
      c->count[j] = c->count[j - 1] - 1;
      continue;
    }
    c->ptr[j] = to;
    c->count[j] = sort_column(t, j, c->row + to);
    to += c->count[j];
  }
  return TRISTAR_OK;
}

tristar_status tsi_triangle_create(tsi_env *env, tsi_index n, size_t scalar_bytes,
                                   const tristar_triangle *from, bool upper, tsi_triangle *out) {
  tristar_status status = TRISTAR_OK;
  const char *name = upper ? "U" : "L";
  const bool supernodes = from->format == TRISTAR_TRIANGLE_SUPERNODES;
  memset(out, 0, sizeof *out);
  out->unit = from->unit_diagonal != 0;
  TSI_TRY_OUT(check_arrays(env, n, from, name));
  if (supernodes && upper) TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "U cannot be given by supernodes");
  if (supernodes)
    TSI_TRY_OUT(take_supernodes(env, n, scalar_bytes, from, name, out));
  else if ((from->format == TRISTAR_TRIANGLE_COLUMNS) != upper)
    TSI_TRY_OUT(take_lines(env, n, scalar_bytes, from, name, out));
  else
    TSI_TRY_OUT(transpose_lines(env, n, from, name, out));
  TSI_TRY_OUT(describe(env, out, supernodes));
out:
  if (status != TRISTAR_OK) tsi_triangle_finish(out);
  return status;
}

void tsi_triangle_finish(tsi_triangle *triangle) {
  tsi_release(tsi_take(&triangle->ptr));
  tsi_release(tsi_take(&triangle->count));
  tsi_release(tsi_take(&triangle->row));
  tsi_release(tsi_take(&triangle->source));
  tsi_release(tsi_take(&triangle->values));
  tsi_release(tsi_take(&triangle->structure.ptr));
  tsi_release(tsi_take(&triangle->structure.count));
  tsi_release(tsi_take(&triangle->structure.row));
}
