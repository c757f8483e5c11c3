/* `tristar solve MATRIX --layout PXxPYxPZ` under mpiexec: a factor spread over processes.
 *
 * All ranks read rows of the matrix, and factor it together: no rank has all of it. Where that cannot be (a
 * file that is not read in parts) rank 0 reads and analyzes it. Rank 0 has b and x, judges x and tells
 * everything. What fails on any rank is told by rank 0 once, and all ranks
 * end with the same status. */
#ifndef TSI_DRIVERS_COMMAND_DISTRIBUTED_H
#define TSI_DRIVERS_COMMAND_DISTRIBUTED_H

#include "drivers/session/options.h"

int tsi_solve_distributed(const tsi_settings *settings);

/* Collective, of a program with MPI: what this process is to do of the given settings. It gets its share of
 * the node's cores, and writes no file unless it is rank 0. */
tsi_settings tsi_settings_of_rank(const tsi_settings *given, int rank);

#endif
