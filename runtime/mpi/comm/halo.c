/* Brings ghosts and adds to their owners: see halo.h. */
#include "runtime/mpi/comm/halo.h"

#include "runtime/base/sort.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"

static tsi_items ghosts_of(const tsi_halo *halo) {
  return (tsi_items){halo->ghost_count, halo->ghost_first};
}

static tsi_items asked_of(const tsi_halo *halo) {
  return (tsi_items){halo->asked_count, halo->asked_first};
}

static void find_first(int ranks, const int *count, int *first, tsi_index *all) {
  *all = 0;
  for (int r = 0; r < ranks; r++) {
    first[r] = *all;
    *all += count[r];
  }
}

tristar_status tsi_halo_create(tsi_env *env, tsi_transport *transport, tsi_index n, const tsi_index *column,
                               tsi_index ghosts, const tsi_index *ghost, const int *owner, tsi_halo **out) {
  tristar_status status = TRISTAR_OK;
  const int ranks = tsi_transport_size(transport);
  tsi_halo *halo = NULL;
  tsi_index *asked = NULL;
  *out = NULL;
  TSI_TRY(tsi_transport_agree(transport, TSI_ALLOC_ZERO(env, halo, 1)));
  halo->ranks = ranks;
  halo->comm = tsi_transport_comm(transport);
  halo->ghosts = ghosts;
  status = TSI_ALLOC_ZERO(env, halo->ghost_count, ranks);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, halo->ghost_first, ranks);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, halo->asked_count, ranks);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, halo->asked_first, ranks);
  TSI_TRY(tsi_transport_agree(transport, status));
  for (tsi_index g = 0; g < ghosts; g++) halo->ghost_count[owner[g]]++;
  find_first(ranks, halo->ghost_count, halo->ghost_first, &halo->ghosts);
  TSI_TRY(TSI_MPI(env, "MPI_Alltoall",
                  MPI_Alltoall(halo->ghost_count, 1, MPI_INT, halo->asked_count, 1, MPI_INT, halo->comm)));
  find_first(ranks, halo->asked_count, halo->asked_first, &halo->asked);
  status = TSI_ALLOC(env, asked, halo->asked);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, halo->own, halo->asked);
  if (status == TRISTAR_OK)
    status = tsi_allocate(env, (size_t)halo->asked, 2 * sizeof(double), __func__, __FILE__, __LINE__,
                          &halo->buffer);
  TSI_TRY(tsi_transport_agree(transport, status));
  TSI_TRY(tsi_exchange_items(env, halo->comm, sizeof *ghost, ghost, ghosts_of(halo), asked, asked_of(halo)));
  for (tsi_index k = 0; k < halo->asked; k++) halo->own[k] = tsi_find_range(column, n, asked[k]);
out:
  TSI_FREE(env, asked);
  if (status != TRISTAR_OK) tsi_halo_destroy(env, &halo);
  *out = halo;
  return status;
}

void tsi_halo_destroy(tsi_env *env, tsi_halo **halo) {
  if (*halo == NULL) return;
  TSI_FREE(env, (*halo)->ghost_count);
  TSI_FREE(env, (*halo)->ghost_first);
  TSI_FREE(env, (*halo)->asked_count);
  TSI_FREE(env, (*halo)->asked_first);
  TSI_FREE(env, (*halo)->own);
  TSI_FREE(env, (*halo)->buffer);
  TSI_FREE(env, *halo);
}

tristar_status tsi_halo_fill(tsi_env *env, const tsi_halo *halo, size_t bytes, const void *own, void *ghost) {
  char *packed = halo->buffer;
  for (tsi_index k = 0; k < halo->asked; k++)
    memcpy(packed + (size_t)k * bytes, (const char *)own + (size_t)halo->own[k] * bytes, bytes);
  return tsi_exchange_items(env, halo->comm, bytes, packed, asked_of(halo), ghost, ghosts_of(halo));
}

tristar_status tsi_halo_add(tsi_env *env, const tsi_halo *halo, size_t bytes, const void *ghost, void *own,
                            tsi_add_at *add) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_exchange_items(env, halo->comm, bytes, ghost, ghosts_of(halo), halo->buffer, asked_of(halo)));
  add(halo->asked, halo->own, halo->buffer, own);
out:
  return status;
}
