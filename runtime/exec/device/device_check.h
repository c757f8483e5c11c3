/* What the two files of tsi_device_tables_check share. */
#pragma once

#include "runtime/exec/device/device_build.h"

/* Tickets of a sweep: each node once, waits for earlier ones only, and that nodes which touch the same rows
 * of the workspace are ordered by waits, those that write before those that read. node_of_row: the chunk
 * whose x or off-row each row of the workspace is; TSI_NONE: of none. The nodes have been verified. Errors:
 * INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_order_check(tsi_env *env, const tsi_device_tables *tables,
                                                      const tsi_index *node_of_row, bool backward);
