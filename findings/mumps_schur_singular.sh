#!/usr/bin/env bash
# MUMPS 5.5.1 (Debian 12, libmumps-seq 5.5.1-1): with a requested Schur complement (ICNTL(19) = 1) an exactly singular matrix of the
# variables that are eliminated is no error: INFOG(1) is 0, and the complement has entries of 1e15. The same matrix alone, without a
# Schur complement, ends with INFOG(1) = -10, "numerically singular".
# Guess: the same error, as the complement A_SS - A_SI A_II^-1 A_IS does not exist.
# Seen, for A = [1 1 1; 1 1 2; 1 2 3] with the third variable in the Schur complement, and for A_II = [1 1; 1 1] alone:
#   with a Schur complement: INFOG(1) 0, its entry 1e15 and more; regular A_II: INFOG(1) 0, its entry -2; A_II alone: INFOG(1) -10
# INFOG(28), the number of null pivots, is 0; ICNTL(24), which requests their detection, is off.
# Consequence: domain decomposition with floating subdomains gets meaningless complements without an error.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
version=5.5.1-1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libmumps-seq-5.5 libmumps-seq-dev libmumps-headers-dev; do
  apt-get download -q "$package=$version" >log 2>&1 || { cat log; echo "skipped: $package $version cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
library=$(find root -name 'libdmumps_seq*.so' -o -name 'libdmumps_seq-5.5*.so*' | grep -v '\.a$' | head -n 1)
libraries=$(dirname "$(find root -name 'libdmumps_seq-5.5*.so*' | head -n 1)")
headers=$(dirname "$(find root -name dmumps_c.h | head -n 1)")
sequential=$(dirname "$(find root -path '*mumps_seq*' -name mpi.h | head -n 1)")
cat >program.c <<'C'
#include <dmumps_c.h>
#include <stdio.h>
/* The leading part of order n of A, with its last variable in a Schur complement or not. */
static void factor(const char *name, double first, int n, int schur) {
  const double a[3][3] = {{first, 1, 1}, {1, 1, 2}, {1, 2, 3}};
  MUMPS_INT row[9], column[9], last = n;
  double value[9], complement = 0;
  DMUMPS_STRUC_C id = {.job = -1, .par = 1, .sym = 0, .comm_fortran = -987654};
  for (int e = 0; e < n * n; e++) row[e] = e / n + 1, column[e] = e % n + 1, value[e] = a[e / n][e % n];
  dmumps_c(&id);
  for (int k = 0; k < 4; k++) id.icntl[k] = k == 3 ? 0 : -1; /* no output */
  id.n = n, id.nnz = n * n, id.irn = row, id.jcn = column, id.a = value;
  id.icntl[18] = schur, id.size_schur = schur, id.listvar_schur = &last, id.schur = &complement;
  id.job = 4;
  dmumps_c(&id);
  printf("%s: INFOG(1) %d, INFOG(28) %d, %s\n", name, (int)id.infog[0], (int)id.infog[27],
         complement > 1e14 || complement < -1e14 ? "huge" : complement < -1.99 && complement > -2.01 ? "-2" : "none");
  id.job = -2;
  dmumps_c(&id);
}
int main(void) {
  factor("singular, Schur", 1, 3, 1);
  factor("regular, Schur", 2, 3, 1);
  factor("singular, alone", 1, 2, 0);
  return 0;
}
C
cc -I "$headers" -I "$sequential" program.c -o program "$library" -Wl,--allow-shlib-undefined 2>log || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
LD_LIBRARY_PATH=$libraries ./program | tee output
grep -q '^singular, Schur: INFOG(1) 0, INFOG(28) 0, huge$' output && grep -q '^regular, Schur: INFOG(1) 0, INFOG(28) 0, -2$' output &&
  grep -q '^singular, alone: INFOG(1) -10,' output
