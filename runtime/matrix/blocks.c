/* Matrices of square blocks, as entries: see tristar_matrix.h.
 *
 * Job. Expand the pattern of blocks once; copy the values of blocks, in the caller's order, into the order of
 * the entries for each set of new values.
 *
 * A line is a row (CSR) or a column (CSC), of blocks or of entries. Block I of line J has the entries with
 * the lines J b + r and the indices I b + c, r, c = 0 .. b-1. Lines of entries have their blocks in the order
 * of the caller. So the blocks of a line can be found from one of its lines of entries: the line in which no
 * diagonal block is cut (uncut). Nothing else of the caller's pattern is stored. */
#include <math.h>

#include "codelets/cpu/rows/sparse.h"
#include "runtime/matrix/entries.h"
#include "runtime/matrix/matrix.h"
#include "runtime/matrix/view.h"

/* ---- Lines and blocks ---------------------------------------------------------------------------------- */

static tsi_index lines_of_blocks(const tristar_matrix_t *m) {
  return (m->format == TRISTAR_CSR ? m->rows : m->cols) / m->block_size;
}

/* The line of entries of block line J whose diagonal blocks are complete. */
static tsi_index uncut(const tristar_matrix_t *m, tsi_index J) {
  return J * m->block_size + (m->half == TSI_HALF_END ? 0 : m->block_size - 1);
}

static tsi_count blocks_of(const tristar_matrix_t *m, tsi_index J) {
  const tsi_index j = uncut(m, J);
  return (m->ptr[j + 1] - m->ptr[j]) / m->block_size;
}

/* The index of block q of line J. */
static tsi_index block_index(const tristar_matrix_t *m, tsi_index J, tsi_count q) {
  return m->index[m->ptr[uncut(m, J)] + q * m->block_size] / m->block_size;
}

/* The entries first .. end-1 of line r of a block are in the matrix. */
typedef struct span {
  tsi_index first, end;
} span;

static inline span kept(const tristar_matrix_t *m, bool diagonal, tsi_index r) {
  return (span){diagonal && m->half == TSI_HALF_END ? r : 0,
                diagonal && m->half == TSI_HALF_BEGIN ? r + 1 : m->block_size};
}

/* Position of entry c of line r in the caller's values of a block. */
static inline tsi_count inside_block(const tristar_matrix_t *m, tsi_index r, tsi_index c) {
  return m->across ? (tsi_count)c * m->block_size + r : (tsi_count)r * m->block_size + c;
}

/* ---- Pattern ------------------------------------------------------------------------------------------- */

static tristar_status check_blocks(tsi_env *env, const tristar_view *blocks, int64_t size,
                                   tristar_format inside) {
  TSI_TRY(tsi_view_check_head(env, blocks));
  if (size < 1) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "block_size is %lld: less than 1", (long long)size);
  if (inside != TRISTAR_CSC && inside != TRISTAR_CSR)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknown order %d inside blocks", (int)inside);
  const int64_t most = TSI_INDEX_MAX / size;
  if (size > TSI_INDEX_MAX || blocks->rows > most || blocks->cols > most)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld x %lld blocks of order %lld: more than %d rows or columns",
             (long long)blocks->rows, (long long)blocks->cols, (long long)size, (int)TSI_INDEX_MAX);
  TSI_TRY(tsi_view_check_ptr(env, blocks));
  for (int64_t J = 0; J < tsi_view_major(blocks); J++)
    for (tsi_count k = tsi_view_begin(blocks, J); k < tsi_view_begin(blocks, J + 1); k++) {
      const int64_t I = tsi_view_index(blocks, k);
      if (I >= 0 && I < tsi_view_minor(blocks)) continue;
      TSI_FAIL(env, TRISTAR_ERR_FORMAT, "block %s %lld: block %lld is in block %s %lld, outside 0..%lld",
               blocks->format == TRISTAR_CSR ? "row" : "column", (long long)J, (long long)k,
               blocks->format == TRISTAR_CSR ? "column" : "row", (long long)I,
               (long long)tsi_view_minor(blocks) - 1);
    }
  return TRISTAR_OK;
}

/* The half of diagonal blocks in the triangle of the other blocks; without other blocks, the lower one. */
static tsi_half choose_half(const tristar_view *blocks) {
  bool before = false, after = false;
  if (blocks->symmetry == TRISTAR_GENERAL) return TSI_HALF_NONE;
  for (int64_t J = 0; J < tsi_view_major(blocks); J++)
    for (tsi_count k = tsi_view_begin(blocks, J); k < tsi_view_begin(blocks, J + 1); k++) {
      before |= tsi_view_index(blocks, k) < J;
      after |= tsi_view_index(blocks, k) > J;
    }
  if (before == after) before = blocks->format == TRISTAR_CSR;
  return before ? TSI_HALF_BEGIN : TSI_HALF_END;
}

static void fill_ptr(const tristar_view *blocks, tristar_matrix_t *m) {
  const tsi_index b = m->block_size;
  for (int64_t J = 0; J < tsi_view_major(blocks); J++) {
    tsi_count diagonal = 0, others = 0;
    for (tsi_count k = tsi_view_begin(blocks, J); k < tsi_view_begin(blocks, J + 1); k++)
      *(tsi_view_index(blocks, k) == J ? &diagonal : &others) += 1;
    for (tsi_index r = 0; r < b; r++) {
      const span cut = kept(m, true, r);
      const tsi_index j = (tsi_index)J * b + r;
      m->ptr[j + 1] = m->ptr[j] + others * b + diagonal * (cut.end - cut.first);
    }
  }
}

static void fill_index(const tristar_view *blocks, tristar_matrix_t *m) {
  const tsi_index b = m->block_size;
  tsi_count at = 0;
  for (int64_t J = 0; J < tsi_view_major(blocks); J++)
    for (tsi_index r = 0; r < b; r++)
      for (tsi_count k = tsi_view_begin(blocks, J); k < tsi_view_begin(blocks, J + 1); k++) {
        const tsi_index I = (tsi_index)tsi_view_index(blocks, k);
        const span own = kept(m, I == J, r);
        for (tsi_index c = own.first; c < own.end; c++) m->index[at++] = I * b + c;
      }
}

/* The matrix without values. The blocks must have been verified. */
static tristar_status expand(tsi_env *env, const tristar_view *blocks, tsi_index b, tristar_format inside,
                             tristar_matrix_t **matrix) {
  TSI_CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m = NULL;
  tsi_count most = tsi_view_begin(blocks, tsi_view_major(blocks));
  if (!tsi_count_mul(most, b, &most) || !tsi_count_mul(most, b, &most))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld blocks of order %d: more than 2^63 entries",
             (long long)tsi_view_begin(blocks, tsi_view_major(blocks)), (int)b);
  /* Rows and columns are exchanged, so that there is a line for each row. */
  TSI_TRY(tsi_matrix_create(env, (tsi_index)tsi_view_minor(blocks) * b, (tsi_index)tsi_view_major(blocks) * b,
                            blocks->symmetry, blocks->scalar, &m));
  m->format = blocks->format;
  m->rows = (tsi_index)blocks->rows * b;
  m->cols = (tsi_index)blocks->cols * b;
  m->block_size = b;
  m->across = inside != blocks->format;
  m->half = choose_half(blocks);
  fill_ptr(blocks, m);
  TSI_TRY(TSI_ALLOC_IN(m, m->index, m->ptr[tsi_view_major(blocks) * b]));
  fill_index(blocks, m);
  *matrix = tsi_take(&m);
  return TRISTAR_OK;
}

/* ---- Values -------------------------------------------------------------------------------------------- */

/* bytes: of a scalar, a constant. */
static inline __attribute__((always_inline)) void move(const tristar_matrix_t *m, const void *given,
                                                       const size_t bytes) {
  const tsi_index b = m->block_size, lines = lines_of_blocks(m);
  const tsi_count area = (tsi_count)b * b, step = m->across ? b : 1;
  tsi_count first = 0, at = 0; /* first value of the line; number of entries before */
  for (tsi_index J = 0; J < lines; J++) {
    const tsi_count blocks = blocks_of(m, J);
    for (tsi_index r = 0; r < b; r++)
      for (tsi_count q = 0; q < blocks; q++) {
        const span own = kept(m, m->half != TSI_HALF_NONE && block_index(m, J, q) == J, r);
        tsi_count from = first + q * area + inside_block(m, r, own.first);
        for (tsi_index c = own.first; c < own.end; c++, from += step)
          tsi_copy_scalar(bytes, m->values, at++, given, from);
      }
    first += blocks * area;
  }
}

/* Reports value p, with its block and its place in it. */
static tristar_status refuse_value(const tristar_matrix_t *m, tsi_count p) {
  const tsi_count area = (tsi_count)m->block_size * m->block_size;
  const tsi_index r = (tsi_index)(p % area / m->block_size), c = (tsi_index)(p % area % m->block_size);
  const bool by_rows = m->format == TRISTAR_CSR, value_by_rows = by_rows != m->across;
  tsi_count q = p / area;
  tsi_index J = 0;
  while (q >= blocks_of(m, J)) q -= blocks_of(m, J++);
  const tsi_index I = block_index(m, J, q);
  TSI_FAIL(m->env, TRISTAR_ERR_NOT_FINITE,
           "block row %d, block column %d: row %d, column %d of the block (all from 0) is NaN or infinite",
           by_rows ? J : I, by_rows ? I : J, value_by_rows ? r : c, value_by_rows ? c : r);
}

/* The size of a scalar: a sum of absolute values, without a square root. */
static double size_of(const double value[2]) {
  return fabs(value[0]) + fabs(value[1]);
}

/* Is the unused entry zero, or the mirror image of the used one, up to `roundoff`? */
static bool mirrors(tristar_symmetry symmetry, const double read[2], const double other[2], double roundoff) {
  const double sign = symmetry == TRISTAR_SKEW_SYMMETRIC ? -1 : 1;
  const double conjugate = symmetry == TRISTAR_HERMITIAN ? -1 : sign;
  const double apart[2] = {other[0] - sign * read[0], other[1] - conjugate * read[1]};
  return size_of(other) == 0 || size_of(apart) <= roundoff;
}

/* Verifies a diagonal block of line J, whose values begin with value `first`. */
static tristar_status check_diagonal_block(const tristar_matrix_t *m, tsi_index J, const void *given,
                                           tsi_count first) {
  const double same = TSI_SAME * tsi_sparse_kernels_select((char)m->scalar)->epsilon;
  const bool lower = (m->half == TSI_HALF_BEGIN) == (m->format == TRISTAR_CSR);
  double value[4][2]; /* entries (r, c), (c, r), (r, r), (c, c) */
  for (tsi_index r = 0; r < m->block_size; r++)
    for (tsi_index c = 0; c < r; c++) {
      const tsi_index place[4][2] = {{r, c}, {c, r}, {r, r}, {c, c}};
      for (int i = 0; i < 4; i++)
        tsi_scalar_read((char)m->scalar, given, (size_t)(first + inside_block(m, place[i][0], place[i][1])),
                        value[i]);
      const int read = m->half == TSI_HALF_BEGIN ? 0 : 1;
      const double diagonal = sqrt(size_of(value[2])) * sqrt(size_of(value[3]));
      const double roundoff = same * fmax(diagonal, fmax(size_of(value[0]), size_of(value[1])));
      if (mirrors(m->symmetry, value[read], value[1 - read], roundoff)) continue;
      TSI_FAIL(m->env, TRISTAR_ERR_FORMAT,
               "block row %d, block column %d: the block is not %s, but its rows %d and %d (all from 0) have "
               "entries in the %s triangle, which is not read",
               J, J, tsi_symmetry_name(m->symmetry), c, r, lower ? "upper" : "lower");
    }
  return TRISTAR_OK;
}

static tristar_status check_diagonal_blocks(const tristar_matrix_t *m, const void *given) {
  const tsi_count area = (tsi_count)m->block_size * m->block_size;
  tsi_count first = 0;
  if (m->half == TSI_HALF_NONE) return TRISTAR_OK;
  for (tsi_index J = 0; J < lines_of_blocks(m); J++)
    for (tsi_count q = 0, blocks = blocks_of(m, J); q < blocks; q++, first += area)
      if (block_index(m, J, q) == J) TSI_TRY(check_diagonal_block(m, J, given, first));
  return TRISTAR_OK;
}

static tristar_status take_values(tristar_matrix_t *m, const void *given) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)m->scalar);
  const tsi_index lines = lines_of_blocks(m);
  tsi_count count = 0;
  for (tsi_index J = 0; J < lines; J++) count += blocks_of(m, J);
  count *= (tsi_count)m->block_size * m->block_size;
  const tsi_count wrong = kernels->first_not_finite(count, given);
  if (wrong < count) return refuse_value(m, wrong);
  TSI_TRY(check_diagonal_blocks(m, given));
  if (m->values == NULL)
    TSI_TRY(TSI_ALLOC_SIZED_IN(m, m->values, m->ptr[lines * m->block_size], kernels->scalar_bytes));
  switch (kernels->scalar_bytes) {
  case 4:
    move(m, given, 4);
    break;
  case 8:
    move(m, given, 8);
    break;
  default:
    move(m, given, 16);
  }
  return TRISTAR_OK;
}

/* ---- Public functions ---------------------------------------------------------------------------------- */

static tristar_status from_blocks(tsi_env *env, const tristar_view *blocks, int64_t size,
                                  tristar_format inside, tristar_matrix_t **matrix) {
  TSI_CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m = NULL;
  tristar_view view;
  if (blocks == NULL || matrix == NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", blocks == NULL ? "blocks" : "matrix");
  TSI_TRY(check_blocks(env, blocks, size, inside));
  TSI_TRY(expand(env, blocks, (tsi_index)size, inside, &m));
  if (blocks->values != NULL) TSI_TRY(take_values(m, blocks->values));
  if (env->check) {
    TSI_TRY(tristar_matrix_get_view(m, &view));
    TSI_TRY(tsi_view_check(env, &view));
  }
  *matrix = tsi_take(&m);
  return TRISTAR_OK;
}

tristar_status tristar_matrix_from_blocks(tristar_t *ts, const tristar_view *blocks, int64_t block_size,
                                          tristar_format inside, tristar_matrix_t **matrix) {
  if (matrix != NULL) *matrix = NULL;
  TSI_ENTER(ts, ts);
  return tsi_answer(tsi_context_env(ts),
                    from_blocks(tsi_context_env(ts), blocks, block_size, inside, matrix));
}

static tristar_status set_blocks(tristar_matrix_t *matrix, const void *values) {
  if (values == NULL) TSI_FAIL(matrix->env, TRISTAR_ERR_ARGUMENT, "values is NULL");
  if (matrix->block_size == 0)
    TSI_FAIL(matrix->env, TRISTAR_ERR_ARGUMENT, "the matrix is not made of blocks");
  return take_values(matrix, values);
}

tristar_status tristar_matrix_set_blocks(tristar_matrix_t *matrix, const void *values) {
  TSI_ENTER(matrix, (tristar_t *)matrix->env);
  return tsi_answer(matrix->env, set_blocks(matrix, values));
}
