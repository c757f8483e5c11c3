/* Sends each rank the entries of its fronts, from the ranks that have them: see team_factor.h.
 *
 * First places are sent, then values along the same route. Entries from rank 0 arrive in the order of the
 * lists, so new values need no places. */
#include "runtime/mpi/factor/team_factor.h"

/* A received entry: its place, then its position in the lists. */
typedef union arrival {
  tsi_entry_place place;
  tsi_count at;
} arrival;

typedef struct delivery {
  tsi_env *env;
  const tsi_supply *supply;
  tsi_team_factor *team_factor;
  size_t bytes; /* of a value */
  void *from;
  tsi_route route;
  arrival *taken; /* [received]; NULL: entries arrive in the order of the lists */
} delivery;

static void give_places(void *context, int rank, tsi_count first, tsi_count count, void *items) {
  const delivery *v = context;
  v->supply->places(v->from, rank, first, count, items);
}

static void take_places(void *context, int rank, tsi_count first, tsi_count count, const void *items) {
  const delivery *v = context;
  arrival *taken = v->taken + v->route.comes[rank] + first;
  for (tsi_count k = 0; k < count; k++) taken[k].place = ((const tsi_entry_place *)items)[k];
}

static void give_values(void *context, int rank, tsi_count first, tsi_count count, void *items) {
  const delivery *v = context;
  v->supply->put_values(v->from, rank, first, count, items);
}

static void take_values(void *context, int rank, tsi_count first, tsi_count count, const void *items) {
  const delivery *v = context;
  char *values = v->team_factor->values;
  const tsi_count at = v->route.comes[rank] + first;
  if (v->taken == NULL) memcpy(values + (size_t)at * v->bytes, items, (size_t)count * v->bytes);
  for (tsi_count k = 0; v->taken && k < count; k++)
    tsi_copy_scalar(v->bytes, values, v->taken[at + k].at, items, k);
}

/* Local. Creates the lists of own entries, in the order of arrival. */
static tristar_status make_lists(const delivery *v) {
  tsi_team_factor *team_factor = v->team_factor;
  struct tristar_analysis_s *an = &team_factor->analysis;
  const size_t n = (size_t)team_factor->pattern.n;
  const tsi_count entries = team_factor->entries;
  const bool upper = tsi_analysis_is_lu(an);
  TSI_TRY(TSI_ALLOC_ZERO(v->env, an->lower.ptr, n + 1));
  if (upper) TSI_TRY(TSI_ALLOC_ZERO(v->env, an->upper.ptr, n + 1));
  TSI_TRY(TSI_ALLOC(v->env, team_factor->other, entries));
  for (tsi_count k = 0; k < entries; k++) {
    tsi_entry_place *taken = &v->taken[k].place;
    taken->line = taken->line < 0 ? ~tsi_front_part_here(&team_factor->fronts, ~taken->line)
                                  : tsi_front_part_here(&team_factor->fronts, taken->line);
    taken->other = tsi_front_part_here(&team_factor->fronts, taken->other);
    const tsi_index line = taken->line;
    (*(line < 0 ? &an->upper : &an->lower)).ptr[line < 0 ? ~line : line]++;
  }
  tsi_count before = 0;
  for (tsi_assembly *list = &an->lower; list != NULL;
       list = list == &an->lower && upper ? &an->upper : NULL) {
    list->first = before;
    list->other = team_factor->other + before;
    for (size_t j = 0; j <= n; j++) { /* ptr[j]: end of line j; filling moves it down to its start */
      before += j < n ? list->ptr[j] : 0;
      list->ptr[j] = before - list->first;
    }
  }
  for (tsi_count k = entries - 1; k >= 0; k--) {
    const tsi_entry_place taken = v->taken[k].place;
    tsi_assembly *list = taken.line < 0 ? &an->upper : &an->lower;
    const tsi_count at = --list->ptr[taken.line < 0 ? ~taken.line : taken.line];
    list->other[at] = taken.other;
    v->taken[k].at = list->first + at;
  }
  return TRISTAR_OK;
}

void tsi_team_factor_release_lists(tsi_env *env, tsi_team_factor *team_factor) {
  struct tristar_analysis_s *an = &team_factor->analysis;
  TSI_FREE(env, an->lower.ptr);
  TSI_FREE(env, an->upper.ptr);
  TSI_FREE(env, team_factor->other);
  an->lower = an->upper = (tsi_assembly){.ptr = NULL};
}

tristar_status tsi_team_factor_take_entries(tristar_distributed_t *d, const tsi_supply *supply) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  tsi_team_factor *team_factor = d->team_factor;
  delivery v = {.env = env, .supply = supply, .team_factor = team_factor, .bytes = d->process->user_bytes};
  const bool fresh = supply->moved || team_factor->other == NULL;
  status = tsi_route_begin(env, d->transport, &v.route);
  if (status == TRISTAR_OK) status = supply->count(supply, d, &v.route, &v.from);
  TSI_TRY_OUT(tsi_route_connect(env, d->transport, status, &v.route));
  if (supply->list) status = supply->list(v.from);
  if (fresh) {
    tsi_team_factor_release_lists(env, team_factor);
    team_factor->entries = tsi_route_received(&v.route);
    if (status == TRISTAR_OK) status = TSI_ALLOC(env, v.taken, team_factor->entries);
    TSI_TRY_OUT(tsi_route_flow(env, d->transport, status, &v.route, sizeof(tsi_entry_place),
                               &(tsi_flow){give_places, take_places, &v}));
    status = make_lists(&v);
  }
  if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED(env, team_factor->values, team_factor->entries, v.bytes);
  TSI_TRY_OUT(tsi_route_flow(env, d->transport, status, &v.route, v.bytes,
                             &(tsi_flow){give_values, take_values, &v}));
  team_factor->part.values = team_factor->values;
out:
  supply->end(v.from);
  tsi_route_finish(&v.route);
  TSI_FREE(env, v.taken);
  return status;
}
