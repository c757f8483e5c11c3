/* Factors of SuperLU_DIST on a grid of processes, brought to its process 0.
 *
 * Job. SuperLU_DIST deals blocks to nprow x npcol processes: block (I, J) is on process (I mod nprow,
 * J mod npcol). Supernode after supernode process 0 receives what the others have of its columns of L and of
 * its rows of U, and puts it together as one process would have it.
 *
 * Reads   the arrays of SuperLU_DIST on each process of the grid, of which the others than process 0 allocate
 *         nothing.
 * Writes  on process 0 arrays of its own, as those of a grid of 1 x 1.
 * Invariants
 *   - all processes agree before anything is sent; from then on nothing is allocated and nothing can fail but
 * MPI
 *   - rows of a supernode of L begin with those of its diagonal block */
#pragma once

#include <stdbool.h>

#include "runtime/adapters/superlu_dist_factors.h"

/* What process 0 holds; zero before the first use. */
typedef struct tsi_superlu_dist_gathered {
  int_t *index, **lower_index, **upper_index;
  char *values;
  void **lower_values, **upper_values;
  int_t *part_index; /* what comes from one process */
  char *part_values;
} tsi_superlu_dist_gathered;

/* Is this process to import the factors? */
bool tsi_superlu_dist_here(const gridinfo_t *grid);

/* Collective over the grid, whose pointer all processes have; nothing but the status for a grid of one. mine:
 * what this process has found. *parts, good if mine is OK, then refers to the whole factors on process 0, as
 * long as *all is. all is to be released also after a failure. Errors: the first one of a process, whose
 * message is there; ARGUMENT, FORMAT, MEMORY, RUNTIME (MPI). */
TRISTAR_CHECKED tristar_status tsi_superlu_dist_gather(tristar_t *ts, const gridinfo_t *grid,
                                                       tristar_status mine, tsi_superlu_dist_parts *parts,
                                                       tsi_superlu_dist_gathered *all);
/* Collective over the grid: the worst status of all processes. */
TRISTAR_CHECKED tristar_status tsi_superlu_dist_agree(tristar_t *ts, const gridinfo_t *grid,
                                                      tristar_status mine);
void tsi_superlu_dist_gathered_release(tsi_superlu_dist_gathered *all);
