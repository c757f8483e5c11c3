/* Messages of a factorization: complements, parts of them and stripes, sent and received in pieces. See
 * numeric.h.
 *
 * The last piece ends with a failure mark, one scalar after the data of the parcel. Data from a process that
 * has failed are not used. */
#include "runtime/factor/numeric.h"

static void fail(tsi_numeric *numeric, tristar_status status) {
  tsi_failure_keep(numeric->env, &numeric->failure, status);
}

/* ---- Parcels ------------------------------------------------------------------------------------------ */

static const tsi_front_parcel *parcel_of(const tsi_numeric *numeric, bool receive,
                                         const tsi_front_message *message) {
  return (receive ? numeric->dag->in : numeric->dag->out) + message->parcel;
}

/* Scalars of the parcel without the mark. */
static tsi_count scalars_of(const tsi_numeric *numeric, const tsi_front_parcel *parcel) {
  return parcel->kind == TSI_PARCEL_WHOLE ? tsi_numeric_complement_size(numeric, parcel->supernode)
                                          : parcel->scalars;
}

static tsi_held_stripe *stripe_of(const tsi_numeric *numeric, const tsi_front_parcel *parcel) {
  return &numeric->tiled[parcel->tiled].stripe[parcel->tile];
}

/* Address of the parcel of a message; NULL: it has no memory. */
static char *memory_of(const tsi_numeric *numeric, bool receive, const tsi_front_message *message) {
  const tsi_front_parcel *parcel = parcel_of(numeric, receive, message);
  if (parcel->kind == TSI_PARCEL_WHOLE) return numeric->complement[parcel->supernode];
  if (parcel->kind == TSI_PARCEL_PART)
    return (receive ? numeric->in_part : numeric->out_part)[message->parcel];
  const tsi_held_stripe *stripe = stripe_of(numeric, parcel);
  if (stripe->memory == NULL) return NULL;
  return stripe->memory + (size_t)(parcel->skip - stripe->skip) * numeric->kernels->scalar_bytes;
}

/* Address of the failure mark of a parcel that has memory. */
static bool *failure_mark(const tsi_numeric *numeric, bool receive, const tsi_front_message *message) {
  const tsi_count scalars = scalars_of(numeric, parcel_of(numeric, receive, message));
  return (bool *)(memory_of(numeric, receive, message) + (size_t)scalars * numeric->kernels->scalar_bytes);
}

static bool is_last_piece(const tsi_front_message *message) {
  return message->piece + 1 == message->pieces;
}

/* Scalars of each piece of a parcel except the last. */
static tsi_count piece_scalars(const tsi_numeric *numeric, bool receive, const tsi_front_message *message) {
  const tsi_count all = scalars_of(numeric, parcel_of(numeric, receive, message));
  return (all + message->pieces - 1) / message->pieces;
}

size_t tsi_numeric_piece_bytes(const tsi_numeric *numeric, bool receive, const tsi_front_message *message) {
  const tsi_count all = scalars_of(numeric, parcel_of(numeric, receive, message));
  return (size_t)tsi_front_message_scalars(message, all) * numeric->kernels->scalar_bytes;
}

/* Address of the piece in its parcel, which has memory. */
static char *piece_of(const tsi_numeric *numeric, bool receive, const tsi_front_message *message) {
  return memory_of(numeric, receive, message) +
         (size_t)(message->piece * piece_scalars(numeric, receive, message)) * numeric->kernels->scalar_bytes;
}

/* ---- Life --------------------------------------------------------------------------------------------- */

static size_t largest_piece(const tsi_numeric *numeric, bool receive) {
  const tsi_front_message *message = receive ? numeric->dag->receive : numeric->dag->send;
  size_t most = 0;
  for (tsi_index m = 0; m < (receive ? numeric->dag->receives : numeric->dag->sends); m++) {
    const size_t bytes = tsi_numeric_piece_bytes(numeric, receive, &message[m]);
    if (bytes > most) most = bytes;
  }
  return most;
}

tristar_status tsi_numeric_prepare_messages(tsi_numeric *numeric) {
  const tsi_factorization *dag = numeric->dag;
  const size_t sent = largest_piece(numeric, false);
  TSI_TRY(TSI_ALLOC_ZERO_IN(numeric, numeric->sent, dag->sends));
  TSI_TRY(TSI_ALLOC_IN(numeric, numeric->left, dag->sends));
  for (tsi_index m = 0; m < dag->sends; m++) atomic_init(&numeric->left[m], dag->send[m].pieces);
  TSI_TRY(TSI_ALLOC_ZERO_IN(numeric, numeric->expected, dag->receives));
  TSI_TRY(TSI_ALLOC_IN(numeric, numeric->refuse_piece, sent));
  memset(numeric->refuse_piece, true, sent);
  TSI_TRY(TSI_ALLOC_SIZED_IN(numeric, numeric->waste_piece, largest_piece(numeric, true), 1));
  if (dag->teams == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_ZERO_IN(numeric, numeric->out_part, dag->outs));
  TSI_TRY(TSI_ALLOC_ZERO_IN(numeric, numeric->in_part, dag->ins));
  return tsi_stripes_prepare(numeric);
}

void tsi_numeric_release_messages(tsi_numeric *numeric) {
  tsi_env *env = numeric->env;
  for (tsi_index p = 0; numeric->out_part && p < numeric->dag->outs; p++) TSI_FREE(env, numeric->out_part[p]);
  for (tsi_index p = 0; numeric->in_part && p < numeric->dag->ins; p++) TSI_FREE(env, numeric->in_part[p]);
  tsi_stripes_release(numeric);
}

/* ---- Sending ------------------------------------------------------------------------------------------ */

/* Sets the failure marks of messages first .. end - 1 that are not sent yet. This happens before any of them
 * is sent, as several may use the same stripe. */
static void mark_pieces(tsi_numeric *numeric, tsi_index first, tsi_index end) {
  if (numeric->dry) return;
  for (tsi_index m = first; m < end; m++) {
    const tsi_front_message *message = &numeric->dag->send[m];
    if (!numeric->sent[m] && is_last_piece(message) && memory_of(numeric, false, message))
      *failure_mark(numeric, false, message) = tsi_numeric_failed(numeric);
  }
}

static void send_pieces(tsi_numeric *numeric, tsi_index first, tsi_index end) {
  mark_pieces(numeric, first, end);
  for (tsi_index m = first; m < end; m++) {
    const tsi_front_message *message = &numeric->dag->send[m];
    if (numeric->sent[m]) continue;
    numeric->sent[m] = true;
    const bool made = memory_of(numeric, false, message) != NULL;
    fail(numeric, numeric->port.send_from(numeric->port.context, m,
                                          made ? piece_of(numeric, false, message) : numeric->refuse_piece));
  }
}

void tsi_numeric_send(tsi_numeric *numeric, tsi_index step) {
  send_pieces(numeric, numeric->dag->send_ptr[step], numeric->dag->send_ptr[step + 1]);
}

void tsi_numeric_departed(tsi_numeric *numeric, tsi_index sent) {
  const tsi_front_message *message = &numeric->dag->send[sent];
  const tsi_front_parcel *parcel = parcel_of(numeric, false, message);
  if (atomic_fetch_sub(&numeric->left[sent - message->piece], 1) > 1) return;
  if (parcel->kind == TSI_PARCEL_WHOLE)
    TSI_FREE(numeric->env, numeric->complement[parcel->supernode]);
  else if (parcel->kind == TSI_PARCEL_PART)
    TSI_FREE(numeric->env, numeric->out_part[message->parcel]);
  else
    tsi_stripe_use_up(numeric, stripe_of(numeric, parcel));
}

/* ---- Receiving ---------------------------------------------------------------------------------------- */

/* Allocates an incoming parcel. Until it is received, it counts as the parcel of a failed process. */
static tristar_status make_space(tsi_numeric *numeric, const tsi_front_message *message) {
  const tsi_front_parcel *parcel = parcel_of(numeric, true, message);
  const tsi_count scalars = scalars_of(numeric, parcel) + 1;
  if (parcel->kind == TSI_PARCEL_STRIPE)
    TSI_TRY(tsi_stripe_make_space(numeric, &numeric->tiled[parcel->tiled], parcel->tile, parcel->skip));
  else if (parcel->kind == TSI_PARCEL_PART)
    TSI_TRY(tsi_front_allocate(numeric, scalars, &numeric->in_part[message->parcel]));
  else
    TSI_TRY(tsi_front_allocate(numeric, scalars, &numeric->complement[parcel->supernode]));
  if (!numeric->dry) *failure_mark(numeric, true, message) = true;
  return TRISTAR_OK;
}

/* Posts the receive of a piece. After a failure without memory for it, it counts as received. */
static void expect_piece(tsi_numeric *numeric, tsi_index received) {
  const tsi_front_message *message = &numeric->dag->receive[received];
  if (message->piece == 0 && !tsi_numeric_failed(numeric)) fail(numeric, make_space(numeric, message));
  numeric->expected[received] = memory_of(numeric, true, message) != NULL;
  if (numeric->expected[received])
    fail(numeric,
         numeric->port.receive_into(numeric->port.context, received, piece_of(numeric, true, message)));
  else if (numeric->tasks)
    fail(numeric, tsi_tasks_happen(numeric->tasks, message->step));
}

void tsi_numeric_expect_next(tsi_numeric *numeric, tsi_index step) {
  const tsi_factorization *dag = numeric->dag;
  for (tsi_index k = step == TSI_NONE ? 0 : step + 1;
       k < dag->steps->count && dag->steps->step[k].kind == TSI_STEP_ARRIVAL; k++)
    expect_piece(numeric, dag->part[k].message);
}

/* The parcel of a failed process stops this process, too: its other data are useless then. */
void tsi_numeric_arrived(tsi_numeric *numeric, tsi_index received) {
  const tsi_front_message *message = &numeric->dag->receive[received];
  if (!numeric->expected[received]) return;
  if (!numeric->dry && is_last_piece(message) && *failure_mark(numeric, true, message))
    atomic_store_explicit(&numeric->stopped, true, memory_order_release);
  if (numeric->tasks) fail(numeric, tsi_tasks_happen(numeric->tasks, message->step));
}

/* Receives all messages that were not expected, one after the other, and discards them. */
static void waste(tsi_numeric *numeric) {
  const tsi_port *port = &numeric->port;
  for (tsi_index m = 0; m < numeric->dag->receives; m++) {
    if (numeric->expected[m]) continue;
    fail(numeric, port->receive_into(port->context, m, numeric->waste_piece));
    fail(numeric, port->wait(port->context, m));
  }
}

void tsi_numeric_send_rest(tsi_numeric *numeric) {
  send_pieces(numeric, 0, numeric->dag->sends);
  waste(numeric);
}
