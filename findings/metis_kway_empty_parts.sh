#!/usr/bin/env bash
# METIS 5.1.0 (Debian 12, 5.1.0.dfsg-7): METIS_PartGraphKway returns METIS_OK with parts that have no vertex, for a connected
# graph that has as many vertices as parts. Guess: each part gets a vertex, as n >= nparts; the manual names no exception.
# Seen: a path of 8 vertices in 8 parts: 3 parts used, status 1 (METIS_OK). METIS_PartGraphRecursive uses more of them.
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
int main(void) {
  idx_t n = 8, constraints = 1, parts = 8, cut, ptr[9], adjacent[14], part[8], at = 0;
  for (idx_t i = 0; i < n; i++) {
    ptr[i] = at;
    if (i > 0) adjacent[at++] = i - 1;
    if (i < n - 1) adjacent[at++] = i + 1;
  }
  ptr[n] = at;
  for (int way = 0; way < 2; way++) {
    int used = 0, seen[8] = {0};
    const int status = (way == 0 ? METIS_PartGraphKway : METIS_PartGraphRecursive)(
        &n, &constraints, ptr, adjacent, NULL, NULL, NULL, &parts, NULL, NULL, NULL, &cut, part);
    for (int i = 0; i < 8; i++)
      if (!seen[part[i]]++) used++;
    printf("%s: status %d, %d of 8 parts used\n", way == 0 ? "k-way" : "recursive", status, used);
  }
  return 0;
}
C
cc -I root/usr/include program.c -o program -L "$libraries" -l:libmetis.so.5 -lm
LD_LIBRARY_PATH=$libraries ./program | tee output
grep -qE '^k-way: status 1, [1-7] of 8 parts used$' output || { echo "changed: METIS_PartGraphKway leaves no part empty"; exit 1; }
echo "METIS $version: empty parts with METIS_OK, as described"
