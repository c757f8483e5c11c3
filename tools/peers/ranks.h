/* A program of peer.h that several processes run: all have the matrix and the right-hand sides, each has its
 * rows of the solution, and the first one answers. MPI is initialized.
 *
 * Rows lie in blocks in their order, as PETSc and TriStar share them. */
#pragma once

#include "tools/peers/peer.h"

typedef struct peer_ranks {
  int rank, ranks;
  int32_t first, own; /* rows of this process */
} peer_ranks;

/* Standard output of all but the first is shut. Gives whether that worked. */
bool peer_ranks_join(peer *p, peer_ranks *r);

/* Each process has its rows of x: afterwards all have all. */
void peer_ranks_share_x(const peer *p, const peer_ranks *r);
