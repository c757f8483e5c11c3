/* The triangles that `tristar bench --triangular` measures.
 *
 * Reads   a matrix, or its incomplete factors; of complex numbers the real parts, ones where it is a pattern.
 * Writes  a file. Invariants
 *   - a triangle has each diagonal entry, and its columns are sorted
 *   - its values are the matrix's own, if substitution with them stays between 1e-100 and 1e100 or at 0.
 *     Otherwise each row is scaled: the diagonal is one, the others have a sum of absolute values of one
 * half. The pattern is what a triangular solve spends its time on; what overflows is no solve
 *   - the file has no name: it is gone when it is closed, or when this program ends in whatever way */
#pragma once

#include <stdio.h>

#include "drivers/session/session.h"
#include "tristar_precond.h"

/* A full square matrix by columns, in no order inside a column. unit: the diagonal is that of the upper
 * triangle, the lower one has ones there. */
typedef struct tsi_square {
  int64_t n;
  bool unit;
  int64_t *ptr;
  int32_t *index;
  double *values;
} tsi_square;

/* The matrix of a session that has read it; it may be a pattern. false: a failure is recorded. */
bool tsi_square_make(tsi_session *s, tsi_square *a);
/* Renumbers rows and columns by nested dissection. false: a failure is recorded. */
bool tsi_square_dissect(tsi_session *s, tsi_square *a);
/* The incomplete factors of a, of that kind, without fill, as the triangles of a matrix. false: a failure is
 * recorded; SINGULAR, NOT_POSITIVE_DEFINITE or NOT_FINITE: a pivot broke down. */
bool tsi_square_factor(tsi_session *s, const tsi_square *a, tristar_precond_kind kind, tsi_square *to);
void tsi_square_free(tsi_square *a);

typedef struct tsi_bench_triangle {
  bool upper;
  bool scaled;    /* its values are not the matrix's own */
  int64_t n, nnz; /* entries, the diagonal included */
  int64_t levels; /* sets of rows that do not wait for each other */
  FILE *file;     /* Matrix Market */
  char path[48];  /* by which other processes open it */
} tsi_bench_triangle;

/* Writes a triangle to a file. false: a failure is recorded, and there is no file. */
bool tsi_bench_triangle_make(tsi_session *s, const tsi_square *a, bool upper, tsi_bench_triangle *t);
/* Closes the file; the figures stay. */
void tsi_bench_triangle_close(tsi_bench_triangle *t);
