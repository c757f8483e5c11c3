/* Counts unfinished solves of plans; tristar_plan_wait: see in_flight.h. */
#include "runtime/solve/in_flight.h"

#include <inttypes.h>

static void lock(tristar_t *ts) {
  pthread_mutex_lock(&ts->solves.lock);
}

static void unlock(tristar_t *ts) {
  pthread_mutex_unlock(&ts->solves.lock);
}

static void free_retired(tsi_retired *retired) {
  tsi_plan_free((tristar_plan_t *)((char *)retired - offsetof(tristar_plan_t, retired)));
}

/* Gives the plan to the context, which frees it later. The lock is held. */
static void retire(tristar_plan_t *plan) {
  plan->retired.free = free_retired;
  tsi_solves_retire(&plan->ts->solves, &plan->retired);
}

tristar_plan_t *tsi_plan_share(tristar_plan_t *plan) {
  atomic_fetch_add(&plan->references, 1);
  return plan;
}

void tsi_plan_drop(tristar_plan_t *plan) {
  tristar_t *ts = plan->ts;
  if (atomic_fetch_sub(&plan->references, 1) > 1) return;
  if (tsi_tasks_may_wait()) {
    tsi_plan_free(plan);
    return;
  }
  lock(ts);
  retire(plan);
  unlock(ts);
}

void tsi_plan_settle(tristar_plan_t *plan) {
  tristar_t *ts = plan->ts;
  lock(ts);
  while (plan->unfinished > 0) pthread_cond_wait(&ts->solves.changed, &ts->solves.lock);
  unlock(ts);
}

/* Adds `one`, 1 or -1, to the unfinished solves. The lock is held. */
static void count(tristar_plan_t *plan, int one) {
  plan->unfinished += one;
  plan->ts->solves.unfinished += one;
}

tristar_status tsi_in_flight_insert(tristar_plan_t *plan, int64_t limit, bool busy) {
  tristar_status status = TRISTAR_OK;
  tristar_t *ts = plan->ts;
  lock(ts);
  while (plan->inserted >= limit) {
    if (busy || !tsi_tasks_may_wait())
      TSI_FAIL_OUT(&ts->env, TRISTAR_ERR_BUSY, "%" PRId64 " inserted solves of the plan are unfinished",
                   plan->inserted);
    pthread_cond_wait(&ts->solves.changed, &ts->solves.lock);
  }
  atomic_fetch_add(&plan->references, 1);
  plan->inserted++;
  count(plan, 1);
out:
  unlock(ts);
  return status;
}

void tsi_in_flight_free_place(tristar_plan_t *plan) {
  lock(plan->ts);
  plan->inserted--;
  pthread_cond_broadcast(&plan->ts->solves.changed);
  unlock(plan->ts);
}

void tsi_in_flight_finish_inserted(tristar_plan_t *plan, tristar_status status) {
  tristar_t *ts = plan->ts;
  lock(ts);
  tsi_failure_keep(&ts->env, &plan->failure, status);
  count(plan, -1);
  if (atomic_fetch_sub(&plan->references, 1) == 1) retire(plan);
  pthread_cond_broadcast(&ts->solves.changed);
  unlock(ts);
}

void tsi_in_flight_start(tristar_plan_t *plan) {
  lock(plan->ts);
  count(plan, 1);
  unlock(plan->ts);
}

static void finish(tristar_plan_t *plan, int counted, bool *done) {
  tristar_t *ts = plan->ts;
  lock(ts);
  count(plan, -counted);
  *done = true;
  pthread_cond_broadcast(&ts->solves.changed);
  unlock(ts);
}

void tsi_in_flight_finish_started(tristar_plan_t *plan, bool *done) {
  finish(plan, 1, done);
}

void tsi_in_flight_finish(tristar_plan_t *plan, bool *done) {
  finish(plan, 0, done);
}

bool tsi_in_flight_done(tristar_plan_t *plan, const bool *done, bool wait) {
  tristar_t *ts = plan->ts;
  lock(ts);
  while (wait && !*done) pthread_cond_wait(&ts->solves.changed, &ts->solves.lock);
  const bool is_done = *done;
  unlock(ts);
  return is_done;
}

tristar_status tristar_plan_wait(tristar_plan_t *plan) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(plan, plan->ts);
  tristar_t *ts = plan->ts;
  lock(ts);
  if (plan->unfinished > 0 && !tsi_tasks_may_wait())
    TSI_FAIL_OUT(&ts->env, TRISTAR_ERR_UNSUPPORTED, "a StarPU task cannot wait for tasks that run on StarPU");
  while (plan->unfinished > 0) pthread_cond_wait(&ts->solves.changed, &ts->solves.lock);
  status = tsi_failure_report(&ts->env, &plan->failure);
  tsi_failure_clear(&plan->failure);
out:
  unlock(ts);
  return tsi_answer(&ts->env, status);
}
