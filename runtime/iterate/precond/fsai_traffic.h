/* Messages of conjugate gradients with a sparse approximate inverse on many ranks, counted without running
 * them.
 *
 * Job. The owners of rows determine which rows other ranks need for G, level by level. They also determine
 * which entries of vectors are sent in products with A, G and G^H (runtime/mpi: near_rows.h, dmatrix.h). So
 * the messages of any number of ranks follow from A and G of one process.
 *
 * Counted are messages between two ranks. Exchanges of the set-up count only pairs of ranks that exchange
 * data. Not counted: sums and agreements, which involve all ranks.
 *
 * Reads   a preconditioner of kind FSAI, with one factor.   Writes  counts that the caller owns.
 * Assumes: the distributed G is the G of one process, as it is with enough levels (tristar_dmatrix_fsai).
 * Invariant: each message that is counted has a receiver among the ranks. */
#pragma once

#include "runtime/iterate/precond/precond.h"

/* Messages that a rank sends. */
typedef struct tsi_sent {
  tsi_count messages, bytes;
} tsi_sent;

typedef struct tsi_fsai_rank {
  tsi_index rows;
  tsi_sent gather;            /* rows of A that other ranks need for G, and requests for such rows */
  tsi_sent ghosts;            /* requests for the entries of vectors that products with G need */
  tsi_sent product, down, up; /* in a product with A, with G, with G^H */
} tsi_fsai_rank;

/* Rank r has rows start[r] .. start[r + 1] - 1. rank: `ranks` entries. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_traffic(const tristar_precond_t *precond, int levels, int ranks,
                                                const tsi_index *start, tsi_fsai_rank *rank);
