/* Features of the parts of a block cut; orders by level sets within blocks: see block_features.h. */
#include "partition/cut/block_features.h"

/* ---- Features ------------------------------------------------------------------------------------------ */

/* seen detects the first entry of a row in a part. The parts of a row are consecutive in the order of the
 * columns. Lines are columns: seen[i] is the last part with row i (n entries). Lines are rows: seen[p] is the
 * last row in part p (count entries). */
static void count_entries(const tsi_block_cut *cut, const tsi_lines *lines, const tsi_index *block,
                          tsi_index *seen, tsi_block_features *features) {
  TSI_FOR_EACH_BELOW(lines, i, j, {
    const tsi_index p = tsi_block_part_of(cut, block[i], block[j]);
    tsi_index *last = &seen[lines->columns ? i : p];
    const tsi_index now = lines->columns ? p : i;
    features[p].entries++;
    if (*last != now) features[p].filled++;
    *last = now;
  });
}

void tsi_block_levels(const tsi_lines *lines, const tsi_index *block, tsi_index *level) {
  for (tsi_index i = 0; i < lines->n; i++) level[i] = 0;
  TSI_FOR_EACH_BELOW(lines, i, j, {
    if (block[i] == block[j] && level[j] >= level[i]) level[i] = level[j] + 1;
  });
}

tristar_status tsi_block_features_find(tsi_env *env, const tsi_block_cut *cut, const tsi_lines *lines,
                                       tsi_block_features *features) {
  const tsi_index most = tsi_index_max(cut->n, cut->count);
  TSI_SCRATCH(env, tsi_index, block, cut->n);
  TSI_SCRATCH(env, tsi_index, seen, most);
  TSI_SCRATCH(env, tsi_index, level, cut->n);
  tsi_block_owners(cut, block);
  for (tsi_index k = 0; k < most; k++) seen[k] = TSI_NONE;
  for (tsi_index p = 0; p < cut->count; p++) features[p] = (tsi_block_features){0, 0, 0};
  count_entries(cut, lines, block, seen, features);
  tsi_block_levels(lines, block, level);
  for (tsi_index i = 0; i < cut->n; i++) {
    tsi_block_features *triangle = &features[2 * block[i]];
    triangle->levels = tsi_index_max(triangle->levels, level[i] + 1);
  }
  return TRISTAR_OK;
}

/* ---- Orders -------------------------------------------------------------------------------------------- */

/* The state of an order that is refined pass by pass; each pass sorts within finer ranges of rows. */
typedef struct sorting {
  const tsi_lines *lines;
  tsi_index *order, *from;  /* n: the present order, and the order before the pass */
  tsi_index *level, *range; /* n: level and range of each given row, in the pass */
  tsi_index *first;         /* n + 1: first position of each level in a range */
  tsi_index *mark;          /* ranges + 1, in blocks */
} sorting;

/* Rows are visited in the present order: when a row is visited, its level is final, as all rows that it waits
 * for have been visited. */
static void find_levels(const sorting *s) {
  const tsi_lines *lines = s->lines;
  for (tsi_index k = 0; k < lines->n; k++) s->level[k] = 0;
  for (tsi_index k = 0; k < lines->n; k++) {
    const tsi_index line = s->order[k];
    for (tsi_count e = lines->ptr[line]; e < lines->ptr[line + 1]; e++) {
      const tsi_index other = lines->index[e], i = lines->columns ? other : line,
                      j = lines->columns ? line : other;
      if (i != j && s->range[i] == s->range[j] && s->level[j] >= s->level[i]) s->level[i] = s->level[j] + 1;
    }
  }
}

/* Sorts positions begin .. end - 1 by level; rows of a level keep their order. */
static void sort_range(const sorting *s, tsi_index begin, tsi_index end) {
  tsi_index levels = 0;
  for (tsi_index k = begin; k < end; k++) levels = tsi_index_max(levels, s->level[s->order[k]] + 1);
  for (tsi_index l = 0; l <= levels; l++) s->first[l] = 0;
  for (tsi_index k = begin; k < end; k++) s->first[s->level[s->order[k]] + 1]++;
  s->first[0] = begin;
  for (tsi_index l = 0; l < levels; l++) s->first[l + 1] += s->first[l];
  for (tsi_index k = begin; k < end; k++) s->from[k] = s->order[k];
  for (tsi_index k = begin; k < end; k++) s->order[s->first[s->level[s->from[k]]]++] = s->from[k];
}

static void sort_ranges(const sorting *s, const tsi_block_cut *cut, tsi_index ranges) {
  const tsi_index *start = cut->start;
  for (tsi_index r = 0; r < ranges; r++)
    for (tsi_index k = start[s->mark[r]]; k < start[s->mark[r + 1]]; k++) s->range[s->order[k]] = r;
  find_levels(s);
  for (tsi_index r = 0; r < ranges; r++) sort_range(s, start[s->mark[r]], start[s->mark[r + 1]]);
}

/* Halves each range of more than one block, as the recursive scheme does. Returns the new number of ranges.
 * Runs from the last range to the first, so no range is overwritten before it is read. */
static tsi_index halve_ranges(tsi_index *mark, tsi_index ranges) {
  tsi_index more = ranges;
  for (tsi_index r = 0; r < ranges; r++) more += mark[r + 1] - mark[r] > 1;
  tsi_index to = more;
  for (tsi_index r = ranges; r-- > 0;) {
    const tsi_index first = mark[r], end = mark[r + 1];
    mark[to--] = end;
    if (end - first > 1) mark[to--] = first + (end - first) / 2;
  }
  return more;
}

static void sort_all(const sorting *s, const tsi_block_cut *cut, bool whole) {
  tsi_index ranges = 1;
  s->mark[0] = 0;
  s->mark[1] = cut->blocks;
  while (whole && ranges < cut->blocks) {
    sort_ranges(s, cut, ranges);
    if (cut->scheme != TSI_BLOCKS_RECURSIVE) break;
    ranges = halve_ranges(s->mark, ranges);
  }
  for (tsi_index k = 0; k <= cut->blocks; k++) s->mark[k] = k;
  sort_ranges(s, cut, cut->blocks);
}

tristar_status tsi_block_order(tsi_env *env, const tsi_block_cut *cut, const tsi_lines *lines, bool whole,
                               tsi_index *order) {
  TSI_SCRATCH(env, sorting, s, 1);
  *s = (sorting){.lines = lines, .order = order};
  TSI_TRY(TSI_ALLOC_IN(s, s->from, cut->n));
  TSI_TRY(TSI_ALLOC_IN(s, s->level, cut->n));
  TSI_TRY(TSI_ALLOC_IN(s, s->range, cut->n));
  TSI_TRY(TSI_ALLOC_IN(s, s->first, (tsi_count)cut->n + 1));
  TSI_TRY(TSI_ALLOC_IN(s, s->mark, (tsi_count)cut->blocks + 2));
  for (tsi_index k = 0; k < cut->n; k++) order[k] = k;
  sort_all(s, cut, whole);
  return TRISTAR_OK;
}
