/* Sweeps over block cuts: see block_sweep.h. */
#include "runtime/rows/block_sweep.h"

#include "codelets/cpu/rows/block_choice.h"
#include "codelets/cpu/rows/sparse.h"

#define CHUNK_ENTRIES 2000 /* about 2 us: as long as waiting for another core may take */

void tsi_block_options_init(tsi_block_options *options, tsi_block_scheme scheme, tsi_index blocks,
                            int lanes) {
  *options = (tsi_block_options){scheme, blocks, true, lanes, CHUNK_ENTRIES};
}

/* ---- The order of rows --------------------------------------------------------------------------------- */

/* Makes the rows of the sweep. The backward sweep has the rows of the transpose, beginning with the last one.
 */
static tristar_status make_rows(tsi_env *env, const tsi_lines *lines, bool backward,
                                const tsi_block_options *options, tsi_index *order, tsi_block_sweep *sweep,
                                tsi_block_pattern **pattern) {
  const tsi_index n = lines->n;
  const tsi_lines of_sweep = {n, lines->ptr, lines->index, lines->columns != backward};
  for (tsi_index k = 0; k < n; k++) order[k] = backward ? n - 1 - k : k;
  TSI_TRY(tsi_block_cut_create(env, n, options->scheme, options->blocks, &sweep->cut));
  tsi_own(sweep, sweep->cut);
  TSI_TRY(tsi_block_reorder(env, sweep->cut, &of_sweep, options->whole, order));
  TSI_TRY(tsi_block_pattern_create(env, &of_sweep, order, pattern));
  if (env->check) TSI_TRY(tsi_block_cut_check(env, sweep->cut, &(*pattern)->lines));
  TSI_TRY(tsi_block_rows_create(env, sweep->cut, *pattern, options->lanes, options->least, &sweep->rows));
  tsi_own(sweep, sweep->rows);
  return TRISTAR_OK;
}

/* ---- Layout -------------------------------------------------------------------------------------------- */

typedef struct chunk_columns {
  tsi_index first, last;
} chunk_columns;

static chunk_columns columns_of(const tsi_block_rows *rows, const tsi_index *place, tsi_index c) {
  chunk_columns columns = {TSI_INDEX_MAX, 0};
  for (tsi_count e = rows->ptr[rows->start[c]]; e < rows->ptr[rows->start[c + 1]]; e++) {
    columns.first = tsi_index_min(columns.first, place[rows->column[e]]);
    columns.last = tsi_index_max(columns.last, place[rows->column[e]]);
  }
  return columns;
}

/* Consecutive rows need no list: so a list costs nothing if no row is empty. */
static bool are_consecutive(const tsi_index *row, tsi_index count) {
  for (tsi_index k = 1; k < count; k++)
    if (row[k] != row[k - 1] + 1) return false;
  return true;
}

/* Sizes of the arrays up to a chunk. */
typedef struct layout {
  tsi_count row, narrow, wide; /* rows; entries with columns in 16 and 32 bits */
} layout;

/* Chooses whether rows are summed in lanes, once for all chunks of a part, because it affects the bits of
 * sums. */
static tristar_status choose_lanes(tsi_env *env, tsi_block_sweep *sweep) {
  const tsi_block_rows *rows = sweep->rows;
  TSI_SCRATCH_ZERO(env, tsi_block_shape, shape, sweep->cut->count);
  for (tsi_index c = 0; c < rows->count; c++) {
    tsi_block_shape *s = &shape[rows->part[c]];
    s->filled += (tsi_index)(rows->start[c + 1] - rows->start[c]);
    s->entries += rows->ptr[rows->start[c + 1]] - rows->ptr[rows->start[c]];
  }
  for (tsi_index c = 0; c < rows->count; c++)
    sweep->chunk[c].lanes = tsi_block_choose(sweep->scalar, sweep->kernels->isa, &shape[rows->part[c]]).lanes;
  return TRISTAR_OK;
}

static bool is_narrow(const tsi_block_sweep *sweep, const tsi_index *place, tsi_index c,
                      chunk_columns *columns) {
  *columns = columns_of(sweep->rows, place, c);
  const tsi_block_shape shape = {1, 1, tsi_index_max(1, columns->last - columns->first + 1)};
  if (columns->first > columns->last) columns->first = 0; /* no entries */
  return tsi_block_choose(sweep->scalar, sweep->kernels->isa, &shape).narrow;
}

/* place: by row of the order. ptr counts from the first entry of a chunk. */
static void lay_out(tsi_block_sweep *sweep, const tsi_index *place, tsi_index c, layout *at) {
  const tsi_block_rows *rows = sweep->rows;
  const tsi_count first = rows->start[c], begin = rows->ptr[first],
                  entries = rows->ptr[rows->start[c + 1]] - begin;
  const tsi_index count = (tsi_index)(rows->start[c + 1] - first);
  chunk_columns columns;
  const bool is_short = is_narrow(sweep, place, c, &columns);
  tsi_block_chunk *chunk = &sweep->chunk[c];
  tsi_index *row = sweep->row + at->row, *column = sweep->column + at->wide;
  uint16_t *narrow = sweep->short_column + at->narrow;
  tsi_count *ptr = sweep->ptr + at->row + c; /* one more for each chunk */
  for (tsi_index k = 0; k < count; k++) row[k] = place[rows->row[first + k]];
  for (tsi_index k = 0; k <= count; k++) ptr[k] = rows->ptr[first + k] - begin;
  for (tsi_count e = 0; e < entries; e++)
    if (is_short)
      narrow[e] = (uint16_t)(place[rows->column[begin + e]] - columns.first);
    else
      column[e] = place[rows->column[begin + e]];
  chunk->count = count;
  chunk->triangle = sweep->cut->part[rows->part[c]].kind == TSI_BLOCK_TRIANGLE;
  chunk->rows = (tsi_rectangle){.ptr = ptr,
                                .row = are_consecutive(row, count) ? NULL : row,
                                .column = is_short ? NULL : column,
                                .short_column = is_short ? narrow : NULL,
                                .values = (char *)sweep->values + (size_t)begin * sweep->scalar_bytes,
                                .first_row = row[0],
                                .first_column = is_short ? columns.first : 0};
  at->row += count;
  *(is_short ? &at->narrow : &at->wide) += entries;
}

static tristar_status lay_out_all(tsi_env *env, const tsi_index *place, const tsi_block_pattern *pattern,
                                  tsi_block_sweep *sweep) {
  const tsi_block_rows *rows = sweep->rows;
  const tsi_count listed = rows->start[rows->count], entries = rows->ptr[listed];
  layout at = {0, 0, 0};
  chunk_columns columns;
  for (tsi_index c = 0; c < rows->count; c++)
    *(is_narrow(sweep, place, c, &columns) ? &at.narrow : &at.wide) +=
        rows->ptr[rows->start[c + 1]] - rows->ptr[rows->start[c]];
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->chunk, rows->count));
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->row, listed));
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->ptr, listed + rows->count));
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->column, at.wide));
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->short_column, at.narrow));
  TSI_TRY(TSI_ALLOC_IN(sweep, sweep->entry, entries));
  TSI_TRY(TSI_ALLOC_SIZED_IN(sweep, sweep->values, entries, sweep->scalar_bytes));
  TSI_TRY(choose_lanes(env, sweep));
  at = (layout){0, 0, 0};
  for (tsi_index c = 0; c < rows->count; c++) lay_out(sweep, place, c, &at);
  for (tsi_count e = 0; e < entries; e++) sweep->entry[e] = pattern->source[rows->entry[e]];
  return TRISTAR_OK;
}

/* Frees the lists that were copied to the chunks. */
static void release_lists(tsi_env *env, tsi_block_rows *rows) {
  TSI_FREE(env, rows->row);
  TSI_FREE(env, rows->column);
  TSI_FREE(env, rows->entry);
}

/* ---- All ----------------------------------------------------------------------------------------------- */

tristar_status tsi_block_sweep_create(tsi_env *env, const tsi_lines *lines, bool backward,
                                      const tsi_block_options *options, char scalar, const char *isa,
                                      const tsi_index *place, tsi_block_sweep **out) {
  TSI_OWNED tsi_block_sweep *sweep = NULL;
  TSI_OWNED tsi_block_pattern *pattern = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, sweep, 1));
  sweep->scalar = scalar;
  sweep->kernels = tsi_block_kernels_select(scalar, isa);
  if (sweep->kernels == NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "there are no kernels of scalar %c for %s", scalar,
             isa ? isa : "any");
  sweep->scalar_bytes = tsi_sparse_kernels_select(scalar)->scalar_bytes;
  TSI_SCRATCH(env, tsi_index, order, lines->n);
  TSI_TRY(make_rows(env, lines, backward, options, order, sweep, &pattern));
  for (tsi_index k = 0; k < lines->n && place; k++) order[k] = place[order[k]];
  TSI_TRY(lay_out_all(env, order, pattern, sweep));
  release_lists(env, sweep->rows);
  *out = tsi_take(&sweep);
  return TRISTAR_OK;
}

void tsi_block_sweep_fill(tsi_block_sweep *sweep, const void *values) {
  const tsi_block_rows *rows = sweep->rows;
  const tsi_count entries = rows->ptr[rows->start[rows->count]];
  const size_t bytes = sweep->scalar_bytes;
  for (tsi_count e = 0; e < entries; e++)
    memcpy((char *)sweep->values + (size_t)e * bytes, (const char *)values + (size_t)sweep->entry[e] * bytes,
           bytes);
}
