/* Vectors of which each of several processes has some entries: what they know of the whole ones.
 *
 * Job. Sums and largest numbers over all members of a team, and agreement on a status. With these refinement,
 * FGMRES and estimates of norms run on one process or on many by the same code: all members call the same
 * functions in the same order, get the same results, and so take the same decisions.
 *
 * Reads   a number of each member.   Writes  `all`, `failure`.
 * Invariants
 *   - results do not depend on the order in which members come: sums are made in the order of their numbers
 *   - once members cannot reach each other `failure` says so, and all results are NaN */
#pragma once

#include "runtime/base/env.h"

typedef struct tsi_team {
  int members, own;        /* how many, and which one this is */
  int64_t n;               /* entries of a vector */
  const tsi_index *number; /* by entry here: its number among all; NULL: the entries here are all */
  /* Of more than one member. gather: all[count * m ..] = what member m passes; agree: the worst status. */
  tristar_status (*gather)(void *context, int count, const double *mine, double *all);
  tristar_status (*agree)(void *context, tristar_status mine);
  /* gather, while the members do something else; `all` is there after gather_wait. One at a time. */
  tristar_status (*gather_start)(void *context, int count, const double *mine, double *all);
  tristar_status (*gather_wait)(void *context);
  void *context;
  double *all; /* TSI_TEAM_NUMBERS for each member */
  tristar_status failure;
} tsi_team;

#define TSI_TEAM_NUMBERS 2 /* that members pass at a time */

static inline tsi_team tsi_team_alone(int64_t n) {
  return (tsi_team){.members = 1, .n = n};
}

double tsi_team_sum(tsi_team *team, double mine);
/* sum[0] and sum[1], in place. */
void tsi_team_sum_two(tsi_team *team, double sum[2]);
/* NaN if one of them is. */
double tsi_team_largest(tsi_team *team, double mine);
/* Of those who have the largest number the first: who it is. NaN counts as no number. */
int tsi_team_who_has_largest(tsi_team *team, double mine);
tristar_status tsi_team_agree(tsi_team *team, tristar_status mine);
static inline bool tsi_team_any(tsi_team *team, bool mine) {
  return !(tsi_team_largest(team, mine) <= 0);
}
