/* Incomplete factors by rows: applications before the sweeps with plans are made.
 *
 * Job. Solve with the factors in the arrays of the factorization. A sweep with a plan has its own copy of a
 * triangle, a partition and a stream. It is faster, but making it takes as long as about 15 applications. So
 * the first applications run by rows, `most` of them. The sweeps are made after these. They are made at once
 * for another op, for several right-hand sides, or if the caller sets a partition or an engine. Then the
 * factors are freed.
 *
 * Reads   factors, whose pattern may be borrowed.   Writes  x, its own members.
 * Invariants
 *   - both ways give the same bits: a sum has the order of the row's entries. So factors are never applied by
 *     rows if PARTITION_AUTO chooses supernodes for a triangle
 *   - active: factors, inverse, and for IC cross exist, and no sweep exists. Readers hold the lock for
 *     reading; sweeps are made with the lock held for writing */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "codelets/cpu/rows/spmv.h"
#include "runtime/base/threads.h"
#include "tristar_precond.h"

typedef struct tsi_row_sweeps {
  pthread_rwlock_t lock;
  bool locks; /* lock is initialized */
  atomic_bool active;
  atomic_int applications; /* number of applications so far, with all values */
  int most;                /* largest number of applications by rows */
  const tsi_spmv_kernels *kernels;
  tsi_factor_rows factors;
  tsi_index *cross; /* IC: see incomplete.h; NULL: another kind */
  void *inverse;    /* n: inverse of the diagonal of U; NULL: not computed */
} tsi_row_sweeps;

/* Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_row_sweeps_begin(tristar_precond_t *precond);
void tsi_row_sweeps_finish(tristar_precond_t *precond);

/* Takes ownership of factors that are to be applied by rows. *kept: whether they are. Errors: MEMORY; then
 * the caller still owns them. */
TRISTAR_CHECKED tristar_status tsi_row_sweeps_keep(tristar_precond_t *precond, tsi_factor_rows *factors,
                                                   bool *kept);
/* Frees all but cross, before new values are computed; below: all. */
void tsi_row_sweeps_renew(tristar_precond_t *precond);
void tsi_row_sweeps_drop(tristar_precond_t *precond);

/* X = op(M)^-1 B by rows, if the factors are applied by rows. Otherwise *done is false, and the sweeps exist.
 * Errors: those of making the sweeps; then the factors still exist. */
TRISTAR_CHECKED tristar_status tsi_row_sweeps_apply(tristar_precond_t *precond, tristar_op op, int64_t nrhs,
                                                    const void *b, void *x, bool *done);

/* The statistics, with the number of level sets of these factors; 0 if memory to count them is missing. */
tristar_precond_stats tsi_row_sweeps_stats(const tristar_precond_t *precond);
