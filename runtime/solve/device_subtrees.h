/* The subtrees of a plan, or of a process (process_subtrees.h): subtrees that work on devices, one chunk
 * each.
 *
 * Job. Cut the chunks that are placed on devices for them, say what data the steps of these chunks work with,
 * and start sweeps there.
 *
 * Data. Of a factor, for each subtree, shared by its plans (runtime/factor/residents.h): its panels,
 * interchanges, D^-1, and its tables, which devices read; they cross the bus once, and again after the factor
 * got new values. Of a replay, or of another execution, for each subtree: x of its columns and the updates of
 * its border, which are rows of its workspace; where U has rows of its own the border is another one in each
 * sweep. For each device: a workspace and flags there, for one subtree at a time.
 *
 * Reads   a factor and chunks.
 * Writes  its own arrays, those of executions, the factor's residents.
 * Invariants: all of a plan's is immutable; the data of an execution is that of its workspace, with the
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
  char scalar; /* of the factor */
  size_t scalar_bytes;
  const void *stream[2];           /* of the factor: lower, upper; NULL: there is none */
  int sides;                       /* 2: U has rows of its own */
  const tsi_solve_chunk *chunk[2]; /* of sides: chunks */
  tsi_index count;
  tsi_plan_subtree *subtree;
  tsi_index *of_chunk; /* chunks: the subtree; TSI_NONE */
  bool *on_device;     /* chunks */
} tsi_plan_subtrees;

/* places: with devices. StarPU runs. Errors: UNSUPPORTED (what plans with devices cannot do), NO_WORKER,
 * TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_subtrees_create(tristar_plan_t *plan,
                                                          const tsi_device_split_options *places);
void tsi_device_subtrees_destroy(tristar_plan_t *plan);

/* Subtrees without any, and room for all chunks; what they are of is the caller's to set. *out is the
 * caller's, also after a failure. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_subtrees_allocate(tsi_env *env, tsi_index chunks,
                                                            tsi_plan_subtrees **out);
/* One more of them, or a chunk of the cores: device TSI_NONE. */
void tsi_device_subtrees_note(tsi_plan_subtrees *subtrees, tsi_index chunk, tsi_index device);

/* Seconds of a sweep of its device, for one right-hand side; bytes of scratch that it needs there, with rows
 * of so many bytes. */
double tsi_device_subtree_sweep_seconds(const tsi_plan_subtree *subtree, bool backward);
size_t tsi_device_subtree_scratch(const tsi_plan_subtree *subtree, size_t row);
/* Makes plan->block, but not below what the plan is made for, and then plan->followed so small that no device
 * has more bytes than `memory` of the factor, tables and workspaces. memory 0: nobody knows how much there
 * is.
 */
void tsi_device_subtrees_limit(tristar_plan_t *plan, double memory);

/* What is told of the k-th subtree; the devices that have subtrees; tristar_plan_get_device, where stats is
 * there. */
tristar_subtree_stats tsi_device_subtree_describe(const tristar_plan_t *plan, tsi_index k);
int tsi_device_subtrees_devices(const tsi_plan_subtrees *subtrees);
bool tsi_device_subtrees_describe(const tristar_plan_t *plan, int i, tristar_device_stats *stats);
/* The same of subtrees: stride of the solves that cross the bus; sweeps of them. */
bool tsi_device_subtrees_describe_device(const tsi_plan_subtrees *subtrees, int i, tsi_index stride,
                                         tsi_sweeps sweeps, tristar_device_stats *stats);

/* The same of a triangle by rows on a device (runtime/rows/device_triangle.h). */
void tsi_plan_triangle_limit(tristar_plan_t *plan);
bool tsi_plan_triangle_describe(const tristar_plan_t *plan, tristar_device_stats *stats);

/* ---- Of an execution ---------------------------------------------------------------------------------- */

/* Makes the data for the workspace and the stride of an execution that has none, whose steps find it from
 * then on. Neither may move. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_subtree_data_create(const tsi_plan_subtrees *subtrees,
                                                              tsi_execution *execution,
                                                              tsi_replay_subtrees **out);
/* Its tasks are gone. */
void tsi_device_subtree_data_destroy(tsi_execution *execution, tsi_replay_subtrees **data);

/* Before a solve, where no task of the replay is in flight: devices are to have the factor's present values.
 * *anew: the replay has no data for its workspace, so that nothing that was recorded can run. Errors:
 * RUNTIME, UNSUPPORTED (from inside a StarPU task, which cannot wait for transfers). */
TRISTAR_CHECKED tristar_status tsi_device_subtrees_prepare(tsi_replay *replay, bool *anew);
/* Makes the data of a replay, which has no tasks. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_subtrees_renew(tsi_replay *replay);
/* Its tasks are gone. */
void tsi_device_subtrees_forget(tsi_replay *replay);
