/* Runs the steps of all ranks, and joins their figures of the pivots: see team_factor.h. */
#include <limits.h>
#include <math.h>

#include "runtime/mpi/factor/team_factor.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/exec/starpu/idle.h"

static tristar_status list_channels(const tsi_numeric *numeric, bool receive, tsi_channel **out) {
  const tsi_front_message *message = receive ? numeric->dag->receive : numeric->dag->send;
  const tsi_index count = receive ? numeric->dag->receives : numeric->dag->sends;
  TSI_TRY(TSI_ALLOC(numeric->env, *out, count));
  for (tsi_index m = 0; m < count; m++) {
    tsi_channel *channel = &(*out)[m];
    *channel = (tsi_channel){.peer = message[m].peer, .tag = message[m].tag};
    channel->bytes = tsi_numeric_piece_bytes(numeric, receive, &message[m]);
  }
  return TRISTAR_OK;
}

static void happen(void *context, tsi_index message) {
  tsi_numeric_arrived(context, message);
}

static void depart(void *context, tsi_index message) {
  tsi_numeric_departed(context, message);
}

static tristar_status open_port(tristar_distributed_t *d, tsi_numeric *numeric, tsi_mailbox_port *port) {
  const tsi_factorization *dag = numeric->dag;
  TSI_OWNED tsi_channel *send = NULL, *receive = NULL;
  *port = (tsi_mailbox_port){.env = numeric->env, .happen = happen, .depart = depart, .context = numeric};
  TSI_TRY(list_channels(numeric, true, &receive));
  TSI_TRY(list_channels(numeric, false, &send));
  TSI_TRY(tsi_mailbox_port_open_late(port, d->transport, dag->receives, receive, dag->sends, send));
  numeric->port = tsi_mailbox_port_of(port);
  d->stats.fan_in = (tristar_message_count){.messages = dag->sends};
  for (tsi_index m = 0; m < dag->sends; m++) d->stats.fan_in.bytes += (int64_t)send[m].bytes;
  return TRISTAR_OK;
}

/* Local. */
static tristar_status prepare(tristar_distributed_t *d, tsi_team_factor *team_factor, bool fixed,
                              tsi_numeric **out, tsi_mailbox_port *port) {
  const tsi_front_owners owners =
      tsi_front_part_owners(&team_factor->fronts, tsi_transport_rank(d->transport));
  struct tristar_factor_s *part = &team_factor->part;
  if (part->pivots) memset(part->pivots, 0, (size_t)team_factor->pattern.n * sizeof *part->pivots);
  if (part->inverse) memset(part->inverse, 0, 2 * (size_t)team_factor->pattern.n * part->scalar_bytes);
  TSI_TRY(tsi_numeric_create(part, &team_factor->sizes, &d->ts->fronts, &owners, fixed, out));
  if (d->stats.workers > 0 && (*out)->dag->steps->count > 0) TSI_TRY(tsi_numeric_record(*out));
  return open_port(d, *out, port);
}

/* Collective. Reduces the figures of the pivots over all ranks. */
static tristar_status share_figures(const tristar_distributed_t *d, tsi_numeric *numeric) {
  tsi_pivot_figures all = tsi_numeric_figures(numeric);
  int64_t sum[2] = {all.perturbed, all.stray};
  const bool depends = all.dependent != INT_MAX;
  const double column =
      depends ? tsi_front_part_there(&d->team_factor->fronts, (tsi_index)all.dependent) : INT_MAX;
  double least[5] = {column, all.smallest, -all.largest, all.weakest, -all.strongest};
  TSI_TRY(tsi_transport_unite(d->transport, sum, 2, MPI_INT64_T, MPI_SUM));
  TSI_TRY(tsi_transport_unite(d->transport, least, 5, MPI_DOUBLE, MPI_MIN));
  /* all ranks report the same rows */
  int row[2] = {depends && column == least[0] ? all.dependent_row : TSI_NONE,
                isfinite(all.weakest) && all.weakest == least[3] ? all.weakest_row : TSI_NONE};
  TSI_TRY(tsi_transport_unite(d->transport, row, 2, MPI_INT, MPI_MAX));
  all = (tsi_pivot_figures){.dependent_row = row[0],
                            .perturbed = sum[0],
                            .stray = sum[1],
                            .dependent = (int64_t)least[0],
                            .smallest = least[1],
                            .largest = -least[2],
                            .weakest = least[3],
                            .strongest = -least[4],
                            .weakest_row = row[1]};
  tsi_numeric_set_figures(numeric, &all);
  return TRISTAR_OK;
}

/* Collective. Sends each rank the pivots, and D^-1, of the columns of its part; rank 0 gets all pivots. */
static tristar_status share_pivots(const tristar_distributed_t *d, const tsi_team_factor *team_factor) {
  const struct tristar_factor_s *part = &team_factor->part;
  tsi_index *all = team_factor->source ? team_factor->source->pivots : NULL;
  if (part->pivots)
    TSI_TRY(tsi_team_factor_unite_columns(d, team_factor, sizeof *part->pivots, TSI_UNION_BITS, part->pivots,
                                          all));
  if (part->inverse)
    TSI_TRY(tsi_team_factor_unite_columns(d, team_factor, 2 * part->scalar_bytes, TSI_UNION_BITS,
                                          part->inverse, NULL));
  return TRISTAR_OK;
}

tristar_status tsi_team_factor_run(tristar_distributed_t *d, tsi_team_factor *team_factor, bool fixed,
                                   tsi_numeric **out) {
  tristar_status status = TRISTAR_OK;
  tsi_mailbox_port port = {.env = NULL};
  TSI_TRY_OUT(tsi_transport_agree(d->transport, prepare(d, team_factor, fixed, out, &port)));
  tsi_idle_recall();
  status = tsi_numeric_run(*out);
  tsi_idle_dismiss();
  if (status == TRISTAR_OK) status = tsi_failure_report((*out)->env, &(*out)->failure);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  TSI_TRY_OUT(share_figures(d, *out));
  TSI_TRY_OUT(share_pivots(d, team_factor));
out:
  tsi_mailbox_port_close(&port);
  return status;
}

static tristar_status share_terms(const tristar_distributed_t *d, const tsi_team_factor *team_factor,
                                  tsi_numeric *numeric) {
  const tsi_index n = team_factor->pattern.n;
  TSI_OWNED double *terms = NULL;
  TSI_TRY(tsi_transport_agree(d->transport, TSI_ALLOC(numeric->env, terms, 2 * (tsi_count)n)));
  tsi_numeric_get_terms(numeric, terms);
  for (int side = 0; side < 2; side++)
    TSI_TRY(
        tsi_team_factor_unite_columns(d, team_factor, sizeof *terms, TSI_UNION_MAX, terms + side * n, NULL));
  tsi_numeric_set_terms(numeric, terms);
  return TRISTAR_OK;
}

tristar_status tsi_team_factor_run_fixed(tristar_distributed_t *d, tsi_team_factor *team_factor,
                                         tsi_numeric **numeric) {
  tristar_status status = TRISTAR_OK;
  tsi_numeric *fixed = NULL;
  status = tsi_team_factor_run(d, team_factor, true, &fixed);
  if (status == TRISTAR_ERR_NOT_FINITE) {
    status = TRISTAR_OK;
    goto out;
  }
  TSI_TRY_OUT(status);
  TSI_TRY_OUT(share_terms(d, team_factor, fixed));
  int accurate = tsi_numeric_is_accurate(fixed); /* in columns of the part */
  TSI_TRY_OUT(tsi_transport_unite(d->transport, &accurate, 1, MPI_INT, MPI_MIN));
  if (!accurate) goto out;
  tsi_numeric *refused = *numeric;
  *numeric = fixed;
  fixed = refused;
out:
  tsi_numeric_destroy(&fixed);
  return status;
}
