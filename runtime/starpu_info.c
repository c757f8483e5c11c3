/* What StarPU is and has here: tristar_scheduler, tristar_starpu, tristar_worker. */
#include <sched.h>
#include <starpu.h>
#include <stdio.h>

#include "runtime/context.h"

int tristar_scheduler(int i, const char **name, const char **description) {
  struct starpu_sched_policy **policies = starpu_sched_get_predefined_policies();
  int count = 0;
  while (policies[count] != NULL) count++;
  const struct starpu_sched_policy *policy = i >= 0 && i < count ? policies[i] : NULL;
  if (name != NULL) *name = policy != NULL ? policy->policy_name : NULL;
  if (description != NULL) *description = policy != NULL ? policy->policy_description : NULL;
  return policy != NULL;
}

/* Different cores that CPU workers are bound to. */
static int count_bound_cores(void) {
  const int workers = (int)starpu_worker_get_count();
  int count = 0;
  for (int w = 0; w < workers; w++) {
    const int core = starpu_worker_get_bindid(w);
    bool seen = core < 0 || starpu_worker_get_type(w) != STARPU_CPU_WORKER;
    for (int v = 0; v < w && !seen; v++)
      seen = starpu_worker_get_type(v) == STARPU_CPU_WORKER && starpu_worker_get_bindid(v) == core;
    count += !seen;
  }
  return count;
}

tristar_status tristar_starpu(tristar_t *ts, tristar_starpu_info *info) {
  tristar_status status = TRISTAR_OK;
  cpu_set_t cores;
  if (ts == NULL) return TSI_NULL(ts);
  if (info == NULL) TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT, "info is NULL");
  *info = (tristar_starpu_info){.scheduler = ""};
  starpu_get_version(&info->version[0], &info->version[1], &info->version[2]);
  TSI_TRY(tsi_context_need_starpu(ts, NULL));
  info->scheduler = starpu_sched_ctx_get_sched_policy(0)->policy_name;
  info->owned = tsi_starpu_is_ours();
  info->idle_sleep = tsi_starpu_sleeps();
  info->start_seconds = ts->start_seconds;
  info->cpu_workers = (int)starpu_cpu_worker_get_count();
  info->workers = (int)starpu_worker_get_count();
  info->bound_cores = count_bound_cores();
  info->cores = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
out:
  return tsi_answer(&ts->env, status);
}

int tristar_worker(tristar_t *ts, int i, char *name, size_t size, int *core) {
  if (ts == NULL) return 0;
  pthread_mutex_lock(&ts->lock);
  const bool known = ts->starpu_running && i >= 0 && i < (int)starpu_worker_get_count();
  pthread_mutex_unlock(&ts->lock);
  if (!known) return 0;
  if (name != NULL) starpu_worker_get_name(i, name, size);
  if (core != NULL) *core = starpu_worker_get_bindid(i);
  return 1;
}
