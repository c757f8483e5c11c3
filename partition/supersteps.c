/* Supersteps: see row_chunks.h. For each superstep
 *
 *   - the sets that it takes are found, and in the same pass each row's phase and lane
 *   - rows are sorted by phase and lane, which are its chunks; inside a chunk by set and number of entries */
#include "partition/supersteps.h"

#define PHASES 64     /* that a superstep may have */
#define CROSSING 0.25 /* of a set's rows: if more wait for two lanes, it begins a new superstep */
#define LENGTHS 32    /* entries that are told apart there */

/* What is known of the rows of the sets, in their order there. */
typedef struct known {
  tsi_index place;   /* phase * lanes + lane in the superstep at work */
  tsi_index entries; /* in its line */
} known;

typedef struct state {
  const tsi_lines *lines;
  const tsi_row_options *options;
  const tsi_level_sets *sets;
  tsi_row_cut *cut;
  tsi_index
      *place; /* n: base + place of a row of the superstep at work; less: of an older one, or none yet */
  tsi_index base;
  known *known;       /* n */
  tsi_index *phase;   /* room: by place, the first one of its phase */
  tsi_index *count;   /* room + 1: where each place begins */
  tsi_count *entries; /* room: of each place */
  tsi_index *level;   /* n: of each row that is in the cut's order */
  tsi_index *length;  /* n: its entries */
  tsi_index *other;   /* n: room to sort */
  tsi_index placed;   /* rows in the cut's order */
  tsi_index most;     /* places that a superstep may have */
  tsi_index room;     /* and those of one more phase */
  double last;        /* bytes of the latest chunk */
  bool alone;         /* the latest superstep has one chunk */
} state;

static double rows_bytes(const state *s, tsi_index rows, tsi_count entries) {
  return s->options->row_bytes * rows + s->options->entry_bytes * (double)entries;
}

/* Looks at the lines of a set. Gives its bytes. */
static double look_at_set(state *s, tsi_index level) {
  const tsi_count *ptr = s->lines->ptr;
  const tsi_index begin = s->sets->first[level], end = s->sets->first[level + 1];
  tsi_count entries = 0;
  for (tsi_index k = begin; k < end; k++) {
    const tsi_index row = s->sets->row[k];
    s->known[k].entries = (tsi_index)(ptr[row + 1] - ptr[row]);
    entries += s->known[k].entries;
  }
  return rows_bytes(s, end - begin, entries);
}

static void put_row(state *s, tsi_index k, tsi_index place) {
  s->known[k].place = place;
  s->place[s->sets->row[k]] = s->base + place;
}

/* The first set of a superstep: equal bytes for each lane, in the order of the rows. Too few rows for that:
 * the lane of the chunk before. */
static void share_first(state *s, tsi_index level, double all) {
  const int lanes = s->options->lanes;
  const tsi_index begin = s->sets->first[level], end = s->sets->first[level + 1];
  const bool few = end - begin < 2 * lanes;
  const tsi_index before = s->cut->count > 0 ? s->cut->lane[s->cut->count - 1] : 0;
  tsi_index lane = few ? before : 0;
  double sum = 0;
  for (tsi_index k = begin; k < end; k++) {
    const double own = rows_bytes(s, 1, s->known[k].entries);
    while (!few && lane + 1 < lanes && (sum + own / 2) * lanes >= all * (lane + 1)) lane++;
    put_row(s, k, lane);
    sum += own;
  }
}

/* Where a row of a later set goes, by what it waits for inside the superstep. crosses: it waits for rows of
 * two lanes in the latest phase, and comes after it. */
static tsi_index place_row(const state *s, tsi_index row, bool *crosses) {
  const tsi_lines *lines = s->lines;
  const tsi_index *index = lines->index;
  const tsi_count first = lines->ptr[row], end = lines->ptr[row + 1];
  tsi_index latest = TSI_NONE, least = TSI_INDEX_MAX, last = TSI_NONE;
  for (tsi_count e = first; e < end; e++) latest = tsi_index_max(latest, s->place[index[e]] - s->base);
  *crosses = false;
  if (latest < 0) return TSI_NONE;
  const tsi_index phase = s->phase[latest]; /* its first place */
  for (tsi_count e = first; e < end; e++) { /* without branches, which nobody could foresee */
    const tsi_index place = s->place[index[e]] - s->base;
    last = place >= phase ? place : last;
    least = place >= phase ? tsi_index_min(least, place) : least;
  }
  *crosses = least < latest;
  return *crosses ? last + s->options->lanes : last;
}

/* Places the rows of the set `next` behind those of the superstep. false: it is to begin a new one. */
static bool place_set(state *s, tsi_index next, tsi_index *phases) {
  const tsi_index begin = s->sets->first[next], end = s->sets->first[next + 1];
  const tsi_index most = (tsi_index)(CROSSING * (double)(end - begin)) + 1;
  tsi_index crossing = 0, highest = 0;
  for (tsi_index k = begin; k < end; k++) {
    bool crosses;
    tsi_lines_fetch(s->lines, s->sets->row, k, s->lines->n);
    const tsi_index place = place_row(s, s->sets->row[k], &crosses);
    crossing += crosses;
    if (crossing > most || place >= s->most) return false;
    put_row(s, k, place);
    highest = tsi_index_max(highest, place);
  }
  *phases = tsi_index_max(*phases, highest / s->options->lanes + 1);
  return true;
}

/* ---- What comes out ------------------------------------------------------------------------------------ */

void tsi_sort_set(const tsi_index *length, tsi_index *other, tsi_index *row, tsi_index count) {
  tsi_index first[LENGTHS + 1] = {0}, least = LENGTHS, most = 0;
  if (count < TSI_WIDE_SET) return;
  for (tsi_index k = 0; k < count; k++) {
    const tsi_index of = tsi_index_min(length[k], LENGTHS - 1);
    least = tsi_index_min(least, of);
    most = tsi_index_max(most, of);
    first[of + 1]++;
  }
  if (least == most) return;
  for (tsi_index l = least; l < most; l++) first[l + 1] += first[l];
  for (tsi_index k = 0; k < count; k++) other[first[tsi_index_min(length[k], LENGTHS - 1)]++] = row[k];
  memcpy(row, other, (size_t)count * sizeof *row);
}

/* The rows of the cut's order from `first` on: set by set. */
static void sort_sets(const state *s, tsi_index first, tsi_index count) {
  const tsi_index stop = first + count, *level = s->level;
  for (tsi_index k = first, end; k < stop; k = end) {
    for (end = k + 1; end < stop && level[end] == level[k]; end++) {
    }
    tsi_sort_set(s->length + k, s->other, s->cut->order + k, end - k);
  }
}

/* A chunk of the next rows, which are in the cut's order already. joins: it may join the one before, if that
 * is of the same lane. */
static void add_chunk(state *s, tsi_index lane, tsi_index rows, tsi_count entries, bool joins) {
  tsi_row_cut *cut = s->cut;
  const double bytes = rows_bytes(s, rows, entries);
  sort_sets(s, s->placed, rows);
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
static void sort_by_place(state *s, tsi_index level, tsi_index end, tsi_index places) {
  const tsi_index begin = s->sets->first[level], stop = s->sets->first[end];
  memset(s->count, 0, ((size_t)places + 1) * sizeof *s->count);
  memset(s->entries, 0, (size_t)places * sizeof *s->entries);
  for (tsi_index k = begin; k < stop; k++) {
    const known *of = &s->known[k];
    s->count[of->place + 1]++;
    s->entries[of->place] += of->entries;
  }
  for (tsi_index p = 0; p < places; p++) s->count[p + 1] += s->count[p];
  for (tsi_index l = level; l < end; l++)
    for (tsi_index k = s->sets->first[l]; k < s->sets->first[l + 1]; k++) {
      const tsi_index to = s->placed + s->count[s->known[k].place]++;
      s->cut->order[to] = s->sets->row[k];
      s->level[to] = l;
      s->length[to] = s->known[k].entries;
    }
}

static void add_superstep(state *s, tsi_index level, tsi_index end, tsi_index phases) {
  const tsi_index places = phases * s->options->lanes;
  sort_by_place(s, level, end, places);
  /* Chunks of supersteps that other lanes have a part in stay apart: a joined one would wait for what any of
   * its rows waits for. */
  tsi_index chunks = 0;
  for (tsi_index p = 0, from = 0; p < places; from = s->count[p++]) chunks += s->count[p] > from;
  for (tsi_index p = 0, from = 0; p < places; p++) {
    const tsi_index rows = s->count[p] - from;
    from = s->count[p];
    if (rows > 0) add_chunk(s, p % s->options->lanes, rows, s->entries[p], s->alone && chunks == 1);
  }
  s->alone = chunks == 1;
}

static tristar_status allocate(tsi_env *env, state *s) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = s->lines->n, lanes = s->options->lanes;
  TSI_TRY(TSI_ALLOC(env, s->place, n));
  TSI_TRY(TSI_ALLOC(env, s->known, n));
  TSI_TRY(TSI_ALLOC(env, s->level, n));
  TSI_TRY(TSI_ALLOC(env, s->length, n));
  TSI_TRY(TSI_ALLOC(env, s->other, n));
  TSI_TRY(TSI_ALLOC(env, s->phase, s->room));
  TSI_TRY(TSI_ALLOC(env, s->count, (tsi_count)s->room + 1));
  TSI_TRY(TSI_ALLOC(env, s->entries, s->room));
  for (tsi_index i = 0; i < n; i++) s->place[i] = TSI_NONE;
  for (tsi_index p = 0; p < s->room; p++) s->phase[p] = p - p % lanes;
out:
  return status;
}

static void release(tsi_env *env, state *s) {
  TSI_FREE(env, s->place);
  TSI_FREE(env, s->known);
  TSI_FREE(env, s->level);
  TSI_FREE(env, s->length);
  TSI_FREE(env, s->other);
  TSI_FREE(env, s->phase);
  TSI_FREE(env, s->count);
  TSI_FREE(env, s->entries);
}

tristar_status tsi_supersteps_cut(tsi_env *env, const tsi_lines *lines, const tsi_row_options *options,
                                  const tsi_level_sets *sets, tsi_row_cut *cut) {
  tristar_status status = TRISTAR_OK;
  state s = {.lines = lines, .options = options, .sets = sets, .cut = cut, .most = PHASES * options->lanes};
  const double most = options->step_bytes * options->lanes;
  s.room = s.most + options->lanes;
  TSI_TRY(allocate(env, &s));
  for (tsi_index level = 0, end; level < sets->levels; level = end) {
    tsi_index phases = 1;
    double bytes = look_at_set(&s, level);
    share_first(&s, level, bytes);
    for (end = level + 1; end < sets->levels && options->way == TSI_ROWS_SUPERSTEPS; end++) {
      tsi_index with = phases;
      bytes += look_at_set(&s, end);
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
