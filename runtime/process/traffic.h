/* Messages, bytes and operations of a layout, counted over all its processes (tristar_layout_traffic).
 *
 * Reads   the structure of an analysis.   Writes  a tsi_layout, which the caller frees, or figures.
 */
#pragma once

#include "dag/traffic.h"
#include "partition/layout/layout.h"
#include "runtime/factor/analysis.h"
#include "tristar_layout.h"

/* The floor of the chunks of solves: from the calibration, or for GPUs (layout_words.h). */
double tsi_layout_floor(const tristar_analysis_t *analysis, bool gpu_chunks);
/* The options of a layout of this analysis. */
tsi_layout_options tsi_analysis_layout_options(const tristar_analysis_t *analysis,
                                               const tristar_layout *layout, bool gpu_chunks);
/* Creates the layout of an analysis. Errors: those of tristar_layout_traffic. */
TRISTAR_CHECKED tristar_status tsi_layout_make(tsi_env *env, const tristar_analysis_t *analysis,
                                               const tristar_layout *layout, int64_t nrhs, bool gpu_chunks,
                                               tsi_layout **made);
/* tristar_layout_traffic, optionally with the chunks of one-sided solves on GPUs. */
TRISTAR_CHECKED tristar_status tsi_layout_count(const tristar_analysis_t *analysis,
                                                const tristar_layout *layout, int64_t nrhs, bool gpu_chunks,
                                                tristar_traffic *out);
/* Computes figures over all processes. row_bytes: bytes of a row of a message. */
void tsi_traffic_summarize(const tsi_traffic *traffic, double scalar_bytes, double row_bytes,
                           tristar_traffic *out);
