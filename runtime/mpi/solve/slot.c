/* Slots: a run, its transport and its local rows, for a stride of the workspace. See distributed.h. */
#include "runtime/mpi/solve/distributed.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/solve/device_run.h"

#define TSI_PEER_SECONDS 60 /* default of peer_seconds */

static void slot_arrived(void *context, tsi_index message) {
  tsi_process_arrived(((tsi_slot *)context)->run, message);
}

static tristar_status list_channels(tsi_env *env, const tsi_message *message, tsi_index count,
                                    tsi_index first_tag, size_t row, void *area, tsi_channel **out) {
  TSI_TRY(TSI_ALLOC(env, *out, count));
  for (tsi_index m = 0; m < count; m++)
    (*out)[m] = (tsi_channel){.peer = message[m].peer,
                              .tag = first_tag + message[m].tag,
                              .buffer = (char *)area + (size_t)message[m].row * row,
                              .bytes = (size_t)message[m].rows * row};
  return TRISTAR_OK;
}

static tristar_status open_mailbox(tristar_distributed_t *d, tsi_slot *slot, tsi_index first_tag,
                                   size_t row) {
  tsi_env *env = &d->ts->env;
  const tsi_program *program = d->process->program;
  TSI_OWNED tsi_channel *send = NULL, *receive = NULL;
  TSI_TRY(list_channels(env, program->receive, program->receives, first_tag, row,
                        tsi_process_inbox(slot->run), &receive));
  TSI_TRY(list_channels(env, program->send, program->sends, first_tag, row, tsi_process_outbox(slot->run),
                        &send));
  TSI_TRY(TSI_ALLOC_ZERO(env, slot->port, 1));
  *slot->port = (tsi_mailbox_port){.env = env, .happen = slot_arrived, .context = slot};
  return tsi_mailbox_port_open(slot->port, d->transport, program->receives, receive, program->sends, send);
}

/* Collective. */
static tristar_status open_oneside(tristar_distributed_t *d, tsi_slot *slot, tristar_status mine) {
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_ZERO(&d->ts->env, slot->oneside, 1);
  if (mine == TRISTAR_OK)
    *slot->oneside =
        (tsi_run_port){.env = &d->ts->env,
                       .program = d->process->program,
                       .outbox = tsi_process_outbox(slot->run),
                       .row_bytes = (size_t)tsi_process_stride(slot->run) * d->process->scalar_bytes,
                       .adds = d->options.atomic_sums != 0,
                       .tasks = d->process->workers > 0,
                       .happen = slot_arrived,
                       .context = slot};
  TSI_TRY(tsi_transport_agree(d->transport, mine));
  const double seconds = d->options.peer_seconds > 0 ? d->options.peer_seconds : TSI_PEER_SECONDS;
  TSI_TRY(tsi_run_port_open(slot->oneside, d->transport, seconds));
  d->stats.inbox_bytes = 2 * (double)slot->oneside->inbox_bytes;
  const tsi_port port = tsi_run_port_of(slot->oneside);
  tsi_process_connect(slot->run, &port);
  if (!d->on_device) return TRISTAR_OK;
  mine = tsi_device_run_create(d->process, slot->oneside, tsi_process_stride(slot->run),
                               tsi_transport_rank(d->transport), &slot->device);
  if (mine == TRISTAR_OK) tsi_process_set_sweeps(slot->run, tsi_device_run_sweeps, slot->device);
  return tsi_transport_agree(d->transport, mine);
}

void tsi_slot_release(tristar_distributed_t *d, tsi_slot *slot) {
  tsi_env *env = &d->ts->env;
  tsi_device_run_destroy(&slot->device);
  if (d->one_sided) {
    if (slot->oneside) tsi_run_port_close(slot->oneside);
    TSI_FREE(env, slot->oneside);
  } else {
    if (slot->port) tsi_mailbox_port_close(slot->port);
    TSI_FREE(env, slot->port);
  }
  tsi_process_run_destroy(&slot->run);
  TSI_FREE(env, slot->b);
  TSI_FREE(env, slot->x);
}

static tristar_status fill_slot(tristar_distributed_t *d, int number, tsi_index stride) {
  tsi_env *env = &d->ts->env;
  tsi_slot *slot = &d->slot[number];
  const tsi_process *p = d->process;
  const size_t columns = (size_t)p->share->panels->start[p->share->panels->count];
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, slot->b, columns * (size_t)stride, p->user_bytes));
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, slot->x, columns * (size_t)stride, p->user_bytes));
  TSI_TRY(tsi_process_run_create(d->process, stride, &slot->run));
  if (d->one_sided) return TRISTAR_OK;
  TSI_TRY(open_mailbox(d, slot, d->tags * (number + 1), (size_t)stride * p->scalar_bytes));
  const tsi_port port = tsi_mailbox_port_of(slot->port);
  tsi_process_connect(slot->run, &port);
  return TRISTAR_OK;
}

tristar_status tsi_slot_need(tristar_distributed_t *d, tsi_index nrhs, tsi_slot **out) {
  tristar_status status = TRISTAR_OK;
  const tsi_index stride = tsi_workspace_stride(nrhs);
  const int number = stride < TSI_ROW_BLOCK ? stride / 2 : stride / TSI_ROW_BLOCK + 2;
  *out = &d->slot[number];
  if ((*out)->run) return TRISTAR_OK;
  status = fill_slot(d, number, stride);
  status = d->one_sided ? open_oneside(d, *out, status) : tsi_transport_agree(d->transport, status);
  if (status != TRISTAR_OK) tsi_slot_release(d, *out);
  return status;
}
