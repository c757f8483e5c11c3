/* As allocations.h, for operations of an environment without a context. */
#pragma once

#include "runtime/base/env.h"
#include "tests/support/allocations.h"

static inline void look_at_env(void *env, tristar_memory_stats *stats) {
  const tsi_memory *memory = &((tsi_env *)env)->memory;
  stats->current_bytes = atomic_load(&memory->current);
  stats->allocations = atomic_load(&memory->calls);
}

static inline void fail_in_env(void *env, int64_t k) {
  tsi_memory *memory = &((tsi_env *)env)->memory;
  memory->fail_at = k > 0 ? atomic_load(&memory->calls) + k : 0;
}

static inline allocation_failures fail_allocations(tsi_env *env) {
  return (allocation_failures){
      .owner = env, .look = look_at_env, .fail = fail_in_env, .stride = 1, .ended = true};
}
