/* Runs the steps of a factorization, alone or with other processes: a table of functions by kind of step, and
 * tasks. See numeric.h. */
#include <math.h>

#include "runtime/factor/front_device.h"
#include "runtime/exec/starpu/blas.h"
#include "runtime/exec/starpu/service.h"

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
  tsi_front_piece(numeric, tiled_front(numeric, part), part->column, part->column_end);
}
static void run_assembled(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_assembled(numeric, tiled_front(numeric, part));
}
static void run_diagonal(tsi_numeric *numeric, const tsi_front_step *part) {
  const tsi_front *front = &tiled_front(numeric, part)->front;
  const tsi_panels *panels = numeric->analysis->panels;
  const tsi_index first = numeric->analysis->symbolic->start[part->first];
  const tsi_front_stripe stripe =
      tsi_front_stripe_of(front, numeric->kernels->scalar_bytes, panels->start[part->panel] - first,
                          panels->start[part->panel + 1] - first);
  tsi_front_diagonal(numeric, &stripe, front->f, part->panel);
}
static void run_below(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_tile(numeric, &tiled_front(numeric, part)->front, part->panel, false, part->row, part->row_end);
}
static void run_right(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_tile(numeric, &tiled_front(numeric, part)->front, part->panel, true, part->column,
                 part->column_end);
}
static void run_schur(tsi_numeric *numeric, const tsi_front_step *part) {
  if (!tsi_numeric_computes(numeric)) return;
  numeric->kernels->schur(&tiled_front(numeric, part)->front, part->row, part->row_end, part->column,
                          part->column_end);
}
static void run_device(tsi_numeric *numeric, const tsi_front_step *part) {
  tsi_front_factor(numeric, &tiled_front(numeric, part)->front, part->first);
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
    [TSI_STEP_FRONT_DEVICE] = run_device, /* On a core, as on simulated devices. */
    [TSI_STEP_FRONT_PACK] = run_pack,
    [TSI_STEP_FRONT_CLOSE] = run_close,
};

static void fail(tsi_numeric *numeric, tristar_status status) {
  tsi_failure_keep(numeric->env, &numeric->failure, status);
}

/* Blocks the calling thread. */
static void wait_for(tsi_numeric *numeric, tsi_index received) {
  if (!tsi_numeric_failed(numeric)) fail(numeric, numeric->port.wait(numeric->port.context, received));
}

/* Shared fronts have their own steps, except ASSEMBLED. */
static void run(tsi_numeric *numeric, tsi_step_kind kind, const tsi_front_step *part) {
  const bool shared = part->tiled != TSI_NONE && numeric->tiled[part->tiled].stripe != NULL;
  if (kind == TSI_STEP_ARRIVAL)
    wait_for(numeric, part->message);
  else if (shared && kind != TSI_STEP_FRONT_ASSEMBLED)
    tsi_shared_front_run(numeric, kind, part);
  else
    run_kind[kind](numeric, part);
}

static void add_work(tsi_numeric *numeric, double work) {
  double before = atomic_load(&numeric->worked);
  while (!atomic_compare_exchange_weak(&numeric->worked, &before, before + work)) continue;
}

void tsi_numeric_run_step(tsi_numeric *numeric, tsi_index step) {
  const tsi_factorization *dag = numeric->dag;
  const tsi_step_kind kind = dag->steps->step[step].kind;
  if (!tsi_numeric_failed(numeric)) fail(numeric, tsi_numeric_look(numeric));
  run(numeric, kind, &dag->part[step]);
  if (tsi_progress_follows(numeric->env)) add_work(numeric, dag->part[step].work);
  tsi_parts_leave(numeric, step);
  tsi_numeric_send(numeric, step);
  if (kind != TSI_STEP_ARRIVAL && numeric->port.begin) tsi_numeric_expect_next(numeric, step);
  if (numeric->port.progress) numeric->port.progress(numeric->port.context);
}

/* ---- A run -------------------------------------------------------------------------------------------- */

static void run_task(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_numeric_run_step(context, argument[0]);
}

/* Does the step work on no front that is touched? */
static bool skips_step(const tsi_numeric *numeric, tsi_index step) {
  const tsi_front_step *part = &numeric->dag->part[step];
  for (tsi_index s = part->first; s <= part->last; s++)
    if (!tsi_numeric_skips(numeric, s)) return false;
  return true;
}

tristar_status tsi_numeric_list_tasks(tsi_numeric *numeric) {
  const tsi_factorization *dag = numeric->dag;
  const tsi_steps *steps = dag->steps;
  TSI_SCRATCH(numeric->env, tsi_index, number, steps->count);
  TSI_TRY(tsi_task_list_create(numeric->env, &numeric->list));
  for (tsi_index k = 0; k < steps->count; k++) {
    const tsi_step *step = &steps->step[k];
    const tsi_index argument[4] = {k, 0, 0, 0};
    number[k] = TSI_NONE;
    if (skips_step(numeric, k)) continue;
    if (step->kind == TSI_STEP_ARRIVAL)
      TSI_TRY(tsi_task_list_add_event(numeric->list, tsi_step_name(step->kind), argument, &number[k]));
    else
      TSI_TRY(tsi_task_list_add(numeric->list, tsi_step_name(step->kind), run_task, numeric, argument,
                                step->priority, 1 + 1e6 * dag->part[k].work / TSI_CORE_FLOPS, &number[k]));
  }
  for (tsi_count e = 0; e < steps->edges; e++) {
    const tsi_index item = number[steps->edge[e].item], before = number[steps->edge[e].before];
    if (item != TSI_NONE && before != TSI_NONE) TSI_TRY(tsi_task_list_after(numeric->list, item, before));
  }
  return TRISTAR_OK;
}

tristar_status tsi_numeric_record(tsi_numeric *numeric) {
  TSI_TRY(tsi_numeric_list_tasks(numeric));
  TSI_TRY(tsi_device_fronts_record(numeric));
  TSI_TRY(tsi_tasks_create(numeric->env, numeric->list, &numeric->tasks));
  return tsi_tasks_record(numeric->tasks);
}

static tristar_status run_steps(tsi_numeric *numeric) {
  if (numeric->tasks) TSI_TRY(tsi_tasks_run(numeric->tasks, false));
  for (tsi_index k = 0; !numeric->tasks && k < numeric->dag->steps->count; k++)
    if (!skips_step(numeric, k)) tsi_numeric_run_step(numeric, k);
  return TRISTAR_OK;
}

/* Runs from tsi_port.begin to its end, and records the first failure in numeric. At the end, the messages of
 * steps that did not run are sent and received, so that no process waits. */
static void run_with_others(tsi_numeric *numeric) {
  const tsi_port *port = &numeric->port;
  if (numeric->tasks) fail(numeric, tsi_tasks_prepare(numeric->tasks));
  fail(numeric, port->begin(port->context, NULL, numeric->dag->sends));
  if (!tsi_failure_exists(&numeric->failure)) {
    tsi_numeric_expect_next(numeric, TSI_NONE);
    fail(numeric, run_steps(numeric));
  }
  tsi_numeric_send_rest(numeric);
  fail(numeric, port->end(port->context));
}

/* Once per context. */
static void warn_of_blas(tristar_t *ts) {
  const char *took, *better;
  if (!tsi_blas_mistaken(&took, &better) || atomic_exchange(&ts->blas_reported, true)) return;
  tsi_log(&ts->env, TRISTAR_LOG_WARNING,
          "OpenBLAS does not know this processor and takes it for a %s, which factors at half the speed: set "
          "OPENBLAS_CORETYPE=%s before the program starts",
          took, better);
}

/* Without memory for OpenBLAS no step runs, but other processes receive the messages that they wait for. */
tristar_status tsi_numeric_run(tsi_numeric *numeric) {
  warn_of_blas(numeric->factor->ts);
  tristar_status status = tsi_blas_reserve(numeric->env, numeric->tasks ? tsi_starpu_cpu_workers() : 1);
  tsi_blas_acquire();
  if (numeric->port.begin) {
    fail(numeric, status);
    run_with_others(numeric);
    status = TRISTAR_OK;
  } else if (status == TRISTAR_OK) {
    status = run_steps(numeric);
  }
  tsi_blas_release();
  return status;
}

/* ---- Another run -------------------------------------------------------------------------------------- */

/* The rows of a Schur complement have no pivots: their panels keep these initial statistics. */
tristar_status tsi_numeric_stay(tsi_numeric *numeric) {
  static const tsi_panel_figures none = {
      .smallest = INFINITY, .weakest = INFINITY, .deciding = INFINITY, .dependent = TSI_NONE};
  const tsi_index count = numeric->analysis->panels->count;
  TSI_TRY(TSI_ALLOC_IN(numeric, numeric->panel, count));
  for (tsi_index p = 0; p < count; p++) numeric->panel[p] = none;
  return TRISTAR_OK;
}

void tsi_numeric_discard_tasks(tsi_numeric *numeric) {
  tsi_tasks_destroy(&numeric->tasks);
  TSI_FREE(numeric->env, numeric->list);
}

/* Sets the shares to zero, as pivots of order 2 leave some unset. */
static void clear_shares(tsi_numeric *numeric, const bool *touched) {
  const tsi_symbolic *symbolic = numeric->analysis->symbolic;
  for (tsi_index s = 0; s < symbolic->count; s++)
    for (tsi_index j = symbolic->start[s]; touched[s] && j < symbolic->start[s + 1]; j++)
      numeric->share[j] = 0;
}

tristar_status tsi_numeric_run_again(tsi_numeric *numeric, const bool *touched, bool tasks) {
  const tsi_panels *panels = numeric->analysis->panels;
  tristar_status status = TRISTAR_OK;
  tsi_numeric_discard_tasks(numeric);
  tsi_numeric_clear_figures(numeric);
  clear_shares(numeric, touched);
  atomic_store(&numeric->done, 0);
  atomic_store(&numeric->worked, 0);
  atomic_store(&numeric->percent, 0);
  numeric->touched = touched;
  if (tasks) TSI_TRY_OUT(tsi_numeric_record(numeric));
  TSI_TRY_OUT(tsi_numeric_run(numeric));
  for (tsi_index p = 0; p < panels->count; p++)
    if (!touched[panels->supernode[p]]) tsi_numeric_add_figures(numeric, p);
out:
  tsi_numeric_discard_tasks(numeric);
  numeric->touched = NULL;
  return status;
}
