#!/usr/bin/env bash
# MUMPS 5.5.1 (Debian 12, libmumps-seq 5.5.1-1): the detection of null pivots (ICNTL(24) = 1) with the default threshold, CNTL(3) = 0,
# finds the null pivot of small matrices only. A Laplacian without boundary conditions has exactly one. Rounding errors leave about
# 1e-16 times an entry in place of its last pivot, which the default threshold takes for a regular one: INFOG(1) 0, INFOG(28) 0.
# Guess: the default suits double precision, so pivots that are rounding errors count as null.
# Seen on k x k grids (5-point stencil, entries -1, 2, 3, 4; ordering AMD), general (SYM 0) and symmetric (SYM 2) storage:
#   CNTL(3) 0: INFOG(28) is 1 on 8 and 7 of the 8 grids with k = 2 to 9, but on 1 of the 40 with k = 40 to 79
#   CNTL(3) 1e-10: INFOG(28) is 1 on all
# Consequence: deficiency, null space and inertia are those of a regular matrix, with no sign of it, and tests on small matrices pass.
# A program that requests null pivots must set CNTL(3).
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
library=$(find root -name 'libdmumps_seq*.so' -o -name 'libdmumps_seq-5.5*.so*' | head -n 1)
headers=$(dirname "$(find root -name dmumps_c.h | head -n 1)")
sequential=$(dirname "$(find root -path '*mumps_seq*' -name mpi.h | head -n 1)")
cat >program.c <<'C'
#include <dmumps_c.h>
#include <stdio.h>
#include <stdlib.h>
/* Whether MUMPS finds the one null pivot of the Laplacian of a k x k grid without boundary conditions. */
static int finds(int k, int symmetry, double threshold) {
  const int n = k * k;
  int *row = malloc(sizeof(int) * 5 * (size_t)n), *column = malloc(sizeof(int) * 5 * (size_t)n), entries = 0;
  double *value = malloc(sizeof(double) * 5 * (size_t)n);
  for (int i = 0; i < n; i++) {
    const int next[4] = {i % k + 1 < k ? i + 1 : -1, i + k < n ? i + k : -1, i % k > 0 ? i - 1 : -1, i >= k ? i - k : -1};
    int neighbours = 0;
    for (int d = 0; d < 4; d++) {
      if (next[d] < 0) continue;
      neighbours++;
      if (symmetry == 2 && d >= 2) continue; /* one triangle */
      row[entries] = next[d] + 1, column[entries] = i + 1, value[entries++] = -1;
    }
    row[entries] = column[entries] = i + 1, value[entries++] = neighbours;
  }
  DMUMPS_STRUC_C id = {.job = -1, .par = 1, .sym = symmetry, .comm_fortran = -987654};
  dmumps_c(&id);
  for (int q = 0; q < 4; q++) id.icntl[q] = q == 3 ? 0 : -1; /* no output */
  id.n = n, id.nnz = entries, id.irn = row, id.jcn = column, id.a = value;
  id.icntl[6] = 0;  /* ordering: AMD */
  id.icntl[23] = 1; /* find null pivots */
  id.cntl[2] = threshold;
  id.job = 4; /* analyse and factor */
  dmumps_c(&id);
  const int found = id.infog[0] == 0 && id.infog[27] == 1;
  id.job = -2;
  dmumps_c(&id);
  free(row), free(column), free(value);
  return found;
}
int main(void) {
  for (int symmetry = 0; symmetry <= 2; symmetry += 2)
    for (int set = 0; set < 2; set++) {
      int small = 0, large = 0;
      for (int k = 2; k < 10; k++) small += finds(k, symmetry, set ? 1e-10 : 0);
      for (int k = 40; k < 80; k++) large += finds(k, symmetry, set ? 1e-10 : 0);
      printf("SYM %d, CNTL(3) %s: found on %d of 8 small grids, %d of 40 larger ones\n", symmetry, set ? "1e-10" : "0", small, large);
    }
  return 0;
}
C
cc -I "$headers" -I "$sequential" program.c -o program "$library" -Wl,--allow-shlib-undefined 2>log || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
LD_LIBRARY_PATH=$(dirname "$library") ./program | tee output
changed=0
for symmetry in 0 2; do
  grep -q "^SYM $symmetry, CNTL(3) 0: found on [678] of 8 small grids, [0-9] of 40 larger ones$" output &&
    grep -q "^SYM $symmetry, CNTL(3) 1e-10: found on 8 of 8 small grids, 40 of 40 larger ones$" output ||
    changed=1
done
[ $changed = 0 ] || { echo "changed: which null pivots are found"; exit 1; }
echo "MUMPS $version: the default threshold finds null pivots of small matrices only, as described"
