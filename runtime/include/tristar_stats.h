/* TriStar: figures of analyses, factors, plans and solves.
 *
 * Include it beside tristar.h; it belongs to the same library.
 *
 * Symmetry. METHOD_AUTO takes GENERAL values for symmetric if a_ij and a_ji differ at most by rounding: by 16
 * units of roundoff of themselves, or of sqrt(|a_ii a_jj|) and then by eps^0.75 of a_ii and a_jj.
 *
 * Singularity. Two tests find a matrix that is singular to working precision (tristar_singular):
 *
 *   - Cancellation leaves nothing but rounding errors of a row (at most 4 eps times the largest entry of the
 *     column, as scaled), and no other row is left to pivot with; with L L^T anywhere. Before LU refuses a
 *     matrix it is factored once more without interchanges, in case they and the scaling did not suit it.
 *   - A pivot was perturbed, or one is below 4096 eps times the largest entry of its column, or of the
 *     growth (tristar_factor_stats), and an estimate of 1 / condition (tristar_condition) is below n eps and
 *     eps^0.95, or, if pivots were perturbed, below eps^0.85: 1e-15 and 5e-14, in single precision 3e-7 and
 *     1e-6. Such pivots cost the factorization 4 to 10 solves more, refined ones if pivots were perturbed.
 *
 * eps is that of the matrix; of single factors of a double matrix it is that of single precision in the
 * choice of suspicious pivots, and the solves of the estimate are refined. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_STATS_H
#define TRISTAR_STATS_H

#include "tristar_triangle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Figures of an analysis. */
typedef struct tristar_analysis_stats {
  int64_t n;             /* order of the matrix */
  int64_t nnz;           /* of the matrix in full: both triangles of symmetric storage, duplicates merged */
  int symmetric_pattern; /* 1: the pattern is symmetric */
  tristar_method method; /* LLT, LDLT or LU: what METHOD_AUTO has become */
  int matched;       /* 1: a matching permuted the rows (LU) or paired pivots (LDLT), and gave the scaling */
  int64_t pairs;     /* LDLT: pivots of order 2 that the ordering keeps together */
  int64_t nnz_lower; /* exact entries of L, diagonal included, no padding */
  int64_t stored_lower;            /* entries of L as stored, relaxed merging included */
  double flops;                    /* of the factorization (exact structure) */
  int64_t supernodes;              /* after merging */
  int64_t panels;                  /* supernodes, wide ones cut into several */
  int64_t widest_supernode;        /* columns */
  int64_t tree_height;             /* supernodes on the longest path to a root */
  int64_t elimination_tree_height; /* columns on the longest path to a root */
  double analyze_seconds;          /* of tristar_analyze */
} tristar_analysis_stats;
/* Tells the figures of an analysis. */
TRISTAR_API tristar_status tristar_analysis_get_stats(const tristar_analysis_t *analysis,
                                                      tristar_analysis_stats *stats);

/* The assembly tree of supernodes, as arrays that live as long as the analysis (for pictures and reports). */
typedef struct tristar_assembly_tree {
  int64_t supernodes;          /* how many there are */
  const int32_t *first_column; /* supernodes + 1, in the final ordering */
  const int32_t *parent;       /* supernodes; -1: a root */
  const int64_t *rows;         /* supernodes + 1: rows[s+1] - rows[s] off-diagonal rows of supernode s */
} tristar_assembly_tree;
/* Gives the assembly tree; the arrays are borrowed from the analysis. */
TRISTAR_API tristar_status tristar_analysis_get_assembly_tree(const tristar_analysis_t *analysis,
                                                              tristar_assembly_tree *tree);

/* Figures of a factor. */
typedef struct tristar_factor_stats {
  int64_t perturbed_pivots; /* pivots too small to divide by, replaced by larger ones */
  /* The smallest and the largest pivot in absolute value, of the scaled matrix and before any was perturbed:
   * entries of D, of the diagonal of U (LU), or squares of those of L (LLT); of a pivot of order 2 the square
   * root of its determinant. 0: imported. */
  double smallest_pivot;
  double largest_pivot;  /* see smallest_pivot */
  int64_t nnz_factor;    /* exact entries: L (LLT, LDLT), L + U without the unit diagonal (LU) */
  int64_t stored_factor; /* entries stored */
  size_t factor_bytes;   /* of the factors as stored */
  size_t peak_bytes;     /* largest memory of the factorization, the factors included; as counted by
                            tristar_get_memory */
  double factor_seconds; /* of the latest factorization, or import, without start_seconds */
  double start_seconds;  /* that StarPU took to start, if that call was the first of its context to need it */
  /* Of the latest factorization (tristar_analysis_options.place): */
  int64_t device_fronts;       /* that devices have factored */
  int64_t device_unfit_fronts; /* large ones that devices have no memory for */
  double device_flops;         /* of those fronts, as they are stored, relaxed merging included */
  double device_bus_bytes;     /* that crossed the buses of devices for them, both ways, by the own count */
  double growth; /* The largest ratio of a pivot to the largest entry of its column, as scaled; LLT: to the
                    diagonal entry. 0: imported. */
  /* What was found out where pivots were suspicious (tristar_singular, tristar_growth). */
  int judged;                  /* 1: solve_error is set */
  double solve_error;          /* Backward error of a trial solve that is not refined; infinite: none. */
  double reciprocal_condition; /* What tristar_condition estimates; -1: not estimated. */
  int singular;                /* 1: the matrix is singular to working precision by that estimate. */
} tristar_factor_stats;
/* Tells the figures of a factor. */
TRISTAR_API tristar_status tristar_factor_get_stats(const tristar_factor_t *factor,
                                                    tristar_factor_stats *stats);

/* Where A went: row_scale[r] A(r, c) column_scale[c] = (L D U)(k, l) with r = row_order[k], c =
 * column_order[l]. Each array has n entries or is NULL. For imported factors this is what was given. */
TRISTAR_API tristar_status tristar_factor_get_order(const tristar_factor_t *factor, int64_t *row_order,
                                                    int64_t *column_order, double *row_scale,
                                                    double *column_scale);

/* The analysis that the factor was made with, borrowed: it lives as long as the factor. Not the one given to
 * tristar_factor if METHOD_AUTO went on from Cholesky to L D L^T. */
TRISTAR_API const tristar_analysis_t *tristar_factor_get_analysis(const tristar_factor_t *factor);

/* A figure of every worker, or of every process: its sum, and its smallest, mean and largest value. */
typedef struct tristar_range {
  double total, min, mean, max; /* over all processes */
} tristar_range;

/* Figures of a plan. */
typedef struct tristar_plan_stats {
  tristar_partition partition; /* SUPERNODES, or how the rows of a triangular matrix are divided */
  int64_t chunks;              /* with a diagonal part */
  int64_t slices;              /* row slices of big panels */
  int64_t tasks;               /* StarPU tasks of one replay; 0: a plain call, or lanes */
  int64_t edges;               /* of both directions */
  int64_t width;               /* largest number of nodes at one depth, forward */
  int64_t depth;               /* nodes on the longest path, forward */
  double critical_bytes;       /* bytes streamed on the heaviest path, forward and backward */
  double stream_bytes; /* bytes of factor streamed by one solve, forward and backward, as stored; KERNEL_SPMV:
                          of its matrices */
  double
      exact_bytes; /* (nnz(L) + nnz(U)) * bytes of a scalar of the factors: what GB/s figures are based on */
  double floor_bytes;     /* no chunk lighter than this was wanted, */
  double ceiling_bytes;   /* and none heavier, but for single panels */
  int workers;            /* StarPU workers able to run the tasks; lanes; 1 for a plain call */
  const char *scheduler;  /* static text: of StarPU; "lanes" (see tristar_engine); "serial": a plain call */
  size_t workspace_bytes; /* of the workspace of a solve */
  size_t variant_bytes; /* KERNEL_SPMV: of its matrices, besides the factor; those of op(A) are made at first
                           use */
  double predicted_seconds; /* of a solve with one right-hand side whose factor comes from memory: the larger
                               of all of it at the rate of all workers and the heaviest path at that of one,
                               and the cost of the tasks; by the calibration */
  double plan_seconds;      /* of tristar_plan, without start_seconds */
  double start_seconds; /* that StarPU took to start, if that call was the first of its context to need it */
  double last_solve_seconds; /* of the latest solve to end; of a request: until test or wait saw its end. Of
                                solves with a triangle that take under 2 us one of 16 is timed */
  int64_t solves;            /* with this plan so far */
  int devices;               /* that have subtrees, see tristar_plan_get_device; 0: all is on the cores */
  double unfit_bytes; /* of the factor, of subtrees that were to be on devices, which have no room for them */
  int64_t perturbed_pivots; /* Of the factor. Above 0, tristar_solve refines unless the plan forbids it. */
  int64_t nrhs_block; /* right-hand sides that are solved with at a time, at most: 64, or as many as devices
                         have room for */
} tristar_plan_stats;
/* Tells the figures of a plan. */
TRISTAR_API tristar_status tristar_plan_get_stats(const tristar_plan_t *plan, tristar_plan_stats *stats);

/* Where the time of the latest solve of a plan to end went. Always noted; costs two looks at the clock for
 * each task. (Of a distributed solve: tristar_distributed_stats, whose names mean the same.) */
typedef struct tristar_solve_stats {
  int64_t solves;       /* that ended so far; 0: the rest is zero too */
  int64_t in_flight;    /* started, and not yet seen to have ended by test or wait */
  int workers;          /* CPU workers of StarPU, after them those of devices, if the plan has subtrees
                           there; 1: the solve ran on the calling thread */
  double solve_seconds; /* as last_solve_seconds */
  int64_t tasks;        /* that ran; more than 64 right-hand sides: of all blocks of 64 */
  double bytes;         /* that these tasks streamed, mostly of the factor */
  tristar_range compute_seconds; /* by worker: in tasks of this solve, those on a device until it has them
                                    to do; the calling thread: all of it; */
  tristar_range idle_seconds;    /* the rest of solve_seconds, in which it may have run tasks of others */
} tristar_solve_stats;
/* Tells the figures of the latest solve of a plan to end. */
TRISTAR_API tristar_status tristar_plan_get_solve_stats(const tristar_plan_t *plan,
                                                        tristar_solve_stats *stats);
/* Of one worker in that solve, counted from 0; 0 and 0 where it had none of that number. */
TRISTAR_API tristar_status tristar_plan_get_worker_seconds(const tristar_plan_t *plan, int worker,
                                                           double *compute, double *idle);

#ifdef __cplusplus
}
#endif
#endif
