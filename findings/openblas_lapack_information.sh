#!/usr/bin/env bash
# OpenBLAS 0.3.21 (Debian 12, 0.3.21+ds-4, its own LAPACK routines): info = 0 of dpotrf and dgetrf where the reference LAPACK 3.11.0
# reports a breakdown, or has a right factor.
# 1. dpotrf of 2 I of order 8 with a NaN as fourth diagonal entry. Guess: info = 4, as the reference tests for NaN on purpose.
#    Seen: info = 0, and NaN in the factor.
# 2. dgetrf of a regular matrix of order 8 whose entries are subnormal (multiples of 1e-310). Guess: multipliers of at most 1, as the
#    reference divides by a pivot whose reciprocal overflows. Seen: info = 0, and infinite multipliers.
# Both for the kernels of Haswell, Nehalem and Prescott. Consequence: programs that call LAPACK through a system's alternatives must search
# factors for NaN and infinity; info does not report them.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libopenblas0-pthread=0.3.21+ds-4 libblas3=3.11.0-2 liblapack3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 \
               libquadmath0=12.2.0-14+deb12u1; do
  apt-get download -q "$package" >log 2>&1 || { cat log; echo "skipped: $package cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
folder=$PWD/root/usr/lib/x86_64-linux-gnu
cat >program.c <<'C'
#include <math.h>
#include <stdio.h>
#include <string.h>
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
int main(void) {
  enum { n = 8 };
  int order = n, info, pivots[n];
  double a[n * n], largest = 0;
  memset(a, 0, sizeof a);
  for (int i = 0; i < n; i++) a[i * (n + 1)] = 2;
  a[3 * (n + 1)] = NAN;
  dpotrf_("L", &order, a, &order, &info);
  printf("dpotrf of a NaN: info %d\n", info);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) a[i + j * n] = ((i == j ? 40 : 0) + 1 + (3 * i + 5 * j) % 7) * 1e-310;
  dgetrf_(&order, &order, a, &order, pivots, &info);
  for (int j = 0; j < n; j++)
    for (int i = j + 1; i < n; i++) largest = fmax(largest, fabs(a[i + j * n]));
  printf("dgetrf of subnormal entries: info %d, multipliers %s\n", info, largest <= 1 ? "at most 1" : "beyond 1");
}
C
cc program.c -o reference -L"$folder/lapack" -L"$folder/blas" -l:liblapack.so.3 -l:libblas.so.3 -lm 2>log &&
  cc program.c -o openblas -L"$folder/openblas-pthread" -l:libopenblas.so.0 -lm 2>>log ||
  { cat log; echo "skipped: there is no C compiler"; exit 77; }
{
  echo "reference:"
  LD_LIBRARY_PATH=$folder:$folder/lapack:$folder/blas ./reference
  for core in Haswell Nehalem Prescott; do
    echo "OpenBLAS, $core:"
    LD_LIBRARY_PATH=$folder:$folder/openblas-pthread OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=$core ./openblas
  done
} | tee output
expected='reference:
dpotrf of a NaN: info 4
dgetrf of subnormal entries: info 0, multipliers at most 1'
for core in Haswell Nehalem Prescott; do
  expected="$expected
OpenBLAS, $core:
dpotrf of a NaN: info 0
dgetrf of subnormal entries: info 0, multipliers beyond 1"
done
[ "$(cat output)" = "$expected" ] || { echo "changed: another info or other factors"; exit 1; }
echo "OpenBLAS 0.3.21: info 0 with NaN and infinity in factors, as described"
