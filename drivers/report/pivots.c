/* Determinant, inertia, null space: see pivots.h. */
#include "drivers/report/pivots.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/report/report.h"
#include "drivers/session/files.h"
#include "drivers/session/rhs.h"
#include "tristar_inverse.h"
#include "tristar_solve.h"

bool tsi_pivots_find(tsi_session *s, tsi_pivots *pivots) {
  pivots->null_vectors = -1;
  if (s->settings->inertia &&
      !tsi_session_check(s, tristar_factor_get_inertia(s->factor, &pivots->inertia), s->name))
    return false;
  if (s->settings->determinant &&
      !tsi_session_check(s, tristar_factor_get_determinant(s->factor, &pivots->determinant), s->name))
    return false;
  pivots->found = true;
  return true;
}

#define NULL_VECTORS_MOST 100

/* Writes the first columns of `basis`. */
static bool write_basis(tsi_session *s, const tristar_dense *basis, int64_t columns) {
  tristar_dense found = *basis;
  char comment[400];
  found.cols = columns;
  snprintf(comment, sizeof comment, "an orthonormal basis of the null space of %s, A = %.300s", s->name,
           s->name);
  return tsi_session_check(s, tristar_dense_write(s->ts, s->settings->null_space, &found, comment),
                           tsi_output_name(s->settings->null_space));
}

bool tsi_null_space_find(tsi_session *s, tristar_dense *b, const tristar_dense *x, tsi_pivots *pivots) {
  const tristar_op op = tsi_session_op(s)->op;
  const int64_t n = b->rows, most = n < NULL_VECTORS_MOST ? n : NULL_VECTORS_MOST;
  tristar_dense basis = {0};
  if (s->settings->null_space == NULL) return true;
  const bool ok =
      tsi_dense_make(s, n, most, &basis) &&
      tsi_session_check(
          s, tristar_null_space(s->plan, op, most, basis.values, n > 0 ? n : 1, &pivots->null_vectors),
          s->name) &&
      write_basis(s, &basis, pivots->null_vectors);
  free(basis.values);
  if (!ok || s->settings->rhs != NULL) return ok;
  const size_t bytes = (size_t)(n * b->cols) * s->precision->bytes;
  if (bytes == 0) return true;
  memcpy(x->values, b->values, bytes);
  memset(b->values, 0, bytes);
  /* B = -op(A) X is in the range of op(A) */
  return tsi_session_check(
      s, tristar_residual(s->factor, op, b->cols, b->values, n, x->values, n, b->values, n, NULL), s->name);
}

bool tsi_inverse_diagonal_write(tsi_session *s, const tristar_dense *diagonal) {
  const char *path = s->settings->inverse_diagonal;
  char comment[400];
  snprintf(comment, sizeof comment, "the diagonal of the inverse of %.300s", s->name);
  return tsi_session_check(s, tristar_dense_write(s->ts, path, diagonal, comment), tsi_output_name(path));
}

bool tsi_inverse_diagonal_find(tsi_session *s, tsi_pivots *pivots) {
  tristar_dense diagonal = {0};
  if (s->settings->inverse_diagonal == NULL) return true;
  bool ok = tsi_dense_make(s, s->view.rows, 1, &diagonal);
  const double begin = tsi_now();
  ok = ok && tsi_session_check(s, tristar_inverse_diagonal(s->plan, diagonal.values), s->name);
  pivots->diagonal_s = tsi_now() - begin;
  ok = ok && tsi_inverse_diagonal_write(s, &diagonal);
  free(diagonal.values);
  return ok;
}

/* Prints a decimal number that may exceed the range of double. */
static void print_determinant(const tristar_determinant *d, size_t size, char *text) {
  const double digits = d->log_abs / log(10), exponent = floor(digits), mantissa = pow(10, digits - exponent);
  if (isinf(d->log_abs))
    snprintf(text, size, "0: the matrix is singular to working precision");
  else if (d->sign[1] == 0)
    snprintf(text, size, "%.6ge%+.0f", d->sign[0] * mantissa, exponent);
  else
    snprintf(text, size, "(%.6g %+.6g i) e%+.0f", d->sign[0] * mantissa, d->sign[1] * mantissa, exponent);
}

void tsi_pivots_report(const tsi_session *s, const tsi_pivots *pivots) {
  char text[96];
  if (!pivots->found) return;
  if (s->settings->inertia)
    tsi_report("", "%" PRId64 " positive, %" PRId64 " negative, %s", pivots->inertia.positive,
               pivots->inertia.negative, tsi_text_many(pivots->inertia.zero, "zero eigenvalue"));
  if (s->settings->determinant) {
    print_determinant(&pivots->determinant, sizeof text, text);
    tsi_report("", "determinant %s", text);
  }
  if (pivots->null_vectors >= 0)
    tsi_report("", "null space with %s, written to %s", tsi_text_many(pivots->null_vectors, "dimension"),
               tsi_output_name(s->settings->null_space));
  if (pivots->diagonal_s > 0)
    tsi_report("", "diagonal of the inverse, in %s, written to %s", tsi_text_seconds(pivots->diagonal_s),
               tsi_output_name(s->settings->inverse_diagonal));
}

void tsi_pivots_json(const tsi_session *s, const tsi_pivots *pivots, cJSON *object) {
  const tristar_determinant *d = &pivots->determinant;
  if (!pivots->found) return;
  if (s->settings->inertia) {
    cJSON *o = cJSON_AddObjectToObject(object, "inertia");
    TSI_JSON_NUMBERS(o, {"positive", (double)pivots->inertia.positive},
                     {"negative", (double)pivots->inertia.negative}, {"zero", (double)pivots->inertia.zero});
    cJSON_AddNumberToObject(object, "null_pivots", (double)pivots->inertia.zero);
  }
  if (pivots->null_vectors >= 0)
    cJSON_AddNumberToObject(object, "null_space_dimension", (double)pivots->null_vectors);
  if (pivots->diagonal_s > 0) cJSON_AddNumberToObject(object, "inverse_diagonal_s", pivots->diagonal_s);
  if (!s->settings->determinant) return;
  cJSON *o = cJSON_AddObjectToObject(object, "determinant");
  TSI_JSON_NUMBERS(o, {"mantissa", d->mantissa[0]}, {"mantissa_imag", d->mantissa[1]},
                   {"exponent", (double)d->exponent}, {"log_abs", d->log_abs});
}
