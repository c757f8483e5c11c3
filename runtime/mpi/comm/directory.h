/* A list of n numbers, for example a permutation, that is distributed over all ranks.
 *
 * Job. Each rank stores the numbers of one block of entries. All blocks have the same length, but the last
 * blocks may be shorter. Functions scatter a list from rank 0, and send each rank the numbers of requested
 * entries. This takes one round of requests and one of answers.
 *
 * Reads   the list of rank 0, once.   Writes  a tsi_directory that owns its block and is immutable
 * afterwards. Invariant: a rank other than 0 receives only its block and the numbers that it requests. */
#pragma once

#include "runtime/mpi/comm/transport.h"

typedef struct tsi_directory {
  int64_t n;
  int64_t block;        /* entries of a block, at least 1 */
  int64_t first, count; /* first entry and number of entries of this rank */
  tsi_index *own;       /* count */
} tsi_directory;

/* Collective. all: the list on rank 0, NULL on other ranks. Errors: MEMORY, RUNTIME, the same on all ranks.
 */
TRISTAR_CHECKED tristar_status tsi_directory_create(tsi_env *env, tsi_transport *transport, int64_t n,
                                                    const tsi_index *all, tsi_directory **out);

/* Local. Allocates the block of this rank. The caller fills it with the block of an earlier directory of the
 * same list and number of ranks. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_directory_begin(tsi_env *env, const tsi_transport *transport, int64_t n,
                                                   tsi_directory **out);

/* Collective. Gathers the list on rank 0. all: an array of n entries on rank 0, not used on other ranks.
 * mine: an earlier failure of this rank. Errors: mine, MEMORY, RUNTIME, the same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_directory_gather(tsi_env *env, tsi_transport *transport,
                                                    const tsi_directory *directory, tristar_status mine,
                                                    tsi_index *all);

/* Collective. number[i] = the number of entry requested[i]; TSI_NONE if requested[i] is not in 0 .. n - 1. If
 * directory is NULL, on all ranks, then number[i] = requested[i]. Both arrays may be the same. mine: an
 * earlier failure of this rank. Errors: mine, MEMORY, RUNTIME, the same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_directory_query(tsi_env *env, tsi_transport *transport,
                                                   const tsi_directory *directory, tristar_status mine,
                                                   tsi_count count, const tsi_index *requested,
                                                   tsi_index *number);
