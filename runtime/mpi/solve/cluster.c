/* tristar_mpi_measure_cluster: a tristar_cluster of the calling ranks.
 *
 * Reads   a clock, the calibration of rank 0.   Writes  a tristar_cluster, the same on all ranks.
 *
 * A message of 8 bytes takes latency and two overheads; a long message also takes the time of its bytes. Rank
 * 0 sends both to a rank of its node and to a rank of another node, and takes the fastest of many. In a
 * solve, the engine adds overhead as assumed by tristar_cluster_init. Rank 0 times a product of dense
 * matrices. */
#include <limits.h>
#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/machine/calibration.h"
#include "runtime/machine/predict.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/solve/distributed.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/process/layout_words.h"
#include "tristar_mpi.h"

#define LONG_BYTES 65536 /* more than MPI sends before its receive is posted */
#define SHORT_TURNS 200
#define LONG_TURNS 40
/* Part of the time of a short message that occupies its sender, or its receiver. MPI does not report it. */
#define BUSY 0.25

typedef struct neighbours {
  int rank;
  int on_node; /* ranks on the node of rank 0 */
  int near;    /* another rank of this node; INT_MAX: none */
  int far;     /* first rank of another node; INT_MAX: none */
} neighbours;

/* Both ranks call it. Half of the time that a message of `bytes` bytes takes to the peer and back. */
static tristar_status time_message(tsi_env *env, MPI_Comm comm, int rank, int peer, size_t bytes, int turns,
                                   double *seconds) {
  char buffer[LONG_BYTES] = {0};
  *seconds = INFINITY;
  for (int turn = 0; turn < turns; turn++) {
    const double begin = tsi_clock();
    if (rank == 0) TSI_TRY(tsi_send_bytes(env, comm, buffer, bytes, peer));
    TSI_TRY(tsi_receive_bytes(env, comm, buffer, bytes, rank == 0 ? peer : 0));
    if (rank > 0) TSI_TRY(tsi_send_bytes(env, comm, buffer, bytes, 0));
    *seconds = fmin(*seconds, (tsi_clock() - begin) / 2);
  }
  return TRISTAR_OK;
}

/* Rank 0 and a peer. Measures the three properties of messages between them. */
static tristar_status measure(tsi_env *env, MPI_Comm comm, int rank, int peer, double *latency,
                              double *overhead, double *rate) {
  double brief, lasting;
  if (peer == INT_MAX || (rank != 0 && rank != peer)) return TRISTAR_OK;
  TSI_TRY(time_message(env, comm, rank, peer, sizeof(double), SHORT_TURNS, &brief));
  TSI_TRY(time_message(env, comm, rank, peer, LONG_BYTES, LONG_TURNS, &lasting));
  *overhead += BUSY * brief;
  *latency = (1 - 2 * BUSY) * brief;
  if (lasting > brief) *rate = LONG_BYTES / (lasting - brief);
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status find_neighbours(tsi_env *env, const tsi_transport *transport, neighbours *n) {
  tristar_status status = TRISTAR_OK;
  MPI_Comm comm = tsi_transport_comm(transport), node = MPI_COMM_NULL;
  int leader = n->rank = tsi_transport_rank(transport);
  TSI_TRY_OUT(TSI_MPI(env, "MPI_Comm_split_type",
                      MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node)));
  TSI_TRY_OUT(TSI_MPI(env, "MPI_Bcast", MPI_Bcast(&leader, 1, MPI_INT, 0, node)));
  const bool here = leader == 0;
  int first[2] = {here && n->rank > 0 ? n->rank : INT_MAX, here ? INT_MAX : n->rank};
  n->on_node = here;
  TSI_TRY_OUT(tsi_transport_unite(transport, first, 2, MPI_INT, MPI_MIN));
  TSI_TRY_OUT(tsi_transport_unite(transport, &n->on_node, 1, MPI_INT, MPI_SUM));
  n->near = first[0];
  n->far = first[1];
out:
  if (node != MPI_COMM_NULL) MPI_Comm_free(&node);
  return status;
}

/* Memory bandwidths of rank 0, for `cores` cores of a process. */
static void take_machine(tristar_t *ts, int cores, tristar_cluster *cluster) {
  const tsi_costs costs = tsi_costs_assumed(&ts->machine, cores);
  const tristar_calibration c = tsi_calibration_now(&ts->machine);
  if (c.workers >= cores * cluster->ranks_per_node) cluster->node_bytes_per_second = 1e9 * c.read_gbps_all;
  cluster->cores = cores;
  cluster->core_bytes_per_second = costs.one;
  cluster->cache_bytes = costs.cache;
  cluster->cached_bytes_per_second = costs.cached;
}

tristar_status tsi_measure_cluster(tristar_t *ts, tsi_transport *transport, int cores,
                                   tristar_cluster *cluster) {
  tsi_env *env = &ts->env;
  MPI_Comm comm = tsi_transport_comm(transport);
  neighbours n;
  memset(cluster, 0, sizeof *cluster); /* padding is sent, too */
  tristar_cluster_init(cluster);
  tristar_status status = find_neighbours(env, transport, &n);
  if (status == TRISTAR_OK && n.rank == 0)
    status = tsi_products_measure(env, &cluster->dense_flops_per_second);
  TSI_TRY(tsi_transport_agree(transport, status));
  cluster->ranks_per_node = n.on_node;
  take_machine(ts, cores, cluster);
  status = measure(env, comm, n.rank, n.near, &cluster->local_latency_seconds,
                   &cluster->local_overhead_seconds, &cluster->local_bytes_per_second);
  if (status == TRISTAR_OK)
    status = measure(env, comm, n.rank, n.far, &cluster->latency_seconds, &cluster->overhead_seconds,
                     &cluster->bytes_per_second);
  TSI_TRY(tsi_transport_agree(transport, status));
  return tsi_broadcast_bytes(env, comm, cluster, sizeof *cluster);
}

tristar_status tristar_mpi_measure_cluster(tristar_t *ts, MPI_Comm comm, tristar_cluster *cluster) {
  tristar_status status = TRISTAR_OK;
  tsi_transport *transport = NULL;
  tristar_cluster given, measured;
  TSI_ENTER(ts, ts);
  tsi_env *env = &ts->env;
  status = cluster == NULL ? TSI_NULL(cluster) : tsi_cluster_take(env, cluster, &given);
  TSI_TRY_OUT(
      tsi_transport_create(env, comm, TSI_TRANSPORT_DIRECT, !ts->workers.allowed, status, &transport));
  TSI_TRY_OUT(tsi_measure_cluster(ts, transport, given.cores, &measured));
  tsi_options_init(cluster, cluster->size, &measured, sizeof measured);
out:
  tsi_transport_destroy(&transport);
  return tsi_answer(env, status);
}
