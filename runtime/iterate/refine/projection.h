/* A system with a singular matrix, without the null vectors that its factors add to solutions.
 *
 * Job. The factors are those of a regular matrix M near A. A solve with M adds null vectors of op(A) to x, of
 * any size. Large ones hide what b - op(A) x says: rounding errors of op(A) x exceed b, or b is small beside
 * |op(A)| |x| whatever it is. A projection finds null vectors, and removes them from each solve.
 *
 * Vectors that M^-1 makes large are near null vectors. They are found one after the other, each without the
 * earlier ones, until none is large. As scaled by the factors, they are orthonormal.
 *
 * Reads   a system.   Writes  work of its own.
 * Invariant: what the system reads of other members it reads by the functions of the original. */
#pragma once

#include "runtime/iterate/refine/system.h"

#define TSI_NULL_VECTORS 24 /* at most */

typedef struct tsi_projection {
  tsi_system system; /* what refinement sees; solves with op alone */
  const tsi_system *original;
  const double *row_scale, *column_scale; /* of op(A) */
  int count;                              /* null vectors */
  char *vector[TSI_NULL_VECTORS];         /* n scalars each */
  char *zero, *product;                   /* n scalars each */
} tsi_projection;

/* *p is zero; to be finished whatever the status, and not to be moved. Errors: MEMORY, those of a solve. */
TRISTAR_CHECKED tristar_status tsi_projection_begin(const tsi_system *original, tristar_op op,
                                                    tsi_projection *p);
/* Removes null vectors from x where they are more than rounding errors: sums of many corrections may hold
 * them again. */
void tsi_projection_clean(const tsi_projection *p, void *x);
void tsi_projection_finish(tsi_projection *p);
