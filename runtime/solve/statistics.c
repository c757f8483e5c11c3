/* Sums of solves, and tristar_plan_get_solve_stats: see statistics.h. */
#include "runtime/solve/statistics.h"

#include "runtime/solve/plan.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/base/clock.h"
#include "runtime/base/range.h"
#include "runtime/exec/starpu/profiling.h"
#include "runtime/solve/request.h"
#include "tristar_trace.h"

/* Adds the workers of devices that are not listed yet. */
static void add_devices(tsi_statistics *s) {
  int worker[TSI_DEVICES_MOST];
  const int count = tsi_devices_count(worker);
  for (int d = 0; d < count; d++) {
    int k = 0;
    while (k < s->workers && s->worker[k] != worker[d]) k++;
    if (k == s->workers) s->worker[s->workers++] = worker[d];
  }
}

tristar_status tsi_statistics_create(tsi_env *env, bool on_starpu, bool devices, tsi_statistics *s) {
  s->workers = on_starpu ? tsi_starpu_cpu_workers() : 1;
  if (s->workers < 1) TSI_FAIL(env, TRISTAR_ERR_NO_WORKER, "StarPU has no CPU worker");
  const int most = s->workers + (devices ? tsi_devices_count(NULL) : 0);
  TSI_TRY(TSI_ALLOC_ZERO(env, s->worker, most));
  TSI_TRY(TSI_ALLOC_ZERO(env, s->compute, most));
  if (on_starpu) s->workers = tsi_starpu_cpu_worker_numbers(s->worker, s->workers);
  if (devices) add_devices(s);
  for (int k = 0; k < s->workers; k++)
    if (s->worker[k] >= s->slots) s->slots = s->worker[k] + 1;
  return TRISTAR_OK;
}

void tsi_statistics_destroy(tsi_env *env, tsi_statistics *s) {
  TSI_FREE(env, s->worker);
  TSI_FREE(env, s->compute);
}

int tsi_statistics_worker(const tsi_statistics *s, int starpu) {
  for (int k = 0; k < s->workers; k++)
    if (s->worker[k] == starpu) return k;
  return 0;
}

tristar_status tsi_sums_begin(tsi_env *env, tsi_statistics *s, tsi_solve_sums *sums) {
  sums->compute = &sums->one;
  if (s->slots > 1) TSI_TRY(TSI_ALLOC_ZERO(env, sums->compute, s->slots));
  atomic_fetch_add(&s->in_flight, 1);
  return TRISTAR_OK;
}

void tsi_sums_keep(tsi_statistics *s, const tsi_solve_sums *sums, double seconds, int64_t solves) {
  s->latest = (tristar_solve_stats){.solves = solves,
                                    .workers = sums->here ? 1 : s->workers,
                                    .solve_seconds = seconds,
                                    .tasks = sums->tasks,
                                    .bytes = sums->bytes};
  for (int k = 0; k < s->latest.workers; k++)
    s->compute[k] = sums->here ? seconds : sums->compute[s->worker[k]];
}

void tsi_sums_end(tsi_env *env, tsi_statistics *s, tsi_solve_sums *sums) {
  if (sums->compute != &sums->one) TSI_FREE(env, sums->compute);
  sums->compute = NULL;
  atomic_fetch_sub(&s->in_flight, 1);
}

/* Returns the time of the solve in which worker k ran no task. */
static double idle(const tsi_statistics *s, int k) {
  const double rest = s->latest.solve_seconds - s->compute[k];
  return rest > 0 ? rest : 0;
}

tristar_status tristar_plan_get_solve_stats(const tristar_plan_t *plan, tristar_solve_stats *stats) {
  if (stats == NULL) return TSI_NULL(stats);
  memset(stats, 0, sizeof *stats);
  TSI_ENTER(plan, plan->ts);
  const tsi_statistics *s = &plan->solved;
  pthread_mutex_lock((pthread_mutex_t *)&plan->lock);
  *stats = s->latest;
  for (int k = 0; k < stats->workers; k++) {
    tsi_range_add(&stats->compute_seconds, s->compute[k], k);
    tsi_range_add(&stats->idle_seconds, idle(s, k), k);
  }
  pthread_mutex_unlock((pthread_mutex_t *)&plan->lock);
  stats->in_flight = atomic_load(&s->in_flight);
  return TRISTAR_OK;
}

tristar_status tristar_plan_get_worker_seconds(const tristar_plan_t *plan, int worker, double *compute,
                                               double *idle_seconds) {
  if (compute != NULL) *compute = 0;
  if (idle_seconds != NULL) *idle_seconds = 0;
  TSI_ENTER(plan, plan->ts);
  const tsi_statistics *s = &plan->solved;
  pthread_mutex_lock((pthread_mutex_t *)&plan->lock);
  const bool known = worker >= 0 && worker < s->latest.workers;
  if (known && compute != NULL) *compute = s->compute[worker];
  if (known && idle_seconds != NULL) *idle_seconds = idle(s, worker);
  pthread_mutex_unlock((pthread_mutex_t *)&plan->lock);
  return TRISTAR_OK;
}

/* ---- tristar_profile: the share of the time of StarPU's workers outside of tasks ----------------------- */

static tristar_status check_profile(tristar_plan_t *plan, int repeat, const tristar_profile_result *result) {
  tsi_env *env = &plan->ts->env;
  if (result == NULL || repeat < 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "result is %s, repeat is %d", result ? "given" : "NULL", repeat);
  if (!tsi_way_has_tasks(&plan->way))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "the plan has no tasks: there is nothing to profile");
  return TRISTAR_OK;
}

tristar_status tristar_profile(tristar_plan_t *plan, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                               void *x, int64_t ldx, int repeat, tristar_profile_result *result) {
  tristar_status status = TRISTAR_OK;
  tsi_profiling_sums sums;
  int before = -1;
  TSI_ENTER(plan, plan->ts);
  tsi_env *env = &plan->ts->env;
  TSI_TRY_OUT(check_profile(plan, repeat, result));
  *result = (tristar_profile_result){.solves = 0};
  TSI_TRY_OUT(tsi_profiling_begin(env, &before));
  TSI_TRY_OUT(tsi_solve_plain(plan, op, nrhs, b, ldb, x, ldx)); /* StarPU allocates memory for measurements */
  TSI_TRY_OUT(tsi_profiling_reset(env));
  const double begin = tsi_clock();
  for (int k = 0; k < repeat; k++) TSI_TRY_OUT(tsi_solve_plain(plan, op, nrhs, b, ldb, x, ldx));
  const double wall = tsi_clock() - begin;
  TSI_TRY_OUT(tsi_profiling_read(env, &sums));
  /* If another task of the program began before the counters were zeroed, tasks may exceed the wall time. */
  const double share = 1 - sums.all / (sums.workers * wall);
  *result = (tristar_profile_result){.solves = repeat,
                                     .workers = sums.workers,
                                     .wall_seconds = wall,
                                     .kernel_seconds = sums.all,
                                     .busiest_seconds = sums.busiest,
                                     .idlest_seconds = sums.idlest,
                                     .outside_share = share > 0 ? share : 0};
out:
  if (before >= 0) tsi_profiling_end(before);
  return tsi_answer(env, status);
}
