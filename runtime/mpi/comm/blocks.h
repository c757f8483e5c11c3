/* Blocks of rows of a matrix: rank r stores the r-th block.
 *
 * Job. Gather the sizes and the symmetry of all blocks on all ranks, and refuse blocks that do not match.
 *
 * Reads   the view of this rank.   Writes  the sizes of the blocks of all ranks. */
#pragma once

#include "runtime/mpi/comm/transport.h"

/* Description of the block of one rank. */
typedef struct tsi_rank_block {
  int64_t rows, cols, entries;
  int64_t symmetry, width; /* width: doubles per value; 0: the pattern only */
} tsi_rank_block;

/* Collective. mine: an earlier failure of this rank; view: its block, NULL is an error. *blocks: one entry
 * for each rank; the caller frees it whatever the status. Errors: ARGUMENT (sizes, symmetries or kinds of
 * values differ), RECTANGULAR (the sum of the rows differs from the columns), mine, the errors of
 * tsi_view_check, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rank_blocks_gather(tsi_env *env, tsi_transport *transport,
                                                      tristar_status mine, const tristar_view *view,
                                                      tsi_rank_block **blocks);
