/* The triangles that `tristar bench --triangular` measures.
 *
 * Reads   a matrix, or its incomplete factors: the real parts of complex numbers, ones if it is a pattern.
 * Writes  a file.
 * Invariants
 *   - a triangle has each diagonal entry, and its columns are sorted
 *   - its values are those of the matrix, if all numbers of a substitution stay between 1e-100 and 1e100, or
 *     are 0. Otherwise each row is scaled: the diagonal is one, and the absolute values of the others add up
 *     to one half. The time of a triangular solve depends on the pattern, but a solve must not overflow
 *   - the file has no name: it vanishes when it is closed, or when this program ends in any way */
#pragma once

#include <stdio.h>

#include "drivers/session/session.h"
#include "tristar_precond.h"

/* A square matrix by columns, both triangles, with any order inside a column. unit: the diagonal belongs to
 * the upper triangle; the lower triangle has a unit diagonal. */
typedef struct tsi_square {
  int64_t n;
  bool unit;
  int64_t *ptr;
  int32_t *index;
  double *values;
} tsi_square;

/* Makes it from the matrix of a session, which may be a pattern. Returns false if it recorded a failure. */
bool tsi_square_make(tsi_session *s, tsi_square *a);
/* Renumbers rows and columns by nested dissection. Returns false if it recorded a failure. */
bool tsi_square_dissect(tsi_session *s, tsi_square *a);
/* Computes incomplete factors of a, of this kind, without fill, as the triangles of a matrix. Returns false
 * if it recorded a failure; SINGULAR, NOT_POSITIVE_DEFINITE or NOT_FINITE: a pivot broke down. */
bool tsi_square_factor(tsi_session *s, const tsi_square *a, tristar_precond_kind kind, tsi_square *to);
void tsi_square_free(tsi_square *a);

typedef struct tsi_bench_triangle {
  bool upper;
  bool scaled;    /* its values differ from those of the matrix */
  int64_t n, nnz; /* order; number of entries, including the diagonal */
  int64_t levels; /* number of level sets */
  FILE *file;     /* Matrix Market file */
  char path[48];  /* path with which other processes open it */
} tsi_bench_triangle;

/* Writes a triangle to a file. Returns false if it recorded a failure; then there is no file. */
bool tsi_bench_triangle_make(tsi_session *s, const tsi_square *a, bool upper, tsi_bench_triangle *t);
/* Closes the file; the figures stay. */
void tsi_bench_triangle_close(tsi_bench_triangle *t);
