/* The time of a solve with a triangle whose rows are spread over GPUs of a node
 * (codelets/gpu/tables/spread_launch.h), by the simulator of dag/simulate.h.
 *
 * Model. A GPU is a process whose cores are the resident warps, which draw the bundles of its tables. A left
 * sum that another GPU reads is a message to a step that waits for it. Several left sums of one bundle that
 * another bundle reads are one message. With `unified` left sums and flags are in managed memory instead: the
 * GPU that makes a sum faults, and so does the GPU that reads it; faults do not wait for each other.
 *
 * Reads   lines that are the rows of the sweep.   Writes  figures. */
#pragma once

#include "partition/cut/row_chunks.h"
#include "runtime/machine/devices.h"
#include "runtime/matrix/entries.h"
#include "runtime/rows/row_factor.h"
#include "tristar.h"

typedef struct tsi_spread_model {
  const tsi_device *device;
  tsi_index pes, tasks; /* GPUs; tasks of each, 0: rows near each other */
  size_t scalar_bytes;
  bool unified;
} tsi_spread_model;

typedef struct tsi_spread_predicted {
  double seconds;
  tsi_count gets;       /* left sums that are read */
  tristar_range active; /* seconds in which at least one warp of a GPU works */
} tsi_spread_predicted;

/* Errors: ARGUMENT (pes is not between 1 and TSI_SPREAD_PES), TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_spread_predict(tsi_env *env, const tsi_lines *lines,
                                                  const tsi_spread_model *model, tsi_spread_predicted *out);

/* The same of a solve with an imported triangle; scalar_bytes is that of the factor. Errors: also UNSUPPORTED
 * (no triangle by rows, or one with orders). */
TRISTAR_CHECKED tristar_status tsi_spread_predict_factor(const tristar_factor_t *factor,
                                                         const tsi_spread_model *model,
                                                         tsi_spread_predicted *out);

/* The rows of a sweep: the lines of the factor, or their transpose with the values, which is in *own then; to
 * be finished by tsi_entries_finish, whatever the status. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_sweep_lines(tsi_env *env, const tsi_row_factor *factor, bool backward,
                                               tsi_entries *own, tsi_lines *lines, const void **values);
