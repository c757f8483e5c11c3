/* TriStar: Krylov methods, A x = b by products with A and applications of a preconditioner.
 *
 *   tristar_krylov_create         matrix or function -> a solver with its workspace    once per pattern
 *   tristar_krylov_update_values  new values on the same pattern                       once per set of values
 *   tristar_krylov_solve          X = A^-1 B, each column with its own iteration       many times
 *
 * With the defaults, the tests of convergence, and up to rounding errors the iterates, are those of KSPCG,
 * KSPBCGS, KSPGMRES and KSPFGMRES of PETSc with their defaults. So iterations can be compared.
 *
 *   method        preconditioned from     norm of the test             reference
 *   CG            - (M takes part in CG)  || M^-1 r ||; or || r ||     Hestenes and Stiefel 1952
 *   PIPELINED_CG  the same                the same                     Ghysels and Vanroose 2014
 *   BLOCK_CG      the same                the same                     O'Leary 1980
 *   BICGSTAB      left, or right          left: || M^-1 r ||           van der Vorst 1992, shadow residual r0
 *   GMRES         left, or right          right: || r ||               Saad and Schultz 1986, restarted
 *   FGMRES        right; M may change     || r ||                      Saad 1993, restarted
 *
 * r = b - A x is the residual of the recurrences; all norms are 2-norms. GMRES and FGMRES compute r at each
 * restart, PIPELINED_CG where rounding errors of its recurrences require it. A column has converged if
 *
 *   norm <= max(tolerance * reference, absolute)
 *
 * The reference is || M^-1 b ||, or || b || if the norm is || r ||. The test is made before the first
 * iteration and after each. At the end the call computes the true residual of x. It confirms the convergence
 * if
 *
 *   || b - A x || <= c * || b ||
 *   c = max(min(100 * tolerance, sqrt(tolerance)), 100 * absolute / reference, 1e3 * eps)
 *
 * where eps is twice the unit roundoff: 2^-23 in single precision, 2^-52 in double. Where rounding errors
 * could exceed that limit, sums of b - A x are made in the next wider precision, unless the matrix is a
 * function. Otherwise the method restarts from x with a smaller tolerance, as long as this at least halves
 * the true residual. A column whose true residual stays larger has not converged: REASON_INACCURATE. So a
 * singular matrix, a nearly singular preconditioner or a recurrence that has drifted away is no success. Most
 * runs are confirmed at once, with the iterates of the method alone.
 *
 * An iteration is one product with A, in BICGSTAB two. GMRES and FGMRES use classical Gram-Schmidt.
 *
 * PIPELINED_CG has the iterates of CG, up to rounding errors, and one global sum per iteration instead of
 * three. The sum overlaps with the next product and preconditioner. It is for many processes, where sums are
 * slow. Its price is more operations on vectors, and one product and one application more.
 *
 * BLOCK_CG takes the columns in groups of `block`, and searches each column in the space of the whole group.
 * It needs fewer iterations with more columns, but more operations on vectors. Products and the
 * preconditioner take all columns at once. Linearly dependent columns are no breakdown: the iteration
 * continues with fewer directions. A column that has converged leaves the group.
 *
 * Bits of results depend on the matrix, the options, the preconditioner and the instruction set of the
 * processor. They do not depend on the workers. */
#ifndef TRISTAR_KRYLOV_H
#define TRISTAR_KRYLOV_H

#include "tristar_precond.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix with the workspace of a method. One solve at a time. */
typedef struct tristar_krylov_s tristar_krylov_t;

/* The method. */
typedef enum tristar_krylov_method {
  TRISTAR_KRYLOV_AUTO,     /* CG if A is Hermitian (real: symmetric) with a positive diagonal, and the side is
                              not RIGHT; else GMRES. GMRES also for a function, and for GENERAL values on many
                              processes. */
  TRISTAR_KRYLOV_CG,       /* A and M Hermitian (real: symmetric), positive definite: four vectors. */
  TRISTAR_KRYLOV_BICGSTAB, /* Any A: two products per iteration, six vectors. */
  TRISTAR_KRYLOV_GMRES,    /* Any A: restart + 2 vectors. The norm never rises between restarts. */
  TRISTAR_KRYLOV_FGMRES,   /* Any A, and an M that may change in each iteration: 2 restart + 2 vectors. */
  TRISTAR_KRYLOV_PIPELINED_CG, /* As CG: nine vectors. */
  TRISTAR_KRYLOV_BLOCK_CG      /* As CG: 4 block vectors. */
} tristar_krylov_method;

/* Side of the preconditioner. */
typedef enum tristar_krylov_side {
  TRISTAR_SIDE_DEFAULT, /* BICGSTAB, GMRES: LEFT. FGMRES, and AUTO with NORM_RESIDUAL: RIGHT. CG has one side.
                         */
  TRISTAR_SIDE_LEFT,    /* M^-1 A x = M^-1 b */
  TRISTAR_SIDE_RIGHT    /* A M^-1 u = b, x = M^-1 u */
} tristar_krylov_side;

/* Norm of the test. */
typedef enum tristar_krylov_norm {
  TRISTAR_NORM_DEFAULT,        /* CG and LEFT: PRECONDITIONED. RIGHT: RESIDUAL. */
  TRISTAR_NORM_PRECONDITIONED, /* || M^-1 r ||: CG, LEFT. */
  TRISTAR_NORM_RESIDUAL        /* || r ||: CG, RIGHT. */
} tristar_krylov_norm;

/* Orthogonalization of a vector in GMRES and FGMRES. */
typedef enum tristar_krylov_passes {
  TRISTAR_PASSES_CANCELLED, /* Once, and again if less than a thousandth of the vector is left. */
  TRISTAR_PASSES_ONE,       /* Once. */
  TRISTAR_PASSES_TWO        /* Twice. */
} tristar_krylov_passes;

/* A point of the history of a column. */
typedef struct tristar_krylov_point {
  int64_t column;    /* The right-hand side. */
  int64_t iteration; /* Iterations so far; 0: before the first. */
  double residual;   /* Norm of the test, divided by the reference. */
} tristar_krylov_point;

/* Receives each point, on the calling thread. A result other than 0 ends this column and the following ones:
 * REASON_CANCELLED. The function must not use the solver. */
typedef int (*tristar_krylov_progress_fn)(void *arg, const tristar_krylov_point *point);

/* Options of a solver. Call tristar_krylov_options_init first. */
typedef struct tristar_krylov_options {
  size_t size;                  /* Set by tristar_krylov_options_init. */
  tristar_krylov_method method; /* The method. */
  tristar_krylov_side side;     /* Side of the preconditioner. */
  tristar_krylov_norm norm;     /* Norm of the test. */
  double tolerance;             /* Relative tolerance, from 0 on. */
  double absolute;              /* Absolute tolerance, from 0 on, in the units of the norm. */
  double divergence;      /* Stop if the norm exceeds this many times the reference, or the norm of the first
                             residual if that is larger. 0: never. */
  int64_t max_iterations; /* Largest number of iterations of a column, from 0 on. */
  int64_t patience;       /* Stop after so many iterations without a new smallest norm. 0: never. */
  int restart;            /* GMRES, FGMRES: iterations between restarts, 1 to 10000. */
  int block;              /* BLOCK_CG: columns of a group, 1 to 32. */
  tristar_krylov_passes passes; /* GMRES, FGMRES: orthogonalization. */
  int guess;                    /* 1: x is an initial guess. 0: the guess is zero. */
  tristar_engine engine; /* Of products and vectors. TASKS: StarPU; SERIAL: the calling thread; AUTO: tasks
                            if there is much work. The preconditioner has an engine of its own. */
  tristar_krylov_progress_fn progress; /* Receives each point. NULL: none. */
  void *progress_arg;                  /* First argument of progress. */
  tristar_krylov_point *history; /* Receives the points of all columns, in the order of progress: column by
                                    column, in a group by iteration. NULL: none. */
  int64_t history_most;          /* Entries of history. */
} tristar_krylov_options;

/* METHOD AUTO, the default side and norm, tolerance 1e-5, absolute 0, divergence 1e4, 10000 iterations,
 * patience 1000, restart 30, block 8, PASSES_CANCELLED, no guess, ENGINE_AUTO, no progress and no history.
 * (The absolute tolerance of PETSc is 1e-50. Here zero is no solution of a system in small units.) */
#define tristar_krylov_options_init(options) tristar_krylov_options_init_sized((options), sizeof *(options))

/* Makes a solver for a matrix of any format, symmetry and scalar type, which is copied. options may be NULL.
 * Later solves allocate nothing, except in the preconditioner. The log has a warning if the method is a kind
 * of CG and the matrix is not Hermitian. Errors: ARGUMENT (also: an option out of its range), FORMAT,
 * RECTANGULAR, NOT_FINITE, TOO_LARGE as tristar_analyze and tristar_factor; UNSUPPORTED: a side or a norm
 * that the method does not have, or ENGINE_TASKS without StarPU; MEMORY; RUNTIME and NO_WORKER (StarPU). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_krylov_create(tristar_t *ts, const tristar_view *view,
                                                                 const tristar_krylov_options *options,
                                                                 tristar_krylov_t **krylov);

/* y = A x. Returns TRISTAR_OK, or the status of the failing solve. */
typedef tristar_status (*tristar_operator_fn)(void *arg, const void *x, void *y);

/* Makes a solver for a matrix that is not stored: `function` multiplies vectors of n scalars by it, with arg
 * as its first argument. Entries of a stored matrix and of b may have any size: the method works with exact
 * multiples of them by powers of two. For a function only b is scaled: entries of its matrix should be
 * between 1e-60 and 1e60 (in single precision 1e-12 and 1e12), or squares of norms can leave the range of
 * numbers. Errors: as tristar_krylov_create. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_krylov_create_operator(tristar_t *ts, int64_t n, tristar_scalar scalar, tristar_operator_fn function,
                               void *arg, const tristar_krylov_options *options, tristar_krylov_t **krylov);

/* Sets other options for later solves. The engine stays (another one is UNSUPPORTED). The workspace grows if
 * needed. After a failure the options are unchanged. Errors: as tristar_krylov_create; BUSY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_krylov_set_options(tristar_krylov_t *krylov,
                                                                      const tristar_krylov_options *options);

/* Takes new values, as many and in the same order as in the view of tristar_krylov_create. The method stays,
 * also one that AUTO chose. The program updates the preconditioner itself. After a failure the solver has no
 * values, and solves return STALE until a later update succeeds. Errors: ARGUMENT, NOT_FINITE, FORMAT;
 * UNSUPPORTED: the matrix is a function; BUSY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_krylov_update_values(tristar_krylov_t *krylov,
                                                                        const void *values);

/* Why the iteration of a column ended. x is the last iterate in all cases. */
typedef enum tristar_krylov_reason {
  TRISTAR_REASON_CONVERGED,  /* The norm is within the tolerance, and the true residual confirms it. */
  TRISTAR_REASON_LIMIT,      /* max_iterations was reached. */
  TRISTAR_REASON_STAGNATED,  /* No smaller norm for `patience` iterations, or in two restarts of GMRES or
                                FGMRES. */
  TRISTAR_REASON_DIVERGED,   /* The norm exceeds divergence times the larger of reference and first norm. */
  TRISTAR_REASON_INDEFINITE, /* Kinds of CG: p^H A p is not positive, so A is not positive definite. */
  TRISTAR_REASON_INDEFINITE_PRECOND, /* Kinds of CG: r^H M^-1 r is not positive. Any method: M^-1 b is zero,
                                        but b is not. */
  TRISTAR_REASON_BREAKDOWN,  /* BICGSTAB divides by zero, or a Krylov space of GMRES ends without x. */
  TRISTAR_REASON_NOT_FINITE, /* NaN or infinity in a product, in the preconditioner, or by overflow. */
  TRISTAR_REASON_CANCELLED,  /* `progress` ended it. */
  TRISTAR_REASON_INACCURATE  /* The norm is within the tolerance, but the true residual is not: A or M may be
                                singular, or the tolerance too small for the rounding errors. */
} tristar_krylov_reason;

/* A sentence about a reason, static text; never NULL. */
TRISTAR_API const char *tristar_krylov_reason_text(tristar_krylov_reason reason);

/* Result of a column. */
typedef struct tristar_krylov_result {
  tristar_krylov_reason reason; /* Why its iteration ended. */
  int converged;                /* 1: REASON_CONVERGED. */
  int64_t iterations;           /* Iterations that began; the reason occurred in the last one. */
  double residual;              /* Final norm of the test, divided by the reference. */
  double reference;             /* || M^-1 b || or || b ||. */
  double true_residual;         /* || b - A x || / || b || of x. 0: b is zero, or the column did not begin. */
  int64_t products;             /* Products with A, including the one for true_residual. */
  int64_t preconditionings;     /* Applications of M^-1. */
  int64_t history_count;        /* Points of the column. Of all columns the first history_most are written. */
  double seconds;               /* Seconds of the column; in BLOCK_CG its share of the group. */
  double product_seconds;       /* Seconds in products with A. */
  double precond_seconds; /* Seconds in the preconditioner. CG with a diagonal one: of its first application;
                             later ones are part of vector operations. */
  double vector_seconds;  /* Seconds in operations on vectors. */
} tristar_krylov_result;

/* X = A^-1 B. precond: M, with the order and scalar type of the matrix. NULL: the identity. b: n x nrhs,
 * column-major, leading dimension ldb >= n; x likewise with ldx. x must not overlap b. result: one entry for
 * each of the nrhs columns, or NULL. A column that does not converge is no error: its result has the reason.
 * A column of zeros has the solution zero.
 *
 * Errors: ARGUMENT; NOT_FINITE (NaN or infinity in b or in the initial guess; the message names row and
 * column); STALE; BUSY (another solve with this solver runs). Errors of tristar_precond_apply and of the
 * matrix function, RUNTIME and NO_WORKER end the solve of all columns; x has the iterates so far. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_krylov_solve(tristar_krylov_t *krylov,
                                                                tristar_precond_t *precond, int64_t nrhs,
                                                                const void *b, int64_t ldb, void *x,
                                                                int64_t ldx, tristar_krylov_result *result);

/* R = B - A X, and the largest componentwise backward error of X over the columns, as tristar_residual does.
 * r may be NULL, or b; backward_error may be NULL. Errors: ARGUMENT, MEMORY, STALE, BUSY; UNSUPPORTED: the
 * matrix is a function. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_krylov_residual(tristar_krylov_t *krylov, int64_t nrhs,
                                                                   const void *b, int64_t ldb, const void *x,
                                                                   int64_t ldx, void *r, int64_t ldr,
                                                                   double *backward_error);

/* Statistics of a solver. */
typedef struct tristar_krylov_stats {
  tristar_krylov_method method; /* The method; never AUTO. */
  int64_t n;                    /* Order of the matrix. */
  int64_t nnz;                  /* Entries of the full matrix. 0: it is a function. */
  int workers;                  /* Workers for products and vectors. 1: the calling thread. */
  size_t matrix_bytes;          /* Bytes of the matrix by rows. */
  size_t workspace_bytes;       /* Bytes of vectors and sums. */
  size_t product_bytes;  /* Bytes that a product reads here: the stored matrix, and x once. 0: the matrix is
                            a function. */
  double create_seconds; /* Seconds of tristar_krylov_create, without start_seconds. */
  double start_seconds;  /* Seconds of starting StarPU, if that call was the first to need it. */
  int64_t solves;        /* Columns solved so far. */
} tristar_krylov_stats;
/* Copies the statistics of the solver to *stats. */
TRISTAR_API tristar_status tristar_krylov_get_stats(const tristar_krylov_t *krylov,
                                                    tristar_krylov_stats *stats);

/* Frees the solver and sets *krylov to NULL. No solve may be running. Accepts NULL. */
TRISTAR_API void tristar_krylov_destroy(tristar_krylov_t **krylov);

#ifdef __cplusplus
}
#endif
#endif
