/* PT-Scotch, if TriStar is built with it: nested dissection of a graph whose vertices are distributed over
 * all ranks (Chevalier and Pellegrini, PT-Scotch: a tool for efficient parallel graph ordering, Parallel
 * Computing 34 (2008)).
 *
 * Reads   a part of the graph on each rank.   Writes  positions in the order of elimination.
 * Invariant: the order depends only on the graph, the distribution of its vertices and the seed, not on the
 * thread level of MPI: PT-Scotch runs with one thread, in a context of its own.
 * Not counted: memory that PT-Scotch allocates. Its messages are written to standard error. */
#pragma once

#include "runtime/mpi/matrix/dmatrix_graph.h"

/* Local. Checks that PT-Scotch is available. Errors: UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_ptscotch_need(tsi_env *env);

/* Collective, with no message in flight. position: the position of each vertex of this rank in the order of
 * all vertices. Errors: TOO_LARGE (more edges than its integers count), MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_ptscotch_order(tsi_env *env, tsi_transport *transport,
                                                  const tsi_rows_graph *graph, int seed, tsi_index *position);
