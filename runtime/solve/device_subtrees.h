/* The subtrees of a plan, or of a process (process_subtrees.h): subtrees on devices; each is one chunk.
 *
 * Job. Cut the chunks on devices, list the data that their steps use, and start their sweeps.
 *
 * Data. A factor has, for each subtree, its panels, interchanges, D^-1, and its tables, which devices read.
 * Plans share them (runtime/factor/residents.h). They cross the bus once, and again after the factor got new
 * values. A replay, or another execution, has, for each subtree, x of its columns and the updates of its
 * border: rows of its workspace. If U has its own structure, each sweep has another border. Each device has a
 * workspace and flags for one subtree at a time.
 *
 * Reads   a factor and chunks.
 * Writes  its own arrays, arrays of executions, the factor's residents.
 * Invariants: the data of a plan is immutable; the data of an execution belongs to its workspace, with the
 * stride for which it was made */
#pragma once

#include "runtime/solve/plan.h"
#include "tristar_device.h"

typedef struct tsi_plan_subtree {
  tsi_resident *resident;
  tsi_index chunk;
  int device;
} tsi_plan_subtree;

typedef struct tsi_plan_subtrees {
  tsi_env *env;
  char scalar; /* scalar type of the factor */
  size_t scalar_bytes;
  const void *stream[2];           /* streams of the factor: lower, upper; NULL: none */
  int sides;                       /* 2: U has its own structure */
  const tsi_solve_chunk *chunk[2]; /* chunks of each side */
  tsi_index count;
  tsi_plan_subtree *subtree;
  tsi_index *of_chunk; /* by chunk: its subtree, or TSI_NONE */
  bool *on_device;     /* by chunk */
} tsi_plan_subtrees;

/* places: it has devices. StarPU must run. Errors: UNSUPPORTED (features without support for devices),
 * NO_WORKER, TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_subtrees_create(tristar_plan_t *plan,
                                                          const tsi_device_split_options *places);
void tsi_device_subtrees_destroy(tristar_plan_t *plan);

/* Makes an empty list with space for all chunks; the caller sets the members that describe the factor. The
 * caller owns *out, also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_subtrees_allocate(tsi_env *env, tsi_index chunks,
                                                            tsi_plan_subtrees **out);
/* Adds a subtree, or records a chunk on the cores (device TSI_NONE). */
void tsi_device_subtrees_note(tsi_plan_subtrees *subtrees, tsi_index chunk, tsi_index device);

/* Return the seconds of a sweep on its device, for one right-hand side; the bytes of scratch that it needs
 * there, with rows of so many bytes. */
double tsi_device_subtree_sweep_seconds(const tsi_plan_subtree *subtree, bool backward);
size_t tsi_device_subtree_scratch(const tsi_plan_subtree *subtree, size_t row);
/* Reduces plan->block, but not below the columns that the plan is made for, and then plan->followed, until
 * factor, tables and workspaces fit in `memory` bytes on each device. memory 0: unknown. */
void tsi_device_subtrees_limit(tristar_plan_t *plan, double memory);

/* Return the figures of the k-th subtree; the number of devices with subtrees; the figures of the i-th of
 * these devices, for tristar_plan_get_device (false: there is none). */
tristar_subtree_stats tsi_device_subtree_describe(const tristar_plan_t *plan, tsi_index k);
int tsi_device_subtrees_devices(const tsi_plan_subtrees *subtrees);
bool tsi_device_subtrees_describe(const tristar_plan_t *plan, int i, tristar_device_stats *stats);
/* Does the same for a list of subtrees. stride, sweeps: of the solves for which transfers are counted. */
bool tsi_device_subtrees_describe_device(const tsi_plan_subtrees *subtrees, int i, tsi_index stride,
                                         tsi_sweeps sweeps, tristar_device_stats *stats);

/* Do the same for a triangle by rows on a device (runtime/rows/device_triangle.h). */
void tsi_plan_triangle_limit(tristar_plan_t *plan);
bool tsi_plan_triangle_describe(const tristar_plan_t *plan, tristar_device_stats *stats);

/* ---- Of an execution ---------------------------------------------------------------------------------- */

/* Makes the data for the workspace and the stride of an execution without data; its steps then use it.
 * Neither the execution nor its workspace may move. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_subtree_data_create(const tsi_plan_subtrees *subtrees,
                                                              tsi_execution *execution,
                                                              tsi_replay_subtrees **out);
/* Call it after the tasks were destroyed. */
void tsi_device_subtree_data_destroy(tsi_execution *execution, tsi_replay_subtrees **data);

/* Brings the factor's current values to the devices before a solve; no task of the replay is in flight.
 * *changed: the replay has no data for its workspace, so its recorded tasks cannot run. Errors: RUNTIME,
 * UNSUPPORTED (from inside a StarPU task, which cannot wait for transfers). */
TRISTAR_CHECKED tristar_status tsi_device_subtrees_prepare(tsi_replay *replay, bool *changed);
/* Makes the data of a replay without tasks. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_subtrees_renew(tsi_replay *replay);
/* Destroys the data of a replay. Call it after the tasks were destroyed. */
void tsi_device_subtrees_discard(tsi_replay *replay);
