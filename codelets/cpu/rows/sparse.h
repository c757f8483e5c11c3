/* Operations on the user's matrix and on vectors, by scalar type, for refinement, scaling and condition
 * estimates.
 *
 * Reads   a sparse matrix by lines (columns, or rows if by_rows), vectors.   Writes  vectors.
 * Bounds, norms and magnitudes are double for every scalar type. */
#pragma once

#include <math.h>

#include "runtime/base/types.h"
#include "tristar.h"

/* Entry p of line j is (index[p], j), or (j, index[p]) if by_rows; for symmetric kinds also its mirror image.
 */
typedef struct tsi_sparse {
  tsi_index n;
  bool by_rows;
  tristar_symmetry symmetry;
  const tsi_count *ptr;
  const tsi_index *index;
  const void *values;
} tsi_sparse;

/* Return the larger of two numbers; the smaller; NaN if one of them is NaN. */
static inline double tsi_larger(double x, double y) {
  return x > y || x != x ? x : y;
}
static inline double tsi_smaller(double x, double y) {
  return x < y || x != x ? x : y;
}

#define TSI_SAME 16 /* epsilons by which mirror images may differ if they were assembled in another order */

typedef enum tsi_part { TSI_PART_REAL, TSI_PART_IMAGINARY, TSI_PART_MAGNITUDE } tsi_part;

/* Sizes of a solution over all of its entries, even if only some are on this process. */
typedef struct tsi_sizes {
  int64_t n;
  bool with_weights;      /* g is not NULL */
  double weighted, plain; /* max |x_i| / |g_i|, max |x_i| */
} tsi_sizes;

/* to[place[i]] += from[i], in ascending order of i */
typedef void tsi_add_at(tsi_count count, const tsi_count *place, const void *from, void *to);

typedef struct tsi_sparse_kernels {
  size_t scalar_bytes;
  bool is_complex;
  double epsilon; /* twice the unit roundoff of the real type */
  /* r = b - op(A) x */
  void (*residual)(const tsi_sparse *a, tristar_op op, const void *b, const void *x, void *r);
  /* Does the same in the next wider precision (tsi_wider); its bytes per number, and its epsilon. */
  void (*residual_wider)(const tsi_sparse *a, tristar_op op, const void *b, const void *x, void *r);
  size_t wider_bytes;
  double wider_epsilon;
  /* to[i] = from[i], rounded; from has numbers of the wider precision. */
  void (*narrow)(tsi_index n, const void *from, void *to);
  /* y = |op(A)| |x| */
  void (*bound)(const tsi_sparse *a, tristar_op op, const void *x, double *y);
  /* Does both in one pass, with the same bits. */
  void (*residual_and_bound)(const tsi_sparse *a, tristar_op op, const void *b, const void *x, void *r,
                             double *y);
  /* Does the same for a GENERAL matrix, and computes row_sum for backward_error, 2 n; g NULL: ones. work: n
   * elements of terms_bytes each. */
  void (*residual_and_sums)(const tsi_sparse *a, tristar_op op, const void *b, const void *x, const double *g,
                            void *work, void *r, double *y, double *row_sum);
  size_t terms_bytes;
  /* y = |op(A)| |g|; g NULL: a vector of ones */
  void (*weigh)(const tsi_sparse *a, tristar_op op, const double *g, double *y);
  /* weighted = max |x_i| / |g_i|, plain = max |x_i|, NaN if an entry is; g NULL: both are equal */
  void (*sizes)(tsi_index n, const void *x, const double *g, double *weighted, double *plain);
  /* Returns min |x_i| / |g_i|, infinity for n = 0; g NULL: ones. Ignores NaN. */
  double (*least_size)(tsi_index n, const void *x, const double *g);
  /* Returns the backward error (tristar_solve_refined) of x with residual r; bound = |A| |x|; row_sum, 2 n:
   * |A| |g|, |A| times ones (unused if g is NULL). row_sum NULL: no row is a rounding error (rounding.h). */
  double (*backward_error)(tsi_index n, const void *b, const void *r, const double *bound,
                           const double *row_sum, const tsi_sizes *sizes);
  /* r_i = 0 in rows whose backward error, as above, is at most `error` */
  void (*leave_solved)(tsi_index n, const void *b, void *r, const double *bound, const double *row_sum,
                       const tsi_sizes *sizes, double error);
  /* f_i = |r_i| + terms_i eps (bound_i + |b_i|): a bound for the exact residual, if entry i was computed as a
   * sum of terms_i terms; bound = |A| |x| */
  void (*residual_bound)(tsi_index n, const void *b, const void *r, const double *bound,
                         const tsi_index *terms, double *f);
  /* out[i] = part `which` of values[i] */
  void (*part)(tsi_count count, const void *values, tsi_part which, double *out);
  /* For a GENERAL matrix whose lines ascend strictly: returns the first entry, explicit zeros ignored,
   * without a mirror image, or with one that differs too much; the number of entries if there is none. Mirror
   * images are equal, or, adjoint, conjugates. They may differ by `same` epsilons (TSI_SAME, or 0) of their
   * size. They may also differ by so many epsilons of sqrt(|a_ii a_jj|), the rounding error of sums of an
   * assembly that cancel, if this is less than eps^0.75 of |a_ii| and of |a_jj|. next: n, scratch. *rounded
   * becomes true if mirror images before that entry are not equal; it is never set to false. */
  tsi_count (*first_unlike)(const tsi_sparse *a, bool adjoint, double same, tsi_count *next, bool *rounded);
  /* Does the same for entries a[k] and their mirror images b[k]; root_a, root_b: sqrt(|a_ii|) of the row of
   * each. Returns the first k for which they differ too much; count if there is none. */
  tsi_count (*first_apart)(tsi_count count, const void *a, const double *root_a, const void *b,
                           const double *root_b, bool adjoint, bool *rounded);
  tsi_add_at *add_at, *add_wider_at; /* for scalars; for numbers of the wider precision */
  /* to[q] = from[place[q]], or, if place[q] < 0, the mirror image of from[~place[q]] */
  void (*gather)(tsi_count count, const tsi_count *place, tristar_symmetry symmetry, const void *from,
                 void *to);
  /* Returns the first value that is NaN or infinite; count if there is none. */
  tsi_count (*first_not_finite)(tsi_count count, const void *values);
  /* inverse[i] = 1 / values[i]. Returns the first i whose inverse is not finite; count if there is none. */
  tsi_count (*invert)(tsi_count count, const void *values, void *inverse);
  /* out[0] + i out[1] = x^H y */
  void (*dot)(tsi_index n, const void *x, const void *y, double out[2]);
  /* y += (factor[0] + i factor[1]) x; real types ignore the imaginary part */
  void (*axpy)(tsi_index n, const double factor[2], const void *x, void *y);
  /* x += y */
  void (*add)(tsi_index n, void *x, const void *y);
  /* x := s x or x / s; s NULL: does nothing */
  void (*scale)(tsi_index n, void *x, const double *s, bool divide);
  /* x := factor x */
  void (*multiply)(tsi_index n, void *x, double factor);
  double (*one_norm)(tsi_index n, const void *x);
  double (*largest_size)(tsi_index n, const void *x); /* max |x_i|; NaN if an entry is */
  /* max |s_i x_i|, NaN if an entry is; s NULL: ones */
  double (*largest_scaled)(tsi_index n, const void *x, const double *s);
  /* min |s_i x_i| of entries other than zero; infinity: there is none */
  double (*smallest_scaled)(tsi_index n, const void *x, const double *s);
  /* Moves entries with |s_i x_i| >= least, or NaN, from x to y, and replaces them in x by zeros; other
   * entries of y become zero */
  void (*take_large)(tsi_index n, void *x, const double *s, double least, void *y);
  tsi_index (*largest)(tsi_index n, const void *x); /* index of the first entry of largest magnitude */
  /* z = x / |x|, or 1 if x is 0 */
  void (*sign)(tsi_index n, const void *x, void *z);
  /* x[i] = from[i] */
  void (*fill)(tsi_index n, const double *from, void *x);
} tsi_sparse_kernels;

/* For 's', 'd', 'c' or 'z'; NULL for anything else. */
const tsi_sparse_kernels *tsi_sparse_kernels_select(char scalar);

/* Returns the maximum backward error of solves without loss of digits: eps^(2/3). */
static inline double tsi_acceptable_error(double epsilon) {
  return pow(epsilon, 2.0 / 3);
}
