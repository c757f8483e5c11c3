/* Traffic of conjugate gradients with a sparse approximate inverse on many ranks, counted without running
 * them.
 *
 * Job. Who has which rows says which rows others need while G is computed, level by level, and which entries
 * of vectors travel in products with A, G and G^H (runtime/mpi: near_rows.h, dmatrix.h). So the messages
 * follow from A and G of one process, for any number of ranks.
 *
 * Counted is what goes from one rank to another, set-up exchanges by the pairs of ranks that have something
 * for each other; not sums and agreements, in which all ranks take part.
 *
 * Reads   a preconditioner of kind FSAI, of one factor.   Writes  counts of the caller's.
 * Assumes: G is that of one process, as it is with enough levels (tristar_dmatrix_fsai).
 * Invariant: what is counted as sent is received by a rank that it is counted for. */
#pragma once

#include "runtime/iterate/precond/precond.h"

/* What a rank sends. */
typedef struct tsi_sent {
  tsi_count messages, bytes;
} tsi_sent;

typedef struct tsi_fsai_rank {
  tsi_index rows;
  tsi_sent gather;            /* rows of A to those who compute G with them, and who asks for them */
  tsi_sent ghosts;            /* which entries of vectors products with G need */
  tsi_sent product, down, up; /* in one with A, with G, with G^H */
} tsi_fsai_rank;

/* Rank r has rows start[r] .. start[r + 1] - 1. rank: `ranks` entries. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_fsai_traffic(const tristar_precond_t *precond, int levels, int ranks,
                                                const tsi_index *start, tsi_fsai_rank *rank);
