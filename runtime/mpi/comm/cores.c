/* tristar_mpi_share_cores: divides the cores and devices of a node among its ranks. */
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "runtime/mpi/comm/mailbox.h"
#include "runtime/exec/starpu/binding.h"
#include "runtime/exec/starpu/devices.h"
#include "tristar_mpi.h"

/* Collective. Number of this process among the processes of its node, and their count. *alike: all of them
 * may run on the same cores. */
static tristar_status count_neighbours(MPI_Comm comm, int *rank, int *ranks, bool *alike) {
  MPI_Comm node;
  cpu_set_t mask, all, some;
  MPI_Errhandler handler;
  tsi_mpi_return_errors(comm, &handler);
  const int code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  tsi_mpi_restore_errors(comm, &handler);
  TSI_TRY(TSI_MPI(NULL, "MPI_Comm_split_type", code));
  MPI_Comm_rank(node, rank);
  MPI_Comm_size(node, ranks);
  CPU_ZERO(&mask);
  (void)sched_getaffinity(0, sizeof mask, &mask);
  MPI_Allreduce(&mask, &all, (int)sizeof mask, MPI_BYTE, MPI_BAND, node);
  MPI_Allreduce(&mask, &some, (int)sizeof mask, MPI_BYTE, MPI_BOR, node);
  *alike = CPU_EQUAL(&all, &some);
  MPI_Comm_free(&node);
  return TRISTAR_OK;
}

/* Equal numbers of devices for the ranks, in order. If there are more ranks than devices, neighbouring ranks
 * share one. */
static void share_devices(int rank, int ranks, tristar_config *config) {
  const int devices = tsi_devices.present ? tsi_devices.present() : 0;
  if (devices == 0 || config->first_device >= 0) return;
  const int first = (int)((int64_t)rank * devices / ranks),
            end = (int)((rank + 1) * (int64_t)devices / ranks);
  config->first_device = first;
  config->devices = end > first ? end - first : 1;
}

tristar_status tristar_mpi_share_cores(MPI_Comm comm, tristar_config *config) {
  tristar_status status = TRISTAR_OK;
  int rank = 0, ranks = 1;
  bool alike = true;
  tsi_binding binding;
  if (config == NULL) return TSI_NULL(config);
  TSI_TRY_OUT(tsi_mpi_check(NULL, comm));
  TSI_TRY_OUT(count_neighbours(comm, &rank, &ranks, &alike));
  share_devices(rank, ranks, config);
  if (!alike) goto out; /* the launcher has bound each rank to its own cores */
  TSI_TRY_OUT(tsi_binding_find(NULL, 0, NULL, &binding));
  const int cores = binding.cores > 0 ? binding.cores : 1, share = cores / ranks > 0 ? cores / ranks : 1;
  config->first_core = rank * share % cores;
  if (config->workers == 0 && getenv("STARPU_NCPU") == NULL) config->workers = share;
out:
  return tsi_answer(NULL, status);
}
