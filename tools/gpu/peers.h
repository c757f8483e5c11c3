/* Other libraries for the same solves on the same board: a BLAS, and solvers of sparse systems. One of the
 * files peers_*.c implements them, depending on the toolkit. */
#pragma once

#include "tools/gpu/problem.h"

/* A solver. Its data are on the board from open to close; solve launches in the default stream. */
typedef struct gpu_peer {
  const char *name;
  /* L L^T x = b, one right-hand side after the other, in the order of the factor. x: the solution, for a
   * solver that needs another system with the same solution. scalars: b and x have the type of the values.
   * NULL: unsupported. */
  void *(*open)(const problem *p, tsi_index nrhs, const void *b, const void *x);
  void (*solve)(void *solver);
  void (*fetch)(const void *solver, void *x);
  void (*close)(void *solver);
} gpu_peer;

/* Ends with NULL. */
extern const gpu_peer *const gpu_peers[];
/* Flops per second of a large matrix product in double; 0: there is no BLAS. */
double gpu_dgemm(void);
