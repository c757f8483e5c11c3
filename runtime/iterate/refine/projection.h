/* A system with a singular matrix, without the null vectors that its factors add to solutions.
 *
 * Job. The factors are those of a regular matrix M near A. A solve with M adds null vectors of op(A) to x, of
 * any size. Large ones hide what b - op(A) x says: rounding errors of op(A) x exceed b, or b is small beside
 * |op(A)| |x| whatever it is. A projection finds null vectors, and removes them from each solve.
 *
 * Reads   a system.   Writes  work of its own.
 * Invariant: what the system reads of other members it reads by the functions of the original. */
#pragma once

#include <pthread.h>

#include "runtime/iterate/refine/null_vectors.h"

/* Null vectors that the solves of a plan have found, for those to come: they are the same whoever finds them.
 * Those of other values are freed by the first solve after a factorization. */
typedef struct tsi_kept_vectors tsi_kept_vectors;

/* lock: guards what is kept, and is free when solves end. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_kept_vectors_create(tsi_env *env, pthread_mutex_t *lock,
                                                       tsi_kept_vectors **kept);
void tsi_kept_vectors_destroy(tsi_kept_vectors **kept);
/* Bytes that are kept for an op of a matrix with n rows and at most TSI_FEW_NULL_VECTORS null vectors, at
 * most. */
#define TSI_FEW_NULL_VECTORS 4
size_t tsi_kept_vectors_bytes(tsi_index n, size_t scalar_bytes);

typedef struct tsi_projection {
  tsi_system system;          /* What refinement reads; it solves with op alone. */
  const tsi_system *original; /* NULL before tsi_projection_begin. */
  tsi_null_vectors null;      /* As the factors scale them. None if they are uncertain. */
  char *scratch;              /* n scalars. */
} tsi_projection;

/* direct: see null_vectors.h; solves do without the factors then. *p is zero; to be finished whatever the
 * status, and not to be moved. Errors: MEMORY, those of a solve. */
TRISTAR_CHECKED tristar_status tsi_projection_begin(const tsi_system *original, tristar_op op, bool direct,
                                                    tsi_projection *p);
/* The same without null vectors that p->null holds already. */
void tsi_projection_use(const tsi_system *original, tsi_projection *p);
/* Removes null vectors from x where they are more than rounding errors: sums of many corrections may hold
 * them again. */
void tsi_projection_clean(const tsi_projection *p, void *x);
void tsi_projection_finish(tsi_projection *p);
