/* Helpers: threads on other cores that share work with the calling thread.
 *
 * Job. A caller has work that any number of threads can share (runtime/exec/steps/lane_run.h) and does not
 * want to wait for anybody to begin. It offers the work, works on it itself, and takes the offer back when it
 * is done. Two kinds of helpers enter offered work:
 *   - A CPU worker of StarPU enters in a task. It stays for a short while after an offer, so that it is awake
 *     for the next solve, and then returns to StarPU. It also returns now and then while offers go on, so
 * that other tasks have their turn.
 *   - A thread of our own runs on each core that StarPU leaves idle only because it was compiled for fewer
 *     workers than there are cores (tsi_starpu_spare_cores). The first offer starts these threads. A thread
 *     polls as long as a worker does, and then sleeps until an offer calls it.
 * At most one offer stands at a time. A second caller works alone meanwhile.
 *
 * Reads   offers.   Writes  what the work writes.
 * Invariants
 *   - Helpers enter work only while its offer stands. When tsi_helpers_leave returns no helper is inside of
 *     it: a helper publishes the work that it may enter, and then checks again that the offer stands (a
 * hazard pointer; Michael 2004).
 *   - Nobody waits for a worker to come: a task of the program may keep it busy for any time. A task that
 *     StarPU begins after the end of the offer finds no work, and the memory that it reads is still there.
 *   - Slots of helpers are StarPU's numbers of the workers; the threads follow. */
#pragma once

#include <semaphore.h>
#include <stdatomic.h>

#include "runtime/base/env.h"

#define TSI_HELPERS 256 /* slots */
/* Bytes from which on a run is to be shared: 20 us of streaming. */
#define TSI_HELP_BYTES 300e3
#define TSI_OFFER_COMES UINT64_MAX

/* number: of the helper in this offer, from 1 on; 0: the caller. slot: of the helper, 0 <= slot <
 * TSI_HELPERS, which no other thread has at the same time; -1: the caller. */
typedef void (*tsi_help)(void *arg, int number, int slot);

/* Whether work of one kind is done sooner with help: seconds for an amount of one that it took lately without
 * and with it; 0: not known yet. Both ways are tried at first, and the one that is not taken again now and
 * then: the machine may have changed. Zero is a choice that nobody has made yet. */
typedef struct tsi_help_choice {
  double seconds[2];
  bool helped;   /* the way that is taken */
  bool trial;    /* the way that is tried, while `left` > 0 */
  int left;      /* runs of the trial to come */
  int missed;    /* runs of the trial to which nobody came */
  int64_t runs;  /* so far */
  int64_t next;  /* the run that begins the next trial */
  int64_t pause; /* runs between the trials */
} tsi_help_choice;

/* Which way the next run takes. */
bool tsi_help_choose(tsi_help_choice *choice);
/* The run has ended that the latest tsi_help_choose was for; it went the way that this chose. came: somebody
 * did. */
void tsi_help_note(tsi_help_choice *choice, double seconds, bool came);

/* Have many runs gone, and is the work done sooner without help? */
bool tsi_help_is_refused(const tsi_help_choice *choice);

typedef struct tsi_helpers tsi_helpers;

/* What a helper writes, so that the caller's cache keeps what it reads of all. */
typedef struct tsi_helper {
  _Alignas(TSI_CACHE_LINE) _Atomic(void *) at; /* the work that it may be inside of; NULL: none */
  uint64_t seen;                               /* the last offer that it looked at */
  int slot;
  tsi_helpers *helpers;
  _Alignas(16) char body[32]; /* a worker: of its task, a tsi_host_task */
  /* A thread of our own: */
  pthread_t thread;
  sem_t called;
  int cpu; /* that it is bound to; -1: none */
} tsi_helper;

struct tsi_helpers {
  atomic_int users;               /* the creator, and tasks that have not ended */
  void (*last)(tsi_helpers *h);   /* called at the end of the last user: *h can be freed */
  _Atomic(uint64_t) offer;        /* its number; 0: none stands; TSI_OFFER_COMES */
  _Atomic(uint64_t) offers;       /* so far */
  _Atomic(uint64_t) met;          /* the latest offer that a helper entered */
  _Atomic(tsi_help) help;         /* of the offer that stands */
  _Atomic(void *) arg;            /* likewise */
  atomic_int there[TSI_HELPERS];  /* by slot: its task is submitted and has not ended, its thread is awake */
  atomic_int number[TSI_HELPERS]; /* by slot: of the helper in the offer that stands; 0: it is not meant */
  atomic_bool closing;
  atomic_int slots; /* that are in use; 0: there was no offer yet */
  int workers;      /* of them StarPU's, the first ones; written before slots */
  tsi_helper helper[TSI_HELPERS];
};

void tsi_helpers_init(tsi_helpers *helpers, void (*last)(tsi_helpers *helpers));
/* No offers come any more, and none stands: workers return to StarPU, threads end. */
void tsi_helpers_close(tsi_helpers *helpers);
/* After tsi_helpers_close; the caller uses it no more. `last` may be called here, or in one of StarPU's
 * workers later, but not after StarPU has been shut down. */
void tsi_helpers_release(tsi_helpers *helpers);

/* While StarPU runs: cores that can share work, the caller's included. One for each CPU worker and for each
 * thread of our own. */
int tsi_helpers_cores(void);

/* Offers work to at most `most` helpers, on other cores than the caller's. StarPU must run. false: another
 * offer stands, or there is no helper: nothing is offered. If calling a helper fails, fewer help. */
bool tsi_helpers_offer(tsi_helpers *helpers, int most, tsi_help help, void *arg);
/* Work that can be shared. */
typedef struct tsi_shared {
  tsi_help work;
  void *arg;
  void (*begin)(void *arg); /* called before work is offered and entered. Who comes late from an earlier offer
                               must find nothing to do in it until then; NULL: nothing is to be called */
  tsi_help alone;           /* does the same, called as `work` is, where nobody helps; NULL: work does */
  void *alone_arg;
  double amount; /* of the work, for the choice, > 0 */
} tsi_shared;

/* Calls work(arg, 0, -1) here and, if the choice is to be helped, offers it to `most` helpers meanwhile. They
 * may be inside of it still when this returns: tsi_helpers_leave. */
void tsi_helpers_share(tsi_helpers *helpers, tsi_help_choice *choice, int most, const tsi_shared *shared);
/* Takes the offer back. Helpers that are at work may stay in it for as long as it has something to do. */
void tsi_helpers_take_back(tsi_helpers *helpers);
/* Waits until nobody is inside of work that was offered with this argument and taken back: it can be freed.
 */
void tsi_helpers_leave(tsi_helpers *helpers, const void *arg);
