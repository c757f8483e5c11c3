/* Counts who needs a single-threaded OpenBLAS: see blas.h. The state mirrors OpenBLAS's own global state. */
#include "runtime/exec/starpu/blas.h"

#include <cblas.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "codelets/cpu/kernels.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;
static int threads_before;

/* In the child of a fork(): another thread of the parent may have held it. OpenBLAS stays as it was. */
static void renew_lock(void) {
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

__attribute__((constructor)) static void watch_forks(void) {
  (void)pthread_atfork(NULL, NULL, renew_lock);
}

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

bool tsi_blas_mistaken(const char **took, const char **better) {
  static const char *const without_avx2[] = {
      "Prescott", "Core2",  "Penryn",    "Dunnington",   "Nehalem",   "Sandybridge",
      "Atom",     "Nano",   "Opteron",   "Opteron_SSE3", "Barcelona", "Bobcat",
      "Athlon",   "Banias", "Bulldozer", "Katmai",       "Northwood", "Coppermine"};
  const char *isa = tsi_kernels_select('d', TSI_INVERSE_DIAGONAL, NULL)->isa;
  *took = openblas_get_corename();
  *better = strcmp(isa, "avx512") == 0 ? "SkylakeX" : "Haswell";
  if (strcmp(isa, "base") == 0 || getenv("OPENBLAS_CORETYPE") != NULL) return false;
  for (size_t k = 0; k < sizeof without_avx2 / sizeof *without_avx2; k++)
    if (strcasecmp(*took, without_avx2[k]) == 0) return true;
  return false;
}
