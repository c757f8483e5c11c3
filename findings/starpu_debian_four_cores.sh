#!/usr/bin/env bash
# StarPU 1.3.10 (Debian 12, 1.3.10+dfsg-2) runs four CPU workers at most, on any machine, as it is compiled with STARPU_MAXCPUS 4.
# starpu_init succeeds and reduces a larger STARPU_NCPU or ncpus. Only that macro in the headers shows the limit.
# Guess: a worker for each core; a limit of a distribution's package is far beyond the cores of a workstation.
# Seen, on a machine of 16 cores that hwloc simulates: 4 workers, also with STARPU_NCPU=16.
# Consequence: a program linked to the package uses a quarter of 16 cores; a StarPU of one's own needs --enable-maxcpus=N.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
version=1.3.10+dfsg-2
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
#include <starpu.h>
#include <stdio.h>
int main(void) {
  if (starpu_init(NULL) != 0) return 1;
  printf("STARPU_MAXCPUS %d, workers: %u\n", STARPU_MAXCPUS, starpu_cpu_worker_get_count());
  starpu_shutdown();
  return 0;
}
C
cc -I "$headers" program.c -o program "$library" 2>log || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
unset HWLOC_COMPONENTS STARPU_NCPU
export HWLOC_SYNTHETIC="core:16 1" STARPU_WORKERS_NOBIND=1 STARPU_SILENT=1 STARPU_HOME=$work
LD_LIBRARY_PATH=$(dirname "$library")
export LD_LIBRARY_PATH
{
  echo "default: $(./program 2>log)"
  echo "STARPU_NCPU=16: $(STARPU_NCPU=16 ./program 2>log)"
} | tee output
expected="default: STARPU_MAXCPUS 4, workers: 4
STARPU_NCPU=16: STARPU_MAXCPUS 4, workers: 4"
[ "$(cat output)" = "$expected" ] || { cat log; echo "changed: StarPU has another limit"; exit 1; }
echo "StarPU $version: four workers at most, as described"
