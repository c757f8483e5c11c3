/* Blocks of rows of a matrix, one on each rank, one after the other.
 *
 * Job. Tell all ranks what each has, and refuse what does not fit together.
 *
 * Reads   this rank's view.   Writes  the blocks of all ranks. */
#pragma once

#include "runtime/mpi/comm/transport.h"

/* What a rank says of its block. */
typedef struct tsi_rank_block {
  int64_t rows, cols, entries;
  int64_t symmetry, width; /* width: doubles of a value; 0: the pattern alone */
} tsi_rank_block;

/* Collective. mine: what this rank has found before; view: its block, NULL is an error. *blocks: of all
 * ranks, to be freed whatever the status. Errors: ARGUMENT (sizes, symmetries or kinds of values differ),
 * RECTANGULAR (rows do not add up to columns), those of tsi_view_check, MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rank_blocks_gather(tsi_env *env, tsi_transport *transport,
                                                      tristar_status mine, const tristar_view *view,
                                                      tsi_rank_block **blocks);
