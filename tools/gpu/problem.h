/* A triangular factor for measurements, with nothing of a factorization: the structure of a Poisson matrix on
 * a grid of k x k x k points, ordered and cut as a plan cuts it, and values that are made up, L = 1.5 I + E
 * with sums of |E| in each row and each column below 1/2. What a solve takes depends on the structure alone;
 * and x that is given, b = L L^T x, says what every solver has to give.
 *
 * Reads   nothing.   Writes  a problem, which owns all of it. */
#pragma once

#include "runtime/exec/device/device_build.h"
#include "runtime/exec/steps/tables.h"
#include "tests/support/dags.h"
#include "tests/support/typed.h"

/* Rows of a triangle, each ascending; the diagonal is the last entry of a row of L, the first of one of L^T.
 */
typedef struct csr {
  tsi_index n;
  tsi_count *ptr;   /* n + 1 */
  tsi_index *index; /* ptr[n] */
  void *values;
} csr;

typedef struct problem {
  tsi_env env;
  pattern a; /* A; what stands in it does not matter here */
  structure s;
  const typed *t;          /* of the values */
  tsi_count *panel_values; /* panels + 1 */
  void *stream;            /* packed panels, diagonal blocks inverted */
  csr lower, upper;        /* L and L^T by rows, in the order of the factor */
  void *inverse;           /* n: of the diagonal */
  tsi_tables tables;       /* for the cores */
  tsi_chunks *device_chunks;
  tsi_sweep *device_sweep;
  tsi_device_tables device;
} problem;

/* node_bytes: of the nodes of the device. */
void problem_open(tsi_index k, const typed *t, double node_bytes, problem *p);
void problem_close(problem *p);

/* Bytes of L without what is padding or a zero of merged supernodes. */
double problem_bytes(const problem *p);

/* y := L x, y := L^T x; in the order of the factor. */
void problem_multiply(const problem *p, const csr *m, const number *x, number *y);
