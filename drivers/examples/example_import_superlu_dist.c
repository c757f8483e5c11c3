/* example_import_superlu_dist [matrix file or gen:KIND:K]: factors a matrix with SuperLU_DIST on one process
 * and solves with the factors both there and here. */
#include <tristar_superlu_dist.h>

#include "example_import.h"

int main(int argc, char **argv) {
  example_problem p;
  gridinfo_t grid;
  superlu_dist_options_t options;
  SuperLUStat_t stat;
  SuperMatrix A;
  int_t *rowptr, *colind;
  double *values, berr[1];
  dScalePermstruct_t scale_perm;
  dLUstruct_t lu;
  dSOLVEstruct_t solve;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  double seconds[EXAMPLE_SOLVES], sweep[EXAMPLE_SOLVES];
  int info;
  MPI_Init(&argc, &argv);
  example_begin(&p, argc, argv, "gen:convdiff3d:14");

  /* SuperLU_DIST reads rows. (Rows to columns for A^T is columns to rows for A.) */
  superlu_gridinit(MPI_COMM_WORLD, 1, 1, &grid);
  dCompRow_to_CompCol_dist(p.n, p.n, p.ptr[p.n], p.value, p.row, p.ptr, &values, &colind, &rowptr);
  dCreate_CompRowLoc_Matrix_dist(&A, p.n, p.n, p.ptr[p.n], p.n, 0, values, colind, rowptr, SLU_NR_loc, SLU_D,
                                 SLU_GE);
  dScalePermstructInit(p.n, p.n, &scale_perm);
  dLUstructInit(p.n, &lu);
  PStatInit(&stat);
  set_default_options_dist(&options);
  options.PrintStat = NO;
  options.IterRefine = NOREFINE;
  pdgssvx(&options, &A, &scale_perm, p.x, p.n, 1, &grid, &lu, &solve, berr, &stat, &info);
  if (info != 0) example_die("pdgssvx", info <= p.n ? "the matrix is singular" : "out of memory");

  /* Its solves are timed first: once StarPU runs, its idle workers take time from other threads. pdgssvx also
   * scales, permutes and copies; the time of the triangular solves alone is in stat. */
  options.Fact = FACTORED;
  for (int k = 0; k < EXAMPLE_SOLVES; k++) {
    memcpy(p.x, p.b, (size_t)p.n * sizeof *p.x);
    const double begin = example_seconds();
    pdgssvx(&options, &A, &scale_perm, p.x, p.n, 1, &grid, &lu, &solve, berr, &stat, &info);
    seconds[k] = example_seconds() - begin;
    sweep[k] = stat.utime[SOLVE];
  }
  const double their_seconds = example_median(seconds);
  printf("pdgstrs alone        %10.3f ms a solve\n", 1e3 * example_median(sweep));

  example_check(p.ts, tristar_import_superlu_dist_d(p.ts, p.n, &lu, &scale_perm, &grid, &p.view, &factor));
  dDestroy_LU(p.n, &grid, &lu); /* No longer needed by TriStar. */
  dLUstructFree(&lu);
  dScalePermstructFree(&scale_perm);
  dSolveFinalize(&options, &solve);
  Destroy_CompRowLoc_Matrix_dist(&A);
  PStatFree(&stat);
  superlu_gridexit(&grid);
  example_check(p.ts, tristar_plan(factor, NULL, &plan));
  const double our_seconds = example_solve(&p, plan);

  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  const int status = example_end(&p, "SuperLU_DIST", their_seconds, our_seconds);
  MPI_Finalize();
  return status;
}
