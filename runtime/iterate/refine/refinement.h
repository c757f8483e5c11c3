/* Iterative refinement of one approximate solution.
 *
 * Job. Corrections by the factors (Arioli, Demmel, Duff 1989; Higham 2002, chapter 12) until the
 * componentwise backward error is small enough or no longer falls by a tenth, then FGMRES with the factors as
 * preconditioner, restarted while it halves the error. The best x is kept.
 *
 * Where the solution spans more powers of two than numbers have digits, a solve leaves residuals in rows of
 * small terms that are rounding errors of the large ones. So FGMRES leaves out rows that are solved: then the
 * rounding errors are those of what it corrects. And as a backward error near one says nothing of how far a
 * row is from being solved, there the largest residual, as the factors scale it, tells progress. Once only
 * rows of small terms are left, the same holds for errors above sqrt(eps): unknowns that are nothing but
 * rounding errors leave the same backward error, about 1 / cond, however small a correction makes them.
 *
 * Reads   a system, b.   Writes  x, work of its own.
 * Invariant: residual and bound are those of the x refined last. */
#pragma once

#include "runtime/iterate/refine/projection.h"
#include "runtime/iterate/refine/residual.h"

typedef struct tsi_refinement {
  const tsi_system *system;
  tsi_system even; /* of a singular system, the same in a scaling that does not depend on units */
  double *scales;  /* 2 n: of its rows, and its columns */
  const tsi_sparse_kernels *kernels;
  tristar_op op;
  const double *row_scale; /* of the rows of op(A) */
  const double *range;     /* of the rows of b in solves */
  int64_t column;          /* of b and x, for messages and the history */
  int margin; /* exponent by which b is smaller than one in a solve, where solutions are near the end of the
                 range of numbers, by the scaling of the columns of op(A) */
  double spread;    /* largest ratio of the scalings of two rows of op(A) */
  bool no_residual; /* result.residual, which costs passes over b and x, is not computed. */
  bool uneven; /* units differ widely: the scalings of two rows, or of two columns, by more than eps^-0.4:
                  2^20, in single precision 2^9 */
  tsi_residual residual;
  tsi_projection *projection; /* of a singular system, with the factors and direct; each is begun when a
                                 column needs it */
  char *correction, *best, *trial;
  char *part, *rest; /* n scalars; single factors of double numbers only */
} tsi_refinement;

/* *r must be zero; to be finished whatever the status. Errors: MEMORY, of messages. */
TRISTAR_CHECKED tristar_status tsi_refinement_begin(const tsi_system *system, tristar_op op,
                                                    tsi_refinement *r);
void tsi_refinement_finish(tsi_refinement *r);

/* Solves with the factors. Single factors get each column of b brought to size one, as they will scale it, by
 * a power of two; so it stays in their range. Where its entries, as they are scaled, span more than that
 * range it is solved part by part, the largest entries first. Overwrites b then. n rows, no gaps; x may be b.
 * Errors: MEMORY, those of tristar_solve. */
TRISTAR_CHECKED tristar_status tsi_solve_in_range(const tsi_refinement *r, int64_t nrhs, void *b, void *x);

/* Refines x in place. *result gets the larger of what it holds and what was found, and the points of the
 * history. Errors: MEMORY, those of tristar_solve; NOT_FINITE: b or x, or what is computed from them, has
 * left the range of numbers (the message names the row). */
TRISTAR_CHECKED tristar_status tsi_refine(const tsi_refinement *r, const void *b, void *x,
                                          const tristar_refine_options *options,
                                          tristar_refine_result *result);

/* The largest entry of b, with that scaling of its rows. */
static inline double tsi_scaled_size(const tsi_refinement *r, const void *b, const double *scale) {
  return tsi_team_largest(r->system->team, r->kernels->largest_scaled(r->system->n, b, scale));
}

/* Has a singular system a solution, and is x one that null vectors have not spoiled (singular.c)? x may get
 * the place of a better one. *error, *residual: of x; a large residual says no. Errors: as tsi_refine. */
TRISTAR_CHECKED tristar_status tsi_refine_singular(const tsi_refinement *r, const void *b, void *x,
                                                   const tristar_refine_options *options, double *error,
                                                   double *residual);

/* Bytes of that, with the refinement and FGMRES, at most, beside what is kept (projection.h) and the
 * workspace of the plan. */
size_t tsi_refine_singular_bytes(tsi_index n, size_t scalar_bytes);

/* Solves, and refines all columns; forward errors, if options ask for them. b_step, x_step: bytes from one
 * column to the next. NOT_FINITE: *result is that of the other columns. Errors: as tsi_refine. */
TRISTAR_CHECKED tristar_status tsi_solve_refined(const tsi_system *system, tristar_op op, int64_t nrhs,
                                                 const void *b, size_t b_step, void *x, size_t x_step,
                                                 const tristar_refine_options *options,
                                                 tristar_refine_result *result);
/* The verdict on solutions that tristar_solve has refined by itself, of a factor whose matrix was found
 * singular, or not. accuracy: that of the plan; 0: none, and refinement that fails leaves errors above
 * eps^(1/3). Of a singular matrix the residual must be small, too. Errors: ACCURACY. */
TRISTAR_CHECKED tristar_status tsi_refined_judge(tsi_env *env, const tsi_sparse_kernels *kernels,
                                                 bool singular, double accuracy,
                                                 const tristar_refine_result *result);
/* Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_refine_options_check(tsi_env *env, const tristar_refine_options *options);
