/* example_import_cholmod [matrix file or gen:KIND:K]: factors a symmetric positive definite matrix with
 * CHOLMOD and solves with the factors both there and here. */
#include <tristar_cholmod.h>

#include "example_import.h"

int main(int argc, char **argv) {
  example_problem p;
  cholmod_common common;
  cholmod_dense *x = NULL, *y = NULL, *e = NULL;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  double seconds[EXAMPLE_SOLVES];
  example_begin(&p, argc, argv, "gen:poisson3d7:16");

  /* CHOLMOD reads the lower triangle. */
  cholmod_sparse a = {.nrow = (size_t)p.n,
                      .ncol = (size_t)p.n,
                      .nzmax = (size_t)p.ptr[p.n],
                      .p = p.ptr,
                      .i = p.row,
                      .x = p.value,
                      .stype = -1,
                      .itype = CHOLMOD_INT,
                      .xtype = CHOLMOD_REAL,
                      .dtype = CHOLMOD_DOUBLE,
                      .packed = 1};
  cholmod_dense b = {.nrow = (size_t)p.n,
                     .ncol = 1,
                     .nzmax = (size_t)p.n,
                     .d = (size_t)p.n,
                     .x = p.b,
                     .xtype = CHOLMOD_REAL,
                     .dtype = CHOLMOD_DOUBLE};
  cholmod_start(&common);
  common.supernodal = CHOLMOD_SUPERNODAL;
  cholmod_factor *l = cholmod_analyze(&a, &common);
  if (p.view.symmetry != TRISTAR_SYMMETRIC || !cholmod_factorize(&a, l, &common) ||
      common.status != CHOLMOD_OK)
    example_die("cholmod_factorize", "the matrix is not symmetric positive definite");

  /* Its solves are timed first: once StarPU runs, its idle workers take time from other threads. */
  for (int k = 0; k < EXAMPLE_SOLVES; k++) {
    const double begin = example_seconds();
    cholmod_solve2(CHOLMOD_A, l, &b, NULL, &x, NULL, &y, &e, &common);
    seconds[k] = example_seconds() - begin;
  }
  memcpy(p.x, x->x, (size_t)p.n * sizeof *p.x);
  const double their_seconds = example_median(seconds);

  example_check(p.ts, tristar_import_cholmod(p.ts, l, &p.view, &factor));
  cholmod_free_factor(&l, &common); /* No longer needed by TriStar. */
  example_check(p.ts, tristar_plan(factor, NULL, &plan));
  const double our_seconds = example_solve(&p, plan);

  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  cholmod_free_dense(&x, &common);
  cholmod_free_dense(&y, &common);
  cholmod_free_dense(&e, &common);
  cholmod_finish(&common);
  return example_end(&p, "CHOLMOD", their_seconds, our_seconds);
}
