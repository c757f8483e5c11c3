/* A system of equations with its factors, as refinement, FGMRES, bounds and the condition see it: on one
 * process, or with the rows of b and x and of the matrix on many.
 *
 * Job. Say what can be done with op(A): solve with the factors, residuals, sums of magnitudes. Vectors are
 * the entries that this process has, n of them, without gaps; those of b and of x have the same places. Of a
 * team of many, A has the rows that belong to these entries; indices from n on are entries of other members.
 *
 * Reads   a plan, or what runtime/mpi has of a distributed factor.   Writes  nothing of its own.
 * Invariant: the members of the team call the same functions in the same order (team.h). */
#pragma once

#include <math.h>

#include "codelets/cpu/rows/sparse.h"
#include "runtime/iterate/refine/team.h"

typedef struct tsi_system_functions {
  /* X = op(A)^-1 B with the factors; leading dimensions as in tristar_solve. Errors: those of a solve. */
  tristar_status (*solve)(void *context, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                          int64_t ldx);
  /* Of a team of many; NULL: of one. Entries of `bytes` each. */
  /* *all = x, and behind it what A meets of other members; until the next call. Errors: of messages. */
  tristar_status (*take)(void *context, size_t bytes, const void *x, const void **all);
  /* Room for a result, and behind it what others get of it, which is zero. */
  void *(*room)(void *context, size_t bytes);
  /* y = what was made in that room, here and by others. Errors: of messages. */
  tristar_status (*give)(void *context, size_t bytes, void *y, tsi_add_at *add);
  /* The user's number of row i of b, or of x; NULL: i itself. */
  int64_t (*user_row)(const void *context, tristar_op op, bool of_x, tsi_index i);
} tsi_system_functions;

struct tsi_kept_vectors;

typedef struct tsi_system {
  tsi_env *env;
  const tsi_sparse_kernels *kernels; /* of the user's scalar type */
  tsi_index n;                       /* entries here */
  tsi_sparse a;
  /* of A, as it was scaled for the factorization, or the weights of an import (factor.h); NULL: ones */
  const double *row_scale, *col_scale;
  const double *range[2]; /* by which solves with A multiply rows of b, and of x; NULL: ones */
  bool wide;              /* the factors are of the single type, the user's numbers are not */
  bool strict;            /* residuals are (residual.h) from the start */
  bool rounded;           /* solves read a rounded copy of the factors (storage.h) */
  bool perturbed;         /* some pivots were */
  bool singular;          /* the verdict on the factor (judge.h) */
  struct tsi_kept_vectors
      *kept;          /* null vectors that solves have found (projection.h); NULL: nobody keeps them */
  int64_t generation; /* of the values */
  tsi_team *team;
  const tsi_system_functions *functions;
  void *context;
} tsi_system;

/* As in codelets/cpu/rows/sparse.h. Errors: of messages. */
TRISTAR_CHECKED tristar_status tsi_system_residual(const tsi_system *system, tristar_op op, const void *b,
                                                   const void *x, void *r);
/* The residual with sums of the next wider precision, rounded once. It costs several products. Errors: of
 * messages, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_system_precise_residual(const tsi_system *system, tristar_op op,
                                                           const void *b, const void *x, void *r);
TRISTAR_CHECKED tristar_status tsi_system_bound(const tsi_system *system, tristar_op op, const void *x,
                                                double *y);
TRISTAR_CHECKED tristar_status tsi_system_weigh(const tsi_system *system, tristar_op op, const double *g,
                                                double *y);
/* terms[i] = 1 + the entries in row i of op(A) */
TRISTAR_CHECKED tristar_status tsi_system_count_terms(const tsi_system *system, tristar_op op,
                                                      tsi_index *terms);

/* row, column: 2^e for the exponents e that bring all entries near one (scaling.h), whatever the units: the
 * same on any layout, but for exponents within rounding errors of a half. Errors: MEMORY, of messages. */
TRISTAR_CHECKED tristar_status tsi_system_bring_together(const tsi_system *system, double *row,
                                                         double *column);

/* The user's number of row i of b, or of x. */
static inline int64_t tsi_system_user_row(const tsi_system *system, tristar_op op, bool of_x, tsi_index i) {
  const tsi_system_functions *functions = system->functions;
  return functions->user_row ? functions->user_row(system->context, op, of_x, i) : i;
}

/* In [0, 1), for row i of b, or of x: numbers with no pattern that a matrix has, the same on any layout. */
static inline double tsi_system_scatter(const tsi_system *system, tristar_op op, bool of_x, tsi_index i) {
  const uint32_t row = (uint32_t)tsi_system_user_row(system, op, of_x, i);
  return (double)(row * 2654435761U) * 0x1p-32;
}

/* The scaling of the rows of op(A). */
static inline const double *tsi_system_row_scale(const tsi_system *system, tristar_op op) {
  return op == TRISTAR_N ? system->row_scale : system->col_scale;
}
/* The scaling of the columns of op(A): what size the unknowns have, more or less. */
static inline const double *tsi_system_column_weight(const tsi_system *system, tristar_op op) {
  return op == TRISTAR_N ? system->col_scale : system->row_scale;
}

/* The exponent of the largest entry of a vector, within what 2^e can be; 0 for zeros. */
static inline int tsi_exponent_of(double largest) {
  int exponent = 0;
  if (largest > 0 && isfinite(largest)) frexp(largest, &exponent);
  return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}
