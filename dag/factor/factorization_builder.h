/* The DAG of a factorization under construction, for the files that make it: see factorization.h.
 *
 * A first pass counts steps and edges, a second pass writes them; each function does the same in both passes,
 * apart from the writing. Work is in flops.
 *
 * Invariants
 *   - supernodes before the open range have their steps; the current supernode and later ones have none
 *   - a range has supernodes of this process only, and all between its first and its last
 *   - whole subtrees join a range, or a front whose children are all in it: no earlier step of the range
 *     waits for more than before
 *   - if a range waits for other steps, only negligible work that need not wait is added to it */
#pragma once

#include "dag/factor/factorization.h"

/* Consecutive supernodes for one step. */
typedef struct tsi_supernode_range {
  tsi_index first, last; /* first TSI_NONE: there is no range. */
  tsi_index urgent;      /* The supernode that determines the priority of the step. */
  double work;
  bool waits; /* The step waits for other steps. */
} tsi_supernode_range;

typedef struct tsi_factorization_builder {
  tsi_factorization *dag;
  tsi_factorization_options options;
  bool writing;
  tsi_count steps, edges;
  tsi_index sends, receives, outs, ins;
  tsi_index tiled; /* The current tiled front. */
  double *subtree; /* supernodes: the work of its subtree */
  double *tree;    /* supernodes: the work of its whole tree */
  double limit;    /* Maximum work of one step. */
  tsi_index processes;
  tsi_index *sent, *received; /* processes: messages with complements sent to it, and received from it */
  tsi_count *tag_ptr; /* supernodes: position in `tag` of the tags of its complement's messages, by sender */
  tsi_index *tag;     /* Tags of first pieces. */
  tsi_index *part_tag, *stripe_sent, *stripe_received; /* processes: the next tag */
  bool *mixed;                   /* supernodes: another process has a part of its subtree */
  tsi_index *done;               /* supernodes of this process: the step that completes its complement */
  tsi_index *arrival, *arrivals; /* supernodes: the first arrival of its complement; the number of its
                                    arrivals. One process: NULL */
  tsi_index *latest;             /* Tiles of a front: the latest step on its rows; then: on its columns. */
  tsi_supernode_range open;      /* The range that may still grow. */
} tsi_factorization_builder;

/* The tiled front whose steps are being added. */
typedef struct tsi_front_cut {
  tsi_factorization_builder *b;
  tsi_index s;
  tsi_front_tiles t;
  bool lu;
  tsi_index *below, *right; /* Tiles: the latest step on its rows, on its columns. For a received stripe of a
                               shared front: its first arrival, and the number of its arrivals. */
} tsi_front_cut;

#define TSI_ASSEMBLE_ENTRY_WORK 20 /* Work to assemble an entry of a front. */

/* Work of a front, in flops: arithmetic, entries, calls. */
double tsi_factorization_work(const tsi_factorization_builder *b, tsi_index s);
/* Appends a step with the priority of the front of supernode `urgent`; returns its number. */
tsi_index tsi_factorization_add_step(tsi_factorization_builder *b, tsi_step_kind kind, tsi_index urgent,
                                     const tsi_front_step *part);
void tsi_factorization_add_edge(tsi_factorization_builder *b, tsi_index item, tsi_index before);
/* Computes the tags of received messages. Called before the steps are added. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factorization_find_tags(tsi_factorization_builder *b);
/* Called before each pass. */
void tsi_factorization_begin_messages(tsi_factorization_builder *b);
/* Adds arrivals for the children of s that other processes have. */
void tsi_factorization_receive_children(tsi_factorization_builder *b, tsi_index s);
/* Adds the arrivals of a stripe of another process. Returns the first one; *pieces: their number. */
tsi_index tsi_factorization_receive_stripe(tsi_factorization_builder *b, tsi_index s, tsi_index k,
                                           tsi_index *pieces);
/* The latest step sends stripe k of a front to all processes that need it. */
void tsi_factorization_send_stripe(tsi_factorization_builder *b, tsi_index s, tsi_index k);
/* The latest step sends the complements of supernodes first .. last that other processes need. */
void tsi_factorization_send(tsi_factorization_builder *b, tsi_index first, tsi_index last);
/* Step `item` factors supernodes first .. last and waits for their other children. */
void tsi_factorization_wait_for_children(tsi_factorization_builder *b, tsi_index first, tsi_index last,
                                         tsi_index item);
/* ---- Steps of a front (fronts.c) ---- */
tsi_front_cut tsi_front_cut_begin(tsi_factorization_builder *b, tsi_index s);
tsi_index tsi_front_cut_add(const tsi_front_cut *cut, tsi_step_kind kind, tsi_front_step part);
static inline void tsi_front_cut_after(const tsi_front_cut *cut, tsi_index item, tsi_index before) {
  tsi_factorization_add_edge(cut->b, item, before);
}
/* Adds the step that opens the front, after its children. */
tsi_index tsi_front_cut_open(const tsi_front_cut *cut);
/* Adds the diagonal block of a panel, without edges. */
tsi_index tsi_front_cut_diagonal(const tsi_front_cut *cut, tsi_index panel);
/* Adds tile k below this block, or (LU) to the right of it, without edges. */
tsi_index tsi_front_cut_tile(const tsi_front_cut *cut, bool right, tsi_index panel, tsi_index k);
/* Adds the end of the front, after its steps from `first` on. */
void tsi_front_cut_close(const tsi_front_cut *cut, tsi_index first);
/* Adds all steps of the tiled front of s; of a shared front, the steps of this process's stripes. */
void tsi_factorization_add_front(tsi_factorization_builder *b, tsi_index s);
void tsi_factorization_add_shared_front(tsi_factorization_builder *b, tsi_index s);
