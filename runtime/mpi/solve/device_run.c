/* See device_run.h. */
#include "runtime/mpi/solve/device_run.h"

#include "runtime/exec/device/device_build.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/solve/device_heap.h"
#include "runtime/mpi/solve/program_tables.h"
#include "runtime/solve/device_plan.h"

/* Arrays copied to the device with the values: streams, D^-1, interchanges, scalings of rows and columns. */
enum { LOWER, UPPER, INVERSE, FROM, ROW_SCALE, COL_SCALE, COPIES };

struct tsi_device_run {
  tsi_process *process;
  tsi_run_port *port;
  int device;
  bool stale; /* the device has older values */
  tsi_index stride;
  tsi_program_tables tables;
  tsi_index *from;    /* interchanges, in main memory; NULL: none */
  void *copy[COPIES]; /* on the device */
  void *block, *workspace, *b, *x;
  int32_t *flag; /* a flag per step, then the counter of tickets */
  tsi_device_heap heap;
};

tristar_status tsi_device_run_check(const tsi_env *env) {
  if (tsi_devices.name == NULL || tsi_devices.program[0] == NULL || tsi_devices.present() == 0)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "one-sided solves on GPUs: there is no GPU here, or the build has no CUDA or HIP");
  return TRISTAR_OK;
}

/* Local, with the device selected. */
static tristar_status check_adds(const tsi_env *env, int device) {
  bool adds = false;
  TSI_TRY(tsi_device_status(env, "choosing a device", tsi_devices.adds(device, &adds)));
  if (!adds)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "atomic_sums: additions of GPU %d to memory of the host are not atomic for other GPUs", device);
  return TRISTAR_OK;
}

/* ---- Life ---------------------------------------------------------------------------------------------- */

static tsi_index columns_of(const tsi_process *process) {
  return process->share->panels->start[process->share->panels->count];
}

static tristar_status fill(tsi_device_run *run) {
  const tsi_process *p = run->process;
  const size_t columns = (size_t)columns_of(p), row = (size_t)run->stride * p->scalar_bytes;
  const size_t user = columns * (size_t)run->stride * p->user_bytes;
  const size_t flags = ((size_t)p->program->steps->count + 1) * sizeof *run->flag;
  TSI_TRY(tsi_program_tables_create(run->process, run->port->place, run->port->row, run->port->adds,
                                    &run->tables));
  TSI_TRY(tsi_device_upload(p->env, &run->block, run->tables.block, run->tables.bytes));
  TSI_TRY(tsi_device_allocate(p->env, &run->workspace, (size_t)p->tables.workspace_rows * row));
  TSI_TRY(tsi_device_allocate(p->env, &run->b, user));
  TSI_TRY(tsi_device_allocate(p->env, &run->x, user));
  TSI_TRY(tsi_device_allocate(p->env, (void **)&run->flag, flags));
  TSI_TRY(tsi_device_status(p->env, "memory of a device", tsi_devices.clear(run->flag, flags, NULL)));
  return tsi_device_heap_open(p->env, run->port->oneside, 2 * run->port->inbox_bytes, &run->heap);
}

tristar_status tsi_device_run_create(tsi_process *process, tsi_run_port *port, tsi_index stride, int device,
                                     tsi_device_run **out) {
  tsi_env *env = process->env;
  TSI_CLEANUP(tsi_device_run_destroy) tsi_device_run *run = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, run, 1));
  run->process = process;
  run->port = port;
  run->stride = stride;
  run->stale = true;
  run->device = device % tsi_devices.present();
  TSI_TRY(tsi_device_status(env, "choosing a device", tsi_devices.select(run->device)));
  if (port->adds) TSI_TRY(check_adds(env, run->device));
  if (process->pivots) TSI_TRY(TSI_ALLOC_IN(run, run->from, columns_of(process)));
  TSI_TRY(fill(run));
  *out = tsi_take(&run);
  return TRISTAR_OK;
}

void tsi_device_run_destroy(tsi_device_run **run) {
  tsi_device_run *r = *run;
  if (r == NULL) return;
  if (tsi_devices.select(r->device) == 0) {
    for (int k = 0; k < COPIES; k++) tsi_devices.release(r->copy[k]);
    void *const memory[] = {r->block, r->workspace, r->b, r->x, r->flag};
    for (size_t k = 0; k < sizeof memory / sizeof *memory; k++) tsi_devices.release(memory[k]);
    tsi_device_heap_close(&r->heap);
  }
  tsi_program_tables_release(r->process->env, &r->tables);
  TSI_FREE(r->process->env, *run);
}

void tsi_device_run_renew(tsi_device_run *run) {
  run->stale = true;
}

/* ---- A run --------------------------------------------------------------------------------------------- */

static tristar_status upload_values(tsi_device_run *run) {
  const tsi_process *p = run->process;
  const size_t columns = (size_t)columns_of(p);
  const size_t stream = ((size_t)p->begin[p->share->panels->count] + TSI_STREAM_PAD) * p->scalar_bytes;
  if (!run->stale) return TRISTAR_OK;
  if (run->from && p->pivoted) tsi_device_interchanges(p->share->panels, p->pivots, run->from);
  TSI_TRY(tsi_device_upload(p->env, &run->copy[LOWER], p->lower, stream));
  TSI_TRY(tsi_device_upload(p->env, &run->copy[UPPER], p->upper, stream));
  TSI_TRY(tsi_device_upload(p->env, &run->copy[INVERSE], p->inverse, 2 * columns * p->scalar_bytes));
  TSI_TRY(tsi_device_upload(p->env, &run->copy[FROM], run->from, columns * sizeof *run->from));
  TSI_TRY(tsi_device_upload(p->env, &run->copy[ROW_SCALE], p->row_scale, columns * sizeof *p->row_scale));
  TSI_TRY(tsi_device_upload(p->env, &run->copy[COL_SCALE], p->col_scale, columns * sizeof *p->col_scale));
  run->stale = false;
  return TRISTAR_OK;
}

/* The copy on the device of an array of the process. */
static const void *copy_of(const tsi_device_run *run, const void *at) {
  const tsi_process *p = run->process;
  const void *const array[COPIES] = {p->lower, p->upper, p->inverse, run->from, p->row_scale, p->col_scale};
  for (int k = 0; at != NULL && k < COPIES; k++)
    if (array[k] == at) return run->copy[k];
  return NULL;
}

static tsi_gpu_program program_of(const tsi_device_run *run, const tsi_solve_call *call) {
  tsi_gpu_program p = tsi_program_tables_move(&run->tables, run->block);
  p.call = tsi_device_call_of(call, (const tsi_index *)copy_of(run, run->from));
  p.call.forward.values = copy_of(run, p.call.forward.values);
  p.call.backward.values = copy_of(run, p.call.backward.values);
  p.call.inverse = copy_of(run, p.call.inverse);
  p.call.in_scale = copy_of(run, p.call.in_scale);
  p.call.out_scale = copy_of(run, p.call.out_scale);
  p.call.b = run->b;
  p.call.x = run->x;
  p.call.workspace = run->workspace;
  p.flag = run->flag;
  p.ticket = run->flag + p.steps;
  p.epoch = run->port->epoch;
  p.heap = run->heap.seen;
  p.done = run->port->done;
  p.inbox = (int64_t)tsi_run_port_inbox(run->port);
  return p;
}

/* The host checks that messages arrive, until the device has ended. If they do not arrive in time the run is
 * stopped, so that it ends. */
static tristar_status watch(const tsi_device_run *run) {
  bool busy = true;
  for (int turn = 0; busy; turn++) {
    TSI_TRY(tsi_device_status(run->process->env, "solve on a device", tsi_devices.busy(NULL, &busy)));
    if (busy && !tsi_run_port_look(run->port)) tsi_mpi_pause(turn);
  }
  return TRISTAR_OK;
}

tristar_status tsi_device_run_sweeps(void *context, const tsi_solve_call *call) {
  static const char names[] = "sdcz";
  tsi_device_run *run = context;
  const tsi_process *p = run->process;
  const size_t bytes = (size_t)columns_of(p) * (size_t)call->nrhs * p->user_bytes;
  const size_t type = (size_t)(strchr(names, p->kind.factor_scalar) - names);
  TSI_TRY(tsi_device_status(p->env, "choosing a device", tsi_devices.select(run->device)));
  TSI_TRY(upload_values(run));
  TSI_TRY(tsi_device_upload(p->env, &run->b, call->b, bytes));
  TSI_TRY(tsi_device_upload(p->env, &run->x, call->x, bytes)); /* rows of other ranks keep their values */
  const tsi_gpu_program program = program_of(run, call);
  TSI_TRY(tsi_device_status(p->env, "solve on a device",
                            tsi_devices.program[type](&program, 0, TSI_GPU_THREADS, NULL)));
  TSI_TRY(watch(run));
  if (bytes == 0) return TRISTAR_OK;
  TSI_TRY(
      tsi_device_status(p->env, "copy from a device", tsi_devices.transfer(call->x, run->x, bytes, NULL)));
  return tsi_device_status(p->env, "copy from a device", tsi_devices.finish(NULL));
}
