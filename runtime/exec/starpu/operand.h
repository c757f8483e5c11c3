/* b or x of an inserted solve: StarPU handles as pieces of a column-major matrix.
 *
 * Job. Say from the handles alone what matrix their pieces make; once they are acquired, say whether it lies
 * in memory as one column-major array, and copy it to or from one otherwise.
 *
 * Reads   StarPU handles: sizes at any time, places in main memory and strides while they are acquired.
 * Writes  the data of handles (tsi_operand_scatter).
 * Invariants
 *   - every entry of the matrix lies in exactly one piece: piece k has rows row .. row+rows-1 of columns
 *     column .. column+columns-1
 *   - entry (i, j) of a piece lies at at[i + (j % plane) column_stride + (j / plane) plane_stride], in
 * scalars; known from tsi_operand_locate on */
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
  char *buffer; /* rows x columns; NULL: the data is worked with where it is */
  /* of the array that the solve works with */
  char *data;
  int64_t stride; /* scalars from column to column */
} tsi_operand;

/* b and x of a system with so many rows. Errors: ARGUMENT (also: other numbers of right-hand sides), MEMORY;
 * both can be finished then. */
TRISTAR_CHECKED tristar_status tsi_operands_create(tsi_env *env, int64_t rows, size_t scalar,
                                                   int64_t b_pieces, const starpu_data_handle_t *b_handle,
                                                   int64_t x_pieces, const starpu_data_handle_t *x_handle,
                                                   tsi_operand *b, tsi_operand *x);
void tsi_operand_finish(tsi_env *env, tsi_operand *operand);

/* The handles are acquired: sets data and stride. false: it is not one array; then there is none yet. */
bool tsi_operand_locate(tsi_operand *operand);
/* Makes the buffer the array that the solve works with. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_operand_use_buffer(tsi_env *env, tsi_operand *operand);
void tsi_operand_gather(tsi_operand *operand);
/* Buffer, if there is one, to handles. */
void tsi_operand_scatter(const tsi_operand *operand);
