/* Messages between ranks: a communicator, a transport, and mailboxes of messages.
 *
 * Job. Send the messages of a recorded solve. The sender, receiver and size of each message are fixed when
 * the mailbox is created; a run sends and receives some or all of them, each once. There are two transports:
 *   - direct: persistent requests of MPI. StarPU's idle workers (a progression hook) and waiting threads
 *     advance them; there is no extra thread. MPI_THREAD_SERIALIZED suffices if the program itself does not
 *     call MPI while a run is in flight.
 *   - starpu_mpi: detached messages of StarPU-MPI on registered handles, advanced by a thread of StarPU-MPI.
 *     MPI must be initialized with MPI_THREAD_MULTIPLE. StarPU must run from the creation of the transport
 *     until its destruction. The program must not have started StarPU-MPI itself. A process has one such
 *     transport at a time.
 *
 * Idle workers stay awake while a transport exists (idle.h).
 *
 * Reads   the buffers of sends, from tsi_mailbox_send until the run is done.
 * Writes  the buffers of receives, from tsi_mailbox_start until the arrival of each.
 * Invariants
 *   - the user's communicator is duplicated, so messages of the user and of TriStar never match
 *   - at most one run of a mailbox is in flight; it ends when each of its messages has been sent or has
 *     arrived
 *   - no two receives of a mailbox have the same peer and tag, nor have two sends; mailboxes of a transport
 *     whose runs overlap share no pair of peer and tag
 *   - both ends of a message use the same size: a message of another size is an error
 *   - a message that fails counts as sent or arrived, so that nothing waits for it forever. The contents of
 *     its buffer are undefined, and tsi_mailbox_wait returns the failure
 *   - after a receive that could not be posted, a later run would take its message for its own: from then on
 *     all runs fail. If MPI completes a large send only after its receive is posted, the sender waits
 *     forever: MPI offers no way to end this wait
 * Not checked: that the peer has the matching channel. The receiver waits forever for a message that no rank
 * sends.
 *
 * Functions are local and may be called from any thread, but for each mailbox by one thread at a time.
 * Exceptions are stated at the function. Collective: all ranks of the communicator call it, in the same
 * order. */
#pragma once

#include <mpi.h>

#include "runtime/base/env.h"

typedef struct tsi_transport tsi_transport;
typedef struct tsi_mailbox tsi_mailbox;

typedef enum tsi_transport_kind {
  TSI_TRANSPORT_DIRECT,
  TSI_TRANSPORT_STARPU_MPI,
  TSI_TRANSPORT_KINDS
} tsi_transport_kind;

/* One message. buffer may be NULL if bytes is 0; peer may be this rank. */
typedef struct tsi_channel {
  int peer, tag; /* rank in the communicator; 0 <= tag <= MPI_TAG_UB */
  void *buffer;  /* borrowed for the life of the mailbox; in the last run of a receive, until it arrives */
  size_t bytes;
} tsi_channel;

/* Message number `receive` has arrived. Called once for each receive of a run, from any thread. The caller
 * holds no lock that tsi_mailbox_send, tsi_mailbox_progress or StarPU need. The function must not wait. */
typedef void (*tsi_arrival)(void *context, tsi_index receive);
/* Message number `send` has been sent, so its buffer may be freed. Called like tsi_arrival. */
typedef void (*tsi_departure)(void *context, tsi_index send);

/* "direct", "starpu_mpi". The text is static. */
const char *tsi_transport_kind_name(tsi_transport_kind kind);

/* Collective; all ranks return the same status. mine: an earlier failure of this rank; the ranks first agree
 * on it. alone: only the calling thread sends, as in a context without StarPU. Then MPI_THREAD_FUNNELED
 * suffices for direct on the main thread. Errors: ARGUMENT (MPI_COMM_NULL, no such kind, kinds differ between
 * ranks), RUNTIME (MPI is not initialized, or finalized already; an error of MPI), UNSUPPORTED (the thread
 * level of MPI is too low; a second starpu_mpi; starpu_mpi without StarPU), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_transport_create(tsi_env *env, MPI_Comm comm, tsi_transport_kind kind,
                                                    bool alone, tristar_status mine, tsi_transport **out);
/* Collective. Call it after the destruction of the mailboxes, before MPI_Finalize and before StarPU ends. */
void tsi_transport_destroy(tsi_transport **transport);

int tsi_transport_rank(const tsi_transport *transport);
int tsi_transport_size(const tsi_transport *transport);
/* The duplicate, for collective calls of setup. MPI calls on it return their errors. */
MPI_Comm tsi_transport_comm(const tsi_transport *transport);

/* Collective. Returns the worst status of all ranks: the largest number, but NOT_FINITE only without another
 * failure, which may have caused it. The lowest rank that has it keeps its message. On other ranks this
 * message, with the number of that rank, becomes the latest message of the calling thread. If MPI fails:
 * RUNTIME, on this rank. */
TRISTAR_CHECKED tristar_status tsi_transport_agree(tsi_transport *transport, tristar_status mine);

/* Collective. Checks that no rank has a failure (mine: an earlier failure of this rank) and that all ranks
 * pass the same values. flag[k] becomes true on all ranks if it is true on one. 2 * count + flags is at most
 * 48. Errors: as tsi_transport_agree; ARGUMENT (the message names the first value that differs); RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_transport_same(tsi_transport *transport, tristar_status mine, int count,
                                                  const char *const *name, const int64_t *value, int flags,
                                                  bool *flag);

/* Collective, for setup. Reduces each of `count` numbers over all ranks by op (MPI_SUM, MPI_MAX, MPI_MIN);
 * every rank gets the result. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_transport_unite(const tsi_transport *transport, void *array, int count,
                                                   MPI_Datatype type, MPI_Op op);

/* The channels are copied. Errors: ARGUMENT (peer or tag out of range, two channels with the same peer and
 * tag, a buffer that is NULL), TOO_LARGE (a message of 2 GiB or more), RUNTIME, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_mailbox_create(tsi_transport *transport, tsi_index receives,
                                                  const tsi_channel *receive, tsi_index sends,
                                                  const tsi_channel *send, tsi_arrival arrived, void *context,
                                                  tsi_mailbox **out);
/* The same for a mailbox of one run whose buffers exist only while they are needed. The buffers of the
 * channels are NULL; each buffer is passed to tsi_mailbox_expect or tsi_mailbox_send_from. departed may be
 * NULL. */
TRISTAR_CHECKED tristar_status tsi_mailbox_create_late(tsi_transport *transport, tsi_index receives,
                                                       const tsi_channel *receive, tsi_index sends,
                                                       const tsi_channel *send, tsi_arrival arrived,
                                                       tsi_departure departed, void *context,
                                                       tsi_mailbox **out);
/* No run may be in flight. */
void tsi_mailbox_destroy(tsi_mailbox **mailbox);

/* Starts a run of the receives m with comes[m] (NULL: all) and of `goes` sends, and posts these receives.
 * Messages can arrive before it returns. No run may be in flight. tsi_mailbox_wait returns a failure of this
 * function: the run is in flight nevertheless, so ranks that wait for messages of this rank get them. Errors:
 * INTERNAL (a run is in flight; it continues). */
TRISTAR_CHECKED tristar_status tsi_mailbox_start(tsi_mailbox *mailbox, const bool *comes, tsi_index goes);
/* Starts to send message `send`, once in a run. Several threads may call it at the same time. The buffer may
 * be written again when the run is done. Errors: RUNTIME; the message then counts as sent. */
TRISTAR_CHECKED tristar_status tsi_mailbox_send(tsi_mailbox *mailbox, tsi_index send);
/* For a late mailbox, once for each message: posts a receive; sends. Several threads may call them at the
 * same time. The buffer is borrowed until the message has arrived or departed. The run stays in flight until
 * each of its receives is posted. Errors: as tsi_mailbox_send. */
TRISTAR_CHECKED tristar_status tsi_mailbox_expect(tsi_mailbox *mailbox, tsi_index receive, void *buffer);
TRISTAR_CHECKED tristar_status tsi_mailbox_send_from(tsi_mailbox *mailbox, tsi_index send, void *buffer);
/* Advances the messages, and calls `arrived` for each message that has arrived. Several threads may call it
 * at the same time: it returns at once if another thread is in it. */
void tsi_mailbox_progress(tsi_mailbox *mailbox);
/* True if no run is in flight: every message has been sent, and every call of `arrived` has returned. */
bool tsi_mailbox_done(const tsi_mailbox *mailbox);
/* Advances the messages until the run is done. Must not be called from a StarPU task. Errors: RUNTIME (the
 * first failure of a message of this run). */
TRISTAR_CHECKED tristar_status tsi_mailbox_wait(tsi_mailbox *mailbox);
