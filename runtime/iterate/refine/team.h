/* Sums over vectors that are distributed over several processes.
 *
 * Job. Compute sums and largest numbers over all members of a team, and agree on a status. So refinement,
 * FGMRES and estimates of norms run on one process or on many by the same code. All members call the same
 * functions in the same order, get the same results, and so make the same decisions.
 *
 * Reads   a number of each member.   Writes  `all`, `failure`.
 * Invariants
 *   - results do not depend on the order of arrival: sums add the members in the order of their numbers
 *   - if members cannot reach each other, `failure` holds the cause, and all results are NaN */
#pragma once

#include "runtime/base/env.h"

typedef struct tsi_team {
  int members, own;        /* number of members; number of this member */
  int64_t n;               /* entries of a whole vector */
  const tsi_index *number; /* for each entry here: its global number; NULL: all entries are here */
  /* For more than one member. gather: all[count * m ..] = the numbers of member m; agree: the worst
   * status. */
  tristar_status (*gather)(void *context, int count, const double *mine, double *all);
  tristar_status (*agree)(void *context, tristar_status mine);
  /* A gather that overlaps with other work; `all` is valid after gather_wait. One at a time. */
  tristar_status (*gather_start)(void *context, int count, const double *mine, double *all);
  tristar_status (*gather_wait)(void *context);
  void *context;
  double *all; /* TSI_TEAM_NUMBERS for each member */
  tristar_status failure;
} tsi_team;

#define TSI_TEAM_NUMBERS 2 /* numbers that a member passes at a time */

static inline tsi_team tsi_team_alone(int64_t n) {
  return (tsi_team){.members = 1, .n = n};
}

double tsi_team_sum(tsi_team *team, double mine);
/* Sums sum[0] and sum[1], in place. */
void tsi_team_sum_two(tsi_team *team, double sum[2]);
/* The largest number; NaN if any is NaN. */
double tsi_team_largest(tsi_team *team, double mine);
/* The first member that has the largest number. NaN is ignored. */
int tsi_team_who_has_largest(tsi_team *team, double mine);
tristar_status tsi_team_agree(tsi_team *team, tristar_status mine);
static inline bool tsi_team_any(tsi_team *team, bool mine) {
  return !(tsi_team_largest(team, mine) <= 0);
}
