/* The layout on the command line: --layout, --algo, --map, and the shape of message trees. */
#pragma once

#include "drivers/session/session.h"
#include "tristar_layout.h"

/* Reads these options; --layout auto sets px = 0. Prints an error if one is wrong. Returns an exit status. */
int tsi_layout_read(const char *command, const tsi_settings *settings, tristar_layout *layout);

const char *tsi_algorithm_name(const tsi_settings *settings);
const char *tsi_map_name(tristar_map map);
const char *tsi_tree_name(tristar_message_tree tree);
