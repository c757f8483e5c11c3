/* Which nodes of device tables read what others write: the edges of a sweep between them.
 *
 * The nodes of a sliced chunk's triangle, and its slices where they gather, come after the node of the chunk.
 * Forward edges follow from the gather lists, and a slice comes after all of its triangle, unless the
 * triangle is in its values. Backward they are the edges of the CPU's sweep, in which those that others imply
 * are left out: from all of a triangle where they lead from its chunk; beside them a slice and a triangle
 * come after the slices whose partial sums they add. As the first slice of each group adds those of the next
 * group, all slices of a chunk come before its triangle.
 *
 * Reads   nodes and gather lists of device tables, the sweep that they were made from.
 * Writes  a tsi_device_edges that owns its arrays. */
#ifndef TSI_RUNTIME_EXEC_DEVICE_DEVICE_EDGES_H
#define TSI_RUNTIME_EXEC_DEVICE_DEVICE_EDGES_H

#include "codelets/gpu/tables/device_tables.h"
#include "dag/sweep.h"

typedef struct tsi_device_edges {
  tsi_index *order; /* nodes, in an order that the edges allow */
  tsi_count *ptr;   /* nodes + 1 */
  tsi_index *list;  /* the nodes that a node comes after, each once */
} tsi_device_edges;

/* After a failure *edges is empty. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_edges_create(tsi_env *env, const tsi_device_tables *tables,
                                                       const tsi_sweep *sweep, bool backward,
                                                       tsi_device_edges *edges);
void tsi_device_edges_destroy(tsi_env *env, tsi_device_edges *edges);

#endif
