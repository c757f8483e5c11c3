/* Solves with a triangle by rows that are one call: the calling thread solves for one right-hand side in
 * place, chunk by chunk. A solve with a small triangle takes the time of a few function calls, so it has no
 * request, replay, workspace or task.
 *
 * Reads   the plan, b.   Writes  x; the plan's statistics.
 * Invariants
 *   - chunks, kernels and streams are the same as for a request, so the bits are the same
 *   - statistics are those of a request that ran on the calling thread */
#include "runtime/base/clock.h"
#include "runtime/rows/row_factor.h"
#include "runtime/solve/plan.h"

/* Do b and x have the order, scaling and type of the rows? */
static bool is_in_place(const tristar_factor_t *factor) {
  return factor->analysis->factor_scalar == factor->analysis->pattern->scalar && !factor->moves_rows &&
         !factor->moves_columns && !factor->row_scale && !factor->col_scale;
}

void tsi_small_triangle_prepare(tristar_plan_t *plan, const tsi_recording *sweep) {
  const tristar_factor_t *factor = plan->factor;
  if (!factor->rows || plan->way.kind != TRISTAR_WAY_SERIAL || plan->blocks || plan->pieces > 0) return;
  plan->direct = (tsi_small_triangle){
      .takes = factor->analysis->pattern->n > 0 && is_in_place(factor),
      .conjugates = tsi_sparse_kernels_select(factor->analysis->factor_scalar)->is_complex,
      .tasks = sweep->list->count,
      .bytes = sweep->bytes};
}

/* Reading the clock takes a tenth of the shortest solves, so only some of the short ones are timed. */
#define SHORT 2e-6
#define UNTIMED 15 /* number of untimed solves after a short solve */

/* Keeps the statistics of a solve. seconds: its time; negative: not timed, counts like the latest timed one.
 */
static void keep(tristar_plan_t *plan, double seconds) {
  pthread_mutex_lock(&plan->lock);
  tristar_plan_stats *stats = &plan->stats;
  const int untimed = atomic_load_explicit(&plan->direct.untimed, memory_order_relaxed);
  const int to_come = seconds < 0 ? untimed - (untimed > 0) : seconds < SHORT ? UNTIMED : 0;
  atomic_store_explicit(&plan->direct.untimed, to_come, memory_order_relaxed);
  if (seconds < 0) seconds = stats->last_solve_seconds;
  const tsi_solve_sums sums = {.here = true, .tasks = plan->direct.tasks, .bytes = plan->direct.bytes};
  stats->last_solve_seconds = seconds;
  stats->solves++;
  tsi_sums_keep(&plan->solved, &sums, seconds, stats->solves);
  pthread_mutex_unlock(&plan->lock);
}

bool tsi_small_triangle_takes(const tristar_plan_t *plan, tristar_op op) {
  return plan->direct.takes && plan->factor->valid &&
         (op == TRISTAR_N || op == TRISTAR_T || (op == TRISTAR_C && !plan->direct.conjugates));
}

bool tsi_small_triangle_solve(tristar_plan_t *plan, tristar_op op, const void *b, void *x) {
  const tristar_factor_t *factor = plan->factor;
  const bool backward = (op == TRISTAR_N) == (factor->lower == NULL);
  const tsi_row_sweep *rows;
  if (!tsi_small_triangle_takes(plan, op)) return false;
  const bool timed = atomic_load_explicit(&plan->direct.untimed, memory_order_relaxed) == 0;
  const double begin = timed ? tsi_clock() : 0;
  if (tsi_row_factor_sweep(&plan->ts->env, factor->rows, backward, &rows) != TRISTAR_OK) return false;
  atomic_fetch_add(&plan->solved.in_flight, 1);
  const tsi_solve_data *data = &plan->side[0].data;
  const tsi_solve_call call = {.rows = rows, .b = b, .x = x, .nrhs = 1, .stride = 1};
  if (backward)
    for (tsi_index c = data->chunks; c-- > 0;) plan->nodes->backward_chunk(data, &call, c);
  else
    for (tsi_index c = 0; c < data->chunks; c++) plan->nodes->forward_chunk(data, &call, c);
  keep(plan, timed ? tsi_clock() - begin : -1);
  atomic_fetch_sub(&plan->solved.in_flight, 1);
  return true;
}
