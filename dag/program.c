/* Lists the steps and messages of a process: see program.h. */
#include "dag/program_builder.h"

#include <stdlib.h>

/* Does the next chunk on the path to the root wait for slice s of chunk k? Then this slice must not wait for
 * other slices in the same task. */
static bool is_urgent(const tsi_program_builder *b, tsi_index k, tsi_index s) {
  return b->writing && s == b->share->chunks->slice_ptr[k] && !b->layout->whole[b->share->chunk[k]];
}

/* ---- Forward ------------------------------------------------------------------------------------------ */

/* Adds edges from the predecessors of a node of the forward sweep. */
static void add_forward_edges(tsi_program_builder *b, tsi_index node, tsi_index step) {
  const tsi_sweep *sweep = b->sweep;
  for (tsi_count e = sweep->prev_ptr[node]; e < sweep->prev_ptr[node + 1]; e++) {
    const tsi_index before = sweep->prev[e];
    tsi_program_add_edge(
        b, step, before < sweep->chunks ? b->forward_x[before] : b->forward_slice[before - sweep->chunks]);
  }
}

static bool on_device(const tsi_program_builder *b, tsi_index k) {
  return b->source->on_device && b->source->on_device[k];
}

/* Adds the steps of a chunk on a device, one after the other. Returns the first one; the last one is the
 * latest step of all. */
static tsi_index add_on_device(tsi_program_builder *b, tsi_index k, bool backward, double priority) {
  static const tsi_step_kind kind[2][3] = {
      {TSI_STEP_READ, TSI_STEP_FORWARD_CHUNK, TSI_STEP_FORWARD_BORDER},
      {TSI_STEP_BACKWARD_BORDER, TSI_STEP_BACKWARD_CHUNK, TSI_STEP_WRITE}};
  const tsi_index first = b->program->steps->count;
  for (int i = 0; i < 3; i++) {
    const tsi_index step =
        tsi_program_add_step(b, kind[backward][i], k, priority, i == 1 ? b->sweep->bytes[k] : 0);
    if (i > 0) tsi_program_add_edge(b, step, step - 1);
    if (b->writing) b->program->steps->step[step].alone = b->program->steps->step[step].on_device = true;
  }
  return first;
}

static void forward_on_device(tsi_program_builder *b, tsi_index k) {
  b->forward_gather[k] = add_on_device(b, k, false, b->top + b->up[b->share->chunk[k]]);
  b->forward_x[k] = b->program->steps->count - 1;
}

/* Adds the sum of a chunk: on the anchor, which solves it, or on a process on the path of the sum to the
 * anchor. */
static void gather_forward(tsi_program_builder *b, tsi_index k, tsi_count *row_of_level) {
  const tsi_index role = b->share->role[k], c = b->share->chunk[k];
  const tsi_participant_list *list = &b->source->participants->contributors;
  const double priority = b->top + b->up[c];
  const bool anchor = role & TSI_ROLE_ANCHOR, solves = role & TSI_ROLE_DIAGONAL;
  const tsi_index arrivals =
      tsi_program_receive_from_children(b, TSI_MESSAGE_FORWARD_SUM, list, k, priority, &b->program->forward);
  const tsi_index end = b->program->steps->count;
  if (anchor && !b->layout->replicated) tsi_program_receive_grid_sums(b, k, row_of_level);
  const tsi_index step = tsi_program_add_step(b, solves ? TSI_STEP_FORWARD_CHUNK : TSI_STEP_FORWARD_SUM, k,
                                              priority, solves ? b->sweep->bytes[k] : 0);
  b->forward_gather[k] = step;
  if (solves) b->forward_x[k] = step;
  for (tsi_index i = 1; i <= arrivals; i++) tsi_program_add_edge(b, step, end - i);
  if (anchor && !b->layout->replicated) tsi_program_add_grid_edges(b, k, step);
  add_forward_edges(b, k, step);
  if (!anchor) tsi_program_send_to_parent(b, TSI_MESSAGE_FORWARD_SUM, list, k, step);
  if (solves)
    tsi_program_send_to_children(b, TSI_MESSAGE_FORWARD_X, &b->source->participants->holders, k, step);
}

static void receive_forward(tsi_program_builder *b, tsi_index k) {
  const tsi_participant_list *list = &b->source->participants->holders;
  const double priority = b->top + b->up[b->share->chunk[k]];
  const tsi_index arrival =
      tsi_program_receive_x(b, TSI_MESSAGE_FORWARD_X, list, k, priority, b->program->forward_x);
  const tsi_index step = tsi_program_add_step(b, TSI_STEP_FORWARD_RECEIVE, k, priority, 0);
  tsi_program_add_edge(b, step, arrival);
  tsi_program_add_edge(b, step, b->forward_gather[k]);
  b->forward_x[k] = step;
  tsi_program_send_to_children(b, TSI_MESSAGE_FORWARD_X, list, k, step);
}

static void forward(tsi_program_builder *b, tsi_count *row_of_level) {
  const tsi_chunks *chunks = b->share->chunks;
  for (tsi_index k = 0; k < chunks->count; k++) {
    const tsi_index role = b->share->role[k];
    b->program->forward.first[k] = b->program->forward.rows;
    b->program->forward.count[k] = 0;
    b->program->forward_x[k] = -1;
    b->forward_gather[k] = b->forward_x[k] = TSI_NONE;
    if (on_device(b, k)) {
      forward_on_device(b, k);
      continue;
    }
    if (role & (TSI_ROLE_ANCHOR | TSI_ROLE_CONTRIBUTOR)) gather_forward(b, k, row_of_level);
    if ((role & TSI_ROLE_HOLDER) && !(role & TSI_ROLE_ANCHOR)) receive_forward(b, k);
    for (tsi_index s = chunks->slice_ptr[k]; s < chunks->slice_ptr[k + 1]; s++) {
      b->forward_slice[s] =
          tsi_program_add_step(b, TSI_STEP_FORWARD_SLICE, s, b->top + b->up[b->share->chunk[k]] - 1,
                               b->sweep->bytes[b->sweep->chunks + s]);
      if (is_urgent(b, k, s)) b->program->steps->step[b->forward_slice[s]].with_before = true;
      add_forward_edges(b, b->sweep->chunks + s, b->forward_slice[s]);
    }
  }
}

/* ---- Between the sweeps ------------------------------------------------------------------------------- */

static void exchange(tsi_program_builder *b, tsi_index *stage) {
  const tsi_chunks *chunks = b->share->chunks;
  const tsi_index levels = b->layout->levels;
  tsi_index before = TSI_NONE;
  for (tsi_index s = 0; s <= levels; s++) {
    stage[s] = b->program->exchange[s] = TSI_NONE;
    if (!tsi_program_any_above(b, s == 0 ? 0 : s - 1)) continue;
    tsi_index arrival = TSI_NONE;
    if (s > 0) {
      b->program->exchange[s] = b->program->receives;
      arrival =
          tsi_program_receive_above(b, TSI_MESSAGE_EXCHANGE, s - 1, s - 1, b->share->z ^ (1 << (s - 1)));
    }
    stage[s] = tsi_program_add_step(b, TSI_STEP_EXCHANGE, s, b->top, 0);
    tsi_program_add_edge(b, stage[s], arrival);
    tsi_program_add_edge(b, stage[s], before);
    for (tsi_index k = 0; k < chunks->count && s <= 1; k++) {
      if (!(b->share->role[k] & TSI_ROLE_ANCHOR) || tsi_program_level_of(b, k) == 0) continue;
      if (s == 0) tsi_program_add_edge(b, stage[s], b->forward_gather[k]);
      for (tsi_index q = chunks->slice_ptr[k]; s == 1 && q < chunks->slice_ptr[k + 1]; q++)
        tsi_program_add_edge(b, stage[s], b->forward_slice[q]);
    }
    before = stage[s];
    if (s < levels && tsi_program_any_above(b, s))
      tsi_program_send_above(b, TSI_MESSAGE_EXCHANGE, s, s, b->share->z ^ (1 << s), stage[s]);
  }
}

static void send_grid_sums(tsi_program_builder *b) {
  const tsi_index level = tsi_program_own_level(b), chunks = b->share->chunks->count;
  if (level == b->layout->levels || !tsi_program_any_above(b, level)) return;
  const tsi_index step = tsi_program_add_step(b, TSI_STEP_GRID_FORWARD, level, 2 * b->top, 0);
  b->grid_forward = step;
  for (tsi_index k = 0; k < chunks; k++)
    if ((b->share->role[k] & TSI_ROLE_ANCHOR) && tsi_program_level_of(b, k) > level)
      tsi_program_add_edge(b, step, b->forward_gather[k]);
  tsi_program_send_above(b, TSI_MESSAGE_GRID_FORWARD, level, level, b->share->z - (1 << level), step);
}

/* ---- Backward ----------------------------------------------------------------------------------------- */

static void add_backward_edges(tsi_program_builder *b, tsi_index node, tsi_index step) {
  const tsi_sweep *sweep = b->sweep;
  for (tsi_count e = sweep->next_ptr[node]; e < sweep->next_ptr[node + 1]; e++) {
    const tsi_index before = sweep->next[e];
    tsi_program_add_edge(
        b, step, before < sweep->chunks ? b->backward_x[before] : b->backward_slice[before - sweep->chunks]);
  }
}

static void backward_on_device(tsi_program_builder *b, tsi_index k) {
  const tsi_index step = add_on_device(b, k, true, b->down[b->share->chunk[k]]);
  b->backward_x[k] = b->program->steps->count - 1;
  add_backward_edges(b, k, step);
  if (b->sweep->next_ptr[k] == b->sweep->next_ptr[k + 1]) tsi_program_add_edge(b, step, b->forward_x[k]);
}

/* Adds the backward sum of a chunk, and on the anchor the computation of its x. Returns the step. */
static tsi_index gather_backward(tsi_program_builder *b, tsi_index k, const tsi_index *stage) {
  const tsi_index role = b->share->role[k];
  const tsi_participant_list *list = &b->source->participants->holders;
  const double priority = b->down[b->share->chunk[k]];
  const bool solves = role & TSI_ROLE_DIAGONAL;
  const tsi_index arrivals = tsi_program_receive_from_children(b, TSI_MESSAGE_BACKWARD_SUM, list, k, priority,
                                                               &b->program->backward);
  const tsi_index step = tsi_program_add_step(b, solves ? TSI_STEP_BACKWARD_CHUNK : TSI_STEP_BACKWARD_SUM, k,
                                              priority, solves ? b->sweep->bytes[k] : 0);
  tsi_program_wait_for_last(b, step, arrivals);
  add_backward_edges(b, k, step);
  if (!solves) {
    tsi_program_send_to_parent(b, TSI_MESSAGE_BACKWARD_SUM, list, k, step);
    return step;
  }
  b->backward_x[k] = step;
  if (b->layout->replicated && tsi_program_level_of(b, k) > 0)
    tsi_program_add_edge(b, step, stage[tsi_program_level_of(b, k)]);
  else if (b->sweep->next_ptr[k] == b->sweep->next_ptr[k + 1])
    tsi_program_add_edge(b, step, b->forward_x[k]);
  tsi_program_send_to_children(b, TSI_MESSAGE_BACKWARD_X, &b->source->participants->contributors, k, step);
  return step;
}

/* Lets `step`, the arrival of x of chunk k, wait for the last steps of this process that x depends on. The
 * waits of other processes imply this order; these edges make the steps of each process prove it on their
 * own. sum: this process's part of the sum for the chunk; TSI_NONE: there is none. */
static void wait_for_own(tsi_program_builder *b, tsi_index k, bool from_grid, tsi_index sum, tsi_index step) {
  const tsi_chunks *chunks = b->share->chunks;
  tsi_index slice = chunks->slice_ptr[k];
  if (slice == chunks->slice_ptr[k + 1])
    tsi_program_add_edge(b, step,
                         from_grid                     ? b->grid_forward
                         : b->forward_x[k] != TSI_NONE ? b->forward_x[k]
                                                       : b->forward_gather[k]);
  for (; slice < chunks->slice_ptr[k + 1]; slice++) tsi_program_add_edge(b, step, b->forward_slice[slice]);
  tsi_program_add_edge(b, step, sum);
}

static void receive_backward(tsi_program_builder *b, tsi_index k, tsi_index sum, tsi_index *grid_arrival,
                             tsi_count *grid_row) {
  const tsi_participant_list *list = &b->source->participants->contributors;
  const double priority = b->down[b->share->chunk[k]];
  const bool from_grid = b->share->role[k] & TSI_ROLE_ANCHOR;
  tsi_index arrival;
  if (from_grid) {
    const tsi_index level = tsi_program_own_level(b);
    if (*grid_arrival == TSI_NONE) {
      *grid_row = b->program->inbox_rows;
      *grid_arrival =
          tsi_program_receive_above(b, TSI_MESSAGE_GRID_BACKWARD, level, level, b->share->z - (1 << level));
    }
    arrival = *grid_arrival;
    b->program->backward_x[k] = *grid_row + tsi_program_row_above(b, k, level);
  } else
    arrival = tsi_program_receive_x(b, TSI_MESSAGE_BACKWARD_X, list, k, priority, b->program->backward_x);
  const tsi_index step = tsi_program_add_step(b, TSI_STEP_BACKWARD_RECEIVE, k, priority, 0);
  tsi_program_add_edge(b, step, arrival);
  wait_for_own(b, k, from_grid, sum, step);
  b->backward_x[k] = step;
  tsi_program_send_to_children(b, TSI_MESSAGE_BACKWARD_X, list, k, step);
}

/* After x of all chunks above a level is computed: sends it to the grids that wait for it. */
static void send_grid_x(tsi_program_builder *b, tsi_index level) {
  const tsi_index step = tsi_program_add_step(b, TSI_STEP_GRID_BACKWARD, level, b->top, 0);
  for (tsi_index k = 0; k < b->share->chunks->count; k++)
    if ((b->share->role[k] & TSI_ROLE_ANCHOR) && tsi_program_level_of(b, k) > level)
      tsi_program_add_edge(b, step, b->backward_x[k]);
  tsi_program_send_above(b, TSI_MESSAGE_GRID_BACKWARD, level, level, b->share->z + (1 << level), step);
}

static void backward(tsi_program_builder *b, const tsi_index *stage) {
  const tsi_chunks *chunks = b->share->chunks;
  tsi_index grid_arrival = TSI_NONE;
  tsi_count grid_row = 0;
  for (tsi_index k = chunks->count; k-- > 0;) {
    const tsi_index role = b->share->role[k];
    const bool solves = role & TSI_ROLE_DIAGONAL, holds = (role & TSI_ROLE_HOLDER) != 0;
    b->program->backward.first[k] = b->program->backward.rows;
    b->program->backward.count[k] = 0;
    b->program->backward_x[k] = -1;
    if (on_device(b, k)) {
      backward_on_device(b, k);
      continue;
    }
    for (tsi_index s = chunks->slice_ptr[k]; s < chunks->slice_ptr[k + 1]; s++) {
      b->backward_slice[s] =
          tsi_program_add_step(b, TSI_STEP_BACKWARD_SLICE, s, b->down[b->share->chunk[k]] + 1,
                               b->sweep->bytes[b->sweep->chunks + s]);
      if (is_urgent(b, k, s)) b->program->steps->step[b->backward_slice[s]].with_after = true;
      add_backward_edges(b, b->sweep->chunks + s, b->backward_slice[s]);
    }
    const tsi_index sum = solves || holds ? gather_backward(b, k, stage) : TSI_NONE;
    if (!solves && (role & (TSI_ROLE_CONTRIBUTOR | TSI_ROLE_ANCHOR)))
      receive_backward(b, k, sum, &grid_arrival, &grid_row);
    for (tsi_index l = tsi_program_own_level(b); !b->layout->replicated && l-- > 0;)
      if (tsi_program_first_above(b, k, l)) send_grid_x(b, l);
  }
}

/* ---- All ---------------------------------------------------------------------------------------------- */

/* The chunk of off-row e of chunk c. It is behind c, mostly nearby: a search with growing steps. */
static tsi_index chunk_above(const tsi_chunks *chunks, tsi_index c, tsi_count e) {
  const tsi_index row = chunks->off[e];
  tsi_index step = 1;
  while (step < chunks->count - c && chunks->column[c + step] <= row) step *= 2;
  const tsi_index first = c + step / 2, end = c + tsi_index_min(step, chunks->count - c);
  return first + tsi_find_range(chunks->column + first, end - first, row);
}

/* The first off-row of chunk c after e that is not in chunk `above`: a search with growing steps. */
static tsi_count pass_above(const tsi_chunks *chunks, tsi_index c, tsi_count e, tsi_index above) {
  const tsi_count end = chunks->off_ptr[c + 1];
  const tsi_index most = chunks->column[above + 1];
  tsi_count step = 1;
  while (step < end - e && chunks->off[e + step] < most) step *= 2;
  for (; step > 0; step /= 2)
    if (step < end - e && chunks->off[e + step] < most) e += step;
  return e + 1;
}

/* Returns the largest weight of the chunks that chunk c has rows in. Raises smaller weights to `least`. */
static double heaviest_above(const tsi_chunks *chunks, tsi_index c, double *weight, double least) {
  double most = 0;
  for (tsi_count e = chunks->off_ptr[c]; e < chunks->off_ptr[c + 1];) {
    const tsi_index above = chunk_above(chunks, c, e);
    if (weight[above] < least) weight[above] = least;
    if (weight[above] > most) most = weight[above];
    e = pass_above(chunks, c, e, above);
  }
  return most;
}

/* Weights of the heaviest paths through the chunks. On its path to the root a chunk has a larger weight than
 * all chunks that it has rows in; on its path to a leaf it has a smaller one. */
static void weigh_ways(tsi_program_builder *b) {
  const tsi_chunks *chunks = b->layout->chunks;
  b->top = 0;
  for (tsi_index c = 0; c < chunks->count; c++) b->down[c] = 0;
  for (tsi_index c = 0; c < chunks->count; c++) {
    const tsi_index waits = 1 + chunks->panel[c + 1] - chunks->panel[c];
    b->up[c] = b->layout->bytes[c] + waits * b->layout->wait_bytes;
    b->down[c] += b->up[c];
    if (b->down[c] > b->top) b->top = b->down[c];
    (void)heaviest_above(chunks, c, b->down, b->down[c]);
  }
  for (tsi_index c = chunks->count; c-- > 0;) b->up[c] += heaviest_above(chunks, c, b->up, 0);
}

static void count_above(tsi_program_builder *b) {
  const tsi_index chunks = b->share->chunks->count;
  for (tsi_index l = 0; l < b->layout->levels; l++) {
    tsi_count *row = b->above + (tsi_count)l * (chunks + 1);
    row[0] = 0;
    for (tsi_index k = 0; k < chunks; k++)
      row[k + 1] = row[k] + ((b->share->role[k] & TSI_ROLE_ANCHOR) && tsi_program_level_of(b, k) > l
                                 ? tsi_program_columns_of(b, k)
                                 : 0);
  }
}

/* Counts or writes the whole program. */
static void run_pass(tsi_program_builder *b, tsi_index *stage, tsi_count *row_of_level) {
  tsi_program *program = b->program;
  program->steps->count = 0;
  program->steps->edges = program->parts = program->outbox_rows = program->inbox_rows = 0;
  program->sends = program->receives = 0;
  program->forward.rows = program->backward.rows = 0;
  for (tsi_index l = 0; l < b->layout->levels; l++) b->grid_arrival[l] = TSI_NONE;
  b->grid_forward = TSI_NONE;
  forward(b, row_of_level);
  if (b->layout->replicated)
    exchange(b, stage);
  else
    send_grid_sums(b);
  backward(b, stage);
}

typedef struct tag_key {
  tsi_index peer, number, message;
  tsi_message_kind kind;
} tag_key;

static int by_peer(const void *a, const void *b) {
  const tag_key *x = a, *y = b;
  if (x->peer != y->peer) return x->peer < y->peer ? -1 : 1;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

/* Numbers the messages of each peer. */
static tristar_status set_tags(tsi_env *env, tsi_message *message, tsi_index count) {
  TSI_SCRATCH(env, tag_key, key, count);
  for (tsi_index m = 0; m < count; m++)
    key[m] = (tag_key){message[m].peer, message[m].number, m, message[m].kind};
  qsort(key, (size_t)count, sizeof *key, by_peer);
  for (tsi_index m = 0; m < count; m++) {
    const bool next = m > 0 && key[m].peer == key[m - 1].peer;
    message[key[m].message].tag = next ? message[key[m - 1].message].tag + 1 : 0;
  }
  return TRISTAR_OK;
}

static tristar_status allocate_scratch(tsi_program_builder *b) {
  const tsi_chunks *chunks = b->share->chunks;
  const tsi_index levels = b->layout->levels;
  TSI_TRY(TSI_ALLOC_IN(b, b->forward_gather, chunks->count));
  TSI_TRY(TSI_ALLOC_IN(b, b->forward_x, chunks->count));
  TSI_TRY(TSI_ALLOC_IN(b, b->backward_x, chunks->count));
  TSI_TRY(TSI_ALLOC_IN(b, b->forward_slice, chunks->slices));
  TSI_TRY(TSI_ALLOC_IN(b, b->backward_slice, chunks->slices));
  TSI_TRY(TSI_ALLOC_IN(b, b->grid_arrival, levels));
  TSI_TRY(TSI_ALLOC_IN(b, b->above, levels * ((tsi_count)chunks->count + 1)));
  TSI_TRY(TSI_ALLOC_IN(b, b->up, b->layout->chunks->count));
  return TSI_ALLOC_IN(b, b->down, b->layout->chunks->count);
}

/* Allocates the arrays whose size is known before the first pass. */
static tristar_status allocate_chunks(const tsi_program_builder *b) {
  tsi_program *program = b->program;
  const tsi_index chunks = b->share->chunks->count;
  TSI_TRY(TSI_ALLOC_ZERO_IN(program, program->steps, 1));
  TSI_TRY(TSI_ALLOC_IN(program, program->forward_x, chunks));
  TSI_TRY(TSI_ALLOC_IN(program, program->backward_x, chunks));
  TSI_TRY(TSI_ALLOC_IN(program, program->exchange, (tsi_count)b->layout->levels + 1));
  for (tsi_index s = 0; s <= b->layout->levels; s++) program->exchange[s] = TSI_NONE;
  for (int i = 0; i < 2; i++) {
    tsi_inbox_list *list = i == 0 ? &program->forward : &program->backward;
    TSI_TRY(TSI_ALLOC_IN(program, list->first, chunks));
    TSI_TRY(TSI_ALLOC_IN(program, list->count, chunks));
  }
  return TRISTAR_OK;
}

static tristar_status allocate_counted(tsi_program *program) {
  TSI_TRY(TSI_ALLOC_IN(program->steps, program->steps->step, program->steps->count));
  TSI_TRY(TSI_ALLOC_IN(program->steps, program->steps->edge, program->steps->edges));
  TSI_TRY(TSI_ALLOC_IN(program, program->send_ptr, (tsi_count)program->steps->count + 1));
  TSI_TRY(TSI_ALLOC_IN(program, program->send, program->sends));
  TSI_TRY(TSI_ALLOC_IN(program, program->receive, program->receives));
  TSI_TRY(TSI_ALLOC_IN(program, program->part, program->parts));
  TSI_TRY(TSI_ALLOC_IN(program, program->forward.row, program->forward.rows));
  return TSI_ALLOC_IN(program, program->backward.row, program->backward.rows);
}

tristar_status tsi_program_create(tsi_env *env, const tsi_program_source *source, tsi_program **out) {
  *out = NULL;
  TSI_SCRATCH(env, tsi_program_builder, b, 1);
  *b = (tsi_program_builder){
      .source = source, .layout = source->layout, .share = source->share, .sweep = source->sweep};
  TSI_TRY(TSI_ALLOC_ZERO_IN(b, b->program, 1));
  TSI_TRY(allocate_scratch(b));
  TSI_SCRATCH(env, tsi_index, stage, (tsi_count)source->layout->levels + 1);
  TSI_SCRATCH(env, tsi_count, row_of_level, source->layout->levels);
  TSI_TRY(allocate_chunks(b));
  weigh_ways(b);
  count_above(b);
  run_pass(b, stage, row_of_level);
  TSI_TRY(allocate_counted(b->program));
  b->writing = true;
  run_pass(b, stage, row_of_level);
  b->program->send_ptr[b->program->steps->count] = b->program->sends;
  TSI_TRY(set_tags(env, b->program->send, b->program->sends));
  TSI_TRY(set_tags(env, b->program->receive, b->program->receives));
  if (env->check) TSI_TRY(tsi_program_check(env, b->program, source));
  tsi_own(NULL, b->program);
  *out = b->program;
  return TRISTAR_OK;
}
