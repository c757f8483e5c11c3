/* The program of one process in a simulated factorization.
 *
 * Job. Add the steps and messages of a process to a world (dag/world.h): those of the DAG of its fronts, as a
 * real run has them, and what follows when all processes are through with theirs. They agree on that, and
 * hand panels on (handing.h), round after round:
 *
 *   EXCHANGE     a message to process rank + 2^k, and its arrival: how processes agree. Among rounds it is a
 *                time instead. With several grids: GRID_FORWARD
 *   FRONT_PACK   takes panels out of the stream, and sends them; puts what has arrived into the stream
 *
 * A message has as many rows as it has scalars; one of EXCHANGE has none, and is not counted.
 *
 * Reads   the DAG of the process, pieces of all processes, costs.
 * Writes  a process of a tsi_world.
 * Invariants
 *   - messages are those of a real run, with the same bytes (tests/mpi/test_distributed_factor.c)
 *   - steps are in the order in which a process with one core runs them
 *
 * A header of its own because front_program.c is about one process, and what uses it about all of them. */
#pragma once

#include "dag/factor/front_costs.h"
#include "dag/world.h"
#include "runtime/process/handing.h"
#include "tristar_layout.h"

typedef struct tsi_front_program {
  const tsi_factorization *dag;
  const tsi_handing *handing;
  const tsi_front_rates *rates;
  double agree_seconds; /* of a collective call of all processes */
  tsi_index grid;       /* processes of a grid */
  bool lu, edges;
} tsi_front_program;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_program_add(tsi_env *env, const tsi_front_program *program,
                                                     tsi_world *world);
