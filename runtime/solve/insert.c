/* Inserted solves: requests (request.h) that run alone, from the time when their arrays are available until
 * they release them (runtime/exec/starpu/insert.h).
 *
 * A callback cannot wait until StarPU releases tasks, so the replays are reserved beforehand. */
#include "runtime/solve/in_flight.h"
#include "runtime/solve/request.h"

typedef struct inserted_solve {
  tristar_request_t request; /* first member: its `ended` finds the solve */
  tsi_insert_order order;
} inserted_solve;

/* ---- The end ------------------------------------------------------------------------------------------- */

static void end_inserted(tristar_request_t *r) {
  inserted_solve *solve = (inserted_solve *)r;
  tristar_plan_t *plan = r->plan;
  tsi_env *env = &plan->ts->env;
  const tristar_status status = tsi_answer(env, tsi_failure_report(env, &r->failure));
  solve->order.finish(solve->order.insertion, status);
  tsi_in_flight_free_place(plan);
  if (r->end) r->end(r->end_arg, status);
  solve->order.release(solve->order.insertion);
  TSI_FREE(env, solve);
  tsi_in_flight_finish_inserted(plan, status);
}

/* ---- The start ----------------------------------------------------------------------------------------- */

/* Runs a request without tasks inside one task. */
static void run_whole(void *arg, int worker) {
  (void)worker;
  (void)tsi_request_advance(arg, true);
}

static void end_whole(void *arg) {
  end_inserted(arg);
}

static void submit_whole(tristar_request_t *r) {
  const double microseconds = tsi_task_microseconds(r->plan->stats.stream_bytes * r->share);
  const tristar_status status =
      tsi_task_submit(&r->plan->ts->env, "solve", r->context, microseconds,
                      (tsi_index)tsi_count_min(r->nrhs, TSI_INDEX_MAX), run_whole, end_whole, r);
  if (status == TRISTAR_OK) return; /* the solve may already be freed */
  tsi_request_fail(r, status);
  (void)tsi_request_advance(r, true); /* nothing runs after a failure */
  end_inserted(r);
}

static void launch(void *arg, tristar_status status, const void *b, int64_t b_column, void *x,
                   int64_t x_column) {
  tristar_request_t *r = arg;
  tsi_request_fail(r, status);
  r->call.b = b;
  r->call.b_column = b_column;
  r->call.x = x;
  r->call.x_column = x_column;
  if (r->ended)
    tsi_request_launch(r);
  else
    submit_whole(r);
}

/* Does all that can fail before anything is inserted. */
static tristar_status prepare(tristar_plan_t *plan, const tsi_insert_order *order, tristar_request_t *r) {
  tristar_solve_options how;
  tristar_solve_options_init(&how);
  how.op = order->op;
  how.part = order->part;
  TSI_TRY(tsi_request_prepare(r, plan, &how, order->columns));
  tsi_request_check_range(r);
  r->end = order->end;
  r->end_arg = order->end_arg;
  r->context = tsi_tasks_context();
  if (tsi_request_has_tasks(r)) {
    r->ended = end_inserted;
    TSI_TRY(tsi_request_reserve(r));
  } else
    r->inside_task = true;
  return TRISTAR_OK;
}

static tristar_status open_plan(tristar_plan_t *plan) {
  tsi_solves_reclaim(&plan->ts->solves);
  return tsi_context_need_starpu(plan->ts, NULL);
}

static tristar_status reserve(tristar_plan_t *plan, const tsi_insert_order *order, void **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  inserted_solve *solve = NULL;
  bool counted = false;
  *out = NULL;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, solve, 1));
  solve->order = *order;
  TSI_TRY_OUT(tsi_in_flight_insert(plan, order->limit, order->busy));
  counted = true;
  TSI_TRY_OUT(prepare(plan, order, &solve->request));
  *out = solve;
  return TRISTAR_OK;
out:
  TSI_FREE(env, solve);
  if (counted) {
    tsi_in_flight_free_place(plan);
    tsi_in_flight_finish_inserted(plan, TRISTAR_OK);
  }
  return status;
}

const tsi_insertable_functions tsi_plan_insertion = {.open = open_plan, .reserve = reserve, .launch = launch};
