/* The time of a solve with a triangle whose rows are distributed over GPUs of a node
 * (codelets/gpu/tables/spread_launch.h), from the simulator of dag/simulate.h.
 *
 * Model. A GPU is a process whose cores are the resident warps, which draw the bundles of its tables. A left
 * sum that another GPU reads is a message to a step that waits for it. Several left sums of one bundle that
 * another bundle reads are one message. With `unified`, left sums and flags are in managed memory instead:
 * the GPU that writes a sum has a page fault, and so has the GPU that reads it; faults do not wait for each
 * other.
 *
 * With `published` the model is that of the solver of Xie et al. (predict_published.h), with 1 task if
 * `tasks` is 0.
 *
 * Reads   lines that are the rows of the sweep.   Writes  predicted times and counts. */
#pragma once

#include "partition/cut/row_chunks.h"
#include "runtime/machine/devices.h"
#include "runtime/matrix/entries.h"
#include "runtime/rows/row_factor.h"
#include "tristar.h"

typedef struct tsi_spread_model {
  const tsi_device *device;
  tsi_index pes, tasks; /* number of GPUs; tasks of each GPU, 0: neighbouring rows stay together */
  size_t scalar_bytes;
  bool unified, published;
} tsi_spread_model;

/* Costs in seconds, all assumed. A warp draws a bundle, then processes groups of items: entries and flags, x,
 * the store of x and its flag. Each of these accesses waits for the one before. Further entries of a lane are
 * read while others are in flight. */
#define TSI_SPREAD_DRAW_SECONDS 1e-6
#define TSI_SPREAD_GROUP_SECONDS 2e-6
#define TSI_SPREAD_STEP_SECONDS 0.2e-6
/* A load from another GPU over a link; without a link, over the bus and main memory. */
#define TSI_SPREAD_LOAD_SECONDS 1.3e-6
#define TSI_SPREAD_BUS_SECONDS 5e-6
/* Page fault for a page of managed memory of another GPU: 20 to 50 us are published. */
#define TSI_SPREAD_FAULT_SECONDS 20e-6

typedef struct tsi_spread_predicted {
  double seconds;
  tsi_count gets;       /* number of left sums that other GPUs read */
  tristar_range active; /* seconds during which at least one warp of a GPU works */
} tsi_spread_predicted;

/* Whether two GPUs have a link. If the GPUs of a node all have links, so have any number of GPUs; else GPUs
 * of different nodes have none. */
bool tsi_spread_linked(const tsi_device *device, tsi_index a, tsi_index b);

/* Predicts a solve. Errors: ARGUMENT (pes is not between 1 and TSI_SPREAD_PES), TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_spread_predict(tsi_env *env, const tsi_lines *lines,
                                                  const tsi_spread_model *model, tsi_spread_predicted *out);

/* The same for a solve with an imported triangle; the scalar_bytes of the factor are used. Errors: also
 * UNSUPPORTED (the factor is no triangle by rows, or has orders). */
TRISTAR_CHECKED tristar_status tsi_spread_predict_factor(const tristar_factor_t *factor,
                                                         const tsi_spread_model *model,
                                                         tsi_spread_predicted *out);

/* The rows of a sweep: the lines of the factor, or their transpose with the values, stored in *own. The
 * caller calls tsi_entries_finish for own, whatever the status. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_sweep_lines(tsi_env *env, const tsi_row_factor *factor, bool backward,
                                               tsi_entries *own, tsi_lines *lines, const void **values);
