/* Transports: communicator, agreement of the ranks. See transport.h. */
#include <inttypes.h>
#include <stdio.h>

#include "runtime/base/threads.h"
#include "runtime/exec/starpu/idle.h"
#include "runtime/mpi/comm/mailbox.h"

static const struct {
  const char *name;
  const tsi_transport_ops *ops;
} kinds[TSI_TRANSPORT_KINDS] = {
    [TSI_TRANSPORT_DIRECT] = {"direct", &tsi_transport_direct},
    [TSI_TRANSPORT_STARPU_MPI] = {"starpu_mpi", &tsi_transport_starpu_mpi},
};

const char *tsi_transport_kind_name(tsi_transport_kind kind) {
  return kinds[kind].name;
}

/* Waits for a request. Between two tests other threads can take the lock, and StarPU's workers advance
 * messages. */
static int wait_for(MPI_Request *request) {
  int code = MPI_SUCCESS;
  for (int done = 0, turn = 0; !done && code == MPI_SUCCESS; turn++) {
    tsi_mpi_lock();
    code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    tsi_mpi_unlock();
    if (!done) tsi_mpi_pause(turn);
  }
  return code;
}

/* The worst status, and a rank that has it. NOT_FINITE counts as the least failure: numbers of a rank may
 * have left the range because another rank failed. */
static int agree_on(MPI_Comm comm, int rank, tristar_status mine, int agreed[2]) {
  const int own[2] = {mine == TRISTAR_ERR_NOT_FINITE ? 1 : 2 * (int)mine, rank};
  MPI_Request request;
  tsi_mpi_lock();
  int code = MPI_Iallreduce(own, agreed, 1, MPI_2INT, MPI_MAXLOC, comm, &request);
  tsi_mpi_unlock();
  if (code == MPI_SUCCESS) code = wait_for(&request);
  if (code == MPI_SUCCESS) agreed[0] = agreed[0] == 1 ? TRISTAR_ERR_NOT_FINITE : agreed[0] / 2;
  return code;
}

static int broadcast_from(MPI_Comm comm, int root, char *text, int size) {
  MPI_Request request;
  tsi_mpi_lock();
  const int code = MPI_Ibcast(text, size, MPI_CHAR, root, comm, &request);
  tsi_mpi_unlock();
  return code == MPI_SUCCESS ? wait_for(&request) : code;
}

static tristar_status agree(tsi_env *env, MPI_Comm comm, int rank, tristar_status mine) {
  int agreed[2];
  char text[TSI_MESSAGE_SIZE];
  TSI_TRY(TSI_MPI(env, "MPI_Iallreduce", agree_on(comm, rank, mine, agreed)));
  if (agreed[0] == TRISTAR_OK) return TRISTAR_OK;
  snprintf(text, sizeof text, "%s", tsi_error_text(env));
  TSI_TRY(TSI_MPI(env, "MPI_Ibcast", broadcast_from(comm, agreed[1], text, TSI_MESSAGE_SIZE)));
  if (agreed[1] == rank) return mine;
  text[TSI_MESSAGE_SIZE - 1] = '\0';
  TSI_FAIL(env, (tristar_status)agreed[0], "rank %d: %s", agreed[1], text);
}

tristar_status tsi_transport_agree(tsi_transport *transport, tristar_status mine) {
  return agree(transport->env, transport->comm, transport->rank, mine);
}

#define VALUES_MOST 24

/* Takes the largest of each entry, in place. The caller stores each value and its negative, to get the
 * largest and the smallest. */
static int find_largest(MPI_Comm comm, int count, int64_t *values) {
  MPI_Request request;
  tsi_mpi_lock();
  const int code = MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MAX, comm, &request);
  tsi_mpi_unlock();
  return code == MPI_SUCCESS ? wait_for(&request) : code;
}

static tristar_status same(tsi_env *env, MPI_Comm comm, int rank, tristar_status mine, int count,
                           const char *const *name, const int64_t *value, int flags, bool *flag) {
  int64_t most[1 + 2 * VALUES_MOST] = {mine};
  int all = 1;
  if (2 * count + flags > 2 * VALUES_MOST)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%d values and %d flags to agree on", count, flags);
  for (int k = 0; k < count; k++) {
    most[all++] = value[k];
    most[all++] = -value[k];
  }
  for (int k = 0; k < flags; k++) most[all++] = flag[k];
  TSI_TRY(TSI_MPI(env, "MPI_Iallreduce", find_largest(comm, all, most)));
  if (most[0] != TRISTAR_OK) return agree(env, comm, rank, mine); /* names the rank and the cause */
  for (int k = 0; k < count; k++) {
    const int64_t largest = most[1 + 2 * k], smallest = -most[2 + 2 * k];
    if (smallest != largest)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
               "the ranks do not ask for the same: %s is %" PRId64 " here, %" PRId64 " to %" PRId64 " on all",
               name[k], value[k], smallest, largest);
  }
  for (int k = 0; k < flags; k++) flag[k] = most[1 + 2 * count + k] != 0;
  return TRISTAR_OK;
}

tristar_status tsi_transport_unite(const tsi_transport *transport, void *array, int count, MPI_Datatype type,
                                   MPI_Op op) {
  return TSI_MPI(transport->env, "MPI_Allreduce",
                 MPI_Allreduce(MPI_IN_PLACE, array, count, type, op, transport->comm));
}

tristar_status tsi_transport_same(tsi_transport *transport, tristar_status mine, int count,
                                  const char *const *name, const int64_t *value, int flags, bool *flag) {
  return same(transport->env, transport->comm, transport->rank, mine, count, name, value, flags, flag);
}

/* ---- Creation ------------------------------------------------------------------------------------------ */

static const char *level_name(int level) {
  if (level == MPI_THREAD_SINGLE) return "MPI_THREAD_SINGLE";
  if (level == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  if (level == MPI_THREAD_SERIALIZED) return "MPI_THREAD_SERIALIZED";
  return "MPI_THREAD_MULTIPLE";
}

static tristar_status check_kind(tsi_env *env, tsi_transport_kind kind, bool alone) {
  const tsi_transport_ops *ops = kinds[kind].ops;
  int level = MPI_THREAD_SINGLE, main_thread = 0;
  TSI_TRY(TSI_MPI(env, "MPI_Query_thread", MPI_Query_thread(&level)));
  if (alone && kind == TSI_TRANSPORT_DIRECT && level == MPI_THREAD_FUNNELED) {
    TSI_TRY(TSI_MPI(env, "MPI_Is_thread_main", MPI_Is_thread_main(&main_thread)));
    if (main_thread) return TRISTAR_OK;
  }
  if (level < ops->thread_level)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "the transport %s needs MPI with %s, it was initialized with %s",
             kinds[kind].name, level_name(ops->thread_level), level_name(level));
  if (ops->check) TSI_TRY(ops->check(env));
  return TRISTAR_OK;
}

static tristar_status duplicate(tsi_env *env, MPI_Comm comm, MPI_Comm *copy) {
  MPI_Request request;
  MPI_Errhandler handler;
  tsi_mpi_return_errors(comm, &handler);
  tsi_mpi_lock();
  int code = MPI_Comm_idup(comm, copy, &request);
  tsi_mpi_unlock();
  if (code == MPI_SUCCESS) code = wait_for(&request);
  tsi_mpi_restore_errors(comm, &handler);
  TSI_TRY(TSI_MPI(env, "MPI_Comm_idup", code));
  tsi_mpi_lock();
  MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN);
  tsi_mpi_unlock();
  return TRISTAR_OK;
}

/* Rank, size and largest tag of the communicator. */
static tristar_status describe(tsi_transport *transport) {
  void *value = NULL;
  int there = 0;
  tsi_mpi_lock();
  int code = MPI_Comm_rank(transport->comm, &transport->rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(transport->comm, &transport->size);
  if (code == MPI_SUCCESS) code = MPI_Comm_get_attr(transport->comm, MPI_TAG_UB, &value, &there);
  tsi_mpi_unlock();
  TSI_TRY(TSI_MPI(transport->env, "communicator", code));
  transport->tag_most = there ? *(int *)value : 32767; /* the least that MPI guarantees */
  return TRISTAR_OK;
}

static tristar_status prepare(tsi_env *env, MPI_Comm comm, tsi_transport_kind kind, bool alone,
                              tsi_transport **out) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY_OUT(check_kind(env, kind, alone));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, *out, 1));
  (*out)->env = env;
  (*out)->comm = comm;
  (*out)->ops = kinds[kind].ops;
  (*out)->alone = alone;
  status = tsi_monitor_init(env, &(*out)->lock, &(*out)->changed);
  if (status != TRISTAR_OK) {
    TSI_FREE(env, *out);
    goto out;
  }
  tsi_idle_hold(); /* other ranks would wait for a worker that wakes up late */
  TSI_TRY_OUT(describe(*out));
out:
  return status;
}

static void release(tsi_transport **transport) {
  if (*transport == NULL) return;
  tsi_idle_release();
  if ((*transport)->attached && (*transport)->ops->detach) (*transport)->ops->detach(*transport);
  pthread_mutex_lock(&(*transport)->lock); /* the settling thread has released it */
  pthread_mutex_unlock(&(*transport)->lock);
  pthread_cond_destroy(&(*transport)->changed);
  pthread_mutex_destroy(&(*transport)->lock);
  TSI_FREE((*transport)->env, *transport);
}

static void free_comm(MPI_Comm *comm) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  tsi_mpi_lock();
  if (!finalized) MPI_Comm_free(comm);
  tsi_mpi_unlock();
}

tristar_status tsi_transport_create(tsi_env *env, MPI_Comm comm, tsi_transport_kind kind, bool alone,
                                    tristar_status mine, tsi_transport **out) {
  tristar_status status = TRISTAR_OK;
  static const char *const name[] = {"the transport (0: direct, 1: starpu_mpi)"};
  const int64_t value[] = {kind};
  MPI_Comm copy = MPI_COMM_NULL;
  int rank = 0;
  *out = NULL;
  TSI_TRY_OUT(tsi_mpi_check(env, comm));
  TSI_TRY_OUT(duplicate(env, comm, &copy));
  tsi_mpi_lock();
  MPI_Comm_rank(copy, &rank);
  tsi_mpi_unlock();
  if (mine == TRISTAR_OK && ((int)kind < 0 || kind >= TSI_TRANSPORT_KINDS))
    mine = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "no transport %d", (int)kind);
  TSI_TRY_OUT(same(env, copy, rank, mine, 1, name, value, 0, NULL));
  TSI_TRY_OUT(agree(env, copy, rank, prepare(env, copy, kind, alone, out)));
  if ((*out)->ops->attach) {
    status = (*out)->ops->attach(*out);
    (*out)->attached = status == TRISTAR_OK;
    TSI_TRY_OUT(agree(env, copy, rank, status));
  }
out:
  if (status != TRISTAR_OK) {
    release(out);
    if (copy != MPI_COMM_NULL) free_comm(&copy);
  }
  return status;
}

void tsi_transport_destroy(tsi_transport **transport) {
  if (*transport == NULL) return;
  MPI_Comm comm = (*transport)->comm;
  release(transport);
  free_comm(&comm);
}

int tsi_transport_rank(const tsi_transport *transport) {
  return transport->rank;
}
int tsi_transport_size(const tsi_transport *transport) {
  return transport->size;
}
MPI_Comm tsi_transport_comm(const tsi_transport *transport) {
  return transport->comm;
}
