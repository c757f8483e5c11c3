/* Gathers factors of SuperLU_DIST from a grid of processes on process 0 of the grid.
 *
 * Job. SuperLU_DIST distributes blocks to nprow x npcol processes: process (I mod nprow, J mod npcol) stores
 * block (I, J). For each supernode process 0 receives the pieces of its columns of L and of its rows of U
 * from the other processes. It assembles them as SuperLU_DIST stores them on one process.
 *
 * Reads   the arrays of SuperLU_DIST on each process of the grid. Only process 0 allocates memory.
 * Writes  arrays on process 0 that equal those of a grid of 1 x 1.
 * Invariants
 *   - all processes agree before the first message; afterwards nothing is allocated and only MPI can fail
 *   - the rows of a supernode of L begin with those of its diagonal block */
#pragma once

#include <stdbool.h>

#include "runtime/adapters/superlu_dist_factors.h"

/* The gathered factors on process 0. Zero before the first use. */
typedef struct tsi_superlu_dist_gathered {
  int_t *index, **lower_index, **upper_index;
  char *values;
  void **lower_values, **upper_values;
  int_t *part_index; /* Data received from one process. */
  char *part_values;
} tsi_superlu_dist_gathered;

/* Returns whether this process imports the factors. */
bool tsi_superlu_dist_here(const gridinfo_t *grid);

/* Collective over the grid, which all processes have a pointer to; a grid of one process only returns the
 * status. mine: the status of this process so far. If it is OK, *parts refers to the whole factors on process
 * 0, as long as *all exists. The caller releases *all, also after a failure. Returns the error of the failed
 * process, which has the message: ARGUMENT, FORMAT, MEMORY, RUNTIME (MPI). */
TRISTAR_CHECKED tristar_status tsi_superlu_dist_gather(tristar_t *ts, const gridinfo_t *grid,
                                                       tristar_status mine, tsi_superlu_dist_parts *parts,
                                                       tsi_superlu_dist_gathered *all);
/* Collective over the grid. Returns the worst status of all processes; a process that failed returns its
 * own. */
TRISTAR_CHECKED tristar_status tsi_superlu_dist_agree(tristar_t *ts, const gridinfo_t *grid,
                                                      tristar_status mine);
void tsi_superlu_dist_gathered_release(tsi_superlu_dist_gathered *all);
