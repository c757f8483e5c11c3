/* Arranges the sparse products of a partitioned inverse: see products.h. */
#include "dag/products.h"

#include "runtime/base/sort.h"

tristar_status tsi_panel_levels(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                tsi_levels **out) {
  tsi_count edges = 0;
  *out = NULL;
  TSI_SCRATCH(env, tsi_edge, edge, panels->count);
  for (tsi_index p = 0; p < panels->count; p++) {
    const tsi_index s = panels->supernode[p], parent = symbolic->parent[s];
    if (p + 1 < panels->first[s + 1])
      edge[edges++] = (tsi_edge){p + 1, p};
    else if (parent != TSI_NONE)
      edge[edges++] = (tsi_edge){panels->first[parent], p};
  }
  return tsi_levels_create(env, panels->count, edges, edge, out);
}

/* Input and state of the construction. */
typedef struct layout {
  const tsi_symbolic *symbolic;
  const tsi_panels *panels;
  const tsi_levels *levels;
  tsi_products *products;
  tsi_index *mark;   /* n: the latest level with a panel that has this row below */
  tsi_count *length; /* n: entries of this row in that level */
  tsi_count entries; /* so far */
  double entry_bytes, block_bytes;
} layout;

/* Marks the rows below the panels of a level and counts their entries. Returns the number of these rows.
 * list: receives them; may be NULL. */
static tsi_index mark_below(layout *y, tsi_index level, tsi_index *list) {
  tsi_index count = 0;
  for (tsi_index q = y->levels->ptr[level]; q < y->levels->ptr[level + 1]; q++) {
    const tsi_index p = y->levels->item[q];
    for (tsi_index i = 0; i < y->panels->height[p]; i++) {
      const tsi_index row = tsi_panel_row(y->symbolic, y->panels, p, i);
      if (y->mark[row] != level) {
        y->mark[row] = level;
        y->length[row] = 0;
        if (list) list[count] = row;
        count++;
      }
      y->length[row] += tsi_panel_width(y->panels, p);
    }
  }
  return count;
}

static void clear_marks(layout *y) {
  for (tsi_index j = 0; j < y->symbolic->n; j++) y->mark[j] = TSI_NONE;
}

static void add_row(layout *y, tsi_index row, tsi_count entries) {
  tsi_products *products = y->products;
  products->row[products->rows] = row;
  products->ptr[products->rows++] = y->entries;
  y->entries += entries;
}

/* Cuts the rows from `first` to the latest one into blocks. */
static void cut_blocks(layout *y, tsi_count first, bool add) {
  tsi_products *products = y->products;
  tsi_count begin = first;
  for (tsi_count r = first; r < products->rows; r++) {
    const tsi_count end = r + 1 < products->rows ? products->ptr[r + 1] : y->entries;
    if ((double)(end - products->ptr[begin]) * y->entry_bytes < y->block_bytes && r + 1 < products->rows)
      continue;
    products->block[products->blocks++] = (tsi_row_block){begin, r + 1, add};
    begin = r + 1;
  }
}

/* Adds the rows of one level. */
static void add_level(layout *y, tsi_index level) {
  tsi_products *products = y->products;
  const tsi_count first = products->rows;
  for (tsi_index q = y->levels->ptr[level]; q < y->levels->ptr[level + 1]; q++) {
    const tsi_index p = y->levels->item[q], w = tsi_panel_width(y->panels, p);
    for (tsi_index k = 0; k < w; k++)
      add_row(y, y->panels->start[p] + k,
              products->backward ? (tsi_count)(w - k) + y->panels->height[p] : (tsi_count)k + 1);
  }
  cut_blocks(y, first, false);
  if (products->backward) return;
  tsi_index *below = products->row + products->rows;
  const tsi_count begin = products->rows;
  const tsi_index count = mark_below(y, level, below);
  tsi_sort_indices(below, count);
  for (tsi_index i = 0; i < count; i++) add_row(y, below[i], y->length[below[i]]);
  cut_blocks(y, begin, true);
}

/* Allocates rows and blocks. */
static tristar_status allocate(tsi_env *env, layout *y) {
  tsi_products *products = y->products;
  tsi_count rows = y->symbolic->n, entries = 0;
  tsi_index blocks;
  for (tsi_index p = 0; p < y->panels->count; p++) entries += tsi_panel_entries(y->panels, p);
  for (tsi_index l = 0; l < y->levels->count && !products->backward; l++) rows += mark_below(y, l, NULL);
  const double most = (double)entries * y->entry_bytes / y->block_bytes + 2.0 * y->levels->count + 1;
  if (!tsi_to_index(most < TSI_INDEX_MAX ? (tsi_count)most : TSI_INDEX_MAX + (tsi_count)1, &blocks))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "more than 2^31 tasks");
  TSI_TRY(TSI_ALLOC_IN(products, products->row, rows));
  TSI_TRY(TSI_ALLOC_IN(products, products->ptr, rows + 1));
  TSI_TRY(TSI_ALLOC_IN(products, products->block, blocks));
  return TSI_ALLOC_IN(products, products->block_ptr, (tsi_count)products->stages + 1);
}

tristar_status tsi_products_create(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                   const tsi_levels *levels, bool backward, size_t entry_bytes,
                                   double block_bytes, tsi_products **out) {
  *out = NULL;
  TSI_SCRATCH(env, layout, y, 1);
  *y = (layout){.symbolic = symbolic,
                .panels = panels,
                .levels = levels,
                .entry_bytes = (double)entry_bytes,
                .block_bytes = block_bytes};
  TSI_TRY(TSI_ALLOC_ZERO_IN(y, y->products, 1));
  y->products->backward = backward;
  y->products->stages = levels->count;
  TSI_TRY(TSI_ALLOC_IN(y, y->mark, symbolic->n));
  TSI_TRY(TSI_ALLOC_IN(y, y->length, symbolic->n));
  clear_marks(y);
  TSI_TRY(allocate(env, y));
  clear_marks(y);
  for (tsi_index q = 0; q < levels->count; q++) {
    y->products->block_ptr[q] = y->products->blocks;
    add_level(y, tsi_product_level(y->products, q));
  }
  y->products->block_ptr[levels->count] = y->products->blocks;
  y->products->ptr[y->products->rows] = y->entries;
  if (env->check) TSI_TRY(tsi_products_check(env, y->products, symbolic));
  tsi_own(NULL, y->products);
  *out = y->products;
  return TRISTAR_OK;
}

/* Verifies the rows of one stage. set[j]: column j has been set. written[j]: the latest stage that wrote row
 * j. */
static tristar_status check_stage(tsi_env *env, const tsi_products *products, tsi_index stage, tsi_index n,
                                  bool *set, tsi_index *written) {
  for (tsi_index b = products->block_ptr[stage]; b < products->block_ptr[stage + 1]; b++) {
    const tsi_row_block *block = &products->block[b];
    if (block->first != (b > 0 ? products->block[b - 1].end : 0) || block->end <= block->first ||
        block->end > products->rows)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "block %d holds rows %lld to %lld", b, (long long)block->first,
               (long long)block->end);
    for (tsi_count r = block->first; r < block->end; r++) {
      const tsi_index j = products->row[r];
      if (j < 0 || j >= n || set[j] || written[j] == stage || products->ptr[r + 1] <= products->ptr[r])
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "stage %d, row %lld writes row %d", stage, (long long)r, j);
      written[j] = stage;
      set[j] = !block->add;
    }
  }
  return TRISTAR_OK;
}

tristar_status tsi_products_check(tsi_env *env, const tsi_products *products, const tsi_symbolic *symbolic) {
  const tsi_index n = symbolic->n;
  TSI_SCRATCH_ZERO(env, bool, set, n);
  TSI_SCRATCH(env, tsi_index, written, n);
  for (tsi_index j = 0; j < n; j++) written[j] = TSI_NONE;
  if (products->block_ptr[0] != 0 || products->block_ptr[products->stages] != products->blocks ||
      (products->blocks > 0 ? products->block[products->blocks - 1].end : 0) != products->rows)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%d blocks in %d stages do not cover %lld rows", products->blocks,
             products->stages, (long long)products->rows);
  for (tsi_index q = 0; q < products->stages; q++) TSI_TRY(check_stage(env, products, q, n, set, written));
  for (tsi_index j = 0; j < n; j++)
    if (!set[j]) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "no row sets column %d", j);
  return TRISTAR_OK;
}
