/* Nested dissection in parts that can be ordered side by side.
 *
 * Job. A vertex separator divides a component in two; both parts are divided likewise, down to parts of a
 * size that depends on the component alone, which METIS_NodeND orders. A part comes before its separator. One
 * separator of METIS at a time is better than METIS_NodeND from the top: the factor takes 5 to 10 % fewer
 * operations.
 *
 * Reads   a tsi_component.
 * Writes  its perm.
 * Invariant: the same component and seed give the same perm. */
#ifndef TSI_PARTITION_ORDER_SEPARATORS_H
#define TSI_PARTITION_ORDER_SEPARATORS_H

#include "partition/order/core_graph.h"

/* Errors: MEMORY, RUNTIME (METIS). */
TRISTAR_CHECKED tristar_status tsi_order_by_separators(tsi_env *env, const tsi_component *c, int seed);

#endif
