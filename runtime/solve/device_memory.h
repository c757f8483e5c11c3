/* Device memory of subtrees: an estimate for all supernodes, before subtrees are placed; and the exact value,
 * once placed subtrees are cut.
 *
 * A device stores factor and tables of each of its subtrees as long as plans use it there. For each solve in
 * flight it stores x of its columns and the rows of its border. For each solve in flight it also needs one
 * workspace, as large as the largest of its subtrees needs, because it works on subtrees one after the other.
 *
 * Estimate. It uses the tables and workspaces that the whole factor has for the same supernodes. A subtree
 * that is cut alone differs: slices depend on other chunks, and warps share tickets in other ways.
 *
 * Reads   the structure of a factor, costs.   Writes  its results. */
#pragma once

#include "partition/device/device_split.h"
#include "runtime/solve/device_plan.h"

/* Arrays that the costs point to; an entry per supernode. */
typedef struct tsi_device_memory {
  double *stored, *extra, *scratch;
  tsi_index *border;
} tsi_device_memory;

/* Sets the members of the costs for the memory of a device, for costs->solves solves in flight with rows of
 * costs->row_bytes. plan: plan of the factor. *memory is empty after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_memory_estimate(tsi_env *env, const tristar_factor_t *factor,
                                                          const tsi_device_plan *plan,
                                                          tsi_device_split_costs *costs,
                                                          tsi_device_memory *memory);
void tsi_device_memory_finish(tsi_device_memory *memory);

/* *bytes: memory that the subtrees of a placing need, if cut with these options, on the device with the most.
 * It is exact up to 64 scalars per subtree and factor, which align streams. Errors: TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_memory_measure(tsi_env *env, const tristar_factor_t *factor,
                                                         const tsi_device_options *options,
                                                         const tsi_device_split_costs *costs,
                                                         const tsi_device_split *placing, double *bytes);

/* Scratch of a device for a subtree: the workspace of its tables, then flags. row: bytes of a row. Return the
 * offset of the flags, and the size of the scratch. */
size_t tsi_device_scratch_flags(const tsi_device_tables *tables, size_t row);
size_t tsi_device_scratch_bytes(const tsi_device_tables *tables, size_t row);
