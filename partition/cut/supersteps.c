/* Supersteps: see row_chunks.h. For each superstep
 *
 *   - one pass finds its level sets and the phase and lane of each row
 *   - rows are sorted by phase and lane, which form its chunks; inside a chunk by set and number of entries
 *
 * A row reads the places of the rows that it waits for. If the lines are the columns of the rows, it is the
 * other way: each row of a set in the superstep writes its place to the rows that wait for it, before the
 * next set is placed. Both ways compute the same: the latest phase, whether several lanes have one of the
 * rows in it, and the lane of the last of these rows. */
#include "partition/cut/supersteps.h"

#define PHASES 64     /* Maximum number of phases of a superstep. */
#define CROSSING 0.25 /* of a set: if more rows wait for two lanes, it begins a new superstep */
#define LENGTHS 32    /* Numbers of entries that are distinguished: the bits of a word. */

/* The state of a row in one word, which is read and written at once. From the highest bits on: the latest
 * phase that the row waits for, counted from the superstep before; the last row of that phase; the lane of
 * this row; whether another lane has such a row, too. A later phase, or a later row of a phase, makes the
 * word greater. */
typedef uint64_t record;
enum { LANE_SHIFT = 1, LANE_BITS = 12, ROW_SHIFT = LANE_SHIFT + LANE_BITS, PHASE_SHIFT = ROW_SHIFT + 31 };
#define LAST_PHASE (((int64_t)1 << (64 - PHASE_SHIFT)) - 1)
_Static_assert(TSI_ROW_LANES <= 1 << LANE_BITS, "a lane has room in a word");

/* The place and length of a row of the sets, in their order. */
typedef struct row_data {
  tsi_index place;   /* phase * lanes + lane in the current superstep */
  tsi_index entries; /* Entries of its line. */
} row_data;

typedef struct state {
  const tsi_lines *lines;
  const tsi_row_options *options;
  const tsi_level_sets *sets;
  tsi_row_cut *cut;
  tsi_index *place;    /* n, if not across: base + place of a row of the current superstep; smaller: an older
                          superstep, or none yet */
  record *record;      /* n, if across: phases below the base are of older supersteps */
  tsi_index base;      /* First place of the current superstep; if across, its first phase. */
  row_data *row_data;  /* n */
  tsi_index *phase;    /* space: for each place the first place of its phase; if across, its phase */
  tsi_index *count;    /* space + 1: first row of each place */
  tsi_count *entries;  /* space: entries of each place */
  tsi_set_row *sorted; /* n: rows of the current superstep */
  tsi_index placed;    /* Number of rows in the cut's order. */
  tsi_index most;      /* Maximum number of places of a superstep. */
  tsi_index space;     /* The same with one more phase. */
  double last;         /* Bytes of the latest chunk. */
  bool alone;          /* The latest superstep has one chunk. */
} state;

/* Counts the entries of the rows of a set. Returns its bytes. */
static double look_at_set(state *s, tsi_index level) {
  const tsi_count *ptr = s->lines->ptr;
  const tsi_index *counted = s->sets->entries;
  const tsi_index begin = s->sets->first[level], end = s->sets->first[level + 1];
  tsi_count entries = 0;
  for (tsi_index k = begin; k < end; k++) {
    const tsi_index row = s->sets->row[k];
    s->row_data[k].entries = counted ? counted[row] : (tsi_index)(ptr[row + 1] - ptr[row]);
    entries += s->row_data[k].entries;
  }
  return tsi_row_sweep_bytes(s->options, end - begin, entries);
}

static void put_row(state *s, tsi_index k, tsi_index place) {
  s->row_data[k].place = place;
  if (s->place) s->place[s->sets->row[k]] = s->base + place;
}

/* Places the first set of a superstep: equal bytes for each lane, in the order of the rows. If there are too
 * few rows, all are placed in the lane of the chunk before. */
static void share_first(state *s, tsi_index level, double all) {
  const int lanes = s->options->lanes;
  const tsi_index begin = s->sets->first[level], end = s->sets->first[level + 1];
  const bool few = end - begin < 2 * lanes;
  const tsi_index before = s->cut->count > 0 ? s->cut->lane[s->cut->count - 1] : 0;
  tsi_index lane = few ? before : 0;
  double sum = 0;
  for (tsi_index k = begin; k < end; k++) {
    const double own = tsi_row_sweep_bytes(s->options, 1, s->row_data[k].entries);
    while (!few && lane + 1 < lanes && (sum + own / 2) * lanes >= all * (lane + 1)) lane++;
    put_row(s, k, lane);
    sum += own;
  }
}

/* The place of a row that also waits for rows before the phase. latest: the last place that it waits for. */
static tsi_index place_late_row(const state *s, tsi_count first, tsi_count end, tsi_count latest,
                                bool *crosses) {
  const tsi_index *index = s->lines->index, *of = s->place;
  const tsi_count base = s->base, phase = s->phase[latest]; /* its first place */
  tsi_count least = latest, last = TSI_NONE;
  for (tsi_count e = first; e < end; e++) { /* without branches, which processors could not predict */
    const tsi_count place = of[index[e]] - base, there = place >= phase ? place : latest;
    last = place >= phase ? place : last;
    least = tsi_count_min(least, there);
  }
  *crosses = least < latest;
  return (tsi_index)last + (*crosses ? s->options->lanes : 0);
}

/* The place of a row of a later set, from the rows of the superstep that it waits for; at least one is in the
 * set before. crosses: it waits for rows of two lanes in the latest phase, and its phase is the next one.
 * Mostly all rows that it waits for are in that phase. Numbers have 64 bits: compilers would vectorize
 * shorter ones, which does not pay for short lines. */
static tsi_index place_row(const state *s, tsi_index row, bool *crosses) {
  const tsi_index *index = s->lines->index, *of = s->place;
  tsi_count first, end;
  tsi_lines_inner(s->lines, row, &first, &end);
  tsi_count latest = TSI_NONE, least = TSI_INDEX_MAX, place = TSI_NONE;
  for (tsi_count e = first; e < end; e++) {
    place = of[index[e]];
    latest = tsi_count_max(latest, place);
    least = tsi_count_min(least, place);
  }
  latest -= s->base;
  if (least - s->base < s->phase[latest]) return place_late_row(s, first, end, latest, crosses);
  *crosses = least - s->base < latest;
  return (tsi_index)place - s->base + (*crosses ? s->options->lanes : 0);
}

/* The rows of a set in the superstep write their places to the rows that wait for them. */
static void record_set(const state *s, tsi_index level) {
  const tsi_lines *lines = s->lines;
  const tsi_index lanes = s->options->lanes;
  for (tsi_index k = s->sets->first[level]; k < s->sets->first[level + 1]; k++) {
    const tsi_index row = s->sets->row[k], place = s->row_data[k].place, phase = s->phase[place];
    const record own = (record)(s->base + phase) << PHASE_SHIFT | (record)row << ROW_SHIFT |
                       (record)(place - phase * lanes) << LANE_SHIFT;
    tsi_count first, end;
    tsi_lines_fetch(lines, s->sets->row, k, lines->n);
    tsi_lines_inner(lines, row, &first, &end);
    for (tsi_count e = first; e < end; e++) { /* without branches, which processors could not predict */
      record *later = &s->record[lines->index[e]];
      const record was = *later, greater = was > own ? was : own, differ = was ^ own;
      const bool crosses = (was & 1) | ((differ & (((record)1 << ROW_SHIFT) - 2)) != 0);
      *later = greater | (crosses & (differ >> PHASE_SHIFT == 0));
    }
  }
}

/* The place of a row, after all rows that it waits for have written to it. */
static tsi_index recorded_place(const state *s, tsi_index row, bool *crosses) {
  const record of = s->record[row];
  const tsi_index phase = (tsi_index)(of >> PHASE_SHIFT) - s->base,
                  lane = (tsi_index)(of >> LANE_SHIFT & (((record)1 << LANE_BITS) - 1));
  *crosses = of & 1;
  return (phase + *crosses) * s->options->lanes + lane;
}

/* Places the rows of the set `next` after the rows of the superstep. Returns false if the set must begin a
 * new superstep. */
static bool place_set(state *s, tsi_index next, tsi_index *phases) {
  const bool across = s->record != NULL;
  const tsi_index begin = s->sets->first[next], end = s->sets->first[next + 1];
  const tsi_index most = (tsi_index)(CROSSING * (double)(end - begin)) + 1;
  tsi_index crossing = 0, highest = 0;
  for (tsi_index k = begin; k < end; k++) {
    const tsi_index row = s->sets->row[k];
    bool crosses;
    if (!across) tsi_lines_fetch(s->lines, s->sets->row, k, s->lines->n);
    const tsi_index place = across ? recorded_place(s, row, &crosses) : place_row(s, row, &crosses);
    crossing += crosses;
    if (crossing > most || place >= s->most) return false;
    put_row(s, k, place);
    highest = tsi_index_max(highest, place);
  }
  *phases = tsi_index_max(*phases, highest / s->options->lanes + 1);
  return true;
}

/* ---- Output -------------------------------------------------------------------------------------------- */

void tsi_sort_set(const tsi_set_row *set, tsi_index count, tsi_index *row) {
  tsi_index first[LENGTHS + 1] = {0};
  uint32_t seen = 0; /* lengths that occur */
  for (tsi_index k = 0; k < count && count >= TSI_WIDE_SET; k++) {
    const tsi_index of = tsi_index_min(set[k].entries, LENGTHS - 1);
    seen |= (uint32_t)1 << of;
    first[of + 1]++;
  }
  if ((seen & (seen - 1)) == 0) { /* one length, or the set is narrow */
    for (tsi_index k = 0; k < count; k++) row[k] = set[k].row;
    return;
  }
  for (tsi_index l = __builtin_ctz(seen), most = 31 - __builtin_clz(seen); l < most; l++)
    first[l + 1] += first[l];
  for (tsi_index k = 0; k < count; k++) row[first[tsi_index_min(set[k].entries, LENGTHS - 1)]++] = set[k].row;
}

/* Writes the rows of a chunk, which are sorted by set, to the cut's order. */
static void sort_sets(const tsi_set_row *sorted, tsi_index count, tsi_index *order) {
  for (tsi_index k = 0, end; k < count; k = end) {
    for (end = k + 1; end < count && sorted[end].level == sorted[k].level; end++) {
    }
    tsi_sort_set(sorted + k, end - k, order + k);
  }
}

/* Adds a chunk of the next rows, which are already in the cut's order. joins: it may be appended to the chunk
 * before, if that has the same lane. */
static void add_chunk(state *s, tsi_index lane, tsi_index rows, tsi_count entries, bool joins) {
  tsi_row_cut *cut = s->cut;
  const double bytes = tsi_row_sweep_bytes(s->options, rows, entries);
  if (joins && cut->lane[cut->count - 1] == lane && s->last + bytes <= s->options->step_bytes)
    s->last += bytes;
  else {
    cut->lane[cut->count++] = lane;
    s->last = bytes;
  }
  s->placed += rows;
  cut->start[cut->count] = s->placed;
}

/* Starts a new superstep: rows with a place in one of `phases` phases from the base on (if across: rows that
 * wait for such rows) now belong to older supersteps. */
static void next_base(state *s, tsi_index phases) {
  const bool across = s->record != NULL;
  s->base += across ? phases : phases * s->options->lanes;
  if (s->base <= (across ? (tsi_index)LAST_PHASE - PHASES - 1 : TSI_INDEX_MAX - s->space)) return;
  for (tsi_index i = 0; i < s->lines->n; i++)
    if (across)
      s->record[i] = 0;
    else
      s->place[i] = TSI_NONE;
  s->base = across;
}

/* Sorts the rows of sets level .. end - 1 by phase and lane. */
static void sort_by_place(state *s, tsi_index level, tsi_index end, tsi_index places) {
  const tsi_index begin = s->sets->first[level], stop = s->sets->first[end];
  memset(s->count, 0, ((size_t)places + 1) * sizeof *s->count);
  memset(s->entries, 0, (size_t)places * sizeof *s->entries);
  for (tsi_index k = begin; k < stop; k++) {
    const row_data *of = &s->row_data[k];
    s->count[of->place + 1]++;
    s->entries[of->place] += of->entries;
  }
  for (tsi_index p = 0; p < places; p++) s->count[p + 1] += s->count[p];
  for (tsi_index l = level; l < end; l++)
    for (tsi_index k = s->sets->first[l]; k < s->sets->first[l + 1]; k++) {
      const row_data of = s->row_data[k];
      s->sorted[s->count[of.place]++] = (tsi_set_row){s->sets->row[k], of.entries, l};
    }
}

static void add_superstep(state *s, tsi_index level, tsi_index end, tsi_index phases) {
  const tsi_index places = phases * s->options->lanes;
  sort_by_place(s, level, end, places);
  /* Only the chunk of a superstep with no other chunk is joined: a joined chunk waits for all predecessors of
   * all its rows. */
  tsi_index chunks = 0;
  for (tsi_index p = 0, from = 0; p < places; from = s->count[p++]) chunks += s->count[p] > from;
  for (tsi_index p = 0, from = 0; p < places; p++) {
    const tsi_index rows = s->count[p] - from;
    sort_sets(s->sorted + from, rows, s->cut->order + s->placed);
    from = s->count[p];
    if (rows > 0) add_chunk(s, p % s->options->lanes, rows, s->entries[p], s->alone && chunks == 1);
  }
  s->alone = chunks == 1;
}

static tristar_status allocate(state *s) {
  const tsi_index n = s->lines->n, lanes = s->options->lanes;
  if (s->options->across)
    TSI_TRY(TSI_ALLOC_ZERO_IN(s, s->record, n));
  else
    TSI_TRY(TSI_ALLOC_IN(s, s->place, n));
  TSI_TRY(TSI_ALLOC_IN(s, s->row_data, n));
  TSI_TRY(TSI_ALLOC_IN(s, s->sorted, n));
  TSI_TRY(TSI_ALLOC_IN(s, s->phase, s->space));
  TSI_TRY(TSI_ALLOC_IN(s, s->count, (tsi_count)s->space + 1));
  TSI_TRY(TSI_ALLOC_IN(s, s->entries, s->space));
  for (tsi_index i = 0; i < n && s->place; i++) s->place[i] = TSI_NONE;
  for (tsi_index p = 0; p < s->space; p++) s->phase[p] = s->record ? p / lanes : p - p % lanes;
  s->base = s->record != NULL;
  return TRISTAR_OK;
}

tristar_status tsi_supersteps_cut(tsi_env *env, const tsi_lines *lines, const tsi_row_options *options,
                                  const tsi_level_sets *sets, tsi_row_cut *cut) {
  const double most = options->step_bytes * options->lanes;
  TSI_SCRATCH(env, state, s, 1);
  *s = (state){.lines = lines, .options = options, .sets = sets, .cut = cut, .most = PHASES * options->lanes};
  s->space = s->most + options->lanes;
  TSI_TRY(allocate(s));
  for (tsi_index level = 0, end; level < sets->levels; level = end) {
    tsi_index phases = 1;
    double bytes = look_at_set(s, level);
    share_first(s, level, bytes);
    for (end = level + 1; end < sets->levels && options->way == TSI_ROWS_SUPERSTEPS; end++) {
      tsi_index with = phases;
      bytes += look_at_set(s, end);
      if (bytes > most) break;
      if (options->across) record_set(s, end - 1);
      if (!place_set(s, end, &with)) break;
      phases = with;
    }
    add_superstep(s, level, end, phases);
    next_base(s, phases);
  }
  return TRISTAR_OK;
}
