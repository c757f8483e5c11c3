/* Products with a Hermitian matrix (real: symmetric) of which the entries below the diagonal are stored, and
 * read once for two products: a x_j for row i, and the image conj(a) x_i for row j.
 *
 * Pieces are consecutive rows of one window, stored in one of two ways. Columns are told by how far they are
 * from the diagonal, in 16 bits.
 *
 *   TILES   1 to 4 rows that have the same columns before the first one: these as `count` dense tiles of
 *           consecutive columns, each a distance from the first row and a width of 1 to 8; values tile by
 *           tile, row by row; then the triangle that the rows form, row by row
 *   ROWS    `count` rows of any kind: each the number of its entries before the diagonal and their distances;
 *           values row by row, the diagonal last
 *
 * Reads   the entries, x.   Writes  y, to which products are added.
 * Invariants (tsi_halved_check)
 *   - each row is in one piece and has an entry on the diagonal
 *   - rows of a window reach rows of the same stretch (halves.h) alone: what a stretch adds, and in which
 *     order, depends on nothing else */
#pragma once

#include "codelets/cpu/rows/sliced.h"

#define TSI_TILE_ROWS 4
#define TSI_TILE_COLUMNS 8

typedef enum tsi_half_kind { TSI_HALF_TILES, TSI_HALF_ROWS } tsi_half_kind;

typedef struct tsi_half_piece {
  tsi_index row, count, values;
  uint8_t kind, rows; /* tsi_half_kind; ROWS: 0 */
} tsi_half_piece;

/* Where the pieces of a window begin, their values, and their words. */
typedef struct tsi_half_window {
  tsi_index piece;
  tsi_count value, word;
} tsi_half_window;

typedef struct tsi_halved {
  tsi_index rows, windows;
  size_t bytes;            /* of a scalar */
  tsi_half_window *window; /* windows + 1; NULL: there is no such matrix */
  tsi_half_piece *piece;
  uint16_t *word;
  void *values;
} tsi_halved;

/* Words that a piece takes. */
static inline tsi_index tsi_half_words(const tsi_half_piece *p) {
  return p->kind == TSI_HALF_TILES ? 2 * p->count : p->values;
}

typedef struct tsi_halved_kernels {
  const char *isa;
  /* y[c ldy + i] += what the entries of the rows of a window, and their images, are for row i of any window
   * and columns c < columns, x_c from x[c ldx] on. Each column has the bits that it has alone. */
  void (*add)(const tsi_halved *a, tsi_index window, int64_t columns, const void *x, int64_t ldx, void *y,
              int64_t ldy);
} tsi_halved_kernels;

/* As tsi_kernels_select. */
const tsi_halved_kernels *tsi_halved_kernels_select(char scalar, const char *isa);
