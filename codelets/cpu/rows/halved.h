/* Products with a Hermitian matrix (real: symmetric). Only its lower triangle is stored. Each entry a is read
 * once for two products: a x_j for row i, and the image conj(a) x_i for row j.
 *
 * Pieces are consecutive rows of one window, stored in one of two ways. Columns are stored as 16-bit
 * distances from the diagonal.
 *
 *   TILES   1 to 4 rows with the same columns left of the first row's diagonal. These columns are `count`
 *           dense tiles of consecutive columns; a tile has a distance from the first row and a width of 1
 *           to 8. Values are stored tile by tile, row by row; then the triangle of the rows, row by row
 *   ROWS    `count` rows of any kind. A row has the number of its entries left of the diagonal and their
 *           distances. Values are stored row by row, the diagonal last
 *
 * Reads   the entries, x.   Writes  y, to which products are added.
 * Invariants (tsi_halved_check)
 *   - each row is in one piece and has an entry on the diagonal
 *   - rows of a window have columns only in the same stretch (halves.h): the sums of a stretch, and their
 *     order, depend on nothing else */
#pragma once

#include "codelets/cpu/rows/sliced.h"

#define TSI_TILE_ROWS 4
#define TSI_TILE_COLUMNS 8

typedef enum tsi_half_kind { TSI_HALF_TILES, TSI_HALF_ROWS } tsi_half_kind;

typedef struct tsi_half_piece {
  tsi_index row, count, values;
  uint8_t kind, rows; /* tsi_half_kind; ROWS: 0 */
} tsi_half_piece;

/* Start of the pieces of a window, of their values and of their words. */
typedef struct tsi_half_window {
  tsi_index piece;
  tsi_count value, word;
} tsi_half_window;

typedef struct tsi_halved {
  tsi_index rows, windows;
  size_t bytes;            /* bytes of a scalar */
  tsi_half_window *window; /* windows + 1; NULL: the matrix is not stored in this format */
  tsi_half_piece *piece;
  uint16_t *word;
  void *values;
} tsi_halved;

/* Returns the number of words of a piece. */
static inline tsi_index tsi_half_words(const tsi_half_piece *p) {
  return p->kind == TSI_HALF_TILES ? 2 * p->count : p->values;
}

typedef struct tsi_halved_kernels {
  const char *isa;
  /* Adds the products of the entries in the rows of a window, and of their images, to y[c ldy + i], for all
   * rows i and columns c < columns; x_c begins at x[c ldx]. The bits of a column do not depend on the other
   * columns. */
  void (*add)(const tsi_halved *a, tsi_index window, int64_t columns, const void *x, int64_t ldx, void *y,
              int64_t ldy);
} tsi_halved_kernels;

/* As tsi_kernels_select. */
const tsi_halved_kernels *tsi_halved_kernels_select(char scalar, const char *isa);
