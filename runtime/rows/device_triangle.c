/* See device_triangle.h. */
#include "runtime/rows/device_triangle.h"

#include "runtime/base/threads.h"
#include "runtime/exec/device/device_rows.h"
#include "runtime/exec/starpu/device_data.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/exec/starpu/tasks.h"

/* Data that the device reads in a sweep, in the order of the handles of its task. */
enum { VALUES, INVERSE, TABLES, IN_ROW, READS };
enum { X = READS, SCRATCH };

typedef struct triangle_sweep {
  tsi_device_row_plan plan; /* order NULL: the sweep does not exist */
  void *values, *inverse;   /* in the order of the tables */
  tsi_index *in_row;        /* n: the row of the workspace of each row of the tables */
  tsi_device_data *data[READS];
  int64_t generation; /* of the values */
} triangle_sweep;

struct tsi_device_triangle {
  tsi_env *env;
  pthread_mutex_t lock;
  const tsi_row_factor *rows;
  tsi_device_triangle_options options;
  triangle_sweep sweep[2]; /* forward, backward */
};

struct tsi_triangle_data {
  tsi_execution_devices devices;
  tsi_device_triangle *triangle;
  const void *workspace; /* workspace and stride of the execution when the data was created */
  tsi_index stride;
  bool backward;
  tsi_device_data *x, *scratch;
  tsi_task_data read, solve, write, nothing;
};

const char *tsi_device_triangle_obstacle(void) {
  return tsi_devices.rows[0] ? NULL : "these devices have no kernels of rows";
}

/* ---- Bytes --------------------------------------------------------------------------------------------- */

/* Bytes of counters and flags: a counter of tickets, one for each phase, a flag for each row. */
static size_t flag_bytes(const tsi_device_rows *tables) {
  return (1 + (size_t)tables->phases + (size_t)tables->n) * sizeof(int32_t);
}

static size_t flags_begin(const tsi_device_triangle *t, tsi_index stride) {
  const size_t bytes = (size_t)t->rows->cut->n * (size_t)stride * t->rows->scalar_bytes;
  return (bytes + TSI_CACHE_LINE - 1) / TSI_CACHE_LINE * TSI_CACHE_LINE;
}

tsi_device_triangle_bytes tsi_device_triangle_weigh(const tsi_device_triangle *t, tsi_index stride) {
  tsi_device_triangle_bytes bytes = {.factor = 0};
  size_t flags = 0;
  for (int k = 0; k < 2; k++) {
    const triangle_sweep *s = &t->sweep[k];
    if (s->plan.order == NULL) continue;
    const size_t needs = flag_bytes(&s->plan.tables);
    bytes.factor += (double)(s->plan.tables.entries + s->plan.tables.n) * (double)t->rows->scalar_bytes;
    bytes.tables += (double)s->plan.tables.bytes + (double)s->plan.tables.n * (double)sizeof(tsi_index);
    if (flags < needs) flags = needs;
  }
  bytes.workspace = (double)t->rows->cut->n * (double)stride * (double)t->rows->scalar_bytes +
                    (double)(flags_begin(t, stride) + flags);
  return bytes;
}

bool tsi_device_triangle_fits(const tsi_device_triangle *t, tsi_index solves, tsi_index rhs) {
  const tsi_device_triangle_bytes bytes = tsi_device_triangle_weigh(t, tsi_workspace_stride(rhs));
  return t->options.memory <= 0 ||
         bytes.factor + bytes.tables + (double)solves * bytes.workspace <= t->options.memory;
}

double tsi_device_triangle_seconds(const tsi_device_triangle *t, bool backward) {
  const tsi_device_rows *tables = &t->sweep[backward].plan.tables;
  const double bytes = (double)tables->bytes + 3.0 * (double)tables->n * (double)t->rows->scalar_bytes +
                       (double)tables->entries * (double)t->rows->scalar_bytes;
  return t->options.task_seconds + tables->phases * t->options.phase_seconds + bytes / t->options.bandwidth;
}

int tsi_device_triangle_device(const tsi_device_triangle *t) {
  return t->options.device;
}

/* ---- Sweeps -------------------------------------------------------------------------------------------- */

static void release_sweep(tsi_env *env, triangle_sweep *s) {
  for (int k = 0; k < READS; k++) tsi_device_data_destroy(&s->data[k]);
  tsi_device_rows_destroy(&s->plan);
  TSI_FREE(env, s->values);
  TSI_FREE(env, s->inverse);
  TSI_FREE(env, s->in_row);
}

/* Row j of the workspace is the j-th row of the cut. */
static tristar_status number_rows(const tsi_device_triangle *t, triangle_sweep *s) {
  const tsi_row_cut *cut = t->rows->cut;
  TSI_SCRATCH(t->env, tsi_index, place, cut->n);
  TSI_TRY(TSI_ALLOC(t->env, s->in_row, cut->n));
  for (tsi_index j = 0; j < cut->n; j++) place[cut->order[j]] = j;
  for (tsi_index k = 0; k < cut->n; k++) s->in_row[k] = place[s->plan.order[k]];
  return TRISTAR_OK;
}

static void fill_sweep(const tsi_device_triangle *t, triangle_sweep *s, int64_t generation) {
  const size_t scalar = t->rows->scalar_bytes;
  tsi_device_rows_fill(&s->plan, scalar, t->rows->values, s->values);
  tsi_device_rows_place(&s->plan, scalar, t->rows->inverse, s->inverse);
  s->generation = generation;
}

static tristar_status register_sweep(const tsi_device_triangle *t, triangle_sweep *s) {
  const size_t n = (size_t)s->plan.tables.n, scalar = t->rows->scalar_bytes;
  const struct {
    void *at;
    size_t bytes;
  } reads[READS] = {[VALUES] = {s->values, (size_t)tsi_count_max(1, s->plan.tables.entries) * scalar},
                    [INVERSE] = {s->inverse, n * scalar},
                    [TABLES] = {s->plan.tables.block, s->plan.tables.bytes},
                    [IN_ROW] = {s->in_row, n * sizeof *s->in_row}};
  for (int k = 0; k < READS; k++)
    TSI_TRY(tsi_device_data_create(t->env, reads[k].at, reads[k].bytes, &s->data[k]));
  return TRISTAR_OK;
}

static tristar_status make_sweep(const tsi_device_triangle *t, bool backward, int64_t generation,
                                 triangle_sweep *s) {
  const tsi_device_row_options options = {TSI_DEVICE_ROWS_AUTO, tsi_devices.lanes(t->options.device)};
  const size_t scalar = t->rows->scalar_bytes;
  TSI_TRY(tsi_device_rows_create(t->env, &t->rows->lines, backward, t->rows->cut, &options, &s->plan));
  TSI_TRY(TSI_ALLOC_SIZED(t->env, s->values, tsi_count_max(1, s->plan.tables.entries), scalar));
  TSI_TRY(TSI_ALLOC_SIZED(t->env, s->inverse, s->plan.tables.n, scalar));
  TSI_TRY(number_rows(t, s));
  fill_sweep(t, s, generation);
  return register_sweep(t, s);
}

static tristar_status check_memory(const tsi_device_triangle *t) {
  const tsi_device_triangle_bytes bytes = tsi_device_triangle_weigh(t, tsi_workspace_stride(t->options.rhs));
  if (!tsi_device_triangle_fits(t, t->options.solves, t->options.rhs))
    TSI_FAIL(t->env, TRISTAR_ERR_MEMORY,
             "a device has room for %.3g bytes, but both sweeps of the triangle need %.3g, and %.3g for each "
             "solve: solve with the transposed matrix by a plan of the cores",
             t->options.memory, bytes.factor + bytes.tables, bytes.workspace);
  return TRISTAR_OK;
}

/* The caller holds the lock. */
static tristar_status need_sweep(tsi_device_triangle *t, bool backward, int64_t generation) {
  tristar_status status = TRISTAR_OK;
  triangle_sweep *s = &t->sweep[backward];
  if (s->plan.order == NULL) {
    status = make_sweep(t, backward, generation, s);
    if (status == TRISTAR_OK && t->sweep[!backward].plan.order != NULL) status = check_memory(t);
    if (status != TRISTAR_OK) release_sweep(t->env, s);
    return status;
  }
  if (s->generation == generation) return TRISTAR_OK;
  TSI_TRY(tsi_tasks_check_waiting(t->env));
  fill_sweep(t, s, generation);
  TSI_TRY(tsi_device_data_renew(t->env, s->data[VALUES]));
  return tsi_device_data_renew(t->env, s->data[INVERSE]);
}

tristar_status tsi_device_triangle_prepare(tsi_device_triangle *t, bool backward, int64_t generation) {
  pthread_mutex_lock(&t->lock);
  const tristar_status status = need_sweep(t, backward, generation);
  pthread_mutex_unlock(&t->lock);
  return status;
}

tristar_status tsi_device_triangle_create(tsi_env *env, const tsi_row_factor *rows,
                                          const tsi_device_triangle_options *options, bool backward,
                                          int64_t generation, double *unfit, tsi_device_triangle **out) {
  tristar_status status = TRISTAR_OK;
  tsi_device_triangle *t;
  *unfit = 0;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, t, 1));
  status = tsi_mutex_init(env, &t->lock);
  if (status != TRISTAR_OK) {
    TSI_FREE(env, t);
    return status;
  }
  t->env = env;
  t->rows = rows;
  t->options = *options;
  status = need_sweep(t, backward, generation);
  const bool fits = status == TRISTAR_OK && tsi_device_triangle_fits(t, options->solves, options->rhs);
  if (status == TRISTAR_OK && !fits) *unfit = tsi_device_triangle_weigh(t, 1).factor;
  if (!fits) tsi_device_triangle_destroy(&t);
  *out = t;
  return status;
}

void tsi_device_triangle_destroy(tsi_device_triangle **triangle) {
  tsi_device_triangle *t = *triangle;
  if (t == NULL) return;
  for (int k = 0; k < 2; k++) release_sweep(t->env, &t->sweep[k]);
  pthread_mutex_destroy(&t->lock);
  TSI_FREE(t->env, *triangle);
}

/* ---- Executions ---------------------------------------------------------------------------------------- */

static const tsi_task_data *data_of(void *context, const tsi_execution *e, const tsi_step *step) {
  const tsi_triangle_data *data = context;
  (void)e;
  switch (step->kind) {
  case TSI_STEP_READ:
    return &data->read;
  case TSI_STEP_WRITE:
    return &data->write;
  case TSI_STEP_FORWARD_CHUNK:
  case TSI_STEP_BACKWARD_CHUNK:
    return &data->solve;
  default:
    return &data->nothing;
  }
}

/* The solve in place: b and x are rows of the workspace of the execution. */
static tsi_device_call call_of(const tsi_solve_call *call, void *const memory[]) {
  return (tsi_device_call){.in_row = memory[IN_ROW],
                           .out_row = memory[IN_ROW],
                           .b = memory[X],
                           .x = memory[X],
                           .b_row = call->stride,
                           .b_column = 1,
                           .x_row = call->stride,
                           .x_column = 1,
                           .nrhs = call->stride,
                           .stride = call->stride,
                           .workspace = memory[SCRATCH]};
}

static int start_solve(void *context, const tsi_execution *e, const tsi_step *step, void *const memory[]) {
  const tsi_triangle_data *data = context;
  const tsi_device_triangle *t = data->triangle;
  const tsi_device_row_plan *plan = &t->sweep[data->backward].plan;
  const int type = (int)(strchr("sdcz", t->options.scalar) - "sdcz");
  int32_t *flags = (int32_t *)((char *)memory[SCRATCH] + flags_begin(t, data->stride));
  (void)step;
  const tsi_gpu_rows rows = {.tables = tsi_device_rows_move(&plan->tables, memory[TABLES]),
                             .call = call_of(&e->call, memory),
                             .values = memory[VALUES],
                             .inverse = memory[INVERSE],
                             .phases = plan->tables.phases,
                             .ticket = flags,
                             .done = flags + 1,
                             .flag = flags + 1 + plan->tables.phases,
                             .epoch = 1};
  void *stream = tsi_devices.stream();
  unsigned blocks = 0;
  int error = tsi_devices.clear(flags, flag_bytes(&plan->tables), stream);
  if (error == 0) error = tsi_devices.rows_blocks[type](&rows, TSI_GPU_THREADS, &blocks);
  if (error == 0) error = tsi_devices.rows[type](&rows, blocks, TSI_GPU_THREADS, stream);
  return error;
}

bool tsi_triangle_data_serves(const tsi_triangle_data *data, const tsi_execution *e, bool backward) {
  return data != NULL && data->workspace == e->call.workspace && data->stride == e->call.stride &&
         data->backward == backward;
}

static void describe(tsi_triangle_data *data) {
  const tsi_device_triangle *t = data->triangle;
  const triangle_sweep *s = &t->sweep[data->backward];
  data->nothing = (tsi_task_data){.device = -1};
  data->read = (tsi_task_data){.device = -1, .count = 1, .use = {{data->x, TSI_USE_W}}};
  data->write = (tsi_task_data){.device = -1, .count = 1, .use = {{data->x, TSI_USE_R}}};
  data->solve = (tsi_task_data){.device = t->options.device,
                                .microseconds = 1e6 * tsi_device_triangle_seconds(t, data->backward),
                                .x_bytes = (double)tsi_device_data_bytes(data->x),
                                .count = SCRATCH + 1};
  for (int k = 0; k < READS; k++) data->solve.use[k] = (tsi_task_use){s->data[k], TSI_USE_R};
  data->solve.use[X] = (tsi_task_use){data->x, TSI_USE_RW};
  data->solve.use[SCRATCH] = (tsi_task_use){data->scratch, TSI_USE_SCRATCH};
}

tristar_status tsi_triangle_data_create(tsi_device_triangle *t, bool backward, tsi_execution *e,
                                        tsi_triangle_data **out) {
  tristar_status status = TRISTAR_OK;
  const size_t row = (size_t)e->call.stride * t->rows->scalar_bytes;
  tsi_triangle_data *data;
  tsi_triangle_data_destroy(e, out);
  TSI_TRY_OUT(TSI_ALLOC_ZERO(t->env, *out, 1));
  data = *out;
  data->triangle = t;
  data->workspace = e->call.workspace;
  data->stride = e->call.stride;
  data->backward = backward;
  data->devices = (tsi_execution_devices){data, data_of, start_solve};
  TSI_TRY_OUT(tsi_device_data_create(t->env, e->call.workspace, (size_t)t->rows->cut->n * row, &data->x));
  TSI_TRY_OUT(tsi_device_data_create(
      t->env, NULL, flags_begin(t, data->stride) + flag_bytes(&t->sweep[backward].plan.tables),
      &data->scratch));
  describe(data);
  e->devices = &data->devices;
out:
  if (status != TRISTAR_OK) tsi_triangle_data_destroy(e, out);
  return status;
}

void tsi_triangle_data_destroy(tsi_execution *e, tsi_triangle_data **data) {
  if (*data == NULL) return;
  tsi_env *env = (*data)->triangle->env;
  tsi_device_data_destroy(&(*data)->x);
  tsi_device_data_destroy(&(*data)->scratch);
  TSI_FREE(env, *data);
  e->devices = NULL;
}
