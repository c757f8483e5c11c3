/* Runs the steps of a process: see process.h. */

#include "runtime/exec/steps/exchange.h"
#include "runtime/solve/device_subtrees.h"
#include "runtime/process/process.h"

#include "runtime/base/clock.h"

struct tsi_process_run {
  tsi_process *process;
  tsi_execution execution;
  tsi_executor executor;
  tsi_replay_subtrees *subtrees; /* NULL: nothing runs on devices */
  unsigned char *part[2];        /* local chunks: active in each direction */
  tsi_solve_sparse sparse;
  tristar_status (*sweeps)(void *context, const tsi_solve_call *call); /* NULL: run the recorded steps */
  void *sweeps_context;
};

tsi_index tsi_process_stride(const tsi_process_run *run) {
  return run->execution.call.stride;
}

const tsi_executor *tsi_process_executor(const tsi_process_run *run) {
  return &run->executor;
}

void *tsi_process_inbox(tsi_process_run *run) {
  return run->execution.exchange->inbox;
}
void *tsi_process_outbox(tsi_process_run *run) {
  return run->execution.exchange->outbox;
}

void tsi_process_arrived(tsi_process_run *run, tsi_index message) {
  tsi_exchange *exchange = run->execution.exchange;
  tsi_exchange_note_arrival(exchange, message);
  if (run->process->workers > 0)
    tsi_exchange_fail(exchange,
                      tsi_tasks_happen(run->executor.tasks, run->executor.recording.event[message]));
}

static tristar_status record(tsi_process_run *run) {
  const tsi_process *process = run->process;
  const tsi_steps *steps = process->program->steps;
  const bool tasks = process->workers > 0;
  const tsi_grouping grouping = {
      .listed = !tasks, /* with messages in another order, a step could wait forever */
      .light = tasks ? tsi_bundles_light(steps, process->workers, TSI_BUNDLES_MESSAGES) : 0,
      .workers = process->workers};
  return tsi_executor_create(process->env, &run->execution, steps, grouping, tasks, &run->executor);
}

tristar_status tsi_process_run_create(tsi_process *process, tsi_index stride, tsi_process_run **out) {
  tsi_env *env = process->env;
  TSI_CLEANUP(tsi_process_run_destroy) tsi_process_run *run = NULL;
  tsi_count size;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, run, 1));
  run->process = process;
  tsi_execution *e = &run->execution;
  *e = (tsi_execution){.nodes = process->nodes, .forward = &process->data, .backward = &process->data};
  e->call.stride = stride;
  if (!tsi_count_mul(process->tables.workspace_rows, stride, &size))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld rows of %d right-hand sides",
             (long long)process->tables.workspace_rows, stride);
  TSI_TRY(TSI_ALLOC_SIZED(env, e->call.workspace, size, process->scalar_bytes));
  TSI_TRY(tsi_exchange_create(env, process->program, (size_t)stride * process->scalar_bytes,
                              process->workers > 0 ? tsi_starpu_workers() : 1, &e->exchange));
  for (int k = 0; k < 2; k++) TSI_TRY(TSI_ALLOC_IN(run, run->part[k], process->share->chunks->count));
  if (process->subtrees) TSI_TRY(tsi_device_subtree_data_create(process->subtrees, e, &run->subtrees));
  TSI_TRY(record(run));
  *out = tsi_take(&run);
  return TRISTAR_OK;
}

void tsi_process_run_destroy(tsi_process_run **run) {
  if (*run == NULL) return;
  tsi_env *env = (*run)->process->env;
  tsi_executor_release(env, &(*run)->executor);
  tsi_device_subtree_data_destroy(&(*run)->execution, &(*run)->subtrees);
  TSI_FREE(env, (*run)->execution.exchange);
  TSI_FREE(env, (*run)->execution.call.workspace);
  for (int k = 0; k < 2; k++) TSI_FREE(env, (*run)->part[k]);
  TSI_FREE(env, *run);
}

void tsi_process_connect(tsi_process_run *run, const tsi_port *port) {
  run->execution.exchange->port = *port;
}

void tsi_process_set_sweeps(tsi_process_run *run,
                            tristar_status (*sweeps)(void *context, const tsi_solve_call *call),
                            void *context) {
  run->sweeps = sweeps;
  run->sweeps_context = context;
}

static tsi_factor_parts parts_of(const tsi_process *process) {
  const tsi_factor_kind *kind = &process->kind;
  return (tsi_factor_parts){.lu = kind->lu,
                            .adjoint = kind->adjoint,
                            .is_complex = tsi_sparse_kernels_select(kind->user_scalar)->is_complex,
                            .imported = kind->imported,
                            .lower = process->lower,
                            .upper = process->upper,
                            .pivots = process->pivoted ? process->pivots : NULL,
                            .inverse = process->inverse,
                            .row_scale = process->row_scale,
                            .col_scale = process->col_scale};
}

tsi_operation tsi_process_operation(const tsi_process *process, const tsi_process_call *call) {
  const tsi_factor_parts parts = parts_of(process);
  tsi_solve_call unused = {.nrhs = 0};
  return tsi_operation_choose(&parts, call->op, call->part, call->factor_order, &unused);
}

static tsi_operation fill_call(tsi_process_run *run, const tsi_process_call *from) {
  const tsi_process *process = run->process;
  const tsi_factor_parts parts = parts_of(process);
  const tsi_index columns = process->share->panels->start[process->share->panels->count];
  tsi_solve_call *call = &run->execution.call;
  *call = (tsi_solve_call){.b = from->b,
                           .x = from->x,
                           .wide = process->kind.user_scalar != process->kind.factor_scalar,
                           .b_row = 1,
                           .b_column = columns,
                           .x_row = 1,
                           .x_column = columns,
                           .nrhs = from->nrhs,
                           .stride = call->stride,
                           .workspace = call->workspace,
                           .inbox = run->execution.exchange->inbox};
  return tsi_operation_choose(&parts, from->op, from->part, from->factor_order, call);
}

/* Selects the active chunks of the share. */
static void choose_chunks(tsi_process_run *run, const tsi_process_call *call) {
  const tsi_share *share = run->process->share;
  if (call->forward == NULL) return;
  for (tsi_index k = 0; k < share->chunks->count; k++) {
    run->part[0][k] = call->forward[share->chunk[k]];
    run->part[1][k] = call->backward[share->chunk[k]];
  }
  run->sparse = (tsi_solve_sparse){.forward = run->part[0], .backward = run->part[1]};
  run->execution.call.sparse = &run->sparse;
}

/* Lets the arrivals happen whose messages this run does not have. */
static void skip_messages(tsi_process_run *run) {
  tsi_exchange *exchange = run->execution.exchange;
  if (run->process->workers == 0) return;
  for (tsi_index m = 0; m < exchange->program->receives; m++)
    if (!exchange->comes[m])
      tsi_exchange_fail(exchange, tsi_tasks_happen(run->executor.tasks, run->executor.recording.event[m]));
}

static void run_sweeps(tsi_process_run *run) {
  tsi_exchange *exchange = run->execution.exchange;
  const tsi_port *port = &exchange->port;
  tsi_tasks *tasks = run->executor.tasks;
  tsi_exchange_fail(exchange, tsi_tasks_prepare(tasks));
  tsi_tasks_set_columns(tasks, run->execution.call.nrhs);
  tsi_exchange_fail(exchange, port->begin(port->context, exchange->comes, tsi_exchange_sends(exchange)));
  if (port->inbox) run->execution.call.inbox = exchange->inbox = port->inbox(port->context);
  skip_messages(run);
  if (!tsi_failure_exists(&exchange->failure)) tsi_exchange_fail(exchange, tsi_tasks_run(tasks, false));
  tsi_exchange_end(exchange);
}

/* The function `sweeps` sends all messages; after a failure the port sends them. */
static void run_sweeps_elsewhere(tsi_process_run *run) {
  tsi_exchange *exchange = run->execution.exchange;
  const tsi_port *port = &exchange->port;
  const double begin = tsi_clock();
  tsi_exchange_fail(exchange, port->begin(port->context, exchange->comes, tsi_exchange_sends(exchange)));
  if (!tsi_failure_exists(&exchange->failure))
    tsi_exchange_fail(exchange, run->sweeps(run->sweeps_context, &run->execution.call));
  if (!tsi_failure_exists(&exchange->failure))
    memcpy(exchange->sent, exchange->goes, (size_t)exchange->program->sends * sizeof *exchange->sent);
  tsi_exchange_note_here(exchange, tsi_clock() - begin);
  tsi_exchange_end(exchange);
}

/* Solves with D only: each process has all its data. */
static void run_diagonal(tsi_process_run *run) {
  const tsi_process *process = run->process;
  const double begin = tsi_clock();
  for (tsi_index k = 0; k < process->share->chunks->count; k++)
    if (process->home[k]) process->nodes->diagonal_chunk(&process->data, &run->execution.call, k);
  tsi_exchange_note_here(run->execution.exchange, tsi_clock() - begin);
}

tristar_status tsi_process_solve(tsi_process_run *run, const tsi_process_call *call,
                                 tsi_process_times *times) {
  tsi_exchange *exchange = run->execution.exchange;
  const tsi_operation operation = fill_call(run, call);
  choose_chunks(run, call);
  tsi_exchange_begin(exchange, &run->execution.call, call->forward, call->backward);
  if (operation.diagonal)
    run_diagonal(run);
  else if (run->sweeps)
    run_sweeps_elsewhere(run);
  else
    run_sweeps(run);
  const tristar_status status = tsi_failure_report(exchange->env, &exchange->failure);
  if (times) tsi_exchange_times(exchange, run->process->workers > 0 ? run->process->workers : 1, times);
  return status;
}

const bool *tsi_process_sent(const tsi_process_run *run) {
  return run->execution.exchange->sent;
}
