/* The four scalar types: what the program has to know about each, and conversion between them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tristar.h"

typedef struct tsi_precision {
  tristar_scalar scalar;
  const char *letter; /* as --precision takes it */
  const char *text;
  int width; /* real numbers in a value: 1, or 2: real and imaginary part */
  size_t bytes;
  double epsilon;
  double tolerance;     /* of --tolerance, unless given */
  double trusted_error; /* with a larger backward error the factors are useless */
} tsi_precision;

const tsi_precision *tsi_precision_of(tristar_scalar scalar);

/* Floating-point operations of a multiplication and an addition of values. */
double tsi_precision_flops(const tsi_precision *precision);

/* to[k] = from[k], k = 0 .. count-1; zero imaginary parts are added, and imaginary parts dropped, as the
 * types ask for it. Gives the first k that is too large for the type of `to`, otherwise count. */
int64_t tsi_precision_convert(const tsi_precision *from_type, const void *from, const tsi_precision *to_type,
                              void *to, int64_t count);

bool tsi_precision_is_zero(const tsi_precision *type, const void *values, int64_t k);

/* Are the values real, be their type complex or not? */
bool tsi_precision_all_real(const tsi_precision *type, const void *values, int64_t count);
