/* An operation on vectors, as the members of a crew carry it out: what vectors.c and methods with operations
 * of their own share.
 *
 * Job. Call a function for each block of rows, and add up what the blocks leave: at once, or while something
 * else is done, if the rows lie on many ranks.
 *
 * Reads   vectors.   Writes  vectors, k->work.total.
 * Invariants: between start and finish k->work.total and k->work.gathered belong to the sums on their way; an
 * operation may run there that has no sums. */
#pragma once

#include "runtime/iterate/krylov/vectors.h"

/* An operation, and what its blocks read and write; which of the members count depends on it. */
struct tsi_vector_call {
  /* Rows first .. end - 1; share: where the block leaves its sums. */
  void (*run)(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first, tsi_index end,
              double *share);
  int vectors; /* that it reads or writes; 0: it is a product */
  /* What the matrix multiplies before, as many vectors with a leading dimension; `from` NULL: nothing. */
  const void *from;
  void *to;
  int columns;
  int64_t ld;
  const void *a, *b, *c;
  void *x, *y;
  double alpha[2], beta[2];
  int count;
  const tsi_complex *h;
};

/* Where row `first` of a vector is. */
static inline const char *tsi_vector_from(const tristar_krylov_t *k, const void *vector, tsi_index first) {
  return (const char *)vector + (size_t)first * k->bytes;
}
static inline char *tsi_vector_to(const tristar_krylov_t *k, void *vector, tsi_index first) {
  return (char *)vector + (size_t)first * k->bytes;
}

/* k->work.total[i] = the sum over all blocks, of all members, of their share i < sums. Errors: NO_WORKER,
 * RUNTIME; what a member has failed with. */
TRISTAR_CHECKED tristar_status tsi_vectors_run(tristar_krylov_t *k, const tsi_vector_call *call, int sums);
/* The same, but the sums, at least one, are there after tsi_vectors_finish. */
TRISTAR_CHECKED tristar_status tsi_vectors_start(tristar_krylov_t *k, const tsi_vector_call *call, int sums);
TRISTAR_CHECKED tristar_status tsi_vectors_finish(tristar_krylov_t *k, int sums);
