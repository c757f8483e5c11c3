/* Cuts rows into windows: see windows.h. One pass over the rows computes their level sets. If the lines are
 * rows, a row reads the sets of the rows that it waits for; if they are columns, it updates the sets of the
 * rows that wait for it. */
#include "partition/cut/windows.h"

#include <math.h>

#include "partition/cut/supersteps.h"
#include "partition/cut/level_scan.h"

#define WIDER 4     /* Weight of a wide window, in steps. */
#define LOOKED_AT 4 /* Number of windows before the choice of wide windows. */

/* Passed from a row to the next one, which mostly waits for it, in registers. */
typedef struct carried {
  tsi_index row;   /* The row that passes it. */
  tsi_index place; /* Minimum place of the next row. */
} carried;

typedef struct state {
  const tsi_lines *lines;
  const tsi_row_options *options;
  tsi_row_cut *cut;
  bool backward;
  tsi_level_scan *scan; /* n, if across: base + level set in the window; all rows of earlier windows have at
                           most this base */
  tsi_index *place;     /* n, if not across: the same */
  tsi_index *entries;   /* n: entries of each visited row */
  tsi_index *count;     /* First row of each level set of a window. */
  tsi_index *set;       /* Window: level set of each row. */
  tsi_set_row *sorted;  /* Window: rows by set. */
  tsi_index base;       /* Of the current window; at most n, as each set has a row. */
  carried carried;      /* From the latest row. */
  tsi_level_scan_next next; /* From the latest row, if across. */
} state;

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
  for (tsi_count e = first; e < end; e++) own = tsi_index_max(own, s->place[s->lines->index[e]] + 1);
  s->place[i] = own;
  *c = (carried){i, own + 1};
  return own;
}

#define CONSTANTS static inline __attribute__((always_inline))

/* The level sets of `rows` rows from `first` on, in the order of the sweep. Returns the number of sets inside
 * this window; count: the first row of each. */
CONSTANTS tsi_index find_sets_of(state *s, tsi_index first, tsi_index rows, const bool across,
                                 const bool backward) {
  const tsi_lines *lines = s->lines;
  const tsi_index base = s->base, n = lines->n;
  tsi_level_scan *scan = s->scan;
  tsi_index *entries = s->entries, *count = s->count, *set_of = s->set, found = 0;
  carried c = s->carried;
  tsi_level_scan_next next = s->next;
  count[0] = 0;
  for (tsi_index k = first; k < first + rows; k++) {
    const tsi_index i = backward ? n - 1 - k : k;
    const tsi_index own =
        across ? tsi_level_scan_row(lines, scan, i, base, &next, &entries[i], !backward) : look(s, i, &c);
    const tsi_index set = own - base;
    set_of[k - first] = set;
    if (set >= found) count[++found] = 0;
    count[set + 1]++;
  }
  s->carried = c;
  s->next = next;
  for (tsi_index l = 0; l < found; l++) count[l + 1] += count[l];
  return found;
}

static tsi_index find_sets(state *s, tsi_index first, tsi_index rows) {
  if (s->options->across)
    return s->backward ? find_sets_of(s, first, rows, true, true) : find_sets_of(s, first, rows, true, false);
  return s->backward ? find_sets_of(s, first, rows, false, true) : find_sets_of(s, first, rows, false, false);
}

static void add_window(state *s, tsi_index first, tsi_index rows) {
  tsi_row_cut *cut = s->cut;
  tsi_index *order = cut->order + first;
  const tsi_index found = find_sets(s, first, rows);
  const tsi_index step = s->backward ? -1 : 1, *set = s->set, *entries = s->entries;
  tsi_index row = s->backward ? s->lines->n - 1 - first : first, *count = s->count;
  for (tsi_index k = 0; k < rows; k++, row += step) {
    tsi_set_row *to = &s->sorted[count[set[k]]++];
    to->row = row;
    to->entries = entries[row];
  }
  for (tsi_index l = 0, begin = 0; l < found; begin = s->count[l++]) /* count: the ends by now */
    tsi_sort_set(s->sorted + begin, s->count[l] - begin, order + begin);
  cut->lane[cut->count++] = 0;
  cut->start[cut->count] = first + rows;
  s->base += found;
}

/* The number of windows. They have equally many rows, and on average at most the weight of a step, or of
 * WIDER steps. So windows are the same by rows and by columns. */
static tsi_index count_windows(const tsi_lines *lines, const tsi_row_options *o) {
  const double bytes = tsi_row_sweep_bytes(o, lines->n, lines->ptr[lines->n]);
  return (tsi_index)fmin(lines->n, ceil(bytes / o->step_bytes));
}

/* The first row of window w, in the order of the sweep. */
static tsi_index window_begin(tsi_index n, tsi_index windows, tsi_index w) {
  return (tsi_index)((tsi_count)n * w / windows);
}

/* Are most sets of the windows so far too narrow to be sorted, and do consecutive rows often differ in
 * length? Then many loop ends are not predicted. Wider windows have more rows per set. */
static bool is_ragged(const state *s) {
  const tsi_index *order = s->cut->order, rows = s->cut->start[s->cut->count];
  tsi_index changes = 0;
  if (rows >= (tsi_count)TSI_WIDE_SET * s->base) return false;
  for (tsi_index k = 1; k < rows; k++) changes += s->entries[order[k]] != s->entries[order[k - 1]];
  return changes > rows / 4;
}

/* Discards all windows. */
static void begin_again(state *s) {
  if (s->scan) memset(s->scan, 0, (size_t)s->lines->n * sizeof *s->scan);
  s->cut->count = 0;
  s->base = 0;
  s->carried = (carried){TSI_NONE, 0};
  s->next = (tsi_level_scan_next){0, 0};
}

tristar_status tsi_windows_cut(tsi_env *env, const tsi_lines *lines, const tsi_row_options *options,
                               tsi_row_cut *cut) {
  cut->levels = 0;
  TSI_SCRATCH(env, state, s, 1);
  *s = (state){.lines = lines,
               .options = options,
               .cut = cut,
               .backward = lines->columns != options->across,
               .carried = {TSI_NONE, 0}};
  if (lines->n == 0) return TRISTAR_OK;
  const tsi_index n = lines->n;
  tsi_index windows = count_windows(lines, options), wide = (windows + WIDER - 1) / WIDER,
            most = n / wide + 1;
  TSI_TRY(TSI_ALLOC_IN(s, s->entries, n));
  TSI_TRY(TSI_ALLOC_IN(s, s->set, most));
  TSI_TRY(TSI_ALLOC_IN(s, s->sorted, most));
  TSI_TRY(TSI_ALLOC_IN(s, s->count, (tsi_count)most + 1));
  if (options->across)
    TSI_TRY(TSI_ALLOC_ZERO_IN(s, s->scan, n));
  else
    TSI_TRY(TSI_ALLOC_IN(s, s->place, n));
  tsi_index w = 0;
  while (w < windows && n >= (tsi_count)options->rows_a_level * s->base) {
    const tsi_index first = window_begin(n, windows, w++);
    add_window(s, first, window_begin(n, windows, w) - first);
    if (w != LOOKED_AT || windows == wide || !is_ragged(s)) continue;
    begin_again(s);
    windows = wide;
    w = 0;
  }
  cut->levels = s->base;
  if (options->across && w == windows) { /* all rows were counted */
    cut->entries = s->entries;
    tsi_own(cut, cut->entries);
  }
  return TRISTAR_OK;
}
