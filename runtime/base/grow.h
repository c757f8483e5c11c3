/* Arrays that grow.
 *
 * Reads, writes   the caller's array, which is the library's memory (env.h). */
#pragma once

#include "runtime/base/env.h"

/* Replaces *array of used elements by one with room for capacity. Errors: MEMORY; then it is as it was. */
TRISTAR_CHECKED tristar_status tsi_grow(tsi_env *env, void **array, size_t element, tsi_count used,
                                        tsi_count capacity);
/* Room for one more element: an array that is full is doubled. Errors: the same. */
TRISTAR_CHECKED tristar_status tsi_make_room(tsi_env *env, void **array, size_t element, tsi_count used,
                                             tsi_count *capacity);

/* The capacity to grow to from `capacity` full elements, when `limit` are expected in all. */
tsi_count tsi_next_capacity(tsi_count capacity, tsi_count limit);
