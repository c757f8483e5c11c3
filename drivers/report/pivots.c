/* Determinant and inertia: see pivots.h. */
#include "drivers/report/pivots.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "drivers/report/report.h"

bool tsi_pivots_find(tsi_session *s, tsi_pivots *pivots) {
  if (s->settings->inertia &&
      !tsi_session_check(s, tristar_factor_get_inertia(s->factor, &pivots->inertia), s->name))
    return false;
  if (s->settings->determinant &&
      !tsi_session_check(s, tristar_factor_get_determinant(s->factor, &pivots->determinant), s->name))
    return false;
  pivots->found = true;
  return true;
}

/* A decimal number, whatever the exponent. */
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
  if (!s->settings->determinant) return;
  print_determinant(&pivots->determinant, sizeof text, text);
  tsi_report("", "determinant %s", text);
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
  if (!s->settings->determinant) return;
  cJSON *o = cJSON_AddObjectToObject(object, "determinant");
  TSI_JSON_NUMBERS(o, {"mantissa", d->mantissa[0]}, {"mantissa_imag", d->mantissa[1]},
                   {"exponent", (double)d->exponent}, {"log_abs", d->log_abs});
}
