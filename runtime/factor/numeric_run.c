/* Runs the steps of a factorization, alone or with other processes: a function for each kind of step, what is
 * sent and received, tasks. See numeric.h. */
#include "runtime/factor/numeric.h"
#include "runtime/starpu/blas.h"

#define FLOPS_PER_MICROSECOND 25e3

/* ---- Steps -------------------------------------------------------------------------------------------- */

static tsi_open_front *tiled_front(const tsi_numeric *numeric, const tsi_front_step *part) {
  return &numeric->tiled[part->tiled];
}

static void run_fronts(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_fronts_whole(numeric, part->first, part->last);
}
static void run_open(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_open(numeric, tiled_front(numeric, part));
}
static void run_assemble(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_assemble(numeric, tiled_front(numeric, part), part->column, part->column_end);
}
static void run_assembled(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_assembled(numeric, tiled_front(numeric, part));
}
static void run_diagonal(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_diagonal(numeric, &tiled_front(numeric, part)->front, part->panel);
}
static void run_below(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_tile(numeric, &tiled_front(numeric, part)->front, part->panel, false, part->row, part->row_end);
}
static void run_right(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_tile(numeric, &tiled_front(numeric, part)->front, part->panel, true, part->column,
                 part->column_end);
}
static void run_schur(tsi_numeric *numeric, const tsi_front_step *part) {
  if (tsi_numeric_failed(numeric)) return;
  numeric->kernels->schur(&tiled_front(numeric, part)->front, part->row, part->row_end, part->column,
                          part->column_end);
}
static void run_pack(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_pack(numeric, &tiled_front(numeric, part)->front, part->panel);
}
static void run_close(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_close(numeric, tiled_front(numeric, part));
}

static void (*const run_kind[TSI_STEP_KINDS])(tsi_numeric *numeric, const tsi_front_step *part) = {
    [TSI_STEP_SUBTREE] = run_fronts,
    [TSI_STEP_FRONT] = run_fronts,
    [TSI_STEP_FRONT_OPEN] = run_open,
    [TSI_STEP_FRONT_ASSEMBLE] = run_assemble,
    [TSI_STEP_FRONT_ASSEMBLED] = run_assembled,
    [TSI_STEP_FRONT_DIAGONAL] = run_diagonal,
    [TSI_STEP_FRONT_BELOW] = run_below,
    [TSI_STEP_FRONT_RIGHT] = run_right,
    [TSI_STEP_FRONT_SCHUR] = run_schur,
    [TSI_STEP_FRONT_PACK] = run_pack,
    [TSI_STEP_FRONT_CLOSE] = run_close,
};

/* ---- Messages ----------------------------------------------------------------------------------------- */

static void fail(tsi_numeric *numeric, tristar_status status) {
  tsi_failure_keep(numeric->env, &numeric->failure, status);
}

static tsi_count complement_scalars(const tsi_numeric *numeric, tsi_index s) {
  const tsi_symbolic *symbolic = numeric->analysis->symbolic;
  return tsi_complement_size((tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]), numeric->full);
}

tsi_count tsi_numeric_complement_scalars(const tsi_numeric *numeric, tsi_index s) {
  const tsi_index parent = numeric->dag->symbolic->parent[s], *owner = numeric->dag->owner;
  const bool travels = owner != NULL && parent != TSI_NONE && owner[s] != owner[parent];
  return complement_scalars(numeric, s) + travels;
}

/* Behind a complement that travels. */
static bool *failure_mark(const tsi_numeric *numeric, tsi_index s) {
  return (bool *)((char *)numeric->complement[s] +
                  (size_t)complement_scalars(numeric, s) * numeric->kernels->scalar_bytes);
}

static bool is_last_piece(const tsi_front_message *message) {
  return message->piece + 1 == message->pieces;
}

/* Scalars of all pieces of a complement but the last. */
static tsi_count piece_scalars(const tsi_numeric *numeric, const tsi_front_message *message) {
  const tsi_count all = complement_scalars(numeric, message->supernode);
  return (all + message->pieces - 1) / message->pieces;
}

/* With the last piece goes one scalar more, the failure mark. */
size_t tsi_numeric_piece_bytes(const tsi_numeric *numeric, const tsi_front_message *message) {
  const tsi_count all = complement_scalars(numeric, message->supernode),
                  part = piece_scalars(numeric, message);
  const tsi_count scalars = is_last_piece(message) ? all + 1 - message->piece * part : part;
  return (size_t)scalars * numeric->kernels->scalar_bytes;
}

/* Where it is in its complement, which is there. */
static char *piece_of(const tsi_numeric *numeric, const tsi_front_message *message) {
  return (char *)numeric->complement[message->supernode] +
         (size_t)(message->piece * piece_scalars(numeric, message)) * numeric->kernels->scalar_bytes;
}

static size_t largest_piece(const tsi_numeric *numeric, const tsi_front_message *message, tsi_index count) {
  size_t most = 0;
  for (tsi_index m = 0; m < count; m++) {
    const size_t bytes = tsi_numeric_piece_bytes(numeric, &message[m]);
    if (bytes > most) most = bytes;
  }
  return most;
}

tristar_status tsi_numeric_prepare_messages(tsi_numeric *numeric) {
  tristar_status status = TRISTAR_OK;
  const tsi_factorization *dag = numeric->dag;
  const size_t sent = largest_piece(numeric, dag->send, dag->sends);
  TSI_TRY(TSI_ALLOC_ZERO(numeric->env, numeric->sent, dag->sends));
  TSI_TRY(TSI_ALLOC(numeric->env, numeric->left, dag->sends));
  for (tsi_index m = 0; m < dag->sends; m++) atomic_init(&numeric->left[m], dag->send[m].pieces);
  TSI_TRY(TSI_ALLOC_ZERO(numeric->env, numeric->expected, dag->receives));
  TSI_TRY(TSI_ALLOC(numeric->env, numeric->refuse_piece, sent));
  memset(numeric->refuse_piece, true, sent);
  TSI_TRY(tsi_allocate(numeric->env, largest_piece(numeric, dag->receive, dag->receives), 1, __func__,
                       __FILE__, __LINE__, &numeric->waste_piece));
out:
  return status;
}

void tsi_numeric_release_messages(tsi_numeric *numeric) {
  TSI_FREE(numeric->env, numeric->sent);
  TSI_FREE(numeric->env, numeric->left);
  TSI_FREE(numeric->env, numeric->expected);
  TSI_FREE(numeric->env, numeric->refuse_piece);
  TSI_FREE(numeric->env, numeric->waste_piece);
}

static void send_piece(tsi_numeric *numeric, tsi_index m) {
  const tsi_front_message *message = &numeric->dag->send[m];
  const bool made = numeric->complement[message->supernode] != NULL;
  numeric->sent[m] = true;
  if (made && is_last_piece(message))
    *failure_mark(numeric, message->supernode) = tsi_numeric_failed(numeric);
  fail(numeric, numeric->port.send_from(numeric->port.context, m,
                                        made ? piece_of(numeric, message) : numeric->refuse_piece));
}

void tsi_numeric_departed(tsi_numeric *numeric, tsi_index sent) {
  const tsi_front_message *message = &numeric->dag->send[sent];
  if (atomic_fetch_sub(&numeric->left[sent - message->piece], 1) > 1) return;
  TSI_FREE(numeric->env, numeric->complement[message->supernode]);
}

/* Room for a complement that comes. Until that is there it counts as one of a process that failed. */
static tristar_status make_room(tsi_numeric *numeric, tsi_index s) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_allocate(numeric->env, (size_t)complement_scalars(numeric, s) + 1,
                       numeric->kernels->scalar_bytes, __func__, __FILE__, __LINE__,
                       &numeric->complement[s]));
  *failure_mark(numeric, s) = true;
out:
  return status;
}

/* After a failure nothing is made of what comes: it counts as there. */
static void expect_piece(tsi_numeric *numeric, tsi_index received) {
  const tsi_front_message *message = &numeric->dag->receive[received];
  if (message->piece == 0 && !tsi_numeric_failed(numeric))
    fail(numeric, make_room(numeric, message->supernode));
  numeric->expected[received] = numeric->complement[message->supernode] != NULL;
  if (numeric->expected[received])
    fail(numeric, numeric->port.receive_into(numeric->port.context, received, piece_of(numeric, message)));
  else if (numeric->tasks)
    fail(numeric, tsi_tasks_happen(numeric->tasks, message->step));
}

/* What arrives next, after this step; after TSI_NONE: what is first of all. */
static void expect_next(tsi_numeric *numeric, tsi_index step) {
  const tsi_factorization *dag = numeric->dag;
  for (tsi_index k = step == TSI_NONE ? 0 : step + 1;
       k < dag->steps->count && dag->steps->step[k].kind == TSI_STEP_ARRIVAL; k++)
    expect_piece(numeric, dag->part[k].message);
}

/* A failed process stops those that wait for it: what they have received is worth nothing. */
void tsi_numeric_arrived(tsi_numeric *numeric, tsi_index received) {
  const tsi_front_message *message = &numeric->dag->receive[received];
  if (!numeric->expected[received]) return;
  if (is_last_piece(message) && *failure_mark(numeric, message->supernode))
    atomic_store_explicit(&numeric->stopped, true, memory_order_release);
  if (numeric->tasks) fail(numeric, tsi_tasks_happen(numeric->tasks, message->step));
}

/* What nobody expects any more comes all the same, one after the other. */
static void waste(tsi_numeric *numeric) {
  const tsi_port *port = &numeric->port;
  for (tsi_index m = 0; m < numeric->dag->receives; m++) {
    if (numeric->expected[m]) continue;
    fail(numeric, port->receive_into(port->context, m, numeric->waste_piece));
    fail(numeric, port->wait(port->context, m));
  }
}

/* On the calling thread. */
static void wait_for(tsi_numeric *numeric, tsi_index received) {
  if (!tsi_numeric_failed(numeric)) fail(numeric, numeric->port.wait(numeric->port.context, received));
}

void tsi_numeric_run_step(tsi_numeric *numeric, tsi_index step) {
  const tsi_factorization *dag = numeric->dag;
  const tsi_front_step *part = &dag->part[step];
  if (dag->steps->step[step].kind == TSI_STEP_ARRIVAL)
    wait_for(numeric, part->message);
  else
    run_kind[dag->steps->step[step].kind](numeric, part);
  for (tsi_index m = dag->send_ptr[step]; m < dag->send_ptr[step + 1]; m++) send_piece(numeric, m);
  if (dag->steps->step[step].kind != TSI_STEP_ARRIVAL && numeric->port.begin) expect_next(numeric, step);
  if (numeric->port.progress) numeric->port.progress(numeric->port.context);
}

/* ---- A run -------------------------------------------------------------------------------------------- */

static void run_task(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_numeric_run_step(context, argument[0]);
}

tristar_status tsi_numeric_record(tsi_numeric *numeric) {
  tristar_status status = TRISTAR_OK;
  const tsi_factorization *dag = numeric->dag;
  const tsi_steps *steps = dag->steps;
  TSI_TRY(tsi_task_list_create(numeric->env, &numeric->list));
  for (tsi_index k = 0; k < steps->count; k++) {
    const tsi_step *step = &steps->step[k];
    const tsi_index argument[4] = {k, 0, 0, 0};
    tsi_index number;
    if (step->kind == TSI_STEP_ARRIVAL)
      TSI_TRY(tsi_task_list_add_event(numeric->list, tsi_step_name(step->kind), argument, &number));
    else
      TSI_TRY(tsi_task_list_add(numeric->list, tsi_step_name(step->kind), run_task, numeric, argument,
                                step->priority, 1 + dag->part[k].work / FLOPS_PER_MICROSECOND, &number));
  }
  for (tsi_count e = 0; e < steps->edges; e++)
    TSI_TRY(tsi_task_list_after(numeric->list, steps->edge[e].item, steps->edge[e].before));
  TSI_TRY(tsi_tasks_create(numeric->env, numeric->list, &numeric->tasks));
  TSI_TRY(tsi_tasks_record(numeric->tasks));
out:
  return status;
}

static tristar_status run_steps(tsi_numeric *numeric) {
  tristar_status status = TRISTAR_OK;
  if (numeric->tasks) TSI_TRY(tsi_tasks_run(numeric->tasks, false));
  for (tsi_index k = 0; !numeric->tasks && k < numeric->dag->steps->count; k++)
    tsi_numeric_run_step(numeric, k);
out:
  return status;
}

/* From tsi_port.begin to its end; the first failure is the numeric's. What the steps that did not run would
 * have sent and received is sent and received at the end, so that nobody waits. */
static void run_with_others(tsi_numeric *numeric) {
  const tsi_port *port = &numeric->port;
  if (numeric->tasks) fail(numeric, tsi_tasks_prepare(numeric->tasks));
  fail(numeric, port->begin(port->context, NULL, numeric->dag->sends));
  if (!tsi_failure_exists(&numeric->failure)) {
    expect_next(numeric, TSI_NONE);
    fail(numeric, run_steps(numeric));
  }
  for (tsi_index m = 0; m < numeric->dag->sends; m++)
    if (!numeric->sent[m]) send_piece(numeric, m);
  waste(numeric);
  fail(numeric, port->end(port->context));
}

/* Once per context. */
static void warn_of_blas(tristar_t *ts) {
  const char *took, *better;
  if (!tsi_blas_mistaken(&took, &better) || atomic_exchange(&ts->blas_told, true)) return;
  tsi_log(&ts->env, TRISTAR_LOG_WARNING,
          "OpenBLAS does not know this processor and takes it for a %s, which factors at half the speed: set "
          "OPENBLAS_CORETYPE=%s before the program starts",
          took, better);
}

tristar_status tsi_numeric_run(tsi_numeric *numeric) {
  tristar_status status = TRISTAR_OK;
  warn_of_blas(numeric->factor->ts);
  tsi_blas_acquire();
  if (numeric->port.begin)
    run_with_others(numeric);
  else
    status = run_steps(numeric);
  tsi_blas_release();
  return status;
}
