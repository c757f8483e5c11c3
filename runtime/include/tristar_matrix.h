/* TriStar: matrices and right-hand sides from files, generators and blocks. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_MATRIX_H
#define TRISTAR_MATRIX_H

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix that the library owns. */
typedef struct tristar_matrix_s tristar_matrix_t;

/* Reads a matrix. The content of the file decides its kind:
 *
 *   - Matrix Market: coordinate or array; real, integer, pattern or complex; general, symmetric,
 *     skew-symmetric or hermitian
 *   - Harwell-Boeing and Rutherford-Boeing: assembled; R, C, I or P; U, S, Z, H or R
 *
 * The file is plain or compressed by gzip. The path "-" is standard input; "gen:KIND:K" generates
 * (tristar_matrix_generate). Entries of one place are summed. A file of a symmetric kind stores one triangle,
 * either of them; (i, j) together with (j, i) is an error. Of an array file the nonzeros and the diagonal are
 * kept. A pattern file has no values. Errors: IO, FORMAT (message: file:line: cause), TOO_LARGE, NOT_FINITE,
 * MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_read(tristar_t *ts, const char *path,
                                                               tristar_matrix_t **matrix);

/* Writes a Matrix Market coordinate file that tristar_matrix_read reads back to the same bits. A path that
 * ends in ".gz" is compressed; "-" is standard output. comment (may be NULL) becomes the comment lines of the
 * header. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_write(tristar_t *ts, const char *path,
                                                                const tristar_view *view,
                                                                const char *comment);

/* Generates the model problem `kind` of size k (tristar_get_generator), with the same bits on every machine.
 */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_generate(tristar_t *ts, const char *kind, int64_t k,
                                                                   tristar_matrix_t **matrix);

/* The graph Laplacian of the pattern of view, plus the identity: symmetric, positive definite, double. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_laplacian(tristar_t *ts, const tristar_view *view,
                                                                    tristar_matrix_t **matrix);

/* Makes a matrix of square blocks, which other libraries call BSR, BCRS or BAIJ: each entry of `blocks` is a
 * dense block. block_size: rows and columns of a block, at least 1. rows and cols of `blocks` count block
 * rows and block columns; ptr and index count blocks. values: block_size^2 values for each entry of index, in
 * the same order, those of a block by rows (inside = CSR) or by columns (inside = CSC). NULL: the pattern
 * alone.
 *
 * Blocks are dense: their zeros are entries, too. Duplicate blocks are summed by the functions that read the
 * view of the matrix. If the matrix is not GENERAL, store one block of each off-diagonal pair. One triangle
 * of a diagonal block is read: the triangle in which the other blocks are stored; the lower one if they are
 * in both, or if there are none. Each entry of the other triangle must be zero or, but for rounding errors,
 * the mirror image. The arrays are copied.
 *
 * Errors (messages name block row and block column, from 0): ARGUMENT (also: block_size < 1), RECTANGULAR,
 * FORMAT, NOT_FINITE, TOO_LARGE, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_from_blocks(tristar_t *ts,
                                                                      const tristar_view *blocks,
                                                                      int64_t block_size,
                                                                      tristar_format inside,
                                                                      tristar_matrix_t **matrix);

/* Replaces the values of a matrix of blocks, for tristar_factor or tristar_refactor with the values of its
 * view. values: as for tristar_matrix_from_blocks, in the same order. One pass without allocation (the first
 * values of a pattern are allocated). The matrix must not be read meanwhile. Errors: ARGUMENT (not a matrix
 * of blocks), NOT_FINITE, FORMAT; the old values stay. MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_set_blocks(tristar_matrix_t *matrix,
                                                                     const void *values);

/* Returns the arrays of the matrix, which live as long as it. CSC, base 0, 64-bit ptr, 32-bit index, rows
 * ascending in each column, no duplicates. A matrix of blocks has the format and the scalar of its blocks;
 * the entries of a line are in the order of its blocks, and duplicates stay. */
TRISTAR_API tristar_status tristar_matrix_get_view(const tristar_matrix_t *matrix, tristar_view *view);

/* Frees the matrix and sets *matrix to NULL. Accepts NULL. */
TRISTAR_API void tristar_matrix_destroy(tristar_matrix_t **matrix);

/* Returns the name of the i-th generator (from 0), and one line with its equation and the meaning of k. The
 * result is 0 if there is no i-th. */
TRISTAR_API int tristar_get_generator(int i, const char **name, const char **description);

/* A dense matrix in column-major order, such as right-hand sides. */
typedef struct tristar_dense {
  int64_t rows, cols;    /* Number of rows, number of columns. */
  tristar_scalar scalar; /* Type of the values. */
  void *values;          /* rows * cols values, freed by tristar_dense_destroy. */
} tristar_dense;

/* Reads a Matrix Market array or coordinate file, or plain text, as a dense matrix; compressed or not; "-":
 * standard input. In plain text each line is a row, with blanks between numbers. # and % begin comments, but
 * % is not the first character of the file. Errors: as tristar_matrix_read. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dense_read(tristar_t *ts, const char *path,
                                                              tristar_dense *dense);
/* Writes a Matrix Market array file (".gz" compresses); "-": standard output. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dense_write(tristar_t *ts, const char *path,
                                                               const tristar_dense *dense,
                                                               const char *comment);
/* Frees the values and sets all of *dense to zero. ts is not read: it may be NULL. */
TRISTAR_API void tristar_dense_destroy(tristar_t *ts, tristar_dense *dense);

#ifdef __cplusplus
}
#endif
#endif
