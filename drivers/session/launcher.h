/* Detects launchers of processes (mpiexec, srun and others) by the variables that they set: Open MPI, MPICH
 * and its relatives, MVAPICH, Slurm, IBM's jsrun, Flux. Works in builds without MPI too. */
#pragma once

typedef struct tsi_launch {
  int processes;        /* number of processes started together; 1: this one was started alone */
  int rank;             /* 0 .. processes - 1 */
  const char *variable; /* variable that holds the number of processes; NULL: no launcher was found */
} tsi_launch;

/* If several launchers are found, the first in the order above counts: Slurm may have started mpiexec. */
tsi_launch tsi_launched(void);

/* For builds without MPI: rank 0 prints an error, and all processes return TSI_EXIT_FAILED. option: the
 * option that needs MPI; NULL: the command was started as one of several processes. */
int tsi_fail_without_mpi(const char *command, const char *option);
