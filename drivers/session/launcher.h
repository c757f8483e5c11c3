/* Launchers of processes (mpiexec, srun and the like), by the variables that they set: Open MPI, MPICH and
 * its relatives, MVAPICH, Slurm, IBM's jsrun, Flux. Works in builds without MPI too. */
#pragma once

typedef struct tsi_launch {
  int processes;        /* started together with this one; 1: it was started alone */
  int rank;             /* 0 .. processes - 1 */
  const char *variable; /* that holds the number of processes; NULL: no launcher was found */
} tsi_launch;

/* Of several launchers the first in the order above counts: mpiexec may have been started by Slurm. */
tsi_launch tsi_launched(void);

/* In a build without MPI: says so, once for all processes, and returns TSI_EXIT_FAILED. option: what asks for
 * MPI; NULL: that the command was started as one of several processes. */
int tsi_fail_without_mpi(const char *command, const char *option);
