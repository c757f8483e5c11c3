/* The records of analyses, factors and plans, in the order in which they are in a file.
 *
 * - An analysis: its figures and options; the pattern; the symbolic structure of one side or two; orders of
 *   rows; the scalings of a matching.
 * - A factor: its analysis; figures; values; scalings; pivots; D^-1; panels of L and U.
 * - A plan: its factor; options; how chunks are cut.
 *
 * Not saved is what follows from the rest in less time than a disk needs for it: panels and where they are,
 * inverse orders, assembly lists (made when a loaded factor gets new values), chunks and tasks.
 *
 * Invariants: a loaded object fulfils the invariants of its struct, whatever the bytes were. Checksums find
 * damage; the checks of the structures find what a wrong writer has made. */
#pragma once

#include "runtime/save/records.h"
#include "runtime/solve/plan.h"

TRISTAR_CHECKED tristar_status tsi_analysis_put(tsi_sink *sink, const tristar_analysis_t *analysis);
/* The factor has values and panels. */
TRISTAR_CHECKED tristar_status tsi_factor_put(tsi_sink *sink, const tristar_factor_t *factor);
/* All but D^-1 and panels, which other ranks may have; without values if the pattern has no entries. */
TRISTAR_CHECKED tristar_status tsi_factor_put_shell(tsi_sink *sink, const tristar_factor_t *factor);
TRISTAR_CHECKED tristar_status tsi_plan_put(tsi_sink *sink, const tristar_plan_t *plan);

/* Errors: as tsi_source_begin. */
TRISTAR_CHECKED tristar_status tsi_analysis_take(tristar_t *ts, tsi_source *source, tristar_analysis_t **out);
TRISTAR_CHECKED tristar_status tsi_factor_take(tristar_t *ts, tsi_source *source, tristar_factor_t **out);
/* D^-1 is allocated, if there is one, and zero. */
TRISTAR_CHECKED tristar_status tsi_factor_take_shell(tristar_t *ts, tsi_source *source,
                                                     tristar_factor_t **out);
/* Of the factor that the source had before. Errors: also as tristar_plan. */
TRISTAR_CHECKED tristar_status tsi_plan_take(tsi_source *source, tristar_factor_t *factor,
                                             tristar_plan_t **out);

/* Are pivots rows of their panels, and both columns of a pivot of order 2 in one? pivots, inverse: by column,
 * or NULL; type: of inverse. Errors: FORMAT. */
TRISTAR_CHECKED tristar_status tsi_pivots_check(const tsi_source *source, const tsi_panels *panels, char type,
                                                const tsi_index *pivots, const void *inverse);
