/* iterate_petsc [--on-demand] MATRIX [REPEAT]: KSPSolve of PETSc on one core, with PCICC, PCILU or PCJACOBI,
 * on the original arrays of the rows. See iterate.h. */
#include <petscksp.h>
#include <stdio.h>

#include "tools/peers/iterate.h"

bool iterate_begin(peer *p) {
  snprintf(p->solver, sizeof p->solver, "PETSc %d.%d.%d", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
           PETSC_VERSION_SUBMINOR);
  const PetscErrorCode code = PetscInitializeNoArguments();
  if (code == 0) (void)PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
  if (code != 0) peer_fail(p, (int)code, "PETSc error %d", (int)code);
  return code == 0;
}

void iterate_end(void) {
  (void)PetscFinalize();
}

/* Returns whether PETSc succeeded; keeps its error code. */
static bool good(peer *p, PetscErrorCode code) {
  if (code != 0 && p->status == 0) peer_fail(p, (int)code, "PETSc error %d", (int)code);
  return p->status == 0;
}

static bool set_up(peer *p, const iterate_system *s, Mat *matrix, KSP *ksp) {
  const PetscInt n = (PetscInt)p->n;
  PC pc;
  return good(p, MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, s->rows.ptr, s->rows.index, s->rows.values,
                                           matrix)) &&
         good(p, KSPCreate(PETSC_COMM_SELF, ksp)) && good(p, KSPSetOperators(*ksp, *matrix, *matrix)) &&
         good(p, KSPSetType(*ksp, s->cg ? KSPCG : KSPBCGS)) &&
         good(p, KSPSetPCSide(*ksp, s->cg ? PC_LEFT : PC_RIGHT)) &&
         good(p, KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED)) &&
         good(p, KSPSetTolerances(*ksp, ITERATE_TOLERANCE, 0, PETSC_DEFAULT, ITERATE_MOST)) &&
         good(p, KSPGetPC(*ksp, &pc)) &&
         good(p, PCSetType(pc, s->jacobi ? PCJACOBI
                               : s->cg   ? PCICC
                                         : PCILU)) &&
         good(p, KSPSetUp(*ksp));
}

void iterate_solve(peer *p, iterate_system *s) {
  Mat matrix = NULL;
  KSP ksp = NULL;
  Vec b = NULL, x = NULL;
  PetscInt iterations = 0;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  const PetscInt n = (PetscInt)p->n;
  const double begin = iterate_seconds();
  const bool made = set_up(p, s, &matrix, &ksp) &&
                    good(p, VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, p->b, &b)) &&
                    good(p, VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, p->x, &x));
  s->setup_s = iterate_seconds() - begin;
  if (made && good(p, KSPSolve(ksp, b, x)) && good(p, KSPGetIterationNumber(ksp, &iterations)) &&
      good(p, KSPGetConvergedReason(ksp, &reason)) && reason <= 0)
    peer_fail(p, (int)reason, "%s after %d iterations", KSPConvergedReasons[reason], (int)iterations);
  p->iterations = iterations;
  (void)VecDestroy(&b);
  (void)VecDestroy(&x);
  (void)KSPDestroy(&ksp);
  (void)MatDestroy(&matrix);
}
