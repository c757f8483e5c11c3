/* Rows of a factorized sparse approximate inverse, one after the other: see fsai.h. Compiled for each scalar
 * type and instruction set.
 *
 * The stages of a row, each on the plain arrays of its work: reach (take_row), gradient, selection (pick),
 * gathering and factoring (join), solving (solve), and the result (write). */
#include "codelets/cpu/fsai/fsai.h"

#include <string.h>

#include "codelets/cpu/fsai/fsai_pattern.h"

/* ---- Reach --------------------------------------------------------------------------------------------- */

/* Returns the slot of a column, a new one if it has none. slots: number of slots. */
INLINE tsi_index slot_of(const tsi_fsai_work *w, tsi_index column, tsi_index *slots) {
  tsi_index s = w->place[column];
  if (s >= 0) return s;
  s = (*slots)++;
  w->place[column] = s;
  w->column[s] = column;
  w->position[s] = TSI_NONE;
  return s;
}

/* Adds the entries of row p left of i as row `number`. k, unless NULL: receives the row of K for p, at the
 * positions of the pattern in which the row has entries. */
static void take_row(const tsi_matrix_rows *a, tsi_index p, tsi_index i, tsi_index number, tsi_fsai_work *w,
                     tsi_scalar *k) {
  const tsi_count end = a->ptr[p + 1], from = w->first[number] - a->ptr[p];
  const tsi_index *index = a->index;
  const tsi_scalar *values = a->values;
  tsi_index slots = w->slots, *slot = w->slot;
  tsi_count e = a->ptr[p];
  for (; e < end && index[e] < i; e++) {
    const tsi_index s = slot_of(w, index[e], &slots), position = w->position[s];
    slot[from + e] = s;
    if (k && position >= 0) k[position] = tsi_conj(values[e]);
  }
  w->first[number + 1] = from + e;
  w->slots = slots;
}

/* Copies only the row of K. */
static void take_system(const tsi_matrix_rows *a, tsi_index p, tsi_index i, const tsi_fsai_work *w,
                        tsi_scalar *k) {
  const tsi_index *index = a->index;
  const tsi_scalar *values = a->values;
  for (tsi_count e = a->ptr[p]; e < a->ptr[p + 1] && index[e] < i; e++) {
    const tsi_index s = w->place[index[e]], position = s >= 0 ? w->position[s] : TSI_NONE;
    if (position >= 0) k[position] = tsi_conj(values[e]);
  }
}

/* Begins with the empty pattern. */
static tsi_breakdown_kind begin(const tsi_matrix_rows *a, tsi_index i, tsi_fsai_work *w) {
  w->slots = w->size = 0;
  w->first[0] = 0;
  take_row(a, i, i, 0, w, NULL);
  const tsi_count diagonal = a->ptr[i] + w->first[1];
  tsi_scalar root;
  w->psi_0 = w->psi = (double)tsi_re(((const tsi_scalar *)a->values)[diagonal]);
  return tsi_pivot_root(((const tsi_scalar *)a->values)[diagonal], true, &root);
}

/* Ends a row: frees the slots of columns, and clears L. */
static void end(tsi_fsai_work *w) {
  tsi_scalar *column = w->by_columns;
  for (tsi_index s = 0; s < w->slots; s++) w->place[w->column[s]] = TSI_NONE;
  for (tsi_index j = 0; j < w->size; j++, column += w->stride)
    for (tsi_index r = j + 1; r < w->size; r++) column[r] = 0;
}

/* ---- Gradient and selection ---------------------------------------------------------------------------- */

/* Computes g A, by slot. */
static void gradient(const tsi_matrix_rows *a, tsi_index i, tsi_fsai_work *w) {
  const tsi_scalar *values = a->values, *g = w->g;
  tsi_scalar *y = w->gradient;
  const tsi_index own = (tsi_index)w->first[1]; /* row i: its slots are the first */
  memcpy(y, values + a->ptr[i], (size_t)own * sizeof *y);
  for (tsi_index s = own; s < w->slots; s++) y[s] = 0;
  for (tsi_index r = 0; r < w->size; r++) {
    const tsi_index *slot = w->slot + w->first[r + 1];
    const tsi_scalar *value = values + a->ptr[w->pattern[r]];
    const tsi_count count = w->first[r + 2] - w->first[r + 1];
    for (tsi_count e = 0; e < count; e++) tsi_add_product(&y[slot[e]], value[e], g[r]);
  }
}

/* Stores the largest entries of the gradient outside the pattern in `picked`, the largest first; of equal
 * ones the smaller column. Returns their number. */
static tsi_index pick(tsi_fsai_work *w, tsi_index most) {
  tsi_scalar *y = w->gradient;
  tsi_index count = 0;
  double least = DBL_TRUE_MIN;
  for (tsi_index r = 0; r < w->size; r++) y[w->place[w->pattern[r]]] = 0;
  for (tsi_index s = 0; s < w->slots; s++) {
    const double size = tsi_fsai_size(y[s]);
    if (!(size >= least)) continue;
    count = tsi_fsai_keep(s, size, count, most, w->column, w->picked, w->magnitude);
    if (count == most) least = w->magnitude[most - 1];
  }
  return count;
}

/* ---- The system ---------------------------------------------------------------------------------------- */

#if !TSI_COMPLEX
typedef tsi_real four
    __attribute__((vector_size(TSI_FSAI_LANES * sizeof(tsi_real)), aligned(sizeof(tsi_real)), may_alias));
#endif

/* x += multiplier conj(y), from the lanes of entry `first` to those of entry `last`. */
INLINE void add_lanes(tsi_index first, tsi_index last, tsi_scalar multiplier, const tsi_scalar *restrict y,
                      tsi_scalar *restrict x) {
  for (tsi_index k = first / TSI_FSAI_LANES * TSI_FSAI_LANES; k <= last; k += TSI_FSAI_LANES) {
#if TSI_COMPLEX
    for (tsi_index l = k; l < k + TSI_FSAI_LANES; l++) tsi_add_product(&x[l], multiplier, tsi_conj(y[l]));
#else
    *(four *)(x + k) += multiplier * *(const four *)(y + k);
#endif
  }
}

/* Does the same for TSI_FSAI_LANES vectors y, a stride apart, from the lanes of entry `first` to the lanes
 * before entry `end`. */
INLINE void add_many(tsi_index first, tsi_index end, const tsi_scalar multiplier[TSI_FSAI_LANES],
                     const tsi_scalar *restrict y, tsi_index stride, tsi_scalar *restrict x) {
  for (tsi_index k = first; k < end; k += TSI_FSAI_LANES) {
#if TSI_COMPLEX
    for (tsi_index v = 0; v < TSI_FSAI_LANES; v++)
      for (tsi_index l = k; l < k + TSI_FSAI_LANES; l++)
        tsi_add_product(&x[l], multiplier[v], tsi_conj(y[v * stride + l]));
#else
    four sum = *(four *)(x + k);
    for (tsi_index v = 0; v < TSI_FSAI_LANES; v++) sum += multiplier[v] * *(const four *)(y + v * stride + k);
    *(four *)(x + k) = sum;
#endif
  }
}

/* Turns the first r entries of a row of K into entries of L, x L^H = row, TSI_FSAI_LANES at a time, whose
 * dependencies are resolved in registers. Zeros before the first entry stay. */
static void eliminate(const tsi_fsai_work *w, tsi_index r, tsi_scalar *row) {
  const tsi_index stride = w->stride;
  const tsi_real *inverse = w->inverse;
  tsi_scalar *column = w->by_columns;
  tsi_index j = 0;
  for (; j + TSI_FSAI_LANES <= r; j += TSI_FSAI_LANES, column += TSI_FSAI_LANES * stride) {
    tsi_scalar x[TSI_FSAI_LANES], minus[TSI_FSAI_LANES];
    bool zero = true;
    for (int c = 0; c < TSI_FSAI_LANES; c++) zero &= row[j + c] == 0;
    if (zero) continue;
    for (int c = 0; c < TSI_FSAI_LANES; c++) {
      x[c] = row[j + c];
      for (int b = 0; b < c; b++) tsi_add_product(&x[c], minus[b], tsi_conj(column[b * stride + j + c]));
      x[c] *= inverse[j + c];
      minus[c] = -x[c];
    }
    add_many(j + TSI_FSAI_LANES, r, minus, column, stride, row);
    for (int c = 0; c < TSI_FSAI_LANES; c++) row[j + c] = column[c * stride + r] = x[c];
  }
  for (; j < r; j++, column += stride) {
    const tsi_scalar entry = row[j] * inverse[j];
    add_lanes(j + 1, r - 1, -entry, column, row);
    row[j] = column[r] = entry;
  }
}

/* Joins the column of a slot to the pattern: gathers its row of K and factors it. ends: the gradient is no
 * longer needed.
 */
static tsi_breakdown_kind join(const tsi_matrix_rows *a, tsi_index i, tsi_index s, bool ends,
                               tsi_fsai_work *w) {
  const tsi_index r = w->size++;
  tsi_scalar *row = (tsi_scalar *)w->by_rows + (size_t)w->stride * (size_t)r, *z = w->z;
  tsi_real *inverse = w->inverse;
  tsi_scalar root, right = s < w->first[1] ? -((const tsi_scalar *)a->values)[a->ptr[i] + s] : 0;
  w->pattern[r] = w->column[s];
  w->position[s] = r;
  for (tsi_index j = 0; j < (r / TSI_FSAI_LANES + 1) * TSI_FSAI_LANES; j++) row[j] = 0;
  if (ends)
    take_system(a, w->column[s], i, w, row);
  else
    take_row(a, w->column[s], i, r + 1, w, row);
  tsi_real pivot = tsi_re(row[r]);
  row[r] = 0;
  eliminate(w, r, row);
  for (tsi_index j = 0; j < r; j++) {
    pivot -= tsi_re(row[j]) * tsi_re(row[j]) + tsi_im(row[j]) * tsi_im(row[j]);
    tsi_add_product(&right, -row[j], z[j]);
  }
  const tsi_breakdown_kind kind = tsi_pivot_root(pivot, true, &root);
  if (kind != TSI_BREAKDOWN_NONE) return kind;
  inverse[r] = 1 / tsi_re(root);
  z[r] = right * inverse[r];
  w->psi -= (double)tsi_re(z[r]) * (double)tsi_re(z[r]) + (double)tsi_im(z[r]) * (double)tsi_im(z[r]);
  return TSI_BREAKDOWN_NONE;
}

/* Solves L^H g = z. */
static void solve(tsi_fsai_work *w) {
  const tsi_scalar *z = w->z, *rows = w->by_rows;
  const tsi_real *inverse = w->inverse;
  const tsi_index stride = w->stride;
  tsi_scalar *g = w->g;
  tsi_index k = w->size;
  for (tsi_index j = 0; j < k; j++) g[j] = z[j];
  while (k % TSI_FSAI_LANES > 0) {
    k--;
    g[k] *= inverse[k];
    add_lanes(0, k - 1, -g[k], rows + (ptrdiff_t)stride * k, g);
  }
  while (k > 0) {
    tsi_scalar minus[TSI_FSAI_LANES];
    k -= TSI_FSAI_LANES;
    const tsi_scalar *own = rows + (ptrdiff_t)stride * k;
    for (tsi_index c = TSI_FSAI_LANES - 1; c >= 0; c--) {
      for (tsi_index b = TSI_FSAI_LANES - 1; b > c; b--)
        tsi_add_product(&g[k + c], minus[b], tsi_conj(own[b * stride + k + c]));
      g[k + c] *= inverse[k + c];
      minus[c] = -g[k + c];
    }
    add_many(0, k, minus, own, stride, g);
  }
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

/* Computes g on a given pattern; ends: the pattern does not grow. */
static tsi_breakdown_kind start(const tsi_matrix_rows *a, tsi_index i, const tsi_index *given,
                                tsi_index count, bool ends, tsi_fsai_work *w) {
  tsi_breakdown_kind kind = begin(a, i, w);
  for (tsi_index k = 0; k < count && kind == TSI_BREAKDOWN_NONE; k++)
    kind = join(a, i, slot_of(w, given[k], &w->slots), ends, w);
  if (kind == TSI_BREAKDOWN_NONE) solve(w);
  return kind;
}

/* Does a step; last: it is the last one. Returns false if no column joins. */
static bool step(const tsi_matrix_rows *a, tsi_index i, const tsi_fsai_limits *limits, bool last,
                 tsi_fsai_work *w, tsi_breakdown_kind *kind) {
  const tsi_index space = tsi_index_min(limits->per_step, w->most - w->size);
  if (space == 0 || w->psi <= limits->reduction * w->psi_0) return false;
  gradient(a, i, w);
  const tsi_index count = pick(w, space);
  for (tsi_index k = 0; k < count && *kind == TSI_BREAKDOWN_NONE; k++)
    *kind = join(a, i, w->picked[k], last, w);
  if (*kind == TSI_BREAKDOWN_NONE) solve(w);
  return count > 0;
}

void TSI_FSAI_ALONE(const tsi_matrix_rows *a, const tsi_fsai_limits *limits, tsi_fsai_row *row,
                    tsi_fsai_work *w) {
  const tsi_index i = row->i;
  tsi_breakdown_kind kind = start(a, i, row->given, row->count, limits->steps == 0, w);
  for (tsi_index k = 0; k < limits->steps && kind == TSI_BREAKDOWN_NONE; k++)
    if (!step(a, i, limits, k + 1 == limits->steps, w, &kind)) break;
  if (limits->postfilter > 0 && kind == TSI_BREAKDOWN_NONE) {
    const tsi_index kept = tsi_fsai_list_large(w->size, w->pattern, w->g, limits->postfilter, row->index);
    if (kept < w->size) {
      end(w);
      kind = start(a, i, row->index, kept, true, w);
    }
  }
  row->kind = kind;
  if (kind == TSI_BREAKDOWN_NONE) tsi_fsai_write(w->size, w->pattern, w->g, w->psi, row);
  if (row->kind != TSI_BREAKDOWN_NONE) tsi_fsai_list(w->size, w->pattern, row);
  end(w);
}
