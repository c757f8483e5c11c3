/* Conversion of tristar_layout, the public description of a layout, to the types of partition/layout/layout.h
 * and dag/program.h; checks of tristar_cluster.
 *
 * Reads   a tristar_layout, the limits of chunks; a tristar_cluster.   Writes  nothing. */
#pragma once

#include "dag/program.h"
#include "runtime/machine/calibration.h"
#include "tristar_layout.h"

/* Checks the enumerators. Errors: ARGUMENT (an unknown enumerator). */
TRISTAR_CHECKED tristar_status tsi_layout_check_words(tsi_env *env, const tristar_layout *layout);

/* The floor for chunks of GPUs, which blocks of threads process, not cores. */
#define TSI_GPU_FLOOR_BYTES 1.0

/* floor_bytes: of the calibration, or TSI_GPU_FLOOR_BYTES; the same on all processes of a solve. entries:
 * number in one triangle. */
tsi_layout_options tsi_layout_options_of(const tristar_layout *layout, double floor_bytes, tsi_count entries,
                                         size_t scalar_bytes);
tsi_tree tsi_tree_of(const tristar_layout *layout);
/* True if px and py are as near to each other as their product allows. */
bool tsi_layout_is_squarest(const tristar_layout *layout);
/* The cluster of the program; NULL: the defaults. Errors: ARGUMENT, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_cluster_take(const tsi_env *env, const tristar_cluster *given,
                                                tristar_cluster *full);
#define TSI_MESSAGE_SECONDS 2e-6 /* default of message_seconds */
/* The default cluster: one process per node, with one core and the caches of this machine. A message between
 * nodes takes message_seconds. bytes_per_second: memory bandwidth of a process; 0: as on this machine. */
tristar_cluster tsi_cluster_here(tsi_machine *machine, double bytes_per_second, double message_seconds);
