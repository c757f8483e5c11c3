/* A part of a factorization: what one process has to know of the fronts of all.
 *
 * Job. Of the assembly tree take the fronts of a process and those that it is asked for, all that is above
 * them, and the children of all these: with what comes from a child, and where it goes, the process has to
 * do; of what is below a child of others it need know nothing. Say who assembles which column of the factor,
 * by ranges of columns: as supernodes are numbered in postorder, a subtree is one range.
 *
 * Numbers. Supernodes, panels and columns of the part keep their order and count from 0 (tree_part.h). On one
 * process the part is the whole tree, with the same numbers.
 *
 * Reads   the structure of the factor, owners, teams, weights of all supernodes.
 * Writes  a tsi_front_part that owns its arrays and is immutable afterwards.
 * Invariants (tsi_front_part_check)
 *   - a supernode is in it with its parent, and with all children of supernodes that are in it and have
 * anything in it below them or are the process's; its rows are columns of the part
 *   - fronts of the process, and fronts that are shared, are in it
 *   - owner, teams and weights are those of the same supernodes in the whole tree
 *   - ranges begin with column 0 and ascend; neighbours differ */
#pragma once

#include "dag/factor/front_owners.h"
#include "partition/cut/tree_part.h"
#include "runtime/base/sort.h"

typedef struct tsi_front_part {
  tsi_tree_part *tree;
  tsi_index *column;         /* supernodes of the part: first column in the factor */
  tsi_index *owner;          /* supernodes of the part */
  tsi_front_teams *teams;    /* of the part; NULL: no front is shared */
  tsi_front_weights weights; /* supernodes of the part */
  tsi_index ranges;
  tsi_index *begin; /* ranges: first column in the factor */
  tsi_index *who;   /* ranges: the process that has these fronts; ~s: supernode s of the part is shared */
} tsi_front_part;

/* What it is taken of: all supernodes. */
typedef struct tsi_front_whole {
  const tsi_front_structure *fronts;
  const tsi_index *owner;
  const tsi_front_teams *teams;     /* NULL: no front is shared */
  const tsi_front_weights *weights; /* of all supernodes; NULL: they are found for each part */
} tsi_front_whole;

/* wanted: supernodes that the process asks for; it is filled with all that are in the part. After a failure
 * *part is empty. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_part_create(tsi_env *env, const tsi_front_whole *whole,
                                                     tsi_index rank, bool *wanted, tsi_front_part *part);
void tsi_front_part_destroy(tsi_env *env, tsi_front_part *part);
/* Errors: INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_front_part_check(tsi_env *env, const tsi_front_part *part,
                                                    const tsi_front_whole *whole, tsi_index rank);

/* A column of the part in the factor. */
static inline tsi_index tsi_front_part_there(const tsi_front_part *part, tsi_index column) {
  const tsi_symbolic *symbolic = part->tree->symbolic;
  const tsi_index s = tsi_find_range(symbolic->start, symbolic->count, column);
  return part->column[s] + column - symbolic->start[s];
}
/* A column of the factor, which is in the part, there. */
static inline tsi_index tsi_front_part_here(const tsi_front_part *part, tsi_index column) {
  const tsi_symbolic *symbolic = part->tree->symbolic;
  const tsi_index s = tsi_find_range(part->column, symbolic->count, column);
  return symbolic->start[s] + column - part->column[s];
}
/* Who assembles entry (row, column) of the factor. */
static inline tsi_index tsi_front_part_taker(const tsi_front_part *part, tsi_index row, tsi_index column) {
  const tsi_index line = tsi_index_min(row, column);
  const tsi_index who = part->who[tsi_find_range(part->begin, part->ranges, line)];
  if (who >= 0) return who;
  return tsi_front_stripe_owner(part->teams, ~who, tsi_front_part_here(part, tsi_index_max(row, column)));
}
/* As a factorization wants it. */
static inline tsi_front_owners tsi_front_part_owners(const tsi_front_part *part, tsi_index rank) {
  return (tsi_front_owners){
      .owner = part->owner, .rank = rank, .teams = part->teams, .weights = &part->weights};
}
