/* The lock of MPI, one for the process, so that MPI_THREAD_SERIALIZED suffices; errors of MPI. See mailbox.h.
 *
 * Polling threads take the lock again and again, but not while another thread waits for it. A waiting thread
 * spins, because a message takes a microsecond. It sleeps only if the holder does not run. */
#include "runtime/mpi/comm/mailbox.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(int) waiting;

static bool lost;

#define SPINS 2000

/* In the child of a fork(): its copy of MPI lacks the threads and connections of the parent. */
static void lose(void) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  lost = lost || initialized;
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  atomic_store(&waiting, 0);
}

__attribute__((constructor)) static void watch_forks(void) {
  (void)pthread_atfork(NULL, NULL, lose);
}

void tsi_mpi_lock(void) {
  if (pthread_mutex_trylock(&lock) == 0) return;
  atomic_fetch_add(&waiting, 1);
  int turn = 0;
  while (turn < SPINS && pthread_mutex_trylock(&lock) != 0) turn++;
  if (turn == SPINS) pthread_mutex_lock(&lock);
  atomic_fetch_sub(&waiting, 1);
}

bool tsi_mpi_trylock(void) {
  return atomic_load_explicit(&waiting, memory_order_relaxed) == 0 && pthread_mutex_trylock(&lock) == 0;
}

void tsi_mpi_unlock(void) {
  pthread_mutex_unlock(&lock);
}

tristar_status tsi_mpi_status(const tsi_env *env, const char *what, int code, const char *function,
                              const char *file, int line) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (code == MPI_SUCCESS) return TRISTAR_OK;
  tsi_mpi_lock();
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) snprintf(text, sizeof text, "MPI error %d", code);
  tsi_mpi_unlock();
  return tsi_fail(env, TRISTAR_ERR_RUNTIME, function, file, line, "%s: %s", what, text);
}

tristar_status tsi_mpi_check(const tsi_env *env, MPI_Comm comm) {
  int initialized = 0, finalized = 0;
  if (lost)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "MPI was initialized when fork() made this process: it belongs to the parent");
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "MPI is not initialized: call MPI_Init_thread first");
  if (finalized) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "MPI is finalized already");
  if (comm == MPI_COMM_NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the communicator is MPI_COMM_NULL");
  return TRISTAR_OK;
}

void tsi_mpi_return_errors(MPI_Comm comm, MPI_Errhandler *before) {
  tsi_mpi_lock();
  if (MPI_Comm_get_errhandler(comm, before) != MPI_SUCCESS) *before = MPI_ERRHANDLER_NULL;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  tsi_mpi_unlock();
}

void tsi_mpi_restore_errors(MPI_Comm comm, MPI_Errhandler *before) {
  if (*before == MPI_ERRHANDLER_NULL) return;
  tsi_mpi_lock();
  MPI_Comm_set_errhandler(comm, *before);
  MPI_Errhandler_free(before);
  tsi_mpi_unlock();
}

#define YIELDS 200
#define NAP_NANOSECONDS 50000

void tsi_mpi_pause(int turn) {
  static const struct timespec nap = {0, NAP_NANOSECONDS};
  if (turn < YIELDS)
    sched_yield();
  else
    nanosleep(&nap, NULL);
}
