/* Vectors of 8 scalars, the height of a row block, and sums of products of them, for the file's scalar type.
 *
 * They are compiler vectors of any width: the compiler maps them to the registers of the instruction set that
 * the file is compiled for. All functions are inlined; no vector is passed between files.
 *
 * Complex products. The vectors hold real and imaginary parts in turn. A sum of products is kept as two sums:
 * v[0] of the vector times the real part of the other factor, v[1] of it times the imaginary part; sum_value
 * puts them together once. */
#ifndef TSI_CODELETS_CPU_VECTOR_H
#define TSI_CODELETS_CPU_VECTOR_H

#include <string.h>

#if defined __AVX512F__
#include <immintrin.h>
#endif

#include "codelets/cpu/panel.h"
#include "codelets/cpu/scalar.h"

#define B TSI_ROW_BLOCK
#define PARTS (1 + TSI_COMPLEX) /* reals in a scalar */

typedef tsi_real vec
    __attribute__((vector_size(B * sizeof(tsi_scalar)), aligned(sizeof(tsi_real)), may_alias));
#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
typedef int32_t integer;
#else
typedef int64_t integer;
#endif
typedef integer mask __attribute__((vector_size(B * sizeof(tsi_scalar))));

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const tsi_scalar *p) {
  return *(const vec *)p;
}
INLINE void store(tsi_scalar *p, vec v) {
  *(vec *)p = v;
}

/* A vector as the second factor of products lane by lane. */
typedef struct lanes {
  vec v[PARTS];
} lanes;

/* A sum of products. */
typedef struct sum {
  vec v[PARTS];
} sum;

/* The first count <= 8 scalars, zero in the lanes beyond, which are not read. */
INLINE vec load_some(const tsi_scalar *p, tsi_index count) {
#if defined __AVX512F__ && defined TSI_SCALAR_D
  return (vec)_mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1), p);
#elif defined __AVX512VL__ && defined TSI_SCALAR_S
  return (vec)_mm256_maskz_loadu_ps((__mmask8)((1u << count) - 1), p);
#else
  tsi_scalar part[B] = {0};
  memcpy(part, p, (size_t)count * sizeof *p);
  return load(part);
#endif
}
/* Writes the first count lanes. */
INLINE void store_some(tsi_scalar *p, vec v, tsi_index count) {
#if defined __AVX512F__ && defined TSI_SCALAR_D
  _mm512_mask_storeu_pd(p, (__mmask8)((1u << count) - 1), (__m512d)v);
#elif defined __AVX512VL__ && defined TSI_SCALAR_S
  _mm256_mask_storeu_ps(p, (__mmask8)((1u << count) - 1), (__m256)v);
#else
  tsi_scalar part[B];
  store(part, v);
  memcpy(p, part, (size_t)count * sizeof *p);
#endif
}

#if TSI_COMPLEX
INLINE vec lanes_from(vec v, int j) {
  const mask lane = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
  return (vec)((mask)v & (lane >= (integer)j));
}
#if defined __clang__
#define SHUFFLE(v, ...) __builtin_shufflevector(v, v, __VA_ARGS__)
#else
#define SHUFFLE(v, ...) __builtin_shuffle(v, (mask){__VA_ARGS__})
#endif
INLINE lanes as_lanes(vec x) {
  return (lanes){{SHUFFLE(x, 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14),
                  SHUFFLE(x, 1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15)}};
}
INLINE vec sum_value(sum a) {
  const vec sign = {-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1};
  return a.v[0] + sign * SHUFFLE(a.v[1], 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
}
INLINE tsi_scalar sum_lanes(vec v) {
  tsi_scalar x;
  __real__ x = ((v[0] + v[8]) + (v[4] + v[12])) + ((v[2] + v[10]) + (v[6] + v[14]));
  __imag__ x = ((v[1] + v[9]) + (v[5] + v[13])) + ((v[3] + v[11]) + (v[7] + v[15]));
  return x;
}
#else
/* Lanes j .. 7 of v; zero below. */
INLINE vec lanes_from(vec v, int j) {
  const mask lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return (vec)((mask)v & (lane >= (integer)j));
}
/* Lanes 0 .. count-1 of v; zero beyond. */
INLINE vec lanes_below(vec v, tsi_index count) {
  const mask lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return (vec)((mask)v & (lane < (integer)count));
}
INLINE lanes as_lanes(vec x) {
  return (lanes){{x}};
}
INLINE vec sum_value(sum a) {
  return a.v[0];
}
#if defined __clang__
#define SHUFFLE2(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE2(a, b, ...) __builtin_shuffle(a, b, (mask){__VA_ARGS__})
#endif
/* Each lane l < 4 of a vector plus lane l + 4: those of a, then those of b. */
INLINE vec fold_fours(vec a, vec b) {
  return SHUFFLE2(a, b, 0, 1, 2, 3, 8, 9, 10, 11) + SHUFFLE2(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}
/* Of every four lanes the first two plus the last two. */
INLINE vec fold_twos(vec a, vec b) {
  return SHUFFLE2(a, b, 0, 1, 4, 5, 8, 9, 12, 13) + SHUFFLE2(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
}
/* Of every two lanes the first plus the second. */
INLINE vec fold_ones(vec a, vec b) {
  return SHUFFLE2(a, b, 0, 2, 4, 6, 8, 10, 12, 14) + SHUFFLE2(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
}
INLINE tsi_scalar sum_lanes(vec v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}
#endif

INLINE sum no_sum(void) {
  return (sum){{{0}}};
}

/* a += v x, x one scalar for all lanes. */
INLINE void add_times(sum *a, vec v, tsi_scalar x) {
  a->v[0] += v * tsi_re(x);
#if TSI_COMPLEX
  a->v[1] += v * tsi_im(x);
#endif
}

/* a += v x, lane by lane. */
INLINE void add_lanes(sum *a, vec v, lanes x) {
  for (int q = 0; q < PARTS; q++) a->v[q] += v * x.v[q];
}

INLINE sum add_sums(sum a, sum b) {
  for (int q = 0; q < PARTS; q++) a.v[q] += b.v[q];
  return a;
}

/* Partial sums of one column: PARTS vectors in scratch. */
#define PARTIAL (B * PARTS) /* scalars */
INLINE sum load_sum(const tsi_scalar *p) {
  sum a;
  for (int q = 0; q < PARTS; q++) a.v[q] = load(p + q * B);
  return a;
}
INLINE void store_sum(tsi_scalar *p, sum a) {
  for (int q = 0; q < PARTS; q++) store(p + q * B, a.v[q]);
}

#if !TSI_COMPLEX
/* The sums of the lanes of 8 vectors. */
INLINE vec fold(const vec a[B]) {
  return fold_ones(fold_twos(fold_fours(a[0], a[1]), fold_fours(a[2], a[3])),
                   fold_twos(fold_fours(a[4], a[5]), fold_fours(a[6], a[7])));
}
#endif

/* The sums of the lanes of 8 columns' partial sums. */
INLINE vec sum_columns(const tsi_scalar *p) {
#if TSI_COMPLEX
  tsi_scalar x[B];
  for (int k = 0; k < B; k++) x[k] = sum_lanes(sum_value(load_sum(p + k * PARTIAL)));
  return load(x);
#else
  vec a[B];
  for (int k = 0; k < B; k++) a[k] = load(p + k * B);
  return fold(a);
#endif
}

/* Rows row[0..count-1] of work (one scalar each), zero in the lanes beyond. */
INLINE vec gather_rows(const tsi_scalar *work, const tsi_index *row, tsi_index count) {
  tsi_scalar part[B];
  if (count >= B)
    for (int i = 0; i < B; i++) part[i] = work[row[i]];
  else
    for (int i = 0; i < B; i++) part[i] = i < count ? work[row[i]] : 0;
  return load(part);
}
INLINE lanes gather(const tsi_scalar *work, const tsi_index *row, tsi_index count) {
  return as_lanes(gather_rows(work, row, count));
}

#endif
