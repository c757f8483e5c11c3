/* tristar_solve_insert: a request (request.h) that runs alone, tied to the program's tasks through StarPU
 * handles.
 *
 * The handles are acquired with callbacks, in the order of insertion, so nobody waits. The last one to be
 * granted starts the request; its end releases them, on a worker. A callback cannot wait for StarPU to let go
 * of tasks, so the replays are reserved by tristar_solve_insert itself, which also finds most errors.
 *
 * Reads   handles, options, the data of b.   Writes  the data of x.
 * Invariants
 *   - the data of the handles is used, and `end` is called, after all are granted and before any is released
 *   - an insertion is freed by its end; who has asked for its handles does not touch it any more */
#include <errno.h>
#include <inttypes.h>

#include "codelets/host_task.h"
#include "runtime/happens_before.h"
#include "runtime/holds.h"
#include "runtime/idle.h"
#include "runtime/in_flight.h"
#include "runtime/request.h"
#include "tristar_starpu.h"

#define IN_FLIGHT_DEFAULT 16

typedef struct tsi_insertion {
  tristar_request_t request; /* first member: its `ended` finds the insertion */
  tsi_operand b, x;
  tsi_holds holds;
  tsi_host_task body;   /* of a request without tasks */
  _Atomic(int) columns; /* of body */
} tsi_insertion;

void tristar_insert_options_init(tristar_insert_options *options) {
  memset(options, 0, sizeof *options);
  options->op = TRISTAR_N;
}

static void insertion_free(tsi_env *env, tsi_insertion *insertion) {
  tsi_operand_finish(env, &insertion->b);
  tsi_operand_finish(env, &insertion->x);
  tsi_holds_finish(env, &insertion->holds);
  TSI_FREE(env, insertion);
}

/* ---- The end ------------------------------------------------------------------------------------------- */

static void end_inserted(tristar_request_t *r) {
  tsi_insertion *insertion = (tsi_insertion *)r;
  tristar_plan_t *plan = r->plan;
  tsi_env *env = &plan->ts->env;
  const tristar_status status = tsi_answer(env, tsi_failure_tell(env, &r->failure));
  if (status == TRISTAR_OK) tsi_operand_scatter(&insertion->x);
  tsi_in_flight_free_place(plan);
  if (r->end) r->end(r->end_arg, status);
  tsi_holds_release(&insertion->holds);
  insertion_free(env, insertion);
  tsi_in_flight_finish_inserted(plan, status);
}

/* ---- The start ----------------------------------------------------------------------------------------- */

static bool overlap(const tsi_operand *b, const tsi_operand *x) {
  const uintptr_t from[2] = {(uintptr_t)b->data, (uintptr_t)x->data};
  uintptr_t to[2];
  const tsi_operand *operand[2] = {b, x};
  for (int i = 0; i < 2; i++)
    to[i] = from[i] + (uintptr_t)(operand[i]->rows + (operand[i]->columns - 1) * operand[i]->stride) *
                          (uintptr_t)operand[i]->scalar;
  return from[0] < to[1] && from[1] < to[0];
}

/* Where b is read and x is written. */
static tristar_status choose_arrays(tsi_insertion *insertion) {
  tristar_status status = TRISTAR_OK;
  tristar_request_t *r = &insertion->request;
  tsi_env *env = &r->plan->ts->env;
  tsi_operand *b = &insertion->b, *x = &insertion->x;
  bool b_direct = tsi_operand_locate(b);
  const bool x_direct = tsi_operand_locate(x);
  if (r->nrhs == 0) return TRISTAR_OK;
  const bool same = b_direct && x_direct && b->data == x->data && b->stride == x->stride;
  if (b_direct && x_direct && !same && overlap(b, x)) b_direct = false;
  if (!b_direct) {
    TSI_TRY(tsi_operand_use_buffer(env, b));
    tsi_operand_gather(b);
  }
  if (!x_direct) TSI_TRY(tsi_operand_use_buffer(env, x));
  r->call.b = b->data;
  r->call.b_column = b->stride;
  r->call.x = x->data;
  r->call.x_column = x->stride;
out:
  return status;
}

/* A request without tasks, in one. */
static void run_whole(void *arg, int worker) {
  tristar_request_t *r = arg;
  (void)worker;
  TSI_HAPPENS_AFTER(r);
  (void)tsi_request_advance(r, true);
}

static void end_whole(void *arg) {
  tristar_request_t *r = arg;
  end_inserted(r);
}

static void submit_whole(tsi_insertion *insertion) {
  tristar_request_t *r = &insertion->request;
  struct starpu_task *task = starpu_task_create();
  int code = -1;
  const double microseconds = tsi_task_microseconds(r->plan->stats.stream_bytes * r->share);
  atomic_store(&insertion->columns, (int)tsi_count_min(r->nrhs, INT32_MAX));
  insertion->body = (tsi_host_task){run_whole, r, microseconds, &insertion->columns};
  if (task != NULL) {
    tsi_host_task_init(task, &insertion->body, "solve", 0);
    task->destroy = task->detach = 1;
    task->sched_ctx = r->context;
    task->callback_func = end_whole;
    task->callback_arg = r;
    TSI_HAPPENS_BEFORE(r);
    tsi_idle_rouse();
    code = starpu_task_submit(task);
  }
  if (code == 0) return; /* the insertion may be gone */
  tsi_request_fail(r,
                   tsi_fail(&r->plan->ts->env, code == -ENODEV ? TRISTAR_ERR_NO_WORKER : TRISTAR_ERR_RUNTIME,
                            __func__, __FILE__, __LINE__, "starpu_task_submit gave %d", code));
  if (task != NULL) {
    task->destroy = task->detach = 0;
    starpu_task_destroy(task);
  }
  (void)tsi_request_advance(r, true); /* nothing runs after a failure */
  end_inserted(r);
}

/* All handles are there. */
static void begin(void *arg, tristar_status status) {
  tsi_insertion *insertion = arg;
  tristar_request_t *r = &insertion->request;
  tsi_request_fail(r, status);
  if (!tsi_failure_exists(&r->failure)) tsi_request_fail(r, choose_arrays(insertion));
  if (r->ended)
    tsi_request_launch(r);
  else
    submit_whole(insertion);
}

/* ---- The insertion ------------------------------------------------------------------------------------- */

/* Everything that can fail without anybody being asked for anything. */
static tristar_status insertion_create(tristar_plan_t *plan, const tristar_insert_options *options,
                                       tsi_insertion *insertion) {
  tristar_status status = TRISTAR_OK;
  tristar_request_t *r = &insertion->request;
  tristar_solve_options how;
  tristar_solve_options_init(&how);
  how.op = options->op;
  how.part = options->part;
  TSI_TRY(tsi_request_prepare(r, plan, &how, insertion->b.columns));
  r->end = options->end;
  r->end_arg = options->end_arg;
  r->context = tsi_tasks_context();
  if (tsi_request_has_tasks(r)) {
    r->ended = end_inserted;
    TSI_TRY(tsi_request_reserve(r));
  } else
    r->here = true;
out:
  return status;
}

tristar_status tristar_solve_insert_pieces(tristar_plan_t *plan, const tristar_insert_options *options,
                                           int64_t b_pieces, const starpu_data_handle_t *b, int64_t x_pieces,
                                           const starpu_data_handle_t *x) {
  tristar_status status = TRISTAR_OK;
  tristar_insert_options defaults;
  tsi_insertion *insertion = NULL;
  bool counted = false;
  if (plan == NULL) return TSI_NULL(plan);
  tsi_env *env = &plan->ts->env;
  tristar_insert_options_init(&defaults);
  if (options == NULL) options = &defaults;
  const int64_t limit = options->in_flight == 0 ? IN_FLIGHT_DEFAULT : options->in_flight;
  if (limit < 1) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "in_flight is %" PRId64, options->in_flight);
  tsi_plans_reclaim(plan->ts);
  TSI_TRY(tsi_context_need_starpu(plan->ts, NULL));
  TSI_TRY(TSI_ALLOC_ZERO(env, insertion, 1));
  TSI_TRY(tsi_operands_create(env, plan->factor->analysis->pattern->n, plan->factor->user_bytes, b_pieces, b,
                              x_pieces, x, &insertion->b, &insertion->x));
  TSI_TRY(tsi_holds_create(env, &insertion->b, &insertion->x, &insertion->holds));
  TSI_TRY(tsi_in_flight_insert(plan, limit, options->busy != 0));
  counted = true;
  TSI_TRY(insertion_create(plan, options, insertion));
  tsi_holds_ask(plan->ts, &insertion->holds, begin, insertion);
  return TRISTAR_OK;
out:
  if (insertion) insertion_free(env, insertion);
  if (counted) {
    tsi_in_flight_free_place(plan);
    tsi_in_flight_finish_inserted(plan, TRISTAR_OK);
  }
  return tsi_answer(env, status);
}

tristar_status tristar_solve_insert_with(tristar_plan_t *plan, const tristar_insert_options *options,
                                         starpu_data_handle_t b, starpu_data_handle_t x) {
  return tristar_solve_insert_pieces(plan, options, 1, &b, 1, &x);
}

tristar_status tristar_solve_insert(tristar_plan_t *plan, tristar_op op, starpu_data_handle_t b,
                                    starpu_data_handle_t x) {
  tristar_insert_options options;
  tristar_insert_options_init(&options);
  options.op = op;
  return tristar_solve_insert_with(plan, &options, b, x);
}
