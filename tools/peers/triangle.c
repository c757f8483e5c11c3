/* See triangle.h. */
#include "tools/peers/triangle.h"

#include <string.h>

static double time_one(const peer *p, int k, bool in_place, triangle_solve *solve, void *solver) {
  if (in_place) memcpy(peer_x(p, k), peer_b(p, k), p->column_bytes);
  const double begin = peer_seconds();
  solve(solver, peer_b(p, k), peer_x(p, k));
  return peer_seconds() - begin;
}

void triangle_rounds(peer *p, bool in_place, triangle_solve *solve, void *solver) {
  do {
    for (int turn = -1; turn < p->repeat; turn++) {
      double seconds = 0;
      for (int k = 0; k < p->nrhs; k++) seconds += time_one(p, k, in_place, solve, solver);
      if (turn >= 0) p->solves_s[turn] = seconds;
    }
  } while (peer_again(p));
}

double triangle_try(const peer *p, bool in_place, triangle_solve *solve, void *solver) {
  double shortest = time_one(p, 0, in_place, solve, solver);
  for (int turn = 0; turn < 2; turn++) {
    const double seconds = time_one(p, 0, in_place, solve, solver);
    if (seconds < shortest) shortest = seconds;
  }
  return shortest;
}

void peer_solve_real(peer *p) {
  p->ordering = "as given";
  if (p->uplo == 0)
    peer_fail(p, 1, "--uplo L or --uplo U is missing");
  else
    triangle_solve_real(p);
}

void peer_solve_complex(peer *p) {
  peer_fail(p, 1, "it is compared for real matrices only");
}
