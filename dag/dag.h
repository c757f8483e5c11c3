/* The DAG of a solve: a forward sweep with one triangular factor, then a backward sweep with the same or
 * another one.
 *
 * Both factors have the same chunks of columns; their rows, slices and edges may differ (sweep.h). Node v of
 * the forward sweep is task v, node v of the backward sweep is task forward->nodes + v. The DAG has the edges
 * of the sweeps, reversed in the backward sweep. Further edges order the backward task of each chunk after
 * its forward task. They are left out if the edges of its ancestors imply this order: both sweeps are the
 * same one, and the chunk has off-rows.
 *
 * Reads   two sweeps, borrowed.   Writes  a tsi_dag that owns its arrays and is immutable afterwards.
 * Invariants (tsi_dag_check)
 *   - a topological order of all tasks exists
 *   - a task has a higher priority than the tasks that wait for it */
#pragma once

#include "dag/sweep.h"

typedef struct tsi_dag {
  const tsi_sweep *forward, *backward;
  tsi_index tasks;       /* forward->nodes + backward->nodes */
  double *priority;      /* tasks: bytes on the heaviest path from the task's start to the end of the solve */
  double critical_bytes; /* the largest priority */
} tsi_dag;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dag_create(tsi_env *env, const tsi_sweep *forward,
                                              const tsi_sweep *backward, tsi_dag **out);
TRISTAR_CHECKED tristar_status tsi_dag_check(tsi_env *env, const tsi_dag *dag);

/* Returns the chunk whose backward task has an edge from forward node v; TSI_NONE: there is none. */
tsi_index tsi_dag_turn(const tsi_dag *dag, tsi_index v);

/* Calls visit(arg, task, before) for every edge: `task` waits for `before`. */
void tsi_dag_for_each_edge(const tsi_dag *dag, void (*visit)(void *arg, tsi_index task, tsi_index before),
                           void *arg);

/* A legal order of the tasks, for the serial replay. seed 0: chunks ascending, then descending; any other
 * seed: a pseudo-random legal order. order: tasks. Errors: MEMORY, INTERNAL (the graph has a cycle). */
TRISTAR_CHECKED tristar_status tsi_dag_order(tsi_env *env, const tsi_dag *dag, unsigned seed,
                                             tsi_index *order);
