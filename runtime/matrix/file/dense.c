/* Dense matrices in column-major order: reads Matrix Market array and coordinate files and plain text, writes
 * Matrix Market array files.
 *
 * A file of a symmetric kind stores the lower triangle column by column (without the diagonal if
 * skew-symmetric); the dense matrix is full. The scalar is DOUBLE, or COMPLEX_DOUBLE for complex files. */
#include "runtime/matrix/file/dense.h"

#include <math.h>

#include "runtime/matrix/file/market.h"
#include "runtime/matrix/file/number.h"
#include "runtime/base/grow.h"
#include "runtime/matrix/file/writer.h"

/* Puts value at (i, j) of a full matrix and its mirror image at (j, i). */
static void put(double *full, int width, int64_t rows, tristar_symmetry symmetry, int64_t i, int64_t j,
                const double *value) {
  double *at = full + (i + j * rows) * width;
  double *mirror = full + (j + i * rows) * width;
  for (int c = 0; c < width; c++) {
    bool negate = symmetry == TRISTAR_SKEW_SYMMETRIC || (symmetry == TRISTAR_HERMITIAN && c == 1);
    if (symmetry != TRISTAR_GENERAL && i != j) mirror[c] = negate ? -value[c] : value[c];
    at[c] = value[c];
  }
}

/* Number of doubles of the full matrix; too large matrices are refused before anything is read. */
static tristar_status count_doubles(tsi_env *env, const tsi_market_header *header, int width,
                                    tsi_count *doubles) {
  tsi_count bytes;
  if (!tsi_count_mul((tsi_count)header->rows * header->cols, width, doubles) ||
      !tsi_count_mul(*doubles, (tsi_count)sizeof(double), &bytes))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "a dense matrix of %d x %d is too large: at most %zu bytes",
             (int)header->rows, (int)header->cols, (size_t)PTRDIFF_MAX);
  return TRISTAR_OK;
}

/* Reads the values of an array file in their order; memory grows with them. */
static tristar_status read_values(tsi_text_lines *lines, const tsi_market_header *header, int width,
                                  double **values) {
  tsi_count capacity = 0;
  tsi_market_array array;
  tsi_index i = 0, j = 0;
  tsi_market_array_begin(&array, lines, header);
  for (tsi_count k = 0; k < header->entries; k++) {
    double value[2];
    TSI_TRY(tsi_market_array_next(&array, &i, &j, value));
    if (k == capacity) {
      capacity = tsi_next_capacity(capacity, header->entries);
      TSI_TRY(tsi_grow(lines->env, (void **)values, sizeof(double) * (size_t)width, k, capacity));
    }
    for (int c = 0; c < width; c++) (*values)[k * width + c] = value[c];
  }
  return tsi_market_end(lines, header);
}

static tristar_status read_array(tsi_text_lines *lines, const tsi_market_header *header, int width,
                                 tsi_count doubles, double **full) {
  TSI_OWNED double *values = NULL;
  TSI_TRY(read_values(lines, header, width, &values));
  if (header->symmetry == TRISTAR_GENERAL && header->entries > 0) {
    *full = tsi_take(&values);
    return TRISTAR_OK;
  }
  TSI_TRY(TSI_ALLOC_ZERO(lines->env, *full, doubles));
  const double *value = values;
  for (tsi_index j = 0; j < header->cols && header->entries > 0; j++)
    for (tsi_index i = tsi_market_first_row(header->symmetry, j); i < header->rows; i++) {
      put(*full, width, header->rows, header->symmetry, i, j, value);
      value += width;
    }
  return TRISTAR_OK;
}

static tristar_status read_coordinate(tsi_text_lines *lines, const tsi_market_header *header, int width,
                                      tsi_count doubles, double **full) {
  static const double one = 1;
  TSI_CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m = NULL;
  if (header->field == TSI_FIELD_PATTERN && header->symmetry == TRISTAR_SKEW_SYMMETRIC)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: a skew-symmetric pattern: its entries have no signs",
             tsi_lines_where(lines));
  TSI_TRY(tsi_market_read_coordinate(lines, header, &m));
  TSI_TRY(TSI_ALLOC_ZERO(lines->env, *full, doubles));
  for (tsi_index j = 0; j < m->cols; j++)
    for (tsi_count k = m->ptr[j]; k < m->ptr[j + 1]; k++)
      put(*full, width, m->rows, m->symmetry, m->index[k], j,
          m->values == NULL ? &one : m->values + k * width);
  return TRISTAR_OK;
}

/* The first line decides: "%..." is Matrix Market; otherwise the file must consist of numbers. */
static tristar_status read_dense(tsi_text_lines *lines, bool complex_text, tristar_dense *dense) {
  tsi_market_header header;
  TSI_OWNED double *full = NULL;
  tsi_count doubles = 0;
  char *text;
  TSI_TRY(tsi_lines_next(lines, &text));
  if (text == NULL) TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s:1: the file is empty", lines->path);
  if (*text != '%') return tsi_dense_read_text(lines, text, complex_text ? 2 : 1, dense);
  TSI_TRY(tsi_market_read_header(lines, text, &header));
  int width = header.field == TSI_FIELD_COMPLEX ? 2 : 1;
  TSI_TRY(count_doubles(lines->env, &header, width, &doubles));
  TSI_TRY(header.array ? read_array(lines, &header, width, doubles, &full)
                       : read_coordinate(lines, &header, width, doubles, &full));
  dense->rows = header.rows;
  dense->cols = header.cols;
  dense->scalar = width == 2 ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE;
  dense->values = tsi_take(&full);
  return TRISTAR_OK;
}

tristar_status tsi_dense_read(tsi_env *env, const char *path, bool complex_text, tristar_dense *dense) {
  tristar_status status = TRISTAR_OK;
  tsi_text_lines lines;
  tsi_locale locale;
  memset(dense, 0, sizeof *dense);
  tsi_locale_enter(&locale);
  TSI_TRY_OUT(tsi_lines_open(&lines, env, path));
  TSI_TRY_OUT(read_dense(&lines, complex_text, dense));
  if (dense->values != NULL) tsi_env_retain(env);
out:
  tsi_lines_close(&lines);
  tsi_locale_leave(&locale);
  return status;
}

tristar_status tristar_dense_read(tristar_t *ts, const char *path, tristar_dense *dense) {
  if (dense != NULL) memset(dense, 0, sizeof *dense);
  TSI_ENTER(ts, ts);
  tsi_env *env = tsi_context_env(ts);
  if (path == NULL || dense == NULL)
    return tsi_answer(env, tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "%s is NULL",
                                    path == NULL ? "path" : "dense"));
  return tsi_answer(env, tsi_dense_read(env, path, false, dense));
}

/* Double v of the matrix; real and imaginary parts count separately. */
static double double_at(const tristar_dense *dense, tsi_count v) {
  bool single = dense->scalar == TRISTAR_SINGLE || dense->scalar == TRISTAR_COMPLEX_SINGLE;
  return single ? (double)((const float *)dense->values)[v] : ((const double *)dense->values)[v];
}

static tristar_status check_dense(tsi_env *env, const tristar_dense *dense, int width, tsi_count *doubles) {
  tristar_scalar scalar = dense->scalar;
  if (dense->rows < 0 || dense->cols < 0 ||
      (scalar != TRISTAR_SINGLE && scalar != TRISTAR_DOUBLE && scalar != TRISTAR_COMPLEX_SINGLE &&
       scalar != TRISTAR_COMPLEX_DOUBLE))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "dense matrix of %lld x %lld, scalar %d", (long long)dense->rows,
             (long long)dense->cols, (int)scalar);
  if (!tsi_count_mul(dense->rows, dense->cols, doubles) || !tsi_count_mul(*doubles, width, doubles))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "a dense matrix of %lld x %lld is too large: at most %lld numbers",
             (long long)dense->rows, (long long)dense->cols, (long long)INT64_MAX);
  if (*doubles > 0 && dense->values == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  for (tsi_count v = 0; v < *doubles; v++)
    if (!isfinite(double_at(dense, v)))
      TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "entry (%lld,%lld) (from 0) is %g",
               (long long)(v / width % dense->rows), (long long)(v / width / dense->rows),
               double_at(dense, v));
  return TRISTAR_OK;
}

static tristar_status write_dense(tsi_env *env, const char *path, const tristar_dense *dense, int width,
                                  tsi_count doubles, const char *comment) {
  tristar_status status = TRISTAR_OK;
  tsi_writer writer;
  tsi_locale locale;
  tsi_locale_enter(&locale);
  TSI_TRY_OUT(tsi_writer_open(&writer, env, path));
  tsi_writer_print(&writer, "%%%%MatrixMarket matrix array %s general\n", width == 2 ? "complex" : "real");
  tsi_writer_comment(&writer, comment);
  tsi_writer_print(&writer, "%lld %lld\n", (long long)dense->rows, (long long)dense->cols);
  for (tsi_count v = 0; v < doubles && !writer.failed; v += width) {
    if (width == 1)
      tsi_writer_print(&writer, "%.17g\n", double_at(dense, v));
    else
      tsi_writer_print(&writer, "%.17g %.17g\n", double_at(dense, v), double_at(dense, v + 1));
  }
out:
  status = tsi_writer_close(&writer, status);
  tsi_locale_leave(&locale);
  return status;
}

tristar_status tristar_dense_write(tristar_t *ts, const char *path, const tristar_dense *dense,
                                   const char *comment) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(ts, ts);
  tsi_env *env = tsi_context_env(ts);
  if (path == NULL || dense == NULL)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", path == NULL ? "path" : "dense");
  int width = tsi_scalar_width(dense->scalar);
  tsi_count doubles = 0;
  TSI_TRY_OUT(check_dense(env, dense, width, &doubles));
  TSI_TRY_OUT(write_dense(env, path, dense, width, doubles, comment));
out:
  return tsi_answer(env, status);
}

void tristar_dense_destroy(tristar_t *ts, tristar_dense *dense) {
  (void)ts;
  if (dense == NULL) return;
  void *values = dense->values;
  memset(dense, 0, sizeof *dense);
  if (values == NULL) return;
  tsi_env *env = tsi_env_of_memory(values);
  if (tsi_env_abandon(env, values)) return;
  tsi_release(values);
  tsi_env_release(env);
}
