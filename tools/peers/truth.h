/* Shared by the files of truth_mumps: one matrix, and the results of each solver.
 *
 * `truth_mumps [--precision s|d|c|z] [--dense N] MATRIX` passes one matrix to TriStar, sequential MUMPS,
 * LAPACK and CHOLMOD. It prints one line of JSON with their results and the differences:
 *
 *   inertia      positive, negative and zero eigenvalues; MUMPS: INFOG(12), INFOG(28); LAPACK: eigenvalues
 *   null         dimension of the null space; MUMPS: INFOG(28) with ICNTL(24); LAPACK: singular values;
 *                TriStar: tristar_null_space if the matrix is singular to working precision, else 0
 *   determinant  MUMPS: ICNTL(33)
 *   schur        Schur complement of SCHUR unknowns, spread over all; MUMPS: ICNTL(19)
 *   inverse      ENTRIES entries of the inverse; MUMPS: ICNTL(30)
 *   update       the determinant of A + W W^H and x = (A + W W^H)^-1 b for a symmetric or Hermitian matrix;
 *                CHOLMOD: real, positive definite and double
 *
 * LAPACK computes in double precision, for matrices of at most N rows (default 1,000). It equilibrates first.
 * --precision c or z multiplies the rows and columns of a real matrix by factors of absolute value 1. The
 * result is complex with the same condition, and Hermitian if the matrix was symmetric. With s and c the
 * entries are rounded to single precision; all solvers receive the rounded entries. tools/bench/table_truth
 * judges the differences. */
#pragma once

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "tristar.h"

typedef double _Complex truth_entry;

enum { TRUTH_SCHUR = 20, TRUTH_COLUMNS = 10, TRUTH_ENTRIES = 4 * TRUTH_COLUMNS, TRUTH_TERMS = 2 };

/* A term of W: weight at row first, -weight at row second. */
typedef struct truth_term {
  int first, second;
  double weight;
} truth_term;

typedef struct truth_problem {
  tristar_t *ts;
  tristar_view view; /* the stored entries, values of its scalar type */
  int n;
  bool hermitian, symmetric; /* real symmetric: both */
  int64_t count;             /* entries of the full matrix */
  int *row, *column;         /* from 0 */
  truth_entry *value;
  int schur_count, schur[TRUTH_SCHUR];                                /* rows, from 0, ascending */
  int entries, entry_row[TRUTH_ENTRIES], entry_column[TRUTH_ENTRIES]; /* columns ascending */
  int terms;                                                          /* 0: no change of low rank */
  truth_term term[TRUTH_TERMS];
  int most_dense; /* maximum number of rows for LAPACK */
  bool laplacian; /* of a pattern without values */
} truth_problem;

typedef struct truth_determinant {
  truth_entry sign; /* 0: singular */
  double log_abs;
} truth_determinant;

/* The results of one solver. A result exists only if `has` is set for it; `why` has the reasons. */
typedef struct truth_answers {
  bool has_inertia, has_null, has_determinant, has_schur, has_inverse, has_update;
  int64_t positive, negative, zero;
  int64_t null;  /* dimension of the null space */
  bool singular; /* TriStar: singular to working precision */
  bool delayed;  /* TriStar: `inverse` needed delayed pivots */
  truth_determinant determinant, updated;
  truth_entry schur[TRUTH_SCHUR * TRUTH_SCHUR]; /* column-major */
  truth_entry inverse[TRUTH_ENTRIES];
  truth_entry *x;                      /* of the changed system; freed by the caller */
  double reciprocal, schur_reciprocal; /* 1 / condition of the scaled A, and of its A_II; -1: unknown */
  char why[1024];
} truth_answers;

void truth_query_tristar(const truth_problem *p, truth_answers *a);
void truth_query_lapack(const truth_problem *p, truth_answers *a);
void truth_query_cholmod(const truth_problem *p, truth_answers *a);
void truth_query_mumps_s(const truth_problem *p, truth_answers *a);
void truth_query_mumps_d(const truth_problem *p, truth_answers *a);
void truth_query_mumps_c(const truth_problem *p, truth_answers *a);
void truth_query_mumps_z(const truth_problem *p, truth_answers *a);

/* calloc that ends the program on failure. */
void *truth_allocate(int64_t count, size_t size);
/* Adds a reason. */
__attribute__((format(printf, 2, 3))) void truth_why(truth_answers *a, const char *format, ...);
/* Returns scalar number k of an array of the type. */
truth_entry truth_get(tristar_scalar scalar, const void *values, int64_t k);
void truth_set(tristar_scalar scalar, void *values, int64_t k, truth_entry value);
/* The right-hand side: small integers. */
static inline double truth_rhs(int i) {
  return 1 + i % 7;
}
