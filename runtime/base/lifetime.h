/* Who keeps a context alive, and which process it belongs to.
 *
 * Job. The program and every object of a context own a share of it: it ends when its last owner lets go, so
 * objects and context may be destroyed in any order. And after fork() a child has copies of the objects of
 * its parent, but none of the threads of StarPU and of MPI that they work with, and locks that other threads
 * held stay locked for ever. Such objects are *inherited*: public functions refuse them (TSI_ENTER, env.h),
 * and to destroy them does nothing.
 *
 * Reads   nothing.   Writes  its members; the count of forks, which is static, as a process is.
 * Invariants
 *   - owners > 0 until `end` is called, once
 *   - tsi_forks grows in the child of a fork() and at no other time: no object of this process is inherited,
 *     all others are */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Calls of fork() between the process that loaded the library and this one. */
extern _Atomic(uint64_t) tsi_forks;

typedef struct tsi_lifetime tsi_lifetime;
struct tsi_lifetime {
  uint64_t forks;                  /* tsi_forks when it began */
  atomic_int owners;               /* 1 when it begins */
  void (*end)(tsi_lifetime *life); /* called when there are no owners any more; NULL: nothing is */
};

void tsi_lifetime_begin(tsi_lifetime *life, void (*end)(tsi_lifetime *life));
void tsi_lifetime_retain(tsi_lifetime *life);
void tsi_lifetime_release(tsi_lifetime *life);

/* Costs one load. */
static inline bool tsi_lifetime_is_inherited(const tsi_lifetime *life) {
  return atomic_load_explicit(&tsi_forks, memory_order_relaxed) != life->forks;
}

/* What the destruction of an object begins with. true: it is inherited, and that was all. Its memory stays,
 * shared with the parent as long as neither writes to it: another thread of the parent may have been at work
 * on the object when fork() copied it. */
bool tsi_lifetime_abandon(const tsi_lifetime *life, const void *object);
