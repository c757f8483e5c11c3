#!/usr/bin/env bash
# hwloc 2.9.0 (Debian 12, 2.9.0-1): HWLOC_COMPONENTS=-pci leaves the discovery of PCI devices on. It removes the component of
# that name, a plug-in that uses libpciaccess; then the component linux finds the same devices in sysfs, and reads the registers of each.
# Guess: without the component pci there are no PCI devices in the topology, and no component searches for them.
# Seen, with I/O objects requested: PCI devices with -pci as without it, and their files "config" are opened; none, and no
# such file opened, with "-pci,-linux:pci", which removes the phase pci from the component linux, too.
# Consequence: a job that sets -pci to start faster (StarPU and Open MPI load a topology with I/O objects) gains nothing where
# the kernel answers for registers slowly, as virtual machines do; a third of a short run was spent there.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had, or the machine has no PCI device.
set -eu
version=2.9.0-1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
[ -n "$(ls /sys/bus/pci/devices 2>/dev/null)" ] || { echo "skipped: this machine has no PCI device"; exit 77; }
for package in libhwloc15 libhwloc-dev; do
  apt-get download -q "$package=$version" >log 2>&1 || { cat log; echo "skipped: $package $version cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
library=$(find root -name 'libhwloc.so.15*' | head -n 1)
# openat of this program, which counts the files of registers before it calls that of libc: hwloc opens files by it alone
cat >program.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <hwloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
static int opened;
static void note(const char *path) {
  const size_t length = strlen(path);
  opened += strstr(path, "pci") != NULL && length > 7 && strcmp(path + length - 7, "/config") == 0;
}
int openat(int folder, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  note(path);
  return ((int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat"))(folder, path, flags, mode);
}
int main(void) {
  hwloc_topology_t topology;
  hwloc_topology_init(&topology);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) != 0) return 1;
  printf("PCI devices: %s; files of registers: %s\n",
         hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PCI_DEVICE) > 0 ? "some" : "none", opened > 0 ? "opened" : "not opened");
  hwloc_topology_destroy(topology);
  return 0;
}
C
cc -I root/usr/include -rdynamic program.c -o program "$library" -ldl 2>log ||
  { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
export LD_LIBRARY_PATH=$PWD/$(dirname "$library") HWLOC_PLUGINS_PATH=$PWD
unset HWLOC_SYNTHETIC HWLOC_XMLFILE HWLOC_FSROOT
for components in "" -pci -pci,-linux:pci; do
  printf '[%s] %s\n' "$components" "$(env ${components:+HWLOC_COMPONENTS=$components} ./program)"
done | tee seen
cat >expected <<'TEXT'
[] PCI devices: some; files of registers: opened
[-pci] PCI devices: some; files of registers: opened
[-pci,-linux:pci] PCI devices: none; files of registers: not opened
TEXT
cmp -s seen expected || { echo "changed: -pci stops the discovery, or -linux:pci does not"; exit 1; }
echo "hwloc $version: PCI devices are found without the component pci, as described"
