/* Creates and destroys contexts, starts and stops StarPU: see context.h. */
#include "runtime/context.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <starpu.h>
#include <unistd.h>

#include "codelets/cpu/kernels.h"
#include "runtime/base/variables.h"
#include "runtime/blas.h"
#include "runtime/calibration.h"
#include "runtime/idle.h"
#include "runtime/in_flight.h"
#include "runtime/topology.h"

void tristar_config_init(tristar_config *config) {
  memset(config, 0, sizeof *config);
  config->use_starpu = 1;
  config->first_core = -1;
  config->idle_sleep = -1;
  config->log_level = TRISTAR_LOG_INFO;
}

/* The instruction set of the kernels: what the environment asks for, or the best of this processor. */
static tristar_status choose_isa(tristar_t *ts) {
  tristar_status status = TRISTAR_OK;
  const char *asked = tsi_variable(TSI_VARIABLE_ISA);
  const tsi_kernels *kernels = tsi_kernels_select('d', TSI_INVERSE_DIAGONAL, asked);
  if (kernels == NULL)
    TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT,
             "TRISTAR_ISA is \"%s\", not an instruction set of this processor that there are kernels for; "
             "the best is %s",
             asked, tsi_kernels_select('d', TSI_INVERSE_DIAGONAL, NULL)->isa);
  ts->isa = kernels->isa;
out:
  return status;
}

static tristar_status configure(tristar_t *ts, const tristar_config *config) {
  tristar_status status = TRISTAR_OK;
  const char *check = tsi_variable(TSI_VARIABLE_CHECK), *idle = tsi_variable(TSI_VARIABLE_IDLE);
  ts->env.check = config->check || (check != NULL && *check != '0');
  ts->use_starpu = config->use_starpu != 0;
  ts->workers = config->workers;
  ts->first_core = config->first_core;
  ts->idle_sleep = config->idle_sleep != 0;
  if (config->scheduler) snprintf(ts->scheduler, sizeof ts->scheduler, "%s", config->scheduler);
  if (config->workers < 0) TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT, "%d workers asked for", config->workers);
  TSI_TRY(choose_isa(ts));
  if (config->idle_sleep >= 0 || idle == NULL) goto out;
  ts->idle_sleep = strcmp(idle, "sleep") == 0;
  if (!ts->idle_sleep && strcmp(idle, "poll") != 0)
    TSI_FAIL(&ts->env, TRISTAR_ERR_ARGUMENT, "TRISTAR_IDLE is \"%s\", not sleep or poll", idle);
out:
  return status;
}

tristar_status tristar_create(const tristar_config *config, tristar_t **out) {
  tristar_config defaults;
  if (out == NULL) return TRISTAR_ERR_ARGUMENT;
  *out = NULL;
  if (config == NULL) {
    tristar_config_init(&defaults);
    config = &defaults;
  }
  tristar_t *ts = calloc(1, sizeof *ts); /* before there is anything that counts */
  if (ts == NULL) return TRISTAR_ERR_MEMORY;
  tsi_env_init(&ts->env);
  pthread_mutex_init(&ts->lock, NULL);
  tsi_solves_init(&ts->solves);
  ts->env.log = config->log;
  ts->env.log_arg = config->log_arg;
  ts->env.log_level = config->log_level;
  ts->env.memory.fail_at = config->fail_allocation;
  const tristar_status status = configure(ts, config);
  if (status != TRISTAR_OK) {
    tsi_log(&ts->env, TRISTAR_LOG_ERROR, "%s", ts->env.message);
    tristar_destroy(&ts);
    return status;
  }
  tsi_calibration_load(ts, config->calibration);
  *out = ts;
  return TRISTAR_OK;
}

void tristar_destroy(tristar_t **ts) {
  if (ts == NULL || *ts == NULL) return;
  tsi_solves_finish(*ts);
  if ((*ts)->starpu_owned) {
    tsi_idle_stop();
    starpu_shutdown();
    tsi_idle_end();
  }
  if ((*ts)->starpu_running) tsi_blas_release();
  tsi_topology_release(*ts);
  pthread_mutex_destroy(&(*ts)->lock);
  tsi_env_finish(&(*ts)->env);
  free(*ts);
  *ts = NULL;
}

/* Workers on the cores that the context asks for; STARPU_WORKERS_CPUID has precedence. */
static void bind_workers(const tristar_t *ts, struct starpu_conf *conf) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (ts->first_core < 0 || cores < 1 || getenv("STARPU_WORKERS_CPUID") != NULL) return;
  conf->use_explicit_workers_bindid = 1;
  for (int w = 0; w < STARPU_NMAXWORKERS; w++)
    conf->workers_bindid[w] = (unsigned)((ts->first_core + w) % cores);
}

static tristar_status start_starpu(tristar_t *ts) {
  tristar_status status = TRISTAR_OK;
  struct starpu_conf conf;
  int code = starpu_conf_init(&conf);
  if (code != 0)
    TSI_FAIL(&ts->env, TRISTAR_ERR_RUNTIME, "starpu_conf_init gave %d (%s)", code, strerror(-code));
  if (ts->workers > 0) conf.ncpus = ts->workers;
  bind_workers(ts, &conf);
  conf.sched_policy_name = ts->scheduler[0] ? ts->scheduler : "lws"; /* STARPU_SCHED has precedence */
  conf.catch_signals = 0;
  code = starpu_init(&conf);
  if (code == -ENODEV) TSI_FAIL(&ts->env, TRISTAR_ERR_NO_WORKER, "StarPU found no device to run tasks on");
  if (code != 0) TSI_FAIL(&ts->env, TRISTAR_ERR_RUNTIME, "starpu_init gave %d (%s)", code, strerror(-code));
out:
  return status;
}

bool tsi_context_polls(tristar_t *ts) {
  pthread_mutex_lock(&ts->lock);
  const bool sleep = tsi_context_sleeps(ts);
  pthread_mutex_unlock(&ts->lock);
  return !sleep && starpu_is_initialized();
}

int tsi_expected_cpu_workers(int asked) {
  const char *given = getenv("STARPU_NCPU");
  const long count = given != NULL ? strtol(given, NULL, 10) : 0;
  cpu_set_t cores;
  if (count > 0 && count <= INT16_MAX) return (int)count;
  if (asked > 0) return asked;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

tristar_status tsi_context_need_starpu(tristar_t *ts) {
  tristar_status status = TRISTAR_OK;
  pthread_mutex_lock(&ts->lock);
  if (ts->starpu_running) goto out;
  if (!ts->use_starpu)
    TSI_FAIL(&ts->env, TRISTAR_ERR_UNSUPPORTED, "tasks asked for in a context without StarPU");
  if (!starpu_is_initialized()) {
    TSI_TRY(start_starpu(ts));
    ts->starpu_owned = true;
  }
  if (starpu_cpu_worker_get_count() == 0) {
    if (ts->starpu_owned) starpu_shutdown();
    ts->starpu_owned = false;
    TSI_FAIL(&ts->env, TRISTAR_ERR_NO_WORKER, "StarPU has %u workers, but no CPU worker: STARPU_NCPU=0?",
             starpu_worker_get_count());
  }
  ts->starpu_running = true;
  if (tsi_context_sleeps(ts)) tsi_idle_start(&ts->env);
  tsi_blas_acquire();
out:
  pthread_mutex_unlock(&ts->lock);
  return status;
}

size_t tristar_error(tristar_t *ts, char *buffer, size_t size) {
  if (ts == NULL) return 0;
  pthread_mutex_lock(&ts->env.lock);
  const size_t length = strlen(ts->env.message);
  if (buffer != NULL && size > 0) snprintf(buffer, size, "%s", ts->env.message);
  pthread_mutex_unlock(&ts->env.lock);
  return length;
}

void tristar_memory(tristar_t *ts, tristar_memory_stats *stats) {
  stats->current_bytes = atomic_load(&ts->env.memory.current);
  stats->peak_bytes = atomic_load(&ts->env.memory.peak);
  stats->allocations = atomic_load(&ts->env.memory.calls);
}
