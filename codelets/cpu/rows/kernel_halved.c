/* Products with the lower half of a Hermitian matrix: see halved.h. Compiled for each scalar type and
 * instruction set. */
#include "codelets/cpu/rows/halved.h"

#include "codelets/cpu/base/fetch.h"
#include "codelets/cpu/base/vector.h"

/* ---- Images -------------------------------------------------------------------------------------------- */

#if TSI_COMPLEX
#define IMAGE_SIGN(l) ((l) % 2 ? -1 : 1)
INLINE vec conjugates(vec v) {
  const reg sign = {EACH_LANE(IMAGE_SIGN)};
  EACH_REG(r) v.r[r] *= sign;
  return v;
}
#else
INLINE vec conjugates(vec v) {
  return v;
}
#endif

/* Returns a sum that begins with a vector. */
INLINE sum sum_from(vec v) {
  sum a = no_sum();
  a.v[0] = v;
  return a;
}

/* ---- Pieces -------------------------------------------------------------------------------------------- */

/* Adds the products of the triangle of the rows of a piece with tiles. */
INLINE void add_triangle(const int rows, const tsi_scalar *v, const tsi_scalar *x, tsi_scalar *t) {
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int q = 0; q < r; q++, v++) {
      tsi_add_product(&t[r], *v, x[q]);
      tsi_add_product(&t[q], tsi_conj(*v), x[r]);
    }
    tsi_add_product(&t[r], *v++, x[r]);
  }
}

/* rows: a constant. */
INLINE void add_tiles(const int rows, const tsi_half_piece *p, const uint16_t *word, const tsi_scalar *v,
                      const tsi_scalar *x, tsi_scalar *y) {
  sum s[TSI_TILE_ROWS];
  tsi_scalar t[TSI_TILE_ROWS], own[TSI_TILE_ROWS];
  UNROLL for (int r = 0; r < rows; r++) {
    s[r] = no_sum();
    own[r] = x[p->row + r];
  }
  for (tsi_index k = 0; k < p->count; k++, word += 2, v += rows * word[-1]) {
    const tsi_index column = p->row - word[0], width = word[1];
    fetch_behind(v, rows * TSI_TILE_COLUMNS, sizeof *v);
    const factors other = as_factors(load_some(x + column, width));
    sum image = sum_from(load_some(y + column, width));
    UNROLL for (int r = 0; r < rows; r++) {
      const vec value = load_some(v + r * width, width);
      add_products(&s[r], value, other);
      add_times(&image, conjugates(value), own[r]);
    }
    store_some(y + column, sum_value(image), width);
  }
  UNROLL for (int r = 0; r < rows; r++) t[r] = sum_vec(sum_value(s[r]));
  add_triangle(rows, v, own, t);
  UNROLL for (int r = 0; r < rows; r++) y[p->row + r] += t[r];
}

INLINE void add_rows(const tsi_half_piece *p, const uint16_t *word, const tsi_scalar *v, const tsi_scalar *x,
                     tsi_scalar *y) {
  for (tsi_index i = p->row; i < p->row + p->count; i++) {
    const tsi_index entries = *word++;
    const tsi_scalar own = x[i];
    tsi_scalar t[2] = {0, 0};
    for (tsi_index k = 0; k < entries; k++, v++) {
      const tsi_index column = i - word[k];
      tsi_add_product(&t[k % 2], *v, x[column]);
      tsi_add_product(&y[column], tsi_conj(*v), own);
    }
    word += entries;
    tsi_add_product(&t[0], *v++, own);
    y[i] += t[0] + t[1];
  }
}

INLINE void add_piece(const tsi_half_piece *p, const uint16_t *word, const tsi_scalar *v, const tsi_scalar *x,
                      tsi_scalar *y) {
  if (p->kind == TSI_HALF_ROWS)
    add_rows(p, word, v, x, y);
  else if (p->rows == 1)
    add_tiles(1, p, word, v, x, y);
  else if (p->rows == 2)
    add_tiles(2, p, word, v, x, y);
  else if (p->rows == 3)
    add_tiles(3, p, word, v, x, y);
  else
    add_tiles(4, p, word, v, x, y);
}

/* ---- Windows ------------------------------------------------------------------------------------------- */

/* A piece's values stay in the nearest cache from one column to the next. */
static void add(const tsi_halved *a, tsi_index window, int64_t columns, const void *xv, int64_t ldx, void *yv,
                int64_t ldy) {
  const tsi_half_window *from = &a->window[window];
  const tsi_half_piece *end = a->piece + from[1].piece;
  const tsi_scalar *v = (const tsi_scalar *)a->values + from->value;
  const uint16_t *word = a->word + from->word;
  for (const tsi_half_piece *p = a->piece + from->piece; p < end; p++) {
    for (int64_t c = 0; c < columns; c++)
      add_piece(p, word, v, (const tsi_scalar *)xv + c * ldx, (tsi_scalar *)yv + c * ldy);
    v += p->values;
    word += tsi_half_words(p);
  }
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_halved_kernels), isa)

const tsi_halved_kernels TABLE(TSI_ISA) = {.isa = TSI_TEXT(TSI_ISA), .add = add};
