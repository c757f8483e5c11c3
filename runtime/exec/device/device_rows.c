/* See device_rows.h. */
#include "runtime/exec/device/device_rows.h"

#include "partition/cut/block_features.h"
#include "runtime/exec/device/device_bundles.h"

/* Source of the bundles. Rows have the numbers of the pattern; each part of the cut is one chunk of listed
 * rows. */
typedef struct source_lists {
  tsi_device_phase_kind *kind; /* parts */
  bool *fresh;                 /* listed rows */
  tsi_index *level, *rank;     /* n */
} source_lists;

static tsi_device_phase_kind kind_of(const tsi_block_rows *rows, const tsi_block_cut *cut,
                                     const tsi_index *level, tsi_device_row_way way, tsi_index part) {
  const tsi_count first = rows->start[part], end = rows->start[part + 1];
  if (cut->part[rows->part[part]].kind != TSI_BLOCK_TRIANGLE) return TSI_PHASE_UPDATE;
  if (way == TSI_DEVICE_ROWS_AUTO) /* the last row is in the last level */
    way = tsi_device_row_choose((tsi_index)(end - first), rows->ptr[end] - rows->ptr[first],
                                level[rows->row[end - 1]] + 1);
  return way == TSI_DEVICE_ROWS_FREE ? TSI_PHASE_FREE : TSI_PHASE_SOLVE;
}

static tristar_status fill_lists(tsi_env *env, const tsi_block_rows *rows, const tsi_block_cut *cut,
                                 const tsi_block_pattern *pattern, tsi_device_row_way way, source_lists *l) {
  const tsi_count listed = rows->start[rows->count];
  if (listed > TSI_INDEX_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld rows of triangles and rectangles are beyond %d",
             (long long)listed, TSI_INDEX_MAX);
  TSI_SCRATCH(env, tsi_index, block, cut->n); /* of each row; then: number of its listings so far */
  TSI_TRY(TSI_ALLOC_IN(l, l->kind, rows->count));
  TSI_TRY(TSI_ALLOC_IN(l, l->fresh, listed));
  TSI_TRY(TSI_ALLOC_IN(l, l->level, cut->n));
  TSI_TRY(TSI_ALLOC_IN(l, l->rank, cut->n));
  tsi_block_owners(cut, block);
  tsi_block_levels(&pattern->lines, block, l->level);
  for (tsi_index i = 0; i < cut->n; i++) block[i] = 0;
  for (tsi_count k = 0; k < listed; k++) l->fresh[k] = block[rows->row[k]]++ == 0;
  for (tsi_index p = 0; p < rows->count; p++) l->kind[p] = kind_of(rows, cut, l->level, way, p);
  return TRISTAR_OK;
}

static tristar_status make_tables(tsi_env *env, const tsi_block_rows *rows, const tsi_block_cut *cut,
                                  const tsi_block_pattern *pattern, tsi_count given, const tsi_index *order,
                                  tsi_device_row_way way, tsi_device_row_plan *plan) {
  TSI_SCRATCH_ZERO(env, source_lists, l, 1);
  TSI_TRY(fill_lists(env, rows, cut, pattern, way, l));
  TSI_TRY(TSI_ALLOC(env, plan->order, cut->n));
  const tsi_device_listing listing = {.parts = rows->count,
                                      .kind = l->kind,
                                      .start = rows->start,
                                      .row = rows->row,
                                      .fresh = l->fresh,
                                      .ptr = rows->ptr,
                                      .column = rows->column,
                                      .entry = rows->entry,
                                      .source = pattern->source,
                                      .given = given,
                                      .level = l->level};
  TSI_TRY(tsi_device_bundles_create(env, &listing, l->rank, plan));
  for (tsi_index i = 0; i < cut->n; i++) plan->order[l->rank[i]] = order[i];
  return TRISTAR_OK;
}

/* order: n; order[k] is the k-th given row of the sweep. */
static tristar_status make_parts(tsi_env *env, const tsi_lines *of_sweep, bool backward,
                                 const tsi_row_cut *cut, tsi_index *order, tsi_block_cut **parts) {
  const bool blocks = cut->way >= TSI_ROWS_COLUMN_BLOCKS;
  for (tsi_index k = 0; k < cut->n; k++) order[k] = cut->order[backward ? cut->n - 1 - k : k];
  TSI_TRY(tsi_block_cut_create(env, cut->n, tsi_block_scheme_of(cut->way),
                               blocks ? tsi_index_max(1, cut->count) : 1, parts));
  if (blocks) TSI_TRY(tsi_block_reorder(env, *parts, of_sweep, true, order));
  return TRISTAR_OK;
}

tristar_status tsi_device_rows_create(tsi_env *env, const tsi_lines *lines, bool backward,
                                      const tsi_row_cut *cut, const tsi_device_row_options *options,
                                      tsi_device_row_plan *plan) {
  tristar_status status = TRISTAR_OK;
  const tsi_lines of_sweep = {lines->n, lines->ptr, lines->index, lines->columns != backward};
  TSI_OWNED tsi_block_pattern *pattern = NULL;
  TSI_OWNED tsi_block_cut *parts = NULL;
  TSI_OWNED tsi_block_rows *rows = NULL;
  TSI_OWNED tsi_index *order = NULL;
  *plan = (tsi_device_row_plan){.tables = {.n = lines->n, .lanes = options->lanes}};
  TSI_TRY_OUT(TSI_ALLOC(env, order, lines->n));
  TSI_TRY_OUT(make_parts(env, &of_sweep, backward, cut, order, &parts));
  TSI_TRY_OUT(tsi_block_pattern_create(env, &of_sweep, order, &pattern));
  TSI_TRY_OUT(tsi_block_rows_create(env, parts, pattern, 1, 1, &rows));
  TSI_TRY_OUT(make_tables(env, rows, parts, pattern, lines->ptr[lines->n], order, options->way, plan));
  if (env->check) TSI_TRY_OUT(tsi_device_rows_check(env, plan, lines, backward));
out:
  if (status != TRISTAR_OK) tsi_device_rows_destroy(plan);
  return status;
}

void tsi_device_rows_destroy(tsi_device_row_plan *plan) {
  tsi_release(plan->tables.block);
  tsi_release(plan->order);
  tsi_release(plan->source);
  *plan = (tsi_device_row_plan){.order = NULL};
}

void tsi_device_rows_fill(const tsi_device_row_plan *plan, size_t scalar_bytes, const void *values,
                          void *packed) {
  for (tsi_count e = 0; e < plan->tables.entries; e++)
    memcpy((char *)packed + (size_t)e * scalar_bytes,
           (const char *)values + (size_t)plan->source[e] * scalar_bytes, scalar_bytes);
}

void tsi_device_rows_place(const tsi_device_row_plan *plan, size_t scalar_bytes, const void *given,
                           void *placed) {
  for (tsi_index i = 0; i < plan->tables.n; i++)
    memcpy((char *)placed + (size_t)i * scalar_bytes,
           (const char *)given + (size_t)plan->order[i] * scalar_bytes, scalar_bytes);
}
