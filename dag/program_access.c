/* What the steps of a program read and write: accesses of sweeps (access_sweep.h), and messages. */
#include "dag/access_sweep.h"
#include "dag/program.h"

typedef struct lister {
  tsi_access_sweeps sweeps;
  const tsi_program *program;
} lister;

static void add_inbox(tsi_access_mode mode, tsi_count row, tsi_count rows, tsi_access_lister *l) {
  tsi_access_add(l, mode, TSI_BUFFER_INBOX, 0, row, row + rows);
}

static tsi_index columns_of(const lister *of, tsi_index k) {
  return tsi_chunk_columns(of->sweeps.forward_chunks, k);
}

/* The received sums for chunk k. */
static void add_sums(const lister *of, const tsi_inbox_list *list, tsi_index k, tsi_access_lister *l) {
  for (tsi_index i = 0; i < list->count[k]; i++)
    add_inbox(TSI_ACCESS_R, list->row[list->first[k] + i], columns_of(of, k), l);
}

static void add_receive(const lister *of, const tsi_count *row, tsi_index k, tsi_access_lister *l) {
  add_inbox(TSI_ACCESS_R, row[k], columns_of(of, k), l);
  tsi_access_add_segment(&of->sweeps, TSI_ACCESS_W, k, l);
}

static void add_exchange(const lister *of, tsi_index stage, tsi_access_lister *l) {
  const tsi_index m = of->program->exchange[stage];
  if (m == TSI_NONE) return;
  const tsi_message *message = &of->program->receive[m];
  add_inbox(TSI_ACCESS_R, message->row, message->rows, l);
  for (tsi_count i = message->part; i < message->part + message->parts; i++)
    tsi_access_add_segment(&of->sweeps, TSI_ACCESS_RW, of->program->part[i], l);
}

/* The rows that a step packs at its end. */
static void add_sends(const lister *of, tsi_index step, tsi_access_lister *l) {
  const tsi_program *program = of->program;
  for (tsi_index m = program->send_ptr[step]; m < program->send_ptr[step + 1]; m++) {
    const tsi_message *message = &program->send[m];
    tsi_access_add(l, TSI_ACCESS_W, TSI_BUFFER_OUTBOX, 0, message->row, message->row + message->rows);
    for (tsi_count i = message->part; i < message->part + message->parts; i++)
      if (message->kind == TSI_MESSAGE_BACKWARD_SUM)
        tsi_access_add_first_partial(&of->sweeps, TSI_ACCESS_R, program->part[i], l);
      else
        tsi_access_add_segment(&of->sweeps, TSI_ACCESS_R, program->part[i], l);
  }
}

static void list_step(const void *arg, tsi_index number, tsi_access_lister *l) {
  const lister *of = arg;
  const tsi_program *program = of->program;
  const tsi_step *step = &program->steps->step[number];
  const tsi_index k = step->argument;
  tsi_access_add_sweep_step(&of->sweeps, step, l);
  switch (step->kind) {
  case TSI_STEP_ARRIVAL:
    add_inbox(TSI_ACCESS_W, program->receive[k].row, program->receive[k].rows, l);
    break;
  case TSI_STEP_FORWARD_CHUNK:
  case TSI_STEP_FORWARD_SUM:
    add_sums(of, &program->forward, k, l);
    break;
  case TSI_STEP_BACKWARD_CHUNK:
  case TSI_STEP_BACKWARD_SUM:
    add_sums(of, &program->backward, k, l);
    break;
  case TSI_STEP_FORWARD_RECEIVE:
    add_receive(of, program->forward_x, k, l);
    break;
  case TSI_STEP_BACKWARD_RECEIVE:
    add_receive(of, program->backward_x, k, l);
    break;
  case TSI_STEP_EXCHANGE:
    add_exchange(of, k, l);
    break;
  default:
    break;
  }
  add_sends(of, number, l);
}

tristar_status tsi_program_list_accesses(tsi_env *env, const tsi_program *program,
                                         const tsi_program_source *source, tsi_access_list **out) {
  const tsi_chunks *chunks = source->share->chunks;
  const lister of = {{.forward = source->sweep,
                      .backward = source->sweep,
                      .forward_chunks = chunks,
                      .backward_chunks = chunks,
                      .in_place = true},
                     program};
  return tsi_access_list_create(env, program->steps->count, list_step, &of, out);
}
