/* Mailboxes of all transports: checks, settling, waiting. See transport.h. */
#include "runtime/mpi/comm/mailbox.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>

#include "runtime/base/clock.h"

/* ---- Checks -------------------------------------------------------------------------------------------- */

static tristar_status check_channel(const tsi_transport *transport, const char *what, tsi_index number,
                                    const tsi_channel *c, bool late) {
  if (c->peer < 0 || c->peer >= transport->size)
    TSI_FAIL(transport->env, TRISTAR_ERR_ARGUMENT, "%s %d: no rank %d among %d", what, number, c->peer,
             transport->size);
  if (c->tag < 0 || c->tag > transport->tag_most)
    TSI_FAIL(transport->env, TRISTAR_ERR_ARGUMENT, "%s %d: tag %d is not in 0 .. %d", what, number, c->tag,
             transport->tag_most);
  if (c->bytes > INT_MAX)
    TSI_FAIL(transport->env, TRISTAR_ERR_TOO_LARGE, "%s %d: a message of %zu bytes", what, number, c->bytes);
  if (late && c->buffer != NULL)
    TSI_FAIL(transport->env, TRISTAR_ERR_ARGUMENT, "%s %d has a buffer before it is due", what, number);
  if (c->buffer == NULL && c->bytes > 0 && !late)
    TSI_FAIL(transport->env, TRISTAR_ERR_ARGUMENT, "%s %d: no buffer for %zu bytes", what, number, c->bytes);
  return TRISTAR_OK;
}

static int compare_channels(const void *a, const void *b) {
  const tsi_channel *x = a, *y = b;
  if (x->peer != y->peer) return x->peer < y->peer ? -1 : 1;
  return (x->tag > y->tag) - (x->tag < y->tag);
}

/* Checks each channel, and that no two have the same peer and tag. */
static tristar_status check_channels(const tsi_transport *transport, const char *what, tsi_index count,
                                     const tsi_channel *channel, bool late) {
  for (tsi_index k = 0; k < count; k++) TSI_TRY(check_channel(transport, what, k, &channel[k], late));
  TSI_SCRATCH(transport->env, tsi_channel, sorted, count);
  if (count > 0) memcpy(sorted, channel, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, compare_channels);
  for (tsi_index k = 1; k < count; k++)
    if (compare_channels(&sorted[k - 1], &sorted[k]) == 0)
      TSI_FAIL(transport->env, TRISTAR_ERR_ARGUMENT, "two %ss with rank %d have tag %d", what, sorted[k].peer,
               sorted[k].tag);
  return TRISTAR_OK;
}

/* ---- Life ---------------------------------------------------------------------------------------------- */

/* Properties of a mailbox, apart from its channels. */
typedef struct mailbox_kind {
  bool late;
  tsi_arrival arrived;
  tsi_departure departed;
  void *context;
} mailbox_kind;

static tristar_status create(tsi_transport *transport, tsi_index receives, const tsi_channel *receive,
                             tsi_index sends, const tsi_channel *send, const mailbox_kind *kind,
                             tsi_mailbox **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = transport->env;
  tsi_mailbox *mailbox = NULL;
  *out = NULL;
  if (receives < 0 || sends < 0 || receives > INT_MAX - sends || (receives > 0 && kind->arrived == NULL))
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "%d receives, %d sends", receives, sends);
  TSI_TRY_OUT(check_channels(transport, "receive", receives, receive, kind->late));
  TSI_TRY_OUT(check_channels(transport, "send", sends, send, kind->late));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, mailbox, 1));
  mailbox->env = env;
  mailbox->transport = transport;
  mailbox->receives = receives;
  mailbox->sends = sends;
  mailbox->late = kind->late;
  mailbox->arrived = kind->arrived;
  mailbox->departed = kind->departed;
  mailbox->context = kind->context;
  TSI_TRY_OUT(TSI_ALLOC_IN(mailbox, mailbox->channel, (size_t)receives + (size_t)sends));
  if (receives > 0) memcpy(mailbox->channel, receive, (size_t)receives * sizeof *receive);
  if (sends > 0) memcpy(mailbox->channel + receives, send, (size_t)sends * sizeof *send);
  TSI_TRY_OUT(transport->ops->open(mailbox));
  *out = mailbox;
out:
  if (status != TRISTAR_OK) tsi_mailbox_destroy(&mailbox);
  return status;
}

tristar_status tsi_mailbox_create(tsi_transport *transport, tsi_index receives, const tsi_channel *receive,
                                  tsi_index sends, const tsi_channel *send, tsi_arrival arrived,
                                  void *context, tsi_mailbox **out) {
  const mailbox_kind kind = {.arrived = arrived, .context = context};
  return create(transport, receives, receive, sends, send, &kind, out);
}

tristar_status tsi_mailbox_create_late(tsi_transport *transport, tsi_index receives,
                                       const tsi_channel *receive, tsi_index sends, const tsi_channel *send,
                                       tsi_arrival arrived, tsi_departure departed, void *context,
                                       tsi_mailbox **out) {
  const mailbox_kind kind = {true, arrived, departed, context};
  return create(transport, receives, receive, sends, send, &kind, out);
}

void tsi_mailbox_destroy(tsi_mailbox **mailbox) {
  if (*mailbox == NULL) return;
  tsi_env *env = (*mailbox)->env;
  pthread_mutex_lock(&(*mailbox)->transport->lock); /* the settling thread has released it */
  pthread_mutex_unlock(&(*mailbox)->transport->lock);
  (*mailbox)->transport->ops->close(*mailbox);
  TSI_FREE(env, *mailbox);
}

/* ---- Runs ---------------------------------------------------------------------------------------------- */

void tsi_mailbox_settle(tsi_mailbox *mailbox, int64_t count) {
  tsi_transport *transport = mailbox->transport;
  pthread_mutex_lock(&transport->lock);
  if (atomic_fetch_sub(&mailbox->pending, count) == count) pthread_cond_broadcast(&transport->changed);
  pthread_mutex_unlock(&transport->lock);
}

void tsi_mailbox_failed(tsi_mailbox *mailbox, tristar_status status) {
  tsi_failure_keep(mailbox->env, &mailbox->failure, status);
}

tristar_status tsi_mailbox_start(tsi_mailbox *mailbox, const bool *comes, tsi_index goes) {
  int64_t pending = goes;
  if (!tsi_mailbox_done(mailbox)) TSI_FAIL(mailbox->env, TRISTAR_ERR_INTERNAL, "a run is in flight already");
  tsi_failure_clear(&mailbox->failure);
  for (tsi_index k = 0; k < mailbox->receives; k++) pending += comes == NULL || comes[k];
  atomic_store(&mailbox->pending, pending);
  if (atomic_load(&mailbox->transport->broken))
    tsi_mailbox_failed(mailbox, tsi_fail(mailbox->env, TRISTAR_ERR_RUNTIME, __func__, __FILE__, __LINE__,
                                         "an earlier solve lost a message: distribute the factor anew"));
  mailbox->transport->ops->start(mailbox, comes);
  return TRISTAR_OK;
}

tristar_status tsi_mailbox_send(tsi_mailbox *mailbox, tsi_index send) {
  return mailbox->transport->ops->send(mailbox, send);
}

tristar_status tsi_mailbox_expect(tsi_mailbox *mailbox, tsi_index receive, void *buffer) {
  mailbox->channel[receive].buffer = buffer;
  return mailbox->transport->ops->expect(mailbox, receive);
}

tristar_status tsi_mailbox_send_from(tsi_mailbox *mailbox, tsi_index send, void *buffer) {
  mailbox->channel[mailbox->receives + send].buffer = buffer;
  return mailbox->transport->ops->send(mailbox, send);
}

void tsi_mailbox_progress(tsi_mailbox *mailbox) {
  if (mailbox->transport->ops->progress) mailbox->transport->ops->progress(mailbox);
}

bool tsi_mailbox_done(const tsi_mailbox *mailbox) {
  return atomic_load(&mailbox->pending) == 0;
}

#define YIELDS 20
#define NAP_SECONDS 5e-5

/* Sleeps until a run ends, but only for a moment: if all workers are busy, the caller must advance the
 * messages. */
static void nap(tsi_mailbox *mailbox) {
  const struct timespec until = tsi_wall_clock_in(NAP_SECONDS);
  pthread_mutex_lock(&mailbox->transport->lock);
  if (!tsi_mailbox_done(mailbox))
    (void)pthread_cond_timedwait(&mailbox->transport->changed, &mailbox->transport->lock, &until);
  pthread_mutex_unlock(&mailbox->transport->lock);
}

tristar_status tsi_mailbox_wait(tsi_mailbox *mailbox) {
  for (int turn = 0; !tsi_mailbox_done(mailbox); turn++) {
    tsi_mailbox_progress(mailbox);
    if (turn < YIELDS)
      sched_yield();
    else
      nap(mailbox);
  }
  return tsi_failure_report(mailbox->env, &mailbox->failure);
}
