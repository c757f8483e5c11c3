#!/bin/sh
# mpi_rank.sh PROGRAM ARGUMENT...: runs one rank, which Open MPI, MPICH and its kin, or Slurm number.
#   - a STARPU_HOME of its own: ranks that start at the same time would read each other's half-written files
#   - a core of its own for its worker, as far as there are cores: unbound ranks would all bind theirs to core 0
rank=${OMPI_COMM_WORLD_LOCAL_RANK:-${PMI_RANK:-${SLURM_LOCALID:-0}}}
STARPU_HOME=${STARPU_HOME:-.}/rank$rank
STARPU_WORKERS_CPUID=$((rank % $(nproc)))
export STARPU_HOME STARPU_WORKERS_CPUID
mkdir -p "$STARPU_HOME"
exec "$@"
