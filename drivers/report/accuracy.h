/* The accuracy of a solved system: `tristar solve` checks, reports and writes it, on one process or on many.
 *
 * Reads   a result of refinement, the condition.   Writes  the report, JSON, the session's failure. */
#pragma once

#include "drivers/report/report.h"
#include "drivers/session/session.h"

typedef struct tsi_accuracy {
  bool measured; /* refined is set */
  tristar_refine_result refined;
  double rcond; /* NaN: not computed */
} tsi_accuracy;

/* Returns the options for refinement: --refine, --forward-error, --accuracy. */
tristar_refine_options tsi_accuracy_options(const tsi_session *s);
/* Must the condition be estimated? True with --condition, unless the factorization estimated it. */
bool tsi_accuracy_needs_condition(const tsi_session *s);
/* Copies the condition that the factorization estimated, if it did. */
void tsi_accuracy_take_condition(const tsi_session *s, tsi_accuracy *a);
/* Checks the accuracy; returns false if it recorded a failure. */
bool tsi_accuracy_judge(tsi_session *s, const tsi_accuracy *a);
void tsi_accuracy_report(const tsi_session *s, const tsi_accuracy *a);
void tsi_accuracy_json(const tsi_session *s, const tsi_accuracy *a, cJSON *object);
