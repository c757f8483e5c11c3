#!/usr/bin/env bash
# hypre 2.26.0 (Debian 12, 2.26.0-3): functions return the errors of all earlier calls of the process, not their own. After one solve
# that reaches its limit of iterations, a solve that converges returns HYPRE_ERROR_CONV (256) as well, and so does each later
# function, such as HYPRE_IJVectorCreate, although it does its job. HYPRE_ClearAllErrors sets the flag to 0.
# Guess: the code of a function concerns that call, as in PETSc, LAPACK and MPI; a new solver starts without errors.
# Consequence: a program that tries again with more iterations, or tests the code of a call that allocates, sees a failure for good.
# Seen with conjugate gradients on a chain of 50 unknowns, at most 1000, 5 and 1000 iterations, a new solver each: solve 0, 256, 256,
# the third with a residual below the tolerance; a new vector after each 0, 256, 256; with HYPRE_ClearAllErrors before the fourth 0, 0.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
version=2.26.0-3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libhypre-2.26.0 libhypre-dev; do
  apt-get download -q "$package=$version" >log 2>&1 || { cat log; echo "skipped: $package $version cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
library=$(find "$PWD/root" -name 'libHYPRE-2.26.0.so' -o -name 'libHYPRE.so' | head -n 1)
headers=$(dirname "$(find "$PWD/root" -name HYPRE_parcsr_ls.h | head -n 1)")
cat >program.c <<'C'
#include <HYPRE.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_krylov.h>
#include <HYPRE_IJ_mv.h>
#include <mpi.h>
#include <stdio.h>
enum { N = 50 };
/* Returns the code of a solve with at most `most` iterations; *residual is the relative residual that it ends with. */
static int solve(HYPRE_ParCSRMatrix A, HYPRE_ParVector b, HYPRE_ParVector x, int most, double *residual) {
  HYPRE_Solver pcg;
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &pcg);
  HYPRE_PCGSetTol(pcg, 1e-10);
  HYPRE_PCGSetTwoNorm(pcg, 1);
  HYPRE_PCGSetMaxIter(pcg, most);
  HYPRE_ParVectorSetConstantValues(x, 0);
  HYPRE_ParCSRPCGSetup(pcg, A, b, x);
  int code = HYPRE_ParCSRPCGSolve(pcg, A, b, x);
  HYPRE_PCGGetFinalRelativeResidualNorm(pcg, residual);
  HYPRE_ParCSRPCGDestroy(pcg);
  return code;
}
int main(int argc, char **argv) {
  double residual;
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  HYPRE_IJMatrix matrix;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, 0, N - 1, 0, N - 1, &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(matrix);
  for (int i = 0; i < N; i++) {
    int columns[3], count = 0;
    double values[3];
    for (int j = i - 1; j <= i + 1; j++)
      if (j >= 0 && j < N) columns[count] = j, values[count++] = j == i ? 2 : -1;
    HYPRE_IJMatrixSetValues(matrix, 1, &count, &i, columns, values);
  }
  HYPRE_IJMatrixAssemble(matrix);
  void *A, *b, *x;
  HYPRE_IJMatrixGetObject(matrix, &A);
  HYPRE_IJVector vectors[2];
  for (int k = 0; k < 2; k++) {
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, 0, N - 1, &vectors[k]);
    HYPRE_IJVectorSetObjectType(vectors[k], HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(vectors[k]);
    for (int i = 0; i < N; i++) {
      double value = i + 1;
      HYPRE_IJVectorSetValues(vectors[k], 1, &i, &value);
    }
    HYPRE_IJVectorAssemble(vectors[k]);
  }
  HYPRE_IJVectorGetObject(vectors[0], &b);
  HYPRE_IJVectorGetObject(vectors[1], &x);
  for (int k = 0; k < 4; k++) {
    static const int most[] = {1000, 5, 1000, 1000};
    if (k == 3) HYPRE_ClearAllErrors();
    int code = solve(A, b, x, most[k], &residual);
    HYPRE_IJVector other;
    int created = HYPRE_IJVectorCreate(MPI_COMM_WORLD, 0, N - 1, &other);
    printf("%d: at most %d iterations%s: solve %d, residual %s, next vector %d\n", k + 1, most[k], k == 3 ? ", errors cleared" : "", code,
           residual <= 1e-10 ? "small" : "large", created);
    HYPRE_IJVectorSetObjectType(other, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(other);
    HYPRE_IJVectorDestroy(other);
  }
  HYPRE_Finalize();
  MPI_Finalize();
  return 0;
}
C
mpi=$(pkg-config --cflags --libs ompi-c 2>/dev/null || pkg-config --cflags --libs mpi-c) || { echo "skipped: there is no MPI to compile with"; exit 77; }
cc -I "$headers" program.c -o program "$library" $mpi -lm 2>log || { cat log; echo "skipped: there is no compiler, or libraries are missing"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
LD_LIBRARY_PATH=$(dirname "$library") timeout 60 ./program >output 2>log || { cat log; echo "skipped: the program cannot run"; exit 77; }
cat output
grep -q '^3: .*: solve 256, residual small, next vector 256$' output && grep -q '^4: .*: solve 0, residual small, next vector 0$' output ||
  { echo "changed: codes concern one call"; exit 1; }
