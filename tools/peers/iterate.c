/* See iterate.h. */
#include "tools/peers/iterate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double iterate_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the seconds of a whole solve. */
static double run(peer *p, iterate_system *s) {
  memset(p->x, 0, p->column_bytes);
  const double begin = iterate_seconds();
  iterate_solve(p, s);
  return iterate_seconds() - begin;
}

void peer_solve_real(peer *p) {
  const char *precond = getenv("PEER_PRECOND");
  iterate_system s = {.jacobi = precond != NULL && strcmp(precond, "jacobi") == 0};
  s.cg = p->view.symmetry == TRISTAR_SYMMETRIC && peer_positive_diagonal(p);
  p->method = s.cg ? "CG" : "BiCGSTAB";
  p->ordering = "as given";
  if (!iterate_begin(p)) return;
  peer_compress(p, true, &s.rows);
  do {
    double least = 0;
    for (int turn = -1; turn < p->repeat && p->status == 0; turn++) {
      const double seconds = run(p, &s);
      if (turn < 0) continue;
      p->solves_s[turn] = seconds;
      if (turn == 0 || seconds < least) {
        least = seconds;
        p->factor_s = s.setup_s;
      }
    }
  } while (peer_again(p));
  peer_compressed_free(&s.rows);
  iterate_end();
}

void peer_solve_complex(peer *p) {
  peer_fail(p, 1, "it is compared for real matrices only");
}
