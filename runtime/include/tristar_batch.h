/* TriStar: many systems whose matrices have the same pattern, such as those of circuits, chemistry, Newton
 * steps and ensembles.
 *
 *   tristar_batch                analyzes the pattern, with typical values             once
 *   tristar_batch_factor_solve   factors and solves: values and right-hand sides of all systems
 *   tristar_batch_factor         factors, and keeps the factors
 *   tristar_batch_solve          solves with the factors that were kept                many times
 *
 * Systems are factored side by side in the lanes of vectors, 8 at a time in double and 16 in single
 * precision, and groups of so many systems are shared by the cores. The factors are L U, or L D L^T, with the
 * row and column order, the scaling and the pivots of the typical values; every system has the same (Gilbert
 * and Peierls 1988, on a structure computed beforehand). Each solution is checked: its componentwise backward
 * error is computed, and it is refined if that exceeds options.tolerance. Systems that the pivots do not
 * suit, or whose scaled numbers leave the range of the scalars, are solved one after the other with their own
 * pivots, as by tristar_factor and tristar_solve_refined. They use the analysis of the typical values or, if
 * that does not suit, one of their own. tristar_batch_stats counts these systems. The bits of a solution
 * depend neither on the other systems nor on the number of workers.
 *
 * A batch pays for small sparse factors (up to some 10,000 rows). Large supernodes are faster one system
 * after the other. One call at a time for a batch. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_BATCH_H
#define TRISTAR_BATCH_H

#ifdef __cplusplus
extern "C" {
#endif

/* The common structure of many systems. */
typedef struct tristar_batch_s tristar_batch_t;

/* Options of tristar_batch. Call tristar_batch_options_init first. */
typedef struct tristar_batch_options {
  size_t size;               /* Set by tristar_batch_options_init. */
  tristar_ordering ordering; /* Order of elimination, as in tristar_analysis_options. */
  tristar_matching matching; /* Permutation of large entries to the diagonal, by the typical values. */
  tristar_engine engine;     /* AUTO: groups are tasks if there is much work. */
  double tolerance; /* Largest componentwise backward error of a solution. 0: eps^(3/4), 1.8e-12 in double
                       precision. */
  int max_steps;    /* Maximum number of refinement steps before a system is solved by itself. */
  tristar_method
      method;      /* Factors. LU: L U. LDLT: L D L^T (Hermitian: L D L^H) with pivots on the diagonal, about
                      half the operations and memory; a must be SYMMETRIC or HERMITIAN. LLT: the same, and
                      a pivot that is not positive is an error of its system. AUTO: LDLT where the typical
                      values have their pivots on the diagonal, such as positive definite ones; else LU. */
  int64_t systems; /* ORDERING_AUTO: expected number of systems, of all calls, with one right-hand side each.
                      0: 100. More systems justify a longer analysis. */
} tristar_batch_options;

/* ORDERING_AUTO, MATCHING_AUTO, ENGINE_AUTO, tolerance 0, 3 steps, METHOD_LU. ENGINE_AUTO starts StarPU only
 * if calls with the batch have taken a tenth of a second. */
#define tristar_batch_options_init(options) tristar_batch_options_init_sized((options), sizeof *(options))
/* Called by tristar_batch_options_init. */
TRISTAR_API void tristar_batch_options_init_sized(tristar_batch_options *options, size_t size);

/* Analyzes the pattern of a, whose values are typical of the systems. a: square, of any symmetry, which all
 * systems have; it is copied. options may be NULL. The batch keeps a copy of the pattern, for L U another one
 * by rows with 12 bytes for each entry, and the structure of the factors. It keeps the analysis of the
 * typical values, too, unless a has several entries at one place. Errors: those of tristar_analyze and
 * tristar_factor for these values, such as SINGULAR; ARGUMENT (no values; negative tolerance, max_steps or
 * systems; LLT or LDLT of another symmetry), UNSUPPORTED (LDLT: the typical values need pivots off the
 * diagonal). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_batch(tristar_t *ts, const tristar_view *a,
                                                         const tristar_batch_options *options,
                                                         tristar_batch_t **batch);

/* Factors `count` systems and keeps their factors, in place of those that are kept. values: of system s at
 * values + s * stride, counted in scalars of a, in the order of the values of a. status: count entries, or
 * NULL. status[s] is what tristar_factor would return: OK, SINGULAR or NOT_FINITE.
 *
 * Returns the first status that is not OK, with a message that names the system; all other systems have
 * factors then. Other errors: ARGUMENT (NULL, count < 0, stride less than the values of a), MEMORY, RUNTIME,
 * NO_WORKER, CANCELLED, INTERNAL: the call as a whole has failed. After the last five the batch has no
 * factors, and status[s] is the status of the call. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_batch_factor(tristar_batch_t *batch, int64_t count,
                                                                const void *values, int64_t stride,
                                                                tristar_status *status);

/* Solves op(A_s) X_s = B_s for the systems that have factors, with nrhs right-hand sides each. b, x: of
 * system s at b + s * bstride and x + s * xstride, n x nrhs, column-major, leading dimensions ldb and ldx; x
 * may be b if all strides are equal. status: an entry for each system, or NULL: STALE for a system without
 * factors, ACCURACY for a solution whose backward error exceeds eps^(1/3), NOT_FINITE for one beyond the
 * range of numbers; its x has NaN. errors: an entry for each system, or NULL: the largest componentwise
 * backward error of its solutions.
 *
 * Returns the first status that is not OK; all other systems are solved. Other errors: ARGUMENT, STALE (no
 * factors), MEMORY, RUNTIME, NO_WORKER, CANCELLED, INTERNAL. After the last five status[s] is OK for a system
 * that is solved, and else the status of the call; errors[s] is infinite then. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_batch_solve(tristar_batch_t *batch, tristar_op op,
                                                               int64_t nrhs, const void *b, int64_t ldb,
                                                               int64_t bstride, void *x, int64_t ldx,
                                                               int64_t xstride, double *errors,
                                                               tristar_status *status);

/* Both, without keeping the factors: each worker needs memory for one group. Arguments and errors are those
 * of tristar_batch_factor and tristar_batch_solve. Factors that are kept stay. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_batch_factor_solve(tristar_batch_t *batch, int64_t count, const void *values, int64_t stride,
                           tristar_op op, int64_t nrhs, const void *b, int64_t ldb, int64_t bstride, void *x,
                           int64_t ldx, int64_t xstride, double *errors, tristar_status *status);

/* Statistics of a batch. */
typedef struct tristar_batch_stats {
  int64_t n;             /* Rows of a system. */
  int64_t nnz;           /* Entries of the full matrix. */
  int64_t nnz_factor;    /* Entries of L and U of a system, with the diagonal of U; of L and D. */
  tristar_method method; /* LU or LDLT: the factors. */
  double flops;          /* Operations of the factorization of a system, in its own arithmetic. */
  int lanes;             /* Systems of a group. */
  int workers;           /* Threads that share groups, at most. */
  int64_t systems;       /* Systems that the batch has factors of. */
  int64_t apart;         /* Systems that the latest call factored or solved by themselves. */
  double group_bytes;    /* Bytes of the values and factors of a group, without what all groups share. */
  double factor_seconds; /* Seconds of the latest call that factored; of both for factor_solve. */
  double solve_seconds;  /* Seconds of the latest call of tristar_batch_solve. */
} tristar_batch_stats;
/* Copies the statistics to *stats. Errors: ARGUMENT (NULL). */
TRISTAR_API tristar_status tristar_batch_get_stats(const tristar_batch_t *batch, tristar_batch_stats *stats);

/* Frees the batch and sets it to NULL. Accepts NULL. */
TRISTAR_API void tristar_batch_destroy(tristar_batch_t **batch);

#ifdef __cplusplus
}
#endif
#endif
