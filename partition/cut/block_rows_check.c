/* Verifies the chunks of rows of a block cut: see block_rows.h. */
#include "partition/cut/block_rows.h"

/* State while the chunks are visited in their order. */
typedef struct progress {
  tsi_index *writer; /* n: the latest chunk that wrote the row */
  bool *finished;    /* n */
  bool *listed;      /* entries of the pattern */
  tsi_index *seen;   /* chunks: the latest chunk that waits for it */
} progress;

/* Verifies an entry of row i: x_j must be finished, by another chunk that c waits for, or earlier by c
 * itself. */
static tristar_status check_entry(tsi_env *env, const tsi_block_rows *rows, const tsi_block_pattern *pattern,
                                  tsi_index c, tsi_index i, tsi_count e, const progress *p) {
  const tsi_count entry = rows->entry[e];
  const tsi_index j = rows->column[e];
  if (entry < pattern->ptr[i] || entry >= pattern->ptr[i + 1] || pattern->index[entry] != j)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d has an entry of column %d that is none of row %d", c, j, i);
  if (p->listed[entry])
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "the entry of row %d and column %d is listed twice", i, j);
  p->listed[entry] = true;
  if (!p->finished[j])
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d reads row %d, which is not finished", c, j);
  if (p->writer[j] != c && p->seen[p->writer[j]] != c)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d reads row %d and does not wait for chunk %d", c, j,
             p->writer[j]);
  return TRISTAR_OK;
}

static tristar_status check_row(tsi_env *env, const tsi_block_rows *rows, const tsi_block_cut *cut,
                                const tsi_block_pattern *pattern, tsi_index c, tsi_count k,
                                const progress *p) {
  const tsi_block_part *part = &cut->part[rows->part[c]];
  const tsi_index i = rows->row[k];
  if (i < part->first_row || i >= part->end_row)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d has row %d, which is none of part %d", c, i, rows->part[c]);
  if (p->finished[i]) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d writes row %d, which is finished", c, i);
  if (p->writer[i] != TSI_NONE && p->writer[i] != c && p->seen[p->writer[i]] != c)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d writes row %d and does not wait for chunk %d", c, i,
             p->writer[i]);
  for (tsi_count e = rows->ptr[k]; e < rows->ptr[k + 1]; e++) {
    if (rows->column[e] < part->first_column || rows->column[e] >= part->end_column)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d has column %d, which is none of part %d", c,
               rows->column[e], rows->part[c]);
    TSI_TRY(check_entry(env, rows, pattern, c, i, e, p));
  }
  p->writer[i] = c;
  p->finished[i] = part->kind == TSI_BLOCK_TRIANGLE;
  return TRISTAR_OK;
}

static tristar_status check_chunk(tsi_env *env, const tsi_block_rows *rows, const tsi_block_cut *cut,
                                  const tsi_block_pattern *pattern, tsi_index c, const progress *p) {
  if (rows->start[c] >= rows->start[c + 1] || rows->part[c] < 0 || rows->part[c] >= cut->count ||
      rows->lane[c] < 0 || rows->lane[c] >= rows->lanes)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d of part %d, lane %d, has %lld rows", c, rows->part[c],
             rows->lane[c], (long long)(rows->start[c + 1] - rows->start[c]));
  for (tsi_count w = rows->wait_ptr[c]; w < rows->wait_ptr[c + 1]; w++) {
    if (rows->wait[w] < 0 || rows->wait[w] >= c || p->seen[rows->wait[w]] == c)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d waits for chunk %d, or twice", c, rows->wait[w]);
    p->seen[rows->wait[w]] = c;
  }
  for (tsi_count k = rows->start[c]; k < rows->start[c + 1]; k++)
    TSI_TRY(check_row(env, rows, cut, pattern, c, k, p));
  return TRISTAR_OK;
}

tristar_status tsi_block_rows_check(tsi_env *env, const tsi_block_rows *rows, const tsi_block_cut *cut,
                                    const tsi_block_pattern *pattern) {
  TSI_SCRATCH_ZERO(env, progress, p, 1);
  TSI_TRY(TSI_ALLOC_IN(p, p->writer, cut->n));
  TSI_TRY(TSI_ALLOC_ZERO_IN(p, p->finished, cut->n));
  TSI_TRY(TSI_ALLOC_ZERO_IN(p, p->listed, pattern->ptr[cut->n]));
  TSI_TRY(TSI_ALLOC_IN(p, p->seen, rows->count));
  for (tsi_index i = 0; i < cut->n; i++) p->writer[i] = TSI_NONE;
  for (tsi_index c = 0; c < rows->count; c++) p->seen[c] = TSI_NONE;
  for (tsi_index c = 0; c < rows->count; c++) TSI_TRY(check_chunk(env, rows, cut, pattern, c, p));
  for (tsi_index i = 0; i < cut->n; i++) {
    if (!p->finished[i]) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d is never finished", i);
    for (tsi_count e = pattern->ptr[i]; e < pattern->ptr[i + 1]; e++)
      if (!p->listed[e])
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "the entry of row %d and column %d is in no chunk", i,
                 pattern->index[e]);
  }
  return TRISTAR_OK;
}
