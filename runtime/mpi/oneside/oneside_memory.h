/* A port of one-sided messages, for the files that make and use one: see oneside.h. */
#pragma once

#include "runtime/mpi/oneside/oneside.h"

struct tsi_oneside {
  tsi_env *env;
  tsi_symmetric_heap heap;
  double seconds; /* of the deadline */
  MPI_Win window; /* MPI_WIN_NULL: memory of the caller */
};
