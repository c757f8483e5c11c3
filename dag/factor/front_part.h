/* The part of a factorization that one process stores: its own fronts, and the fronts around them.
 *
 * Job. The part contains the fronts of a process, the fronts that it requests, all ancestors of these, and
 * the children of all of them. The process handles the complements of such children. It does not need the
 * descendants of children that other processes own. The part also lists the process that assembles each
 * column of the factor, by ranges of columns: as supernodes are numbered in postorder, a subtree is one
 * range.
 *
 * Numbers. Supernodes, panels and columns of the part keep their order and count from 0 (tree_part.h). On one
 * process the part is the whole tree, with the same numbers.
 *
 * Reads   the structure of the factor, owners, teams, weights of all supernodes.
 * Writes  a tsi_front_part that owns its arrays and is immutable afterwards.
 * Invariants (tsi_front_part_check)
 *   - the parent of a supernode of the part is in it; so are all children of a supernode of the part that
 *     belongs to the process or has any child in the part; its rows are columns of the part
 *   - fronts of the process, and shared fronts, are in it
 *   - owner, teams and weights are the same as in the whole tree
 *   - ranges begin with column 0 and ascend; neighbours differ */
#pragma once

#include "dag/factor/front_owners.h"
#include "partition/cut/tree_part.h"
#include "runtime/base/sort.h"

typedef struct tsi_front_part {
  tsi_tree_part *tree;
  tsi_index *column;         /* supernodes of the part: first column in the factor */
  tsi_index *owner;          /* supernodes of the part */
  tsi_front_teams *teams;    /* Of the part. NULL: no front is shared. */
  tsi_front_weights weights; /* supernodes of the part */
  tsi_index ranges;
  tsi_index *begin; /* ranges: first column in the factor */
  tsi_index *who;   /* ranges: the process that has these fronts; ~s: supernode s of the part is shared */
} tsi_front_part;

/* The factorization of which parts are taken: arrays for all supernodes. */
typedef struct tsi_front_whole {
  const tsi_front_structure *fronts;
  const tsi_index *owner;
  const tsi_front_teams *teams;     /* NULL: no front is shared. */
  const tsi_front_weights *weights; /* Of all supernodes. NULL: each part computes them. */
} tsi_front_whole;

/* requested: the supernodes that the process requests; on return, all supernodes of the part. After a failure
 * *part is empty. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_part_create(tsi_env *env, const tsi_front_whole *whole,
                                                     tsi_index rank, bool *requested, tsi_front_part *part);
void tsi_front_part_destroy(tsi_env *env, tsi_front_part *part);
/* Errors: INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_front_part_check(tsi_env *env, const tsi_front_part *part,
                                                    const tsi_front_whole *whole, tsi_index rank);

/* The column of the factor for a column of the part. */
static inline tsi_index tsi_front_part_there(const tsi_front_part *part, tsi_index column) {
  const tsi_symbolic *symbolic = part->tree->symbolic;
  const tsi_index s = tsi_find_range(symbolic->start, symbolic->count, column);
  return part->column[s] + column - symbolic->start[s];
}
/* The column of the part for a column of the factor that is in it. */
static inline tsi_index tsi_front_part_here(const tsi_front_part *part, tsi_index column) {
  const tsi_symbolic *symbolic = part->tree->symbolic;
  const tsi_index s = tsi_find_range(part->column, symbolic->count, column);
  return symbolic->start[s] + column - part->column[s];
}
/* The process that assembles entry (row, column) of the factor. */
static inline tsi_index tsi_front_part_taker(const tsi_front_part *part, tsi_index row, tsi_index column) {
  const tsi_index line = tsi_index_min(row, column);
  const tsi_index who = part->who[tsi_find_range(part->begin, part->ranges, line)];
  if (who >= 0) return who;
  return tsi_front_stripe_owner(part->teams, ~who, tsi_front_part_here(part, tsi_index_max(row, column)));
}
/* The owners in the form for tsi_factorization_create. */
static inline tsi_front_owners tsi_front_part_owners(const tsi_front_part *part, tsi_index rank) {
  return (tsi_front_owners){
      .owner = part->owner, .rank = rank, .teams = part->teams, .weights = &part->weights};
}
