/* The edges of a sweep, transitively reduced.
 *
 * Reads   the pairs of a sweep, its chunks.   Writes  next_ptr, next, prev_ptr, prev, edges of the sweep. */
#ifndef TSI_DAG_EDGES_H
#define TSI_DAG_EDGES_H

#include "dag/sweep.h"

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_sweep_list_edges(tsi_env *env, tsi_sweep *sweep, const tsi_chunks *chunks);

#endif
