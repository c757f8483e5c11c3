#!/usr/bin/env bash
# RBio of SuiteSparse 5.12 (Debian 12, 1:5.12.0+dfsg-2): RBwrite chooses the type of the file by the values, not by the caller's type.
# Guess: an array of doubles, written with the kind "real", makes a file of real numbers ("rua"), whatever the doubles are.
# Seen: if all are integers the file has the type "iua" and Fortran's format of integers, and if all are 1 it is a pattern without values
# ("pua"), which the returned type shows, but no status. One value of 1.5 beside them, or one integer of 12 digits, makes it "rua".
# Where it meets SciPy 1.10.1: hb_read returns integers for "iua", so the dtype of a matrix changes with its values, and refuses "pua":
# "Only real or integer matrices supported". RBread itself returns all of them as doubles.
# Consequence: a reader of Rutherford-Boeing files must accept integers as real numbers; a matrix of ones from RBwrite has no values left,
# and a solver cannot know that they were ones.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in librbio2=1:5.12.0+dfsg-2 libsuitesparseconfig5=1:5.12.0+dfsg-2 libsuitesparse-dev=1:5.12.0+dfsg-2 \
               python3-scipy=1.10.1-2 python3-numpy=1:1.24.2-1+deb12u1 python3-decorator=5.1.1-3 libblas3=3.11.0-2 \
               liblapack3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 libquadmath0=12.2.0-14+deb12u1; do
  apt-get download -q "$package" >log 2>&1 || { cat log; echo "skipped: $package cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
[ -x /usr/bin/python3.11 ] && command -v gcc >/dev/null || { echo "skipped: there is no gcc or no python3.11"; exit 77; }
libraries=$PWD/root/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH=$libraries:$libraries/blas:$libraries/lapack
export PYTHONPATH=$PWD/root/usr/lib/python3/dist-packages OPENBLAS_NUM_THREADS=1
cat >program.c <<'C'
#include <RBio.h>
#include <stdio.h>
static void write(char *name, double a, double b, double c) {
  SuiteSparse_long first[] = {0, 2, 3}, row[] = {0, 1, 1}; /* [a 0; b c] */
  double value[] = {a, b, c};
  char type[4];
  const SuiteSparse_long status = RBwrite(name, "a triangle", "triangle", 2, 2, first, row, value, NULL, NULL, NULL, 0, type);
  printf("%s: status %ld, %s\n", name, (long)status, type);
}
int main(void) {
  write("mixed", 1, 1, 1.5);
  write("integers", 2, -3, 4);
  write("long", 123456789012, 1, 2);
  write("ones", 1, 1, 1);
  return 0;
}
C
gcc -I root/usr/include/suitesparse program.c -L "$libraries" -l:librbio.so.2 -l:libsuitesparseconfig.so.5 -o program
cat >program.py <<'P'
from scipy.io import hb_read
for name in "mixed", "integers", "long", "ones":
    try:
        print(name + ": hb_read:", hb_read(name).dtype)
    except ValueError as error:
        print(name + ": hb_read:", str(error)[:43])
P
{ ./program && /usr/bin/python3.11 -s program.py; } | tee output
tr '\n' ';' <output | grep -q '^mixed: status 0, rua;integers: status 0, iua;long: status 0, rua;ones: status 0, pua;mixed: hb_read: float64;integers: hb_read: int64;long: hb_read: float64;ones: hb_read: Only real or integer matrices supported for;$' ||
  { echo "changed: types are chosen otherwise, or hb_read reads them otherwise"; exit 1; }
echo "RBio of SuiteSparse 5.12: the values choose the type of the file, as described"
