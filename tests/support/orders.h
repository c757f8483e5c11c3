/* Legal orders of steps, for the tests that run them one after the other. */
#pragma once

#include "dag/steps.h"
#include "tests/support/patterns.h"

/* A pseudo-random legal order; seed 0: as they are listed. */
static inline void choose_order(tsi_env *env, const tsi_steps *steps, uint64_t seed, tsi_index *order) {
  tsi_adjacency *after;
  tsi_index *waits, *ready, count = 0, done = 0;
  for (tsi_index k = 0; k < steps->count; k++) order[k] = k;
  if (seed == 0) return;
  CHECK_OK(tsi_adjacency_create(env, steps->count, steps->edges, steps->edge, TSI_AFTER, &after));
  waits = calloc((size_t)steps->count + 1, sizeof *waits);
  ready = malloc((size_t)(steps->count + 1) * sizeof *ready);
  for (tsi_count e = 0; e < steps->edges; e++) waits[steps->edge[e].item]++;
  for (tsi_index k = 0; k < steps->count; k++)
    if (waits[k] == 0) ready[count++] = k;
  while (count > 0) {
    const tsi_index pick = lcg_below(&seed, count), k = ready[pick];
    ready[pick] = ready[--count];
    order[done++] = k;
    for (tsi_count e = after->ptr[k]; e < after->ptr[k + 1]; e++)
      if (--waits[after->list[e]] == 0) ready[count++] = after->list[e];
  }
  CHECK(done == steps->count);
  TSI_FREE(env, after);
  free(waits);
  free(ready);
}
