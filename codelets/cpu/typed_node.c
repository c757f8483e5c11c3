/* Gather, panels and scatter of one task of a solve: see node.h. */
#include "codelets/cpu/user_rows.h"

#include <string.h>

static bool forward_part(const tsi_solve_call *call, tsi_index chunk) {
  return tsi_takes_part(call, false, chunk);
}
static bool backward_part(const tsi_solve_call *call, tsi_index chunk) {
  return tsi_takes_part(call, true, chunk);
}

static tsi_index kernel_columns(const tsi_solve_call *call) {
  return tsi_index_max(call->nrhs, call->least);
}

/* Calls f with the stride, as a constant if it is short. */
#define FOR_STRIDE(stride, f, ...)                                                                           \
  do {                                                                                                       \
    if ((stride) == 1)                                                                                       \
      f(1, __VA_ARGS__);                                                                                     \
    else if ((stride) == 2)                                                                                  \
      f(2, __VA_ARGS__);                                                                                     \
    else if ((stride) == 4)                                                                                  \
      f(4, __VA_ARGS__);                                                                                     \
    else if ((stride) == 8)                                                                                  \
      f(8, __VA_ARGS__);                                                                                     \
    else                                                                                                     \
      f(stride, __VA_ARGS__);                                                                                \
  } while (0)

/* x[off[i] - first] += u[i], rows of scalars */
INLINE void add_rows(const tsi_index stride, tsi_index count, const tsi_index *off, tsi_index first,
                     const tsi_scalar *restrict u, tsi_scalar *restrict x) {
  for (tsi_index i = 0; i < count; i++, u += stride) {
    tsi_scalar *to = x + (ptrdiff_t)(off[i] - first) * stride;
    for (tsi_index c = 0; c < stride; c++) to[c] += u[c];
  }
}

/* u[i] = x[off[i] - first] */
INLINE void copy_rows(const tsi_index stride, tsi_index count, const tsi_index *off, tsi_index first,
                      tsi_scalar *restrict u, const tsi_scalar *restrict x) {
  for (tsi_index i = 0; i < count; i++, u += stride)
    memcpy(u, x + (ptrdiff_t)(off[i] - first) * stride, (size_t)stride * sizeof *u);
}

/* x_target += u_source for the rows of one pair. */
static void add_updates(const tsi_solve_data *data, const tsi_solve_call *call, const tsi_solve_pair *pair,
                        const tsi_solve_chunk *target, tsi_scalar *x) {
  const tsi_solve_chunk *source = &data->chunk[pair->source];
  const tsi_index stride = call->stride;
  const tsi_index *off = data->off + source->off + pair->first;
  const tsi_scalar *u = chunk_rows(call, source) + (ptrdiff_t)(source->update + pair->first) * stride;
  FOR_STRIDE(stride, add_rows, pair->count, off, target->column, u, x);
}

/* Copies x of the target to those rows of a pair that are off-rows first .. end-1 of the source. */
static void copy_pair(const tsi_solve_data *data, const tsi_solve_call *call, const tsi_solve_pair *pair,
                      tsi_index first, tsi_index end) {
  const tsi_index stride = call->stride;
  const tsi_solve_chunk *source = &data->chunk[pair->source], *target = &data->chunk[pair->target];
  tsi_scalar *u = chunk_rows(call, source) + (ptrdiff_t)source->update * stride;
  const tsi_scalar *x = chunk_rows(call, target);
  const tsi_index begin = tsi_index_max(first, pair->first),
                  stop = tsi_index_min(end, pair->first + pair->count);
  const tsi_index *off = data->off + source->off;
  FOR_STRIDE(stride, copy_rows, stop - begin, off + begin, target->column, u + (ptrdiff_t)begin * stride, x);
}

/* Copies x of the owners to off-rows first .. end-1 of a chunk, unless separate tasks did this. */
static void copy_owners(const tsi_solve_data *data, const tsi_solve_call *call, const tsi_solve_chunk *chunk,
                        tsi_index first, tsi_index end) {
  for (tsi_index q = 0; q < chunk->target_count && !data->push; q++)
    copy_pair(data, call, &data->pair[chunk->targets + q], first, end);
}

/* x := D^-1 x on the columns of a chunk; rows of `stride` scalars. */
INLINE void apply_blocks(const tsi_solve_call *call, const tsi_solve_chunk *chunk, tsi_index stride,
                         tsi_scalar *x) {
  const tsi_scalar *inverse = (const tsi_scalar *)call->inverse + 2 * (ptrdiff_t)chunk->column;
  for (tsi_index k = 0; k < chunk->columns; k++, inverse += 2, x += stride) {
    const tsi_scalar i11 = inverse[0], i21 = inverse[1];
    if (i21 == 0) {
      for (tsi_index c = 0; c < stride; c++) x[c] *= i11;
      continue;
    }
    const tsi_scalar i22 = inverse[2], i12 = call->adjoint ? tsi_conj(i21) : i21;
    tsi_scalar *y = x + stride;
    for (tsi_index c = 0; c < stride; c++) {
      const tsi_scalar x1 = x[c], x2 = y[c];
      x[c] = i11 * x1 + i12 * x2;
      y[c] = i21 * x1 + i22 * x2;
    }
    k++, inverse += 2, x += stride; /* a pivot of two columns */
  }
}

static void apply_inverse(const tsi_solve_call *call, const tsi_solve_chunk *chunk, tsi_scalar *x) {
  if (!TSI_COMPLEX && call->stride == 1) /* complex blocks have much work an entry */
    apply_blocks(call, chunk, 1, x);
  else
    apply_blocks(call, chunk, call->stride, x);
}

/* Returns the rows of partial sums of a sliced chunk; forward with TSI_INVERSE_PARTITIONED they hold P x. */
static tsi_scalar *partial_sums(const tsi_solve_call *call, const tsi_solve_chunk *chunk) {
  return chunk_rows(call, chunk) + (ptrdiff_t)(chunk->update + chunk->off_rows) * call->stride;
}

/* Forward, the triangle of a sliced chunk's panel; its slices compute the update vector. */
static void forward_sliced(const tsi_solve_data *data, const tsi_solve_call *call,
                           const tsi_solve_chunk *chunk, tsi_scalar *x, tsi_scalar *scratch) {
  const tsi_panel *panel = &data->panel[chunk->panel];
  const tsi_index *pivots = call->forward_pivots;
  if (data->kernels->inverse == TSI_INVERSE_PARTITIONED) {
    data->kernels->interchange(panel, pivots, kernel_columns(call), x, false);
    memcpy(partial_sums(call, chunk), x, (size_t)chunk->columns * (size_t)call->stride * sizeof *x);
    pivots = NULL;
  }
  data->kernels->forward_triangle(panel, call->forward_values, pivots, kernel_columns(call), x, scratch);
}

/* Backward, the triangle of a sliced chunk's panel, with the partial sums of the slices. */
static void backward_sliced(const tsi_solve_data *data, const tsi_solve_call *call,
                            const tsi_solve_chunk *chunk, tsi_scalar *x, tsi_scalar *scratch) {
  const tsi_panel *panel = &data->panel[chunk->panel];
  const ptrdiff_t size = (ptrdiff_t)chunk->columns * call->stride;
  const bool triangle_first = data->kernels->inverse == TSI_INVERSE_PARTITIONED;
  const tsi_scalar *sum = partial_sums(call, chunk);
  if (triangle_first)
    data->kernels->backward_triangle(panel, call->backward_values, NULL, kernel_columns(call), x, scratch);
  for (tsi_index k = 0; k < chunk->slices; k++, sum += size)
    for (ptrdiff_t i = 0; i < size; i++) x[i] -= sum[i];
  if (triangle_first)
    data->kernels->interchange(panel, call->backward_pivots, kernel_columns(call), x, true);
  else
    data->kernels->backward_triangle(panel, call->backward_values, call->backward_pivots,
                                     kernel_columns(call), x, scratch);
}

/* Does the operations between the two sweeps: D^-1 and conjugates. */
static void solve_between(const tsi_solve_call *call, const tsi_solve_chunk *chunk, tsi_scalar *x) {
  if (call->inverse) apply_inverse(call, chunk, x);
  if (TSI_COMPLEX && call->conjugate_backward)
    for (ptrdiff_t i = 0; i < (ptrdiff_t)chunk->columns * call->stride; i++) x[i] = tsi_conj(x[i]);
}

/* Sets x_c before updates are added. */
static void start_chunk(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number,
                        tsi_scalar *x) {
  const tsi_solve_chunk *chunk = &data->chunk[number];
  if (data->messages && !data->messages->reads[number])
    memset(x, 0, (size_t)chunk->columns * (size_t)call->stride * sizeof *x);
  else
    read_user(call, chunk, number, x);
}

/* sum += sign times the rows of the inbox for a chunk. */
static void add_inbox(const tsi_solve_data *data, const tsi_solve_call *call, const tsi_solve_inbox *inbox,
                      tsi_index number, tsi_scalar sign, tsi_scalar *sum) {
  const ptrdiff_t size = (ptrdiff_t)data->chunk[number].columns * call->stride;
  for (tsi_index m = 0; m < inbox->count[number]; m++) {
    const tsi_scalar *from =
        (const tsi_scalar *)call->inbox + inbox->row[inbox->first[number] + m] * call->stride;
    for (ptrdiff_t i = 0; i < size; i++) sum[i] += sign * from[i];
  }
}

/* x_target += u_source for the pair at this index of by_target; x_target = R b before its first pair. */
static void add_pair(const tsi_solve_data *data, const tsi_solve_call *call, tsi_count place) {
  const tsi_solve_pair *pair = &data->pair[data->by_target[place]];
  const tsi_solve_chunk *target = &data->chunk[pair->target];
  tsi_scalar *x = chunk_rows(call, target);
  if (place == target->sources) start_chunk(data, call, pair->target, x);
  if (forward_part(call, pair->source)) add_updates(data, call, pair, target, x);
}

static void forward_push(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index place) {
  if (forward_part(call, data->pair[data->by_target[place]].target)) add_pair(data, call, place);
}

static void backward_push(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  const tsi_solve_pair *pair = &data->pair[number];
  if (backward_part(call, pair->source)) copy_pair(data, call, pair, pair->first, pair->first + pair->count);
}

static void gather_forward(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number,
                           tsi_scalar *x) {
  const tsi_solve_chunk *chunk = &data->chunk[number];
  if (chunk->source_count == 0) start_chunk(data, call, number, x);
  for (tsi_index q = 0; q < chunk->source_count && !data->push; q++) add_pair(data, call, chunk->sources + q);
  if (data->messages) add_inbox(data, call, &data->messages->forward, number, 1, x);
}

/* Sets x_c of a chunk without a part in the forward sweep, which other processes may receive and add: zero,
 * or b if the backward sweep starts from it. */
static void pass_forward(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number,
                         tsi_scalar *x) {
  if (call->read_backward && data->messages->reads[number])
    read_user(call, &data->chunk[number], number, x);
  else
    memset(x, 0, (size_t)data->chunk[number].columns * (size_t)call->stride * sizeof *x);
}

/* x_c = b, or as in pass_forward. */
static void read_node(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  if (data->messages && !forward_part(call, number))
    pass_forward(data, call, number, chunk_rows(call, &data->chunk[number]));
  else
    TSI_TYPED(tsi_read_chunk)(data, call, number);
}

static void write_node(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  if (data->messages == NULL || call->write_forward || backward_part(call, number))
    TSI_TYPED(tsi_write_chunk)(data, call, number);
}

static void forward_sum(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  tsi_scalar *x = chunk_rows(call, &data->chunk[number]);
  if (forward_part(call, number))
    gather_forward(data, call, number, x);
  else
    pass_forward(data, call, number, x);
}

static void forward_chunk(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  const tsi_solve_chunk *chunk = &data->chunk[number];
  tsi_scalar scratch[TSI_KERNEL_SCRATCH] __attribute__((aligned(64)));
  tsi_scalar *x = chunk_rows(call, chunk);
  if (!forward_part(call, number)) {
    if (data->messages) pass_forward(data, call, number, x);
    return;
  }
  gather_forward(data, call, number, x);
  if (chunk->slices > 0)
    forward_sliced(data, call, chunk, x, scratch);
  else {
    memset(x + (ptrdiff_t)chunk->update * call->stride, 0,
           (size_t)chunk->off_rows * (size_t)call->stride * sizeof *x);
    data->kernels->forward(chunk->panels, data->panel + chunk->panel, call->forward_values, data->local_row,
                           call->forward_pivots, kernel_columns(call), x, scratch);
  }
  if (call->write_forward && !data->messages) write_user(call, chunk, number, x);
}

static void forward_slice(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  const tsi_solve_slice *slice = &data->slice[number];
  const tsi_solve_chunk *chunk = &data->chunk[slice->chunk];
  const bool before = data->kernels->inverse == TSI_INVERSE_PARTITIONED; /* the triangle was applied before */
  tsi_scalar scratch[TSI_KERNEL_SCRATCH] __attribute__((aligned(64)));
  tsi_scalar *x = chunk_rows(call, chunk);
  if (!forward_part(call, slice->chunk)) return;
  data->kernels->forward_slice(&data->panel[chunk->panel], call->forward_values, slice->first, slice->count,
                               kernel_columns(call), before ? partial_sums(call, chunk) : x,
                               x + (ptrdiff_t)(chunk->update + slice->first) * call->stride, scratch);
}

static void backward_slice(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  const tsi_solve_slice *slice = &data->slice[number];
  const tsi_solve_chunk *chunk = &data->chunk[slice->chunk];
  tsi_scalar scratch[TSI_KERNEL_SCRATCH] __attribute__((aligned(64)));
  tsi_scalar *u = chunk_rows(call, chunk) + (ptrdiff_t)chunk->update * call->stride;
  tsi_scalar *sum =
      partial_sums(call, chunk) + (ptrdiff_t)(number - chunk->slice) * chunk->columns * call->stride;
  if (!backward_part(call, slice->chunk)) return;
  copy_owners(data, call, chunk, slice->first, slice->first + slice->count);
  data->kernels->backward_slice(&data->panel[chunk->panel], call->backward_values, slice->first, slice->count,
                                kernel_columns(call), u + (ptrdiff_t)slice->first * call->stride, sum,
                                scratch);
}

static void backward_chunk(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  const tsi_solve_chunk *chunk = &data->chunk[number];
  tsi_scalar scratch[TSI_KERNEL_SCRATCH] __attribute__((aligned(64)));
  tsi_scalar *x = chunk_rows(call, chunk);
  if (data->messages && call->write_forward && data->messages->writes[number])
    write_user(call, chunk, number, x);
  if (!backward_part(call, number)) return;
  if (call->read_backward && !data->messages)
    read_user(call, chunk, number, x);
  else if (!forward_part(call, number) && !data->messages)
    memset(x, 0, (size_t)chunk->columns * (size_t)call->stride * sizeof *x);
  solve_between(call, chunk, x);
  if (data->messages) add_inbox(data, call, &data->messages->backward, number, -1, x);
  if (chunk->slices > 0)
    backward_sliced(data, call, chunk, x, scratch);
  else {
    copy_owners(data, call, chunk, 0, chunk->off_rows);
    data->kernels->backward(chunk->panels, data->panel + chunk->panel, call->backward_values, data->local_row,
                            call->backward_pivots, kernel_columns(call), x, scratch);
  }
  if (data->messages == NULL || data->messages->writes[number]) write_user(call, chunk, number, x);
}

static void backward_sum(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  const tsi_solve_chunk *chunk = &data->chunk[number];
  const ptrdiff_t size = (ptrdiff_t)chunk->columns * call->stride;
  tsi_scalar *sum = partial_sums(call, chunk);
  const tsi_scalar *more = sum + size;
  if (!backward_part(call, number)) return;
  for (tsi_index k = 1; k < chunk->slices; k++, more += size)
    for (ptrdiff_t i = 0; i < size; i++) sum[i] += more[i];
  add_inbox(data, call, &data->messages->backward, number, 1, sum);
}

static void solve_diagonal(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  const tsi_solve_chunk *chunk = &data->chunk[number];
  solve_between(call, chunk, chunk_rows(call, chunk) + data->second * call->stride);
}

static void diagonal_chunk(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index number) {
  const tsi_solve_chunk *chunk = &data->chunk[number];
  tsi_scalar *x = chunk_rows(call, chunk);
  read_user(call, chunk, number, x);
  if (call->inverse) apply_inverse(call, chunk, x);
  write_user(call, chunk, number, x);
}

static void add(tsi_count count, const void *from, void *to) {
  const tsi_scalar *a = from;
  tsi_scalar *sum = to;
  for (tsi_count i = 0; i < count; i++) sum[i] += a[i];
}

extern const tsi_node_kernels TSI_TYPED(tsi_node_kernels);
const tsi_node_kernels TSI_TYPED(tsi_node_kernels) = {
    .forward_chunk = forward_chunk,
    .forward_slice = forward_slice,
    .backward_slice = backward_slice,
    .backward_chunk = backward_chunk,
    .forward_push = forward_push,
    .backward_push = backward_push,
    .read_chunk = read_node,
    .solve_diagonal = solve_diagonal,
    .write_chunk = write_node,
    .forward_sum = forward_sum,
    .backward_sum = backward_sum,
    .add = add,
    .diagonal_chunk = diagonal_chunk,
};
