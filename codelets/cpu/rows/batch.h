/* Factors L U, or L D L^T and L D L^H, of many matrices with one pattern, side by side in the lanes of
 * vectors.
 *
 * A *lane number* has TSI_BATCH_BYTES / (bytes of a real) numbers, one for each system of a group. A complex
 * lane number has its real parts first, then its imaginary parts. All systems of a group are factored and
 * solved by the same operations in the same order, so the bits of a system depend neither on its lane nor on
 * the other systems.
 *
 * The matrices are already permuted and scaled. Pivots are on the diagonal. Left-looking by columns (Gilbert
 * and Peierls 1988), on a structure that is computed beforehand.
 *
 * Reads   structure, lane numbers.   Writes  lane numbers.
 * Invariants
 *   - rows of a column of L, U and A ascend; L has the rows below the diagonal, U the rows above it
 *   - the rows of column j of L and U, together with j, contain the rows of column j of A, and the rows of
 *     column k of L for each row k of column j of U */
#pragma once

#include "runtime/base/types.h"
#include "tristar.h"

#define TSI_BATCH_BYTES 64
#define TSI_BATCH_CHAIN 4

typedef struct tsi_batch_columns {
  tsi_count *ptr;   /* n + 1 */
  tsi_index *index; /* ptr[n] */
} tsi_batch_columns;

typedef struct tsi_batch_structure {
  tsi_index n;
  tsi_batch_columns a, l, u;
  tsi_batch_columns rows; /* L U: A by rows */
  tsi_count *position;    /* L U: position in `a` of each entry of `rows` */
  tsi_count
      *mirror; /* L D L^T: position in L of (j, k), for each entry (k, j) of U; u has no values. NULL: L U */
  bool hermitian; /* L D L^H */
  bool positive;  /* L D L^T: a pivot that is not positive is treated like zero */
  uint8_t *chain; /* n: columns k .. k + chain[k] - 1 of L, at most TSI_BATCH_CHAIN, have a dense diagonal
                     block and the same rows below it */
} tsi_batch_structure;

/* Arrays of lane numbers for the factors: n, l.ptr[n] and u.ptr[n] entries; L D L^T: u is D, n entries. */
typedef struct tsi_batch_factors {
  void *inverse, *l, *u;
} tsi_batch_factors;

/* Where the entries of a user's array are stored as lane numbers. */
typedef struct tsi_batch_targets {
  const tsi_count *place;    /* for each entry */
  const tsi_count *image;    /* place of its mirror image, or TSI_NONE. NULL: no entry has one. */
  tristar_symmetry symmetry; /* HERMITIAN: images are conjugated. SKEW_SYMMETRIC: they are negated. */
  const double *scale;       /* factor for each place. NULL: ones */
} tsi_batch_targets;

typedef struct tsi_batch_kernels {
  const char *isa;
  int lanes;         /* number of systems of a group */
  size_t lane_bytes; /* bytes of a lane number */
  size_t real_bytes;
  /* a[place[e]] = scale[place[e]] values[l][e] in lane l, for `count` entries, and the same for their images.
   * values: a pointer for each lane. */
  void (*load)(tsi_count count, const tsi_batch_targets *targets, const void *const *values, void *a);
  /* The opposite direction, without images: x[l][e] = scale[place[e]] w[place[e]] in the lanes l whose x[l]
   * is not NULL. */
  void (*unload)(tsi_count count, const tsi_batch_targets *targets, const void *w, void *const *x);
  /* Returns a bit for each lane in which an entry of scale[i] w[i] is not finite. */
  unsigned (*overflows)(tsi_index n, const double *scale, const void *w);
  /* Returns a bit for each lane with a part that is zero, subnormal or not finite in `count` numbers. */
  unsigned (*outside)(tsi_count count, const void *a);
  /* work: n lane numbers, zero before and after. Returns a bit for each lane with a pivot that is zero, has
   * no finite inverse, or is weak; in the first two cases the numbers of the lane are invalid. A pivot is
   * weak if a column of L has entries above eps^-0.4, because digits may be lost without effect on the
   * backward error. It is also weak if it is below eps^0.5 of the largest pivot, or below 4096 eps times the
   * largest entry of its column of A, like a pivot of a singular matrix. y (NULL: none): n lane numbers;
   * y := L^-1 y. *doubtful gets a bit for each lane with a pivot below eps^(1/3) times that entry, or a
   * column of L above eps^(-1/3): rounding errors of cancelled terms may hide that the matrix is singular. */
  unsigned (*factor)(const tsi_batch_structure *structure, const void *a, void *work,
                     const tsi_batch_factors *out, void *y, unsigned *doubtful);
  /* x := op(L U)^-1 x, or op(L D L^T)^-1 x. begun (TRISTAR_N only): x has been multiplied by L^-1 already. */
  void (*solve)(const tsi_batch_structure *structure, const tsi_batch_factors *factors, tristar_op op,
                bool begun, void *x);
  /* condition[l]: the largest entry of |A^-1 S |L| |U| d| relative to d, where d_j is the inverse of the
   * largest entry of column j, and S has irregular numbers between 0.5 and 1, of both signs. The rounding
   * errors of the factors are about eps |L| |U|: the matrix may be singular if this is near 1 / eps (Skeel
   * 1979). x: n lane numbers of scratch. */
  void (*condition)(const tsi_batch_structure *structure, const void *a, const tsi_batch_factors *factors,
                    void *x, double *condition);
  /* r = b - op(A) x. error[l]: the componentwise backward error max |r_i| / (|op(A)| |x| + |b|)_i of lane l
   * (Oettli and Prager 1964). Let m_i be |op(A)|_i times the largest entry of x. In rows whose denominator is
   * at most n eps m_i, m_i is added to it (Arioli, Demmel and Duff 1989). weight (NULL: none): n, by row of
   * x: m_i is also computed for x times the weights and |op(A)| divided by them, and the smaller value is
   * used. Not finite: numbers below or above the range may have changed the error by more than eps. Zeros
   * solve a system with b = 0. */
  void (*residual)(const tsi_batch_structure *structure, tristar_op op, const void *a, const void *b,
                   const double *weight, const void *x, void *r, double *error);
  /* x += y, n lane numbers, in the lanes whose bit is set in `lanes` */
  void (*add)(tsi_index n, unsigned lanes, const void *y, void *x);
} tsi_batch_kernels;

/* As tsi_kernels_select. */
const tsi_batch_kernels *tsi_batch_kernels_select(char scalar, const char *isa);
