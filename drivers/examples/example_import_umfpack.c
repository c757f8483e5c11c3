/* example_import_umfpack [matrix file or gen:KIND:K]: factors a matrix with UMFPACK and solves with the
 * factors both there and here. */
#include <tristar_umfpack.h>

#include "example_import.h"

int main(int argc, char **argv) {
  example_problem p;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  double control[UMFPACK_CONTROL], info[UMFPACK_INFO], seconds[EXAMPLE_SOLVES];
  void *symbolic, *numeric;
  example_begin(&p, argc, argv, "gen:convdiff3d:12");

  umfpack_di_defaults(control);
  control[UMFPACK_IRSTEP] = 0; /* one solve with the factors, no refinement */
  if (umfpack_di_symbolic(p.n, p.n, p.ptr, p.row, p.value, &symbolic, control, info) != UMFPACK_OK)
    example_die("umfpack_di_symbolic", "failed");
  if (umfpack_di_numeric(p.ptr, p.row, p.value, symbolic, &numeric, control, info) != UMFPACK_OK)
    example_die("umfpack_di_numeric", "failed, or the matrix is singular");
  umfpack_di_free_symbolic(&symbolic);

  /* Its solves are timed first: once StarPU runs, its idle workers take time from other threads. */
  for (int k = 0; k < EXAMPLE_SOLVES; k++) {
    const double begin = example_seconds();
    umfpack_di_solve(UMFPACK_A, p.ptr, p.row, p.value, p.x, p.b, numeric, control, info);
    seconds[k] = example_seconds() - begin;
  }
  const double their_seconds = example_median(seconds);

  example_check(p.ts, tristar_import_umfpack(p.ts, TRISTAR_UMFPACK_DI, numeric, &p.view, &factor));
  umfpack_di_free_numeric(&numeric); /* No longer needed by TriStar. */
  example_check(p.ts, tristar_plan(factor, NULL, &plan));
  const double our_seconds = example_solve(&p, plan);

  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  return example_end(&p, "UMFPACK", their_seconds, our_seconds);
}
