/* Fronts that several processes share: who has which tiles, and what travels between them.
 *
 * A front that is cut into tiles (factorization.h) may be shared by a team, processes begin .. end - 1. Tile
 * k of it is a stripe, which has
 *
 *   L   its rows, left of and in the diagonal block; behind the supernode the first w columns of them
 *   U   its columns above the diagonal block (LDLT, LU); behind the supernode the first w rows of them
 *   C   behind the supernode: its rows of the Schur complement, up to its own columns (LU: all columns)
 *
 * Each stripe is one process's, so that a process has memory for its stripes only. A stripe of a panel that
 * is factored travels to those who update stripes behind it, that of rows behind the supernode to those who
 * have rows of the complement that it updates, both to the owner of the front, who packs the panels. The
 * shares are made so that all processes of a team have about as much arithmetic.
 *
 * What a child leaves to a front that is shared, or that child leaves to any front if it was shared, goes in
 * parts: from each process that has rows of it to each that has stripes of the front. A part is a sequence of
 * blocks.
 *
 * Reads   tsi_symbolic, tsi_panels, who is in a team.
 * Writes  tsi_front_teams, immutable afterwards; sizes and blocks, which all processes find alike.
 * Invariants (tsi_front_teams_check)
 *   - the owner of a front is in its team; of a front that is not shared it is the team
 *   - each stripe of a front that is shared is one process's of its team, which has no more processes than
 * stripes */
#pragma once

#include "partition/cut/panels.h"
#include "runtime/base/sort.h"
#include "tristar.h"

/* Tiles of a front: the panels of the supernode, then pieces of the rows (columns) below. */
typedef struct tsi_front_tiles {
  tsi_index w, f;
  tsi_index inner, count; /* tiles of the supernode, one a panel; all tiles */
  tsi_index panel;        /* the first one of the supernode */
  tsi_index tile;
  const tsi_index *start; /* first columns of its panels */
} tsi_front_tiles;

/* Row (column) of the front where tile k begins, and where it ends. */
static inline tsi_index tsi_front_tile_begin(const tsi_front_tiles *t, tsi_index k) {
  return k < t->inner ? t->start[k] - t->start[0] : t->w + (k - t->inner) * t->tile;
}
static inline tsi_index tsi_front_tile_end(const tsi_front_tiles *t, tsi_index k) {
  return k < t->inner ? t->start[k + 1] - t->start[0]
                      : tsi_index_min(t->f, t->w + (k - t->inner + 1) * t->tile);
}
static inline tsi_index tsi_front_tile_rows(const tsi_front_tiles *t, tsi_index k) {
  return tsi_front_tile_end(t, k) - tsi_front_tile_begin(t, k);
}
/* The tile of a row of the front. */
tsi_index tsi_front_tile_of(const tsi_front_tiles *t, tsi_index row);

typedef struct tsi_front_teams {
  const tsi_symbolic *symbolic;
  const tsi_panels *panels;
  tristar_method method;
  tsi_index tile;         /* rows of a tile behind the supernode */
  tsi_index *begin, *end; /* supernodes: the processes that have its front */
  tsi_count *tile_ptr;    /* supernodes + 1: of fronts that are shared */
  tsi_index *tile_owner;  /* who has each tile */
} tsi_front_teams;

/* begin, end: copied; shared fronts are such as are cut into tiles. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_teams_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                      const tsi_panels *panels, tristar_method method,
                                                      tsi_index tile, const tsi_index *begin,
                                                      const tsi_index *end, tsi_front_teams **out);
/* owner: supernodes. Errors: INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_front_teams_check(tsi_env *env, const tsi_front_teams *teams,
                                                     const tsi_index *owner);

tsi_front_tiles tsi_front_tiles_of(const tsi_symbolic *symbolic, const tsi_panels *panels, tsi_index tile,
                                   tsi_index s);
static inline tsi_front_tiles tsi_front_teams_tiles(const tsi_front_teams *teams, tsi_index s) {
  return tsi_front_tiles_of(teams->symbolic, teams->panels, teams->tile, s);
}
/* Do several processes have the front of s? No teams: no. */
static inline bool tsi_front_is_shared(const tsi_front_teams *teams, tsi_index s) {
  return teams != NULL && teams->end[s] - teams->begin[s] > 1;
}
/* Does what s leaves go in parts? */
static inline bool tsi_front_leaves_parts(const tsi_front_teams *teams, tsi_index s) {
  if (teams == NULL || teams->symbolic->parent[s] == TSI_NONE) return false;
  return tsi_front_is_shared(teams, s) || tsi_front_is_shared(teams, teams->symbolic->parent[s]);
}
static inline bool tsi_front_is_member(const tsi_front_teams *teams, tsi_index s, tsi_index rank) {
  return teams->begin[s] <= rank && rank < teams->end[s];
}
/* Who has tile k of a front; of one that is not shared, its team. */
static inline tsi_index tsi_front_tile_owner(const tsi_front_teams *teams, tsi_index s, tsi_index k) {
  return tsi_front_is_shared(teams, s) ? teams->tile_owner[teams->tile_ptr[s] + k] : teams->begin[s];
}
/* Has this process of a team rows of the complement of s? */
bool tsi_front_has_complement(const tsi_front_teams *teams, tsi_index s, tsi_index rank);
/* Of the rows below supernode s the first one that is `wanted` or behind that. */
static inline tsi_index tsi_row_below(const tsi_symbolic *symbolic, tsi_index s, tsi_index wanted) {
  const tsi_count first = symbolic->row_ptr[s];
  return (tsi_index)(tsi_lower_bound(symbolic->rows, first, symbolic->row_ptr[s + 1], wanted) - first);
}
/* Front row of final row `row`, which is in the front of s. */
static inline tsi_index tsi_front_row(const tsi_symbolic *symbolic, tsi_index s, tsi_index row) {
  const tsi_index start = symbolic->start[s], end = symbolic->start[s + 1];
  return row < end ? row - start : end - start + tsi_row_below(symbolic, s, row);
}
/* Who assembles an entry of the front of s, which is shared: `other` is its row of L or its column of U, by
 * final index. */
tsi_index tsi_front_stripe_owner(const tsi_front_teams *teams, tsi_index s, tsi_index other);
/* Does a process assemble entries of the front of s? */
static inline bool tsi_front_takes_entries(const tsi_front_teams *teams, const tsi_index *owner, tsi_index s,
                                           tsi_index rank) {
  return tsi_front_is_shared(teams, s) ? tsi_front_is_member(teams, s, rank) : owner[s] == rank;
}
/* Arithmetic of a stripe, in flops but for a factor that all have. */
double tsi_front_stripe_work(const tsi_front_tiles *t, tristar_method method, tsi_index k);

/* ---- Stripes that travel ------------------------------------------------------------------------------ */

/* A stripe without its rows of C: scalars, one after the other. */
typedef struct tsi_stripe {
  tsi_index begin, rows;       /* of the front */
  tsi_index columns;           /* of L: rows x columns */
  tsi_index above;             /* rows of U: above x rows; 0: there is none */
  tsi_count u, pivot, inverse; /* where U, the pivots (tsi_index, in a scalar each) and D^-1 begin */
  tsi_count scalars;           /* all */
} tsi_stripe;

tsi_stripe tsi_stripe_of(const tsi_front_tiles *t, tristar_method method, tsi_index k);
/* Columns of C in the rows of tile k, which is behind the supernode. */
static inline tsi_index tsi_stripe_complement(const tsi_front_tiles *t, tristar_method method, tsi_index k) {
  return (method == TRISTAR_METHOD_LU ? t->f : tsi_front_tile_end(t, k)) - t->w;
}
/* Does tile k of the front of s, which is shared, go to process `to`, and from which of its scalars on? -1:
 * it does not. owner: who packs the front. */
tsi_count tsi_stripe_goes(const tsi_front_teams *teams, tsi_index s, tsi_index k, tsi_index owner,
                          tsi_index to);

/* ---- Parts of complements ----------------------------------------------------------------------------- */

/* Rows and columns of the complement of a child that are added to tile `tile` of its parent: to L (and C), or
 * (upper) to U. Column-major without gaps, `at` scalars behind the beginning of the part. Symmetric: entries
 * above the diagonal mean nothing. */
typedef struct tsi_part_block {
  tsi_index tile;
  bool upper;
  tsi_index row, row_end, column, column_end;
  tsi_index strip; /* the tile of the child that these rows are in; that of a child not shared: 0 */
  tsi_count at;
} tsi_part_block;

/* From process `from` to process `to`, block after block. */
typedef struct tsi_part_walk {
  const tsi_front_teams *teams;
  tsi_index child, from, to;
  tsi_front_tiles below, above; /* tiles of the child, and of its parent */
  tsi_index m, split;     /* rows of the child's complement; those that fall on the parent's supernode */
  tsi_index tile, strip;  /* where it is */
  tsi_index row, row_end; /* that fall on the tile */
  bool upper;
  tsi_count at;
} tsi_part_walk;

tsi_part_walk tsi_part_begin(const tsi_front_teams *teams, tsi_index child, tsi_index from, tsi_index to);
bool tsi_part_next(tsi_part_walk *walk, tsi_part_block *block);
tsi_count tsi_part_scalars(const tsi_front_teams *teams, tsi_index child, tsi_index from, tsi_index to);
