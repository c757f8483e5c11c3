/* TriStar: choices of an analysis and a plan: ordering, matching, singular matrices, pivot growth, GPUs,
 * storage.
 *
 * Fields of tristar_analysis_options and tristar_plan_options (tristar.h, which includes this header) hold
 * them. The value 0 is not always the default: see tristar_analysis_options_init. */
#ifndef TRISTAR_CHOICES_H
#define TRISTAR_CHOICES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order of elimination. METIS, AMD, DISSECTION and SCOTCH order connected components of up to 64 rows by
 * exact minimum degree. AUTO is AMD or DISSECTION, whichever has the smaller predicted time of analysis,
 * factorization and `solves` solves; the choice is the same on all machines. With leaf_parts > 1 DISSECTION
 * and AUTO are METIS. */
typedef enum tristar_ordering {
  TRISTAR_ORDERING_METIS,      /* Nested dissection by METIS. */
  TRISTAR_ORDERING_NATURAL,    /* The order of the matrix, then postordered. */
  TRISTAR_ORDERING_USER,       /* By tristar_analysis_options.permutation. */
  TRISTAR_ORDERING_PTSCOTCH,   /* Nested dissection by PT-Scotch on all ranks: tristar_dmatrix_factor only. */
  TRISTAR_ORDERING_AMD,        /* Approximate minimum degree (Amestoy, Davis and Duff 1996). */
  TRISTAR_ORDERING_DISSECTION, /* Nested dissection by METIS in parts that several cores order at the same
                                  time: less time and less fill than METIS. */
  TRISTAR_ORDERING_CALLBACK,   /* By tristar_analysis_options.order. */
  TRISTAR_ORDERING_AUTO,       /* AMD or DISSECTION. */
  TRISTAR_ORDERING_SCOTCH      /* Nested dissection by Scotch (tristar_scotch_version). */
} tristar_ordering;

/* An ordering of the caller (ORDERING_CALLBACK) for a symmetric graph of n vertices. The neighbours of vertex
 * v, without v, are index[p] for ptr[v] <= p < ptr[v+1], ascending. Writes the vertex that is eliminated as
 * k-th to permutation[k], k = 0 .. n-1. Returns 0, or another number that fails the analysis. A vertex is a
 * row of the matrix; for LDLT with a matching it can also be the two rows of a pivot of order 2. */
typedef int (*tristar_order_fn)(void *arg, int64_t n, const int64_t *ptr, const int32_t *index,
                                int64_t *permutation);

/* The state of an analysis. */
typedef struct tristar_analysis_point {
  double seconds; /* Seconds since the call began. */
  double share;   /* Fraction of the rows that are ordered, 0 to 1. ORDERING_AUTO may order twice. */
} tristar_analysis_point;

/* Receives the state of an analysis about ten times a second, on the calling thread. A result other than 0
 * cancels the analysis. The function must not use the context. */
typedef int (*tristar_analysis_progress_fn)(void *arg, const tristar_analysis_point *point);

/* Whether large entries are moved to the diagonal before the factorization. AUTO does so for LU and LDLT if
 * diagonal entries are zero or small, or if the matrix is badly scaled; not for a view without values. */
typedef enum tristar_matching {
  TRISTAR_MATCHING_AUTO, /* If the values need it. */
  TRISTAR_MATCHING_OFF,  /* Never. */
  TRISTAR_MATCHING_ON    /* LU: permute large entries to the diagonal. LDLT: keep the rows of large
                            off-diagonal entries together, as pivots of order 2. */
} tristar_matching;

/* Treatment of a matrix that is singular to working precision. tristar_stats.h describes the tests. */
typedef enum tristar_singular {
  TRISTAR_SINGULAR_REFUSE, /* tristar_factor returns SINGULAR and names a row. */
  TRISTAR_SINGULAR_PERTURB /* LU and LDLT perturb small pivots, for inverse iteration and consistent systems.
                              Structurally singular matrices are refused. */
} tristar_singular;

/* Pivots of LU and LDLT. A pivot passes the threshold test if it bounds the entries of its column of L by 1 /
 * pivot_threshold. STATIC takes pivots from the rows of a panel, which are few, and perturbs tiny ones.
 * DELAYED factors like STATIC first. If a pivot was perturbed or fails the test, tristar_factor searches for
 * another order, and analyzes and factors again in that order, up to three times. The search eliminates with
 * threshold pivoting: a column that fails is delayed to an ancestor in the assembly tree, which has more
 * rows (Duff and Reid 1983). The structure grows by these columns. The factor has an analysis of its own then
 * (tristar_factor_get_analysis). tristar_refactor keeps that structure, and plans stay valid.
 * The search runs on one core, and needs memory for its fronts: LU about as much as the fronts of the
 * factorization, LDLT twice as much. Pivots of the new order are perturbed below eps times the largest scaled
 * entry; only singular matrices should have such pivots. The bits of the factors do not depend on the
 * number of workers. tristar_distributed_factor and tristar_dmatrix_factor search on rank 0. Not supported:
 * schur, INVERSE_PARTITIONED. LLT ignores it. */
typedef enum tristar_pivoting {
  TRISTAR_PIVOTING_STATIC, /* Inside panels. */
  TRISTAR_PIVOTING_DELAYED /* Inside panels, in an order whose pivots pass the threshold test. */
} tristar_pivoting;

/* Treatment of pivot growth that costs accuracy: a trial solve of the factorization, without refinement, has
 * a backward error above eps^(2/3). The usual cause is a matching that was computed for other values. */
typedef enum tristar_growth {
  TRISTAR_GROWTH_WARN, /* The log has a warning, and tristar_factor_stats.solve_error has the error. */
  TRISTAR_GROWTH_MATCH /* tristar_factor analyzes again for these values; tristar_refactor returns STALE,
                          because plans depend on the analysis: call tristar_analyze with the values. */
} tristar_growth;

/* Where subtrees of a plan and large fronts of a factorization are computed (tristar_device.h). */
typedef enum tristar_place {
  TRISTAR_PLACE_CPU,  /* On the cores. This is the default: no real GPU has run the kernels yet. */
  TRISTAR_PLACE_AUTO, /* On GPUs if predicted to be faster there. If no GPU can be used, all on the cores. */
  TRISTAR_PLACE_GPU   /* On GPUs, as many as fit. An error without a GPU, or if a plan cannot use one. */
} tristar_place;

/* Format in which a plan stores the entries of the factor. Sums and vectors keep the precision of the factor.
 * For a narrower format the plan makes a rounded copy of the factor, which solves read instead: fewer bytes,
 * less time, and a backward error of the size of the rounding. tristar_solve_refined, or
 * tristar_plan_options.accuracy, restores the digits. Without an accuracy tristar_solve refines, and the log
 * has a warning, if trial solves show that the copy loses more: if their errors, times 2.6 (single: 24),
 * exceed 0.04 (2e-5). A panel whose entries leave the range of the format is scaled by powers of two, or
 * stored as it is.
 *
 * Compression. With tristar_plan_options.compress = t the copy also stores blocks of the rows below diagonal
 * blocks as products U V of low rank, if that takes fewer bytes. For the matrix R of these rows of a panel
 * the Frobenius norm of the change is at most t ||R||, or eps ||R|| if t is smaller. Columns of U and rows of
 * V whose rounding changes R less than that, and if t permits it all entries, are stored in narrower formats.
 * Large 3D problems gain; 2D problems hardly do. tristar_plan and the first solve after new values compress.
 *
 * With release_factor the copy replaces the entries of the factor, whose memory is released (not if
 * STORAGE_AUTO chooses FULL without compression). If STORAGE_AUTO chooses a narrower format, this happens
 * after the trial solves; until then factor and copy are both in memory. Functions that read the factor, and
 * solves with other plans of it, return STALE until tristar_refactor allocates the entries again. The next
 * solve of this plan releases them again; no other solve may be in flight then. Not supported: imported
 * factors, Schur complements.
 *
 * Not supported: triangles by rows, KERNEL_SPMV, GPUs, distributed solves, tristar_null_space; narrower
 * formats of factors in single precision. */
typedef enum tristar_storage {
  TRISTAR_STORAGE_FULL,     /* The factor itself, without a copy. */
  TRISTAR_STORAGE_SINGLE,   /* float: half the bytes, relative rounding errors of 2^-24 (6e-8). */
  TRISTAR_STORAGE_BFLOAT16, /* The upper half of a float: a quarter of the bytes, errors of 2^-8 (4e-3). */
  TRISTAR_STORAGE_AUTO      /* The narrowest format whose trial solve reaches accuracy without refinement. */
} tristar_storage;

#ifdef __cplusplus
}
#endif
#endif
