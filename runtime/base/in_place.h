/* The rule for arrays x that may be b: the arrays of a call, and a check of their strides. */
#pragma once

#include "runtime/base/env.h"

/* An array of columns: its name in messages, and the scalars between rows, between columns, and between the
 * arrays of two systems of a batch (0: one system). */
typedef struct tsi_named_array {
  const char *name;
  const void *array;
  int64_t row, column, system;
} tsi_named_array;

/* If x is b, both have the same strides, even for one column: otherwise entries of b would be read after x
 * has replaced them. NULL is no array. Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_check_in_place(const tsi_env *env, tsi_named_array b, tsi_named_array x);
