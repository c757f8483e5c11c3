/* Solves with a triangular matrix by a block cut (partition/cut/blocks.h): its sweeps, with the values that
 * the factor has, and the steps that work through them.
 *
 * Steps. Chunks of consecutive rows are read into the workspace, row i as row i; those of the sweep
 * (runtime/rows/block_sweep.h) work there; chunks of rows are written to the user. Where only some rows are
 * given or wanted, the chunks of rows are solved as those of any cut by rows are (row_factor.h).
 *
 * Reads   a plan's factor and chunks.   Writes  its own arrays, under its lock.
 * Invariants: a sweep is valid if its generation is that of the factor; steps that touch the same rows, one
 * of them writing, are ordered (dag/access.h). */
#pragma once

#include "runtime/rows/block_sweep.h"
#include "runtime/solve/plan.h"

typedef struct tsi_block_plan {
  pthread_mutex_t lock;
  tsi_block_sweep *sweep[2]; /* forward, backward; NULL: not needed yet */
  tsi_block_program program[2];
  int64_t generation[2];
} tsi_block_plan;

/* NULL: the factor is not cut into blocks. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_block_plan_create(const tristar_plan_t *plan, tsi_block_plan **out);
void tsi_block_plan_destroy(tsi_env *env, tsi_block_plan **blocks);

/* A sweep with the values that the factor has now. Not while the factor gets new ones. Errors: MEMORY,
 * TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_block_plan_prepare(const tristar_plan_t *plan, bool backward,
                                                      const tsi_block_program **out);

/* All steps of a sweep that was prepared. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_block_plan_steps(const tristar_plan_t *plan, bool backward,
                                                    tsi_steps **steps);
/* What these steps read and write. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_block_plan_list_accesses(const tristar_plan_t *plan, bool backward,
                                                            const tsi_steps *steps, tsi_access_list **out);
/* lane: of each of these steps. */
void tsi_block_plan_lanes(const tristar_plan_t *plan, bool backward, const tsi_steps *steps, tsi_index *lane);
