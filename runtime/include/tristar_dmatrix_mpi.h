/* TriStar: sparse matrices whose rows are distributed over the ranks of a communicator.
 *
 *   tristar_dmatrix_create       rows of the program on its ranks
 *   tristar_dmatrix_generate     a model problem, each rank its rows
 *   tristar_dmatrix_read         a file, each rank its rows
 *   tristar_dmatrix_repartition  the same rows on other ranks, with fewer entries between ranks
 *   tristar_dmatrix_update       new values of the same entries
 *   tristar_dmatrix_multiply     Y = alpha op(A) X + beta Y                many times
 *   tristar_dmatrix_krylov       a Krylov solver for the matrix            tristar_krylov.h
 *   tristar_dmatrix_fsai         an approximate inverse over all ranks     tristar_precond.h
 *   tristar_dmatrix_fsai_update  the same for new values
 *   tristar_dmatrix_schwarz      solves on overlapping subdomains          tristar_precond.h
 *   tristar_dmatrix_factor       a complete factor, by all ranks           tristar_mpi.h
 *
 * No rank ever stores the whole matrix. Rank r has rows first .. first + rows - 1. The blocks follow each
 * other by rank; a rank may have no rows. Vectors are distributed like rows. In a product a rank sends the
 * entries of x that other ranks need. Meanwhile it multiplies its diagonal block (the columns that it owns),
 * and then the other columns as their entries of x arrive. The blocks alone determine the order of sums. So
 * for the same blocks results have the same bits.
 *
 * Rules for collective functions, threads and MPI are those of tristar_mpi.h. Numbers of rows and columns in
 * messages count from 0, over the whole matrix. */
#ifndef TRISTAR_DMATRIX_MPI_H
#define TRISTAR_DMATRIX_MPI_H

#include "tristar_krylov.h"
#include "tristar_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A square matrix with its rows on the ranks of a communicator. One call at a time. */
typedef struct tristar_dmatrix_s tristar_dmatrix_t;

/* Options of a distributed matrix, the same on all ranks. Call tristar_dmatrix_options_init first. */
typedef struct tristar_dmatrix_options {
  size_t size;           /* Set by tristar_dmatrix_options_init. */
  tristar_engine engine; /* Of products. TASKS: StarPU; SERIAL: the calling thread; AUTO: tasks if there is
                            much work. */
  int scalar;            /* A tristar_scalar that values are converted to. 0: the type of the values. */
} tristar_dmatrix_options;

/* ENGINE_AUTO, the scalar type of the values. */
#define tristar_dmatrix_options_init(options) tristar_dmatrix_options_init_sized((options), sizeof *(options))
/* Called by tristar_dmatrix_options_init. */
TRISTAR_API void tristar_dmatrix_options_init_sized(tristar_dmatrix_options *options, size_t size);

/* Collective. Makes a matrix of rows on the ranks, as for tristar_matrix_gather. rows: the block of this
 * rank, CSR or CSC; cols = n. Columns are numbered over the whole matrix, rows inside the block. All ranks
 * pass the symmetry of the whole matrix. If it is not GENERAL, each off-diagonal pair is stored once, on the
 * rank of the row of the stored entry, and its mirror image is sent to the owner of that row. Duplicates are
 * summed. The arrays are copied. options may be NULL. Errors: ARGUMENT (NULL; no values; sizes, symmetries,
 * types or options differ between ranks), RECTANGULAR (the blocks have another number of rows than n), FORMAT
 * (also: (i,j) and (j,i) are both stored, on any ranks, though symmetry is not GENERAL), NOT_FINITE,
 * TOO_LARGE (n plus the remote columns of one rank exceeds 2^31 - 2), UNSUPPORTED (complex values for a real
 * type; the thread level of MPI), MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_create(tristar_t *ts, MPI_Comm comm,
                                                                  const tristar_view *rows,
                                                                  const tristar_dmatrix_options *options,
                                                                  tristar_dmatrix_t **matrix);

/* Collective. Generates the model problem `kind` of size k (tristar_get_generator) in blocks of nearly equal
 * size. Each rank makes its own rows, with the values of tristar_matrix_generate. Errors: as
 * tristar_matrix_generate and tristar_dmatrix_create; UNSUPPORTED: circuit, erdos, band and chain, which are
 * not made row by row. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_generate(tristar_t *ts, MPI_Comm comm,
                                                                    const char *kind, int64_t k,
                                                                    const tristar_dmatrix_options *options,
                                                                    tristar_dmatrix_t **matrix);

/* Collective. Reads a Matrix Market file (coordinate) that all ranks can open, into blocks of equal size;
 * "gen:KIND:K" as path generates instead. Each rank reads an equal part of the bytes of a plain file, or all
 * bytes of a compressed one, and sends the entries of its part to the owners of the rows. Symmetries are as
 * for tristar_matrix_read. Errors: those of tristar_matrix_read, with file and line, and of
 * tristar_dmatrix_create; UNSUPPORTED: another kind of file, "-", and other paths that are no regular files.
 */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_read(tristar_t *ts, MPI_Comm comm,
                                                                const char *path,
                                                                const tristar_dmatrix_options *options,
                                                                tristar_dmatrix_t **matrix);

/* Collective. Moves the rows to other ranks, in parts of about equal size with few entries between them. Rank
 * 0 gathers the pattern, and METIS finds the parts. Rows are numbered anew, those of rank 0 first, on each
 * rank in their old order. Messages and views of the new matrix have the new numbers. The old matrix stays.
 * options: the engine; scalar is 0 or the type of the matrix; NULL: the defaults. Errors: ARGUMENT; TOO_LARGE
 * (more than 2^31 - 1 entries in all); RUNTIME (also METIS); MEMORY, NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_repartition(tristar_dmatrix_t *matrix,
                                                                       const tristar_dmatrix_options *options,
                                                                       tristar_dmatrix_t **out);

/* Collective. Takes new values: the rows of this rank, as for tristar_dmatrix_create, with the row and column
 * numbers of this matrix, however it was made. The full pattern is that of the matrix. Values are converted
 * to its type. Arrays of tristar_dmatrix_get_view and _get_diagonal receive the new values; products and
 * solves use them from the next call on. The program updates preconditioners itself. The update stores the
 * matrix twice. After a failure the matrix is unchanged. Errors: STALE (other rows on a rank, another
 * pattern), and those of tristar_dmatrix_create. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_update(tristar_dmatrix_t *matrix,
                                                                  const tristar_view *rows);

/* row[i]: the number of row i of this rank in the matrix that tristar_dmatrix_repartition received; for other
 * matrices its number over the whole matrix. One entry for each row of this rank, ascending. Not collective.
 * Errors: ARGUMENT (NULL). */
TRISTAR_API tristar_status tristar_dmatrix_get_origin(const tristar_dmatrix_t *matrix, int64_t *row);

/* Direction of tristar_dmatrix_move. */
typedef enum tristar_dmatrix_direction {
  TRISTAR_FROM_ORIGIN, /* From the blocks of the original matrix to those of the repartitioned one. */
  TRISTAR_TO_ORIGIN    /* Back. */
} tristar_dmatrix_direction;

/* Collective. Moves nrhs vectors, the same number on all ranks, between the blocks of rows of a repartitioned
 * matrix and of its original. For other matrices both are the same. from and to: column-major, the rows of
 * this rank on either side, with leading dimensions ldf and ldt of at least that many rows. They must not
 * overlap, and may be NULL without rows. Bits are unchanged. Errors: ARGUMENT (also: direction or nrhs differ
 * between ranks), RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_move(const tristar_dmatrix_t *matrix,
                                                                tristar_dmatrix_direction direction,
                                                                int64_t nrhs, const void *from, int64_t ldf,
                                                                void *to, int64_t ldt);

/* The rows of this rank in full: both triangles, CSR, GENERAL. Rows are numbered inside the block, columns
 * over the whole matrix, ascending. The first call makes the arrays, which need as much memory as the matrix
 * and live as long. Not collective. Errors: ARGUMENT, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_get_view(tristar_dmatrix_t *matrix,
                                                                    tristar_view *view);

/* The diagonal block of this rank: its rows and its own columns, both numbered inside the block; CSR,
 * GENERAL, square. tristar_precond makes a preconditioner of it: JACOBI is that of the whole matrix, any
 * other kind is block Jacobi with one block per rank. The arrays are borrowed from the matrix. Not
 * collective. Errors: ARGUMENT. */
TRISTAR_API tristar_status tristar_dmatrix_get_diagonal(const tristar_dmatrix_t *matrix, tristar_view *view);

/* Collective. Y = alpha op(A) X + beta Y for nrhs vectors, the same number on all ranks. x, y: the rows of
 * this rank, column-major, leading dimensions ldx and ldy. They must not overlap, and may be NULL on a rank
 * without rows. alpha, beta: pointers to scalars of the matrix's type. NULL: alpha is 1, beta is 0. If beta
 * is 0, y is not read. A message has the entries of up to 8 vectors. The bits of a column do not depend on
 * nrhs. The first product with op other than N stores the transpose. Errors: ARGUMENT (also: op, nrhs, alpha
 * or beta differ between ranks), MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_multiply(tristar_dmatrix_t *matrix, tristar_op op,
                                                                    int64_t nrhs, const void *alpha,
                                                                    const void *x, int64_t ldx,
                                                                    const void *beta, void *y, int64_t ldy);

/* Collective. Makes a Krylov solver (tristar_krylov.h) for the matrix. The solver keeps alive what it needs.
 * options, except for progress and history, are the same on all ranks, and may be NULL. All calls with the
 * solver are collective, except for tristar_krylov_get_stats, and for _destroy while the matrix exists. b, x
 * and r are the rows of a rank; n is their number. A preconditioner is local, of order n: all ranks pass one
 * or none, such as that of the diagonal block, or a function that exchanges messages. All ranks return the
 * same results, except for times, and the same status, also if a preconditioner fails on one rank. If
 * progress cancels on one rank, all ranks end up to one iteration later. A sum is one gathering of all ranks,
 * in the order of the ranks. That of PIPELINED_CG overlaps with the product and the preconditioner. METHOD
 * AUTO takes GENERAL matrices for unsymmetric. tristar_dmatrix_update takes new values, between two solves.
 * Errors: as tristar_krylov_create; ARGUMENT: options differ between ranks. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_krylov(tristar_dmatrix_t *matrix,
                                                                  const tristar_krylov_options *options,
                                                                  tristar_krylov_t **krylov);

/* Collective. A sparse approximate inverse of the whole matrix, M^-1 = G^H G: TRISTAR_PRECOND_FSAI
 * (tristar_precond.h) with its options. `engine` is also that of the products with G. The matrix is Hermitian
 * (real: symmetric) and positive definite, or, for a pair of factors, any. It may be destroyed before the
 * preconditioner. options: the same on all ranks, kind FSAI; NULL: the defaults.
 *
 * A pair, M^-1 = G_U G_L: the owner of a row of A owns the row of G_L and the column of G_U, on the pattern
 * of A + A^H. The ranks exchange the places of entries between them. PAIR_AUTO compares the entries that are
 * near; with levels 0 entries between ranks count by their places alone. op T and C store transposes at their
 * first use.
 *
 * The owner of row i of A computes row i of G. Its pattern may contain columns of other ranks within a path
 * of `levels` entries of A (the neighbours of Ferronato, Janna and Pini); their rows are fetched once. levels
 * 0: none, as without couplings between ranks (block FSAI). levels equal to steps, or to power if that is
 * larger: all that a row on one process could have; 3 suffices for most matrices. INT_MAX: all, so G is that
 * of one process. With `block` a node on two ranks becomes two. This changes nothing if blocks of rows end
 * with nodes.
 *
 * The preconditioner serves tristar_dmatrix_krylov of a matrix with the same blocks. Only
 * tristar_dmatrix_fsai_update takes new values. Applying, updating and destroying it are collective; destroy
 * it before MPI_Finalize. Its statistics are those of the rows of this rank. Errors: those of
 * tristar_precond, whose messages number rows over the whole matrix; ARGUMENT: another kind, options differ
 * between ranks, PAIR_NEVER and entries between ranks without mirror image; TOO_LARGE (more than 2^31 - 1
 * rows near one rank), MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_fsai(tristar_dmatrix_t *matrix,
                                                                const tristar_precond_options *options,
                                                                int levels, tristar_precond_t **precond);

/* Collective. Computes an inverse of tristar_dmatrix_fsai again, for the present values of matrix, on the
 * first pattern of G. It does not search columns, and so is faster than a new inverse. matrix: the one that
 * the inverse was made of, or another one with its blocks, pattern and type. Rows of other ranks are fetched
 * again. The order of the columns of a row may change, so the last bits may differ from those of a new
 * inverse. After a failure applications return STALE until another update succeeds. Errors: those of
 * tristar_dmatrix_fsai; ARGUMENT (NULL, no such inverse, another type), STALE (other blocks, another
 * pattern). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_fsai_update(tristar_dmatrix_t *matrix,
                                                                       tristar_precond_t *precond);

/* Collective. Additive Schwarz, M^-1 = sum_i R_i^T A_i^-1 R_i (Dryja and Widlund 1987). Subdomain i has the
 * rows of rank i, and rows of other ranks within a path of `overlap` entries of A. A_i has their entries
 * among them, and is copied. options choose the solver of A_i: any kind of tristar_precond but FUNCTION;
 * PLAN: complete factors, made here. They are the same on all ranks; NULL: ILU(0). overlap 0: block Jacobi.
 * restricted 1: subdomain i contributes only to the rows of rank i (Cai and Sarkis 1999), which saves
 * messages and usually iterations. M is unsymmetric then, and op must be N. restricted 0: M is Hermitian if
 * the A_i^-1 are, as CG needs it.
 *
 * The preconditioner serves tristar_dmatrix_krylov of a matrix with the same blocks. It keeps alive what it
 * needs of the matrix. Applying and destroying it are collective; update is UNSUPPORTED. Its statistics are
 * those of the subdomain of this rank. Errors: those of tristar_precond, and for PLAN of tristar_analyze,
 * tristar_factor and tristar_plan, whose messages number rows inside the subdomain; ARGUMENT: overlap is
 * negative, kind FUNCTION, options differ between ranks; TOO_LARGE (more than 2^31 - 1 rows in one
 * subdomain), MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_schwarz(tristar_dmatrix_t *matrix,
                                                                   const tristar_precond_options *options,
                                                                   int overlap, int restricted,
                                                                   tristar_precond_t **precond);

/* Version of PT-Scotch in the library, such as "7.0.3"; static text. NULL: without PT-Scotch. */
TRISTAR_API const char *tristar_ptscotch_version(void);

/* Collective. Factors the matrix on its ranks, whose number is that of the layout, as
 * tristar_distributed_factor (tristar_mpi.h). The bits are the same if orderings are. No rank ever stores the
 * whole matrix, unless PIVOTING_DELAYED has rank 0 search for another order of pivots: then rank 0 stores it
 * until all ranks have factored in the last order. Rank 0 gathers the pattern without values, analyzes it and
 * frees it. Each rank sends the entries of its rows to the ranks that assemble their fronts, and its rows to
 * the ranks that refine with them. The matrix may be destroyed before the factor. Solves use vectors in the
 * blocks of the matrix; tristar_distributed_set_rows changes that. If the verdict needs a second
 * factorization (tristar_stats.h), both factors exist for a while.
 *
 * analysis: the same on all ranks, except for permutation, order and solves, which rank 0 reads; NULL: the
 * defaults. leaf_parts below pz become pz. ORDERING_PTSCOTCH: all ranks order together, each with the graph
 * of its rows, before rank 0 gathers the pattern. The same rows on the same number of ranks, and the same
 * seed, have the same order. UNSUPPORTED: the library has no PT-Scotch (tristar_ptscotch_version). A matching
 * is found on rank 0: with MATCHING_ON, and with MATCHING_AUTO for L U or L D L^T if the diagonal has small
 * entries or zeros, or if the values are badly scaled. Meanwhile rank 0 stores the pattern and the magnitudes
 * of all nonzeros, 12 bytes each. options: as for tristar_distribute; NULL: the defaults.
 *
 * factor_seconds and factor_peak_bytes of rank 0 contain the analysis, unlike those of
 * tristar_distributed_factor. Errors: those of tristar_analyze and tristar_distributed_factor on any rank;
 * ARGUMENT also: options differ between ranks. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_factor(tristar_dmatrix_t *matrix,
                                                                  const tristar_analysis_options *analysis,
                                                                  const tristar_distributed_options *options,
                                                                  tristar_distributed_t **out);

/* Collective. Factors new values for a factor of tristar_dmatrix_factor: those of a matrix of the same order,
 * type and pattern on the same ranks, perhaps in other blocks. It does not analyze; rows of b and x stay.
 * Errors: those of tristar_refactor; ARGUMENT (another order, type, pattern, context or communicator),
 * UNSUPPORTED (a factor of tristar_distribute or tristar_distributed_factor). If matrix and factor do not
 * match in this way, the factor is as before. After any other failure it has no values. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_refactor(tristar_dmatrix_t *matrix,
                                                                    tristar_distributed_t *distributed);

/* Collective. The Schur complement A_SS - A_SI A_II^-1 A_IS of `count` unknowns S (tristar_schur.h), by a
 * factor of A_II on all ranks and solves with it. unknowns: on rank 0 the rows of S, numbered over the whole
 * matrix; row and column k of the complement are unknown unknowns[k]. s: on rank 0, count x count,
 * column-major, leading dimension lds >= count, scalars of the type of A. Other ranks do not read unknowns
 * and do not write s. Of a symmetric or Hermitian matrix both triangles are written. No rank stores A_II as a
 * whole; each stores an index for each row of A meanwhile. analysis and options: of A_II, as for
 * tristar_dmatrix_factor; messages number rows of A_II. Solves are refined where tristar_distributed_solve
 * refines, so perturbed pivots are allowed. REFINE_NEVER has no effect.
 *
 * A and the complement may be singular; A_II must not be. Errors: those of tristar_dmatrix_factor and
 * tristar_distributed_solve; ARGUMENT (count, unknowns, lds; NULL on rank 0; ranks pass different counts);
 * NOT_FINITE (an entry of the complement is NaN or beyond the range of numbers). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_schur(tristar_dmatrix_t *matrix, int64_t count,
                                                                 const int64_t *unknowns,
                                                                 const tristar_analysis_options *analysis,
                                                                 const tristar_distributed_options *options,
                                                                 void *s, int64_t lds);

/* A distributed factor of A_II, which computes the Schur complement and solves with it:
 *
 *   tristar_dmatrix_schur_create     factors A_II
 *   tristar_dmatrix_schur_get        the complement
 *   tristar_dmatrix_schur_condense   g = b_S - op(A)_SI op(A)_II^-1 b_I
 *   the caller                       solves op(complement) x_S = g, by any method
 *   tristar_dmatrix_schur_expand     x_I = op(A)_II^-1 (b_I - op(A)_IS x_S)
 *
 * It keeps alive what it needs of the matrix. After tristar_dmatrix_update all functions but _refactor and
 * _destroy return STALE. */
typedef struct tristar_dmatrix_schur_s tristar_dmatrix_schur_t;

/* Collective. Factors A_II. Arguments and errors: as tristar_dmatrix_schur, which is _create, _get and
 * _destroy. Each rank keeps an index for each row of A. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_dmatrix_schur_create(tristar_dmatrix_t *matrix, int64_t count, const int64_t *unknowns,
                             const tristar_analysis_options *analysis,
                             const tristar_distributed_options *options, tristar_dmatrix_schur_t **schur);
/* Collective. Factors the present values of the matrix. After a failure there is no factor. Errors: those of
 * tristar_dmatrix_refactor. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_schur_refactor(tristar_dmatrix_schur_t *schur);
/* Collective. The complement, as tristar_dmatrix_schur writes it: on rank 0. Errors: ARGUMENT, STALE; those
 * of tristar_distributed_solve; NOT_FINITE (an entry of the complement is NaN or beyond the range of
 * numbers).
 */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_schur_get(tristar_dmatrix_schur_t *schur, void *s,
                                                                     int64_t lds);
/* Collective. The right-hand sides of the complement of op(A), by one solve with A_II. b: the rows of this
 * rank, column-major, leading dimension ldb. g: on rank 0, count x nrhs, leading dimension ldg >= count, in
 * the order of unknowns. op and nrhs are the same on all ranks. With op other than N the first call stores
 * the transpose of the matrix. Errors: ARGUMENT, STALE, MEMORY; those of tristar_distributed_solve;
 * NOT_FINITE (g has NaN or infinity, also if b has). See "Columns that fail" below. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_schur_condense(tristar_dmatrix_schur_t *schur,
                                                                          tristar_op op, int64_t nrhs,
                                                                          const void *b, int64_t ldb, void *g,
                                                                          int64_t ldg);
/* Collective. The solution of op(A) x = b from its unknowns in S, by one solve with A_II. b and x: the rows
 * of this rank; x may be b (ldx == ldb). x_s: on rank 0, count x nrhs, leading dimension ldxs >= count; the
 * rows of S of x become x_s. Errors: ARGUMENT, STALE, MEMORY; those of tristar_distributed_solve; NOT_FINITE
 * (x has NaN or infinity, also if b or x_s has).
 *
 * Columns that fail. If condensing or expanding returns NOT_FINITE or ACCURACY, at least one column failed.
 * All others are valid in g and x. A column that failed with NOT_FINITE is filled with NaN. A column that
 * failed with ACCURACY has the best values that were found. The message names the first column that failed. A
 * call with a single column returns the status of that column. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_schur_expand(tristar_dmatrix_schur_t *schur,
                                                                        tristar_op op, int64_t nrhs,
                                                                        const void *b, int64_t ldb,
                                                                        const void *x_s, int64_t ldxs,
                                                                        void *x, int64_t ldx);
/* Collective. Frees it and sets it to NULL, before MPI_Finalize. Accepts NULL. */
TRISTAR_API void tristar_dmatrix_schur_destroy(tristar_dmatrix_schur_t **schur);

/* Statistics of one rank. */
typedef struct tristar_dmatrix_stats {
  int rank, ranks, workers;  /* Number of the rank, number of ranks, workers of this rank for products. */
  tristar_scalar scalar;     /* Type of the values. */
  tristar_symmetry symmetry; /* Symmetry of the input; HERMITIAN also for SYMMETRIC real values in a complex
                                type. */
  int64_t n;                 /* Rows of the whole matrix. */
  int64_t first, rows;       /* First row of this rank, number of its rows. */
  int64_t nnz;               /* Entries of these rows, both triangles. */
  int64_t nnz_all;           /* Entries of all ranks. */
  int64_t ghosts;            /* Ghost columns: columns of these rows that other ranks own. */
  int owners, requesters;    /* Ranks that own them; ranks that need entries of this one. */
  tristar_message_count product;    /* Sent by this rank in a product with one vector. */
  tristar_message_count transposed; /* The same if op is not N. */
  size_t matrix_bytes;              /* Bytes on this rank, with transposes and the view. */
  double create_seconds;            /* Seconds of its creation, without start_seconds. */
  double start_seconds;             /* Seconds of starting StarPU, if that call was the first to need it. */
  int64_t products;                 /* Products so far, counted by vectors. */
  tristar_message_count sent;       /* Sent by this rank in all of them. */
  double product_seconds;           /* Seconds of all of them. */
  double wait_seconds;              /* Part of it: waiting for entries of other ranks. */
  int askers;                       /* The name of requesters in version 0.2. */
} tristar_dmatrix_stats;
/* Copies the statistics of this rank to *stats. Not collective. Errors: ARGUMENT (NULL). */
TRISTAR_API tristar_status tristar_dmatrix_get_stats(const tristar_dmatrix_t *matrix,
                                                     tristar_dmatrix_stats *stats);

/* Collective. Frees the matrix and sets it to NULL, before MPI_Finalize. Solvers and preconditioners keep
 * what they need. Accepts NULL. */
TRISTAR_API void tristar_dmatrix_destroy(tristar_dmatrix_t **matrix);

#ifdef __cplusplus
}
#endif

#endif
