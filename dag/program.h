/* The program of one process in a distributed solve: its steps, and the messages between them.
 *
 * Job. List the steps of the solve of a process, the edges between them, the messages that it sends and
 * receives, and their peers. These follow from its share (share.h) and from the participants of each chunk
 * (participants.h).
 *
 * Within a grid the anchor of chunk c is the root of two trees (broadcasts go down, reductions up):
 *
 *   forward    contributors   FORWARD_SUM       x_c = sum of the own and of the received updates
 *              anchor         FORWARD_CHUNK     x_c = b + all sums, then the triangles
 *              holders        FORWARD_RECEIVE   x_c arrives;  slices make updates of it
 *   backward   holders        BACKWARD_SUM      sum of the own and of the received partial sums
 *              anchor         BACKWARD_CHUNK    x_c - all sums, then the triangles
 *              contributors   BACKWARD_RECEIVE  x_c arrives: copied to the memory of the rows of updates
 *
 * Across grids, replicated (SC 2023): every grid solves forward with its copies of the ancestors, where b is
 * zero except in the home of an ancestor. The solution of L y = b is the sum over the grids, as it is linear
 * in b. EXCHANGE computes this sum for all ancestors at once, in log2 Pz pairwise steps between processes
 * with the same position in their grids: stage 0 sends; stage k adds the message of step k - 1 and sends the
 * sum on, if there is another step. In step l grids z and z xor 2^l exchange the chunks of levels above l.
 * Both add the same two numbers, so all copies have the same bits. Backward, grids exchange nothing. Not
 * replicated (ICS 2019): the home of an ancestor solves for it. GRID_FORWARD(l) in a grid z that is an odd
 * multiple of 2^l sends the sums for all chunks above level l to grid z - 2^l; GRID_BACKWARD(l) sends x back.
 *
 * A chunk on a device has the steps that steps.h lists in each direction, forward from READ on, backward to
 * WRITE. FORWARD_BORDER copies data for other chunks to main memory; BACKWARD_BORDER needs data of other
 * chunks there. As no other process has a part of such a chunk, no message is sent from a device or to one.
 *
 * ARRIVAL is an event: it happens when its message has arrived. Messages of a step are sent at its end. Sums
 * are added in a fixed order: own updates by source, then messages by tree position, then by level of the
 * grids. So results do not depend on the times of arrival.
 *
 * Order. Steps are listed by chunk, forward ascending, backward descending. An arrival is listed just before
 * the first step that needs it. A process that runs its steps in this order and waits at arrivals cannot
 * block forever: all processes do so, and messages about a chunk depend only on steps about this chunk and
 * earlier ones.
 *
 * Tags. Messages from one process to another are numbered in an order that both can compute: kind, then chunk
 * or level.
 *
 * Reads   tsi_layout, tsi_participants and tsi_share of the process, the sweep of the share's chunks.
 * Writes  a tsi_program that owns its arrays and is immutable afterwards.
 * Invariants (tsi_program_check)
 *   - edges lead upwards
 *   - some step waits for each arrival; each sent message has at least one row
 *   - rows of the inbox (outbox) of two messages do not overlap
 *   - if two steps touch the same memory and one of them writes, edges order them (access.h) */
#pragma once

#include "dag/steps.h"
#include "partition/layout/participants.h"
#include "partition/layout/share.h"

typedef enum tsi_tree { TSI_TREE_BINARY, TSI_TREE_FLAT } tsi_tree;

typedef enum tsi_message_kind {
  TSI_MESSAGE_FORWARD_SUM,
  TSI_MESSAGE_FORWARD_X,
  TSI_MESSAGE_BACKWARD_SUM,
  TSI_MESSAGE_BACKWARD_X,
  TSI_MESSAGE_EXCHANGE,
  TSI_MESSAGE_GRID_FORWARD,
  TSI_MESSAGE_GRID_BACKWARD,
  TSI_MESSAGE_STRIPE, /* This and the following: messages of a factorization (dag/factor/factorization.h). */
  TSI_MESSAGE_COMPLEMENT,
  TSI_MESSAGE_PANELS,
  TSI_MESSAGE_AGREE,       /* Stands for a collective call; has no rows and is not counted. */
  TSI_MESSAGE_GRID_STRIPE, /* This and the following: the same four between grids. */
  TSI_MESSAGE_GRID_COMPLEMENT,
  TSI_MESSAGE_GRID_PANELS,
  TSI_MESSAGE_GRID_AGREE
} tsi_message_kind;

/* A message consists of the rows of one or more local chunks, one after the other. */
typedef struct tsi_message {
  tsi_message_kind kind;
  tsi_index number; /* Number of the chunk in the layout; for messages between grids the stage or level. */
  tsi_index peer;   /* rank */
  tsi_index tag;
  tsi_index step;        /* The step that sends it, or its ARRIVAL. */
  tsi_count part, parts; /* Its chunks are tsi_program.part[part] .. part[part + parts - 1]. */
  tsi_count row;         /* Its first row in the outbox or inbox. */
  tsi_count rows;
} tsi_message;

/* Lists of inbox rows by local chunk: chunk k has the list row[first[k]] .. row[first[k] + count[k] - 1]. */
typedef struct tsi_inbox_list {
  tsi_count *first; /* chunks */
  tsi_index *count; /* chunks */
  tsi_count rows;   /* Rows in all lists. */
  tsi_count *row;
} tsi_inbox_list;

typedef struct tsi_program {
  tsi_steps *steps;
  tsi_index sends, receives;
  tsi_message *send;    /* by step */
  tsi_index *send_ptr;  /* steps + 1 */
  tsi_message *receive; /* by step */
  tsi_count parts;
  tsi_index *part; /* local chunks */
  tsi_count outbox_rows, inbox_rows;
  tsi_inbox_list forward, backward;  /* The messages that each chunk adds, in their order. */
  tsi_count *forward_x, *backward_x; /* chunks: first row of its x in the inbox; -1: none */
  tsi_index *exchange; /* stages (levels + 1): the message that the stage adds; TSI_NONE: none */
} tsi_program;

typedef struct tsi_program_source {
  const tsi_layout *layout;
  const tsi_participants *participants;
  const tsi_share *share;
  const tsi_sweep *sweep; /* The sweep of share->chunks. */
  tsi_tree tree;
  const bool *on_device; /* local chunks: the chunk works on a device. Such a chunk has no other participants,
                            no sources and no slices. NULL: no chunk does */
} tsi_program_source;

/* Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_program_create(tsi_env *env, const tsi_program_source *source,
                                                  tsi_program **out);
TRISTAR_CHECKED tristar_status tsi_program_check(tsi_env *env, const tsi_program *program,
                                                 const tsi_program_source *source);
/* The order in which the blocks of a GPU draw the steps: step draw[k] is drawn as number k. A block draws a
 * step, waits until it can run, and runs it.
 *
 * The order has parts: forward, sums over the grids, backward; if not replicated, the chunks of each level
 * and the messages between levels. Inside a part the priority decides: the bytes on the heaviest path,
 * forward to the root, backward to a leaf. Steps of the same priority keep their order. An arrival is just
 * before the first step that needs it.
 *
 * The orders of all processes are parts of one order of all their steps. In it every step comes after all
 * steps that it waits for, also through messages. There are three reasons: parts and priorities are the same
 * on all processes; a chunk has a lower priority than the chunks that it waits for; all processes list the
 * steps about one chunk in the same order. So the first unfinished step of this order can run, and some block
 * has drawn it: the solve ends with any number of blocks on any GPU.
 *
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_program_list_draws(tsi_env *env, const tsi_program *program,
                                                      const tsi_layout *layout, const tsi_share *share,
                                                      tsi_index *draw);
/* Lists what the steps read and write, with messages (access.h). Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_program_list_accesses(tsi_env *env, const tsi_program *program,
                                                         const tsi_program_source *source,
                                                         tsi_access_list **out);

/* Position i of a tree with `count` positions and the root 0: its parent; its children first .. end - 1. */
static inline tsi_index tsi_tree_parent(tsi_tree tree, tsi_index i) {
  return i == 0 ? TSI_NONE : tree == TSI_TREE_FLAT ? 0 : (i - 1) / 2;
}
static inline void tsi_tree_children(tsi_tree tree, tsi_index count, tsi_index i, tsi_index *first,
                                     tsi_index *end) {
  *first = tree == TSI_TREE_BINARY ? tsi_index_min(2 * i + 1, count) : i == 0 ? 1 : count;
  *end = tree == TSI_TREE_BINARY ? tsi_index_min(2 * i + 3, count) : count;
}
