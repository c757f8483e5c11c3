/* Chunks of rows of a triangular matrix, on the user's arrays: see node.h. */
#include "codelets/cpu/user_rows.h"

#include <string.h>

/* Prefetches b and x of a chunk whose rows are neighbours in another order, from one end to the other, the
 * fastest way to read memory. */
static void fetch_window(const tsi_solve_call *call, const tsi_solve_chunk *chunk) {
  enum { A_LINE = TSI_CACHE_LINE / sizeof(tsi_scalar) };
  const tsi_scalar *b = (const tsi_scalar *)call->b + chunk->column;
  const tsi_scalar *x = (const tsi_scalar *)call->x + chunk->column;
  for (tsi_index k = 0; k < chunk->columns; k += A_LINE) {
    __builtin_prefetch(b + k);
    __builtin_prefetch(x + k, 1);
  }
}

/* Maximum number of rows of a stream that are read, solved and written at a time; they stay in the nearest
 * cache. */
#define PIECE_ROWS 256
#define PIECE_RUNS 64

/* Cuts the next runs for a piece, with at most so many rows together; *done rows of **run were in the
 * previous piece. Returns the number of rows. */
static tsi_index cut_runs(tsi_index rows, const tsi_row_run **run, tsi_index *done, tsi_row_run *piece) {
  tsi_index taken = 0;
  for (int p = 0; p < PIECE_RUNS && taken < rows; p++) {
    const tsi_index count = tsi_index_min((*run)->rows - *done, rows - taken);
    piece[p] = (tsi_row_run){count, (*run)->entries};
    taken += count;
    *done += count;
    if (*done < (*run)->rows) continue;
    ++*run;
    *done = 0;
  }
  return taken;
}

/* Returns the final number of the k-th row of the sweep. */
static inline tsi_index row_of_sweep(const tsi_row_sweep *rows, tsi_index k, bool backward) {
  return backward ? rows->n - 1 - k : k;
}

/* Returns row i of b, scaled. */
static inline tsi_scalar taken(const tsi_solve_call *call, tsi_index i) {
  const tsi_scalar b = ((const tsi_scalar *)call->b)[i];
  return call->in_scale ? (tsi_scalar)(call->in_scale[i] * (tsi_wide)b) : b;
}

/* Writes row i of x, scaled and combined. */
static inline void give(const tsi_solve_call *call, tsi_index i, tsi_scalar value) {
  tsi_scalar *x = (tsi_scalar *)call->x + i;
  if (call->out_scale == NULL && !call->combines) {
    *x = value;
    return;
  }
  const tsi_wide out = (call->out_scale ? call->out_scale[i] : 1.0) * (tsi_wide)value;
  *x = (tsi_scalar)(call->combines ? combined(call, (tsi_wide)*x, out) : out);
}

static void move_piece_in(const tsi_solve_call *call, tsi_index first, tsi_index end, bool backward,
                          tsi_scalar *y) {
  const tsi_row_sweep *rows = call->rows;
  for (tsi_index k = first; k < end; k++)
    y[rows->stream.row[k]] = taken(call, call->in_row[row_of_sweep(rows, k, backward)]);
}

static void move_piece_out(const tsi_solve_call *call, tsi_index first, tsi_index end, bool backward,
                           const tsi_scalar *y) {
  const tsi_row_sweep *rows = call->rows;
  for (tsi_index k = first; k < end; k++)
    give(call, call->out_row[row_of_sweep(rows, k, backward)], y[rows->stream.row[k]]);
}

/* Notes rows first .. end-1 of a stream in x, if they are watched. */
static void watch_stream(const tsi_solve_call *call, tsi_index first, tsi_index end, bool backward) {
  const tsi_row_stream *stream = &call->rows->stream;
  const tsi_scalar *x = call->x;
  tsi_wide sum = 0;
  if (call->watch == NULL || first == end) return;
  if (!call->moves_out && stream->step != 0) {
    watch_numbers(call, end - first, x + tsi_index_min(stream->row[first], stream->row[end - 1]));
    return;
  }
  for (tsi_index k = first; k < end; k++)
    sum += x[call->moves_out ? call->out_row[row_of_sweep(call->rows, k, backward)] : stream->row[k]];
  watch_sum(call, sum);
}

/* Pieces of b are copied to the workspace, pieces of the workspace to x: rows of the user in their order. */
static inline tsi_index piece_begin(const tsi_row_sweep *rows, tsi_index number) {
  return (tsi_index)((tsi_count)rows->n * number / rows->pieces);
}

static void read_rows(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  const tsi_row_sweep *rows = call->rows;
  const tsi_index *place = call->in_place;
  tsi_scalar *y = call->workspace;
  if (rows == NULL || rows->pieces == 0) {
    TSI_TYPED(tsi_read_chunk)(data, call, number);
    return;
  }
  const tsi_index end = piece_begin(rows, number + 1);
  for (tsi_index i = piece_begin(rows, number); i < end; i++) y[place ? place[i] : i] = taken(call, i);
}

static void write_rows(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  const tsi_row_sweep *rows = call->rows;
  const tsi_index *place = call->out_place;
  const tsi_scalar *y = call->workspace;
  if (rows == NULL || rows->pieces == 0) {
    TSI_TYPED(tsi_write_chunk)(data, call, number);
    return;
  }
  const tsi_index end = piece_begin(rows, number + 1);
  const tsi_index begin = piece_begin(rows, number);
  for (tsi_index i = begin; i < end; i++) give(call, i, y[place ? place[i] : i]);
  watch_numbers(call, end - begin, (const tsi_scalar *)call->x + begin);
}

/* Solves rows first .. end-1 of a stream. */
static void solve_stream(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index first,
                         tsi_index end, const tsi_row_run *run, bool backward) {
  const tsi_row_stream *stream = &call->rows->stream;
  tsi_scalar *y = call->moves_out ? call->workspace : call->x;
  tsi_row_run piece[PIECE_RUNS];
  tsi_index done = 0;
  if (call->rows->pieces > 0) {
    data->rows->solve_stream(stream, first, end, run, call->workspace, call->workspace);
    return;
  }
  if (!call->moves_in && !call->moves_out) {
    data->rows->solve_stream(stream, first, end, run, call->b, call->x);
    watch_stream(call, first, end, backward);
    return;
  }
  while (first < end) {
    const tsi_index most = tsi_index_min(PIECE_ROWS, end - first);
    const tsi_index stop = first + (run ? cut_runs(most, &run, &done, piece) : most);
    if (call->moves_in) move_piece_in(call, first, stop, backward, y);
    data->rows->solve_stream(stream, first, stop, run ? piece : NULL, call->moves_in ? y : call->b, y);
    if (call->moves_out) move_piece_out(call, first, stop, backward, y);
    watch_stream(call, first, stop, backward);
    first = stop;
  }
}

static void solve_chunk(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number,
                        bool backward) {
  const tsi_solve_chunk *chunk = &data->chunk[number];
  if (call->rows) {
    const tsi_row_sweep *rows = call->rows;
    const tsi_index first = backward ? rows->n - chunk->column - chunk->columns : chunk->column;
    if (rows->fetch && !call->moves_in && !call->moves_out) fetch_window(call, chunk);
    const bool runs = rows->run_ptr[number] < rows->run_ptr[number + 1];
    solve_stream(data, call, first, first + chunk->columns, runs ? rows->run + rows->run_ptr[number] : NULL,
                 backward);
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

static void whole_stream(const tsi_solve_data *data, const tsi_solve_call *call, bool backward) {
  const tsi_row_sweep *rows = call->rows;
  for (tsi_index k = 0; k < rows->chunks; k++) {
    const tsi_index c = backward ? rows->chunks - 1 - k : k;
    const bool runs = rows->run_ptr[c] < rows->run_ptr[c + 1];
    const tsi_index begin = rows->start ? rows->start[c] : 0,
                    end = rows->start ? rows->start[c + 1] : rows->n;
    solve_stream(data, call, backward ? rows->n - end : begin, backward ? rows->n - begin : end,
                 runs ? rows->run + rows->run_ptr[c] : NULL, backward);
  }
}

/* D is the identity. */
static void diagonal_chunk(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  TSI_TYPED(tsi_read_chunk)(data, call, number);
  TSI_TYPED(tsi_write_chunk)(data, call, number);
}

extern const tsi_node_kernels TSI_TYPED(tsi_row_node_kernels);
const tsi_node_kernels TSI_TYPED(tsi_row_node_kernels) = {
    .forward_chunk = forward_chunk,
    .backward_chunk = backward_chunk,
    .read_chunk = read_rows,
    .write_chunk = write_rows,
    .diagonal_chunk = diagonal_chunk,
    .whole_stream = whole_stream,
};
