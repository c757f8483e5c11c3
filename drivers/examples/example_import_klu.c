/* example_import_klu [matrix file or gen:KIND:K]: factors a matrix with KLU and solves with the factors both
 * there and here; then new values: klu_refactor there, and the same plan here. */
#include <tristar_klu.h>

#include "example_import.h"

int main(int argc, char **argv) {
  example_problem p;
  klu_common common;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  double seconds[EXAMPLE_SOLVES];
  example_begin(&p, argc, argv, "gen:circuit:4000");

  klu_defaults(&common);
  klu_symbolic *symbolic = klu_analyze(p.n, p.ptr, p.row, &common);
  if (symbolic == NULL) example_die("klu_analyze", "failed");
  klu_numeric *numeric = klu_factor(p.ptr, p.row, p.value, symbolic, &common);
  if (numeric == NULL) example_die("klu_factor", "failed, or the matrix is singular");

  /* Its solves are timed first: once StarPU runs, its idle workers take time from other threads. KLU
   * overwrites the right-hand side. */
  for (int k = 0; k < EXAMPLE_SOLVES; k++) {
    memcpy(p.x, p.b, (size_t)p.n * sizeof *p.x);
    const double begin = example_seconds();
    klu_solve(symbolic, numeric, p.n, 1, p.x, &common);
    seconds[k] = example_seconds() - begin;
  }
  const double their_seconds = example_median(seconds);

  example_check(p.ts, tristar_import_klu(p.ts, TRISTAR_KLU, symbolic, numeric, &p.view, &factor));
  example_check(p.ts, tristar_plan(factor, NULL, &plan));

  /* The matrix changes, its pattern does not. */
  for (int q = 0; q < p.ptr[p.n]; q++) p.value[q] *= 1.5;
  if (!klu_refactor(p.ptr, p.row, p.value, symbolic, numeric, &common))
    example_die("klu_refactor", "failed, or the matrix is singular");
  example_check(p.ts, tristar_reimport_klu(factor, TRISTAR_KLU, symbolic, numeric, NULL));
  memcpy(p.x, p.b, (size_t)p.n * sizeof *p.x);
  klu_solve(symbolic, numeric, p.n, 1, p.x, &common);
  klu_free_numeric(&numeric, &common); /* No longer needed by TriStar. */
  klu_free_symbolic(&symbolic, &common);
  const double our_seconds = example_solve(&p, plan);

  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  return example_end(&p, "KLU", their_seconds, our_seconds);
}
