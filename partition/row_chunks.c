/* Orders and cuts the rows of a triangular matrix: see row_chunks.h. */
#include "partition/row_chunks.h"

#include "runtime/base/sort.h"

/* Calls f for row i and a row j < i that it waits for; in an order in which j waits for nothing any more, as
 * lines ascend: rows of F, each with all that it waits for; or columns, each when its own row is through. */
#define FOR_EACH_WAIT(lines, i, j, ...)                                                                      \
  for (tsi_index line = 0; line < (lines)->n; line++)                                                        \
    for (tsi_count entry = (lines)->ptr[line]; entry < (lines)->ptr[line + 1]; entry++) {                    \
      const tsi_index other = (lines)->index[entry];                                                         \
      const tsi_index i = (lines)->columns ? other : line, j = (lines)->columns ? line : other;              \
      if (other != line) __VA_ARGS__;                                                                        \
    }

tsi_index tsi_row_levels(const tsi_lines *lines, tsi_index *level) {
  tsi_index count = 0;
  for (tsi_index i = 0; i < lines->n; i++) level[i] = 0;
  FOR_EACH_WAIT(lines, i, j, {
    if (level[j] >= level[i]) level[i] = level[j] + 1;
  });
  for (tsi_index i = 0; i < lines->n; i++) count = tsi_index_max(count, level[i] + 1);
  return count;
}

/* entries[i], n: of row i of F, but for the diagonal. */
static void count_entries(const tsi_lines *lines, tsi_index *entries) {
  for (tsi_index i = 0; i < lines->n; i++) entries[i] = 0;
  FOR_EACH_WAIT(lines, i, j, {
    (void)j;
    entries[i]++;
  });
}

static double row_bytes(const tsi_row_weights *weights, tsi_index entries) {
  return weights->row + weights->entry * entries;
}

/* ---- Blocks
 * ------------------------------------------------------------------------------------------------------ */

static void cut_blocks(tsi_row_cut *cut, tsi_index rows) {
  cut->count = cut->n > 0 ? (tsi_index)(((tsi_count)cut->n + rows - 1) / rows) : 0;
  for (tsi_index c = 0; c < cut->count; c++) cut->start[c] = (tsi_index)((tsi_count)c * rows);
  cut->start[cut->count] = cut->n;
  for (tsi_index i = 0; i < cut->n; i++) cut->order[i] = i;
}

/* ---- Levels
 * ------------------------------------------------------------------------------------------------------ */

/* Rows by level, each level ascending; first: levels + 1. */
static void sort_by_level(tsi_row_cut *cut, tsi_index levels, const tsi_index *level, tsi_index *first) {
  for (tsi_index l = 0; l <= levels; l++) first[l] = 0;
  for (tsi_index i = 0; i < cut->n; i++) first[level[i] + 1]++;
  for (tsi_index l = 0; l < levels; l++) first[l + 1] += first[l];
  for (tsi_index i = 0; i < cut->n; i++) cut->order[first[level[i]]++] = i;
  for (tsi_index l = levels; l > 0; l--) first[l] = first[l - 1];
  first[0] = 0;
}

/* Cuts a level at about equal bytes into so many chunks. */
static void cut_level(tsi_row_cut *cut, const tsi_row_weights *weights, const tsi_index *entries,
                      tsi_index begin, tsi_index end, double bytes, int pieces) {
  double sum = 0;
  int piece = 1;
  for (tsi_index k = begin; k < end; k++) {
    sum += row_bytes(weights, entries[cut->order[k]]);
    if (piece < pieces && sum >= bytes * piece / pieces && k + 1 < end) {
      cut->start[cut->count++] = k + 1;
      piece++;
    }
  }
  if (end < cut->n) cut->start[cut->count++] = end;
}

/* Rows of one level may be written in any order, rows of several that come together in the order of the
 * levels. */
static void cut_levels(tsi_row_cut *cut, const tsi_row_weights *weights, const tsi_index *entries,
                       tsi_index levels, const tsi_index *first) {
  tsi_index l = 0;
  cut->start[0] = 0;
  cut->count = cut->n > 0;
  while (l < levels) {
    tsi_index end = l;
    double bytes = 0, next = 0;
    do { /* narrow levels come together */
      bytes = 0;
      for (tsi_index k = first[end]; k < first[end + 1]; k++)
        bytes += row_bytes(weights, entries[cut->order[k]]);
      next += bytes;
      end++;
    } while (end < levels && bytes < 2 * weights->task && next < 64 * weights->task);
    const bool narrow = bytes < 2 * weights->task;
    if (!narrow && end > l + 1) { /* the last one is wide: it is cut on its own */
      end--;
      next -= bytes;
    }
    const bool alone = end == l + 1 && !narrow;
    const double most = bytes / weights->task;
    const int pieces = !alone ? 1 : most < weights->workers ? (int)most : weights->workers;
    cut_level(cut, weights, entries, first[l], first[end], alone ? bytes : next, pieces);
    l = end;
  }
  cut->start[cut->count] = cut->n;
}

/* ---- What a cut costs
 * -------------------------------------------------------------------------------------------- */

/* Sets bytes and critical. done: scratch, a number for each chunk; chunk: n. */
static void weigh(tsi_row_cut *cut, const tsi_lines *lines, const tsi_row_weights *weights,
                  const tsi_index *entries, double *done, tsi_index *chunk) {
  for (tsi_index c = 0; c < cut->count; c++) {
    done[c] = 0;
    for (tsi_index k = cut->start[c]; k < cut->start[c + 1]; k++) chunk[cut->order[k]] = c;
  }
  /* The path up to the end of a chunk is known when all that it waits for is; in the order of the cut, row by
   * row. */
  cut->bytes = cut->critical = 0;
  if (!lines->columns) {
    for (tsi_index c = 0; c < cut->count; c++) {
      double before = 0, own = weights->task;
      for (tsi_index k = cut->start[c]; k < cut->start[c + 1]; k++) {
        const tsi_index i = cut->order[k];
        own += row_bytes(weights, entries[i]);
        for (tsi_count e = lines->ptr[i]; e < lines->ptr[i + 1]; e++) {
          const tsi_index other = chunk[lines->index[e]];
          if (other != c && done[other] > before) before = done[other];
        }
      }
      done[c] = before + own;
      cut->bytes += own;
      if (done[c] > cut->critical) cut->critical = done[c];
    }
    return;
  }
  for (tsi_index c = 0; c < cut->count; c++) {
    double own = weights->task;
    for (tsi_index k = cut->start[c]; k < cut->start[c + 1]; k++)
      own += row_bytes(weights, entries[cut->order[k]]);
    done[c] += own;
    cut->bytes += own;
    if (done[c] > cut->critical) cut->critical = done[c];
    for (tsi_index k = cut->start[c]; k < cut->start[c + 1]; k++) {
      const tsi_index j = cut->order[k];
      for (tsi_count e = lines->ptr[j]; e < lines->ptr[j + 1]; e++) {
        const tsi_index other = chunk[lines->index[e]];
        if (other != c && done[c] > done[other]) done[other] = done[c];
      }
    }
  }
}

/* ---- All
 * ---------------------------------------------------------------------------------------------------------
 */

static tristar_status cut_by_levels(tsi_env *env, const tsi_lines *lines, const tsi_row_weights *weights,
                                    const tsi_index *entries, tsi_row_cut *cut) {
  tristar_status status = TRISTAR_OK;
  tsi_index *level = NULL, *first = NULL;
  TSI_TRY(TSI_ALLOC(env, level, lines->n));
  const tsi_index levels = tsi_row_levels(lines, level);
  TSI_TRY(TSI_ALLOC(env, first, (tsi_count)levels + 1));
  sort_by_level(cut, levels, level, first);
  cut_levels(cut, weights, entries, levels, first);
out:
  TSI_FREE(env, level);
  TSI_FREE(env, first);
  return status;
}

tristar_status tsi_row_cut_create(tsi_env *env, const tsi_lines *lines, const tsi_row_weights *weights,
                                  tsi_row_way way, tsi_index rows, tsi_row_cut **out) {
  tristar_status status = TRISTAR_OK;
  tsi_row_cut *cut = NULL;
  tsi_index *entries = NULL, *chunk = NULL;
  double *done = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, cut, 1));
  cut->way = way;
  cut->n = lines->n;
  TSI_TRY(TSI_ALLOC(env, cut->order, lines->n));
  TSI_TRY(TSI_ALLOC(env, cut->start, (tsi_count)lines->n + 1));
  TSI_TRY(TSI_ALLOC(env, entries, lines->n));
  TSI_TRY(TSI_ALLOC(env, chunk, lines->n));
  count_entries(lines, entries);
  if (way == TSI_ROWS_LEVELS)
    TSI_TRY(cut_by_levels(env, lines, weights, entries, cut));
  else
    cut_blocks(cut, way == TSI_ROWS_BLOCKS ? rows : tsi_index_max(1, lines->n));
  TSI_TRY(TSI_ALLOC(env, done, cut->count));
  weigh(cut, lines, weights, entries, done, chunk);
  if (env->check) TSI_TRY(tsi_row_cut_check(env, cut, lines));
out:
  TSI_FREE(env, entries);
  TSI_FREE(env, chunk);
  TSI_FREE(env, done);
  if (status != TRISTAR_OK) tsi_row_cut_destroy(env, &cut);
  *out = cut;
  return status;
}

void tsi_row_cut_destroy(tsi_env *env, tsi_row_cut **cut) {
  if (*cut == NULL) return;
  TSI_FREE(env, (*cut)->order);
  TSI_FREE(env, (*cut)->start);
  TSI_FREE(env, *cut);
}

tristar_status tsi_row_cut_check(tsi_env *env, const tsi_row_cut *cut, const tsi_lines *lines) {
  tristar_status status = TRISTAR_OK;
  tsi_index *place = NULL;
  TSI_TRY(TSI_ALLOC(env, place, cut->n));
  if (cut->n != lines->n || cut->start[0] != 0 || cut->start[cut->count] != cut->n)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%d chunks hold %d of %d rows", cut->count, cut->start[cut->count],
             cut->n);
  for (tsi_index c = 0; c < cut->count; c++)
    if (cut->start[c] >= cut->start[c + 1]) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d is empty", c);
  for (tsi_index i = 0; i < cut->n; i++) place[i] = TSI_NONE;
  for (tsi_index k = 0; k < cut->n; k++) {
    const tsi_index i = cut->order[k];
    if (i < 0 || i >= cut->n || place[i] != TSI_NONE)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d comes twice", i);
    place[i] = k;
  }
  FOR_EACH_WAIT(lines, i, j, {
    if (place[j] >= place[i])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d comes before row %d, which it waits for", i, j);
  });
out:
  TSI_FREE(env, place);
  return status;
}

tristar_status tsi_row_symbolic_create(tsi_env *env, const tsi_row_cut *cut, tsi_count entries,
                                       tsi_symbolic **out) {
  tristar_status status = TRISTAR_OK;
  tsi_symbolic *symbolic = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, symbolic, 1));
  symbolic->n = cut->n;
  symbolic->leaf_parts = 1;
  symbolic->nnz_exact = symbolic->nnz_stored = entries;
  TSI_TRY(TSI_ALLOC(env, symbolic->perm, cut->n));
  TSI_TRY(TSI_ALLOC(env, symbolic->inverse, cut->n));
  TSI_TRY(TSI_ALLOC_ZERO(env, symbolic->start, 1));
  TSI_TRY(TSI_ALLOC(env, symbolic->parent, 0));
  TSI_TRY(TSI_ALLOC_ZERO(env, symbolic->row_ptr, 1));
  TSI_TRY(TSI_ALLOC(env, symbolic->rows, 0));
  for (tsi_index k = 0; k < cut->n; k++) {
    symbolic->perm[k] = cut->order[k];
    symbolic->inverse[cut->order[k]] = k;
  }
out:
  if (status != TRISTAR_OK) tsi_symbolic_destroy(env, &symbolic);
  *out = symbolic;
  return status;
}

/* ---- Chunks
 * ------------------------------------------------------------------------------------------------------ */

/* The off-rows of each chunk. Of rows each chunk that they read is noted once for each row, in ascending
 * order of the rows; with off NULL they are counted, in count. */
static void list_by_rows(const tsi_lines *lines, tsi_index chunks, const tsi_index *owner, tsi_index *seen,
                         tsi_count *next, tsi_index *off) {
  for (tsi_index c = 0; c < chunks; c++) seen[c] = TSI_NONE;
  for (tsi_index i = 0; i < lines->n; i++)
    for (tsi_count e = lines->ptr[i]; e < lines->ptr[i + 1]; e++) {
      const tsi_index c = owner[lines->index[e]];
      if (c == owner[i] || seen[c] == i) continue;
      seen[c] = i;
      if (off) off[next[c]] = i;
      next[c]++;
    }
}

/* Of columns a chunk's own are looked at one after the other, and what comes out is sorted. seen: n. */
static tsi_count list_by_columns(const tsi_lines *lines, const tsi_index *owner, tsi_index begin,
                                 tsi_index end, tsi_index *seen, tsi_index *off) {
  const tsi_index chunk = owner[begin];
  tsi_count count = 0;
  for (tsi_index j = begin; j < end; j++)
    for (tsi_count e = lines->ptr[j]; e < lines->ptr[j + 1]; e++) {
      const tsi_index i = lines->index[e];
      if (owner[i] == chunk || seen[i] == chunk) continue;
      seen[i] = chunk;
      if (off) off[count] = i;
      count++;
    }
  return count;
}

static tristar_status allocate(tsi_env *env, tsi_index count, const tsi_index *start, tsi_chunks *chunks) {
  tristar_status status = TRISTAR_OK;
  const tsi_count ends = (tsi_count)count + 1;
  chunks->count = count;
  TSI_TRY(TSI_ALLOC_ZERO(env, chunks->panel, ends));
  TSI_TRY(TSI_ALLOC(env, chunks->column, ends));
  TSI_TRY(TSI_ALLOC_ZERO(env, chunks->off_ptr, ends));
  TSI_TRY(TSI_ALLOC(env, chunks->first_off, count));
  TSI_TRY(TSI_ALLOC(env, chunks->entries, count));
  TSI_TRY(TSI_ALLOC_ZERO(env, chunks->slice_ptr, ends));
  memcpy(chunks->column, start, (size_t)ends * sizeof *start);
  for (tsi_index c = 0; c < count; c++) chunks->first_off[c] = tsi_chunk_columns(chunks, c);
out:
  return status;
}

static void count_chunk_entries(const tsi_lines *lines, const tsi_index *owner, tsi_chunks *chunks) {
  for (tsi_index c = 0; c < chunks->count; c++) chunks->entries[c] = tsi_chunk_columns(chunks, c);
  FOR_EACH_WAIT(lines, i, j, {
    (void)j;
    chunks->entries[owner[i]]++;
  });
}

static void make_sums(tsi_index count, tsi_count *ptr) {
  for (tsi_index c = 0; c < count; c++) ptr[c + 1] += ptr[c];
}

tristar_status tsi_row_chunks_create(tsi_env *env, const tsi_lines *lines, tsi_index count,
                                     const tsi_index *start, tsi_chunks **out) {
  tristar_status status = TRISTAR_OK;
  tsi_chunks *chunks = NULL;
  tsi_index *owner = NULL, *seen = NULL;
  tsi_count *next = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, chunks, 1));
  TSI_TRY(allocate(env, count, start, chunks));
  TSI_TRY(TSI_ALLOC(env, owner, lines->n));
  TSI_TRY(TSI_ALLOC(env, seen, lines->n));
  TSI_TRY(TSI_ALLOC_ZERO(env, next, count));
  tsi_chunk_owners(chunks, owner);
  count_chunk_entries(lines, owner, chunks);
  for (tsi_index i = 0; i < lines->n; i++) seen[i] = TSI_NONE;
  if (lines->columns)
    for (tsi_index c = 0; c < count; c++)
      next[c] = list_by_columns(lines, owner, start[c], start[c + 1], seen, NULL);
  else
    list_by_rows(lines, count, owner, seen, next, NULL);
  for (tsi_index c = 0; c < count; c++) chunks->off_ptr[c + 1] = next[c];
  make_sums(count, chunks->off_ptr);
  TSI_TRY(TSI_ALLOC(env, chunks->off, chunks->off_ptr[count]));
  for (tsi_index i = 0; i < lines->n; i++) seen[i] = TSI_NONE;
  for (tsi_index c = 0; c < count; c++) next[c] = chunks->off_ptr[c];
  if (lines->columns)
    for (tsi_index c = 0; c < count; c++) {
      tsi_index *off = chunks->off + chunks->off_ptr[c];
      (void)list_by_columns(lines, owner, start[c], start[c + 1], seen, off);
      tsi_sort_indices(off, (tsi_index)(chunks->off_ptr[c + 1] - chunks->off_ptr[c]));
    }
  else
    list_by_rows(lines, count, owner, seen, next, chunks->off);
out:
  TSI_FREE(env, owner);
  TSI_FREE(env, seen);
  TSI_FREE(env, next);
  if (status != TRISTAR_OK) tsi_chunks_destroy(env, &chunks);
  *out = chunks;
  return status;
}
