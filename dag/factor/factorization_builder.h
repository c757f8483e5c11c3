/* The DAG of a factorization under construction, for the files that make it: see factorization.h.
 *
 * Steps and edges are counted in a first pass and written in a second one, so a function does the same in
 * both but for the writing. Work is in flops.
 *
 * Invariants
 *   - supernodes before the open range have their step, those from the one being looked at have none
 *   - a range has supernodes of this process only, and all between its first and its last
 *   - what joins a range is whole subtrees, or the front whose children are all in it: no step that was there
 * before waits for more than it did
 *   - to a range that waits for other steps only negligible work is added that does not have to wait */
#pragma once

#include "dag/factor/factorization.h"

/* Consecutive supernodes that are to be one step. */
typedef struct tsi_supernode_range {
  tsi_index first, last; /* first TSI_NONE: there is none */
  tsi_index urgent;      /* the one that says how urgent the step is */
  double work;
  bool waits; /* for other steps */
} tsi_supernode_range;

typedef struct tsi_factorization_builder {
  tsi_factorization *dag;
  tsi_factorization_options options;
  bool writing;
  tsi_count steps, edges;
  tsi_index sends, receives, outs, ins;
  tsi_index tiled; /* the front that is being cut */
  double *subtree; /* by supernode: the work of its subtree */
  double *tree;    /* by supernode: the work of the tree that it is in */
  double limit;    /* of one step */
  tsi_index processes;
  tsi_index *sent, *received; /* by process: messages with complements to it, from it */
  tsi_count *tag_ptr; /* by supernode: where the tags of what comes of its complement are, by sender */
  tsi_index *tag;     /* of first pieces */
  tsi_index *part_tag, *stripe_sent, *stripe_received; /* by process: the next tag */
  bool *mixed;     /* by supernode: another process has some of its subtree */
  tsi_index *done; /* by supernode of this process: the step after which its complement is complete */
  tsi_index *arrival, *arrivals; /* by supernode: the first arrival of its complement; how many there are. One
                                    process alone: NULL */
  tsi_index *latest;             /* by tile of a front: the latest step on its rows; then: on its columns */
  tsi_supernode_range open;      /* may still grow */
} tsi_factorization_builder;

/* A tiled front that is being cut into steps. */
typedef struct tsi_front_cut {
  tsi_factorization_builder *b;
  tsi_index s;
  tsi_front_tiles t;
  bool lu;
  tsi_index *below, *right; /* by tile: the latest step on its rows, columns. Of a shared front's stripe that
                               arrives: the first arrival, and how many there are */
} tsi_front_cut;

#define TSI_ASSEMBLE_ENTRY_WORK 20 /* to assemble an entry of a front */

/* Work of a front, in flops: its arithmetic, what its entries take, and its calls. */
double tsi_factorization_work(const tsi_factorization_builder *b, tsi_index s);
/* Appends a step, as urgent as the front of supernode `urgent`; its number. */
tsi_index tsi_factorization_add_step(tsi_factorization_builder *b, tsi_step_kind kind, tsi_index urgent,
                                     const tsi_front_step *part);
void tsi_factorization_add_edge(tsi_factorization_builder *b, tsi_index item, tsi_index before);
/* Before the steps: the tags of what comes. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factorization_find_tags(tsi_factorization_builder *b);
/* Before each pass. */
void tsi_factorization_begin_messages(tsi_factorization_builder *b);
/* Arrivals of the children of s that other processes have. */
void tsi_factorization_receive_children(tsi_factorization_builder *b, tsi_index s);
/* A stripe of a front that another process has: its arrivals, of which the first one's number is given. */
tsi_index tsi_factorization_receive_stripe(tsi_factorization_builder *b, tsi_index s, tsi_index k,
                                           tsi_index *pieces);
/* The step that was added last sends stripe k of a front to all who want it. */
void tsi_factorization_send_stripe(tsi_factorization_builder *b, tsi_index s, tsi_index k);
/* The step that was added last sends the complements of supernodes first .. last that have to travel. */
void tsi_factorization_send(tsi_factorization_builder *b, tsi_index first, tsi_index last);
/* Step `item` takes supernodes first .. last and waits for their children that are not among them. */
void tsi_factorization_wait_for_children(tsi_factorization_builder *b, tsi_index first, tsi_index last,
                                         tsi_index item);
/* ---- Of a front (fronts.c) ---- */
tsi_front_cut tsi_front_cut_begin(tsi_factorization_builder *b, tsi_index s);
tsi_index tsi_front_cut_add(const tsi_front_cut *cut, tsi_step_kind kind, tsi_front_step part);
static inline void tsi_front_cut_after(const tsi_front_cut *cut, tsi_index item, tsi_index before) {
  tsi_factorization_add_edge(cut->b, item, before);
}
/* The step that opens the front, after its children. */
tsi_index tsi_front_cut_open(const tsi_front_cut *cut);
/* The diagonal block of a panel. It waits for nothing yet. */
tsi_index tsi_front_cut_diagonal(const tsi_front_cut *cut, tsi_index panel);
/* Tile k below that block, or, LU, to the right of it. It waits for nothing yet. */
tsi_index tsi_front_cut_tile(const tsi_front_cut *cut, bool right, tsi_index panel, tsi_index k);
/* The end of the front, after steps first .. of it. */
void tsi_front_cut_close(const tsi_front_cut *cut, tsi_index first);
/* All steps of the tiled front of s; those of this process's stripes. */
void tsi_factorization_add_front(tsi_factorization_builder *b, tsi_index s);
void tsi_factorization_add_shared_front(tsi_factorization_builder *b, tsi_index s);
