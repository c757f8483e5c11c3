/* Vectors of 8 scalars, the height of a row block, and sums of their products, for the file's scalar type.
 *
 * A vector consists of the registers that 8 scalars need in the instruction set of the file. A compiler
 * vector wider than a register would be stored in memory. All functions are inlined, and loops over the
 * registers of a vector unrolled; no vector is passed between files.
 *
 * Complex products. Real and imaginary parts alternate in registers. A sum of products is kept as two sums:
 * v[0] of the vector times the real parts of the other factor, v[1] of the vector times its imaginary parts.
 * sum_value combines them once. */
#pragma once

#include <string.h>
#if defined __AVX2__
#include <immintrin.h>
#elif defined __SSE2__ /* its header has 1/20 of the size */
#include <emmintrin.h>
#endif

#include "codelets/cpu/base/panel.h"
#include "codelets/cpu/base/scalar.h"

#define B TSI_ROW_BLOCK
#define PARTS (1 + TSI_COMPLEX) /* reals in a scalar */
#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define REAL_BYTES 4
typedef int32_t integer;
#else
#define REAL_BYTES 8
typedef int64_t integer;
#endif

/* REGISTER_BYTES: bytes of a register. SUMS: number of registers that a kernel may use for sums of products;
 * the factors need registers, too. */
#if defined __AVX512F__
#define REGISTER_BYTES 64
#define SUMS 16
#elif defined __AVX2__
#define REGISTER_BYTES 32
#define SUMS 8
#elif defined __aarch64__
#define REGISTER_BYTES 16
#define SUMS 16
#else
#define REGISTER_BYTES 16
#define SUMS 8
#endif

#define VECTOR_BYTES (B * PARTS * REAL_BYTES)
#if VECTOR_BYTES < REGISTER_BYTES
#define REG_BYTES VECTOR_BYTES
#else
#define REG_BYTES REGISTER_BYTES
#endif
#define LANES (REG_BYTES / REAL_BYTES)  /* reals in a register */
#define WIDE (LANES / PARTS)            /* scalars in a register */
#define REGS (VECTOR_BYTES / REG_BYTES) /* registers in a vector */

#define UNROLL _Pragma("GCC unroll 20")
#define ROLLED _Pragma("GCC unroll 1")

/* A function that is not inlined: with several right-hand sides a call takes negligible time, and each
 * inlined copy takes seconds to compile. */
#define SHARED static __attribute__((noinline))

#define EACH_REG(r) UNROLL for (int r = 0; r < REGS; r++)
#define EACH_PART(q) UNROLL for (int q = 0; q < PARTS; q++)

typedef tsi_real reg __attribute__((vector_size(REG_BYTES), aligned(REAL_BYTES), may_alias));
typedef integer mask __attribute__((vector_size(REG_BYTES)));

typedef struct vec {
  reg r[REGS];
} vec;

/* ---- Lanes of registers -------------------------------------------------------------------------------- */

/* f(0), f(1), ...: one for each lane. */
#if LANES == 2
#define EACH_LANE(f) f(0), f(1)
#elif LANES == 4
#define EACH_LANE(f) f(0), f(1), f(2), f(3)
#elif LANES == 8
#define EACH_LANE(f) f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)
#else
#define EACH_LANE(f)                                                                                         \
  f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)
#endif

/* Returns a register whose lane l is lane from(l) of a, or lane from(l) - LANES of b if from(l) >= LANES. */
#if defined __clang__
#define SHUFFLE(a, b, from) __builtin_shufflevector(a, b, EACH_LANE(from))
#else
#define SHUFFLE(a, b, from) __builtin_shuffle(a, b, (mask){EACH_LANE(from)})
#endif

/* Returns the mask of the lanes of register r that belong to scalars j and later. */
INLINE mask lanes_behind(int r, integer j) {
#define SCALAR(l) ((l) / PARTS)
  const mask scalar = {EACH_LANE(SCALAR)};
  return scalar + r * WIDE >= j;
}

INLINE reg load_reg(const tsi_scalar *p) {
  return *(const reg *)p;
}
INLINE void store_reg(tsi_scalar *p, reg v) {
  *(reg *)p = v;
}

/* Load and store the first `count` scalars of a register; count is a constant: 2, 4, or >= WIDE for all. No
 * other scalars in memory are read or written; a load sets the other lanes to zero. */
INLINE reg load_first(const int count, const tsi_scalar *p) {
  if (count >= WIDE) return load_reg(p);
#if defined __SSE2__
  const int bytes = count * (int)sizeof *p;
#if REG_BYTES == 64
  if (bytes == 32) return (reg)_mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i_u *)p));
  if (bytes == 16) return (reg)_mm512_zextsi128_si512(_mm_loadu_si128((const __m128i_u *)p));
#elif REG_BYTES == 32
  if (bytes == 16) return (reg)_mm256_zextsi128_si256(_mm_loadu_si128((const __m128i_u *)p));
  if (bytes == 8) return (reg)_mm256_zextsi128_si256(_mm_loadl_epi64((const __m128i_u *)p));
#else
  if (bytes == 8) return (reg)_mm_loadl_epi64((const __m128i_u *)p);
#endif
#endif
  reg v = {0};
  UNROLL for (int l = 0; l < count * PARTS; l++) v[l] = ((const tsi_real *)p)[l];
  return v;
}
INLINE void store_first(const int count, tsi_scalar *p, reg v) {
  if (count >= WIDE) {
    store_reg(p, v);
    return;
  }
#if defined __SSE2__
  const int bytes = count * (int)sizeof *p;
#if REG_BYTES == 64
  if (bytes == 32) _mm256_storeu_si256((__m256i_u *)p, _mm512_castsi512_si256((__m512i)v));
  if (bytes == 16) _mm_storeu_si128((__m128i_u *)p, _mm512_castsi512_si128((__m512i)v));
#elif REG_BYTES == 32
  if (bytes == 16) _mm_storeu_si128((__m128i_u *)p, _mm256_castsi256_si128((__m256i)v));
  if (bytes == 8) _mm_storel_epi64((__m128i_u *)p, _mm256_castsi256_si128((__m256i)v));
#else
  if (bytes == 8) _mm_storel_epi64((__m128i_u *)p, (__m128i)v);
#endif
#else
  UNROLL for (int l = 0; l < count * PARTS; l++)((tsi_real *)p)[l] = v[l];
#endif
}

/* a += v x, with one number x for all lanes, rounded once if the processor can. It must be explicit: gcc
 * would choose for each product depending on the code around it, so that the bits of a column would depend on
 * its neighbours. Assembly fixes the form of the instruction. Otherwise, with 16 registers, gcc 12 copies
 * sums between registers, or to memory and back, in loops that use all registers. */
#define SAME_LANE(l) x
INLINE void add_product(reg *a, reg v, tsi_real x) {
#if defined __FMA__
  const reg all = {EACH_LANE(SAME_LANE)};
#if defined __AVX512F__ && REG_BYTES == 64 && REAL_BYTES == 8
  *a = (reg)_mm512_fmadd_pd((__m512d)v, (__m512d)all, (__m512d)*a);
#elif defined __AVX512F__ && REG_BYTES == 64
  *a = (reg)_mm512_fmadd_ps((__m512)v, (__m512)all, (__m512)*a);
#elif defined __AVX512F__ && REAL_BYTES == 8
  *a = (reg)_mm256_fmadd_pd((__m256d)v, (__m256d)all, (__m256d)*a);
#elif defined __AVX512F__
  *a = (reg)_mm256_fmadd_ps((__m256)v, (__m256)all, (__m256)*a);
#elif REAL_BYTES == 8
  __asm__("vfmadd231pd %2, %1, %0" : "+x"(*a) : "x"(v), "x"(all));
#else
  __asm__("vfmadd231ps %2, %1, %0" : "+x"(*a) : "x"(v), "x"(all));
#endif
#else
  *a += v * x;
#endif
}

/* ---- Vectors ------------------------------------------------------------------------------------------- */

INLINE vec load(const tsi_scalar *p) {
  vec v;
  EACH_REG(r) v.r[r] = load_reg(p + r * WIDE);
  return v;
}
INLINE void store(tsi_scalar *p, vec v) {
  EACH_REG(r) store_reg(p + r * WIDE, v.r[r]);
}
INLINE vec no_vec(void) {
  vec v;
  EACH_REG(r) v.r[r] = (reg){0};
  return v;
}
INLINE vec plus(vec a, vec b) {
  EACH_REG(r) a.r[r] += b.r[r];
  return a;
}
INLINE vec minus(vec a, vec b) {
  EACH_REG(r) a.r[r] -= b.r[r];
  return a;
}
INLINE vec negated(vec a) {
  EACH_REG(r) a.r[r] = -a.r[r];
  return a;
}

/* Returns scalars j .. 7 of v, and zero below. */
INLINE vec scalars_from(vec v, int j) {
  EACH_REG(r) v.r[r] = (reg)((mask)v.r[r] & lanes_behind(r, j));
  return v;
}
/* Returns scalars 0 .. count-1 of v, and zero beyond. */
INLINE vec scalars_below(vec v, tsi_index count) {
  EACH_REG(r) v.r[r] = (reg)((mask)v.r[r] & ~lanes_behind(r, count));
  return v;
}

/* Masked memory accesses of the instruction set. KEPT(r, count): the lanes of register r that belong to the
 * first count scalars. */
#if defined __AVX512VL__
#define HAVE_MASKED_LOADS 1
#define HAVE_MASKED_STORES 1
#define KEPT(r, count) (((1u << (PARTS * (count))) - 1) >> (r)*LANES)
#if defined TSI_SCALAR_S
#define LOAD_KEPT(kept, p) _mm256_maskz_loadu_ps((__mmask8)(kept), p)
#define STORE_KEPT(p, kept, v) _mm256_mask_storeu_ps(p, (__mmask8)(kept), (__m256)(v))
#elif defined TSI_SCALAR_C
#define LOAD_KEPT(kept, p) _mm512_maskz_loadu_ps((__mmask16)(kept), p)
#define STORE_KEPT(p, kept, v) _mm512_mask_storeu_ps(p, (__mmask16)(kept), (__m512)(v))
#else
#define LOAD_KEPT(kept, p) _mm512_maskz_loadu_pd((__mmask8)(kept), p)
#define STORE_KEPT(p, kept, v) _mm512_mask_storeu_pd(p, (__mmask8)(kept), (__m512d)(v))
#endif
#elif defined __AVX2__
#define HAVE_MASKED_LOADS 1
#define KEPT(r, count) ((__m256i)~lanes_behind(r, count))
#if REAL_BYTES == 4
#define LOAD_KEPT(kept, p) _mm256_maskload_ps((const float *)(p), kept)
#else
#define LOAD_KEPT(kept, p) _mm256_maskload_pd((const double *)(p), kept)
#endif
#endif

/* Loads the first count <= 8 scalars; the others are zero and are not read. */
INLINE vec load_some(const tsi_scalar *p, tsi_index count) {
#ifdef HAVE_MASKED_LOADS
  vec v;
  EACH_REG(r) v.r[r] = (reg)LOAD_KEPT(KEPT(r, count), p + r * WIDE);
  return v;
#else
  tsi_scalar part[B] = {0};
  if (count == B) return load(p);
  for (tsi_index i = 0; i < count; i++) part[i] = p[i];
  return load(part);
#endif
}
/* Writes the first count <= 8 scalars. */
INLINE void store_some(tsi_scalar *p, vec v, tsi_index count) {
#ifdef HAVE_MASKED_STORES
  EACH_REG(r) STORE_KEPT(p + r * WIDE, KEPT(r, count), v.r[r]);
#else
  tsi_scalar part[B], *from = part;
  if (count == B) {
    store(p, v);
    return;
  }
  store(part, v);
  UNROLL for (int some = B / 2; some > 0; some /= 2) {
    if (!(count & some)) continue;
    memcpy(p, from, (size_t)some * sizeof *p);
    p += some;
    from += some;
  }
#endif
}

/* Gathers rows row[0..count-1] of x (one scalar each); zero beyond. Loads each lane from memory into
 * registers, because a vector that was stored in parts is slow to load as a whole. */
INLINE vec gather_rows(const tsi_scalar *x, const tsi_index *row, tsi_index count) {
  const tsi_real *reals = (const tsi_real *)x;
  vec v;
  if (count >= B) {
#define ROW_LANE(l) reals[PARTS * (ptrdiff_t)row[r * WIDE + (l) / PARTS] + (l) % PARTS]
    EACH_REG(r) v.r[r] = (reg){EACH_LANE(ROW_LANE)};
    return v;
  }
#define SOME_LANE(l)                                                                                         \
  reals[PARTS * (ptrdiff_t)row[tsi_index_min(r * WIDE + (l) / PARTS, count - 1)] + (l) % PARTS]
  EACH_REG(r) v.r[r] = (reg){EACH_LANE(SOME_LANE)};
  return scalars_below(v, count);
}

/* ---- Products ------------------------------------------------------------------------------------------ */

/* A vector prepared as the second factor of products scalar by scalar. */
typedef struct factors {
  vec v[PARTS];
} factors;

/* A sum of products. */
typedef struct sum {
  vec v[PARTS];
} sum;

/* A sum of products of registers. */
typedef struct reg_sum {
  reg v[PARTS];
} reg_sum;

#if TSI_COMPLEX
#define OTHER_PART(l) ((l) ^ 1)
#define REAL_PART(l) ((l) & ~1)
#define IMAGINARY_PART(l) ((l) | 1)
#define PART_SIGN(l) ((l) % 2 ? 1 : -1)
/* Returns i v, i the imaginary unit. */
INLINE reg turned(reg v) {
  const reg sign = {EACH_LANE(PART_SIGN)};
  return sign * SHUFFLE(v, v, OTHER_PART);
}
INLINE factors as_factors(vec x) {
  factors f;
  EACH_REG(r) {
    f.v[0].r[r] = SHUFFLE(x.r[r], x.r[r], REAL_PART);
    f.v[1].r[r] = SHUFFLE(x.r[r], x.r[r], IMAGINARY_PART);
  }
  return f;
}
INLINE reg reg_value(reg_sum a) {
  return a.v[0] + turned(a.v[1]);
}
INLINE vec sum_value(sum a) {
  EACH_REG(r) a.v[0].r[r] += turned(a.v[1].r[r]);
  return a.v[0];
}
#else
INLINE factors as_factors(vec x) {
  return (factors){{x}};
}
INLINE reg reg_value(reg_sum a) {
  return a.v[0];
}
INLINE vec sum_value(sum a) {
  return a.v[0];
}
#endif

INLINE sum no_sum(void) {
  sum a;
  EACH_PART(q) a.v[q] = no_vec();
  return a;
}
INLINE sum add_sums(sum a, sum b) {
  EACH_PART(q) a.v[q] = plus(a.v[q], b.v[q]);
  return a;
}
INLINE reg_sum no_reg_sum(void) {
  reg_sum a;
  EACH_PART(q) a.v[q] = (reg){0};
  return a;
}

/* a += v x, with one scalar x for all lanes. */
INLINE void add_times(sum *a, vec v, tsi_scalar x) {
  EACH_REG(r) {
    a->v[0].r[r] += v.r[r] * tsi_re(x);
#if TSI_COMPLEX
    a->v[1].r[r] += v.r[r] * tsi_im(x);
#endif
  }
}
INLINE void add_reg_times(reg_sum *a, reg v, tsi_scalar x) {
  add_product(&a->v[0], v, tsi_re(x));
#if TSI_COMPLEX
  add_product(&a->v[1], v, tsi_im(x));
#endif
}

/* a += v x, scalar by scalar. */
INLINE void add_products(sum *a, vec v, factors x) {
  EACH_PART(q) EACH_REG(r) a->v[q].r[r] += v.r[r] * x.v[q].r[r];
}

/* ---- Partial sums of columns --------------------------------------------------------------------------- */

/* The sum over rows of a column is kept in the lanes of a register, which are added once at the end: the sum
 * of v x over the registers of v. In memory it has PARTIAL scalars. */
#define PARTIAL LANES
INLINE void add_partial(reg_sum *a, reg v, factors x, int r) {
  EACH_PART(q) a->v[q] += v * x.v[q].r[r];
}
INLINE reg_sum load_partial(const tsi_scalar *p) {
  reg_sum a;
  EACH_PART(q) a.v[q] = load_reg(p + q * WIDE);
  return a;
}
INLINE void store_partial(tsi_scalar *p, reg_sum a) {
  EACH_PART(q) store_reg(p + q * WIDE, a.v[q]);
}

/* Returns the sum of a register's scalars. */
INLINE tsi_scalar sum_reg(reg v) {
  tsi_scalar x[WIDE];
  store_reg(x, v);
  UNROLL for (int half = WIDE / 2; half > 0; half /= 2) UNROLL for (int l = 0; l < half; l++) x[l] +=
      x[l + half];
  return x[0];
}
INLINE tsi_scalar sum_vec(vec v) {
  UNROLL for (int r = 1; r < REGS; r++) v.r[0] += v.r[r];
  return sum_reg(v.r[0]);
}

/* Returns the sums of the lanes of 8 columns. */
#if TSI_COMPLEX
INLINE vec fold(const reg_sum a[B]) {
  tsi_scalar x[B];
  UNROLL for (int k = 0; k < B; k++) x[k] = sum_reg(reg_value(a[k]));
  return load(x);
}
#else
/* Adds the two lanes of each pair; sums of a and b alternate. */
INLINE reg fold_ones(reg a, reg b) {
#define EVEN(l) ((l) % 2 ? LANES + (l)-1 : (l))
#define ODD(l) ((l) % 2 ? LANES + (l) : (l) + 1)
  return SHUFFLE(a, b, EVEN) + SHUFFLE(a, b, ODD);
}
/* Adds the lower and the upper half of the lanes: sums of a, then sums of b. */
INLINE reg fold_halves(reg a, reg b) {
#define LOWER(l) ((l) < LANES / 2 ? (l) : (l) + LANES / 2)
#define UPPER(l) ((l) < LANES / 2 ? (l) + LANES / 2 : (l) + LANES)
  return SHUFFLE(a, b, LOWER) + SHUFFLE(a, b, UPPER);
}
/* Adds the first two and the last two of every four lanes: sums of a, then sums of b. */
INLINE reg fold_twos(reg a, reg b) {
#define FIRST_TWO(l) (2 * ((l) - (l) % 2) + (l) % 2)
#define LAST_TWO(l) (FIRST_TWO(l) + 2)
  return SHUFFLE(a, b, FIRST_TWO) + SHUFFLE(a, b, LAST_TWO);
}
INLINE vec fold(const reg_sum a[B]) {
  reg two[B / 2];
  vec v;
  UNROLL for (int k = 0; k < B / 2; k++) two[k] = fold_ones(a[2 * k].v[0], a[2 * k + 1].v[0]);
#if LANES == 2
  EACH_REG(r) v.r[r] = two[r];
#elif LANES == 4
  EACH_REG(r) v.r[r] = fold_halves(two[2 * r], two[2 * r + 1]);
#else
  v.r[0] = fold_twos(fold_halves(two[0], two[1]), fold_halves(two[2], two[3]));
#endif
  return v;
}
#endif

/* ---- Few registers ------------------------------------------------------------------------------------- */

/* With SSE2 alone, the set of x86 processors from before 2013, the sums of some kernels do not fit into the
 * registers. There their loops stay loops: the code is a fifth as long. */
#if defined __SSE2__ && !defined __AVX2__
#define FEW_REGISTERS_ONLY 1
#define UNROLL_IN_REGISTERS ROLLED
#else
#define FEW_REGISTERS_ONLY 0
#define UNROLL_IN_REGISTERS UNROLL
#endif
