/* Creates and destroys a sparse approximate inverse; its products: see fsai.h. */
#include "runtime/iterate/precond/fsai_rows.h"
#include "runtime/iterate/precond/fsai_state.h"

#define COLUMNS_MOST 8

/* ---- Life ---------------------------------------------------------------------------------------------- */

tristar_status tsi_fsai_create(tristar_t *ts, const tristar_precond_options *options, char scalar,
                               const tsi_factor_rows *a, bool pair, tsi_fsai **out) {
  tsi_env *env = &ts->env;
  TSI_CLEANUP(tsi_fsai_destroy) tsi_fsai *f = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, f, 1));
  f->ts = ts;
  f->options = *options;
  f->n = a->n;
  f->scalar = scalar;
  f->pair = pair;
  f->sparse = tsi_sparse_kernels_select(scalar);
  f->kernels = tsi_sliced_kernels_select(scalar, ts->isa);
  f->columns = (tsi_index)tsi_count_min(tsi_count_max(options->nrhs, 1), COLUMNS_MOST);
  if (!pair) TSI_TRY(tsi_fsai_nodes_make(env, options->block, a, NULL, NULL, &f->nodes));
  if (options->block < 0 && !tsi_fsai_nodes_pay(f->n, f->nodes.count)) tsi_fsai_nodes_finish(&f->nodes);
  TSI_TRY(tsi_fsai_start(env, options, scalar, a, &f->nodes, pair, &f->start));
  *out = tsi_take(&f);
  return TRISTAR_OK;
}

static void release_transposes(tsi_env *env, tsi_fsai_transposes *t) {
  if (t == NULL) return;
  tsi_slices_finish(&t->down);
  tsi_slices_finish(&t->up);
  TSI_FREE(env, t);
}

/* No product is running. */
static void discard_transposes(tsi_fsai *f) {
  release_transposes(&f->ts->env, atomic_exchange(&f->transposes, NULL));
}

/* No product is running. */
static void discard_device(tsi_fsai *f) {
  tsi_placed_products_destroy(&f->on_device);
  tsi_entries_finish(&f->device_upper);
}

void tsi_fsai_destroy(tsi_fsai **fsai) {
  tsi_fsai *f = *fsai;
  if (f == NULL) return;
  discard_device(f);
  tsi_crew_finish(&f->crew);
  tsi_fsai_nodes_finish(&f->nodes);
  tsi_entries_finish(&f->start);
  tsi_entries_finish(&f->lower);
  tsi_release(tsi_take(&f->upper));
  discard_transposes(f);
  tsi_slices_finish(&f->down);
  tsi_slices_finish(&f->up);
  tsi_release(tsi_take(&f->between));
  tsi_release(tsi_take(fsai));
}

tsi_count tsi_fsai_entries(const tsi_fsai *fsai) {
  return fsai->lower.ptr[fsai->n];
}

tsi_index tsi_fsai_node_count(const tsi_fsai *fsai) {
  return fsai->nodes.count;
}

size_t tsi_fsai_bytes(const tsi_fsai *f) {
  const size_t entries = (size_t)tsi_fsai_entries(f), n = (size_t)f->n, scalar = f->sparse->scalar_bytes;
  return (n + 1) * sizeof *f->lower.ptr + entries * (sizeof *f->lower.index + (f->pair ? 2 : 1) * scalar) +
         tsi_slices_bytes(&f->down) + tsi_slices_bytes(&f->up) + n * (size_t)f->columns * scalar;
}

bool tsi_fsai_is_on_device(const tsi_fsai *fsai) {
  return fsai->on_device != NULL;
}

bool tsi_fsai_is_pair(const tsi_fsai *fsai) {
  return fsai->pair;
}

bool tsi_fsai_adapts(const tsi_fsai *fsai) {
  return fsai->lower.ptr == NULL && fsai->options.steps > 0;
}

/* ---- Products ------------------------------------------------------------------------------------------ */

/* Y = rows X for some columns. A window of rows stays in the first caches for all of them. */
typedef struct product {
  const tsi_fsai *f;
  const tsi_sliced *rows;
  int64_t columns, ldx, ldy;
  const char *x;
  char *y;
} product;

static void run_window(void *context, tsi_index window, int member) {
  const product *p = context;
  (void)member;
  p->f->kernels->multiply(p->rows, window, p->columns, p->x, p->ldx, p->y, p->ldy);
}

/* Bytes that a product with one column reads and writes. */
static double product_bytes(const tsi_fsai *f) {
  return (double)tsi_slices_bytes(&f->down) + 2 * (double)f->n * (double)f->sparse->scalar_bytes;
}

/* crew NULL: runs in the calling thread. */
static tristar_status run(tsi_crew *crew, product *p) {
  if (crew != NULL)
    return tsi_crew_run(crew, TSI_CREW_MATRIX, (double)p->columns * crew->bytes, run_window, p);
  for (tsi_index w = 0; w < p->rows->windows; w++) run_window(p, w, 0);
  return TRISTAR_OK;
}

static tristar_status allocate_between(const tsi_fsai *f, tsi_index columns, void **between) {
  return TSI_ALLOC_SIZED(&f->ts->env, *between, (size_t)f->n * (size_t)columns, f->sparse->scalar_bytes);
}

static tristar_status prepare_products(tsi_fsai *f) {
  tristar_status status = TRISTAR_OK;
  double start_seconds;
  if (f->between != NULL) return TRISTAR_OK;
  TSI_TRY_OUT(tsi_crew_begin(f->ts, "inverse_products", f->options.engine, TSI_RUNS_SHORT, f->down.windows,
                             product_bytes(f), &start_seconds, &f->crew));
  TSI_TRY_OUT(allocate_between(f, f->columns, &f->between));
out:
  if (status != TRISTAR_OK) tsi_crew_finish(&f->crew);
  return status;
}

/* Multiplies as many columns at a time as `between` has space for. first, second: G and G^H, or their
 * replacements. */
static tristar_status multiply(tsi_fsai *f, const tsi_sliced *first, const tsi_sliced *second, tsi_crew *crew,
                               tsi_index most, void *between, int64_t nrhs, const char *b, int64_t ldb,
                               char *x, int64_t ldx) {
  const size_t bytes = f->sparse->scalar_bytes;
  for (int64_t c = 0; c < nrhs; c += most) {
    const int64_t columns = tsi_count_min(most, nrhs - c);
    product down = {.f = f,
                    .rows = first,
                    .columns = columns,
                    .ldx = ldb,
                    .ldy = f->n,
                    .x = b + (size_t)(c * ldb) * bytes,
                    .y = between};
    product up = {.f = f,
                  .rows = second,
                  .columns = columns,
                  .ldx = f->n,
                  .ldy = ldx,
                  .x = between,
                  .y = x + (size_t)(c * ldx) * bytes};
    TSI_TRY(run(crew, &down));
    TSI_TRY(run(crew, &up));
  }
  return TRISTAR_OK;
}

/* ---- G and G^H ----------------------------------------------------------------------------------------- */

/* G^H by rows; for a pair G_U. */
static tristar_status make_upper(const tsi_fsai *f, tsi_entries *upper) {
  tsi_env *env = &f->ts->env;
  const size_t bytes = f->sparse->scalar_bytes;
  tsi_entries columns = f->lower;
  if (f->pair) columns.item = f->upper;
  TSI_TRY(tsi_entries_begin(env, f->n, bytes, upper));
  upper->ptr[f->n] = f->lower.ptr[f->n];
  TSI_TRY(tsi_entries_allocate(env, upper));
  tsi_entries_transpose(&columns, upper);
  for (tsi_index i = 0; i < f->n && f->sparse->is_complex && !f->pair; i++)
    tsi_incomplete_kernels_select(f->scalar)->conjugate((tsi_index)(upper->ptr[i + 1] - upper->ptr[i]),
                                                        (char *)upper->item + (size_t)upper->ptr[i] * bytes);
  return TRISTAR_OK;
}

/* Values that were computed in single precision are stored in it: they do not change. */
static bool is_narrow(const tsi_fsai *f) {
  return tsi_fsai_is_single(&f->options, f->scalar);
}

static tsi_matrix_rows rows_of(const tsi_entries *e) {
  return (tsi_matrix_rows){e->ptr, e->index, e->item};
}

/* Puts both products on a device, if possible. Then takes ownership of the rows of G^H. */
static tristar_status store_on_device(tsi_fsai *f, tsi_entries *upper) {
  const tsi_matrix_rows matrix[TSI_PLACED_PRODUCTS] = {rows_of(&f->lower), rows_of(upper)};
  TSI_TRY(tsi_placed_products_create(f->ts, &f->options, f->scalar, f->sparse->scalar_bytes, f->n, f->columns,
                                     matrix, &f->on_device));
  if (f->on_device == NULL) return TRISTAR_OK;
  f->device_upper = *upper;
  *upper = (tsi_entries){.ptr = NULL};
  return TRISTAR_OK;
}

static tristar_status store(tsi_fsai *f) {
  tsi_env *env = &f->ts->env;
  TSI_CLEANUP(tsi_entries_finish) tsi_entries upper = {.ptr = NULL};
  tsi_slices_finish(&f->down);
  tsi_slices_finish(&f->up);
  discard_transposes(f);
  TSI_TRY(make_upper(f, &upper));
  TSI_TRY(tsi_slices_take(env, &upper, is_narrow(f), &f->up));
  TSI_TRY(store_on_device(f, &upper));
  tsi_entries_finish(&upper); /* its memory is needed below */
  return tsi_slices_take(env, &f->lower, is_narrow(f), &f->down);
}

/* The rows of G_U^T are the columns of G_U. */
static tristar_status make_transposes(const tsi_fsai *f, tsi_fsai_transposes *t) {
  tsi_env *env = &f->ts->env;
  tsi_entries rows = f->lower;
  TSI_CLEANUP(tsi_entries_finish) tsi_entries other = {.ptr = NULL};
  rows.item = f->upper;
  TSI_TRY(tsi_slices_take(env, &rows, is_narrow(f), &t->down));
  TSI_TRY(tsi_entries_begin(env, f->n, f->sparse->scalar_bytes, &other));
  other.ptr[f->n] = f->lower.ptr[f->n];
  TSI_TRY(tsi_entries_allocate(env, &other));
  tsi_entries_transpose(&f->lower, &other);
  return tsi_slices_take(env, &other, is_narrow(f), &t->up);
}

/* Returns the transposes. Several threads may make them at the same time; all use the first result. */
static tristar_status need_transposes(tsi_fsai *f, const tsi_sliced **first, const tsi_sliced **second) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &f->ts->env;
  tsi_fsai_transposes *known = atomic_load(&f->transposes), *made = NULL;
  if (known == NULL) {
    TSI_TRY_OUT(TSI_ALLOC_ZERO(env, made, 1));
    TSI_TRY_OUT(make_transposes(f, made));
    if (atomic_compare_exchange_strong(&f->transposes, &known, made)) {
      known = tsi_take(&made);
    }
  }
  *first = &known->down;
  *second = &known->up;
out:
  release_transposes(env, made);
  return status;
}

tristar_status tsi_fsai_compute(tsi_fsai *f, const tsi_factor_rows *a, const void *part,
                                tsi_breakdown *breakdown) {
  tsi_env *env = &f->ts->env;
  tsi_fsai_job job = tsi_fsai_job_of(f->ts, &f->options, f->scalar, a);
  tsi_entries g = {.ptr = NULL};
  if (f->nodes.count > 0) job.nodes = &f->nodes;
  void *upper = NULL;
  if (f->pair) job.upper = &upper;
  job.part = part;
  if (f->start.ptr != NULL) job.given = &f->start;
  if (f->lower.ptr != NULL) tsi_fsai_keep_patterns(&job, &f->lower);
  TSI_TRY(tsi_fsai_rows(&job, &g, breakdown));
  if (breakdown->kind != TSI_BREAKDOWN_NONE) return TRISTAR_OK;
  discard_device(f);
  tsi_entries_finish(&f->lower);
  tsi_entries_finish(&f->start);
  TSI_FREE(env, f->upper);
  f->lower = g;
  f->upper = upper;
  TSI_TRY(store(f));
  return prepare_products(f);
}

/* ---- X = G^H G B --------------------------------------------------------------------------------------- */

tristar_status tsi_fsai_multiply(tsi_fsai *f, bool transposed, int64_t nrhs, const void *b, int64_t ldb,
                                 void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  TSI_OWNED void *between = NULL;
  const tsi_sliced *first = &f->down, *second = &f->up;
  if (f->on_device && !transposed) return tsi_placed_products_multiply(f->on_device, nrhs, b, ldb, x, ldx);
  if (transposed) TSI_TRY(need_transposes(f, &first, &second));
  if (!atomic_exchange(&f->busy, true)) {
    status = multiply(f, first, second, &f->crew, f->columns, f->between, nrhs, b, ldb, x, ldx);
    atomic_store(&f->busy, false);
    return status;
  }
  TSI_TRY(allocate_between(f, 1, &between));
  return multiply(f, first, second, NULL, 1, between, nrhs, b, ldb, x, ldx);
}
