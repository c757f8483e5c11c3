/* Messages, bytes and operations of a layout, counted over all its processes (tristar_layout_traffic).
 *
 * Reads   the structure of an analysis.   Writes  a tsi_layout, which the caller frees, or figures.
 */
#pragma once

#include "dag/traffic.h"
#include "partition/layout/layout.h"
#include "runtime/factor/analysis.h"
#include "tristar_layout.h"

/* What a layout of this analysis is made with. */
tsi_layout_options tsi_analysis_layout_options(const tristar_analysis_t *analysis,
                                               const tristar_layout *layout);
/* The layout of an analysis. Errors: those of tristar_layout_traffic. */
TRISTAR_CHECKED tristar_status tsi_layout_make(tsi_env *env, const tristar_analysis_t *analysis,
                                               const tristar_layout *layout, int64_t nrhs, tsi_layout **made);
/* Figures over all processes. row_bytes: of a row of a message. */
void tsi_traffic_summarize(const tsi_traffic *traffic, double scalar_bytes, double row_bytes,
                           tristar_traffic *out);
