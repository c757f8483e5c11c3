/* Owners of fronts: which process of a layout factors which supernode, and which of them a team factors.
 *
 * Job. Fronts of subtrees that the layout has whole on a process are that process's: no message is sent
 * inside them. The others, spread in the solve, are shared out among the processes of all grids that have
 * their node, by a list schedule (Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity task
 * scheduling for heterogeneous computing", 2002): a subtree, or a front above them, whose path to the root
 * has the most arithmetic comes first; a front goes to a process that is through with it first. Of several it
 * is the one that has the largest child, unless that has got its share of the arithmetic, else the one that
 * has least.
 *
 * A front that is cut into tiles is shared (front_teams.h) if a team is through with it before that process
 * would be: as many processes as its subtree has of the arithmetic, in proportion (Pothen and Sun, "A mapping
 * algorithm for parallel sparse Cholesky factorization", 1993), from among those between the first and the
 * last one that have fronts below it. Each has its part of the front's arithmetic, and what travels takes
 * time. The process that was chosen packs the panels. If the last front is factored later with teams than
 * without, there are none.
 *
 * Reads   tsi_layout, tsi_symbolic, tsi_panels.
 * Writes  owner[s], teams, and the arithmetic until the last front is factored. They depend on the arguments
 * alone, so that all processes find the same ones. */
#pragma once

#include "dag/factor/factorization.h"
#include "partition/layout/layout.h"

/* What the fronts of a factor are. */
typedef struct tsi_front_structure {
  const tsi_symbolic *symbolic;
  const tsi_panels *panels;
  tristar_method method;
  const tsi_factorization_options *options;
} tsi_front_structure;

/* owner: supernodes. *teams: NULL if no front is
 * shared; it borrows symbolic and panels. path: in flops; may be NULL. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_owners_choose(tsi_env *env, const tsi_layout *layout,
                                                       const tsi_front_structure *fronts, tsi_index *owner,
                                                       tsi_front_teams **teams, double *path);
