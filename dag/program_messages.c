/* Functions that append steps and messages to a program: see program_builder.h. */
#include "dag/program_builder.h"

/* ---- Appending ---------------------------------------------------------------------------------------- */

tsi_index tsi_program_add_step(tsi_program_builder *b, tsi_step_kind kind, tsi_index argument,
                               double priority, double bytes) {
  tsi_program *program = b->program;
  if (b->writing) {
    program->steps->step[program->steps->count] = (tsi_step){.kind = kind,
                                                             .argument = argument,
                                                             .priority = priority,
                                                             .bytes = bytes,
                                                             .alone = kind == TSI_STEP_ARRIVAL};
    program->send_ptr[program->steps->count] = program->sends;
  }
  return program->steps->count++;
}

void tsi_program_add_edge(tsi_program_builder *b, tsi_index item, tsi_index before) {
  if (before == TSI_NONE) return;
  if (b->writing) b->program->steps->edge[b->program->steps->edges] = (tsi_edge){item, before};
  b->program->steps->edges++;
}

tsi_index tsi_program_columns_of(const tsi_program_builder *b, tsi_index k) {
  return tsi_chunk_columns(b->share->chunks, k);
}

/* A message that has no chunks yet. */
static tsi_message new_message(const tsi_program_builder *b, tsi_message_kind kind, tsi_index number,
                               tsi_index peer, tsi_index step, tsi_count row) {
  return (tsi_message){kind, number, peer, 0, step, b->program->parts, 0, row, 0};
}

static void add_part(tsi_program_builder *b, tsi_message *message, tsi_index k) {
  if (b->writing) b->program->part[b->program->parts] = k;
  b->program->parts++;
  message->parts++;
  message->rows += tsi_program_columns_of(b, k);
}

/* Appends a message that the latest step sends. */
static void finish_send(tsi_program_builder *b, const tsi_message *message) {
  tsi_program *program = b->program;
  if (b->writing) {
    program->send[program->sends] = *message;
    program->steps->step[message->step].alone = true;
  }
  program->sends++;
  program->outbox_rows += message->rows;
}

static void finish_receive(tsi_program_builder *b, const tsi_message *message) {
  if (b->writing) b->program->receive[b->program->receives] = *message;
  b->program->receives++;
  b->program->inbox_rows += message->rows;
}

/* ---- Messages in a grid ------------------------------------------------------------------------------- */

/* Position of this process in the tree of chunk c: 0 is the anchor. */
static tsi_index position_of(const tsi_program_builder *b, const tsi_participant_list *list, tsi_index c) {
  if (b->layout->row[c] + b->layout->px * b->layout->column[c] == b->share->process) return 0;
  tsi_count q = list->ptr[c];
  while (list->process[q] != b->share->process) q++;
  return (tsi_index)(q - list->ptr[c]) + 1;
}

static tsi_index rank_at(const tsi_program_builder *b, const tsi_participant_list *list, tsi_index c,
                         tsi_index position) {
  const tsi_index grid = b->layout->px * b->layout->py;
  const tsi_index process = position == 0 ? b->layout->row[c] + b->layout->px * b->layout->column[c]
                                          : list->process[list->ptr[c] + position - 1];
  return process + grid * b->share->z;
}

static tsi_index participants_of(const tsi_participant_list *list, tsi_index c) {
  return (tsi_index)(list->ptr[c + 1] - list->ptr[c]) + 1;
}

static void send_chunk(tsi_program_builder *b, tsi_message_kind kind, tsi_index k, tsi_index peer,
                       tsi_index step) {
  tsi_message message = new_message(b, kind, b->share->chunk[k], peer, step, b->program->outbox_rows);
  add_part(b, &message, k);
  finish_send(b, &message);
}

/* Adds the ARRIVAL of a message about local chunk k. */
static tsi_index receive_chunk(tsi_program_builder *b, tsi_message_kind kind, tsi_index k, tsi_index peer,
                               double priority) {
  const tsi_index step = tsi_program_add_step(b, TSI_STEP_ARRIVAL, b->program->receives, priority, 0);
  tsi_message message = new_message(b, kind, b->share->chunk[k], peer, step, b->program->inbox_rows);
  add_part(b, &message, k);
  finish_receive(b, &message);
  return step;
}

void tsi_program_send_to_parent(tsi_program_builder *b, tsi_message_kind kind,
                                const tsi_participant_list *list, tsi_index k, tsi_index step) {
  const tsi_index c = b->share->chunk[k];
  const tsi_index parent = tsi_tree_parent(b->source->tree, position_of(b, list, c));
  if (parent != TSI_NONE) send_chunk(b, kind, k, rank_at(b, list, c, parent), step);
}

void tsi_program_send_to_children(tsi_program_builder *b, tsi_message_kind kind,
                                  const tsi_participant_list *list, tsi_index k, tsi_index step) {
  const tsi_index c = b->share->chunk[k];
  tsi_index first, end;
  tsi_tree_children(b->source->tree, participants_of(list, c), position_of(b, list, c), &first, &end);
  for (tsi_index i = first; i < end; i++) send_chunk(b, kind, k, rank_at(b, list, c, i), step);
}

static void add_to_list(const tsi_program_builder *b, tsi_inbox_list *list, tsi_index k, tsi_count row) {
  if (b->writing) list->row[list->rows] = row;
  list->rows++;
  list->count[k]++;
}

tsi_index tsi_program_receive_from_children(tsi_program_builder *b, tsi_message_kind kind,
                                            const tsi_participant_list *list, tsi_index k, double priority,
                                            tsi_inbox_list *inbox) {
  const tsi_index c = b->share->chunk[k];
  tsi_index first, end;
  tsi_tree_children(b->source->tree, participants_of(list, c), position_of(b, list, c), &first, &end);
  for (tsi_index i = first; i < end; i++) {
    add_to_list(b, inbox, k, b->program->inbox_rows);
    (void)receive_chunk(b, kind, k, rank_at(b, list, c, i), priority);
  }
  return end - first;
}

tsi_index tsi_program_receive_x(tsi_program_builder *b, tsi_message_kind kind,
                                const tsi_participant_list *list, tsi_index k, double priority,
                                tsi_count *row) {
  const tsi_index c = b->share->chunk[k];
  const tsi_index parent = tsi_tree_parent(b->source->tree, position_of(b, list, c));
  row[k] = b->program->inbox_rows;
  return receive_chunk(b, kind, k, rank_at(b, list, c, parent), priority);
}

void tsi_program_wait_for_last(tsi_program_builder *b, tsi_index item, tsi_index count) {
  for (tsi_index i = 1; i <= count; i++) tsi_program_add_edge(b, item, item - i);
}

/* ---- Messages between grids --------------------------------------------------------------------------- */

tsi_index tsi_program_level_of(const tsi_program_builder *b, tsi_index k) {
  return tsi_separator_level(b->layout->pz, b->layout->node[b->share->chunk[k]]);
}

/* Adds all chunks above a level that this process anchors. */
static void add_chunks_above(tsi_program_builder *b, tsi_message *message, tsi_index level) {
  for (tsi_index k = 0; k < b->share->chunks->count; k++)
    if ((b->share->role[k] & TSI_ROLE_ANCHOR) && tsi_program_level_of(b, k) > level) add_part(b, message, k);
}

tsi_count tsi_program_row_above(const tsi_program_builder *b, tsi_index k, tsi_index level) {
  return b->above[(tsi_count)level * (b->share->chunks->count + 1) + k];
}

bool tsi_program_any_above(const tsi_program_builder *b, tsi_index level) {
  return level < b->layout->levels && tsi_program_row_above(b, b->share->chunks->count, level) > 0;
}

bool tsi_program_first_above(const tsi_program_builder *b, tsi_index k, tsi_index level) {
  return tsi_program_row_above(b, k, level) == 0 && tsi_program_row_above(b, k + 1, level) > 0;
}

static tsi_index rank_in_grid(const tsi_program_builder *b, tsi_index z) {
  return b->share->process + b->layout->px * b->layout->py * z;
}

void tsi_program_send_above(tsi_program_builder *b, tsi_message_kind kind, tsi_index number, tsi_index level,
                            tsi_index z, tsi_index step) {
  tsi_message message = new_message(b, kind, number, rank_in_grid(b, z), step, b->program->outbox_rows);
  add_chunks_above(b, &message, level);
  finish_send(b, &message);
}

tsi_index tsi_program_receive_above(tsi_program_builder *b, tsi_message_kind kind, tsi_index number,
                                    tsi_index level, tsi_index z) {
  const tsi_index step = tsi_program_add_step(b, TSI_STEP_ARRIVAL, b->program->receives, b->top, 0);
  tsi_message message = new_message(b, kind, number, rank_in_grid(b, z), step, b->program->inbox_rows);
  add_chunks_above(b, &message, level);
  finish_receive(b, &message);
  return step;
}

tsi_index tsi_program_own_level(const tsi_program_builder *b) {
  tsi_index level = 0;
  while (level < b->layout->levels && (b->share->z >> level & 1) == 0) level++;
  return level;
}

void tsi_program_receive_grid_sums(tsi_program_builder *b, tsi_index k, tsi_count *row_of_level) {
  const tsi_index last = tsi_index_min(tsi_program_own_level(b), tsi_program_level_of(b, k));
  for (tsi_index l = 0; l < last; l++) {
    if (b->grid_arrival[l] == TSI_NONE) {
      row_of_level[l] = b->program->inbox_rows;
      b->grid_arrival[l] =
          tsi_program_receive_above(b, TSI_MESSAGE_GRID_FORWARD, l, l, b->share->z + (1 << l));
    }
    add_to_list(b, &b->program->forward, k, row_of_level[l] + tsi_program_row_above(b, k, l));
  }
}

void tsi_program_add_grid_edges(tsi_program_builder *b, tsi_index k, tsi_index gather) {
  const tsi_index last = tsi_index_min(tsi_program_own_level(b), tsi_program_level_of(b, k));
  for (tsi_index l = 0; l < last; l++) tsi_program_add_edge(b, gather, b->grid_arrival[l]);
}
