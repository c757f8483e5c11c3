/* Lists the steps and messages of a process: see program.h. */
#include "dag/program.h"

#include <stdlib.h>

/* Where the lists stand. Everything is counted in a first pass and written in a second one. */
typedef struct builder {
  const tsi_program_source *source;
  const tsi_layout *layout;
  const tsi_share *share;
  const tsi_sweep *sweep;
  tsi_program *program;
  bool writing;
  /* by local chunk: the step that gathers to it or solves it, and the one that makes its x known here */
  tsi_index *forward_gather, *forward_x, *backward_x;
  tsi_index *forward_slice, *backward_slice; /* by slice */
  tsi_index *grid_arrival;                   /* levels: ARRIVAL of the forward message of that level */
  tsi_count
      *above; /* levels x (chunks + 1): columns of earlier chunks above the level whose anchor is here */
  double *up, *down; /* chunks of the layout: bytes on the way to the root; heaviest way to a leaf */
  double top;        /* the heaviest way of all */
} builder;

/* ---- Appending ---------------------------------------------------------------------------------------- */

static tsi_index add_step(builder *b, tsi_step_kind kind, tsi_index argument, double priority, double bytes) {
  tsi_program *program = b->program;
  if (b->writing) {
    program->steps->step[program->steps->count] =
        (tsi_step){kind, argument, priority, bytes, kind == TSI_STEP_ARRIVAL, false, false};
    program->send_ptr[program->steps->count] = program->sends;
  }
  return program->steps->count++;
}

static void add_edge(builder *b, tsi_index item, tsi_index before) {
  if (before == TSI_NONE) return;
  if (b->writing) b->program->steps->edge[b->program->steps->edges] = (tsi_edge){item, before};
  b->program->steps->edges++;
}

static tsi_index columns_of(const builder *b, tsi_index k) {
  return tsi_chunk_columns(b->share->chunks, k);
}

/* A message without chunks yet. */
static tsi_message new_message(const builder *b, tsi_message_kind kind, tsi_index number, tsi_index peer,
                               tsi_index step, tsi_count row) {
  return (tsi_message){kind, number, peer, 0, step, b->program->parts, 0, row, 0};
}

static void add_part(builder *b, tsi_message *message, tsi_index k) {
  if (b->writing) b->program->part[b->program->parts] = k;
  b->program->parts++;
  message->parts++;
  message->rows += columns_of(b, k);
}

/* Sent by the last step. */
static void finish_send(builder *b, const tsi_message *message) {
  tsi_program *program = b->program;
  if (b->writing) {
    program->send[program->sends] = *message;
    program->steps->step[message->step].alone = true;
  }
  program->sends++;
  program->outbox_rows += message->rows;
}

static void finish_receive(builder *b, const tsi_message *message) {
  if (b->writing) b->program->receive[b->program->receives] = *message;
  b->program->receives++;
  b->program->inbox_rows += message->rows;
}

/* ---- Messages in a grid ------------------------------------------------------------------------------- */

/* This process's place in the tree of chunk c: 0 is the anchor. */
static tsi_index position_of(const builder *b, const tsi_member_list *list, tsi_index c) {
  if (b->layout->row[c] + b->layout->px * b->layout->column[c] == b->share->process) return 0;
  tsi_count q = list->ptr[c];
  while (list->process[q] != b->share->process) q++;
  return (tsi_index)(q - list->ptr[c]) + 1;
}

static tsi_index rank_at(const builder *b, const tsi_member_list *list, tsi_index c, tsi_index position) {
  const tsi_index grid = b->layout->px * b->layout->py;
  const tsi_index process = position == 0 ? b->layout->row[c] + b->layout->px * b->layout->column[c]
                                          : list->process[list->ptr[c] + position - 1];
  return process + grid * b->share->z;
}

static tsi_index members_of(const tsi_member_list *list, tsi_index c) {
  return (tsi_index)(list->ptr[c + 1] - list->ptr[c]) + 1;
}

static void send_chunk(builder *b, tsi_message_kind kind, tsi_index k, tsi_index peer, tsi_index step) {
  tsi_message message = new_message(b, kind, b->share->chunk[k], peer, step, b->program->outbox_rows);
  add_part(b, &message, k);
  finish_send(b, &message);
}

/* The ARRIVAL of a message about local chunk k. */
static tsi_index receive_chunk(builder *b, tsi_message_kind kind, tsi_index k, tsi_index peer,
                               double priority) {
  const tsi_index step = add_step(b, TSI_STEP_ARRIVAL, b->program->receives, priority, 0);
  tsi_message message = new_message(b, kind, b->share->chunk[k], peer, step, b->program->inbox_rows);
  add_part(b, &message, k);
  finish_receive(b, &message);
  return step;
}

static void send_to_parent(builder *b, tsi_message_kind kind, const tsi_member_list *list, tsi_index k,
                           tsi_index step) {
  const tsi_index c = b->share->chunk[k];
  const tsi_index parent = tsi_tree_parent(b->source->tree, position_of(b, list, c));
  if (parent != TSI_NONE) send_chunk(b, kind, k, rank_at(b, list, c, parent), step);
}

static void send_to_children(builder *b, tsi_message_kind kind, const tsi_member_list *list, tsi_index k,
                             tsi_index step) {
  const tsi_index c = b->share->chunk[k];
  tsi_index first, end;
  tsi_tree_children(b->source->tree, members_of(list, c), position_of(b, list, c), &first, &end);
  for (tsi_index i = first; i < end; i++) send_chunk(b, kind, k, rank_at(b, list, c, i), step);
}

static void add_to_list(const builder *b, tsi_inbox_list *list, tsi_index k, tsi_count row) {
  if (b->writing) list->row[list->rows] = row;
  list->rows++;
  list->count[k]++;
}

/* Arrivals of the sums of the children are the latest steps; their rows go to `inbox`. Returns
 * how many. */
static tsi_index receive_from_children(builder *b, tsi_message_kind kind, const tsi_member_list *list,
                                       tsi_index k, double priority, tsi_inbox_list *inbox) {
  const tsi_index c = b->share->chunk[k];
  tsi_index first, end;
  tsi_tree_children(b->source->tree, members_of(list, c), position_of(b, list, c), &first, &end);
  for (tsi_index i = first; i < end; i++) {
    add_to_list(b, inbox, k, b->program->inbox_rows);
    (void)receive_chunk(b, kind, k, rank_at(b, list, c, i), priority);
  }
  return end - first;
}

/* The ARRIVAL of x of chunk k from the parent in a tree. */
static tsi_index receive_x(builder *b, tsi_message_kind kind, const tsi_member_list *list, tsi_index k,
                           double priority, tsi_count *row) {
  const tsi_index c = b->share->chunk[k];
  const tsi_index parent = tsi_tree_parent(b->source->tree, position_of(b, list, c));
  row[k] = b->program->inbox_rows;
  return receive_chunk(b, kind, k, rank_at(b, list, c, parent), priority);
}

static void add_edges_to_last(builder *b, tsi_index item, tsi_index count) {
  for (tsi_index i = 1; i <= count; i++) add_edge(b, item, item - i);
}

/* ---- Messages between grids --------------------------------------------------------------------------- */

static tsi_index level_of(const builder *b, tsi_index k) {
  return tsi_separator_level(b->layout->pz, b->layout->node[b->share->chunk[k]]);
}

/* Adds all chunks above a level whose anchor this process is. */
static void add_chunks_above(builder *b, tsi_message *message, tsi_index level) {
  for (tsi_index k = 0; k < b->share->chunks->count; k++)
    if ((b->share->role[k] & TSI_ROLE_ANCHOR) && level_of(b, k) > level) add_part(b, message, k);
}

/* The first row of chunk k in a message of all chunks above a level. */
static tsi_count row_above(const builder *b, tsi_index k, tsi_index level) {
  return b->above[(tsi_count)level * (b->share->chunks->count + 1) + k];
}

static bool any_above(const builder *b, tsi_index level) {
  return level < b->layout->levels && row_above(b, b->share->chunks->count, level) > 0;
}

/* Is chunk k the first one above the level? */
static bool first_above(const builder *b, tsi_index k, tsi_index level) {
  return row_above(b, k, level) == 0 && row_above(b, k + 1, level) > 0;
}

static tsi_index rank_in_grid(const builder *b, tsi_index z) {
  return b->share->process + b->layout->px * b->layout->py * z;
}

static void send_above(builder *b, tsi_message_kind kind, tsi_index number, tsi_index level, tsi_index z,
                       tsi_index step) {
  tsi_message message = new_message(b, kind, number, rank_in_grid(b, z), step, b->program->outbox_rows);
  add_chunks_above(b, &message, level);
  finish_send(b, &message);
}

/* The ARRIVAL of such a message. */
static tsi_index receive_above(builder *b, tsi_message_kind kind, tsi_index number, tsi_index level,
                               tsi_index z) {
  const tsi_index step = add_step(b, TSI_STEP_ARRIVAL, b->program->receives, b->top, 0);
  tsi_message message = new_message(b, kind, number, rank_in_grid(b, z), step, b->program->inbox_rows);
  add_chunks_above(b, &message, level);
  finish_receive(b, &message);
  return step;
}

/* The level at which grid z sends its sums to another one; `levels` for grid 0, which never does. */
static tsi_index own_level(const builder *b) {
  tsi_index level = 0;
  while (level < b->layout->levels && (b->share->z >> level & 1) == 0) level++;
  return level;
}

/* Sums of other grids for chunk k, which this process gathers; their arrivals, where they are first needed.
 */
static void receive_grid_sums(builder *b, tsi_index k, tsi_count *row_of_level) {
  const tsi_index last = tsi_index_min(own_level(b), level_of(b, k));
  for (tsi_index l = 0; l < last; l++) {
    if (b->grid_arrival[l] == TSI_NONE) {
      row_of_level[l] = b->program->inbox_rows;
      b->grid_arrival[l] = receive_above(b, TSI_MESSAGE_GRID_FORWARD, l, l, b->share->z + (1 << l));
    }
    add_to_list(b, &b->program->forward, k, row_of_level[l] + row_above(b, k, l));
  }
}

static void add_grid_edges(builder *b, tsi_index k, tsi_index gather) {
  const tsi_index last = tsi_index_min(own_level(b), level_of(b, k));
  for (tsi_index l = 0; l < last; l++) add_edge(b, gather, b->grid_arrival[l]);
}

/* Is slice s of chunk k the one that the next chunk on the way to the root waits for? It must not wait for
 * others that its task would run with it. */
static bool is_urgent(const builder *b, tsi_index k, tsi_index s) {
  return b->writing && s == b->share->chunks->slice_ptr[k] && !b->layout->whole[b->share->chunk[k]];
}

/* ---- Forward ------------------------------------------------------------------------------------------ */

/* Edges from the predecessors of a node of the forward sweep. */
static void add_forward_edges(builder *b, tsi_index node, tsi_index step) {
  const tsi_sweep *sweep = b->sweep;
  for (tsi_count e = sweep->prev_ptr[node]; e < sweep->prev_ptr[node + 1]; e++) {
    const tsi_index before = sweep->prev[e];
    add_edge(b, step,
             before < sweep->chunks ? b->forward_x[before] : b->forward_slice[before - sweep->chunks]);
  }
}

/* A chunk's sum: on the anchor that solves it, or on its way there. */
static void gather_forward(builder *b, tsi_index k, tsi_count *row_of_level) {
  const tsi_index role = b->share->role[k], c = b->share->chunk[k];
  const tsi_member_list *list = &b->source->members->contributors;
  const double priority = b->top + b->up[c];
  const bool anchor = role & TSI_ROLE_ANCHOR, solves = role & TSI_ROLE_DIAGONAL;
  const tsi_index arrivals =
      receive_from_children(b, TSI_MESSAGE_FORWARD_SUM, list, k, priority, &b->program->forward);
  const tsi_index end = b->program->steps->count;
  if (anchor && !b->layout->replicated) receive_grid_sums(b, k, row_of_level);
  const tsi_index step = add_step(b, solves ? TSI_STEP_FORWARD_CHUNK : TSI_STEP_FORWARD_SUM, k, priority,
                                  solves ? b->sweep->bytes[k] : 0);
  b->forward_gather[k] = step;
  if (solves) b->forward_x[k] = step;
  for (tsi_index i = 1; i <= arrivals; i++) add_edge(b, step, end - i);
  if (anchor && !b->layout->replicated) add_grid_edges(b, k, step);
  add_forward_edges(b, k, step);
  if (!anchor) send_to_parent(b, TSI_MESSAGE_FORWARD_SUM, list, k, step);
  if (solves) send_to_children(b, TSI_MESSAGE_FORWARD_X, &b->source->members->holders, k, step);
}

static void receive_forward(builder *b, tsi_index k) {
  const tsi_member_list *list = &b->source->members->holders;
  const double priority = b->top + b->up[b->share->chunk[k]];
  const tsi_index arrival = receive_x(b, TSI_MESSAGE_FORWARD_X, list, k, priority, b->program->forward_x);
  const tsi_index step = add_step(b, TSI_STEP_FORWARD_RECEIVE, k, priority, 0);
  add_edge(b, step, arrival);
  add_edge(b, step, b->forward_gather[k]);
  b->forward_x[k] = step;
  send_to_children(b, TSI_MESSAGE_FORWARD_X, list, k, step);
}

static void forward(builder *b, tsi_count *row_of_level) {
  const tsi_chunks *chunks = b->share->chunks;
  for (tsi_index k = 0; k < chunks->count; k++) {
    const tsi_index role = b->share->role[k];
    b->program->forward.first[k] = b->program->forward.rows;
    b->program->forward.count[k] = 0;
    b->program->forward_x[k] = -1;
    b->forward_gather[k] = b->forward_x[k] = TSI_NONE;
    if (role & (TSI_ROLE_ANCHOR | TSI_ROLE_CONTRIBUTOR)) gather_forward(b, k, row_of_level);
    if ((role & TSI_ROLE_HOLDER) && !(role & TSI_ROLE_ANCHOR)) receive_forward(b, k);
    for (tsi_index s = chunks->slice_ptr[k]; s < chunks->slice_ptr[k + 1]; s++) {
      b->forward_slice[s] = add_step(b, TSI_STEP_FORWARD_SLICE, s, b->top + b->up[b->share->chunk[k]] - 1,
                                     b->sweep->bytes[b->sweep->chunks + s]);
      if (is_urgent(b, k, s)) b->program->steps->step[b->forward_slice[s]].with_before = true;
      add_forward_edges(b, b->sweep->chunks + s, b->forward_slice[s]);
    }
  }
}

/* ---- Between the sweeps ------------------------------------------------------------------------------- */

static void exchange(builder *b, tsi_index *stage) {
  const tsi_chunks *chunks = b->share->chunks;
  const tsi_index levels = b->layout->levels;
  tsi_index before = TSI_NONE;
  for (tsi_index s = 0; s <= levels; s++) {
    stage[s] = b->program->exchange[s] = TSI_NONE;
    if (!any_above(b, s == 0 ? 0 : s - 1)) continue;
    tsi_index arrival = TSI_NONE;
    if (s > 0) {
      b->program->exchange[s] = b->program->receives;
      arrival = receive_above(b, TSI_MESSAGE_EXCHANGE, s - 1, s - 1, b->share->z ^ (1 << (s - 1)));
    }
    stage[s] = add_step(b, TSI_STEP_EXCHANGE, s, b->top, 0);
    add_edge(b, stage[s], arrival);
    add_edge(b, stage[s], before);
    for (tsi_index k = 0; k < chunks->count && s <= 1; k++) {
      if (!(b->share->role[k] & TSI_ROLE_ANCHOR) || level_of(b, k) == 0) continue;
      if (s == 0) add_edge(b, stage[s], b->forward_gather[k]);
      for (tsi_index q = chunks->slice_ptr[k]; s == 1 && q < chunks->slice_ptr[k + 1]; q++)
        add_edge(b, stage[s], b->forward_slice[q]);
    }
    before = stage[s];
    if (s < levels && any_above(b, s))
      send_above(b, TSI_MESSAGE_EXCHANGE, s, s, b->share->z ^ (1 << s), stage[s]);
  }
}

static void send_grid_sums(builder *b) {
  const tsi_index level = own_level(b), chunks = b->share->chunks->count;
  if (level == b->layout->levels || !any_above(b, level)) return;
  const tsi_index step = add_step(b, TSI_STEP_GRID_FORWARD, level, 2 * b->top, 0);
  for (tsi_index k = 0; k < chunks; k++)
    if ((b->share->role[k] & TSI_ROLE_ANCHOR) && level_of(b, k) > level)
      add_edge(b, step, b->forward_gather[k]);
  send_above(b, TSI_MESSAGE_GRID_FORWARD, level, level, b->share->z - (1 << level), step);
}

/* ---- Backward ----------------------------------------------------------------------------------------- */

static void add_backward_edges(builder *b, tsi_index node, tsi_index step) {
  const tsi_sweep *sweep = b->sweep;
  for (tsi_count e = sweep->next_ptr[node]; e < sweep->next_ptr[node + 1]; e++) {
    const tsi_index before = sweep->next[e];
    add_edge(b, step,
             before < sweep->chunks ? b->backward_x[before] : b->backward_slice[before - sweep->chunks]);
  }
}

/* A chunk's sum of its rows, and on the anchor its x. */
static void gather_backward(builder *b, tsi_index k, const tsi_index *stage) {
  const tsi_index role = b->share->role[k];
  const tsi_member_list *list = &b->source->members->holders;
  const double priority = b->down[b->share->chunk[k]];
  const bool solves = role & TSI_ROLE_DIAGONAL;
  const tsi_index arrivals =
      receive_from_children(b, TSI_MESSAGE_BACKWARD_SUM, list, k, priority, &b->program->backward);
  const tsi_index step = add_step(b, solves ? TSI_STEP_BACKWARD_CHUNK : TSI_STEP_BACKWARD_SUM, k, priority,
                                  solves ? b->sweep->bytes[k] : 0);
  add_edges_to_last(b, step, arrivals);
  add_backward_edges(b, k, step);
  if (!solves) {
    send_to_parent(b, TSI_MESSAGE_BACKWARD_SUM, list, k, step);
    return;
  }
  b->backward_x[k] = step;
  if (b->layout->replicated && level_of(b, k) > 0)
    add_edge(b, step, stage[level_of(b, k)]);
  else if (b->sweep->next_ptr[k] == b->sweep->next_ptr[k + 1])
    add_edge(b, step, b->forward_x[k]);
  send_to_children(b, TSI_MESSAGE_BACKWARD_X, &b->source->members->contributors, k, step);
}

static void receive_backward(builder *b, tsi_index k, tsi_index *grid_arrival, tsi_count *grid_row) {
  const tsi_member_list *list = &b->source->members->contributors;
  const double priority = b->down[b->share->chunk[k]];
  const bool from_grid = b->share->role[k] & TSI_ROLE_ANCHOR;
  tsi_index arrival;
  if (from_grid) {
    const tsi_index level = own_level(b);
    if (*grid_arrival == TSI_NONE) {
      *grid_row = b->program->inbox_rows;
      *grid_arrival = receive_above(b, TSI_MESSAGE_GRID_BACKWARD, level, level, b->share->z - (1 << level));
    }
    arrival = *grid_arrival;
    b->program->backward_x[k] = *grid_row + row_above(b, k, level);
  } else
    arrival = receive_x(b, TSI_MESSAGE_BACKWARD_X, list, k, priority, b->program->backward_x);
  const tsi_index step = add_step(b, TSI_STEP_BACKWARD_RECEIVE, k, priority, 0);
  add_edge(b, step, arrival);
  b->backward_x[k] = step;
  send_to_children(b, TSI_MESSAGE_BACKWARD_X, list, k, step);
}

/* x of all chunks above a level is known from here on: sends it to the grids that wait for it. */
static void send_grid_x(builder *b, tsi_index level) {
  const tsi_index step = add_step(b, TSI_STEP_GRID_BACKWARD, level, b->top, 0);
  for (tsi_index k = 0; k < b->share->chunks->count; k++)
    if ((b->share->role[k] & TSI_ROLE_ANCHOR) && level_of(b, k) > level) add_edge(b, step, b->backward_x[k]);
  send_above(b, TSI_MESSAGE_GRID_BACKWARD, level, level, b->share->z + (1 << level), step);
}

static void backward(builder *b, const tsi_index *stage) {
  const tsi_chunks *chunks = b->share->chunks;
  tsi_index grid_arrival = TSI_NONE;
  tsi_count grid_row = 0;
  for (tsi_index k = chunks->count; k-- > 0;) {
    const tsi_index role = b->share->role[k];
    const bool solves = role & TSI_ROLE_DIAGONAL, holds = (role & TSI_ROLE_HOLDER) != 0;
    b->program->backward.first[k] = b->program->backward.rows;
    b->program->backward.count[k] = 0;
    b->program->backward_x[k] = -1;
    for (tsi_index s = chunks->slice_ptr[k]; s < chunks->slice_ptr[k + 1]; s++) {
      b->backward_slice[s] = add_step(b, TSI_STEP_BACKWARD_SLICE, s, b->down[b->share->chunk[k]] + 1,
                                      b->sweep->bytes[b->sweep->chunks + s]);
      if (is_urgent(b, k, s)) b->program->steps->step[b->backward_slice[s]].with_after = true;
      add_backward_edges(b, b->sweep->chunks + s, b->backward_slice[s]);
    }
    if (solves || holds) gather_backward(b, k, stage);
    if (!solves && (role & (TSI_ROLE_CONTRIBUTOR | TSI_ROLE_ANCHOR)))
      receive_backward(b, k, &grid_arrival, &grid_row);
    for (tsi_index l = own_level(b); !b->layout->replicated && l-- > 0;)
      if (first_above(b, k, l)) send_grid_x(b, l);
  }
}

/* ---- All ---------------------------------------------------------------------------------------------- */

/* Weights of the ways through the tree of chunks: a chunk's parent has its first off-row. */
static void weigh_ways(builder *b) {
  const tsi_chunks *chunks = b->layout->chunks;
  b->top = 0;
  for (tsi_index c = 0; c < chunks->count; c++) b->down[c] = 0;
  for (tsi_index c = 0; c < chunks->count; c++) {
    b->down[c] += b->layout->bytes[c];
    if (b->down[c] > b->top) b->top = b->down[c];
    if (tsi_chunk_off_rows(chunks, c) == 0) continue;
    const tsi_index parent = b->source->owner[chunks->off[chunks->off_ptr[c]]];
    if (b->down[c] > b->down[parent]) b->down[parent] = b->down[c];
  }
  for (tsi_index c = chunks->count; c-- > 0;) {
    const tsi_count first = chunks->off_ptr[c];
    b->up[c] = b->layout->bytes[c];
    if (first < chunks->off_ptr[c + 1]) b->up[c] += b->up[b->source->owner[chunks->off[first]]];
  }
}

static void count_above(builder *b) {
  const tsi_index chunks = b->share->chunks->count;
  for (tsi_index l = 0; l < b->layout->levels; l++) {
    tsi_count *row = b->above + (tsi_count)l * (chunks + 1);
    row[0] = 0;
    for (tsi_index k = 0; k < chunks; k++)
      row[k + 1] =
          row[k] + ((b->share->role[k] & TSI_ROLE_ANCHOR) && level_of(b, k) > l ? columns_of(b, k) : 0);
  }
}

/* Counts all, or writes it. */
static void run_pass(builder *b, tsi_index *stage, tsi_count *row_of_level) {
  tsi_program *program = b->program;
  program->steps->count = 0;
  program->steps->edges = program->parts = program->outbox_rows = program->inbox_rows = 0;
  program->sends = program->receives = 0;
  program->forward.rows = program->backward.rows = 0;
  for (tsi_index l = 0; l < b->layout->levels; l++) b->grid_arrival[l] = TSI_NONE;
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
  tristar_status status = TRISTAR_OK;
  tag_key *key = NULL;
  TSI_TRY(TSI_ALLOC(env, key, count));
  for (tsi_index m = 0; m < count; m++)
    key[m] = (tag_key){message[m].peer, message[m].number, m, message[m].kind};
  qsort(key, (size_t)count, sizeof *key, by_peer);
  for (tsi_index m = 0; m < count; m++) {
    const bool next = m > 0 && key[m].peer == key[m - 1].peer;
    message[key[m].message].tag = next ? message[key[m - 1].message].tag + 1 : 0;
  }
out:
  TSI_FREE(env, key);
  return status;
}

static tristar_status allocate_scratch(tsi_env *env, builder *b, tsi_index **stage,
                                       tsi_count **row_of_level) {
  tristar_status status = TRISTAR_OK;
  const tsi_chunks *chunks = b->share->chunks;
  const tsi_index levels = b->layout->levels;
  TSI_TRY(TSI_ALLOC(env, b->forward_gather, chunks->count));
  TSI_TRY(TSI_ALLOC(env, b->forward_x, chunks->count));
  TSI_TRY(TSI_ALLOC(env, b->backward_x, chunks->count));
  TSI_TRY(TSI_ALLOC(env, b->forward_slice, chunks->slices));
  TSI_TRY(TSI_ALLOC(env, b->backward_slice, chunks->slices));
  TSI_TRY(TSI_ALLOC(env, b->grid_arrival, levels));
  TSI_TRY(TSI_ALLOC(env, b->above, levels * ((tsi_count)chunks->count + 1)));
  TSI_TRY(TSI_ALLOC(env, b->up, b->layout->chunks->count));
  TSI_TRY(TSI_ALLOC(env, b->down, b->layout->chunks->count));
  TSI_TRY(TSI_ALLOC(env, *stage, (tsi_count)levels + 1));
  TSI_TRY(TSI_ALLOC(env, *row_of_level, levels));
out:
  return status;
}

/* What has a size before anything is counted. */
static tristar_status allocate_chunks(tsi_env *env, const builder *b) {
  tristar_status status = TRISTAR_OK;
  tsi_program *program = b->program;
  const tsi_index chunks = b->share->chunks->count;
  TSI_TRY(TSI_ALLOC_ZERO(env, program->steps, 1));
  TSI_TRY(TSI_ALLOC(env, program->forward_x, chunks));
  TSI_TRY(TSI_ALLOC(env, program->backward_x, chunks));
  TSI_TRY(TSI_ALLOC(env, program->exchange, (tsi_count)b->layout->levels + 1));
  for (tsi_index s = 0; s <= b->layout->levels; s++) program->exchange[s] = TSI_NONE;
  for (int i = 0; i < 2; i++) {
    tsi_inbox_list *list = i == 0 ? &program->forward : &program->backward;
    TSI_TRY(TSI_ALLOC(env, list->first, chunks));
    TSI_TRY(TSI_ALLOC(env, list->count, chunks));
  }
out:
  return status;
}

static tristar_status allocate_counted(tsi_env *env, tsi_program *program) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, program->steps->step, program->steps->count));
  TSI_TRY(TSI_ALLOC(env, program->steps->edge, program->steps->edges));
  TSI_TRY(TSI_ALLOC(env, program->send_ptr, (tsi_count)program->steps->count + 1));
  TSI_TRY(TSI_ALLOC(env, program->send, program->sends));
  TSI_TRY(TSI_ALLOC(env, program->receive, program->receives));
  TSI_TRY(TSI_ALLOC(env, program->part, program->parts));
  TSI_TRY(TSI_ALLOC(env, program->forward.row, program->forward.rows));
  TSI_TRY(TSI_ALLOC(env, program->backward.row, program->backward.rows));
out:
  return status;
}

tristar_status tsi_program_create(tsi_env *env, const tsi_program_source *source, tsi_program **out) {
  tristar_status status = TRISTAR_OK;
  builder b = {.source = source, .layout = source->layout, .share = source->share, .sweep = source->sweep};
  tsi_index *stage = NULL;
  tsi_count *row_of_level = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, b.program, 1));
  TSI_TRY(allocate_scratch(env, &b, &stage, &row_of_level));
  TSI_TRY(allocate_chunks(env, &b));
  weigh_ways(&b);
  count_above(&b);
  run_pass(&b, stage, row_of_level);
  TSI_TRY(allocate_counted(env, b.program));
  b.writing = true;
  run_pass(&b, stage, row_of_level);
  b.program->send_ptr[b.program->steps->count] = b.program->sends;
  TSI_TRY(set_tags(env, b.program->send, b.program->sends));
  TSI_TRY(set_tags(env, b.program->receive, b.program->receives));
  if (env->check) TSI_TRY(tsi_program_check(env, b.program));
out:
  TSI_FREE(env, b.forward_gather);
  TSI_FREE(env, b.forward_x);
  TSI_FREE(env, b.backward_x);
  TSI_FREE(env, b.forward_slice);
  TSI_FREE(env, b.backward_slice);
  TSI_FREE(env, b.grid_arrival);
  TSI_FREE(env, b.above);
  TSI_FREE(env, b.up);
  TSI_FREE(env, b.down);
  TSI_FREE(env, stage);
  TSI_FREE(env, row_of_level);
  if (status != TRISTAR_OK) tsi_program_destroy(env, &b.program);
  *out = b.program;
  return status;
}

void tsi_program_destroy(tsi_env *env, tsi_program **program) {
  if (*program == NULL) return;
  tsi_program *p = *program;
  tsi_steps_destroy(env, &p->steps);
  TSI_FREE(env, p->send);
  TSI_FREE(env, p->send_ptr);
  TSI_FREE(env, p->receive);
  TSI_FREE(env, p->part);
  TSI_FREE(env, p->forward.first);
  TSI_FREE(env, p->forward.count);
  TSI_FREE(env, p->forward.row);
  TSI_FREE(env, p->backward.first);
  TSI_FREE(env, p->backward.count);
  TSI_FREE(env, p->backward.row);
  TSI_FREE(env, p->forward_x);
  TSI_FREE(env, p->backward_x);
  TSI_FREE(env, p->exchange);
  TSI_FREE(env, *program);
}

/* Messages of one direction: rows follow each other, steps ascend. */
static tristar_status check_messages(tsi_env *env, const tsi_program *program, const tsi_message *message,
                                     tsi_index count, bool sent) {
  tristar_status status = TRISTAR_OK;
  tsi_count row = 0;
  for (tsi_index m = 0; m < count; m++) {
    tsi_count rows = 0;
    const tsi_message *this = &message[m];
    if (this->step < 0 || this->step >= program->steps->count || this->parts < 1 || this->part < 0 ||
        this->part + this->parts > program->parts)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "message %d of kind %d: step %d, %lld parts", m, (int)this->kind,
               this->step, (long long)this->parts);
    rows = this->rows;
    if (this->row != row || rows < 1)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "message %d has %lld rows from %lld, not from %lld", m,
               (long long)rows, (long long)this->row, (long long)row);
    const bool matches = sent ? program->send_ptr[this->step] <= m && m < program->send_ptr[this->step + 1]
                              : program->steps->step[this->step].kind == TSI_STEP_ARRIVAL &&
                                    program->steps->step[this->step].argument == m;
    if (!matches || !program->steps->step[this->step].alone)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "message %d does not belong to step %d", m, this->step);
    row += rows;
  }
  if (row != (sent ? program->outbox_rows : program->inbox_rows))
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "messages have %lld rows", (long long)row);
out:
  return status;
}

tristar_status tsi_program_check(tsi_env *env, const tsi_program *program) {
  tristar_status status = TRISTAR_OK;
  const tsi_steps *steps = program->steps;
  bool *waited = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, waited, steps->count));
  for (tsi_count e = 0; e < steps->edges; e++) {
    if (steps->edge[e].before < 0 || steps->edge[e].before >= steps->edge[e].item ||
        steps->edge[e].item >= steps->count)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "step %d waits for step %d of %d", steps->edge[e].item,
               steps->edge[e].before, steps->count);
    waited[steps->edge[e].before] = true;
  }
  TSI_TRY(check_messages(env, program, program->send, program->sends, true));
  TSI_TRY(check_messages(env, program, program->receive, program->receives, false));
  for (tsi_index m = 0; m < program->receives; m++)
    if (!waited[program->receive[m].step])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "no step waits for received message %d", m);
out:
  TSI_FREE(env, waited);
  return status;
}
