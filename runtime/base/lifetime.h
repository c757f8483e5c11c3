/* The owners of a context, and the process to which it belongs.
 *
 * Job. The program and every object of a context own a reference to it. It ends when its last owner releases
 * it, so objects and context may be destroyed in any order. After fork() a child has copies of its parent's
 * objects, but not the threads of StarPU and MPI that they use. Locks held by other threads stay locked
 * forever. Such objects are *inherited*: public functions refuse them (TSI_ENTER, env.h), and their
 * destruction does nothing.
 *
 * Reads   nothing.   Writes  its members; the count of forks, which is static, as it belongs to the process.
 * Invariants
 *   - owners > 0 until `end` is called, once
 *   - tsi_forks grows only in the child of a fork(): objects of this process are not inherited, all others
 *     are */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Number of fork() calls between the process that loaded the library and this one. */
extern _Atomic(uint64_t) tsi_forks;

typedef struct tsi_lifetime tsi_lifetime;
struct tsi_lifetime {
  uint64_t forks;                  /* tsi_forks when it began */
  atomic_int owners;               /* 1 when it begins */
  void (*end)(tsi_lifetime *life); /* called when there are no owners any more; may be NULL */
};

void tsi_lifetime_begin(tsi_lifetime *life, void (*end)(tsi_lifetime *life));
void tsi_lifetime_retain(tsi_lifetime *life);
void tsi_lifetime_release(tsi_lifetime *life);

/* Costs one load. */
static inline bool tsi_lifetime_is_inherited(const tsi_lifetime *life) {
  return atomic_load_explicit(&tsi_forks, memory_order_relaxed) != life->forks;
}

/* First call in the destruction of an object. true: the object is inherited, and nothing else is done. Its
 * memory stays, shared with the parent until one of them writes to it: another thread of the parent may have
 * been using the object when fork() copied it. */
bool tsi_lifetime_abandon(const tsi_lifetime *life, const void *object);
