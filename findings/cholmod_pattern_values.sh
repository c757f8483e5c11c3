#!/usr/bin/env bash
# CHOLMOD 3.0.14 of SuiteSparse 5.12.0 (Debian 12, 1:5.12.0+dfsg-2): cholmod_read_sparse gives values of its own to a Matrix Market
# file "pattern symmetric": -1 off the diagonal, 1 + degree on each stored diagonal entry. Guess: all entries are 1, as
# scipy.io.mmread reads the same file, and as CHOLMOD itself reads "pattern general".
# Seen, for a path of 3 vertices with its diagonal: 2 -1 3 -1 2 (symmetric), 1 1 1 1 1 1 1 (general).
# Consequence: residuals and determinants of one file differ between solvers, for another matrix was read; a comparison needs the
# values in the file, or the same reader for all.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
version=1:5.12.0+dfsg-2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libcholmod3 libamd2 libcolamd2 libccolamd2 libcamd2 libsuitesparseconfig5 libsuitesparse-dev; do
  apt-get download -q "$package=$version" >log 2>&1 || { cat log; echo "skipped: $package $version cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
libraries=$(dirname "$(find root -name 'libcholmod.so.3*' | head -n 1)")
headers=$(dirname "$(find root -name cholmod.h | head -n 1)")
printf '%s\n' '%%MatrixMarket matrix coordinate pattern symmetric' '3 3 5' '1 1' '2 1' '2 2' '3 2' '3 3' >symmetric.mtx
printf '%s\n' '%%MatrixMarket matrix coordinate pattern general' '3 3 7' '1 1' '2 1' '1 2' '2 2' '3 2' '2 3' '3 3' >general.mtx
cat >program.c <<'C'
#include <cholmod.h>
#include <stdio.h>
int main(int count, char **names) {
  cholmod_common common;
  cholmod_start(&common);
  for (int k = 1; k < count; k++) {
    FILE *file = fopen(names[k], "r");
    cholmod_sparse *a = cholmod_read_sparse(file, &common);
    fclose(file);
    if (a == NULL || a->xtype != CHOLMOD_REAL) return 1;
    printf("%s:", names[k]);
    for (int e = 0; e < ((int *)a->p)[a->ncol]; e++) printf(" %g", ((double *)a->x)[e]);
    printf("\n");
    cholmod_free_sparse(&a, &common);
  }
  return 0;
}
C
cc -I "$headers" program.c -o program "$(find "$libraries" -name 'libcholmod.so.3*' | head -n 1)" -Wl,--allow-shlib-undefined 2>log ||
  { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
LD_LIBRARY_PATH=$libraries ./program symmetric.mtx general.mtx 2>log | tee output
[ -s output ] || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
grep -q '^symmetric.mtx: 2 -1 3 -1 2$' output && grep -q '^general.mtx: 1 1 1 1 1 1 1$' output ||
  { echo "changed: CHOLMOD gives other values"; exit 1; }
echo "CHOLMOD of SuiteSparse 5.12.0: values of its own, as described"
