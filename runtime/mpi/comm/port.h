/* A port (runtime/exec/steps/exchange.h) on a mailbox: messages of the runs of steps.
 *
 * Reads   only the mailbox.   Writes  flags of the messages that have arrived.
 * Invariants: arrived[m] becomes true after `happen` has returned, because a thread that waits for m may free
 * the data that `happen` reads. A run clears all flags when it begins. */
#pragma once

#include "runtime/exec/steps/exchange.h"
#include "runtime/mpi/comm/transport.h"

typedef struct tsi_mailbox_port {
  tsi_env *env;
  tsi_mailbox *mailbox; /* NULL: not open */
  tsi_index receives;
  _Atomic(bool) *arrived;                           /* one flag per received message */
  void (*happen)(void *context, tsi_index message); /* called for each received message, from any thread */
  void (*depart)(void *context, tsi_index message); /* the same for sent ones, if late; may be NULL */
  void *context;
} tsi_mailbox_port;

/* Opens a port with channels as for tsi_mailbox_create. env, happen and context of the port are set, and the
 * port must not move in memory. Errors: those of tsi_mailbox_create. */
TRISTAR_CHECKED tristar_status tsi_mailbox_port_open(tsi_mailbox_port *port, tsi_transport *transport,
                                                     tsi_index receives, const tsi_channel *receive,
                                                     tsi_index sends, const tsi_channel *send);
/* The same with channels as for tsi_mailbox_create_late: use receive_into and send_from of the port. */
TRISTAR_CHECKED tristar_status tsi_mailbox_port_open_late(tsi_mailbox_port *port, tsi_transport *transport,
                                                          tsi_index receives, const tsi_channel *receive,
                                                          tsi_index sends, const tsi_channel *send);
void tsi_mailbox_port_close(tsi_mailbox_port *port);
tsi_port tsi_mailbox_port_of(tsi_mailbox_port *port);
