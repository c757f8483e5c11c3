/* Converts factors P R A Q = L U of a solver that divides rows by R = diag(1 / divisor) to tristar_factors,
 * whose row_scale multiplies rows.
 *
 * 1 / divisor may overflow or be subnormal, for example for a row with entries of 1e-310. Then row k of L U
 * is multiplied by a power of two, K(k): P K R A Q = (K L K^-1) (K U). L keeps its unit diagonal. The
 * products are exact unless entries underflow. Such entries are at most 1e-280 times the largest entry of
 * their row.
 *
 * Reads   the divisors.   Writes  row_scale, and the values of L and U, which the adapter owns. */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "runtime/adapters/adapter.h"

/* Exponent of a scaled reciprocal. Solves and estimates stay in range with it. */
#define TSI_EXPONENT_MOST 1010

/* Returns the smallest possible exponent of K for a row; the row remains badly scaled. Returns 0 for the
 * divisors 0, NaN and infinity; the import refuses their reciprocals. */
static inline int tsi_row_shift(double divisor) {
  if (divisor == 0 || !isfinite(divisor) || isnormal(1 / divisor)) return 0;
  int exponent;
  frexp(divisor, &exponent);
  return exponent < 0 ? exponent + TSI_EXPONENT_MOST : exponent - TSI_EXPONENT_MOST;
}

static inline int64_t tsi_triangle_integer(int bits, const void *integers, int64_t k) {
  return bits == 32 ? ((const int32_t *)integers)[k] : ((const int64_t *)integers)[k];
}

/* Multiplies entry (i, j) of L by 2^(shift[i] - shift[j]), of U by 2^shift[i]. The format of the triangle is
 * COLUMNS or ROWS; each value consists of `parts` doubles. */
static inline void tsi_shift_triangle(int64_t n, const tristar_triangle *triangle, bool is_lower,
                                      const int *shift, int parts, double *values) {
  const bool by_rows = triangle->format == TRISTAR_TRIANGLE_ROWS;
  for (int64_t line = 0; line < n; line++) {
    const int64_t end = tsi_triangle_integer(triangle->ptr_bits, triangle->ptr, line + 1);
    for (int64_t p = tsi_triangle_integer(triangle->ptr_bits, triangle->ptr, line); p < end; p++) {
      const int64_t other = tsi_triangle_integer(triangle->index_bits, triangle->index, p);
      const int64_t i = by_rows ? line : other, j = by_rows ? other : line;
      const int exponent = shift[i] - (is_lower ? shift[j] : 0);
      for (int64_t v = parts * p; exponent != 0 && v < parts * (p + 1); v++)
        values[v] = ldexp(values[v], exponent);
    }
  }
}

/* Replaces the n divisors in row_scale, indexed by row of A, by factors. lower, upper: the values of
 * factors->lower and factors->upper, which are changed if a row needs a shift. All other members of *factors
 * are inputs. */
static inline tristar_status tsi_divisors_to_factors(tristar_t *ts, const tristar_factors *factors,
                                                     double *row_scale, double *lower, double *upper) {
  const int parts = factors->scalar == TRISTAR_COMPLEX_DOUBLE ? 2 : 1;
  bool shifted = false;
  TSI_OWNED int *shift = NULL;
  TSI_TRY(TSI_ALLOC(ts, shift, factors->n));
  for (int64_t k = 0; k < factors->n; k++) {
    double *scale = &row_scale[factors->row_order[k]];
    shift[k] = tsi_row_shift(*scale);
    shifted = shifted || shift[k] != 0;
    *scale = ldexp(1, shift[k]) / *scale;
  }
  if (shifted) {
    tsi_shift_triangle(factors->n, &factors->lower, true, shift, parts, lower);
    tsi_shift_triangle(factors->n, &factors->upper, false, shift, parts, upper);
  }
  return TRISTAR_OK;
}
