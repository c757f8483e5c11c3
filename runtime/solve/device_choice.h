/* How a factor is best cut for a GPU, by the cost model, and what a solve then takes.
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
  tsi_sweep_prediction sweep[2];         /* forward, backward; of a triangular matrix alone one is zero */
  tsi_sweep_prediction solve;            /* both */
  tsi_index nodes[TSI_DEVICE_SLICE + 1]; /* of the first sweep, by kind */
  size_t table_bytes;
  tsi_count workspace_rows;
} tsi_device_forecast;

/* A solve with A of one right-hand side by a plan with these options. Errors: those of
 * tsi_device_plan_create. */
TRISTAR_CHECKED tristar_status tsi_device_forecast_make(tsi_env *env, const tristar_factor_t *factor,
                                                        const tsi_device_options *options,
                                                        tsi_device_forecast *forecast);

/* The options that predict the least time: from those of tsi_device_options_init on nodes, then groups become
 * twice or half as large as long as that helps. costs: of the device. Panels are those of the factor. Errors:
 * the same. */
TRISTAR_CHECKED tristar_status tsi_device_choose(tsi_env *env, const tristar_factor_t *factor,
                                                 const tsi_device_costs *costs,
                                                 tsi_device_forecast *forecast);

/* To launch a kernel out of a task, seconds: assumed. */
#define TSI_DEVICE_TASK_SECONDS 20e-6

/* What StarPU takes from the end of a transfer to the start of the task that waits for it, or from the end of
 * a task on a device to that of one on the host, seconds: as its simulation has it. */
#define TSI_DEVICE_HANDOVER_SECONDS 15e-6

/* To begin a transfer, seconds; the share of a bus that transfers reach: assumed. */
#define TSI_DEVICE_BUS_SECONDS 10e-6
#define TSI_DEVICE_BUS_REACHED 0.8

/* Of a device's memory, what subtrees may take: assumed. */
#define TSI_DEVICE_MEMORY_SHARE 0.9

/* Bytes that may be taken of a device: `wanted`, an option, or, 0, a share of its memory; 0: unknown. */
static inline double tsi_device_room(int64_t wanted, const tsi_device_facts *facts) {
  return wanted > 0 ? (double)wanted : TSI_DEVICE_MEMORY_SHARE * facts->memory;
}

/* Finds the devices that an object with this `place` may use: *devices is their number, 0 if it is to stay on
 * the cores. obstacle: why it cannot use any; NULL: it can. Starts StarPU unless the answer is clear without
 * it; start_seconds: see tsi_context_need_starpu. Errors, of TRISTAR_PLACE_GPU alone: UNSUPPORTED (there is
 * an obstacle), NO_WORKER; of both: those of tsi_context_need_starpu. */
TRISTAR_CHECKED tristar_status tsi_devices_for(tristar_t *ts, tristar_place place, const char *obstacle,
                                               double *start_seconds, int *devices);

/* What a device of a data sheet costs with one right-hand side; what the cores cost is the caller's to set.
 */
tsi_device_split_costs tsi_device_split_costs_assumed(const tristar_factor_t *factor,
                                                      const tsi_device *device);

/* Where the subtrees of a factor go on a node with cores and devices, if a device is as much slower than the
 * bounds, of a subtree's longest chain and of its bytes at the bandwidth of the costs, as the forecast says
 * of the whole factor. Where subtrees would take more memory as they are cut than was estimated, they are
 * placed again with less. device_path and what device_memory.h estimates are not the caller's to set. Errors:
 * UNSUPPORTED (factors that have no tree of subtrees), TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_place(tsi_env *env, const tristar_factor_t *factor,
                                                const tsi_device_split_costs *costs,
                                                const tsi_device_forecast *forecast, tsi_device_split **out);
