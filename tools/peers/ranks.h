/* A program of peer.h on several processes. Each process has the matrix, the right-hand sides, and its rows
 * of the solution; the first process prints. MPI is initialized.
 *
 * Blocks of consecutive rows are distributed in order of ranks, as in PETSc and TriStar. */
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
