/* Fails each allocation of one rank in turn, during operations of all ranks (allocations.h). */
#pragma once

#include <mpi.h>

#include "tests/support/allocations.h"

static inline allocation_failures fail_allocations_on(int who, tristar_t *ts) {
  allocation_failures failing = fail_allocations_of(ts);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  failing.elsewhere = rank != who;
  return failing;
}

/* Does the same as end_failure, on all ranks, which must have the same status. If an operation recovers,
 * rounds continue until its rank has no such allocation. */
static inline void end_failure_everywhere(allocation_failures *f, tristar_status status) {
  int of[] = {(int)status, -(int)status, 0}, most[3];
  end_failure(f, status);
  of[2] = !f->over;
  MPI_Allreduce(of, most, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK_MSG(most[0] == -most[1], "allocation %lld fails: ranks return %d and %d", (long long)f->at, most[0],
            -most[1]);
  f->over = most[2] == 0;
}
