/* Messages between ranks: a communicator, the way messages go through it, and mailboxes of messages.
 *
 * Job. Carry the messages of a recorded solve. Who sends what to whom is fixed when the mailbox is made; a
 * run of it sends and receives some of them, or all, each once. Two ways to go: direct      persistent
 * requests of MPI, which StarPU's idle workers advance (a progression hook), and so does who waits; no thread
 * of its own. MPI may be initialized with MPI_THREAD_SERIALIZED if the program itself leaves MPI alone while
 * a run is in flight. starpu_mpi  StarPU-MPI's detached messages on registered handles, advanced by a thread
 * of StarPU-MPI. MPI must be initialized with MPI_THREAD_MULTIPLE, StarPU must run when the transport is made
 *               and until it is destroyed, the program must not have started StarPU-MPI itself, and there is
 *               one such transport at a time in a process.
 *
 * As long as there is a transport idle workers stay awake (idle.h).
 *
 * Reads   the buffers of sends, from tsi_mailbox_send until the run is done.
 * Writes  the buffers of receives, from tsi_mailbox_start until the arrival of each.
 * Invariants
 *   - the user's communicator is duplicated: no message of the user's meets one of ours
 *   - at most one run of a mailbox is in flight; it ends when every message of it has been sent and has
 * arrived
 *   - no two receives of a mailbox have the same peer and tag, nor have two sends; mailboxes of a transport
 *     whose runs overlap share no pair of peer and tag
 *   - both ends of a message know its size: a message of another size is an error
 *   - a message that fails counts as sent or arrived, so that nothing waits for it for ever; what it should
 *     have brought is undefined, and tsi_mailbox_wait tells the failure. A receive that could not even be
 *     posted leaves a message behind that a later run would take for its own: from then on all runs fail.
 * (Who sends it waits for ever if MPI sends so much only to a posted receive: MPI has no way out of that) Not
 * checked: that the peer has the matching channel; a message that nobody sends is waited for for ever.
 *
 * Unless said otherwise a function is local and may be called from any thread, but by one at a time for a
 * mailbox. Collective: all ranks of the communicator call it, in the same order. */
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

/* One message. buffer may be NULL if bytes is 0; peer may be the own rank. */
typedef struct tsi_channel {
  int peer, tag; /* rank in the communicator; 0 <= tag <= MPI_TAG_UB */
  void *buffer;  /* borrowed for the life of the mailbox; of a receive of its last run, until the arrival */
  size_t bytes;
} tsi_channel;

/* Receive number `receive` has arrived. Called once for each in a run, from any thread, with no lock held
 * that tsi_mailbox_send, tsi_mailbox_progress or StarPU need. Must not wait. */
typedef void (*tsi_arrival)(void *context, tsi_index receive);
/* Message number `send` has left: its buffer may be freed. Called as tsi_arrival. */
typedef void (*tsi_departure)(void *context, tsi_index send);

/* "direct", "starpu_mpi". The text is static. */
const char *tsi_transport_kind_name(tsi_transport_kind kind);

/* Collective; all ranks get the same status. mine: what this rank has found before, which all agree on first.
 * alone: this thread alone sends, as in a context without StarPU. Then MPI_THREAD_FUNNELED suffices for
 * direct on the main thread. Errors: ARGUMENT (MPI_COMM_NULL, no such kind, not the same kind on all ranks),
 * RUNTIME (MPI is not initialized, or finalized already; an error of MPI), UNSUPPORTED (the thread level of
 * MPI is too low; a second starpu_mpi; starpu_mpi without StarPU), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_transport_create(tsi_env *env, MPI_Comm comm, tsi_transport_kind kind,
                                                    bool alone, tristar_status mine, tsi_transport **out);
/* Collective, after its mailboxes and before MPI_Finalize and the end of StarPU. */
void tsi_transport_destroy(tsi_transport **transport);

int tsi_transport_rank(const tsi_transport *transport);
int tsi_transport_size(const tsi_transport *transport);
/* The duplicate; for collective calls of setup. MPI errors are returned by it. */
MPI_Comm tsi_transport_comm(const tsi_transport *transport);

/* Collective: all ranks get the worst (largest) status of theirs. The lowest rank that has it keeps its
 * message, on the others its message, with that rank's number, becomes the calling thread's latest. A failure
 * of MPI: RUNTIME, on this rank. */
TRISTAR_CHECKED tristar_status tsi_transport_agree(tsi_transport *transport, tristar_status mine);

/* Collective: arguments must be right on all ranks (mine: what this one has found), and the same; flag[k]
 * becomes true on all if it is on one. At most 16 values and flags. Errors: as tsi_transport_agree; ARGUMENT,
 * the message names the first value that differs; RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_transport_same(tsi_transport *transport, tristar_status mine, int count,
                                                  const char *const *name, const int64_t *value, int flags,
                                                  bool *flag);

/* Collective, of setup: each of `count` numbers becomes that of all ranks by op: MPI_SUM, MPI_MAX, MPI_MIN.
 * Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_transport_unite(const tsi_transport *transport, void *array, int count,
                                                   MPI_Datatype type, MPI_Op op);

/* The channels are copied. Errors: ARGUMENT (peer or tag out of range, two channels alike, a buffer that is
 * NULL), TOO_LARGE (a message of 2 GiB or more), RUNTIME, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_mailbox_create(tsi_transport *transport, tsi_index receives,
                                                  const tsi_channel *receive, tsi_index sends,
                                                  const tsi_channel *send, tsi_arrival arrived, void *context,
                                                  tsi_mailbox **out);
/* The same, for one run, of messages whose buffers exist only while they are needed: buffers of the channels
 * are NULL, each comes with tsi_mailbox_expect or tsi_mailbox_send_from. departed may be NULL. */
TRISTAR_CHECKED tristar_status tsi_mailbox_create_late(tsi_transport *transport, tsi_index receives,
                                                       const tsi_channel *receive, tsi_index sends,
                                                       const tsi_channel *send, tsi_arrival arrived,
                                                       tsi_departure departed, void *context,
                                                       tsi_mailbox **out);
/* No run may be in flight. */
void tsi_mailbox_destroy(tsi_mailbox **mailbox);

/* Starts a run, of the receives that `comes` names (NULL: all), and of so many sends: posts these receives;
 * arrivals can come before it returns. No run may be in flight. What fails
 * is told by tsi_mailbox_wait: the run is in flight all the same, so that who waits for messages of this rank
 * gets them. Errors: INTERNAL (a run is in flight; it goes on). */
TRISTAR_CHECKED tristar_status tsi_mailbox_start(tsi_mailbox *mailbox, const bool *comes, tsi_index goes);
/* Starts to send message `send`, once in a run; by several threads at a time if they like. Its buffer may be
 * written again when the run is done. Errors: RUNTIME; the message counts as sent then. */
TRISTAR_CHECKED tristar_status tsi_mailbox_send(tsi_mailbox *mailbox, tsi_index send);
/* Of a late mailbox, once for each message: posts a receive; sends. By several threads at a time if they
 * like. The buffer is borrowed until the message has arrived, or departed. Until it is posted a receive keeps
 * the run in flight. Errors: as tsi_mailbox_send. */
TRISTAR_CHECKED tristar_status tsi_mailbox_expect(tsi_mailbox *mailbox, tsi_index receive, void *buffer);
TRISTAR_CHECKED tristar_status tsi_mailbox_send_from(tsi_mailbox *mailbox, tsi_index send, void *buffer);
/* Advances the messages, and calls `arrived` for those that came; by several threads at a time if they like:
 * returns at once if another is at it. */
void tsi_mailbox_progress(tsi_mailbox *mailbox);
/* No run is in flight: every message has been sent, every call of `arrived` has returned. */
bool tsi_mailbox_done(const tsi_mailbox *mailbox);
/* Advances the messages until the run is done. Not from a StarPU task. Errors: RUNTIME (the first failure of
 * a message of this run). */
TRISTAR_CHECKED tristar_status tsi_mailbox_wait(tsi_mailbox *mailbox);
