/* Accesses of the steps of sweeps: see access_sweep.h. */
#include "dag/access_sweep.h"

/* One of the two sweeps. */
typedef struct side {
  const tsi_sweep *sweep;
  const tsi_chunks *chunks;
  tsi_buffer_kind factor;
  tsi_index first_update, first_slice; /* Items of its first update and of its first partial sum. */
} side;

static side forward_side(const tsi_access_sweeps *s) {
  return (side){s->forward, s->forward_chunks, TSI_BUFFER_FORWARD, 0, 0};
}
static side backward_side(const tsi_access_sweeps *s) {
  const bool same = s->forward == s->backward;
  return (side){s->backward, s->backward_chunks, TSI_BUFFER_BACKWARD, same ? 0 : s->forward->chunks,
                same ? 0 : s->forward->slices};
}

static void add_columns(const tsi_access_sweeps *s, tsi_access_mode mode, tsi_buffer_kind kind, tsi_index c,
                        tsi_access_lister *l) {
  tsi_access_add(l, mode, kind, c, 0, tsi_chunk_columns(s->forward_chunks, c));
}

void tsi_access_add_segment(const tsi_access_sweeps *s, tsi_access_mode mode, tsi_index c,
                            tsi_access_lister *l) {
  add_columns(s, mode, TSI_BUFFER_SEGMENT, c, l);
}

static void add_b(const tsi_access_sweeps *s, tsi_index c, tsi_access_lister *l) {
  add_columns(s, TSI_ACCESS_R, TSI_BUFFER_B, c, l);
}
static void add_x(const tsi_access_sweeps *s, tsi_index c, tsi_access_lister *l) {
  add_columns(s, TSI_ACCESS_W, s->in_place ? TSI_BUFFER_B : TSI_BUFFER_X, c, l);
}

static void add_node(const side *d, tsi_index node, tsi_access_lister *l) {
  tsi_access_add(l, TSI_ACCESS_R, d->factor, node, 0, 1);
}
static void add_update(const side *d, tsi_access_mode mode, tsi_index c, tsi_count first, tsi_count end,
                       tsi_access_lister *l) {
  tsi_access_add(l, mode, TSI_BUFFER_UPDATE, d->first_update + c, first, end);
}
static void add_partial(const side *d, tsi_access_mode mode, tsi_index slice, tsi_access_lister *l) {
  tsi_access_add(l, mode, TSI_BUFFER_PARTIAL, d->first_slice + slice, 0, 1);
}

void tsi_access_add_first_partial(const tsi_access_sweeps *s, tsi_access_mode mode, tsi_index c,
                                  tsi_access_lister *l) {
  const side d = backward_side(s);
  add_partial(&d, mode, d.chunks->slice_ptr[c], l);
}

static bool is_sliced(const side *d, tsi_index c) {
  return d->chunks->slice_ptr[c + 1] > d->chunks->slice_ptr[c];
}

/* The rows of slice k of chunk c. */
static void slice_rows(const side *d, tsi_index c, tsi_index k, tsi_index *first, tsi_index *end) {
  *first = d->chunks->slice_row[k];
  *end = k + 1 < d->chunks->slice_ptr[c + 1] ? d->chunks->slice_row[k + 1] : tsi_chunk_off_rows(d->chunks, c);
}

/* The updates that chunk c gathers. */
static void add_sources(const side *d, tsi_index c, tsi_access_lister *l) {
  for (tsi_count q = d->sweep->target_ptr[c]; q < d->sweep->target_ptr[c + 1]; q++) {
    const tsi_sweep_pair *pair = &d->sweep->pair[d->sweep->by_target[q]];
    add_update(d, TSI_ACCESS_R, pair->source, pair->first, pair->first + pair->count, l);
  }
}

/* x of the owners of off-rows first .. end - 1 of chunk c. */
static void add_owners(const side *d, tsi_index c, tsi_index first, tsi_index end, tsi_access_lister *l) {
  const tsi_index *off = d->chunks->off + d->chunks->off_ptr[c];
  for (tsi_count q = d->sweep->source_ptr[c]; q < d->sweep->source_ptr[c + 1]; q++) {
    const tsi_sweep_pair *pair = &d->sweep->pair[q];
    const tsi_index begin = tsi_index_max(first, pair->first),
                    stop = tsi_index_min(end, pair->first + pair->count),
                    column = d->chunks->column[pair->target];
    if (begin < stop)
      tsi_access_add(l, TSI_ACCESS_R, TSI_BUFFER_SEGMENT, pair->target, off[begin] - column,
                     off[stop - 1] - column + 1);
  }
}

/* x_c = b + updates. If updates are pushed, x_c already holds them and b. */
static void gather_forward(const tsi_access_sweeps *s, const side *d, tsi_index c, tsi_access_lister *l) {
  const bool pushed = s->push && d->sweep->target_ptr[c] < d->sweep->target_ptr[c + 1];
  tsi_access_add_segment(s, pushed ? TSI_ACCESS_RW : TSI_ACCESS_W, c, l);
  if (!pushed) add_b(s, c, l);
  if (!s->push) add_sources(d, c, l);
}

static void forward_chunk(const tsi_access_sweeps *s, tsi_index c, tsi_access_lister *l) {
  const side d = forward_side(s);
  gather_forward(s, &d, c, l);
  add_node(&d, c, l);
  if (!is_sliced(&d, c))
    add_update(&d, TSI_ACCESS_W, c, 0, tsi_chunk_off_rows(d.chunks, c), l);
  else if (s->before)
    add_partial(&d, TSI_ACCESS_W, d.chunks->slice_ptr[c], l);
  if (s->only_forward) add_x(s, c, l);
}

static void forward_slice(const tsi_access_sweeps *s, tsi_index k, tsi_access_lister *l) {
  const side d = forward_side(s);
  const tsi_index c = d.sweep->slice_chunk[k];
  tsi_index first, end;
  slice_rows(&d, c, k, &first, &end);
  if (s->before)
    add_partial(&d, TSI_ACCESS_R, d.chunks->slice_ptr[c], l);
  else
    tsi_access_add_segment(s, TSI_ACCESS_R, c, l);
  add_node(&d, d.sweep->chunks + k, l);
  add_update(&d, TSI_ACCESS_W, c, first, end, l);
}

static void forward_push(const tsi_access_sweeps *s, tsi_count place, tsi_access_lister *l) {
  const side d = forward_side(s);
  const tsi_sweep_pair *pair = &d.sweep->pair[d.sweep->by_target[place]];
  const bool first = place == d.sweep->target_ptr[pair->target];
  tsi_access_add_segment(s, first ? TSI_ACCESS_W : TSI_ACCESS_RW, pair->target, l);
  if (first) add_b(s, pair->target, l);
  add_update(&d, TSI_ACCESS_R, pair->source, pair->first, pair->first + pair->count, l);
}

static void backward_chunk(const tsi_access_sweeps *s, tsi_index c, tsi_access_lister *l) {
  const side d = backward_side(s);
  const tsi_index off_rows = tsi_chunk_off_rows(d.chunks, c);
  tsi_access_add_segment(s, s->only_backward ? TSI_ACCESS_W : TSI_ACCESS_RW, c, l);
  if (s->only_backward) add_b(s, c, l);
  add_node(&d, c, l);
  if (is_sliced(&d, c)) {
    for (tsi_index k = d.chunks->slice_ptr[c]; k < d.chunks->slice_ptr[c + 1]; k++)
      add_partial(&d, TSI_ACCESS_R, k, l);
  } else {
    if (!s->push) add_owners(&d, c, 0, off_rows, l);
    add_update(&d, s->push ? TSI_ACCESS_R : TSI_ACCESS_W, c, 0, off_rows, l);
  }
  add_x(s, c, l);
}

static void backward_slice(const tsi_access_sweeps *s, tsi_index k, tsi_access_lister *l) {
  const side d = backward_side(s);
  const tsi_index c = d.sweep->slice_chunk[k];
  tsi_index first, end;
  slice_rows(&d, c, k, &first, &end);
  if (!s->push) add_owners(&d, c, first, end, l);
  add_update(&d, s->push ? TSI_ACCESS_R : TSI_ACCESS_W, c, first, end, l);
  add_node(&d, d.sweep->chunks + k, l);
  add_partial(&d, TSI_ACCESS_W, k, l);
}

static void backward_push(const tsi_access_sweeps *s, tsi_count number, tsi_access_lister *l) {
  const side d = backward_side(s);
  const tsi_sweep_pair *pair = &d.sweep->pair[number];
  const tsi_index *off = d.chunks->off + d.chunks->off_ptr[pair->source] + pair->first;
  const tsi_index column = d.chunks->column[pair->target];
  tsi_access_add(l, TSI_ACCESS_R, TSI_BUFFER_SEGMENT, pair->target, off[0] - column,
                 off[pair->count - 1] - column + 1);
  add_update(&d, TSI_ACCESS_W, pair->source, pair->first, pair->first + pair->count, l);
}

static void backward_sum(const tsi_access_sweeps *s, tsi_index c, tsi_access_lister *l) {
  const side d = backward_side(s);
  for (tsi_index k = d.chunks->slice_ptr[c]; k < d.chunks->slice_ptr[c + 1]; k++)
    add_partial(&d, k == d.chunks->slice_ptr[c] ? TSI_ACCESS_RW : TSI_ACCESS_R, k, l);
}

/* For a triangular matrix by rows: x of the chunks that a chunk waits for. */
static void chunk_of_rows(const tsi_access_sweeps *s, const tsi_step *step, tsi_access_lister *l) {
  const bool backward = step->kind == TSI_STEP_BACKWARD_CHUNK;
  const side d = backward ? backward_side(s) : forward_side(s);
  const tsi_index c = step->argument;
  tsi_access_add_segment(s, TSI_ACCESS_W, c, l);
  add_b(s, c, l);
  add_node(&d, c, l);
  if (backward) add_owners(&d, c, 0, tsi_chunk_off_rows(d.chunks, c), l);
  for (tsi_count q = d.sweep->target_ptr[c]; !backward && q < d.sweep->target_ptr[c + 1]; q++)
    tsi_access_add_segment(s, TSI_ACCESS_R, d.sweep->pair[d.sweep->by_target[q]].source, l);
  add_x(s, c, l);
}

/* For a chunk on a device: separate steps read, copy, process and write the vectors. */
static void step_on_device(const tsi_access_sweeps *s, const tsi_step *step, tsi_access_lister *l) {
  const tsi_index c = step->argument;
  const side f = forward_side(s), b = backward_side(s);
  switch (step->kind) {
  case TSI_STEP_READ:
    tsi_access_add_segment(s, TSI_ACCESS_W, c, l);
    add_b(s, c, l);
    break;
  case TSI_STEP_FORWARD_CHUNK:
    tsi_access_add_segment(s, TSI_ACCESS_RW, c, l);
    add_node(&f, c, l);
    add_update(&f, TSI_ACCESS_W, c, 0, tsi_chunk_off_rows(f.chunks, c), l);
    break;
  case TSI_STEP_FORWARD_BORDER:
    add_update(&f, TSI_ACCESS_RW, c, 0, tsi_chunk_off_rows(f.chunks, c), l);
    break;
  case TSI_STEP_BACKWARD_BORDER:
    add_owners(&b, c, 0, tsi_chunk_off_rows(b.chunks, c), l);
    add_update(&b, TSI_ACCESS_W, c, 0, tsi_chunk_off_rows(b.chunks, c), l);
    break;
  case TSI_STEP_BACKWARD_CHUNK:
    tsi_access_add_segment(s, TSI_ACCESS_RW, c, l);
    add_node(&b, c, l);
    add_update(&b, TSI_ACCESS_R, c, 0, tsi_chunk_off_rows(b.chunks, c), l);
    break;
  case TSI_STEP_WRITE:
    tsi_access_add_segment(s, TSI_ACCESS_R, c, l);
    add_x(s, c, l);
    break;
  default:
    break;
  }
}

void tsi_access_add_sweep_step(const tsi_access_sweeps *s, const tsi_step *step, tsi_access_lister *l) {
  const side forward = forward_side(s);
  if (forward.chunks->entries) {
    chunk_of_rows(s, step, l);
    return;
  }
  if (step->on_device) {
    step_on_device(s, step, l);
    return;
  }
  switch (step->kind) {
  case TSI_STEP_FORWARD_CHUNK:
    forward_chunk(s, step->argument, l);
    break;
  case TSI_STEP_FORWARD_SLICE:
    forward_slice(s, step->argument, l);
    break;
  case TSI_STEP_FORWARD_PUSH:
    forward_push(s, step->argument, l);
    break;
  case TSI_STEP_FORWARD_SUM:
    gather_forward(s, &forward, step->argument, l);
    break;
  case TSI_STEP_BACKWARD_CHUNK:
    backward_chunk(s, step->argument, l);
    break;
  case TSI_STEP_BACKWARD_SLICE:
    backward_slice(s, step->argument, l);
    break;
  case TSI_STEP_BACKWARD_PUSH:
    backward_push(s, step->argument, l);
    break;
  case TSI_STEP_BACKWARD_SUM:
    backward_sum(s, step->argument, l);
    break;
  default:
    break;
  }
}
