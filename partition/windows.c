/* Cuts rows into windows: see windows.h. Rows are visited once for their sets, whether the lines are rows,
 * which look at the sets of what they wait for, or columns, which tell theirs to the rows that wait. */
#include "partition/windows.h"

#include <math.h>

#include "partition/supersteps.h"

/* What is known of a row, in one word, which is read and written at once: base + its level set in its window,
 * where all rows of earlier windows have less, or as much; and below that, of columns, how many entries of it
 * were seen. */
typedef uint64_t known;

static inline tsi_index place_of(known of) {
  return (tsi_index)(of >> 32);
}

static inline known make_known(tsi_index place, tsi_index entries) {
  return (uint64_t)(uint32_t)place << 32 | (uint32_t)entries;
}

/* What goes from a row to the one behind it, which mostly waits for it, by no way through memory: what is
 * written there is there to be read only some time later. */
typedef struct carried {
  tsi_index row;     /* from where */
  tsi_index place;   /* at least so much: tell: 0 if the row behind does not wait */
  tsi_index entries; /* of the row behind: tell's */
} carried;

typedef struct state {
  const tsi_lines *lines;
  const tsi_row_options *options;
  tsi_row_cut *cut;
  bool backward;
  known *of;          /* n */
  tsi_index *entries; /* n: of each row that was visited */
  tsi_index *count;   /* where each set of a window begins */
  tsi_index *set;     /* of a window: of each row */
  tsi_index *length;  /* of a set: entries of each row in its order */
  tsi_index *other;   /* of a window: room to sort */
  tsi_index base;     /* of the window at work; at most n, as each set has a row */
  carried carried;    /* from the latest row */
} state;

static inline tsi_index row_of(const state *s, tsi_index k) {
  return s->backward ? s->lines->n - 1 - k : k;
}

/* The place of row i, which is a line. */
static inline tsi_index look(const state *s, tsi_index i, carried *c) {
  tsi_count first, end;
  tsi_index own = s->base;
  tsi_lines_inner(s->lines, i, &first, &end);
  s->entries[i] = (tsi_index)(s->lines->ptr[i + 1] - s->lines->ptr[i]);
  const tsi_count near = s->backward ? first : end - 1; /* the entry next to the diagonal */
  if (first < end && s->lines->index[near] == c->row) {
    own = tsi_index_max(own, c->place);
    first += s->backward;
    end -= !s->backward;
  }
  for (tsi_count e = first; e < end; e++) own = tsi_index_max(own, place_of(s->of[s->lines->index[e]]) + 1);
  s->of[i] = make_known(own, 0);
  *c = (carried){i, own + 1, 0};
  return own;
}

/* The place of row i, which all lines before have told; line i tells it to the rows that wait for it. */
static inline tsi_index tell(const state *s, tsi_index i, carried *c) {
  tsi_count first, end;
  const known of = s->of[i];
  const tsi_index own = tsi_index_max(tsi_index_max(place_of(of), c->place), s->base);
  tsi_lines_inner(s->lines, i, &first, &end);
  s->entries[i] =
      (tsi_index)(uint32_t)of + c->entries + (end - first < s->lines->ptr[i + 1] - s->lines->ptr[i]);
  const tsi_count near = s->backward ? end - 1 : first;
  const bool next = first < end && s->lines->index[near] == (s->backward ? i - 1 : i + 1);
  *c = (carried){i, next ? own + 1 : 0, next};
  first += next && !s->backward;
  end -= next && s->backward;
  for (tsi_count e = first; e < end; e++) {
    known *later = &s->of[s->lines->index[e]];
    const known was = *later;
    *later = make_known(tsi_index_max(place_of(was), own + 1), (tsi_index)(uint32_t)was + 1);
  }
  return own;
}

/* The sets of so many rows from the `first` in the order of the sweep on: gives how many they have among
 * themselves, and where each begins, in count. */
static tsi_index find_sets(state *s, tsi_index first, tsi_index rows) {
  const bool across = s->options->across;
  carried c = s->carried;
  tsi_index found = 0;
  s->count[0] = 0;
  for (tsi_index k = first; k < first + rows; k++) {
    const tsi_index i = row_of(s, k), own = across ? tell(s, i, &c) : look(s, i, &c), set = own - s->base;
    s->set[k - first] = set;
    if (set >= found) s->count[++found] = 0;
    s->count[set + 1]++;
  }
  s->carried = c;
  for (tsi_index l = 0; l < found; l++) s->count[l + 1] += s->count[l];
  return found;
}

static void sort_set(const state *s, tsi_index *row, tsi_index count) {
  if (count < TSI_WIDE_SET) return;
  for (tsi_index k = 0; k < count; k++) s->length[k] = s->entries[row[k]];
  tsi_sort_set(s->length, s->other, row, count);
}

static void add_window(state *s, tsi_index first, tsi_index rows) {
  tsi_row_cut *cut = s->cut;
  tsi_index *order = cut->order + first;
  const tsi_index found = find_sets(s, first, rows);
  for (tsi_index k = 0; k < rows; k++) order[s->count[s->set[k]]++] = row_of(s, first + k);
  for (tsi_index l = 0, begin = 0; l < found; begin = s->count[l++]) /* where it began is where it ends */
    sort_set(s, order + begin, s->count[l] - begin);
  cut->lane[cut->count++] = 0;
  cut->start[cut->count] = first + rows;
  s->base += found;
}

/* Windows have as many rows each, and weigh no more than a step on average: they are the same by rows and by
 * columns. */
static tsi_index count_windows(const tsi_lines *lines, const tsi_row_options *o) {
  const double n = lines->n, bytes = o->row_bytes * n + o->entry_bytes * (double)lines->ptr[lines->n];
  return (tsi_index)fmin(n, ceil(bytes / o->step_bytes));
}

/* The first row of window number w, in the order of the sweep. */
static tsi_index window_begin(tsi_index n, tsi_index windows, tsi_index w) {
  return (tsi_index)((tsi_count)n * w / windows);
}

tristar_status tsi_windows_cut(tsi_env *env, const tsi_lines *lines, const tsi_row_options *options,
                               tsi_row_cut *cut) {
  tristar_status status = TRISTAR_OK;
  state s = {.lines = lines,
             .options = options,
             .cut = cut,
             .backward = lines->columns != options->across,
             .carried = {TSI_NONE, 0, 0}};
  cut->levels = 0;
  if (lines->n == 0) return TRISTAR_OK;
  const tsi_index n = lines->n, windows = count_windows(lines, options), most = n / windows + 1;
  TSI_TRY(TSI_ALLOC(env, s.entries, n));
  TSI_TRY(TSI_ALLOC(env, s.set, most));
  TSI_TRY(TSI_ALLOC(env, s.length, most));
  TSI_TRY(TSI_ALLOC(env, s.other, most));
  TSI_TRY(TSI_ALLOC(env, s.count, (tsi_count)most + 1));
  TSI_TRY(TSI_ALLOC_ZERO(env, s.of, n));
  for (tsi_index w = 0; w < windows; w++) {
    const tsi_index first = window_begin(n, windows, w);
    add_window(&s, first, window_begin(n, windows, w + 1) - first);
  }
  cut->levels = s.base;
  if (options->across) {
    cut->entries = s.entries;
    s.entries = NULL;
  }
out:
  TSI_FREE(env, s.entries);
  TSI_FREE(env, s.set);
  TSI_FREE(env, s.length);
  TSI_FREE(env, s.other);
  TSI_FREE(env, s.count);
  TSI_FREE(env, s.of);
  return status;
}
