/* Right-hand sides and checksums: see rhs.h. */
#include "drivers/session/rhs.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/session/files.h"
#include "runtime/context/context.h"
#include "runtime/matrix/file/dense.h"

bool tsi_dense_make(tsi_session *s, int64_t rows, int64_t cols, tristar_dense *dense) {
  int64_t count, bytes;
  *dense = (tristar_dense){rows, cols, s->precision->scalar, NULL};
  if (__builtin_mul_overflow(rows, cols, &count) ||
      __builtin_mul_overflow(count, (int64_t)s->precision->bytes, &bytes))
    return tsi_session_fail(s, TRISTAR_ERR_TOO_LARGE,
                            "%s: %" PRId64 " right-hand sides of %" PRId64
                            " rows are too large: at most %" PRId64 " bytes",
                            s->name, cols, rows, INT64_MAX);
  dense->values = calloc(count > 0 ? (size_t)count : 1, s->precision->bytes);
  if (dense->values != NULL) return true;
  return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory for %" PRId64 " right-hand sides",
                          s->name, cols);
}

bool tsi_columns_read(tsi_session *s, const char *path, const char *what, int64_t rows, tristar_dense *b) {
  const char *name = tsi_input_name(path);
  tristar_dense file;
  bool ok = tsi_session_check(
      s, tsi_dense_read(tsi_context_env(s->ts), path, s->precision->width == 2, &file), name);
  if (ok && file.rows != rows)
    ok = tsi_session_fail(s, TRISTAR_ERR_ARGUMENT,
                          "%s: the right-hand side has %" PRId64 " rows, but the %s has %" PRId64, name,
                          file.rows, what, rows);
  if (ok) ok = tsi_dense_make(s, file.rows, file.cols, b);
  if (ok)
    ok = tsi_session_convert(s, name, file.scalar, file.values, file.rows * file.cols, b->values) &&
         tsi_session_keep_columns(s, name, file.scalar, file.values, file.rows, file.cols, b->values);
  tristar_dense_destroy(s->ts, &file);
  return ok;
}

bool tsi_rhs_make(tsi_session *s, tristar_dense *b) {
  uint64_t state = 1;
  if (s->settings->rhs != NULL) return tsi_columns_read(s, s->settings->rhs, "matrix", s->view.rows, b);
  if (!tsi_dense_make(s, s->view.rows, s->settings->nrhs > 0 ? s->settings->nrhs : 1, b)) return false;
  const tsi_precision *exact =
      tsi_precision_of(s->precision->width == 2 ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE);
  char *values = b->values;
  for (int64_t k = 0; k < b->rows * b->cols; k++) {
    double value[2];
    for (int part = 0; part < exact->width; part++) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      value[part] = (double)(state >> 11) * 0x1p-52 - 1.0;
    }
    tsi_precision_convert(exact, value, s->precision, values + (size_t)k * s->precision->bytes, 1);
  }
  return true;
}

bool tsi_solution_write(tsi_session *s, const tristar_dense *x, const char *format, ...) {
  const char *path = s->settings->out;
  char comment[512];
  va_list args;
  va_start(args, format);
  vsnprintf(comment, sizeof comment, format, args);
  va_end(args);
  return path == NULL ||
         tsi_session_check(s, tristar_dense_write(s->ts, path, x, comment), tsi_output_name(path));
}

uint64_t tsi_checksum(const tristar_dense *dense) {
  const unsigned char *byte = dense->values;
  const size_t count =
      byte == NULL ? 0 : (size_t)(dense->rows * dense->cols) * tsi_precision_of(dense->scalar)->bytes;
  uint64_t sum = UINT64_C(0xcbf29ce484222325);
  for (size_t k = 0; k < count; k++) sum = (sum ^ byte[k]) * UINT64_C(0x100000001b3);
  return sum;
}
