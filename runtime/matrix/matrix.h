/* The sparse matrix that the library owns (tristar_matrix_t) and the functions that make one.
 *
 * Compressed columns: the entries of column j are ptr[j] .. ptr[j+1]-1 of index and values.
 *
 * Invariants (tsi_matrix_check)
 *   - 0 <= rows, cols <= TSI_INDEX_MAX; ptr[0] = 0; ptr never decreases
 *   - 0 <= index < rows, strictly ascending inside a column: no duplicates
 *   - symmetry other than GENERAL: rows = cols, index >= j (the lower triangle alone)
 *   - SKEW_SYMMETRIC: a diagonal value is zero; HERMITIAN: its imaginary part is zero
 *   - scalar is DOUBLE (one double a value) or COMPLEX_DOUBLE (two: real, imaginary)
 *   - values are finite; values = NULL: the pattern alone
 *
 * A matrix of blocks (blocks.c; block_size > 0) has other invariants: format CSC or CSR (lines are columns or
 * rows), any scalar type, lines in the order of the blocks, duplicates allowed, and symmetric kinds in either
 * triangle. The library reads only its view. */
#pragma once

#include "runtime/base/env.h"
#include "runtime/base/scalars.h"
#include "tristar.h"
#include "tristar_matrix.h"

/* The entries of a diagonal block that are in the matrix: all; those of line r up to entry r; those of line r
 * from entry r on. */
typedef enum tsi_half { TSI_HALF_NONE, TSI_HALF_BEGIN, TSI_HALF_END } tsi_half;

struct tristar_matrix_s {
  tsi_env *env;          /* The environment of the context, which outlives the matrix. */
  tristar_format format; /* CSC, except for blocks. */
  tristar_symmetry symmetry;
  tristar_scalar scalar;
  tsi_index rows, cols;
  tsi_count *ptr;   /* cols + 1 (CSR: rows + 1) */
  tsi_index *index; /* Row (CSR: column) numbers; their number is the last entry of ptr. */
  double *values;   /* For each index a value of tsi_scalar_width doubles; NULL: pattern. Blocks: scalars */
  /* For blocks only: */
  tsi_index block_size; /* Order of the blocks; 0: no blocks. */
  bool across;          /* In the caller's values, blocks are stored across the lines, not along them. */
  tsi_half half;
};

/* The name of a symmetry in Matrix Market files. */
const char *tsi_symmetry_name(tristar_symmetry symmetry);

/* A matrix without entries: ptr is zero; index and values are NULL until tsi_matrix_reserve. */
TRISTAR_CHECKED tristar_status tsi_matrix_create(tsi_env *env, tsi_index rows, tsi_index cols,
                                                 tristar_symmetry symmetry, tristar_scalar scalar,
                                                 tristar_matrix_t **matrix);
/* Allocates index and, unless `pattern`, values for this number of entries (uninitialized). */
TRISTAR_CHECKED tristar_status tsi_matrix_reserve(tristar_matrix_t *matrix, tsi_count entries, bool pattern);

/* Verifies the invariants above. Errors: INTERNAL (the message has the first broken one). */
TRISTAR_CHECKED tristar_status tsi_matrix_check(const tristar_matrix_t *matrix);

/* Readers and generators of the public functions; *matrix is NULL on failure. */
TRISTAR_CHECKED tristar_status tsi_matrix_read_file(tsi_env *env, const char *path,
                                                    tristar_matrix_t **matrix);
/* Part `number` of `parts` parts with about equally many rows. */
typedef struct tsi_matrix_part {
  int number, parts;
  tristar_symmetry symmetry; /* Output: the symmetry of the whole matrix. */
} tsi_matrix_part;
/* part NULL: the whole matrix. Otherwise some of its rows in full: a GENERAL matrix with a column for each of
 * these rows, whose indices are columns of the matrix; the rows of the parts are consecutive. Errors:
 * ARGUMENT, TOO_LARGE, MEMORY; UNSUPPORTED (a part, but the generator cannot work by rows). */
TRISTAR_CHECKED tristar_status tsi_matrix_generate(tsi_env *env, const char *kind, int64_t k,
                                                   tsi_matrix_part *part, tristar_matrix_t **matrix);
/* Generates from a path "gen:KIND:K". */
TRISTAR_CHECKED tristar_status tsi_matrix_generate_path(tsi_env *env, const char *path, tsi_matrix_part *part,
                                                        tristar_matrix_t **matrix);
TRISTAR_CHECKED tristar_status tsi_matrix_laplacian(tsi_env *env, const tristar_view *view,
                                                    tristar_matrix_t **matrix);
