/* What subtrees take of a device's memory: estimated for all supernodes, before subtrees are placed; and as
 * the cut of those that are placed makes it.
 *
 * A device keeps for each of its subtrees, as long as plans have it there, factor and tables; for each solve
 * in flight x of its columns and the rows of its border. It needs for each solve in flight the workspace of
 * the subtree that has the largest one, as it works on them one after the other.
 *
 * Estimate. Tables and workspaces of subtrees are those that the whole factor has for the same supernodes.
 * They differ from those of a subtree that is cut alone: slices depend on what is around, warps share
 * tickets otherwise.
 *
 * Reads   the structure of a factor, costs.   Writes  its results. */
#pragma once

#include "partition/device/device_split.h"
#include "runtime/solve/device_plan.h"

/* What costs point to; supernodes. */
typedef struct tsi_device_memory {
  double *stored, *beside, *scratch;
  tsi_index *border;
} tsi_device_memory;

/* Fills the members of the costs that say what a device keeps and needs, for costs->solves solves in flight
 * with rows of costs->row_bytes. plan: of the factor. *memory is empty after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_memory_estimate(tsi_env *env, const tristar_factor_t *factor,
                                                          const tsi_device_plan *plan,
                                                          tsi_device_split_costs *costs,
                                                          tsi_device_memory *memory);
void tsi_device_memory_finish(tsi_device_memory *memory);

/* *bytes: what the subtrees of a placing take on the device that has least room for them, cut with these
 * options. At most 64 scalars a subtree and factor too many, by which its stream begins at a multiple of
 * these. Errors: TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_memory_measure(tsi_env *env, const tristar_factor_t *factor,
                                                         const tsi_device_options *options,
                                                         const tsi_device_split_costs *costs,
                                                         const tsi_device_split *placing, double *bytes);

/* Scratch of a device for a subtree: the workspace of its tables, then flags. row: bytes. */
size_t tsi_device_scratch_flags(const tsi_device_tables *tables, size_t row); /* where these begin */
size_t tsi_device_scratch_bytes(const tsi_device_tables *tables, size_t row);
