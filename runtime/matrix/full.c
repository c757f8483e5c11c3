/* Full matrices out of patterns: see full.h. */
#include "runtime/matrix/full.h"

/* What is made of a pattern. */
typedef struct wanted {
  const tsi_pattern *pattern;
  bool by_rows;
  bool from_above;      /* of a GENERAL pattern: its upper triangle and the mirror image of that */
  const double *values; /* items; NULL: places, if there are items */
} wanted;

/* What is done with an entry: counted first, put then. place: ~p: a mirror image of entry p. */
typedef void visit(const wanted *w, tsi_index line, tsi_index index, tsi_count place, tsi_entries *out);

static void count(const wanted *w, tsi_index line, tsi_index index, tsi_count place, tsi_entries *out) {
  (void)w;
  (void)index;
  (void)place;
  out->ptr[line + 1]++;
}

static void put(const wanted *w, tsi_index line, tsi_index index, tsi_count place, tsi_entries *out) {
  const tsi_count at = tsi_entries_put(out, line, index);
  if (w->values)
    ((double *)out->item)[at] = w->values[place < 0 ? ~place : place];
  else if (out->item)
    ((tsi_count *)out->item)[at] = place;
}

/* Line by line of the pattern, so that those of a new line come with ascending indices, unless a symmetric
 * kind has entries in both triangles. */
static inline __attribute__((always_inline)) void visit_all(const wanted *w, tsi_entries *out, visit *each) {
  const tsi_pattern *p = w->pattern;
  const bool mirror = w->from_above || p->symmetry != TRISTAR_GENERAL, as_given = p->by_rows == w->by_rows;
  for (tsi_index j = 0; j < p->n; j++)
    for (tsi_count e = p->ptr[j]; e < p->ptr[j + 1]; e++) {
      const tsi_index i = p->index[e], line = as_given ? j : i, index = as_given ? i : j;
      if (w->from_above && (w->by_rows ? index < line : line < index)) continue;
      each(w, line, index, e, out);
      if (mirror && i != j) each(w, index, line, ~e, out);
    }
}

static tristar_status make(tsi_env *env, const wanted *w, size_t bytes, tsi_entries *out) {
  TSI_TRY(tsi_entries_begin(env, w->pattern->n, bytes, out));
  visit_all(w, out, count);
  TSI_TRY(tsi_entries_reserve(env, out));
  visit_all(w, out, put);
  tsi_entries_end(out);
  return tsi_entries_sort(env, out);
}

tristar_status tsi_full_rows(tsi_env *env, const tsi_pattern *pattern, bool symmetric, tsi_entries *out) {
  const wanted w = {pattern, true, symmetric && pattern->symmetry == TRISTAR_GENERAL, NULL};
  return make(env, &w, sizeof(tsi_count), out);
}

tristar_status tsi_full_rows_check(tsi_env *env, const tsi_pattern *pattern, const tsi_entries *rows) {
  const tsi_count *place = rows->item;
  if (rows->ptr[0] != 0) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "ptr[0] is not 0");
  for (tsi_index i = 0; i < pattern->n; i++) {
    if (rows->ptr[i + 1] < rows->ptr[i]) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "ptr falls at row %d", i);
    for (tsi_count q = rows->ptr[i]; q < rows->ptr[i + 1]; q++) {
      const tsi_count p = place[q] < 0 ? ~place[q] : place[q];
      if (rows->index[q] < 0 || rows->index[q] >= pattern->n ||
          (q > rows->ptr[i] && rows->index[q - 1] >= rows->index[q]))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d has column %d", i, rows->index[q]);
      if (p >= pattern->ptr[pattern->n])
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d has entry %lld", i, (long long)p);
      const bool by_column = pattern->by_rows == (place[q] < 0);
      if (pattern->index[p] != (by_column ? i : rows->index[q]))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d, column %d has an entry of another place", i,
                 rows->index[q]);
    }
  }
  return TRISTAR_OK;
}

tristar_status tsi_full_columns(tsi_env *env, const tsi_pattern *pattern, const void *values, tsi_part part,
                                tsi_entries *out) {
  TSI_OWNED double *parts = NULL;
  if (values) TSI_TRY(tsi_pattern_part(env, pattern, values, part, &parts));
  const wanted w = {pattern, false, false, parts};
  return make(env, &w, values ? sizeof *parts : 0, out);
}
