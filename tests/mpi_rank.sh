#!/bin/sh
# mpi_rank.sh PROGRAM ARGUMENT...: runs one rank, with a STARPU_HOME of its own: ranks that start at the same time
# would read each other's half-written files. The rank is told by Open MPI, by MPICH and its kin, or by Slurm.
STARPU_HOME=${STARPU_HOME:-.}/rank${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}
export STARPU_HOME
mkdir -p "$STARPU_HOME"
exec "$@"
