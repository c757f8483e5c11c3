/* The words of a layout on the command line: --layout, --algo, --map, and the shape of message trees. */
#ifndef TSI_DRIVERS_LAYOUT_H
#define TSI_DRIVERS_LAYOUT_H

#include "drivers/session.h"

/* Reads them; --layout auto gives px = 0. Says what is wrong. Gives an exit status. */
int tsi_layout_read(const char *command, const tsi_settings *settings, tristar_layout *layout);

const char *tsi_algorithm_name(const tsi_settings *settings);
const char *tsi_map_name(tristar_map map);
const char *tsi_tree_name(tristar_message_tree tree);

/* What a layout is chosen by. */
typedef struct tsi_layout_costs {
  double bytes_per_second; /* that a process reads, sends */
  double message;          /* seconds */
  int64_t nrhs;
  int64_t solves; /* for one factorization; 0: solves alone count */
} tsi_layout_costs;

typedef struct tsi_layout_seconds {
  double factor, solve;
} tsi_layout_seconds;

/* The layout with the least predicted time among all with so many processes. In a solve the heaviest one
 * reads its share of the factor twice and takes its messages one after the other; a factorization takes the
 * arithmetic on the longest way through its fronts, and the messages of the process that has most. best:
 * algorithm, map and tree of all. Considers s->leaf_parts grids at the most. */
bool tsi_layout_choose(tsi_session *s, int processes, const tsi_layout_costs *costs, tristar_layout *best,
                       tsi_layout_seconds *seconds);

#endif
