/* Incomplete factors by their rows: applications before there are sweeps with plans.
 *
 * Job. Solve with the factors where the factorization has left them. A sweep with a plan has its own copy of
 * a triangle, a partition and a stream. It is faster, but its making takes as long as some 15
 * applications: the first ones go by rows (most). Then, or for another op, for several right-hand sides, or
 * where the caller asks for a partition or an engine, the sweeps are made, and the factors are freed.
 *
 * Reads   factors, whose pattern may be lent.   Writes  x, its own members.
 * Invariants
 *   - both ways give the same bits: a sum has the order of the row's entries. So factors for whose triangles
 *     PARTITION_AUTO chooses supernodes are never applied by rows
 *   - active: factors, inverse, and for IC cross are there, and no sweep is. Who reads them holds the lock
 * for reading; sweeps are made with it held for writing */
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
  atomic_int applications; /* so far, with all values */
  int most;                /* of applications by rows */
  const tsi_spmv_kernels *kernels;
  tsi_factor_rows factors;
  tsi_index *cross; /* IC: see incomplete.h; NULL: another kind */
  void *inverse;    /* n: of the diagonal of U; NULL: not there */
} tsi_row_sweeps;

/* Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_row_sweeps_begin(tristar_precond_t *precond);
void tsi_row_sweeps_finish(tristar_precond_t *precond);

/* Keeps factors that are to be applied by rows, which it takes over then; *kept: whether they are. Errors:
 * MEMORY; then they are the caller's. */
TRISTAR_CHECKED tristar_status tsi_row_sweeps_keep(tristar_precond_t *precond, tsi_factor_rows *factors,
                                                   bool *kept);
/* Frees what is kept but for cross, as new values do before they are computed; with cross. */
void tsi_row_sweeps_renew(tristar_precond_t *precond);
void tsi_row_sweeps_drop(tristar_precond_t *precond);

/* X = op(M)^-1 B by rows, if that is how the factors are applied; else *done is false, and sweeps are there.
 * Errors: those of making the sweeps; then the factors are still there. */
TRISTAR_CHECKED tristar_status tsi_row_sweeps_apply(tristar_precond_t *precond, tristar_op op, int64_t nrhs,
                                                    const void *b, void *x, bool *done);

/* The statistics, with the level sets of factors that are kept; 0 of these without memory to count them. */
tristar_precond_stats tsi_row_sweeps_stats(const tristar_precond_t *precond);
