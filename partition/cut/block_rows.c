/* Rows of the parts of a block cut, in chunks for lanes: see block_rows.h. */
#include "partition/cut/block_rows.h"

#include "partition/cut/block_features.h"

/* ---- Patterns in another order ------------------------------------------------------------------------- */

/* Transposes lines, without the diagonal. Lines are visited in the order of the rows, so the lines of the
 * result ascend. from: the source of each entry; NULL: its own position. order, place: the order of the rows
 * and its inverse; NULL: the given order. */
static void transpose(const tsi_lines *lines, const tsi_count *from, const tsi_index *order,
                      const tsi_index *place, tsi_block_pattern *to) {
  const tsi_index n = lines->n;
  tsi_count *ptr = to->ptr;
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count e = lines->ptr[j]; e < lines->ptr[j + 1]; e++)
      if (lines->index[e] != j) ptr[(place ? place[lines->index[e]] : lines->index[e]) + 1]++;
  for (tsi_index k = 0; k < n; k++) ptr[k + 1] += ptr[k];
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index j = order ? order[k] : k;
    for (tsi_count e = lines->ptr[j]; e < lines->ptr[j + 1]; e++) {
      if (lines->index[e] == j) continue;
      const tsi_count at = ptr[place ? place[lines->index[e]] : lines->index[e]]++;
      to->index[at] = k;
      to->source[at] = from ? from[e] : e;
    }
  }
  for (tsi_index k = n; k > 0; k--) ptr[k] = ptr[k - 1];
  if (n > 0) ptr[0] = 0;
}

static tristar_status allocate_pattern(tsi_env *env, const tsi_lines *lines, tsi_block_pattern **out) {
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  TSI_TRY(TSI_ALLOC_ZERO_IN(*out, (*out)->ptr, (tsi_count)lines->n + 1));
  TSI_TRY(TSI_ALLOC_IN(*out, (*out)->index, lines->ptr[lines->n]));
  TSI_TRY(TSI_ALLOC_IN(*out, (*out)->source, lines->ptr[lines->n]));
  (*out)->lines = (tsi_lines){lines->n, (*out)->ptr, (*out)->index, !lines->columns};
  return TRISTAR_OK;
}

tristar_status tsi_block_pattern_create(tsi_env *env, const tsi_lines *lines, const tsi_index *order,
                                        tsi_block_pattern **out) {
  TSI_OWNED tsi_block_pattern *pattern = NULL, *columns = NULL;
  *out = NULL;
  TSI_SCRATCH(env, tsi_index, place, lines->n);
  for (tsi_index k = 0; k < lines->n; k++) place[order ? order[k] : k] = k;
  if (!lines->columns) {
    TSI_TRY(allocate_pattern(env, lines, &columns));
    transpose(lines, NULL, NULL, NULL, columns);
  }
  const tsi_lines *from = columns ? &columns->lines : lines;
  TSI_TRY(allocate_pattern(env, from, &pattern));
  transpose(from, columns ? columns->source : NULL, order, place, pattern);
  *out = tsi_take(&pattern);
  return TRISTAR_OK;
}

tristar_status tsi_block_reorder(tsi_env *env, const tsi_block_cut *cut, const tsi_lines *lines, bool whole,
                                 tsi_index *order) {
  TSI_OWNED tsi_block_pattern *pattern = NULL;
  TSI_SCRATCH(env, tsi_index, next, lines->n);
  TSI_TRY(tsi_block_pattern_create(env, lines, order, &pattern));
  TSI_TRY(tsi_block_order(env, cut, &pattern->lines, whole, next));
  for (tsi_index k = 0; k < lines->n; k++) next[k] = order[next[k]];
  memcpy(order, next, (size_t)lines->n * sizeof *order);
  return TRISTAR_OK;
}

/* ---- Rows of parts ------------------------------------------------------------------------------------- */

/* State of the listing. */
typedef struct listing {
  const tsi_block_cut *cut;
  const tsi_lines *lines;
  tsi_index *block, *level; /* n */
  tsi_count *first;         /* parts + 1: position of the first row of each part in the list of all rows */
  tsi_count *next;          /* parts: position of the next row of a rectangle */
  tsi_count *place;         /* n: position of each row of a triangle */
} listing;

/* Sorts the rows of each triangle by level; rows of a level ascend. count: scratch, n + 1. */
static void place_rows(const listing *l, tsi_count *count) {
  for (tsi_index k = 0; k < l->cut->blocks; k++) {
    const tsi_index begin = l->cut->start[k], end = l->cut->start[k + 1];
    for (tsi_index q = 0; q <= end - begin; q++) count[q] = 0;
    for (tsi_index i = begin; i < end; i++) count[l->level[i] + 1]++;
    for (tsi_index q = 0; q < end - begin; q++) count[q + 1] += count[q];
    for (tsi_index i = begin; i < end; i++) l->place[i] = l->first[2 * k] + count[l->level[i]]++;
  }
}

/* Runs the code with the listed row `at` and the entry e of row i, for each entry. A row of a rectangle gets
 * its position at its first entry. The parts of a row are visited one after the other, as its entries
 * ascend. */
#define FOR_EACH_LISTED(l, i, e, at, ...)                                                                    \
  for (tsi_index p_ = 0; p_ < (l)->cut->count; p_++) (l)->next[p_] = (l)->first[p_];                         \
  for (tsi_index i = 0; i < (l)->lines->n; i++) {                                                            \
    tsi_index last_ = TSI_NONE;                                                                              \
    tsi_count at = 0;                                                                                        \
    for (tsi_count e = (l)->lines->ptr[i]; e < (l)->lines->ptr[i + 1]; e++) {                                \
      const tsi_index part_ = tsi_block_part_of((l)->cut, (l)->block[i], (l)->block[(l)->lines->index[e]]);  \
      if (part_ != last_) at = part_ % 2 ? (l)->next[part_]++ : (l)->place[i];                               \
      last_ = part_;                                                                                         \
      __VA_ARGS__;                                                                                           \
    }                                                                                                        \
  }

static void list_entries(const listing *l, tsi_block_rows *rows) {
  const tsi_count listed = l->first[l->cut->count];
  for (tsi_index i = 0; i < l->lines->n; i++) rows->row[l->place[i]] = i;
  FOR_EACH_LISTED(l, i, e, at, {
    rows->row[at] = i;
    rows->ptr[at + 1]++;
  });
  for (tsi_count k = 0; k < listed; k++) rows->ptr[k + 1] += rows->ptr[k];
  FOR_EACH_LISTED(l, i, e, at, {
    rows->column[rows->ptr[at]] = l->lines->index[e];
    rows->entry[rows->ptr[at]++] = e;
  });
  for (tsi_count k = listed; k > 0; k--) rows->ptr[k] = rows->ptr[k - 1];
  if (listed > 0) rows->ptr[0] = 0;
}

static tristar_status list_parts(tsi_env *env, listing *l, tsi_block_rows *rows) {
  const tsi_block_cut *cut = l->cut;
  TSI_SCRATCH(env, tsi_block_features, features, cut->count);
  TSI_SCRATCH(env, tsi_count, count, (tsi_count)cut->n + 1);
  TSI_TRY(tsi_block_features_find(env, cut, l->lines, features));
  for (tsi_index p = 0; p < cut->count; p++) {
    const tsi_block_part *part = &cut->part[p];
    l->first[p + 1] = l->first[p] + (part->kind == TSI_BLOCK_TRIANGLE ? part->end_row - part->first_row
                                                                      : features[p].filled);
  }
  place_rows(l, count);
  TSI_TRY(TSI_ALLOC_IN(rows, rows->row, l->first[cut->count]));
  TSI_TRY(TSI_ALLOC_ZERO_IN(rows, rows->ptr, l->first[cut->count] + 1));
  TSI_TRY(TSI_ALLOC_IN(rows, rows->column, l->lines->ptr[cut->n]));
  TSI_TRY(TSI_ALLOC_IN(rows, rows->entry, l->lines->ptr[cut->n]));
  list_entries(l, rows);
  return TRISTAR_OK;
}

/* ---- Chunks -------------------------------------------------------------------------------------------- */

/* Chunks under construction; start NULL: they are only counted. */
typedef struct making {
  const tsi_block_rows *rows;
  tsi_count least, count;
  tsi_index *part, *lane;
  tsi_count *start;
} making;

static void put_chunk(making *m, tsi_index part, int lane, tsi_count begin) {
  if (m->start) {
    m->part[m->count] = part;
    m->lane[m->count] = lane;
    m->start[m->count] = begin;
  }
  m->count++;
}

static tsi_count weight(const tsi_block_rows *rows, tsi_count begin, tsi_count end) {
  return end - begin + rows->ptr[end] - rows->ptr[begin];
}

/* Shares listed rows begin .. end - 1, which do not wait for each other, among the lanes, with about equal
 * weights. */
static void share(making *m, tsi_index part, tsi_count begin, tsi_count end) {
  const tsi_count all = weight(m->rows, begin, end);
  const tsi_count pieces = tsi_count_max(1, tsi_count_min(all / m->least, m->rows->lanes));
  int piece = 0;
  if (begin == end) return;
  put_chunk(m, part, 0, begin);
  for (tsi_count k = begin + 1; k < end; k++)
    if (piece + 1 < pieces && weight(m->rows, begin, k) >= all * (piece + 1) / pieces)
      put_chunk(m, part, ++piece, k);
}

/* Shares the level sets of a triangle. Sets that are too narrow for two lanes are joined. */
static void share_levels(making *m, const listing *l, tsi_index part) {
  const tsi_count end = l->first[part + 1];
  bool open = false; /* The latest chunk may grow by more narrow sets. */
  for (tsi_count k = l->first[part], next; k < end; k = next) {
    const tsi_index level = l->level[m->rows->row[k]];
    for (next = k + 1; next < end && l->level[m->rows->row[next]] == level;) next++;
    if (m->rows->lanes > 1 && weight(m->rows, k, next) >= 2 * m->least) {
      share(m, part, k, next);
      open = false;
    } else if (!open) {
      put_chunk(m, part, 0, k);
      open = true;
    }
  }
}

static void make_chunks(making *m, const listing *l) {
  m->count = 0;
  for (tsi_index p = 0; p < l->cut->count; p++)
    if (l->cut->part[p].kind == TSI_BLOCK_TRIANGLE)
      share_levels(m, l, p);
    else
      share(m, p, l->first[p], l->first[p + 1]);
}

static tristar_status cut_chunks(tsi_env *env, const listing *l, tsi_count least, tsi_block_rows *rows) {
  making m = {.rows = rows, .least = least};
  make_chunks(&m, l);
  if (!tsi_to_index(m.count, &rows->count))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld chunks are too many", (long long)m.count);
  TSI_TRY(TSI_ALLOC_IN(rows, rows->part, rows->count));
  TSI_TRY(TSI_ALLOC_IN(rows, rows->lane, rows->count));
  TSI_TRY(TSI_ALLOC_IN(rows, rows->start, (tsi_count)rows->count + 1));
  m.part = rows->part;
  m.lane = rows->lane;
  m.start = rows->start;
  make_chunks(&m, l);
  rows->start[rows->count] = l->first[l->cut->count];
  return TRISTAR_OK;
}

/* ---- Waits --------------------------------------------------------------------------------------------- */

/* Notes that chunk c waits for `other`, unless `other` is c, TSI_NONE or already noted. */
static void note_wait(tsi_index c, tsi_index other, tsi_index *seen, tsi_count *count, tsi_index *wait) {
  if (other == TSI_NONE || other == c || seen[other] == c) return;
  seen[other] = c;
  if (wait) wait[*count] = other;
  ++*count;
}

/* wait NULL: only counts, into wait_ptr. writer: n; seen: chunks. */
static void find_waits(tsi_block_rows *rows, tsi_index *writer, tsi_index *seen, tsi_index *wait) {
  tsi_count count = 0;
  for (tsi_index i = 0; i < rows->n; i++) writer[i] = TSI_NONE;
  for (tsi_index c = 0; c < rows->count; c++) seen[c] = TSI_NONE;
  for (tsi_index c = 0; c < rows->count; c++) {
    rows->wait_ptr[c] = count;
    for (tsi_count k = rows->start[c]; k < rows->start[c + 1]; k++) {
      note_wait(c, writer[rows->row[k]], seen, &count, wait);
      for (tsi_count e = rows->ptr[k]; e < rows->ptr[k + 1]; e++)
        note_wait(c, writer[rows->column[e]], seen, &count, wait);
      writer[rows->row[k]] = c;
    }
  }
  rows->wait_ptr[rows->count] = count;
}

static tristar_status make_waits(tsi_env *env, tsi_block_rows *rows) {
  TSI_SCRATCH(env, tsi_index, writer, rows->n);
  TSI_SCRATCH(env, tsi_index, seen, rows->count);
  TSI_TRY(TSI_ALLOC_IN(rows, rows->wait_ptr, (tsi_count)rows->count + 1));
  find_waits(rows, writer, seen, NULL);
  TSI_TRY(TSI_ALLOC_IN(rows, rows->wait, rows->wait_ptr[rows->count]));
  find_waits(rows, writer, seen, rows->wait);
  return TRISTAR_OK;
}

/* ---- All ----------------------------------------------------------------------------------------------- */

tristar_status tsi_block_rows_create(tsi_env *env, const tsi_block_cut *cut, const tsi_block_pattern *pattern,
                                     int lanes, tsi_count least, tsi_block_rows **out) {
  *out = NULL;
  TSI_SCRATCH(env, listing, l, 1);
  *l = (listing){.cut = cut, .lines = &pattern->lines};
  TSI_SCRATCH_ZERO(env, tsi_block_rows, rows, 1);
  rows->n = cut->n;
  rows->lanes = lanes;
  TSI_TRY(TSI_ALLOC_IN(l, l->block, cut->n));
  TSI_TRY(TSI_ALLOC_IN(l, l->level, cut->n));
  TSI_TRY(TSI_ALLOC_ZERO_IN(l, l->first, (tsi_count)cut->count + 1));
  TSI_TRY(TSI_ALLOC_IN(l, l->next, cut->count));
  TSI_TRY(TSI_ALLOC_IN(l, l->place, cut->n));
  tsi_block_owners(cut, l->block);
  tsi_block_levels(l->lines, l->block, l->level);
  TSI_TRY(list_parts(env, l, rows));
  TSI_TRY(cut_chunks(env, l, tsi_count_max(1, least), rows));
  TSI_TRY(make_waits(env, rows));
  if (env->check) TSI_TRY(tsi_block_rows_check(env, rows, cut, pattern));
  *out = tsi_take(&rows);
  return TRISTAR_OK;
}
