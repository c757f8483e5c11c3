/* One-sided messages in a window of MPI. The heaps of all ranks have the largest size that a rank requests.
 * The data of a put arrive before its signal. Teams synchronize. A rank that does not call makes the others
 * fail in time. */
#include "runtime/mpi/oneside/oneside.h"

#include "tests/mpi/oneside_traffic.h"

int main(void) {
  tsi_env env = {.check = false};
  tsi_oneside *port;
  int level, rank, ranks;
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK_OK(tsi_oneside_create(&env, MPI_COMM_WORLD, rank == 0 ? traffic_flags(ranks) : 1,
                              rank == ranks - 1 ? traffic_bytes() : 8, 100, &port));
  CHECK(tsi_oneside_heap(port)->pe == rank && tsi_oneside_heap(port)->pes == ranks);
  CHECK(tsi_oneside_heap(port)->flags == traffic_flags(ranks) && tsi_oneside_seconds(port) == 100);
  CHECK(send_around(port, 200) == 0);
  meet_and_get(port);
  tsi_oneside_destroy(&port);
  CHECK_OK(tsi_oneside_create(&env, MPI_COMM_WORLD, traffic_flags(ranks), traffic_bytes(), 0.5, &port));
  const tsi_oneside_team all = {0, 1, ranks};
  if (rank < ranks - 1) CHECK_STATUS(tsi_oneside_meet(port, &all, MEETING, 1), TRISTAR_ERR_RUNTIME);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(tsi_oneside_stopped(port));
  CHECK_STATUS(tsi_oneside_wait(port, 0, MESSAGE, 1), TRISTAR_ERR_RUNTIME);
  tsi_oneside_destroy(&port);
  CHECK_MSG(env.memory.current == 0, "%zu bytes leaked", (size_t)env.memory.current);
  MPI_Finalize();
  return 0;
}
