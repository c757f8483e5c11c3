#!/usr/bin/env bash
# Scotch 7.0.3 (Debian 12, 7.0.3-2): SCOTCH_graphOrder of the same graph with the same strategy gives another permutation in a second
# call of the same process. Guess: an ordering is a function of its arguments, as each run of a program gives the same one.
# The generator of the library keeps its state between calls; SCOTCH_randomReset before each call makes them equal. Consequence: the
# order, and with it the bits of a factorization, depend on what other parts of a program ordered before.
# Seen on a grid of 60 x 60 vertices: the second call differs; after SCOTCH_randomReset it is equal.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
version=7.0.3-2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libscotch-7.0 libscotch-dev; do
  apt-get download -q "$package=$version" >log 2>&1 || { cat log; echo "skipped: $package $version cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
header=$(find root -path '*scotch-int32*' -name scotch.h | head -n 1)
library=$(find root -path '*scotch-int32/libscotch-7.0.so' | head -n 1)
cat >program.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <scotch.h>
enum { K = 60, N = K * K };
static SCOTCH_Num ptr[N + 1], adjacent[4 * N], first[N], second[N], third[N];
static void order(SCOTCH_Num *perm) {
  SCOTCH_Graph graph;
  SCOTCH_Strat strategy;
  SCOTCH_graphInit(&graph);
  SCOTCH_stratInit(&strategy);
  if (SCOTCH_graphBuild(&graph, 0, N, ptr, NULL, NULL, NULL, ptr[N], adjacent, NULL) ||
      SCOTCH_graphOrder(&graph, &strategy, perm, NULL, NULL, NULL, NULL))
    puts("error");
  SCOTCH_stratExit(&strategy);
  SCOTCH_graphExit(&graph);
}
int main(void) {
  int at = 0;
  for (int i = 0; i < N; i++) {
    if (i % K > 0) adjacent[at++] = i - 1;
    if (i % K < K - 1) adjacent[at++] = i + 1;
    if (i >= K) adjacent[at++] = i - K;
    if (i < N - K) adjacent[at++] = i + K;
    ptr[i + 1] = at;
  }
  order(first);
  order(second);
  SCOTCH_randomReset();
  order(third);
  printf("second call: %s, after a reset: %s\n", memcmp(first, second, sizeof first) ? "differs" : "equal",
         memcmp(first, third, sizeof first) ? "differs" : "equal");
  return 0;
}
C
cc -I "$(dirname "$header")" program.c -o program "$library" "$(dirname "$library")/libscotcherr-7.0.so" -lm
LD_LIBRARY_PATH=$(dirname "$library") ./program | tee output
grep -qx 'second call: differs, after a reset: equal' output || { echo "changed: orders of Scotch repeat, or do not after a reset"; exit 1; }
echo "Scotch $version: the second order differs, as described"
