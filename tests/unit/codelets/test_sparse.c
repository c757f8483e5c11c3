/* Kernels on the user's matrix, with numbers at the ends of the range: what is finite, the size of an entry,
 * the backward error of rows in which there is nothing but rounding errors. */
#include "codelets/cpu/rows/sparse.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"

/* NaN and infinity are found in either part of a number. */
static void check_finite(const typed *t) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->scalar);
  for (int bad = 0; bad < (t->is_complex ? 4 : 2); bad++) {
    number x[3] = {1, 1, 1}, z = 1; /* room for any type */
    for (int i = 0; i < 3; i++) put(t, x, i, 1);
    CHECK(kernels->first_not_finite(3, x) == 3);
    if (bad < 2)
      __real__ z = bad ? NAN : INFINITY;
    else
      __imag__ z = bad == 2 ? NAN : INFINITY;
    put(t, x, 1, z);
    CHECK(kernels->first_not_finite(3, x) == 1);
  }
}

/* The size of the largest entries there are is a number. */
static void check_size(const typed *t) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->scalar);
  const double most = t->is_single ? (double)FLT_MAX : DBL_MAX;
  number x[1] = {0}, z = -most;
  double size;
  if (t->is_complex) __imag__ z = most;
  put(t, x, 0, z);
  kernels->part(1, x, TSI_PART_MAGNITUDE, &size);
  CHECK_MSG(isfinite(size) && size >= most, "type %c: %g", t->scalar, size);
}

/* A row whose entries meet only what should be zero in x is measured by the size of x. */
static void check_rounding(const typed *t) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->scalar);
  const double e = t->roundoff, row_sum[] = {1, 1}, bound[] = {1, e / 4};
  number b[2] = {0}, x[2] = {0}, r[2] = {0};
  put(t, b, 0, 1);
  put(t, b, 1, 0);
  put(t, x, 0, 1);
  put(t, x, 1, e / 4);
  put(t, r, 0, 0);
  put(t, r, 1, e / 8);
  tsi_sizes sizes = {.n = 2};
  kernels->sizes(2, x, NULL, &sizes.weighted, &sizes.plain);
  const double error = kernels->backward_error(2, b, r, bound, row_sum, &sizes);
  CHECK_MSG(error > 0 && error < e, "type %c: backward error %g", t->scalar, error);
}

/* NaN is the largest and the smallest number, wherever it is, and no row of a solution with NaN is solved. */
static void check_nan(const typed *t) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)t->scalar);
  const double ones[] = {1, 1, 1, 1, 1, 1}, odd[] = {INFINITY, 1, 1, 1e3, 1, 1};
  CHECK(isnan(tsi_larger(NAN, 1)) && isnan(tsi_larger(1, NAN)) && tsi_larger(1, 2) == 2);
  CHECK(isnan(tsi_smaller(NAN, 1)) && isnan(tsi_smaller(1, NAN)) && tsi_smaller(1, 2) == 1);
  for (int bad = 0; bad < 3; bad++) {
    number b[3] = {0}, x[3] = {0}, r[3] = {0}; /* room for any type */
    double weighted, plain;
    for (int i = 0; i < 3; i++) {
      put(t, b, i, 0);
      put(t, r, i, 1);
      put(t, x, i, i == bad ? NAN : 1);
    }
    CHECK(isnan(kernels->largest_size(3, x)));
    CHECK(isnan(kernels->largest_scaled(3, x, NULL)) && isnan(kernels->largest_scaled(3, x, ones)));
    kernels->sizes(3, x, NULL, &weighted, &plain);
    CHECK(isnan(weighted) && isnan(plain));
    kernels->sizes(3, x, ones, &weighted, &plain);
    CHECK(isnan(weighted) && isnan(plain));
    const tsi_sizes sizes = {.n = 3, .with_weights = true, .weighted = weighted, .plain = plain};
    kernels->leave_solved(3, b, r, ones, ones, &sizes, 0.5);
    CHECK(get(t, r, 0) == 1);
  }
  /* |A| g beyond the range of numbers: the norm of a row is not known, and the row counts as it is */
  number b[3] = {0}, r[3] = {0};
  for (int i = 0; i < 3; i++) put(t, b, i, 0);
  for (int i = 0; i < 3; i++) put(t, r, i, i == 0 ? 1e-6 : 0);
  const double bound[] = {1e-6, 1, 1};
  const tsi_sizes sizes = {.n = 3, .with_weights = true, .weighted = 0, .plain = 1};
  CHECK(kernels->backward_error(3, b, r, bound, odd, &sizes) > 0.9);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  for (int k = 0; k < 4; k++) {
    RUN(check_finite(types[k]));
    RUN(check_size(types[k]));
    RUN(check_rounding(types[k]));
    RUN(check_nan(types[k]));
  }
  return 0;
}
