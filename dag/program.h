/* The program of one process in a distributed solve: its steps, and the messages between them.
 *
 * Job. Given what a process holds (share.h) and who else takes part in each chunk (participants.h), list the
 * steps of its solve, the edges between them, the messages that it sends and receives, and where they go.
 *
 * Within a grid, for chunk c with the anchor as the root of two trees (broadcasts go down, reductions up):
 *
 *   forward    contributors   FORWARD_SUM       x_c = sum of the updates made here and of those received
 *              anchor         FORWARD_CHUNK     x_c = b + all sums, then the triangles
 *              holders        FORWARD_RECEIVE   x_c arrives;  slices make updates of it
 *   backward   holders        BACKWARD_SUM      sum of the slices' parts and of those received
 *              anchor         BACKWARD_CHUNK    x_c - all sums, then the triangles
 *              contributors   BACKWARD_RECEIVE  x_c arrives: copied to where the rows of updates were
 *
 * Across grids, replicated (SC 2023): every grid solves forward with its copies of the ancestors, b being
 * zero for them except in their home; the solution of L y = b is the sum over the grids, as it is linear in
 * b. It is summed for all ancestors at once by EXCHANGE, log2 Pz pairwise steps between processes of the same
 * place: stage 0 sends, stage k adds what came in step k - 1 and sends the sum on, if there is another step.
 * In step l grids z and z xor 2^l exchange the chunks of levels above l. Both add the same two numbers, so
 * all copies have the same bits. Backward no grid needs another one. Not replicated (ICS 2019): ancestors are
 * solved in their home. GRID_FORWARD(l) in a grid z that is an odd multiple of 2^l sends the sums for all
 * chunks above level l to grid z - 2^l; GRID_BACKWARD(l) sends x back.
 *
 * A chunk that works on a device has the steps that steps.h lists in each direction, forward from READ on,
 * backward to WRITE. What others need of it is in main memory after FORWARD_BORDER, what it needs of others
 * before BACKWARD_BORDER: as no other process has a part of it, no message leaves a device, or goes to one.
 *
 * ARRIVAL is an event: it happens when its message is there. A step's messages go out at its end. Sums are
 * added in a fixed order: own updates by source, then messages by tree position, then by level of the grids.
 * So results do not depend on when messages come.
 *
 * Order. Steps are listed by chunk, forward ascending, backward descending, and an arrival comes just before
 * the first step that needs it. A process that does its steps in this order and waits at arrivals cannot
 * block for ever: the same holds for all processes, and messages about a chunk depend on steps about it and
 * earlier ones.
 *
 * Tags. Messages from one process to another one are numbered in an order that both know: kind, then chunk or
 * level.
 *
 * Reads   tsi_layout, tsi_participants and tsi_share of the process, the sweep of the share's chunks.
 * Writes  a tsi_program that owns its arrays and is immutable afterwards.
 * Invariants (tsi_program_check)
 *   - edges lead upwards
 *   - each arrival is waited for; each sent message has at least one row
 *   - rows of the inbox (outbox) of two messages do not overlap
 *   - steps that touch the same memory, one of them writing, are ordered (access.h) */
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
  TSI_MESSAGE_STRIPE, /* this and the following: of a factorization (dag/factor/front_world.h) */
  TSI_MESSAGE_COMPLEMENT,
  TSI_MESSAGE_PANELS,
  TSI_MESSAGE_AGREE,       /* of a collective call: without rows, and not counted */
  TSI_MESSAGE_GRID_STRIPE, /* the same four between grids */
  TSI_MESSAGE_GRID_COMPLEMENT,
  TSI_MESSAGE_GRID_PANELS,
  TSI_MESSAGE_GRID_AGREE
} tsi_message_kind;

/* A message is the rows of one or more local chunks, one after the other. */
typedef struct tsi_message {
  tsi_message_kind kind;
  tsi_index number; /* of the chunk in the layout; stage or level of messages between grids */
  tsi_index peer;   /* rank */
  tsi_index tag;
  tsi_index step;        /* that sends it, or its ARRIVAL */
  tsi_count part, parts; /* its chunks: tsi_program.part[part] .. */
  tsi_count row;         /* its first row in the outbox or inbox */
  tsi_count rows;
} tsi_message;

/* Lists of inbox rows by local chunk: those of chunk k are row[first[k]] .. row[first[k] + count[k] - 1]. */
typedef struct tsi_inbox_list {
  tsi_count *first; /* chunks */
  tsi_index *count; /* chunks */
  tsi_count rows;   /* in all lists */
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
  tsi_inbox_list forward, backward;  /* what each chunk adds, in order */
  tsi_count *forward_x, *backward_x; /* chunks: where its x arrives in the inbox; -1: nowhere */
  tsi_index *exchange;               /* stages (levels + 1): the message that the stage adds; TSI_NONE */
} tsi_program;

typedef struct tsi_program_source {
  const tsi_layout *layout;
  const tsi_participants *participants;
  const tsi_share *share;
  const tsi_sweep *sweep; /* of share->chunks */
  tsi_tree tree;
  const bool *on_device; /* local chunks: works on a device. Such a chunk is whole here, and has no sources
                            and no slices; NULL: none */
} tsi_program_source;

/* Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_program_create(tsi_env *env, const tsi_program_source *source,
                                                  tsi_program **out);
TRISTAR_CHECKED tristar_status tsi_program_check(tsi_env *env, const tsi_program *program,
                                                 const tsi_program_source *source);
/* The order in which the blocks of a GPU draw the steps: step draw[k] is the k-th one. Each block draws a
 * step and waits until it can run.
 *
 * Parts of the solve come one after the other: forward, sums over the grids, backward; not replicated, the
 * chunks of each level, and the messages between levels. Inside a part the priority decides: bytes on the way
 * to the root forward, on the heaviest way to a leaf backward. Steps of the same priority keep their order.
 * An arrival comes just before the first step that needs it.
 *
 * It is one order of the steps of all processes, in which every step comes behind all that it waits for, also
 * for messages; each process has the part of it that it runs: parts and priorities are the same everywhere, a
 * chunk has a lower priority than the chunks that it waits for, and steps about one chunk are listed in an
 * order that all processes share. So the first step of this order that has not ended can run, and some block
 * has drawn it: any number of blocks of any GPU comes to an end.
 *
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_program_list_draws(tsi_env *env, const tsi_program *program,
                                                      const tsi_layout *layout, const tsi_share *share,
                                                      tsi_index *draw);
/* What its steps read and write, messages included (access.h). Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_program_list_accesses(tsi_env *env, const tsi_program *program,
                                                         const tsi_program_source *source,
                                                         tsi_access_list **out);

/* Position i of a tree with `count` positions, the root being 0: its parent, and its children first .. end-1.
 */
static inline tsi_index tsi_tree_parent(tsi_tree tree, tsi_index i) {
  return i == 0 ? TSI_NONE : tree == TSI_TREE_FLAT ? 0 : (i - 1) / 2;
}
static inline void tsi_tree_children(tsi_tree tree, tsi_index count, tsi_index i, tsi_index *first,
                                     tsi_index *end) {
  *first = tree == TSI_TREE_BINARY ? tsi_index_min(2 * i + 1, count) : i == 0 ? 1 : count;
  *end = tree == TSI_TREE_BINARY ? tsi_index_min(2 * i + 3, count) : count;
}
