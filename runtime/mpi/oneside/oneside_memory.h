/* A port of one-sided messages, for the files that make and use one: see oneside.h. */
#ifndef TSI_RUNTIME_MPI_ONESIDE_ONESIDE_MEMORY_H
#define TSI_RUNTIME_MPI_ONESIDE_ONESIDE_MEMORY_H

#include "runtime/mpi/oneside/oneside.h"

struct tsi_oneside {
  tsi_env *env;
  tsi_heap heap;
  double seconds; /* of the deadline */
  MPI_Win window; /* MPI_WIN_NULL: memory of the caller */
};

#endif
