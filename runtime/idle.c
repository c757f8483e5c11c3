/* See idle.h. */
#include "runtime/idle.h"

#include <errno.h>
#include <signal.h>
#include <starpu.h>
#include <time.h>

#define LOOK_NANOSECONDS 1000000L        /* from one look to the next */
#define STILL_LOOKS 2                    /* looks in a row that find nothing before workers sleep */
#define TURN_NANOSECONDS (10 * 1000000L) /* a sleeping worker takes a turn, though nobody has roused it */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards hook and changes of asleep */
static pthread_cond_t roused;                            /* asleep has become false */
static int hook = -1;
static _Atomic(bool) asleep;
static _Atomic(int64_t) rouses; /* calls of tsi_idle_rouse */
static _Atomic(int) holds;
static _Atomic(bool) stop;
static bool running; /* the thread; changed by whoever starts and stops StarPU only */
static pthread_t thread;

/* The clock that nobody sets. */
static void make_condition(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&roused, &attributes);
  pthread_condattr_destroy(&attributes);
}

/* The hook. StarPU also calls it in threads of the program that wait for data: those are not idle. */
static unsigned sleep_here(void *arg) {
  struct timespec until;
  (void)arg;
  if (!atomic_load(&asleep) || starpu_worker_get_id() < 0) return 1;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += TURN_NANOSECONDS;
  if (until.tv_nsec >= 1000000000L) {
    until.tv_nsec -= 1000000000L;
    until.tv_sec++;
  }
  pthread_mutex_lock(&lock);
  while (atomic_load(&asleep) && pthread_cond_timedwait(&roused, &lock, &until) == 0) continue;
  pthread_mutex_unlock(&lock);
  return 1;
}

/* Under the lock. The hook goes first: nobody polls it yet, so StarPU's table is free. */
static void wake_locked(void) {
  if (!atomic_load(&asleep)) return;
  starpu_progression_hook_deregister(hook);
  hook = -1;
  atomic_store(&asleep, false);
  pthread_cond_broadcast(&roused);
}

static void wake(void) {
  pthread_mutex_lock(&lock);
  wake_locked();
  pthread_mutex_unlock(&lock);
}

static bool nothing_to_do(void) {
  return atomic_load(&holds) == 0 && starpu_task_nsubmitted() == 0;
}

/* seen: the rouses that there had been. Who rouses counts before he looks at asleep, and here asleep is set
 * before the count is looked at: one of the two sees the other. false: StarPU has no place for the hook. */
static bool put_to_sleep(int64_t seen) {
  pthread_mutex_lock(&lock);
  hook = starpu_progression_hook_register(sleep_here, NULL);
  const bool registered = hook >= 0;
  atomic_store(&asleep, registered);
  if (registered && (atomic_load(&rouses) != seen || !nothing_to_do())) wake_locked();
  pthread_mutex_unlock(&lock);
  return registered;
}

static void *watch(void *arg) {
  const struct timespec period = {0, LOOK_NANOSECONDS};
  int64_t seen = -1;
  int still = 0;
  (void)arg;
  while (!atomic_load(&stop)) {
    const int64_t now = atomic_load(&rouses);
    const bool quiet = now == seen && nothing_to_do();
    still = quiet ? still + 1 : 0;
    seen = now;
    if (!quiet)
      wake();
    else if (still >= STILL_LOOKS && !atomic_load(&asleep) && !put_to_sleep(seen))
      break; /* all places are taken: the workers go on polling */
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &period, NULL);
  }
  return NULL;
}

void tsi_idle_start(tsi_env *env) {
  sigset_t all, before;
  pthread_once(&once, make_condition);
  atomic_store(&stop, false);
  sigfillset(&all); /* signals are for the threads of the program */
  const bool masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  const int code = pthread_create(&thread, NULL, watch, NULL);
  if (masked) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  running = code == 0;
  if (!running)
    tsi_log(env, TRISTAR_LOG_WARNING, "no thread to put idle workers to sleep: %s", strerror(code));
}

void tsi_idle_stop(void) {
  if (!running) return;
  atomic_store(&stop, true);
  pthread_join(thread, NULL);
  running = false;
  wake();
}

void tsi_idle_rouse(void) {
  atomic_fetch_add(&rouses, 1);
  if (atomic_load(&asleep)) wake();
}

void tsi_idle_hold(void) {
  atomic_fetch_add(&holds, 1);
  tsi_idle_rouse();
}

void tsi_idle_release(void) {
  atomic_fetch_sub(&holds, 1);
}

bool tsi_idle_asleep(void) {
  pthread_mutex_lock(&lock);
  const bool now = atomic_load(&asleep);
  pthread_mutex_unlock(&lock);
  return now;
}
