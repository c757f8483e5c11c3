/* Predicted time of a sweep on a GPU: a list schedule of the tickets of device tables, for one right-hand
 * side.
 *
 * Model. Resident blocks draw tickets in their order. A block works on its ticket once it has drawn it and
 * the tickets that it waits for have ended. The work takes the time of tsi_device_costs: a time for the node,
 * for each panel, and for the moved bytes. These are moved at the bandwidth of a block, or at its share of
 * the device's bandwidth if this is less. The device's bandwidth is divided equally among the blocks that
 * stream when the work begins. The warps of a ticket work at the same time: the slowest one counts.
 *
 * Moved bytes are the factor, row numbers, x, and updates: written, then gathered with their positions.
 *
 * Not modelled: caches (all data is read from memory), the start of a launch, errors of the costs. The
 * figures rank ways to cut a factor and show the bottleneck; they are no measurements.
 *
 * Reads   tables, costs.   Writes  nothing. */
#pragma once

#include "runtime/exec/device/device_build.h"

typedef struct tsi_sweep_prediction {
  double seconds;
  double factor_bytes, bytes; /* bytes of the factor only; all moved bytes */
  double stream_seconds;      /* all bytes at the device's bandwidth: a lower bound */
  double path_seconds;      /* time of the critical path, with a block for each ticket: another lower bound */
  double path_latency;      /* latency in path_seconds, without streaming */
  double work_seconds;      /* work of all blocks divided by their number: the time of a perfect balance */
  tsi_index tickets, depth; /* depth: largest number of tickets in a chain */
} tsi_sweep_prediction;

/* The bottleneck: the largest of the lower bounds. If the schedule takes half as long again as this bound:
 * order and granularity. */
typedef enum tsi_device_bound {
  TSI_BOUND_BANDWIDTH, /* stream_seconds */
  TSI_BOUND_LATENCY,   /* path_seconds, most of it latency */
  TSI_BOUND_PATH,      /* path_seconds, most of it streaming by one block after the other */
  TSI_BOUND_BLOCKS,    /* work_seconds: there are too few blocks for so many nodes */
  TSI_BOUND_ORDER
} tsi_device_bound;

/* Predicts a sweep. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_predict(tsi_env *env, const tsi_device_tables *tables,
                                                  bool backward, size_t scalar_bytes,
                                                  const tsi_device_costs *costs,
                                                  tsi_sweep_prediction *prediction);

/* The critical path that ends with each node of a forward sweep, as path_seconds. path: nodes. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_paths(tsi_env *env, const tsi_device_tables *tables,
                                                size_t scalar_bytes, const tsi_device_costs *costs,
                                                double *path);

/* Prediction of two sweeps one after the other: sums, also of depth and path_latency. */
tsi_sweep_prediction tsi_predictions_add(tsi_sweep_prediction a, tsi_sweep_prediction b);
tsi_device_bound tsi_prediction_bound(const tsi_sweep_prediction *prediction);
