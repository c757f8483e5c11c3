/* Counts the users of a single-threaded OpenBLAS: see blas.h. The state mirrors OpenBLAS's own global state.
 */
#include "runtime/exec/starpu/blas.h"

#include <cblas.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "codelets/cpu/kernels.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;
static int threads_before;
static int reserved; /* minimum number of OpenBLAS's buffers */

/* Address space of one buffer of OpenBLAS, on processors with AVX2 or NEON; others have smaller ones. */
#define BUFFER_BYTES ((size_t)128 << 20)
#define RESERVED_MOST 128 /* largest number of OpenBLAS's buffers, with few exceptions */

/* Functions of OpenBLAS: take a buffer of its pool, and return it. Other libraries with its interface may
 * lack them. */
extern void *blas_memory_alloc(int position) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

/* In the child of a fork(): another thread of the parent may have held the lock. OpenBLAS stays as it was. */
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

/* Under the lock. All buffers must be taken at once, because the pool reuses free ones before it maps more.
 */
static void fill_pool(int count) {
  void *buffer[RESERVED_MOST];
  int taken = 0;
  if (blas_memory_alloc == NULL || blas_memory_free == NULL) return;
  while (taken < count && (buffer[taken] = blas_memory_alloc(0)) != NULL) taken++;
  while (taken > 0) blas_memory_free(buffer[--taken]);
}

tristar_status tsi_blas_reserve(const tsi_env *env, int threads) {
  tristar_status status = TRISTAR_OK;
  pthread_mutex_lock(&lock);
  int count = threads + users;
  if (count > RESERVED_MOST) count = RESERVED_MOST;
  if (count <= reserved) goto out;
  const size_t bytes = (size_t)(count - reserved) * BUFFER_BYTES;
  void *probe = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED)
    TSI_FAIL_OUT(
        env, TRISTAR_ERR_MEMORY,
        "out of memory: %zu bytes of addresses for the buffers of OpenBLAS, %d of %zu (see ulimit -v; "
        "fewer workers need fewer)",
        bytes, count - reserved, BUFFER_BYTES);
  munmap(probe, bytes);
  fill_pool(count);
  reserved = count;
out:
  pthread_mutex_unlock(&lock);
  return status;
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
