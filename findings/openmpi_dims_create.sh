#!/usr/bin/env bash
# Open MPI 4.1.4 (Debian 12, 4.1.4-3+b1): MPI_Dims_create of 72 processes in two dimensions returns 12 x 6. It deals out the prime
# factors, the largest first, to the dimension that is smallest so far, and does not compare the results.
# Guess: 9 x 8, as the MPI standard asks for dimensions "as close to each other as possible".
# Consequence: a grid of processes for matrices in blocks (ScaLAPACK, SuperLU_DIST) is twice as long as wide where a square one exists.
# Seen: 20 numbers of processes up to 1024 have a grid that is closer to a square: 72 (9 x 8), 180, 240, 288 (24 x 12, not 18 x 16),
# 336, 420, 450, 504, 540, 600, 648, 675 (45 x 15, not 27 x 25), 720, 756, 792, 800, 864, 924, 945, 960. All others get the closest.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
version=4.1.4-3+b1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libopenmpi3=$version libopenmpi-dev=$version openmpi-bin=$version openmpi-common=4.1.4-3; do
  apt-get download -q "$package" >log 2>&1 || { cat log; echo "skipped: $package cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
libraries=$(dirname "$(find "$PWD/root" -name 'libmpi.so.40*' -type f | head -n 1)")
cat >program.c <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int uneven = 0;
  MPI_Init(&argc, &argv);
  for (int processes = 1; processes <= 1024; processes++) {
    int sizes[2] = {0, 0}, best = 1;
    MPI_Dims_create(processes, 2, sizes);
    for (int k = 1; k * k <= processes; k++)
      if (processes % k == 0) best = k;
    if (sizes[1] == best) continue;
    uneven++;
    printf("%d: %d x %d, not %d x %d\n", processes, sizes[0], sizes[1], processes / best, best);
  }
  printf("of 1 to 1024 processes: %d others\n", uneven);
  MPI_Finalize();
  return 0;
}
C
include=$(dirname "$(find "$PWD/root" -name mpi.h | head -n 1)")
cc -I "$include" program.c -o program "$libraries"/libmpi.so.40 -Wl,--allow-shlib-undefined 2>log ||
  { cat log; echo "skipped: there is no compiler, or libraries are missing"; exit 77; }
export LD_LIBRARY_PATH=$libraries OPAL_PREFIX=$PWD/root/usr OPAL_LIBDIR=$libraries OPAL_DATADIR=$PWD/root/usr/share
export OPAL_PKGLIBDIR=$libraries/openmpi/lib/openmpi3 OPAL_PKGDATADIR=$PWD/root/usr/share/openmpi OPAL_SYSCONFDIR=$PWD/root/etc/openmpi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
timeout 100 root/usr/bin/mpiexec.openmpi --mca btl self,vader -n 1 ./program >output 2>log || { cat log; echo "skipped: MPI cannot be started"; exit 77; }
cat output
grep -q '^72: 12 x 6, not 9 x 8$' output || { echo "changed: 72 processes are 9 x 8"; exit 1; }
