/* See device_products.h. */
#include "runtime/exec/device/device_products.h"

#include "runtime/exec/device/device_bundles.h"

#define BROKEN(...) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, __VA_ARGS__)

/* The rows of a stage are start[stage] .. start[stage+1]-1. */
static void list_stages(const tsi_products *products, tsi_device_phase_kind *kind, tsi_count *start,
                        bool *fresh) {
  for (tsi_index q = 0; q < products->stages; q++) {
    kind[q] = TSI_PHASE_PRODUCT;
    start[q] = products->block[products->block_ptr[q]].first;
  }
  start[products->stages] = products->rows;
  for (tsi_index b = 0; b < products->blocks; b++)
    for (tsi_count r = products->block[b].first; r < products->block[b].end; r++)
      fresh[r] = !products->block[b].add;
}

tristar_status tsi_device_products_create(tsi_env *env, const tsi_products *products,
                                          const tsi_spmv_rows *rows, tsi_index workspace, tsi_index lanes,
                                          tsi_device_row_plan *plan) {
  *plan = (tsi_device_row_plan){.tables = {.lanes = lanes}};
  if (products->rows > TSI_INDEX_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld rows of products are beyond %d", (long long)products->rows,
             TSI_INDEX_MAX);
  TSI_SCRATCH(env, tsi_device_phase_kind, kind, products->stages);
  TSI_SCRATCH(env, tsi_count, start, (tsi_count)products->stages + 1);
  TSI_SCRATCH(env, bool, fresh, products->rows);
  TSI_SCRATCH(env, tsi_index, rank, workspace);
  list_stages(products, kind, start, fresh);
  for (tsi_index i = 0; i < workspace; i++) rank[i] = i;
  const tsi_device_listing listing = {.parts = products->stages,
                                      .kind = kind,
                                      .start = start,
                                      .row = rows->row,
                                      .fresh = fresh,
                                      .ptr = rows->ptr,
                                      .column = rows->index,
                                      .given = rows->ptr[products->rows]};
  TSI_TRY(tsi_device_bundles_create(env, &listing, rank, plan));
  return env->check ? tsi_device_products_check(env, plan, products, rows, workspace) : TRISTAR_OK;
}

/* ---- Checks -------------------------------------------------------------------------------------------- */

/* What a stage writes. */
typedef struct row_of_stage {
  tsi_index stage; /* the latest one that writes the row; TSI_NONE: none */
  tsi_count row;   /* of the products; -1 once it has been seen */
  bool add;
} row_of_stage;

static void mark_stage(const tsi_products *products, const tsi_spmv_rows *rows, tsi_index stage,
                       row_of_stage *mark) {
  for (tsi_index b = products->block_ptr[stage]; b < products->block_ptr[stage + 1]; b++)
    for (tsi_count r = products->block[b].first; r < products->block[b].end; r++)
      mark[rows->row[r]] = (row_of_stage){stage, r, products->block[b].add};
}

/* Listed row k of bundle b, whose entries begin at `begin`. */
static tristar_status check_row(tsi_env *env, const tsi_device_row_plan *plan, const tsi_spmv_rows *rows,
                                const tsi_device_bundle *b, tsi_index k, tsi_index stage, row_of_stage *mark,
                                tsi_index workspace, tsi_count begin) {
  const tsi_device_rows *t = &plan->tables;
  const tsi_index i = t->row[k];
  if (i < 0 || i >= workspace || mark[i].stage != stage || mark[i].row < 0 || mark[i].add == b->fresh)
    BROKEN("listed row %d is row %d, in phase %d", k, i, stage);
  const tsi_count r = mark[i].row, count = rows->ptr[r + 1] - rows->ptr[r];
  if (b->entry + t->end[k] - begin != count || tsi_device_row_threads(count) != b->threads ||
      count > (tsi_count)b->steps * b->threads)
    BROKEN("row %d has %lld entries", i, (long long)(b->entry + t->end[k] - begin));
  for (tsi_count e = 0; e < count; e++) {
    const tsi_count at = b->at + begin - b->entry + e;
    const tsi_index j = b->narrow ? b->base + t->short_column[at] : t->column[at];
    if (plan->source[begin + e] != rows->ptr[r] + e || j != rows->index[rows->ptr[r] + e])
      BROKEN("entry %lld of row %d is in column %d", (long long)e, i, j);
    if (mark[j].stage == stage) BROKEN("row %d reads row %d, which its phase writes", i, j);
  }
  mark[i].row = -1;
  return TRISTAR_OK;
}

static tristar_status check_bundles(tsi_env *env, const tsi_device_row_plan *plan,
                                    const tsi_products *products, const tsi_spmv_rows *rows,
                                    tsi_index workspace, row_of_stage *mark) {
  const tsi_device_rows *t = &plan->tables;
  tsi_index listed = 0, stage = TSI_NONE, bundle = 0;
  tsi_count entry = 0, narrow = 0;
  for (tsi_index k = 0; k < t->tickets; k++) {
    if (t->ticket[k].phase != stage) mark_stage(products, rows, stage = t->ticket[k].phase, mark);
    if (t->phase[stage].kind != TSI_PHASE_PRODUCT) BROKEN("phase %d is none of a product", stage);
    for (; bundle < t->ticket[k].bundle + t->ticket[k].bundles; bundle++) {
      const tsi_device_bundle *b = &t->bundle[bundle];
      if (b->first != listed || b->rows == 0 || b->rows > t->updates - listed ||
          b->rows * b->threads > t->lanes || b->entry != entry ||
          b->at != (b->narrow ? narrow : entry - narrow))
        BROKEN("bundle %d has listed rows %d + %d, entries from %lld on", bundle, b->first, b->rows,
               (long long)b->entry);
      for (; listed < b->first + b->rows; entry = b->entry + t->end[listed++])
        TSI_TRY(check_row(env, plan, rows, b, listed, stage, mark, workspace, entry));
      narrow += b->narrow ? entry - b->entry : 0;
    }
  }
  if (listed != products->rows || entry != t->entries || narrow != t->narrow)
    BROKEN("%d of %lld rows are in phases", listed, (long long)products->rows);
  return TRISTAR_OK;
}

tristar_status tsi_device_products_check(tsi_env *env, const tsi_device_row_plan *plan,
                                         const tsi_products *products, const tsi_spmv_rows *rows,
                                         tsi_index workspace) {
  if (plan->tables.n != 0 || plan->tables.phases != products->stages)
    BROKEN("%d phases for %d stages, %d solved rows", plan->tables.phases, products->stages, plan->tables.n);
  TSI_TRY(tsi_device_bundles_check(env, &plan->tables));
  TSI_SCRATCH(env, row_of_stage, mark, workspace);
  for (tsi_index i = 0; i < workspace; i++) mark[i] = (row_of_stage){TSI_NONE, -1, false};
  return check_bundles(env, plan, products, rows, workspace, mark);
}
