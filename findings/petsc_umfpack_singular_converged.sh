#!/usr/bin/env bash
# PETSc 3.18.5 (Debian 12, 3.18.5+dfsg1-1) with UMFPACK as MatSolverType: a singular matrix is factored without an error, and KSPSolve
# (preonly, LU) ends with CONVERGED_ITS and an x that is not finite. UMFPACK itself returns a warning that the matrix is singular.
# Guess: DIVERGED_PC_FAILED with PC_FACTOR_NUMERIC_ZEROPIVOT, as with PETSc's own LU, SuperLU, SuperLU_DIST and MUMPS.
# Seen, for [1 1; 1 1] and b = (1, 2), which has no solution (CONVERGED_ITS is 4, DIVERGED_PC_FAILED -11):
#   petsc: reason -11; superlu: reason -11; umfpack: reason 4, x not finite
# Consequence: a program that treats a positive reason as a solution, as the manual states, continues with NaN or Inf.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
version=3.18.5+dfsg1-1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libpetsc-real3.18 libpetsc-real3.18-dev libpetsc3.18-dev-common; do
  apt-get download -q "$package=$version" >log 2>&1 || { cat log; echo "skipped: $package $version cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
libraries=$PWD/root/usr/lib/x86_64-linux-gnu
common=$(dirname "$(find root -name petscksp.h | head -n 1)") own=$(dirname "$(find root -name petscconf.h | head -n 1)")
cat >program.c <<'C'
#include <math.h>
#include <petscksp.h>
#include <stdio.h>
static void solve(const char *type) {
  Mat a;
  Vec b, x;
  KSP ksp;
  PC pc;
  KSPConvergedReason reason = 0;
  double norm = 0;
  MatCreateSeqAIJ(PETSC_COMM_SELF, 2, 2, 2, NULL, &a);
  for (int e = 0; e < 4; e++) MatSetValue(a, e / 2, e % 2, 1, INSERT_VALUES);
  MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY);
  MatCreateVecs(a, &x, &b);
  VecSetValue(b, 0, 1, INSERT_VALUES);
  VecSetValue(b, 1, 2, INSERT_VALUES);
  KSPCreate(PETSC_COMM_SELF, &ksp);
  KSPSetOperators(ksp, a, a);
  KSPSetType(ksp, KSPPREONLY);
  KSPGetPC(ksp, &pc);
  PCSetType(pc, PCLU);
  PCFactorSetMatSolverType(pc, type);
  int error = KSPSolve(ksp, b, x);
  KSPGetConvergedReason(ksp, &reason);
  VecNorm(x, NORM_2, &norm);
  printf("%s: error %d, reason %d, x %s\n", type, error, (int)reason, isfinite(norm) ? "finite" : "not finite");
}
int main(int argc, char **argv) {
  PetscInitialize(&argc, &argv, NULL, NULL);
  solve("petsc");
  solve("superlu");
  solve("umfpack");
  return 0;
}
C
OMPI_CC=cc mpicc -I "$own" -I "$common" program.c -o program "$(find "$libraries" -name 'libpetsc_real.so.3.18*' | sort | tail -n 1)" \
  -Wl,--allow-shlib-undefined 2>log || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
LD_LIBRARY_PATH=$libraries ./program | tee output
grep -q '^petsc: error 0, reason -11,' output && grep -q '^superlu: error 0, reason -11,' output &&
  grep -q '^umfpack: error 0, reason 4, x not finite$' output || { echo "changed: PETSc reports the singular matrix of UMFPACK in another way"; exit 1; }
echo "PETSc $version: converged with UMFPACK on a singular matrix, as described"
