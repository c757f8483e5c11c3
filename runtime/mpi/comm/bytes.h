/* Large arrays between ranks: bytes in pieces, as MPI counts with int. For collective calls of setup, during
 * which no run of a mailbox is in flight.
 *
 * Reads   the array that is sent.   Writes  the array that is received.   Nothing is allocated. */
#pragma once

#include <mpi.h>

#include "runtime/base/env.h"

/* Blocking; both sides pass the same number of bytes. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_send_bytes(tsi_env *env, MPI_Comm comm, const void *array, size_t bytes,
                                              int to);
TRISTAR_CHECKED tristar_status tsi_receive_bytes(tsi_env *env, MPI_Comm comm, void *array, size_t bytes,
                                                 int from);
/* Arrays that travel one after the other. */
typedef struct tsi_array {
  void *data; /* NULL: bytes is 0 */
  size_t bytes;
} tsi_array;
TRISTAR_CHECKED tristar_status tsi_send_arrays(tsi_env *env, MPI_Comm comm, int count, const tsi_array *array,
                                               int to);
TRISTAR_CHECKED tristar_status tsi_receive_arrays(tsi_env *env, MPI_Comm comm, int count,
                                                  const tsi_array *array, int from);

/* Items by rank: how many, and where they begin. */
typedef struct tsi_items {
  const int *count, *first;
} tsi_items;
/* Collective: to each rank its items of `from`, of `bytes` each. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_exchange_items(tsi_env *env, MPI_Comm comm, size_t bytes, const void *from,
                                                  tsi_items sent, void *to, tsi_items received);

/* Items of a message at most: MPI counts with int, and buffers them. */
#define TSI_MESSAGE_ITEMS (1 << 26)

/* Tags of messages: of panels that are handed on, and of everything else. */
enum { TSI_TAG_BYTES, TSI_TAG_PANELS };

/* Sends `gives` items to one rank and receives `takes` from another at the same time, `most` in a message;
 * with none of them there is no message. Errors: RUNTIME. */
typedef struct tsi_items_way {
  void *items;
  tsi_count count;
  int peer;
} tsi_items_way;
TRISTAR_CHECKED tristar_status tsi_swap_items(tsi_env *env, MPI_Comm comm, int tag, size_t bytes, int most,
                                              tsi_items_way gives, tsi_items_way takes);
/* Messages that so many items go in. */
static inline tsi_count tsi_item_messages(tsi_count count, int most) {
  return count / most + (count % most > 0);
}

/* Collective. Items of `bytes` each of an array of rank 0, `all`, to the ranks, or, back, from them: block r,
 * which begins with item first[r], is the array `own` of rank r, of `count` items. first and all: on rank 0.
 * Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_move_blocks(tsi_env *env, MPI_Comm comm, const int64_t *first,
                                               size_t bytes, bool back, void *all, int64_t count, void *own);
/* Collective. Each rank passes its number of items; first[r] becomes the number of items of all ranks before
 * rank r. first has ranks + 1 entries on rank 0 and is not used on other ranks. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_gather_first(tsi_env *env, MPI_Comm comm, int64_t count, int64_t *first);
/* Collective, from rank 0. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_broadcast_bytes(tsi_env *env, MPI_Comm comm, void *array, size_t bytes);
