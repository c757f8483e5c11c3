/* Fused solves: solves that wait while a pass over the factor runs share the next pass.
 *
 * Job. A solve reads the whole factor, whether it has one right-hand side or several. In a plan with
 * fuse_columns, solves of whole systems are queued while the maximum number of passes runs. The end of a pass
 * starts the next one. It takes from the queue, up to plan->block columns, all solves that have the operation
 * of the first solve. If the queue is empty, a solve starts at once.
 *   - With tasks a pass runs alone (request.h): its last callback starts the next one. If callers shared the
 *     pass, they are likely to solve again soon. The callback waits for them, up to 1/16 of the time of the
 *     pass. Otherwise the first of them would have the next pass for itself.
 *   - Without tasks one of the waiting threads runs the pass. The maximum number of passes is the number of
 *     cores. The first request of a pass runs it, with the columns of all.
 *
 * Reads   the queue.   Writes  plan->fuse, and the data that a running request writes.
 * Invariants
 *   - The bits of a column do not depend on the columns fused with it: kernels get plan->fuse.least columns
 *     or more, and lanes of registers are columns.
 *   - A request in the queue, or in a pass, is alive until it is done: its owner waits for that.
 *   - The end of the last request of a pass is the last access to its plan. */
#include "runtime/solve/request.h"

#include "runtime/base/clock.h"
#include "runtime/base/scalars.h"
#include "runtime/exec/starpu/workers.h"
#include "runtime/solve/in_flight.h"

static void lock(const tristar_plan_t *plan) {
  pthread_mutex_lock(&plan->ts->solves.lock);
}

static void unlock(const tristar_plan_t *plan) {
  pthread_mutex_unlock(&plan->ts->solves.lock);
}

/* Returns the smallest number of columns such that a kernel call with any number from it up to `most`
 * computes the same bits for a column. Only kernels of one family have the same order of sums. Narrow panels
 * of real numbers have families for 1, 2, 3 to 8 and more columns (codelets/cpu/kernel_few.h); complex ones
 * for 1 and more. */
static tsi_index least_columns(bool is_complex, tsi_index most) {
  return is_complex ? 2 : most <= 8 ? 3 : 9;
}

tristar_status tsi_fuse_init(tristar_plan_t *plan) {
  const tsi_env *env = &plan->ts->env;
  const tristar_plan_options *o = &plan->options;
  const tsi_index columns = (tsi_index)o->fuse_columns;
  if (columns <= 1) return TRISTAR_OK;
  if (tsi_factor_is_triangle(plan->factor) || o->kernel == TRISTAR_KERNEL_SPMV)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "fuse_columns is %d, but solves with %s are not fused", columns,
             plan->spmv ? "KERNEL_SPMV" : "a triangle");
  plan->block = columns;
  plan->fuse.least =
      least_columns(tsi_scalar_width((tristar_scalar)plan->factor->analysis->factor_scalar) == 2, columns);
  plan->fuse.most =
      tsi_way_has_tasks(&plan->way) ? 1 : tsi_expected_cpu_workers(plan->ts->workers.wishes.workers);
  return TRISTAR_OK;
}

bool tsi_fuse_takes(const tristar_request_t *r) {
  const tristar_plan_t *plan = r->plan;
  const tsi_solve_call *call = &r->call;
  return plan->fuse.least > 0 && r->nrhs > 0 && r->nrhs <= plan->block && r->forward && r->backward &&
         r->in_user && r->out_user && !call->sparse && !call->combines && call->b_row == 1 &&
         call->x_row == 1 && (tsi_tasks_may_wait() || (r->end && tsi_request_has_tasks(r)));
}

/* ---- The queue: under the lock ------------------------------------------------------------------------- */

static int64_t count_columns(const tsi_fuse *fuse) {
  int64_t columns = 0;
  for (const tristar_request_t *r = fuse->first; r != NULL; r = r->follower) columns += r->nrhs;
  return columns;
}

static void append(tsi_fuse *fuse, tristar_request_t *r) {
  r->follower = NULL;
  if (fuse->first)
    fuse->last->follower = r;
  else
    fuse->first = r;
  fuse->last = r;
}

/* Takes the requests of the next pass from the queue, in their order; NULL: no pass may start. */
static tristar_request_t *take(tristar_plan_t *plan) {
  tsi_fuse *fuse = &plan->fuse;
  tristar_request_t *queue = fuse->first, *pass = queue, **end = &pass;
  int64_t columns = 0;
  if (queue == NULL || fuse->running >= fuse->most) return NULL;
  fuse->first = NULL;
  for (tristar_request_t *r = queue, *next; r != NULL; r = next) {
    next = r->follower;
    if (r->op != queue->op || columns + r->nrhs > plan->block) {
      append(fuse, r);
      continue;
    }
    columns += r->nrhs;
    *end = r;
    end = &r->follower;
  }
  *end = NULL;
  fuse->running++;
  fuse->begin = tsi_wall_clock();
  return pass;
}

/* ---- Passes -------------------------------------------------------------------------------------------- */

/* Gives the columns of all requests to the first request of the pass. */
static tristar_status join(tristar_request_t *pass) {
  tsi_env *env = &pass->plan->ts->env;
  const int64_t scalar = (int64_t)pass->plan->factor->user_bytes;
  int64_t columns = 0, solves = 0, k = 0;
  for (const tristar_request_t *r = pass; r != NULL; r = r->follower) columns += r->nrhs, solves++;
  if (solves == 1) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, pass->columns, columns));
  for (const tristar_request_t *r = pass; r != NULL; r = r->follower) {
    if (r->call.watch) pass->call.watch = &pass->watch;
    pass->watch.sum_is_finite = pass->plan->sum_is_finite;
    for (int64_t c = 0; c < r->nrhs; c++)
      pass->columns[k++] = (tsi_solve_column){(const char *)r->call.b + c * r->call.b_column * scalar,
                                              (char *)r->call.x + c * r->call.x_column * scalar};
  }
  pass->nrhs = columns;
  pass->solves = solves;
  return TRISTAR_OK;
}

/* Copies the failure of a pass to all its requests. After a success checks each of them. */
static void share_failure(tristar_request_t *pass) {
  tsi_env *env = &pass->plan->ts->env;
  const bool check = pass->columns != NULL && !tsi_failure_exists(&pass->failure) &&
                     (pass->call.watch == NULL || atomic_load(&pass->watch.suspects));
  int64_t own = pass->nrhs; /* its own columns */
  TSI_FREE(env, pass->columns);
  for (tristar_request_t *r = pass->follower; r != NULL; r = r->follower) {
    own -= r->nrhs;
    tsi_request_fail(r, tsi_failure_report(env, &pass->failure));
    if (check && r->checks) tsi_request_fail(r, tsi_request_check(r, r->nrhs));
    tsi_request_cancel(r); /* it did not run itself */
  }
  if (check && pass->checks) tsi_request_fail(pass, tsi_request_check(pass, own));
}

/* ---- Without tasks ------------------------------------------------------------------------------------- */

static void solve_here(tristar_request_t *r) {
  tristar_plan_t *plan = r->plan;
  lock(plan);
  append(&plan->fuse, r);
  while (!r->served) {
    tristar_request_t *pass = take(plan);
    if (pass == NULL) {
      pthread_cond_wait(&plan->ts->solves.changed, &plan->ts->solves.lock);
      continue;
    }
    unlock(plan);
    tsi_request_fail(pass, join(pass));
    (void)tsi_request_advance(pass, true);
    share_failure(pass);
    lock(plan);
    plan->fuse.running--;
    for (tristar_request_t *other = pass, *next; other != NULL; other = next) {
      next = other->follower; /* its owner may go on as soon as the lock is free */
      other->done = other->served = true;
    }
    pthread_cond_broadcast(&plan->ts->solves.changed);
  }
  unlock(plan);
}

/* ---- With tasks ---------------------------------------------------------------------------------------- */

static void end_pass(tristar_request_t *pass);

static void launch(tristar_request_t *pass) {
  tristar_status status = join(pass);
  pass->context = tsi_tasks_context();
  if (status == TRISTAR_OK) status = tsi_request_reserve(pass);
  if (status == TRISTAR_OK) {
    tsi_request_launch(pass);
    return;
  }
  tsi_request_fail(pass, status);
  tsi_request_cancel(pass);
  end_pass(pass);
}

/* Starts passes as long as more may run. Meanwhile a pass may end, or a solve may be queued. The launching
 * thread then checks the queue again, so that calls are not nested. */
static void start_passes(tristar_plan_t *plan) {
  tsi_fuse *fuse = &plan->fuse;
  lock(plan);
  if (!fuse->starting) {
    tristar_request_t *pass;
    fuse->starting = true;
    while ((pass = take(plan)) != NULL) {
      unlock(plan);
      launch(pass);
      lock(plan);
    }
    fuse->starting = false;
  }
  unlock(plan);
}

/* Waits until the queue has so many columns, but at most 1/16 of the time of the pass. */
static void linger(tristar_plan_t *plan, int64_t columns) {
  tsi_solves *solves = &plan->ts->solves;
  lock(plan);
  const struct timespec end = tsi_wall_clock_in((tsi_wall_clock() - plan->fuse.begin) / 16);
  plan->fuse.lingers = true;
  while (count_columns(&plan->fuse) < columns &&
         pthread_cond_timedwait(&solves->changed, &solves->lock, &end) == 0) {
  }
  plan->fuse.lingers = false;
  unlock(plan);
}

static void report(tristar_request_t *r) {
  tristar_plan_t *plan = r->plan;
  if (r->end == NULL) {
    tsi_in_flight_finish(plan, &r->done);
    return;
  }
  r->end(r->end_arg, tsi_failure_report(&plan->ts->env, &r->failure));
  tsi_in_flight_finish_started(plan, &r->done);
}

/* `ended` of the first request. It runs on a StarPU worker, or on the caller if nothing could start. The last
 * request keeps the plan alive until everything else is done. */
static void end_pass(tristar_request_t *pass) {
  tristar_plan_t *plan = pass->plan;
  const int64_t columns = pass->nrhs;
  tristar_request_t *next;
  share_failure(pass);
  const bool shared = pass->follower != NULL;
  for (; pass->follower != NULL; pass = next) {
    next = pass->follower;
    report(pass);
  }
  if (shared) linger(plan, columns - pass->nrhs);
  lock(plan);
  plan->fuse.running--;
  unlock(plan);
  start_passes(plan);
  report(pass);
}

void tsi_fuse_start(tristar_request_t *r) {
  tristar_plan_t *plan = r->plan;
  if (!tsi_way_has_tasks(&plan->way)) {
    solve_here(r);
    return;
  }
  r->ended = end_pass;
  if (r->end) tsi_in_flight_start(plan);
  lock(plan);
  append(&plan->fuse, r);
  if (plan->fuse.lingers) pthread_cond_broadcast(&plan->ts->solves.changed);
  unlock(plan);
  start_passes(plan);
}
