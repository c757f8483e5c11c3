/* An operation on vectors that the members of a crew run: shared by vectors.c and by methods with operations
 * of their own.
 *
 * Job. Call a function for each block of rows, and add up the shares of the blocks. If the rows are
 * distributed, the sum over the ranks can overlap with other work.
 *
 * Reads   vectors.   Writes  vectors, k->work.total.
 * Invariant: between start and finish the sums in progress use k->work.total and k->work.gathered. Only an
 * operation without sums may run meanwhile. */
#pragma once

#include "runtime/iterate/krylov/vectors.h"

/* An operation with the vectors that its blocks read and write. The operation defines which fields it
 * uses. */
struct tsi_vector_call {
  /* Processes rows first .. end - 1. share: where the block writes its shares of sums. */
  void (*run)(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first, tsi_index end,
              double *share);
  int vectors; /* number of vectors that it reads or writes; 0: it is a product */
  /* The product before the operation: to = A from, `columns` vectors with leading dimension ld. from NULL: no
   * product. */
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

/* Pointer to row `first` of a vector. */
static inline const char *tsi_vector_from(const tristar_krylov_t *k, const void *vector, tsi_index first) {
  return (const char *)vector + (size_t)first * k->bytes;
}
static inline char *tsi_vector_to(const tristar_krylov_t *k, void *vector, tsi_index first) {
  return (char *)vector + (size_t)first * k->bytes;
}

/* k->work.total[i] = the sum of share i < sums over all blocks of all members. Errors: NO_WORKER, RUNTIME;
 * the failure of any member. */
TRISTAR_CHECKED tristar_status tsi_vectors_run(tristar_krylov_t *k, const tsi_vector_call *call, int sums);
/* The same, but the sums (at least one) are available after tsi_vectors_finish. */
TRISTAR_CHECKED tristar_status tsi_vectors_start(tristar_krylov_t *k, const tsi_vector_call *call, int sums);
TRISTAR_CHECKED tristar_status tsi_vectors_finish(tristar_krylov_t *k, int sums);
