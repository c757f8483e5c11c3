/* Internals that both kinds of transport share: the structures, the count of pending messages, the lock of
 * MPI.
 *
 * Invariants
 *   - pending = number of messages of the run in flight that are not settled; 0: no run is in flight
 *   - a thread lowers pending under transport->lock, and does not touch the mailbox afterwards. So a thread
 *     that reads 0 and then takes the lock may free the mailbox
 *   - every call of MPI is made between tsi_mpi_lock and tsi_mpi_unlock, and no callback is called there.
 *     Exception: collective calls that distribute a factor or send b and x, during which no run is in flight
 */
#pragma once

#include "runtime/mpi/comm/transport.h"

/* One kind of transport. `attach` is collective, and the ranks agree on its status; the other functions are
 * local. */
typedef struct tsi_transport_ops {
  int thread_level;                          /* smallest thread level of MPI */
  tristar_status (*check)(tsi_env *env);     /* whether it works in this process; may be NULL */
  tristar_status (*attach)(tsi_transport *); /* may be NULL */
  void (*detach)(tsi_transport *);           /* may be NULL; only after attach */
  tristar_status (*open)(tsi_mailbox *);     /* creates mailbox->own; `close` follows, also after errors */
  void (*close)(tsi_mailbox *);              /* frees mailbox->own */
  void (*start)(tsi_mailbox *, const bool *comes); /* posts receives, unless late; pending is set */
  tristar_status (*send)(tsi_mailbox *, tsi_index send);
  tristar_status (*expect)(tsi_mailbox *, tsi_index receive); /* posts one receive of a late mailbox */
  void (*progress)(tsi_mailbox *);                            /* may be NULL */
} tsi_transport_ops;

extern const tsi_transport_ops tsi_transport_direct, tsi_transport_starpu_mpi;

struct tsi_transport {
  tsi_env *env;
  MPI_Comm comm; /* the duplicate */
  int rank, size, tag_most;
  bool attached;
  bool alone;            /* one thread sends; the main thread if MPI has only FUNNELED */
  _Atomic(bool) broken;  /* a receive could not be posted */
  MPI_Request gathering; /* gather of a team, in flight */
  const tsi_transport_ops *ops;
  pthread_mutex_t lock;   /* guards the lowering of pending */
  pthread_cond_t changed; /* a run has ended; its clock is CLOCK_MONOTONIC */
};

struct tsi_mailbox {
  tsi_env *env;
  tsi_transport *transport;
  tsi_index receives, sends;
  tsi_channel *channel; /* receives, then sends */
  bool late;            /* the buffers are passed with each message */
  tsi_arrival arrived;
  tsi_departure departed; /* may be NULL */
  void *context;
  _Atomic(int64_t) pending;
  tsi_failure failure; /* first failure of the run */
  void *own;           /* private data of the transport */
};

static inline const tsi_channel *tsi_mailbox_send_channel(const tsi_mailbox *mailbox, tsi_index send) {
  return &mailbox->channel[mailbox->receives + send];
}

/* Calls the callback of a message that has arrived or departed, before it is settled. Messages are numbered
 * receives first, then sends. */
static inline void tsi_mailbox_report(const tsi_mailbox *mailbox, tsi_index number) {
  if (number < mailbox->receives)
    mailbox->arrived(mailbox->context, number);
  else if (mailbox->departed)
    mailbox->departed(mailbox->context, number - mailbox->receives);
}
/* Settles `count` messages of the run. A thread does not touch the mailbox afterwards. */
void tsi_mailbox_settle(tsi_mailbox *mailbox, int64_t count);
/* Keeps the first failure of a run, with the latest message of the calling thread. */
void tsi_mailbox_failed(tsi_mailbox *mailbox, tristar_status status);

/* The lock of all MPI calls of the process. tsi_mpi_trylock returns false at once if a thread holds it or
 * waits for it. */
void tsi_mpi_lock(void);
bool tsi_mpi_trylock(void);
void tsi_mpi_unlock(void);

/* The status for the return code of an MPI call, with MPI's text as the message. The lock must not be held.
 */
#define TSI_MPI(env, what, code) tsi_mpi_status((env), (what), (code), __func__, __FILE__, __LINE__)
TRISTAR_CHECKED tristar_status tsi_mpi_status(const tsi_env *env, const char *what, int code,
                                              const char *function, const char *file, int line);

/* Checks that MPI can be called and that comm is a communicator. Without these the ranks cannot agree on a
 * status. Errors: RUNTIME, ARGUMENT, UNSUPPORTED (the process was forked from a process with MPI). */
TRISTAR_CHECKED tristar_status tsi_mpi_check(const tsi_env *env, MPI_Comm comm);
/* Between these two calls, MPI calls on a communicator of the user return their errors. Most error handlers
 * of users end the program instead. */
void tsi_mpi_return_errors(MPI_Comm comm, MPI_Errhandler *before);
void tsi_mpi_restore_errors(MPI_Comm comm, MPI_Errhandler *before);

/* Waits for a moment in a loop that polls: it yields in the first turns and sleeps in later ones. */
void tsi_mpi_pause(int turn);
