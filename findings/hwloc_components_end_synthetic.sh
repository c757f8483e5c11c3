#!/usr/bin/env bash
# hwloc 2.9.0 (Debian 12, 2.9.0-1): HWLOC_SYNTHETIC has no effect, without a message, as soon as HWLOC_COMPONENTS is set, even to
# "-pci", which removes only a way to find PCI devices. The same holds for HWLOC_XMLFILE.
# Guess: one variable chooses the machine, the other one removes a component from the discovery; both hold.
# Seen, for a synthetic machine of 16 cores: 16 cores; with HWLOC_COMPONENTS=-pci the cores of the real machine, "this system";
# with HWLOC_COMPONENTS=synthetic 16 again. For an XML file of the same machine: 16; real; 16 with HWLOC_COMPONENTS=xml.
# Consequence: a test that simulates a large machine, in a job that speeds hwloc up by HWLOC_COMPONENTS=-pci, tests the real one;
# everything above hwloc (StarPU, Open MPI) follows.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had, or the machine has 16 cores.
set -eu
version=2.9.0-1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libhwloc15 libhwloc-dev; do
  apt-get download -q "$package=$version" >log 2>&1 || { cat log; echo "skipped: $package $version cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
library=$(find root -name 'libhwloc.so.15*' | head -n 1)
cat >program.c <<'C'
#include <hwloc.h>
#include <stdio.h>
int main(int count, char **names) {
  hwloc_topology_t topology;
  hwloc_topology_init(&topology);
  if (hwloc_topology_load(topology) != 0) return 1;
  printf("%d cores, %s\n", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE),
         hwloc_topology_is_thissystem(topology) ? "this system" : "another one");
  if (count > 1 && hwloc_topology_export_xml(topology, names[1], 0) != 0) return 1;
  hwloc_topology_destroy(topology);
  return 0;
}
C
cc -I root/usr/include program.c -o program "$library" 2>log || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
export LD_LIBRARY_PATH=$PWD/$(dirname "$library")
unset HWLOC_COMPONENTS HWLOC_SYNTHETIC HWLOC_XMLFILE
real=$(./program)
[ "${real%% *}" != 16 ] || { echo "skipped: this machine has 16 cores"; exit 77; }
synthetic="core:16 1"
run() { echo "$1: $(env "${@:2}" ./program)"; }
{
  run synthetic HWLOC_SYNTHETIC="$synthetic"
  HWLOC_SYNTHETIC="$synthetic" ./program machine.xml >log
  run "synthetic and -pci" HWLOC_SYNTHETIC="$synthetic" HWLOC_COMPONENTS=-pci
  run "synthetic twice" HWLOC_SYNTHETIC="$synthetic" HWLOC_COMPONENTS=synthetic
  run "file" HWLOC_XMLFILE=machine.xml
  run "file and -pci" HWLOC_XMLFILE=machine.xml HWLOC_COMPONENTS=-pci
  run "file twice" HWLOC_XMLFILE=machine.xml HWLOC_COMPONENTS=xml
} | tee output
expected="synthetic: 16 cores, another one
synthetic and -pci: $real
synthetic twice: 16 cores, another one
file: 16 cores, another one
file and -pci: $real
file twice: 16 cores, another one"
[ "$(cat output)" = "$expected" ] || { echo "changed: HWLOC_COMPONENTS and the machine are combined in another way"; exit 1; }
echo "hwloc $version: the synthetic machine is dropped, as described"
