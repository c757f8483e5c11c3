/* The messages of a run: message areas, sent and received messages, and the use of the workers' time
 * meanwhile.
 *
 * This folder does not call MPI: messages use a tsi_port, which runtime/mpi implements with MPI and tests
 * with memory.
 *
 * Reads   a program (dag/program.h), the workspace of an execution.   Writes  inbox, outbox, its own members.
 * Invariants
 *   - row r of a message area is bytes r * row_bytes .. of it
 *   - a step packs the messages that it sends at its end; nothing else writes to the outbox in that run
 *   - the messages of a run follow from the solve, so all processes find the same ones. Messages of a sweep
 *     that does not run, and of inactive chunks, are left out; their arrivals happen at the start of the run
 *   - after the first failure no further step runs. At the end their messages are sent nevertheless, so that
 *     no process waits for this one */
#pragma once

#include "dag/program.h"
#include "runtime/exec/steps/execution.h"

/* Functions that send and receive messages. If buffers exist only while they are needed, receive_into and
 * send_from are used instead of send: receive_into is called once for each received message, with its buffer.
 * begin: called before anything is sent; the messages m with comes[m] will be received, and `goes` messages
 * sent. end: called after the last step. wait: returns when a received message has arrived; only used if
 * steps run on the calling thread. Otherwise the port calls tsi_process_arrived. progress (may be NULL):
 * called between steps.
 *
 * inbox (may be NULL): after begin, returns the area where the messages of this run arrive, instead of the
 * inbox of the exchange. */
typedef struct tsi_port {
  void *context;
  tristar_status (*begin)(void *context, const bool *comes, tsi_index goes);
  tristar_status (*send)(void *context, tsi_index message);
  tristar_status (*receive_into)(void *context, tsi_index message, void *buffer);
  tristar_status (*send_from)(void *context, tsi_index message, void *buffer);
  tristar_status (*wait)(void *context, tsi_index message);
  void (*progress)(void *context);
  void *(*inbox)(void *context);
  tristar_status (*end)(void *context);
} tsi_port;

/* Use of the workers' time; seconds, summed over all workers. */
typedef struct tsi_process_times {
  double wall, compute;
  double xy, z; /* waiting for messages of a grid, and between grids */
  double idle;  /* waiting for other reasons */
  /* parts of the wall time: until the last forward step has ended; from then until the first backward step
   * begins, 0 if it begins earlier; from that time on */
  double forward, between, backward;
} tsi_process_times;

/* Reasons why a worker was idle. */
typedef enum tsi_wait { TSI_WAIT_XY, TSI_WAIT_Z, TSI_WAIT_OTHER, TSI_WAITS } tsi_wait;

/* Times of one worker, which alone writes them. */
typedef struct tsi_worker_clock {
  double since; /* the end of its latest step, or the start of the solve */
  double compute, wait[TSI_WAITS];
  double forward_end, backward_begin; /* end of last forward, start of first backward step; 0: none */
  char apart[TSI_CACHE_LINE - 8];     /* two clocks never share a cache line */
} tsi_worker_clock;

typedef struct tsi_exchange {
  tsi_env *env;
  const tsi_program *program;
  size_t row_bytes;
  void *inbox, *outbox;
  tsi_port port;
  bool *goes, *comes;      /* by message: it belongs to this run */
  bool *sent;              /* by message: this run has sent it */
  tsi_worker_clock *clock; /* one for each worker, or for the calling thread */
  int clocks;
  double begun;
  _Atomic(double) arrived;    /* time of the latest arrival */
  atomic_int arrived_between; /* this message was between grids */
  tsi_failure failure;        /* first failure of the run */
} tsi_exchange;

/* clocks: workers that may run steps, at least 1. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_exchange_create(tsi_env *env, const tsi_program *program, size_t row_bytes,
                                                   int clocks, tsi_exchange **out);
static inline tsi_index tsi_exchange_receives(const tsi_exchange *exchange) {
  return exchange->program->receives;
}

/* Called before the first step, and after the last step of a run. forward, backward: active chunks of the
 * layout; NULL: all. */
void tsi_exchange_begin(tsi_exchange *exchange, const tsi_solve_call *call, const unsigned char *forward,
                        const unsigned char *backward);
void tsi_exchange_end(tsi_exchange *exchange);
/* Number of messages that this process sends in the run. */
tsi_index tsi_exchange_sends(const tsi_exchange *exchange);
void tsi_exchange_fail(tsi_exchange *exchange, tristar_status status);
bool tsi_exchange_failed(tsi_exchange *exchange);
/* Records the time of an arrival. */
void tsi_exchange_note_arrival(tsi_exchange *exchange, tsi_index message);
/* Adds time for which the calling thread has worked outside of steps. */
void tsi_exchange_note_here(tsi_exchange *exchange, double seconds);
/* workers: number of workers that ran steps. */
void tsi_exchange_times(const tsi_exchange *exchange, int workers, tsi_process_times *times);

/* Called before and after each step. false: the run has failed, and the step must not run. */
bool tsi_exchange_begin_step(tsi_exchange *exchange, int worker, double *start);
void tsi_exchange_end_step(tsi_exchange *exchange, const tsi_execution *e, tsi_index step, int worker,
                           double start);

/* Waits for a message on the calling thread. */
void tsi_exchange_wait(tsi_exchange *exchange, tsi_index message);
/* Copies x of chunk k from the inbox. */
void tsi_exchange_take_x(const tsi_exchange *exchange, const tsi_execution *e, tsi_index k, bool backward);
/* Adds the received values of a stage of EXCHANGE, if there are any. */
void tsi_exchange_add(const tsi_exchange *exchange, const tsi_execution *e, tsi_index stage);
