/* See lifetime.h. */
#include "runtime/base/lifetime.h"

#include <pthread.h>
#include <stdlib.h>

_Atomic(uint64_t) tsi_forks;

static void count_fork(void) {
  atomic_fetch_add(&tsi_forks, 1);
}

/* Called when the library is loaded, so that a fork() before the first context counts, too. If there is no
 * memory for the handler, forks are not noticed. */
__attribute__((constructor)) static void watch_forks(void) {
  (void)pthread_atfork(NULL, NULL, count_fork);
}

void tsi_lifetime_begin(tsi_lifetime *life, void (*end)(tsi_lifetime *life)) {
  life->forks = atomic_load(&tsi_forks);
  atomic_init(&life->owners, 1);
  life->end = end;
}

void tsi_lifetime_retain(tsi_lifetime *life) {
  atomic_fetch_add_explicit(&life->owners, 1, memory_order_relaxed);
}

void tsi_lifetime_release(tsi_lifetime *life) {
  if (atomic_fetch_sub(&life->owners, 1) == 1 && life->end != NULL) life->end(life);
}

/* Keeps abandoned objects reachable, for tools that find leaks. */
typedef struct abandoned {
  const void *object;
  struct abandoned *next;
} abandoned;
static _Atomic(abandoned *) all_abandoned;

bool tsi_lifetime_abandon(const tsi_lifetime *life, const void *object) {
  if (!tsi_lifetime_is_inherited(life)) return false;
  abandoned *one = malloc(sizeof *one);
  if (one == NULL) return true;
  one->object = object;
  one->next = atomic_load(&all_abandoned);
  while (!atomic_compare_exchange_weak(&all_abandoned, &one->next, one)) {
  }
  return true;
}
