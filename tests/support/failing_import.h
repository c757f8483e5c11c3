/* Every allocation of an import of factors fails once, for tests of imports. */
#pragma once

#include "tests/support/check.h"
#include "tristar_machine.h"

typedef tristar_status (*failing_import)(tristar_t *ts, const void *from, tristar_factor_t **out);

/* In contexts of that config. Gives how many allocations failed: each with MEMORY, and nothing was left
 * behind. */
static inline int64_t fail_each_allocation_of(tristar_config config, failing_import import,
                                              const void *from) {
  tristar_status status = TRISTAR_ERR_MEMORY;
  while (status != TRISTAR_OK) {
    tristar_t *ts;
    tristar_factor_t *factor;
    tristar_memory_stats memory;
    config.fail_allocation++;
    CHECK_OK(tristar_create(&config, &ts));
    status = import(ts, from, &factor);
    CHECK(status == TRISTAR_OK || (status == TRISTAR_ERR_MEMORY && factor == NULL));
    tristar_factor_destroy(&factor);
    tristar_get_memory(ts, &memory);
    CHECK_MSG(memory.current_bytes == 0, "%zu bytes leaked", memory.current_bytes);
    tristar_destroy(&ts);
  }
  return config.fail_allocation - 1;
}

/* Without StarPU. */
static inline int64_t fail_each_allocation(failing_import import, const void *from) {
  tristar_config config = DEFAULTS(tristar_config);
  config.use_starpu = 0;
  return fail_each_allocation_of(config, import, from);
}
