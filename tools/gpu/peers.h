/* What others offer on the same board for the same solves: a BLAS, and solvers of sparse systems. One of the
 * files peers_*.c has them, as the toolkit does. */
#pragma once

#include "tools/gpu/problem.h"

/* A solver. What it works with lies on the board from open to close; solve launches on the default stream. */
typedef struct gpu_peer {
  const char *name;
  /* L L^T x = b, right-hand sides one after the other, in the order of the factor; x: what solves it, for a
   * solver that needs another system with the same solution. scalars: b and x of the type of the values.
   * NULL: it cannot. */
  void *(*open)(const problem *p, tsi_index nrhs, const void *b, const void *x);
  void (*solve)(void *solver);
  void (*fetch)(const void *solver, void *x);
  void (*close)(void *solver);
} gpu_peer;

/* Ends with NULL. */
extern const gpu_peer *const gpu_peers[];
/* Flops a second of a large product of matrices in double; 0: there is no BLAS. */
double gpu_dgemm(void);
