/* Cuts rows into windows: see windows.h. Rows are visited once for their sets, whether the lines are rows,
 * which look at the sets of what they wait for, or columns, which tell theirs to the rows that wait. */
#include "partition/windows.h"

#include "partition/supersteps.h"

/* Where a row is: its level set among all rows; base + its level set in its window, where all rows of earlier
 * windows have less, or as much. */
typedef struct sets {
  tsi_index level, place;
} sets;

typedef struct state {
  const tsi_lines *lines;
  const tsi_row_options *options;
  tsi_row_cut *cut;
  bool backward;
  const tsi_index *entries; /* n: of each row */
  sets *of;                 /* n */
  tsi_index *count;         /* where each set of a window begins */
  tsi_index *other;         /* n: room to sort */
  tsi_index base;           /* of the window at work; at most n, as each set has a row */
} state;

static inline tsi_index row_of(const state *s, tsi_index k) {
  return s->backward ? s->lines->n - 1 - k : k;
}

/* The sets of row i, which is a line. */
static inline sets look(const state *s, tsi_index i) {
  tsi_count first, end;
  sets own = {0, s->base};
  tsi_lines_inner(s->lines, i, &first, &end);
  for (tsi_count e = first; e < end; e++) {
    const sets other = s->of[s->lines->index[e]];
    own.level = tsi_index_max(own.level, other.level + 1);
    own.place = tsi_index_max(own.place, other.place + 1);
  }
  return own;
}

/* The sets of row i, which all lines before have told; line i tells them to the rows that wait for it. */
static inline sets tell(const state *s, tsi_index i) {
  tsi_count first, end;
  const sets own = {s->of[i].level, tsi_index_max(s->of[i].place, s->base)};
  tsi_lines_inner(s->lines, i, &first, &end);
  for (tsi_count e = first; e < end; e++) {
    sets *later = &s->of[s->lines->index[e]];
    later->level = tsi_index_max(later->level, own.level + 1);
    later->place = tsi_index_max(later->place, own.place + 1);
  }
  return own;
}

/* The sets of so many rows from the `first` in the order of the sweep on: gives how many they have among
 * themselves, and where each begins, in count. */
static tsi_index find_sets(state *s, tsi_index first, tsi_index rows) {
  const bool across = s->options->across;
  tsi_index found = 0;
  s->count[0] = 0;
  for (tsi_index k = first; k < first + rows; k++) {
    const tsi_index i = row_of(s, k);
    const sets own = across ? tell(s, i) : look(s, i);
    const tsi_index set = own.place - s->base;
    s->of[i] = own;
    s->cut->levels = tsi_index_max(s->cut->levels, own.level + 1);
    if (set >= found) s->count[++found] = 0;
    s->count[set + 1]++;
  }
  for (tsi_index l = 0; l < found; l++) s->count[l + 1] += s->count[l];
  return found;
}

static void add_window(state *s, tsi_index first, tsi_index rows) {
  tsi_row_cut *cut = s->cut;
  tsi_index *order = cut->order + first;
  const tsi_index found = find_sets(s, first, rows);
  for (tsi_index k = first; k < first + rows; k++) {
    const tsi_index i = row_of(s, k);
    order[s->count[s->of[i].place - s->base]++] = i;
  }
  for (tsi_index l = 0, begin = 0; l < found; begin = s->count[l++]) /* where it began is where it ends */
    tsi_sort_set(s->entries, s->other, order + begin, s->count[l] - begin);
  cut->lane[cut->count++] = 0;
  cut->start[cut->count] = first + rows;
  s->base += found;
}

/* Windows weigh no more than a step. */
static void add_windows(state *s) {
  const tsi_row_options *o = s->options;
  const tsi_index n = s->lines->n;
  for (tsi_index first = 0, end; first < n; first = end) {
    double bytes = o->row_bytes + o->entry_bytes * s->entries[row_of(s, first)];
    for (end = first + 1; end < n; end++) {
      bytes += o->row_bytes + o->entry_bytes * s->entries[row_of(s, end)];
      if (bytes > o->step_bytes) break;
    }
    add_window(s, first, end - first);
  }
}

static void count_entries(const tsi_lines *lines, bool across, tsi_index *entries) {
  const tsi_count all = lines->ptr[lines->n];
  if (!across) {
    for (tsi_index i = 0; i < lines->n; i++) entries[i] = (tsi_index)(lines->ptr[i + 1] - lines->ptr[i]);
    return;
  }
  memset(entries, 0, (size_t)lines->n * sizeof *entries);
  for (tsi_count e = 0; e < all; e++) entries[lines->index[e]]++;
}

tristar_status tsi_windows_cut(tsi_env *env, const tsi_lines *lines, const tsi_row_options *options,
                               tsi_row_cut *cut) {
  tristar_status status = TRISTAR_OK;
  tsi_index *entries = NULL;
  state s = {.lines = lines, .options = options, .cut = cut, .backward = lines->columns != options->across};
  TSI_TRY(TSI_ALLOC(env, entries, lines->n));
  TSI_TRY(TSI_ALLOC(env, s.other, lines->n));
  TSI_TRY(TSI_ALLOC(env, s.count, (tsi_count)lines->n + 1));
  TSI_TRY(TSI_ALLOC_ZERO(env, s.of, lines->n));
  count_entries(lines, options->across, entries);
  s.entries = entries;
  cut->levels = 0;
  add_windows(&s);
  if (options->across) {
    cut->entries = entries;
    entries = NULL;
  }
out:
  TSI_FREE(env, entries);
  TSI_FREE(env, s.other);
  TSI_FREE(env, s.count);
  TSI_FREE(env, s.of);
  return status;
}
