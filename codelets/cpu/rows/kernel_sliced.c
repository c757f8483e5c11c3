/* Products with slices of rows: see sliced.h. Compiled for each scalar type and instruction set. */
#include "codelets/cpu/rows/sliced.h"

#include "codelets/cpu/base/fetch.h"
#include "codelets/cpu/base/vector.h"

/* Maximum number of columns at a time, of which a group's values are loaded once. With SSE2 alone the sums of
 * two columns of complex numbers would be in memory. */
#if FEW_REGISTERS_ONLY && TSI_COMPLEX
#define COLUMNS_MOST 1
#else
#define COLUMNS_MOST 4
#endif

/* ---- Lanes --------------------------------------------------------------------------------------------- */

#if REAL_BYTES == 8
typedef float narrow_reg
    __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
#endif

/* Loads the values of a group and prefetches later values, because slices with few groups end before the
 * processor prefetches. */
INLINE vec load_values(const bool narrow, const void *values, tsi_count group) {
#if REAL_BYTES == 8
  if (narrow) {
    const float *from = (const float *)values + PARTS * B * group;
    fetch_behind(from, PARTS * B, sizeof *from);
    vec v;
    EACH_REG(r) v.r[r] = __builtin_convertvector(*(const narrow_reg *)(from + r * LANES), reg);
    return v;
  }
#endif
  (void)narrow;
  const tsi_scalar *from = (const tsi_scalar *)values + B * group;
  fetch_behind(from, B, sizeof *from);
  return load(from);
}

INLINE vec gather_short(const tsi_scalar *x, const uint16_t *offset) {
  const tsi_real *reals = (const tsi_real *)x;
  vec v;
#define SHORT_LANE(l) reals[PARTS * (ptrdiff_t)offset[r * WIDE + (l) / PARTS] + (l) % PARTS]
  EACH_REG(r) v.r[r] = (reg){EACH_LANE(SHORT_LANE)};
  return v;
}

/* ---- Slices -------------------------------------------------------------------------------------------- */

/* Columns of x and y, each as many scalars behind the one before. */
typedef struct strip {
  const tsi_scalar *x;
  tsi_scalar *y;
  int64_t ldx, ldy;
} strip;

#define EACH_COLUMN(c) UNROLL for (int c = 0; c < columns; c++)

/* Gathers the entries of a column of x for group k of a slice; kind: a constant. */
INLINE vec gather_group(const tsi_slice_kind kind, const tsi_slice *s, const tsi_index *word, tsi_index k,
                        const tsi_scalar *x) {
  switch (kind) {
  case TSI_SLICE_RUN:
    return load(x + word[k]);
  case TSI_SLICE_SHIFT:
    return gather_rows(x + word[B + k], word, B);
  case TSI_SLICE_SHORT:
    return gather_short(x + s->base, (const uint16_t *)word + B * k);
  case TSI_SLICE_LONG:
    break;
  }
  return gather_rows(x, word + B * k, B);
}

/* t[c] += the products of the lanes of a slice with column c. */
INLINE void add_groups(const tsi_slice_kind kind, const bool narrow, const int columns, const tsi_sliced *a,
                       const tsi_slice *s, tsi_count group, const tsi_index *word, const tsi_scalar *x,
                       int64_t ldx, sum *t) {
  const tsi_index groups = s->groups;
  for (tsi_index k = 0; k < groups; k++) {
    const vec value = load_values(narrow, a->values, group + k);
    EACH_COLUMN(c) add_products(&t[c], value, as_factors(gather_group(kind, s, word, k, x + c * ldx)));
  }
}

/* v[c]: the sums of a slice's lanes with column c; group: its first, word: its columns. The values are read
 * once. */
INLINE void sum_slice(const bool narrow, const int columns, const tsi_sliced *a, const tsi_slice *s,
                      tsi_count group, const tsi_index *word, const tsi_scalar *x, int64_t ldx, vec *v) {
  sum t[COLUMNS_MOST];
  EACH_COLUMN(c) t[c] = no_sum();
  switch ((tsi_slice_kind)s->kind) {
  case TSI_SLICE_RUN:
    add_groups(TSI_SLICE_RUN, narrow, columns, a, s, group, word, x, ldx, t);
    break;
  case TSI_SLICE_SHIFT:
    add_groups(TSI_SLICE_SHIFT, narrow, columns, a, s, group, word, x, ldx, t);
    break;
  case TSI_SLICE_SHORT:
    add_groups(TSI_SLICE_SHORT, narrow, columns, a, s, group, word, x, ldx, t);
    break;
  case TSI_SLICE_LONG:
    add_groups(TSI_SLICE_LONG, narrow, columns, a, s, group, word, x, ldx, t);
    break;
  }
  EACH_COLUMN(c) v[c] = sum_value(t[c]);
}

/* columns: a constant, at most COLUMNS_MOST. */
INLINE void multiply_window(const bool narrow, const int columns, const tsi_sliced *a, tsi_index window,
                            const strip *to) {
  tsi_count group = a->window[window].group;
  const tsi_index *word = a->word + a->window[window].word;
  const tsi_slice *end = a->slice + a->window[window + 1].slice;
  for (const tsi_slice *s = a->slice + a->window[window].slice; s < end; s++) {
    vec v[COLUMNS_MOST];
    sum_slice(narrow, columns, a, s, group, word, to->x, to->ldx, v);
    group += s->groups;
    word += tsi_slice_words(s);
    EACH_COLUMN(c) {
      tsi_scalar *y = to->y + c * to->ldy;
      if (s->along) {
        y[s->row] = sum_vec(v[c]);
      } else if (!s->listed) {
        store_some(y + s->row, v[c], s->rows);
      } else {
        tsi_scalar lane[B];
        store(lane, v[c]);
        for (tsi_index l = 0; l < s->rows; l++) y[a->row[s->row + l]] = lane[l];
      }
    }
  }
}

INLINE void multiply_strips(const bool narrow, const tsi_sliced *a, tsi_index window, int64_t columns,
                            strip to) {
  while (columns > 0) {
    const int now = columns < 2 || COLUMNS_MOST < 2 ? 1 : columns < 4 ? 2 : 4;
    if (now == 1) multiply_window(narrow, 1, a, window, &to);
#if COLUMNS_MOST > 1
    if (now == 2) multiply_window(narrow, 2, a, window, &to);
    if (now == 4) multiply_window(narrow, 4, a, window, &to);
#endif
    columns -= now;
    to.x += now * to.ldx;
    to.y += now * to.ldy;
  }
}

static void multiply(const tsi_sliced *a, tsi_index window, int64_t columns, const void *x, int64_t ldx,
                     void *y, int64_t ldy) {
  const strip to = {x, y, ldx, ldy};
  if (a->narrow)
    multiply_strips(true, a, window, columns, to);
  else
    multiply_strips(false, a, window, columns, to);
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_sliced_kernels), isa)

const tsi_sliced_kernels TABLE(TSI_ISA) = {.isa = TSI_TEXT(TSI_ISA), .multiply = multiply};
