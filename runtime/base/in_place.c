/* The rule for arrays x that may be b: see in_place.h. */
#include "runtime/base/in_place.h"

#include <inttypes.h>

tristar_status tsi_check_in_place(const tsi_env *env, tsi_named_array b, tsi_named_array x) {
  if (x.array != b.array || x.array == NULL) return TRISTAR_OK;
  if (x.row != b.row || x.column != b.column)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "%s is %s, but their strides differ: rows %" PRId64 " and %" PRId64 ", columns %" PRId64
             " and %" PRId64,
             x.name, b.name, b.row, x.row, b.column, x.column);
  if (x.system != b.system)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "%s is %s, but their strides differ: systems %" PRId64 " and %" PRId64, x.name, b.name, b.system,
             x.system);
  return TRISTAR_OK;
}
