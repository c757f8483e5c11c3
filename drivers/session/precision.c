/* The table of scalar types: see precision.h. */
#include "drivers/session/precision.h"

#include <float.h>
#include <math.h>

static const tsi_precision table[] = {
    {TRISTAR_SINGLE, "s", "single", 1, sizeof(float), FLT_EPSILON, 1e-5, 1e-3},
    {TRISTAR_DOUBLE, "d", "double", 1, sizeof(double), DBL_EPSILON, 1e-12, 1e-6},
    {TRISTAR_COMPLEX_SINGLE, "c", "complex single", 2, 2 * sizeof(float), FLT_EPSILON, 1e-5, 1e-3},
    {TRISTAR_COMPLEX_DOUBLE, "z", "complex double", 2, 2 * sizeof(double), DBL_EPSILON, 1e-12, 1e-6},
};

const tsi_precision *tsi_precision_of(tristar_scalar scalar) {
  size_t k = 0;
  while (table[k].scalar != scalar) k++;
  return &table[k];
}

double tsi_precision_flops(const tsi_precision *precision) {
  return precision->width == 2 ? 8 : 2;
}

static bool is_single(const tsi_precision *type) {
  return type->bytes == (size_t)type->width * sizeof(float);
}

/* Real number k of the array. */
static double get(const tsi_precision *type, const void *values, int64_t k) {
  return is_single(type) ? (double)((const float *)values)[k] : ((const double *)values)[k];
}

int64_t tsi_precision_convert(const tsi_precision *from_type, const void *from, const tsi_precision *to_type,
                              void *to, int64_t count) {
  for (int64_t k = 0; k < count; k++)
    for (int part = 0; part < to_type->width; part++) {
      const double x = part < from_type->width ? get(from_type, from, k * from_type->width + part) : 0;
      const int64_t at = k * to_type->width + part;
      if (!is_single(to_type))
        ((double *)to)[at] = x;
      else if (fabs(x) > (double)FLT_MAX)
        return k;
      else
        ((float *)to)[at] = (float)x;
    }
  return count;
}

bool tsi_precision_is_zero(const tsi_precision *type, const void *values, int64_t k) {
  return get(type, values, k * type->width) == 0 &&
         (type->width == 1 || get(type, values, k * type->width + 1) == 0);
}

bool tsi_precision_all_real(const tsi_precision *type, const void *values, int64_t count) {
  for (int64_t k = 0; k < count && type->width == 2; k++)
    if (get(type, values, 2 * k + 1) != 0) return false;
  return true;
}
