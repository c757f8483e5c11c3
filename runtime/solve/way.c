/* Chooses and explains the way of a solve: what runs the steps of a block of right-hand sides, and why.
 *
 * Job. tristar_plan chooses a way for its plan. A request chooses again, because with few rows, a trace, or a
 * call from a task there may be no work to share. Both choices are made here, and both keep their reason for
 * tristar_plan_explain.
 *
 * Reads   the plan, its options and costs; the request.   Writes  nothing.
 * Invariants
 *   - A request has the way of its plan, or DIRECT, or SERIAL.
 *   - No result depends on the way. */
#include <stdio.h>

#include "codelets/columns.h"
#include "runtime/machine/predict.h"
#include "runtime/rows/row_factor.h"
#include "runtime/solve/request.h"
#include "runtime/base/options.h"

/* If fewer bytes of the factor take part, the tasks run on the calling thread. */
#define HERE_BYTES 0.8e6

static double sweep_bytes(const tsi_sweep *sweep) {
  double bytes = 0;
  for (tsi_index v = 0; v < sweep->nodes; v++) bytes += sweep->bytes[v];
  return bytes;
}

/* ---- Plans --------------------------------------------------------------------------------------------- */

/* A triangle by rows, with ENGINE_AUTO. */
static tsi_way way_of_rows(const tristar_plan_t *plan) {
  const tsi_row_cut *cut = plan->factor->rows->cut;
  const double bytes = sweep_bytes(plan->dag[0]->forward);
  tsi_way way = {.kind = TRISTAR_WAY_SERIAL, .bytes = bytes};
  if (!plan->ts->workers.allowed)
    way.why = TSI_WHY_NO_STARPU;
  else if (cut->count <= 1)
    way.why = TSI_WHY_ONE_CHUNK;
  else if (cut->lanes <= 1)
    way.why = TSI_WHY_ONE_LANE;
  else if (bytes <= TSI_HELP_BYTES)
    way.why = TSI_WHY_FEW_BYTES;
  else
    way = (tsi_way){.kind = TRISTAR_WAY_LANES, .why = TSI_WHY_LANES};
  return way;
}

static bool has_task_options(const tristar_plan_options *o) {
  return o->chunk_bytes_min > 0 || o->chunk_bytes_max > 0 || o->scheduling != TRISTAR_SCHEDULING_DYNAMIC ||
         o->updates != TRISTAR_UPDATES_PULL || o->granularity != TRISTAR_TASKS_CHUNKS ||
         o->kernel != TRISTAR_KERNEL_PANELS;
}

/* Supernodes, with ENGINE_AUTO. Tasks are used if they are predicted to be faster than a call. They are also
 * used with one worker, because the caller then expects another thread to work, and with options that need
 * tasks. If StarPU runs already and its idle workers do not sleep, they poll on all cores and would slow a
 * call down. */
static tsi_way way_of_supernodes(const tristar_plan_t *plan) {
  const tsi_dag *dag = plan->dag[0];
  const int workers = tsi_expected_cpu_workers(plan->ts->workers.wishes.workers);
  const double longer = tsi_time_of_columns((int)tsi_plan_columns(&plan->options));
  tsi_way way = {.kind = TRISTAR_WAY_TASKS, .why = TSI_WHY_PREDICTED};
  if (!plan->ts->workers.allowed) return (tsi_way){.kind = TRISTAR_WAY_SERIAL, .why = TSI_WHY_NO_STARPU};
  if (dag->forward->nodes == 1) return (tsi_way){.kind = TRISTAR_WAY_SERIAL, .why = TSI_WHY_ONE_CHUNK};
  if (workers == 1)
    way.why = TSI_WHY_ONE_WORKER;
  else if (tsi_starpu_polls())
    way.why = TSI_WHY_POLLING;
  else if (has_task_options(&plan->options))
    way.why = TSI_WHY_TASK_OPTIONS;
  if (way.why != TSI_WHY_PREDICTED) return way;
  const tsi_costs costs = tsi_costs_assumed(&plan->ts->machine, workers);
  tsi_predict_ways(&costs, longer * (sweep_bytes(dag->forward) + sweep_bytes(dag->backward)),
                   longer * dag->critical_bytes, dag->tasks, way.seconds);
  if (way.seconds[1] >= way.seconds[0]) way.kind = TRISTAR_WAY_SERIAL;
  return way;
}

tsi_way tsi_way_of_plan(const tristar_plan_t *plan, bool devices) {
  if (devices) return (tsi_way){.kind = TRISTAR_WAY_DEVICES, .why = TSI_WHY_DEVICES};
  if (plan->options.engine == TRISTAR_ENGINE_SERIAL)
    return (tsi_way){.kind = TRISTAR_WAY_SERIAL, .why = TSI_WHY_ENGINE};
  if (plan->options.engine == TRISTAR_ENGINE_TASKS)
    return (tsi_way){.kind = TRISTAR_WAY_TASKS, .why = TSI_WHY_ENGINE};
  return plan->factor->rows ? way_of_rows(plan) : way_of_supernodes(plan);
}

/* ---- Requests ------------------------------------------------------------------------------------------ */

tsi_way tsi_way_of_request(const tristar_request_t *r, bool alone) {
  const tristar_plan_t *plan = r->plan;
  const tsi_way *of_plan = &plan->way;
  tsi_way way = {.kind = TRISTAR_WAY_SERIAL, .bytes = r->reach.bytes};
  if (r->diagonal) return (tsi_way){.kind = TRISTAR_WAY_DIRECT, .why = TSI_WHY_DIAGONAL};
  if (of_plan->kind == TRISTAR_WAY_SERIAL) return *of_plan;
  if (r->call.sparse && r->reach.bytes < HERE_BYTES && of_plan->kind != TRISTAR_WAY_DEVICES)
    way.why = TSI_WHY_FEW_ROWS;
  else if (r->inside_task || (tsi_way_has_tasks(of_plan) && !alone && !tsi_tasks_may_wait()))
    way.why = TSI_WHY_INSIDE_TASK;
  else if (of_plan->kind == TRISTAR_WAY_LANES && r->trace)
    way.why = TSI_WHY_TRACE;
  else
    return *of_plan;
  return way;
}

/* ---- Explanations -------------------------------------------------------------------------------------- */

static const char *const names[] = {[TRISTAR_WAY_DIRECT] = "direct",
                                    [TRISTAR_WAY_SERIAL] = "serial",
                                    [TRISTAR_WAY_LANES] = "lanes",
                                    [TRISTAR_WAY_TASKS] = "tasks",
                                    [TRISTAR_WAY_DEVICES] = "devices"};

/* Sentences; figures are inserted. */
static const char *const reasons[] = {
    [TSI_WHY_NO_STARPU] = "the context does not use StarPU",
    [TSI_WHY_ONE_CHUNK] = "the factor has one chunk, so there is nothing to share",
    [TSI_WHY_ONE_WORKER] = "one worker is expected, which works instead of the calling thread",
    [TSI_WHY_POLLING] = "idle workers of the StarPU that runs poll, and would slow the calling thread down",
    [TSI_WHY_TASK_OPTIONS] = "an option of the plan determines how tasks are made",
    [TSI_WHY_LANES] = "helpers on other cores take part where this was faster in the latest solves",
    [TSI_WHY_ONE_CALL] = "one right-hand side of a triangle by rows, solved in place, needs no list of steps",
    [TSI_WHY_DIAGONAL] = "solves with D alone need no list of steps",
    [TSI_WHY_INSIDE_TASK] = "a StarPU task must not wait for other tasks",
    [TSI_WHY_TRACE] = "lanes cannot be traced"};

static void write_reason(const tristar_plan_t *plan, const tsi_way *way, char *text, size_t size) {
  switch (way->why) {
  case TSI_WHY_ENGINE:
    snprintf(text, size, "the option engine of the plan is %s",
             plan->options.engine == TRISTAR_ENGINE_SERIAL ? "SERIAL" : "TASKS");
    break;
  case TSI_WHY_DEVICES:
    if (plan->triangle)
      snprintf(text, size, "the triangle is on a device");
    else
      snprintf(text, size, "subtrees of the plan are on %d device%s", plan->stats.devices,
               plan->stats.devices == 1 ? "" : "s");
    break;
  case TSI_WHY_PREDICTED:
    snprintf(text, size, "the prediction is %.3g us with tasks and %.3g us by the calling thread alone",
             1e6 * way->seconds[1], 1e6 * way->seconds[0]);
    break;
  case TSI_WHY_ONE_LANE:
    snprintf(text, size,
             "one core is expected, or the sweep is too short to share (%.3g MB), or its rows wait for each "
             "other too often",
             1e-6 * way->bytes);
    break;
  case TSI_WHY_FEW_BYTES:
    snprintf(text, size, "the sweep reads %.3g kB, and less than %.3g kB are not worth sharing",
             1e-3 * way->bytes, 1e-3 * TSI_HELP_BYTES);
    break;
  case TSI_WHY_FEW_ROWS:
    snprintf(text, size, "the rows of b and x need %.3g kB of the factor, less than %.3g kB",
             1e-3 * way->bytes, 1e-3 * HERE_BYTES);
    break;
  default:
    snprintf(text, size, "%s", reasons[way->why]);
  }
}

static int threads_of(const tristar_plan_t *plan, const tsi_way *way) {
  return tsi_way_has_tasks(way) || way->kind == TRISTAR_WAY_LANES ? plan->stats.workers : 1;
}

/* Are these options equal to a call of tristar_solve? */
static bool is_plain(const tristar_solve_options *o) {
  return o == NULL || (o->part == TRISTAR_PART_ALL && !o->factor_order && !o->b_row && !o->x_row &&
                       !o->alpha && !o->beta && !o->end && o->b_row_stride <= 1 && o->x_row_stride <= 1);
}

static tristar_status find_way(tristar_plan_t *plan, const tristar_solve_options *options, int64_t nrhs,
                               tsi_way *way) {
  tristar_request_t r;
  TSI_TRY(tsi_request_prepare(&r, plan, options, nrhs));
  *way = tsi_way_of_request(&r, options && options->end);
  tsi_request_cancel(&r);
  if (nrhs == 1 && is_plain(options) && tsi_small_triangle_takes(plan, options ? options->op : TRISTAR_N))
    *way = (tsi_way){.kind = TRISTAR_WAY_DIRECT, .why = TSI_WHY_ONE_CALL};
  return TRISTAR_OK;
}

tristar_status tristar_plan_explain(tristar_plan_t *plan, const tristar_solve_options *options, int64_t nrhs,
                                    tristar_explanation *explanation) {
  tristar_status status = TRISTAR_OK;
  tristar_solve_options full;
  tsi_way way;
  if (explanation != NULL) *explanation = (tristar_explanation){.name = ""};
  TSI_ENTER(plan, plan->ts);
  if (explanation == NULL) TSI_FAIL_OUT(&plan->ts->env, TRISTAR_ERR_ARGUMENT, "explanation is NULL");
  TSI_TRY_OUT(TSI_OPTIONS(&plan->ts->env, tristar_solve_options, options, &full));
  TSI_TRY_OUT(find_way(plan, &full, nrhs, &way));
  explanation->way = way.kind;
  explanation->name = names[way.kind];
  explanation->threads = threads_of(plan, &way);
  write_reason(plan, &way, explanation->reason, sizeof explanation->reason);
out:
  return tsi_answer(&plan->ts->env, status);
}
