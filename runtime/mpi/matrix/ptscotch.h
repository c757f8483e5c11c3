/* PT-Scotch, where TriStar is built with it: nested dissection of a graph whose vertices lie on all ranks
 * (Chevalier and Pellegrini, PT-Scotch: a tool for efficient parallel graph ordering, Parallel Computing 34
 * (2008)).
 *
 * Reads   a part of the graph on each rank.   Writes  places in the order of elimination.
 * Invariant: the same graph on as many ranks, with the same vertices on each, and the same seed give the same
 * order, whatever the thread level of MPI: one thread, in a context of its own.
 * What it allocates is not counted, and messages of its own go to standard error. */
#pragma once

#include "runtime/mpi/matrix/dmatrix_graph.h"

/* Local. Is it there? Errors: UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_ptscotch_need(tsi_env *env);

/* Collective, with no message in flight. position: of each vertex of this rank, its place in the order of
 * all. Errors: TOO_LARGE (more edges than its integers count), MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_ptscotch_order(tsi_env *env, tsi_transport *transport,
                                                  const tsi_rows_graph *graph, int seed, tsi_index *position);
