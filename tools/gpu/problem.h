/* A triangular factor for measurements, without a factorization. Its structure is that of a Poisson matrix on
 * a grid of k x k x k points, with the ordering and cut of a plan. Its values are pseudo-random: L = 1.5 I +
 * E, where the sums of |E| in each row and each column are below 1/2. The time of a solve depends only on the
 * structure. x is chosen and b = L L^T x, so the result of each solver is known.
 *
 * Reads   nothing.   Writes  a problem, which owns all of its data. */
#pragma once

#include "runtime/exec/device/device_build.h"
#include "runtime/exec/steps/tables.h"
#include "tests/support/dags.h"
#include "tests/support/typed.h"

/* Rows of a triangle, with ascending columns. The diagonal is the last entry of a row of L, the first of a
 * row of L^T. */
typedef struct csr {
  tsi_index n;
  tsi_count *ptr;   /* n + 1 */
  tsi_index *index; /* ptr[n] */
  void *values;
} csr;

typedef struct problem {
  tsi_env env;
  pattern a; /* pattern of A; its values are not used */
  structure s;
  const typed *t;          /* type of the values */
  tsi_count *panel_values; /* panels + 1 */
  void *stream;            /* packed panels with inverted diagonal blocks */
  csr lower, upper;        /* L and L^T by rows, in the order of the factor */
  void *inverse;           /* n: inverses of the diagonal */
  tsi_tables tables;       /* for the cores */
  tsi_chunks *device_chunks;
  tsi_sweep *device_sweep;
  tsi_device_tables device;
} problem;

/* node_bytes: bytes of the nodes of the device. */
void problem_open(tsi_index k, const typed *t, double node_bytes, problem *p);
void problem_close(problem *p);

/* Returns the bytes of L without padding and without zeros of merged supernodes. */
double problem_bytes(const problem *p);

/* y := L x, y := L^T x; in the order of the factor. */
void problem_multiply(const problem *p, const csr *m, const number *x, number *y);
