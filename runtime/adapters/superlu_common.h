/* Shared by the adapters of SuperLU and SuperLU_DIST: permutations that map rows to positions, and scale
 * factors in the real type of the factors. */
#pragma once

#include <stdbool.h>

#include "runtime/adapters/adapter.h"

/* Inverts a permutation: order[perm[i]] = i. perm[i] is the position of row (column) i of A in the factors;
 * order[k] is the row (column) of A at position k. perm has n integers of `bits` bits. The error message
 * contains `name`. */
static inline tristar_status tsi_invert_permutation(tristar_t *ts, const char *name, const void *perm,
                                                    int bits, int64_t n, int64_t *order) {
  for (int64_t k = 0; k < n; k++) order[k] = -1;
  for (int64_t i = 0; i < n; i++) {
    const int64_t k = bits == 64 ? ((const int64_t *)perm)[i] : ((const int32_t *)perm)[i];
    if (k < 0 || k >= n)
      TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "%s[%lld] = %lld is not in 0 ... %lld", name, (long long)i,
               (long long)k, (long long)n - 1);
    if (order[k] >= 0)
      TSI_FAIL(ts, TRISTAR_ERR_FORMAT, "%s is no permutation: its entries %lld and %lld are both %lld", name,
               (long long)order[k], (long long)i, (long long)k);
    order[k] = i;
  }
  return TRISTAR_OK;
}

/* Copies n scale factors to double. */
static inline tristar_status tsi_copy_scale(tristar_t *ts, const void *scale, bool single, int64_t n,
                                            double **copy) {
  TSI_TRY(TSI_ALLOC(ts, *copy, n));
  for (int64_t i = 0; i < n; i++)
    (*copy)[i] = single ? (double)((const float *)scale)[i] : ((const double *)scale)[i];
  return TRISTAR_OK;
}
