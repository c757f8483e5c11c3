/* Sends ghosts, and adds sums to the entries of owners: see halo.h. */
#include "runtime/mpi/comm/halo.h"

#include "runtime/base/sort.h"

tristar_status tsi_halo_create(tsi_env *env, tsi_transport *transport, size_t scalar_bytes, tsi_index n,
                               const tsi_index *column, tsi_index ghosts, const tsi_index *ghost,
                               const int *owner, tsi_halo **out) {
  TSI_CLEANUP(tsi_halo_destroy) tsi_halo *halo = NULL;
  TSI_OWNED tsi_index *requested = NULL;
  *out = NULL;
  TSI_TRY(tsi_transport_agree(transport, TSI_ALLOC_ZERO(env, halo, 1)));
  halo->ghosts = ghosts;
  tristar_status status = tsi_route_begin(env, transport, &halo->route);
  for (tsi_index g = 0; status == TRISTAR_OK && g < ghosts; g++) halo->route.goes[owner[g] + 1]++;
  TSI_TRY(tsi_route_connect(env, transport, status, &halo->route));
  halo->requested = (tsi_index)tsi_route_received(&halo->route);
  status = TSI_ALLOC(env, requested, halo->requested);
  if (status == TRISTAR_OK) status = TSI_ALLOC_IN(halo, halo->own, halo->requested);
  if (status == TRISTAR_OK)
    status = TSI_ALLOC_SIZED_IN(halo, halo->buffer, halo->requested, tsi_halo_bytes(scalar_bytes));
  TSI_TRY(tsi_transport_agree(transport, status));
  TSI_TRY(tsi_route_pass(env, &halo->route, sizeof *ghost, false, ghost, requested));
  for (tsi_index k = 0; k < halo->requested; k++) halo->own[k] = tsi_find_range(column, n, requested[k]);
  *out = tsi_take(&halo);
  return TRISTAR_OK;
}

void tsi_halo_destroy(tsi_halo **halo) {
  if (*halo == NULL) return;
  tsi_route_finish(&(*halo)->route);
  tsi_release(tsi_take(halo));
}

tristar_status tsi_halo_fill(tsi_env *env, const tsi_halo *halo, size_t bytes, const void *own, void *ghost) {
  char *packed = halo->buffer;
  for (tsi_index k = 0; k < halo->requested; k++)
    memcpy(packed + (size_t)k * bytes, (const char *)own + (size_t)halo->own[k] * bytes, bytes);
  return tsi_route_pass(env, &halo->route, bytes, true, packed, ghost);
}

tristar_status tsi_halo_return(tsi_env *env, const tsi_halo *halo, size_t bytes, const void *ghost,
                               void *own) {
  const char *packed = halo->buffer;
  TSI_TRY(tsi_route_pass(env, &halo->route, bytes, false, ghost, halo->buffer));
  for (tsi_index k = 0; k < halo->requested; k++)
    memcpy((char *)own + (size_t)halo->own[k] * bytes, packed + (size_t)k * bytes, bytes);
  return TRISTAR_OK;
}

tristar_status tsi_halo_add(tsi_env *env, const tsi_halo *halo, size_t bytes, const void *ghost, void *own,
                            tsi_add_at *add) {
  TSI_TRY(tsi_route_pass(env, &halo->route, bytes, false, ghost, halo->buffer));
  add(halo->requested, halo->own, halo->buffer, own);
  return TRISTAR_OK;
}
