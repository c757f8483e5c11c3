#!/bin/sh
# mpi_rank.sh PROGRAM ARGUMENT...: runs one rank with a STARPU_HOME of its own, because ranks that start at the same time
# would read each other's half-written files. Its worker is bound to a core of its own if there are enough cores: StarPU
# binds the first worker of every process to the first core. StarPU 1.4 would bind its MPI thread to the same core; both
# poll. A variable of Open MPI, of MPICH and related libraries, or of Slurm holds the rank.
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}
STARPU_HOME=${STARPU_HOME:-${TMPDIR:-/tmp}/starpu-$(id -u)}/rank$rank
STARPU_WORKERS_CPUID=$((rank % $(nproc)))
STARPU_MPI_NOBIND=1
export STARPU_HOME STARPU_WORKERS_CPUID STARPU_MPI_NOBIND
[ -d "$STARPU_HOME" ] || mkdir -p "$STARPU_HOME"
exec "$@"
