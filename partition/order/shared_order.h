/* Nested dissection of a component by several processes.
 *
 * Job. METIS draws random numbers from the C library's rand(), which the threads of a process share: parts
 * that are ordered side by side are ordered by processes, helpers that run the program order_part. Large
 * parts are separated one by one; a small one is ordered as a whole. Where no helper can be started, or one
 * fails, this process does its work: the order is the same.
 *
 * Vertices with the same neighbours, as the unknowns of a node of a mesh have them, are merged before.
 *
 * Reads   a tsi_component.
 * Writes  its perm.
 * Invariant: perm depends on the component and the seed only. */
#ifndef TSI_PARTITION_ORDER_SHARED_ORDER_H
#define TSI_PARTITION_ORDER_SHARED_ORDER_H

#include "partition/order/core_graph.h"

/* cores: helpers at a time; 1: none. Errors: MEMORY, RUNTIME (METIS, CAMD). */
TRISTAR_CHECKED tristar_status tsi_shared_order(tsi_env *env, const tsi_component *c, int seed, int cores);

/* In a helper: does what the shared memory of so many bytes contains; returns an exit status. */
int tsi_shared_order_serve(void *memory, size_t bytes);

#endif
