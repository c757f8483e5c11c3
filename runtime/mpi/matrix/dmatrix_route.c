/* Sends entries to the owners of their rows, and connects vectors with the owners: see dmatrix.h. */
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/mpi/comm/mailbox.h"

void tsi_dlist_release(tsi_dlist *list) {
  tsi_release(tsi_take(&list->place));
  tsi_release(tsi_take(&list->value));
}

tristar_status tsi_dlist_make(const tristar_dmatrix_t *d, tsi_count count, tsi_dlist *list) {
  tsi_env *env = &d->ts->env;
  list->count = count;
  TSI_TRY(TSI_ALLOC(env, list->place, count));
  return TSI_ALLOC_SIZED(env, list->value, count, d->bytes);
}

static bool has_image(const tsi_dlist *list, tristar_symmetry symmetry, tsi_count e) {
  return symmetry != TRISTAR_GENERAL && list->place[e].row != list->place[e].col;
}

/* Local. */
static tristar_status count(const tristar_dmatrix_t *d, const tsi_dlist *list, tristar_symmetry symmetry,
                            tsi_route *route) {
  TSI_TRY(tsi_route_begin(&d->ts->env, d->transport, route));
  for (tsi_count e = 0; e < list->count; e++) {
    route->goes[tsi_dmatrix_owner(d, list->place[e].row) + 1]++;
    if (has_image(list, symmetry, e)) route->goes[tsi_dmatrix_owner(d, list->place[e].col) + 1]++;
  }
  return TRISTAR_OK;
}

/* Local. */
static tristar_status pack(const tristar_dmatrix_t *d, const tsi_dlist *list, tristar_symmetry symmetry,
                           const tsi_route *route, tsi_dlist *goes) {
  TSI_TRY(tsi_dlist_make(d, tsi_route_sent(route), goes));
  for (tsi_count e = 0; e < list->count; e++)
    for (int image = 0; image < 1 + has_image(list, symmetry, e); image++) {
      const tsi_dplace place = list->place[e];
      const tsi_count at = route->next[tsi_dmatrix_owner(d, image ? place.col : place.row)]++;
      const tsi_count from = image ? ~e : e;
      goes->place[at] = image ? (tsi_dplace){place.col, ~place.row} : place;
      d->sparse->gather(1, &from, symmetry, list->value, goes->value + (size_t)at * d->bytes);
    }
  return TRISTAR_OK;
}

tristar_status tsi_dmatrix_route(tristar_dmatrix_t *d, tsi_dlist *list, tristar_symmetry symmetry) {
  tsi_env *env = &d->ts->env;
  TSI_CLEANUP(tsi_route_finish) tsi_route route = {.goes = NULL};
  TSI_CLEANUP(tsi_dlist_release) tsi_dlist comes = {.count = 0}, goes = {.count = 0};
  TSI_TRY(tsi_route_connect(env, d->transport, count(d, list, symmetry, &route), &route));
  TSI_TRY(tsi_transport_agree(d->transport, pack(d, list, symmetry, &route, &goes)));
  tsi_dlist_release(list);
  TSI_TRY(tsi_transport_agree(d->transport, tsi_dlist_make(d, tsi_route_received(&route), &comes)));
  TSI_TRY(tsi_route_pass(env, &route, sizeof *goes.place, false, goes.place, comes.place));
  TSI_TRY(tsi_route_pass(env, &route, d->bytes, false, goes.value, comes.value));
  *list = comes;
  comes = (tsi_dlist){.count = 0};
  return TRISTAR_OK;
}

/* ---- Owners of rows ------------------------------------------------------------------------------------ */

int tsi_dmatrix_owner(const tristar_dmatrix_t *d, int64_t row) {
  int low = 0, high = tsi_transport_size(d->transport);
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (d->start[middle] <= row)
      low = middle;
    else
      high = middle;
  }
  return low;
}

tristar_status tsi_dmatrix_connect(const tristar_dmatrix_t *d, tsi_transport *transport, tsi_index count,
                                   const tsi_index *row, tsi_halo **out) {
  tsi_env *env = &d->ts->env;
  TSI_OWNED tsi_index *own = NULL;
  TSI_OWNED int *owner = NULL;
  tristar_status status = TSI_ALLOC(env, own, d->n);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, owner, count);
  TSI_TRY(tsi_transport_agree(transport, status));
  for (tsi_index i = 0; i < d->n; i++) own[i] = (tsi_index)tsi_dmatrix_first(d) + i;
  for (tsi_index k = 0; k < count; k++) owner[k] = tsi_dmatrix_owner(d, row[k]);
  return tsi_halo_create(env, transport, d->bytes, d->n, own, count, row, owner, out);
}
