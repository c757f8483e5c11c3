#!/usr/bin/env bash
# CHOLMOD 3.0.14 of SuiteSparse 5.12.0 (Debian 12, 1:5.12.0+dfsg-2): cholmod_updown(FALSE, ...) that makes the matrix indefinite
# returns TRUE with status CHOLMOD_OK, minor = n and a reciprocal condition of 0.79; D has a negative entry, and cholmod_solve solves
# the indefinite system. An L L^T factor becomes L D L^T (is_ll 0). Guess: CHOLMOD_NOT_POSDEF, and minor < n, as
# cholmod_factorize reports such a matrix, and as LAPACK users expect of downdates.
# Seen, for tridiag(1, 4, 1) of order 3 minus 9 e3 e3^T: the same from an L D L^T and from an L L^T factor. Only cholmod_change_factor
# to L L^T sets CHOLMOD_NOT_POSDEF afterwards, with minor = 0.
# Consequence: a program that downdates to test whether a matrix stays definite (active sets, trust regions) must check the signs of D.
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
cat >program.c <<'C'
#include <cholmod.h>
#include <stdio.h>
static cholmod_sparse *make(int columns, int count, const int *i, const int *j, const double *x, cholmod_common *c) {
  cholmod_triplet *t = cholmod_allocate_triplet(3, columns, count, columns == 3 ? -1 : 0, CHOLMOD_REAL, c);
  for (int k = 0; k < count; k++) ((int *)t->i)[k] = i[k], ((int *)t->j)[k] = j[k], ((double *)t->x)[k] = x[k];
  t->nnz = count;
  return cholmod_triplet_to_sparse(t, count, c);
}
static void downdate(int ll, cholmod_common *c) {
  c->final_ll = ll;
  c->supernodal = CHOLMOD_SIMPLICIAL;
  cholmod_sparse *a = make(3, 5, (int[]){0, 1, 1, 2, 2}, (int[]){0, 0, 1, 1, 2}, (double[]){4, 1, 4, 1, 4}, c);
  cholmod_factor *l = cholmod_analyze(a, c);
  cholmod_factorize(a, l, c);
  int at = 0, negative = 0;
  while (((int *)l->Perm)[at] != 2) at++;
  cholmod_sparse *w = make(1, 1, &at, (int[]){0}, (double[]){3}, c);
  const int was_ll = l->is_ll, done = cholmod_updown(0, w, l, c);
  for (int k = 0; k < 3; k++) negative += ((double *)l->x)[((int *)l->p)[k]] < 0;
  printf("is_ll %d to %d: updown %d, status %d, minor %d, rcond %.2f, negative in D %d;", was_ll, l->is_ll, done, c->status,
         (int)l->minor, cholmod_rcond(l, c), negative);
  cholmod_dense *b = cholmod_ones(3, 1, CHOLMOD_REAL, c), *x = cholmod_solve(CHOLMOD_A, l, b, c);
  const double *v = x->x;
  printf(" A x = %.3f %.3f %.3f;", 4 * v[0] + v[1], v[0] + 4 * v[1] + v[2], v[1] - 5 * v[2]);
  cholmod_change_factor(CHOLMOD_REAL, 1, 0, 1, 1, l, c);
  printf(" as L L^T: status %d, minor %d\n", c->status, (int)l->minor);
}
int main(void) {
  cholmod_common common;
  cholmod_start(&common);
  common.print = 0;
  downdate(0, &common);
  downdate(1, &common);
  return 0;
}
C
cc -I "$headers" program.c -o program "$(find "$libraries" -name 'libcholmod.so.3*' | head -n 1)" -Wl,--allow-shlib-undefined 2>log ||
  { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
LD_LIBRARY_PATH=$libraries ./program 2>log | tee output
[ -s output ] || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
seen='updown 1, status 0, minor 3, rcond 0.79, negative in D 1; A x = 1.000 1.000 1.000; as L L^T: status 1, minor 0'
for from in 0 1; do
  grep -qxF "is_ll $from to 0: $seen" output || { echo "changed: CHOLMOD reports downdates otherwise"; exit 1; }
done
echo "CHOLMOD of SuiteSparse 5.12.0: an indefinite downdate is no error, as described"
