/* Iterative refinement of one approximate solution.
 *
 * Job. Make corrections by the factors (Arioli, Demmel, Duff 1989; Higham 2002, chapter 12) until the
 * componentwise backward error is small enough or no longer falls by a tenth. Then run FGMRES with the
 * factors as preconditioner, restarted while it halves the error. The best x is kept.
 *
 * If the solution spans more powers of two than numbers have digits, a solve leaves residuals in rows of
 * small terms that are rounding errors of the large terms. So FGMRES skips rows that are solved; then the
 * rounding errors are relative to the correction. A backward error near one does not show how far a row is
 * from being solved. There the largest residual, in the scaling of the factors, measures progress. Once only
 * rows of small terms are left, the same holds for errors above sqrt(eps). Unknowns that consist of rounding
 * errors have the same backward error, about 1 / cond, for any size of a correction.
 *
 * Reads   a system, b.   Writes  x, its own work arrays.
 * Invariant: residual and bound belong to the x that was refined last. */
#pragma once

#include "runtime/iterate/refine/projection.h"
#include "runtime/iterate/refine/residual.h"

typedef struct tsi_refinement {
  const tsi_system *system;
  tsi_system even; /* a singular system in a scaling that does not depend on units */
  double *scales;  /* 2 n: scalings of its rows, then of its columns */
  const tsi_sparse_kernels *kernels;
  tristar_op op;
  const double *row_scale; /* scaling of the rows of op(A) */
  const double *range;     /* scaling of the rows of b in solves */
  int64_t column;          /* index of the column of b and x, for messages and the history */
  int margin; /* Solves divide b by 2^margin. Positive if solutions are near the end of the range of numbers
                 in the scaling of the columns of op(A). */
  double spread;    /* largest ratio of the scalings of two rows of op(A) */
  bool no_residual; /* result.residual, which costs passes over b and x, is not computed. */
  bool uneven;      /* units differ widely: the scalings of two rows, or of two columns, by more than eps^-0.4
                       (double 2^20, single 2^9) */
  tsi_residual residual;
  tsi_projection
      *projection; /* singular systems: with the factors, and direct; each begins when a column needs it */
  char *correction, *best, *trial;
} tsi_refinement;

/* *r must be zero. It must be finished, also after a failure. Errors: MEMORY, those of messages. */
TRISTAR_CHECKED tristar_status tsi_refinement_begin(const tsi_system *system, tristar_op op,
                                                    tsi_refinement *r);
/* Prepares *r, which must be zero, only for tsi_solve_in_range. */
void tsi_refinement_begin_solves(const tsi_system *system, tristar_op op, tsi_refinement *r);
void tsi_refinement_finish(tsi_refinement *r);

/* Solves with the factors. For single factors each column of b is multiplied by a power of two, so that it
 * has size one after scaling and stays in range. If its scaled entries span more than this range, it is
 * solved in parts, the largest entries first; this overwrites b. n rows, leading dimension n; x may be b.
 * Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_solve_in_range(const tsi_refinement *r, int64_t nrhs, void *b, void *x);

/* Refines x in place. *result is raised to the new errors and counts, and the points of the history are
 * added. Errors: MEMORY, those of tristar_solve; NOT_FINITE: b, x, or a number computed from them has left
 * the range of numbers (the message names the row). */
TRISTAR_CHECKED tristar_status tsi_refine(const tsi_refinement *r, const void *b, void *x,
                                          const tristar_refine_options *options,
                                          tristar_refine_result *result);

/* The largest entry of b in this row scaling. */
static inline double tsi_scaled_size(const tsi_refinement *r, const void *b, const double *scale) {
  return tsi_team_largest(r->system->team, r->kernels->largest_scaled(r->system->n, b, scale));
}

/* Does a singular system have a solution, and is x one without large null vectors (singular.c)? A better
 * solution replaces x. *error, *residual: of x; a large residual means no. Errors: as tsi_refine. */
TRISTAR_CHECKED tristar_status tsi_refine_singular(const tsi_refinement *r, const void *b, void *x,
                                                   const tristar_refine_options *options, double *error,
                                                   double *residual);

/* Upper limit of the bytes that it needs, with the refinement and FGMRES, but without stored null vectors
 * (projection.h) and the workspace of the plan. */
size_t tsi_refine_singular_bytes(tsi_index n, size_t scalar_bytes);

/* Solves, and refines all columns; estimates forward errors if options request them. b_step, x_step: bytes
 * between two columns. NOT_FINITE: *result covers the other columns. Errors: as tsi_refine. */
TRISTAR_CHECKED tristar_status tsi_solve_refined(const tsi_system *system, tristar_op op, int64_t nrhs,
                                                 const void *b, size_t b_step, void *x, size_t x_step,
                                                 const tristar_refine_options *options,
                                                 tristar_refine_result *result);
/* The verdict on solutions that tristar_solve has refined. singular: the matrix of the factor was found
 * singular. accuracy: of the plan; 0: none, then errors above eps^(1/3) fail. For a singular matrix the
 * residual must be small, too. Errors: ACCURACY. */
TRISTAR_CHECKED tristar_status tsi_refined_judge(tsi_env *env, const tsi_sparse_kernels *kernels,
                                                 bool singular, double accuracy,
                                                 const tristar_refine_result *result);
/* Checks values[place], which is entry (row, column) of an inverse, both counted from 0. Errors: NOT_FINITE.
 */
TRISTAR_CHECKED tristar_status tsi_inverse_entry_check(tsi_env *env, char scalar, const void *values,
                                                       tsi_count place, int64_t row, int64_t column);
/* Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_refine_options_check(tsi_env *env, const tristar_refine_options *options);
