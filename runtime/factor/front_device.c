/* See front_device.h. */
#include "runtime/factor/front_device.h"

#include "runtime/exec/starpu/devices.h"

/* ---- Layout of device memory --------------------------------------------------------------------------- */

/* Pieces begin at multiples of this. */
#define ALIGNMENT 256

/* Offsets of the pieces, in bytes. */
typedef struct layout {
  size_t p, q, c, pivots, inverse, end;
  size_t p_bytes, q_bytes, c_bytes;
} layout;

static size_t piece(layout *l, size_t bytes) {
  const size_t at = l->end;
  l->end += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return at;
}

static layout layout_of(tristar_method method, size_t scalar, tsi_index w, tsi_index m) {
  layout l = {.end = 0};
  const size_t f = (size_t)w + (size_t)m;
  l.p_bytes = f * (size_t)w * scalar;
  l.q_bytes = method == TRISTAR_METHOD_LLT ? 0 : (size_t)w * (size_t)m * scalar;
  l.c_bytes = (size_t)tsi_complement_size(m, method == TRISTAR_METHOD_LU) * scalar;
  l.p = piece(&l, l.p_bytes);
  l.q = piece(&l, l.q_bytes);
  l.c = piece(&l, l.c_bytes);
  l.pivots = piece(&l, TSI_PANEL_WIDTH_MAX * sizeof(tsi_index));
  l.inverse = piece(&l, 2 * TSI_PANEL_WIDTH_MAX * scalar);
  return l;
}

tsi_device_front_size tsi_device_front_measure(const tsi_symbolic *symbolic, tristar_method method,
                                               size_t scalar_bytes, tsi_index s) {
  const tsi_index w = symbolic->start[s + 1] - symbolic->start[s];
  const layout l =
      layout_of(method, scalar_bytes, w, (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]));
  const double both = (double)(l.p_bytes + l.c_bytes + (method == TRISTAR_METHOD_LU ? l.q_bytes : 0));
  const double block = (double)w * TSI_PANEL_WIDTH_MAX * (double)scalar_bytes; /* Largest diagonal blocks. */
  return (tsi_device_front_size){(double)l.end, both + block, both + block};
}

/* ---- A front on a device ------------------------------------------------------------------------------- */

typedef struct device_front {
  tsi_numeric *numeric;
  const tsi_front *front; /* In main memory. */
  tsi_index s;
  layout at;
  char *p, *q, *c, *pivots, *inverse; /* On the device. */
  void *stream, *queue;
  const tsi_gpu_dense *dense;
  bool full, upper; /* LU; LU or LDLT. */
  int error;        /* The first error; after it nothing is started. */
} device_front;

/* Starts an operation unless one has failed. */
#define START(d, call)                                                                                       \
  do                                                                                                         \
    if ((d)->error == 0) (d)->error = (call);                                                                \
  while (0)

static char *entry(const device_front *d, char *base, tsi_index ld, tsi_index i, tsi_index j) {
  return base + ((size_t)i + (size_t)j * (size_t)ld) * d->numeric->kernels->scalar_bytes;
}
static char *in_p(const device_front *d, tsi_index i, tsi_index j) {
  return entry(d, d->p, d->front->f, i, j);
}

/* C -= A form(B). */
static void multiply(device_front *d, tsi_dense_form form, int m, int n, int k, const void *a, int lda,
                     const void *b, int ldb, void *c, int ldc) {
  if (m > 0 && n > 0 && k > 0) START(d, d->dense->multiply(d->queue, form, m, n, k, a, lda, b, ldb, c, ldc));
}

static void multiply_self(device_front *d, int n, int k, const void *a, int lda, void *c, int ldc) {
  if (n > 0 && k > 0) START(d, d->dense->multiply_self(d->queue, n, k, a, lda, c, ldc));
}

/* Copies the whole front between main memory and the device. LDLT: Q is made on the device and used only
 * there. */
static void transfer(device_front *d, bool up) {
  const tsi_front *front = d->front;
  char *const device[] = {d->p, d->c, d->q};
  char *const host[] = {front->p, front->c, front->q};
  const size_t bytes[] = {d->at.p_bytes, d->at.c_bytes, d->full ? d->at.q_bytes : 0};
  for (int k = 0; k < 3; k++)
    if (bytes[k] > 0)
      START(d, tsi_devices.transfer(up ? device[k] : host[k], up ? host[k] : device[k], bytes[k], d->stream));
}

/* Copies the diagonal block of a panel between its place in P in main memory and the device. */
static void transfer_block(device_front *d, tsi_index o, tsi_index b, bool up) {
  const size_t scalar = d->numeric->kernels->scalar_bytes, pitch = (size_t)d->front->f * scalar;
  char *device = in_p(d, o, o), *host = entry(d, d->front->p, d->front->f, o, o);
  START(d, tsi_devices.transfer_columns(up ? device : host, up ? host : device, pitch, (size_t)b * scalar,
                                        (size_t)b, d->stream));
}

/* Updates a diagonal block on the device, factors it on the host, and copies it back with its pivots and
 * D^-1. */
static void factor_block(device_front *d, tsi_index panel, tsi_index o, tsi_index b) {
  const int f = d->front->f;
  tsi_numeric *numeric = d->numeric;
  const tsi_index column = numeric->analysis->panels->start[panel];
  if (d->upper)
    multiply(d, TSI_DENSE_PLAIN, b, b, o, in_p(d, o, 0), f, in_p(d, 0, o), f, in_p(d, o, o), f);
  else
    multiply_self(d, b, o, in_p(d, o, 0), f, in_p(d, o, o), f);
  transfer_block(d, o, b, false);
  START(d, tsi_devices.finish(d->stream));
  if (d->error != 0) return;
  /* It has its updates, and so is the first block of the remaining front. */
  tsi_front_stripe stripe = tsi_front_stripe_of(d->front, numeric->kernels->scalar_bytes, o, o + b);
  stripe.begin = 0;
  tsi_front_diagonal(numeric, &stripe, f - o, panel);
  if (tsi_numeric_failed(numeric)) return;
  transfer_block(d, o, b, true);
  if (d->upper)
    START(d, tsi_devices.transfer(d->pivots, numeric->pivots + column, (size_t)b * sizeof(tsi_index),
                                  d->stream));
  if (numeric->inverse)
    START(d, tsi_devices.transfer(d->inverse, tsi_numeric_inverse(numeric, column),
                                  2 * (size_t)b * numeric->kernels->scalar_bytes, d->stream));
}

static void launch(device_front *d, tsi_gpu_front_kind kind, tsi_index lines, tsi_index b, char *x,
                   tsi_index ldx, char *upper, tsi_index ldupper) {
  const tsi_gpu_front front = {.kind = kind,
                               .lines = lines,
                               .b = b,
                               .x = x,
                               .ldx = ldx,
                               .pivot = (const int32_t *)(void *)d->pivots,
                               .inverse = d->inverse,
                               .upper = upper,
                               .ldupper = ldupper,
                               .adjoint = d->numeric->adjoint};
  if (lines > 0) START(d, d->dense->front(&front, d->stream));
}

/* Computes all rows below the diagonal block. */
static void below(device_front *d, tsi_index o, tsi_index b) {
  const tsi_index w = d->front->w, f = d->front->f, end = o + b, rows = f - end;
  const bool ldl = d->numeric->inverse != NULL;
  char *x = in_p(d, end, o);
  if (rows == 0) return;
  if (d->upper)
    multiply(d, TSI_DENSE_PLAIN, rows, b, o, in_p(d, end, 0), f, in_p(d, 0, o), f, x, f);
  else
    multiply(d, TSI_DENSE_ADJOINT, rows, b, o, in_p(d, end, 0), f, in_p(d, o, 0), f, x, f);
  if (ldl) launch(d, TSI_GPU_EXCHANGE_COLUMNS, rows, b, x, f, NULL, 0);
  const tsi_dense_triangle triangle = {.upper = d->full,
                                       .unit = ldl,
                                       .form = d->full                       ? TSI_DENSE_PLAIN
                                               : ldl && !d->numeric->adjoint ? TSI_DENSE_TRANSPOSE
                                                                             : TSI_DENSE_ADJOINT,
                                       .at = in_p(d, o, o),
                                       .ld = f};
  START(d, d->dense->solve(d->queue, &triangle, rows, b, x, f));
  if (!ldl) return;
  launch(d, TSI_GPU_DIVIDE, w - end, b, x, f, in_p(d, o, end), f); /* U stands above the diagonal of P, */
  launch(d, TSI_GPU_DIVIDE, f - w, b, in_p(d, w, o), f, entry(d, d->q, w, o, 0), w); /* and in Q */
}

/* LU: computes columns to the right of the diagonal block, in P or in Q. */
static void right(device_front *d, tsi_index o, tsi_index b, char *columns, tsi_index ld, tsi_index count) {
  const int f = d->front->f;
  char *x = entry(d, columns, ld, o, 0);
  const tsi_dense_triangle triangle = {.left = true, .unit = true, .at = in_p(d, o, o), .ld = f};
  if (count == 0) return;
  multiply(d, TSI_DENSE_PLAIN, b, count, o, in_p(d, o, 0), f, columns, ld, x, ld);
  launch(d, TSI_GPU_EXCHANGE_ROWS, count, b, x, ld, NULL, 0);
  START(d, d->dense->solve(d->queue, &triangle, b, count, x, ld));
}

/* Updates C, one tile column at a time: the diagonal tile and the tiles below or (LU) the whole column. */
static void schur(device_front *d) {
  const tsi_index w = d->front->w, m = d->front->m, f = d->front->f;
  for (tsi_index c0 = 0; c0 < m; c0 += TSI_TILE) {
    const tsi_index c1 = tsi_index_min(m, c0 + TSI_TILE), first = tsi_tile_row(c0, d->full), ld = m - first;
    char *to = d->c + (size_t)tsi_complement_tile(m, c0, d->full) * d->numeric->kernels->scalar_bytes;
    if (d->upper) {
      multiply(d, TSI_DENSE_PLAIN, m - first, c1 - c0, w, in_p(d, w + first, 0), f, entry(d, d->q, w, 0, c0),
               w, to, ld);
      continue;
    }
    multiply_self(d, c1 - c0, w, in_p(d, w + c0, 0), f, to, ld);
    multiply(d, TSI_DENSE_ADJOINT, m - c1, c1 - c0, w, in_p(d, w + c1, 0), f, in_p(d, w + c0, 0), f,
             entry(d, to, ld, c1 - c0, 0), ld);
  }
}

static void work(device_front *d) {
  const tsi_panels *panels = d->numeric->analysis->panels;
  const tsi_index first = d->numeric->analysis->symbolic->start[d->s], w = d->front->w;
  transfer(d, true);
  for (tsi_index p = panels->first[d->s]; p < panels->first[d->s + 1]; p++) {
    const tsi_index o = panels->start[p] - first, b = tsi_panel_width(panels, p), end = o + b;
    factor_block(d, p, o, b);
    if (d->error != 0 || tsi_numeric_failed(d->numeric)) return;
    below(d, o, b);
    if (!d->full) continue;
    right(d, o, b, in_p(d, 0, end), d->front->f, w - end);
    right(d, o, b, d->q, w, d->front->m);
  }
  schur(d);
  transfer(d, false);
}

/* Task of the device's worker (tsi_task_on_device). memory: the device memory of the front. Failures are
 * recorded in numeric. */
static int run_on_device(void *context, const tsi_index argument[4], void *const memory[]) {
  tristar_status status = TRISTAR_OK;
  tsi_numeric *numeric = context;
  const tsi_open_front *open = &numeric->tiled[numeric->dag->part[argument[0]].tiled];
  if (tsi_numeric_failed(numeric)) return 0;
  const tristar_method method = numeric->analysis->stats.method;
  device_front d = {.numeric = numeric,
                    .front = &open->front,
                    .s = open->s,
                    .at = layout_of(method, numeric->kernels->scalar_bytes, open->front.w, open->front.m),
                    .stream = tsi_devices.stream(),
                    .dense = tsi_devices.dense[strchr("sdcz", numeric->analysis->factor_scalar) - "sdcz"],
                    .full = numeric->full,
                    .upper = numeric->pivots != NULL};
  d.p = (char *)memory[0] + d.at.p;
  d.q = (char *)memory[0] + d.at.q;
  d.c = (char *)memory[0] + d.at.c;
  d.pivots = (char *)memory[0] + d.at.pivots;
  d.inverse = (char *)memory[0] + d.at.inverse;
  d.error = d.dense->open(d.stream, &d.queue);
  if (d.error == 0) work(&d);
  const int end = tsi_devices.finish(d.stream), closed = d.dense->close(d.queue);
  const int error = d.error != 0 ? d.error : end != 0 ? end : closed;
  if (error == 0) return 0;
  atomic_store(&numeric->device_failed, true);
  TSI_FAIL_OUT(numeric->env, TRISTAR_ERR_RUNTIME,
               "%s gave error %d in the factorization of a front of %d columns", tsi_devices.name, error,
               open->front.w);
out:
  tsi_failure_keep(numeric->env, &numeric->failure, status);
  return 0;
}

/* ---- Life ---------------------------------------------------------------------------------------------- */

static tristar_status give_space(tsi_numeric *numeric, tsi_index step, tsi_device_front *place) {
  const tsi_factorization *dag = numeric->dag;
  const tsi_index s = dag->part[step].first;
  const tsi_device_front_size size =
      tsi_device_front_measure(dag->symbolic, dag->method, numeric->kernels->scalar_bytes, s);
  TSI_TRY(tsi_device_data_create(numeric->env, NULL, (size_t)size.memory, &place->memory));
  place->use = (tsi_task_data){.device = dag->device[s],
                               .microseconds = numeric->list->task[step].microseconds,
                               .border_bytes = size.up + size.down,
                               .count = 1,
                               .use = {{place->memory, TSI_USE_SCRATCH}}};
  tsi_task_list_use(numeric->list, step, &place->use, run_on_device);
  return TRISTAR_OK;
}

tristar_status tsi_device_fronts_record(tsi_numeric *numeric) {
  const tsi_factorization *dag = numeric->dag;
  if (dag->device == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_ZERO(numeric->env, numeric->on_device, dag->tiled_count));
  for (tsi_index k = 0; k < dag->steps->count; k++)
    if (dag->steps->step[k].kind == TSI_STEP_FRONT_DEVICE)
      TSI_TRY(give_space(numeric, k, &numeric->on_device[dag->part[k].tiled]));
  return TRISTAR_OK;
}

void tsi_device_fronts_release(tsi_numeric *numeric) {
  for (tsi_index k = 0; numeric->on_device && k < numeric->dag->tiled_count; k++)
    tsi_device_data_destroy(&numeric->on_device[k].memory);
  TSI_FREE(numeric->env, numeric->on_device);
}
