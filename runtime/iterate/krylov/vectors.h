/* The operations of methods on vectors and on the matrix. krylov.h describes how they run.
 *
 * Reads   vectors, the matrix.   Writes  vectors, sums.
 * Complex numbers are pairs: factor[0] + i factor[1]. Errors: NO_WORKER, RUNTIME, those of the matrix
 * function. */
#pragma once

#include "runtime/iterate/krylov/krylov.h"

/* sums: x^H y (two numbers) and y^H y (one). */
typedef struct tsi_sums {
  double dot[2], square;
} tsi_sums;

/* q = A p; sums of w and q, unless sums is NULL. */
TRISTAR_CHECKED tristar_status tsi_vectors_multiply(tristar_krylov_t *k, const void *p, void *q,
                                                    const void *w, tsi_sums *sums);
/* r = b - A x, *square = r^H r */
TRISTAR_CHECKED tristar_status tsi_vectors_residual(tristar_krylov_t *k, const void *b, const void *x,
                                                    void *r, double *square);
TRISTAR_CHECKED tristar_status tsi_vectors_sums(tristar_krylov_t *k, const void *x, const void *y,
                                                tsi_sums *sums);
/* p = z + beta (p - omega v); v NULL: p = z + beta p */
TRISTAR_CHECKED tristar_status tsi_vectors_direction(tristar_krylov_t *k, const double beta[2], const void *z,
                                                     const double omega[2], const void *v, void *p);
/* x += alpha p, r -= alpha q; sums of w and r (w NULL: the square only) */
TRISTAR_CHECKED tristar_status tsi_vectors_step(tristar_krylov_t *k, const double alpha[2], const void *p,
                                                const void *q, void *x, void *r, const void *w,
                                                tsi_sums *sums);
/* x += alpha p, r -= alpha q, z = D r with a diagonal D; sums of r and z; *square = r^H r */
TRISTAR_CHECKED tristar_status tsi_vectors_advance(tristar_krylov_t *k, double alpha, const void *p,
                                                   const void *q, const void *d, void *x, void *r, void *z,
                                                   tsi_sums *sums, double *square);
/* y = factor x; x may be y */
TRISTAR_CHECKED tristar_status tsi_vectors_scale(tristar_krylov_t *k, double factor, const void *x, void *y);

/* h[i] = v_i^H w for `count` vectors of the workspace, beginning with number `first`. */
TRISTAR_CHECKED tristar_status tsi_vectors_project(tristar_krylov_t *k, int first, int count, const void *w,
                                                   tsi_complex *h);
/* w += sign sum h[i] v_i, *square = w^H w */
TRISTAR_CHECKED tristar_status tsi_vectors_combine(tristar_krylov_t *k, int first, int count, double sign,
                                                   const tsi_complex *h, void *w, double *square);
