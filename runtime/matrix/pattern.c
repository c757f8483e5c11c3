/* Verifies and copies the user's matrix: see pattern.h. */
#include "runtime/matrix/pattern.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/matrix/matrix.h"
#include "runtime/base/grow.h"
#include "runtime/base/sort.h"
#include "runtime/matrix/view.h"

/* Verifies the additional requirements of a factorization, except for the arrays. */
static tristar_status check_square(tsi_env *env, const tristar_view *view) {
  if (view->rows != view->cols)
    TSI_FAIL(env, TRISTAR_ERR_RECTANGULAR, "the matrix is not square: %" PRId64 " rows, %" PRId64 " columns",
             view->rows, view->cols);
  return tsi_view_check_head(env, view);
}

/* ---- Arrays of a view ---------------------------------------------------------------------------------- */

/* Copies ptr minus its base. Returns whether it begins with 0 and never decreases: a decrease makes a
 * difference negative, or follows a negative number. Like the other loops here it has no early exit, so
 * compilers can vectorize it. */
#define COPY_PTR(bits)                                                                                       \
  static bool copy_ptr_##bits(const tristar_view *view, tsi_index n, tsi_count *restrict to) {               \
    const int##bits##_t *restrict from = view->ptr;                                                          \
    const uint##bits##_t base = (uint##bits##_t)view->base;                                                  \
    uint##bits##_t seen = 0;                                                                                 \
    for (tsi_index j = 0; j < n; j++) {                                                                      \
      const uint##bits##_t own = (uint##bits##_t)from[j], next = (uint##bits##_t)from[j + 1];                \
      to[j] = (tsi_count)(own - base);                                                                       \
      seen |= next | (next - own);                                                                           \
    }                                                                                                        \
    to[n] = (tsi_count)((uint##bits##_t)from[n] - base);                                                     \
    return from[0] == view->base && seen >> (bits - 1) == 0;                                                 \
  }
COPY_PTR(32)
COPY_PTR(64)

/* Copies some indices minus their base. Returns whether each is in range. *falls: number of indices that are
 * not above the one before. */
#define COPY_INDEX(bits)                                                                                     \
  static bool copy_index_##bits(const tristar_view *view, tsi_count begin, tsi_index some,                   \
                                tsi_index *restrict to, tsi_index *falls) {                                  \
    const int##bits##_t *restrict own = (const int##bits##_t *)view->index + begin;                          \
    const uint##bits##_t base = (uint##bits##_t)view->base, last = (uint##bits##_t)(view->rows - 1);         \
    uint##bits##_t seen = 0;                                                                                 \
    tsi_index here = begin > 0 && some > 0 && own[-1] >= own[0];                                             \
    for (tsi_index k = 0; k < some; k++) {                                                                   \
      const uint##bits##_t i = (uint##bits##_t)own[k] - base;                                                \
      to[k] = (tsi_index)i;                                                                                  \
      seen |= i | (last - i);                                                                                \
    }                                                                                                        \
    for (tsi_index k = 1; k < some; k++) here += own[k - 1] >= own[k];                                       \
    *falls = here;                                                                                           \
    return seen >> (bits - 1) == 0;                                                                          \
  }
COPY_INDEX(32)
COPY_INDEX(64)

/* Entries that are copied together: they stay in the cache while their lines are verified. */
#define SOME_ENTRIES 4096

/* Copies the indices of lines; ptr is already set. Returns whether they are in range. *ascend: each line
 * ascends strictly. */
static bool copy_lines(const tristar_view *view, tsi_pattern *to, bool *ascend) {
  const tsi_count *ptr = to->ptr;
  tsi_count falls = 0, between = 0; /* of all entries; at the starts of lines */
  tsi_index j = 1, here;
  bool inside = true;
  for (tsi_count begin = 0; begin < to->given; begin += SOME_ENTRIES) {
    const tsi_index some = (tsi_index)tsi_count_min(SOME_ENTRIES, to->given - begin);
    inside &=
        (view->index_bits == 64 ? copy_index_64 : copy_index_32)(view, begin, some, to->index + begin, &here);
    falls += here;
    for (; j < to->n && ptr[j] < begin + some; j++)
      if (ptr[j] > 0 && ptr[j] < ptr[j + 1]) between += to->index[ptr[j] - 1] >= to->index[ptr[j]];
  }
  *ascend = falls == between;
  return inside;
}

/* Can the values be verified without their places, and are they right? */
static bool are_values_right(const tristar_view *view, tsi_count entries) {
  if (view->values == NULL || entries == 0) return true;
  if (view->symmetry == TRISTAR_SKEW_SYMMETRIC || view->symmetry == TRISTAR_HERMITIAN) return false;
  return tsi_sparse_kernels_select((char)view->scalar)->first_not_finite(entries, view->values) == entries;
}

/* Verifies the view and copies its arrays, which the pattern then owns. */
static tristar_status take_arrays(tsi_env *env, const tristar_view *view, tsi_pattern *to, bool *ascend) {
  TSI_TRY(TSI_ALLOC_IN(to, to->ptr, (tsi_count)to->n + 1));
  bool right = (view->ptr_bits == 64 ? copy_ptr_64 : copy_ptr_32)(view, to->n, to->ptr);
  right = right && (to->ptr[to->n] == 0 || view->index != NULL);
  if (!right) TSI_TRY(tsi_view_check(env, view)); /* which reports the error */
  to->given = to->ptr[to->n];
  TSI_TRY(TSI_ALLOC_IN(to, to->index, to->given));
  right = copy_lines(view, to, ascend) && are_values_right(view, to->given);
  return right ? TRISTAR_OK : tsi_view_check(env, view); /* entry by entry */
}

/* ---- No duplicates ------------------------------------------------------------------------------------- */

/* Merges entries at one place into the first; `place` receives the merged entry of each. number: of each
 * entry in the sorted lines. */
static void merge(tsi_pattern *pattern, const tsi_count *number) {
  tsi_count to = 0, end = 0; /* ends of the lines before, after and before merging */
  for (tsi_index j = 0; j < pattern->n; j++) {
    const tsi_count first = to;
    tsi_count e = end;
    for (end = pattern->ptr[j + 1]; e < end; e++) {
      if (to == first || pattern->index[e] != pattern->index[to - 1])
        pattern->index[to++] = pattern->index[e];
      pattern->place[number[e]] = to - 1;
    }
    pattern->ptr[j + 1] = to;
  }
}

/* Sorts the lines and merges entries at one place. */
static tristar_status sort_lines(tsi_env *env, tsi_pattern *pattern) {
  TSI_OWNED tsi_count *number = NULL;
  tsi_entries lines = {pattern->n, sizeof *number, pattern->ptr, pattern->index, NULL};
  TSI_TRY(TSI_ALLOC(env, number, pattern->given));
  TSI_TRY(TSI_ALLOC_IN(pattern, pattern->place, pattern->given));
  for (tsi_count e = 0; e < pattern->given; e++) number[e] = e;
  lines.item = number;
  TSI_TRY(tsi_entries_sort(env, &lines));
  merge(pattern, number);
  const tsi_count entries = pattern->ptr[pattern->n];
  return tsi_grow(env, (void **)&pattern->index, sizeof *pattern->index, entries, entries);
}

tsi_count tsi_pattern_find(const tsi_pattern *pattern, tsi_index line, tsi_index index) {
  return tsi_find_sorted(pattern->index, pattern->ptr[line], pattern->ptr[line + 1], index);
}

bool tsi_pattern_has_both(const tsi_pattern *pattern) {
  bool above = false, below = false;
  for (tsi_index j = 0; j < pattern->n; j++) {
    const tsi_count first = pattern->ptr[j], end = pattern->ptr[j + 1];
    if (first == end) continue;
    below |= pattern->index[first] < j;
    above |= pattern->index[end - 1] > j;
  }
  return above && below;
}

/* A symmetric kind must store only one entry of each pair (i, j), (j, i): otherwise the pair would be added
 * twice. Repeated entries at one place are summed as usual. */
static tristar_status check_one_of_each_pair(tsi_env *env, const tsi_pattern *pattern) {
  if (pattern->symmetry == TRISTAR_GENERAL || !tsi_pattern_has_both(pattern)) return TRISTAR_OK;
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++)
      if (pattern->index[p] > j && tsi_pattern_find(pattern, pattern->index[p], j) != TSI_NONE)
        TSI_FAIL(env, TRISTAR_ERR_FORMAT,
                 "entries (%d,%d) and (%d,%d), counted from 0, are both stored: of a %s matrix only one of "
                 "them is, unless it is declared general",
                 pattern->index[p], j, j, pattern->index[p], tsi_symmetry_name(pattern->symmetry));
  return TRISTAR_OK;
}

tristar_status tsi_pattern_create(tsi_env *env, const tristar_view *view, tsi_pattern **out) {
  TSI_OWNED tsi_pattern *pattern = NULL;
  bool ascend;
  *out = NULL;
  TSI_TRY(check_square(env, view));
  TSI_TRY(TSI_ALLOC_ZERO(env, pattern, 1));
  pattern->n = (tsi_index)view->rows;
  pattern->by_rows = view->format == TRISTAR_CSR;
  pattern->scalar = (char)view->scalar;
  pattern->symmetry = view->symmetry;
  if (view->symmetry == TRISTAR_HERMITIAN && !tsi_sparse_kernels_select(pattern->scalar)->is_complex)
    pattern->symmetry = TRISTAR_SYMMETRIC;
  TSI_TRY(take_arrays(env, view, pattern, &ascend));
  if (!ascend) TSI_TRY(sort_lines(env, pattern));
  TSI_TRY(check_one_of_each_pair(env, pattern));
  *out = tsi_take(&pattern);
  return TRISTAR_OK;
}

tristar_status tsi_pattern_from_entries(tsi_env *env, tsi_entries *entries, bool by_rows, char scalar,
                                        tsi_pattern **out, void **values) {
  TSI_TRY(TSI_ALLOC(env, *out, 1));
  **out = (tsi_pattern){.n = entries->n,
                        .by_rows = by_rows,
                        .scalar = scalar,
                        .symmetry = TRISTAR_GENERAL,
                        .ptr = entries->ptr,
                        .index = entries->index,
                        .given = entries->ptr[entries->n]};
  tsi_own(*out, entries->ptr);
  tsi_own(*out, entries->index);
  *values = entries->item;
  *entries = (tsi_entries){.ptr = NULL};
  return TRISTAR_OK;
}

tristar_status tsi_pattern_copy(tsi_env *env, const tsi_pattern *from, tsi_pattern **out) {
  TSI_OWNED tsi_pattern *to = NULL;
  *out = NULL;
  const tsi_count lines = (tsi_count)from->n + 1, entries = from->ptr[from->n];
  TSI_TRY(TSI_ALLOC(env, to, 1));
  *to = *from;
  to->ptr = to->place = NULL;
  to->index = NULL;
  TSI_TRY(TSI_ALLOC_IN(to, to->ptr, lines));
  TSI_TRY(TSI_ALLOC_IN(to, to->index, entries));
  if (from->place) TSI_TRY(TSI_ALLOC_IN(to, to->place, from->given));
  for (tsi_count j = 0; j < lines; j++) to->ptr[j] = from->ptr[j];
  for (tsi_count p = 0; p < entries; p++) to->index[p] = from->index[p];
  for (tsi_count p = 0; from->place && p < from->given; p++) to->place[p] = from->place[p];
  *out = tsi_take(&to);
  return TRISTAR_OK;
}

bool tsi_pattern_equal(const tsi_pattern *a, const tsi_pattern *b) {
  const size_t lines = (size_t)a->n + 1;
  if (a->n != b->n || a->by_rows != b->by_rows || a->scalar != b->scalar || a->symmetry != b->symmetry ||
      a->given != b->given || (a->place == NULL) != (b->place == NULL) ||
      memcmp(a->ptr, b->ptr, lines * sizeof *a->ptr) != 0)
    return false;
  return memcmp(a->index, b->index, (size_t)a->ptr[a->n] * sizeof *a->index) == 0 &&
         (a->place == NULL || memcmp(a->place, b->place, (size_t)a->given * sizeof *a->place) == 0);
}

/* Do the arrays of the view equal the arrays of the pattern? */
#define HAS_ARRAY(bits, type)                                                                                \
  static bool has_##type##_##bits(const int##bits##_t *from, int base, tsi_count count, const type *to) {    \
    uint##bits##_t apart = 0;                                                                                \
    for (tsi_count k = 0; k < count; k++)                                                                    \
      apart |= ((uint##bits##_t)from[k] - (uint##bits##_t)base) ^ (uint##bits##_t)to[k];                     \
    return apart == 0;                                                                                       \
  }
HAS_ARRAY(32, tsi_count)
HAS_ARRAY(64, tsi_count)
HAS_ARRAY(32, tsi_index)
HAS_ARRAY(64, tsi_index)

static bool has_arrays(const tsi_pattern *pattern, const tristar_view *view) {
  const tsi_count lines = (tsi_count)pattern->n + 1, entries = pattern->given;
  const bool ptr = view->ptr_bits == 64
                       ? has_tsi_count_64(view->ptr, view->base, lines, pattern->ptr)
                       : entries <= INT32_MAX && has_tsi_count_32(view->ptr, view->base, lines, pattern->ptr);
  if (!ptr || entries == 0) return ptr;
  if (view->index == NULL) return false;
  return view->index_bits == 64 ? has_tsi_index_64(view->index, view->base, entries, pattern->index)
                                : has_tsi_index_32(view->index, view->base, entries, pattern->index);
}

tristar_status tsi_pattern_fits(tsi_env *env, const tsi_pattern *pattern, const tristar_view *view,
                                bool *fits) {
  TSI_OWNED tsi_pattern *other = NULL;
  if (pattern->place == NULL) {
    TSI_TRY(check_square(env, view));
    *fits = view->rows == pattern->n && (view->format == TRISTAR_CSR) == pattern->by_rows &&
            (char)view->scalar == pattern->scalar && view->symmetry == pattern->symmetry &&
            has_arrays(pattern, view);
    if (*fits) return are_values_right(view, pattern->given) ? TRISTAR_OK : tsi_view_check(env, view);
  }
  TSI_TRY(tsi_pattern_create(env, view, &other)); /* may report an error */
  *fits = tsi_pattern_equal(other, pattern);
  return TRISTAR_OK;
}

tristar_status tsi_pattern_allocate_values(tsi_env *env, const tsi_pattern *pattern, void **values) {
  return TSI_ALLOC_SIZED(env, *values, pattern->ptr[pattern->n],
                         tsi_sparse_kernels_select(pattern->scalar)->scalar_bytes);
}

void tsi_pattern_take(const tsi_pattern *pattern, const void *given, void *values) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(pattern->scalar);
  const size_t bytes = (size_t)pattern->ptr[pattern->n] * kernels->scalar_bytes;
  if (pattern->given == 0) return;
  if (pattern->place != NULL) {
    memset(values, 0, bytes);
    kernels->add_at(pattern->given, pattern->place, given, values);
  } else
    memcpy(values, given, bytes);
}

/* The line of entry p. */
static tsi_index line_of(const tsi_count *ptr, tsi_count p) {
  tsi_index j = 0;
  while (ptr[j + 1] <= p) j++;
  return j;
}

/* A skew-symmetric matrix must have zeros on its diagonal, a Hermitian one real numbers. */
static tristar_status check_diagonal(tsi_env *env, const tsi_pattern *pattern, const void *values) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(pattern->scalar);
  if (pattern->symmetry != TRISTAR_SKEW_SYMMETRIC && pattern->symmetry != TRISTAR_HERMITIAN)
    return TRISTAR_OK;
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      double re, im;
      if (pattern->index[p] != j) continue;
      const char *value = (const char *)values + (size_t)p * kernels->scalar_bytes;
      kernels->part(1, value, TSI_PART_REAL, &re);
      kernels->part(1, value, TSI_PART_IMAGINARY, &im);
      if (im != 0 || (re != 0 && pattern->symmetry == TRISTAR_SKEW_SYMMETRIC))
        TSI_FAIL(env, TRISTAR_ERR_FORMAT, "diagonal entry %d (counted from 0) of a %s matrix is not %s", j,
                 tsi_symmetry_name(pattern->symmetry),
                 pattern->symmetry == TRISTAR_HERMITIAN ? "real" : "zero");
    }
  return TRISTAR_OK;
}

tristar_status tsi_pattern_check_values(tsi_env *env, const tsi_pattern *pattern, const void *values) {
  const tsi_count entries = pattern->ptr[pattern->n];
  const tsi_count p = tsi_sparse_kernels_select(pattern->scalar)->first_not_finite(entries, values);
  if (p == entries) return check_diagonal(env, pattern, values);
  const tsi_index j = line_of(pattern->ptr, p);
  TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE,
           "the matrix has NaN or infinity in row %d, column %d (counted from 0)",
           pattern->by_rows ? j : pattern->index[p], pattern->by_rows ? pattern->index[p] : j);
}

tristar_status tsi_pattern_find_unlike(tsi_env *env, const tsi_pattern *pattern, const void *values,
                                       bool adjoint, tsi_unlike *out) {
  const tsi_sparse a = tsi_pattern_sparse(pattern, values);
  *out = (tsi_unlike){.found = false};
  TSI_SCRATCH(env, tsi_count, next, pattern->n);
  const tsi_count p =
      tsi_sparse_kernels_select(pattern->scalar)->first_unlike(&a, adjoint, TSI_SAME, next, &out->rounded);
  if (p == a.ptr[a.n]) return TRISTAR_OK;
  const tsi_index j = line_of(a.ptr, p);
  *out = (tsi_unlike){.found = true, .row = a.by_rows ? j : a.index[p], .column = a.by_rows ? a.index[p] : j};
  return TRISTAR_OK;
}

const char *tsi_unlike_text(const tsi_unlike *unlike, bool both, char text[TSI_UNLIKE_TEXT]) {
  const tsi_index i = unlike->row, j = unlike->column, k = unlike->plain_row, l = unlike->plain_column;
  char real[96];
  if (i == j)
    snprintf(real, sizeof real, "the diagonal entry (%d,%d) is not real", i, i);
  else
    snprintf(real, sizeof real, "entries (%d,%d) and (%d,%d) are not conjugate", i, j, j, i);
  if (both)
    snprintf(text, TSI_UNLIKE_TEXT,
             "entries (%d,%d) and (%d,%d), counted from 0, are no mirror images of a symmetric matrix; for a "
             "Hermitian one %s",
             k, l, l, k, real);
  else if (i == j)
    snprintf(text, TSI_UNLIKE_TEXT, "%s (counted from 0)", real);
  else
    snprintf(text, TSI_UNLIKE_TEXT, "entries (%d,%d) and (%d,%d), counted from 0, are no mirror images", i, j,
             j, i);
  return text;
}

/* As lines ascend, the entries (i, j) with i > j of line i are needed in the order of j: next[i] is the first
 * one that has not been compared. Each complete pair is found once. */
tristar_status tsi_pattern_missing_mirrors(tsi_env *env, const tsi_pattern *pattern, tsi_count *missing) {
  const tsi_count *ptr = pattern->ptr;
  tsi_count single = 0;
  *missing = 0;
  if (pattern->symmetry != TRISTAR_GENERAL) return TRISTAR_OK;
  TSI_SCRATCH(env, tsi_count, next, pattern->n);
  for (tsi_index j = 0; j < pattern->n; j++) next[j] = ptr[j];
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = ptr[j]; p < ptr[j + 1]; p++) {
      const tsi_index i = pattern->index[p];
      if (i == j) continue;
      single++;
      if (i < j) continue;
      while (next[i] < ptr[i + 1] && pattern->index[next[i]] < j) next[i]++;
      if (next[i] < ptr[i + 1] && pattern->index[next[i]] == j) single -= 2;
    }
  *missing = single;
  return TRISTAR_OK;
}

tristar_status tsi_pattern_part(tsi_env *env, const tsi_pattern *pattern, const void *values, tsi_part part,
                                double **out) {
  const tsi_count entries = pattern->ptr[pattern->n];
  TSI_TRY(TSI_ALLOC(env, *out, entries));
  tsi_sparse_kernels_select(pattern->scalar)->part(entries, values, part, *out);
  return TRISTAR_OK;
}

tristar_view tsi_pattern_view(const tsi_pattern *pattern, const void *values) {
  return (tristar_view){.format = pattern->by_rows ? TRISTAR_CSR : TRISTAR_CSC,
                        .symmetry = pattern->symmetry,
                        .scalar = (tristar_scalar)pattern->scalar,
                        .rows = pattern->n,
                        .cols = pattern->n,
                        .ptr = pattern->ptr,
                        .index = pattern->index,
                        .values = values,
                        .ptr_bits = 64,
                        .index_bits = 32};
}

tsi_sparse tsi_pattern_sparse(const tsi_pattern *pattern, const void *values) {
  return (tsi_sparse){pattern->n, pattern->by_rows, pattern->symmetry, pattern->ptr, pattern->index, values};
}

tsi_count tsi_pattern_entries(const tsi_pattern *pattern) {
  tsi_count entries = pattern->ptr[pattern->n];
  if (pattern->symmetry == TRISTAR_GENERAL) return entries;
  entries *= 2;
  for (tsi_index j = 0; j < pattern->n; j++) entries -= tsi_pattern_find(pattern, j, j) != TSI_NONE;
  return entries;
}
