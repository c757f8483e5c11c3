/* Makes full matrices from patterns: see full.h. */
#include "runtime/matrix/full.h"

/* The full matrix to make. */
typedef struct requested {
  const tsi_pattern *pattern;
  bool by_rows;
  bool from_above;      /* GENERAL pattern: its upper triangle and the mirror image of this triangle. */
  const double *values; /* Items; NULL: positions, if there are items. */
} requested;

#define CONSTANTS static inline __attribute__((always_inline))

/* Is entry (j, i) of line j used? */
CONSTANTS bool is_requested(const requested *w, tsi_index j, tsi_index i, bool some) {
  return !some || (w->pattern->by_rows ? i >= j : i <= j);
}

/* ptr[line + 1]: entries of each line. Constants: mirror: mirror images count, too; some: not all entries are
 * used; neither: rows and columns are exchanged. */
CONSTANTS void count(const requested *w, tsi_entries *out, const bool mirror, const bool some) {
  const tsi_pattern *p = w->pattern;
  tsi_count *counts = out->ptr + 1;
  for (tsi_index j = 0; j < p->n; j++) {
    tsi_count own = 0;
    for (tsi_count e = p->ptr[j]; e < p->ptr[j + 1]; e++) {
      const tsi_index i = p->index[e];
      if (!is_requested(w, j, i, some)) continue;
      own++;
      if (!mirror || i != j) counts[i]++;
    }
    if (mirror) counts[j] += own;
  }
}

/* Entry `place` of the pattern, or, complemented, the mirror image of an entry, becomes entry `at`. valued,
 * places: constants. */
CONSTANTS void put(const requested *w, tsi_entries *out, tsi_count at, tsi_index index, tsi_count place,
                   const bool valued, const bool places) {
  out->index[at] = index;
  if (valued)
    ((double *)out->item)[at] = w->values[place < 0 ? ~place : place];
  else if (places)
    ((tsi_count *)out->item)[at] = place;
}

/* Visits the lines of the pattern in order, so the entries of a new line have ascending indices, unless a
 * symmetric kind has entries in both triangles. Constants as above. */
CONSTANTS void put_all(const requested *w, tsi_entries *out, const bool mirror, const bool some,
                       const bool valued, const bool places) {
  const tsi_pattern *p = w->pattern;
  const bool as_given = p->by_rows == w->by_rows;
  tsi_count *next = out->ptr;
  for (tsi_index j = 0; j < p->n; j++) {
    tsi_count own = next[j]; /* with mirror images: position of the line's own entries */
    for (tsi_count e = p->ptr[j]; e < p->ptr[j + 1]; e++) {
      const tsi_index i = p->index[e];
      if (!is_requested(w, j, i, some)) continue;
      if (!mirror || i != j) put(w, out, next[i]++, j, mirror && as_given ? ~e : e, valued, places);
      if (mirror) put(w, out, own++, i, as_given || i == j ? e : ~e, valued, places);
    }
    if (mirror) next[j] = own;
  }
}

/* Copies the lines of a GENERAL pattern in their order. */
static void copy_all(const requested *w, tsi_entries *out) {
  const tsi_pattern *p = w->pattern;
  const tsi_count entries = p->ptr[p->n];
  if (entries == 0) return;
  memcpy(out->index, p->index, (size_t)entries * sizeof *out->index);
  if (w->values) memcpy(out->item, w->values, (size_t)entries * sizeof *w->values);
}

static tristar_status make(tsi_env *env, const requested *w, size_t bytes, tsi_entries *out) {
  const tsi_pattern *p = w->pattern;
  const bool mirror = w->from_above || p->symmetry != TRISTAR_GENERAL;
  TSI_TRY(tsi_entries_begin(env, p->n, bytes, out));
  if (!mirror && p->by_rows == w->by_rows) {
    if (w->values == NULL) out->bytes = 0; /* positions are the entries' own */
    memcpy(out->ptr, p->ptr, ((size_t)p->n + 1) * sizeof *out->ptr);
    TSI_TRY(tsi_entries_allocate(env, out));
    copy_all(w, out);
    return TRISTAR_OK;
  }
  if (w->from_above)
    count(w, out, true, true);
  else if (mirror)
    count(w, out, true, false);
  else
    count(w, out, false, false);
  TSI_TRY(tsi_entries_reserve(env, out));
  if (w->from_above)
    put_all(w, out, true, true, w->values != NULL, out->item != NULL);
  else if (w->values)
    put_all(w, out, mirror, false, true, true);
  else if (out->item == NULL)
    put_all(w, out, mirror, false, false, false);
  else if (mirror)
    put_all(w, out, true, false, false, true);
  else
    put_all(w, out, false, false, false, true);
  tsi_entries_end(out);
  return mirror && tsi_pattern_has_both(p) ? tsi_entries_sort(env, out) : TRISTAR_OK;
}

tristar_status tsi_full_rows(tsi_env *env, const tsi_pattern *pattern, bool symmetric, tsi_entries *out) {
  const requested w = {pattern, true, symmetric && pattern->symmetry == TRISTAR_GENERAL, NULL};
  return make(env, &w, sizeof(tsi_count), out);
}

void tsi_full_gather(const tsi_pattern *pattern, const tsi_entries *rows, tristar_symmetry symmetry,
                     tsi_count first, tsi_count count, const void *values, void *to) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(pattern->scalar);
  const size_t bytes = kernels->scalar_bytes;
  if (rows->item)
    kernels->gather(count, (const tsi_count *)rows->item + first, symmetry, values, to);
  else if (count > 0)
    memcpy(to, (const char *)values + (size_t)first * bytes, (size_t)count * bytes);
}

tristar_status tsi_full_rows_check(tsi_env *env, const tsi_pattern *pattern, const tsi_entries *rows) {
  const tsi_count *places = rows->item;
  if (rows->ptr[0] != 0) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "ptr[0] is not 0");
  for (tsi_index i = 0; i < pattern->n; i++) {
    if (rows->ptr[i + 1] < rows->ptr[i]) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "ptr falls at row %d", i);
    for (tsi_count q = rows->ptr[i]; q < rows->ptr[i + 1]; q++) {
      const tsi_count place = places ? places[q] : q, p = place < 0 ? ~place : place;
      if (rows->index[q] < 0 || rows->index[q] >= pattern->n ||
          (q > rows->ptr[i] && rows->index[q - 1] >= rows->index[q]))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d has column %d", i, rows->index[q]);
      if (p >= pattern->ptr[pattern->n])
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d has entry %lld", i, (long long)p);
      const bool by_column = pattern->by_rows == (place < 0);
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
  const requested w = {pattern, false, false, parts};
  return make(env, &w, values ? sizeof *parts : 0, out);
}
