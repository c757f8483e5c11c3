/* The sparse matrix that the library owns (tristar_matrix_t) and the few ways to make one.
 *
 * Compressed columns: the entries of column j are ptr[j] .. ptr[j+1]-1 of index and values.
 *
 * Invariants (tsi_matrix_check)
 *   - 0 <= rows, cols <= TSI_INDEX_MAX; ptr[0] = 0; ptr never falls
 *   - 0 <= index < rows, strictly ascending inside a column: no duplicates
 *   - symmetry other than GENERAL: rows = cols, index >= j (the lower triangle alone)
 *   - SKEW_SYMMETRIC: a diagonal value is zero; HERMITIAN: its imaginary part is zero
 *   - scalar is DOUBLE (one double a value) or COMPLEX_DOUBLE (two: real, imaginary)
 *   - values are finite; values = NULL: the pattern alone
 *
 * A matrix of blocks (blocks.c; block_size > 0) has other invariants: format CSC or CSR, so that lines are
 * columns or rows, any scalar type, lines in the order of the blocks, also with duplicates, and symmetric
 * kinds in either triangle. Only its view is read. */
#pragma once

#include "runtime/base/env.h"
#include "runtime/base/scalars.h"
#include "tristar.h"
#include "tristar_matrix.h"

/* Which entries of a diagonal block are in the matrix: all; those of line r up to the r-th; from the r-th. */
typedef enum tsi_half { TSI_HALF_NONE, TSI_HALF_BEGIN, TSI_HALF_END } tsi_half;

struct tristar_matrix_s {
  tsi_env *env;          /* the context's: it outlives the matrix */
  tristar_format format; /* CSC, but for blocks */
  tristar_symmetry symmetry;
  tristar_scalar scalar;
  tsi_index rows, cols;
  tsi_count *ptr;   /* cols + 1 (CSR: rows + 1) */
  tsi_index *index; /* row (CSR: column) numbers, as many as ptr ends with */
  double *values; /* one for each of index, of tsi_scalar_width doubles; NULL: pattern; of blocks: scalars */
  /* Of blocks alone: */
  tsi_index block_size; /* 0: not made of blocks */
  bool across;          /* the caller's values of a block are stored across its lines, not along them */
  tsi_half half;
};

/* The name of a symmetry as Matrix Market files spell it. */
const char *tsi_symmetry_name(tristar_symmetry symmetry);

/* A matrix without entries: ptr is all zero, index and values are NULL until tsi_matrix_reserve. */
TRISTAR_CHECKED tristar_status tsi_matrix_create(tsi_env *env, tsi_index rows, tsi_index cols,
                                                 tristar_symmetry symmetry, tristar_scalar scalar,
                                                 tristar_matrix_t **matrix);
/* Allocates index and, unless it is to be a pattern, values for that many entries (uninitialized). */
TRISTAR_CHECKED tristar_status tsi_matrix_reserve(tristar_matrix_t *matrix, tsi_count entries, bool pattern);

/* Verifies the invariants above: TRISTAR_ERR_INTERNAL names the first that is broken. */
TRISTAR_CHECKED tristar_status tsi_matrix_check(const tristar_matrix_t *matrix);

/* The readers and generators behind the public functions; *matrix is NULL on failure. */
TRISTAR_CHECKED tristar_status tsi_matrix_read_file(tsi_env *env, const char *path,
                                                    tristar_matrix_t **matrix);
/* Part `number` of `parts`, of about as many rows each. */
typedef struct tsi_matrix_part {
  int number, parts;
  tristar_symmetry symmetry; /* found: of the whole matrix */
} tsi_matrix_part;
/* part NULL: the matrix. Else some of its rows, in full, as columns: a GENERAL matrix with a column for each
 * of these rows, whose index is a column of the matrix; rows of the parts follow each other. Errors:
 * ARGUMENT, TOO_LARGE, MEMORY; UNSUPPORTED: a part of what cannot be made row by row. */
TRISTAR_CHECKED tristar_status tsi_matrix_generate(tsi_env *env, const char *kind, int64_t k,
                                                   tsi_matrix_part *part, tristar_matrix_t **matrix);
/* The same for a path "gen:KIND:K". */
TRISTAR_CHECKED tristar_status tsi_matrix_generate_path(tsi_env *env, const char *path, tsi_matrix_part *part,
                                                        tristar_matrix_t **matrix);
TRISTAR_CHECKED tristar_status tsi_matrix_laplacian(tsi_env *env, const tristar_view *view,
                                                    tristar_matrix_t **matrix);
