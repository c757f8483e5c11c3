/* tristar_layout, the public words of a layout, in those of partition/layout/layout.h and dag/program.h; and
 * tristar_cluster, checked.
 *
 * Reads   a tristar_layout, what chunks may weigh; a tristar_cluster.   Writes  nothing. */
#pragma once

#include "dag/program.h"
#include "runtime/machine/calibration.h"
#include "tristar_layout.h"

/* Errors: ARGUMENT: an unknown enumerator. */
TRISTAR_CHECKED tristar_status tsi_layout_check_words(tsi_env *env, const tristar_layout *layout);

/* The floor that stands for the chunks of GPUs, through which blocks of threads work, not cores. */
#define TSI_GPU_FLOOR_BYTES 1.0

/* floor_bytes: of the calibration, or TSI_GPU_FLOOR_BYTES; the same on all processes of a solve. entries: of
 * one triangle. */
tsi_layout_options tsi_layout_options_of(const tristar_layout *layout, double floor_bytes, tsi_count entries,
                                         size_t scalar_bytes);
tsi_tree tsi_tree_of(const tristar_layout *layout);
/* No two numbers with the product px * py are nearer to each other. */
bool tsi_layout_is_squarest(const tristar_layout *layout);
/* The cluster that a program gives; NULL: the defaults. Errors: ARGUMENT, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_cluster_take(const tsi_env *env, const tristar_cluster *given,
                                                tristar_cluster *full);
#define TSI_MESSAGE_SECONDS 2e-6 /* default of message_seconds */
/* The cluster of callers that give none: processes with one core and the caches of this machine, one a node.
 * A message between nodes takes message_seconds. bytes_per_second: at which a process reads; 0: as here. */
tristar_cluster tsi_cluster_here(tsi_machine *machine, double bytes_per_second, double message_seconds);
