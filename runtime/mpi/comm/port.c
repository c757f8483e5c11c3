/* A port on a mailbox: see port.h. */
#include "runtime/mpi/comm/port.h"

#include "runtime/mpi/comm/mailbox.h"

static tristar_status port_begin(void *context, const bool *comes, tsi_index goes) {
  tsi_mailbox_port *port = context;
  for (tsi_index m = 0; m < port->receives; m++)
    atomic_store_explicit(&port->arrived[m], false, memory_order_relaxed);
  return tsi_mailbox_start(port->mailbox, comes, goes);
}

static tristar_status port_send(void *context, tsi_index message) {
  return tsi_mailbox_send(((tsi_mailbox_port *)context)->mailbox, message);
}

static tristar_status port_receive_into(void *context, tsi_index message, void *buffer) {
  return tsi_mailbox_expect(((tsi_mailbox_port *)context)->mailbox, message, buffer);
}

static tristar_status port_send_from(void *context, tsi_index message, void *buffer) {
  return tsi_mailbox_send_from(((tsi_mailbox_port *)context)->mailbox, message, buffer);
}

static tristar_status port_wait(void *context, tsi_index message) {
  tsi_mailbox_port *port = context;
  for (int turn = 0; !atomic_load_explicit(&port->arrived[message], memory_order_acquire); turn++) {
    tsi_mailbox_progress(port->mailbox);
    if (turn > 1) tsi_mpi_pause(turn);
  }
  return TRISTAR_OK;
}

static void port_progress(void *context) {
  tsi_mailbox_progress(((tsi_mailbox_port *)context)->mailbox);
}

static tristar_status port_end(void *context) {
  return tsi_mailbox_wait(((tsi_mailbox_port *)context)->mailbox);
}

/* Another thread may wait for this message, and frees its buffer as soon as it counts as arrived. */
static void note_arrival(void *context, tsi_index message) {
  tsi_mailbox_port *port = context;
  port->happen(port->context, message);
  atomic_store_explicit(&port->arrived[message], true, memory_order_release);
}

tristar_status tsi_mailbox_port_open(tsi_mailbox_port *port, tsi_transport *transport, tsi_index receives,
                                     const tsi_channel *receive, tsi_index sends, const tsi_channel *send) {
  port->receives = receives;
  TSI_TRY(TSI_ALLOC_ZERO(port->env, port->arrived, receives));
  return tsi_mailbox_create(transport, receives, receive, sends, send, note_arrival, port, &port->mailbox);
}

static void note_departure(void *context, tsi_index message) {
  tsi_mailbox_port *port = context;
  if (port->depart) port->depart(port->context, message);
}

tristar_status tsi_mailbox_port_open_late(tsi_mailbox_port *port, tsi_transport *transport,
                                          tsi_index receives, const tsi_channel *receive, tsi_index sends,
                                          const tsi_channel *send) {
  port->receives = receives;
  TSI_TRY(TSI_ALLOC_ZERO(port->env, port->arrived, receives));
  return tsi_mailbox_create_late(transport, receives, receive, sends, send, note_arrival, note_departure,
                                 port, &port->mailbox);
}

void tsi_mailbox_port_close(tsi_mailbox_port *port) {
  if (port->env == NULL) return; /* never opened */
  tsi_mailbox_destroy(&port->mailbox);
  TSI_FREE(port->env, port->arrived);
}

tsi_port tsi_mailbox_port_of(tsi_mailbox_port *port) {
  return (tsi_port){.context = port,
                    .begin = port_begin,
                    .send = port_send,
                    .receive_into = port_receive_into,
                    .send_from = port_send_from,
                    .wait = port_wait,
                    .progress = port_progress,
                    .end = port_end};
}
