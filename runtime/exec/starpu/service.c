/* Starts and stops StarPU for all contexts: see service.h. */
#include "runtime/exec/starpu/service.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <starpu.h>

#include "runtime/exec/starpu/binding.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/exec/starpu/idle.h"
#include "runtime/exec/starpu/environment.h"

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards the next variables; held while StarPU starts and stops */
static int users;
static bool ours, sleeps;
static int limit = STARPU_MAXCPUS;     /* largest number of CPU workers: as compiled, once StarPU has run */
static int spare[CPU_SETSIZE], spares; /* see tsi_starpu_spare_cores */
static bool lost;

/* In the child of a fork(), which has only this thread: the workers belong to the parent. A thread of the
 * parent that held the lock was about to start or stop StarPU. */
static void lose(void) {
  const bool held = pthread_mutex_trylock(&lock) != 0;
  lost = lost || held || users > 0 || starpu_is_initialized();
  if (!held) pthread_mutex_unlock(&lock);
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  users = spares = 0;
  ours = sleeps = false;
  tsi_idle_reset();
}

__attribute__((constructor)) static void watch_forks(void) {
  (void)pthread_atfork(NULL, NULL, lose);
}

bool tsi_starpu_is_lost(void) {
  return lost;
}

/* 0: the variable is not set, or its value makes no sense. */
static int variable(const char *name) {
  const char *text = getenv(name);
  const long value = text != NULL ? strtol(text, NULL, 10) : 0;
  return value > 0 && value <= INT16_MAX ? (int)value : 0;
}

int tsi_starpu_workers_requested(int requested, int cores) {
  const int given = variable(getenv("STARPU_NCPU") != NULL ? "STARPU_NCPU" : "STARPU_NCPUS");
  const int main_thread = variable("STARPU_MAIN_THREAD_BIND") > 0; /* its core gets no worker */
  const int rest = cores - variable("STARPU_RESERVE_NCPU") - main_thread;
  return given > 0 ? given : requested > 0 ? requested : rest > 1 ? rest : 1;
}

bool tsi_starpu_cores_are_listed(void) {
  return getenv("STARPU_WORKERS_CPUID") != NULL || getenv("STARPU_WORKERS_COREID") != NULL;
}

/* Processing units for workers and threads of TriStar. */
typedef struct places {
  tsi_binding binding;
  int first, units; /* index of the first requested core in the list; length of the list */
  tsi_unit unit[CPU_SETSIZE];
} places;

static tristar_status find_places(const tsi_env *env, const tsi_starpu_wishes *wishes, places *p) {
  p->binding = (tsi_binding){.cores = 0};
  p->first = wishes->first_core > 0 ? wishes->first_core : 0;
  if (!TSI_IS_SIMULATED) TSI_TRY(tsi_binding_find(env, CPU_SETSIZE, p->unit, &p->binding));
  p->units = p->binding.units < CPU_SETSIZE ? p->binding.units : CPU_SETSIZE;
  return TRISTAR_OK;
}

/* Binds workers to the cores of the affinity mask, beginning with the requested core. STARPU_WORKERS_CPUID
 * has precedence. */
static void bind_workers(const places *p, const tsi_starpu_wishes *wishes, struct starpu_conf *conf) {
  if (p->binding.cores == 0 || tsi_starpu_cores_are_listed() ||
      (!p->binding.masked && wishes->first_core < 0))
    return;
  conf->use_explicit_workers_bindid = 1;
  for (int w = 0; w < STARPU_NMAXWORKERS; w++)
    conf->workers_bindid[w] = p->unit[(p->first + w) % p->units].logical;
  if (conf->ncpus < 0 && getenv("STARPU_NCPU") == NULL && p->binding.masked) conf->ncpus = p->binding.cores;
}

static bool has_worker(const tsi_unit *unit) {
  for (unsigned w = 0; w < starpu_worker_get_count(); w++)
    if (starpu_worker_get_bindid((int)w) == (int)unit->logical) return true;
  return false;
}

/* Finds the spare cores. The first units of the list are on different cores. */
static void find_spare_cores(const places *p, int needed) {
  const bool unbound = variable("STARPU_WORKERS_NOBIND") != 0;
  const int cores = p->binding.cores < p->units ? p->binding.cores : p->units;
  const int most = (needed < cores ? needed : cores) - (int)starpu_worker_get_count();
  spares = 0;
  if (tsi_starpu_cores_are_listed()) return;
  for (int k = 0; k < cores && spares < most; k++) {
    const tsi_unit *unit = &p->unit[(p->first + k) % cores];
    if (!has_worker(unit)) spare[spares++] = unbound ? -1 : (int)unit->cpu;
  }
}

static tristar_status check_scheduler(const tsi_env *env, const char *name) {
  if (*name == '\0') return TRISTAR_OK;
  for (struct starpu_sched_policy **p = starpu_sched_get_predefined_policies(); *p != NULL; p++)
    if (strcmp((*p)->policy_name, name) == 0) return TRISTAR_OK;
  TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
           "scheduler \"%.60s\" is none of this StarPU (tristar_get_scheduler lists them)", name);
}

/* StarPU would end the process if a device did not exist. */
static tristar_status choose_devices(const tsi_env *env, const tsi_starpu_wishes *wishes,
                                     struct starpu_conf *conf) {
  const int first = wishes->first_device, count = wishes->devices;
  if (first < 0 || tsi_devices.choose == NULL) return TRISTAR_OK;
  const int there = tsi_devices.present();
  if (count < 0 || first > there || count > there - first)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "first_device is %d and devices %d, but this process sees %d GPUs",
             first, count, there);
  tsi_devices.choose(conf, first, count);
  return TRISTAR_OK;
}

/* Sets the limit, and logs if StarPU has fewer workers than needed: it was compiled for a largest number of
 * CPU workers (STARPU_MAXCPUS), which may differ from the one in the header used here. */
static void note_limit(tsi_env *env, int needed) {
  const int workers = (int)starpu_cpu_worker_get_count(), devices = (int)starpu_worker_get_count() - workers;
  if (workers + devices < needed)
    limit = workers;
  else if (limit < workers)
    limit = workers;
  if (workers + devices >= needed || TSI_IS_SIMULATED) return;
  tsi_log(env, TRISTAR_LOG_WARNING,
          "this StarPU was compiled for %d CPU workers at most, but %d were requested: tasks run on %d "
          "cores, and %d threads of TriStar help elsewhere; tools/starpu builds a StarPU without this limit",
          limit, needed, workers, spares);
}

static void warn_of_scheduler(tsi_env *env) {
  int version[3];
  starpu_get_version(&version[0], &version[1], &version[2]);
  if (version[0] == 1 && version[1] == 3 && strcmp(tsi_starpu_scheduler(), "modular-heteroprio-heft") == 0)
    tsi_log(env, TRISTAR_LOG_WARNING, "the scheduler %s of StarPU 1.3 may never end", tsi_starpu_scheduler());
}

/* With the files of StarPU locked. */
static tristar_status start_locked(tsi_env *env, const tsi_starpu_wishes *wishes) {
  struct starpu_conf conf;
  places p;
  TSI_TRY(tsi_starpu_check_environment(env));
  TSI_TRY(tsi_simulation_check(env));
  TSI_TRY(check_scheduler(env, wishes->scheduler));
  int code = starpu_conf_init(&conf);
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_conf_init gave %d (%s)", code, strerror(-code));
  if (wishes->workers > 0) conf.ncpus = wishes->workers;
  TSI_TRY(find_places(env, wishes, &p));
  bind_workers(&p, wishes, &conf);
  TSI_TRY(choose_devices(env, wishes, &conf));
  conf.sched_policy_name = *wishes->scheduler ? wishes->scheduler : "lws"; /* STARPU_SCHED has precedence */
  conf.catch_signals = 0;
  code = starpu_init(&conf);
  if (code == -ENODEV) TSI_FAIL(env, TRISTAR_ERR_NO_WORKER, "StarPU found no device to run tasks on");
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_init gave %d (%s)", code, strerror(-code));
  const int needed = tsi_starpu_workers_requested(wishes->workers, p.binding.cores);
  find_spare_cores(&p, needed);
  note_limit(env, needed);
  warn_of_scheduler(env);
  return TRISTAR_OK;
}

static tristar_status start(tsi_env *env, const tsi_starpu_wishes *wishes) {
  const int files = tsi_starpu_lock_files();
  const tristar_status status = start_locked(env, wishes);
  tsi_starpu_unlock_files(files);
  return status;
}

/* StarPU runs already: adds one to its count. */
static tristar_status join(tsi_env *env, const tsi_starpu_wishes *wishes) {
  const int code = starpu_init(NULL);
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_init gave %d (%s)", code, strerror(-code));
  const int workers = (int)starpu_cpu_worker_get_count();
  const char *scheduler = starpu_sched_ctx_get_sched_policy(0)->policy_name;
  if (wishes->workers > 0 && wishes->workers != workers)
    tsi_log(env, TRISTAR_LOG_WARNING, "StarPU runs already, with %d CPU workers: %d cannot be had", workers,
            wishes->workers);
  if (*wishes->scheduler && strcmp(wishes->scheduler, scheduler) != 0)
    tsi_log(env, TRISTAR_LOG_WARNING, "StarPU runs already, with the scheduler %s: %s cannot be had",
            scheduler, wishes->scheduler);
  return TRISTAR_OK;
}

/* Under the lock. */
static void leave(void) {
  const bool stop_idle = --users == 0 && ours && sleeps;
  if (stop_idle) tsi_idle_stop();
  if (users == 0) tsi_simulation_end();
  starpu_shutdown();
  if (stop_idle) tsi_idle_end();
  if (users > 0) return;
  ours = sleeps = false;
  spares = 0;
}

tristar_status tsi_starpu_acquire(tsi_env *env, const tsi_starpu_wishes *wishes) {
  tristar_status status = TRISTAR_OK;
  pthread_mutex_lock(&lock);
  if (lost)
    TSI_FAIL_OUT(env, TRISTAR_ERR_UNSUPPORTED,
                 "StarPU ran when fork() made this process: its workers are the parent's, and it cannot be "
                 "started again");
  const bool runs = starpu_is_initialized();
  TSI_TRY_OUT(runs ? join(env, wishes) : start(env, wishes));
  if (users++ == 0) {
    ours = !runs;
    sleeps = ours && wishes->idle_sleep && !TSI_IS_SIMULATED; /* simulated workers sleep by themselves */
    tsi_simulation_begin(&wishes->simulated);
    if (sleeps) tsi_idle_start(env, wishes->idle_doze);
  }
  if (starpu_cpu_worker_get_count() == 0) {
    const unsigned workers = starpu_worker_get_count();
    leave();
    TSI_FAIL_OUT(env, TRISTAR_ERR_NO_WORKER, "StarPU has %u workers, but no CPU worker: STARPU_NCPU=0?",
                 workers);
  }
out:
  pthread_mutex_unlock(&lock);
  return status;
}

void tsi_starpu_release(void) {
  pthread_mutex_lock(&lock);
  leave();
  pthread_mutex_unlock(&lock);
}

static bool look(const bool *what) {
  pthread_mutex_lock(&lock);
  const bool now = *what;
  pthread_mutex_unlock(&lock);
  return now;
}

bool tsi_starpu_is_ours(void) {
  return look(&ours);
}

bool tsi_starpu_sleeps(void) {
  return look(&sleeps);
}

bool tsi_starpu_polls(void) {
  return !tsi_starpu_sleeps() && tsi_starpu_runs();
}

bool tsi_starpu_runs(void) {
  return !lost && starpu_is_initialized() != 0;
}

bool tsi_starpu_inside_task(void) {
  return tsi_starpu_runs() && starpu_worker_get_id() >= 0;
}

int tsi_starpu_most_workers(void) {
  return limit;
}

int tsi_starpu_spare_cores(int *cpu, int most) {
  pthread_mutex_lock(&lock);
  const int count = spares < most ? spares : most;
  for (int k = 0; k < count && cpu != NULL; k++) cpu[k] = spare[k];
  pthread_mutex_unlock(&lock);
  return count;
}

int tsi_starpu_cpu_workers(void) {
  return (int)starpu_cpu_worker_get_count();
}

int tsi_starpu_workers(void) {
  return (int)starpu_worker_get_count();
}

int tsi_starpu_cpu_worker_numbers(int *worker, int most) {
  return (int)starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, worker, (unsigned)most);
}

const char *tsi_starpu_scheduler(void) {
  return starpu_sched_ctx_get_sched_policy(0)->policy_name;
}
