/* Orders and cuts the rows of a triangular matrix: see row_chunks.h. */
#include "partition/cut/row_chunks.h"

#include "partition/cut/supersteps.h"
#include "partition/cut/level_scan.h"
#include "partition/cut/windows.h"
#include "runtime/base/grow.h"

#define STEP_BYTES 256e3 /* about 15 us of streaming: far more than a wait for another core */

void tsi_row_options_init(tsi_row_options *options, tsi_row_way way, int lanes, size_t scalar_bytes) {
  *options = (tsi_row_options){.way = way,
                               .lanes = lanes,
                               .entry_bytes = (double)scalar_bytes + sizeof(tsi_index),
                               .row_bytes = 4.0 * (double)scalar_bytes + sizeof(tsi_count),
                               .step_bytes = STEP_BYTES};
}

static bool is_narrow(const tsi_row_options *options, tsi_index n, tsi_index levels) {
  return n < (tsi_count)options->rows_a_level * levels;
}

tsi_index tsi_row_levels(const tsi_lines *lines, tsi_index *level) {
  tsi_index count = 0, before = TSI_NONE, carried = 0; /* the row before, and its level + 1 */
  for (tsi_index k = 0; k < lines->n; k++) {
    const tsi_index i = tsi_line_of(lines, k);
    tsi_index own = 0;
    tsi_count e = lines->ptr[i], end = lines->ptr[i + 1];
    for (; e < end; e++) {
      const tsi_index other = lines->index[e];
      if (other == before) /* mostly present: avoids a load from memory just written */
        own = tsi_index_max(own, carried);
      else if (other != i)
        own = tsi_index_max(own, level[other] + 1);
    }
    level[i] = own;
    before = i;
    carried = own + 1;
    count = tsi_index_max(count, carried);
  }
  return count;
}

/* The same if the lines are the columns of the sweep's rows. entries: of each row. Errors: MEMORY. */
static tristar_status find_given_levels(tsi_env *env, const tsi_lines *lines, tsi_index *level,
                                        tsi_index *entries, tsi_index *levels) {
  tsi_level_scan_next next = {0, 0};
  tsi_index highest = TSI_NONE;
  TSI_SCRATCH_ZERO(env, tsi_level_scan, scan, lines->n);
  if (lines->columns)
    for (tsi_index i = 0; i < lines->n; i++) {
      level[i] = tsi_level_scan_row(lines, scan, i, 0, &next, &entries[i], true);
      highest = tsi_index_max(highest, level[i]);
    }
  else
    for (tsi_index i = lines->n - 1; i >= 0; i--) {
      level[i] = tsi_level_scan_row(lines, scan, i, 0, &next, &entries[i], false);
      highest = tsi_index_max(highest, level[i]);
    }
  *levels = highest + 1;
  return TRISTAR_OK;
}

/* Sorts rows by level set, in the order of the sweep inside each. first: levels + 1. */
static void sort_by_level(tsi_index n, bool backward, tsi_index levels, const tsi_index *level,
                          tsi_index *first, tsi_index *row) {
  for (tsi_index l = 0; l <= levels; l++) first[l] = 0;
  for (tsi_index i = 0; i < n; i++) first[level[i] + 1]++;
  for (tsi_index l = 0; l < levels; l++) first[l + 1] += first[l];
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index i = backward ? n - 1 - k : k;
    row[first[level[i]]++] = i;
  }
  for (tsi_index l = levels; l > 0; l--) first[l] = first[l - 1];
  first[0] = 0;
}

static tristar_status cut_by_levels(tsi_env *env, const tsi_lines *lines, const tsi_row_options *options,
                                    const tsi_index *level, tsi_index levels, tsi_row_cut *cut) {
  TSI_OWNED tsi_index *own = NULL;
  const tsi_index n = lines->n;
  if (level == NULL) {
    TSI_TRY(TSI_ALLOC(env, own, n));
    if (options->across) {
      TSI_TRY(TSI_ALLOC_IN(cut, cut->entries, n));
      TSI_TRY(find_given_levels(env, lines, own, cut->entries, &levels));
    } else
      levels = tsi_row_levels(lines, own);
    level = own;
  }
  cut->levels = levels;
  if (is_narrow(options, n, levels)) return TRISTAR_OK;
  TSI_SCRATCH(env, tsi_index, first, (tsi_count)levels + 1);
  TSI_SCRATCH(env, tsi_index, row, n);
  sort_by_level(n, lines->columns != options->across, levels, level, first, row);
  TSI_FREE(env, own);
  return tsi_supersteps_cut(env, lines, options, &(tsi_level_sets){levels, first, row, cut->entries}, cut);
}

/* Columns of F are the rows of the backward sweep: the forward order is the reverse of its order. */
static void reverse(tsi_row_cut *cut) {
  for (tsi_index a = 0, b = cut->n - 1; a < b; a++, b--) {
    const tsi_index row = cut->order[a];
    cut->order[a] = cut->order[b];
    cut->order[b] = row;
  }
  for (tsi_index a = 0, b = cut->count - 1; a < b; a++, b--) {
    const tsi_index lane = cut->lane[a];
    cut->lane[a] = cut->lane[b];
    cut->lane[b] = lane;
  }
  for (tsi_index a = 0, b = cut->count; a <= b; a++, b--) {
    const tsi_index start = cut->start[a];
    cut->start[a] = cut->n - cut->start[b];
    if (a < b) cut->start[b] = cut->n - start;
  }
}

static void cut_blocks(tsi_row_cut *cut, tsi_index blocks) {
  cut->count = tsi_index_min(blocks, cut->n);
  for (tsi_index i = 0; i < cut->n; i++) cut->order[i] = i;
  for (tsi_index c = 0; c < cut->count; c++) {
    cut->start[c + 1] = (tsi_index)((tsi_count)cut->n * (c + 1) / cut->count);
    cut->lane[c] = c % cut->lanes;
  }
}

static void cut_whole(tsi_row_cut *cut) {
  cut->way = TSI_ROWS_WHOLE;
  cut->levels = 0;
  for (tsi_index i = 0; i < cut->n; i++) cut->order[i] = i;
  cut->count = cut->n > 0;
  cut->start[cut->count] = cut->n;
  if (cut->n > 0) cut->lane[0] = 0;
}

/* Orders rows by level sets of F, or of windows; keeps the given order if sets are too narrow. */
static tristar_status cut_sets(tsi_env *env, const tsi_lines *lines, const tsi_row_options *options,
                               const tsi_index *level, tsi_index levels, tsi_row_cut *cut) {
  if (options->lanes == 1 && options->way == TSI_ROWS_SUPERSTEPS)
    TSI_TRY(tsi_windows_cut(env, lines, options, cut));
  else
    TSI_TRY(cut_by_levels(env, lines, options, level, levels, cut));
  if (is_narrow(options, cut->n, cut->levels))
    cut_whole(cut);
  else if (lines->columns != options->across)
    reverse(cut);
  return TRISTAR_OK;
}

tristar_status tsi_row_cut_create(tsi_env *env, const tsi_lines *lines, const tsi_row_options *options,
                                  const tsi_index *level, tsi_index levels, tsi_row_cut **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_row_cut, cut, 1);
  cut->way = options->way;
  cut->lanes = options->lanes;
  cut->lower = lines->columns == options->across;
  cut->n = lines->n;
  TSI_TRY(TSI_ALLOC_IN(cut, cut->order, lines->n));
  TSI_TRY(TSI_ALLOC_IN(cut, cut->start, (tsi_count)lines->n + 1));
  TSI_TRY(TSI_ALLOC_IN(cut, cut->lane, lines->n));
  cut->start[0] = 0;
  if (options->way >= TSI_ROWS_COLUMN_BLOCKS)
    cut_blocks(cut, options->blocks);
  else if (options->way == TSI_ROWS_WHOLE)
    cut_whole(cut);
  else
    TSI_TRY(cut_sets(env, lines, options, level, levels, cut));
  if (env->check) TSI_TRY(tsi_row_cut_check(env, cut, lines));
  *out = tsi_take(&cut);
  return TRISTAR_OK;
}

static tristar_status check_waits(tsi_env *env, const tsi_lines *lines, const tsi_index *place) {
  for (tsi_index line = 0; line < lines->n; line++)
    for (tsi_count e = lines->ptr[line]; e < lines->ptr[line + 1]; e++) {
      const tsi_index other = lines->index[e];
      const tsi_index i = lines->columns ? other : line, j = lines->columns ? line : other;
      if (i != j && place[j] >= place[i])
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d comes before row %d, which it waits for", i, j);
    }
  return TRISTAR_OK;
}

tristar_status tsi_row_cut_check(tsi_env *env, const tsi_row_cut *cut, const tsi_lines *lines) {
  TSI_SCRATCH(env, tsi_index, place, cut->n);
  if (cut->n != lines->n || cut->start[0] != 0 || cut->start[cut->count] != cut->n)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%d chunks hold %d of %d rows", cut->count, cut->start[cut->count],
             cut->n);
  for (tsi_index c = 0; c < cut->count; c++) {
    if (cut->start[c] >= cut->start[c + 1]) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d is empty", c);
    if (cut->lane[c] < 0 || cut->lane[c] >= cut->lanes)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d is in lane %d of %d", c, cut->lane[c], cut->lanes);
  }
  for (tsi_index i = 0; i < cut->n; i++) place[i] = TSI_NONE;
  for (tsi_index k = 0; k < cut->n; k++) {
    const tsi_index i = cut->order[k];
    if (i < 0 || i >= cut->n || place[i] != TSI_NONE)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d comes twice", i);
    place[i] = k;
  }
  return check_waits(env, lines, place);
}

tristar_status tsi_row_symbolic_create(tsi_env *env, const tsi_row_cut *cut, tsi_count entries,
                                       tsi_symbolic **out) {
  TSI_SCRATCH_ZERO(env, tsi_symbolic, symbolic, 1);
  symbolic->n = cut->n;
  symbolic->leaf_parts = 1;
  symbolic->nnz_exact = symbolic->nnz_stored = entries;
  TSI_TRY(TSI_ALLOC_IN(symbolic, symbolic->perm, cut->n));
  TSI_TRY(TSI_ALLOC_IN(symbolic, symbolic->inverse, cut->n));
  TSI_TRY(TSI_ALLOC_ZERO_IN(symbolic, symbolic->start, 1));
  TSI_TRY(TSI_ALLOC_IN(symbolic, symbolic->parent, 0));
  TSI_TRY(TSI_ALLOC_ZERO_IN(symbolic, symbolic->row_ptr, 1));
  TSI_TRY(TSI_ALLOC_IN(symbolic, symbolic->rows, 0));
  for (tsi_index k = 0; k < cut->n; k++) {
    symbolic->perm[k] = cut->order[k];
    symbolic->inverse[cut->order[k]] = k;
  }
  *out = tsi_take(&symbolic);
  return TRISTAR_OK;
}

/* ---- Chunks -------------------------------------------------------------------------------------------- */

/* The target reads x of the source. */
typedef struct chunk_pair {
  tsi_index source, target;
} chunk_pair;

typedef struct pairs {
  tsi_count count, capacity;
  chunk_pair *pair;
} pairs;

static tristar_status add_pair(tsi_env *env, pairs *p, tsi_index source, tsi_index target) {
  TSI_TRY(tsi_reserve(env, (void **)&p->pair, sizeof *p->pair, p->count, &p->capacity));
  p->pair[p->count++] = (chunk_pair){source, target};
  return TRISTAR_OK;
}

/* Does chunk c have the given rows start[c] .. start[c + 1] - 1? */
static bool has_given_rows(const tsi_row_cut *cut) {
  return cut->way == TSI_ROWS_WHOLE || tsi_row_has_windows(cut);
}

/* Number of lines between checks whether a chunk has found all its pairs. */
#define LOOK 256

/* Finds pairs of lines line .. end - 1 of the chunk begin .. stop - 1. Lines ascend, so for most lines the
 * entry at one end shows that the whole line is inside the chunk. */
static void see_lines(const tsi_lines *lines, const tsi_index *owner, tsi_index begin, tsi_index stop,
                      tsi_index line, tsi_index end, bool *seen) {
  const tsi_count *ptr = lines->ptr;
  const tsi_index *index = lines->index;
  const bool columns = lines->columns;
  for (tsi_count first = ptr[line], last; line < end; line++, first = last) {
    last = ptr[line + 1];
    if (first == last || (columns ? index[last - 1] < stop : index[first] >= begin)) continue;
    for (tsi_count e = first; e < last; e++) seen[owner[index[e]]] = true;
  }
}

/* Finds pairs of chunks with the given rows. A chunk is complete when it has a pair with all chunks behind it
 * (lines are columns), or with all before it. */
static void see_given_pairs(const tsi_lines *lines, const tsi_row_cut *cut, const tsi_index *owner,
                            bool *seen) {
  for (tsi_index c = 0; c < cut->count; c++, seen += cut->count) {
    const tsi_index begin = cut->start[c], stop = cut->start[c + 1];
    const size_t possible = (size_t)(lines->columns ? cut->count - 1 - c : c);
    const bool *others = lines->columns ? seen + c + 1 : seen;
    for (tsi_index line = begin, end; line < stop && memchr(others, false, possible); line = end) {
      end = line + tsi_index_min(LOOK, stop - line);
      see_lines(lines, owner, begin, stop, line, end, seen);
    }
  }
}

/* Finds the pairs of all lines. */
static void see_pairs(const tsi_lines *lines, const tsi_index *owner, tsi_index count, bool *seen) {
  const tsi_count *ptr = lines->ptr; /* copies: for the compiler, writes to seen could change them */
  const tsi_index *index = lines->index, n = lines->n;
  for (tsi_index line = 0; line < n; line++) {
    bool *own = seen + (size_t)owner[line] * (size_t)count;
    const tsi_count end = ptr[line + 1];
    for (tsi_count e = ptr[line]; e < end; e++) own[owner[index[e]]] = true;
  }
}

/* For few chunks: visits lines in the order of memory. owner: chunk of each given row. seen: count * count,
 * zero. */
static tristar_status list_few_pairs(tsi_env *env, const tsi_lines *lines, const tsi_row_cut *cut,
                                     const tsi_index *owner, bool *seen, pairs *p) {
  const tsi_index count = cut->count;
  if (has_given_rows(cut))
    see_given_pairs(lines, cut, owner, seen);
  else
    see_pairs(lines, owner, count, seen);
  for (tsi_index c = 0; c < count; c++)
    for (tsi_index other = 0; other < count; other++)
      if (other != c && seen[(size_t)c * (size_t)count + (size_t)other])
        TSI_TRY(add_pair(env, p, lines->columns ? c : other, lines->columns ? other : c));
  return TRISTAR_OK;
}

/* seen: for each chunk the latest chunk that was found to have a pair with it. */
static tristar_status list_many_pairs(tsi_env *env, const tsi_lines *lines, const tsi_row_cut *cut,
                                      const tsi_index *owner, tsi_index *seen, pairs *p) {
  for (tsi_index c = 0; c < cut->count; c++) seen[c] = TSI_NONE;
  for (tsi_index c = 0; c < cut->count; c++)
    for (tsi_index k = cut->start[c]; k < cut->start[c + 1]; k++) {
      const tsi_index line = cut->order[k];
      tsi_lines_fetch(lines, cut->order, k, lines->n);
      for (tsi_count e = lines->ptr[line]; e < lines->ptr[line + 1]; e++) {
        const tsi_index other = owner[lines->index[e]];
        if (seen[other] == c || other == c) continue;
        seen[other] = c;
        TSI_TRY(add_pair(env, p, lines->columns ? c : other, lines->columns ? other : c));
      }
    }
  return TRISTAR_OK;
}

static tristar_status list_pairs(tsi_env *env, const tsi_lines *lines, const tsi_row_cut *cut, pairs *p) {
  TSI_OWNED tsi_index *seen = NULL;
  TSI_OWNED bool *seen_pair = NULL;
  TSI_SCRATCH(env, tsi_index, owner, lines->n);
  for (tsi_index c = 0; c < cut->count; c++)
    for (tsi_index k = cut->start[c]; k < cut->start[c + 1]; k++) owner[cut->order[k]] = c;
  if ((tsi_count)cut->count * cut->count <= cut->n) {
    TSI_TRY(TSI_ALLOC_ZERO(env, seen_pair, (tsi_count)cut->count * cut->count));
    TSI_TRY(list_few_pairs(env, lines, cut, owner, seen_pair, p));
  } else {
    TSI_TRY(TSI_ALLOC(env, seen, cut->count));
    TSI_TRY(list_many_pairs(env, lines, cut, owner, seen, p));
  }
  return TRISTAR_OK;
}

/* Sorts pairs by source and then target: first by target, then, stably, by source. */
static tristar_status fill_off_rows(tsi_env *env, const pairs *p, tsi_chunks *chunks) {
  const tsi_index count = chunks->count;
  TSI_SCRATCH(env, tsi_count, next, (tsi_count)count + 1);
  TSI_SCRATCH(env, chunk_pair, sorted, p->count);
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->off, p->count));
  memset(next, 0, ((size_t)count + 1) * sizeof *next);
  for (tsi_count q = 0; q < p->count; q++) {
    next[p->pair[q].target + 1]++;
    chunks->off_ptr[p->pair[q].source + 1]++;
  }
  for (tsi_index c = 0; c < count; c++) {
    next[c + 1] += next[c];
    chunks->off_ptr[c + 1] += chunks->off_ptr[c];
  }
  for (tsi_count q = 0; q < p->count; q++) sorted[next[p->pair[q].target]++] = p->pair[q];
  for (tsi_index c = 0; c < count; c++) next[c] = chunks->off_ptr[c];
  for (tsi_count q = 0; q < p->count; q++)
    chunks->off[next[sorted[q].source]++] = chunks->column[sorted[q].target];
  return TRISTAR_OK;
}

static tristar_status allocate(const tsi_row_cut *cut, tsi_chunks *chunks) {
  const tsi_count ends = (tsi_count)cut->count + 1;
  chunks->count = cut->count;
  TSI_TRY(TSI_ALLOC_ZERO_IN(chunks, chunks->panel, ends));
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->column, ends));
  TSI_TRY(TSI_ALLOC_ZERO_IN(chunks, chunks->off_ptr, ends));
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->first_off, cut->count));
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->entries, cut->count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(chunks, chunks->slice_ptr, ends));
  memcpy(chunks->column, cut->start, (size_t)ends * sizeof *cut->start);
  for (tsi_index c = 0; c < cut->count; c++) chunks->first_off[c] = tsi_chunk_columns(chunks, c);
  return TRISTAR_OK;
}

/* Whether lines are rows or columns, a chunk has about as many entries as the lines of its rows. */
static void count_chunk_entries(const tsi_lines *lines, const tsi_row_cut *cut, tsi_chunks *chunks) {
  for (tsi_index c = 0; c < cut->count; c++) {
    chunks->entries[c] = 0;
    if (has_given_rows(cut)) {
      chunks->entries[c] = lines->ptr[cut->start[c + 1]] - lines->ptr[cut->start[c]];
      continue;
    }
    for (tsi_index k = cut->start[c]; k < cut->start[c + 1]; k++)
      chunks->entries[c] += lines->ptr[cut->order[k] + 1] - lines->ptr[cut->order[k]];
  }
}

tristar_status tsi_row_chunks_create(tsi_env *env, const tsi_lines *lines, const tsi_row_cut *cut,
                                     tsi_chunks **out) {
  tristar_status status = TRISTAR_OK;
  tsi_chunks *chunks = NULL;
  pairs found = {0, 0, NULL};
  *out = NULL;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, chunks, 1));
  TSI_TRY_OUT(allocate(cut, chunks));
  count_chunk_entries(lines, cut, chunks);
  if (cut->count > 1) TSI_TRY_OUT(list_pairs(env, lines, cut, &found));
  TSI_TRY_OUT(fill_off_rows(env, &found, chunks));
out:
  TSI_FREE(env, found.pair);
  if (status != TRISTAR_OK) TSI_FREE(env, chunks);
  *out = chunks;
  return status;
}
