/* Supply of values from rank 0, which has the matrix and its lists: see team_factor.h. */
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/factor/team_factor.h"

/* ---- Scalings and sizes -------------------------------------------------------------------------------- */

static tristar_status measure(const tsi_supply *supply, tristar_distributed_t *d, tsi_pivot_sizes *sizes) {
  (void)supply;
  return tsi_transport_agree(d->transport,
                             d->source ? tsi_pivot_sizes_measure(d->source, sizes) : TRISTAR_OK);
}

/* Properties of the values, which rank 0 broadcasts. */
typedef struct notice {
  double tiny;
  int64_t adjoint, scaled, singular, growth, matching;
} notice;

static tristar_status allocate_scales(tsi_env *env, tsi_team_factor *team_factor, int64_t n, bool scaled) {
  if (team_factor->sizes.column == NULL) TSI_TRY(TSI_ALLOC(env, team_factor->sizes.column, n));
  if (scaled) TSI_TRY(TSI_ALLOC(env, team_factor->part.row_scale, n));
  if (scaled) TSI_TRY(TSI_ALLOC(env, team_factor->part.col_scale, n));
  return TRISTAR_OK;
}

static tristar_status share_scales(const tsi_supply *supply, tristar_distributed_t *d) {
  tsi_team_factor *team_factor = d->team_factor;
  (void)supply;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const tristar_factor_t *source = team_factor->source;
  struct tristar_factor_s *part = &team_factor->part;
  const size_t bytes = (size_t)d->n * sizeof(double);
  notice sent = {.tiny = team_factor->sizes.tiny};
  if (source) {
    sent.adjoint = source->adjoint;
    sent.scaled = source->row_scale != NULL;
    sent.singular = source->analysis->options.singular;
    sent.growth = source->analysis->options.growth;
    sent.matching = source->analysis->options.matching;
  }
  TSI_TRY(tsi_broadcast_bytes(env, comm, &sent, sizeof sent));
  team_factor->sizes.tiny = sent.tiny;
  d->process->kind.adjoint = part->adjoint = sent.adjoint != 0;
  team_factor->analysis.options.singular = (tristar_singular)sent.singular;
  team_factor->analysis.options.growth = (tristar_growth)sent.growth;
  team_factor->analysis.options.matching = (tristar_matching)sent.matching;
  TSI_TRY(tsi_transport_agree(d->transport, allocate_scales(env, team_factor, d->n, sent.scaled != 0)));
  TSI_TRY(tsi_broadcast_bytes(env, comm, team_factor->sizes.column, bytes));
  TSI_TRY(
      tsi_transport_agree(d->transport, tsi_team_factor_take_columns(env, team_factor, sizeof(double),
                                                                     (void **)&team_factor->sizes.column)));
  if (!sent.scaled) return TRISTAR_OK;
  if (source) memcpy(part->row_scale, source->row_scale, bytes);
  if (source) memcpy(part->col_scale, source->col_scale, bytes);
  TSI_TRY(tsi_broadcast_bytes(env, comm, part->row_scale, bytes));
  return tsi_broadcast_bytes(env, comm, part->col_scale, bytes);
}

/* ---- Entries of fronts --------------------------------------------------------------------------------- */

/* Position of rank 0 in the lists while it sends the entries of one rank: lower lists first, then upper ones.
 */
typedef struct lister {
  const tristar_factor_t *source; /* NULL: this is not rank 0 */
  tsi_front_owners fronts;        /* of all supernodes; rank: receiver of the entries */
  const tsi_assembly *list;
  tsi_index s, line; /* supernode, line */
  tsi_count next;    /* entry */
} lister;

static void start(lister *l, int rank) {
  l->fronts.rank = rank;
  l->list = &l->source->analysis->lower;
  l->s = l->line = 0;
  l->next = l->list->ptr[0];
}

/* Continues with the upper lists; false: no line is left. */
static bool go_on(lister *l) {
  const tristar_analysis_t *an = l->source->analysis;
  if (l->list != &an->lower || !tsi_analysis_is_lu(an) || an->symbolic->n == 0) return false;
  l->list = &an->upper;
  l->s = l->line = 0;
  l->next = l->list->ptr[0];
  return true;
}

/* Finds the next entries of a line for the receiver. Sets l->next to the first of them; returns their end. If
 * the front is not shared, these are all entries of the line. */
static tsi_count find_end(lister *l) {
  const tsi_front_teams *teams = l->fronts.teams;
  const tsi_count end = l->list->ptr[l->line + 1];
  if (!tsi_front_is_shared(teams, l->s)) return end;
  while (l->next < end && tsi_front_stripe_owner(teams, l->s, l->list->other[l->next]) != l->fronts.rank)
    l->next++;
  tsi_count last = l->next;
  while (last < end && tsi_front_stripe_owner(teams, l->s, l->list->other[last]) == l->fronts.rank) last++;
  return last;
}

/* Consecutive entries of one line. */
typedef struct run {
  tsi_count first, count;
} run;

/* The next entries for the receiver, at most `most`; count 0: none are left. */
static run next_run(lister *l, tsi_count most) {
  const tsi_symbolic *symbolic = l->source->analysis->symbolic;
  while (l->line < symbolic->n || go_on(l)) {
    while (symbolic->start[l->s + 1] <= l->line) l->s++;
    if (!tsi_front_takes_entries(l->fronts.teams, l->fronts.owner, l->s, l->fronts.rank)) {
      l->line = symbolic->start[l->s + 1];
      l->next = l->list->ptr[l->line];
      continue;
    }
    const tsi_count end = find_end(l);
    if (l->next < end) {
      const run found = {l->next, tsi_count_min(end - l->next, most)};
      l->next += found.count;
      return found;
    }
    l->line++;
  }
  return (run){0, 0};
}

static tristar_status count(const tsi_supply *supply, tristar_distributed_t *d, tsi_route *route,
                            void **from) {
  const tsi_team_factor *team_factor = d->team_factor;
  lister *l = NULL;
  (void)supply;
  TSI_TRY(TSI_ALLOC(&d->ts->env, l, 1));
  *from = l;
  *l = (lister){.source = team_factor->source,
                .fronts = {.owner = team_factor->owner, .teams = team_factor->teams}};
  for (int r = 0; l->source && r < route->ranks; r++) {
    start(l, r);
    for (run found = next_run(l, TSI_COUNT_MAX); found.count > 0; found = next_run(l, TSI_COUNT_MAX))
      route->goes[r + 1] += found.count;
  }
  return TRISTAR_OK;
}

static void give_places(void *from, int rank, tsi_count first, tsi_count count, tsi_entry_place *to) {
  lister *l = from;
  if (first == 0) start(l, rank);
  for (run r = {0, 0}; count > 0; count -= r.count) {
    r = next_run(l, count);
    const tsi_index line = l->list == &l->source->analysis->upper ? ~l->line : l->line;
    for (tsi_count e = r.first; e < r.first + r.count; e++)
      *to++ = (tsi_entry_place){line, l->list->other[e]};
  }
}

/* A mirror image gets the value that it represents. */
static void give_values(void *from, int rank, tsi_count first, tsi_count count, void *to) {
  lister *l = from;
  const tsi_pattern *pattern = l->source->analysis->pattern;
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(pattern->scalar);
  char *at = to;
  if (first == 0) start(l, rank);
  for (run r = {0, 0}; count > 0; count -= r.count) {
    r = next_run(l, count);
    kernels->gather(r.count, l->list->source + r.first, pattern->symmetry, l->source->values, at);
    at += (size_t)r.count * kernels->scalar_bytes;
  }
}

static tristar_status send_matrix(const tsi_supply *supply, tristar_distributed_t *d) {
  (void)supply;
  return tsi_send_matrix(d, d->source);
}

const tsi_supply tsi_supply_of_one = {.measure = measure,
                                      .scales = share_scales,
                                      .count = count,
                                      .places = give_places,
                                      .put_values = give_values,
                                      .end = tsi_release,
                                      .matrix = send_matrix};
