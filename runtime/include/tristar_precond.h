/* TriStar: preconditioners, M close to A, whose applications are sparse triangular solves, or products.
 *
 *   tristar_precond               matrix -> incomplete factors, their plans            once per pattern
 *   tristar_precond_update        new values on the same pattern                       once per set of values
 *   tristar_precond_apply         X = op(M)^-1 B                                       again and again
 *
 * Two more kinds serve what the program has already: tristar_precond_of_plan, complete factors or a triangle;
 * tristar_precond_of_function, a function of its own.
 *
 * The triangular factors are imported as tristar_import_triangle does it and solved by plans, which divide
 * them as `partition` says. What tristar.h says of statuses, messages, threads and arrays of the caller holds
 * here: applications of one preconditioner may run at the same time. Rows and columns in messages count
 * from 0. The result of a set-up depends on matrix and options only, not on workers. */
#ifndef TRISTAR_PRECOND_H
#define TRISTAR_PRECOND_H

#include "tristar_triangle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A preconditioner M of a square matrix A. */
typedef struct tristar_precond_s tristar_precond_t;

/* What M is. Incomplete factors keep the order of the rows, and do not pivot: whoever needs another order
 * permutes the matrix before. */
typedef enum tristar_precond_kind {
  TRISTAR_PRECOND_NONE,   /* M = I */
  TRISTAR_PRECOND_JACOBI, /* M = D, the diagonal of A */
  /* M = w / (2 - w) (D / w + L) D^-1 (D / w + U), where A = L + D + U and w is omega. w = 1: symmetric
   * Gauss-Seidel. Plain Gauss-Seidel, M = D + L, is tristar_import_triangle of A's lower triangle, with
   * tristar_precond_of_plan. */
  TRISTAR_PRECOND_SSOR,
  /* M = L U, unit L, by level of fill: A's entries have level 0, fill (i, j) by way of k has level(i, k) +
   * level(k, j) + 1, and what has at most `level` is kept (Saad, Iterative Methods for Sparse Linear Systems,
   * 10.3). 0: the pattern of A, on which L U = A then. */
  TRISTAR_PRECOND_ILU,
  /* M = L U, unit L, by size: row i loses what is at most drop || row i of A ||_2, in L before it is divided
   * by the pivot; of the rest, L and U keep the largest, as many as A has there and `fill` more, and the
   * diagonal (after Saad's ILUT, 10.4). drop 0 with fill n: all of L and U. */
  TRISTAR_PRECOND_ILUT,
  /* M = L L^T, or L L^H, of a symmetric positive definite, or Hermitian positive definite A, by level of
   * fill. A may be stored in any way: one triangle, or as a GENERAL matrix both. Complex symmetric A: M =
   * L L^T, whose diagonal has complex square roots. */
  TRISTAR_PRECOND_IC,
  TRISTAR_PRECOND_ICT, /* the same, by size: columns of L lose as rows do in ILUT */
  /* M^-1 = G^H G, a factorized sparse approximate inverse of a symmetric positive definite, or Hermitian
   * positive definite A, stored as for IC: G is lower triangular, and row i minimizes psi_i = g A g^H over
   * all rows with its pattern and g_i = 1; then it is scaled, so that (G A G^H)_ii = 1 (Kolotilina and
   * Yeremin 1993). The pattern is that of the diagonal, or static, by `power`; then it adapts: in each of
   * `steps` steps the `per_step` columns with the largest entries of the gradient of psi_i join it (Janna and
   * Ferronato 2011). With `block` the rows of a node share a pattern (Janna, Ferronato and Gambolati 2015),
   * which makes the set-up about twice as fast. No row waits for another, neither in the set-up nor in
   * applications, which are two sparse products.
   * A pair (`pair`) is one of any other A: M^-1 = G_U G_L, G_L lower and G_U upper triangular, with one
   * pattern P of row i and column i: on it (G_L A)_i and (A G_U)_i are multiples of the unit vector, and
   * (G_L A G_U)_ii = 1. Static patterns are those of the pattern of A + A^H; they adapt to the Hermitian part
   * of A with its rows scaled so that the diagonal is positive, and where that is not positive definite to
   * the larger entries of g A and A h. */
  TRISTAR_PRECOND_FSAI,
  TRISTAR_PRECOND_PLAN,    /* tristar_precond_of_plan */
  TRISTAR_PRECOND_FUNCTION /* tristar_precond_of_function */
} tristar_precond_kind;

/* See tristar_precond_options. */
#define TRISTAR_PRECOND_BLOCK_AUTO (-1)

/* FSAI: one factor or two. */
typedef enum tristar_pair {
  TRISTAR_PAIR_NEVER,  /* G: A is Hermitian (real: symmetric) */
  TRISTAR_PAIR_ALWAYS, /* G_L and G_U of any A */
  TRISTAR_PAIR_AUTO    /* G if A is Hermitian, else G_L and G_U; updates keep that */
} tristar_pair;

/* What tristar_precond needs to know. Fill it with tristar_precond_options_init first. A field that the kind
 * does not use is not looked at. */
typedef struct tristar_precond_options {
  size_t size;               /* Set by tristar_precond_options_init. */
  tristar_precond_kind kind; /* what M is; not PLAN and FUNCTION */
  int level;                 /* ILU, IC: the largest level of fill kept, from 0 on */
  double drop;               /* ILUT, ICT: what is dropped, relative to the norm of the row; from 0 on */
  int64_t fill;              /* ILUT, ICT: entries of a row beyond those of A, in L and in U; from 0 on */
  double modified;           /* ILU, IC: share of dropped fill that is added to the diagonal, 0 to 1. 1: M
                                and A have the same row sums (MILU, MIC; Gustafsson 1978);
                                of Hermitian fill the real parts */
  double omega;              /* SSOR: 0 < omega < 2 */
  double shift;              /* ILU, ILUT, IC, ICT, FSAI: diagonal entries count (1 + shift) times, which
                                makes pivots safer (Manteuffel 1980); from 0 on */
  int64_t steps;             /* FSAI: how often columns join the pattern of a row, at most; from 0 on */
  int64_t per_step;          /* FSAI: columns that join in a step, at most; from 1 on */
  double reduction;          /* FSAI: no more columns join a row once psi_i is at most that share of a_ii;
                                0 to 1 */
  int power;                 /* FSAI: patterns begin as the lower triangle of A^power; 0: as the diagonal */
  double prefilter;          /* FSAI: for `power` entries with |a_ij| <= prefilter sqrt(a_ii a_jj) do not
                                count, of a pair if |a_ji| is as small; 0 to 1 */
  double postfilter;         /* FSAI: entries of g below that share of its 2-norm leave the pattern, of a pair
                                if those of h are as small, and g is computed anew on what is left; 0 to 1 */
  int block;                 /* FSAI: unknowns of a node, whose rows of G share a pattern: rows N k to
                                N k + N - 1 for N from 2 to 8; TRISTAR_PRECOND_BLOCK_AUTO: neighbours whose
                                rows of A have the same columns, at most 8, if that gives 3 rows for 2 nodes
                                or more; 0, 1: rows have patterns of their own. A pair has no nodes: its
                                rows and columns have patterns of their own, whatever `block` is */
  int single;                /* FSAI: 1: G is computed in single precision, and then converted; products
                                read it in single precision, too */
  tristar_pair pair;         /* FSAI: one factor or two */
  tristar_partition partition; /* how the plans divide the triangular factors */
  tristar_engine engine;       /* what runs the plans and products, and computes the rows of ILU, IC and FSAI:
                                  AUTO, tasks where that is predicted to be faster; the bits are the same */
  int64_t nrhs;                /* right-hand sides expected per application; 0: 1 */
} tristar_precond_options;

/* ILU with level 0, drop 1e-3, fill 10, modified 0, omega 1, shift 0, steps 5, per_step 3, reduction 1e-3,
 * power 0, prefilter 0, postfilter 0, block 0, single 0, PAIR_NEVER, PARTITION_AUTO, ENGINE_AUTO, nrhs 1. */
#define tristar_precond_options_init(options) tristar_precond_options_init_sized((options), sizeof *(options))

/* Makes the preconditioner of a matrix with values, of any format, symmetry and scalar type; entries of one
 * place are summed. options may be NULL: the defaults.
 *
 * Of FSAI the log tells (TRISTAR_LOG_INFO), before its rows are computed, how many entries they can have at
 * most, and the bytes of these; then how many there are.
 *
 * Errors, whose message names the row: SINGULAR, no entry on the diagonal, or a pivot that is zero or a
 * subnormal number, of a pair also one of the system of a row; NOT_POSITIVE_DEFINITE (IC, ICT, FSAI), a pivot
 * that is not positive; NOT_FINITE, NaN or infinity in A (the message names the entry) or in the factors.
 * ARGUMENT, also for an option out of its range, for IC, ICT and FSAI without a pair of a matrix that is not
 * symmetric (the message names a pair of entries), and for FSAI without a pair of a complex symmetric one.
 * FORMAT, RECTANGULAR, TOO_LARGE as tristar_analyze; MEMORY; UNSUPPORTED, RUNTIME, NO_WORKER as tristar_plan.
 */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_precond(tristar_t *ts, const tristar_view *view,
                                                           const tristar_precond_options *options,
                                                           tristar_precond_t **precond);

/* M is what the plan solves with: complete factors, perhaps of another matrix or in single precision, or a
 * triangle. The preconditioner keeps the plan alive. New values of its factor count from the
 * next application on. Errors: ARGUMENT, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_precond_of_plan(tristar_plan_t *plan,
                                                                   tristar_precond_t **precond);

/* X = op(M)^-1 B, as tristar_precond_apply; the same op(M) in every call. x may be b, with ldx == ldb. It is
 * called where n is 0, too: ranks without rows may have messages to exchange.
 * Returns TRISTAR_OK, or the status that the application, and whoever asked for it, is to fail with. */
typedef tristar_status (*tristar_precond_fn)(void *arg, tristar_op op, int64_t nrhs, const void *b,
                                             int64_t ldb, void *x, int64_t ldx);

/* M is what the function solves with: of order n, for vectors of that scalar type. arg is handed to it.
 * Errors: ARGUMENT, TOO_LARGE, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_precond_of_function(tristar_t *ts, int64_t n,
                                                                       tristar_scalar scalar,
                                                                       tristar_precond_fn function, void *arg,
                                                                       tristar_precond_t **precond);

/* X = op(M)^-1 B. b: n x nrhs, column-major, leading dimension ldb >= n; x likewise with ldx. x may be b
 * (ldx == ldb); other overlaps are not allowed. NaN in, NaN out. Errors: ARGUMENT; STALE, the latest
 * update failed; those of tristar_solve; of FUNCTION, what the function returns. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_precond_apply(tristar_precond_t *precond, tristar_op op,
                                                                 int64_t nrhs, const void *b, int64_t ldb,
                                                                 void *x, int64_t ldx);

/* New values: the view has the places, in the order, of the one that the preconditioner was made of. Not to
 * be called while an application runs. After a failure the preconditioner holds no values: applications give
 * STALE until a later update succeeds. Errors: as tristar_precond; STALE, another pattern, format, symmetry
 * or scalar type; UNSUPPORTED, PLAN and FUNCTION, which the program updates itself. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_precond_update(tristar_precond_t *precond,
                                                                  const tristar_view *view);

/* Figures of a preconditioner. Counts are 0 where there is no such factor, or none that is known here. */
typedef struct tristar_precond_stats {
  tristar_precond_kind kind; /* as asked for */
  tristar_scalar scalar;     /* of b and x */
  int64_t n;                 /* order of M */
  int64_t nnz;               /* of A in full: both triangles, entries of one place merged */
  int64_t nnz_lower;         /* entries of L, G, or G_L, with its diagonal; unit diagonals do not count */
  int64_t nnz_upper;         /* of U, or G_U, likewise; IC, ICT and SSOR of a symmetric A: 0, L serves both;
                                FSAI without a pair: 0, G^H has as many as G */
  double fill;          /* density: entries of both factors, or, where one serves as both, twice those off the
                           diagonal and the diagonal once, divided by nnz */
  int64_t nodes;        /* FSAI: whose rows of G share patterns, as `block` asks for; 0: none do */
  int64_t levels_lower; /* level sets of L: the fewest steps that a parallel sweep can have; FSAI: 0 */
  int64_t levels_upper; /* of U, likewise */
  tristar_partition partition[2]; /* of the plans of L and of U; AUTO: there is none */
  double setup_seconds;           /* of tristar_precond, or of the latest update, without start_seconds */
  double symbolic_seconds;        /* of it, to find the pattern of the factors; 0 after an update */
  double numeric_seconds;         /* of it, to compute their values */
  int64_t updates;                /* that succeeded so far */
  size_t bytes; /* FSAI: of the factors after set-up or update, as products read them and as updates need
                   them, vectors between products included; 0: another kind */
  double start_seconds; /* that StarPU took to start, if tristar_precond was the first call of its context to
                           need it; 0 after an update */
} tristar_precond_stats;
/* Tells the figures of a preconditioner. */
TRISTAR_API tristar_status tristar_precond_get_stats(const tristar_precond_t *precond,
                                                     tristar_precond_stats *stats);

/* Frees the preconditioner and sets *precond to NULL. No application may be running. Accepts NULL. */
TRISTAR_API void tristar_precond_destroy(tristar_precond_t **precond);

#ifdef __cplusplus
}
#endif
#endif
