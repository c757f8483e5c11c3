/* The small least-squares problem of GMRES: min |beta e1 - H y| for a Hessenberg matrix H that grows by a
 * column in each iteration.
 *
 * Job. Keep H as its triangular factor R, made by Givens rotations (Saad and Schultz, GMRES, SIAM J. Sci.
 * Stat. Comput. 7 (1986), section 3.2), and the rotated right-hand side g, whose last entry is the norm of
 * what remains. Numbers are complex double for every scalar type.
 *
 * Reads   the entries of a column of H, which the caller puts into tsi_hessenberg_column.
 * Writes  its own members.
 * Invariants: after k columns the first k of h are those of R, and |g[k]| is the norm that remains; h is zero
 * from column k on, before the caller fills it in. */
#pragma once

#include <complex.h>
#undef I

#include "runtime/base/env.h"

typedef double _Complex tsi_complex;

typedef struct tsi_hessenberg {
  int m;             /* columns at most */
  tsi_complex *h;    /* (m + 1) x m, column-major: R after the rotations */
  tsi_complex *g;    /* m + 1: the rotated right-hand side */
  tsi_complex *y;    /* m + 1: the solution */
  tsi_complex *sine; /* m */
  double *cosine;    /* m */
} tsi_hessenberg;

/* All zero: of no columns. After a failure tsi_hessenberg_finish is to be called all the same. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_hessenberg_begin(tsi_env *env, int m, tsi_hessenberg *s);
void tsi_hessenberg_finish(tsi_env *env, tsi_hessenberg *s);

/* Forgets all columns; the right-hand side becomes beta e1. */
void tsi_hessenberg_start(tsi_hessenberg *s, double beta);

/* Column j of H, j + 2 entries. */
static inline tsi_complex *tsi_hessenberg_column(const tsi_hessenberg *s, int j) {
  return s->h + (size_t)j * ((size_t)s->m + 1);
}

/* Column j is complete: applies the rotations so far to it and makes the one that removes its last entry. The
 * norm of what remains. */
double tsi_hessenberg_rotate(tsi_hessenberg *s, int j);

/* y: the solution with the first k columns. Where the diagonal of R is zero, so is y. */
void tsi_hessenberg_solve(tsi_hessenberg *s, int k);
