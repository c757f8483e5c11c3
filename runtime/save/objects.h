/* The records of analyses, factors and plans, in the order of the file.
 *
 *   - An analysis: its statistics and options; the pattern; the symbolic structure of one side or two; orders
 *     of rows; the scalings of a matching.
 *   - A factor: its analysis; statistics; values; scalings; pivots; D^-1; panels of L and U.
 *   - A plan: its factor; options; the cut into chunks.
 *
 * Not saved are data that can be computed in less time than reading them from a disk: panels and their
 * positions, inverse orders, assembly lists (made when a loaded factor gets new values), chunks and tasks.
 *
 * Invariants: a loaded object fulfils the invariants of its struct, for any bytes. Checksums detect damage;
 * checks of the structures detect errors of the writer. */
#pragma once

#include "runtime/save/records.h"
#include "runtime/solve/plan.h"

TRISTAR_CHECKED tristar_status tsi_analysis_put(tsi_sink *sink, const tristar_analysis_t *analysis);
/* The factor must have values and panels. */
TRISTAR_CHECKED tristar_status tsi_factor_put(tsi_sink *sink, const tristar_factor_t *factor);
/* All but D^-1 and panels, which other ranks may store. Without values if the pattern has no entries. */
TRISTAR_CHECKED tristar_status tsi_factor_put_shell(tsi_sink *sink, const tristar_factor_t *factor);
TRISTAR_CHECKED tristar_status tsi_plan_put(tsi_sink *sink, const tristar_plan_t *plan);

/* Errors: as tsi_source_begin. */
TRISTAR_CHECKED tristar_status tsi_analysis_take(tristar_t *ts, tsi_source *source, tristar_analysis_t **out);
TRISTAR_CHECKED tristar_status tsi_factor_take(tristar_t *ts, tsi_source *source, tristar_factor_t **out);
/* D^-1, if the factor has one, is allocated and zero. */
TRISTAR_CHECKED tristar_status tsi_factor_take_shell(tristar_t *ts, tsi_source *source,
                                                     tristar_factor_t **out);
/* Reads a plan of the factor that was read before. Errors: also those of tristar_plan. */
TRISTAR_CHECKED tristar_status tsi_plan_take(tsi_source *source, tristar_factor_t *factor,
                                             tristar_plan_t **out);

/* Checks that pivots are rows of their panels, and that both columns of a pivot of order 2 are in one panel.
 * pivots, inverse: for each column, or NULL; type: of inverse. Errors: FORMAT. */
TRISTAR_CHECKED tristar_status tsi_pivots_check(const tsi_source *source, const tsi_panels *panels, char type,
                                                const tsi_index *pivots, const void *inverse);
