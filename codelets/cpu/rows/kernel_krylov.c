/* Products by rows and operations on pieces of vectors: see krylov.h. Compiled for each scalar type and
 * instruction set.
 *
 * A complex vector is also a vector of twice as many reals, in which real and imaginary parts alternate;
 * operations with real factors use it. Sums of products are kept in LANES lanes, which are added at the end.
 * A single sum would have to wait for each addition. */
#include "codelets/cpu/rows/krylov.h"

#include "codelets/cpu/base/scalar.h"

#define LANES 8
#define PARTS (1 + TSI_COMPLEX) /* reals in a scalar */

/* ---- Products ------------------------------------------------------------------------------------------ */

static void multiply(const tsi_matrix_rows *rows, tsi_index first, tsi_index end, const void *xv, void *yv) {
  const tsi_scalar *x = xv, *values = rows->values;
  const tsi_index *index = rows->index;
  tsi_scalar *y = yv;
  for (tsi_index i = first; i < end; i++) {
    const tsi_count last = rows->ptr[i + 1];
    tsi_count e = rows->ptr[i];
    tsi_scalar a = 0, b = 0;
    for (; e + 2 <= last; e += 2) {
      tsi_add_product(&a, values[e], x[index[e]]);
      tsi_add_product(&b, values[e + 1], x[index[e + 1]]);
    }
    if (e < last) tsi_add_product(&a, values[e], x[index[e]]);
    y[i] = a + b;
  }
}

/* ---- Sums ---------------------------------------------------------------------------------------------- */

static double sum_lanes(const double *lane, int step) {
  double sum = 0;
  for (int l = 0; l < LANES; l += step) sum += lane[l];
  return sum;
}

typedef struct lanes {
  double same[LANES]; /* re re, im im */
#if TSI_COMPLEX
  double cross[LANES]; /* re im, im re */
#endif
} lanes;

/* Adds the products of so many reals: a multiple of LANES, except in the last call of a sum. */
INLINE void add_lanes(int64_t reals, const tsi_real *x, const tsi_real *y, lanes *sum) {
  int64_t i = 0;
  for (; i + LANES <= reals; i += LANES)
    for (int l = 0; l < LANES; l++) {
      sum->same[l] += (double)x[i + l] * (double)y[i + l];
#if TSI_COMPLEX
      sum->cross[l] += (double)x[i + l] * (double)y[i + (l ^ 1)];
#endif
    }
  for (int l = 0; i + l < reals; l++) {
    sum->same[l] += (double)x[i + l] * (double)y[i + l];
#if TSI_COMPLEX
    sum->cross[l] += (double)x[i + l] * (double)y[i + (l ^ 1)];
#endif
  }
}

static void leave_lanes(const lanes *sum, double out[2]) {
  out[0] = sum_lanes(sum->same, 1);
  out[1] = 0;
#if TSI_COMPLEX
  out[1] = sum_lanes(sum->cross, 2) - sum_lanes(sum->cross + 1, 2);
#endif
}

static void dot(tsi_index n, const void *xv, const void *yv, double out[2]) {
  lanes sum = {.same = {0}};
  add_lanes((int64_t)n * PARTS, xv, yv, &sum);
  leave_lanes(&sum, out);
}

/* ---- Combinations -------------------------------------------------------------------------------------- */

static void axpy(tsi_index n, const double factor[2], const void *xv, void *yv) {
  const tsi_real re = (tsi_real)factor[0];
#if TSI_COMPLEX
  const tsi_real im = (tsi_real)factor[1];
  if (im != 0) {
    const tsi_real *x = xv;
    tsi_real *y = yv;
    for (int64_t i = 0; i < 2 * (int64_t)n; i += 2) {
      y[i] += re * x[i] - im * x[i + 1];
      y[i + 1] += re * x[i + 1] + im * x[i];
    }
    return;
  }
#endif
  const tsi_real *x = xv;
  tsi_real *y = yv;
  for (int64_t i = 0; i < PARTS * (int64_t)n; i++) y[i] += re * x[i];
}

static void xpay(tsi_index n, const double factor[2], const void *xv, void *yv) {
  const tsi_real *x = xv, re = (tsi_real)factor[0];
  tsi_real *y = yv;
#if TSI_COMPLEX
  const tsi_real im = (tsi_real)factor[1];
  if (im != 0) {
    for (int64_t i = 0; i < 2 * (int64_t)n; i += 2) {
      const tsi_real y_re = y[i], y_im = y[i + 1];
      y[i] = x[i] + (re * y_re - im * y_im);
      y[i + 1] = x[i + 1] + (re * y_im + im * y_re);
    }
    return;
  }
#endif
  for (int64_t i = 0; i < PARTS * (int64_t)n; i++) y[i] = x[i] + re * y[i];
}

static void scale(tsi_index n, double factor, const void *xv, void *yv) {
  const tsi_real *x = xv;
  tsi_real *y = yv;
  for (int64_t i = 0; i < PARTS * (int64_t)n; i++) y[i] = (tsi_real)(factor * (double)x[i]);
}

static void subtract(tsi_index n, const void *xv, void *yv) {
  const tsi_real *x = xv;
  tsi_real *y = yv;
  for (int64_t i = 0; i < PARTS * (int64_t)n; i++) y[i] = x[i] - y[i];
}

/* ---- Steps of conjugate gradients ---------------------------------------------------------------------- */

#define STRIP 128 /* number of entries that stay in the nearest cache from one loop to the next */

/* z = d r */
INLINE void multiply_entries(tsi_index n, const tsi_scalar *d, const tsi_scalar *r, tsi_scalar *z) {
  for (tsi_index i = 0; i < n; i++) {
    tsi_scalar product = 0;
    tsi_add_product(&product, d[i], r[i]);
    z[i] = product;
  }
}

static void advance(tsi_index n, double alpha, const void *pv, const void *qv, const void *dv, void *xv,
                    void *rv, void *zv, double out[6]) {
  const tsi_scalar *p = pv, *q = qv, *d = dv;
  tsi_scalar *x = xv, *r = rv, *z = zv;
  const double plus[2] = {alpha, 0}, minus[2] = {-alpha, 0};
  lanes rz = {.same = {0}}, zz = {.same = {0}}, rr = {.same = {0}};
  for (tsi_index i = 0; i < n; i += STRIP) {
    const tsi_index count = tsi_index_min(STRIP, n - i);
    const int64_t reals = (int64_t)count * PARTS;
    axpy(count, plus, p + i, x + i);
    axpy(count, minus, q + i, r + i);
    multiply_entries(count, d + i, r + i, z + i);
    add_lanes(reals, (const tsi_real *)(r + i), (const tsi_real *)(z + i), &rz);
    add_lanes(reals, (const tsi_real *)(z + i), (const tsi_real *)(z + i), &zz);
    add_lanes(reals, (const tsi_real *)(r + i), (const tsi_real *)(r + i), &rr);
  }
  leave_lanes(&rz, out);
  leave_lanes(&zz, out + 2);
  leave_lanes(&rr, out + 4);
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_krylov_kernels), isa)

const tsi_krylov_kernels TABLE(TSI_ISA) = {.isa = TSI_TEXT(TSI_ISA),
                                           .multiply = multiply,
                                           .dot = dot,
                                           .axpy = axpy,
                                           .xpay = xpay,
                                           .scale = scale,
                                           .advance = advance,
                                           .subtract = subtract};
