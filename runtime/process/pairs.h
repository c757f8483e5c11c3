/* Bytes between each sender and receiver in a solve with a layout, for pictures: the messages that
 * tristar_layout_traffic counts.
 *
 * Reads   the structure of an analysis.   Writes  a tsi_pairs. */
#pragma once

#include "dag/traffic.h"
#include "runtime/factor/analysis.h"
#include "tristar_layout.h"

/* *row_bytes: bytes of a row of a message, in a solve with nrhs right-hand sides. Errors: those of
 * tristar_layout_traffic. */
TRISTAR_CHECKED tristar_status tsi_layout_pairs(const tristar_analysis_t *analysis,
                                                const tristar_layout *layout, int64_t nrhs, tsi_index cells,
                                                tsi_pairs **out, double *row_bytes);
void tsi_layout_pairs_destroy(const tristar_analysis_t *analysis, tsi_pairs **pairs);
