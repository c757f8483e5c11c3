/* A context for tests that need no StarPU. */
#ifndef TSI_TESTS_SUPPORT_CONTEXT_H
#define TSI_TESTS_SUPPORT_CONTEXT_H

#include <stdbool.h>

#include "tests/support/check.h"

/* Factorizations and solves are the calling thread's. check: structures are verified as they are made. To be
 * destroyed. */
static inline tristar_t *open_without_starpu(bool check) {
  tristar_t *ts;
  tristar_config config;
  tristar_config_init(&config);
  config.use_starpu = 0;
  config.check = check;
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

#endif
