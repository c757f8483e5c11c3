/* A system with a singular matrix, without the null vectors that its factors add to solutions.
 *
 * Job. The factors belong to a regular matrix M near A. A solve with M adds null vectors of op(A) of any size
 * to x. If they are large, b - op(A) x is meaningless: rounding errors of op(A) x exceed b, or any b is small
 * relative to |op(A)| |x|. A projection finds null vectors, and removes them from each solve.
 *
 * Reads   a system.   Writes  its own work arrays.
 * Invariant: the system reads data of other members only by the functions of the original. */
#pragma once

#include <pthread.h>

#include "runtime/iterate/refine/null_vectors.h"

/* Null vectors found by solves of a plan, for later solves. They are the same for any thread that finds them.
 * The first solve after a factorization frees the vectors of old values. */
typedef struct tsi_kept_vectors tsi_kept_vectors;

/* lock: guards the stored vectors; solves release it before they end. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_kept_vectors_create(tsi_env *env, pthread_mutex_t *lock,
                                                       tsi_kept_vectors **kept);
void tsi_kept_vectors_destroy(tsi_kept_vectors **kept);
/* Upper limit of the bytes stored for one op of a matrix with n rows and at most TSI_FEW_NULL_VECTORS null
 * vectors. */
#define TSI_FEW_NULL_VECTORS 4
size_t tsi_kept_vectors_bytes(tsi_index n, size_t scalar_bytes);

typedef struct tsi_projection {
  tsi_system system;          /* The system for refinement. It solves only with op. */
  const tsi_system *original; /* NULL before tsi_projection_begin. */
  tsi_null_vectors null;      /* In the scaling of the factors. Empty if they are uncertain. */
  char *scratch;              /* n scalars. */
} tsi_projection;

/* direct: see null_vectors.h; then solves do not use the factors. *p must be zero. It must be finished, also
 * after a failure, and must not move. Errors: MEMORY, those of a solve. */
TRISTAR_CHECKED tristar_status tsi_projection_begin(const tsi_system *original, tristar_op op, bool direct,
                                                    tsi_projection *p);
/* The same, but uses the null vectors in p->null, if any, and searches for none. */
void tsi_projection_use(const tsi_system *original, tsi_projection *p);
/* Removes null vectors from x if they exceed rounding errors: sums of many corrections may contain them
 * again. */
void tsi_projection_clean(const tsi_projection *p, void *x);
void tsi_projection_finish(tsi_projection *p);
