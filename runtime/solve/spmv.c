/* Fills the matrices of the partitioned inverse and lists its steps: see spmv.h. */
#include "runtime/base/threads.h"
#include "runtime/solve/spmv.h"

#include "codelets/cpu/rows/sparse.h"

#define BLOCK_BYTES 0.4e6 /* bytes of a task, as for the lightest chunks */
#define STRIP 256         /* number of rows of R T at a time; a multiple of TSI_ROW_BLOCK */

static tristar_status refuse(const tristar_plan_t *plan) {
  tsi_env *env = &plan->ts->env;
  if (tsi_factor_is_triangle(plan->factor))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "KERNEL_SPMV does not serve a triangular matrix alone");
  if (plan->sides > 1)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "KERNEL_SPMV does not serve L and U of different structure");
  if (plan->factor->analysis->symbolic->n > TSI_INDEX_MAX / 2)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "KERNEL_SPMV serves at most %d rows", TSI_INDEX_MAX / 2);
  return TRISTAR_OK;
}

tristar_status tsi_spmv_create(const tristar_plan_t *plan, tsi_spmv **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  const tristar_analysis_t *an = plan->factor->analysis;
  tsi_spmv *spmv = NULL;
  *out = NULL;
  TSI_TRY_OUT(refuse(plan));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, spmv, 1));
  status = tsi_mutex_init(env, &spmv->lock);
  if (status != TRISTAR_OK) {
    TSI_FREE(env, spmv);
    goto out;
  }
  spmv->kernels = tsi_spmv_kernels_select(an->factor_scalar, plan->ts->isa);
  TSI_TRY_OUT(tsi_panel_levels(env, an->symbolic, an->panels, &spmv->levels));
  tsi_own(spmv, spmv->levels);
  for (int backward = 0; backward < 2; backward++) {
    TSI_TRY_OUT(tsi_products_create(env, an->symbolic, an->panels, spmv->levels, backward,
                                    plan->factor->scalar_bytes + sizeof(tsi_index), BLOCK_BYTES,
                                    &spmv->products[backward]));
    tsi_own(spmv, spmv->products[backward]);
  }
  for (int backward = 0; backward < 2; backward++)
    spmv->bytes += (size_t)spmv->products[backward]->rows *
                   (sizeof *spmv->products[backward]->row + sizeof *spmv->products[backward]->ptr);
out:
  if (status != TRISTAR_OK) tsi_spmv_destroy(env, &spmv);
  *out = spmv;
  return status;
}

void tsi_spmv_destroy(tsi_env *env, tsi_spmv **spmv) {
  if (*spmv == NULL) return;
  pthread_mutex_destroy(&(*spmv)->lock);
  TSI_FREE(env, *spmv);
}

/* ---- Values ------------------------------------------------------------------------------------------- */

/* Fills one matrix, panel by panel. */
typedef struct filler {
  const tristar_plan_t *plan;
  const tsi_products *products;
  tsi_spmv_matrix *matrix;
  const void *stream;     /* stream of the factor */
  const tsi_index *order; /* n: the column that is the k-th inside its panel; NULL: k itself */
  tsi_index n;
  size_t bytes;    /* bytes of a scalar */
  tsi_count *next; /* n, forward: the next entry of each row below */
  char *triangle;  /* T, by rows of `stride` scalars */
  char *strip;     /* STRIP rows of -R T */
  char *scratch;   /* scratch of the kernels */
  tsi_index stride;
} filler;

static tsi_index column(const filler *f, tsi_index j) {
  return f->order ? f->order[j] : j;
}

/* Writes row k of T; its columns are rows of t. */
static void put_triangle_row(const filler *f, const tsi_panel *panel, tsi_index k, tsi_count entry) {
  memcpy((char *)f->matrix->values + (size_t)entry * f->bytes,
         f->triangle + (size_t)k * (size_t)f->stride * f->bytes, (size_t)(k + 1) * f->bytes);
  for (tsi_index j = 0; j <= k; j++) f->matrix->index[entry + j] = column(f, panel->column + j);
}

/* Writes column k of T, from the diagonal on; its rows are rows of y. */
static void put_triangle_column(const filler *f, const tsi_panel *panel, tsi_index k, tsi_count entry) {
  f->plan->spmv->kernels->take_column(panel->width - k, f->stride,
                                      f->triangle + ((size_t)k * (size_t)f->stride + (size_t)k) * f->bytes,
                                      (char *)f->matrix->values + (size_t)entry * f->bytes);
  for (tsi_index j = k; j < panel->width; j++) f->matrix->index[entry + j - k] = f->n + panel->column + j;
}

/* Writes rows first .. first+count-1 of -R T, which are in f->strip, to the rows below. */
static void put_strip_rows(const filler *f, const tsi_panel *panel, tsi_index p, tsi_index first,
                           tsi_index count) {
  const tristar_analysis_t *an = f->plan->factor->analysis;
  for (tsi_index i = 0; i < count; i++) {
    const tsi_index row = tsi_panel_row(an->symbolic, an->panels, p, first + i);
    const tsi_count entry = f->next[row];
    memcpy((char *)f->matrix->values + (size_t)entry * f->bytes,
           f->strip + (size_t)i * (size_t)f->stride * f->bytes, (size_t)panel->width * f->bytes);
    for (tsi_index k = 0; k < panel->width; k++) f->matrix->index[entry + k] = column(f, panel->column + k);
    f->next[row] += panel->width;
  }
}

/* Writes them transposed, to the rows of the panel's columns; `row` is the first of these. */
static void put_strip_columns(const filler *f, const tsi_panel *panel, tsi_index p, tsi_index first,
                              tsi_index count, tsi_count row) {
  const tristar_analysis_t *an = f->plan->factor->analysis;
  for (tsi_index k = 0; k < panel->width; k++) {
    const tsi_count entry = f->products->ptr[row + k] + panel->width - k + first;
    f->plan->spmv->kernels->take_column(count, f->stride, f->strip + (size_t)k * f->bytes,
                                        (char *)f->matrix->values + (size_t)entry * f->bytes);
    for (tsi_index i = 0; i < count; i++)
      f->matrix->index[entry + i] = tsi_panel_row(an->symbolic, an->panels, p, first + i);
  }
}

/* Writes a panel. row: row of the panel's first column. */
static void put_panel(filler *f, tsi_index p, tsi_count row) {
  const tsi_solve_data *data = &f->plan->side[0].data;
  const tsi_panel *panel = &data->panel[p];
  f->stride = (tsi_index)tsi_round_up_block(panel->width);
  f->plan->spmv->kernels->identity(panel->width, f->stride, f->triangle);
  data->kernels->forward_triangle(panel, f->stream, NULL, f->stride, f->triangle, f->scratch);
  for (tsi_index k = 0; k < panel->width; k++) {
    if (f->products->backward)
      put_triangle_column(f, panel, k, f->products->ptr[row + k]);
    else
      put_triangle_row(f, panel, k, f->products->ptr[row + k]);
    f->matrix->row[row + k] = f->products->backward ? column(f, panel->column + k) : f->n + panel->column + k;
  }
  if (data->kernels->inverse == TSI_INVERSE_PARTITIONED) /* R already contains the factor T */
    f->plan->spmv->kernels->identity(panel->width, f->stride, f->triangle);
  for (tsi_index first = 0; first < panel->height; first += STRIP) {
    const tsi_index count = tsi_index_min(STRIP, panel->height - first);
    data->kernels->forward_slice(panel, f->stream, first, count, f->stride, f->triangle, f->strip,
                                 f->scratch);
    if (f->products->backward)
      put_strip_columns(f, panel, p, first, count, row);
    else
      put_strip_rows(f, panel, p, first, count);
  }
}

/* Sets the start of the entries of each row below, for one stage. */
static void start_rows_below(filler *f, tsi_index stage) {
  for (tsi_index b = f->products->block_ptr[stage]; b < f->products->block_ptr[stage + 1]; b++)
    for (tsi_count r = f->products->block[b].first;
         f->products->block[b].add && r < f->products->block[b].end; r++) {
      f->matrix->row[r] = f->products->row[r];
      f->next[f->products->row[r]] = f->products->ptr[r];
    }
}

static void put_all(filler *f) {
  const tsi_products *products = f->products;
  const tsi_levels *levels = f->plan->spmv->levels;
  for (tsi_index stage = 0; stage < products->stages; stage++) {
    const tsi_index level = tsi_product_level(products, stage);
    tsi_count row = products->block[products->block_ptr[stage]].first;
    start_rows_below(f, stage);
    for (tsi_index q = levels->ptr[level]; q < levels->ptr[level + 1]; q++) {
      put_panel(f, levels->item[q], row);
      row += f->plan->side[0].data.panel[levels->item[q]].width;
    }
  }
}

static tristar_status allocate_matrix(const filler *f, tsi_spmv *spmv) {
  tsi_spmv_matrix *matrix = f->matrix;
  const tsi_count rows = f->products->rows, entries = f->products->ptr[rows];
  if (matrix->values != NULL) return TRISTAR_OK;
  if (matrix->row == NULL) TSI_TRY(TSI_ALLOC_IN(spmv, matrix->row, rows));
  if (matrix->index == NULL) TSI_TRY(TSI_ALLOC_IN(spmv, matrix->index, entries));
  TSI_TRY(TSI_ALLOC_SIZED_IN(spmv, matrix->values, entries, f->bytes));
  matrix->rows = (tsi_spmv_rows){f->products->ptr, matrix->row, matrix->index, matrix->values};
  spmv->bytes += (size_t)rows * sizeof *matrix->row + (size_t)entries * (sizeof *matrix->index + f->bytes);
  return TRISTAR_OK;
}

static tristar_status allocate_scratch(filler *f) {
  const size_t width = TSI_PANEL_WIDTH_MAX;
  TSI_TRY(TSI_ALLOC_IN(f, f->next, f->n));
  TSI_TRY(TSI_ALLOC_SIZED_IN(f, f->triangle, width * width, f->bytes));
  TSI_TRY(TSI_ALLOC_SIZED_IN(f, f->strip, STRIP * width, f->bytes));
  return TSI_ALLOC_SIZED_IN(f, f->scratch, TSI_KERNEL_SCRATCH, f->bytes);
}

/* Fills a matrix. The lock is held. */
static tristar_status fill(tristar_plan_t *plan, bool backward, bool upper, tsi_spmv_matrix *matrix) {
  tsi_env *env = &plan->ts->env;
  const tristar_factor_t *factor = plan->factor;
  TSI_SCRATCH(env, filler, f, 1);
  *f = (filler){.plan = plan,
                .products = plan->spmv->products[backward],
                .matrix = matrix,
                .stream = upper ? factor->upper : factor->lower,
                .order = !upper && factor->pivoted ? factor->pivot_order : NULL,
                .n = factor->analysis->symbolic->n,
                .bytes = factor->scalar_bytes};
  TSI_TRY(allocate_matrix(f, plan->spmv));
  TSI_TRY(allocate_scratch(f));
  put_all(f);
  matrix->generation = factor->generation;
  return TRISTAR_OK;
}

tristar_status tsi_spmv_prepare(tristar_plan_t *plan, bool backward, bool upper, const tsi_spmv_rows **out) {
  tristar_status status = TRISTAR_OK;
  tsi_spmv *spmv = plan->spmv;
  tsi_spmv_matrix *matrix = &spmv->matrix[backward][upper];
  pthread_mutex_lock(&spmv->lock);
  if (matrix->generation != plan->factor->generation) status = fill(plan, backward, upper, matrix);
  const size_t bytes = spmv->bytes;
  pthread_mutex_unlock(&spmv->lock);
  pthread_mutex_lock(&plan->lock);
  plan->stats.variant_bytes = bytes;
  pthread_mutex_unlock(&plan->lock);
  *out = &matrix->rows;
  return status;
}

/* ---- Steps -------------------------------------------------------------------------------------------- */

static tsi_product_steps_source source_of(const tristar_plan_t *plan) {
  const tristar_factor_t *factor = plan->factor;
  return (tsi_product_steps_source){
      .chunks = plan->side[0].chunks,
      .products = {plan->spmv->products[0], plan->spmv->products[1]},
      .scalar_bytes = factor->scalar_bytes,
      .diagonal =
          factor->inverse != NULL || tsi_sparse_kernels_select(factor->analysis->factor_scalar)->is_complex};
}

void tsi_spmv_weigh(const tristar_plan_t *plan, double *stream, double *critical) {
  const tsi_product_steps_source source = source_of(plan);
  *stream = *critical = 0;
  for (int backward = 0; backward < 2; backward++) {
    const tsi_products *products = plan->spmv->products[backward];
    for (tsi_index stage = 0; stage < products->stages; stage++) {
      double most = 0;
      for (tsi_index b = products->block_ptr[stage]; b < products->block_ptr[stage + 1]; b++) {
        const double bytes = tsi_product_block_bytes(&source, backward, b);
        *stream += bytes;
        if (bytes > most) most = bytes;
      }
      *critical += most;
    }
  }
}

tristar_status tsi_spmv_steps(const tristar_plan_t *plan, tsi_steps **steps, tsi_levels **levels) {
  const tsi_product_steps_source source = source_of(plan);
  return tsi_product_steps_create(&plan->ts->env, &source, steps, levels);
}
