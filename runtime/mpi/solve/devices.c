/* Subtrees of a distributed factor on devices of its ranks, and their statistics.
 *
 * Each rank chooses its subtrees (runtime/process/process_subtrees.h). Then all ranks receive the choices of
 * all ranks, because they must compute the same layout. A rank has no subtrees on devices if it has no
 * devices, or if its choice fails with PLACE_AUTO.
 *
 * Reads   the structure, options.   Writes  its results, statistics. */
#include "runtime/mpi/solve/distributed.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/process/process_subtrees.h"
#include "runtime/exec/starpu/devices.h"

/* Names of the devices of a rank, for other ranks of the node. */
typedef struct own_devices {
  int count;
  char name[TSI_DEVICES_MOST][64];
} own_devices;

/* The part of a worker's name that identifies the device: CUDA and HIP workers have its model and place on
 * the bus in parentheses. */
static const char *identity(const char *name) {
  const char *at = strchr(name, '(');
  return at ? at : name;
}

static bool have_one_in_common(const own_devices *a, const own_devices *b) {
  for (int i = 0; i < a->count; i++)
    for (int j = 0; j < b->count; j++)
      if (strcmp(identity(a->name[i]), identity(b->name[j])) == 0) return true;
  return false;
}

/* Collective. Counts the ranks of the node that use one of this rank's devices. on_starpu: StarPU runs here.
 */
static tristar_status count_sharers(tristar_distributed_t *d, bool on_starpu, int *sharers) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  MPI_Comm node = MPI_COMM_NULL;
  own_devices own = {.count = on_starpu ? tsi_devices_count(NULL) : 0}, *all = NULL;
  int ranks = 1;
  *sharers = 1;
  for (int i = 0; i < own.count; i++) memcpy(own.name[i], tsi_device_describe(i).name, sizeof own.name[i]);
  TSI_TRY_OUT(TSI_MPI(
      env, "MPI_Comm_split_type",
      MPI_Comm_split_type(tsi_transport_comm(d->transport), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node)));
  MPI_Comm_size(node, &ranks);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, TSI_ALLOC(env, all, ranks)));
  TSI_TRY_OUT(TSI_MPI(env, "MPI_Allgather",
                      MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, node)));
  *sharers = 0;
  for (int r = 0; r < ranks; r++) *sharers += have_one_in_common(&own, &all[r]);
out:
  TSI_FREE(env, all);
  if (node != MPI_COMM_NULL) MPI_Comm_free(&node);
  return status;
}

/* Local. Chooses the devices of this rank; places->device NULL: none. */
static tristar_status choose_own(tristar_distributed_t *d, const tsi_shared_structure *structure,
                                 const tsi_process_options *options, int sharers,
                                 tsi_device_split_options *places) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const tristar_distributed_options *o = &d->options;
  const bool requested = o->place == TRISTAR_PLACE_GPU;
  const tsi_process_wishes wishes = {.place = o->place,
                                     .device_bytes = (double)o->device_bytes,
                                     .columns = tsi_columns_of(o->nrhs),
                                     .sharers = sharers};
  *places = (tsi_device_split_options){.device = NULL};
  if (requested && options->workers == 0)
    TSI_FAIL_OUT(env, TRISTAR_ERR_UNSUPPORTED, "PLACE_GPU: there are no tasks");
  if (requested && o->layout.map == TRISTAR_MAP_CYCLIC && o->layout.px * o->layout.py > 1)
    TSI_FAIL_OUT(
        env, TRISTAR_ERR_UNSUPPORTED,
        "PLACE_GPU: no rank has subtrees of its own, as the cyclic map of the layout spreads them all");
  if (!requested && (options->workers == 0 || tsi_devices_count(NULL) == 0)) goto out;
  status = tsi_process_places(d->ts, &structure->kind, structure->symbolic, structure->panels, options,
                              &wishes, places);
  if (status == TRISTAR_OK || requested) goto out;
  tsi_log(env, TRISTAR_LOG_WARNING, "PLACE_AUTO: rank %d solves on its cores: %s", options->rank,
          tsi_error_text(env));
  status = TRISTAR_OK;
out:
  return status;
}

/* Collective. Gathers the choices of all ranks; *device stays NULL if no rank has chosen any. */
static tristar_status share_choice(tristar_distributed_t *d, tsi_index supernodes,
                                   const tsi_device_split_options *own, tsi_index **device) {
  tsi_env *env = &d->ts->env;
  int any = own->device != NULL;
  TSI_TRY(tsi_transport_unite(d->transport, &any, 1, MPI_INT, MPI_MAX));
  if (!any) return TRISTAR_OK;
  TSI_TRY(tsi_transport_agree(d->transport, TSI_ALLOC(env, *device, supernodes)));
  for (tsi_index s = 0; s < supernodes; s++) (*device)[s] = own->device ? own->device[s] : TSI_NONE;
  return tsi_transport_unite(d->transport, *device, supernodes, MPI_INT32_T, MPI_MAX);
}

tristar_status tsi_distributed_choose_devices(tristar_distributed_t *d, const tsi_shared_structure *structure,
                                              tsi_process_options *options, tsi_index **device) {
  tristar_status status = TRISTAR_OK;
  tsi_device_split_options own = {.device = NULL};
  int sharers;
  if (d->options.place == TRISTAR_PLACE_CPU || d->on_device) return TRISTAR_OK;
  TSI_TRY_OUT(count_sharers(d, options->workers > 0, &sharers));
  TSI_TRY_OUT(tsi_transport_agree(d->transport, choose_own(d, structure, options, sharers, &own)));
  TSI_TRY_OUT(share_choice(d, structure->symbolic->count, &own, device));
  d->stats.unfit_bytes = own.unfit_bytes;
  options->cut = own.cut;
  options->layout.device = *device;
out:
  tsi_device_split_options_finish(&d->ts->env, &own);
  return status;
}

static bool describe(const tristar_distributed_t *d, int i, tristar_device_stats *stats) {
  return d->process && tsi_process_describe_device(d->process, i, tsi_columns_of(d->options.nrhs), stats);
}

void tsi_distributed_describe_devices(tristar_distributed_t *d) {
  tristar_distributed_stats *stats = &d->stats;
  tristar_device_stats one;
  stats->devices = 0;
  memset(stats->device, 0, sizeof stats->device);
  stats->device_chunks = 0;
  stats->device_factor_bytes = stats->up_bytes = stats->down_bytes = 0;
  for (; describe(d, stats->devices, &one); stats->devices++) {
    if (stats->devices == 0) memcpy(stats->device, one.name, sizeof stats->device);
    stats->device_chunks += one.chunks;
    stats->device_factor_bytes += one.factor_bytes;
    stats->up_bytes += one.up_bytes;
    stats->down_bytes += one.down_bytes;
  }
}

int tristar_distributed_get_device(const tristar_distributed_t *d, int i, tristar_device_stats *stats) {
  tristar_device_stats found;
  const bool there = d != NULL && describe(d, i, &found);
  if (there && stats != NULL) *stats = found;
  return there;
}
