/* Simulation of a world: the time at which each step of each process runs, and at which each message arrives.
 *
 * Job. Run the programs of all processes (world.h) against a clock that gives durations to work and messages.
 * The clock is LogGP without contention (tsi_simulation_run with clock NULL), or a clock of the caller, such
 * as the SimGrid clock of the program. Processes behave the same with every clock:
 *
 *   - a process with one core runs its steps in their order. With several cores, or with by_priority, it runs
 *     the ready step of the highest priority first. With `drawn` each free core takes the next step of the
 *     order for GPUs (world.h), and waits until this step can run
 *   - a step does its work; then each message that it sends takes the overhead of a message, and is sent
 *   - an ARRIVAL begins when its message is there, and takes the overhead of a message. With `drawn` it
 *     takes no core if that overhead is 0: the core of a step behind it polls for the message
 *
 * Work is a number of seconds, and of bytes that are read from the memory of the node at most at `rate`: the
 * arithmetic for a byte of the factor may take longer than reading it.
 *
 * Reads   a tsi_world, a tristar_cluster.
 * Writes  a tsi_simulation: start and end of each step, the time at which each message is sent, the cause of
 * each step's start.
 * Invariants (tsi_simulation_run refuses simulations that break them)
 *   - every step runs once, and every message arrives once
 *   - a step begins with the last event that it waits for: its cause is that step, or the message
 *   - the same world and cluster give the same bits: events of the same time have a fixed order */
#pragma once

#include "dag/traffic.h"
#include "dag/world.h"
#include "runtime/base/heap.h"
#include "tristar_layout.h"

typedef struct tsi_work {
  double seconds;
  double bytes, rate; /* bytes per second; bytes 0: none */
} tsi_work;

enum { TSI_CAUSE_START = -1, TSI_CAUSE_MESSAGE = -2 }; /* causes of a step, besides an earlier step */

typedef struct tsi_simulated_core {
  tsi_index step, next_send;
  double begin;     /* Start of the current work. */
  double streaming; /* LogGP: the share of this time in which the core reads; 0: it does not read. */
} tsi_simulated_core;

typedef struct tsi_simulated_rank {
  double *begin, *end;  /* steps */
  double *work;         /* steps: seconds without the messages that they send */
  tsi_index *cause;     /* steps */
  tsi_index *waits;     /* steps: the number of steps that it still waits for, plus 1 for its message */
  double *left;         /* sends: the times at which they are sent */
  tsi_index first_send; /* Number of its first message among the messages of all ranks. */
  tsi_index done;
  tsi_heap ready;       /* Steps that can run; not used with `drawn`. */
  tsi_index next;       /* With `drawn`: the number of steps drawn so far. */
  tsi_index *drawn_by;  /* steps: the core that has drawn it; TSI_NONE: none. NULL without `drawn` */
  tsi_index free;       /* All cores before this one work, or have drawn a step. */
  tsi_index idle;       /* The number of cores that do not work and have drawn no step. */
  double streaming;     /* LogGP: the sum over its cores. */
  tsi_index working;    /* cores that work now */
  double since, active; /* start of the current work of any core; seconds of such work */
  bool cached;
  double arithmetic, message[2]; /* Seconds of arithmetic; seconds of messages inside and between grids. */
} tsi_simulated_rank;

typedef struct tsi_simulation {
  tsi_env *env;
  const tsi_world *world;
  tristar_cluster cluster;
  double row_bytes, flops_per_byte;
  const double *latency; /* ranks * ranks: LogGP, of messages from one to another. NULL: the cluster's */
  const struct tsi_simulation_clock *clock;
  double now, seconds; /* seconds: the end of the last step. */
  tsi_simulated_rank *rank;
  tsi_simulated_core *core; /* ranks * cores */
  tsi_index *sender;        /* Messages of all ranks. */
  tsi_traffic *traffic;     /* Messages that have arrived; `entries` is not set. */
} tsi_simulation;

/* A clock gives durations to items. An item is a core, or, from the number of cores on, a message. */
typedef struct tsi_simulation_clock {
  void *context;
  /* Both functions start an item; the clock calls tsi_simulation_happen at its end. Errors: MEMORY,
   * RUNTIME. */
  tristar_status (*work)(void *context, tsi_index rank, const tsi_work *work, tsi_index item);
  tristar_status (*send)(void *context, tsi_index from, tsi_index to, double bytes, tsi_index item);
  /* Returns when no item is running. */
  tristar_status (*run)(void *context, tsi_simulation *simulation);
} tsi_simulation_clock;

/* row_bytes: bytes of a row of a message. flops_per_byte: real operations for each byte of the factor that is
 * read. resident: bytes of the factor divided by the bytes of all steps. The world must have edges unless
 * tsi_cluster_in_order. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_simulation_create(tsi_env *env, const tsi_world *world,
                                                     const tristar_cluster *cluster, double row_bytes,
                                                     double flops_per_byte, double resident,
                                                     tsi_simulation **out);
/* Runs once. clock NULL: LogGP. Errors: MEMORY; INTERNAL (a process waits forever); errors of the clock. */
TRISTAR_CHECKED tristar_status tsi_simulation_run(tsi_simulation *s, const tsi_simulation_clock *clock);
/* Called by the clock: the item ends at this time. Times do not decrease. */
TRISTAR_CHECKED tristar_status tsi_simulation_happen(tsi_simulation *s, double now, tsi_index item);

/* Bytes per second that a core of the cluster reads if all cores of its node read. */
double tsi_cluster_share(const tristar_cluster *cluster);
/* Does a process run its steps in their order? */
static inline bool tsi_cluster_in_order(const tristar_cluster *cluster) {
  return cluster->cores == 1 && !cluster->by_priority && !cluster->drawn;
}
static inline bool tsi_cluster_is_local(const tristar_cluster *cluster, tsi_index from, tsi_index to) {
  return from / cluster->ranks_per_node == to / cluster->ranks_per_node;
}

/* Parts of the time of the critical path: arithmetic, messages inside and between grids. They add up to
 * `seconds`. */
typedef struct tsi_simulated_path {
  double arithmetic, message[2];
  double part[TSI_STEP_PARTS]; /* Seconds of the steps that do arithmetic; they add up to `arithmetic`. */
  tsi_count steps;             /* Number of these steps. */
  tsi_count messages;
} tsi_simulated_path;
tsi_simulated_path tsi_simulation_path(const tsi_simulation *s);
