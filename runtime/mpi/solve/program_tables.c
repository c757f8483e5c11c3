/* See program_tables.h. */
#include "runtime/mpi/solve/program_tables.h"

/* The arrays of the tables, in the order of the block: type, member, length. */
#define ARRAYS(A)                                                                                            \
  A(tsi_gpu_step, step, program->steps->count)                                                               \
  A(tsi_index, before, program->steps->edges)                                                                \
  A(tsi_gpu_chunk, chunk, share->chunks->count)                                                              \
  A(tsi_gpu_piece, slice, share->chunks->slices)                                                             \
  A(tsi_panel, panel, share->panels->count)                                                                  \
  A(tsi_index, row, share->chunks->local_rows)                                                               \
  A(tsi_index, gather_ptr, share->panels->start[share->panels->count] + 1)                                   \
  A(tsi_index, gather, off_rows)                                                                             \
  A(tsi_index, owner, off_rows)                                                                              \
  A(tsi_gpu_message, send, program->sends)                                                                   \
  A(tsi_gpu_message, receive, program->receives)                                                             \
  A(tsi_index, part, program->parts)                                                                         \
  A(int64_t, inbox_row, program->forward.rows + program->backward.rows)

/* Sets the pointers of *p into a block; returns its bytes. */
static size_t lay_out(const tsi_process *process, char *block, tsi_gpu_program *p) {
  const tsi_program *program = process->program;
  const tsi_share *share = process->share;
  const tsi_count off_rows = share->chunks->off_ptr[share->chunks->count];
  size_t at = 0;
#define PLACE(type, member, count)                                                                           \
  p->member = block ? (type *)(void *)(block + at) : NULL;                                                   \
  at += ((size_t)(count) * sizeof(type) + 63) / 64 * 64;
  ARRAYS(PLACE)
#undef PLACE
  return at;
}

/* ---- Structure ----------------------------------------------------------------------------------------- */

/* Position of a row of the program's inbox, where the messages are stored one after the other. */
static int64_t row_of(const tsi_program *program, const int64_t *row, tsi_count of_program) {
  tsi_index first = 0, end = program->receives;
  if (of_program < 0) return -1;
  while (end - first > 1) {
    const tsi_index middle = first + (end - first) / 2;
    if (program->receive[middle].row <= of_program)
      first = middle;
    else
      end = middle;
  }
  return row[first] + (of_program - program->receive[first].row);
}

/* Lists the inbox rows that a chunk adds, each once, at *at; returns their number. */
static tsi_index list_inbox(const tsi_program *program, const tsi_inbox_list *list, const int64_t *row,
                            tsi_index k, int64_t *at) {
  tsi_index count = 0;
  for (tsi_count e = list->first[k]; e < list->first[k] + list->count[k]; e++) {
    const int64_t next = row_of(program, row, list->row[e]);
    if (count == 0 || at[count - 1] != next) at[count++] = next;
  }
  return count;
}

static void fill_chunks(const tsi_process *process, const int64_t *row, const tsi_gpu_program *p) {
  const tsi_program *program = process->program;
  const tsi_share *share = process->share;
  tsi_gpu_chunk *to = (tsi_gpu_chunk *)p->chunk;
  int64_t *inbox = (int64_t *)p->inbox_row;
  for (tsi_index k = 0; k < share->chunks->count; k++) {
    const tsi_solve_chunk *c = &process->tables.chunk[k];
    to[k] = (tsi_gpu_chunk){.x = c->workspace,
                            .forward_x = row_of(program, row, program->forward_x[k]),
                            .backward_x = row_of(program, row, program->backward_x[k]),
                            .panel = c->panel,
                            .panels = c->panels,
                            .column = c->column,
                            .columns = c->columns,
                            .update = c->update,
                            .off = (tsi_index)c->off,
                            .off_rows = c->off_rows,
                            .slice = c->slice,
                            .slices = c->slices,
                            .inbox = {(tsi_index)program->forward.first[k],
                                      (tsi_index)(program->forward.rows + program->backward.first[k])},
                            .reads = process->home[k],
                            .writes = process->home[k]};
    to[k].inboxes[0] = list_inbox(program, &program->forward, row, k, inbox + to[k].inbox[0]);
    to[k].inboxes[1] = list_inbox(program, &program->backward, row, k, inbox + to[k].inbox[1]);
  }
  for (tsi_index q = 0; q < share->chunks->slices; q++) {
    const tsi_solve_slice *slice = &process->tables.slice[q];
    ((tsi_gpu_piece *)p->slice)[q] = (tsi_gpu_piece){slice->chunk, slice->first, slice->count};
  }
}

/* Lists the updates to add to each column, in the order of their sources, and the position of x of each
 * off-row. */
static void fill_lists(const tsi_process *process, const tsi_gpu_program *p) {
  const tsi_share *share = process->share;
  const tsi_index columns = share->panels->start[share->panels->count];
  const tsi_index *off = share->chunks->off;
  tsi_index *ptr = (tsi_index *)p->gather_ptr, *gather = (tsi_index *)p->gather,
            *owner = (tsi_index *)p->owner;
  const tsi_count off_rows = share->chunks->off_ptr[share->chunks->count];
  memset(ptr, 0, ((size_t)columns + 1) * sizeof *ptr);
  for (tsi_count e = 0; e < off_rows; e++) ptr[off[e] + 1]++;
  for (tsi_index j = 0; j < columns; j++) ptr[j + 1] += ptr[j];
  for (tsi_count e = 0; e < process->sweep->pairs; e++) { /* by source */
    const tsi_solve_pair *pair = &process->tables.pair[e];
    const tsi_solve_chunk *source = &process->tables.chunk[pair->source],
                          *target = &process->tables.chunk[pair->target];
    for (tsi_index i = pair->first; i < pair->first + pair->count; i++) {
      const tsi_index column = off[source->off + i];
      owner[source->off + i] = (tsi_index)target->workspace + column - target->column;
      gather[ptr[column]++] = (tsi_index)source->workspace + source->update + i;
    }
  }
  for (tsi_index j = columns; j > 0; j--) ptr[j] = ptr[j - 1];
  ptr[0] = 0;
}

/* ---- Steps and messages -------------------------------------------------------------------------------- */

static tsi_index when(tsi_message_kind kind) {
  if (kind == TSI_MESSAGE_FORWARD_SUM || kind == TSI_MESSAGE_FORWARD_X || kind == TSI_MESSAGE_GRID_FORWARD)
    return TSI_GPU_IN_FORWARD;
  return kind == TSI_MESSAGE_EXCHANGE ? TSI_GPU_IN_ALL : TSI_GPU_IN_BACKWARD;
}

static tsi_gpu_message message_of(const tsi_message *m, tsi_index flag, int64_t row) {
  return (tsi_gpu_message){.peer = m->peer,
                           .flag = flag,
                           .row = row,
                           .part = (tsi_index)m->part,
                           .parts = (tsi_index)m->parts,
                           .when = when(m->kind),
                           .sums = m->kind == TSI_MESSAGE_BACKWARD_SUM};
}

static void fill_messages(const tsi_process *process, const tsi_oneside_place *place, const int64_t *row,
                          const tsi_gpu_program *p) {
  const tsi_program *program = process->program;
  for (tsi_index m = 0; m < program->sends; m++)
    ((tsi_gpu_message *)p->send)[m] = message_of(&program->send[m], place[m].flag, place[m].row);
  for (tsi_index m = 0; m < program->sends && p->adds; m++)
    ((tsi_gpu_message *)p->send)[m].adds = tsi_oneside_is_sum(&program->send[m]);
  for (tsi_index m = 0; m < program->receives; m++)
    ((tsi_gpu_message *)p->receive)[m] = message_of(&program->receive[m], m, row[m]);
  if (program->parts > 0)
    memcpy((tsi_index *)p->part, program->part, (size_t)program->parts * sizeof *program->part);
}

static tsi_index kind_of(tsi_step_kind kind) {
  static const tsi_index kinds[TSI_STEP_KINDS] = {[TSI_STEP_ARRIVAL] = TSI_GPU_ARRIVAL,
                                                  [TSI_STEP_FORWARD_SUM] = TSI_GPU_FORWARD_SUM,
                                                  [TSI_STEP_FORWARD_CHUNK] = TSI_GPU_FORWARD_CHUNK,
                                                  [TSI_STEP_FORWARD_SLICE] = TSI_GPU_FORWARD_SLICE,
                                                  [TSI_STEP_FORWARD_RECEIVE] = TSI_GPU_FORWARD_RECEIVE,
                                                  [TSI_STEP_BACKWARD_SUM] = TSI_GPU_BACKWARD_SUM,
                                                  [TSI_STEP_BACKWARD_CHUNK] = TSI_GPU_BACKWARD_CHUNK,
                                                  [TSI_STEP_BACKWARD_SLICE] = TSI_GPU_BACKWARD_SLICE,
                                                  [TSI_STEP_BACKWARD_RECEIVE] = TSI_GPU_BACKWARD_RECEIVE,
                                                  [TSI_STEP_EXCHANGE] = TSI_GPU_EXCHANGE};
  return kinds[kind]; /* GRID_FORWARD and GRID_BACKWARD only send */
}

/* Writes the steps in the order in which blocks draw them: turn[k] is the position of step k of the program.
 */
static void fill_steps(const tsi_process *process, const tsi_index *turn, const tsi_gpu_program *p) {
  const tsi_program *program = process->program;
  const tsi_steps *steps = program->steps;
  tsi_gpu_step *to = (tsi_gpu_step *)p->step;
  tsi_index *before = (tsi_index *)p->before, at = 0;
  for (tsi_index k = 0; k < steps->count; k++) {
    const tsi_step *step = &steps->step[k];
    to[turn[k]] = (tsi_gpu_step){
        .kind = kind_of(step->kind),
        .argument = step->kind == TSI_STEP_EXCHANGE ? program->exchange[step->argument] : step->argument,
        .send = program->send_ptr[k],
        .sends = program->send_ptr[k + 1] - program->send_ptr[k]};
  }
  for (tsi_count e = 0; e < steps->edges; e++) to[turn[steps->edge[e].item]].befores++;
  for (tsi_index k = 0; k < steps->count; k++) {
    to[k].before = at;
    at += to[k].befores;
    to[k].befores = 0;
  }
  for (tsi_count e = 0; e < steps->edges; e++) {
    tsi_gpu_step *step = &to[turn[steps->edge[e].item]];
    before[step->before + step->befores++] = turn[steps->edge[e].before];
  }
}

static tristar_status order_steps(const tsi_process *process, const tsi_gpu_program *p) {
  const tsi_program *program = process->program;
  TSI_SCRATCH(process->env, tsi_index, draw, program->steps->count);
  TSI_SCRATCH(process->env, tsi_index, turn, program->steps->count);
  TSI_TRY(tsi_program_list_draws(process->env, program, process->layout, process->share, draw));
  for (tsi_index k = 0; k < program->steps->count; k++) turn[draw[k]] = k;
  fill_steps(process, turn, p);
  return TRISTAR_OK;
}

/* ---- All ----------------------------------------------------------------------------------------------- */

tristar_status tsi_program_tables_create(tsi_process *process, const tsi_oneside_place *place,
                                         const int64_t *row, bool adds, tsi_program_tables *tables) {
  const tsi_chunks *chunks = process->share->chunks;
  *tables = (tsi_program_tables){.block = NULL};
  if (process->tables.workspace_rows > TSI_INDEX_MAX || chunks->off_ptr[chunks->count] > TSI_INDEX_MAX)
    TSI_FAIL(process->env, TRISTAR_ERR_TOO_LARGE, "%lld rows of the workspace",
             (long long)process->tables.workspace_rows);
  tables->bytes = lay_out(process, NULL, &tables->program);
  TSI_TRY(TSI_ALLOC(process->env, tables->block, tables->bytes));
  (void)lay_out(process, tables->block, &tables->program);
  tsi_gpu_program *p = &tables->program;
  p->inverse = process->kind.inverse;
  p->adds = adds;
  p->steps = process->program->steps->count;
  memcpy((tsi_panel *)p->panel, process->tables.panel,
         (size_t)process->share->panels->count * sizeof *p->panel);
  memcpy((tsi_index *)p->row, chunks->local_row, (size_t)chunks->local_rows * sizeof *p->row);
  fill_chunks(process, row, p);
  fill_lists(process, p);
  fill_messages(process, place, row, p);
  return order_steps(process, p);
}

void tsi_program_tables_release(tsi_env *env, tsi_program_tables *tables) {
  TSI_FREE(env, tables->block);
}

tsi_gpu_program tsi_program_tables_move(const tsi_program_tables *tables, void *block) {
  tsi_gpu_program moved = tables->program;
#define MOVE(type, member, count)                                                                            \
  moved.member =                                                                                             \
      (const type *)(const void *)((char *)block + ((const char *)tables->program.member - tables->block));
  ARRAYS(MOVE)
#undef MOVE
  return moved;
}
