/* The workers of a context: see workers.h. */
#include "runtime/exec/starpu/workers.h"

#include <sched.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/threads.h"
#include "runtime/exec/starpu/binding.h"
#include "runtime/exec/starpu/blas.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/exec/starpu/helpers.h"

tristar_status tsi_workers_init(tsi_env *env, tsi_workers *workers, const tristar_config *config) {
  *workers = (tsi_workers){.env = env, .allowed = config->use_starpu != 0 && !tsi_starpu_is_lost()};
  workers->wishes = (tsi_starpu_wishes){.workers = config->workers,
                                        .first_core = config->first_core,
                                        .first_device = config->first_device,
                                        .devices = config->devices,
                                        .scheduler = workers->scheduler,
                                        .idle_sleep = config->idle_sleep != 0};
  if (config->scheduler) snprintf(workers->scheduler, sizeof workers->scheduler, "%s", config->scheduler);
  if (config->use_starpu != 0 && tsi_starpu_is_lost())
    tsi_log(env, TRISTAR_LOG_WARNING,
            "StarPU ran when fork() made this process, and cannot be started again: the context computes on "
            "the calling thread");
  return tsi_mutex_init(env, &workers->lock);
}

void tsi_workers_finish(tsi_workers *workers) {
  if (workers->running) {
    tsi_starpu_release();
    tsi_blas_release();
  }
  pthread_mutex_destroy(&workers->lock);
}

static int workers_requested(int requested) {
  cpu_set_t cores;
  return tsi_starpu_workers_requested(
      requested, sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1);
}

int tsi_expected_cpu_workers(int requested) {
  return tsi_index_min(workers_requested(requested), tsi_starpu_most_workers());
}

int tsi_expected_helping_cores(int requested) {
  const int expected = workers_requested(requested), most = tsi_starpu_most_workers();
  tsi_binding binding;
  if (expected <= most || TSI_IS_SIMULATED || tsi_starpu_cores_are_listed())
    return tsi_index_min(expected, most);
  if (tsi_starpu_runs()) return tsi_index_min(expected, tsi_helpers_cores());
  if (tsi_binding_find(NULL, 0, NULL, &binding) != TRISTAR_OK) return most;
  return tsi_index_max(most, tsi_index_min(expected, binding.cores));
}

tristar_status tsi_workers_need(tsi_workers *workers, double *start_seconds) {
  tristar_status status = TRISTAR_OK;
  pthread_mutex_lock(&workers->lock);
  if (workers->running) goto out;
  if (!workers->allowed)
    TSI_FAIL_OUT(
        workers->env, TRISTAR_ERR_UNSUPPORTED, "tasks are requested in a context without StarPU%s",
        tsi_starpu_is_lost() ? ", which ran when fork() made this process and cannot be started again" : "");
  const double begin = tsi_clock();
  TSI_TRY_OUT(tsi_starpu_acquire(workers->env, &workers->wishes));
  workers->running = true;
  workers->start_seconds = tsi_clock() - begin;
  if (start_seconds != NULL) *start_seconds += workers->start_seconds;
  tsi_blas_acquire();
out:
  pthread_mutex_unlock(&workers->lock);
  return status;
}

double tsi_workers_start_seconds(tsi_workers *workers) {
  pthread_mutex_lock(&workers->lock);
  const double seconds = workers->start_seconds;
  pthread_mutex_unlock(&workers->lock);
  return seconds;
}

double tsi_workers_clock(tsi_workers *workers) {
  return tsi_clock() - tsi_workers_start_seconds(workers);
}

/* Number of different cores to which CPU workers are bound. */
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

tristar_status tsi_workers_describe(tsi_workers *workers, tristar_starpu_info *info) {
  tsi_binding binding;
  *info = (tristar_starpu_info){.scheduler = "", .driver = tsi_devices.name ? tsi_devices.name : ""};
  starpu_get_version(&info->version[0], &info->version[1], &info->version[2]);
  TSI_TRY(tsi_workers_need(workers, NULL));
  info->scheduler = tsi_starpu_scheduler();
  info->owned = tsi_starpu_is_ours();
  info->idle_sleep = tsi_starpu_sleeps();
  info->start_seconds = workers->start_seconds;
  info->cpu_workers = tsi_starpu_cpu_workers();
  info->workers = tsi_starpu_workers();
  info->bound_cores = count_bound_cores();
  info->devices = tsi_devices_count(NULL);
  info->max_workers = tsi_starpu_most_workers();
  info->helper_threads = tsi_starpu_spare_cores(NULL, TSI_HELPERS);
  TSI_TRY(tsi_binding_find(workers->env, 0, NULL, &binding));
  info->cores = binding.cores;
  return TRISTAR_OK;
}

bool tsi_workers_name(tsi_workers *workers, int i, char *name, size_t size, int *core) {
  pthread_mutex_lock(&workers->lock);
  const bool known = workers->running && i >= 0 && i < tsi_starpu_workers();
  pthread_mutex_unlock(&workers->lock);
  if (!known) return false;
  if (name != NULL) starpu_worker_get_name(i, name, size);
  if (core != NULL) *core = starpu_worker_get_bindid(i);
  return true;
}

int tristar_get_scheduler(int i, const char **name, const char **description) {
  struct starpu_sched_policy **policies = starpu_sched_get_predefined_policies();
  int count = 0;
  while (policies[count] != NULL) count++;
  const struct starpu_sched_policy *policy = i >= 0 && i < count ? policies[i] : NULL;
  if (name != NULL) *name = policy != NULL ? policy->policy_name : NULL;
  if (description != NULL) *description = policy != NULL ? policy->policy_description : NULL;
  return policy != NULL;
}
