/* A system of equations with its factors, for refinement, FGMRES, bounds and the condition. It is on one
 * process, or the rows of b, x and the matrix are distributed.
 *
 * Job. Provide operations with op(A): solves with the factors, residuals, sums of magnitudes. Vectors hold
 * the n entries of this process, without gaps; b and x are distributed alike. In a team of many, A has the
 * rows of these entries; indices from n on are entries of other members.
 *
 * Reads   a plan, or data of a distributed factor in runtime/mpi.   Writes  nothing of its own.
 * Invariant: the members of the team call the same functions in the same order (team.h). */
#pragma once

#include <math.h>

#include "codelets/cpu/rows/sparse.h"
#include "runtime/iterate/refine/team.h"

typedef struct tsi_system_functions {
  /* X = op(A)^-1 B with the factors; leading dimensions as in tristar_solve. Errors: those of a solve. */
  tristar_status (*solve)(void *context, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                          int64_t ldx);
  /* The rest is for a team of many; NULL for one. Entries have `bytes` bytes each. */
  /* *all = x, followed by the entries of other members that A refers to; valid until the next call. Errors:
   * those of messages. */
  tristar_status (*take)(void *context, size_t bytes, const void *x, const void **all);
  /* Returns memory for a result, followed by zeros for contributions to other members. */
  void *(*space)(void *context, size_t bytes);
  /* y = the result in this memory, plus the contributions of other members. Errors: those of messages. */
  tristar_status (*give)(void *context, size_t bytes, void *y, tsi_add_at *add);
  /* The user's number of row i of b, or of x; NULL: i itself. */
  int64_t (*user_row)(const void *context, tristar_op op, bool of_x, tsi_index i);
} tsi_system_functions;

struct tsi_kept_vectors;

typedef struct tsi_system {
  tsi_env *env;
  const tsi_sparse_kernels *kernels; /* for the user's scalar type */
  tsi_index n;                       /* number of entries on this process */
  tsi_sparse a;
  /* Scalings of A in the factorization, or the weights of an import (factor.h). NULL: ones. */
  const double *row_scale, *col_scale;
  const double *range[2]; /* scalings of the rows of b and of x in solves with A; NULL: ones */
  bool wide;              /* the factors are single, the user's numbers are not */
  bool strict;            /* initial value of tsi_residual.strict (residual.h) */
  bool rounded;           /* solves read a rounded copy of the factors (storage.h) */
  bool perturbed;         /* some pivots were perturbed */
  bool singular;          /* the verdict on the factor (judge.h) */
  double condition; /* 1 / condition that better factors gave, for those of a misfit (factor.h); 0: unknown */
  struct tsi_kept_vectors *kept; /* null vectors found by solves (projection.h); NULL: they are not stored */
  int64_t generation;            /* generation of the values */
  tsi_team *team;
  const tsi_system_functions *functions;
  void *context;
} tsi_system;

/* The operations of codelets/cpu/rows/sparse.h. Errors: those of messages. */
TRISTAR_CHECKED tristar_status tsi_system_residual(const tsi_system *system, tristar_op op, const void *b,
                                                   const void *x, void *r);
/* The residual with sums of the next wider precision, rounded once. It costs several products. Errors: those
 * of messages, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_system_precise_residual(const tsi_system *system, tristar_op op,
                                                           const void *b, const void *x, void *r);
TRISTAR_CHECKED tristar_status tsi_system_bound(const tsi_system *system, tristar_op op, const void *x,
                                                double *y);
TRISTAR_CHECKED tristar_status tsi_system_weigh(const tsi_system *system, tristar_op op, const double *g,
                                                double *y);
/* terms[i] = 1 + the entries in row i of op(A) */
TRISTAR_CHECKED tristar_status tsi_system_count_terms(const tsi_system *system, tristar_op op,
                                                      tsi_index *terms);

/* row, column: powers of two that bring all entries near one (scaling.h), for any units. They are the same on
 * any layout, except for exponents within rounding errors of a half. Errors: MEMORY, those of messages. */
TRISTAR_CHECKED tristar_status tsi_system_bring_together(const tsi_system *system, double *row,
                                                         double *column);

/* The user's number of row i of b, or of x. */
static inline int64_t tsi_system_user_row(const tsi_system *system, tristar_op op, bool of_x, tsi_index i) {
  const tsi_system_functions *functions = system->functions;
  return functions->user_row ? functions->user_row(system->context, op, of_x, i) : i;
}

/* A number in [0, 1) for row i of b, or of x. The numbers have no pattern that occurs in matrices, and are
 * the same on any layout. */
static inline double tsi_system_scatter(const tsi_system *system, tristar_op op, bool of_x, tsi_index i) {
  const uint32_t row = (uint32_t)tsi_system_user_row(system, op, of_x, i);
  return (double)(row * 2654435761U) * 0x1p-32;
}

/* The scaling of the rows of op(A). */
static inline const double *tsi_system_row_scale(const tsi_system *system, tristar_op op) {
  return op == TRISTAR_N ? system->row_scale : system->col_scale;
}
/* The scaling of the columns of op(A): roughly the sizes of the unknowns. */
static inline const double *tsi_system_column_weight(const tsi_system *system, tristar_op op) {
  return op == TRISTAR_N ? system->col_scale : system->row_scale;
}

/* The exponent of the largest entry of a vector, limited so that 2^e is a number; 0 for zeros. */
static inline int tsi_exponent_of(double largest) {
  int exponent = 0;
  if (largest > 0 && isfinite(largest)) frexp(largest, &exponent);
  return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}
