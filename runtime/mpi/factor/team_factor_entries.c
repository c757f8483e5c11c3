/* Gives each rank what it needs of the matrix that rank 0 has: see team_factor.h. */
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/factor/team_factor.h"

/* What rank 0 collects entries from. */
typedef struct entries {
  tsi_env *env;
  const tristar_factor_t *source;
  tsi_front_owners fronts; /* of all supernodes; rank: who gets them */
} entries;

/* Calls once for each line of the fronts of a rank, shared or not: first those of the lower lists, then those
 * of the upper ones. */
#define FOR_LINES(an, fronts, list, j)                                                                       \
  for (const tsi_assembly *list = &(an)->lower; list != NULL;                                                \
       list = list == &(an)->lower && tsi_analysis_is_lu(an) ? &(an)->upper : NULL)                          \
    for (tsi_index s = 0; s < (an)->symbolic->count; s++)                                                    \
      for (tsi_index j = (an)->symbolic->start[s];                                                           \
           tsi_front_takes_entries((fronts)->teams, (fronts)->owner, s, (fronts)->rank) &&                   \
           j < (an)->symbolic->start[s + 1];                                                                 \
           j++)

/* The next entries of line j of supernode s, from q on, that go to a rank: consecutive ones, from *q to the
 * place that is given. */
static tsi_count next_entries(const tsi_front_owners *fronts, const tsi_assembly *list, tsi_index s,
                              tsi_index j, tsi_count *q) {
  const tsi_front_teams *teams = fronts->teams;
  const tsi_count end = list->ptr[j + 1];
  if (!tsi_front_is_shared(teams, s)) return end;
  while (*q < end && tsi_front_stripe_owner(teams, s, list->other[*q]) != fronts->rank) ++*q;
  tsi_count last = *q;
  while (last < end && tsi_front_stripe_owner(teams, s, list->other[last]) == fronts->rank) last++;
  return last;
}

static tsi_count count_entries(const tsi_front_owners *fronts, const tsi_assembly *list, tsi_index s,
                               tsi_index j) {
  tsi_count count = 0;
  for (tsi_count q = list->ptr[j], end; q < list->ptr[j + 1]; q = end) {
    end = next_entries(fronts, list, s, j, &q);
    count += end - q;
  }
  return count;
}

/* Mirror images become what they stand for. */
static tristar_status collect(void *context, int rank, tsi_shipment *lines) {
  const entries *from = context;
  const tsi_front_owners fronts = {.owner = from->fronts.owner, .rank = rank, .teams = from->fronts.teams};
  const tristar_analysis_t *an = from->source->analysis;
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(an->pattern->scalar);
  const size_t bytes = kernels->scalar_bytes;
  FOR_LINES(an, &fronts, list, j) {
    lines->lines++;
    lines->entries += (size_t)count_entries(&fronts, list, s, j);
  }
  TSI_TRY(tsi_shipment_allocate(from->env, bytes, lines));
  size_t line = 0, at = 0;
  FOR_LINES(an, &fronts, list, j) {
    const size_t begin = at;
    for (tsi_count q = list->ptr[j], end; q < list->ptr[j + 1]; q = end) {
      end = next_entries(&fronts, list, s, j, &q);
      kernels->gather(end - q, list->source + q, an->pattern->symmetry, from->source->values,
                      lines->values + at * bytes);
      if (lines->pattern)
        memcpy(lines->index + at, list->other + q, (size_t)(end - q) * sizeof *lines->index);
      at += (size_t)(end - q);
    }
    if (lines->pattern) lines->lengths[line++] = (tsi_index)(at - begin);
  }
  return TRISTAR_OK;
}

/* The lists of own entries, from the lengths of the lines. */
static tristar_status make_lists(tsi_env *env, tsi_team_factor *team_factor, int rank) {
  struct tristar_analysis_s *an = &team_factor->analysis;
  const tsi_front_owners fronts = tsi_front_part_owners(&team_factor->fronts, rank);
  const size_t n = (size_t)an->pattern->n;
  TSI_TRY(TSI_ALLOC_ZERO(env, an->lower.ptr, n + 1));
  if (tsi_analysis_is_lu(an)) TSI_TRY(TSI_ALLOC_ZERO(env, an->upper.ptr, n + 1));
  for (size_t e = 0; e < team_factor->lines.entries; e++)
    team_factor->lines.index[e] = tsi_front_part_here(&team_factor->fronts, team_factor->lines.index[e]);
  const tsi_index *length = team_factor->lines.lengths;
  FOR_LINES(an, &fronts, list, j) list->ptr[j + 1] = *length++;
  for (size_t j = 0; j < n; j++) an->lower.ptr[j + 1] += an->lower.ptr[j];
  for (size_t j = 0; an->upper.ptr && j < n; j++) an->upper.ptr[j + 1] += an->upper.ptr[j];
  an->lower.other = team_factor->lines.index;
  an->upper.first = an->lower.ptr[n];
  an->upper.other = team_factor->lines.index + an->upper.first;
  TSI_FREE(env, team_factor->lines.lengths);
  return TRISTAR_OK;
}

/* What rank 0 says of the values. */
typedef struct notice {
  double tiny;
  int64_t adjoint, scaled, singular, growth;
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
  notice told = {.tiny = team_factor->sizes.tiny};
  if (source) {
    told.adjoint = source->adjoint;
    told.scaled = source->row_scale != NULL;
    told.singular = source->analysis->options.singular;
    told.growth = source->analysis->options.growth;
  }
  TSI_TRY(tsi_broadcast_bytes(env, comm, &told, sizeof told));
  team_factor->sizes.tiny = told.tiny;
  d->process->kind.adjoint = part->adjoint = told.adjoint != 0;
  team_factor->analysis.options.singular = (tristar_singular)told.singular;
  team_factor->analysis.options.growth = (tristar_growth)told.growth;
  TSI_TRY(tsi_transport_agree(d->transport, allocate_scales(env, team_factor, d->n, told.scaled != 0)));
  TSI_TRY(tsi_broadcast_bytes(env, comm, team_factor->sizes.column, bytes));
  TSI_TRY(tsi_transport_agree(d->transport,
                              tsi_team_factor_take_columns(env, team_factor, &team_factor->sizes.column)));
  if (!told.scaled) return TRISTAR_OK;
  if (source) memcpy(part->row_scale, source->row_scale, bytes);
  if (source) memcpy(part->col_scale, source->col_scale, bytes);
  TSI_TRY(tsi_broadcast_bytes(env, comm, part->row_scale, bytes));
  return tsi_broadcast_bytes(env, comm, part->col_scale, bytes);
}

/* How many lines of entries a rank gets. */
static size_t count_lines(const tsi_team_factor *team_factor, int rank) {
  const tsi_front_part *fronts = &team_factor->fronts;
  const tsi_symbolic *symbolic = fronts->tree.symbolic;
  size_t lines = 0;
  for (tsi_index s = 0; s < symbolic->count; s++)
    if (tsi_front_takes_entries(fronts->teams, fronts->owner, s, rank))
      lines += (size_t)(symbolic->start[s + 1] - symbolic->start[s]);
  return tsi_analysis_is_lu(&team_factor->analysis) ? 2 * lines : lines;
}

static tristar_status take_entries(const tsi_supply *supply, tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  tsi_team_factor *team_factor = d->team_factor;
  (void)supply;
  tsi_env *env = &d->ts->env;
  const int rank = tsi_transport_rank(d->transport);
  const bool first = team_factor->analysis.lower.ptr == NULL;
  entries from = {.env = env,
                  .source = team_factor->source,
                  .fronts = {.owner = team_factor->owner, .rank = rank, .teams = team_factor->teams}};
  tsi_shipment own = {.pattern = first};
  if (team_factor->source == NULL) own.lines = count_lines(team_factor, rank);
  TSI_TRY_OUT(tsi_ship(env, d->transport, d->process->user_bytes, team_factor->source ? collect : NULL, &from,
                       TRISTAR_OK, &own));
  if (first) {
    team_factor->lines = own;
    own = (tsi_shipment){.pattern = false};
    TSI_TRY_OUT(tsi_transport_agree(d->transport, make_lists(env, team_factor, rank)));
  } else {
    team_factor->lines.values = own.values;
    own.values = NULL;
  }
  team_factor->part.values = team_factor->lines.values;
out:
  tsi_shipment_release(env, &own);
  return status;
}

static tristar_status measure(const tsi_supply *supply, tristar_distributed_t *d, tsi_pivot_sizes *sizes) {
  (void)supply;
  return tsi_transport_agree(d->transport,
                             d->source ? tsi_pivot_sizes_measure(d->source, sizes) : TRISTAR_OK);
}

static tristar_status send_matrix(const tsi_supply *supply, tristar_distributed_t *d) {
  (void)supply;
  return tsi_send_matrix(d, d->source);
}

const tsi_supply tsi_supply_of_one = {
    .measure = measure, .scales = share_scales, .entries = take_entries, .matrix = send_matrix};
