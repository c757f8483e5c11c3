/* TriStar: Krylov methods, A x = b by products with A and applications of a preconditioner.
 *
 *   tristar_krylov_create         matrix or function -> a solver with its workspace    once per pattern
 *   tristar_krylov_update_values  new values on the same pattern                       once per set of values
 *   tristar_krylov_solve          X = A^-1 B, each column with its own iteration       again and again
 *
 * What is computed, so that iterations can be compared with those of other programs: with the defaults of
 * this header the tests of convergence, and but for rounding errors the iterates, are those of PETSc's
 * KSPCG, KSPBCGS, KSPGMRES and KSPFGMRES with their defaults.
 *
 *   method        preconditioned from     norm of the test             started with
 *   CG            - (M takes part in CG)  || M^-1 r ||; or || r ||     Hestenes and Stiefel 1952
 *   PIPELINED_CG  the same                the same                     Ghysels and Vanroose 2014
 *   BLOCK_CG      the same                the same                     O'Leary 1980
 *   BICGSTAB      left, or right          left: || M^-1 r ||           van der Vorst 1992, shadow residual r0
 *   GMRES         left, or right          right: || r ||               Saad and Schultz 1986, restarted
 *   FGMRES        right; M may change     || r ||                      Saad 1993, restarted
 *
 * r = b - A x, all norms are 2-norms, and r is the residual of the recurrences, as the method keeps it, not
 * one that is computed anew; GMRES and FGMRES compute it at each restart, and PIPELINED_CG where rounding
 * errors of its recurrences call for it. A column has converged once
 *
 *   norm <= max(tolerance * reference, absolute),   reference = || M^-1 b ||, or || b || where the norm is ||
 * r ||
 *
 * The test is made before the first iteration and after each. At the end the call computes the true residual
 * of x. It confirms the convergence of a column if
 *
 *   || b - A x || <= max(100 * tolerance, 100 * absolute / || b ||, 1e3 * eps) * || b ||
 *
 * with the precision eps of the scalar type. Otherwise the method is started again from x with a smaller
 * tolerance, as long as this at least halves the true residual. A column whose true residual stays larger has
 * not converged: REASON_INACCURATE. So a singular matrix, a nearly singular preconditioner or a recurrence
 * that has drifted away cannot end as a success. Runs that are confirmed at once, as most are, have the
 * iterates and counts of the method alone.
 *
 * An iteration is one product with A, in BICGSTAB two. The basis of GMRES and FGMRES is made by classical
 * Gram-Schmidt.
 *
 * PIPELINED_CG has the iterates of CG, but for rounding errors, and one sum in an iteration instead of three,
 * which travels while the next product and preconditioner are at work: it is for many processes, where sums
 * take long. It pays with more operations on vectors, and one product and one application more than
 * iterations.
 *
 * BLOCK_CG takes the columns in groups of `block`. Each column is sought in the space that all of a group
 * span together: fewer iterations the more columns there are, for more work with vectors; products and the
 * preconditioner take all columns at once. Columns that depend on each other, from the start or later, are no
 * breakdown: the iteration goes on with fewer directions. A column that has converged leaves the group.
 *
 * What tristar.h says of statuses, messages and arrays of the caller holds here. Bits of results depend on
 * the matrix, the options, the preconditioner and the instruction set of the processor, not on the number of
 * workers or what they do. */
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
  TRISTAR_KRYLOV_AUTO, /* CG if A is Hermitian (real: symmetric) with a positive diagonal and the side is not
                          RIGHT; else GMRES. Of a function, and of GENERAL values on many processes: GMRES */
  TRISTAR_KRYLOV_CG,   /* A and M Hermitian (real: symmetric), positive definite: four vectors */
  TRISTAR_KRYLOV_BICGSTAB, /* any A: two products in an iteration, six vectors */
  TRISTAR_KRYLOV_GMRES,    /* any A: restart + 2 vectors; the norm of the test never rises between restarts */
  TRISTAR_KRYLOV_FGMRES,   /* any A, and an M that may be another one in each iteration: 2 restart + 2 vectors
                            */
  TRISTAR_KRYLOV_PIPELINED_CG, /* as CG: nine vectors */
  TRISTAR_KRYLOV_BLOCK_CG      /* as CG: 4 block vectors */
} tristar_krylov_method;

/* Where the preconditioner stands. */
typedef enum tristar_krylov_side {
  TRISTAR_SIDE_DEFAULT, /* BICGSTAB, GMRES: LEFT; FGMRES: RIGHT; of the kinds of CG there is no other */
  TRISTAR_SIDE_LEFT,    /* M^-1 A x = M^-1 b */
  TRISTAR_SIDE_RIGHT    /* A M^-1 u = b, x = M^-1 u */
} tristar_krylov_side;

/* The norm that is tested. */
typedef enum tristar_krylov_norm {
  TRISTAR_NORM_DEFAULT,        /* CG and LEFT: PRECONDITIONED; RIGHT: RESIDUAL */
  TRISTAR_NORM_PRECONDITIONED, /* || M^-1 r ||: CG, LEFT */
  TRISTAR_NORM_RESIDUAL        /* || r ||: CG, RIGHT */
} tristar_krylov_norm;

/* How often GMRES and FGMRES make a vector orthogonal to the basis. */
typedef enum tristar_krylov_passes {
  TRISTAR_PASSES_CANCELLED, /* once, and again where less than a thousandth of the vector is left */
  TRISTAR_PASSES_ONE,       /* once */
  TRISTAR_PASSES_TWO        /* twice */
} tristar_krylov_passes;

/* A norm on its way. */
typedef struct tristar_krylov_point {
  int64_t column;    /* the right-hand side */
  int64_t iteration; /* 0: before the first */
  double residual;   /* the norm of the test, divided by the reference */
} tristar_krylov_point;

/* Is told each point, on the thread of the caller. Anything but 0 ends the solve of this column and of those
 * behind it: REASON_CANCELLED. It must not use the solver. */
typedef int (*tristar_krylov_progress_fn)(void *arg, const tristar_krylov_point *point);

/* How to iterate. Fill it with tristar_krylov_options_init first. */
typedef struct tristar_krylov_options {
  size_t size;                  /* Set by tristar_krylov_options_init. */
  tristar_krylov_method method; /* the method */
  tristar_krylov_side side;     /* where the preconditioner stands */
  tristar_krylov_norm norm;     /* that is tested */
  double tolerance;             /* relative, from 0 on */
  double absolute;              /* from 0 on; in the units of the norm that is tested */
  double divergence;            /* give up where the norm is this many times the reference, or the norm of the
                                   first residual if that is larger, as with a far guess; 0: never */
  int64_t max_iterations;       /* of a column; from 0 on */
  int64_t patience;             /* give up after so many iterations without a new smallest norm; 0: never */
  int restart;                  /* GMRES, FGMRES: iterations between restarts, 1 to 10000 */
  int block;                    /* BLOCK_CG: columns that go together, 1 to 32 */
  tristar_krylov_passes passes; /* GMRES, FGMRES */
  int guess;                    /* 1: x has an initial guess; 0: it is zero, whatever x has */
  tristar_engine engine; /* of products and vectors: TASKS: StarPU; SERIAL: the calling thread; AUTO: tasks
                            where there is much to do. The preconditioner has its own */
  tristar_krylov_progress_fn progress; /* NULL: nobody is told */
  void *progress_arg;                  /* handed to progress */
  tristar_krylov_point *history; /* gets the points of all columns, in the order in which progress is told
                                    them: column by column, of a group by iteration; NULL: nothing does */
  int64_t history_most;          /* entries of history */
} tristar_krylov_options;

/* METHOD AUTO, the default side and norm, tolerance 1e-5, absolute 0, divergence 1e4, 10000 iterations,
 * patience 1000, restart 30, block 8, PASSES_CANCELLED, no guess, ENGINE_AUTO, no progress and no history.
 * (PETSc's absolute tolerance is 1e-50; here a system in small units is not solved by zero.) */
#define tristar_krylov_options_init(options) tristar_krylov_options_init_sized((options), sizeof *(options))

/* Makes a solver for the matrix, of any format, symmetry and scalar type, which is copied. options may be
 * NULL: the defaults. Later solves allocate nothing, but for what the preconditioner does. CG with a matrix
 * that is not Hermitian is warned of in the log. Errors: ARGUMENT (also: an option out of its range), FORMAT,
 * RECTANGULAR, NOT_FINITE, TOO_LARGE as tristar_analyze and tristar_factor; UNSUPPORTED: a side or a norm
 * that the method does not have, or ENGINE_TASKS in a context without StarPU; MEMORY; RUNTIME and NO_WORKER
 * (StarPU). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_krylov_create(tristar_t *ts, const tristar_view *view,
                                                                 const tristar_krylov_options *options,
                                                                 tristar_krylov_t **krylov);

/* y = A x. Returns TRISTAR_OK, or the status that the solve is to fail with. */
typedef tristar_status (*tristar_operator_fn)(void *arg, const void *x, void *y);

/* The same for a matrix that nobody stores: `function` multiplies vectors of n scalars with it; arg is handed
 * to it. Errors: as tristar_krylov_create. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_krylov_create_operator(tristar_t *ts, int64_t n, tristar_scalar scalar, tristar_operator_fn function,
                               void *arg, const tristar_krylov_options *options, tristar_krylov_t **krylov);

/* Other options for later solves, but for the engine, which stays (another one is UNSUPPORTED); the workspace
 * grows if they need more. After a failure those before hold.
 * Errors: as tristar_krylov_create; BUSY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_krylov_set_options(tristar_krylov_t *krylov,
                                                                      const tristar_krylov_options *options);

/* New values, as many and in the same order as in the view of tristar_krylov_create. The preconditioner is
 * updated by its own function. After a failure the solver has no values; solves give STALE until a later
 * update succeeds. Errors: ARGUMENT, NOT_FINITE, FORMAT; UNSUPPORTED: the matrix is a function; BUSY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_krylov_update_values(tristar_krylov_t *krylov,
                                                                        const void *values);

/* Why the iteration of a column ended. x is the last iterate, whatever the reason. */
typedef enum tristar_krylov_reason {
  TRISTAR_REASON_CONVERGED,  /* the norm is within the tolerance, and true_residual confirms it (see above) */
  TRISTAR_REASON_LIMIT,      /* after max_iterations */
  TRISTAR_REASON_STAGNATED,  /* no smaller norm for `patience` iterations, or in two restarts of GMRES or
                                FGMRES */
  TRISTAR_REASON_DIVERGED,   /* the norm is above divergence times the larger of reference and first norm */
  TRISTAR_REASON_INDEFINITE, /* all kinds of CG: p^H A p is not positive: A is not positive definite */
  TRISTAR_REASON_INDEFINITE_PRECOND, /* all kinds of CG: r^H M^-1 r is not positive; any method: M^-1 b is
                                        zero, but b is not */
  TRISTAR_REASON_BREAKDOWN,  /* BICGSTAB divides by zero, or a Krylov space of GMRES ends before it has x */
  TRISTAR_REASON_NOT_FINITE, /* NaN or infinity came up, in products, in the preconditioner, or by overflow */
  TRISTAR_REASON_CANCELLED,  /* by `progress` */
  TRISTAR_REASON_INACCURATE /* the norm is within the tolerance, but true_residual contradicts it (see above):
                               A or M may be singular, or the tolerance below what rounding errors allow */
} tristar_krylov_reason;

/* A sentence about a reason, static text; never NULL. */
TRISTAR_API const char *tristar_krylov_reason_text(tristar_krylov_reason reason);

/* What became of a column. */
typedef struct tristar_krylov_result {
  tristar_krylov_reason reason; /* why its iteration ended */
  int converged;                /* 1: REASON_CONVERGED */
  int64_t iterations;           /* begun; the last one is where the reason came up */
  double residual;              /* the norm of the test at the end, divided by the reference */
  double reference;             /* || M^-1 b || or || b || */
  double true_residual;         /* || b - A x || / || b ||, of x; 0: b is zero, or the column was not begun */
  int64_t products;             /* with A, that of true_residual included */
  int64_t preconditionings;     /* applications of M^-1 */
  int64_t history_count;        /* points of the column; of all columns the first history_most are written */
  double seconds;               /* of the column, in BLOCK_CG its share of the group's time, and of that: */
  double product_seconds;       /* in products with A */
  double precond_seconds;       /* in the preconditioner. CG with a diagonal one: of the first time; it goes
                                   with operations on vectors from then on */
  double vector_seconds;        /* in operations on vectors */
} tristar_krylov_result;

/* X = A^-1 B. precond: M, of the order and scalar type of the matrix; NULL: the identity. b: n x nrhs,
 * column-major, leading dimension ldb >= n; x likewise with ldx. x must not overlap b. result: nrhs entries,
 * one for each column, or NULL. A column that does not converge is no error: its result has the reason. A
 * column of zeros has the solution zero.
 *
 * Errors: ARGUMENT; NOT_FINITE: NaN or infinity in b, or in the initial guess, the message names row and
 * column; those of tristar_precond_apply and of the matrix function, RUNTIME and NO_WORKER, which end the
 * solve of all columns: x has the iterates so far; STALE; BUSY: another solve with this solver runs. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_krylov_solve(tristar_krylov_t *krylov,
                                                                tristar_precond_t *precond, int64_t nrhs,
                                                                const void *b, int64_t ldb, void *x,
                                                                int64_t ldx, tristar_krylov_result *result);

/* R = B - A X, and the componentwise backward error of X, the largest over the columns, as tristar_residual:
 * how much each entry of A and b would have to change, relative to itself, for X to be exact. r may be NULL,
 * or b; backward_error may be NULL. Errors: ARGUMENT, MEMORY, STALE, BUSY; UNSUPPORTED: the matrix is a
 * function.
 */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_krylov_residual(tristar_krylov_t *krylov, int64_t nrhs,
                                                                   const void *b, int64_t ldb, const void *x,
                                                                   int64_t ldx, void *r, int64_t ldr,
                                                                   double *backward_error);

/* Figures of a solver. */
typedef struct tristar_krylov_stats {
  tristar_krylov_method method; /* The method; never AUTO. */
  int64_t n;                    /* order of the matrix */
  int64_t nnz;                  /* entries of the matrix in full; 0: it is a function */
  int workers;                  /* that products and vectors are spread over; 1: the calling thread */
  size_t matrix_bytes;          /* of the matrix by rows */
  size_t workspace_bytes;       /* of vectors and sums */
  size_t product_bytes;  /* that a product has to read here: the matrix as it is stored for that, and x once;
                            0: it is a function */
  double create_seconds; /* of tristar_krylov_create, without start_seconds */
  double start_seconds;  /* that StarPU took to start, if that call was the first of its context to need it */
  int64_t solves;        /* columns solved so far */
} tristar_krylov_stats;
/* Tells the figures of a solver. */
TRISTAR_API tristar_status tristar_krylov_get_stats(const tristar_krylov_t *krylov,
                                                    tristar_krylov_stats *stats);

/* Frees the solver and sets *krylov to NULL. No solve may be running. Accepts NULL. */
TRISTAR_API void tristar_krylov_destroy(tristar_krylov_t **krylov);

#ifdef __cplusplus
}
#endif
#endif
