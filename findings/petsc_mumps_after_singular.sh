#!/usr/bin/env bash
# PETSc 3.18.5 (Debian 12, 3.18.5+dfsg1-1) with MUMPS 5.5.1 as MatSolverType: after one singular factorization a KSP cannot be used
# again, although its matrix gets regular values in the same pattern.
# Guess: the next KSPSolve factors the new values and solves, as it does with PETSc's own LU, SuperLU and SuperLU_DIST.
# Seen, for [1 1; 1 a] with a = 2, 1, 2, one KSP (preonly, LU), KSPSetOperators before each solve (CONVERGED_ITS is 4,
# DIVERGED_PC_FAILED -11, 76 an error in an external library):
#   petsc: a = 2: error 0, reason 4; a = 1: error 0, reason -11; a = 2: error 0, reason 4
#   mumps: a = 2: error 0, reason 4; a = 1: error 0, reason -11; a = 2: error 76, "MUMPS in solve phase: INFOG(1)=-3"
# Consequence: a Newton or time-stepping loop that shortens its step after a failed factorization must make a new KSP.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
version=3.18.5+dfsg1-1 mumps=5.5.1-1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libpetsc-real3.18=$version libpetsc-real3.18-dev=$version libpetsc3.18-dev-common=$version libmumps-5.5=$mumps; do
  apt-get download -q "$package" >log 2>&1 || { cat log; echo "skipped: $package cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
libraries=$PWD/root/usr/lib/x86_64-linux-gnu
common=$(dirname "$(find root -name petscksp.h | head -n 1)") own=$(dirname "$(find root -name petscconf.h | head -n 1)")
cat >program.c <<'C'
#include <petscksp.h>
#include <stdio.h>
static void solve_three(const char *type) {
  Mat a;
  Vec x;
  KSP ksp;
  PC pc;
  MatCreateSeqAIJ(PETSC_COMM_SELF, 2, 2, 2, NULL, &a);
  MatCreateVecs(a, &x, NULL);
  KSPCreate(PETSC_COMM_SELF, &ksp);
  KSPSetType(ksp, KSPPREONLY);
  KSPGetPC(ksp, &pc);
  PCSetType(pc, PCLU);
  PCFactorSetMatSolverType(pc, type);
  for (int k = 0; k < 3; k++) {
    const double values[] = {1, 1, 1, k == 1 ? 1 : 2};
    for (int e = 0; e < 4; e++) MatSetValue(a, e / 2, e % 2, values[e], INSERT_VALUES);
    MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY);
    MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY);
    KSPSetOperators(ksp, a, a);
    VecSet(x, 1);
    KSPConvergedReason reason = 0;
    int error = KSPSolve(ksp, x, x);
    KSPGetConvergedReason(ksp, &reason);
    printf("%s, a = %g: error %d, reason %d\n", type, values[3], error, error ? 0 : (int)reason);
  }
}
int main(int argc, char **argv) {
  PetscInitialize(&argc, &argv, NULL, NULL);
  PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
  solve_three("petsc");
  solve_three("mumps");
  return 0;
}
C
OMPI_CC=cc mpicc -I "$own" -I "$common" program.c -o program "$(find "$libraries" -name 'libpetsc_real.so.3.18*' | sort | tail -n 1)" \
  -Wl,--allow-shlib-undefined 2>log || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
LD_LIBRARY_PATH=$libraries ./program | tee output
if ! diff - output <<'T'; then echo "changed: MUMPS through PETSc goes on in another way"; exit 1; fi
petsc, a = 2: error 0, reason 4
petsc, a = 1: error 0, reason -11
petsc, a = 2: error 0, reason 4
mumps, a = 2: error 0, reason 4
mumps, a = 1: error 0, reason -11
mumps, a = 2: error 76, reason 0
T
echo "PETSc $version: no solve with MUMPS after a singular factorization, as described"
