/* example_import_superlu [matrix file or gen:KIND:K]: factors a matrix with SuperLU and solves with the
 * factors both there and here. */
#include <tristar_superlu.h>

#include "example_import.h"

int main(int argc, char **argv) {
  example_problem p;
  superlu_options_t options;
  SuperLUStat_t stat;
  SuperMatrix A, B, L, U;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  double seconds[EXAMPLE_SOLVES];
  int info;
  example_begin(&p, argc, argv, "gen:convdiff3d:14");

  /* SuperLU overwrites the right-hand side. */
  int *perm_c = example_allocate((size_t)p.n, sizeof *perm_c);
  int *perm_r = example_allocate((size_t)p.n, sizeof *perm_r);
  dCreate_CompCol_Matrix(&A, p.n, p.n, p.ptr[p.n], p.value, p.row, p.ptr, SLU_NC, SLU_D, SLU_GE);
  dCreate_Dense_Matrix(&B, p.n, 1, p.x, p.n, SLU_DN, SLU_D, SLU_GE);
  set_default_options(&options);
  StatInit(&stat);
  dgssv(&options, &A, perm_c, perm_r, &L, &U, &B, &stat, &info);
  if (info != 0) example_die("dgssv", info <= p.n ? "the matrix is singular" : "out of memory");

  /* Its solves are timed first: once StarPU runs, its idle workers take time from other threads. */
  for (int k = 0; k < EXAMPLE_SOLVES; k++) {
    memcpy(p.x, p.b, (size_t)p.n * sizeof *p.x);
    const double begin = example_seconds();
    dgstrs(NOTRANS, &L, &U, perm_c, perm_r, &B, &stat, &info);
    seconds[k] = example_seconds() - begin;
  }
  const double their_seconds = example_median(seconds);

  /* After dgssvx also .equed = equed[0], .R = R, .C = C. */
  tristar_superlu from = {.L = &L, .U = &U, .perm_r = perm_r, .perm_c = perm_c, .matrix = &p.view};
  example_check(p.ts, tristar_import_superlu(p.ts, &from, &factor));
  Destroy_SuperNode_Matrix(&L); /* No longer needed by TriStar. */
  Destroy_CompCol_Matrix(&U);
  example_check(p.ts, tristar_plan(factor, NULL, &plan));
  const double our_seconds = example_solve(&p, plan);

  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  Destroy_SuperMatrix_Store(&A);
  Destroy_SuperMatrix_Store(&B);
  StatFree(&stat);
  free(perm_c);
  free(perm_r);
  return example_end(&p, "SuperLU", their_seconds, our_seconds);
}
