/* Moves rows and columns: see order.h. */
#include "runtime/matrix/order.h"

#include <inttypes.h>

void tsi_entries_free(tsi_env *env, tsi_entries *entries) {
  TSI_FREE(env, entries->ptr);
  TSI_FREE(env, entries->index);
  TSI_FREE(env, entries->values);
}

static inline tsi_index map(const tsi_index *to, tsi_index i) {
  return to ? to[i] : i;
}

void tsi_entries_exchange(const tsi_entries *from, tsi_index n, size_t scalar, const tsi_index *line_of,
                          const tsi_index *index_of, tsi_count *next, tsi_entries *to) {
  memset(to->ptr, 0, ((size_t)n + 1) * sizeof *to->ptr);
  for (tsi_count e = 0; e < from->ptr[n]; e++) to->ptr[map(line_of, from->index[e]) + 1]++;
  for (tsi_index j = 0; j < n; j++) to->ptr[j + 1] += to->ptr[j];
  memcpy(next, to->ptr, (size_t)n * sizeof *next);
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count e = from->ptr[j]; e < from->ptr[j + 1]; e++) {
      const tsi_count at = next[map(line_of, from->index[e])]++;
      to->index[at] = map(index_of, j);
      memcpy(to->values + (size_t)at * scalar, from->values + (size_t)e * scalar, scalar);
    }
}

tristar_status tsi_order_take(tsi_env *env, tsi_index n, const int64_t *order, const char *name,
                              tsi_index **at, tsi_index **place) {
  tristar_status status = TRISTAR_OK;
  bool same = true;
  *at = *place = NULL;
  for (tsi_index k = 0; k < n && same && order; k++) same = order[k] == k;
  if (order == NULL || same) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, *at, n));
  TSI_TRY(TSI_ALLOC(env, *place, n));
  for (tsi_index k = 0; k < n; k++) (*place)[k] = TSI_NONE;
  for (tsi_index k = 0; k < n; k++) {
    if (order[k] < 0 || order[k] >= n || (*place)[order[k]] != TSI_NONE)
      TSI_FAIL(env, TRISTAR_ERR_FORMAT, "%s is no permutation: entry %d is %" PRId64, name, k, order[k]);
    (*at)[k] = (tsi_index)order[k];
    (*place)[order[k]] = k;
  }
out:
  if (status != TRISTAR_OK) {
    TSI_FREE(env, *at);
    TSI_FREE(env, *place);
  }
  return status;
}

tristar_status tsi_entries_allocate(tsi_env *env, tsi_index n, tsi_count count, size_t scalar,
                                    tsi_entries *out) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, out->ptr, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC(env, out->index, count));
  TSI_TRY(TSI_ALLOC(env, out->values, (size_t)count * scalar));
out:
  return status;
}

tristar_status tsi_pattern_move(tsi_env *env, const tsi_pattern *from, const void *values,
                                const tsi_index *row, const tsi_index *column, tsi_pattern **out,
                                void **out_values) {
  tristar_status status = TRISTAR_OK;
  const size_t scalar = tsi_sparse_kernels_select(from->scalar)->scalar_bytes;
  const tsi_index n = from->n;
  const tsi_count count = from->ptr[n];
  const tsi_entries given = {from->ptr, from->index, (char *)values};
  tsi_entries turned = {NULL, NULL, NULL}, moved = {NULL, NULL, NULL};
  tsi_count *next = NULL;
  *out = NULL;
  *out_values = NULL;
  TSI_TRY(TSI_ALLOC(env, next, n));
  TSI_TRY(tsi_entries_allocate(env, n, count, scalar, &turned));
  TSI_TRY(tsi_entries_allocate(env, n, count, scalar, &moved));
  tsi_entries_exchange(&given, n, scalar, from->by_rows ? column : row, from->by_rows ? row : column, next,
                       &turned);
  tsi_entries_exchange(&turned, n, scalar, NULL, NULL, next, &moved); /* lines ascend now */
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  **out = (tsi_pattern){.n = n,
                        .by_rows = from->by_rows,
                        .scalar = from->scalar,
                        .symmetry = TRISTAR_GENERAL,
                        .ptr = moved.ptr,
                        .index = moved.index,
                        .given = count};
  *out_values = moved.values;
  moved = (tsi_entries){NULL, NULL, NULL};
out:
  TSI_FREE(env, next);
  tsi_entries_free(env, &turned);
  tsi_entries_free(env, &moved);
  return status;
}
