/* The layout, if the library chooses it: see distributed.h.
 *
 * Reads   the analysis of rank 0; the measured cluster or, if GPUs run the sweeps, the first GPU of
 * runtime/machine/devices.c.   Writes  the layout of the options, the same on all ranks. */
#include "runtime/exec/starpu/workers.h"
#include "runtime/machine/devices.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/solve/distributed.h"

typedef struct chosen {
  tristar_layout layout;
  tristar_layout_prediction predicted;
} chosen;

tristar_status tsi_distributed_choose_layout(tristar_distributed_t *d, const tristar_analysis_t *analysis) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const bool tasks = tsi_distributed_needs_tasks(d);
  const int cores = tasks ? tsi_expected_cpu_workers(d->ts->workers.wishes.workers) : 1;
  chosen c;
  tristar_layout_costs costs;
  tristar_cluster cluster;
  if (d->options.layout.px > 0) return TRISTAR_OK;
  memset(&c, 0, sizeof c); /* padding is sent, too */
  c.layout = d->options.layout;
  tristar_layout_costs_init(&costs);
  costs.solves = d->options.solves;
  costs.process_bytes = d->options.process_bytes;
  costs.grids = d->options.grids;
  if (d->options.nrhs > 0) costs.nrhs = d->options.nrhs;
  costs.cluster = &cluster;
  if (d->on_device) { /* GPUs of a node; their model may be unknown */
    cluster = tsi_device_cluster(tsi_device_get(0));
    cluster.ranks_per_node = tsi_transport_size(d->transport);
  } else
    TSI_TRY(tsi_measure_cluster(d->ts, d->transport, cores, &cluster));
  if (analysis != NULL)
    status =
        tristar_layout_choose(analysis, tsi_transport_size(d->transport), &costs, &c.layout, &c.predicted);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  TSI_TRY(tsi_broadcast_bytes(env, comm, &c, sizeof c));
  d->options.layout = c.layout;
  d->stats.predicted = c.predicted;
  tsi_log(env, TRISTAR_LOG_INFO, "layout: %dx%dx%d, for %.3g s to factor, %.3g s to solve, %.1f MB a process",
          c.layout.px, c.layout.py, c.layout.pz, c.predicted.factor_seconds, c.predicted.solve_seconds,
          c.predicted.process_bytes / 1e6);
  return TRISTAR_OK;
}
