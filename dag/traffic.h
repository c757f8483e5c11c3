/* Traffic: what every process of a distributed solve sends, receives and stores, counted without a program.
 *
 * Job. The layout defines the participants of each chunk, and their messages follow (program.h). So messages
 * can be counted for thousands of processes without shares and programs. For one grid after the other, the
 * members of its trees determine the messages inside it; the columns that a process anchors at each level
 * determine the messages between grids.
 *
 *   broadcast    FORWARD_X and BACKWARD_X: one message for each child in the trees of holders and of
 *                contributors
 *   reduction    FORWARD_SUM and BACKWARD_SUM: the same in the other direction
 *   grids        EXCHANGE, or GRID_FORWARD and GRID_BACKWARD: all columns above a level at once, for every
 *                process that anchors any of them
 *
 * Reads   tsi_layout, tsi_panels of the factor.
 * Writes  a tsi_traffic that owns its array and is immutable afterwards. Counts are for one solve with one
 * right-hand side, forward and backward.
 * Invariants (tsi_traffic_check)
 *   - in each class as many messages and rows are sent as received; a message has at least one row
 *   - the processes of all grids together store each panel as often as there are copies of it
 *
 * The matrix of messages by sender and receiver is too large for many processes: a tsi_pairs contains it in
 * cells, each for a group of senders and a group of receivers. */
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
  tsi_count entries; /* Entries of one triangular factor, as stored. */
} tsi_traffic_rank;

typedef struct tsi_traffic {
  tsi_index ranks;
  tsi_index grid_steps; /* consecutive steps between grids: log2 pz if replicated, otherwise double */
  tsi_traffic_rank *rank;
} tsi_traffic;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_traffic_create(tsi_env *env, const tsi_layout *layout,
                                                  const tsi_panels *panels, tsi_tree tree, tsi_traffic **out);
TRISTAR_CHECKED tristar_status tsi_traffic_check(tsi_env *env, const tsi_traffic *traffic,
                                                 const tsi_layout *layout, const tsi_panels *panels);

/* Process p belongs to group p * cells / ranks; with as many cells as processes each process is a group. */
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
