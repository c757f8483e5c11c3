/* Supersteps: see row_chunks.h. For each superstep
 *
 *   - the sets that it takes are found, and in the same pass each row's phase and lane
 *   - rows are sorted by phase and lane, which are its chunks; inside a chunk by set and number of entries */
#include "partition/supersteps.h"

#define CROSSING 0.25 /* of a set's rows: if more wait for two lanes, it begins a new superstep */
#define WIDE_SET 16   /* rows of a set inside a chunk that are sorted by their number of entries */
#define LENGTHS 32    /* entries that are told apart there */

typedef struct state {
  const tsi_lines *lines;
  const tsi_row_options *options;
  const tsi_level_sets *sets;
  tsi_row_cut *cut;
  tsi_index *place; /* n: base + phase * lanes + lane of a row of the superstep at work; less: of an older
                       one, or none yet */
  tsi_index base;
  tsi_index *entries; /* n: of each row */
  tsi_index *count;   /* where each phase and lane begins */
  tsi_index *other;   /* n: room to sort */
  tsi_index placed;   /* rows in the cut's order */
  tsi_index most;     /* phases that a superstep may have */
  tsi_index room;     /* places that a superstep may have, and one more phase */
  double last;        /* bytes of the latest chunk */
  bool alone;         /* the latest superstep has one chunk */
} state;

static double row_bytes(const state *s, tsi_index row) {
  return s->options->row_bytes + s->options->entry_bytes * s->entries[row];
}

/* Of so many rows. */
static double rows_bytes(const state *s, const tsi_index *row, tsi_index rows) {
  tsi_count entries = 0;
  for (tsi_index k = 0; k < rows; k++) entries += s->entries[row[k]];
  return s->options->row_bytes * rows + s->options->entry_bytes * (double)entries;
}

static double set_bytes(const state *s, tsi_index level) {
  const tsi_index first = s->sets->first[level];
  return rows_bytes(s, s->sets->row + first, s->sets->first[level + 1] - first);
}

/* The first set of a superstep: equal bytes for each lane, in the order of the rows. Too few rows for that:
 * the lane of the chunk before. */
static void share_first(const state *s, tsi_index level, double all) {
  const int lanes = s->options->lanes;
  const tsi_index begin = s->sets->first[level], end = s->sets->first[level + 1];
  const bool few = end - begin < 2 * lanes;
  const tsi_index before = s->cut->count > 0 ? s->cut->lane[s->cut->count - 1] : 0;
  tsi_index lane = few ? before : 0;
  double sum = 0;
  for (tsi_index k = begin; k < end; k++) {
    const tsi_index row = s->sets->row[k];
    const double own = row_bytes(s, row);
    while (!few && lane + 1 < lanes && (sum + own / 2) * lanes >= all * (lane + 1)) lane++;
    s->place[row] = s->base + lane;
    sum += own;
  }
}

/* Where a row of a later set goes, by what it waits for inside the superstep. crosses: it waits for rows of
 * two lanes in the latest phase, and comes after it. */
static tsi_index place_row(const state *s, tsi_index row, bool *crosses) {
  const tsi_lines *lines = s->lines;
  const int lanes = s->options->lanes;
  const tsi_count end = lines->ptr[row + 1];
  tsi_index last = TSI_NONE, phase = TSI_NONE; /* phase: the first place of the one that `last` is in */
  *crosses = false;
  for (tsi_count e = lines->ptr[row]; e < end; e++) {
    const tsi_index place = s->place[lines->index[e]] - s->base;
    if (place < 0 || place == last || place < phase) continue;
    *crosses = phase >= 0 && place < phase + lanes;
    last = place;
    if (!*crosses) phase = place - place % lanes;
  }
  return *crosses ? last + lanes : last;
}

/* Places the rows of the set `next` behind those of the superstep. false: it is to begin a new one. */
static bool place_set(state *s, tsi_index next, tsi_index *phases) {
  const tsi_index begin = s->sets->first[next], end = s->sets->first[next + 1];
  const tsi_index most = (tsi_index)(CROSSING * (double)(end - begin)) + 1;
  tsi_index crossing = 0;
  for (tsi_index k = begin; k < end; k++) {
    bool crosses;
    tsi_lines_fetch(s->lines, s->sets->row, k, s->lines->n);
    const tsi_index row = s->sets->row[k], place = place_row(s, row, &crosses);
    crossing += crosses;
    if (crossing > most || place / s->options->lanes >= s->most) return false;
    s->place[row] = s->base + place;
    *phases = tsi_index_max(*phases, place / s->options->lanes + 1);
  }
  return true;
}

/* ---- What comes out ------------------------------------------------------------------------------------ */

static tsi_index length_of(const tsi_index *entries, tsi_index row) {
  return tsi_index_min(entries[row], LENGTHS - 1);
}

void tsi_sort_set(const tsi_index *entries, tsi_index *other, tsi_index *row, tsi_index count) {
  tsi_index first[LENGTHS + 1] = {0};
  if (count < WIDE_SET) return;
  for (tsi_index k = 0; k < count; k++) first[length_of(entries, row[k]) + 1]++;
  for (int l = 0; l < LENGTHS; l++)
    if (first[l + 1] == count) return;
  for (int l = 0; l < LENGTHS; l++) first[l + 1] += first[l];
  for (tsi_index k = 0; k < count; k++) other[first[length_of(entries, row[k])]++] = row[k];
  memcpy(row, other, (size_t)count * sizeof *row);
}

/* level: by row, the set that it is in. */
static void sort_sets(const state *s, const tsi_index *level, tsi_index *row, tsi_index count) {
  for (tsi_index k = 0, end; k < count; k = end) {
    for (end = k + 1; end < count && level[row[end]] == level[row[k]]; end++) {
    }
    tsi_sort_set(s->entries, s->other, row + k, end - k);
  }
}

/* A chunk of the next rows, which are in the cut's order already. joins: it may join the one before, if that
 * is of the same lane. */
static void add_chunk(state *s, tsi_index lane, tsi_index rows, bool joins) {
  tsi_row_cut *cut = s->cut;
  double bytes;
  sort_sets(s, s->sets->level, cut->order + s->placed, rows);
  bytes = rows_bytes(s, cut->order + s->placed, rows);
  if (joins && cut->lane[cut->count - 1] == lane && s->last + bytes <= s->options->step_bytes)
    s->last += bytes;
  else {
    cut->lane[cut->count++] = lane;
    s->last = bytes;
  }
  s->placed += rows;
  cut->start[cut->count] = s->placed;
}

/* All rows that have one of the places from the base on are of older supersteps from now on. */
static void next_base(state *s, tsi_index places) {
  s->base += places;
  if (s->base <= TSI_INDEX_MAX - s->room) return;
  for (tsi_index i = 0; i < s->lines->n; i++) s->place[i] = TSI_NONE;
  s->base = 0;
}

/* The rows of sets level .. end - 1, by phase and lane. */
static void add_superstep(state *s, tsi_index level, tsi_index end, tsi_index phases) {
  const tsi_index begin = s->sets->first[level], stop = s->sets->first[end];
  const tsi_index places = phases * s->options->lanes;
  memset(s->count, 0, ((size_t)places + 1) * sizeof *s->count);
  for (tsi_index k = begin; k < stop; k++) s->count[s->place[s->sets->row[k]] - s->base + 1]++;
  for (tsi_index p = 0; p < places; p++) s->count[p + 1] += s->count[p];
  for (tsi_index k = begin; k < stop; k++) {
    const tsi_index row = s->sets->row[k];
    s->cut->order[s->placed + s->count[s->place[row] - s->base]++] = row;
  }
  /* Chunks of supersteps that other lanes have a part in stay apart: a joined one would wait for what any of
   * its rows waits for. */
  tsi_index chunks = 0;
  for (tsi_index p = 0, from = 0; p < places; from = s->count[p++]) chunks += s->count[p] > from;
  for (tsi_index p = 0, from = 0; p < places; p++) {
    const tsi_index rows = s->count[p] - from;
    from = s->count[p];
    if (rows > 0) add_chunk(s, p % s->options->lanes, rows, s->alone && chunks == 1);
  }
  s->alone = chunks == 1;
}

static tristar_status allocate(tsi_env *env, state *s) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = s->lines->n;
  TSI_TRY(TSI_ALLOC(env, s->entries, n));
  TSI_TRY(TSI_ALLOC(env, s->other, n));
  for (tsi_index i = 0; i < n; i++) s->entries[i] = (tsi_index)(s->lines->ptr[i + 1] - s->lines->ptr[i]);
  TSI_TRY(TSI_ALLOC(env, s->place, n));
  TSI_TRY(TSI_ALLOC(env, s->count, (tsi_count)s->room + 1));
  for (tsi_index i = 0; i < n; i++) s->place[i] = TSI_NONE;
out:
  return status;
}

static void release(tsi_env *env, state *s) {
  TSI_FREE(env, s->place);
  TSI_FREE(env, s->entries);
  TSI_FREE(env, s->count);
  TSI_FREE(env, s->other);
}

tristar_status tsi_supersteps_cut(tsi_env *env, const tsi_lines *lines, const tsi_row_options *options,
                                  const tsi_level_sets *sets, tsi_row_cut *cut) {
  tristar_status status = TRISTAR_OK;
  state s = {.lines = lines, .options = options, .sets = sets, .cut = cut, .most = 64};
  const double most = options->step_bytes * options->lanes;
  s.room = (s.most + 1) * options->lanes;
  TSI_TRY(allocate(env, &s));
  for (tsi_index level = 0, end; level < sets->levels; level = end) {
    tsi_index phases = 1;
    double bytes = set_bytes(&s, level);
    share_first(&s, level, bytes);
    for (end = level + 1; end < sets->levels && options->way == TSI_ROWS_SUPERSTEPS; end++) {
      tsi_index with = phases;
      bytes += set_bytes(&s, end);
      if (bytes > most || !place_set(&s, end, &with)) break;
      phases = with;
    }
    add_superstep(&s, level, end, phases);
    next_base(&s, phases * options->lanes);
  }
out:
  release(env, &s);
  return status;
}
