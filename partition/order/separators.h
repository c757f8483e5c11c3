/* Nested dissection of a component, one part after another.
 *
 * Job. A vertex separator of METIS divides a part in two; both sides are divided likewise, down to small
 * parts. Approximate minimum degree orders these and takes account of their edges to the surrounding
 * separators. A part comes before its separator. Compared with METIS_NodeND, on meshes the factor takes 3 to
 * 10 % fewer operations, and the ordering takes a tenth less time on one core.
 *
 * A header of its own because the order does not depend on the process that computes it.
 *
 * Reads   a tsi_order_part.
 * Writes  the order of its own vertices.
 * Invariant: the same part and seed give the same order. So parts may be ordered in any sequence, and by
 * other processes (shared_order.h). */
#pragma once

#include "partition/order/order_part.h"

/* order[p->at + k]: the vertex of the part that is eliminated as number k, taken from the part's result, its
 * order. */
void tsi_separators_place(const tsi_order_part *p, idx_t *order);
/* Writes the separator of p to the order; the result of p must be the sides. Adds both sides as parts to the
 * list, unless one is empty: then *divided is false, and nothing is done. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_separators_divide(tsi_env *env, const tsi_order_part *p, idx_t *order,
                                                     tsi_order_part **list, bool *divided);
/* Orders the part: order[at + k] for its n vertices, k from 0. Errors: MEMORY, RUNTIME (METIS, CAMD). */
TRISTAR_CHECKED tristar_status tsi_separators_order(tsi_env *env, tsi_order_part *part, int seed,
                                                    idx_t *order);
void tsi_separators_release(tsi_env *env, tsi_order_part **list);
