/* Runs the steps of a process: see process.h. */

#include "runtime/execute/exchange.h"
#include "runtime/solve/executor.h"
#include "runtime/solve/operation.h"
#include "runtime/solve/process.h"

struct tsi_process_run {
  tsi_process *process;
  tsi_execution execution;
  tsi_executor executor;
};

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
      .listed = !tasks, /* waiting for messages in another order could last for ever */
      .light = tasks ? tsi_bundles_light(steps, process->workers, TSI_BUNDLES_MESSAGES) : 0,
      .workers = process->workers};
  return tsi_executor_create(process->env, &run->execution, steps, grouping, tasks, &run->executor);
}

tristar_status tsi_process_run_create(tsi_process *process, tsi_index stride, tsi_process_run **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = process->env;
  tsi_process_run *run = NULL;
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
  TSI_TRY(tsi_allocate(env, (size_t)size, process->scalar_bytes, __func__, __FILE__, __LINE__,
                       &e->call.workspace));
  TSI_TRY(tsi_exchange_create(env, process->program, (size_t)stride * process->scalar_bytes,
                              process->workers > 0 ? tsi_starpu_workers() : 1, &e->exchange));
  TSI_TRY(record(run));
out:
  if (status != TRISTAR_OK) tsi_process_run_destroy(&run);
  *out = run;
  return status;
}

void tsi_process_run_destroy(tsi_process_run **run) {
  if (*run == NULL) return;
  tsi_env *env = (*run)->process->env;
  tsi_executor_release(env, &(*run)->executor);
  tsi_exchange_destroy(&(*run)->execution.exchange);
  TSI_FREE(env, (*run)->execution.call.workspace);
  TSI_FREE(env, *run);
}

void tsi_process_connect(tsi_process_run *run, const tsi_port *port) {
  run->execution.exchange->port = *port;
}

static void fill_call(tsi_process_run *run, tristar_op op, tsi_index nrhs, const void *b, void *x) {
  const tsi_process *process = run->process;
  const tsi_factor_kind *kind = &process->kind;
  const tsi_index columns = process->share->panels->start[process->share->panels->count];
  tsi_solve_call *call = &run->execution.call;
  const tsi_factor_parts parts = {.lu = kind->lu,
                                  .adjoint = kind->adjoint,
                                  .is_complex = tsi_sparse_kernels_select(kind->user_scalar)->is_complex,
                                  .lower = process->lower,
                                  .upper = process->upper,
                                  .pivots = process->pivoted ? process->pivots : NULL,
                                  .inverse = process->inverse,
                                  .row_scale = process->row_scale,
                                  .col_scale = process->col_scale};
  *call = (tsi_solve_call){.b = b,
                           .x = x,
                           .wide = kind->user_scalar != kind->factor_scalar,
                           .b_row = 1,
                           .b_column = columns,
                           .x_row = 1,
                           .x_column = columns,
                           .nrhs = nrhs,
                           .stride = call->stride,
                           .workspace = call->workspace,
                           .inbox = run->execution.exchange->inbox};
  (void)tsi_operation_choose(&parts, op, TRISTAR_PART_ALL, false, call);
}

tristar_status tsi_process_solve(tsi_process_run *run, tristar_op op, tsi_index nrhs, const void *b, void *x,
                                 tsi_process_times *times) {
  tsi_exchange *exchange = run->execution.exchange;
  tsi_tasks *tasks = run->executor.tasks;
  fill_call(run, op, nrhs, b, x);
  tsi_exchange_begin(exchange);
  tsi_exchange_fail(exchange, tsi_tasks_prepare(tasks));
  tsi_tasks_set_columns(tasks, nrhs);
  tsi_exchange_fail(exchange, exchange->port.begin(exchange->port.context));
  if (!tsi_failure_exists(&exchange->failure)) tsi_exchange_fail(exchange, tsi_tasks_run(tasks, false));
  tsi_exchange_end(exchange);
  const tristar_status status = tsi_failure_tell(exchange->env, &exchange->failure);
  if (times) tsi_exchange_times(exchange, run->process->workers > 0 ? run->process->workers : 1, times);
  return status;
}
