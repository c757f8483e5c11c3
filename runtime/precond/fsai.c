/* The life of a sparse approximate inverse, and its products: see fsai.h. */
#include "runtime/precond/fsai_rows.h"
#include "runtime/precond/fsai_state.h"

#define COLUMNS_MOST 8
#define BLOCK_ROWS 1024 /* whose entries stay in the nearest caches from one column to the next */

/* ---- Life ---------------------------------------------------------------------------------------------- */

tristar_status tsi_fsai_create(tristar_t *ts, const tristar_precond_options *options, char scalar,
                               const tsi_factor_rows *a, tsi_fsai **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tsi_fsai *f = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, f, 1));
  f->ts = ts;
  f->options = *options;
  f->n = a->n;
  f->scalar = scalar;
  f->sparse = tsi_sparse_kernels_select(scalar);
  f->kernels = tsi_krylov_kernels_select(scalar, ts->isa);
  f->columns = (tsi_index)tsi_count_min(tsi_count_max(options->nrhs, 1), COLUMNS_MOST);
  TSI_TRY(tsi_fsai_start(env, options, scalar, a, &f->start));
  *out = f;
  f = NULL;
out:
  tsi_fsai_destroy(env, &f);
  return status;
}

void tsi_fsai_destroy(tsi_env *env, tsi_fsai **fsai) {
  tsi_fsai *f = *fsai;
  if (f == NULL) return;
  tsi_crew_finish(&f->crew);
  tsi_entries_finish(env, &f->start);
  tsi_entries_finish(env, &f->lower);
  tsi_entries_finish(env, &f->upper);
  TSI_FREE(env, f->between);
  TSI_FREE(env, *fsai);
}

tsi_count tsi_fsai_entries(const tsi_fsai *fsai) {
  return fsai->lower.ptr[fsai->n];
}

/* ---- Products ------------------------------------------------------------------------------------------ */

/* Y = rows X, for some columns. */
typedef struct product {
  const tsi_fsai *f;
  tsi_matrix_rows rows;
  int64_t columns, ldx, ldy;
  const char *x;
  char *y;
} product;

static void run_block(void *context, tsi_index block, int member) {
  const product *p = context;
  const tsi_index first = block * BLOCK_ROWS, end = tsi_index_min(p->f->n - first, BLOCK_ROWS) + first;
  const size_t bytes = p->f->sparse->scalar_bytes;
  (void)member;
  for (int64_t c = 0; c < p->columns; c++)
    p->f->kernels->multiply(&p->rows, first, end, p->x + (size_t)(c * p->ldx) * bytes,
                            p->y + (size_t)(c * p->ldy) * bytes);
}

static tsi_index block_count(const tsi_fsai *f) {
  return (tsi_index)(((int64_t)f->n + BLOCK_ROWS - 1) / BLOCK_ROWS);
}

/* That a product with one column reads and writes. */
static double product_bytes(const tsi_fsai *f) {
  const double entry = (double)(f->sparse->scalar_bytes + sizeof *f->lower.index);
  return entry * (double)tsi_fsai_entries(f) +
         (double)f->n * (double)(2 * f->sparse->scalar_bytes + sizeof *f->lower.ptr);
}

/* crew NULL: the calling thread. */
static tristar_status run(tsi_crew *crew, product *p) {
  const double bytes = (double)p->columns * product_bytes(p->f);
  if (crew != NULL) return tsi_crew_run(crew, TSI_CREW_MATRIX, bytes, run_block, p);
  for (tsi_index b = 0; b < block_count(p->f); b++) run_block(p, b, 0);
  return TRISTAR_OK;
}

static tristar_status allocate_between(const tsi_fsai *f, tsi_index columns, void **between) {
  return tsi_allocate(&f->ts->env, (size_t)f->n * (size_t)columns, f->sparse->scalar_bytes, __func__,
                      __FILE__, __LINE__, between);
}

static tristar_status prepare_products(tsi_fsai *f) {
  tristar_status status = TRISTAR_OK;
  double start_seconds;
  if (f->between != NULL) return TRISTAR_OK;
  TSI_TRY(tsi_crew_begin(f->ts, "inverse_products", f->options.engine, TSI_RUNS_SHORT, block_count(f),
                         product_bytes(f), &start_seconds, &f->crew));
  TSI_TRY(allocate_between(f, f->columns, &f->between));
out:
  if (status != TRISTAR_OK) tsi_crew_finish(&f->crew);
  return status;
}

static tsi_matrix_rows rows_of(const tsi_entries *e) {
  return (tsi_matrix_rows){e->ptr, e->index, e->item};
}

/* As many columns at a time as `between` has room for. */
static tristar_status multiply(tsi_fsai *f, tsi_crew *crew, tsi_index most, void *between, int64_t nrhs,
                               const char *b, int64_t ldb, char *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  const size_t bytes = f->sparse->scalar_bytes;
  for (int64_t c = 0; c < nrhs; c += most) {
    const int64_t columns = tsi_count_min(most, nrhs - c);
    product down = {.f = f,
                    .rows = rows_of(&f->lower),
                    .columns = columns,
                    .ldx = ldb,
                    .ldy = f->n,
                    .x = b + (size_t)(c * ldb) * bytes,
                    .y = between};
    product up = {.f = f,
                  .rows = rows_of(&f->upper),
                  .columns = columns,
                  .ldx = f->n,
                  .ldy = ldx,
                  .x = between,
                  .y = x + (size_t)(c * ldx) * bytes};
    TSI_TRY(run(crew, &down));
    TSI_TRY(run(crew, &up));
  }
out:
  return status;
}

tristar_status tsi_fsai_multiply(tsi_fsai *f, int64_t nrhs, const void *b, int64_t ldb, void *x,
                                 int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  void *between = NULL;
  if (!atomic_exchange(&f->busy, true)) {
    status = multiply(f, &f->crew, f->columns, f->between, nrhs, b, ldb, x, ldx);
    atomic_store(&f->busy, false);
    return status;
  }
  TSI_TRY(allocate_between(f, 1, &between));
  TSI_TRY(multiply(f, NULL, 1, between, nrhs, b, ldb, x, ldx));
out:
  TSI_FREE(&f->ts->env, between);
  return status;
}

/* ---- G and G^H ----------------------------------------------------------------------------------------- */

static tristar_status make_adjoint(tsi_fsai *f) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &f->ts->env;
  const size_t bytes = f->sparse->scalar_bytes;
  if (f->upper.ptr == NULL) {
    TSI_TRY(tsi_entries_begin(env, f->n, bytes, &f->upper));
    f->upper.ptr[f->n] = f->lower.ptr[f->n];
    TSI_TRY(tsi_entries_allocate(env, &f->upper));
  }
  tsi_entries_transpose(&f->lower, &f->upper);
  for (tsi_index i = 0; i < f->n && f->sparse->is_complex; i++)
    tsi_incomplete_kernels_select(f->scalar)->conjugate((tsi_index)(f->upper.ptr[i + 1] - f->upper.ptr[i]),
                                                        (char *)f->upper.item +
                                                            (size_t)f->upper.ptr[i] * bytes);
out:
  if (status != TRISTAR_OK) tsi_entries_finish(env, &f->upper);
  return status;
}

tristar_status tsi_fsai_compute(tsi_fsai *f, const tsi_factor_rows *a, tsi_breakdown *breakdown) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &f->ts->env;
  tsi_fsai_job job = tsi_fsai_job_of(f->ts, &f->options, f->scalar, a);
  tsi_entries g = {.ptr = NULL};
  if (f->start.ptr != NULL) job.given = &f->start;
  if (f->lower.ptr != NULL) tsi_fsai_keep_patterns(&job, &f->lower);
  TSI_TRY(tsi_fsai_rows(&job, &g, breakdown));
  if (breakdown->kind != TSI_BREAKDOWN_NONE) goto out;
  tsi_entries_finish(env, &f->lower);
  tsi_entries_finish(env, &f->start);
  f->lower = g;
  TSI_TRY(make_adjoint(f));
  TSI_TRY(prepare_products(f));
out:
  return status;
}
