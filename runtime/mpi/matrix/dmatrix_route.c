/* Entries that ranks list, on their way to the ranks that have their rows: see dmatrix.h. */
#include <limits.h>

#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/mpi/comm/mailbox.h"

void tsi_dlist_release(tsi_env *env, tsi_dlist *list) {
  TSI_FREE(env, list->place);
  TSI_FREE(env, list->value);
}

tristar_status tsi_dlist_make(const tristar_dmatrix_t *d, tsi_count count, tsi_dlist *list) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  list->count = count;
  TSI_TRY(TSI_ALLOC(env, list->place, count));
  status = tsi_allocate(env, (size_t)count, d->bytes, __func__, __FILE__, __LINE__, (void **)&list->value);
out:
  return status;
}

typedef struct router {
  tristar_dmatrix_t *d;
  const tsi_dlist *list;
  tristar_symmetry symmetry;
  int ranks;
  int *count[2], *first[2]; /* by rank: that go, that come */
  tsi_dlist goes, comes;
} router;

static bool has_image(const router *r, tsi_count e) {
  return r->symmetry != TRISTAR_GENERAL && r->list->place[e].row != r->list->place[e].col;
}

/* Local. Where those of each rank begin. */
static tristar_status find_first(const router *r, int which, tsi_count *all) {
  tristar_status status = TRISTAR_OK;
  *all = 0;
  for (int q = 0; q < r->ranks; q++) {
    r->first[which][q] = (int)*all;
    *all += r->count[which][q];
    if (*all > INT_MAX)
      TSI_FAIL(&r->d->ts->env, TRISTAR_ERR_TOO_LARGE, "%s rank: more than %d entries",
               which == 0 ? "from one" : "to one", INT_MAX);
  }
out:
  return status;
}

/* Local. */
static tristar_status pack(router *r) {
  tristar_status status = TRISTAR_OK;
  tristar_dmatrix_t *d = r->d;
  const tsi_dlist *list = r->list;
  tsi_count all = 0;
  for (tsi_count e = 0; e < list->count; e++) {
    r->count[0][tsi_dmatrix_owner(d, list->place[e].row)]++;
    if (has_image(r, e)) r->count[0][tsi_dmatrix_owner(d, list->place[e].col)]++;
    all += 1 + has_image(r, e);
    if (all > INT_MAX)
      TSI_FAIL(&d->ts->env, TRISTAR_ERR_TOO_LARGE, "one rank lists more than %d entries", INT_MAX);
  }
  TSI_TRY(find_first(r, 0, &all));
  TSI_TRY(tsi_dlist_make(d, all, &r->goes));
  for (tsi_count e = 0; e < list->count; e++)
    for (int image = 0; image < 1 + has_image(r, e); image++) {
      const tsi_dplace place = list->place[e];
      const int at = r->first[0][tsi_dmatrix_owner(d, image ? place.col : place.row)]++;
      const tsi_count from = image ? ~e : e;
      r->goes.place[at] = image ? (tsi_dplace){place.col, ~place.row} : place;
      d->sparse->gather(1, &from, r->symmetry, list->value, r->goes.value + (size_t)at * d->bytes);
    }
  TSI_TRY(find_first(r, 0, &all));
out:
  return status;
}

tristar_status tsi_dmatrix_route(tristar_dmatrix_t *d, tsi_dlist *list, tristar_symmetry symmetry) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  router r = {.d = d, .list = list, .symmetry = symmetry, .ranks = tsi_transport_size(d->transport)};
  tsi_count all;
  for (int k = 0; k < 2; k++) {
    if (status == TRISTAR_OK) status = TSI_ALLOC_ZERO(env, r.count[k], r.ranks);
    if (status == TRISTAR_OK) status = TSI_ALLOC(env, r.first[k], r.ranks);
  }
  if (status == TRISTAR_OK) status = pack(&r);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  tsi_dlist_release(env, list);
  TSI_TRY(TSI_MPI(env, "MPI_Alltoall", MPI_Alltoall(r.count[0], 1, MPI_INT, r.count[1], 1, MPI_INT, comm)));
  status = find_first(&r, 1, &all);
  if (status == TRISTAR_OK) status = tsi_dlist_make(d, all, &r.comes);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  const tsi_items go = {r.count[0], r.first[0]}, come = {r.count[1], r.first[1]};
  TSI_TRY(tsi_exchange_items(env, comm, sizeof *list->place, r.goes.place, go, r.comes.place, come));
  TSI_TRY(tsi_exchange_items(env, comm, d->bytes, r.goes.value, go, r.comes.value, come));
  *list = r.comes;
  r.comes = (tsi_dlist){.count = 0};
out:
  tsi_dlist_release(env, &r.goes);
  tsi_dlist_release(env, &r.comes);
  for (int k = 0; k < 2; k++) {
    TSI_FREE(env, r.count[k]);
    TSI_FREE(env, r.first[k]);
  }
  return status;
}
