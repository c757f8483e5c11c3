/* A port (runtime/exec/steps/exchange.h) on one-sided messages: the runs of one program, whose messages are
 * put directly into the inbox of their receiver.
 *
 * Heap of a PE: a flag for each message that any PE receives, then a flag for each PE that has ended a run,
 * then a flag for each PE that has reached the end of a solve; data: two inboxes, used in turn.
 *
 * Reuse of inboxes. Runs are counted by epochs, 1, 2, ... Run e uses inbox e mod 2. A receiver that has ended
 * run e raises its flag on all PEs that send to it; a sender waits for the flag of run e - 2 before its first
 * put of run e to this PE. So a PE may be one run ahead of another one, and no barrier separates runs.
 *
 * Reads   the program and its outbox.   Writes  inboxes of other PEs, flags.
 * Invariants: all PEs begin their runs in the same order, and have the same messages in each. */
#pragma once

#include "runtime/exec/steps/exchange.h"
#include "runtime/mpi/comm/transport.h"
#include "runtime/mpi/oneside/oneside.h"

/* Place where a sent message arrives. */
typedef struct tsi_oneside_place {
  int32_t flag;
  int64_t row; /* row of the inbox */
} tsi_oneside_place;

/* Whether the message is a part of a sum over processes of a grid. */
static inline bool tsi_oneside_is_sum(const tsi_message *message) {
  return message->kind == TSI_MESSAGE_FORWARD_SUM || message->kind == TSI_MESSAGE_BACKWARD_SUM;
}
/* Finds the first row of each received message in the inbox. adds: all parts of a sum have the same rows.
 * Returns the number of rows of the inbox. */
int64_t tsi_oneside_list_rows(const tsi_program *program, bool adds, int64_t *row);

typedef struct tsi_run_port {
  tsi_env *env;
  tsi_oneside *oneside;
  const tsi_program *program;
  const void *outbox;
  size_t row_bytes;
  size_t inbox_bytes;       /* bytes of one inbox, the same on all PEs */
  bool adds;                /* all parts of a sum have the same rows, to which senders add; not on the host */
  int64_t *row;             /* [receives]: first row of each in the inbox */
  tsi_oneside_place *place; /* [sends] */
  int32_t done, end;        /* first flag of ended runs; first flag of the ends of solves */
  int32_t epoch;            /* epoch of the latest run */
  _Atomic(bool) *free;      /* [PEs]: their inbox of this run may be written */
  tsi_index *open;          /* [receives]: messages that have not arrived */
  tsi_index opens;
  bool waits;                /* the latest look found no message, */
  double since;              /* like all looks since this time */
  bool tasks;                /* StarPU runs the steps, and its idle workers handle arrivals */
  struct tsi_run_port *next; /* next run in flight */
  void (*happen)(void *context, tsi_index message); /* called for each arrival */
  void *context;
} tsi_run_port;

/* Collective. env, program, outbox, row_bytes, adds, tasks, happen and context of the port are set; the port
 * must not move in memory. seconds: deadline of waits. All ranks return the same status. Errors: those of
 * tsi_oneside_create. */
TRISTAR_CHECKED tristar_status tsi_run_port_open(tsi_run_port *port, tsi_transport *transport,
                                                 double seconds);
/* Collective; see tsi_oneside_destroy. */
void tsi_run_port_close(tsi_run_port *port);
tsi_port tsi_run_port_of(tsi_run_port *port);
/* Offset of the inbox of the present run, in bytes from the start of the data of a heap. */
size_t tsi_run_port_inbox(const tsi_run_port *port);
/* Between begin and end of a run without tasks: handles arrived messages, and stops the run if none arrives
 * in time. true: a message has arrived. */
bool tsi_run_port_look(tsi_run_port *port);
/* Collective: returns when all PEs have reached the end of the latest run. Errors: RUNTIME (a PE did not). */
TRISTAR_CHECKED tristar_status tsi_run_port_meet(tsi_run_port *port);
