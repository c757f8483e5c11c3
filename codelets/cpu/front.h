/* Dense work of the multifrontal factorization on one front.
 *
 * A front belongs to a supernode of w columns with m rows below: f = w + m rows and columns, in three
 * column-major blocks:
 *
 *            w     m
 *      w  [  P  |  Q  ]      P   f x w   columns of the supernode        (leading dimension f)
 *      m  [  P  |  C  ]      Q   w x m   its rows, LU only, else NULL    (leading dimension w)
 *                            C   m x m   what goes to the parent         (leading dimension m)
 *
 * LLT uses the lower triangle only: A = L L^T, P becomes L. LU: A = L U with row interchanges inside the
 * diagonal block of each panel; P and Q become L (unit lower) and U.
 *
 * Panels are pieces of the w columns, o .. o+b-1. The factorization is left-looking by panel and tile:
 *   diagonal(o, b)         P(o,o) -= L(o,0:o) U(0:o,o), then factor it
 *   below(o, b, rows)      P(rows,o) -= L(rows,0:o) U(0:o,o), then solve with the diagonal block    (rows >=
 * o+b) right(o, b, columns)   LU: U(o,columns) likewise (columns >= o+b) schur(rows, columns)   C -=
 * L(rows,0:w) U(0:w,columns), one product for all panels Every tile is written by one call, so the result
 * does not depend on the order in which independent tiles are run.
 *
 * BLAS and LAPACK are called; they must run on one thread (see runtime/blas). Nothing is checked but pivots.
 */
#ifndef TSI_CODELETS_CPU_FRONT_H
#define TSI_CODELETS_CPU_FRONT_H

#include "codelets/cpu/panel.h"

typedef struct tsi_front {
  tsi_index w, m, f;
  double *p, *q, *c;
} tsi_front;

/* Outcome of a diagonal block. */
typedef struct tsi_pivoting {
  double tiny;         /* LU: pivots below this in absolute value become +-tiny */
  tsi_index perturbed; /* LU: how many were */
  tsi_index failed;    /* LLT: column (from 0, inside the panel) whose pivot is not positive; LU: not finite;
                          TSI_NONE: fine */
} tsi_pivoting;

/* pivot: b entries, row interchanges inside the panel (LU), or NULL (LLT). */
void tsi_front_diagonal_cpu(const tsi_front *front, tsi_index o, tsi_index b, tsi_index *pivot,
                            tsi_pivoting *result);
/* Rows r0 .. r1-1 of the front, o + b <= r0. */
void tsi_front_below_cpu(const tsi_front *front, tsi_index o, tsi_index b, tsi_index r0, tsi_index r1);
/* Columns c0 .. c1-1 of the front, o + b <= c0, all < w or all >= w; LU only. */
void tsi_front_right_cpu(const tsi_front *front, tsi_index o, tsi_index b, tsi_index c0, tsi_index c1,
                         const tsi_index *pivot);
/* Rows r0 .. r1-1 and columns c0 .. c1-1 of C. LLT (q NULL): only tiles on or below the diagonal, c1 <= r1; a
 * tile with r0 == c0 && r1 == c1 is a diagonal one. */
void tsi_front_schur_cpu(const tsi_front *front, tsi_index r0, tsi_index r1, tsi_index c0, tsi_index c1);

/* Adds a child's C (of order m, LLT: lower triangle) into columns c0 .. c1-1 of the front; position[i]: front
 * row of the child's row i, ascending. */
void tsi_front_extend_add_cpu(const tsi_front *front, const double *child, tsi_index m,
                              const tsi_index *position, tsi_index c0, tsi_index c1);

/* Packs a factored panel: inverts its diagonal block and writes triangle and rectangle (panel.h) to lower,
 * and for LU the transpose of U's to upper. work: 2 b b scalars. */
void tsi_front_pack_cpu(const tsi_front *front, tsi_index o, tsi_index b, double *lower, double *upper,
                        double *work);

#endif
