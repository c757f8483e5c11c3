/* Shared by the two files of tsi_device_tables_check. */
#pragma once

#include "runtime/exec/device/device_build.h"

/* Checks the tickets of a sweep: each node is in one ticket; tickets wait only for earlier ones; nodes that
 * access the same rows of the workspace are ordered by waits, writers before readers. node_of_row: the chunk
 * whose x or off-row each row of the workspace is; TSI_NONE: none. The nodes have been verified. Errors:
 * INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_order_check(tsi_env *env, const tsi_device_tables *tables,
                                                      const tsi_index *node_of_row, bool backward);
