#!/usr/bin/env bash
# OpenBLAS 0.3.21 (Debian 12, 0.3.21+ds-4): dtrsm with the triangle on the left multiplies by rounded reciprocals of the diagonal, and
# dtrsv divides. A triangle with one right-hand side has two solutions: 49 x = 49 gives x = 1 - 2^-53 by dtrsm and x = 1 by dtrsv.
# Guess: both divide, as the loops of the reference BLAS 3.11.0 do for a triangle on the left; for one column both give the same x.
# Seen, with the kernels of Haswell, Nehalem and Prescott: of the quotients j / i of 1 to 199, 9030 of 39601 are not the closest number to
# j / i by dtrsm, none by dtrsv.
# Consequence: a diagonal system with an integer solution need not be solved exactly, a solver that calls dtrsv for one right-hand side and
# dtrsm for several gives a column other bits in a group than alone, and tests of "same bits" must compare calls of one kind.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libopenblas0-pthread=0.3.21+ds-4 libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 libquadmath0=12.2.0-14+deb12u1; do
  apt-get download -q "$package" >log 2>&1 || { cat log; echo "skipped: $package cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
folder=$PWD/root/usr/lib/x86_64-linux-gnu
cat >program.c <<'C'
#include <stdio.h>
void dtrsm_(const char *side, const char *uplo, const char *op, const char *diag, const int *m, const int *n, const double *alpha,
            const double *a, const int *lda, double *b, const int *ldb);
void dtrsv_(const char *uplo, const char *op, const char *diag, const int *n, const double *a, const int *lda, double *x, const int *incx);
int main(void) {
  int one = 1, by_trsm = 0, by_trsv = 0, all = 0;
  double alpha = 1;
  for (int i = 1; i < 200; i++)
    for (int j = 1; j < 200; j++, all++) {
      double a = i, b = j, x = j, quotient = (double)j / i;
      dtrsm_("L", "L", "N", "N", &one, &one, &alpha, &a, &one, &b, &one);
      dtrsv_("L", "N", "N", &one, &a, &one, &x, &one);
      by_trsm += b != quotient;
      by_trsv += x != quotient;
      if (i == 49 && j == 49) printf("49 x = 49: x = 1 - %g by dtrsm, 1 - %g by dtrsv\n", 1 - b, 1 - x);
    }
  printf("not the closest number: %d by dtrsm, %d by dtrsv, of %d\n", by_trsm, by_trsv, all);
}
C
cc program.c -o reference -L"$folder/blas" -l:libblas.so.3 2>log &&
  cc program.c -o openblas -L"$folder/openblas-pthread" -l:libopenblas.so.0 2>>log ||
  { cat log; echo "skipped: there is no C compiler"; exit 77; }
{
  echo "reference:"
  LD_LIBRARY_PATH=$folder:$folder/blas ./reference
  for core in Haswell Nehalem Prescott; do
    echo "OpenBLAS, $core:"
    LD_LIBRARY_PATH=$folder:$folder/openblas-pthread OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=$core ./openblas
  done
} | tee output
expected='reference:
49 x = 49: x = 1 - 0 by dtrsm, 1 - 0 by dtrsv
not the closest number: 0 by dtrsm, 0 by dtrsv, of 39601'
for core in Haswell Nehalem Prescott; do
  expected="$expected
OpenBLAS, $core:
49 x = 49: x = 1 - 1.11022e-16 by dtrsm, 1 - 0 by dtrsv
not the closest number: 9030 by dtrsm, 0 by dtrsv, of 39601"
done
[ "$(cat output)" = "$expected" ] || { echo "changed: other quotients"; exit 1; }
echo "OpenBLAS 0.3.21: dtrsm and dtrsv of one column differ, as described"
