/* b or x of an inserted solve: StarPU handles as pieces of a column-major matrix.
 *
 * Job. Find, from the handles only, the matrix that their pieces form. Once they are acquired, find whether
 * it is stored as one column-major array, and if not copy it to or from such an array.
 *
 * Reads   StarPU handles: sizes at any time, addresses in main memory and strides while they are acquired.
 * Writes  the data of handles (tsi_operand_scatter).
 * Invariants
 *   - every entry of the matrix is in exactly one piece: piece k has rows row .. row+rows-1 of columns column
 *     .. column+columns-1
 *   - entry (i, j) of a piece is stored at at[i + (j % plane) column_stride + (j / plane) plane_stride], in
 *     scalars; set by tsi_operand_locate */
#pragma once

#include <starpu.h>

#include "runtime/base/env.h"

typedef struct tsi_piece {
  starpu_data_handle_t handle;
  int64_t row, rows, column, columns;
  int64_t plane; /* columns with the same distance; at least 1 */
  char *at;
  int64_t column_stride, plane_stride;
} tsi_piece;

typedef struct tsi_operand {
  const char *name; /* for messages: "b" */
  int64_t rows, columns;
  size_t scalar; /* bytes */
  int64_t count;
  tsi_piece *piece;
  char *buffer; /* rows x columns; NULL: the data is used in place */
  /* The array that the solve uses: */
  char *data;
  int64_t stride; /* distance between columns in scalars */
} tsi_operand;

/* b and x of a system with `rows` rows. Errors: ARGUMENT (also: different numbers of right-hand sides),
 * MEMORY; both can be finished then. */
TRISTAR_CHECKED tristar_status tsi_operands_create(tsi_env *env, int64_t rows, size_t scalar,
                                                   int64_t b_pieces, const starpu_data_handle_t *b_handle,
                                                   int64_t x_pieces, const starpu_data_handle_t *x_handle,
                                                   tsi_operand *b, tsi_operand *x);
void tsi_operand_finish(tsi_env *env, tsi_operand *operand);

/* Sets data and stride, once the handles are acquired. false: the pieces are not one array; nothing is set.
 */
bool tsi_operand_locate(tsi_operand *operand);
/* Lets the solve use a buffer. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_operand_use_buffer(tsi_env *env, tsi_operand *operand);
void tsi_operand_gather(tsi_operand *operand);
/* Copies the buffer, if there is one, to the handles. */
void tsi_operand_scatter(const tsi_operand *operand);
