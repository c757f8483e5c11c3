/* The program of one process in a simulated factorization.
 *
 * Job. Add the steps and messages of a process to a world (dag/world.h): first those of the DAG of its
 * fronts, as in a real run. When all processes have ended their DAGs, they agree on that, and hand on panels
 * (handing.h), round after round:
 *
 *   EXCHANGE     a message to process rank + 2^k, and its arrival: the agreement of the processes. Between
 *                rounds it is only a time. With several grids: GRID_FORWARD
 *   FRONT_PACK   copies panels from the stream, and sends them; copies arrived panels to the stream
 *
 * A message has one row for each scalar; a message of EXCHANGE has no rows, and is not counted.
 *
 * Reads   the DAG of the process, pieces of all processes, costs.
 * Writes  a process of a tsi_world.
 * Invariants
 *   - messages are those of a real run, with the same bytes (tests/mpi/test_distributed_factor.c)
 *   - steps are in the order in which a process with one core runs them
 *
 * A header of its own because front_program.c is about one process, and its caller about all of them. */
#pragma once

#include "dag/factor/front_costs.h"
#include "dag/world.h"
#include "runtime/process/handing.h"
#include "tristar_layout.h"

typedef struct tsi_front_program {
  const tsi_factorization *dag;
  const tsi_handing *handing;
  const tsi_front_rates *rates;
  double agree_seconds; /* time of a collective call of all processes */
  tsi_index grid;       /* number of processes of a grid */
  bool lu, edges;
} tsi_front_program;

/* Adds the process to the world. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_program_add(tsi_env *env, const tsi_front_program *program,
                                                     tsi_world *world);
