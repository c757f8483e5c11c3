/* tristar_mpi_share_cores: which cores of a node are whose. */
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "tristar_mpi.h"

/* Has mpiexec, or somebody else, bound this process to a part of the node? */
static bool is_bound(long cores) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < cores;
}

tristar_status tristar_mpi_share_cores(MPI_Comm comm, tristar_config *config) {
  MPI_Comm node;
  int rank = 0, ranks = 1;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (config == NULL) return TRISTAR_ERR_ARGUMENT;
  if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS)
    return TRISTAR_ERR_RUNTIME;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &ranks);
  MPI_Comm_free(&node);
  if (cores < 1 || is_bound(cores)) return TRISTAR_OK;
  const long share = cores / ranks > 0 ? cores / ranks : 1;
  config->first_core = (int)(rank * share % cores);
  if (config->workers == 0 && getenv("STARPU_NCPU") == NULL) config->workers = (int)share;
  return TRISTAR_OK;
}
