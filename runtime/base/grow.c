/* Arrays that grow: see grow.h. */
#include "runtime/base/grow.h"

#define FIRST_CAPACITY ((tsi_count)1 << 14)

tristar_status tsi_grow(tsi_env *env, void **array, size_t element, tsi_count used, tsi_count capacity) {
  void *larger = NULL;
  TSI_TRY(tsi_allocate(env, (size_t)capacity, element, __func__, __FILE__, __LINE__, &larger));
  if (used > 0) memcpy(larger, *array, (size_t)used * element);
  tsi_own_as(*array, larger);
  tsi_release(*array);
  *array = larger;
  return TRISTAR_OK;
}

tristar_status tsi_reserve(tsi_env *env, void **array, size_t element, tsi_count used, tsi_count *capacity) {
  const tsi_count requested = 2 * *capacity + 64;
  if (used < *capacity) return TRISTAR_OK;
  const tristar_status status = tsi_grow(env, array, element, used, requested);
  if (status == TRISTAR_OK) *capacity = requested;
  return status;
}

tsi_count tsi_next_capacity(tsi_count capacity, tsi_count limit) {
  tsi_count next = capacity < FIRST_CAPACITY / 2 ? FIRST_CAPACITY : 2 * capacity;
  return limit > capacity ? tsi_count_min(next, limit) : next;
}
