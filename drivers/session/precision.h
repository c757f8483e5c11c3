/* The four scalar types: their properties, and conversion between them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tristar.h"

typedef struct tsi_precision {
  tristar_scalar scalar;
  const char *letter; /* word of --precision */
  const char *text;
  int width; /* real numbers in a value: 1, or 2 if complex */
  size_t bytes;
  double epsilon;
  double tolerance;     /* default of --tolerance */
  double trusted_error; /* if the backward error is larger, the factors are useless */
} tsi_precision;

const tsi_precision *tsi_precision_of(tristar_scalar scalar);

/* Returns the floating-point operations of one multiplication and one addition of values. */
double tsi_precision_flops(const tsi_precision *precision);

/* to[k] = from[k], k = 0 .. count-1. Adds zero imaginary parts, or drops imaginary parts, if the types differ
 * in this. Returns the first k whose value is too large for the type of `to`, otherwise count. */
int64_t tsi_precision_convert(const tsi_precision *from_type, const void *from, const tsi_precision *to_type,
                              void *to, int64_t count);

bool tsi_precision_is_zero(const tsi_precision *type, const void *values, int64_t k);

/* Are all values real? Their type may be complex. */
bool tsi_precision_all_real(const tsi_precision *type, const void *values, int64_t count);
