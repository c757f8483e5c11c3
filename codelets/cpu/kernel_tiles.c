/* Decomposition of tiles: see tiles.h. Compiled for each scalar type and instruction set.
 *
 * Modified Gram-Schmidt with column pivoting. Each step computes the remainders of all columns, and their
 * lengths are computed anew, not updated. So the length of the whole remainder is correct even if the columns
 * of U are not quite orthogonal. Each column stays in the nearest cache for all operations of a step. */
#include "codelets/cpu/tiles.h"

#include <math.h>

#include "codelets/cpu/base/vector.h"

#define CHAINS 4 /* number of independent sums, so that additions do not wait for each other */
#define EACH_CHAIN(c) UNROLL for (int c = 0; c < CHAINS; c++)

_Static_assert(TSI_TILE_STEP(1) % (CHAINS * LANES) == 0, "a column has whole chains of registers");

INLINE reg real_reg(const tsi_real *p) {
  return *(const reg *)p;
}

INLINE tsi_real sum_chains(const reg a[CHAINS]) {
  const reg all = (a[0] + a[1]) + (a[2] + a[3]);
  tsi_real total = 0;
  for (int l = 0; l < LANES; l++) total += all[l];
  return total;
}

/* sum of a[i] b[i] */
INLINE tsi_real dot(tsi_index step, const tsi_real *a, const tsi_real *b) {
  reg chain[CHAINS] = {{0}};
  for (tsi_index i = 0; i < step; i += CHAINS * LANES)
    EACH_CHAIN(c) chain[c] += real_reg(a + i + c * LANES) * real_reg(b + i + c * LANES);
  return sum_chains(chain);
}

/* a -= s q; returns the squared length of the new a. */
INLINE tsi_real subtract(tsi_index step, tsi_real s, const tsi_real *q, tsi_real *a) {
  reg chain[CHAINS] = {{0}};
  for (tsi_index i = 0; i < step; i += CHAINS * LANES) EACH_CHAIN(c) {
      const reg x = real_reg(a + i + c * LANES) - s * real_reg(q + i + c * LANES);
      *(reg *)(a + i + c * LANES) = x;
      chain[c] += x * x;
    }
  return sum_chains(chain);
}

#if TSI_COMPLEX
/* a -= q s for complex columns, s = q^H a; returns s. */
INLINE tsi_scalar project(tsi_index step, const tsi_real *q, tsi_real *a, double *size) {
  const tsi_real *qi = q + step;
  tsi_real *ai = a + step;
  tsi_scalar s;
  __real__ s = dot(step, q, a) + dot(step, qi, ai);
  __imag__ s = dot(step, q, ai) - dot(step, qi, a);
  (void)subtract(step, tsi_re(s), q, a);
  (void)subtract(step, tsi_im(s), q, ai);
  const tsi_real real = subtract(step, -tsi_im(s), qi, a), imaginary = subtract(step, tsi_re(s), qi, ai);
  *size = (double)real + (double)imaginary;
  return s;
}
#else
INLINE tsi_scalar project(tsi_index step, const tsi_real *q, tsi_real *a, double *size) {
  const tsi_scalar s = dot(step, q, a);
  *size = (double)subtract(step, s, q, a);
  return s;
}
#endif

static tsi_index longest(tsi_index w, const double *size) {
  tsi_index at = 0;
  for (tsi_index j = 1; j < w; j++)
    if (size[j] > size[at]) at = j;
  return at;
}

static double sum_of(tsi_index w, const double *size) {
  double all = 0;
  for (tsi_index j = 0; j < w; j++) all += size[j] > 0 ? size[j] : 0;
  return all;
}

/* Sizes are squares of lengths; -1: the column is one of U. */
static tsi_index decompose(tsi_index rows, tsi_index w, const tsi_tile_limits *limits, void *tile,
                           void *right, tsi_index *pivot, double *length, double *size) {
  const tsi_index step = TSI_TILE_STEP(rows);
  const ptrdiff_t column = (ptrdiff_t)PARTS * step;
  tsi_real *a = tile;
  tsi_scalar *v = right;
  tsi_index k = 0, wide = 0;
  for (tsi_index j = 0; j < w; j++) {
    size[j] = (double)dot(step, a + j * column, a + j * column);
    if (TSI_COMPLEX) size[j] += (double)dot(step, a + j * column + step, a + j * column + step);
  }
  for (; k < tsi_index_min(rows, w) && sum_of(w, size) > limits->left * limits->left; k++, v += w) {
    const tsi_index p = longest(w, size);
    const double norm = sqrt(size[p]);
    double square = 0;
    tsi_real *q = a + p * column;
    for (ptrdiff_t i = 0; i < column; i++) q[i] = (tsi_real)((double)q[i] / norm);
    pivot[k] = p;
    size[p] = -1;
    for (tsi_index j = 0; j < w; j++) {
      v[j] = j == p ? (tsi_scalar)(tsi_real)norm : 0;
      if (size[j] >= 0) v[j] = project(step, q, a + j * column, &size[j]);
      square += (double)tsi_re(v[j]) * (double)tsi_re(v[j]) + (double)tsi_im(v[j]) * (double)tsi_im(v[j]);
    }
    length[k] = sqrt(square);
    wide += length[k] > limits->wide;
    if (wide > limits->widest) return TSI_NONE;
  }
  return k;
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_tile_kernels), isa)

extern const tsi_tile_kernels TABLE(TSI_ISA);
const tsi_tile_kernels TABLE(TSI_ISA) = {.isa = TSI_TEXT(TSI_ISA), .decompose = decompose};
