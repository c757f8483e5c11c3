/* See bench_triangle.h. */
#include "drivers/bench/bench_triangle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/context/context.h"
#include "runtime/factor/analysis.h"
#include "runtime/matrix/view.h"
#include "runtime/iterate/precond/factor_rows.h"

static bool out_of_memory(tsi_session *s) {
  return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory for its triangles", s->name);
}

static bool allocate(tsi_session *s, int64_t n, int64_t entries, tsi_square *a) {
  const size_t space = entries > 0 ? (size_t)entries : 1;
  *a = (tsi_square){.n = n};
  a->ptr = calloc((size_t)n + 2, sizeof *a->ptr);
  a->index = malloc(space * sizeof *a->index);
  a->values = malloc(space * sizeof *a->values);
  if (a->ptr != NULL && a->index != NULL && a->values != NULL) return true;
  tsi_square_free(a);
  return out_of_memory(s);
}

void tsi_square_free(tsi_square *a) {
  free(a->ptr);
  free(a->index);
  free(a->values);
  *a = (tsi_square){0};
}

/* While a matrix is filled, ptr[j + 1] is the position of the next entry of column j; before, ptr[j + 2]
 * counts its entries. */
static void begin_filling(tsi_square *a) {
  for (int64_t j = 0; j < a->n; j++) a->ptr[j + 2] += a->ptr[j + 1];
}

static void put(tsi_square *a, int64_t i, int64_t j, double value) {
  const int64_t to = a->ptr[j + 1]++;
  a->index[to] = (int32_t)i;
  a->values[to] = value;
}

/* ---- The matrix ---------------------------------------------------------------------------------------- */

bool tsi_square_make(tsi_session *s, tsi_square *a) {
  const tristar_view *view = &s->view;
  const bool mirror = view->symmetry != TRISTAR_GENERAL;
  const int64_t n = view->cols, stored = tsi_view_begin(view, n);
  if (!allocate(s, n, mirror ? 2 * stored : stored, a)) return false;
  for (int fill = 0; fill < 2; fill++) {
    if (fill) begin_filling(a);
    for (int64_t j = 0; j < n; j++)
      for (int64_t e = tsi_view_begin(view, j); e < tsi_view_begin(view, j + 1); e++) {
        const int64_t i = tsi_view_index(view, e);
        double value[2];
        if (!fill) {
          a->ptr[j + 2]++;
          if (mirror && i != j) a->ptr[i + 2]++;
          continue;
        }
        tsi_view_value(view, e, value);
        put(a, i, j, value[0]);
        if (mirror && i != j) put(a, j, i, view->symmetry == TRISTAR_SKEW_SYMMETRIC ? -value[0] : value[0]);
      }
  }
  return true;
}

static tristar_view view_of(const tsi_square *a) {
  return (tristar_view){.format = TRISTAR_CSC,
                        .symmetry = TRISTAR_GENERAL,
                        .scalar = TRISTAR_DOUBLE,
                        .rows = a->n,
                        .cols = a->n,
                        .ptr = a->ptr,
                        .index = a->index,
                        .values = a->values,
                        .ptr_bits = 64,
                        .index_bits = 32};
}

bool tsi_square_dissect(tsi_session *s, tsi_square *a) {
  const int64_t n = a->n;
  tsi_square to = {0};
  int32_t *position = malloc((n > 0 ? (size_t)n : 1) * sizeof *position);
  bool ok = position != NULL || out_of_memory(s);
  ok = ok &&
       tsi_session_check(s, tsi_dissect(tsi_context_env(s->ts), (tsi_index)n, a->ptr, a->index, position),
                         s->name) &&
       allocate(s, n, a->ptr[n], &to);
  for (int64_t j = 0; j < n && ok; j++) to.ptr[position[j] + 2] = a->ptr[j + 1] - a->ptr[j];
  if (ok) begin_filling(&to);
  for (int64_t j = 0; j < n && ok; j++)
    for (int64_t e = a->ptr[j]; e < a->ptr[j + 1]; e++)
      put(&to, position[a->index[e]], position[j], a->values[e]);
  free(position);
  if (!ok) return false;
  tsi_square_free(a);
  *a = to;
  return true;
}

/* Converts rows of L and U to a matrix. If it is symmetric, only U is used: L is its transpose. */
static bool join_factors(tsi_session *s, const tsi_factor_rows *rows, bool symmetric, tsi_square *to) {
  const double *values = rows->values;
  if (!allocate(s, rows->n, rows->ptr[rows->n], to)) return false;
  to->unit = !symmetric;
  for (int fill = 0; fill < 2; fill++) {
    if (fill) begin_filling(to);
    for (tsi_index i = 0; i < rows->n; i++)
      for (tsi_count e = symmetric ? rows->diagonal[i] : rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
        const tsi_index j = rows->index[e];
        const bool mirror = symmetric && i != j;
        if (fill) {
          put(to, i, j, values[e]);
          if (mirror) put(to, j, i, values[e]);
        } else {
          to->ptr[j + 2]++;
          if (mirror) to->ptr[i + 2]++;
        }
      }
  }
  return true;
}

bool tsi_square_factor(tsi_session *s, const tsi_square *a, tristar_precond_kind kind, tsi_square *to) {
  const tristar_view view = view_of(a);
  tristar_precond_options options;
  tsi_factor_rows rows;
  tristar_precond_options_init(&options);
  options.kind = kind;
  const bool ok = tsi_session_check(s, tsi_incomplete_factors(s->ts, &view, &options, &rows), s->name) &&
                  join_factors(s, &rows, kind == TRISTAR_PRECOND_IC, to);
  tsi_factor_rows_finish(&rows);
  return ok;
}

/* ---- A triangle of it ---------------------------------------------------------------------------------- */

/* Makes the transposed triangle. Its columns are sorted, because the columns of a are read in order; so
 * transposing twice sorts all columns. upper: uses the entries of a with i <= j; else with i >= j. Adds
 * missing diagonal entries. */
static bool transpose(tsi_session *s, const tsi_square *a, bool upper, tsi_square *to) {
  int64_t entries = 0;
  for (int64_t j = 0; j < a->n; j++)
    for (int64_t e = a->ptr[j]; e < a->ptr[j + 1]; e++) entries += upper ? a->index[e] < j : a->index[e] > j;
  if (!allocate(s, a->n, entries + a->n, to)) return false;
  for (int fill = 0; fill < 2; fill++) {
    if (fill) begin_filling(to);
    for (int64_t j = 0; j < a->n; j++) {
      double diagonal = 0;
      for (int64_t e = a->ptr[j]; e < a->ptr[j + 1]; e++) {
        const int64_t i = a->index[e];
        if (i == j) diagonal = a->unit && !upper ? 1 : a->values[e];
        if (upper ? i >= j : i <= j) continue;
        if (fill)
          put(to, j, i, a->values[e]);
        else
          to->ptr[i + 2]++;
      }
      if (fill)
        put(to, j, j, diagonal);
      else
        to->ptr[j + 2]++;
    }
  }
  return true;
}

/* Does a substitution, column after column, for a right-hand side of ones stay within the range? x: n. */
static bool stays_in_range(const tsi_square *t, bool upper, double *x) {
  for (int64_t i = 0; i < t->n; i++) x[i] = 1;
  for (int64_t k = 0; k < t->n; k++) {
    const int64_t j = upper ? t->n - 1 - k : k, first = t->ptr[j], last = t->ptr[j + 1] - 1;
    const int64_t diagonal = upper ? last : first;
    x[j] /= t->values[diagonal];
    if (!(fabs(x[j]) <= 1e100) || (x[j] != 0 && fabs(x[j]) < 1e-100)) return false;
    for (int64_t e = first; e <= last; e++)
      if (e != diagonal) x[t->index[e]] -= t->values[e] * x[j];
  }
  return true;
}

/* sum: n. */
static void scale_rows(tsi_square *t, double *sum) {
  for (int64_t i = 0; i < t->n; i++) sum[i] = 0;
  for (int64_t j = 0; j < t->n; j++)
    for (int64_t e = t->ptr[j]; e < t->ptr[j + 1]; e++)
      if (t->index[e] != j) sum[t->index[e]] += fabs(t->values[e]);
  for (int64_t j = 0; j < t->n; j++)
    for (int64_t e = t->ptr[j]; e < t->ptr[j + 1]; e++) {
      const double of_row = sum[t->index[e]];
      t->values[e] = t->index[e] == j ? 1 : of_row > 0 ? t->values[e] / of_row / 2 : 0;
    }
}

/* level: n. */
static int64_t count_levels(const tsi_square *t, bool upper, double *level) {
  double most = -1;
  for (int64_t i = 0; i < t->n; i++) level[i] = 0;
  for (int64_t k = 0; k < t->n; k++) {
    const int64_t j = upper ? t->n - 1 - k : k;
    most = fmax(most, level[j]);
    for (int64_t e = t->ptr[j]; e < t->ptr[j + 1]; e++)
      if (t->index[e] != j) level[t->index[e]] = fmax(level[t->index[e]], level[j] + 1);
  }
  return (int64_t)most + 1;
}

static bool write_file(tsi_session *s, const tsi_square *a, tsi_bench_triangle *t) {
  const tristar_view view = view_of(a);
  t->file = tmpfile();
  if (t->file == NULL)
    return tsi_session_fail(s, TRISTAR_ERR_IO, "%s: no file for its triangle: %s", s->name, strerror(errno));
  (void)fcntl(fileno(t->file), F_SETFD, FD_CLOEXEC);
  snprintf(t->path, sizeof t->path, "/proc/%d/fd/%d", (int)getpid(), fileno(t->file));
  if (tsi_session_check(s, tristar_matrix_write(s->ts, t->path, &view, NULL), s->name)) return true;
  tsi_bench_triangle_close(t);
  return false;
}

bool tsi_bench_triangle_make(tsi_session *s, const tsi_square *a, bool upper, tsi_bench_triangle *t) {
  tsi_square transposed = {0}, sorted = {0};
  double *work = malloc((a->n > 0 ? (size_t)a->n : 1) * sizeof *work);
  bool ok = work != NULL || out_of_memory(s);
  *t = (tsi_bench_triangle){.upper = upper, .n = a->n};
  ok = ok && transpose(s, a, upper, &transposed) && transpose(s, &transposed, !upper, &sorted);
  if (ok) {
    t->nnz = sorted.ptr[a->n];
    t->levels = count_levels(&sorted, upper, work);
    t->scaled = !stays_in_range(&sorted, upper, work);
    if (t->scaled) scale_rows(&sorted, work);
    ok = write_file(s, &sorted, t);
  }
  tsi_square_free(&transposed);
  tsi_square_free(&sorted);
  free(work);
  return ok;
}

void tsi_bench_triangle_close(tsi_bench_triangle *t) {
  if (t->file != NULL) fclose(t->file);
  t->file = NULL;
}
