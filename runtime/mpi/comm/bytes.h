/* Messages with large arrays. They are sent in pieces, because MPI counts with int. Only collective functions
 * of setup may call these functions, while no run of a mailbox is in flight.
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
/* Arrays that are sent one after the other. */
typedef struct tsi_array {
  void *data; /* NULL: bytes is 0 */
  size_t bytes;
} tsi_array;
TRISTAR_CHECKED tristar_status tsi_send_arrays(tsi_env *env, MPI_Comm comm, int count, const tsi_array *array,
                                               int to);
TRISTAR_CHECKED tristar_status tsi_receive_arrays(tsi_env *env, MPI_Comm comm, int count,
                                                  const tsi_array *array, int from);

/* Items by rank: counts and first items. */
typedef struct tsi_items {
  const int *count, *first;
} tsi_items;
/* Collective. Sends each rank its items of `from`; an item has `bytes` bytes. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_exchange_items(tsi_env *env, MPI_Comm comm, size_t bytes, const void *from,
                                                  tsi_items sent, void *to, tsi_items received);

/* Largest number of items in a message: MPI counts with int, and buffers messages. */
#define TSI_MESSAGE_ITEMS (1 << 26)

/* Tags of messages: one for panels that are handed on, one for all other messages. */
enum { TSI_TAG_BYTES, TSI_TAG_PANELS };

/* Sends the items of `gives` to one rank, and at the same time receives the items of `takes` from another. A
 * message has at most `most` items. Without items there is no message. Errors: RUNTIME. */
typedef struct tsi_items_way {
  void *items;
  tsi_count count;
  int peer;
} tsi_items_way;
TRISTAR_CHECKED tristar_status tsi_swap_items(tsi_env *env, MPI_Comm comm, int tag, size_t bytes, int most,
                                              tsi_items_way gives, tsi_items_way takes);
/* Number of messages for `count` items. */
static inline tsi_count tsi_item_messages(tsi_count count, int most) {
  return count / most + (count % most > 0);
}

/* Collective. Scatters the items of `all`, an array of rank 0, to the ranks; back: gathers them on rank 0. An
 * item has `bytes` bytes. Block r begins with item first[r] and is the array `own` of rank r, with `count`
 * items. first and all are used on rank 0 only. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_move_blocks(tsi_env *env, MPI_Comm comm, const int64_t *first,
                                               size_t bytes, bool back, void *all, int64_t count, void *own);
/* Collective. Each rank passes its number of items; first[r] becomes the number of items of all ranks before
 * rank r. first has ranks + 1 entries on rank 0 and is not used on other ranks. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_gather_first(tsi_env *env, MPI_Comm comm, int64_t count, int64_t *first);
/* Collective. Broadcasts an array from rank 0. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_broadcast_bytes(tsi_env *env, MPI_Comm comm, void *array, size_t bytes);
