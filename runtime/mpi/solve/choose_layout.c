/* A layout that the library chooses: see distributed.h.
 *
 * Reads   the analysis of rank 0, the time of messages.   Writes  the layout of the options, the same on all.
 */
#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/solve/distributed.h"

#define TURNS 200 /* of which the fastest counts */

/* Ranks 0 and 1: half of the time that 8 bytes take there and back. */
static tristar_status time_message(tsi_env *env, MPI_Comm comm, int rank, double *seconds) {
  const double value = 0;
  double back;
  *seconds = INFINITY;
  for (int turn = 0; turn < TURNS; turn++) {
    const double begin = tsi_clock();
    if (rank == 0) TSI_TRY(tsi_send_bytes(env, comm, &value, sizeof value, 1));
    TSI_TRY(tsi_receive_bytes(env, comm, &back, sizeof back, 1 - rank));
    if (rank == 1) TSI_TRY(tsi_send_bytes(env, comm, &value, sizeof value, 0));
    *seconds = fmin(*seconds, (tsi_clock() - begin) / 2);
  }
  return TRISTAR_OK;
}

typedef struct chosen {
  tristar_layout layout;
  tristar_layout_prediction predicted;
} chosen;

tristar_status tsi_distributed_choose_layout(tristar_distributed_t *d, const tristar_analysis_t *analysis) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const int rank = tsi_transport_rank(d->transport), ranks = tsi_transport_size(d->transport);
  chosen c;
  tristar_layout_costs costs;
  if (d->options.layout.px > 0) return TRISTAR_OK;
  memset(&c, 0, sizeof c); /* the gaps travel too */
  c.layout = d->options.layout;
  tristar_layout_costs_init(&costs);
  costs.solves = d->options.solves;
  costs.process_bytes = d->options.process_bytes;
  costs.grids = d->options.grids;
  if (d->options.nrhs > 0) costs.nrhs = d->options.nrhs;
  if (ranks > 1 && rank < 2) status = time_message(env, comm, rank, &costs.message_seconds);
  if (status == TRISTAR_OK && analysis != NULL)
    status = tristar_layout_choose(analysis, ranks, &costs, &c.layout, &c.predicted);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  TSI_TRY(tsi_broadcast_bytes(env, comm, &c, sizeof c));
  d->options.layout = c.layout;
  d->stats.predicted = c.predicted;
  tsi_log(env, TRISTAR_LOG_INFO, "layout: %dx%dx%d, for %.3g s to factor, %.3g s to solve, %.1f MB a process",
          c.layout.px, c.layout.py, c.layout.pz, c.predicted.factor_seconds, c.predicted.solve_seconds,
          c.predicted.process_bytes / 1e6);
  return TRISTAR_OK;
}
