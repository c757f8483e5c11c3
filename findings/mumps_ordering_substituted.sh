#!/usr/bin/env bash
# MUMPS 5.5.1 (Debian 12, libmumps-seq 5.5.1-1) is built without METIS. ICNTL(7) = 5, which requests METIS, is no error and no
# warning: INFOG(1) is 0, and INFOG(7) holds the ordering that was used instead. Guess: an error, or INFOG(1) > 0.
# Consequence: a comparison of solvers "with METIS" compares orderings, unless it checks INFOG(7).
# Seen, on a 2D grid of 20 x 20: INFOG(1) = 0, INFOG(7) = 2 (AMF), not 5.
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
int main(void) {
  enum { K = 20, N = K * K };
  static MUMPS_INT row[5 * N], column[5 * N];
  static double value[5 * N];
  int entries = 0;
  for (int i = 0; i < N; i++) {
    const int near[] = {i, i % K ? i - 1 : -1, i % K < K - 1 ? i + 1 : -1, i - K, i + K < N ? i + K : -1};
    for (int k = 0; k < 5; k++)
      if (near[k] >= 0) row[entries] = i + 1, column[entries] = near[k] + 1, value[entries++] = k ? -1 : 5;
  }
  DMUMPS_STRUC_C id = {.job = -1, .par = 1, .sym = 0, .comm_fortran = -987654};
  dmumps_c(&id);
  for (int k = 0; k < 4; k++) id.icntl[k] = k == 3 ? 0 : -1; /* no output */
  id.icntl[6] = 5;
  id.n = N, id.nnz = entries, id.irn = row, id.jcn = column, id.a = value;
  id.job = 1;
  dmumps_c(&id);
  printf("INFOG(1) = %d, INFOG(7) = %d\n", (int)id.infog[0], (int)id.infog[6]);
  id.job = -2;
  dmumps_c(&id);
  return 0;
}
C
cc -I "$headers" -I "$sequential" program.c -o program "$library" -Wl,--allow-shlib-undefined 2>log || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
LD_LIBRARY_PATH=$libraries ./program | tee output
grep -qE '^INFOG\(1\) = 0, INFOG\(7\) = [0-46]$' output || { echo "changed: MUMPS takes METIS, or says that it cannot"; exit 1; }
echo "MUMPS $version: another ordering without a word, as described"
