/* Orderings by Scotch, if the library was built with it.
 *
 * A header of its own because it must not include metis.h: Scotch may install a metis.h with other types.
 *
 * Reads   the graph of a component.
 * Writes  its order.
 * Invariant: the result depends on the graph and the seed only. Scotch's global state, which changes from
 * call to call, is not used: each call has a context of its own, with one thread. */
#pragma once

#include "runtime/base/env.h"

/* Fails without Scotch. Errors: UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_scotch_need(tsi_env *env);
/* Orders n vertices: perm[k] is the vertex eliminated as number k. The neighbours of v are adj[xadj[v]] ..
 * adj[xadj[v+1]-1]. The integers of all three arrays have `bits` bits, 32 or 64. Errors: MEMORY, TOO_LARGE
 * (for Scotch's integers), RUNTIME (Scotch), UNSUPPORTED. */
TRISTAR_CHECKED tristar_status tsi_scotch_order(tsi_env *env, int64_t n, const void *xadj, const void *adj,
                                                int bits, int seed, void *perm);
