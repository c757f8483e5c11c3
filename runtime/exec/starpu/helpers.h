/* Helpers: StarPU's workers on other cores that lend a hand to a run on the calling thread.
 *
 * Job. A caller has work that any number of threads can share (runtime/exec/steps/lane_run.h) and does not
 * want to wait for anybody to begin. It offers the work, works on it itself, and takes the offer back when it
 * is done. Workers that help are tasks of StarPU's; each stays for a short while after an offer, so that
 * solves that follow each other find it awake, and then returns to StarPU, as it does now and then though
 * offers go on, so that other tasks have their turn. At most one offer stands at a time: who comes second
 * works alone.
 *
 * Reads   offers.   Writes  what the work writes.
 * Invariants
 *   - work is entered only while its offer stands; when tsi_helpers_leave returns nobody is inside of
 *     it: who enters first says so, and then looks again whether the offer stands (a hazard pointer; Michael
 *     2004)
 *   - nobody waits for a worker to come: it may be busy with a task of the program for as long as that likes.
 *     A task that StarPU begins when all is over finds that, and what it looks at is there until then */
#ifndef TSI_RUNTIME_EXEC_STARPU_HELPERS_H
#define TSI_RUNTIME_EXEC_STARPU_HELPERS_H

#include <stdatomic.h>

#include "runtime/base/env.h"

#define TSI_HELPERS 64 /* workers that can help */
/* Bytes from which on a run is to be shared: 20 us of streaming. */
#define TSI_HELP_BYTES 300e3
#define TSI_OFFER_COMES UINT64_MAX

/* number: of the helper, from 1 on; worker: StarPU's number of it. */
typedef void (*tsi_help)(void *arg, int number, int worker);

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

typedef struct tsi_helpers tsi_helpers;
struct tsi_helpers {
  atomic_int users;                        /* who made it, and tasks that have not ended */
  void (*last)(tsi_helpers *h);            /* called when there are none any more: it can be freed */
  _Alignas(16) char body[TSI_HELPERS][64]; /* by worker: of its task */
  _Atomic(uint64_t) offer;                 /* its number; 0: none stands; TSI_OFFER_COMES */
  _Atomic(uint64_t) offers;                /* so far */
  _Atomic(uint64_t) met;                   /* the latest offer that a helper came to */
  _Atomic(tsi_help) help;                  /* of the offer that stands */
  _Atomic(void *) arg;                     /* likewise */
  _Atomic(void *) at[TSI_HELPERS];         /* by worker: the work that it may be inside of; NULL: none */
  atomic_int there[TSI_HELPERS];           /* by worker: a task of ours is submitted and has not ended */
  atomic_int number[TSI_HELPERS]; /* by worker: of the helper that it is in the offer that stands; 0: none */
  atomic_bool closing;
};

void tsi_helpers_init(tsi_helpers *helpers, void (*last)(tsi_helpers *helpers));
/* No offers come any more, and none stands: helpers return to StarPU. */
void tsi_helpers_close(tsi_helpers *helpers);
/* After tsi_helpers_close; the caller uses it no more. `last` may be called here, or in one of StarPU's
 * workers later, but not after StarPU has been shut down. */
void tsi_helpers_release(tsi_helpers *helpers);

/* Offers work to `most` workers, on other cores than the caller's. StarPU must run. false: another offer
 * stands, or there is nobody: nothing is offered. What fails in calling them makes fewer help. */
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

/* Calls work(arg, 0, -1) here and, if the choice is to be helped, offers it to `most` workers meanwhile. They
 * may be inside of it still when this returns: tsi_helpers_leave. */
void tsi_helpers_share(tsi_helpers *helpers, tsi_help_choice *choice, int most, const tsi_shared *shared);
/* Takes the offer back. Helpers that are at work may stay in it for as long as it has something to do. */
void tsi_helpers_take_back(tsi_helpers *helpers);
/* Waits until nobody is inside of work that was offered with this argument and taken back: it can be freed.
 */
void tsi_helpers_leave(tsi_helpers *helpers, const void *arg);

#endif
