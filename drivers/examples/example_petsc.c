/* A PETSc program that uses TriStar without a change: the five-point Laplacian on an n x n grid (-n), solved
 * by the solver that the options name. With the plug-in of TriStar:
 *
 *   export PETSC_OPTIONS="-dll_prepend libtristar_petsc.so"
 *   example_petsc -pc_type cholesky -pc_factor_mat_solver_type tristar -mat_tristar_method llt -ksp_view
 *   example_petsc -ksp_type cg -pc_type tristar -pc_tristar_kind fsai */
#include <petscksp.h>

static PetscErrorCode set_laplacian(Mat A, PetscInt n) {
  PetscInt first, end;
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt row = first; row < end; row++) {
    const PetscInt i = row / n, j = row % n;
    PetscCall(MatSetValue(A, row, row, 4, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(A, row, row - n, -1, INSERT_VALUES));
    if (j > 0) PetscCall(MatSetValue(A, row, row - 1, -1, INSERT_VALUES));
    if (j < n - 1) PetscCall(MatSetValue(A, row, row + 1, -1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(A, row, row + n, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  PetscInt n = 50, iterations;
  PetscReal error;
  Mat A;
  Vec ones, b, x;
  KSP ksp;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(set_laplacian(A, n));
  PetscCall(MatCreateVecs(A, &ones, &b));
  PetscCall(VecDuplicate(ones, &x));
  PetscCall(VecSet(ones, 1));
  PetscCall(MatMult(A, ones, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(VecAXPY(x, -1, ones));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d iterations, error %.1e\n", (int)iterations, (double)error));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&ones));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscFinalize());
  return error < 1e-6 ? 0 : 1;
}
