/* Counted allocations: see env.h; messages are in message.c. */
#include "runtime/base/env.h"

#include <stdlib.h>

#include "runtime/base/arena.h"

#define LEAST_USED_UP (16 * TSI_ARENA_GRANULE) /* minimum bytes worth freeing */

/* Head of each block: its size, which tsi_release subtracts from the count, and its region. One cache line
 * preserves the alignment. */
typedef union tsi_memory_block {
  struct {
    size_t bytes;
    size_t kept; /* first byte of the block, behind its first granule, that was not freed; 0: nothing was */
    tsi_region *region;
    tsi_env *env;                  /* env of the allocation */
    union tsi_memory_block *owned; /* blocks that are released with it */
    union tsi_memory_block *next,
        **link;  /* in the list of its owner; link: the pointer to this block there, or NULL */
    bool hollow; /* the block is only the head */
  } head;
  char line[TSI_CACHE_LINE];
} tsi_memory_block;

void tsi_env_init(tsi_env *env) {
  memset(env, 0, sizeof *env);
  atomic_init(&env->memory.current, 0);
  atomic_init(&env->memory.peak, 0);
  atomic_init(&env->memory.recent, 0);
  atomic_init(&env->memory.largest, 0);
  atomic_init(&env->memory.calls, 0);
  atomic_init(&env->memory.limit, 0);
  atomic_init(&env->progress, NULL);
  tsi_lifetime_begin(&env->life, NULL);
  env->id = tsi_tick();
  env->log_level = TRISTAR_LOG_INFO;
}

static void raise_to(_Atomic(size_t) *largest, size_t now) {
  size_t before = atomic_load(largest);
  while (now > before && !atomic_compare_exchange_weak(largest, &before, now)) {
  }
}

/* Counts an allocation, unless it would exceed the limit. A refused allocation is never counted, so that no
 * other one fails. *now: bytes with this allocation. */
static bool count_allocation(tsi_memory *memory, size_t bytes, size_t *now) {
  const size_t limit = atomic_load_explicit(&memory->limit, memory_order_relaxed);
  size_t before = atomic_load(&memory->current);
  if (limit == 0) {
    *now = atomic_fetch_add(&memory->current, bytes) + bytes;
    return true;
  }
  do {
    *now = before + bytes;
    if (before > limit || bytes > limit - before) return false;
  } while (!atomic_compare_exchange_weak(&memory->current, &before, *now));
  return true;
}

/* Called after a successful allocation. */
static void raise_peaks(tsi_memory *memory, size_t now, size_t bytes) {
  raise_to(&memory->peak, now);
  raise_to(&memory->recent, now);
  raise_to(&memory->largest, bytes);
}

size_t tsi_memory_watch(tsi_env *env) {
  const size_t now = atomic_load(&env->memory.current);
  atomic_store(&env->memory.recent, now);
  atomic_store(&env->memory.largest, 0);
  return now;
}

/* Place of a requested allocation. */
typedef struct place {
  const char *function, *file;
  int line;
} place;

static tristar_status allocate(tsi_env *env, size_t count, size_t size, bool hollow, const place *at,
                               void **out) {
  size_t bytes, total, now;
  int64_t call = atomic_fetch_add(&env->memory.calls, 1) + 1;
  *out = NULL;
  if (!tsi_size_mul(count, size, &bytes) || !tsi_size_add(bytes, sizeof(tsi_memory_block), &total) ||
      total > PTRDIFF_MAX)
    return tsi_fail(env, TRISTAR_ERR_TOO_LARGE, at->function, at->file, at->line,
                    "cannot allocate %zu elements of %zu bytes: too large, at most %zu bytes", count, size,
                    (size_t)PTRDIFF_MAX);
  if (!count_allocation(&env->memory, bytes, &now))
    return tsi_fail(
        env, TRISTAR_ERR_MEMORY, at->function, at->file, at->line,
        "%zu bytes more would exceed the limit of %zu bytes (tristar_limit_memory): %zu bytes are "
        "in use",
        bytes, atomic_load(&env->memory.limit), atomic_load(&env->memory.current));
  tsi_region *region;
  tsi_memory_block *block = call == env->memory.fail_at
                                ? NULL
                                : tsi_arena_allocate(hollow ? sizeof(tsi_memory_block) : total, &region);
  if (block == NULL) {
    atomic_fetch_sub(&env->memory.current, bytes);
    return tsi_fail(env, TRISTAR_ERR_MEMORY, at->function, at->file, at->line,
                    "out of memory: %zu bytes (allocation %lld)", bytes, (long long)call);
  }
  raise_peaks(&env->memory, now, bytes);
  block->head.bytes = bytes;
  block->head.kept = 0;
  block->head.region = region;
  block->head.env = env;
  block->head.owned = NULL;
  block->head.link = NULL;
  block->head.hollow = hollow;
  *out = block + 1;
  return TRISTAR_OK;
}

tristar_status tsi_allocate(tsi_env *env, size_t count, size_t size, const char *function, const char *file,
                            int line, void **out) {
  return allocate(env, count, size, false, &(place){function, file, line}, out);
}

tristar_status tsi_allocate_hollow(tsi_env *env, size_t count, size_t size, const char *function,
                                   const char *file, int line, void **out) {
  return allocate(env, count, size, true, &(place){function, file, line}, out);
}

tristar_status tsi_allocate_zero(tsi_env *env, size_t count, size_t size, const char *function,
                                 const char *file, int line, void **out) {
  tristar_status status = tsi_allocate(env, count, size, function, file, line, out);
  if (status == TRISTAR_OK) memset(*out, 0, count * size);
  return status;
}

/* The granule with the head is kept. */
void tsi_use_up(tsi_env *env, void *memory, size_t bytes) {
  tsi_memory_block *block = (tsi_memory_block *)memory - 1;
  const size_t begin = block->head.kept > 0 ? block->head.kept : TSI_ARENA_GRANULE,
               end = (sizeof(tsi_memory_block) + bytes) / TSI_ARENA_GRANULE * TSI_ARENA_GRANULE;
  if (block->head.bytes < TSI_ARENA_LEAST || end < begin + LEAST_USED_UP) return;
  block->head.kept = end;
  atomic_fetch_sub(&env->memory.current, end - begin);
  if (!block->head.hollow) tsi_arena_free_part(block, begin, end, block->head.region);
}

tsi_env *tsi_env_of_memory(const void *memory) {
  return ((const tsi_memory_block *)memory - 1)->head.env;
}

size_t tsi_memory_bytes(const void *memory) {
  if (memory == NULL) return 0;
  const tsi_memory_block *block = (const tsi_memory_block *)memory - 1;
  size_t bytes = block->head.bytes;
  for (const tsi_memory_block *owned = block->head.owned; owned; owned = owned->head.next)
    bytes += tsi_memory_bytes(owned + 1);
  return bytes;
}

void tsi_own(void *owner, void *memory) {
  if (memory == NULL) return;
  tsi_memory_block *block = (tsi_memory_block *)memory - 1, *next = block->head.next;
  if (block->head.link) {
    *block->head.link = next;
    if (next) next->head.link = block->head.link;
  }
  block->head.link = NULL;
  if (owner == NULL) return;
  tsi_memory_block **list = &((tsi_memory_block *)owner - 1)->head.owned;
  block->head.next = *list;
  block->head.link = list;
  if (*list) (*list)->head.link = &block->head.next;
  *list = block;
}

void tsi_own_as(void *other, void *memory) {
  if (other == NULL || ((tsi_memory_block *)other - 1)->head.link == NULL) return;
  tsi_memory_block *block = (tsi_memory_block *)memory - 1,
                   **next = &((tsi_memory_block *)other - 1)->head.next;
  block->head.next = *next;
  block->head.link = next;
  if (*next) (*next)->head.link = &block->head.next;
  *next = block;
}

tristar_status tsi_owned(void *owner, tristar_status status, void **memory) {
  if (status == TRISTAR_OK) tsi_own(owner, *memory);
  return status;
}

void tsi_release(void *memory) {
  if (memory == NULL) return;
  tsi_memory_block *block = (tsi_memory_block *)memory - 1;
  tsi_own(NULL, memory);
  while (block->head.owned) tsi_release(block->head.owned + 1);
  const size_t all = sizeof(tsi_memory_block) + block->head.bytes, kept = block->head.kept;
  tsi_region *region = block->head.region;
  const size_t given = kept > 0 ? kept - TSI_ARENA_GRANULE : 0;
  atomic_fetch_sub(&block->head.env->memory.current, block->head.bytes - given);
  if (block->head.hollow)
    tsi_arena_free(block, sizeof(tsi_memory_block), region);
  else if (region != NULL && kept > 0) {
    if (kept < all) tsi_arena_free((char *)block + kept, all - kept, region);
    tsi_arena_free(block, TSI_ARENA_GRANULE, region);
  } else
    tsi_arena_free(block, all, region);
}

void tsi_release_owned(void *pointer) {
  tsi_release(*(void **)pointer);
}
