/* Heaps in a shared window of MPI-3: see oneside.h. */
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/oneside/oneside_memory.h"

#include <string.h>

/* Collective. All ranks get the worst status. */
static tristar_status agree(tsi_env *env, MPI_Comm comm, tristar_status mine) {
  int worst = (int)mine;
  TSI_TRY(TSI_MPI(env, "MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, comm)));
  if (mine == TRISTAR_OK && worst != TRISTAR_OK)
    TSI_FAIL(env, (tristar_status)worst, "another rank could not make its heap of one-sided messages");
  return mine;
}

/* Collective. Checks that all ranks can share memory. */
static tristar_status check_node(tsi_env *env, MPI_Comm comm) {
  MPI_Comm node;
  int all = 0, here = 0;
  TSI_TRY(TSI_MPI(env, "MPI_Comm_split_type",
                  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node)));
  MPI_Comm_size(comm, &all);
  MPI_Comm_size(node, &here);
  MPI_Comm_free(&node);
  if (here == all) return TRISTAR_OK;
  TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
           "one-sided messages need shared memory: %d of %d ranks are on this node", here, all);
}

/* Collective. The largest requests of all ranks. */
static tristar_status unite(tsi_env *env, MPI_Comm comm, int32_t *flags, size_t *data) {
  int64_t most[2] = {*flags, (int64_t)*data};
  TSI_TRY(TSI_MPI(env, "MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_INT64_T, MPI_MAX, comm)));
  *flags = (int32_t)most[0];
  *data = (size_t)most[1];
  return TRISTAR_OK;
}

/* Collective. Opens a window of `bytes` bytes on each rank, all zero, and finds the address of each part. */
static tristar_status open_window(tsi_env *env, MPI_Comm comm, size_t bytes, char **base, MPI_Win *window) {
  char *own = NULL;
  int pes = 0;
  MPI_Comm_size(comm, &pes);
  TSI_TRY(TSI_MPI(env, "MPI_Win_allocate_shared",
                  MPI_Win_allocate_shared((MPI_Aint)bytes, 64, MPI_INFO_NULL, comm, &own, window)));
  memset(own, 0, bytes);
  for (int pe = 0; pe < pes; pe++) {
    MPI_Aint size;
    int unit;
    TSI_TRY(TSI_MPI(env, "MPI_Win_shared_query", MPI_Win_shared_query(*window, pe, &size, &unit, &base[pe])));
  }
  return TRISTAR_OK;
}

tristar_status tsi_oneside_create(tsi_env *env, MPI_Comm comm, int32_t flags, size_t data, double seconds,
                                  tsi_oneside **out) {
  MPI_Win window = MPI_WIN_NULL;
  int pe = 0, pes = 0;
  *out = NULL;
  TSI_TRY(agree(env, comm, check_node(env, comm)));
  TSI_TRY(unite(env, comm, &flags, &data));
  MPI_Comm_rank(comm, &pe);
  MPI_Comm_size(comm, &pes);
  TSI_OWNED char **base = NULL;
  TSI_TRY(agree(env, comm, TSI_ALLOC_ZERO(env, base, pes)));
  tristar_status status = open_window(env, comm, tsi_oneside_bytes(flags, data), base, &window);
  if (status == TRISTAR_OK) status = tsi_oneside_map(env, pe, pes, flags, base, seconds, out);
  status = agree(env, comm, status); /* afterwards all heaps are zero */
  if (status == TRISTAR_OK)
    (*out)->window = window;
  else {
    tsi_oneside_destroy(out);
    if (window != MPI_WIN_NULL) MPI_Win_free(&window);
  }
  return status;
}

void tsi_oneside_destroy(tsi_oneside **port) {
  int finalized = 0;
  if (*port == NULL) return;
  MPI_Finalized(&finalized);
  if ((*port)->window != MPI_WIN_NULL && !finalized && !tsi_oneside_stopped(*port))
    MPI_Win_free(&(*port)->window);
  TSI_FREE((*port)->env, *port);
}
