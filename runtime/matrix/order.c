/* Permutes rows and columns: see order.h. */
#include "runtime/matrix/order.h"

#include <inttypes.h>

#include "runtime/matrix/entries.h"

static inline tsi_index map(const tsi_index *to, tsi_index i) {
  return to ? to[i] : i;
}

bool tsi_order_is_given(int64_t n, const int64_t *order) {
  int64_t k = 0;
  while (order && k < n && order[k] == k) k++;
  return order && k < n;
}

tristar_status tsi_order_take(tsi_env *env, tsi_index n, const int64_t *order, const char *name,
                              tsi_index **at, tsi_index **place) {
  *at = *place = NULL;
  if (!tsi_order_is_given(n, order)) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, *at, n));
  TSI_TRY(TSI_ALLOC(env, *place, n));
  for (tsi_index k = 0; k < n; k++) (*place)[k] = TSI_NONE;
  for (tsi_index k = 0; k < n; k++) {
    if (order[k] < 0 || order[k] >= n || (*place)[order[k]] != TSI_NONE)
      TSI_FAIL(env, TRISTAR_ERR_FORMAT, "%s is no permutation: entry %d is %" PRId64, name, k, order[k]);
    (*at)[k] = (tsi_index)order[k];
    (*place)[order[k]] = k;
  }
  return TRISTAR_OK;
}

tristar_status tsi_pattern_move(tsi_env *env, const tsi_pattern *from, const void *values,
                                const tsi_index *row, const tsi_index *column, tsi_pattern **out,
                                void **out_values) {
  const size_t scalar = tsi_sparse_kernels_select(from->scalar)->scalar_bytes;
  const tsi_index *line = from->by_rows ? row : column, *index = from->by_rows ? column : row;
  TSI_CLEANUP(tsi_entries_finish) tsi_entries to = {.ptr = NULL};
  *out = NULL;
  *out_values = NULL;
  TSI_TRY(tsi_entries_begin(env, from->n, scalar, &to));
  for (tsi_index j = 0; j < from->n; j++) to.ptr[map(line, j) + 1] = from->ptr[j + 1] - from->ptr[j];
  TSI_TRY(tsi_entries_reserve(env, &to));
  for (tsi_index j = 0; j < from->n; j++)
    for (tsi_count e = from->ptr[j]; e < from->ptr[j + 1]; e++) {
      const tsi_count at = tsi_entries_put(&to, map(line, j), map(index, from->index[e]));
      memcpy((char *)to.item + (size_t)at * scalar, (const char *)values + (size_t)e * scalar, scalar);
    }
  tsi_entries_end(&to);
  TSI_TRY(tsi_entries_sort(env, &to));
  return tsi_pattern_from_entries(env, &to, from->by_rows, from->scalar, out, out_values);
}
