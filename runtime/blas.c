/* Counts who needs a single-threaded OpenBLAS: see blas.h. The state mirrors OpenBLAS's own global state. */
#include "runtime/blas.h"

#include <cblas.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;
static int threads_before;

void tsi_blas_acquire(void) {
  pthread_mutex_lock(&lock);
  if (users++ == 0) {
    threads_before = openblas_get_num_threads();
    if (threads_before != 1) openblas_set_num_threads(1);
  }
  pthread_mutex_unlock(&lock);
}

void tsi_blas_release(void) {
  pthread_mutex_lock(&lock);
  if (--users == 0 && threads_before != 1) openblas_set_num_threads(threads_before);
  pthread_mutex_unlock(&lock);
}
