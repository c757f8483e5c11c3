/* What the two kinds of transport share: the structures, the account of a run, the lock of MPI.
 *
 * Invariants
 *   - pending = messages of the run in flight that are not yet accounted for; 0: no run is in flight
 *   - pending is lowered under transport->lock, and who lowers it does not touch the mailbox afterwards: who
 *     has taken the lock after reading 0 may free it
 *   - every call of MPI is made between tsi_mpi_lock and tsi_mpi_unlock, and no callback is called there; but
 * for the collective calls that distribute a factor and move b and x, during which no run is in flight */
#pragma once

#include "runtime/mpi/comm/transport.h"

/* One kind of transport. `attach` is collective and comes with agreement afterwards; the rest is local. */
typedef struct tsi_transport_ops {
  int thread_level;                                /* of MPI, at least */
  tristar_status (*check)(tsi_env *env);           /* can it work here? may be NULL */
  tristar_status (*attach)(tsi_transport *);       /* may be NULL */
  void (*detach)(tsi_transport *);                 /* may be NULL; only after attach */
  tristar_status (*open)(tsi_mailbox *);           /* makes mailbox->own; `close` follows after errors too */
  void (*close)(tsi_mailbox *);                    /* frees mailbox->own */
  void (*start)(tsi_mailbox *, const bool *comes); /* posts receives, but for late ones; pending is set */
  tristar_status (*send)(tsi_mailbox *, tsi_index send);
  tristar_status (*expect)(tsi_mailbox *, tsi_index receive); /* posts one, of a late mailbox */
  void (*progress)(tsi_mailbox *);                            /* may be NULL */
} tsi_transport_ops;

extern const tsi_transport_ops tsi_transport_direct, tsi_transport_starpu_mpi;

struct tsi_transport {
  tsi_env *env;
  MPI_Comm comm; /* ours */
  int rank, size, tag_most;
  bool attached;
  bool alone;            /* one thread sends, the main thread if MPI has FUNNELED only */
  _Atomic(bool) broken;  /* a receive could not be posted */
  MPI_Request gathering; /* a team's, on its way */
  const tsi_transport_ops *ops;
  pthread_mutex_t lock;   /* guards the lowering of pending */
  pthread_cond_t changed; /* a run has ended; its clock is CLOCK_MONOTONIC */
};

struct tsi_mailbox {
  tsi_env *env;
  tsi_transport *transport;
  tsi_index receives, sends;
  tsi_channel *channel; /* receives, then sends */
  bool late;            /* buffers come with the messages */
  tsi_arrival arrived;
  tsi_departure departed; /* NULL: nobody wants to know */
  void *context;
  _Atomic(int64_t) pending;
  tsi_failure failure; /* the first one of the run */
  void *own;           /* of the kind of transport */
};

static inline const tsi_channel *tsi_mailbox_send_channel(const tsi_mailbox *mailbox, tsi_index send) {
  return &mailbox->channel[mailbox->receives + send];
}

/* Tells of a message, receives before sends, that has arrived or departed. Before it is settled. */
static inline void tsi_mailbox_tell(const tsi_mailbox *mailbox, tsi_index number) {
  if (number < mailbox->receives)
    mailbox->arrived(mailbox->context, number);
  else if (mailbox->departed)
    mailbox->departed(mailbox->context, number - mailbox->receives);
}
/* `count` messages of the run are through. The last thing that a thread does with a mailbox. */
void tsi_mailbox_settle(tsi_mailbox *mailbox, int64_t count);
/* Keeps the first failure of a run, and the calling thread's latest message. */
void tsi_mailbox_failed(tsi_mailbox *mailbox, tristar_status status);

/* The lock of all MPI calls of the process. try: false at once if it is held, or others wait for it. */
void tsi_mpi_lock(void);
bool tsi_mpi_trylock(void);
void tsi_mpi_unlock(void);

/* The status of what an MPI call returned, with MPI's text as the message; not while the lock is held. */
#define TSI_MPI(env, what, code) tsi_mpi_status((env), (what), (code), __func__, __FILE__, __LINE__)
TRISTAR_CHECKED tristar_status tsi_mpi_status(const tsi_env *env, const char *what, int code,
                                              const char *function, const char *file, int line);

/* Can MPI be called, and is comm a communicator? Without that nobody can be asked to agree. Errors: RUNTIME,
 * ARGUMENT, UNSUPPORTED (MPI is the parent's, see fork()). */
TRISTAR_CHECKED tristar_status tsi_mpi_check(const tsi_env *env, MPI_Comm comm);
/* Calls on a communicator of the user's return their errors from here to the restoring, whatever handler it
 * has: most end the program. */
void tsi_mpi_return_errors(MPI_Comm comm, MPI_Errhandler *before);
void tsi_mpi_restore_errors(MPI_Comm comm, MPI_Errhandler *before);

/* Waits a little in a loop that polls: yields first, sleeps when it takes long. */
void tsi_mpi_pause(int turn);
