#!/usr/bin/env bash
# hypre 2.26.0 (Debian 12, 2.26.0-3): a matrix that HYPRE_IJMatrixPrint writes and HYPRE_IJMatrixRead reads again is another matrix. It
# writes 15 digits, where a double needs 17. HYPRE_IJVectorPrint and HYPRE_IJVectorRead do the same.
# Guess: files of hypre for hypre keep the values, as those of PETSc (binary) and of SuiteSparse (as many digits as a value needs) do.
# Consequence: a dumped system is not the one that a program solved. Rows that sum to zero no longer do, so that a matrix without boundary
# conditions, singular by construction, becomes regular, with a condition of about 1e15.
# Seen with a cycle of 60 vertices with weights 1 / (i + 2) and their sum on the diagonal: values that differ, and rows whose sum exceeds
# the rounding errors of the sum by more than ten times.
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
headers=$(dirname "$(find "$PWD/root" -name HYPRE_IJ_mv.h | head -n 1)")
cat >program.c <<'C'
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_mv.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
enum { N = 60 };
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  HYPRE_IJMatrix matrix, again;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, 0, N - 1, 0, N - 1, &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(matrix);
  double exact[N][3];
  int columns[N][3], count = 3;
  for (int i = 0; i < N; i++) {
    int before = (i + N - 1) % N, after = (i + 1) % N;
    columns[i][0] = before, columns[i][1] = i, columns[i][2] = after;
    exact[i][0] = -1.0 / (before + 2), exact[i][2] = -1.0 / (i + 2);
    exact[i][1] = -(exact[i][0] + exact[i][2]);
    HYPRE_IJMatrixSetValues(matrix, 1, &count, &i, columns[i], exact[i]);
  }
  HYPRE_IJMatrixAssemble(matrix);
  HYPRE_IJMatrixPrint(matrix, "matrix");
  HYPRE_IJMatrixRead("matrix", MPI_COMM_WORLD, HYPRE_PARCSR, &again);
  int others = 0;
  double largest = 0;
  for (int i = 0; i < N; i++) {
    double values[3];
    HYPRE_IJMatrixGetValues(again, 1, &count, &i, columns[i], values);
    for (int k = 0; k < 3; k++) others += values[k] != exact[i][k];
    largest = fmax(largest, fabs(values[0] + values[2] + values[1]) / values[1]);
  }
  printf("%s of %d values differ; sums of rows / diagonal %s 10 x 2^-53\n", others > N ? "more than a third" : "few", 3 * N,
         largest > 10 * ldexp(1, -53) ? "beyond" : "within");
  HYPRE_IJMatrixDestroy(matrix);
  HYPRE_IJMatrixDestroy(again);
  HYPRE_IJVector vector, copy;
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, 0, 0, &vector);
  HYPRE_IJVectorSetObjectType(vector, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(vector);
  int row = 0;
  double third = 1.0 / 3, read = 0;
  HYPRE_IJVectorSetValues(vector, 1, &row, &third);
  HYPRE_IJVectorAssemble(vector);
  HYPRE_IJVectorPrint(vector, "vector");
  HYPRE_IJVectorRead("vector", MPI_COMM_WORLD, HYPRE_PARCSR, &copy);
  HYPRE_IJVectorGetValues(copy, 1, &row, &read);
  printf("a vector of 1/3 is read as %.17g\n", read);
  HYPRE_IJVectorDestroy(vector);
  HYPRE_IJVectorDestroy(copy);
  HYPRE_Finalize();
  MPI_Finalize();
}
C
mpicc -w -I"$headers" program.c -o program "$library" -Wl,-rpath,"$(dirname "$library")" -lm 2>log ||
  { cat log; echo "skipped: there is no mpicc, or libraries that hypre needs are missing"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
timeout 60 ./program >output || { cat output; echo "the program failed: no MPI here, or a changed library"; exit 1; }
cat output
head -n 3 matrix.00000
[ "$(cat output)" = "more than a third of 180 values differ; sums of rows / diagonal beyond 10 x 2^-53
a vector of 1/3 is read as 0.33333333333333298" ] || { echo "changed: other digits"; exit 1; }
echo "hypre 2.26.0: printed matrices lose digits, as described"
