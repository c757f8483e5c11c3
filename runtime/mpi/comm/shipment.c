/* Hands lines out: see shipment.h. */
#include "runtime/mpi/comm/shipment.h"

#include "runtime/mpi/comm/bytes.h"

#define SHIPMENT_ARRAYS 3

static void list_arrays(const tsi_shipment *lines, size_t bytes, tsi_array array[SHIPMENT_ARRAYS]) {
  array[0] = (tsi_array){lines->values, lines->entries * bytes};
  array[1] = (tsi_array){lines->lengths, lines->pattern ? lines->lines * sizeof *lines->lengths : 0};
  array[2] = (tsi_array){lines->index, lines->pattern ? lines->entries * sizeof *lines->index : 0};
}

void tsi_shipment_release(tsi_env *env, tsi_shipment *lines) {
  TSI_FREE(env, lines->lengths);
  TSI_FREE(env, lines->index);
  TSI_FREE(env, lines->values);
}

tristar_status tsi_shipment_allocate(tsi_env *env, size_t bytes, tsi_shipment *lines) {
  TSI_TRY(tsi_allocate(env, lines->entries, bytes, __func__, __FILE__, __LINE__, (void **)&lines->values));
  if (!lines->pattern) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, lines->lengths, lines->lines));
  return TSI_ALLOC(env, lines->index, lines->entries);
}

/* What rank 0 tells a rank before its lines come. */
typedef struct notice {
  int64_t status, entries;
} notice;

/* The rank's lines as rank 0 has collected them, or failed to. */
static tristar_status send_lines(tsi_env *env, MPI_Comm comm, size_t bytes, int rank,
                                 const tsi_shipment *lines, tristar_status mine) {
  const notice told = {mine, (int64_t)lines->entries};
  tsi_array array[SHIPMENT_ARRAYS];
  int64_t room;
  TSI_TRY(tsi_send_bytes(env, comm, &told, sizeof told, rank));
  TSI_TRY(mine);
  TSI_TRY(tsi_receive_bytes(env, comm, &room, sizeof room, rank));
  if (room != TRISTAR_OK) return TRISTAR_OK; /* that rank says why */
  list_arrays(lines, bytes, array);
  return tsi_send_arrays(env, comm, SHIPMENT_ARRAYS, array, rank);
}

static tristar_status receive_lines(tsi_env *env, MPI_Comm comm, size_t bytes, tsi_shipment *lines) {
  tristar_status mine;
  tsi_array array[SHIPMENT_ARRAYS];
  notice told;
  TSI_TRY(tsi_receive_bytes(env, comm, &told, sizeof told, 0));
  if (told.status != TRISTAR_OK) return TRISTAR_OK; /* rank 0 says why */
  lines->entries = (size_t)told.entries;
  mine = tsi_shipment_allocate(env, bytes, lines);
  const int64_t room = mine;
  TSI_TRY(tsi_send_bytes(env, comm, &room, sizeof room, 0));
  TSI_TRY(mine);
  list_arrays(lines, bytes, array);
  return tsi_receive_arrays(env, comm, SHIPMENT_ARRAYS, array, 0);
}

tristar_status tsi_ship(tsi_env *env, tsi_transport *transport, size_t bytes, tsi_shipment_collect collect,
                        void *context, tristar_status before, tsi_shipment *own) {
  tristar_status status = before;
  MPI_Comm comm = tsi_transport_comm(transport);
  if (collect == NULL) return tsi_transport_agree(transport, receive_lines(env, comm, bytes, own));
  for (int r = 1; r < tsi_transport_size(transport); r++) { /* each must hear of it, if something fails */
    tsi_shipment lines = {.pattern = own->pattern};
    if (status == TRISTAR_OK) status = collect(context, r, &lines);
    const tristar_status sent = send_lines(env, comm, bytes, r, &lines, status);
    if (status == TRISTAR_OK) status = sent;
    tsi_shipment_release(env, &lines);
  }
  if (status == TRISTAR_OK) status = collect(context, 0, own);
  return tsi_transport_agree(transport, status);
}
