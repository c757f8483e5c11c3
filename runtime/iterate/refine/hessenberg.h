/* The small least-squares problem of GMRES: min |beta e1 - H y| for a Hessenberg matrix H that grows by a
 * column in each iteration.
 *
 * Job. Store H as its triangular factor R, computed by Givens rotations (Saad and Schultz, GMRES, SIAM J.
 * Sci. Stat. Comput. 7 (1986), section 3.2), and the rotated right-hand side g. The last entry of g is the
 * norm of the residual. Numbers are complex double for every scalar type.
 *
 * Reads   the entries of a column of H, which the caller writes to tsi_hessenberg_column.
 * Writes  its own members.
 * Invariants: after k columns the first k columns of h are columns of R, and |g[k]| is the norm of the
 * residual; h is zero from column k on, until the caller fills the column in. */
#pragma once

#include <complex.h>
#undef I

#include "runtime/base/env.h"

typedef double _Complex tsi_complex;

typedef struct tsi_hessenberg {
  int m;             /* largest number of columns */
  tsi_complex *h;    /* (m + 1) x m, column-major: R after the rotations */
  tsi_complex *g;    /* m + 1: the rotated right-hand side */
  tsi_complex *y;    /* m + 1: the solution */
  tsi_complex *sine; /* m */
  double *cosine;    /* m */
} tsi_hessenberg;

/* Allocates a problem with no columns, all zero. Call tsi_hessenberg_finish also after a failure. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_hessenberg_begin(tsi_env *env, int m, tsi_hessenberg *s);
void tsi_hessenberg_finish(tsi_env *env, tsi_hessenberg *s);

/* Removes all columns; the right-hand side becomes beta e1. */
void tsi_hessenberg_start(tsi_hessenberg *s, double beta);

/* Column j of H, j + 2 entries. */
static inline tsi_complex *tsi_hessenberg_column(const tsi_hessenberg *s, int j) {
  return s->h + (size_t)j * ((size_t)s->m + 1);
}

/* To be called after column j was filled in. Applies the previous rotations to it and makes the rotation that
 * removes its last entry. Returns the norm of the residual. */
double tsi_hessenberg_rotate(tsi_hessenberg *s, int j);

/* Computes y, the solution with the first k columns. If a diagonal entry of R is zero, so is its entry of
 * y. */
void tsi_hessenberg_solve(tsi_hessenberg *s, int k);
