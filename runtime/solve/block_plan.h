/* Solves with a triangular matrix by a block cut (partition/cut/blocks.h): its sweeps with the current values
 * of the factor, and their steps.
 *
 * Steps. Chunks of consecutive rows are read into the workspace, row i as row i. The chunks of the sweep
 * (runtime/rows/block_sweep.h) work there. Then chunks of rows are written to the user's x. If only some rows
 * are given or wanted, the chunks of rows are solved like those of a row cut (row_factor.h).
 *
 * Reads   a plan's factor and chunks.   Writes  its own arrays, under its lock.
 * Invariants: a sweep is valid if it has the generation of the factor; two steps that access the same rows
 * are ordered if one of them writes (dag/access.h). */
#pragma once

#include "runtime/rows/block_sweep.h"
#include "runtime/solve/plan.h"

typedef struct tsi_block_plan {
  pthread_mutex_t lock;
  tsi_block_sweep *sweep[2]; /* forward, backward; NULL: not needed yet */
  tsi_block_program program[2];
  int64_t generation[2];
} tsi_block_plan;

/* *out is NULL if the factor has no block cut. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_block_plan_create(const tristar_plan_t *plan, tsi_block_plan **out);
void tsi_block_plan_destroy(tsi_env *env, tsi_block_plan **blocks);

/* Returns a sweep with the current values of the factor. Do not call it while the factor gets new values.
 * Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_block_plan_prepare(const tristar_plan_t *plan, bool backward,
                                                      const tsi_block_program **out);

/* Lists all steps of a prepared sweep. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_block_plan_steps(const tristar_plan_t *plan, bool backward,
                                                    tsi_steps **steps);
/* Lists the reads and writes of these steps. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_block_plan_list_accesses(const tristar_plan_t *plan, bool backward,
                                                            const tsi_steps *steps, tsi_access_list **out);
/* Writes the lane of each of these steps. */
void tsi_block_plan_lanes(const tristar_plan_t *plan, bool backward, const tsi_steps *steps, tsi_index *lane);
