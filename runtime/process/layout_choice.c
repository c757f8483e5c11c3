/* tristar_layout_choose: the layout with the least predicted time.
 *
 * Reads   an analysis, what it costs to compute, to read and to send.   Writes  a layout, what it will take.
 *
 * The model. In a solve the process with the most reads its share of the factor twice, and takes its messages
 * one after the other; a factorization takes the arithmetic on the longest way through its fronts, and the
 * messages of the process that has most. Memory is that of the process with the most: its share of the
 * factor, and what its fronts take at a time. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "runtime/factor/analysis.h"
#include "runtime/base/options.h"
#include "runtime/machine/calibration.h"
#include "tristar_layout.h"

/* What a task costs beside its message. */
#define TASK_SECONDS 4e-6

/* What a core does in a large front. */
#define FLOPS_PER_SECOND 25e9

void tristar_layout_costs_init_sized(tristar_layout_costs *costs, size_t size) {
  const tristar_layout_costs defaults = {.message_seconds = 2e-6, .nrhs = 1};
  tsi_options_init(costs, size, &defaults, sizeof defaults);
}

static double message_seconds(const tristar_messages *m, const tristar_layout_costs *c) {
  return (c->message_seconds + TASK_SECONDS) * (m->sent.max + m->received.max) / 2 +
         m->sent_bytes.max / c->bytes_per_second;
}

static tristar_layout_prediction predict(const tristar_analysis_t *an, const tristar_traffic *t,
                                         const tristar_layout_costs *c) {
  const double streams = tsi_analysis_is_lu(an) ? 2 : 1;
  return (tristar_layout_prediction){
      .factor_seconds = t->factor_path_flops / FLOPS_PER_SECOND + message_seconds(&t->fan_in, c),
      .solve_seconds = 2 * t->factor_bytes.max / c->bytes_per_second + message_seconds(&t->all, c),
      .process_bytes = streams * t->factor_bytes.max + t->front_bytes.max};
}

static double seconds_of(const tristar_layout_prediction *p, const tristar_layout_costs *c) {
  return c->solves > 0 ? p->factor_seconds + (double)c->solves * p->solve_seconds : p->solve_seconds;
}

/* Is one of them better? Those that fit are; then time decides; of those that do not fit, memory. */
static bool is_better(const tristar_layout_prediction *p, const tristar_layout_prediction *best,
                      const tristar_layout_costs *c) {
  const double most = c->process_bytes > 0 ? c->process_bytes : INFINITY;
  const bool fits = p->process_bytes <= most;
  if (fits != (best->process_bytes <= most)) return fits;
  return fits ? seconds_of(p, c) < seconds_of(best, c) : p->process_bytes < best->process_bytes;
}

static tristar_status check_costs(const tsi_env *env, int64_t processes, const tristar_layout_costs *c) {
  if (processes < 1) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%" PRId64 " processes", processes);
  if (processes > 1 << 20)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%" PRId64 " processes; 2^20 are the most", processes);
  if (!(c->bytes_per_second >= 0) || !(c->message_seconds >= 0) || !(c->process_bytes >= 0) || c->nrhs < 1 ||
      c->solves < 0 || c->grids < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "bytes_per_second %g, message_seconds %g, process_bytes %g, nrhs %" PRId64 ", solves %" PRId64
             ", grids %d",
             c->bytes_per_second, c->message_seconds, c->process_bytes, c->nrhs, c->solves, c->grids);
  return TRISTAR_OK;
}

/* All shapes of so many processes. */
static tristar_status try_shapes(const tristar_analysis_t *an, int processes, const tristar_layout_costs *c,
                                 tristar_layout *best, tristar_layout_prediction *prediction) {
  tristar_layout candidate = *best;
  bool found = false;
  const int most = c->grids > 0 ? c->grids : INT_MAX;
  for (candidate.pz = 1; candidate.pz <= tsi_index_min(most, tsi_index_max(1, an->symbolic->leaf_parts));
       candidate.pz *= 2)
    for (candidate.px = 1; candidate.px * candidate.pz <= processes; candidate.px++) {
      tristar_traffic traffic;
      candidate.py = processes / candidate.px / candidate.pz;
      if (candidate.px * candidate.py * candidate.pz != processes) continue;
      TSI_TRY(tristar_layout_traffic(an, &candidate, c->nrhs, &traffic));
      const tristar_layout_prediction predicted = predict(an, &traffic, c);
      if (found && !is_better(&predicted, prediction, c)) continue;
      found = true;
      *prediction = predicted;
      *best = candidate;
    }
  return TRISTAR_OK;
}

tristar_status tristar_layout_choose(const tristar_analysis_t *analysis, int64_t processes,
                                     const tristar_layout_costs *costs, tristar_layout *layout,
                                     tristar_layout_prediction *prediction) {
  tristar_status status = TRISTAR_OK;
  tristar_layout_costs c;
  tristar_layout_prediction least = {0};
  if (prediction != NULL) *prediction = least;
  TSI_ENTER(analysis, analysis->ts);
  if (layout == NULL) return TSI_NULL(layout);
  tsi_env *env = tsi_context_env(analysis->ts);
  tristar_layout best = *layout;
  TSI_TRY_OUT(TSI_OPTIONS(env, tristar_layout_costs, costs, &c));
  TSI_TRY_OUT(check_costs(env, processes, &c));
  if (c.bytes_per_second == 0)
    c.bytes_per_second = 1e9 * tsi_calibration_now(&analysis->ts->machine).read_gbps_one;
  TSI_TRY_OUT(try_shapes(analysis, (int)processes, &c, &best, &least));
  if (c.process_bytes > 0 && least.process_bytes > c.process_bytes)
    TSI_FAIL_OUT(env, TRISTAR_ERR_MEMORY,
                 "no layout of %" PRId64
                 " processes needs less than %.0f bytes in each: the least is %.0f, of %dx%dx%d",
                 processes, c.process_bytes, least.process_bytes, best.px, best.py, best.pz);
  *layout = best;
  if (prediction != NULL) *prediction = least;
out:
  return tsi_answer(env, status);
}
