/* The DAG of a multifrontal factorization: ranges of supernodes at the bottom and along chains, fronts above
 * them, tiles of big fronts.
 *
 * A heavy front is cut into tiles. Of the rest a step takes a range of supernodes, in their order, which is a
 * postorder: a subtree whose work is below a fraction of the total, siblings (or roots) with it up to a part
 * of that, and the front above them if all its children are there; so forests and chains of millions of
 * supernodes make no more steps than one big tree. The work of a supernode counts its flops, its entries and
 * the calls that it takes. The cut depends on the structure only: the same tiles, hence the same bits, on any
 * number of workers, and when the steps run one after the other.
 *
 * A front has w columns of its own and m rows below, f = w + m (codelets/cpu/front.h says more). Its tiles
 * are those of its panels, and behind them pieces of `tile` rows and columns. The steps of a tiled front:
 *
 *   open        makes room for columns of the supernode; all children are complete
 *   assemble    columns of the front: entries of the matrix, and what the children left; in their order they
 *               take least memory, as they use up what the children left
 *   assembled   all columns are there, and what the children left is no longer needed
 *   diagonal    the diagonal block of a panel
 *   below       a row tile of a panel's columns
 *   right       LU: a column tile of a panel's rows
 *   schur       a tile of the Schur complement, all panels at once
 *   pack        a panel of the factor
 *   close       only the Schur complement is left
 *
 * Who makes the DAG may give a tiled front to a device. Between `assembled` and the packing it has one step
 * then, `device`, in the place of all that work on panels and on the complement: its tiles stay on the device
 * from the first one to the last.
 *
 * One process of many has the steps of its own supernodes. The complement of one whose parent is another
 * process's is sent there when its step is over, and a step `arrival` stands for the coming of one: the
 * children of a front are added in their order, wherever they come from. What is cut into tiles is what one
 * process alone would cut, so the factor has the same bits however its supernodes are shared out. Steps are
 * in postorder on every process, so who runs them in this order and waits at arrivals cannot wait for ever.
 *
 * A front that a team of processes shares (front_teams.h) is worked on by stripes: each member has the steps
 * of its own,
 *
 *   open        makes room for them
 *   assemble    a stripe; assembled: all of them
 *   diagonal    of its own panels; an `arrival` is that of another member's stripe
 *   below       a row tile of its own, right: a column tile of its own
 *   schur       tiles of its own rows of the complement
 *   pack        on the owner: what a stripe has of all panels up to its own, stripe after stripe
 *   close       only its rows of the Schur complement are left
 *
 * and a stripe is sent by the step after which it is complete: `diagonal`, or the last `below` (which waits
 * for `right`). The products are those of a front of one process, tile by tile, and additions have the same
 * order, so the bits are the same. What a shared front, or a child of one, leaves goes in parts; the one that
 * stays is made by the last step, too. All members meet the stripes in their order, so that they do not wait
 * for each other in a circle.
 *
 * What steps read and write (tsi_factorization_list_accesses) goes by names of access.h. A front is assembled
 * by columns; from `assembled` on the same memory goes by the names of its tiles: FRONT_ROWS, FRONT_COLUMNS
 * and COMPLEMENT. A tile of rows is all that stands left of the diagonal block, and that block; panels that
 * are complete count as changed until the last one is: a step waits for whole tiles. A Schur complement of a
 * child that is in the same range is not declared, nor is the memory of a range's own fronts. A shared front
 * is assembled by rows; stripes that arrive go by the names of tiles, parts by those of the child's rows that
 * are in them.
 *
 * Reads   the structure of the factor, borrowed.
 * Writes  a tsi_factorization that owns its arrays and is immutable afterwards.
 * Invariants (tsi_factorization_check)
 *   - edges lead upwards: before < item; the list of steps is a legal order
 *   - every supernode of this process is in one range, or it is a tiled front; every tile of that which is
 * this process's is one step
 *   - the step that completes a child, or its arrivals, come before the one that opens its parent, or it is
 * the same one
 *   - each complement, part of one, or stripe that has to travel does, once, in pieces that leave nothing out
 *   - no step is more urgent than one that it waits for
 */
#pragma once

#include "dag/access.h"
#include "dag/factor/front_grain.h"
#include "dag/factor/front_teams.h"
#include "dag/steps.h"

/* What a step works on. Rows and columns are those of the front, those of `schur` of the complement. */
typedef struct tsi_front_step {
  tsi_index first, last; /* supernodes: of a range; else both are that of the front, or of what arrives */
  tsi_index tiled;       /* the number of the tiled front; TSI_NONE: a range, an arrival */
  tsi_index message;     /* arrival: which one is received */
  tsi_index panel;       /* diagonal, below, right, pack */
  tsi_index row, row_end;
  tsi_index column, column_end;
  double work; /* in flops */
} tsi_front_step;

/* The work of subtrees, which decides what is cut into tiles and what is done in one step. */
typedef struct tsi_front_weights {
  double *subtree; /* supernodes: in flops */
  double limit;    /* of one step */
} tsi_front_weights;

/* Who has which supernode, and which process this is. The owner of a shared front packs its panels. */
typedef struct tsi_front_owners {
  const tsi_index *owner;
  tsi_index rank;
  const tsi_front_teams *teams;     /* NULL: no front is shared */
  const tsi_front_weights *weights; /* of a tree of which there is a part (front_part.h); NULL: there is all
                                       of it, and they follow from that */
  const tsi_index *device; /* by supernode: the device that has its front, if that is cut into tiles and not
                              shared; TSI_NONE: cores. NULL: cores have all */
} tsi_front_owners;

/* What travels. */
typedef enum tsi_parcel_kind {
  TSI_PARCEL_WHOLE, /* the complement of a supernode, as it lies in memory */
  TSI_PARCEL_PART,  /* a part of one */
  TSI_PARCEL_STRIPE
} tsi_parcel_kind;

typedef struct tsi_front_parcel {
  tsi_parcel_kind kind;
  tsi_index supernode;
  tsi_index peer;    /* the other process; of a part that stays, this one */
  tsi_index tiled;   /* stripe: the number of the front */
  tsi_index tile;    /* stripe: which one */
  tsi_count skip;    /* stripe: its scalars from here on */
  tsi_count scalars; /* part, stripe */
} tsi_front_parcel;

/* A piece of a parcel. */
typedef struct tsi_front_message {
  tsi_index parcel;
  tsi_index supernode;
  tsi_index peer; /* the other process */
  tsi_index tag;  /* counts the messages from one process to the other */
  tsi_index step; /* that sends it, or its arrival */
  tsi_index piece, pieces;
} tsi_front_message;

typedef struct tsi_factorization {
  const tsi_symbolic *symbolic;
  const tsi_panels *panels;
  tristar_method method; /* LLT, LDLT or LU */
  tsi_index tile;
  tsi_steps *steps;     /* argument: the number of the step itself, its place in part; bytes: 0 */
  tsi_front_step *part; /* steps->count */
  tsi_index tiled_count;
  tsi_index *tiled;             /* their supernodes, ascending */
  tsi_index *child_ptr, *child; /* children of every supernode, ascending */
  tsi_index rank;
  const tsi_index *owner;       /* borrowed; NULL: all supernodes are this process's */
  const tsi_front_teams *teams; /* borrowed; NULL: no front is shared */
  const tsi_index *device;      /* borrowed; NULL: devices have no fronts */
  tsi_index outs, ins;
  tsi_front_parcel *out; /* what leaves */
  tsi_front_parcel *in;  /* what comes, or stays as a part */
  tsi_index
      *in_first; /* supernodes: the first of what is in `in` of its complement, by senders; teams only */
  tsi_index sends, receives;
  tsi_front_message *send; /* by step */
  tsi_index *send_ptr;     /* steps + 1 */
  tsi_front_message *receive;
} tsi_factorization;

/* owners: borrowed; NULL: this process has all. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_factorization_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                        const tsi_panels *panels, tristar_method method,
                                                        const tsi_factorization_options *options,
                                                        const tsi_front_owners *owners,
                                                        tsi_factorization **out);
TRISTAR_CHECKED tristar_status tsi_factorization_check(tsi_env *env, const tsi_factorization *factorization);

/* What each step reads and writes. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factorization_list_accesses(tsi_env *env,
                                                               const tsi_factorization *factorization,
                                                               tsi_access_list **out);

/* Does this process have supernode s, or stripes of it? */
static inline bool tsi_factorization_has(const tsi_factorization *factorization, tsi_index s) {
  if (factorization->owner == NULL || factorization->owner[s] == factorization->rank) return true;
  return factorization->teams && tsi_front_is_member(factorization->teams, s, factorization->rank);
}
static inline bool tsi_factorization_shares(const tsi_factorization *factorization, tsi_index s) {
  return tsi_front_is_shared(factorization->teams, s);
}
/* The device that has the front of s, which is tiled; TSI_NONE: cores have it. */
static inline tsi_index tsi_factorization_device(const tsi_factorization *factorization, tsi_index s) {
  if (factorization->device == NULL || tsi_factorization_shares(factorization, s)) return TSI_NONE;
  return factorization->device[s];
}
/* Is tile k of the front of s this process's? */
static inline bool tsi_factorization_has_tile(const tsi_factorization *factorization, tsi_index s,
                                              tsi_index k) {
  return !tsi_factorization_shares(factorization, s) ||
         tsi_front_tile_owner(factorization->teams, s, k) == factorization->rank;
}
/* Does a step of this process leave something of s to its parent? */
static inline bool tsi_factorization_leaves(const tsi_factorization *factorization, tsi_index s) {
  if (!tsi_factorization_has(factorization, s)) return false;
  return !tsi_factorization_shares(factorization, s) ||
         tsi_front_has_complement(factorization->teams, s, factorization->rank);
}
/* The processes that have the front of s are first .. end - 1. */
static inline tsi_index tsi_factorization_team(const tsi_factorization *factorization, tsi_index s,
                                               tsi_index *end) {
  const bool teams = factorization->teams != NULL;
  const tsi_index owner = factorization->owner ? factorization->owner[s] : factorization->rank;
  *end = teams ? factorization->teams->end[s] : owner + 1;
  return teams ? factorization->teams->begin[s] : owner;
}
/* child_ptr, which is zeros, and child. */
void tsi_factorization_list_children(tsi_factorization *factorization);
/* Of the front of s; LDLT is counted as LLT, LU as twice that. */
double tsi_front_flops(const tsi_symbolic *symbolic, tristar_method method, tsi_index s);
/* Entries that are one piece of a complement at most: each process keeps room for one piece (numeric.h). */
#define TSI_FRONT_PIECE ((tsi_count)1 << 16)
/* Messages that so many scalars are. */
static inline tsi_index tsi_front_pieces_of(tsi_count scalars) {
  return scalars == 0 ? 1 : (tsi_index)((scalars + TSI_FRONT_PIECE - 1) / TSI_FRONT_PIECE);
}
/* Scalars of a message of a parcel that has `all`: the last one has a failure mark, too. */
static inline tsi_count tsi_front_message_scalars(const tsi_front_message *message, tsi_count all) {
  const tsi_count part = (all + message->pieces - 1) / message->pieces;
  return message->piece + 1 == message->pieces ? all + 1 - message->piece * part : part;
}
/* Messages that the complement of s is where it travels as it lies in memory; 0: it has no rows. */
static inline tsi_index tsi_complement_pieces(const tsi_symbolic *symbolic, tsi_index s) {
  const tsi_count rows = symbolic->row_ptr[s + 1] - symbolic->row_ptr[s];
  return rows == 0 ? 0 : tsi_front_pieces_of(rows * rows);
}
/* Messages that take what s leaves from one process to another one; 0: none. */
tsi_index tsi_factorization_pieces(const tsi_factorization *factorization, tsi_index s, tsi_index from,
                                   tsi_index to);
/* weights->subtree: the caller's to free. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factorization_weigh(tsi_env *env, const tsi_symbolic *symbolic,
                                                       tristar_method method,
                                                       const tsi_factorization_options *options,
                                                       tsi_front_weights *weights);
/* Which fronts are cut into tiles: tiled, by supernode. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factorization_find_tiled(tsi_env *env, const tsi_symbolic *symbolic,
                                                            tristar_method method,
                                                            const tsi_factorization_options *options,
                                                            bool *tiled);

/* Is there a U besides L while a front is worked on? LDLT: U = D L^T. */
static inline bool tsi_factorization_has_upper(const tsi_factorization *factorization) {
  return factorization->method != TRISTAR_METHOD_LLT;
}

static inline tsi_front_tiles tsi_factorization_tiles(const tsi_factorization *factorization, tsi_index s) {
  return tsi_front_tiles_of(factorization->symbolic, factorization->panels, factorization->tile, s);
}
/* Pieces in which the columns of the front are assembled: those of the supernode, then those behind it. */
static inline tsi_index tsi_front_own_pieces(const tsi_front_tiles *t) {
  return (t->w + t->tile - 1) / t->tile;
}
static inline tsi_index tsi_front_pieces(const tsi_front_tiles *t) {
  return tsi_front_own_pieces(t) + (t->f - t->w + t->tile - 1) / t->tile;
}
/* Columns of piece k. */
static inline tsi_index tsi_front_piece_begin(const tsi_front_tiles *t, tsi_index k) {
  const tsi_index own = tsi_front_own_pieces(t);
  return k < own ? k * t->tile : t->w + (k - own) * t->tile;
}
static inline tsi_index tsi_front_piece_end(const tsi_front_tiles *t, tsi_index k) {
  return tsi_index_min(k < tsi_front_own_pieces(t) ? t->w : t->f, tsi_front_piece_begin(t, k) + t->tile);
}
/* The piece that begins with a column; TSI_NONE: none does. */
static inline tsi_index tsi_front_piece_at(const tsi_front_tiles *t, tsi_index column) {
  const tsi_index inside = column - t->w;
  if (column < 0 || column >= t->f || (inside < 0 ? column : inside) % t->tile != 0) return TSI_NONE;
  return inside < 0 ? column / t->tile : tsi_front_own_pieces(t) + inside / t->tile;
}
