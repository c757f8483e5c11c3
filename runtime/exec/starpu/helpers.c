/* See helpers.h. */
#include "runtime/exec/starpu/helpers.h"

#include <sched.h>
#include <starpu.h>

#include "codelets/host_task.h"
#include "runtime/base/clock.h"
#include "runtime/base/happens_before.h"
#include "runtime/exec/starpu/idle.h"
#include "runtime/exec/starpu/simulation.h"

/* Seconds that a helper stays without work, as long as StarPU's idle workers poll before they sleep (idle.h):
 * the next solve of an iterative method comes sooner. It leaves at once where StarPU has a task that is
 * ready. */
#define STAY 2e-3
/* Seconds after which it returns to StarPU though offers go on. */
#define STAY_MOST 10e-3

static const _Atomic(int) one_column = 1;

typedef struct tsi_helper {
  tsi_host_task body;
  tsi_helpers *helpers;
  uint64_t seen; /* the last offer that it looked at */
  int worker;
} tsi_helper;
_Static_assert(sizeof(tsi_helper) <= sizeof((tsi_helpers *)0)->body[0], "tsi_helpers.body");

void tsi_helpers_init(tsi_helpers *h, void (*last)(tsi_helpers *)) {
  h->last = last;
  atomic_init(&h->users, 1);
  atomic_init(&h->offer, 0);
  atomic_init(&h->offers, 0);
  atomic_init(&h->met, 0);
  atomic_init(&h->help, NULL);
  atomic_init(&h->arg, NULL);
  atomic_init(&h->closing, false);
  for (int w = 0; w < TSI_HELPERS; w++) {
    atomic_init(&h->there[w], 0);
    atomic_init(&h->number[w], 0);
    atomic_init(&h->at[w], NULL);
  }
}

static inline void rest(void) {
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("yield");
#endif
}

/* Does an offer stand, other than the one that was seen last? */
static inline bool is_new(uint64_t offer, uint64_t seen) {
  return offer != 0 && offer != TSI_OFFER_COMES && offer != seen;
}

typedef enum outcome { NOTHING_NEW, HELPED, NOT_MEANT } outcome;

/* Works on the offer that stands, if it is not the one that was seen last. */
static outcome help_once(tsi_helpers *h, int worker, uint64_t *seen) {
  const uint64_t offer = atomic_load(&h->offer);
  if (!is_new(offer, *seen)) return NOTHING_NEW;
  const tsi_help help = atomic_load(&h->help);
  void *arg = atomic_load(&h->arg);
  atomic_store(&h->at[worker], arg);
  const int number = atomic_load(&h->number[worker]);
  const bool stands = atomic_load(&h->offer) == offer; /* then all these were its own, and stay */
  if (stands && number > 0) {
    atomic_store(&h->met, offer);
    help(arg, number, worker);
  }
  atomic_store(&h->at[worker], NULL);
  *seen = offer;
  return !stands ? NOTHING_NEW : number > 0 ? HELPED : NOT_MEANT;
}

static void stay(void *arg, int number) {
  tsi_helper *self = arg;
  tsi_helpers *h = self->helpers;
  const double begin = tsi_clock();
  double last = begin;
  (void)number;
  TSI_HAPPENS_AFTER(self);
  while (!atomic_load(&h->closing)) {
    for (int k = 0; k < 32; k++) {
      const outcome came = help_once(h, self->worker, &self->seen);
      if (came == NOT_MEANT) return; /* the caller has come to this core: it is his */
      if (came == HELPED) last = tsi_clock();
      rest();
    }
    const double now = tsi_clock();
    if (now - last > STAY || now - begin > STAY_MOST || tsi_idle_has_others()) break;
    (void)sched_yield();
  }
}

void tsi_helpers_release(tsi_helpers *h) {
  if (atomic_fetch_sub(&h->users, 1) == 1) h->last(h);
}

static void end(void *arg);

/* Calls a worker, unless it is there. */
static void call(tsi_helpers *h, int worker) {
  tsi_helper *self = (tsi_helper *)(void *)h->body[worker];
  int before = 0;
  if (!atomic_compare_exchange_strong(&h->there[worker], &before, 1)) return;
  struct starpu_task *task = starpu_task_create();
  if (task == NULL) goto fails;
  *self = (tsi_helper){.body = {stay, self, 1, &one_column}, .helpers = h, .worker = worker};
  tsi_host_task_init(task, &self->body, "help", STARPU_MIN_PRIO); /* behind the program's for this worker */
  task->destroy = task->detach = 1;
  task->execute_on_a_specific_worker = 1;
  task->workerid = (unsigned)worker;
  task->callback_func = end;
  task->callback_arg = self;
  TSI_HAPPENS_BEFORE(self);
  atomic_fetch_add(&h->users, 1);
  tsi_idle_call_begins();
  if (starpu_task_submit(task) == 0) {
    tsi_idle_call(worker);
    return;
  }
  tsi_idle_call_ended();
  atomic_fetch_sub(&h->users, 1);
  task->destroy = task->detach = 0;
  starpu_task_destroy(task);
fails:
  atomic_store(&h->there[worker], 0);
}

/* Who offers looks whether the worker is there after the offer stands, and here the offer is looked at after
 * the worker is gone: one of the two sees the other, and an offer that came while the worker left is not
 * lost. It comes back as a task behind those of the program. */
static void end(void *arg) {
  const tsi_helper *self = arg;
  tsi_helpers *h = self->helpers;
  const int worker = self->worker;
  const uint64_t seen = self->seen;
  tsi_idle_call_ended();
  atomic_store(&h->there[worker], 0); /* from here on `self` may be another call's */
  if (is_new(atomic_load(&h->offer), seen) && atomic_load(&h->number[worker]) > 0 &&
      !atomic_load(&h->closing))
    call(h, worker);
  tsi_helpers_release(h);
}

/* core: as the operating system counts; StarPU tells its own by hwloc's order. */
static bool has_core(int worker, int core) {
#ifdef STARPU_HAVE_HWLOC
  const hwloc_obj_t unit = starpu_worker_get_hwloc_obj(worker);
  return core >= 0 && unit != NULL && unit->cpuset != NULL &&
         hwloc_bitmap_isset(unit->cpuset, (unsigned)core);
#else
  return core >= 0 && starpu_worker_get_bindid(worker) == core;
#endif
}

/* Can this worker help the calling thread? Not if it is the thread, or has its core; nor a simulated one: to
 * wait for work takes no simulated time, so that it would wait for ever. */
static bool is_elsewhere(int worker) {
  if (TSI_IS_SIMULATED) return false;
  if (starpu_worker_get_type(worker) != STARPU_CPU_WORKER || worker == starpu_worker_get_id()) return false;
  return !has_core(worker, sched_getcpu());
}

bool tsi_helpers_offer(tsi_helpers *h, int most, tsi_help help, void *arg) {
  int called[TSI_HELPERS], count = 0;
  const int workers = (int)starpu_worker_get_count();
  uint64_t none = 0;
  for (int w = 0; w < workers && w < TSI_HELPERS && count < most; w++)
    if (is_elsewhere(w)) called[count++] = w;
  if (count == 0) return false;
  if (!atomic_compare_exchange_strong(&h->offer, &none, TSI_OFFER_COMES)) return false;
  for (int w = 0; w < workers && w < TSI_HELPERS; w++) atomic_store(&h->number[w], 0);
  for (int k = 0; k < count; k++) atomic_store(&h->number[called[k]], k + 1);
  atomic_store(&h->help, help);
  atomic_store(&h->arg, arg);
  atomic_store(&h->offer, atomic_fetch_add(&h->offers, 1) + 1);
  for (int k = 0; k < count; k++) call(h, called[k]);
  return true;
}

void tsi_helpers_share(tsi_helpers *h, tsi_help_choice *choice, int most, const tsi_shared *shared) {
  const bool wanted = tsi_help_choose(choice);
  const double begin = tsi_clock();
  const bool works = wanted || shared->alone == NULL;
  if (works && shared->begin) shared->begin(shared->arg);
  const bool stands = wanted && tsi_helpers_offer(h, most, shared->work, shared->arg);
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
  for (int w = 0; w < TSI_HELPERS; w++)
    while (atomic_load(&h->at[w]) == arg) (void)sched_yield();
}

void tsi_helpers_close(tsi_helpers *h) {
  atomic_store(&h->closing, true);
}
