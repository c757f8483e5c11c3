/* Chooses the cut of a factor for a GPU by the cost model, and predicts the time of a solve.
 *
 * Reads   the structure of a factor, a device's costs.   Writes  its result. */
#pragma once

#include "partition/device/device_split.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/machine/device_model.h"
#include "runtime/machine/devices.h"
#include "runtime/solve/device_plan.h"

typedef struct tsi_device_forecast {
  tsi_device_options options;
  tsi_sweep_prediction sweep[2]; /* forward, backward; a triangular matrix has only one, the other is 0 */
  tsi_sweep_prediction solve;    /* both sweeps */
  tsi_index nodes[TSI_DEVICE_SLICE + 1]; /* number of nodes of each kind in the first sweep */
  size_t table_bytes;
  tsi_count workspace_rows;
} tsi_device_forecast;

/* Predicts a solve with A and one right-hand side by a plan with these options. Errors: as
 * tsi_device_plan_create. */
TRISTAR_CHECKED tristar_status tsi_device_forecast_make(tsi_env *env, const tristar_factor_t *factor,
                                                        const tsi_device_options *options,
                                                        tsi_device_forecast *forecast);

/* Searches the options with the least predicted time. Starts with tsi_device_options_init; doubles or halves
 * the size of nodes, then of groups, as long as this helps. costs: of the device. The panels are those of the
 * factor. Errors: the same. */
TRISTAR_CHECKED tristar_status tsi_device_choose(tsi_env *env, const tristar_factor_t *factor,
                                                 const tsi_device_costs *costs,
                                                 tsi_device_forecast *forecast);

/* Seconds to launch a kernel from a task: assumed. */
#define TSI_DEVICE_TASK_SECONDS 20e-6

/* Seconds that StarPU takes from the end of a transfer to the start of the task that waits for it, or from
 * the end of a task on a device to the start of one on the host: values of its simulation. */
#define TSI_DEVICE_HANDOVER_SECONDS 15e-6

/* Seconds to begin a transfer; share of the bus bandwidth that transfers reach: assumed. */
#define TSI_DEVICE_BUS_SECONDS 10e-6
#define TSI_DEVICE_BUS_REACHED 0.8

/* Share of a device's memory for subtrees: assumed. */
#define TSI_DEVICE_MEMORY_SHARE 0.9

/* Returns the bytes of a device that may be used: `requested`, an option, or, if it is 0, a share of the
 * device's memory. 0: unknown. */
static inline double tsi_device_space(int64_t requested, const tsi_device_facts *facts) {
  return requested > 0 ? (double)requested : TSI_DEVICE_MEMORY_SHARE * facts->memory;
}

/* Finds the devices that an object with this `place` may use. *devices is their number; 0: the object stays
 * on the cores. obstacle: the reason why it cannot use devices; NULL: none. Starts StarPU unless the result
 * is clear without it; start_seconds: see tsi_context_need_starpu. Errors, only for TRISTAR_PLACE_GPU:
 * UNSUPPORTED (there is an obstacle), NO_WORKER; for all: those of tsi_context_need_starpu. */
TRISTAR_CHECKED tristar_status tsi_devices_for(tristar_t *ts, tristar_place place, const char *obstacle,
                                               double *start_seconds, int *devices);

/* Returns the costs of a device by its data sheet, for one right-hand side. The caller sets the costs of the
 * cores. */
tsi_device_split_costs tsi_device_split_costs_assumed(const tristar_factor_t *factor,
                                                      const tsi_device *device);

/* Assigns the subtrees of a factor to the cores and devices of a node. The time of a subtree has two lower
 * bounds: its longest chain, and its bytes at the bandwidth of the costs. Assumes that a device exceeds these
 * bounds by the same ratio as in the forecast for the whole factor. If the placed subtrees, once cut, need
 * more memory than estimated, it places them again with less memory. It sets device_path and the estimates of
 * device_memory.h in the costs itself. Errors: UNSUPPORTED (factors without a tree of subtrees), TOO_LARGE,
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_place(tsi_env *env, const tristar_factor_t *factor,
                                                const tsi_device_split_costs *costs,
                                                const tsi_device_forecast *forecast, tsi_device_split **out);
