/* Products with slices of rows: see sliced.h. Compiled for each scalar type and instruction set. */
#include "codelets/cpu/sliced.h"

#include "codelets/cpu/vector.h"

/* ---- Lanes --------------------------------------------------------------------------------------------- */

#if REAL_BYTES == 8
typedef float narrow_reg
    __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
#endif

/* The values of a group. */
INLINE vec load_values(const bool narrow, const void *values, tsi_count group) {
#if REAL_BYTES == 8
  if (narrow) {
    const float *from = (const float *)values + PARTS * B * group;
    vec v;
    EACH_REG(r) v.r[r] = __builtin_convertvector(*(const narrow_reg *)(from + r * LANES), reg);
    return v;
  }
#endif
  (void)narrow;
  return load((const tsi_scalar *)values + B * group);
}

INLINE vec gather_short(const tsi_scalar *x, const uint16_t *offset) {
  const tsi_real *reals = (const tsi_real *)x;
  vec v;
#define SHORT_LANE(l) reals[PARTS * (ptrdiff_t)offset[r * WIDE + (l) / PARTS] + (l) % PARTS]
  EACH_REG(r) v.r[r] = (reg){EACH_LANE(SHORT_LANE)};
  return v;
}

/* ---- Slices -------------------------------------------------------------------------------------------- */

/* The sums of a slice's lanes; group: its first, word: its columns. */
INLINE vec sum_slice(const bool narrow, const tsi_sliced *a, const tsi_slice *s, tsi_count group,
                     const tsi_index *word, const tsi_scalar *x) {
  const tsi_index groups = s->groups;
  sum t = no_sum();
  switch ((tsi_slice_kind)s->kind) {
  case TSI_SLICE_RUN:
    for (tsi_index k = 0; k < groups; k++)
      add_products(&t, load_values(narrow, a->values, group + k), as_factors(load(x + word[k])));
    break;
  case TSI_SLICE_SHIFT:
    for (tsi_index k = 0; k < groups; k++)
      add_products(&t, load_values(narrow, a->values, group + k),
                   as_factors(gather_rows(x + word[B + k], word, B)));
    break;
  case TSI_SLICE_SHORT:
    for (tsi_index k = 0; k < groups; k++)
      add_products(&t, load_values(narrow, a->values, group + k),
                   as_factors(gather_short(x + s->base, (const uint16_t *)word + B * k)));
    break;
  case TSI_SLICE_LONG:
    for (tsi_index k = 0; k < groups; k++)
      add_products(&t, load_values(narrow, a->values, group + k),
                   as_factors(gather_rows(x, word + B * k, B)));
    break;
  }
  return sum_value(t);
}

INLINE void multiply_window(const bool narrow, const tsi_sliced *a, tsi_index window, const tsi_scalar *x,
                            tsi_scalar *y) {
  tsi_count group = a->window[window].group;
  const tsi_index *word = a->word + a->window[window].word;
  const tsi_slice *end = a->slice + a->window[window + 1].slice;
  for (const tsi_slice *s = a->slice + a->window[window].slice; s < end; s++) {
    const vec v = sum_slice(narrow, a, s, group, word, x);
    group += s->groups;
    word += tsi_slice_words(s);
    if (s->along) {
      y[s->row] = sum_vec(v);
    } else if (!s->listed) {
      store_some(y + s->row, v, s->rows);
    } else {
      tsi_scalar lane[B];
      store(lane, v);
      for (tsi_index l = 0; l < s->rows; l++) y[a->row[s->row + l]] = lane[l];
    }
  }
}

static void multiply(const tsi_sliced *a, tsi_index window, const void *x, void *y) {
  if (a->narrow)
    multiply_window(true, a, window, x, y);
  else
    multiply_window(false, a, window, x, y);
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_sliced_kernels), isa)
#define TEXT_(isa) #isa
#define TEXT(isa) TEXT_(isa)

const tsi_sliced_kernels TABLE(TSI_ISA) = {.isa = TEXT(TSI_ISA), .multiply = multiply};
