/* Arrays that grow.
 *
 * Reads, writes   the caller's array, which is the library's memory (env.h). */
#pragma once

#include "runtime/base/env.h"

/* Replaces *array with `used` elements by an array for `capacity` elements. Errors: MEMORY; then it is
 * unchanged. */
TRISTAR_CHECKED tristar_status tsi_grow(tsi_env *env, void **array, size_t element, tsi_count used,
                                        tsi_count capacity);
/* Makes space for one more element: a full array is doubled. Errors: the same. */
TRISTAR_CHECKED tristar_status tsi_reserve(tsi_env *env, void **array, size_t element, tsi_count used,
                                           tsi_count *capacity);

/* The next capacity after `capacity` full elements, if `limit` elements are expected in all. */
tsi_count tsi_next_capacity(tsi_count capacity, tsi_count limit);
