/* A list of n numbers, as a permutation, that lies on all ranks.
 *
 * Job. Each rank has the numbers of a block of entries, all blocks but the last as long. Hand out a list that
 * rank 0 has; tell ranks the numbers of entries that they ask for, in one round of questions and one of
 * answers.
 *
 * Reads   the list of rank 0, once.   Writes  a tsi_directory that owns its block and is immutable
 * afterwards. Invariant: no rank but rank 0 sees more of it than its block, and what it asks for. */
#pragma once

#include "runtime/mpi/comm/transport.h"

typedef struct tsi_directory {
  int64_t n;
  int64_t block;        /* entries of a rank, at least 1 */
  int64_t first, count; /* those of this rank */
  tsi_index *own;       /* count */
} tsi_directory;

/* Collective. all: on rank 0 the list, NULL elsewhere. Errors: MEMORY, RUNTIME, the same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_directory_create(tsi_env *env, tsi_transport *transport, int64_t n,
                                                    const tsi_index *all, tsi_directory **out);

/* Local. The block of this rank, which the caller fills with what an earlier directory of the same list had
 * on as many ranks. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_directory_begin(tsi_env *env, const tsi_transport *transport, int64_t n,
                                                   tsi_directory **out);

/* Collective. The list again; all: room for it on rank 0, not read elsewhere. mine: what this rank has found
 * before. Errors: that, MEMORY, RUNTIME, the same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_directory_gather(tsi_env *env, tsi_transport *transport,
                                                    const tsi_directory *directory, tristar_status mine,
                                                    tsi_index *all);

/* Collective. number[i] = that of entry asked[i]; TSI_NONE where that is none of 0 .. n - 1. directory NULL,
 * on all ranks: number[i] = asked[i]. Both arrays may be the same. mine: what this rank has found before.
 * Errors: that, MEMORY, RUNTIME, the same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_directory_ask(tsi_env *env, tsi_transport *transport,
                                                 const tsi_directory *directory, tristar_status mine,
                                                 tsi_count count, const tsi_index *asked, tsi_index *number);
