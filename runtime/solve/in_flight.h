/* Solves of a plan that no thread waits for. One of them may release the last reference to the plan. So the
 * context counts these solves and frees the plan later (runtime/context/solves.h).
 *
 * Reads   nothing else.
 * Writes  the context's solves; plan->inserted, unfinished, failure, retired, references.
 * Invariants, under ts->solves.lock
 *   - 0 <= plan->inserted <= the limit of the latest insertion; inserted <= unfinished
 *   - ts->solves.unfinished is the sum of unfinished of its plans
 *   - an unfinished inserted solve holds a reference to its plan. It releases the reference at the same time
 *     as it counts as finished. So a thread that waits for the solve and then destroys the plan frees it
 *     immediately
 *   - a retired plan has no references and no unfinished solve */
#pragma once

#include "runtime/solve/plan.h"

/* Waits for the plan's unfinished solves. */
void tsi_plan_settle(tristar_plan_t *plan);
/* Add a reference to the plan; release one. */
tristar_plan_t *tsi_plan_share(tristar_plan_t *plan);
void tsi_plan_drop(tristar_plan_t *plan);

/* Gives a solve that is inserted a reference to the plan and one of `limit` places. If no place is free,
 * waits; if `busy` is set or the caller may not wait, fails instead. Errors: BUSY. */
TRISTAR_CHECKED tristar_status tsi_in_flight_insert(tristar_plan_t *plan, int64_t limit, bool busy);
/* Frees its place. Call it before its `end`, which may insert another solve. */
void tsi_in_flight_free_place(tristar_plan_t *plan);
/* Marks it as finished; call it last. status: its status; the message is the calling thread's latest one. */
void tsi_in_flight_finish_inserted(tristar_plan_t *plan, tristar_status status);

/* Do the same for a solve that was started with an `end`; its request holds the reference. *done becomes true
 * at the same time as the solve counts as finished. */
void tsi_in_flight_start(tristar_plan_t *plan);
void tsi_in_flight_finish_started(tristar_plan_t *plan, bool *done);
/* Does the same for a solve that is not counted and has no `end`. */
void tsi_in_flight_finish(tristar_plan_t *plan, bool *done);
/* Returns *done. wait: waits until it is true. */
bool tsi_in_flight_done(tristar_plan_t *plan, const bool *done, bool wait);
