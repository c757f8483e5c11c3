/* What the pivots of a factor show of its matrix: the determinant and the inertia, with --determinant and
 * --inertia.
 *
 * Reads   the session's factor.   Writes  the report, JSON, the session's failure. */
#ifndef TSI_DRIVERS_REPORT_PIVOTS_H
#define TSI_DRIVERS_REPORT_PIVOTS_H

#include "drivers/report/json.h"
#include "drivers/session/session.h"
#include "tristar_stats.h"

typedef struct tsi_pivots {
  bool found; /* the members that the options call for are set */
  tristar_determinant determinant;
  tristar_inertia inertia;
} tsi_pivots;

bool tsi_pivots_find(tsi_session *s, tsi_pivots *pivots);
void tsi_pivots_report(const tsi_session *s, const tsi_pivots *pivots);
void tsi_pivots_json(const tsi_session *s, const tsi_pivots *pivots, cJSON *object);

#endif
