/* TriStar: sparse matrices on many processes, whose rows lie on all ranks from the start.
 *
 *   tristar_dmatrix_create     rows that the program has on its ranks
 *   tristar_dmatrix_generate   a model problem, each rank its rows
 *   tristar_dmatrix_read       a file, each rank its rows
 *   tristar_dmatrix_repartition  the same rows on other ranks, with fewer entries between them
 *   tristar_dmatrix_update     new values at the same places
 *   tristar_dmatrix_multiply   Y = alpha op(A) X + beta Y                   again and again
 *   tristar_dmatrix_krylov     a solver by Krylov methods on the matrix     tristar_krylov.h
 *   tristar_dmatrix_fsai       a preconditioner that knows of all ranks     tristar_precond.h
 *   tristar_dmatrix_fsai_update  the same after new values
 *   tristar_dmatrix_schwarz    solves on subdomains that overlap            tristar_precond.h
 *   tristar_dmatrix_factor     a complete factor, made by all ranks         tristar_mpi.h
 *
 * No rank ever holds the whole matrix. Rank r has rows first .. first + rows - 1, the blocks follow each
 * other by rank, and a rank may have none. Vectors have their entries where the matrix has its rows. In a
 * product a rank sends other ranks the entries that their rows meet, multiplies its diagonal block (the
 * columns that are its own) meanwhile, and what is left as entries of others arrive. Sums are made in an
 * order that the blocks alone determine: for the same blocks results have the same bits, whatever comes
 * first.
 *
 * What tristar_mpi.h says of collective functions, of threads and of MPI holds here. Numbers of rows and
 * columns in messages count from 0, over the whole matrix. */
#ifndef TRISTAR_DMATRIX_MPI_H
#define TRISTAR_DMATRIX_MPI_H

#include "tristar_krylov.h"
#include "tristar_mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A square matrix with its rows on the ranks of a communicator. One call at a time. */
typedef struct tristar_dmatrix_s tristar_dmatrix_t;

/* How to hold a matrix; the same on all ranks. Fill it with tristar_dmatrix_options_init first. */
typedef struct tristar_dmatrix_options {
  size_t size;           /* Set by tristar_dmatrix_options_init. */
  tristar_engine engine; /* of products: TASKS: StarPU; SERIAL: the calling thread; AUTO: tasks where there is
                            much to do */
  int scalar;            /* a tristar_scalar that values are converted to; 0: that of the values given */
} tristar_dmatrix_options;

/* ENGINE_AUTO, the scalar type of the values. */
#define tristar_dmatrix_options_init(options) tristar_dmatrix_options_init_sized((options), sizeof *(options))
/* Called by tristar_dmatrix_options_init. */
TRISTAR_API void tristar_dmatrix_options_init_sized(tristar_dmatrix_options *options, size_t size);

/* Collective. Takes the rows that lie on the ranks, as tristar_matrix_gather does: rows is this rank's block,
 * CSR or CSC; cols = n, columns are numbered over the whole matrix, rows within the block. symmetry is that
 * of the whole matrix; where it is not GENERAL each off-diagonal pair is stored once, on the rank that has
 * the row of what is stored, and its image goes to the rank that has that row. Duplicates are summed. The
 * arrays are copied. options may be NULL: the defaults. Errors: ARGUMENT (NULL; no values; sizes, symmetries,
 * types or options differ between ranks), RECTANGULAR (the blocks do not add up to n rows), FORMAT (among
 * others: (i,j) and (j,i) are both stored, on whatever ranks, though symmetry is not GENERAL), NOT_FINITE,
 * TOO_LARGE (n, or entries for one rank, beyond 2^31 - 2), UNSUPPORTED (complex values for a real type; the
 * thread level of MPI), MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_create(tristar_t *ts, MPI_Comm comm,
                                                                  const tristar_view *rows,
                                                                  const tristar_dmatrix_options *options,
                                                                  tristar_dmatrix_t **matrix);

/* Collective. The model problem `kind` of size k (tristar_get_generator), in blocks of about as many rows
 * each: with the values of tristar_matrix_generate, of which each rank makes its own rows only. Errors: as
 * tristar_matrix_generate and tristar_dmatrix_create; UNSUPPORTED: circuit, erdos, band and chain, which are
 * not made row by row. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_generate(tristar_t *ts, MPI_Comm comm,
                                                                    const char *kind, int64_t k,
                                                                    const tristar_dmatrix_options *options,
                                                                    tristar_dmatrix_t **matrix);

/* Collective. Reads a Matrix Market file (coordinate) that all ranks can open; "gen:KIND:K" as path generates
 * instead. Rows go to the ranks in blocks of equal size. Of a plain file each rank reads an equal part of the
 * bytes, of a compressed one all of them, and sends each entry of its part to the rank that has the row: what
 * a rank holds is its share. What tristar_matrix_read says of symmetries holds. Errors: those of
 * tristar_matrix_read, with file and line, and of tristar_dmatrix_create; UNSUPPORTED: another kind of file,
 * "-" and what else is no regular file. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_read(tristar_t *ts, MPI_Comm comm,
                                                                const char *path,
                                                                const tristar_dmatrix_options *options,
                                                                tristar_dmatrix_t **matrix);

/* Collective. The same matrix with its rows on other ranks: in parts of about as many rows with few entries
 * between them, found by METIS on rank 0, which gathers the pattern for it. Rows are numbered anew, those of
 * rank 0 first, on each rank in their old order; messages and views of the new matrix have the new numbers.
 * The old one is copied and stays as it is. options: the engine; scalar is 0 or that of the matrix; NULL: the
 * defaults. Errors: ARGUMENT; TOO_LARGE (more than 2^31 - 1 entries of all ranks); RUNTIME (METIS too);
 * MEMORY, NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_repartition(tristar_dmatrix_t *matrix,
                                                                       const tristar_dmatrix_options *options,
                                                                       tristar_dmatrix_t **out);

/* Collective. Takes new values for the matrix: the rows of this rank, given as for tristar_dmatrix_create,
 * also of a matrix that was made in another way; numbers of rows and columns are those of this matrix. Both
 * triangles, or what a symmetry makes of one, have the pattern that the matrix has; values are converted to
 * its type. Arrays of tristar_dmatrix_get_view and _get_diagonal get the new values, products and solves with
 * the matrix use them from the next call on; preconditioners are updated, or made anew, by the program. While
 * it runs the matrix is there twice. After a failure it is what it was. Errors: STALE (other rows on a rank,
 * another pattern), and those of tristar_dmatrix_create. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_update(tristar_dmatrix_t *matrix,
                                                                  const tristar_view *rows);

/* row[i]: the number that row i of this rank has in the matrix that this one was made of by
 * tristar_dmatrix_repartition; of another one its number over the whole matrix. As many as this rank has
 * rows; they ascend. Not collective. Errors: ARGUMENT (NULL). */
TRISTAR_API tristar_status tristar_dmatrix_get_origin(const tristar_dmatrix_t *matrix, int64_t *row);

/* Which way vectors go. */
typedef enum tristar_dmatrix_direction {
  TRISTAR_FROM_ORIGIN, /* from the blocks of the matrix that this one was made of to its own */
  TRISTAR_TO_ORIGIN    /* back */
} tristar_dmatrix_direction;

/* Collective. Moves nrhs vectors of the matrix's scalar type, the same number on all ranks, between the
 * blocks of rows of a repartitioned matrix and those that it was made of; of another matrix both are the
 * same. from and to: column-major, this rank's rows on either side, leading dimensions ldf and ldt, which are
 * at least as large as the rows are many; they do not overlap, and may be NULL where there are no rows. Bits
 * stay as they are. Errors: ARGUMENT (also: direction or nrhs differ between ranks), RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_move(const tristar_dmatrix_t *matrix,
                                                                tristar_dmatrix_direction direction,
                                                                int64_t nrhs, const void *from, int64_t ldf,
                                                                void *to, int64_t ldt);

/* The rows that this rank has, in full: both triangles, CSR, GENERAL; rows are numbered within the block,
 * columns over the whole matrix and ascending. The arrays are made by the first call, take as much memory
 * again as the matrix, and live as long as it. Not collective. Errors: ARGUMENT, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_get_view(tristar_dmatrix_t *matrix,
                                                                    tristar_view *view);

/* The diagonal block: the columns that are this rank's own, numbered within the block as its rows are; CSR,
 * GENERAL, square. tristar_precond makes a preconditioner of it: with JACOBI that of the whole matrix, with
 * any other kind block Jacobi with one block for each rank. The arrays are the matrix's own. Not collective.
 * Errors: ARGUMENT. */
TRISTAR_API tristar_status tristar_dmatrix_get_diagonal(const tristar_dmatrix_t *matrix, tristar_view *view);

/* Collective. Y = alpha op(A) X + beta Y for nrhs vectors, the same number on all ranks. x, y: this rank's
 * rows, column-major, leading dimensions ldx and ldy; they must not overlap, and may be NULL on a rank
 * without rows. alpha, beta: each points to a scalar of the matrix's type; NULL: alpha is 1, beta 0. Where
 * beta is 0, y is not read. Entries of up to 8 vectors travel in one message. The bits of a column do not
 * depend on nrhs. The first product with op other than N stores the transpose. Errors: ARGUMENT (also: op,
 * nrhs, alpha or beta differ between ranks), MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_multiply(tristar_dmatrix_t *matrix, tristar_op op,
                                                                    int64_t nrhs, const void *alpha,
                                                                    const void *x, int64_t ldx,
                                                                    const void *beta, void *y, int64_t ldy);

/* Collective. Makes a solver (tristar_krylov.h) for the matrix, of which it keeps alive what it needs.
 * options are the same on all ranks, but for progress and history, and may be NULL. All calls with the solver
 * are collective then, but for tristar_krylov_get_stats, and for _destroy while the matrix is there. b, x and
 * r of a rank are its rows, n is their number. A preconditioner is local: of order n, applied to these rows;
 * all ranks pass one or none, such as that of the diagonal block, or a function that exchanges messages of
 * its own. All ranks get the same figures, but for times, and the same status, also where a preconditioner
 * failed on one rank only. Where progress asks on one rank to cancel, all do, up to an iteration later. Sums
 * take one gathering of all ranks each, made in the order of the ranks; that of PIPELINED_CG goes on beside
 * the product and the preconditioner of its iteration. New values are taken by the matrix
 * (tristar_dmatrix_update), between two solves. Errors: as tristar_krylov_create; ARGUMENT: options differ
 * between ranks. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_krylov(tristar_dmatrix_t *matrix,
                                                                  const tristar_krylov_options *options,
                                                                  tristar_krylov_t **krylov);

/* Collective. A sparse approximate inverse of the whole matrix, M^-1 = G^H G: TRISTAR_PRECOND_FSAI of
 * tristar_precond.h, whose options hold here, but that `engine` is also that of the products with G. The
 * matrix is Hermitian (real: symmetric) and positive definite, or, for a pair of factors, any; it is copied
 * as far as it is needed, and may be destroyed before the preconditioner. options: the same on all ranks,
 * kind FSAI; NULL: the defaults.
 *
 * A pair, M^-1 = G_U G_L: rows of G_L and columns of G_U are where the row of A is, on the pattern of A +
 * A^H, for which the places of entries between ranks are exchanged. PAIR_AUTO compares what is near: with
 * levels 0 entries between ranks count by their places alone. op T and C store transposes when first applied.
 *
 * Row i of G is computed by the rank that has row i of A. Its pattern may take in columns of other ranks that
 * a path of at most `levels` entries of A leads to (Ferronato, Janna and Pini's neighbours): their rows are
 * brought once. levels 0: none, as if couplings between ranks were not there (block FSAI); steps, or power
 * where that is larger: nothing is missing that a row on one process could have, for most matrices 3 does;
 * INT_MAX: all, and G is that of one process. With `block` a node that lies on two ranks becomes two: where
 * blocks of rows end with nodes, that changes nothing.
 *
 * The preconditioner is one for tristar_dmatrix_krylov of a matrix with the same blocks; new values it takes
 * by tristar_dmatrix_fsai_update alone; applying, updating and destroying it are collective, and it is
 * destroyed before MPI_Finalize. Its figures are those of this rank's rows. Errors: those of
 * tristar_precond, whose messages name rows over the whole matrix; ARGUMENT: another kind, options differ
 * between ranks, PAIR_NEVER and entries between ranks without a mirror image; TOO_LARGE (entries that come to
 * one rank beyond 2^31 - 1), MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_fsai(tristar_dmatrix_t *matrix,
                                                                const tristar_precond_options *options,
                                                                int levels, tristar_precond_t **precond);

/* Collective. Computes an inverse of tristar_dmatrix_fsai anew, for the values that matrix has now, on the
 * pattern of G that was found first: no columns are looked for, which takes a part of the time. matrix: that
 * which it was made of, or another one with its blocks, pattern and type. Rows of other ranks are brought
 * again. Values may differ from those of a new inverse in the last bits, as a row's columns come in another
 * order. After a failure applications give STALE until another update succeeds. Errors: those of
 * tristar_dmatrix_fsai, whose messages name rows over the whole matrix; ARGUMENT (NULL, not such an inverse,
 * another type), STALE (other blocks, another pattern). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_fsai_update(tristar_dmatrix_t *matrix,
                                                                       tristar_precond_t *precond);

/* Collective. Additive Schwarz, M^-1 = sum_i R_i^T A_i^-1 R_i (Dryja and Widlund 1987): subdomain i has the
 * rows of rank i and those of other ranks that a path of at most `overlap` entries of A leads to; A_i has
 * their entries among them, and is copied. What stands for A_i^-1 says options: any kind of tristar_precond
 * but FUNCTION; PLAN: complete factors, made here. The same on all ranks; NULL: ILU(0). overlap 0: block
 * Jacobi. restricted 1: of what subdomain i gives only the rows of rank i count (Cai and Sarkis 1999): fewer
 * messages and, as a rule, iterations, but M is not symmetric, and op is N alone. With 0 M is Hermitian if
 * the A_i^-1 are, as CG wants it.
 *
 * The preconditioner is one for tristar_dmatrix_krylov of a matrix with the same blocks. The
 * preconditioner keeps alive what it needs of the matrix. Applying and destroying it are collective; update
 * is UNSUPPORTED. Its figures are those of this rank's subdomain. Errors: those of tristar_precond, and for
 * PLAN of tristar_analyze, tristar_factor and tristar_plan, whose messages number rows within the subdomain;
 * ARGUMENT: overlap is negative, kind FUNCTION, options differ between ranks; TOO_LARGE (entries that come to
 * one rank beyond 2^31 - 1), MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_schwarz(tristar_dmatrix_t *matrix,
                                                                   const tristar_precond_options *options,
                                                                   int overlap, int restricted,
                                                                   tristar_precond_t **precond);

/* The version of PT-Scotch that the library was built with, as "7.0.3"; NULL: it was built without. The text
 * is static. */
TRISTAR_API const char *tristar_ptscotch_version(void);

/* Collective. Factors the matrix on its ranks, which are as many as the layout of the options has: as
 * tristar_distributed_factor does (tristar_mpi.h), with the same bits if scalings and orderings are the same,
 * but no rank ever has the whole matrix. Rank 0 gathers its pattern, without values, analyzes it, and frees
 * it; each rank sends the entries of its rows to the ranks whose fronts assemble them, and its rows to the
 * ranks that refine with them. The matrix is copied as far as it is needed, and may be destroyed before the
 * factor. Solves of the factor take and give vectors where the matrix has its rows
 * (tristar_distributed_set_rows changes that).
 *
 * analysis: the same on all ranks, but for permutation, which is read on rank 0; NULL: the defaults.
 * leaf_parts below pz become pz. With ORDERING_PTSCOTCH all ranks order together, each with the graph of
 * its rows, before rank 0 gathers the pattern for the structure of the factors. The same rows on each of as
 * many ranks, and the same seed, give the same order; other blocks give other ones. UNSUPPORTED: built
 * without (tristar_ptscotch_version). A matching (MATCHING_ON, or MATCHING_AUTO with L U or L D L^T where the
 * diagonal has small entries or zeros, or the values are badly scaled) is found on rank 0: meanwhile that has
 * the pattern and the magnitudes of all entries that are not zero, 12 bytes each. Badly scaled values may be
 * scaled by other powers of two than on one process, as sums over ranks are rounded otherwise. options: as
 * for tristar_distribute, NULL: the defaults.
 *
 * The analysis counts in factor_seconds and factor_peak_bytes of the statistics (of rank 0), other than with
 * tristar_distributed_factor. Errors: those of tristar_analyze and tristar_distributed_factor, whichever rank
 * meets them; ARGUMENT also: options differ between ranks. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_factor(tristar_dmatrix_t *matrix,
                                                                  const tristar_analysis_options *analysis,
                                                                  const tristar_distributed_options *options,
                                                                  tristar_distributed_t **out);

/* Collective. New values for a factor of tristar_dmatrix_factor: those of a matrix of the same order, type
 * and pattern, whose rows may lie in other blocks, on the same ranks. Nothing is analyzed; rows of b and x
 * stay as they are. After a failure the factor holds no values, unless the matrix and the factor do not fit
 * together. Errors: those of tristar_refactor; ARGUMENT (another order, type, pattern, context or
 * communicator), UNSUPPORTED (of tristar_distribute or tristar_distributed_factor). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dmatrix_refactor(tristar_dmatrix_t *matrix,
                                                                    tristar_distributed_t *distributed);

/* Of one rank. */
typedef struct tristar_dmatrix_stats {
  int rank, ranks, workers;         /* its number, how many there are, the workers that multiply here */
  tristar_scalar scalar;            /* of the values */
  tristar_symmetry symmetry;        /* of what was given, read or generated; of real values in a complex type
                                       HERMITIAN for SYMMETRIC */
  int64_t n;                        /* rows of the whole matrix */
  int64_t first, rows;              /* the first row that is here, how many are */
  int64_t nnz;                      /* entries of these rows, both triangles */
  int64_t nnz_all;                  /* of all ranks */
  int64_t ghosts;                   /* columns that these rows meet and that others have */
  int owners, askers;               /* ranks that have them; ranks that need entries of this one */
  tristar_message_count product;    /* sent by this rank in a product with one vector */
  tristar_message_count transposed; /* the same where op is not N */
  size_t matrix_bytes;              /* held here, transposes and the view included */
  double create_seconds;            /* to make it, without start_seconds */
  double start_seconds;             /* that StarPU took to start, if that call was the first to need it */
  int64_t products;                 /* so far, counted by vectors */
  tristar_message_count sent;       /* by this rank in all of them */
  double product_seconds;           /* in all of them, and of that: */
  double wait_seconds;              /* waiting for entries of other ranks */
} tristar_dmatrix_stats;
/* Tells the figures of this rank. Not collective. Errors: ARGUMENT (NULL). */
TRISTAR_API tristar_status tristar_dmatrix_get_stats(const tristar_dmatrix_t *matrix,
                                                     tristar_dmatrix_stats *stats);

/* Collective. Before MPI_Finalize. What solvers and preconditioners need of the matrix ends with the last of
 * them. Accepts NULL. */
TRISTAR_API void tristar_dmatrix_destroy(tristar_dmatrix_t **matrix);

#ifdef __cplusplus
}
#endif

#endif
