/* Traffic: what every process of a distributed solve sends, receives and holds, counted without a program.
 *
 * Job. A layout says who takes part in each chunk, and program.h which messages follow from that. So they can
 * be counted for thousands of processes without shares and programs: the members of one grid after the other
 * give the messages of its trees, the columns that a process anchors at each level those between grids.
 *
 *   broadcast    FORWARD_X and BACKWARD_X: one message for each child in the trees of holders and of
 *                contributors
 *   reduction    FORWARD_SUM and BACKWARD_SUM: the same, the other way
 *   grids        EXCHANGE, or GRID_FORWARD and GRID_BACKWARD: all columns above a level at once, for every
 *                process that anchors any
 *
 * Reads   tsi_layout, tsi_panels of the factor.
 * Writes  a tsi_traffic that owns its array and is immutable afterwards. Counts are for one solve with one
 * right-hand side, forward and backward.
 * Invariants (tsi_traffic_check)
 *   - in each class as many messages and rows are sent as received; a message has at least one row
 *   - the processes of all grids together hold each panel as often as there are copies of it
 *
 * The same messages by sender and receiver are a matrix that is too large for many processes: tsi_pairs has
 * it in cells, each for a group of senders and one of receivers. */
#pragma once

#include "dag/program.h"

typedef enum tsi_traffic_class {
  TSI_TRAFFIC_BROADCAST,
  TSI_TRAFFIC_REDUCTION,
  TSI_TRAFFIC_GRIDS,
  TSI_TRAFFIC_CLASSES
} tsi_traffic_class;

typedef struct tsi_traffic_count {
  tsi_count messages, rows;
} tsi_traffic_count;

typedef struct tsi_traffic_rank {
  tsi_traffic_count sent[TSI_TRAFFIC_CLASSES], received[TSI_TRAFFIC_CLASSES];
  tsi_count entries; /* of one triangular factor, as stored */
} tsi_traffic_rank;

typedef struct tsi_traffic {
  tsi_index ranks;
  tsi_index
      grid_steps; /* steps between grids, one after the other: replicated log2 pz, otherwise twice that */
  tsi_traffic_rank *rank;
} tsi_traffic;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_traffic_create(tsi_env *env, const tsi_layout *layout,
                                                  const tsi_panels *panels, tsi_tree tree, tsi_traffic **out);
TRISTAR_CHECKED tristar_status tsi_traffic_check(tsi_env *env, const tsi_traffic *traffic,
                                                 const tsi_layout *layout, const tsi_panels *panels);

/* Process p belongs to group p * cells / ranks, so with as many cells as processes each is a group. */
typedef struct tsi_pairs {
  tsi_index ranks, cells;
  tsi_traffic_count *count[TSI_TRAFFIC_CLASSES]; /* cells * cells: from group i to group j at i * cells + j */
} tsi_pairs;

/* cells is lowered to the number of processes if it is larger. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pairs_create(tsi_env *env, const tsi_layout *layout,
                                                const tsi_panels *panels, tsi_tree tree, tsi_index cells,
                                                tsi_pairs **out);
void tsi_pairs_destroy(tsi_env *env, tsi_pairs **pairs);

/* The class of a kind of messages. */
tsi_traffic_class tsi_traffic_class_of(tsi_message_kind kind);
