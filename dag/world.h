/* A world: the programs of all processes of a distributed solve or factorization, for a simulation.
 *
 * Job. Keep the parts of each program (program.h) that take time: its steps with their bytes, in their order,
 * its messages, and its edges. A program is made as for a real run, added here, and released. So only one
 * program exists as a whole at any time, and a simulation has exactly the steps and messages of a run. When
 * all processes have been added, each message is joined to its arrival in the program of its receiver.
 *
 * Reads   the programs of all processes, each once, in the order of ranks.
 * Writes  a tsi_world that owns its arrays and is immutable after tsi_world_join.
 * Invariants (tsi_world_join refuses a world without them)
 *   - steps are in a legal order: edges lead upwards
 *   - each message is sent once and arrives once, with the same kind and number of rows
 * Memory is 40 bytes per step, 28 per message, 4 per edge. */
#pragma once

#include "dag/adjacency.h"
#include "dag/program.h"

typedef struct tsi_world_step {
  double bytes, priority; /* as in steps.h */
  double seconds;         /* Time in addition to step_seconds of the cluster and to the time for the bytes. */
  tsi_index send;         /* The first message that it sends; its messages end at `send` of the next step. */
  tsi_index receive;      /* ARRIVAL: its message; otherwise TSI_NONE. */
  tsi_step_kind kind;
} tsi_world_step;

typedef struct tsi_world_send {
  tsi_index peer;    /* Rank that receives it. */
  tsi_index arrival; /* Step of that rank. */
  tsi_index step;    /* Step that sends it. */
  tsi_index rows;
  tsi_message_kind kind;
} tsi_world_send;

typedef struct tsi_world_receive {
  tsi_index peer; /* Rank that sends it. */
  tsi_index send; /* Message of that rank. */
} tsi_world_receive;

typedef struct tsi_world_rank {
  tsi_index steps, sends, receives;
  tsi_world_step *step; /* steps + 1: `send` of the last one is the end of the messages */
  tsi_world_send *send; /* by step */
  tsi_world_receive *receive;
  tsi_adjacency *after; /* The steps that wait for each step; NULL: not stored. */
  tsi_index *draw;      /* The order in which cores draw the steps; NULL: the order of `step`. */
  double bytes;         /* Bytes of all steps. */
} tsi_world_rank;

typedef struct tsi_world_key { /* Identifies a message until all messages are joined. */
  tsi_index peer, tag, message, step, rows;
  tsi_message_kind kind;
} tsi_world_key;

typedef struct tsi_world {
  tsi_index ranks; /* Number of ranks added so far. */
  tsi_world_rank *rank;
  tsi_count steps, messages;        /* Of all ranks. */
  tsi_world_key **sent, **received; /* ranks: keys by peer and tag; NULL after tsi_world_join */
} tsi_world;

/* The message that the peer sends. */
static inline const tsi_world_send *tsi_world_sent(const tsi_world *world, const tsi_world_receive *receive) {
  return &world->rank[receive->peer].send[receive->send];
}

/* Makes an empty world for this number of processes. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_world_create(tsi_env *env, tsi_index ranks, tsi_world **out);
/* Adds the program of the next process, with its edges if `edges`. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_world_add(tsi_env *env, tsi_world *world, const tsi_program *program,
                                             bool edges);
/* Lets the process that was added last draw its steps in the order of tsi_program_list_draws. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_world_draw(tsi_env *env, tsi_world *world, const tsi_program *program,
                                              const tsi_layout *layout, const tsi_share *share);
/* For programs of another form: allocates the arrays of the next process, filled with zeros, except that
 * `receive` is TSI_NONE. The caller fills the steps, step[steps].send, and `sent` and `received` of the
 * process. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_world_begin(tsi_world *world, tsi_index steps, tsi_index sends,
                                               tsi_index receives);
/* Ends the program that tsi_world_begin began, with these edges if `edges`. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_world_end(tsi_env *env, tsi_world *world, bool edges, tsi_count count,
                                             const tsi_edge *edge);
/* Joins messages and arrivals. All processes must have been added. Errors: MEMORY; INTERNAL (an invariant is
 * broken). */
TRISTAR_CHECKED tristar_status tsi_world_join(tsi_env *env, tsi_world *world);
