/* A world: the programs of all processes of a distributed solve or factorization, for a simulation.
 *
 * Job. Keep of each program (program.h, factor/front_world.h) what takes time: its steps with their bytes, in
 * their order, its messages, and its edges. A program is made as it is for a real run, added here, and
 * released; so one program at a time exists as a whole, and a simulation has exactly the steps and messages
 * of a run. Once all processes are added, each message that one sends is joined to the arrival of it in the
 * program of its peer.
 *
 * Reads   the programs of all processes, each once, in the order of ranks.
 * Writes  a tsi_world that owns its arrays and is immutable after tsi_world_join.
 * Invariants (tsi_world_join refuses a world without them)
 *   - steps are in a legal order: edges lead upwards
 *   - each message is sent once and arrives once, with the same kind and number of rows
 * Memory is 40 bytes a step, 28 a message, 4 an edge. */
#pragma once

#include "dag/adjacency.h"
#include "dag/program.h"

typedef struct tsi_world_step {
  double bytes, priority; /* as in steps.h */
  double seconds;         /* besides step_seconds of the cluster and the bytes */
  tsi_index send;         /* the first message that it sends; they end where those of the next step begin */
  tsi_index receive;      /* of an ARRIVAL: its message; TSI_NONE */
  tsi_step_kind kind;
} tsi_world_step;

typedef struct tsi_world_send {
  tsi_index peer;    /* rank that receives it */
  tsi_index arrival; /* step of that rank */
  tsi_index step;    /* that sends it */
  tsi_index rows;
  tsi_message_kind kind;
} tsi_world_send;

typedef struct tsi_world_receive {
  tsi_index peer; /* rank that sends it */
  tsi_index send; /* message of that rank */
} tsi_world_receive;

typedef struct tsi_world_rank {
  tsi_index steps, sends, receives;
  tsi_world_step *step; /* steps + 1: the last one holds the end of the messages */
  tsi_world_send *send; /* by step */
  tsi_world_receive *receive;
  tsi_adjacency *after; /* the steps that wait for each one; NULL: left out */
  tsi_index *draw;      /* the order in which cores draw the steps; NULL: as they are listed */
  double bytes;         /* of all steps */
} tsi_world_rank;

typedef struct tsi_world_key { /* of a message until all are joined */
  tsi_index peer, tag, message, step, rows;
  tsi_message_kind kind;
} tsi_world_key;

typedef struct tsi_world {
  tsi_index ranks; /* that are added so far */
  tsi_world_rank *rank;
  tsi_count steps, messages;        /* of all */
  tsi_world_key **sent, **received; /* ranks: by peer and tag; NULL afterwards */
} tsi_world;

/* What the peer of a message sent. */
static inline const tsi_world_send *tsi_world_sent(const tsi_world *world, const tsi_world_receive *receive) {
  return &world->rank[receive->peer].send[receive->send];
}

/* Room for so many processes. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_world_create(tsi_env *env, tsi_index ranks, tsi_world **out);
/* Adds the program of the next process; its edges, too, if `edges`. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_world_add(tsi_env *env, tsi_world *world, const tsi_program *program,
                                             bool edges);
/* The latest process draws its steps in the order of tsi_program_list_draws. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_world_draw(tsi_env *env, tsi_world *world, const tsi_program *program,
                                              const tsi_layout *layout, const tsi_share *share);
/* For programs of another form: room for that of the next process, all zeros, but `receive` TSI_NONE. The
 * caller fills the steps, step[steps].send, and `sent` and `received` of the process. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_world_begin(tsi_world *world, tsi_index steps, tsi_index sends,
                                               tsi_index receives);
/* Ends it, with these edges if `edges`. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_world_end(tsi_env *env, tsi_world *world, bool edges, tsi_count count,
                                             const tsi_edge *edge);
/* Joins messages and arrivals; all processes are there. Errors: MEMORY; INTERNAL: an invariant is broken. */
TRISTAR_CHECKED tristar_status tsi_world_join(tsi_env *env, tsi_world *world);
