/* TriStar: statistics of analyses, factors, plans and solves.
 *
 * Symmetry. METHOD_AUTO takes GENERAL values for symmetric if a_ij and a_ji differ at most by rounding: by 16
 * eps of themselves, or of sqrt(|a_ii a_jj|) and then by eps^0.75 of a_ii and a_jj.
 *
 * Singularity. Two tests find a matrix that is singular to working precision (tristar_singular):
 *
 *   - Cancellation leaves only rounding errors of a row, at most 4 eps times the largest entry of the scaled
 *     column, and no other row is left as pivot. For L L^T this test holds everywhere. Before LU refuses a
 *     matrix, it is factored once more without interchanges.
 *   - Pivots are suspicious. Then residuals of 4 solves without refinement, and an estimate of 1 / condition
 *     with 4 to 10 more, can prove the matrix regular. Otherwise tristar_condition estimates it. The matrix
 *     is singular if the estimate is below n eps and eps^0.95; if pivots were perturbed, below eps^0.85
 *     (5e-14; in single precision 1e-6). If pivots only inherit errors, the limit is eps. If no null vector
 *     is found, a scaling that suits the inverse counts as well, if residuals of 4 solves are small there.
 *
 * A scaling or a matching that does not suit the values can make a regular matrix look singular. Often a null
 * vector removes the doubt: if entries that change by such a share of themselves make the matrix singular,
 * it is. Otherwise LU and L D L^T analyze and factor the values once more, with a matching and its scaling.
 * If the condition is good then, the matrix is regular: tristar_factor keeps the new factors, with a warning;
 * tristar_refactor returns STALE, or, with SINGULAR_PERTURB, keeps the old factors, with a warning. With
 * MATCHING_OFF the old factors stay, too, with a warning; if nothing is left of a row, or for a Schur
 * complement, it is SINGULAR. Solves with such factors are refined, and measure each row by its own terms;
 * tristar_solve returns ACCURACY if an error remains. Distributed factorizations do the same. Their trial
 * solves add up in another order, so a figure that is equal to its limit but for rounding can give another
 * verdict.
 *
 * Pivots are suspicious if one was perturbed, or is below 4096 eps times the largest entry of its column or
 * the growth. They are also if many pivots in a row are much smaller than their columns: each loses digits by
 * cancellation, and later ones inherit the errors. Where these may reach eps^0.3 of a pivot (2e-5; in single
 * precision 8e-3), one solve shows whether the inverse is large, beyond eps^-0.4 (2e6; in single precision
 * 600). Only then is the condition estimated, or if trial solves lose digits and the errors may reach
 * eps^0.5.
 *
 * Inverted diagonal blocks. Solves multiply by X = D^-1 for each diagonal block D. Their backward error is
 * about eps g, where g is the largest |X(i,j)| / max(|X(i,i)|, |X(j,j)|). It is small for almost all
 * matrices, and grows like 2^w for triangular blocks of w columns with a unit diagonal and -1 beside it. If g
 * exceeds eps^(-1/3), trial solves measure the loss. If they lose digits, or if g exceeds eps^(-1/2),
 * tristar_factor analyzes and factors once more for INVERSE_NONE, substitution, with a warning. Imports use
 * substitution from g = eps^(-1/3) on. tristar_refactor and tristar_reimport keep what the plans rely on:
 * trial solves decide whether tristar_solve refines, and the log has a warning. Distributed factorizations
 * do the same.
 *
 * Units. The unit of a row or column is the reciprocal of its scaling. They are apart if scalings of rows,
 * or of columns, differ by more than 2^20 (single precision: 2^9).
 *
 * Weak pivots. A pivot below eps^0.3 of its column, or g above 100 (single precision: 8), can cost digits in
 * rows of small terms. So can a pivot below 2^-10 of its column, if scalings are apart: its share over their
 * ratio is below eps^0.56. So can growth above 1000 (single precision: 200), if its product with that ratio
 * is above eps^(-1/3). Trial solves with 8 right-hand sides look for such rows. As a few right-hand sides
 * miss some, solve_error is eps^-0.2 times their error (1,400; in single precision 24), and at least eps
 * times the condition, if that was estimated. Where scalings differ by more than 2^20 (single precision: 2^9)
 * it is at least 1, without trials: they are no evidence for other right-hand sides. Scalings of A that
 * differ by 2^13 to 2^20 (single precision: 2^6 to 2^9) are tried with 2 right-hand sides, up to 100 rows
 * with 8. There solve_error is eps^-0.1 times their error (37; in single precision 5). Of 8 right-hand sides
 * 2 are tried first, and the other 6 only if these 2 lose no digits. LU tries A^T after A under the same
 * condition.
 *
 * Refactorizations. If units or weak pivots made solves lose digits with the values before, and still are the
 * only reason for trials, none are made: solve_error is that of the values before, rounded up to 2^k, and
 * solves refine. With GROWTH_MATCH trials are always made.
 *
 * eps is twice the unit roundoff of the matrix: 2^-52, in single precision 2^-23. For single factors of a
 * double matrix the search for suspicious pivots uses single precision, and the solves of the estimate are
 * refined. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_STATS_H
#define TRISTAR_STATS_H

#include "tristar_triangle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Analysis ---------------------------------------------------------------------------------------- */

/* Statistics of an analysis. */
typedef struct tristar_analysis_stats {
  int64_t n;                /* Order of the matrix. */
  int64_t nnz;              /* Entries of the full matrix: both triangles, duplicates merged. */
  int symmetric_pattern;    /* 1: the pattern is symmetric. */
  int64_t missing_mirrors;  /* Off-diagonal entries (i, j) of a GENERAL matrix without an entry (j, i). */
  int rounded;              /* 1: a GENERAL matrix is factored as symmetric or Hermitian, though (i, j) and
                               (j, i) differ by rounding errors; by the values of tristar_analyze. */
  tristar_method method;    /* LLT, LDLT or LU; never AUTO. */
  int matched;              /* 1: a matching permuted rows (LU) or paired pivots (LDLT), and scaled. */
  int64_t pairs;            /* LDLT: pivots of order 2 that the ordering keeps together. */
  int64_t nnz_lower;        /* Exact entries of L with its diagonal, without padding. */
  int64_t stored_lower;     /* Stored entries of L, with the zeros of relaxed merging. */
  double flops;             /* Operations of the factorization, for the exact structure. */
  int64_t supernodes;       /* Supernodes after merging. */
  int64_t panels;           /* Panels: wide supernodes are cut into several. */
  int64_t widest_supernode; /* Columns of the widest supernode. */
  int64_t tree_height;      /* Supernodes on the longest path to a root. */
  int64_t elimination_tree_height; /* Columns on the longest path to a root. */
  double analyze_seconds;          /* Seconds of tristar_analyze. */
  tristar_ordering ordering;       /* The ordering that was taken; never AUTO. */
  const char *ordering_reason;     /* Why ORDERING_AUTO took it; "" for another option. Static text. */
} tristar_analysis_stats;
/* Copies the statistics of the analysis to *stats. */
TRISTAR_API tristar_status tristar_analysis_get_stats(const tristar_analysis_t *analysis,
                                                      tristar_analysis_stats *stats);

/* The assembly tree of supernodes. The arrays live as long as the analysis. */
typedef struct tristar_assembly_tree {
  int64_t supernodes;          /* Number of supernodes. */
  const int32_t *first_column; /* First column of each supernode in the final ordering; supernodes + 1. */
  const int32_t *parent;       /* Parent of each supernode; -1: a root. */
  const int64_t *rows;         /* Supernode s has rows[s+1] - rows[s] off-diagonal rows; supernodes + 1. */
} tristar_assembly_tree;
/* Returns the assembly tree; the arrays are borrowed from the analysis. */
TRISTAR_API tristar_status tristar_analysis_get_assembly_tree(const tristar_analysis_t *analysis,
                                                              tristar_assembly_tree *tree);

/* ---- Factors ----------------------------------------------------------------------------------------- */

/* Statistics of a factor. A pivot is an entry of D, of the diagonal of U (LU), or the square of a diagonal
 * entry of L (LLT), of the scaled matrix before perturbation. For a pivot of order 2 it is the square root of
 * its determinant. Imported factors have the pivots and the growth 0. */
typedef struct tristar_factor_stats {
  int64_t perturbed_pivots; /* Pivots too small to divide by, replaced by larger ones. Above 0, solutions
                               need refinement. */
  double smallest_pivot;    /* Smallest pivot in absolute value. */
  double largest_pivot;     /* Largest pivot in absolute value. */
  int64_t nnz_factor;       /* Exact entries of L (LLT, LDLT), or of L + U without the unit diagonal. */
  int64_t stored_factor;    /* Stored entries. */
  size_t factor_bytes;      /* Bytes of the stored factors. */
  size_t peak_bytes;     /* Largest memory of the factorization, factors included, by tristar_get_memory. */
  double factor_seconds; /* Seconds of the latest factorization or import, without start_seconds. */
  double start_seconds;  /* Seconds of starting StarPU, if that call was the first to need it. */
  int64_t device_fronts; /* Fronts that GPUs factored in the latest factorization. */
  int64_t device_unfit_fronts; /* Large fronts for which GPUs have no memory. */
  double device_flops;         /* Operations of the fronts on GPUs, as stored. */
  double device_bus_bytes;     /* Bytes that crossed the buses of GPUs for these fronts, both ways. */
  double growth;      /* Largest ratio of a pivot to the largest entry of its scaled column; LLT: to the
                         diagonal entry. */
  int judged;         /* 1: solve_error is set, by trial solves for the condition, the growth or the units, or
                         without trials, as units are apart or values before lost digits (see above). */
  int schur_refined;  /* 1: refined solves computed the Schur complement, as pivots were perturbed
                         (tristar_schur.h). */
  double solve_error; /* Largest backward error of trial solves with A and A^T, without refinement, or what
                         is to be expected (see above); at least 1 where units are apart. Above eps^(2/3),
                         tristar_solve refines. Infinite: out of range. */
  double reciprocal_condition; /* As of tristar_condition, but of solves without refinement if these
                                  prove A regular; -1: not estimated. */
  int singular;                /* 1: by that estimate the matrix is singular to working precision. */
  /* Of PIVOTING_DELAYED; else 0. */
  int pivot_rounds;        /* Searches for another order that tristar_factor has made. */
  int64_t delayed_pivots;  /* Columns that these searches have delayed to an ancestor, all together. */
  int64_t added_entries;   /* Entries (nnz_factor) that the last structure has more than the first one. */
  int64_t unstable_pivots; /* Pivots of the latest factorization that fail the threshold test. */
} tristar_factor_stats;
/* Copies the statistics of the factor to *stats. */
TRISTAR_API tristar_status tristar_factor_get_stats(const tristar_factor_t *factor,
                                                    tristar_factor_stats *stats);

/* The permutation and the scaling of the factor: row_scale[r] A(r, c) column_scale[c] = (L D U)(k, l) with
 * r = row_order[k], c = column_order[l]. Each array has n entries or is NULL. Imported factors return what
 * was imported. */
TRISTAR_API tristar_status tristar_factor_get_order(const tristar_factor_t *factor, int64_t *row_order,
                                                    int64_t *column_order, double *row_scale,
                                                    double *column_scale);

/* The determinant of a matrix: (mantissa[0] + i mantissa[1]) 2^exponent. */
typedef struct tristar_determinant {
  double mantissa[2]; /* Real and imaginary part. The larger absolute value is in [1/2, 1). Singular: 0. */
  int64_t exponent;   /* Singular: 0. */
  double sign[2];     /* The determinant divided by its absolute value: 1, -1 or a phase. Singular: 0. */
  double log_abs;     /* Natural logarithm of the absolute value. Singular: minus infinity. */
} tristar_determinant;
/* Computes the determinant of A from its factors. The relative error is about n eps of the type of A for
 * matrices of good condition, and n eps times the condition and the growth of pivots at most. The determinant
 * of a matrix that is singular to working precision is 0. The function analyzes and factors A once more, with
 * a matching and delayed pivots, and without single_factors, if the factors are single_factors, if pivots
 * were perturbed though A is not singular, if scalings of LU or L D L^T differ by more than 2^20 (single
 * precision: 2^9), or if solves with the factors lose digits. In the last case it uses the first factors if
 * they are no single_factors and the second factorization fails. Errors: STALE; UNSUPPORTED (an imported
 * factor); ACCURACY (pivots are perturbed then, grow, or may be rounding errors); those of tristar_factor. */
TRISTAR_API tristar_status tristar_factor_get_determinant(const tristar_factor_t *factor,
                                                          tristar_determinant *determinant);

/* The numbers of positive, negative and zero eigenvalues of a symmetric or Hermitian matrix. */
typedef struct tristar_inertia {
  int64_t positive; /* Eigenvalues above zero. */
  int64_t negative; /* Eigenvalues below zero. */
  int64_t zero;     /* Null pivots of a singular matrix: at most eps^0.8 times the largest scaled entry. If
                       units are apart, 4 eps times. */
} tristar_inertia;
/* Counts the signs of the pivots of L L^T or L D L^T (Sylvester's law of inertia). Errors: STALE; UNSUPPORTED
 * (LU, a complex symmetric matrix, an imported factor); ACCURACY (signs are unknown: pivots were perturbed,
 * have grown, or are not clearly zero). Before this error the function factors A once more, with a matching
 * and delayed pivots, and without single_factors. It also does so if units are apart and pivots are zero, and
 * always for single_factors. Other errors: those of tristar_factor. */
TRISTAR_API tristar_status tristar_factor_get_inertia(const tristar_factor_t *factor,
                                                      tristar_inertia *inertia);

/* The analysis of the factor, borrowed: it lives as long as the factor. It is not the analysis that
 * tristar_factor received if METHOD_AUTO changed from Cholesky to L D L^T. */
TRISTAR_API const tristar_analysis_t *tristar_factor_get_analysis(const tristar_factor_t *factor);

/* ---- Plans and solves -------------------------------------------------------------------------------- */

/* A quantity of every worker, or of every process. */
typedef struct tristar_range {
  double total, min, mean, max; /* Sum, smallest, mean and largest value. */
} tristar_range;

/* Statistics of a plan. */
typedef struct tristar_plan_stats {
  int64_t perturbed_pivots;    /* Perturbed pivots of the factor. */
  tristar_partition partition; /* SUPERNODES, or the partition of the rows of a triangular matrix. */
  int64_t chunks;              /* Chunks with a diagonal part. */
  int64_t slices;              /* Slices of the rows of large panels. */
  int64_t tasks;               /* StarPU tasks of one solve. 0: the calling thread solves, or lanes. */
  int64_t edges;               /* Edges of the graph, of both directions. */
  int64_t width;               /* Largest number of nodes at one depth, forward. */
  int64_t depth;               /* Nodes on the longest path, forward. */
  double critical_bytes;       /* Bytes read on the heaviest path, forward and backward. */
  double stream_bytes;         /* Bytes of the stored factor, in the format of storage, or of the matrices of
                                  KERNEL_SPMV, that one solve reads, forward and backward. */
  double exact_bytes;          /* (nnz(L) + nnz(U)) * bytes of an entry in the format of storage: the base of
                                  GB/s. */
  double floor_bytes;          /* Desired size of the smallest chunk, in bytes. */
  double ceiling_bytes;        /* Desired size of the largest chunk that has several panels, in bytes. */
  int workers;                 /* StarPU workers able to run the tasks, or lanes; 1 without both. */
  const char *scheduler;     /* Scheduler of StarPU, "lanes", or "serial": the calling thread. Static text. */
  size_t workspace_bytes;    /* Bytes of the workspace of a solve. */
  size_t variant_bytes;      /* KERNEL_SPMV: bytes of its matrices, besides the factor. The matrices of op(A)
                                are made at the first use. */
  double predicted_seconds;  /* Predicted seconds of a solve with one right-hand side whose factor is in main
                                memory, by the calibration: the larger of all bytes at the rate of all workers
                                and the heaviest path at the rate of one, plus the cost of the tasks. */
  double plan_seconds;       /* Seconds of tristar_plan, without start_seconds. */
  double start_seconds;      /* Seconds of starting StarPU, if that call was the first to need it. */
  double last_solve_seconds; /* Seconds of the latest solve to end. A request ends when test or wait finds its
                                end. Of solves with a triangle below 2 us one of 16 is timed. */
  int64_t solves;            /* Number of solves so far. */
  int devices;               /* GPUs that have subtrees, see tristar_plan_get_device. 0: all on the cores. */
  double unfit_bytes;        /* Bytes of subtrees for GPUs that have no memory for them. */
  int refines;               /* 1: tristar_solve refines (TRISTAR_REFINE_AUTO). */
  int64_t nrhs_block; /* Maximum number of right-hand sides that are solved with at a time: 64, or as many as
                         fit on the GPUs, or fuse_columns. */
  int64_t fused;      /* Solves so far that shared a pass over the factor with others (fuse_columns). */
  int64_t fused_passes;    /* Passes that they shared. */
  tristar_storage storage; /* Format of the factor that solves read; never AUTO. */
  double storage_bytes;    /* Bytes of the rounded copies of L and U that storage makes. 0: none. */
  double storage_saved; /* Bytes that these copies take less than the same in the precision of the factor. */
  int64_t storage_panels[3]; /* Panels of the copies in each format, by tristar_storage; without those whose
                                rectangle is compressed. */
  double compress;           /* Tolerance of the compression; 0: none. */
  int64_t compressed_panels; /* Panels whose rows below the diagonal block are compressed. */
  int64_t compressed_blocks; /* Blocks that these rows are cut into. */
  int64_t low_rank_blocks;   /* Blocks of these that are stored as a product U V. */
  double rank_share;         /* Mean rank of U V over the smaller of rows and columns, weighed by entries. */
  double compressed_bytes;   /* Bytes of all these blocks. */
  double compressed_full_bytes; /* Bytes of the same entries in the precision of the factor. */
  int factor_released;          /* 1: the factor has no entries (release_factor). */
  int64_t inverse_solves; /* Refined solves of the latest request for entries of the inverse; 0: none. */
} tristar_plan_stats;
/* Copies the statistics of the plan to *stats. */
TRISTAR_API tristar_status tristar_plan_get_stats(const tristar_plan_t *plan, tristar_plan_stats *stats);

/* Time of the latest solve of a plan to end. It is always measured, by two readings of the clock per task.
 * tristar_distributed_stats has the same names for distributed solves. */
typedef struct tristar_solve_stats {
  int64_t solves;       /* Solves that ended so far. 0: all other fields are zero. */
  int64_t in_flight;    /* Solves that started, and whose end test or wait has not found yet. */
  int workers;          /* CPU workers of StarPU, then workers of GPUs that have subtrees. 1: the calling
                           thread. */
  double solve_seconds; /* As last_solve_seconds. */
  int64_t tasks;        /* Tasks of the solve, of all its blocks of 64 right-hand sides. */
  double bytes;         /* Bytes that these tasks read, mostly of the factor. */
  tristar_range compute_seconds; /* Seconds of each worker in tasks of this solve; a task on a GPU counts
                                    until the GPU has received it. */
  tristar_range idle_seconds;    /* The rest of solve_seconds, in which a worker may run other tasks. */
} tristar_solve_stats;
/* Copies the statistics of the latest solve of a plan to end. */
TRISTAR_API tristar_status tristar_plan_get_solve_stats(const tristar_plan_t *plan,
                                                        tristar_solve_stats *stats);
/* Seconds of worker number `worker`, from 0, in that solve. An unknown worker has 0 and 0. */
TRISTAR_API tristar_status tristar_plan_get_worker_seconds(const tristar_plan_t *plan, int worker,
                                                           double *compute, double *idle);

#ifdef __cplusplus
}
#endif
#endif
