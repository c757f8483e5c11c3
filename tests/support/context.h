/* Contexts of tests, and the memory that they have allocated. */
#pragma once

#include <stdbool.h>

#include "tests/support/check.h"
#include "tristar_machine.h"

static inline size_t bytes_held(tristar_t *ts) {
  tristar_memory_stats memory;
  CHECK_OK(tristar_get_memory(ts, &memory));
  return memory.current_bytes;
}

/* check: structures are verified when they are made. */
static inline tristar_config context_config(bool use_starpu, bool check) {
  tristar_config config = DEFAULTS(tristar_config);
  config.use_starpu = use_starpu;
  config.check = check;
  return config;
}

/* Opens a context whose factorizations and solves run on the calling thread. Close it with close_context. */
static inline tristar_t *open_without_starpu(bool check) {
  const tristar_config config = context_config(false, check);
  tristar_t *ts;
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

/* Opens a context with StarPU. workers 0: StarPU chooses their number. Close it with close_context. */
static inline tristar_t *open_with_starpu(int workers, bool check) {
  tristar_config config = context_config(true, check);
  tristar_t *ts;
  config.workers = workers;
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

/* Closes a context; all of its memory must have been freed. */
static inline void close_context(tristar_t **ts) {
  CHECK_MSG(bytes_held(*ts) == 0, "%zu bytes leaked", bytes_held(*ts));
  tristar_destroy(ts);
}
