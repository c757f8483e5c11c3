/* The transport `starpu_mpi`: detached messages of StarPU-MPI.
 *
 * Reads   the channels of mailboxes.   Writes  the buffers of receives; the state of StarPU-MPI.
 * StarPU-MPI exists once in a process, so only one transport at a time uses it. Creating the transport starts
 * StarPU-MPI, and destroying it stops StarPU-MPI. A thread of StarPU-MPI makes the MPI calls and the
 * callbacks. It does not take the lock of MPI, so MPI_THREAD_MULTIPLE is needed. This thread shares the cores
 * with StarPU's workers of this and of other ranks: idle workers, which poll, yield their cores to it.
 * Invariants
 *   - every message has a registered handle in main memory; tasks use the buffers and not the handles
 *   - a message of no bytes carries one byte: StarPU-MPI does not handle empty data
 * Not checked: errors of MPI, and messages of another size than expected; StarPU-MPI then ends the program.
 * Whether the program has started StarPU-MPI itself: StarPU-MPI has no function that returns it. */
#include "runtime/mpi/comm/mailbox.h"

#include <starpu_mpi.h>

#include "runtime/exec/starpu/idle.h"
#include "runtime/exec/starpu/service.h"

static _Atomic(bool) taken;       /* a transport uses StarPU-MPI */
static _Atomic(bool) hook_exists; /* set once */

typedef struct message {
  tsi_mailbox *mailbox;
  starpu_data_handle_t handle; /* NULL: not registered */
  char nothing;                /* the one byte of an empty message */
} message;

static tristar_status starpu_mpi_check(tsi_env *env) {
  if (!tsi_starpu_runs())
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "the transport starpu_mpi needs StarPU, which does not run");
  if (atomic_load(&taken))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "another transport of this process has StarPU-MPI already");
  return TRISTAR_OK;
}

static tristar_status starpu_mpi_attach(tsi_transport *transport) {
  if (atomic_exchange(&taken, true))
    TSI_FAIL(transport->env, TRISTAR_ERR_UNSUPPORTED,
             "another transport of this process has StarPU-MPI already");
  const int code = starpu_mpi_init_comm(NULL, NULL, 0, transport->comm);
  if (code != 0) {
    atomic_store(&taken, false);
    TSI_FAIL(transport->env, TRISTAR_ERR_RUNTIME, "starpu_mpi_init_comm gave %d (%s)", code, strerror(-code));
  }
  tsi_idle_add_hook(transport->env, tsi_idle_give_way, &hook_exists, "messages wait for idle workers");
  return TRISTAR_OK;
}

/* After MPI_Finalize StarPU-MPI cannot be shut down: its idle thread continues to exist. */
static void starpu_mpi_detach(tsi_transport *transport) {
  int finalized = 0;
  (void)transport;
  MPI_Finalized(&finalized);
  if (finalized) return;
#if STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION >= 4
  (void)starpu_mpi_shutdown_comm(transport->comm);
#else
  (void)starpu_mpi_shutdown();
#endif
  atomic_store(&taken, false);
}

/* ---- A mailbox ----------------------------------------------------------------------------------------- */

static void starpu_mpi_close(tsi_mailbox *mailbox) {
  message *list = mailbox->own;
  if (list == NULL) return;
  for (tsi_index k = 0; k < mailbox->receives + mailbox->sends; k++)
    if (list[k].handle != NULL) starpu_data_unregister(list[k].handle);
  TSI_FREE(mailbox->env, list);
  mailbox->own = NULL;
}

static void register_message(const tsi_mailbox *mailbox, tsi_index number) {
  const tsi_channel *c = &mailbox->channel[number];
  message *m = (message *)mailbox->own + number;
  void *buffer = c->bytes > 0 ? c->buffer : &m->nothing;
  starpu_variable_data_register(&m->handle, STARPU_MAIN_RAM, (uintptr_t)buffer, c->bytes > 0 ? c->bytes : 1);
  starpu_data_set_sequential_consistency_flag(m->handle, 0);
}

static tristar_status starpu_mpi_open(tsi_mailbox *mailbox) {
  message *list = NULL;
  const tsi_index messages = mailbox->receives + mailbox->sends;
  TSI_TRY(TSI_ALLOC_ZERO(mailbox->env, list, messages));
  mailbox->own = list;
  for (tsi_index k = 0; k < messages; k++) {
    list[k].mailbox = mailbox;
    if (!mailbox->late) register_message(mailbox, k);
  }
  return TRISTAR_OK;
}

static void through(void *arg) {
  message *m = arg;
  tsi_mailbox *mailbox = m->mailbox;
  tsi_mailbox_report(mailbox, (tsi_index)(m - (message *)mailbox->own));
  tsi_mailbox_settle(mailbox, 1);
}

/* Tries twice: at its shutdown StarPU-MPI ends the program if a message has arrived for which no receive was
 * posted. */
static int try_to_post(const tsi_mailbox *mailbox, tsi_index receive) {
  const tsi_channel *c = &mailbox->channel[receive];
  message *m = (message *)mailbox->own + receive;
  int code = -1;
  for (int attempt = 0; attempt < 2 && code != 0; attempt++)
    code = starpu_mpi_irecv_detached(m->handle, c->peer, c->tag, mailbox->transport->comm, through, m);
  return code;
}

/* A receive that StarPU-MPI refuses counts as arrived. The run must go on, as other posted receives may still
 * write to their buffers. */
static tristar_status post(tsi_mailbox *mailbox, tsi_index receive) {
  const int code = try_to_post(mailbox, receive);
  if (code == 0) return TRISTAR_OK;
  atomic_store(&mailbox->transport->broken, true);
  tsi_mailbox_failed(mailbox, tsi_fail(mailbox->env, TRISTAR_ERR_RUNTIME, __func__, __FILE__, __LINE__,
                                       "starpu_mpi_irecv_detached from rank %d gave %d",
                                       mailbox->channel[receive].peer, code));
  through((message *)mailbox->own + receive);
  return TRISTAR_ERR_RUNTIME;
}

/* tsi_mailbox_wait returns failures of this function. */
static void starpu_mpi_start(tsi_mailbox *mailbox, const bool *comes) {
  for (tsi_index k = 0; k < mailbox->receives && !mailbox->late; k++)
    if (comes == NULL || comes[k]) (void)post(mailbox, k);
}

static tristar_status starpu_mpi_expect(tsi_mailbox *mailbox, tsi_index receive) {
  register_message(mailbox, receive);
  return post(mailbox, receive);
}

static tristar_status starpu_mpi_send_one(tsi_mailbox *mailbox, tsi_index send) {
  tristar_status status = TRISTAR_OK;
  const tsi_channel *c = tsi_mailbox_send_channel(mailbox, send);
  message *m = (message *)mailbox->own + mailbox->receives + send;
  if (mailbox->late) register_message(mailbox, mailbox->receives + send);
  const int code =
      starpu_mpi_isend_detached(m->handle, c->peer, c->tag, mailbox->transport->comm, through, m);
  if (code != 0)
    TSI_FAIL_OUT(mailbox->env, TRISTAR_ERR_RUNTIME, "starpu_mpi_isend_detached to rank %d gave %d", c->peer,
                 code);
  return status;
out:
  tsi_mailbox_failed(mailbox, status);
  through(m);
  return status;
}

const tsi_transport_ops tsi_transport_starpu_mpi = {.thread_level = MPI_THREAD_MULTIPLE,
                                                    .check = starpu_mpi_check,
                                                    .attach = starpu_mpi_attach,
                                                    .detach = starpu_mpi_detach,
                                                    .open = starpu_mpi_open,
                                                    .close = starpu_mpi_close,
                                                    .start = starpu_mpi_start,
                                                    .send = starpu_mpi_send_one,
                                                    .expect = starpu_mpi_expect};
