/* Helpers: threads on other cores that share work with the calling thread.
 *
 * Job. A caller has work that any number of threads can share (runtime/exec/steps/lane_run.h), and must not
 * wait until others begin. It offers the work, works on it itself, and takes the offer back at the end. Two
 * kinds of helpers enter offered work:
 *   - A CPU worker of StarPU enters in a task. It stays for a short while after an offer, so that it is awake
 *     for the next solve, and then returns to StarPU. It also returns now and then while offers continue, so
 *     that other tasks can run.
 *   - A thread of TriStar runs on each core that StarPU leaves idle only because it was compiled for fewer
 *     workers than there are cores (tsi_starpu_spare_cores). The first offer starts these threads. A thread
 *     polls as long as a worker does, and then sleeps until an offer calls it.
 * At most one offer stands at a time. A second caller works alone meanwhile.
 *
 * Reads   offers.   Writes  the results of the work.
 * Invariants
 *   - Helpers enter work only while its offer stands. When tsi_helpers_leave returns no helper is inside the
 *     work: a helper publishes the work that it may enter, and then checks again that the offer stands (a
 *     hazard pointer; Michael 2004).
 *   - No thread waits for a worker to enter: a task of the program may keep it busy for any time. A task that
 *     StarPU begins after the end of the offer finds no work, and the memory that it reads still exists.
 *   - Slots of helpers are StarPU's numbers of the workers; the threads follow. */
#pragma once

#include <semaphore.h>
#include <stdatomic.h>

#include "runtime/base/env.h"

#define TSI_HELPERS 256 /* slots */
/* Minimum bytes of a run that is shared: 20 us of streaming. */
#define TSI_HELP_BYTES 300e3
#define TSI_OFFER_COMES UINT64_MAX

/* number: the helper's number in this offer, from 1 on; 0: the caller. slot: the helper's slot, 0 <= slot <
 * TSI_HELPERS, which no other thread has at the same time; -1: the caller. */
typedef void (*tsi_help)(void *arg, int number, int slot);

/* Choice whether work of one kind is shared. seconds: time per amount of work in recent runs, without and
 * with help; 0: unknown. Both ways are tried at first. Later the other way is tried now and then, because the
 * machine may have changed. All zeros is a choice before the first run. */
typedef struct tsi_help_choice {
  double seconds[2];
  bool helped;   /* the current choice */
  bool trial;    /* the choice on trial, while `left` > 0 */
  int left;      /* remaining runs of the trial */
  int missed;    /* runs of the trial without a helper */
  int64_t runs;  /* so far */
  int64_t next;  /* number of the run that begins the next trial */
  int64_t pause; /* runs between the trials */
} tsi_help_choice;

/* Returns whether the next run is shared. */
bool tsi_help_choose(tsi_help_choice *choice);
/* Records the run for which tsi_help_choose was called last, and which followed its result. came: a helper
 * entered. */
void tsi_help_note(tsi_help_choice *choice, double seconds, bool came);

/* Whether, after many runs, the work is faster without help. */
bool tsi_help_is_refused(const tsi_help_choice *choice);

typedef struct tsi_helpers tsi_helpers;

/* State that a helper writes, apart from the shared data, which stays in the caller's cache. */
typedef struct tsi_helper {
  _Alignas(TSI_CACHE_LINE) _Atomic(void *) at; /* the work that the helper may be inside; NULL: none */
  uint64_t seen;                               /* the last offer that it has seen */
  int slot;
  tsi_helpers *helpers;
  _Alignas(16) char body[32]; /* for a worker: a tsi_host_task of its task */
  /* For a thread of TriStar: */
  pthread_t thread;
  sem_t called;
  int cpu; /* core to which it is bound; -1: none */
} tsi_helper;

struct tsi_helpers {
  atomic_int users;               /* references of the creator, and of tasks that have not ended */
  void (*last)(tsi_helpers *h);   /* called when the last reference is released: *h can be freed */
  _Atomic(uint64_t) offer;        /* number of the standing offer; 0: none; TSI_OFFER_COMES */
  _Atomic(uint64_t) offers;       /* so far */
  _Atomic(uint64_t) met;          /* the latest offer that a helper entered */
  _Atomic(tsi_help) help;         /* of the standing offer */
  _Atomic(void *) arg;            /* of the standing offer */
  atomic_int there[TSI_HELPERS];  /* by slot: its task has not ended, or its thread is awake */
  atomic_int number[TSI_HELPERS]; /* by slot: number of the helper in the standing offer; 0: not included */
  atomic_bool closing;
  atomic_int slots; /* used slots; 0: there was no offer yet */
  int workers;      /* StarPU's workers, in the first slots; written before slots */
  tsi_helper helper[TSI_HELPERS];
};

void tsi_helpers_init(tsi_helpers *helpers, void (*last)(tsi_helpers *helpers));
/* Ends the helpers: workers return to StarPU, threads end. No offer stands, and none will follow. */
void tsi_helpers_close(tsi_helpers *helpers);
/* Releases the caller's reference, after tsi_helpers_close. `last` may be called here, or later in one of
 * StarPU's workers, but not after StarPU has been shut down. */
void tsi_helpers_release(tsi_helpers *helpers);

/* Number of cores that can share work, with the caller's, while StarPU runs: one for each CPU worker and for
 * each thread of TriStar. */
int tsi_helpers_cores(void);

/* Offers work to at most `most` helpers on cores other than the caller's. StarPU must run. false: another
 * offer stands, or there is no helper; nothing is offered. If a helper cannot be called, fewer help. */
bool tsi_helpers_offer(tsi_helpers *helpers, int most, tsi_help help, void *arg);
/* Work that can be shared. */
typedef struct tsi_shared {
  tsi_help work;
  void *arg;
  void (*begin)(void *arg); /* called before work is offered and entered. Until then a late helper of an
                               earlier offer must find no work in it; may be NULL */
  tsi_help alone;           /* does the same work without helpers, called like `work`; NULL: use work */
  void *alone_arg;
  double amount; /* amount of work, for the choice, > 0 */
} tsi_shared;

/* Calls work(arg, 0, -1) here and, if the choice is to share, offers it to `most` helpers meanwhile. They may
 * still be inside the work when this returns: call tsi_helpers_leave. */
void tsi_helpers_share(tsi_helpers *helpers, tsi_help_choice *choice, int most, const tsi_shared *shared);
/* Takes the offer back. Helpers inside the work may stay in it until it is done. */
void tsi_helpers_take_back(tsi_helpers *helpers);
/* Waits until no helper is inside work that was offered with this argument and taken back: then it can be
 * freed. */
void tsi_helpers_leave(tsi_helpers *helpers, const void *arg);
