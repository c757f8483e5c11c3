/* What a plan and its solves will take, before there is a factor.
 *
 * Job. Makes the plan for a factor without values, weighs it, and destroys it.
 *
 * Reads   an analysis.   Writes  its result. */
#pragma once

#include "runtime/solve/plan.h"

/* Bytes, seconds. */
typedef struct tsi_plan_forecast {
  size_t plan;    /* with the workspace and the tasks of a solve */
  size_t solve;   /* of other workspaces that a solve with options->nrhs columns needs at the same time */
  size_t columns; /* that a solve with `columns` columns adds to the workspace */
  double seconds; /* of a solve with one column */
} tsi_plan_forecast;

/* options: complete, of a plan on the cores with panels in full precision. Errors: those of tristar_plan. */
TRISTAR_CHECKED tristar_status tsi_plan_forecast_make(tristar_analysis_t *analysis,
                                                      const tristar_plan_options *options, tsi_index columns,
                                                      tsi_plan_forecast *forecast);
