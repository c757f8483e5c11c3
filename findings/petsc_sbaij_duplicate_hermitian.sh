#!/usr/bin/env bash
# PETSc 3.18.5, complex scalars (Debian 12, 3.18.5+dfsg1-1): the duplicate of a Hermitian matrix of type SBAIJ (upper triangle alone,
# MatSetOption MAT_HERMITIAN) is another matrix: it multiplies with the transpose of the upper triangle in place of its adjoint, and
# is marked as symmetric and not Hermitian. MAT_HERMITIAN, set again on the duplicate, changes the mark, not the product.
# Guess: MatDuplicate gives an equal matrix, or at worst loses the option.
# Seen, of A = [2 i; -i 2], SeqSBAIJ: the product of A with (1, 0), and whether A is marked as Hermitian and symmetric
#   matrix: (2+0i, 0-1i) hermitian 1 symmetric 0; duplicate: (2+0i, 0+1i) hermitian 0 symmetric 1; set again: (2+0i, 0+1i) 1 0
# Consequence: iterations on a duplicate solve another system, without an error. A conversion to AIJ before keeps the matrix.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
version=3.18.5+dfsg1-1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libpetsc-complex3.18 libpetsc-complex3.18-dev libpetsc3.18-dev-common; do
  apt-get download -q "$package=$version" >log 2>&1 || { cat log; echo "skipped: $package $version cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
libraries=$PWD/root/usr/lib/x86_64-linux-gnu
common=$(dirname "$(find root -name petscmat.h | head -n 1)") own=$(dirname "$(find root -name petscconf.h | head -n 1)")
cat >program.c <<'C'
#include <petscmat.h>
#include <stdio.h>
static void show(const char *name, Mat a) {
  const PetscScalar *y;
  PetscBool set, hermitian, symmetric;
  Vec in, out;
  MatCreateVecs(a, &in, &out);
  VecSetValue(in, 0, 1, INSERT_VALUES);
  VecAssemblyBegin(in);
  VecAssemblyEnd(in);
  MatMult(a, in, out);
  MatIsHermitianKnown(a, &set, &hermitian);
  MatIsSymmetricKnown(a, &set, &symmetric);
  VecGetArrayRead(out, &y);
  printf("%s: (%g%+gi, %g%+gi) hermitian %d symmetric %d\n", name, PetscRealPart(y[0]), PetscImaginaryPart(y[0]), PetscRealPart(y[1]),
         PetscImaginaryPart(y[1]), (int)hermitian, (int)symmetric);
}
int main(int argc, char **argv) {
  Mat a, duplicate, converted;
  PetscInitialize(&argc, &argv, NULL, NULL);
  MatCreateSeqSBAIJ(PETSC_COMM_SELF, 1, 2, 2, 2, NULL, &a);
  MatSetOption(a, MAT_HERMITIAN, PETSC_TRUE);
  MatSetValue(a, 0, 0, 2, INSERT_VALUES);
  MatSetValue(a, 1, 1, 2, INSERT_VALUES);
  MatSetValue(a, 0, 1, PETSC_i, INSERT_VALUES);
  MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY);
  show("matrix", a);
  MatDuplicate(a, MAT_COPY_VALUES, &duplicate);
  show("duplicate", duplicate);
  MatSetOption(duplicate, MAT_HERMITIAN, PETSC_TRUE);
  show("set again", duplicate);
  MatConvert(a, MATSEQAIJ, MAT_INITIAL_MATRIX, &converted);
  show("converted", converted);
  PetscFinalize();
  return 0;
}
C
OMPI_CC=cc mpicc -I "$own" -I "$common" program.c -o program "$(find "$libraries" -name 'libpetsc_complex.so.3.18*' | sort | tail -n 1)" \
  -Wl,--allow-shlib-undefined 2>log || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
LD_LIBRARY_PATH=$libraries ./program >output 2>log || { cat log; echo "skipped: the program cannot start"; exit 77; }
cat output
if ! diff - output <<'T'; then echo "changed: PETSc duplicates Hermitian matrices of type SBAIJ in another way"; exit 1; fi
matrix: (2+0i, 0-1i) hermitian 1 symmetric 0
duplicate: (2+0i, 0+1i) hermitian 0 symmetric 1
set again: (2+0i, 0+1i) hermitian 1 symmetric 0
converted: (2+0i, 0-1i) hermitian 1 symmetric 0
T
echo "PETSc $version: the duplicate of a Hermitian SBAIJ matrix is another matrix, as described"
