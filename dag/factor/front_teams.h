/* Fronts that several processes share: the owners of their tiles, and the messages between them.
 *
 * A tiled front (factorization.h) may be shared by a team, processes begin .. end - 1. Tile k is a stripe. It
 * has
 *
 *   L   its rows, up to the end of the diagonal block; behind the supernode, their first w columns
 *   U   its columns above the diagonal block (LDLT, LU); behind the supernode, their first w rows
 *   C   behind the supernode: its rows of the Schur complement, up to its own columns (LU: all columns)
 *
 * Each stripe belongs to one process, so a process has memory for its stripes only. The stripe of a factored
 * panel is sent to processes that update stripes behind it. A stripe behind the supernode is sent to
 * processes with rows of the complement that it updates. Both are sent to the owner of the front, which packs
 * the panels. The distribution gives all processes of a team about the same arithmetic.
 *
 * The complement of a child is sent in parts if the child or its parent is shared: from each process that has
 * rows of it to each process that has stripes of the parent. A part is a sequence of blocks.
 *
 * Reads   tsi_symbolic, tsi_panels, the teams.
 * Writes  tsi_front_teams, immutable afterwards; sizes and blocks, which are the same on all processes.
 * Invariants (tsi_front_teams_check)
 *   - the owner of a front is in its team; if the front is not shared, it is the team
 *   - each stripe of a shared front belongs to one process of its team, which has no more processes than
 *     stripes */
#pragma once

#include "partition/cut/panels.h"
#include "runtime/base/sort.h"
#include "tristar.h"

/* Tiles of a front: the panels of the supernode, then pieces of the rows (columns) below. */
typedef struct tsi_front_tiles {
  tsi_index w, f;
  tsi_index inner, count; /* Tiles of the supernode, one for each panel; all tiles. */
  tsi_index panel;        /* The first panel of the supernode. */
  tsi_index tile;
  const tsi_index *start; /* First columns of its panels. */
} tsi_front_tiles;

/* First row (column) of the front in tile k, and the end of the tile. */
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
  tsi_index tile;         /* Rows of a tile behind the supernode. */
  tsi_index *begin, *end; /* supernodes: the processes that have its front */
  tsi_count *tile_ptr;    /* supernodes + 1: the first entry of a shared front in tile_owner */
  tsi_index *tile_owner;  /* The process that has each tile. */
} tsi_front_teams;

/* begin, end: copied. Shared fronts must be tiled ones. Errors: MEMORY. */
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
/* Do several processes have the front of s? false without teams. */
static inline bool tsi_front_is_shared(const tsi_front_teams *teams, tsi_index s) {
  return teams != NULL && teams->end[s] - teams->begin[s] > 1;
}
/* Is the complement of s sent in parts? */
static inline bool tsi_front_leaves_parts(const tsi_front_teams *teams, tsi_index s) {
  if (teams == NULL || teams->symbolic->parent[s] == TSI_NONE) return false;
  return tsi_front_is_shared(teams, s) || tsi_front_is_shared(teams, teams->symbolic->parent[s]);
}
static inline bool tsi_front_is_member(const tsi_front_teams *teams, tsi_index s, tsi_index rank) {
  return teams->begin[s] <= rank && rank < teams->end[s];
}
/* The process that has tile k of a front; if the front is not shared, its team. */
static inline tsi_index tsi_front_tile_owner(const tsi_front_teams *teams, tsi_index s, tsi_index k) {
  return tsi_front_is_shared(teams, s) ? teams->tile_owner[teams->tile_ptr[s] + k] : teams->begin[s];
}
/* Does this process of a team have rows of the complement of s? */
bool tsi_front_has_complement(const tsi_front_teams *teams, tsi_index s, tsi_index rank);
/* The position of the first row below supernode s that is `requested` or greater. */
static inline tsi_index tsi_row_below(const tsi_symbolic *symbolic, tsi_index s, tsi_index requested) {
  const tsi_count first = symbolic->row_ptr[s];
  return (tsi_index)(tsi_lower_bound(symbolic->rows, first, symbolic->row_ptr[s + 1], requested) - first);
}
/* The row of the front of s for `row` in the final ordering, which must be in the front. */
static inline tsi_index tsi_front_row(const tsi_symbolic *symbolic, tsi_index s, tsi_index row) {
  const tsi_index start = symbolic->start[s], end = symbolic->start[s + 1];
  return row < end ? row - start : end - start + tsi_row_below(symbolic, s, row);
}
/* The process that assembles an entry of the shared front of s. `other`: its row of L or its column of U, in
 * the final ordering. */
tsi_index tsi_front_stripe_owner(const tsi_front_teams *teams, tsi_index s, tsi_index other);
/* Does a process assemble entries of the front of s? */
static inline bool tsi_front_takes_entries(const tsi_front_teams *teams, const tsi_index *owner, tsi_index s,
                                           tsi_index rank) {
  return tsi_front_is_shared(teams, s) ? tsi_front_is_member(teams, s, rank) : owner[s] == rank;
}
/* Arithmetic of a stripe, in flops up to a common factor. */
double tsi_front_stripe_work(const tsi_front_tiles *t, tristar_method method, tsi_index k);

/* ---- Stripes in messages ------------------------------------------------------------------------------- */

/* A stripe without its rows of C: an array of scalars. */
typedef struct tsi_stripe {
  tsi_index begin, rows;       /* Rows of the front. */
  tsi_index columns;           /* Columns of L: rows x columns. */
  tsi_index above;             /* Rows of U: above x rows; 0: there is no U. */
  tsi_count u, pivot, inverse; /* Positions of U, of the pivots (a tsi_index in each scalar) and of D^-1. */
  tsi_count scalars;           /* Number of all scalars. */
} tsi_stripe;

tsi_stripe tsi_stripe_of(const tsi_front_tiles *t, tristar_method method, tsi_index k);
/* Columns of C in the rows of tile k, which is behind the supernode. */
static inline tsi_index tsi_stripe_complement(const tsi_front_tiles *t, tristar_method method, tsi_index k) {
  return (method == TRISTAR_METHOD_LU ? t->f : tsi_front_tile_end(t, k)) - t->w;
}
/* The first scalar of tile k of the shared front of s that process `to` needs; -1: it needs none. owner: the
 * process that packs the front. */
tsi_count tsi_stripe_goes(const tsi_front_teams *teams, tsi_index s, tsi_index k, tsi_index owner,
                          tsi_index to);

/* ---- Parts of complements ----------------------------------------------------------------------------- */

/* Rows and columns of a child's complement that are added to tile `tile` of its parent: to L (and C), or
 * (upper) to U. Stored column-major without gaps, from scalar `at` of the part on. Symmetric: entries above
 * the diagonal are undefined. */
typedef struct tsi_part_block {
  tsi_index tile;
  bool upper;
  tsi_index row, row_end, column, column_end;
  tsi_index strip; /* The tile of the child that contains these rows; 0 if the child is not shared. */
  tsi_count at;
} tsi_part_block;

/* Iterates over the blocks from process `from` to process `to`. */
typedef struct tsi_part_walk {
  const tsi_front_teams *teams;
  tsi_index child, from, to;
  tsi_front_tiles below, above; /* Tiles of the child, and of its parent. */
  tsi_index m, split;           /* Rows of the child's complement; those in the parent's supernode. */
  tsi_index tile, strip;        /* Current position. */
  tsi_index row, row_end;       /* Rows of the child's complement that are in the tile. */
  bool upper;
  tsi_count at;
} tsi_part_walk;

tsi_part_walk tsi_part_begin(const tsi_front_teams *teams, tsi_index child, tsi_index from, tsi_index to);
bool tsi_part_next(tsi_part_walk *walk, tsi_part_block *block);
tsi_count tsi_part_scalars(const tsi_front_teams *teams, tsi_index child, tsi_index from, tsi_index to);
