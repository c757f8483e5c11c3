/* The messages of a run: message areas, what comes and goes, and where the time of the workers went
 * meanwhile.
 *
 * No MPI here: messages go through a tsi_port, which runtime/mpi makes of MPI and tests of memory.
 *
 * Reads   a program (dag/program.h), the workspace of an execution.   Writes  inbox, outbox, its own members.
 * Invariants
 *   - row r of a message area is bytes r * row_bytes .. of it
 *   - a step packs the messages that it sends at its end, and nobody writes the outbox otherwise in that run
 *   - which messages a run has follows from what it solves, and all processes find the same ones: those of a
 * sweep that does not run, and of chunks that have no part in it, are left out, and their arrivals happen at
 * its begin
 *   - after the first failure no step runs any more; what they would have sent is sent at the end all the
 * same, so that nobody waits for this process */
#pragma once

#include "dag/program.h"
#include "runtime/exec/steps/execution.h"

/* How messages come and go. receive_into and send_from serve, instead of send, where buffers exist only while
 * they are needed: each received message is asked for once, with the place where it is to go. begin: before
 * anything is sent; of the received messages those come that `comes` names, and `goes` are to be sent. end:
 * after the last step. wait: returns when a received message is there; only where steps run on the calling
 * thread. Otherwise the port calls tsi_process_arrived. progress (may be NULL): called between steps.
 *
 * inbox (may be NULL): after begin, where the messages of this run arrive, if not in the inbox of the
 * exchange. */
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

/* Where the time of the workers went; seconds, all workers together. */
typedef struct tsi_process_times {
  double wall, compute;
  double xy, z; /* waiting for messages of a grid, and between grids */
  double idle;  /* waiting for other reasons */
  /* of the wall time: until the last forward step ended; from then until the first backward one began, 0
     where it began before; from when it began */
  double forward, between, backward;
} tsi_process_times;

/* Why a worker may have had nothing to do. */
typedef enum tsi_wait { TSI_WAIT_XY, TSI_WAIT_Z, TSI_WAIT_OTHER, TSI_WAITS } tsi_wait;

/* Of one worker; written by it alone. */
typedef struct tsi_worker_clock {
  double since; /* the end of its latest step, or the start of the solve */
  double compute, wait[TSI_WAITS];
  double forward_end, backward_begin; /* of its last forward, its first backward step; 0: there was none */
  char apart[TSI_CACHE_LINE - 8];     /* so that two never share a cache line */
} tsi_worker_clock;

typedef struct tsi_exchange {
  tsi_env *env;
  const tsi_program *program;
  size_t row_bytes;
  void *inbox, *outbox;
  tsi_port port;
  bool *goes, *comes;      /* messages: this run has it */
  bool *sent;              /* messages: this run has sent it */
  tsi_worker_clock *clock; /* workers, or the calling thread */
  int clocks;
  double begun;
  _Atomic(double) arrived;    /* when the latest message came */
  atomic_int arrived_between; /* it was one between grids */
  tsi_failure failure;        /* the first one */
} tsi_exchange;

/* clocks: workers that may run steps, at least 1. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_exchange_create(tsi_env *env, const tsi_program *program, size_t row_bytes,
                                                   int clocks, tsi_exchange **out);
static inline tsi_index tsi_exchange_receives(const tsi_exchange *exchange) {
  return exchange->program->receives;
}

/* Before the first step, and after the last one of a run; what a run has failed with. forward, backward:
 * chunks of the layout that take part; NULL: all. */
void tsi_exchange_begin(tsi_exchange *exchange, const tsi_solve_call *call, const unsigned char *forward,
                        const unsigned char *backward);
void tsi_exchange_end(tsi_exchange *exchange);
/* Messages that this process sends in the run. */
tsi_index tsi_exchange_sends(const tsi_exchange *exchange);
void tsi_exchange_fail(tsi_exchange *exchange, tristar_status status);
bool tsi_exchange_failed(tsi_exchange *exchange);
/* A received message is there: for the clocks. */
void tsi_exchange_note_arrival(tsi_exchange *exchange, tsi_index message);
/* The calling thread has worked for so long, outside of steps. */
void tsi_exchange_note_here(tsi_exchange *exchange, double seconds);
/* workers: that ran steps. */
void tsi_exchange_times(const tsi_exchange *exchange, int workers, tsi_process_times *times);

/* Around each step. false: the run has failed, the step is not to run. */
bool tsi_exchange_begin_step(tsi_exchange *exchange, int worker, double *start);
void tsi_exchange_end_step(tsi_exchange *exchange, const tsi_execution *e, tsi_index step, int worker,
                           double start);

/* On the calling thread. */
void tsi_exchange_wait(tsi_exchange *exchange, tsi_index message);
/* x of chunk k is in the inbox. */
void tsi_exchange_take_x(const tsi_exchange *exchange, const tsi_execution *e, tsi_index k, bool backward);
/* Adds what a stage of EXCHANGE has received, if anything. */
void tsi_exchange_add(const tsi_exchange *exchange, const tsi_execution *e, tsi_index stage);
