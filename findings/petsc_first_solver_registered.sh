#!/usr/bin/env bash
# PETSc 3.18.5 (Debian 12, 3.18.5+dfsg1-1): MatSolverTypeRegister, called before any matrix exists, loses every other solver for the
# rest of the program, PETSc's own LU included. A call of MatInitializePackage beforehand prevents it.
# Guess: a registration adds a solver, at any time after PetscInitialize; the manual page names no condition.
# Seen, availability of LU of a SeqAIJ matrix by MatGetFactorAvailable:
#   none registered: petsc 1, mumps 1, mine 0; registered: petsc 0, mumps 0, mine 1; MatInitializePackage first: petsc 1, mumps 1, mine 1
# Consequence: a plug-in that -dll_prepend or -dll_append loads removes all other solvers ("Could not locate solver type").
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
common=$(dirname "$(find root -name petscmat.h | head -n 1)") own=$(dirname "$(find root -name petscconf.h | head -n 1)")
cat >program.c <<'C'
#include <petscmat.h>
#include <stdio.h>
#include <string.h>
static PetscErrorCode make_factor(Mat a, MatFactorType type, Mat *factor) {
  (void)a, (void)type;
  *factor = NULL;
  return PETSC_ERR_SUP;
}
int main(int argc, char **argv) {
  const char *mode = argv[1], *solvers[] = {"petsc", "mumps", "mine"};
  Mat a;
  PetscInitialize(&argc, &argv, NULL, NULL);
  if (strcmp(mode, "initialized") == 0) MatInitializePackage();
  if (strcmp(mode, "none") != 0) MatSolverTypeRegister("mine", MATSEQAIJ, MAT_FACTOR_LU, make_factor);
  MatCreateSeqAIJ(PETSC_COMM_SELF, 2, 2, 2, NULL, &a);
  printf("%s:", mode);
  for (int k = 0; k < 3; k++) {
    PetscBool available;
    MatGetFactorAvailable(a, solvers[k], MAT_FACTOR_LU, &available);
    printf(" %s %d", solvers[k], (int)available);
  }
  printf("\n");
  MatDestroy(&a);
  return 0;
}
C
OMPI_CC=cc mpicc -I "$own" -I "$common" program.c -o program "$(find "$libraries" -name 'libpetsc_real.so.3.18*' | sort | tail -n 1)" \
  -Wl,--allow-shlib-undefined 2>log || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
for mode in none registered initialized; do LD_LIBRARY_PATH=$libraries ./program $mode; done | tee output
if ! diff - output <<'T'; then echo "changed: PETSc keeps its solvers, or offers others"; exit 1; fi
none: petsc 1 mumps 1 mine 0
registered: petsc 0 mumps 0 mine 1
initialized: petsc 1 mumps 1 mine 1
T
echo "PETSc $version: the first registration loses all other solvers, as described"
