/* Incomplete factors that keep large entries (Saad, ILUT: a dual threshold incomplete LU factorization,
 * 1994): see incomplete.h.
 *
 * A row is computed in work->row, an array of all columns. place[j] = i means that column j takes part in row
 * i, so no array is cleared between rows. Of entries with equal magnitudes the smaller column stays, so the
 * result does not depend on the order in which fill was found. */
#include "codelets/cpu/rows/incomplete.h"
#include "codelets/cpu/rows/pivots.h"
#include "codelets/cpu/base/scalar.h"
#include "runtime/base/sort.h"

/* ---- Columns that are still to be eliminated, the smallest first: a heap ------------------------------- */

static void push(tsi_index *heap, tsi_index *count, tsi_index column) {
  tsi_index at = (*count)++;
  for (; at > 0 && heap[(at - 1) / 2] > column; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = column;
}

static tsi_index pop(tsi_index *heap, tsi_index *count) {
  const tsi_index first = heap[0], last = heap[--*count];
  tsi_index at = 0;
  for (tsi_index child; (child = 2 * at + 1) < *count; at = child) {
    if (child + 1 < *count && heap[child + 1] < heap[child]) child++;
    if (heap[child] >= last) break;
    heap[at] = heap[child];
  }
  heap[at] = last;
  return first;
}

/* ---- What is kept -------------------------------------------------------------------------------------- */

/* Returns the rank-th largest of count magnitudes (from 0), and reorders them. */
static double select_largest(double *magnitude, tsi_index count, tsi_index rank) {
  tsi_index low = 0, high = count - 1;
  while (low < high) {
    const double pivot = magnitude[low + (high - low) / 2];
    tsi_index i = low, j = high;
    while (i <= j) {
      while (magnitude[i] > pivot) i++;
      while (magnitude[j] < pivot) j--;
      if (i > j) break;
      const double kept = magnitude[i];
      magnitude[i++] = magnitude[j];
      magnitude[j--] = kept;
    }
    if (rank <= j)
      high = j;
    else if (rank >= i)
      low = i;
    else
      break;
  }
  return magnitude[rank];
}

static double size_of(tsi_scalar x) {
  const double size = (double)tsi_abs(x);
  return isnan(size) ? INFINITY : size;
}

/* Keeps the ascending columns with the `most` largest entries of the row, in their order; of equal entries
 * the first. NaN counts as infinite. Returns the number of kept columns. */
static tsi_index keep_largest(const tsi_scalar *row, tsi_index count, tsi_count most, double *magnitude,
                              tsi_index *column) {
  if (count <= most) return count;
  if (most == 0) return 0;
  tsi_index stay = 0, equal = (tsi_index)most;
  for (tsi_index c = 0; c < count; c++) magnitude[c] = size_of(row[column[c]]);
  const double least = select_largest(magnitude, count, (tsi_index)most - 1);
  for (tsi_index c = 0; c < count; c++) equal -= magnitude[c] > least;
  for (tsi_index c = 0; c < count; c++) {
    const double size = size_of(row[column[c]]);
    if (size < least || (size == least && equal-- <= 0)) continue;
    column[stay++] = column[c];
  }
  return stay;
}

/* Drops entries of size at most `least`. */
static tsi_index keep_larger(const tsi_scalar *row, tsi_index count, double least, tsi_index *column) {
  tsi_index stay = 0;
  for (tsi_index c = 0; c < count; c++)
    if (!((double)tsi_abs(row[column[c]]) <= least)) column[stay++] = column[c];
  return stay;
}

/* Returns the 2-norm of row i of A; no square overflows or underflows. */
static double row_norm(const tsi_factor_rows *a, tsi_index i) {
  const tsi_scalar *v = a->values;
  double largest = 0, sum = 0;
  for (tsi_count e = a->ptr[i]; e < a->ptr[i + 1]; e++) largest = fmax(largest, (double)tsi_abs(v[e]));
  if (largest == 0) return 0;
  for (tsi_count e = a->ptr[i]; e < a->ptr[i + 1]; e++) {
    const double part = (double)tsi_abs(v[e]) / largest;
    sum += part * part;
  }
  return largest * sqrt(sum);
}

/* Appends entries of the row. */
static tsi_count store(const tsi_scalar *row, tsi_index count, const tsi_index *column, tsi_count at,
                       tsi_factor_rows *out) {
  tsi_scalar *v = out->values;
  for (tsi_index c = 0; c < count; c++) {
    out->index[at] = column[c];
    v[at++] = row[column[c]];
  }
  return at;
}

/* ---- By rows: A ~ L U ---------------------------------------------------------------------------------- */

typedef struct row_of {
  tsi_index i;
  tsi_index *place;
  tsi_scalar *value;
  tsi_index *lower, *upper; /* a heap; a list without the diagonal */
  tsi_index lowers, uppers;
} row_of;

static void add_column(row_of *r, tsi_index j, tsi_scalar value) {
  r->place[j] = r->i;
  r->value[j] = value;
  if (j < r->i)
    push(r->lower, &r->lowers, j);
  else if (j > r->i)
    r->upper[r->uppers++] = j;
}

/* Eliminates the columns of L; columns with entries that are not small are stored in kept, ascending. */
static tsi_index eliminate(const tsi_factor_rows *out, double least, row_of *r, tsi_index *kept) {
  const tsi_scalar *v = out->values;
  tsi_index count = 0;
  while (r->lowers > 0) {
    const tsi_index k = pop(r->lower, &r->lowers);
    if ((double)tsi_abs(r->value[k]) <= least) continue;
    const tsi_scalar multiplier = r->value[k] /= v[out->diagonal[k]];
    kept[count++] = k;
    for (tsi_count p = out->diagonal[k] + 1; p < out->ptr[k + 1]; p++) {
      const tsi_index j = out->index[p];
      if (r->place[j] == r->i)
        r->value[j] -= multiplier * v[p];
      else
        add_column(r, j, -multiplier * v[p]);
    }
  }
  return count;
}

tsi_breakdown TSI_TYPED(tsi_ilut)(const tsi_factor_rows *a, const tsi_dropping *how,
                                  const tsi_threshold_work *work, tsi_index begin, tsi_count capacity,
                                  tsi_factor_rows *out) {
  const tsi_scalar *from = a->values;
  tsi_scalar *v = out->values;
  row_of r = {.place = work->place, .value = work->row, .lower = work->lower, .upper = work->upper};
  for (tsi_index i = begin; i < a->n; i++) {
    const double least = how->drop * row_norm(a, i);
    const tsi_count most_lower = a->diagonal[i] - a->ptr[i] + how->fill,
                    most_upper = a->ptr[i + 1] - a->diagonal[i] - 1 + how->fill;
    tsi_count at = out->ptr[i];
    if (capacity - at < tsi_dropping_space(a, how, i)) return (tsi_breakdown){TSI_BREAKDOWN_NONE, i};
    r.i = i;
    r.lowers = r.uppers = 0;
    for (tsi_count e = a->ptr[i]; e < a->ptr[i + 1]; e++) add_column(&r, a->index[e], from[e]);
    r.value[i] *= (tsi_real)(1 + how->shift);
    tsi_index count = eliminate(out, least, &r, work->kept);
    count = keep_largest(r.value, count, most_lower, work->magnitude, work->kept);
    at = store(r.value, count, work->kept, at, out);
    out->diagonal[i] = at;
    at = store(r.value, 1, &i, at, out);
    count = keep_larger(r.value, r.uppers, least, r.upper);
    tsi_sort_indices(r.upper, count);
    count = keep_largest(r.value, count, most_upper, work->magnitude, r.upper);
    out->ptr[i + 1] = store(r.value, count, r.upper, at, out);
    const tsi_breakdown_kind kind = tsi_judge_row(r.value[i], out->ptr[i + 1] - out->ptr[i], v + out->ptr[i]);
    if (kind != TSI_BREAKDOWN_NONE) return (tsi_breakdown){kind, i};
  }
  return (tsi_breakdown){TSI_BREAKDOWN_NONE, a->n};
}

/* ---- By rows of U: A ~ U^H U --------------------------------------------------------------------------- */

/* The list that begins in head[j] has the rows of U whose next entry is in column j; next[k] is the position
 * of this entry of row k. */
typedef struct lists {
  tsi_index *head, *link;
  tsi_count *next;
} lists;

static void enlist(const lists *l, const tsi_factor_rows *out, tsi_index k) {
  if (l->next[k] == out->ptr[k + 1]) return;
  const tsi_index j = out->index[l->next[k]];
  l->link[k] = l->head[j];
  l->head[j] = k;
}

/* Row j -= the entries of earlier rows in column j, times their entries from there on. */
static void eliminate_column(const lists *l, const tsi_factor_rows *out, bool adjoint, row_of *r) {
  const tsi_scalar *v = out->values;
  for (tsi_index k = l->head[r->i], following; k != TSI_NONE; k = following) {
    const tsi_count first = l->next[k]++;
    const tsi_scalar multiplier = adjoint ? tsi_conj(v[first]) : v[first];
    following = l->link[k];
    for (tsi_count p = first; p < out->ptr[k + 1]; p++) {
      const tsi_index j = out->index[p];
      if (r->place[j] == r->i)
        r->value[j] -= multiplier * v[p];
      else
        add_column(r, j, -multiplier * v[p]);
    }
    enlist(l, out, k);
  }
}

/* Stores the root of the pivot, and the kept entries of the row divided by it. */
static tsi_breakdown_kind store_row(const row_of *r, tsi_index count, bool adjoint, tsi_factor_rows *out) {
  tsi_scalar root, *v = out->values;
  const tsi_index i = r->i;
  const tsi_count at = out->ptr[i];
  const tsi_breakdown_kind kind = tsi_pivot_root(r->value[i], adjoint, &root);
  out->diagonal[i] = at;
  out->ptr[i + 1] = store(r->value, count, r->upper, store(r->value, 1, &i, at, out), out);
  if (kind != TSI_BREAKDOWN_NONE) return kind;
  v[at] = root;
  for (tsi_count p = at + 1; p < out->ptr[i + 1]; p++) v[p] /= root;
  return tsi_judge_row(1, out->ptr[i + 1] - at, v + at);
}

tsi_breakdown TSI_TYPED(tsi_ict)(const tsi_factor_rows *a, const tsi_dropping *how,
                                 const tsi_threshold_work *work, tsi_index begin, tsi_count capacity,
                                 tsi_factor_rows *out) {
  const tsi_scalar *from = a->values;
  const lists l = {.head = work->kept, .link = work->lower, .next = work->next};
  row_of r = {.place = work->place, .value = work->row, .upper = work->upper};
  for (tsi_index i = begin; i < a->n; i++) {
    const double least = how->drop * row_norm(a, i);
    const tsi_count most = a->ptr[i + 1] - a->diagonal[i] - 1 + how->fill;
    if (capacity - out->ptr[i] < tsi_dropping_space(a, how, i)) return (tsi_breakdown){TSI_BREAKDOWN_NONE, i};
    r.i = i;
    r.uppers = 0;
    for (tsi_count e = a->diagonal[i]; e < a->ptr[i + 1]; e++) add_column(&r, a->index[e], from[e]);
    r.value[i] *= (tsi_real)(1 + how->shift);
    eliminate_column(&l, out, how->adjoint, &r);
    tsi_index count = keep_larger(r.value, r.uppers, least, r.upper);
    tsi_sort_indices(r.upper, count);
    count = keep_largest(r.value, count, most, work->magnitude, r.upper);
    const tsi_breakdown_kind kind = store_row(&r, count, how->adjoint, out);
    if (kind != TSI_BREAKDOWN_NONE) return (tsi_breakdown){kind, i};
    l.next[i] = out->diagonal[i] + 1;
    enlist(&l, out, i);
  }
  return (tsi_breakdown){TSI_BREAKDOWN_NONE, a->n};
}
