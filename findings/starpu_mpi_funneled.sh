#!/usr/bin/env bash
# StarPU-MPI 1.3.10 (Debian 12, 1.3.10+dfsg-2) after PetscInitialize of PETSc 3.18.5: PETSc initializes MPI with MPI_THREAD_FUNNELED,
# starpu_mpi_init_comm returns 0, and from then on a thread of StarPU calls MPI, which this level allows to the main thread alone.
# Guess: an error, or calls from the main thread, as StarPU-MPI asks for MPI_THREAD_SERIALIZED where it initializes MPI itself.
# Seen on 2 ranks that exchange one variable, calls of MPI_Isend, MPI_Irecv and MPI_Test from other threads than the main one:
#   PETSc first: level FUNNELED, 0 returned, some from other threads (a line of StarPU names the level and calls this safe);
#   PETSC_MPI_THREAD_REQUIRED = MPI_THREAD_MULTIPLE before PetscInitialize: level MULTIPLE, as any thread may call then.
# Consequence: a program with PETSc and StarPU-MPI must set that variable, or initialize MPI itself, before PetscInitialize; no status
# says so. An MPI library is free to fail or to lose messages at the lower level (Open MPI's shared memory happens to work).
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
starpu=1.3.10+dfsg-2 petsc=3.18.5+dfsg1-1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in libstarpu-1.3-9=$starpu libstarpumpi-1.3-3=$starpu libstarpu-dev=$starpu libpetsc-real3.18=$petsc \
  libpetsc-real3.18-dev=$petsc libpetsc3.18-dev-common=$petsc; do
  apt-get download -q "$package" >log 2>&1 || { cat log; echo "skipped: $package cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
libraries=$PWD/root/usr/lib/x86_64-linux-gnu
common=$(dirname "$(find root -name petscsys.h | head -n 1)") own=$(dirname "$(find root -name petscconf.h | head -n 1)")
cat >program.c <<'C'
#include <petscsys.h>
#include <starpu.h>
#include <starpu_mpi.h>
#include <stdio.h>
#include <string.h>
static int others; /* calls from other threads than the main one */
static void look(void) {
  int main_thread;
  PMPI_Is_thread_main(&main_thread);
  if (!main_thread) __atomic_add_fetch(&others, 1, __ATOMIC_RELAXED);
}
int (MPI_Isend)(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r) {
  look();
  return PMPI_Isend(b, n, t, to, tag, c, r);
}
int (MPI_Irecv)(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r) {
  look();
  return PMPI_Irecv(b, n, t, from, tag, c, r);
}
int (MPI_Test)(MPI_Request *r, int *flag, MPI_Status *s) {
  look();
  return PMPI_Test(r, flag, s);
}
int main(int argc, char **argv) {
  int level, rank, value;
  starpu_data_handle_t handle;
  MPI_Status status;
  if (strcmp(argv[1], "multiple") == 0) PETSC_MPI_THREAD_REQUIRED = MPI_THREAD_MULTIPLE;
  PetscInitialize(&argc, &argv, NULL, NULL);
  MPI_Query_thread(&level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (starpu_init(NULL) != 0) return 2;
  const int returned = starpu_mpi_init_comm(NULL, NULL, 0, MPI_COMM_WORLD);
  value = rank == 0 ? 42 : 0;
  starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
  if (rank == 0) starpu_mpi_send(handle, 1, 7, MPI_COMM_WORLD);
  else starpu_mpi_recv(handle, 0, 7, MPI_COMM_WORLD, &status);
  starpu_data_unregister(handle);
  starpu_mpi_shutdown();
  starpu_shutdown();
  if (rank == 1)
    printf("%s: level %s, returned %d, received %d, calls from other threads: %s\n", argv[1],
           level == MPI_THREAD_FUNNELED ? "FUNNELED" : level == MPI_THREAD_MULTIPLE ? "MULTIPLE" : "other", returned, value,
           others > 0 ? "some" : "none");
  PetscFinalize();
  return 0;
}
C
headers=$(find root -path '*starpu/1.3' -type d | head -n 1)
OMPI_CC=cc mpicc -I "$own" -I "$common" -I "$headers" program.c -o program \
  "$(find "$libraries" -name 'libpetsc_real.so.3.18*' | sort | tail -n 1)" \
  "$(find "$libraries" -name 'libstarpumpi-1.3.so.3*' | sort | tail -n 1)" "$(find "$libraries" -name 'libstarpu-1.3.so.9*' | sort | tail -n 1)" \
  -Wl,--allow-shlib-undefined 2>log || { cat log; echo "skipped: the program needs libraries that are not installed"; exit 77; }
export LD_LIBRARY_PATH=$libraries OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 STARPU_HOME=$work STARPU_NCPU=1
for mode in as_it_comes multiple; do
  mpirun --oversubscribe -np 2 -x LD_LIBRARY_PATH ./program $mode 2>log | tee -a output
done
if ! diff - output <<'T'; then echo "changed: PETSc asks for another level, or StarPU-MPI refuses it"; exit 1; fi
as_it_comes: level FUNNELED, returned 0, received 42, calls from other threads: some
multiple: level MULTIPLE, returned 0, received 42, calls from other threads: some
T
echo "StarPU-MPI $starpu: calls MPI from a thread of its own under MPI_THREAD_FUNNELED, as described"
