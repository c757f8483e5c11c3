/* Chunks of rows of a triangular matrix, from user to user: see node.h. */
#include "codelets/cpu/user.h"

static void solve_chunk(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number,
                        bool backward) {
  const tsi_solve_chunk *chunk = &data->chunk[number];
  if (call->rows) {
    const tsi_row_sweep *rows = call->rows;
    const tsi_index first = backward ? rows->n - chunk->column - chunk->columns : chunk->column;
    const bool runs = rows->run_ptr[number] < rows->run_ptr[number + 1];
    data->rows->solve_stream(&rows->stream, first, first + chunk->columns,
                             runs ? rows->run + rows->run_ptr[number] : NULL, backward, call->b, call->x);
    return;
  }
  tsi_scalar *x = chunk_rows(call, chunk);
  if (!tsi_takes_part(call, backward, number)) {
    memset(x, 0, (size_t)chunk->columns * (size_t)call->stride * sizeof *x);
    return;
  }
  read_user(call, chunk, number, x);
  data->rows->solve_rows(call->triangle_rows[backward], chunk->column, chunk->column + chunk->columns,
                         backward, call->stride, call->workspace);
  write_user(call, chunk, number, x);
}

static void forward_chunk(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  solve_chunk(data, call, number, false);
}
static void backward_chunk(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  solve_chunk(data, call, number, true);
}

/* D is the identity. */
static void diagonal_chunk(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  read_chunk(data, call, number);
  write_chunk(data, call, number);
}

extern const tsi_node_kernels TSI_TYPED(tsi_row_node_kernels);
const tsi_node_kernels TSI_TYPED(tsi_row_node_kernels) = {
    .forward_chunk = forward_chunk,
    .backward_chunk = backward_chunk,
    .read_chunk = read_chunk,
    .write_chunk = write_chunk,
    .diagonal_chunk = diagonal_chunk,
};
