/* Backward errors of several solutions: see errors.h. Compiled for each scalar type and instruction set. */
#include "codelets/cpu/rows/errors.h"

#include "codelets/cpu/rows/residuals.h"

/* Stores columns interleaved; lanes after the last column repeat the first one. */
INLINE void turn(tsi_index n, const int width, tsi_index count, const tsi_scalar *from, tsi_scalar *to) {
  for (tsi_index i = 0; i < n; i++)
    EACH_COLUMN(c) to[(ptrdiff_t)i * width + c] = from[(c < count ? (ptrdiff_t)c * n : 0) + i];
}

/* Computes sizes() of all columns. */
INLINE void find_sizes(tsi_index n, const int width, const double *size, const double *g, double *weighted,
                       double *plain) {
  EACH_COLUMN(c) weighted[c] = plain[c] = 0;
  for (tsi_index i = 0; i < n; i++) {
    const double unit = g ? fabs(g[i]) : 1;
    EACH_COLUMN(c) {
      const double x = size[(ptrdiff_t)i * width + c], quotient = x / unit;
      plain[c] = !(x <= plain[c]) ? x : plain[c];
      weighted[c] = !(quotient <= weighted[c]) ? quotient : weighted[c];
    }
  }
}

/* Computes backward_error() of all columns, without a branch. */
INLINE double find_errors(tsi_index n, const int width, tsi_index count, const tsi_scalar *b,
                          const tsi_scalar *r, const double *bounds, const double *row_sum,
                          const bool with_weights, const double *weighted, const double *plain,
                          int64_t order) {
  const double rounding = smaller(1000 * (double)order * (double)TSI_EPSILON, 1e-3);
  double error[TSI_COLUMNS_MOST] = {0}, nothing[TSI_COLUMNS_MOST] = {0}; /* NaN after one, or infinity */
  for (tsi_index i = 0; i < n; i++) {
    double of_b[TSI_COLUMNS_MOST];
    const double own = row_sum[i], ones = with_weights ? row_sum[n + i] : 0;
    EACH_COLUMN(c) of_b[c] = magnitude(b[(c < count ? (ptrdiff_t)c * n : 0) + i]);
    EACH_COLUMN(c) {
      const double size = magnitude(r[(ptrdiff_t)i * width + c]), bound_i = bounds[(ptrdiff_t)i * width + c];
      const double norm = with_weights ? smaller(own * weighted[c], ones * plain[c]) : own * weighted[c];
      const bool rounded = !(bound_i + of_b[c] > rounding * (norm + of_b[c])) & (norm <= DBL_MAX);
      const double least = bound_i + (rounded ? norm : of_b[c]);
      const double quotient = size == 0 ? 0 : size / least;
      error[c] = quotient > error[c] ? quotient : error[c];
      nothing[c] += (least - least) + (quotient - quotient);
    }
  }
  double largest = 0;
  EACH_COLUMN(c) {
    if (nothing[c] != 0) return INFINITY;
    largest = error[c] > largest ? error[c] : largest;
  }
  return largest;
}

INLINE double find_backward_errors(const tsi_sparse *a, tristar_op op, const int width, tsi_index count,
                                   const tsi_scalar *b, const tsi_scalar *x, const double *g,
                                   const double *row_sum, int64_t order, tsi_scalar *work) {
  const tsi_index n = a->n;
  tsi_scalar *turned = work, *r = turned + (ptrdiff_t)n * width;
  double *size = (double *)(r + (ptrdiff_t)n * width), *bounds = size + (ptrdiff_t)n * width;
  double weighted[TSI_COLUMNS_MOST], plain[TSI_COLUMNS_MOST];
  turn(n, width, count, x, turned);
  turn(n, width, count, b, r);
  for (ptrdiff_t k = 0; k < (ptrdiff_t)n * width; k++) size[k] = magnitude(turned[k]);
  residuals_and_bounds(a, op, width, turned, size, r, bounds);
  find_sizes(n, width, size, g, weighted, plain);
  return g ? find_errors(n, width, count, b, r, bounds, row_sum, true, weighted, plain, order)
           : find_errors(n, width, count, b, r, bounds, row_sum, false, weighted, plain, order);
}

/* If there are few columns, separate passes are faster. */
static double backward_errors(const tsi_sparse *a, tristar_op op, tsi_index count, const void *b,
                              const void *x, const double *g, const double *row_sum, int64_t order,
                              void *work) {
  return count <= 2 ? find_backward_errors(a, op, 2, count, b, x, g, row_sum, order, work)
                    : find_backward_errors(a, op, TSI_COLUMNS_MOST, count, b, x, g, row_sum, order, work);
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_error_kernels), isa)

const tsi_error_kernels TABLE(TSI_ISA) = {.isa = TSI_TEXT(TSI_ISA), .backward_errors = backward_errors};
