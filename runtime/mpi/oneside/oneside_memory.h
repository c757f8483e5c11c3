/* A port of one-sided messages, for the files that create and use it: see oneside.h. */
#pragma once

#include "runtime/mpi/oneside/oneside.h"

struct tsi_oneside {
  tsi_env *env;
  tsi_symmetric_heap heap;
  double seconds; /* deadline of waits */
  MPI_Win window; /* MPI_WIN_NULL: memory of the caller */
};
