/* Slots: a run, its mailbox and its local rows, for a stride of the workspace. See distributed.h. */
#include "runtime/mpi/distributed.h"
#include "runtime/mpi/mailbox.h"

static tristar_status slot_begin(void *context, const bool *comes, tsi_index goes) {
  tsi_slot *slot = context;
  const tsi_index receives = slot->distributed->process->program->receives;
  for (tsi_index m = 0; m < receives; m++)
    atomic_store_explicit(&slot->arrived[m], false, memory_order_relaxed);
  return tsi_mailbox_start(slot->mailbox, comes, goes);
}

static tristar_status slot_send(void *context, tsi_index message) {
  return tsi_mailbox_send(((tsi_slot *)context)->mailbox, message);
}

static tristar_status slot_wait(void *context, tsi_index message) {
  tsi_slot *slot = context;
  for (int turn = 0; !atomic_load_explicit(&slot->arrived[message], memory_order_acquire); turn++) {
    tsi_mailbox_progress(slot->mailbox);
    if (turn > 1) tsi_mpi_pause(turn);
  }
  return TRISTAR_OK;
}

static void slot_progress(void *context) {
  tsi_mailbox_progress(((tsi_slot *)context)->mailbox);
}

static tristar_status slot_end(void *context) {
  return tsi_mailbox_wait(((tsi_slot *)context)->mailbox);
}

static void slot_arrived(void *context, tsi_index message) {
  tsi_slot *slot = context;
  atomic_store_explicit(&slot->arrived[message], true, memory_order_release);
  tsi_process_arrived(slot->run, message);
}

static tristar_status list_channels(const tsi_slot *slot, const tsi_message *message, tsi_index count,
                                    tsi_index first_tag, size_t row, void *area, tsi_channel **out) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(&slot->distributed->ts->env, *out, count));
  for (tsi_index m = 0; m < count; m++)
    (*out)[m] = (tsi_channel){.peer = message[m].peer,
                              .tag = first_tag + message[m].tag,
                              .buffer = (char *)area + (size_t)message[m].row * row,
                              .bytes = (size_t)message[m].rows * row};
out:
  return status;
}

static tristar_status open_mailbox(tsi_slot *slot, tsi_index first_tag, size_t row) {
  tristar_status status = TRISTAR_OK;
  tristar_distributed_t *d = slot->distributed;
  tsi_env *env = &d->ts->env;
  const tsi_program *program = d->process->program;
  tsi_channel *receive = NULL, *send = NULL;
  TSI_TRY(list_channels(slot, program->receive, program->receives, first_tag, row,
                        tsi_process_inbox(slot->run), &receive));
  TSI_TRY(list_channels(slot, program->send, program->sends, first_tag, row, tsi_process_outbox(slot->run),
                        &send));
  TSI_TRY(tsi_mailbox_create(d->transport, program->receives, receive, program->sends, send, slot_arrived,
                             slot, &slot->mailbox));
out:
  TSI_FREE(env, receive);
  TSI_FREE(env, send);
  return status;
}

void tsi_slot_release(tsi_slot *slot) {
  tsi_env *env = &slot->distributed->ts->env;
  tsi_mailbox_destroy(&slot->mailbox);
  tsi_process_run_destroy(&slot->run);
  TSI_FREE(env, slot->arrived);
  TSI_FREE(env, slot->b);
  TSI_FREE(env, slot->x);
}

static tristar_status fill_slot(tristar_distributed_t *d, int number, tsi_index stride) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  tsi_slot *slot = &d->slot[number];
  const tsi_process *p = d->process;
  const size_t columns = (size_t)p->share->panels->start[p->share->panels->count];
  const tsi_port port = {.context = slot,
                         .begin = slot_begin,
                         .send = slot_send,
                         .wait = slot_wait,
                         .progress = slot_progress,
                         .end = slot_end};
  TSI_TRY(TSI_ALLOC_ZERO(env, slot->arrived, p->program->receives));
  TSI_TRY(tsi_allocate_zero(env, columns * (size_t)stride, p->user_bytes, __func__, __FILE__, __LINE__,
                            &slot->b));
  TSI_TRY(tsi_allocate_zero(env, columns * (size_t)stride, p->user_bytes, __func__, __FILE__, __LINE__,
                            &slot->x));
  TSI_TRY(tsi_process_run_create(d->process, stride, &slot->run));
  TSI_TRY(open_mailbox(slot, d->tags * (number + 1), (size_t)stride * p->scalar_bytes));
  tsi_process_connect(slot->run, &port);
out:
  return status;
}

tristar_status tsi_slot_need(tristar_distributed_t *d, tsi_index nrhs, tsi_slot **out) {
  tristar_status status = TRISTAR_OK;
  const tsi_index stride = tsi_workspace_stride(nrhs);
  const int number = stride < TSI_ROW_BLOCK ? stride / 2 : stride / TSI_ROW_BLOCK + 2;
  *out = &d->slot[number];
  if ((*out)->run) return TRISTAR_OK;
  status = tsi_transport_agree(d->transport, fill_slot(d, number, stride));
  if (status != TRISTAR_OK) tsi_slot_release(*out);
  return status;
}
