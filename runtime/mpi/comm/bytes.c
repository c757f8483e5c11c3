/* Large arrays between ranks: see bytes.h. */
#include "runtime/mpi/comm/bytes.h"

#include "runtime/mpi/comm/mailbox.h"

#define PIECE_BYTES ((size_t)1 << 30)

typedef struct piece {
  char *begin;
  int bytes;
} piece;

/* The piece of an array that begins at byte `at`. */
static piece piece_of(const void *array, size_t bytes, size_t at) {
  const size_t left = bytes - at;
  return (piece){(char *)(uintptr_t)array + at, (int)(left < PIECE_BYTES ? left : PIECE_BYTES)};
}

tristar_status tsi_send_bytes(tsi_env *env, MPI_Comm comm, const void *array, size_t bytes, int to) {
  for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
    const piece p = piece_of(array, bytes, at);
    TSI_TRY(TSI_MPI(env, "MPI_Send", MPI_Send(p.begin, p.bytes, MPI_BYTE, to, TSI_TAG_BYTES, comm)));
  }
  return TRISTAR_OK;
}

tristar_status tsi_receive_bytes(tsi_env *env, MPI_Comm comm, void *array, size_t bytes, int from) {
  for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
    const piece p = piece_of(array, bytes, at);
    TSI_TRY(TSI_MPI(env, "MPI_Recv",
                    MPI_Recv(p.begin, p.bytes, MPI_BYTE, from, TSI_TAG_BYTES, comm, MPI_STATUS_IGNORE)));
  }
  return TRISTAR_OK;
}

tristar_status tsi_send_arrays(tsi_env *env, MPI_Comm comm, int count, const tsi_array *array, int to) {
  for (int k = 0; k < count; k++) TSI_TRY(tsi_send_bytes(env, comm, array[k].data, array[k].bytes, to));
  return TRISTAR_OK;
}

tristar_status tsi_receive_arrays(tsi_env *env, MPI_Comm comm, int count, const tsi_array *array, int from) {
  for (int k = 0; k < count; k++) TSI_TRY(tsi_receive_bytes(env, comm, array[k].data, array[k].bytes, from));
  return TRISTAR_OK;
}

/* Creates a type of `bytes` bytes, so that MPI counts items instead of bytes. */
static tristar_status make_item(tsi_env *env, size_t bytes, MPI_Datatype *item) {
  TSI_TRY(TSI_MPI(env, "MPI_Type_contiguous", MPI_Type_contiguous((int)bytes, MPI_BYTE, item)));
  return TSI_MPI(env, "MPI_Type_commit", MPI_Type_commit(item));
}

tristar_status tsi_exchange_items(tsi_env *env, MPI_Comm comm, size_t bytes, const void *from, tsi_items sent,
                                  void *to, tsi_items received) {
  MPI_Datatype item;
  TSI_TRY(make_item(env, bytes, &item));
  tristar_status status = TSI_MPI(
      env, "MPI_Alltoallv",
      MPI_Alltoallv(from, sent.count, sent.first, item, to, received.count, received.first, item, comm));
  MPI_Type_free(&item);
  return status;
}

/* Number of items in the next message. If none is left: 0, and the peer becomes MPI_PROC_NULL. */
static int next_items(tsi_items_way *way, int most) {
  const int count = (int)tsi_count_min(way->count, most);
  if (count == 0) way->peer = MPI_PROC_NULL;
  return count;
}

static void pass_items(tsi_items_way *way, int count, size_t bytes) {
  way->items = (char *)way->items + (size_t)count * bytes;
  way->count -= count;
}

tristar_status tsi_swap_items(tsi_env *env, MPI_Comm comm, int tag, size_t bytes, int most,
                              tsi_items_way gives, tsi_items_way takes) {
  tristar_status status = TRISTAR_OK;
  MPI_Datatype item;
  TSI_TRY(make_item(env, bytes, &item));
  while (status == TRISTAR_OK && (gives.count > 0 || takes.count > 0)) {
    const int given = next_items(&gives, most), taken = next_items(&takes, most);
    status = TSI_MPI(env, "MPI_Sendrecv",
                     MPI_Sendrecv(gives.items, given, item, gives.peer, tag, takes.items, taken, item,
                                  takes.peer, tag, comm, MPI_STATUS_IGNORE));
    if (given > 0) pass_items(&gives, given, bytes);
    if (taken > 0) pass_items(&takes, taken, bytes);
  }
  MPI_Type_free(&item);
  return status;
}

tristar_status tsi_broadcast_bytes(tsi_env *env, MPI_Comm comm, void *array, size_t bytes) {
  for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
    const piece p = piece_of(array, bytes, at);
    TSI_TRY(TSI_MPI(env, "MPI_Bcast", MPI_Bcast(p.begin, p.bytes, MPI_BYTE, 0, comm)));
  }
  return TRISTAR_OK;
}

tristar_status tsi_gather_first(tsi_env *env, MPI_Comm comm, int64_t count, int64_t *first) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int64_t *counts = rank == 0 ? first + 1 : NULL;
  TSI_TRY(TSI_MPI(env, "MPI_Gather", MPI_Gather(&count, 1, MPI_INT64_T, counts, 1, MPI_INT64_T, 0, comm)));
  if (rank > 0) return TRISTAR_OK;
  first[0] = 0;
  for (int r = 0; r < ranks; r++) first[r + 1] += first[r];
  return TRISTAR_OK;
}

tristar_status tsi_move_blocks(tsi_env *env, MPI_Comm comm, const int64_t *first, size_t bytes, bool back,
                               void *all, int64_t count, void *own) {
  int rank, ranks;
  const size_t own_bytes = (size_t)count * bytes;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  if (rank > 0)
    return back ? tsi_send_bytes(env, comm, own, own_bytes, 0)
                : tsi_receive_bytes(env, comm, own, own_bytes, 0);
  if (count > 0) memcpy(back ? all : own, back ? own : all, own_bytes);
  for (int r = 1; r < ranks; r++) {
    char *block = (char *)all + (size_t)first[r] * bytes;
    const size_t block_bytes = (size_t)(first[r + 1] - first[r]) * bytes;
    TSI_TRY(back ? tsi_receive_bytes(env, comm, block, block_bytes, r)
                 : tsi_send_bytes(env, comm, block, block_bytes, r));
  }
  return TRISTAR_OK;
}
