/* Runs with one-sided messages: see run_port.h. */
#include "runtime/mpi/oneside/run_port.h"

#include "runtime/base/clock.h"
#include "runtime/exec/starpu/idle.h"
#include "runtime/exec/starpu/service.h"
#include "runtime/mpi/comm/mailbox.h"

/* ---- Where messages arrive ----------------------------------------------------------------------------- */

int64_t tsi_oneside_list_rows(const tsi_program *program, bool adds, int64_t *row) {
  int64_t rows = 0;
  for (tsi_index m = 0; m < program->receives; m++) {
    const tsi_message *now = &program->receive[m], *before = now - (m > 0);
    /* the parts of a sum are consecutive messages */
    const bool joins = adds && m > 0 && tsi_oneside_is_sum(now) && now->kind == before->kind &&
                       now->number == before->number;
    row[m] = joins ? row[m - 1] : rows;
    if (!joins) rows += now->rows;
  }
  return rows;
}

typedef struct place_exchange {
  tsi_oneside_place *place; /* receives */
  MPI_Request *request;     /* receives, then sends */
} place_exchange;

/* Collective. Each receiver sends the place of each message to its sender. */
static tristar_status exchange_places(tsi_run_port *port, MPI_Comm comm, const place_exchange *x) {
  const tsi_program *program = port->program;
  const int bytes = (int)sizeof *port->place;
  int code = MPI_SUCCESS;
  for (tsi_index m = 0; m < program->sends && code == MPI_SUCCESS; m++)
    code = MPI_Irecv(&port->place[m], bytes, MPI_BYTE, program->send[m].peer, program->send[m].tag, comm,
                     &x->request[program->receives + m]);
  for (tsi_index m = 0; m < program->receives && code == MPI_SUCCESS; m++) {
    x->place[m] = (tsi_oneside_place){.flag = m, .row = port->row[m]};
    code = MPI_Isend(&x->place[m], bytes, MPI_BYTE, program->receive[m].peer, program->receive[m].tag, comm,
                     &x->request[m]);
  }
  if (code == MPI_SUCCESS)
    code = MPI_Waitall(program->receives + program->sends, x->request, MPI_STATUSES_IGNORE);
  return TSI_MPI(port->env, "places of messages", code);
}

static tristar_status allocate(tsi_run_port *port, int pes, place_exchange *x) {
  const tsi_program *program = port->program;
  TSI_TRY(TSI_ALLOC(port->env, port->place, program->sends));
  TSI_TRY(TSI_ALLOC(port->env, port->row, program->receives));
  TSI_TRY(TSI_ALLOC(port->env, port->open, program->receives));
  TSI_TRY(TSI_ALLOC_ZERO(port->env, port->free, pes));
  TSI_TRY(TSI_ALLOC(port->env, x->place, program->receives));
  return TSI_ALLOC(port->env, x->request, program->receives + program->sends);
}

/* Collective. */
static tristar_status open_port(tsi_run_port *port, tsi_transport *transport, double seconds,
                                place_exchange *x) {
  int64_t most[2] = {port->program->receives, 0};
  const int pes = tsi_transport_size(transport);
  const MPI_Comm comm = tsi_transport_comm(transport);
  TSI_TRY(tsi_transport_agree(transport, allocate(port, pes, x)));
  most[1] = tsi_oneside_list_rows(port->program, port->adds, port->row);
  TSI_TRY(tsi_transport_unite(transport, most, 2, MPI_INT64_T, MPI_MAX));
  port->done = (int32_t)most[0];
  port->end = port->done + pes;
  port->inbox_bytes = ((size_t)most[1] * port->row_bytes + 63) / 64 * 64;
  port->epoch = 0;
  TSI_TRY(tsi_transport_agree(transport, exchange_places(port, comm, x)));
  return tsi_oneside_create(port->env, comm, port->end + pes, 2 * port->inbox_bytes, seconds, &port->oneside);
}

tristar_status tsi_run_port_open(tsi_run_port *port, tsi_transport *transport, double seconds) {
  place_exchange x = {NULL, NULL};
  const tristar_status status = open_port(port, transport, seconds, &x);
  TSI_FREE(port->env, x.place);
  TSI_FREE(port->env, x.request);
  return status;
}

void tsi_run_port_close(tsi_run_port *port) {
  if (port->env == NULL) return; /* never opened */
  tsi_oneside_destroy(&port->oneside);
  TSI_FREE(port->env, port->place);
  TSI_FREE(port->env, port->row);
  TSI_FREE(port->env, port->open);
  TSI_FREE(port->env, port->free);
  *port = (tsi_run_port){.env = NULL};
}

/* ---- A run --------------------------------------------------------------------------------------------- */

size_t tsi_run_port_inbox(const tsi_run_port *port) {
  return (size_t)(port->epoch & 1) * port->inbox_bytes;
}

static void *port_inbox(void *context) {
  const tsi_run_port *port = context;
  return (char *)tsi_oneside_data(port->oneside) + tsi_run_port_inbox(port);
}

static void enlist(tsi_run_port *port);

static tristar_status port_begin(void *context, const bool *comes, tsi_index goes) {
  tsi_run_port *port = context;
  const int32_t pes = tsi_oneside_heap(port->oneside)->pes;
  (void)goes;
  port->epoch = tsi_heap_epoch(port->epoch, 1);
  port->opens = 0;
  port->waits = false;
  for (tsi_index m = 0; m < port->program->receives; m++)
    if (comes[m]) port->open[port->opens++] = m;
  for (int32_t pe = 0; pe < pes; pe++) atomic_store_explicit(&port->free[pe], false, memory_order_relaxed);
  if (port->tasks) enlist(port);
  return TRISTAR_OK;
}

/* Returns when the receiver has ended the run before the previous one. */
static tristar_status wait_for_inbox(tsi_run_port *port, int32_t peer) {
  if (atomic_load_explicit(&port->free[peer], memory_order_acquire)) return TRISTAR_OK;
  TSI_TRY(tsi_oneside_wait(port->oneside, peer, port->done + peer, tsi_heap_epoch(port->epoch, -2)));
  atomic_store_explicit(&port->free[peer], true, memory_order_release);
  return TRISTAR_OK;
}

static tristar_status port_send(void *context, tsi_index number) {
  tsi_run_port *port = context;
  const tsi_message *message = &port->program->send[number];
  const tsi_oneside_place *place = &port->place[number];
  TSI_TRY(wait_for_inbox(port, message->peer));
  tsi_oneside_put_signal(port->oneside, message->peer,
                         tsi_run_port_inbox(port) + (size_t)place->row * port->row_bytes,
                         (const char *)port->outbox + (size_t)message->row * port->row_bytes,
                         (size_t)message->rows * port->row_bytes, place->flag, port->epoch);
  return TRISTAR_OK;
}

/* Waits on the calling thread of a run without tasks. */
static tristar_status port_wait(void *context, tsi_index number) {
  tsi_run_port *port = context;
  TSI_TRY(tsi_oneside_wait(port->oneside, port->program->receive[number].peer, number, port->epoch));
  port->happen(port->context, number);
  for (tsi_index k = 0; k < port->opens; k++)
    if (port->open[k] == number) {
      port->open[k] = port->open[--port->opens];
      break;
    }
  return TRISTAR_OK;
}

/* Handles the messages that have arrived, or all; under the lock. */
static bool take_arrivals(tsi_run_port *port, bool all) {
  const tsi_index before = port->opens;
  tsi_index kept = 0;
  for (tsi_index k = 0; k < before; k++) {
    const tsi_index m = port->open[k];
    if (all || tsi_oneside_test(port->oneside, m, port->epoch))
      port->happen(port->context, m);
    else
      port->open[kept++] = m;
  }
  port->opens = kept;
  return kept < before;
}

/* Lets each PE that sends to this one write this inbox again. */
static void release_inbox(const tsi_run_port *port) {
  const tsi_program *program = port->program;
  const int32_t pe = tsi_oneside_heap(port->oneside)->pe;
  for (tsi_index m = 0; m < program->receives; m++)
    tsi_oneside_signal(port->oneside, program->receive[m].peer, port->done + pe, port->epoch);
}

/* Handles arrived messages; under the lock. If none arrives in time, or another PE has stopped the port, all
 * messages count as arrived. So all tasks of the run end. true: a message has arrived. */
static bool look(tsi_run_port *port) {
  if (take_arrivals(port, false)) {
    port->waits = false;
    return true;
  }
  if (port->opens == 0) return false;
  if (!port->waits) port->since = tsi_clock();
  port->waits = true;
  if (tsi_clock() - port->since > tsi_oneside_seconds(port->oneside))
    tsi_oneside_stop(port->oneside, port->program->receive[port->open[0]].peer, port->open[0], port->epoch);
  return tsi_oneside_stopped(port->oneside) && take_arrivals(port, true);
}

/* ---- Runs in flight, which idle workers advance -------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list and the arrivals of its ports */
static tsi_run_port *running;
static _Atomic(int) runs;         /* length of the list */
static _Atomic(bool) hook_exists; /* set once */

/* A progression hook of StarPU. Returns whether the worker may block. */
static unsigned advance(void *arg) {
  bool any = false;
  const bool in_flight = atomic_load_explicit(&runs, memory_order_relaxed) > 0;
  if (in_flight && pthread_mutex_trylock(&lock) == 0) {
    for (tsi_run_port *port = running; port != NULL && !any; port = port->next) any = look(port);
    pthread_mutex_unlock(&lock);
  }
  if (!any) (void)tsi_idle_give_way(arg);
  return !in_flight;
}

static void enlist(tsi_run_port *port) {
  if (tsi_starpu_runs()) tsi_idle_add_hook(port->env, advance, &hook_exists, "messages are slower");
  pthread_mutex_lock(&lock);
  port->next = running;
  running = port;
  atomic_fetch_add(&runs, 1);
  pthread_mutex_unlock(&lock);
}

static void delist(tsi_run_port *port) {
  pthread_mutex_lock(&lock);
  for (tsi_run_port **p = &running; *p != NULL; p = &(*p)->next)
    if (*p == port) {
      *p = port->next;
      break;
    }
  atomic_fetch_sub(&runs, 1);
  pthread_mutex_unlock(&lock);
}

bool tsi_run_port_look(tsi_run_port *port) {
  pthread_mutex_lock(&lock);
  const bool any = look(port);
  pthread_mutex_unlock(&lock);
  return any;
}

/* Handles arrived messages. false: none is missing any more. */
static bool take_more(tsi_run_port *port) {
  pthread_mutex_lock(&lock);
  (void)look(port);
  const bool more = port->opens > 0;
  pthread_mutex_unlock(&lock);
  return more;
}

static tristar_status port_end(void *context) {
  tsi_run_port *port = context;
  for (int turn = 0; take_more(port); turn++) tsi_mpi_pause(turn);
  if (port->tasks) delist(port);
  release_inbox(port);
  return tsi_oneside_check(port->oneside);
}

tsi_port tsi_run_port_of(tsi_run_port *port) {
  return (tsi_port){.context = port,
                    .begin = port_begin,
                    .send = port_send,
                    .wait = port_wait,
                    .inbox = port_inbox,
                    .end = port_end};
}

tristar_status tsi_run_port_meet(tsi_run_port *port) {
  const tsi_oneside_team all = {0, 1, tsi_oneside_heap(port->oneside)->pes};
  return tsi_oneside_meet(port->oneside, &all, port->end, port->epoch);
}
