#!/usr/bin/env bash
# Open MPI 4.1.4 (Debian 12, 4.1.4-3+b1), three ranks of one node: the bits of an element of MPI_Allreduce (MPI_DOUBLE, MPI_SUM) depend on
# how many elements are summed with it: among 512 to 1023 of them some have other bits than alone, among fewer or more they have not.
# With 2, 4, 5, 6 and 7 ranks all bits are those of sums alone, whatever the count.
# Guess: the order of summation depends on the ranks alone, or changes once, for long vectors, so that what holds for small and large
# counts holds between them. MPI promises the same result only for the same call.
# Seen, of the first 500 elements of random vectors (elements with other bits than alone):
#   3 ranks: count 511: 0, count 512: 20, count 1023: 7, count 1024: 0, count 20000: 0; 4 ranks: 0 for all counts
# Consequence: norms of several vectors that share one call are no longer those of each vector alone, bit by bit, so that an iteration
# with 600 vectors at a time takes other steps than one by one. Sums gathered and added in the order of ranks have one result.
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
#include <stdlib.h>
#include <string.h>
enum { SHOWN = 500, MOST = 20000 };
static double own[MOST], sum[MOST], alone[SHOWN];
int main(int argc, char **argv) {
  static const int counts[] = {511, 512, 1023, 1024, MOST};
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  srand((unsigned)rank + 1);
  for (int i = 0; i < MOST; i++) own[i] = rand() / (double)RAND_MAX - 0.5;
  for (int i = 0; i < SHOWN; i++) MPI_Allreduce(&own[i], &alone[i], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks:", ranks);
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    int others = 0;
    MPI_Allreduce(own, sum, counts[c], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < SHOWN; i++) others += memcmp(&sum[i], &alone[i], sizeof *sum) != 0;
    if (rank == 0) printf(" count %d: %d,", counts[c], others);
  }
  if (rank == 0) printf("\n");
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
for ranks in 3 4; do
  timeout 100 root/usr/bin/mpiexec.openmpi --oversubscribe --mca mpi_yield_when_idle 1 --mca btl self,vader -n $ranks ./program >>output 2>log ||
    { cat log; echo "skipped: $ranks ranks cannot be started"; exit 77; }
done
cat output
grep -q '^3 ranks: count 511: 0, count 512: [1-9].*, count 1023: [1-9].*, count 1024: 0, count 20000: 0,' output &&
  grep -q '^4 ranks: count 511: 0, count 512: 0, count 1023: 0, count 1024: 0, count 20000: 0,' output
