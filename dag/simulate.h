/* Simulation of a world: when each step of each process runs, and when each message arrives.
 *
 * Job. Run the programs of all processes (world.h) against a clock that gives durations to work and messages.
 * The clock is LogGP without contention (tsi_simulation_run with clock NULL), or one of the caller, as the
 * program has it with SimGrid. What a process does is the same with each of them:
 *
 *   - a process with one core runs its steps in their order; one with more, or with by_priority, runs what is
 *     ready, the highest priority first. With `drawn` each free core takes the next step of the order for
 *     GPUs (world.h), and waits until that can run
 *   - a step takes its work; then each message that it sends takes the overhead of a message, and leaves
 *   - an ARRIVAL begins once its message is there, and takes the overhead of a message
 *
 * Work is a number of seconds, and of bytes that are read from the memory of the node at most at `rate`: as
 * much arithmetic as belongs to a byte of factor may be slower than memory is.
 *
 * Reads   a tsi_world, a tristar_cluster.
 * Writes  a tsi_simulation: begin and end of each step, when each message left, what each step waited for.
 * Invariants (tsi_simulation_run refuses what breaks them)
 *   - every step runs once, and every message arrives once
 *   - a step begins when what it waited for last happens: cause holds that step, or the message
 *   - the same world and cluster give the same bits: events of the same time are in a fixed order */
#pragma once

#include "dag/traffic.h"
#include "dag/world.h"
#include "runtime/base/heap.h"
#include "tristar_layout.h"

typedef struct tsi_work {
  double seconds;
  double bytes, rate; /* bytes per second; bytes 0: none */
} tsi_work;

enum { TSI_CAUSE_START = -1, TSI_CAUSE_MESSAGE = -2 }; /* of a step: else the step that ended before */

typedef struct tsi_simulated_core {
  tsi_index step, next_send;
  double begin;     /* of what it does now */
  double streaming; /* LogGP: the part of that time in which it reads; 0: it does not */
} tsi_simulated_core;

typedef struct tsi_simulated_rank {
  double *begin, *end;  /* steps */
  double *work;         /* steps: seconds without the messages that they send */
  tsi_index *cause;     /* steps */
  tsi_index *waits;     /* steps: for so many others, and the message */
  double *left;         /* sends: when they left */
  tsi_index first_send; /* number of its first message among those of all */
  tsi_index done;
  tsi_heap ready;       /* not with `drawn` */
  tsi_index next;       /* with `drawn`: so many steps have been drawn */
  tsi_index *drawn_by;  /* steps: the core that has drawn it; TSI_NONE. NULL: without `drawn` */
  tsi_index working;    /* cores that work now */
  double since, active; /* when the first of them began; seconds in which any worked */
  bool cached;
  double arithmetic, message[2]; /* seconds; messages inside and between grids */
} tsi_simulated_rank;

typedef struct tsi_simulation {
  tsi_env *env;
  const tsi_world *world;
  tristar_cluster cluster;
  double row_bytes, flops_per_byte;
  const struct tsi_simulation_clock *clock;
  double now, seconds; /* seconds: the end of the last step */
  tsi_simulated_rank *rank;
  tsi_simulated_core *core; /* ranks * cores */
  tsi_index *sender;        /* messages of all */
  tsi_traffic *traffic;     /* messages that have arrived; no entries */
} tsi_simulation;

/* An item is a core, or beyond these a message: what the clock gives a duration to. */
typedef struct tsi_simulation_clock {
  void *context;
  /* Begins; the clock calls tsi_simulation_happen when it is through. Errors: MEMORY, RUNTIME. */
  tristar_status (*work)(void *context, tsi_index rank, const tsi_work *work, tsi_index item);
  tristar_status (*send)(void *context, tsi_index from, tsi_index to, double bytes, tsi_index item);
  /* Returns when nothing is on its way. */
  tristar_status (*run)(void *context, tsi_simulation *simulation);
} tsi_simulation_clock;

/* row_bytes: of a row of a message. flops_per_byte: real operations for each byte of factor that is read.
 * resident: bytes of factor as a share of the bytes of all steps. The world has edges unless
 * tsi_cluster_in_order.
 * Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_simulation_create(tsi_env *env, const tsi_world *world,
                                                     const tristar_cluster *cluster, double row_bytes,
                                                     double flops_per_byte, double resident,
                                                     tsi_simulation **out);
/* clock NULL: LogGP. Once. Errors: those of the clock; MEMORY; INTERNAL: a process waits for ever. */
TRISTAR_CHECKED tristar_status tsi_simulation_run(tsi_simulation *s, const tsi_simulation_clock *clock);
/* Of the clock: at this time the item is through. Times do not decrease. */
TRISTAR_CHECKED tristar_status tsi_simulation_happen(tsi_simulation *s, double now, tsi_index item);

/* Bytes per second that a core of the cluster reads if all of its node do. */
double tsi_cluster_share(const tristar_cluster *cluster);
/* Does a process run its steps in their order? */
static inline bool tsi_cluster_in_order(const tristar_cluster *cluster) {
  return cluster->cores == 1 && !cluster->by_priority && !cluster->drawn;
}
static inline bool tsi_cluster_is_local(const tristar_cluster *cluster, tsi_index from, tsi_index to) {
  return from / cluster->ranks_per_node == to / cluster->ranks_per_node;
}

/* What the time of the critical path is made of: arithmetic, messages inside and between grids. They add up
 * to `seconds`. */
typedef struct tsi_simulated_path {
  double arithmetic, message[2];
  tsi_count messages;
} tsi_simulated_path;
tsi_simulated_path tsi_simulation_path(const tsi_simulation *s);
