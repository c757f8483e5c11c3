/* Sums and largest numbers over the members of a team: see team.h. */
#include "runtime/iterate/refine/team.h"

#include <math.h>

/* Returns false if members cannot reach each other. */
static bool gather(tsi_team *team, int count, const double *mine) {
  if (team->failure == TRISTAR_OK) team->failure = team->gather(team->context, count, mine, team->all);
  return team->failure == TRISTAR_OK;
}

double tsi_team_sum(tsi_team *team, double mine) {
  if (team->members == 1) return mine;
  double sum = 0;
  if (!gather(team, 1, &mine)) return NAN;
  for (int m = 0; m < team->members; m++) sum += team->all[m];
  return sum;
}

void tsi_team_sum_two(tsi_team *team, double sum[2]) {
  if (team->members == 1) return;
  const double mine[2] = {sum[0], sum[1]};
  const bool there = gather(team, 2, mine);
  sum[0] = sum[1] = there ? 0 : NAN;
  for (int m = 0; there && m < team->members; m++) {
    sum[0] += team->all[2 * m];
    sum[1] += team->all[2 * m + 1];
  }
}

double tsi_team_largest(tsi_team *team, double mine) {
  if (team->members == 1) return mine;
  if (!gather(team, 1, &mine)) return NAN;
  double largest = team->all[0];
  for (int m = 1; m < team->members && !isnan(largest); m++)
    if (!(team->all[m] <= largest)) largest = team->all[m];
  return largest;
}

int tsi_team_who_has_largest(tsi_team *team, double mine) {
  int who = 0;
  if (team->members == 1 || !gather(team, 1, &mine)) return 0;
  for (int m = 1; m < team->members; m++)
    if (team->all[m] > team->all[who] || (isnan(team->all[who]) && !isnan(team->all[m]))) who = m;
  return who;
}

tristar_status tsi_team_agree(tsi_team *team, tristar_status mine) {
  return team->members == 1 ? mine : team->agree(team->context, mine);
}
