/* PIVOTING_DELAYED on many processes: see team_factor.h.
 *
 * All ranks factor as usual, and test the pivots of their own fronts. If pivots are unstable, rank 0 searches
 * another order for the whole matrix, as one process does (runtime/factor/delayed_pivots.c). It then has an
 * analysis with this order, and all ranks are laid out and factor again. */
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/factor/team_factor.h"

/* Members of the analysis of rank 0. */
typedef struct notice {
  double threshold;
  int64_t pivoting, extended, pairs; /* pairs: analysis->second exists */
} notice;

tristar_status tsi_team_factor_share_pivoting(tristar_distributed_t *d) {
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const tristar_analysis_t *from = d->source ? d->source->analysis : NULL;
  struct tristar_analysis_s *an = &d->team_factor->analysis;
  notice sent = {.threshold = 0};
  if (from)
    sent =
        (notice){from->options.pivot_threshold, from->options.pivoting, from->extended, from->second != NULL};
  TSI_TRY(tsi_broadcast_bytes(env, comm, &sent, sizeof sent));
  an->options.pivoting = (tristar_pivoting)sent.pivoting;
  an->options.pivot_threshold = sent.threshold;
  an->extended = sent.extended != 0;
  if (sent.pairs == 0) return TRISTAR_OK;
  const size_t bytes = (size_t)d->n * sizeof *an->second;
  TSI_TRY(tsi_transport_agree(d->transport, TSI_ALLOC(env, an->second, d->n)));
  if (from) memcpy(an->second, from->second, bytes);
  TSI_TRY(tsi_broadcast_bytes(env, comm, an->second, bytes));
  return tsi_transport_agree(
      d->transport,
      tsi_team_factor_take_columns(env, d->team_factor, sizeof *an->second, (void **)&an->second));
}

tristar_status tsi_team_factor_test_pivots(tristar_distributed_t *d) {
  struct tristar_factor_s *part = &d->team_factor->part;
  if (!tsi_factor_delays(part)) return TRISTAR_OK;
  TSI_TRY(tsi_transport_agree(d->transport, tsi_factor_test_pivots(part, d->team_factor->fronts.owner,
                                                                   tsi_transport_rank(d->transport))));
  return tsi_transport_unite(d->transport, &part->stats.unstable_pivots, 1, MPI_INT64_T, MPI_SUM);
}

/* Collective. *out: the value of `found` on rank 0. */
static tristar_status follow(const tristar_distributed_t *d, bool found, bool *out) {
  int all = found;
  TSI_TRY(
      TSI_MPI(&d->ts->env, "MPI_Bcast", MPI_Bcast(&all, 1, MPI_INT, 0, tsi_transport_comm(d->transport))));
  *out = all != 0;
  return TRISTAR_OK;
}

/* Collective. Only rank 0 has the figures of all pivots. */
static tristar_status needs_order(const tristar_distributed_t *d, tristar_status made, bool *needed) {
  const bool dependent = d->team_factor != NULL && d->team_factor->part.dependent;
  bool found = false;
  *needed = false;
  if (made != TRISTAR_OK && made != TRISTAR_ERR_NOT_FINITE && !dependent) return TRISTAR_OK;
  if (d->source) {
    d->source->dependent = dependent;
    found = tsi_factor_needs_order(d->source, made);
  }
  return follow(d, found, needed);
}

/* Collective. */
static tristar_status search(tristar_distributed_t *d, const tsi_supply *supply, bool *changed) {
  tristar_status status = TRISTAR_OK;
  bool found = false;
  if (supply->bring) TSI_TRY(supply->bring(supply, d));
  if (d->source) status = tsi_factor_search_order(d->source, &found);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  return follow(d, found, changed);
}

tristar_status tsi_team_factor_reorder(tristar_distributed_t *d, const tsi_supply *supply,
                                       tristar_status made, bool *changed) {
  bool needed;
  *changed = false;
  TSI_TRY(needs_order(d, made, &needed));
  if (!needed) return made;
  const tristar_status status = search(d, supply, changed);
  if (status != TRISTAR_OK || *changed) tsi_distributed_release_layout(d);
  return status != TRISTAR_OK ? status : made;
}
