/* Two factors of a sparse approximate inverse, row by row: see fsai_pair.h. Compiled for each scalar type and
 * instruction set. The compiler vectorizes loops over the columns of a row; this does not change the order of
 * any sum. */
#include "codelets/cpu/fsai/fsai_pair.h"

#include <string.h>

#include "codelets/cpu/fsai/fsai_pattern.h"
#include "runtime/base/sort.h"

#define LONG_ROW 16 /* entries per column of a pattern, from which on entries are found by search */

/* ---- The Hermitian matrix ------------------------------------------------------------------------------ */

/* Returns the number of magnitude 1 whose product with `diagonal` is positive. */
INLINE tsi_scalar phase_of(tsi_scalar diagonal) {
  const tsi_real size = tsi_abs(diagonal);
  return size > 0 ? tsi_conj(diagonal) / size : 1;
}

static void find_phases(const tsi_factor_rows *a, void *to) {
  tsi_scalar *phase = to;
  for (tsi_index i = 0; i < a->n; i++) phase[i] = phase_of(((const tsi_scalar *)a->values)[a->diagonal[i]]);
}

/* a x */
INLINE tsi_scalar product(tsi_scalar a, tsi_scalar x) {
  tsi_scalar sum = 0;
  tsi_add_product(&sum, a, x);
  return sum;
}

/* Rows are visited in order, so the images of their entries in any other row are visited in order, too. */
static void take_part(const tsi_factor_rows *a, const void *phases, tsi_count *next, void *to) {
  const tsi_scalar *values = a->values, *phase = phases;
  tsi_scalar *part = to;
  for (tsi_index i = 0; i < a->n; i++) next[i] = a->ptr[i];
  for (tsi_index i = 0; i < a->n; i++)
    for (tsi_count e = a->ptr[i]; e < a->ptr[i + 1]; e++) {
      const tsi_index j = a->index[e];
      const tsi_scalar image = product(phase[j], values[next[j]++]);
      part[e] = (product(phase[i], values[e]) + tsi_conj(image)) / 2;
      if (i == j) part[e] = tsi_abs(values[e]);
    }
}

/* ---- The system ---------------------------------------------------------------------------------------- */

/* Returns entry (i, j); 0 if there is none. */
static tsi_scalar entry_at(const tsi_matrix_rows *a, tsi_index i, tsi_index j) {
  const tsi_count end = a->ptr[i + 1], at = tsi_lower_bound(a->index, a->ptr[i], end, j);
  return at < end && a->index[at] == j ? ((const tsi_scalar *)a->values)[at] : 0;
}

/* Gathers A[P, P]. Rows of A and the pattern ascend; in long rows entries are found by search. */
static void gather(const tsi_matrix_rows *a, tsi_index count, const tsi_index *pattern,
                   tsi_fsai_pair_work *w) {
  const tsi_scalar *values = a->values;
  for (tsi_index r = 0; r < count; r++) {
    tsi_scalar *row = (tsi_scalar *)w->system + (ptrdiff_t)r * w->most;
    const tsi_count end = a->ptr[pattern[r] + 1];
    tsi_count e = a->ptr[pattern[r]];
    if (end - e > (tsi_count)LONG_ROW * count) {
      for (tsi_index c = 0; c < count; c++) row[c] = entry_at(a, pattern[r], pattern[c]);
      continue;
    }
    for (tsi_index c = 0; c < count; c++) {
      while (e < end && a->index[e] < pattern[c]) e++;
      row[c] = e < end && a->index[e] == pattern[c] ? values[e] : 0;
    }
  }
}

/* x += a y */
INLINE void add_row(tsi_index count, tsi_scalar a, const tsi_scalar *restrict y, tsi_scalar *restrict x) {
  for (tsi_index c = 0; c < count; c++) tsi_add_product(&x[c], a, y[c]);
}

static void exchange_rows(tsi_index count, tsi_scalar *restrict x, tsi_scalar *restrict y) {
  for (tsi_index c = 0; c < count; c++) {
    const tsi_scalar other = x[c];
    x[c] = y[c];
    y[c] = other;
  }
}

/* Factors the system into L and U, with the inverses of U's diagonal entries; L has a unit diagonal. */
static tsi_breakdown_kind factor(tsi_index count, tsi_fsai_pair_work *w) {
  const ptrdiff_t stride = w->most;
  tsi_scalar *k = w->system;
  for (tsi_index r = 0; r < count; r++) w->order[r] = r;
  for (tsi_index c = 0; c < count; c++) {
    tsi_scalar *own = k + c * stride;
    tsi_index best = c;
    for (tsi_index r = c + 1; r < count; r++)
      if (tsi_abs(k[r * stride + c]) > tsi_abs(k[best * stride + c])) best = r;
    if (best != c) {
      const tsi_index other = w->order[c];
      exchange_rows(count, own, k + best * stride);
      w->order[c] = w->order[best];
      w->order[best] = other;
    }
    const tsi_breakdown_kind kind = tsi_judge_pivot(own[c]);
    if (kind != TSI_BREAKDOWN_NONE) return kind;
    own[c] = (tsi_scalar)(1 / (tsi_wide)own[c]);
    for (tsi_index r = c + 1; r < count; r++) {
      tsi_scalar *row = k + r * stride;
      if (row[c] == 0) continue;
      row[c] = product(row[c], own[c]);
      add_row(count - c - 1, -row[c], own + c + 1, row + c + 1);
    }
  }
  return TSI_BREAKDOWN_NONE;
}

/* Solves g A[P, P] = e^T, e the last unit vector. The solution with U has a single entry, with which L^T is
 * solved. */
static void solve_row(tsi_index count, tsi_fsai_pair_work *w) {
  const ptrdiff_t stride = w->most;
  const tsi_scalar *k = w->system;
  tsi_scalar *x = w->solution, *g = w->g;
  for (tsi_index r = 0; r < count; r++) x[r] = 0;
  x[count - 1] = k[(count - 1) * stride + count - 1];
  for (tsi_index r = count - 1; r > 0; r--) add_row(r, -x[r], k + r * stride, x);
  for (tsi_index r = 0; r < count; r++) g[w->order[r]] = x[r];
}

/* Solves A[P, P] h = e. */
static void solve_column(tsi_index count, tsi_fsai_pair_work *w) {
  const ptrdiff_t stride = w->most;
  const tsi_scalar *k = w->system;
  tsi_scalar *h = w->h;
  tsi_index first = 0;
  while (w->order[first] != count - 1) first++;
  for (tsi_index r = 0; r < count; r++) {
    h[r] = r == first ? 1 : 0;
    for (tsi_index c = first; c < r; c++) tsi_add_product(&h[r], -k[r * stride + c], h[c]);
  }
  for (tsi_index r = count - 1; r >= 0; r--) {
    for (tsi_index c = r + 1; c < count; c++) tsi_add_product(&h[r], -k[r * stride + c], h[c]);
    h[r] = product(k[r * stride + r], h[r]);
  }
}

/* Computes g and h, if they exist. */
static tsi_breakdown_kind solve(const tsi_matrix_rows *a, tsi_index count, const tsi_index *pattern,
                                tsi_fsai_pair_work *w) {
  gather(a, count, pattern, w);
  const tsi_breakdown_kind kind = factor(count, w);
  if (kind != TSI_BREAKDOWN_NONE) return kind;
  solve_row(count, w);
  solve_column(count, w);
  return TSI_BREAKDOWN_NONE;
}

/* Can g and h be scaled? */
static tsi_breakdown_kind judge(tsi_index count, const tsi_fsai_pair_work *w) {
  return tsi_judge_pivot(((const tsi_scalar *)w->h)[count - 1]);
}

/* ---- Patterns that grow -------------------------------------------------------------------------------- */

/* Gives slots, with zeros, to the columns left of i in which rows of the pattern have entries. */
static void reach_columns(const tsi_matrix_rows *a, const tsi_fsai_row *row, tsi_fsai_work *reach,
                          tsi_fsai_pair_work *w) {
  reach->slots = 0;
  for (tsi_index r = 0; r < row->entries; r++)
    for (tsi_count e = a->ptr[row->index[r]]; e < a->ptr[row->index[r] + 1] && a->index[e] < row->i; e++) {
      tsi_index *slot = &reach->place[a->index[e]];
      if (*slot >= 0) continue;
      *slot = reach->slots++;
      reach->column[*slot] = a->index[e];
      w->size[*slot] = 0;
    }
}

/* Adds the magnitudes of the entries of g A to the sizes of their slots. */
static void add_row_sizes(const tsi_matrix_rows *a, const tsi_fsai_row *row, const tsi_scalar *g,
                          tsi_fsai_work *reach, const tsi_fsai_pair_work *w) {
  const tsi_scalar *values = a->values;
  tsi_scalar *y = reach->gradient;
  for (tsi_index s = 0; s < reach->slots; s++) y[s] = 0;
  for (tsi_index r = 0; r < row->entries; r++)
    for (tsi_count e = a->ptr[row->index[r]]; e < a->ptr[row->index[r] + 1] && a->index[e] < row->i; e++)
      tsi_add_product(&y[reach->place[a->index[e]]], g[r], values[e]);
  for (tsi_index s = 0; s < reach->slots; s++) w->size[s] += (double)tsi_abs(y[s]);
}

/* Does the same for A h. Row p of H contains (S A)_jp for all j: conj((S A)_jp) = 2 H_pj - (S A)_pj. */
static void add_column_sizes(const tsi_matrix_rows *a, const tsi_scalar *part, const tsi_fsai_row *row,
                             const tsi_scalar *h, tsi_fsai_work *reach, const tsi_fsai_pair_work *w) {
  const tsi_scalar *values = a->values;
  tsi_scalar *y = reach->gradient;
  for (tsi_index s = 0; s < reach->slots; s++) y[s] = 0;
  for (tsi_index r = 0; r < row->entries; r++) {
    const tsi_index p = row->index[r];
    const tsi_scalar phase = phase_of(entry_at(a, p, p));
    for (tsi_count e = a->ptr[p]; e < a->ptr[p + 1] && a->index[e] < row->i; e++)
      tsi_add_product(&y[reach->place[a->index[e]]], h[r], tsi_conj(2 * part[e] - product(phase, values[e])));
  }
  for (tsi_index s = 0; s < reach->slots; s++) w->size[s] += (double)tsi_abs(y[s]);
}

/* Picks the largest ones outside the pattern; returns their number. Frees the slots. */
static tsi_index pick(const tsi_fsai_row *row, tsi_index most, tsi_fsai_work *reach,
                      const tsi_fsai_pair_work *w) {
  tsi_index count = 0;
  for (tsi_index r = 0; r < row->entries; r++) {
    const tsi_index s = reach->place[row->index[r]];
    if (s >= 0) w->size[s] = 0;
  }
  for (tsi_index s = 0; s < reach->slots; s++) {
    if (w->size[s] > 0 && w->size[s] <= DBL_MAX)
      count = tsi_fsai_keep(s, w->size[s], count, most, reach->column, reach->picked, reach->magnitude);
    reach->place[reach->column[s]] = TSI_NONE;
  }
  return count;
}

static void join(tsi_fsai_row *row, tsi_index column) {
  tsi_index at = row->entries++;
  for (; at > 0 && row->index[at - 1] > column; at--) row->index[at] = row->index[at - 1];
  row->index[at] = column;
}

/* If the system of the pattern is singular, the largest entries of row and column i join. The result is the
 * latest pattern with a regular system, or else the given pattern. */
static void grow(const tsi_matrix_rows *a, const void *part, tsi_index per_step, tsi_index space,
                 tsi_fsai_row *row, tsi_fsai_work *reach, tsi_fsai_pair_work *w) {
  tsi_index *kept = w->kept, regular = 0;
  for (;;) {
    const bool solved = solve(a, row->entries, row->index, w) == TSI_BREAKDOWN_NONE;
    if (solved && judge(row->entries, w) == TSI_BREAKDOWN_NONE) {
      regular = row->entries;
      memcpy(kept, row->index, (size_t)regular * sizeof *kept);
    }
    if (!solved) {
      memset(w->g, 0, (size_t)row->entries * sizeof(tsi_scalar));
      ((tsi_scalar *)w->g)[row->entries - 1] = 1;
      memcpy(w->h, w->g, (size_t)row->entries * sizeof(tsi_scalar));
    }
    const tsi_index most = tsi_index_min(per_step, space - row->entries);
    if (most == 0) break;
    reach_columns(a, row, reach, w);
    add_row_sizes(a, row, w->g, reach, w);
    add_column_sizes(a, part, row, w->h, reach, w);
    const tsi_index picks = pick(row, most, reach, w);
    if (picks == 0) break;
    for (tsi_index k = 0; k < picks; k++) join(row, reach->column[reach->picked[k]]);
  }
  const tsi_index *columns = regular > 0 ? kept : row->given;
  row->entries = regular > 0 ? regular : row->count + 1;
  for (tsi_index r = 0; r < row->entries - 1; r++) row->index[r] = columns[r];
  row->index[row->entries - 1] = row->i;
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

/* Returns this share of the 2-norm. */
static double share_of_norm(double share, tsi_index count, const tsi_scalar *x) {
  double square = 0;
  for (tsi_index r = 0; r < count; r++) square += (double)tsi_abs(x[r]) * (double)tsi_abs(x[r]);
  return share * sqrt(square);
}

/* Drops columns that are small in both factors from the pattern. Returns the number of remaining columns. */
static tsi_index filter(double share, tsi_index count, tsi_index *pattern, const tsi_fsai_pair_work *w) {
  const tsi_scalar *g = w->g, *h = w->h;
  const double least_g = share_of_norm(share, count, g), least_h = share_of_norm(share, count, h);
  tsi_index kept = 0;
  for (tsi_index r = 0; r < count; r++) {
    const bool small = (double)tsi_abs(g[r]) < least_g && (double)tsi_abs(h[r]) < least_h;
    if (!small || r == count - 1) pattern[kept++] = pattern[r];
  }
  return kept;
}

static void row(const tsi_matrix_rows *a, double postfilter, tsi_fsai_row *row, void *upper,
                tsi_fsai_pair_work *w) {
  tsi_index count = row->entries;
  row->kind = solve(a, count, row->index, w);
  if (row->kind == TSI_BREAKDOWN_NONE && postfilter > 0) {
    const tsi_index kept = filter(postfilter, count, row->index, w);
    if (kept < count) row->kind = solve(a, kept, row->index, w);
    count = row->entries = kept;
  }
  if (row->kind == TSI_BREAKDOWN_NONE) row->kind = judge(count, w);
  if (row->kind != TSI_BREAKDOWN_NONE) return;
  const tsi_scalar *g = w->g, *h = w->h, d = h[count - 1];
  const tsi_real root = (tsi_real)sqrt((double)tsi_abs(d));
  const tsi_scalar factor_g = 1 / root, factor_h = (tsi_scalar)((double)root / (tsi_wide)d);
  tsi_scalar *lower_values = row->values, *upper_values = upper;
  for (tsi_index r = 0; r < count; r++) {
    lower_values[r] = product(factor_g, g[r]);
    upper_values[r] = product(factor_h, h[r]);
  }
  row->kind = tsi_judge_row(1, count, lower_values);
  if (row->kind == TSI_BREAKDOWN_NONE) row->kind = tsi_judge_row(1, count, upper_values);
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_fsai_pair_kernels), isa)

const tsi_fsai_pair_kernels TABLE(TSI_ISA) = {
    .isa = TSI_TEXT(TSI_ISA), .find_phases = find_phases, .take_part = take_part, .grow = grow, .row = row};
