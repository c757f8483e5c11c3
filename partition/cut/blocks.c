/* Cuts a triangle into triangles and rectangles: see blocks.h. For each scheme part 2 k is triangle k, and
 * part 2 s - 1 is the rectangle between block s - 1 and block s. */
#include "partition/cut/blocks.h"

#define MOST_BLOCKS ((tsi_index)1 << 30)
#define VECTOR_BYTES (128 * 1024) /* b and x of a block */

tsi_index tsi_block_default(tsi_index n, size_t scalar_bytes) {
  tsi_index blocks = 2;
  while (blocks < 2.0 * n * (double)scalar_bytes / VECTOR_BYTES && blocks < MOST_BLOCKS) blocks *= 2;
  return blocks;
}

/* ---- Cuts ---------------------------------------------------------------------------------------------- */

static tsi_index middle(tsi_index first, tsi_index end) {
  return first + (end - first) / 2;
}

/* The rectangle between block s - 1 and block s: blocks s .. end - 1 by first .. s - 1. */
static void put_rectangle(tsi_block_cut *cut, tsi_index s, tsi_index first, tsi_index end) {
  const tsi_index *start = cut->start;
  cut->part[2 * s - 1] = (tsi_block_part){TSI_BLOCK_RECTANGLE, start[s], start[end], start[first], start[s]};
}

/* Adds the rectangles of blocks first .. end - 1. The depth is the logarithm of their number. */
static void halve(tsi_block_cut *cut, tsi_index first, tsi_index end) {
  if (end - first < 2) return;
  const tsi_index s = middle(first, end);
  put_rectangle(cut, s, first, end);
  halve(cut, first, s);
  halve(cut, s, end);
}

static void put_parts(tsi_block_cut *cut) {
  const tsi_index *start = cut->start, blocks = cut->blocks;
  for (tsi_index k = 0; k < blocks; k++)
    cut->part[2 * k] = (tsi_block_part){TSI_BLOCK_TRIANGLE, start[k], start[k + 1], start[k], start[k + 1]};
  switch (cut->scheme) {
  case TSI_BLOCKS_COLUMN:
    for (tsi_index s = 1; s < blocks; s++) put_rectangle(cut, s, s - 1, blocks);
    break;
  case TSI_BLOCKS_ROW:
    for (tsi_index s = 1; s < blocks; s++) put_rectangle(cut, s, 0, s + 1);
    break;
  case TSI_BLOCKS_RECURSIVE:
    halve(cut, 0, blocks);
    break;
  }
}

tristar_status tsi_block_cut_create(tsi_env *env, tsi_index n, tsi_block_scheme scheme, tsi_index blocks,
                                    tsi_block_cut **out) {
  *out = NULL;
  if (n < 0 || blocks < 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%d rows cannot be cut into %d blocks", n, blocks);
  blocks = tsi_index_min(blocks, n);
  if (blocks > MOST_BLOCKS)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%d blocks are more than %d", blocks, MOST_BLOCKS);
  TSI_SCRATCH_ZERO(env, tsi_block_cut, cut, 1);
  cut->scheme = scheme;
  cut->n = n;
  cut->blocks = blocks;
  cut->count = blocks > 0 ? 2 * (blocks - 1) + 1 : 0;
  TSI_TRY(TSI_ALLOC_ZERO_IN(cut, cut->start, (tsi_count)blocks + 1));
  TSI_TRY(TSI_ALLOC_IN(cut, cut->part, cut->count));
  for (tsi_index k = 1; k <= blocks; k++) cut->start[k] = (tsi_index)((tsi_count)n * k / blocks);
  put_parts(cut);
  *out = tsi_take(&cut);
  return TRISTAR_OK;
}

/* ---- Queries ------------------------------------------------------------------------------------------- */

void tsi_block_owners(const tsi_block_cut *cut, tsi_index *block) {
  for (tsi_index k = 0; k < cut->blocks; k++)
    for (tsi_index i = cut->start[k]; i < cut->start[k + 1]; i++) block[i] = k;
}

tsi_index tsi_block_part_of(const tsi_block_cut *cut, tsi_index i, tsi_index j) {
  if (i == j) return 2 * i;
  if (cut->scheme == TSI_BLOCKS_COLUMN) return 2 * j + 1;
  if (cut->scheme == TSI_BLOCKS_ROW) return 2 * i - 1;
  tsi_index first = 0, end = cut->blocks;
  for (;;) { /* down to the middle between i and j */
    const tsi_index s = middle(first, end);
    if (j < s && i >= s) return 2 * s - 1;
    if (i < s)
      end = s;
    else
      first = s;
  }
}

tsi_block_traffic tsi_block_cut_traffic(const tsi_block_cut *cut) {
  tsi_block_traffic t = {0, 0, 0};
  for (tsi_index p = 0; p < cut->count; p++) {
    const tsi_block_part *part = &cut->part[p];
    const tsi_index rows = part->end_row - part->first_row;
    if (part->kind == TSI_BLOCK_TRIANGLE) {
      t.triangles += rows;
    } else {
      t.updated += rows;
      t.loaded += part->end_column - part->first_column;
    }
  }
  return t;
}

/* ---- Checks -------------------------------------------------------------------------------------------- */

/* Verifies the order of the parts: each triangle extends the solved rows, a rectangle reads solved rows and
 * updates others. */
static tristar_status check_order(tsi_env *env, const tsi_block_cut *cut) {
  tsi_index solved = 0, triangles = 0;
  for (tsi_index p = 0; p < cut->count; p++) {
    const tsi_block_part *part = &cut->part[p];
    if (part->first_row < 0 || part->first_row >= part->end_row || part->end_row > cut->n ||
        part->first_column < 0 || part->first_column >= part->end_column)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "part %d has the rows from %d to %d, the columns from %d to %d", p,
               part->first_row, part->end_row, part->first_column, part->end_column);
    if (part->kind == TSI_BLOCK_RECTANGLE) {
      if (part->end_column > solved || part->first_row < solved)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "part %d reads columns up to %d for rows from %d, after %d rows",
                 p, part->end_column, part->first_row, solved);
      continue;
    }
    if (part->first_row != solved || part->first_column != solved || part->end_column != part->end_row)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "part %d is no triangle from row %d on", p, solved);
    if (triangles >= cut->blocks || cut->start[triangles] != solved)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "part %d is not block %d", p, triangles);
    solved = part->end_row;
    triangles++;
  }
  if (solved != cut->n || triangles != cut->blocks || cut->start[cut->blocks] != cut->n)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%d triangles of %d blocks solve %d rows of %d", triangles,
             cut->blocks, solved, cut->n);
  return TRISTAR_OK;
}

/* Number of open parts at each position across the line: a tree of partial sums (Fenwick). */
static void add_from(tsi_index *sum, tsi_index n, tsi_index place, tsi_index by) {
  for (tsi_count k = (tsi_count)place + 1; k <= n; k += k & -k) sum[k] += by;
}
static tsi_index sum_at(const tsi_index *sum, tsi_index place) {
  tsi_index total = 0;
  for (tsi_count k = (tsi_count)place + 1; k > 0; k -= k & -k) total += sum[k];
  return total;
}

/* Opens (by = 1) or closes (by = -1) part p and the parts after it in its list. */
static void count_parts(const tsi_block_cut *cut, bool columns, const tsi_index *next, tsi_index p,
                        tsi_index by, tsi_index *sum) {
  for (; p != TSI_NONE; p = next[p]) {
    const tsi_block_part *part = &cut->part[p];
    add_from(sum, cut->n, columns ? part->first_row : part->first_column, by);
    const tsi_index end = columns ? part->end_row : part->end_column;
    if (end < cut->n) add_from(sum, cut->n, end, -by);
  }
}

/* Visits the lines. Parts that begin at a line are opened, parts that end there are closed. */
static tristar_status check_entries(tsi_env *env, const tsi_block_cut *cut, const tsi_lines *lines) {
  const tsi_count ends = (tsi_count)cut->n + 1;
  TSI_SCRATCH(env, tsi_index, opened, ends);
  TSI_SCRATCH(env, tsi_index, closed, ends);
  TSI_SCRATCH(env, tsi_index, next_opened, cut->count);
  TSI_SCRATCH(env, tsi_index, next_closed, cut->count);
  TSI_SCRATCH_ZERO(env, tsi_index, sum, ends);
  for (tsi_index k = 0; k <= cut->n; k++) opened[k] = closed[k] = TSI_NONE;
  for (tsi_index p = 0; p < cut->count; p++) {
    const tsi_block_part *part = &cut->part[p];
    const tsi_index first = lines->columns ? part->first_column : part->first_row,
                    end = lines->columns ? part->end_column : part->end_row;
    next_opened[p] = opened[first];
    opened[first] = p;
    next_closed[p] = closed[end];
    closed[end] = p;
  }
  for (tsi_index line = 0; line < cut->n; line++) {
    count_parts(cut, lines->columns, next_closed, closed[line], -1, sum);
    count_parts(cut, lines->columns, next_opened, opened[line], 1, sum);
    for (tsi_count e = lines->ptr[line]; e < lines->ptr[line + 1]; e++) {
      const tsi_index other = lines->index[e], parts = sum_at(sum, other);
      if (other != line && parts != 1)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "entry %d of %s %d lies in %d parts", other,
                 lines->columns ? "column" : "row", line, parts);
    }
  }
  return TRISTAR_OK;
}

tristar_status tsi_block_cut_check(tsi_env *env, const tsi_block_cut *cut, const tsi_lines *lines) {
  if (cut->n != lines->n)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "the cut has %d rows, the matrix %d", cut->n, lines->n);
  TSI_TRY(check_order(env, cut));
  return check_entries(env, cut, lines);
}
