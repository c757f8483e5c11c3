/* Creates the device tables (codelets/gpu/tables/device_tables.h) of a triangular factor: nodes from chunks,
 * slices and triangles; gather lists from off-rows; tickets from the dependences of nodes.
 *
 * Order of tickets. The priority of a node is the time of the critical path from it to the end of its sweep,
 * by tsi_device_costs. Nodes are ordered by descending priority. In this order a ticket takes as many warp
 * nodes of one level as it holds, until a node waits for one of them. The level of a node is the number of
 * nodes in the longest chain before it. So a ticket adds no wait to the longest chain. The order decides when
 * nodes run, not what they compute: results depend only on chunks and kinds of nodes.
 *
 * Reads   chunks, sweep, panels and positions of values, as for the CPU's tables (tables.h).
 * Writes  a tsi_device_tables, which owns its one block of memory. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"
#include "runtime/exec/steps/tables.h"

/* Costs of a node on a device, in seconds and bytes per second. */
typedef struct tsi_device_costs {
  int blocks;             /* resident blocks */
  double node_seconds;    /* to draw a ticket, wait, gather, raise the flag */
  double panel_seconds;   /* a block's barriers for a panel */
  double warp_seconds;    /* time of a warp for a panel before it streams */
  double block_bandwidth; /* bandwidth of one block */
  double warp_bandwidth;  /* bandwidth of one warp */
  double bandwidth;       /* bandwidth of all blocks together */
} tsi_device_costs;

/* Options for cutting a factor into nodes. */
typedef struct tsi_device_options {
  double node_bytes;  /* largest bytes of a chunk, except single panels, which are cut into slices of about
                         this size */
  double group_bytes; /* largest bytes of a chunk of bottom subtrees */
  double warp_bytes;  /* largest bytes of an unsliced chunk of narrow panels that a warp processes. For this
                         and group_bytes, the weight of a panel includes the bytes that a warp streams in
                         warp_seconds */
  tsi_index panel_width; /* maximum number of columns of a panel; 0: panels are those of the factor. Other
                            panels are only for predictions: they have no values */
  size_t scalar_bytes;
  tsi_device_costs costs;
} tsi_device_options;

/* Options of chunks for these nodes. */
tsi_chunk_options tsi_device_chunk_options(const tsi_device_options *options);

/* Bytes of factor that a node streams. */
double tsi_device_node_bytes(const tsi_device_tables *tables, tsi_index node, size_t scalar_bytes);
/* Seconds that a node takes in addition to streaming. */
double tsi_device_node_latency(const tsi_device_tables *tables, tsi_index node,
                               const tsi_device_costs *costs);

/* The caller destroys the tables, also after a failure. Errors: TOO_LARGE (more rows of a workspace than
 * 32-bit numbers), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_tables_create(tsi_env *env, const tsi_tables_source *source,
                                                        tsi_inverse inverse,
                                                        const tsi_device_options *options,
                                                        tsi_device_tables *tables);
void tsi_device_tables_destroy(tsi_device_tables *tables);

/* Verifies the invariants of device_tables.h against the source of the tables: each panel is processed once;
 * the target of each update reads it once; tickets that access the same rows of the workspace are ordered by
 * waits, in the right direction. Errors: INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_tables_check(tsi_env *env, const tsi_device_tables *tables,
                                                       const tsi_tables_source *source);

/* Converts the interchanges inside panels (kernels.h: row k was swapped with row pivot[k] >= k, k ascending)
 * to the permutations of tsi_device_values. from: n. */
void tsi_device_interchanges(const tsi_panels *panels, const tsi_index *pivots, tsi_index *from);
