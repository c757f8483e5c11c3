/* Programs of PETSc get right solutions from a direct solver that is selected by options only. Finite
 * differences and matrices from files, AIJ, BAIJ and SBAIJ, LU and Cholesky, new values, transposes,
 * several right-hand sides, singular matrices. With -pc_factor_mat_solver_type mumps the same bounds hold
 * for MUMPS. */
#include <petscksp.h>

#define SIDE 16
#define TOLERANCE 1e-12

/* Kind of the entries of a matrix. */
typedef enum kind { SYMMETRIC, WIND, HERMITIAN, SINGULAR } kind;

static PetscErrorCode set_point(Mat A, PetscInt row, kind of, PetscReal shift) {
  const PetscInt i = row / SIDE, j = row % SIDE;
  const PetscInt column[] = {row - SIDE, row - 1, row + 1, row + SIDE};
  const PetscBool there[] = {(PetscBool)(i > 0), (PetscBool)(j > 0), (PetscBool)(j < SIDE - 1),
                             (PetscBool)(i < SIDE - 1)};
  const PetscScalar skew = of == WIND ? 0.5 : of == HERMITIAN ? 0.5 * PETSC_i : 0;
  PetscScalar diagonal = 4 + shift;
  PetscFunctionBegin;
  if (PetscDefined(USE_COMPLEX) && of != HERMITIAN) diagonal += 0.3 * PETSC_i;
  if (of == SINGULAR && row == SIDE) diagonal = 0;
  PetscCall(MatSetValue(A, row, row, diagonal, INSERT_VALUES));
  for (int k = 0; k < 4; k++) {
    PetscScalar value = column[k] < row ? -1 + skew : -1 - skew;
    if (of == SINGULAR && (row == SIDE || column[k] == SIDE)) value = 0;
    if (there[k]) PetscCall(MatSetValue(A, row, column[k], value, INSERT_VALUES));
  }
  PetscFunctionReturn(0);
}

/* The five-point stencil on a grid of SIDE x SIDE points; the second call for a matrix sets new values. */
static PetscErrorCode set_grid(Mat A, kind of, PetscReal shift) {
  PetscInt first, end;
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt row = first; row < end; row++) PetscCall(set_point(A, row, of, shift));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode make_grid(MatType type, kind of, Mat *A) {
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, SIDE * SIDE, SIDE * SIDE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  if (strcmp(type, MATSBAIJ) == 0) PetscCall(MatSetOption(*A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  if (of == HERMITIAN) PetscCall(MatSetOption(*A, MAT_HERMITIAN, PETSC_TRUE));
  PetscCall(set_grid(*A, of, 0));
  PetscFunctionReturn(0);
}

static PetscErrorCode expect_equal(Vec x, Vec exact, const char *what) {
  PetscReal error, norm;
  PetscFunctionBegin;
  PetscCall(VecNorm(exact, NORM_2, &norm));
  PetscCall(VecAXPY(x, -1, exact));
  PetscCall(VecNorm(x, NORM_2, &error));
  PetscCheck(error <= TOLERANCE * norm, PETSC_COMM_WORLD, PETSC_ERR_USER, "%s: error %g", what,
             (double)(error / norm));
  PetscFunctionReturn(0);
}

static PetscErrorCode make_solver(Mat A, PCType type, KSP *ksp) {
  PC pc;
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPPREONLY));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

/* One right-hand side, with A and with its transpose. */
static PetscErrorCode check_vectors(KSP ksp, Mat A, const char *what) {
  char transposed[80];
  Vec exact, b, x;
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &exact, &b));
  PetscCall(VecDuplicate(exact, &x));
  PetscCall(VecSetRandom(exact, NULL));
  PetscCall(MatMult(A, exact, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(expect_equal(x, exact, what));
  PetscCall(MatMultTranspose(A, exact, b));
  PetscCall(KSPSolveTranspose(ksp, b, x));
  PetscCall(PetscSNPrintf(transposed, sizeof transposed, "%s, transposed", what));
  PetscCall(expect_equal(x, exact, transposed));
  PetscCall(VecDestroy(&exact));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

static PetscErrorCode check_columns(KSP ksp, Mat A, const char *what) {
  Mat exact, b, x;
  Vec column, solution;
  PetscInt rows;
  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &rows, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, rows, PETSC_DECIDE, SIDE * SIDE, 3, NULL, &exact));
  PetscCall(MatSetRandom(exact, NULL));
  PetscCall(MatDuplicate(exact, MAT_DO_NOT_COPY_VALUES, &b));
  PetscCall(MatDuplicate(exact, MAT_DO_NOT_COPY_VALUES, &x));
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(MatDenseGetColumnVecRead(exact, k, &column));
    PetscCall(MatDenseGetColumnVecWrite(b, k, &solution));
    PetscCall(MatMult(A, column, solution));
    PetscCall(MatDenseRestoreColumnVecWrite(b, k, &solution));
    PetscCall(MatDenseRestoreColumnVecRead(exact, k, &column));
  }
  PetscCall(KSPMatSolve(ksp, b, x));
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(MatDenseGetColumnVecRead(exact, k, &column));
    PetscCall(MatDenseGetColumnVec(x, k, &solution));
    PetscCall(expect_equal(solution, column, what));
    PetscCall(MatDenseRestoreColumnVec(x, k, &solution));
    PetscCall(MatDenseRestoreColumnVecRead(exact, k, &column));
  }
  PetscCall(MatDestroy(&exact));
  PetscCall(MatDestroy(&b));
  PetscCall(MatDestroy(&x));
  PetscFunctionReturn(0);
}

/* Finite differences: first values, new values, and values that are no longer symmetric. */
static PetscErrorCode check_grid(MatType type, PCType pc, kind of) {
  char what[64];
  Mat A;
  KSP ksp;
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof what, "%s, %s, kind %d", type, pc, (int)of));
  PetscCall(make_grid(type, of, &A));
  PetscCall(make_solver(A, pc, &ksp));
  PetscCall(check_vectors(ksp, A, what));
  PetscCall(check_columns(ksp, A, what));
  PetscCall(set_grid(A, of, 1));
  PetscCall(check_vectors(ksp, A, what));
  if (of == SYMMETRIC && strcmp(pc, PCLU) == 0 && strcmp(type, MATSBAIJ) != 0) {
    PetscCall(set_grid(A, WIND, 0));
    PetscCall(check_vectors(ksp, A, "values that are no longer symmetric"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* A matrix from a file. */
static PetscErrorCode check_file(MatType type, PCType pc, kind of) {
  PetscViewer file;
  Mat written, A;
  KSP ksp;
  PetscFunctionBegin;
  PetscCall(make_grid(MATAIJ, of, &written));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "matrix.dat", FILE_MODE_WRITE, &file));
  PetscCall(MatView(written, file));
  PetscCall(PetscViewerDestroy(&file));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "matrix.dat", FILE_MODE_READ, &file));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetType(A, type));
  PetscCall(MatLoad(A, file));
  PetscCall(PetscViewerDestroy(&file));
  PetscCall(make_solver(A, pc, &ksp));
  PetscCall(check_vectors(ksp, A, "file"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&written));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* A singular matrix ends the solve with a reason. again: values that are regular can be factored
 * afterwards. */
static PetscErrorCode check_singular(PCType pc, PetscBool again) {
  KSPConvergedReason reason;
  Mat A;
  KSP ksp;
  Vec b, x;
  PetscFunctionBegin;
  PetscCall(make_grid(MATAIJ, SINGULAR, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(make_solver(A, pc, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason == KSP_DIVERGED_PC_FAILED, PETSC_COMM_WORLD, PETSC_ERR_USER, "singular: reason %d",
             (int)reason);
  PetscCall(set_grid(A, SYMMETRIC, 0));
  if (again) PetscCall(check_vectors(ksp, A, "after a singular matrix"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

/* A matrix with one row: all ranks but one are empty. */
static PetscErrorCode check_one_row(PCType type) {
  Mat A;
  KSP ksp;
  PetscInt first, end;
  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 1, 1, 1, NULL, 0, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  if (end > first) PetscCall(MatSetValue(A, 0, 0, 2, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(make_solver(A, type, &ksp));
  PetscCall(check_vectors(ksp, A, "one row"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Each rank has a matrix of its own. */
static PetscErrorCode check_blocks(void) {
  KSP ksp;
  Mat A;
  PetscFunctionBegin;
  PetscCall(make_grid(MATAIJ, WIND, &A));
  PetscCall(PetscOptionsInsertString(NULL,
                                     "-blocks_ksp_type gmres -blocks_pc_type bjacobi -blocks_sub_pc_type lu "
                                     "-blocks_ksp_rtol 1e-14 -blocks_ksp_atol 0"));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "blocks_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(check_vectors(ksp, A, "block Jacobi"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* GMRES with a preconditioner of TriStar, selected by options. */
static PetscErrorCode make_precond(Mat A, const char *name, KSP *ksp) {
  char options[200];
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(options, sizeof options,
                          "-inverse_ksp_type gmres -inverse_ksp_rtol 1e-14 -inverse_pc_type tristar "
                          "-inverse_pc_tristar_kind %s -inverse_ksp_max_it 300",
                          name));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, "inverse_"));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

/* First values, new values, and values that may no longer be symmetric. */
static PetscErrorCode check_precond(const char *name, kind of) {
  KSP ksp;
  Mat A;
  PetscFunctionBegin;
  PetscCall(make_grid(MATAIJ, of, &A));
  PetscCall(make_precond(A, name, &ksp));
  PetscCall(check_vectors(ksp, A, name));
  PetscCall(set_grid(A, of, 1));
  PetscCall(check_vectors(ksp, A, name));
  PetscCall(set_grid(A, WIND, 0));
  PetscCall(check_vectors(ksp, A, name));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* One triangle of a Hermitian matrix gives the same preconditioner as both, but for rounding errors. */
static PetscErrorCode check_precond_of_halves(const char *name) {
  static const MatType types[] = {MATAIJ, MATSBAIJ};
  PetscInt iterations[2];
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    KSP ksp;
    Mat A;
    Vec b, x;
    KSPConvergedReason reason;
    PetscCall(make_grid(types[k], HERMITIAN, &A));
    PetscCall(make_precond(A, name, &ksp));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_USER, "%s: %s: reason %d", name, types[k],
               (int)reason);
    PetscCall(KSPGetIterationNumber(ksp, &iterations[k]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
  }
  PetscCheck(10 * PetscAbsInt(iterations[0] - iterations[1]) <= iterations[0], PETSC_COMM_WORLD,
             PETSC_ERR_USER, "%s: %d iterations with AIJ, %d with SBAIJ", name, (int)iterations[0],
             (int)iterations[1]);
  PetscFunctionReturn(0);
}

/* PETSc 3.18 cannot reuse a factor of MUMPS that was singular once. */
static PetscErrorCode check_all(PetscBool tristar) {
  PetscFunctionBegin;
  PetscCall(check_grid(MATAIJ, PCLU, SYMMETRIC));
  PetscCall(check_grid(MATAIJ, PCLU, WIND));
  PetscCall(check_grid(MATAIJ, PCCHOLESKY, SYMMETRIC));
  PetscCall(check_grid(MATBAIJ, PCLU, WIND));
  PetscCall(check_grid(MATSBAIJ, PCCHOLESKY, SYMMETRIC));
  PetscCall(check_file(MATAIJ, PCLU, WIND));
  PetscCall(check_file(MATSBAIJ, PCCHOLESKY, SYMMETRIC));
  PetscCall(check_singular(PCLU, tristar));
  PetscCall(check_singular(PCCHOLESKY, tristar));
  PetscCall(check_one_row(PCLU));
  PetscCall(check_blocks());
  if (tristar) { /* PETSc has no such factors of MUMPS */
    PetscCall(check_grid(MATSBAIJ, PCLU, SYMMETRIC));
    if (PetscDefined(USE_COMPLEX)) PetscCall(check_grid(MATAIJ, PCCHOLESKY, HERMITIAN));
    PetscCall(check_one_row("tristar"));
    PetscCall(check_singular("tristar", PETSC_FALSE));
    PetscCall(check_precond("fsai", SYMMETRIC));
    PetscCall(check_precond("fsai", WIND));
    PetscCall(check_precond("ilu", WIND));
    PetscCall(check_precond("ssor", SYMMETRIC));
    if (PetscDefined(USE_COMPLEX)) PetscCall(check_precond_of_halves("ilu"));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode run(int *argc, char ***argv) {
  char type[32] = "";
  PetscBool tristar;
  PetscCall(PetscInitialize(argc, argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-pc_factor_mat_solver_type", type, sizeof type, NULL));
  PetscCall(PetscStrcmp(type, "tristar", &tristar));
  PetscCall(check_all(tristar));
  PetscCall(PetscFinalize());
  return 0;
}

/* The status 77 means a skipped test, but it is also the code of PETSC_ERR_PLIB. */
int main(int argc, char **argv) {
  if (run(&argc, &argv) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  return 0;
}
