/* Solves of a plan that nobody waits for, and what becomes of a plan whose last share is dropped by one of
 * them: the context counts them and frees the plan later (runtime/context/solves.h).
 *
 * Reads   nothing else.
 * Writes  the context's solves; plan->inserted, unfinished, failure, retired, references.
 * Invariants, under ts->solves.lock
 *   - 0 <= plan->inserted <= the limit of the latest insertion that had to look; inserted <= unfinished
 *   - ts->solves.unfinished is the sum of unfinished of its plans
 *   - an unfinished inserted solve has a share of its plan; it gives it back in the moment in which it counts
 * as finished, so that who has waited for it and then destroys the plan frees it there and then
 *   - a retired plan has no references and no unfinished solve */
#pragma once

#include "runtime/solve/plan.h"

/* Waits for the plan's unfinished solves. */
void tsi_plan_settle(tristar_plan_t *plan);
/* Another share of the plan, and its end. */
tristar_plan_t *tsi_plan_share(tristar_plan_t *plan);
void tsi_plan_drop(tristar_plan_t *plan);

/* A solve to be inserted gets a share of the plan; at most `limit` have a place at the same time. Waits for a
 * place, unless `busy`, or the caller may not wait. Errors: BUSY. */
TRISTAR_CHECKED tristar_status tsi_in_flight_insert(tristar_plan_t *plan, int64_t limit, bool busy);
/* Its place is free again: before its `end`, which may insert another one. */
void tsi_in_flight_free_place(tristar_plan_t *plan);
/* It is finished; the last that may be done for it. status: with the calling thread's latest message. */
void tsi_in_flight_finish_inserted(tristar_plan_t *plan, tristar_status status);

/* The same of a solve that was started with an `end`: its request has the share. *done becomes true in the
 * moment in which it counts as finished. */
void tsi_in_flight_start(tristar_plan_t *plan);
void tsi_in_flight_finish_started(tristar_plan_t *plan, bool *done);
/* The same of a solve that is not counted, and has no `end`. */
void tsi_in_flight_finish(tristar_plan_t *plan, bool *done);
/* *done; wait: when it is true. */
bool tsi_in_flight_done(tristar_plan_t *plan, const bool *done, bool wait);
