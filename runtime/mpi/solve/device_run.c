/* See device_run.h. */
#include "runtime/mpi/solve/device_run.h"

#include "runtime/exec/device/device_build.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/solve/program_tables.h"
#include "runtime/solve/device_plan.h"

/* What is copied to the device with the values: streams, D^-1, interchanges, scales of rows and columns. */
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
  void *block, *workspace, *b, *x, *base;
  int32_t *flag;   /* steps, then the counter of tickets */
  char **mapped;   /* PEs: their heaps as the device sees them, in main memory */
  bool *is_mapped; /* PEs */
};

static tristar_status told(const tsi_env *env, const char *what, int code) {
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "%s: %s reports error %d", what, tsi_devices.name, code);
  return TRISTAR_OK;
}

tristar_status tsi_device_run_check(const tsi_env *env) {
  if (tsi_devices.name == NULL || tsi_devices.program[0] == NULL || tsi_devices.present() == 0)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "one-sided solves on GPUs: there is no GPU here, or the build has no CUDA or HIP");
  return TRISTAR_OK;
}

static tristar_status allocate(const tsi_device_run *run, void **at, size_t bytes) {
  *at = NULL;
  return told(run->process->env, "memory of a device", bytes > 0 ? tsi_devices.allocate(at, bytes) : 0);
}

static tristar_status upload(const tsi_device_run *run, void **at, const void *from, size_t bytes) {
  if (from == NULL || bytes == 0) return TRISTAR_OK;
  if (*at == NULL) TSI_TRY(allocate(run, at, bytes));
  return told(run->process->env, "copy to a device", tsi_devices.transfer(*at, from, bytes, NULL));
}

/* ---- Life ---------------------------------------------------------------------------------------------- */

static tsi_index columns_of(const tsi_process *process) {
  return process->share->panels->start[process->share->panels->count];
}

static tristar_status map_heaps(tsi_device_run *run) {
  const tsi_heap *heap = tsi_oneside_heap(run->port->oneside);
  const size_t bytes = tsi_heap_data(heap->flags) + 2 * run->port->inbox_bytes;
  for (int32_t pe = 0; pe < heap->pes; pe++) {
    TSI_TRY(told(run->process->env, "mapping a heap",
                 tsi_devices.map(heap->base[pe], bytes, (void **)&run->mapped[pe])));
    run->is_mapped[pe] = true;
  }
  return upload(run, &run->base, run->mapped, (size_t)heap->pes * sizeof *run->mapped);
}

static tristar_status fill(tsi_device_run *run) {
  const tsi_process *p = run->process;
  const size_t columns = (size_t)columns_of(p), row = (size_t)run->stride * p->scalar_bytes;
  const size_t user = columns * (size_t)run->stride * p->user_bytes;
  const size_t flags = ((size_t)p->program->steps->count + 1) * sizeof *run->flag;
  TSI_TRY(tsi_program_tables_create(run->process, run->port->place, &run->tables));
  TSI_TRY(upload(run, &run->block, run->tables.block, run->tables.bytes));
  TSI_TRY(allocate(run, &run->workspace, (size_t)p->tables.workspace_rows * row));
  TSI_TRY(allocate(run, &run->b, user));
  TSI_TRY(allocate(run, &run->x, user));
  TSI_TRY(allocate(run, (void **)&run->flag, flags));
  TSI_TRY(told(p->env, "memory of a device", tsi_devices.clear(run->flag, flags, NULL)));
  return map_heaps(run);
}

tristar_status tsi_device_run_create(tsi_process *process, tsi_run_port *port, tsi_index stride, int device,
                                     tsi_device_run **out) {
  tsi_env *env = process->env;
  const int32_t pes = tsi_oneside_heap(port->oneside)->pes;
  TSI_CLEANUP(tsi_device_run_destroy) tsi_device_run *run = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, run, 1));
  run->process = process;
  run->port = port;
  run->stride = stride;
  run->stale = true;
  run->device = device % tsi_devices.present();
  TSI_TRY(told(env, "choosing a device", tsi_devices.select(run->device)));
  TSI_TRY(TSI_ALLOC_ZERO_IN(run, run->mapped, pes));
  TSI_TRY(TSI_ALLOC_ZERO_IN(run, run->is_mapped, pes));
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
    void *const memory[] = {r->block, r->workspace, r->b, r->x, r->base, r->flag};
    for (size_t k = 0; k < sizeof memory / sizeof *memory; k++) tsi_devices.release(memory[k]);
    const tsi_heap *heap = tsi_oneside_heap(r->port->oneside);
    for (int32_t pe = 0; r->is_mapped && pe < heap->pes; pe++)
      if (r->is_mapped[pe]) tsi_devices.unmap(heap->base[pe]);
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
  TSI_TRY(upload(run, &run->copy[LOWER], p->lower, stream));
  TSI_TRY(upload(run, &run->copy[UPPER], p->upper, stream));
  TSI_TRY(upload(run, &run->copy[INVERSE], p->inverse, 2 * columns * p->scalar_bytes));
  TSI_TRY(upload(run, &run->copy[FROM], run->from, columns * sizeof *run->from));
  TSI_TRY(upload(run, &run->copy[ROW_SCALE], p->row_scale, columns * sizeof *p->row_scale));
  TSI_TRY(upload(run, &run->copy[COL_SCALE], p->col_scale, columns * sizeof *p->col_scale));
  run->stale = false;
  return TRISTAR_OK;
}

/* The copy of an array of the process. */
static const void *copy_of(const tsi_device_run *run, const void *at) {
  const tsi_process *p = run->process;
  const void *const array[COPIES] = {p->lower, p->upper, p->inverse, run->from, p->row_scale, p->col_scale};
  for (int k = 0; at != NULL && k < COPIES; k++)
    if (array[k] == at) return run->copy[k];
  return NULL;
}

static tsi_gpu_program program_of(const tsi_device_run *run, const tsi_solve_call *call) {
  tsi_gpu_program p = tsi_program_tables_move(&run->tables, run->block);
  const tsi_heap *heap = tsi_oneside_heap(run->port->oneside);
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
  p.heap = (tsi_heap){heap->pe, heap->pes, heap->flags, run->base};
  p.done = run->port->done;
  p.inbox = (int64_t)tsi_run_port_inbox(run->port);
  return p;
}

/* The host looks whether messages come, until the device has ended: when they do not the run is stopped, and
 * it ends. */
static tristar_status watch(const tsi_device_run *run) {
  bool busy = true;
  for (int turn = 0; busy; turn++) {
    TSI_TRY(told(run->process->env, "solve on a device", tsi_devices.busy(NULL, &busy)));
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
  TSI_TRY(told(p->env, "choosing a device", tsi_devices.select(run->device)));
  TSI_TRY(upload_values(run));
  TSI_TRY(upload(run, &run->b, call->b, bytes));
  TSI_TRY(upload(run, &run->x, call->x, bytes)); /* rows that other ranks write stay as they are */
  const tsi_gpu_program program = program_of(run, call);
  TSI_TRY(told(p->env, "solve on a device", tsi_devices.program[type](&program, 0, TSI_GPU_THREADS, NULL)));
  TSI_TRY(watch(run));
  if (bytes == 0) return TRISTAR_OK;
  TSI_TRY(told(p->env, "copy from a device", tsi_devices.transfer(call->x, run->x, bytes, NULL)));
  return told(p->env, "copy from a device", tsi_devices.finish(NULL));
}
