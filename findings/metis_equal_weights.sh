#!/usr/bin/env bash
# METIS 5.1.0 (Debian 12, 5.1.0.dfsg-7): METIS_NodeND orders a graph otherwise if all vertices have the weight 3 than if all have
# the weight 1, with the same seed. Guess: only ratios of weights matter, so equal weights are no weights. Without weights and with
# ones the orders agree. Consequence: a graph that was compressed to nodes of 3 unknowns each needs no weights, and gets another
# ordering with them.
# Seen on a grid of 60 x 60 vertices: ones agree with NULL, threes differ; each order repeats.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
version=5.1.0.dfsg-7
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libmetis5 libmetis-dev; do
  apt-get download -q "$package=$version" >log 2>&1 || { cat log; echo "skipped: $package $version cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
libraries=$(dirname "$(find root -name 'libmetis.so.5' | head -n 1)")
cat >program.c <<'C'
#include <metis.h>
#include <stdio.h>
#include <string.h>
enum { K = 60, N = K * K };
static idx_t ptr[N + 1], adjacent[4 * N], weight[N];
static void order(idx_t value, idx_t *perm) {
  idx_t n = N, options[METIS_NOPTIONS];
  static idx_t inverse[N];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 7;
  for (int i = 0; i < N; i++) weight[i] = value;
  if (METIS_NodeND(&n, ptr, adjacent, value > 0 ? weight : NULL, options, perm, inverse) != METIS_OK) puts("error");
}
int main(void) {
  static idx_t none[N], ones[N], threes[N], again[N];
  int at = 0;
  for (int i = 0; i < N; i++) {
    if (i % K > 0) adjacent[at++] = i - 1;
    if (i % K < K - 1) adjacent[at++] = i + 1;
    if (i >= K) adjacent[at++] = i - K;
    if (i < N - K) adjacent[at++] = i + K;
    ptr[i + 1] = at;
  }
  order(0, none), order(1, ones), order(3, threes), order(3, again);
  printf("ones: %s, threes: %s, threes again: %s\n", memcmp(none, ones, sizeof none) ? "differ" : "as without",
         memcmp(none, threes, sizeof none) ? "differ" : "as without", memcmp(threes, again, sizeof again) ? "differ" : "repeat");
  return 0;
}
C
cc -I root/usr/include program.c -o program -L "$libraries" -l:libmetis.so.5 -lm
LD_LIBRARY_PATH=$libraries ./program | tee output
grep -qx 'ones: as without, threes: differ, threes again: repeat' output || { echo "changed: equal weights are handled otherwise"; exit 1; }
echo "METIS $version: weights that are all 3 change the ordering, as described"
