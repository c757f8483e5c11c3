/* Runs the steps of a process: see process.h. */

#include "runtime/base/clock.h"
#include "runtime/solve/operation.h"
#include "runtime/solve/process.h"

/* Why a worker may have had nothing to do. */
typedef enum wait_reason { WAIT_XY, WAIT_Z, WAIT_OTHER, WAIT_REASONS } wait_reason;

/* Of one worker; written by it alone. */
typedef struct worker_clock {
  double since; /* the end of its latest step, or the start of the solve */
  double compute, wait[WAIT_REASONS];
  char apart[TSI_CACHE_LINE - 8]; /* so that two never share a cache line */
} worker_clock;

struct tsi_process_run {
  tsi_process *process;
  tsi_solve_call call;
  void *inbox, *outbox;
  tsi_port port;
  tsi_bundles *bundles;
  tsi_tasks *tasks;
  tsi_index *event;    /* received messages: their task */
  worker_clock *clock; /* workers, or the calling thread */
  int clocks;
  _Atomic(double) arrived;    /* when the latest message came */
  atomic_int arrived_between; /* it was one between grids */
  tsi_failure failure;        /* the first one */
  bool *sent;                 /* messages: this run has sent it */
};

static size_t row_bytes(const tsi_process_run *run) {
  return (size_t)run->call.stride * run->process->scalar_bytes;
}

void *tsi_process_inbox(tsi_process_run *run) {
  return run->inbox;
}
void *tsi_process_outbox(tsi_process_run *run) {
  return run->outbox;
}

/* x of local chunk k. */
static char *x_of(const tsi_process_run *run, tsi_index k) {
  return (char *)run->call.workspace + (size_t)run->process->tables.chunk[k].workspace * row_bytes(run);
}

/* What a message of a kind is made of: x of its chunks, or the sum of their slices. */
static const char *source_of(const tsi_process_run *run, tsi_message_kind kind, tsi_index k) {
  const tsi_solve_chunk *chunk = &run->process->tables.chunk[k];
  if (kind != TSI_MESSAGE_BACKWARD_SUM) return x_of(run, k);
  return x_of(run, k) + (size_t)(chunk->update + chunk->off_rows) * row_bytes(run);
}

static void fail(tsi_process_run *run, tristar_status status) {
  tsi_failure_keep(run->process->env, &run->failure, status);
}

static void send_message(tsi_process_run *run, tsi_index m) {
  run->sent[m] = true;
  fail(run, run->port.send(run->port.context, m));
}

static void send_messages(tsi_process_run *run, tsi_index step) {
  const tsi_program *program = run->process->program;
  for (tsi_index m = program->send_ptr[step]; m < program->send_ptr[step + 1]; m++) {
    const tsi_message *message = &program->send[m];
    char *to = (char *)run->outbox + (size_t)message->row * row_bytes(run);
    for (tsi_count i = message->part; i < message->part + message->parts; i++) {
      const tsi_index k = program->part[i];
      const size_t bytes = (size_t)run->process->tables.chunk[k].columns * row_bytes(run);
      memcpy(to, source_of(run, message->kind, k), bytes);
      to += bytes;
    }
    send_message(run, m);
  }
}

/* After a failure, when no step runs any more: what the steps that did not run would have sent, whatever
 * stands in the outbox. So nobody waits for this process; that the result is worth nothing the processes tell
 * each other. */
static void send_rest(tsi_process_run *run) {
  for (tsi_index m = 0; m < run->process->program->sends; m++)
    if (!run->sent[m]) send_message(run, m);
}

/* x of chunk k has arrived in this row of the inbox. */
static void take_x(tsi_process_run *run, tsi_index k, tsi_count row) {
  memcpy(x_of(run, k), (const char *)run->inbox + (size_t)row * row_bytes(run),
         (size_t)run->process->tables.chunk[k].columns * row_bytes(run));
}

static void add_exchanged(tsi_process_run *run, tsi_index stage) {
  const tsi_program *program = run->process->program;
  const tsi_index m = program->exchange[stage];
  if (m == TSI_NONE) return;
  const tsi_message *message = &program->receive[m];
  tsi_count row = message->row;
  for (tsi_count i = message->part; i < message->part + message->parts; i++) {
    const tsi_index k = program->part[i], columns = run->process->tables.chunk[k].columns;
    run->process->nodes->add((tsi_count)columns * run->call.stride,
                             (const char *)run->inbox + (size_t)row * row_bytes(run), x_of(run, k));
    row += columns;
  }
}

static void run_kind(tsi_process_run *run, const tsi_step *step) {
  const tsi_process *process = run->process;
  const tsi_node_kernels *nodes = process->nodes;
  const tsi_index k = step->argument;
  switch (step->kind) {
  case TSI_STEP_FORWARD_CHUNK:
    nodes->forward_chunk(&process->data, &run->call, k);
    break;
  case TSI_STEP_FORWARD_SLICE:
    nodes->forward_slice(&process->data, &run->call, k);
    break;
  case TSI_STEP_FORWARD_SUM:
    nodes->forward_sum(&process->data, &run->call, k);
    break;
  case TSI_STEP_FORWARD_RECEIVE:
    take_x(run, k, process->program->forward_x[k]);
    break;
  case TSI_STEP_BACKWARD_CHUNK:
    nodes->backward_chunk(&process->data, &run->call, k);
    break;
  case TSI_STEP_BACKWARD_SLICE:
    nodes->backward_slice(&process->data, &run->call, k);
    break;
  case TSI_STEP_BACKWARD_SUM:
    nodes->backward_sum(&process->data, &run->call, k);
    break;
  case TSI_STEP_BACKWARD_RECEIVE:
    take_x(run, k, process->program->backward_x[k]);
    break;
  case TSI_STEP_EXCHANGE:
    add_exchanged(run, k);
    break;
  default: /* only sends */
    break;
  }
}

static worker_clock *clock_of(tsi_process_run *run, int worker) {
  return &run->clock[worker >= 0 && worker < run->clocks ? worker : 0];
}

/* A worker had nothing to do from clock->since to now: if a message came meanwhile, it waited for that one.
 */
static void note_wait(tsi_process_run *run, worker_clock *clock, double now) {
  const double arrived = atomic_load_explicit(&run->arrived, memory_order_relaxed);
  const bool between = atomic_load_explicit(&run->arrived_between, memory_order_relaxed);
  clock->wait[arrived <= clock->since ? WAIT_OTHER : between ? WAIT_Z : WAIT_XY] += now - clock->since;
}

static void run_step(tsi_process_run *run, tsi_index number, int worker) {
  const tsi_step *step = &run->process->program->steps->step[number];
  worker_clock *clock = clock_of(run, worker);
  const double start = tsi_clock();
  note_wait(run, clock, start);
  run_kind(run, step);
  send_messages(run, number);
  clock->since = tsi_clock();
  clock->compute += clock->since - start;
  if (run->port.progress) run->port.progress(run->port.context);
}

static void run_bundle(void *context, const tsi_index argument[4], int worker) {
  tsi_process_run *run = context;
  const tsi_bundles *bundles = run->bundles;
  for (tsi_index q = bundles->ptr[argument[0]]; q < bundles->ptr[argument[0] + 1]; q++)
    run_step(run, bundles->item[q], worker);
}

/* All steps on the calling thread, in their order. */
static tristar_status run_here(tsi_process_run *run) {
  tristar_status status = TRISTAR_OK;
  const tsi_steps *steps = run->process->program->steps;
  for (tsi_index k = 0; k < steps->count; k++)
    if (steps->step[k].kind == TSI_STEP_ARRIVAL)
      TSI_TRY(run->port.wait(run->port.context, steps->step[k].argument));
    else
      run_step(run, k, -1);
out:
  return status;
}

static bool is_between_grids(const tsi_message *message) {
  return message->kind >= TSI_MESSAGE_EXCHANGE;
}

void tsi_process_arrived(tsi_process_run *run, tsi_index message) {
  atomic_store_explicit(&run->arrived_between, is_between_grids(&run->process->program->receive[message]),
                        memory_order_relaxed);
  atomic_store_explicit(&run->arrived, tsi_clock(), memory_order_relaxed);
  if (run->tasks == NULL) return;
  fail(run, tsi_tasks_happen(run->tasks, run->event[message]));
}

/* ---- Recording ---------------------------------------------------------------------------------------- */

static tristar_status add_bundle(tsi_process_run *run, tsi_index b) {
  const tsi_bundles *bundles = run->bundles;
  const tsi_index first = bundles->item[bundles->ptr[b]];
  const tsi_index size = bundles->ptr[b + 1] - bundles->ptr[b];
  const tsi_step *step = run->process->program->steps->step;
  const tsi_index argument[4] = {b, 0, 0, 0};
  tsi_index number;
  double priority, bytes;
  if (step[first].kind == TSI_STEP_ARRIVAL) {
    run->event[step[first].argument] = b;
    return tsi_tasks_add_event(run->tasks, tsi_step_name(TSI_STEP_ARRIVAL), &number);
  }
  tsi_bundle_weigh(bundles, run->process->program->steps, b, &priority, &bytes);
  return tsi_tasks_add(run->tasks, size > 1 ? "bundle" : tsi_step_name(step[first].kind), run_bundle, run,
                       argument, priority, tsi_task_microseconds(bytes), &number);
}

static tristar_status record(tsi_process_run *run) {
  tristar_status status = TRISTAR_OK;
  const tsi_process *process = run->process;
  tsi_env *env = process->env;
  /* on the calling thread tasks cost nothing, and the order of the steps must be kept */
  const double light = process->workers > 0 ? tsi_bundles_light(process->program->steps, process->workers,
                                                                TSI_BUNDLES_MESSAGES)
                                            : 0;
  TSI_TRY(tsi_bundles_create(env, process->program->steps, light, process->workers, &run->bundles));
  TSI_TRY(tsi_tasks_create(env, &run->tasks));
  TSI_TRY(TSI_ALLOC(env, run->event, process->program->receives));
  for (tsi_index b = 0; b < run->bundles->count; b++) TSI_TRY(add_bundle(run, b));
  for (tsi_count e = 0; e < run->bundles->edges; e++)
    TSI_TRY(tsi_tasks_after(run->tasks, run->bundles->edge[e].item, run->bundles->edge[e].before));
  TSI_TRY(tsi_tasks_record(run->tasks));
out:
  return status;
}

static tristar_status allocate_rows(const tsi_process_run *run, tsi_count rows, void **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = run->process->env;
  tsi_count size;
  if (!tsi_count_mul(rows, run->call.stride, &size))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld rows of %d right-hand sides", (long long)rows,
             run->call.stride);
  TSI_TRY(tsi_allocate(env, (size_t)size, run->process->scalar_bytes, __func__, __FILE__, __LINE__, out));
out:
  return status;
}

tristar_status tsi_process_run_create(tsi_process *process, tsi_index stride, tsi_process_run **out) {
  tristar_status status = TRISTAR_OK;
  tsi_process_run *run = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(process->env, run, 1));
  run->process = process;
  run->call.stride = stride;
  run->clocks = process->workers > 0 ? tsi_starpu_workers() : 1;
  TSI_TRY(TSI_ALLOC_ZERO(process->env, run->clock, run->clocks));
  TSI_TRY(allocate_rows(run, process->tables.workspace_rows, &run->call.workspace));
  TSI_TRY(allocate_rows(run, process->program->inbox_rows, &run->inbox));
  TSI_TRY(allocate_rows(run, process->program->outbox_rows, &run->outbox));
  TSI_TRY(TSI_ALLOC(process->env, run->sent, process->program->sends));
  if (process->workers > 0) TSI_TRY(record(run));
out:
  if (status != TRISTAR_OK) tsi_process_run_destroy(&run);
  *out = run;
  return status;
}

void tsi_process_run_destroy(tsi_process_run **run) {
  if (*run == NULL) return;
  tsi_process_run *r = *run;
  tsi_env *env = r->process->env;
  tsi_tasks_destroy(&r->tasks);
  tsi_bundles_destroy(env, &r->bundles);
  TSI_FREE(env, r->event);
  TSI_FREE(env, r->clock);
  TSI_FREE(env, r->call.workspace);
  TSI_FREE(env, r->inbox);
  TSI_FREE(env, r->outbox);
  TSI_FREE(env, r->sent);
  TSI_FREE(env, *run);
}

void tsi_process_connect(tsi_process_run *run, const tsi_port *port) {
  run->port = *port;
}

/* ---- Solving ------------------------------------------------------------------------------------------ */

static void fill_call(tsi_process_run *run, tristar_op op, tsi_index nrhs, const void *b, void *x) {
  const tsi_process *process = run->process;
  const tsi_factor_kind *kind = &process->kind;
  const tsi_index columns = process->share->panels->start[process->share->panels->count];
  const tsi_factor_parts parts = {.lu = kind->lu,
                                  .adjoint = kind->adjoint,
                                  .is_complex = tsi_sparse_kernels_select(kind->user_scalar)->is_complex,
                                  .lower = process->lower,
                                  .upper = process->upper,
                                  .pivots = process->pivoted ? process->pivots : NULL,
                                  .inverse = process->inverse,
                                  .row_scale = process->row_scale,
                                  .col_scale = process->col_scale};
  run->call = (tsi_solve_call){.b = b,
                               .x = x,
                               .wide = kind->user_scalar != kind->factor_scalar,
                               .b_row = 1,
                               .b_column = columns,
                               .x_row = 1,
                               .x_column = columns,
                               .nrhs = nrhs,
                               .stride = run->call.stride,
                               .workspace = run->call.workspace,
                               .inbox = run->inbox};
  (void)tsi_operation_choose(&parts, op, TRISTAR_PART_ALL, false, &run->call);
}

static void sum_times(const tsi_process_run *run, double wall, tsi_process_times *times) {
  const int workers = run->process->workers > 0 ? run->process->workers : 1;
  *times = (tsi_process_times){.wall = wall};
  for (int w = 0; w < run->clocks; w++) {
    times->compute += run->clock[w].compute;
    times->xy += run->clock[w].wait[WAIT_XY];
    times->z += run->clock[w].wait[WAIT_Z];
  }
  times->idle = workers * wall - times->compute - times->xy - times->z;
  if (times->idle < 0) times->idle = 0;
}

tristar_status tsi_process_solve(tsi_process_run *run, tristar_op op, tsi_index nrhs, const void *b, void *x,
                                 tsi_process_times *times) {
  tristar_status status = TRISTAR_OK;
  const tsi_process *process = run->process;
  fill_call(run, op, nrhs, b, x);
  const double begin = tsi_clock();
  for (int w = 0; w < run->clocks; w++) run->clock[w] = (worker_clock){.since = begin};
  atomic_store(&run->arrived, 0);
  tsi_failure_clear(&run->failure);
  memset(run->sent, 0, (size_t)process->program->sends * sizeof *run->sent);
  if (run->tasks) {
    fail(run, tsi_tasks_prepare(run->tasks));
    tsi_tasks_set_columns(run->tasks, nrhs);
  }
  fail(run, run->port.begin(run->port.context));
  if (!tsi_failure_exists(&run->failure))
    fail(run, run->tasks ? tsi_tasks_run(run->tasks, false) : run_here(run));
  if (tsi_failure_exists(&run->failure)) send_rest(run);
  fail(run, run->port.end(run->port.context));
  status = tsi_failure_tell(process->env, &run->failure);
  if (times) sum_times(run, tsi_clock() - begin, times);
  return status;
}
