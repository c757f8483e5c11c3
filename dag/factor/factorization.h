/* The DAG of a multifrontal factorization: ranges of supernodes at the bottom and along chains, fronts above
 * them, tiles of large fronts.
 *
 * A heavy front is cut into tiles. The other supernodes form ranges, in their order, which is a postorder; a
 * step factors a range. A range begins with a subtree whose work is below a fraction of the total. Its
 * siblings (or roots) join it up to a fraction of this limit, and so does the front above them if the range
 * contains all its children. So forests and chains of millions of supernodes have no more steps than one
 * large tree. The work of a supernode counts its flops, its entries and its calls. The cut depends on the
 * structure only: tiles and bits are the same for any number of workers, and if the steps run one after the
 * other.
 *
 * A front has w columns of its own and m rows below, f = w + m (see codelets/cpu/front.h). Its first tiles
 * are its panels; pieces of `tile` rows and columns follow. The steps of a tiled front:
 *
 *   open        allocates the columns of the supernode; all children are complete
 *   assemble    columns of the front: entries of the matrix, and complements of the children. Run in order,
 *               they need the least memory: complements are freed as they are used
 *   assembled   all columns are assembled, and the complements of the children are no longer needed
 *   diagonal    the diagonal block of a panel
 *   below       a row tile of a panel's columns
 *   right       LU: a column tile of a panel's rows
 *   schur       a tile of the Schur complement, for all panels at once
 *   pack        a panel of the factor
 *   close       only the Schur complement is left
 *
 * The caller may assign a tiled front to a device. Then one step, `device`, replaces all work on panels and
 * on the complement between `assembled` and the packing: the tiles stay on the device from the first to the
 * last.
 *
 * With several processes, each has the steps of its own supernodes. If the parent of a supernode belongs to
 * another process, the complement is sent there after its step, and a step `arrival` represents its receipt:
 * the children of a front are added in their order, whatever process they are from. Fronts are tiled as on
 * one process, so the factor has the same bits for every distribution of the supernodes. Steps are in
 * postorder on every process, so a process that runs them in this order and waits at arrivals cannot wait
 * forever.
 *
 * A team of processes works on a shared front (front_teams.h) by stripes. Each member has the steps of its
 * own stripes,
 *
 *   open        allocates them
 *   assemble    a stripe; assembled: all of them
 *   diagonal    of its own panels; an `arrival` is the receipt of another member's stripe
 *   below       a row tile of its own, right: a column tile of its own
 *   schur       tiles of its own rows of the complement
 *   pack        on the owner: the part of a stripe in all panels up to its own, stripe after stripe
 *   close       only its rows of the Schur complement are left
 *
 * and a stripe is sent by the step that completes it: `diagonal`, or the last `below` (which waits for
 * `right`). The products are the same as on one process, tile by tile, and additions have the same order, so
 * the bits are the same. The complement of a shared front, or of a child of one, is sent in parts; the last
 * step also makes the part that stays on the process. All members handle the stripes in their order, so they
 * do not wait for each other in a circle.
 *
 * tsi_factorization_list_accesses declares reads and writes by the names of access.h. A front is assembled by
 * columns. From `assembled` on the same memory has the names of its tiles: FRONT_ROWS, FRONT_COLUMNS and
 * COMPLEMENT. A tile of rows contains the diagonal block and everything left of it. Complete panels count as
 * changed until the last panel is complete: a step waits for whole tiles. Not declared: the complement of a
 * child in the same range, and the memory of a range's own fronts. A shared front is assembled by rows.
 * Stripes that arrive have the names of tiles; parts have the names of the child's rows in them.
 *
 * Reads   the structure of the factor, borrowed.
 * Writes  a tsi_factorization that owns its arrays and is immutable afterwards.
 * Invariants (tsi_factorization_check)
 *   - edges lead upwards: before < item; the list of steps is a legal order
 *   - every supernode of this process is in one range or is a tiled front; every tile of such a front on this
 *     process is one step
 *   - the step that completes a child, or its arrivals, come before the step that opens its parent, unless it
 *     is the same step
 *   - each complement, part of one, or stripe that another process needs is sent once, in pieces without gaps
 *   - no step has a higher priority than a step that it waits for */
#pragma once

#include "dag/access.h"
#include "dag/factor/front_grain.h"
#include "dag/factor/front_teams.h"
#include "dag/steps.h"

/* The work of a step. Rows and columns count in the front; `schur`: in the complement. */
typedef struct tsi_front_step {
  tsi_index first, last; /* supernodes of a range; otherwise both are the one of the front or message */
  tsi_index tiled;       /* Number of the tiled front; TSI_NONE: a range, an arrival. */
  tsi_index message;     /* Arrival: the received message. */
  tsi_index panel;       /* Diagonal, below, right, pack: the panel. */
  tsi_index row, row_end;
  tsi_index column, column_end;
  double work; /* Flops. */
} tsi_front_step;

/* The work of subtrees. It decides which fronts are tiled and which subtrees are one step. */
typedef struct tsi_front_weights {
  double *subtree; /* supernodes: flops */
  double limit;    /* Maximum work of one step. */
} tsi_front_weights;

/* The owner of each supernode, and the rank of this process. The owner of a shared front packs its panels. */
typedef struct tsi_front_owners {
  const tsi_index *owner;
  tsi_index rank;
  const tsi_front_teams *teams;     /* NULL: no front is shared. */
  const tsi_front_weights *weights; /* If the tree is a part (front_part.h): the weights in the whole tree.
                                       NULL: the tree is whole, and they are computed. */
  const tsi_index *device; /* supernodes: the device of its front, if this is tiled and not shared; TSI_NONE:
                              cores. NULL: cores have all fronts */
} tsi_front_owners;

/* What is sent. */
typedef enum tsi_parcel_kind {
  TSI_PARCEL_WHOLE, /* The complement of a supernode, as stored in memory. */
  TSI_PARCEL_PART,  /* A part of a complement. */
  TSI_PARCEL_STRIPE
} tsi_parcel_kind;

typedef struct tsi_front_parcel {
  tsi_parcel_kind kind;
  tsi_index supernode;
  tsi_index peer;    /* The other process; for a part that stays, this one. */
  tsi_index tiled;   /* Stripe: the number of the front. */
  tsi_index tile;    /* Stripe: its tile. */
  tsi_count skip;    /* Stripe: number of its first scalars that are not sent. */
  tsi_count scalars; /* Part, stripe: scalars that are sent. */
} tsi_front_parcel;

/* A piece of a parcel. */
typedef struct tsi_front_message {
  tsi_index parcel;
  tsi_index supernode;
  tsi_index peer; /* The other process. */
  tsi_index tag;  /* Counts the messages from one process to the other. */
  tsi_index step; /* The step that sends it, or its arrival. */
  tsi_index piece, pieces;
} tsi_front_message;

typedef struct tsi_factorization {
  const tsi_symbolic *symbolic;
  const tsi_panels *panels;
  tristar_method method; /* LLT, LDLT or LU. */
  tsi_index tile;
  tsi_steps *steps;     /* argument: the number of the step itself, its position in part; bytes: 0 */
  tsi_front_step *part; /* steps->count */
  tsi_index tiled_count;
  tsi_index *tiled;             /* Supernodes of the tiled fronts, ascending. */
  tsi_index *child_ptr, *child; /* Children of every supernode, ascending. */
  tsi_index rank;
  const tsi_index *owner;       /* Borrowed. NULL: this process owns all supernodes. */
  const tsi_front_teams *teams; /* Borrowed. NULL: no front is shared. */
  const tsi_index *device;      /* Borrowed. NULL: no front is on a device. */
  tsi_index outs, ins;
  tsi_front_parcel *out; /* Parcels that this process sends. */
  tsi_front_parcel *in;  /* Parcels that it receives, and parts that stay. */
  tsi_index *in_first; /* supernodes: the first parcel in `in` with its complement, by senders; teams only */
  tsi_index sends, receives;
  tsi_front_message *send; /* by step */
  tsi_index *send_ptr;     /* steps + 1 */
  tsi_front_message *receive;
} tsi_factorization;

/* owners: borrowed; NULL: this process has all supernodes. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_factorization_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                        const tsi_panels *panels, tristar_method method,
                                                        const tsi_factorization_options *options,
                                                        const tsi_front_owners *owners,
                                                        tsi_factorization **out);
TRISTAR_CHECKED tristar_status tsi_factorization_check(tsi_env *env, const tsi_factorization *factorization);

/* Lists what each step reads and writes. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factorization_list_accesses(tsi_env *env,
                                                               const tsi_factorization *factorization,
                                                               tsi_access_list **out);

/* Does this process own supernode s, or stripes of it? */
static inline bool tsi_factorization_has(const tsi_factorization *factorization, tsi_index s) {
  if (factorization->owner == NULL || factorization->owner[s] == factorization->rank) return true;
  return factorization->teams && tsi_front_is_member(factorization->teams, s, factorization->rank);
}
static inline bool tsi_factorization_shares(const tsi_factorization *factorization, tsi_index s) {
  return tsi_front_is_shared(factorization->teams, s);
}
/* The device of the tiled front of s; TSI_NONE: cores. */
static inline tsi_index tsi_factorization_device(const tsi_factorization *factorization, tsi_index s) {
  if (factorization->device == NULL || tsi_factorization_shares(factorization, s)) return TSI_NONE;
  return factorization->device[s];
}
/* Does this process have tile k of the front of s? */
static inline bool tsi_factorization_has_tile(const tsi_factorization *factorization, tsi_index s,
                                              tsi_index k) {
  return !tsi_factorization_shares(factorization, s) ||
         tsi_front_tile_owner(factorization->teams, s, k) == factorization->rank;
}
/* Does a step of this process compute a complement of s, or rows of it, for its parent? */
static inline bool tsi_factorization_leaves(const tsi_factorization *factorization, tsi_index s) {
  if (!tsi_factorization_has(factorization, s)) return false;
  return !tsi_factorization_shares(factorization, s) ||
         tsi_front_has_complement(factorization->teams, s, factorization->rank);
}
/* The processes first .. end - 1 have the front of s. */
static inline tsi_index tsi_factorization_team(const tsi_factorization *factorization, tsi_index s,
                                               tsi_index *end) {
  const bool teams = factorization->teams != NULL;
  const tsi_index owner = factorization->owner ? factorization->owner[s] : factorization->rank;
  *end = teams ? factorization->teams->end[s] : owner + 1;
  return teams ? factorization->teams->begin[s] : owner;
}
/* Fills child_ptr, which must be zeros, and child. */
void tsi_factorization_list_children(tsi_factorization *factorization);
/* Flops of the front of s; LDLT counts as LLT, LU as twice as much. */
double tsi_front_flops(const tsi_symbolic *symbolic, tristar_method method, tsi_index s);
/* Maximum number of entries of a piece of a complement. Each process has memory for one piece (numeric.h). */
#define TSI_FRONT_PIECE ((tsi_count)1 << 16)
/* Number of messages for this number of scalars. */
static inline tsi_index tsi_front_pieces_of(tsi_count scalars) {
  return scalars == 0 ? 1 : (tsi_index)((scalars + TSI_FRONT_PIECE - 1) / TSI_FRONT_PIECE);
}
/* Scalars of a message of a parcel with `all` scalars: the last message also has a failure mark. */
static inline tsi_count tsi_front_message_scalars(const tsi_front_message *message, tsi_count all) {
  const tsi_count part = (all + message->pieces - 1) / message->pieces;
  return message->piece + 1 == message->pieces ? all + 1 - message->piece * part : part;
}
/* Number of messages for the complement of s if it is sent as stored in memory; 0: it has no rows. */
static inline tsi_index tsi_complement_pieces(const tsi_symbolic *symbolic, tsi_index s) {
  const tsi_count rows = symbolic->row_ptr[s + 1] - symbolic->row_ptr[s];
  return rows == 0 ? 0 : tsi_front_pieces_of(rows * rows);
}
/* Number of messages with the complement of s, or parts of it, from one process to another; 0: none. */
tsi_index tsi_factorization_pieces(const tsi_factorization *factorization, tsi_index s, tsi_index from,
                                   tsi_index to);
/* The caller frees weights->subtree. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factorization_weigh(tsi_env *env, const tsi_symbolic *symbolic,
                                                       tristar_method method,
                                                       const tsi_factorization_options *options,
                                                       tsi_front_weights *weights);
/* Finds the fronts that are cut into tiles: tiled, by supernode. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_factorization_find_tiled(tsi_env *env, const tsi_symbolic *symbolic,
                                                            tristar_method method,
                                                            const tsi_factorization_options *options,
                                                            bool *tiled);

/* Does a front have U besides L during its factorization? LDLT: U = D L^T. */
static inline bool tsi_factorization_has_upper(const tsi_factorization *factorization) {
  return factorization->method != TRISTAR_METHOD_LLT;
}

static inline tsi_front_tiles tsi_factorization_tiles(const tsi_factorization *factorization, tsi_index s) {
  return tsi_front_tiles_of(factorization->symbolic, factorization->panels, factorization->tile, s);
}
/* Pieces in which the columns of the front are assembled: first the columns of the supernode, then the
 * others. */
static inline tsi_index tsi_front_own_pieces(const tsi_front_tiles *t) {
  return (t->w + t->tile - 1) / t->tile;
}
static inline tsi_index tsi_front_pieces(const tsi_front_tiles *t) {
  return tsi_front_own_pieces(t) + (t->f - t->w + t->tile - 1) / t->tile;
}
/* First column of piece k, and the end of its columns. */
static inline tsi_index tsi_front_piece_begin(const tsi_front_tiles *t, tsi_index k) {
  const tsi_index own = tsi_front_own_pieces(t);
  return k < own ? k * t->tile : t->w + (k - own) * t->tile;
}
static inline tsi_index tsi_front_piece_end(const tsi_front_tiles *t, tsi_index k) {
  return tsi_index_min(k < tsi_front_own_pieces(t) ? t->w : t->f, tsi_front_piece_begin(t, k) + t->tile);
}
/* The piece that begins with a column; TSI_NONE: there is none. */
static inline tsi_index tsi_front_piece_at(const tsi_front_tiles *t, tsi_index column) {
  const tsi_index inside = column - t->w;
  if (column < 0 || column >= t->f || (inside < 0 ? column : inside) % t->tile != 0) return TSI_NONE;
  return inside < 0 ? column / t->tile : tsi_front_own_pieces(t) + inside / t->tile;
}
