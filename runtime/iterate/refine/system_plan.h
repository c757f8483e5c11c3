/* The system of a plan, or of a factor alone: see system.h. */
#pragma once

#include "runtime/iterate/refine/system.h"
#include "runtime/solve/plan.h"

typedef struct tsi_plan_system {
  tsi_system system;
  tsi_team team;
} tsi_plan_system;

/* *s must not move afterwards. It borrows the plan. Errors: UNSUPPORTED (the factor was imported without its
 * matrix). */
TRISTAR_CHECKED tristar_status tsi_plan_system_create(tristar_plan_t *plan, tsi_plan_system *s);
/* The same for trials, which the statistics of the plan do not include. */
TRISTAR_CHECKED tristar_status tsi_plan_trials_create(tristar_plan_t *plan, tsi_plan_system *s);

/* A system without solves. The factor has its matrix; *s must not move afterwards. */
void tsi_factor_system_create(const tristar_factor_t *factor, tsi_plan_system *s);

/* Errors: UNSUPPORTED if the factor was imported without its matrix. */
TRISTAR_CHECKED tristar_status tsi_need_matrix(const tristar_factor_t *factor);
