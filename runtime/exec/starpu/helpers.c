/* See helpers.h. */
#include "runtime/exec/starpu/helpers.h"

#include <sched.h>
#include <starpu.h>

#include "codelets/host_task.h"
#include "runtime/base/clock.h"
#include "runtime/base/happens_before.h"
#include "runtime/base/threads.h"
#include "runtime/exec/starpu/idle.h"
#include "runtime/exec/starpu/service.h"

/* Seconds that a helper stays without work, as long as StarPU's idle workers poll before they sleep (idle.h):
 * the next solve of an iterative method follows sooner. The helper leaves at once if StarPU has a ready task.
 */
#define STAY 2e-3
/* Seconds after which it returns to StarPU even if offers continue. */
#define STAY_MOST 10e-3

static const _Atomic(int) one_column = 1;

_Static_assert(sizeof(tsi_host_task) <= sizeof((tsi_helper *)0)->body, "tsi_helper.body");

void tsi_helpers_init(tsi_helpers *h, void (*last)(tsi_helpers *)) {
  h->last = last;
  atomic_init(&h->users, 1);
  atomic_init(&h->offer, 0);
  atomic_init(&h->offers, 0);
  atomic_init(&h->met, 0);
  atomic_init(&h->help, NULL);
  atomic_init(&h->arg, NULL);
  atomic_init(&h->closing, false);
  atomic_init(&h->slots, 0);
  for (int k = 0; k < TSI_HELPERS; k++) {
    tsi_helper *self = &h->helper[k];
    self->helpers = h;
    self->slot = k;
    self->seen = 0;
    atomic_init(&self->at, NULL);
    atomic_init(&h->there[k], 0);
    atomic_init(&h->number[k], 0);
  }
}

static inline void rest(void) {
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("yield");
#endif
}

/* Whether an offer stands, other than the one seen last. */
static inline bool is_new(uint64_t offer, uint64_t seen) {
  return offer != 0 && offer != TSI_OFFER_COMES && offer != seen;
}

typedef enum outcome { NOTHING_NEW, HELPED, NOT_MEANT } outcome;

static inline atomic_int *there(const tsi_helper *self) {
  return &self->helpers->there[self->slot];
}
static inline atomic_int *number_of(const tsi_helper *self) {
  return &self->helpers->number[self->slot];
}

/* Works on the standing offer, if it was not seen before. */
static outcome help_once(tsi_helper *self) {
  tsi_helpers *h = self->helpers;
  const uint64_t offer = atomic_load(&h->offer);
  if (!is_new(offer, self->seen)) return NOTHING_NEW;
  const tsi_help help = atomic_load(&h->help);
  void *arg = atomic_load(&h->arg);
  atomic_store(&self->at, arg);
  const int number = atomic_load(number_of(self));
  const bool stands =
      atomic_load(&h->offer) == offer; /* if so, all values above are the offer's, which stays */
  if (stands && number > 0) {
    atomic_store(&h->met, offer);
    help(arg, number, self->slot);
  }
  atomic_store(&self->at, NULL);
  self->seen = offer;
  return !stands ? NOTHING_NEW : number > 0 ? HELPED : NOT_MEANT;
}

static bool is_worker(const tsi_helper *self) {
  return self->slot < self->helpers->workers;
}

static void stay(tsi_helper *self) {
  tsi_helpers *h = self->helpers;
  const double begin = tsi_clock();
  double last = begin;
  while (!atomic_load(&h->closing)) {
    for (int k = 0; k < 32; k++) {
      const outcome came = help_once(self);
      if (came == NOT_MEANT) return; /* the caller now runs on this core */
      if (came == HELPED) last = tsi_clock();
      rest();
    }
    const double now = tsi_clock();
    if (now - last > STAY) return;
    if (is_worker(self) && (now - begin > STAY_MOST || tsi_idle_has_others())) return;
    (void)sched_yield();
  }
}

/* A helper leaves. A caller first publishes its offer, and then checks whether the helper is there. The
 * helper first leaves, and then checks the offer. So one of the two sees the other, and an offer made
 * meanwhile is not lost. Returns whether the helper must be called again. seen: its last offer. */
static bool leaves(tsi_helper *self, uint64_t seen) {
  tsi_helpers *h = self->helpers;
  atomic_store(there(self), 0); /* from here on another call may change `seen` of a worker */
  return is_new(atomic_load(&h->offer), seen) && atomic_load(number_of(self)) > 0 &&
         !atomic_load(&h->closing);
}

/* Returns whether the helper was away, and must be called. */
static bool comes(tsi_helper *self) {
  int before = 0;
  return atomic_load(there(self)) == 0 && atomic_compare_exchange_strong(there(self), &before, 1);
}

/* ---- Workers of StarPU --------------------------------------------------------------------------------- */

void tsi_helpers_release(tsi_helpers *h) {
  if (atomic_fetch_sub(&h->users, 1) == 1) h->last(h);
}

static void run_task(void *arg, int worker) {
  tsi_helper *self = arg;
  (void)worker;
  TSI_HAPPENS_AFTER(self);
  stay(self);
}

static void end_task(void *arg);

static void call_worker(tsi_helper *self) {
  tsi_helpers *h = self->helpers;
  tsi_host_task *body = (tsi_host_task *)(void *)self->body;
  if (!comes(self)) return;
  struct starpu_task *task = starpu_task_create();
  if (task == NULL) goto fails;
  *body = (tsi_host_task){run_task, self, 1, &one_column};
  tsi_host_task_init(task, body, "help", STARPU_MIN_PRIO); /* after the program's tasks for this worker */
  task->destroy = task->detach = 1;
  task->execute_on_a_specific_worker = 1;
  task->workerid = (unsigned)self->slot;
  task->callback_func = end_task;
  task->callback_arg = self;
  TSI_HAPPENS_BEFORE(self);
  atomic_fetch_add(&h->users, 1);
  tsi_idle_call_begins();
  if (starpu_task_submit(task) == 0) {
    tsi_idle_call(self->slot);
    return;
  }
  tsi_idle_call_ended();
  atomic_fetch_sub(&h->users, 1);
  task->destroy = task->detach = 0;
  starpu_task_destroy(task);
fails:
  atomic_store(there(self), 0);
}

/* The helper returns, if needed, as a task after those of the program. */
static void end_task(void *arg) {
  tsi_helper *self = arg;
  tsi_helpers *h = self->helpers;
  tsi_idle_call_ended();
  if (leaves(self, self->seen)) call_worker(self);
  tsi_helpers_release(h);
}

/* ---- Threads of our own -------------------------------------------------------------------------------- */

static void call_thread(tsi_helper *self) {
  if (comes(self)) (void)sem_post(&self->called);
}

static void *run_thread(void *arg) {
  tsi_helper *self = arg;
  for (;;) {
    while (sem_wait(&self->called) != 0) continue; /* interrupted */
    if (atomic_load(&self->helpers->closing)) return NULL;
    stay(self);
    if (leaves(self, self->seen)) call_thread(self);
  }
}

static bool start_thread(tsi_helper *self, int cpu) {
  cpu_set_t core;
  if (sem_init(&self->called, 0, 0) != 0) return false;
  if (tsi_thread_start(NULL, &self->thread, run_thread, self) != TRISTAR_OK) {
    sem_destroy(&self->called);
    return false;
  }
  CPU_ZERO(&core);
  if (cpu >= 0) CPU_SET((unsigned)cpu, &core);
  self->cpu = cpu >= 0 && pthread_setaffinity_np(self->thread, sizeof core, &core) == 0 ? cpu : -1;
  return true;
}

/* Called before the first offer. */
static void start_threads(tsi_helpers *h) {
  int cpu[TSI_HELPERS], started = 0;
  h->workers = tsi_index_min(tsi_starpu_workers(), TSI_HELPERS);
  const int spare = tsi_starpu_spare_cores(cpu, TSI_HELPERS - h->workers);
  while (started < spare && start_thread(&h->helper[h->workers + started], cpu[started])) started++;
  atomic_store(&h->slots, h->workers + started);
}

int tsi_helpers_cores(void) {
  return tsi_starpu_cpu_workers() + tsi_starpu_spare_cores(NULL, TSI_HELPERS);
}

void tsi_helpers_close(tsi_helpers *h) {
  const int slots = atomic_load(&h->slots);
  atomic_store(&h->closing, true);
  for (int k = h->workers; k < slots; k++) (void)sem_post(&h->helper[k].called);
  for (int k = h->workers; k < slots; k++) {
    (void)pthread_join(h->helper[k].thread, NULL);
    (void)sem_destroy(&h->helper[k].called);
  }
}

/* ---- Offers -------------------------------------------------------------------------------------------- */

/* core: the operating system's number. StarPU numbers cores in hwloc's order. */
static bool has_core(int worker, int core) {
#ifdef STARPU_HAVE_HWLOC
  const hwloc_obj_t unit = starpu_worker_get_hwloc_obj(worker);
  return core >= 0 && unit != NULL && unit->cpuset != NULL &&
         hwloc_bitmap_isset(unit->cpuset, (unsigned)core);
#else
  return core >= 0 && starpu_worker_get_bindid(worker) == core;
#endif
}

/* Whether it can help the calling thread: not if it is that thread, or has its core. A simulated worker
 * cannot: waiting for work takes no simulated time, so it would wait forever. */
static bool is_elsewhere(const tsi_helper *self) {
  if (TSI_IS_SIMULATED) return false;
  if (!is_worker(self)) return self->cpu < 0 || self->cpu != sched_getcpu();
  if (starpu_worker_get_type(self->slot) != STARPU_CPU_WORKER || self->slot == starpu_worker_get_id())
    return false;
  return !has_core(self->slot, sched_getcpu());
}

/* Numbers the helpers of the next offer. Returns how many there are. */
static int number_helpers(tsi_helpers *h, int most) {
  const int slots = atomic_load(&h->slots);
  int count = 0;
  for (int k = 0; k < slots; k++) {
    const int number = count < most && is_elsewhere(&h->helper[k]) ? ++count : 0;
    if (atomic_load(&h->number[k]) != number) atomic_store(&h->number[k], number);
  }
  return count;
}

/* Calls the helpers that have a number. */
static void call_helpers(tsi_helpers *h) {
  const int slots = atomic_load(&h->slots);
  for (int k = 0; k < slots; k++)
    if (atomic_load(&h->number[k]) > 0) (k < h->workers ? call_worker : call_thread)(&h->helper[k]);
}

bool tsi_helpers_offer(tsi_helpers *h, int most, tsi_help help, void *arg) {
  uint64_t none = 0;
  if (!atomic_compare_exchange_strong(&h->offer, &none, TSI_OFFER_COMES)) return false;
  if (atomic_load(&h->slots) == 0) start_threads(h);
  const bool stands = number_helpers(h, most) > 0;
  atomic_store(&h->help, help);
  atomic_store(&h->arg, arg);
  atomic_store(&h->offer, stands ? atomic_fetch_add(&h->offers, 1) + 1 : 0);
  if (stands) call_helpers(h);
  return stands;
}

void tsi_helpers_share(tsi_helpers *h, tsi_help_choice *choice, int most, const tsi_shared *shared) {
  const bool requested = tsi_help_choose(choice);
  const double begin = tsi_clock();
  const bool works = requested || shared->alone == NULL;
  if (works && shared->begin) shared->begin(shared->arg);
  const bool stands = requested && tsi_helpers_offer(h, most, shared->work, shared->arg);
  const uint64_t offer = atomic_load(&h->offer);
  if (works)
    shared->work(shared->arg, 0, -1);
  else
    shared->alone(shared->alone_arg, 0, -1);
  if (stands) tsi_helpers_take_back(h);
  tsi_help_note(choice, (tsi_clock() - begin) / shared->amount, stands && atomic_load(&h->met) == offer);
}

void tsi_helpers_take_back(tsi_helpers *h) {
  atomic_store(&h->offer, 0);
}

void tsi_helpers_leave(tsi_helpers *h, const void *arg) {
  const int slots = atomic_load(&h->slots);
  for (int k = 0; k < slots; k++)
    while (atomic_load(&h->helper[k].at) == arg) (void)sched_yield();
}
