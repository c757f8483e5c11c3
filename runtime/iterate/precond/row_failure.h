/* The smallest row that failed in a factorization whose rows several threads compute.
 *
 * Reads, writes   a tsi_row_failure, from any thread.
 * Invariant: the row never increases. Rows after a failed row may be computed with meaningless numbers, or
 * not at all. So the smallest row that fails is always the same. */
#pragma once

#include <stdatomic.h>

#include "codelets/cpu/rows/incomplete.h"

/* 4 times the row plus the kind; INT64_MAX: none */
typedef struct tsi_row_failure {
  _Atomic(int64_t) first;
} tsi_row_failure;

static inline void tsi_row_failure_clear(tsi_row_failure *f) {
  atomic_init(&f->first, INT64_MAX);
}

/* Is there a failure before row i? */
static inline bool tsi_row_failure_before(const tsi_row_failure *f, tsi_index i) {
  return atomic_load_explicit(&f->first, memory_order_relaxed) < 4 * (int64_t)i;
}

static inline void tsi_row_failure_keep(tsi_row_failure *f, tsi_breakdown_kind kind, tsi_index i) {
  const int64_t mine = 4 * (int64_t)i + (int64_t)kind;
  int64_t first = atomic_load_explicit(&f->first, memory_order_relaxed);
  if (kind == TSI_BREAKDOWN_NONE) return;
  while (mine < first && !atomic_compare_exchange_weak(&f->first, &first, mine)) continue;
}

/* To be called after all rows have ended. */
static inline tsi_breakdown tsi_row_failure_get(const tsi_row_failure *f) {
  const int64_t first = atomic_load(&f->first);
  return first == INT64_MAX ? (tsi_breakdown){TSI_BREAKDOWN_NONE, 0}
                            : (tsi_breakdown){(tsi_breakdown_kind)(first % 4), (tsi_index)(first / 4)};
}
