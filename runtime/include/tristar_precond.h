/* TriStar: preconditioners, M close to A, applied by sparse triangular solves or products.
 *
 *   tristar_precond               matrix -> incomplete factors, their plans            once per pattern
 *   tristar_precond_update        new values on the same pattern                       once per set of values
 *   tristar_precond_apply         X = op(M)^-1 B                                       many times
 *
 * Two more kinds wrap what the program has: tristar_precond_of_plan, complete factors or a triangle;
 * tristar_precond_of_function, a function.
 *
 * Triangular factors are imported as by tristar_import_triangle, and plans divided by `partition` solve with
 * them. With the default options the first applications of ILU, ILUT and IC use the factors as they were
 * computed, with the same bits. A later one imports them. It also does so for several right-hand sides, and
 * for T and C of an unsymmetric or complex M. Several threads may apply one preconditioner at the same time.
 * Rows and columns in messages count from 0. The result of a set-up depends on matrix and options only, not
 * on workers. */
#ifndef TRISTAR_PRECOND_H
#define TRISTAR_PRECOND_H

#include "tristar_triangle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A preconditioner M of a square matrix A. */
typedef struct tristar_precond_s tristar_precond_t;

/* Kind of M. Incomplete factors keep the order of the rows and do not pivot; the program may permute the
 * matrix before. */
typedef enum tristar_precond_kind {
  TRISTAR_PRECOND_NONE,   /* M = I */
  TRISTAR_PRECOND_JACOBI, /* M = D, the diagonal of A. */
  /* M = w / (2 - w) (D / w + L) D^-1 (D / w + U), where A = L + D + U and w is omega. w = 1: symmetric
   * Gauss-Seidel. Plain Gauss-Seidel, M = D + L, is tristar_import_triangle of the lower triangle of A, with
   * tristar_precond_of_plan. */
  TRISTAR_PRECOND_SSOR,
  /* M = L U, unit L, by level of fill (Saad, Iterative Methods for Sparse Linear Systems, 10.3). Entries of A
   * have level 0, fill (i, j) through k has level(i, k) + level(k, j) + 1, and levels up to `level` are kept.
   * Level 0: L U = A on the pattern of A. */
  TRISTAR_PRECOND_ILU,
  /* M = L U, unit L, by size (after Saad's ILUT, 10.4). Row i drops entries up to drop || row i of A ||_2, in
   * L before the division by the pivot. Of the rest, L and U keep the diagonal and the largest entries: as
   * many as A has there, and `fill` more. drop 0 with fill n: all of L and U. */
  TRISTAR_PRECOND_ILUT,
  /* M = L L^T or L L^H by level of fill, for a symmetric or Hermitian positive definite A. A may store one
   * triangle, or as a GENERAL matrix both. Complex symmetric A: M = L L^T, with complex square roots on the
   * diagonal. */
  TRISTAR_PRECOND_IC,
  TRISTAR_PRECOND_ICT, /* The same by size: columns of L drop entries as rows do in ILUT. */
  /* M^-1 = G^H G, a factorized sparse approximate inverse of a symmetric or Hermitian positive definite A,
   * stored as for IC. G is lower triangular. Row i minimizes psi_i = g A g^H over all rows with its pattern
   * and g_i = 1, and is then scaled to (G A G^H)_ii = 1 (Kolotilina and Yeremin 1993). The pattern is the
   * diagonal, or static by `power`. Then it adapts: in each of `steps` steps the `per_step` columns with the
   * largest entries of the gradient of psi_i join it (Janna and Ferronato 2011). With `block` the rows of a
   * node share a pattern (Janna, Ferronato and Gambolati 2015), and the set-up is about twice as fast. All
   * rows are independent, in the set-up and in applications, which are two sparse products.
   *
   * A pair (`pair`) serves any other A: M^-1 = G_U G_L, G_L lower and G_U upper triangular, with one pattern
   * P of row i and column i. On P, (G_L A)_i and (A G_U)_i are multiples of the unit vector, and (G_L A
   * G_U)_ii = 1. Static patterns come from the pattern of A + A^H. They adapt to the Hermitian part of A,
   * with its rows scaled to a positive diagonal; where that is not positive definite, to the larger entries
   * of g A and A h. */
  TRISTAR_PRECOND_FSAI,
  TRISTAR_PRECOND_PLAN,    /* tristar_precond_of_plan */
  TRISTAR_PRECOND_FUNCTION /* tristar_precond_of_function */
} tristar_precond_kind;

/* Value of tristar_precond_options.block. */
#define TRISTAR_PRECOND_BLOCK_AUTO (-1)

/* FSAI: one factor or two. */
typedef enum tristar_pair {
  TRISTAR_PAIR_NEVER,  /* G: A is Hermitian (real: symmetric). */
  TRISTAR_PAIR_ALWAYS, /* G_L and G_U of any A. */
  TRISTAR_PAIR_AUTO    /* G if A is Hermitian, else G_L and G_U. Updates keep the choice. */
} tristar_pair;

/* Options of tristar_precond. Call tristar_precond_options_init first. Fields that the kind does not use are
 * not read. */
typedef struct tristar_precond_options {
  size_t size;               /* Set by tristar_precond_options_init. */
  tristar_precond_kind kind; /* Kind of M; not PLAN or FUNCTION. */
  int level;                 /* ILU, IC: largest level of fill, from 0 on. */
  double drop;               /* ILUT, ICT: drop tolerance, relative to the norm of the row; from 0 on. */
  int64_t fill;              /* ILUT, ICT: entries of a row beyond those of A, in L and in U; from 0 on. */
  double modified;  /* ILU, IC: share of dropped fill that is added to the diagonal, 0 to 1. 1: M and A have
                       the same row sums (MILU, MIC; Gustafsson 1978); of Hermitian fill the real parts. */
  double omega;     /* SSOR: 0 < omega < 2. */
  double shift;     /* ILU, ILUT, IC, ICT, FSAI: the diagonal is multiplied by 1 + shift, for safer pivots
                       (Manteuffel 1980); from 0 on. */
  int64_t steps;    /* FSAI: maximum number of steps in which columns join the pattern of a row; from 0 on. */
  int64_t per_step; /* FSAI: maximum number of columns that join in a step; from 1 on. */
  double reduction; /* FSAI: a row is complete once psi_i is at most this share of a_ii; 0 to 1. */
  int power;        /* FSAI: patterns begin as the lower triangle of A^power; 0: as the diagonal. */
  double prefilter; /* FSAI: `power` ignores entries with |a_ij| <= prefilter sqrt(a_ii a_jj), in a pair if
                       |a_ji| is as small; 0 to 1. */
  double postfilter; /* FSAI: entries of g below this share of its 2-norm leave the pattern, in a pair if
                        those of h are as small, and g is computed again on the rest; 0 to 1. */
  int block;         /* FSAI: unknowns of a node, 2 to 8: rows N k to N k + N - 1 share a pattern.
                        TRISTAR_PRECOND_BLOCK_AUTO: neighbours whose rows of A have the same columns, at most
                        8, if that gives 3 rows per 2 nodes or more. 0, 1: no nodes. A pair has no nodes. */
  int single;        /* FSAI: 1: G is computed in single precision, and products read it in single
                        precision, too. */
  tristar_pair pair; /* FSAI: one factor or two. */
  tristar_partition partition; /* Partition of the triangular factors in the plans. */
  tristar_engine engine; /* Of plans, products, and the set-up of ILU, IC and FSAI. AUTO: tasks where they are
                            predicted to be faster. The bits are the same. */
  int64_t nrhs;          /* Right-hand sides of an application that memory is reserved for. 0 means 1. */
  tristar_place place;   /* Where M is applied: sweeps of ILU, ILUT, IC, ICT and SSOR, products of FSAI. With
                            GPU   JACOBI and NONE are UNSUPPORTED. See tristar_device.h. */
  int64_t
      device_bytes; /* Limit of GPU memory for each sweep, or for both products, in bytes. 0: nine tenths. */
} tristar_precond_options;

/* ILU with level 0, drop 1e-3, fill 10, modified 0, omega 1, shift 0, steps 5, per_step 3, reduction 1e-3,
 * power 0, prefilter 0, postfilter 0, block 0, single 0, PAIR_NEVER, PARTITION_AUTO, ENGINE_AUTO, nrhs 1,
 * PLACE_CPU. */
#define tristar_precond_options_init(options) tristar_precond_options_init_sized((options), sizeof *(options))

/* Makes the preconditioner of a matrix with values, of any format, symmetry and scalar type. Entries of one
 * place are summed. options may be NULL. For FSAI the log reports (TRISTAR_LOG_INFO) the largest possible
 * number of entries and their bytes before the rows are computed, and the actual number afterwards.
 *
 * Errors, whose message names the row: SINGULAR: no entry on the diagonal, or a pivot that is zero or a
 * subnormal number; in a pair also a pivot of the system of a row. NOT_POSITIVE_DEFINITE (IC, ICT, FSAI): a
 * pivot that is not positive. NOT_FINITE: NaN or infinity in A (the message names the entry) or in the
 * factors. ARGUMENT: also an option out of its range; IC, ICT or FSAI without a pair for a matrix that is not
 * symmetric (the message names two entries); FSAI without a pair for a complex symmetric one. FORMAT,
 * RECTANGULAR, TOO_LARGE as tristar_analyze; MEMORY; UNSUPPORTED, RUNTIME, NO_WORKER as tristar_plan. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_precond(tristar_t *ts, const tristar_view *view,
                                                           const tristar_precond_options *options,
                                                           tristar_precond_t **precond);

/* M is the matrix that the plan solves with: complete factors, perhaps of another matrix or in single
 * precision, or a triangle. Applications are plain solves without refinement. The preconditioner keeps the
 * plan alive, and uses new values of its factor from the next application on. Errors: ARGUMENT, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_precond_of_plan(tristar_plan_t *plan,
                                                                   tristar_precond_t **precond);

/* X = op(M)^-1 B, as tristar_precond_apply, with the same op(M) in every call. x may be b, with ldx == ldb.
 * The function is called for n = 0, too, because ranks without rows may exchange messages. Returns
 * TRISTAR_OK, or the status of the failing application. */
typedef tristar_status (*tristar_precond_fn)(void *arg, tristar_op op, int64_t nrhs, const void *b,
                                             int64_t ldb, void *x, int64_t ldx);

/* M is the matrix that the function solves with: of order n, for vectors of that scalar type. arg is its
 * first argument. Errors: ARGUMENT, TOO_LARGE, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_precond_of_function(tristar_t *ts, int64_t n,
                                                                       tristar_scalar scalar,
                                                                       tristar_precond_fn function, void *arg,
                                                                       tristar_precond_t **precond);

/* X = op(M)^-1 B. b: n x nrhs, column-major, leading dimension ldb >= n; x likewise with ldx. x may be b
 * (ldx == ldb); other overlaps are not allowed. NaN in b gives NaN in x. The first application, or a later
 * one, allocates the storage that triangular solves read; after MEMORY another application tries again.
 * Errors: ARGUMENT; STALE (the latest update failed); as tristar_solve, such as MEMORY; for FUNCTION the
 * status of the function. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_precond_apply(tristar_precond_t *precond, tristar_op op,
                                                                 int64_t nrhs, const void *b, int64_t ldb,
                                                                 void *x, int64_t ldx);

/* Takes new values: the view has the same entries, in the same order, as the first one. No application may be
 * running. After a failure the preconditioner has no values, and applications return STALE until a later
 * update succeeds. Errors: as tristar_precond; STALE: another pattern, format, symmetry or scalar type;
 * UNSUPPORTED: PLAN and FUNCTION, which the program updates itself. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_precond_update(tristar_precond_t *precond,
                                                                  const tristar_view *view);

/* Statistics of a preconditioner. Counts are 0 if there is no such factor, or if it is unknown. */
typedef struct tristar_precond_stats {
  tristar_precond_kind kind; /* Kind of M. */
  tristar_scalar scalar;     /* Type of b and x. */
  int64_t n;                 /* Order of M. */
  int64_t nnz;               /* Entries of the full A, merged by place. */
  int64_t nnz_lower;         /* Entries of L, G, or G_L, with the diagonal unless it is a unit diagonal. */
  int64_t nnz_upper;         /* The same of U or G_U. 0 for IC, ICT, SSOR of a symmetric A, and FSAI without a
                                pair: one factor serves as both. */
  double fill;               /* Density: entries of both factors, divided by nnz. A factor that serves as both
                                counts twice, its diagonal once. */
  int64_t nodes;             /* FSAI: nodes whose rows of G share patterns (`block`). 0: none. */
  int64_t levels_lower;      /* Level sets of L, the fewest steps of a parallel sweep. FSAI: 0. */
  int64_t levels_upper;      /* Level sets of U. */
  tristar_partition partition[2]; /* Partitions of the plans of L and of U. AUTO: no plan yet. */
  double setup_seconds;    /* Seconds of tristar_precond or of the latest update, without start_seconds. */
  double symbolic_seconds; /* Seconds of it for the pattern of the factors; 0 after an update. */
  double numeric_seconds;  /* Seconds of it for their values. */
  int64_t updates;         /* Number of successful updates. */
  size_t bytes;            /* FSAI: bytes of the factors for products and updates, with the vectors between
                              products. 0: another kind. */
  int on_device;           /* 1: a sweep, or the products, are on a GPU. */
  double start_seconds;    /* Seconds of starting StarPU, if tristar_precond was the first call to need it. 0
                              after an update. */
} tristar_precond_stats;
/* Copies the statistics of the preconditioner to *stats. */
TRISTAR_API tristar_status tristar_precond_get_stats(const tristar_precond_t *precond,
                                                     tristar_precond_stats *stats);

/* Frees the preconditioner and sets *precond to NULL. No application may be running. Accepts NULL. */
TRISTAR_API void tristar_precond_destroy(tristar_precond_t **precond);

#ifdef __cplusplus
}
#endif
#endif
