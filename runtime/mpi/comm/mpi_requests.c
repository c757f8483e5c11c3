/* The transport `direct`: persistent requests of MPI, advanced by idle workers and waiting threads.
 *
 * Reads   the channels of mailboxes.   Writes  the buffers of receives.
 * The process has one progression hook. StarPU calls it in idle workers, and it advances all runs in flight.
 * The first run that finds StarPU running registers the hook, even if that run has no messages. The hook is
 * never removed: it uses only static data until it holds the lock, so a worker may still be in it when a
 * transport is destroyed. When no transport is left the hook lets idle workers sleep (idle.h).
 * Invariants (the lock of MPI guards all data of this file)
 *   - a box is in the list exactly while it has messages that MPI has not completed or that were not sent yet
 *   - active[0 .. actives) are the started requests, each message at most once
 *   - ready[0 .. readies) are the messages of the run that MPI has completed, each once. The thread that
 *     appends messages also delivers them, after it has released the lock. Until they are settled the run is
 *     in flight, and the box exists. */
#include "runtime/exec/starpu/idle.h"
#include "runtime/exec/starpu/service.h"
#include "runtime/mpi/comm/mailbox.h"

typedef struct direct_box direct_box;
struct direct_box {
  tsi_mailbox *mailbox;
  direct_box *next;     /* in the list of runs in flight */
  int64_t open;         /* messages of the run that are not completed */
  MPI_Request *request; /* receives, then sends */
  MPI_Request *active;
  tsi_index *number; /* message of each active request */
  int actives;
  int *completed; /* output of MPI_Testsome */
  MPI_Status *status;
  tsi_index *ready;
  tsi_index readies;
};

static direct_box *running;       /* the runs in flight */
static _Atomic(int) runs;         /* their number */
static _Atomic(bool) hook_exists; /* set once */

/* Messages that MPI has completed in one look at a mailbox. */
typedef struct direct_news {
  direct_box *box;
  tsi_index first, end; /* range in ready */
} direct_news;

static void enlist(direct_box *box) {
  direct_box **last = &running;
  while (*last != NULL) last = &(*last)->next;
  *last = box;
  box->next = NULL;
  atomic_fetch_add(&runs, 1);
}

static void delist(direct_box *box) {
  for (direct_box **p = &running; *p != NULL; p = &(*p)->next)
    if (*p == box) {
      *p = box->next;
      atomic_fetch_sub(&runs, 1);
      return;
    }
}

/* ---- Completion ---------------------------------------------------------------------------------------- */

static void report_failure(tsi_mailbox *mailbox, tsi_index number, int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  const tsi_channel *c = &mailbox->channel[number];
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) text[0] = '\0';
  tsi_mailbox_failed(mailbox, tsi_fail(mailbox->env, TRISTAR_ERR_RUNTIME, __func__, __FILE__, __LINE__,
                                       "message %s rank %d, tag %d, %zu bytes: %s (MPI error %d)",
                                       number < mailbox->receives ? "from" : "to", c->peer, c->tag, c->bytes,
                                       text, code));
}

static void check_length(tsi_mailbox *mailbox, tsi_index number, const MPI_Status *status) {
  const tsi_channel *c = &mailbox->channel[number];
  int bytes = 0;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  if ((size_t)bytes != c->bytes)
    tsi_mailbox_failed(mailbox, tsi_fail(mailbox->env, TRISTAR_ERR_RUNTIME, __func__, __FILE__, __LINE__,
                                         "message from rank %d, tag %d: %d bytes, expected %zu", c->peer,
                                         c->tag, bytes, c->bytes));
}

/* Message `number` is completed. */
static void complete(direct_box *box, tsi_index number) {
  box->ready[box->readies++] = number;
  if (--box->open == 0) delist(box);
}

/* MPI has failed as a whole, so no started message will complete. The requests stay incomplete and cannot be
 * started again: later runs get new ones. */
static void give_up(direct_box *box, int code) {
  atomic_store(&box->mailbox->transport->broken, true);
  while (box->actives > 0) {
    const tsi_index number = box->number[--box->actives];
    MPI_Request *request = &box->request[number];
    report_failure(box->mailbox, number, code);
    if (number < box->mailbox->receives) (void)MPI_Cancel(request);
    if (MPI_Request_free(request) != MPI_SUCCESS) *request = MPI_REQUEST_NULL;
    complete(box, number);
  }
}

/* Removes the `count` requests listed in `completed` from the active ones. A failed request may no longer
 * exist: Open MPI frees it, though it is persistent. */
static void take(direct_box *box, int count, bool in_status) {
  tsi_mailbox *mailbox = box->mailbox;
  for (int k = 0; k < count; k++) {
    const tsi_index number = box->number[box->completed[k]];
    if (box->active[box->completed[k]] == MPI_REQUEST_NULL) box->request[number] = MPI_REQUEST_NULL;
    if (in_status && box->status[k].MPI_ERROR != MPI_SUCCESS)
      report_failure(mailbox, number, box->status[k].MPI_ERROR);
    else if (number < mailbox->receives)
      check_length(mailbox, number, &box->status[k]);
    complete(box, number);
    box->number[box->completed[k]] = TSI_NONE;
  }
  int kept = 0;
  for (int k = 0; k < box->actives; k++)
    if (box->number[k] != TSI_NONE) {
      box->active[kept] = box->active[k];
      box->number[kept++] = box->number[k];
    }
  box->actives = kept;
}

/* Tests the active requests; under the lock. */
static direct_news look(direct_box *box) {
  direct_news news = {box, box->readies, box->readies};
  int count = 0;
  if (box->actives == 0) return news;
  const int code = MPI_Testsome(box->actives, box->active, &count, box->completed, box->status);
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
    give_up(box, code);
  else if (count != MPI_UNDEFINED && count > 0)
    take(box, count, code == MPI_ERR_IN_STATUS);
  news.end = box->readies;
  return news;
}

/* Without the lock. */
static void deliver(const direct_news *news) {
  tsi_mailbox *mailbox = news->box->mailbox;
  for (tsi_index k = news->first; k < news->end; k++) tsi_mailbox_report(mailbox, news->box->ready[k]);
  if (news->end > news->first) tsi_mailbox_settle(mailbox, news->end - news->first);
}

static bool any(const direct_news *news) {
  return news->end > news->first;
}

static void direct_progress(tsi_mailbox *mailbox) {
  if (!tsi_mpi_trylock()) return;
  const direct_news news = look(mailbox->own);
  tsi_mpi_unlock();
  deliver(&news);
}

/* Advances all runs in flight, until there is something to deliver. A worker that finds nothing yields its
 * core: another process, whose message it waits for, or the program may need it. Returns whether the worker
 * may block. */
static unsigned advance(void *arg) {
  direct_news news = {NULL, 0, 0};
  const bool in_flight = atomic_load_explicit(&runs, memory_order_relaxed) > 0;
  if (in_flight && tsi_mpi_trylock()) {
    for (direct_box *box = running, *next; box != NULL && !any(&news); box = next) {
      next = box->next;
      news = look(box);
    }
    tsi_mpi_unlock();
  }
  if (any(&news))
    deliver(&news);
  else
    (void)tsi_idle_give_way(arg);
  return !in_flight;
}

/* ---- A mailbox ----------------------------------------------------------------------------------------- */

static void direct_close(tsi_mailbox *mailbox) {
  direct_box *box = mailbox->own;
  const tsi_index messages = mailbox->receives + mailbox->sends;
  if (box == NULL) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  tsi_mpi_lock();
  for (tsi_index k = 0; box->request != NULL && k < messages && !finalized; k++)
    if (box->request[k] != MPI_REQUEST_NULL) MPI_Request_free(&box->request[k]);
  tsi_mpi_unlock();
  TSI_FREE(mailbox->env, box);
  mailbox->own = NULL;
}

static int make_request(const tsi_mailbox *mailbox, tsi_index number, MPI_Request *request) {
  const tsi_channel *c = &mailbox->channel[number];
  MPI_Comm comm = mailbox->transport->comm;
  if (number < mailbox->receives)
    return MPI_Recv_init(c->buffer, (int)c->bytes, MPI_BYTE, c->peer, c->tag, comm, request);
  return MPI_Send_init(c->buffer, (int)c->bytes, MPI_BYTE, c->peer, c->tag, comm, request);
}

static tristar_status direct_open(tsi_mailbox *mailbox) {
  tsi_env *env = mailbox->env;
  direct_box *box = NULL;
  const tsi_index messages = mailbox->receives + mailbox->sends;
  int code = MPI_SUCCESS;
  TSI_TRY(TSI_ALLOC_ZERO(env, box, 1));
  mailbox->own = box;
  box->mailbox = mailbox;
  TSI_TRY(TSI_ALLOC_IN(box, box->active, messages));
  TSI_TRY(TSI_ALLOC_IN(box, box->number, messages));
  TSI_TRY(TSI_ALLOC_IN(box, box->completed, messages));
  TSI_TRY(TSI_ALLOC_IN(box, box->status, messages));
  TSI_TRY(TSI_ALLOC_IN(box, box->ready, messages));
  TSI_TRY(TSI_ALLOC_IN(box, box->request, messages));
  for (tsi_index k = 0; k < messages; k++) box->request[k] = MPI_REQUEST_NULL;
  tsi_mpi_lock();
  for (tsi_index k = 0; k < messages && code == MPI_SUCCESS && !mailbox->late; k++)
    code = make_request(mailbox, k, &box->request[k]);
  tsi_mpi_unlock();
  return TSI_MPI(env, "persistent request", code);
}

/* Starts a request and appends it to the active ones; under the lock. A request that failed in an earlier run
 * is created anew. */
static int start_request(direct_box *box, tsi_index number) {
  int code = MPI_SUCCESS;
  if (box->request[number] == MPI_REQUEST_NULL)
    code = make_request(box->mailbox, number, &box->request[number]);
  if (code == MPI_SUCCESS) code = MPI_Start(&box->request[number]);
  if (code != MPI_SUCCESS) return code;
  box->active[box->actives] = box->request[number];
  box->number[box->actives++] = number;
  return code;
}

/* Under the lock. A receive that MPI refuses counts as arrived. */
static void post(direct_box *box, tsi_index receive) {
  const int code = start_request(box, receive);
  if (code == MPI_SUCCESS) return;
  atomic_store(&box->mailbox->transport->broken, true);
  report_failure(box->mailbox, receive, code);
  complete(box, receive);
}

static void direct_start(tsi_mailbox *mailbox, const bool *comes) {
  direct_box *box = mailbox->own;
  direct_news news = {box, 0, 0};
  /* Also without messages: other processes may need the core. */
  if (!mailbox->transport->alone && tsi_starpu_runs())
    tsi_idle_add_hook(mailbox->env, advance, &hook_exists, "messages are slower");
  if (tsi_mailbox_done(mailbox)) return; /* no messages */
  tsi_mpi_lock();
  box->actives = 0;
  box->readies = 0;
  box->open = atomic_load(&mailbox->pending);
  enlist(box);
  for (tsi_index k = 0; k < mailbox->receives && !mailbox->late; k++)
    if (comes == NULL || comes[k]) post(box, k);
  news.end = box->readies;
  tsi_mpi_unlock();
  deliver(&news);
}

static tristar_status direct_expect(tsi_mailbox *mailbox, tsi_index receive) {
  direct_box *box = mailbox->own;
  tsi_mpi_lock();
  direct_news news = {box, box->readies, box->readies};
  post(box, receive);
  news.end = box->readies;
  tsi_mpi_unlock();
  deliver(&news);
  return news.end > news.first ? TRISTAR_ERR_RUNTIME : TRISTAR_OK;
}

static tristar_status direct_send(tsi_mailbox *mailbox, tsi_index send) {
  direct_box *box = mailbox->own;
  const tsi_index number = mailbox->receives + send;
  tsi_mpi_lock();
  direct_news news = {box, box->readies, box->readies};
  const int code = start_request(box, number);
  if (code != MPI_SUCCESS) {
    report_failure(mailbox, number, code);
    complete(box, number);
  }
  news.end = box->readies;
  tsi_mpi_unlock();
  if (code == MPI_SUCCESS) return TRISTAR_OK;
  deliver(&news);
  return TRISTAR_ERR_RUNTIME;
}

const tsi_transport_ops tsi_transport_direct = {.thread_level = MPI_THREAD_SERIALIZED,
                                                .open = direct_open,
                                                .close = direct_close,
                                                .start = direct_start,
                                                .send = direct_send,
                                                .expect = direct_expect,
                                                .progress = direct_progress};
