/* Makes the device tables (codelets/gpu/tables/device_tables.h) of a triangular factor: nodes from chunks,
 * slices and triangles, gather lists from off-rows, tickets from what nodes read of each other.
 *
 * Order of tickets. The priority of a node is the time of the heaviest path from it to the end of its sweep,
 * by tsi_device_costs; nodes come in descending priority, and warp nodes are put together in that order, as
 * many as a ticket holds, until one of the ticket's nodes is waited for. The order decides when something
 * runs, not what it computes: results depend on chunks and kinds of nodes only.
 *
 * Reads   chunks, sweep, panels and places of values, as those of the CPU's tables (tables.h).
 * Writes  a tsi_device_tables, which owns its one block of memory. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"
#include "runtime/exec/steps/tables.h"

/* What the work of a node costs on a device, in seconds and bytes a second. */
typedef struct tsi_device_costs {
  int blocks;             /* that are resident at a time */
  double node_seconds;    /* to draw a ticket, wait, gather, raise the flag */
  double panel_seconds;   /* a block's barriers for a panel */
  double warp_seconds;    /* what a panel takes of a warp before it streams */
  double block_bandwidth; /* of one block */
  double warp_bandwidth;  /* of one warp */
  double bandwidth;       /* of all blocks together */
} tsi_device_costs;

/* How a factor is cut into nodes. */
typedef struct tsi_device_options {
  double
      node_bytes; /* no chunk is heavier, except single panels, which are cut into slices of about as much */
  double group_bytes;    /* no chunk of bottom subtrees is heavier */
  double warp_bytes;     /* an unsliced chunk of narrow panels that is no heavier is a warp's; in both, panels
                            weigh as much more as a warp streams in warp_seconds */
  tsi_index panel_width; /* most columns of a panel; 0: panels are those of the factor. Others are for
                            predictions only: there are no values for them */
  size_t scalar_bytes;
  tsi_device_costs costs;
} tsi_device_options;

/* Options of chunks for these nodes. */
tsi_chunk_options tsi_device_chunk_options(const tsi_device_options *options);

/* Bytes of factor that a node streams. */
double tsi_device_node_bytes(const tsi_device_tables *tables, tsi_index node, size_t scalar_bytes);
/* Seconds that a node takes beside those in which it streams. */
double tsi_device_node_latency(const tsi_device_tables *tables, tsi_index node,
                               const tsi_device_costs *costs);

/* To be destroyed, also after a failure. Errors: TOO_LARGE (more rows of a workspace than 32-bit numbers),
 * MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_device_tables_create(tsi_env *env, const tsi_tables_source *source,
                                                        tsi_inverse inverse,
                                                        const tsi_device_options *options,
                                                        tsi_device_tables *tables);
void tsi_device_tables_destroy(tsi_device_tables *tables);

/* Verifies the invariants that device_tables.h states, against what the tables were made from: that each
 * panel is walked once, each update read once by its target, and that tickets which touch the same rows of
 * the workspace are ordered by waits, in the right direction. Errors: INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_tables_check(tsi_env *env, const tsi_device_tables *tables,
                                                       const tsi_tables_source *source);

/* The interchanges inside the panels (kernels.h: row k was swapped with row pivot[k] >= k, k ascending) as
 * the permutations that tsi_device_values has. from: n. */
void tsi_device_interchanges(const tsi_panels *panels, const tsi_index *pivots, tsi_index *from);
