/* A port (runtime/exec/steps/exchange.h) on a mailbox: what runs of steps send and wait for.
 *
 * Reads   nothing but the mailbox.   Writes  which messages have arrived.
 * Invariants: arrived[m] becomes true after `happen` has returned, as who waits for m may free what `happen`
 * reads, and is cleared when a run begins. */
#pragma once

#include "runtime/exec/steps/exchange.h"
#include "runtime/mpi/comm/transport.h"

typedef struct tsi_mailbox_port {
  tsi_env *env;
  tsi_mailbox *mailbox; /* NULL: not open */
  tsi_index receives;
  _Atomic(bool) *arrived;                           /* by received message */
  void (*happen)(void *context, tsi_index message); /* called for each, from any thread */
  void (*depart)(void *context, tsi_index message); /* the same for sent ones; late: may be NULL */
  void *context;
} tsi_mailbox_port;

/* Channels as of tsi_mailbox_create; env, happen and context of the port are set, and it must not move.
 * Errors: those of tsi_mailbox_create. */
TRISTAR_CHECKED tristar_status tsi_mailbox_port_open(tsi_mailbox_port *port, tsi_transport *transport,
                                                     tsi_index receives, const tsi_channel *receive,
                                                     tsi_index sends, const tsi_channel *send);
/* The same with channels as of tsi_mailbox_create_late: receive_into and send_from of the port serve. */
TRISTAR_CHECKED tristar_status tsi_mailbox_port_open_late(tsi_mailbox_port *port, tsi_transport *transport,
                                                          tsi_index receives, const tsi_channel *receive,
                                                          tsi_index sends, const tsi_channel *send);
void tsi_mailbox_port_close(tsi_mailbox_port *port);
tsi_port tsi_mailbox_port_of(tsi_mailbox_port *port);
