/* How long a sweep takes on a GPU: a list schedule of the tickets of device tables, for one right-hand side.
 *
 * Model. Resident blocks draw tickets in their order. A block works on its ticket from when it has drawn it
 * and all that it waits for is through; that takes what tsi_device_costs says: a time for the node, a time
 * for each panel, and the bytes that it moves, at the bandwidth of a block or at its share of the device's,
 * whichever is less. The share is that among the blocks that stream at the time it begins. The warps of a
 * ticket work side by side: the slowest counts.
 *
 * Bytes moved are those of the factor, row numbers, x, and updates: written, gathered with where from.
 *
 * What is left out: caches (everything comes from memory), the start of a launch, wrong guesses about costs.
 * The figures rank ways to cut a factor and tell what bounds the time; they are no measurements.
 *
 * Reads   tables, costs.   Writes  nothing. */
#pragma once

#include "runtime/exec/device/device_build.h"

typedef struct tsi_sweep_prediction {
  double seconds;
  double factor_bytes, bytes; /* of the factor alone; all that are moved */
  double stream_seconds;      /* all bytes at the device's bandwidth: a lower bound */
  double path_seconds; /* the longest chain of waits, were there as many blocks as tickets: another one */
  double path_latency; /* of these, what does not stream */
  double work_seconds; /* the time that blocks work, by all blocks: what a perfect balance would take */
  tsi_index tickets, depth; /* depth: tickets of the longest chain, by number */
} tsi_sweep_prediction;

/* What a time is bound by: the largest of the lower bounds; or by none of them, if the schedule takes half as
 * long again: then order and granularity are. */
typedef enum tsi_device_bound {
  TSI_BOUND_BANDWIDTH, /* stream_seconds */
  TSI_BOUND_LATENCY,   /* path_seconds, most of it latency */
  TSI_BOUND_PATH,      /* path_seconds, most of it streaming by one block after the other */
  TSI_BOUND_BLOCKS,    /* work_seconds: there are too few blocks for so many nodes */
  TSI_BOUND_ORDER
} tsi_device_bound;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_predict(tsi_env *env, const tsi_device_tables *tables,
                                                  bool backward, size_t scalar_bytes,
                                                  const tsi_device_costs *costs,
                                                  tsi_sweep_prediction *prediction);

/* The longest chain of waits that ends with each node of a forward sweep, as path_seconds. path: nodes.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_paths(tsi_env *env, const tsi_device_tables *tables,
                                                size_t scalar_bytes, const tsi_device_costs *costs,
                                                double *path);

/* Of several sweeps one after the other: sums; depth and path_latency too. */
tsi_sweep_prediction tsi_predictions_add(tsi_sweep_prediction a, tsi_sweep_prediction b);
tsi_device_bound tsi_prediction_bound(const tsi_sweep_prediction *prediction);
