/* Solves with a triangle by rows that are one call: one right-hand side, solved in place by the calling
 * thread, stream by stream of the chunks. Small triangles are solved in the time of a few function calls, so
 * nothing is prepared that such a solve can do without: no request, no replay, no workspace, no task.
 *
 * Reads   the plan, b.   Writes  x; the plan's statistics.
 * Invariants
 *   - the chunks, kernels and streams are those that a request would take: the same bits
 *   - statistics are those of a request that ran on the calling thread */
#ifndef TSI_RUNTIME_SOLVE_SMALL_TRIANGLE_H
#define TSI_RUNTIME_SOLVE_SMALL_TRIANGLE_H

#include "runtime/solve/plan.h"

/* Once all else of the plan is there: can there be such solves? sweep: the recording of one. */
void tsi_small_triangle_prepare(tristar_plan_t *plan, const tsi_recording *sweep);

/* Solves op(T) x = b, n rows each, if it can be done so. false: nothing has happened. */
bool tsi_small_triangle_solve(tristar_plan_t *plan, tristar_op op, const void *b, void *x);

#endif
