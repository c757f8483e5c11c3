/* Triangles on several GPUs: see tristar_mpi.h, and codelets/gpu/tables/spread_launch.h for the solve.
 *
 * Heap of a PE: a flag for each left sum, then a flag that rank 0 raises when b has arrived, then a flag for
 * each PE that has ended a solve. Data: left sums, rows of b that become rows of x, the header of a solve
 * from rank 0, and the status of each PE.
 *
 * Reuse of heaps. A PE begins a solve when rank 0 has put b into its heap, and returns when all PEs have
 * ended the solve. So no PE overwrites data that another PE may still read. These waits are for flags in
 * shared memory.
 *
 * Reads   a factor of rank 0, by rows.   Writes  heaps, memory of the device, x.
 * Invariants: all ranks begin their solves in the same order. */
#include "codelets/cpu/kernels.h"
#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/exec/device/spread_rows.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/factor/factor.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/solve/device_heap.h"
#include "runtime/process/predict_spread.h"
#include "runtime/solve/device_split_options.h"
#include "runtime/solve/request.h"
#include "tristar_mpi.h"

#define PEER_SECONDS 60 /* default of peer_seconds */

/* Header of a solve, from rank 0. */
typedef struct call_header {
  int64_t nrhs;
  int32_t status;
} call_header;

/* Counters and flags on the device: a counter of tickets, one of polls, then a flag for each own row. */
enum { TICKET, POLLS, FLAGS };

struct tristar_spread_triangle_s {
  tristar_t *ts;
  tristar_spread_options options;
  tsi_transport *transport;
  tsi_oneside *port;
  tsi_spread_plan plan;
  char scalar;
  size_t bytes; /* of a scalar */
  int64_t n;
  tsi_index columns, stride; /* columns: right-hand sides at once */
  int pe, pes;
  int32_t given, ended;         /* flags: b has arrived; the first flag of ended solves */
  size_t vector, header, state; /* offsets in the data of a heap */
  int32_t epoch;
  tsi_index *first, *row; /* rank 0: pes + 1, n: rows of each PE */
  void *packed;           /* rank 0: buffer for the rows of a PE */
  int device;
  void *block, *values, *inverse, *workspace; /* on the device */
  int32_t *counters;
  tsi_device_heap heap;
  tristar_spread_stats stats;
};

void tristar_spread_options_init_sized(tristar_spread_options *options, size_t size) {
  const tristar_spread_options defaults = {.op = TRISTAR_N};
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

/* ---- The triangle -------------------------------------------------------------------------------------- */

static tristar_status check_options(tsi_env *env, const tristar_spread_options *o, int pes) {
  const bool known = o->op == TRISTAR_N || o->op == TRISTAR_T || o->op == TRISTAR_C;
  if (!known || o->tasks < 0 || (unsigned)o->polls_all > 1 || o->nrhs < 0 || !(o->peer_seconds >= 0))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "op %d, tasks %d, polls_all %d, nrhs %lld, peer_seconds %g",
             (int)o->op, o->tasks, o->polls_all, (long long)o->nrhs, o->peer_seconds);
  if (pes > TSI_SPREAD_PES)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "a triangle on %d GPUs: at most %d", pes, TSI_SPREAD_PES);
  if (tsi_devices.name == NULL || tsi_devices.spread[0] == NULL || tsi_devices.present() == 0)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "a triangle on several GPUs: there is no GPU here, or the build has no CUDA or HIP");
  return TRISTAR_OK;
}

static tristar_status check_factor(tsi_env *env, const tristar_factor_t *factor, int pe) {
  if (pe > 0 && factor != NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "a factor is passed on rank %d: only rank 0 may have one", pe);
  if (pe > 0) return TRISTAR_OK;
  if (factor == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "factor is NULL on rank 0");
  TSI_TRY(tsi_factor_need_values(factor));
  if (factor->rows == NULL)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "spread triangle: the factor is no triangle by rows");
  if (factor->moves_rows || factor->moves_columns || factor->row_scale || factor->col_scale)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "spread triangle: the triangle has orders or scales");
  return TRISTAR_OK;
}

/* The rows of the sweep, their values, and the inverse of the diagonal. */
typedef struct sweep_rows {
  tsi_lines lines;
  tsi_entries own; /* the arrays, unless the factor owns them */
  const void *values;
  void *inverse; /* owned unless rank 0 */
  char scalar;
} sweep_rows;

static void release_rows(tsi_env *env, sweep_rows *rows, int pe) {
  tsi_entries_finish(&rows->own);
  if (pe > 0) TSI_FREE(env, rows->inverse);
}

/* Rank 0. Rows of the sweep are lines of the factor, or of its transpose. */
static tristar_status take_rows(tsi_env *env, const tristar_factor_t *factor, tristar_op op,
                                sweep_rows *rows) {
  const tsi_row_factor *f = factor->rows;
  const bool upper = factor->lower == NULL, backward = upper != (op != TRISTAR_N);
  rows->scalar = factor->analysis->factor_scalar;
  rows->inverse = f->inverse;
  return tsi_sweep_lines(env, f, backward, &rows->own, &rows->lines, &rows->values);
}

/* Collective. Broadcasts the rows of the sweep from rank 0. */
static tristar_status share_rows(tristar_spread_triangle_t *t, const tristar_factor_t *factor,
                                 sweep_rows *rows) {
  tsi_env *env = &t->ts->env;
  const MPI_Comm comm = tsi_transport_comm(t->transport);
  TSI_TRY(
      tsi_transport_agree(t->transport, factor ? take_rows(env, factor, t->options.op, rows) : TRISTAR_OK));
  int64_t size[4] = {rows->lines.n, factor ? rows->lines.ptr[rows->lines.n] : 0, rows->lines.columns,
                     rows->scalar};
  TSI_TRY(TSI_MPI(env, "MPI_Bcast", MPI_Bcast(size, 4, MPI_INT64_T, 0, comm)));
  const size_t n = (size_t)size[0], entries = (size_t)size[1];
  t->n = size[0];
  t->scalar = rows->scalar = (char)size[3];
  t->bytes = tsi_sparse_kernels_select(t->scalar)->scalar_bytes;
  tristar_status mine = TRISTAR_OK;
  if (factor == NULL) {
    rows->own = (tsi_entries){.n = (tsi_index)n, .bytes = t->bytes};
    mine = TSI_ALLOC(env, rows->own.ptr, n + 1);
    if (mine == TRISTAR_OK) mine = TSI_ALLOC(env, rows->own.index, entries);
    if (mine == TRISTAR_OK) mine = TSI_ALLOC_SIZED(env, rows->own.item, entries, t->bytes);
    if (mine == TRISTAR_OK) mine = TSI_ALLOC_SIZED(env, rows->inverse, n, t->bytes);
    rows->lines = (tsi_lines){(tsi_index)n, rows->own.ptr, rows->own.index, size[2] != 0};
    rows->values = rows->own.item;
  }
  TSI_TRY(tsi_transport_agree(t->transport, mine));
  TSI_TRY(tsi_broadcast_bytes(env, comm, (void *)rows->lines.ptr, (n + 1) * sizeof *rows->lines.ptr));
  TSI_TRY(tsi_broadcast_bytes(env, comm, (void *)rows->lines.index, entries * sizeof *rows->lines.index));
  TSI_TRY(tsi_broadcast_bytes(env, comm, (void *)rows->values, entries * t->bytes));
  return tsi_broadcast_bytes(env, comm, rows->inverse, n * t->bytes);
}

/* ---- Tables and memory --------------------------------------------------------------------------------- */

/* Rank 0. Lists the rows of each PE, in the order of the sweep. */
static tristar_status list_rows(tristar_spread_triangle_t *t, const tsi_lines *lines,
                                const tsi_index *owner) {
  TSI_TRY(TSI_ALLOC_ZERO_IN(t, t->first, t->pes + 2));
  TSI_TRY(TSI_ALLOC_IN(t, t->row, t->n));
  TSI_TRY(TSI_ALLOC_SIZED_IN(t, t->packed, (size_t)t->plan.most_rows * (size_t)t->stride, t->bytes));
  for (tsi_index i = 0; i < lines->n; i++) t->first[owner[i] + 2]++;
  for (int pe = 0; pe < t->pes; pe++) t->first[pe + 2] += t->first[pe + 1];
  for (tsi_index k = 0; k < lines->n; k++) {
    const tsi_index i = tsi_line_of(lines, k);
    t->row[t->first[owner[i] + 1]++] = i;
  }
  return TRISTAR_OK;
}

static tristar_status make_plan(tristar_spread_triangle_t *t, const sweep_rows *rows) {
  tsi_env *env = &t->ts->env;
  TSI_SCRATCH(env, tsi_index, owner, rows->lines.n);
  TSI_TRY(tsi_spread_place(env, &rows->lines, t->pes, t->options.tasks, owner));
  const tsi_spread_options options = {t->pe, t->pes, owner};
  TSI_TRY(tsi_spread_create(env, &rows->lines, &options, &t->plan));
  t->stats = (tristar_spread_stats){.rank = t->pe,
                                    .rows = t->plan.rows,
                                    .entries = t->plan.entries,
                                    .sums = t->plan.slots,
                                    .gets = t->plan.gets,
                                    .most_gets = (int64_t)t->plan.rows * (t->pes - 1)};
  return t->pe == 0 ? list_rows(t, &rows->lines, owner) : TRISTAR_OK;
}

static void conjugate(char scalar, size_t count, void *values) {
  for (size_t i = 0; i < count && scalar == 'c'; i++) ((float *)values)[2 * i + 1] *= -1;
  for (size_t i = 0; i < count && scalar == 'z'; i++) ((double *)values)[2 * i + 1] *= -1;
}

/* Uploads values in the order of the tables, and the inverse diagonal of own rows. */
static tristar_status upload_values(tristar_spread_triangle_t *t, const sweep_rows *rows) {
  tsi_env *env = &t->ts->env;
  const size_t entries = (size_t)t->plan.entries, own = (size_t)t->plan.rows;
  TSI_OWNED void *values = NULL, *inverse = NULL;
  TSI_TRY(TSI_ALLOC_SIZED(env, values, entries, t->bytes));
  TSI_TRY(TSI_ALLOC_SIZED(env, inverse, own, t->bytes));
  for (size_t e = 0; e < entries; e++)
    tsi_copy_scalar(t->bytes, values, (tsi_count)e, rows->values, t->plan.source[e]);
  for (size_t r = 0; r < own; r++)
    tsi_copy_scalar(t->bytes, inverse, (tsi_count)r, rows->inverse, t->plan.order[r]);
  if (t->options.op == TRISTAR_C) {
    conjugate(t->scalar, entries, values);
    conjugate(t->scalar, own, inverse);
  }
  TSI_TRY(tsi_device_upload(env, &t->values, values, entries * t->bytes));
  TSI_TRY(tsi_device_upload(env, &t->inverse, inverse, own * t->bytes));
  return tsi_device_status(env, "copy to a device", tsi_devices.finish(NULL));
}

static tristar_status fill_device(tristar_spread_triangle_t *t, const sweep_rows *rows) {
  tsi_env *env = &t->ts->env;
  const size_t counters = ((size_t)t->plan.rows + FLAGS) * sizeof *t->counters;
  t->device = t->pe % tsi_devices.present();
  TSI_TRY(tsi_device_status(env, "choosing a device", tsi_devices.select(t->device)));
  TSI_TRY(tsi_device_upload(env, &t->block, t->plan.block, t->plan.bytes));
  TSI_TRY(upload_values(t, rows));
  TSI_TRY(tsi_device_allocate(env, &t->workspace, (size_t)t->plan.rows * (size_t)t->stride * t->bytes));
  TSI_TRY(tsi_device_allocate(env, (void **)&t->counters, counters));
  return tsi_device_status(env, "memory of a device", tsi_devices.clear(t->counters, counters, NULL));
}

static size_t whole_lines(size_t bytes) {
  return (bytes + TSI_CACHE_LINE - 1) / TSI_CACHE_LINE * TSI_CACHE_LINE;
}

/* Collective. */
static tristar_status open_heap(tristar_spread_triangle_t *t) {
  tsi_env *env = &t->ts->env;
  const size_t row = (size_t)t->stride * t->bytes;
  const double seconds = t->options.peer_seconds > 0 ? t->options.peer_seconds : PEER_SECONDS;
  t->given = t->plan.most_slots;
  t->ended = t->given + 1;
  t->vector = whole_lines((size_t)t->plan.most_slots * row);
  t->header = t->vector + whole_lines((size_t)t->plan.most_rows * row);
  t->state = t->header + whole_lines(sizeof(call_header));
  const size_t data = t->state + (size_t)t->pes * sizeof(int32_t);
  TSI_TRY(
      tsi_oneside_create(env, tsi_transport_comm(t->transport), t->ended + t->pes, data, seconds, &t->port));
  return tsi_transport_agree(t->transport, tsi_device_heap_open(env, t->port, data, &t->heap));
}

static tristar_status prepare(tristar_spread_triangle_t *t, const tristar_factor_t *factor) {
  tsi_env *env = &t->ts->env;
  sweep_rows rows = {.values = NULL};
  tristar_status status = share_rows(t, factor, &rows);
  if (status == TRISTAR_OK) status = tsi_transport_agree(t->transport, make_plan(t, &rows));
  if (status == TRISTAR_OK) status = tsi_transport_agree(t->transport, fill_device(t, &rows));
  release_rows(env, &rows, t->pe);
  return status == TRISTAR_OK ? open_heap(t) : status;
}

/* ---- Life ---------------------------------------------------------------------------------------------- */

static tristar_status agree_on_options(const tristar_spread_triangle_t *t, tristar_status mine) {
  static const char *const name[] = {"op", "tasks", "polls_all", "nrhs"};
  const int64_t value[] = {t->options.op, t->options.tasks, t->options.polls_all, t->options.nrhs};
  return tsi_transport_same(t->transport, mine, sizeof value / sizeof *value, name, value, 0, NULL);
}

/* Collective. */
static tristar_status create(tristar_t *ts, MPI_Comm comm, const tristar_factor_t *factor,
                             const tristar_spread_options *options, tristar_spread_triangle_t **out) {
  tsi_env *env = &ts->env;
  tsi_transport *transport = NULL;
  tristar_spread_options full;
  tristar_status mine = TSI_OPTIONS(env, tristar_spread_options, options, &full);
  TSI_TRY(tsi_transport_create(env, comm, TSI_TRANSPORT_DIRECT, !ts->workers.allowed, mine, &transport));
  const tristar_status status = tsi_transport_agree(transport, TSI_ALLOC_ZERO(env, *out, 1));
  if (status != TRISTAR_OK) {
    tsi_transport_destroy(&transport);
    TSI_FREE(env, *out);
    return status;
  }
  tristar_spread_triangle_t *t = *out;
  t->ts = ts;
  tsi_env_retain(env);
  t->options = full;
  t->transport = transport;
  t->pe = tsi_transport_rank(transport);
  t->pes = tsi_transport_size(transport);
  t->columns = tsi_columns_of(full.nrhs);
  t->stride = tsi_workspace_stride(t->columns);
  mine = check_options(env, &t->options, t->pes);
  if (mine == TRISTAR_OK) mine = check_factor(env, factor, t->pe);
  TSI_TRY(agree_on_options(t, mine));
  return prepare(t, factor);
}

tristar_status tristar_spread_triangle(tristar_t *ts, MPI_Comm comm, const tristar_factor_t *factor,
                                       const tristar_spread_options *options,
                                       tristar_spread_triangle_t **out) {
  TSI_ENTER(ts, ts);
  if (out == NULL) return TSI_NULL(out);
  *out = NULL;
  const tristar_status status = create(ts, comm, factor, options, out);
  if (status != TRISTAR_OK) tristar_spread_destroy(out);
  return tsi_answer(&ts->env, status);
}

void tristar_spread_destroy(tristar_spread_triangle_t **triangle) {
  if (triangle == NULL || *triangle == NULL) return;
  tristar_spread_triangle_t *t = *triangle;
  tsi_env *env = &t->ts->env;
  *triangle = NULL;
  if (tsi_env_abandon(env, t)) return;
  void *const memory[] = {t->block, t->values, t->inverse, t->workspace, t->counters};
  bool any = t->heap.port != NULL;
  for (size_t k = 0; k < sizeof memory / sizeof *memory; k++) any = any || memory[k] != NULL;
  if (any && tsi_devices.select(t->device) == 0) {
    for (size_t k = 0; k < sizeof memory / sizeof *memory; k++) tsi_devices.release(memory[k]);
    tsi_device_heap_close(&t->heap);
  }
  tsi_oneside_destroy(&t->port);
  tsi_spread_destroy(env, &t->plan);
  tsi_transport_destroy(&t->transport);
  TSI_FREE(env, t);
  tsi_env_release(env);
}

tristar_status tristar_spread_get_stats(const tristar_spread_triangle_t *triangle,
                                        tristar_spread_stats *stats) {
  TSI_GET(triangle, stats, triangle->stats);
}

/* ---- A block of right-hand sides ----------------------------------------------------------------------- */

/* Columns of b or x, on rank 0. */
typedef struct user_columns {
  const char *b;
  char *x;
  int64_t ldb, ldx;
} user_columns;

/* Rank 0. Sends the header of the solve and the rows of b to all PEs. */
static void give(tristar_spread_triangle_t *t, const call_header *header, const user_columns *user,
                 tsi_index width) {
  for (int pe = 0; pe < t->pes; pe++) {
    const tsi_index rows = t->first[pe + 1] - t->first[pe];
    for (tsi_index r = 0; r < rows && header->status == TRISTAR_OK; r++)
      for (tsi_index c = 0; c < width; c++)
        tsi_copy_scalar(t->bytes, t->packed, (tsi_count)r * t->stride + c, user->b,
                        t->row[t->first[pe] + r] + c * user->ldb);
    if (header->status == TRISTAR_OK && width > 0)
      tsi_oneside_put(t->port, pe, t->vector, t->packed, (size_t)rows * (size_t)t->stride * t->bytes);
    tsi_oneside_put_signal(t->port, pe, t->header, header, sizeof *header, t->given, t->epoch);
  }
}

/* Rank 0. Gets the rows of x from all PEs. */
static void collect(const tristar_spread_triangle_t *t, const user_columns *user, tsi_index width) {
  for (int pe = 0; pe < t->pes; pe++) {
    const tsi_index rows = t->first[pe + 1] - t->first[pe];
    tsi_oneside_get(t->port, pe, t->vector, t->packed, (size_t)rows * (size_t)t->stride * t->bytes);
    for (tsi_index r = 0; r < rows; r++)
      for (tsi_index c = 0; c < width; c++)
        tsi_copy_scalar(t->bytes, user->x, t->row[t->first[pe] + r] + c * user->ldx, t->packed,
                        (tsi_count)r * t->stride + c);
  }
}

static tsi_gpu_spread launch_of(const tristar_spread_triangle_t *t, tsi_index width, char *vector) {
  tsi_gpu_spread s = tsi_spread_move(&t->plan, t->block);
  s.call = (tsi_device_call){.b = vector,
                             .x = vector,
                             .b_row = t->stride,
                             .b_column = 1,
                             .x_row = t->stride,
                             .x_column = 1,
                             .nrhs = width,
                             .stride = t->stride,
                             .workspace = t->workspace};
  s.values = t->values;
  s.inverse = t->inverse;
  s.ticket = t->counters + TICKET;
  s.polls = t->counters + POLLS;
  s.flag = t->counters + FLAGS;
  s.polls_all = t->options.polls_all != 0;
  s.epoch = t->epoch;
  s.heap = t->heap.seen;
  s.sums = 0;
  return s;
}

/* Waits until the device has ended. A sweep that takes too long is stopped on all PEs, so that it ends. */
static tristar_status watch(tristar_spread_triangle_t *t) {
  const double begin = tsi_clock();
  bool busy = true;
  for (int turn = 0; busy; turn++) {
    TSI_TRY(tsi_device_status(&t->ts->env, "solve on a device", tsi_devices.busy(NULL, &busy)));
    if (busy && tsi_clock() - begin > tsi_oneside_seconds(t->port) && !tsi_oneside_stopped(t->port))
      tsi_oneside_stop(t->port, (t->pe + 1) % t->pes, 0, t->epoch);
    if (busy) tsi_mpi_pause(turn);
  }
  return TRISTAR_OK;
}

/* Runs the sweep of this PE. */
static tristar_status run(tristar_spread_triangle_t *t, tsi_index width) {
  static const char names[] = "sdcz";
  tsi_env *env = &t->ts->env;
  const size_t type = (size_t)(strchr(names, t->scalar) - names);
  int32_t polls = 0;
  TSI_TRY(tsi_device_status(env, "choosing a device", tsi_devices.select(t->device)));
  TSI_TRY(tsi_device_status(env, "memory of a device",
                            tsi_devices.clear(t->counters, FLAGS * sizeof *t->counters, NULL)));
  const tsi_gpu_spread s = launch_of(t, width, t->heap.own + t->vector);
  TSI_TRY(
      tsi_device_status(env, "solve on a device", tsi_devices.spread[type](&s, 0, TSI_GPU_THREADS, NULL)));
  TSI_TRY(watch(t));
  TSI_TRY(tsi_device_status(env, "copy from a device",
                            tsi_devices.transfer(&polls, t->counters + POLLS, sizeof polls, NULL)));
  TSI_TRY(tsi_device_status(env, "copy from a device", tsi_devices.finish(NULL)));
  t->stats.polls += polls;
  t->stats.bytes += (int64_t)polls * (int64_t)sizeof(int32_t) + t->plan.gets * width * (int64_t)t->bytes;
  return tsi_oneside_check(t->port);
}

/* Returns when all PEs have ended the solve, with their worst status. */
static tristar_status end(tristar_spread_triangle_t *t, tristar_status mine) {
  tsi_env *env = &t->ts->env;
  const int32_t own = (int32_t)mine;
  for (int pe = 0; pe < t->pes; pe++)
    tsi_oneside_put_signal(t->port, pe, t->state + (size_t)t->pe * sizeof own, &own, sizeof own,
                           t->ended + t->pe, t->epoch);
  for (int pe = 0; pe < t->pes; pe++) TSI_TRY(tsi_oneside_wait(t->port, pe, t->ended + pe, t->epoch));
  const int32_t *all = (const int32_t *)(const void *)((const char *)tsi_oneside_data(t->port) + t->state);
  int worst = 0;
  for (int pe = 0; pe < t->pes; pe++)
    if (all[pe] > all[worst]) worst = pe;
  if (all[worst] != TRISTAR_OK && all[worst] != own)
    TSI_FAIL(env, (tristar_status)all[worst], "spread triangle: rank %d has failed", worst);
  return (tristar_status)all[worst];
}

/* All ranks call it. mine: an earlier failure of this rank. */
static tristar_status solve_block(tristar_spread_triangle_t *t, tristar_status mine, int64_t nrhs,
                                  int64_t first, const user_columns *user) {
  tsi_env *env = &t->ts->env;
  t->epoch = tsi_heap_epoch(t->epoch, 1);
  const call_header own = {nrhs, (int32_t)mine};
  const tsi_index most = (tsi_index)tsi_count_min(t->columns, nrhs - first);
  if (t->pe == 0) give(t, &own, user, mine == TRISTAR_OK ? most : 0);
  TSI_TRY(tsi_oneside_wait(t->port, 0, t->given, t->epoch));
  call_header header;
  tsi_oneside_get(t->port, t->pe, t->header, &header, sizeof header);
  const tsi_index width = (tsi_index)tsi_count_min(t->columns, header.nrhs - first);
  if (header.status == TRISTAR_OK && width > 0) {
    const double begin = tsi_clock();
    const tristar_status ran = run(t, width);
    t->stats.sweep_seconds += tsi_clock() - begin;
    if (mine == TRISTAR_OK) mine = ran;
  }
  if (mine == TRISTAR_OK && header.status == TRISTAR_OK && header.nrhs != nrhs)
    mine = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__,
                    "nrhs is %lld, but %lld on rank 0", (long long)nrhs, (long long)header.nrhs);
  TSI_TRY(end(t, mine));
  if (t->pe == 0 && width > 0) collect(t, user, width);
  return TRISTAR_OK;
}

tristar_status tristar_spread_solve(tristar_spread_triangle_t *t, int64_t nrhs, const void *b, int64_t ldb,
                                    void *x, int64_t ldx) {
  TSI_ENTER(t, t->ts);
  tsi_env *env = &t->ts->env;
  const double begin = tsi_clock();
  tristar_status status = TRISTAR_OK, mine = TRISTAR_OK;
  if (tsi_oneside_stopped(t->port)) return tsi_answer(env, tsi_oneside_check(t->port));
  t->stats.polls = t->stats.bytes = 0;
  t->stats.sweep_seconds = 0;
  if (t->pe == 0)
    mine = tsi_check_solve_columns(env, t->n, nrhs, b, ldb, x, ldx);
  else if (nrhs < 0)
    mine = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "nrhs is %lld", (long long)nrhs);
  int64_t first = 0;
  do {
    const user_columns user = {b ? (const char *)b + (size_t)(first * ldb) * t->bytes : NULL,
                               x ? (char *)x + (size_t)(first * ldx) * t->bytes : NULL, ldb, ldx};
    status = solve_block(t, mine, nrhs, first, &user);
    first += t->columns;
  } while (status == TRISTAR_OK && first < nrhs);
  t->stats.solve_seconds = tsi_clock() - begin;
  return tsi_answer(env, status);
}
