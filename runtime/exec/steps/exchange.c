/* Packs, sends and receives messages: see exchange.h. */
#include "runtime/exec/steps/exchange.h"

#include "runtime/base/clock.h"

tristar_status tsi_exchange_create(tsi_env *env, const tsi_program *program, size_t row_bytes, int clocks,
                                   tsi_exchange **out) {
  TSI_OWNED tsi_exchange *exchange = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, exchange, 1));
  exchange->env = env;
  exchange->program = program;
  exchange->row_bytes = row_bytes;
  exchange->clocks = clocks;
  TSI_TRY(TSI_ALLOC_ZERO_IN(exchange, exchange->clock, clocks));
  TSI_TRY(TSI_ALLOC_SIZED_IN(exchange, exchange->inbox, program->inbox_rows, row_bytes));
  TSI_TRY(TSI_ALLOC_SIZED_IN(exchange, exchange->outbox, program->outbox_rows, row_bytes));
  TSI_TRY(TSI_ALLOC_IN(exchange, exchange->goes, program->sends));
  TSI_TRY(TSI_ALLOC_IN(exchange, exchange->sent, program->sends));
  TSI_TRY(TSI_ALLOC_IN(exchange, exchange->comes, program->receives));
  *out = tsi_take(&exchange);
  return TRISTAR_OK;
}

void tsi_exchange_fail(tsi_exchange *exchange, tristar_status status) {
  tsi_failure_keep(exchange->env, &exchange->failure, status);
}

bool tsi_exchange_failed(tsi_exchange *exchange) {
  return tsi_failure_exists(&exchange->failure);
}

/* ---- Messages ------------------------------------------------------------------------------------------ */

/* x of chunk k. */
static char *x_of(const tsi_exchange *exchange, const tsi_execution *e, tsi_index k) {
  return (char *)e->call.workspace + (size_t)e->forward->chunk[k].workspace * exchange->row_bytes;
}

/* Source of a message: x of its chunks, or the sum of their slices. */
static const char *source_of(const tsi_exchange *exchange, const tsi_execution *e, tsi_message_kind kind,
                             tsi_index k) {
  const tsi_solve_chunk *chunk = &e->forward->chunk[k];
  if (kind != TSI_MESSAGE_BACKWARD_SUM) return x_of(exchange, e, k);
  return x_of(exchange, e, k) + (size_t)(chunk->update + chunk->off_rows) * exchange->row_bytes;
}

static const char *inbox_row(const tsi_exchange *exchange, tsi_count row) {
  return (const char *)exchange->inbox + (size_t)row * exchange->row_bytes;
}

static void send_message(tsi_exchange *exchange, tsi_index m) {
  exchange->sent[m] = true;
  tsi_exchange_fail(exchange, exchange->port.send(exchange->port.context, m));
}

static void send_messages(tsi_exchange *exchange, const tsi_execution *e, tsi_index step) {
  const tsi_program *program = exchange->program;
  for (tsi_index m = program->send_ptr[step]; m < program->send_ptr[step + 1]; m++) {
    const tsi_message *message = &program->send[m];
    if (!exchange->goes[m]) continue;
    char *to = (char *)exchange->outbox + (size_t)message->row * exchange->row_bytes;
    for (tsi_count i = message->part; i < message->part + message->parts; i++) {
      const tsi_index k = program->part[i];
      const size_t bytes = (size_t)e->forward->chunk[k].columns * exchange->row_bytes;
      memcpy(to, source_of(exchange, e, message->kind, k), bytes);
      to += bytes;
    }
    send_message(exchange, m);
  }
}

/* After a failure, when no step runs any more: sends the messages of the steps that did not run, with the
 * present contents of the outbox. So no process waits for this one. The processes agree on the failure later.
 */
static void send_rest(tsi_exchange *exchange) {
  for (tsi_index m = 0; m < exchange->program->sends; m++)
    if (exchange->goes[m] && !exchange->sent[m]) send_message(exchange, m);
}

void tsi_exchange_wait(tsi_exchange *exchange, tsi_index message) {
  if (exchange->comes[message] && !tsi_failure_exists(&exchange->failure))
    tsi_exchange_fail(exchange, exchange->port.wait(exchange->port.context, message));
}

void tsi_exchange_take_x(const tsi_exchange *exchange, const tsi_execution *e, tsi_index k, bool backward) {
  const tsi_count row = (backward ? exchange->program->backward_x : exchange->program->forward_x)[k];
  if (!tsi_takes_part(&e->call, backward, k)) return;
  memcpy(x_of(exchange, e, k), inbox_row(exchange, row),
         (size_t)e->forward->chunk[k].columns * exchange->row_bytes);
}

void tsi_exchange_add(const tsi_exchange *exchange, const tsi_execution *e, tsi_index stage) {
  const tsi_program *program = exchange->program;
  const tsi_index m = program->exchange[stage];
  if (m == TSI_NONE) return;
  const tsi_message *message = &program->receive[m];
  tsi_count row = message->row;
  for (tsi_count i = message->part; i < message->part + message->parts; i++) {
    const tsi_index k = program->part[i], columns = e->forward->chunk[k].columns;
    e->nodes->add((tsi_count)columns * e->call.stride, inbox_row(exchange, row), x_of(exchange, e, k));
    row += columns;
  }
}

/* ---- A run --------------------------------------------------------------------------------------------- */

/* Whether a run has the message. */
static bool has_message(const tsi_message *message, const tsi_solve_call *call, const unsigned char *forward,
                        const unsigned char *backward) {
  const bool first = !call->read_backward, second = !call->write_forward; /* sweeps */
  switch (message->kind) {
  case TSI_MESSAGE_FORWARD_SUM:
  case TSI_MESSAGE_FORWARD_X:
    return first && (forward == NULL || forward[message->number]);
  case TSI_MESSAGE_BACKWARD_SUM:
  case TSI_MESSAGE_BACKWARD_X:
    return second && (backward == NULL || backward[message->number]);
  case TSI_MESSAGE_GRID_FORWARD:
    return first;
  case TSI_MESSAGE_GRID_BACKWARD:
    return second;
  default:
    return true;
  }
}

tsi_index tsi_exchange_sends(const tsi_exchange *exchange) {
  tsi_index count = 0;
  for (tsi_index m = 0; m < exchange->program->sends; m++) count += exchange->goes[m];
  return count;
}

void tsi_exchange_begin(tsi_exchange *exchange, const tsi_solve_call *call, const unsigned char *forward,
                        const unsigned char *backward) {
  const tsi_program *program = exchange->program;
  for (tsi_index m = 0; m < program->sends; m++)
    exchange->goes[m] = has_message(&program->send[m], call, forward, backward);
  for (tsi_index m = 0; m < program->receives; m++)
    exchange->comes[m] = has_message(&program->receive[m], call, forward, backward);
  exchange->begun = tsi_clock();
  for (int w = 0; w < exchange->clocks; w++)
    exchange->clock[w] = (tsi_worker_clock){.since = exchange->begun};
  atomic_store(&exchange->arrived, 0);
  tsi_failure_clear(&exchange->failure);
  memset(exchange->sent, 0, (size_t)exchange->program->sends * sizeof *exchange->sent);
}

void tsi_exchange_end(tsi_exchange *exchange) {
  if (tsi_failure_exists(&exchange->failure)) send_rest(exchange);
  tsi_exchange_fail(exchange, exchange->port.end(exchange->port.context));
}

void tsi_exchange_note_arrival(tsi_exchange *exchange, tsi_index message) {
  const bool between = exchange->program->receive[message].kind >= TSI_MESSAGE_EXCHANGE;
  atomic_store_explicit(&exchange->arrived_between, between, memory_order_relaxed);
  atomic_store_explicit(&exchange->arrived, tsi_clock(), memory_order_relaxed);
}

static tsi_worker_clock *clock_of(tsi_exchange *exchange, int worker) {
  return &exchange->clock[worker >= 0 && worker < exchange->clocks ? worker : 0];
}

/* The worker was idle since the end of its latest step. If a message arrived meanwhile, the worker is assumed
 * to have waited for it. */
bool tsi_exchange_begin_step(tsi_exchange *exchange, int worker, double *start) {
  tsi_worker_clock *clock = clock_of(exchange, worker);
  const double arrived = atomic_load_explicit(&exchange->arrived, memory_order_relaxed);
  const bool between = atomic_load_explicit(&exchange->arrived_between, memory_order_relaxed);
  *start = tsi_clock();
  clock->wait[arrived <= clock->since ? TSI_WAIT_OTHER
              : between               ? TSI_WAIT_Z
                                      : TSI_WAIT_XY] += *start - clock->since;
  return !tsi_failure_exists(&exchange->failure);
}

/* Records a step that began at `start` and has ended. Steps between the sweeps belong to neither. */
static void note_sweep(tsi_worker_clock *clock, tsi_step_kind kind, double start) {
  if (kind == TSI_STEP_EXCHANGE) return;
  if (tsi_step_is_forward(kind))
    clock->forward_end = clock->since;
  else if (clock->backward_begin == 0)
    clock->backward_begin = start;
}

void tsi_exchange_end_step(tsi_exchange *exchange, const tsi_execution *e, tsi_index step, int worker,
                           double start) {
  tsi_worker_clock *clock = clock_of(exchange, worker);
  send_messages(exchange, e, step);
  clock->since = tsi_clock();
  clock->compute += clock->since - start;
  note_sweep(clock, exchange->program->steps->step[step].kind, start);
  if (exchange->port.progress) exchange->port.progress(exchange->port.context);
}

void tsi_exchange_note_here(tsi_exchange *exchange, double seconds) {
  clock_of(exchange, -1)->compute += seconds;
}

static void split_wall(const tsi_exchange *exchange, tsi_process_times *times) {
  double end = exchange->begun, begin = exchange->begun + times->wall;
  for (int w = 0; w < exchange->clocks; w++) {
    const tsi_worker_clock *clock = &exchange->clock[w];
    if (clock->forward_end > end) end = clock->forward_end;
    if (clock->backward_begin > 0 && clock->backward_begin < begin) begin = clock->backward_begin;
  }
  times->forward = end - exchange->begun;
  times->backward = exchange->begun + times->wall - begin;
  times->between = times->forward > 0 && times->backward > 0 && begin > end ? begin - end : 0;
}

void tsi_exchange_times(const tsi_exchange *exchange, int workers, tsi_process_times *times) {
  *times = (tsi_process_times){.wall = tsi_clock() - exchange->begun};
  for (int w = 0; w < exchange->clocks; w++) {
    times->compute += exchange->clock[w].compute;
    times->xy += exchange->clock[w].wait[TSI_WAIT_XY];
    times->z += exchange->clock[w].wait[TSI_WAIT_Z];
  }
  times->idle = workers * times->wall - times->compute - times->xy - times->z;
  if (times->idle < 0) times->idle = 0;
  split_wall(exchange, times);
}
