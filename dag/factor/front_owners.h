/* Owners of fronts: the process of a layout that factors each supernode, or the team that does.
 *
 * Job. If the layout has a whole subtree on one process, this process factors its fronts: no message is sent
 * inside the subtree. The other fronts, which are spread in the solve, are distributed among the processes of
 * all grids that have their node, by a list schedule (Topcuoglu, Hariri and Wu, "Performance-effective and
 * low-complexity task scheduling for heterogeneous computing", 2002). The subtree, or front above them, with
 * the most arithmetic on its path to the root is scheduled first; a front is assigned to a process that would
 * complete it first. Of several, the owner of the largest child is chosen, unless it has its share of the
 * arithmetic; otherwise the process with the least arithmetic.
 *
 * A tiled front is shared (front_teams.h) if a team completes it earlier than this process alone. The size of
 * the team is the share of the processes that corresponds to the arithmetic of the front's subtree (Pothen
 * and Sun, "A mapping algorithm for parallel sparse Cholesky factorization", 1993). Its members are between
 * the first and the last process that have fronts below it. Each member has its part of the front's
 * arithmetic, and messages take time. The chosen process packs the panels. If teams delay the end of the last
 * front, none is used.
 *
 * Reads   tsi_layout, tsi_symbolic, tsi_panels.
 * Writes  owner[s], teams, and the arithmetic until the last front is factored. They depend on the arguments
 * alone, so all processes compute the same ones. */
#pragma once

#include "dag/factor/factorization.h"
#include "partition/layout/layout.h"

/* The fronts of a factor. */
typedef struct tsi_front_structure {
  const tsi_symbolic *symbolic;
  const tsi_panels *panels;
  tristar_method method;
  const tsi_factorization_options *options;
} tsi_front_structure;

/* owner: supernodes. *teams: NULL if no front is shared; it borrows symbolic and panels. path: flops until
 * the last front is factored; may be NULL. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_owners_choose(tsi_env *env, const tsi_layout *layout,
                                                       const tsi_front_structure *fronts, tsi_index *owner,
                                                       tsi_front_teams **teams, double *path);
