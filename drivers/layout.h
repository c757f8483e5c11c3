/* The words of a layout on the command line: --layout, --algo, --map, and the shape of message trees. */
#ifndef TSI_DRIVERS_LAYOUT_H
#define TSI_DRIVERS_LAYOUT_H

#include "drivers/session.h"

/* Reads them; --layout auto gives px = 0. Says what is wrong. Gives an exit status. */
int tsi_layout_read(const char *command, const tsi_settings *settings, tristar_layout *layout);

const char *tsi_algorithm_name(const tsi_settings *settings);
const char *tsi_map_name(tristar_map map);
const char *tsi_tree_name(tristar_message_tree tree);

/* The layout with the least predicted time among all with so many processes: the heaviest one reads its share
 * of the factor twice, at bytes_per_second, and takes its messages, of so many seconds each, one after the
 * other. best: algorithm, map and tree of all. Considers s->leaf_parts grids at the most. */
bool tsi_layout_choose(tsi_session *s, int processes, int64_t nrhs, double bytes_per_second, double message,
                       tristar_layout *best, double *seconds);

#endif
