/* The bits of a result do not depend on the number of StarPU's workers. */
#ifndef TSI_TESTS_SUPPORT_SAME_WORKERS_H
#define TSI_TESTS_SUPPORT_SAME_WORKERS_H

#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

/* apply_with: makes a context with so many workers and gives *size numbers, to be freed. */
static inline void check_workers(double *(*apply_with)(const char *workers, tristar_engine engine,
                                                       int64_t *size)) {
  static const char *const workers[] = {"1", "2", "3", "4"};
  int64_t size;
  double *wanted = apply_with("1", TRISTAR_ENGINE_SERIAL, &size);
  for (int w = 0; w < 4; w++) {
    double *x = apply_with(workers[w], TRISTAR_ENGINE_TASKS, &size);
    CHECK(memcmp(x, wanted, (size_t)size * sizeof *x) == 0);
    free(x);
  }
  free(wanted);
}

#endif
