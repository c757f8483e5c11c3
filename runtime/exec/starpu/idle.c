/* See idle.h. */
#include "runtime/exec/starpu/idle.h"

#include <sched.h>
#include <starpu.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/base/threads.h"
#include "runtime/exec/starpu/service.h"

#define LOOK_NANOSECONDS 1000000L  /* between two checks */
#define HELD_NANOSECONDS 20000000L /* the same while workers are held awake */
#define STILL_LOOKS 2              /* checks in a row that find nothing before workers sleep */
#define TURN_SECONDS 0.01          /* a sleeping worker takes a turn after this time */
#define NAP_TURNS 8                /* turns without a task before a worker naps, with doze */
#define HELD_NAP_TURNS 32          /* the same while workers are held awake */
#define NAP_NANOSECONDS 100000L

static bool condition_made; /* once and for all, by the thread that starts StarPU */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards hook and changes of asleep */
static pthread_cond_t roused;                            /* asleep has become false */
static int hook = -1;                                    /* number of the hook while it is registered */
static _Atomic(bool) asleep;
static _Atomic(bool) other_hook; /* there is another hook that gives way */
static _Atomic(bool) dozes;      /* idle workers nap while others work */
static _Atomic(bool) doze_hook;  /* tsi_idle_give_way is registered for dozing */
static _Thread_local int turns;  /* turns of this worker since a task or a nap */
static _Atomic(int64_t) rouses;  /* calls of tsi_idle_rouse */
static _Atomic(int) holds;
static _Atomic(int) dismissals;
#define CALLABLE 256                                        /* workers that can be called separately */
static _Atomic(int) called[CALLABLE];                       /* the worker must check its tasks */
static _Atomic(int) calls;                                  /* calls that have not ended */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER; /* guards the next two; held to query StarPU */
static bool stop;
static bool registering;      /* the thread registers the hook, or is about to */
static _Atomic(bool) running; /* the thread runs; changed only by threads that start and stop StarPU */
static pthread_t thread;

/* StarPU also calls hooks in threads of the program that wait for data: these are not idle. */
static bool sleep_a_turn(void) {
  const int worker = starpu_worker_get_id();
  _Atomic(int) never = 0, *call = worker >= 0 && worker < CALLABLE ? &called[worker] : &never;
  if (!atomic_load(&asleep) || worker < 0 || atomic_exchange(call, 0)) return false;
  const struct timespec until = tsi_wall_clock_in(TURN_SECONDS);
  pthread_mutex_lock(&lock);
  while (atomic_load(&asleep) && !atomic_load(call) && pthread_cond_timedwait(&roused, &lock, &until) == 0)
    continue;
  pthread_mutex_unlock(&lock);
  return true;
}

static bool held(void) {
  return atomic_load(&holds) > 0 && atomic_load(&dismissals) == 0;
}

/* Naps if other workers have tasks, and this worker has found none for a while. */
static bool nap(void) {
  if (!atomic_load(&dozes) || starpu_worker_get_id() < 0) return false;
  if (++turns < (held() ? HELD_NAP_TURNS : NAP_TURNS)) return false;
  const struct timespec time = {0, NAP_NANOSECONDS};
  turns = 0;
  (void)nanosleep(&time, NULL);
  return true;
}

void tsi_idle_worked(void) {
  turns = 0;
}

unsigned tsi_idle_give_way(void *arg) {
  (void)arg;
  if (!sleep_a_turn() && !nap()) sched_yield();
  return 1;
}

/* Under the lock, which every worker in a turn takes: so no worker reads StarPU's table of hooks for long,
 * and the hook can be removed from it. */
static void wake_locked(void) {
  if (!atomic_load(&asleep)) return;
  if (hook >= 0) starpu_progression_hook_deregister(hook);
  hook = -1;
  atomic_store(&asleep, false);
  pthread_cond_broadcast(&roused);
}

static void wake(void) {
  pthread_mutex_lock(&lock);
  wake_locked();
  pthread_mutex_unlock(&lock);
}

/* Returns false, too, when StarPU is about to end. */
static bool nothing_to_do(void) {
  pthread_mutex_lock(&looking);
  const bool nothing = !stop && !held() && starpu_task_nsubmitted() <= atomic_load(&calls);
  pthread_mutex_unlock(&looking);
  return nothing;
}

/* false: StarPU is about to end, so nothing may be registered. */
static bool set_registering(bool value) {
  pthread_mutex_lock(&looking);
  const bool go_on = !stop;
  registering = value && go_on;
  pthread_mutex_unlock(&looking);
  return go_on;
}

/* seen: number of rouses before. tsi_idle_rouse counts before it reads asleep, and here asleep is set before
 * the count is read: one of the two sees the other. The lock is not held during the registration, which may
 * take long if the program has hooks: polling workers then read the table all the time. false: StarPU has no
 * entry for the hook. */
static bool put_to_sleep(int64_t seen) {
  const bool needed = !atomic_load(&other_hook);
  if (!set_registering(true)) return false;
  const int number = needed ? starpu_progression_hook_register(tsi_idle_give_way, NULL) : -1;
  (void)set_registering(false);
  if (needed && number < 0) return false;
  pthread_mutex_lock(&lock);
  hook = number;
  atomic_store(&asleep, true);
  if (atomic_load(&rouses) != seen || !nothing_to_do()) wake_locked();
  pthread_mutex_unlock(&lock);
  return true;
}

static bool stopped(void) {
  pthread_mutex_lock(&looking);
  const bool now = stop;
  pthread_mutex_unlock(&looking);
  return now;
}

static void *watch(void *arg) {
  int64_t seen = atomic_load(&rouses); /* the workers are asleep */
  int still = 0;
  (void)arg;
  while (!stopped()) {
    const int64_t now = atomic_load(&rouses);
    const bool quiet = now == seen && nothing_to_do();
    still = quiet ? still + 1 : 0;
    seen = now;
    if (!quiet)
      wake();
    else if (still >= STILL_LOOKS && !atomic_load(&asleep) && !put_to_sleep(seen))
      break; /* all entries are taken: the workers continue to poll */
    const struct timespec period = {0, held() ? HELD_NANOSECONDS : LOOK_NANOSECONDS};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &period, NULL);
  }
  return NULL;
}

/* Returns whether the thread can be joined at once. */
static bool set_stop(bool value) {
  pthread_mutex_lock(&looking);
  stop = value;
  const bool at_once = !registering;
  pthread_mutex_unlock(&looking);
  return at_once;
}

void tsi_idle_start(tsi_env *env, bool doze) {
  tristar_status status = TRISTAR_OK;
  atomic_store(&dozes, doze);
  if (doze) tsi_idle_add_hook(env, tsi_idle_give_way, &doze_hook, "idle workers poll while others work");
  if (!condition_made) TSI_TRY_OUT(tsi_condition_init(env, &roused));
  condition_made = true;
  (void)set_stop(false);
  /* There are no tasks yet. Else the caller, which continues and solves, would share its core with a polling
   * worker until the thread has checked twice, for whole time slices. */
  (void)put_to_sleep(atomic_load(&rouses));
  TSI_TRY_OUT(tsi_thread_start(env, &thread, watch, NULL));
  running = true;
out:
  if (status != TRISTAR_OK) wake();
  if (status != TRISTAR_OK)
    tsi_log(env, TRISTAR_LOG_WARNING, "idle workers will poll: %s", tsi_error_text(env));
}

static void join(void) {
  pthread_join(thread, NULL);
  running = false;
}

void tsi_idle_stop(void) {
  atomic_store(&dozes, false);
  if (!running) return;
  const bool at_once = set_stop(true); /* afterwards no thread queries StarPU */
  wake();
  if (at_once) join();
}

void tsi_idle_end(void) {
  if (running) join();
}

void tsi_idle_add_hook(tsi_env *env, unsigned (*hook_function)(void *), _Atomic(bool) *exists,
                       const char *without) {
  if (atomic_load(exists) || atomic_exchange(exists, true)) return;
  if (starpu_progression_hook_register(hook_function, NULL) >= 0)
    atomic_store(&other_hook, true);
  else
    tsi_log(env, TRISTAR_LOG_WARNING, "StarPU has no place for another progression hook: %s", without);
}

void tsi_idle_rouse(void) {
  atomic_fetch_add(&rouses, 1);
  if (atomic_load(&asleep)) wake();
}

void tsi_idle_call_begins(void) {
  atomic_fetch_add(&calls, 1);
}

/* Called after the task is submitted: the worker takes one turn for it. */
void tsi_idle_call(int worker) {
  if (worker >= CALLABLE) {
    tsi_idle_rouse();
    return;
  }
  atomic_store(&called[worker], 1);
  if (!atomic_load(&asleep)) return;
  pthread_mutex_lock(&lock);
  pthread_cond_broadcast(&roused);
  pthread_mutex_unlock(&lock);
}

void tsi_idle_call_ended(void) {
  atomic_fetch_sub(&calls, 1);
}

bool tsi_idle_has_others(void) {
  return starpu_task_nready() > atomic_load(&calls);
}

void tsi_idle_hold(void) {
  atomic_fetch_add(&holds, 1);
  tsi_idle_rouse();
}

void tsi_idle_release(void) {
  atomic_fetch_sub(&holds, 1);
}

/* At once if no hook must be registered: the thread may not check for a while. */
void tsi_idle_dismiss(void) {
  const int64_t seen = atomic_load(&rouses);
  if (atomic_fetch_add(&dismissals, 1) > 0 || !atomic_load(&running) || !atomic_load(&other_hook)) return;
  pthread_mutex_lock(&lock);
  if (nothing_to_do()) {
    atomic_store(&asleep, true);
    if (atomic_load(&rouses) != seen || !nothing_to_do()) wake_locked();
  }
  pthread_mutex_unlock(&lock);
}

void tsi_idle_recall(void) {
  if (atomic_fetch_sub(&dismissals, 1) == 1 && atomic_load(&holds) > 0) tsi_idle_rouse();
}

void tsi_idle_reset(void) {
  atomic_store(&holds, 0);
  atomic_store(&dismissals, 0);
  atomic_store(&calls, 0);
}

bool tsi_idle_asleep(void) {
  pthread_mutex_lock(&lock);
  const bool now = atomic_load(&asleep);
  pthread_mutex_unlock(&lock);
  return now;
}
