#!/usr/bin/env bash
# StarPU 1.3.10 (Debian 12, 1.3.10+dfsg-2): starpu_init ignores the affinity mask of the process: its workers are bound
# to cores outside the mask that taskset, Slurm or mpiexec --bind-to core have set. Guess: workers stay in the mask, as OpenMP's
# threads do. Consequence: ranks that mpiexec binds to one core each share all cores of the node.
# Seen, under taskset -c 1 on a machine with 2 cores: 2 CPU workers, one of them runs on core 0.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had, or there is one core only.
set -eu
version=1.3.10+dfsg-2
[ "$(nproc --all)" -ge 2 ] || { echo "skipped: one core"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libstarpu-1.3-9 libstarpu-dev; do
  apt-get download -q "$package=$version" >log 2>&1 || { cat log; echo "skipped: $package $version cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
library=$(find root -name 'libstarpu-1.3.so.*' | head -n 1)
headers=$(dirname "$(find root -name starpu.h | head -n 1)")
cat >program.c <<'C'
#define _GNU_SOURCE
#include <sched.h>
#include <starpu.h>
#include <stdio.h>
int main(void) {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  printf("mask: %d core\n", CPU_COUNT(&mask));
  if (starpu_init(NULL) != 0) return 1;
  int outside = 0;
  for (unsigned w = 0; w < starpu_cpu_worker_get_count(); w++) outside += !CPU_ISSET(starpu_worker_get_bindid((int)w), &mask);
  printf("workers: %u, outside of the mask: %d\n", starpu_cpu_worker_get_count(), outside);
  starpu_shutdown();
  return 0;
}
C
cc -I "$headers" program.c -o program "$library" 2>log || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
STARPU_SILENT=1 STARPU_HOME=$work LD_LIBRARY_PATH=$(dirname "$library") taskset -c 1 ./program 2>log | tee output
grep -qE '^workers: [0-9]+, outside of the mask: [1-9]' output || { cat log; echo "changed: StarPU stays in the mask"; exit 1; }
echo "StarPU $version: workers leave the mask, as described"
