/* Rows of several processes: see ranks.h. */
#include "tools/peers/ranks.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

bool peer_ranks_join(peer *p, peer_ranks *r) {
  int end;
  (void)MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
  (void)MPI_Comm_size(MPI_COMM_WORLD, &r->ranks);
  r->own = (int32_t)(p->n / r->ranks + (r->rank < p->n % r->ranks));
  (void)MPI_Scan(&r->own, &end, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  r->first = end - r->own;
  if (r->rank > 0 && freopen("/dev/null", "w", stdout) == NULL) peer_fail(p, 1, "no /dev/null");
  return p->status == 0;
}

void peer_ranks_share_x(const peer *p, const peer_ranks *r) {
  if (r->ranks == 1 || p->status != 0) return;
  int *own = peer_allocate(r->ranks, sizeof *own), *first = peer_allocate(r->ranks, sizeof *first);
  (void)MPI_Allgather(&r->own, 1, MPI_INT, own, 1, MPI_INT, MPI_COMM_WORLD);
  (void)MPI_Allgather(&r->first, 1, MPI_INT, first, 1, MPI_INT, MPI_COMM_WORLD);
  for (int k = 0; k < p->nrhs; k++)
    (void)MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, peer_x(p, k), own, first, MPI_DOUBLE,
                         MPI_COMM_WORLD);
  free(own);
  free(first);
}
