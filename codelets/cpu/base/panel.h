/* The packed panel: the storage of a piece of a triangular factor.
 *
 * A panel has w consecutive columns of a lower triangular factor F (L itself, or U^T): a w x w diagonal block
 * and m rows below it. It is stored in the order in which solves stream it, in two segments:
 *
 *   triangle   T, lower triangular, w (w + 1) / 2 entries
 *   rectangle  R, m w entries
 *
 * With D the diagonal block and G the m x w block of the rows below, there are three treatments of diagonal
 * blocks (Yamazaki, Rajamanickam and Ellingwood, ICPP 2020); all panels of a factor have the same:
 *
 *   TSI_INVERSE_DIAGONAL  T = D^-1, R = G        triangle and rectangle are products, one after the other
 *   TSI_INVERSE_NONE      T = D,    R = G        the triangle is a substitution; its diagonal holds the
 *                                                reciprocals of D's, so that a solve has no division
 *   TSI_INVERSE_PARTITIONED       T = D^-1, R = G D^-1   both are products and work on the same x
 *
 * Both segments are cut into row blocks of TSI_ROW_BLOCK = 8 rows (the last may have fewer); inside a row
 * block the entries are stored by columns. Row block b of the triangle is a rectangle (its rows x the 8 b
 * columns before it) followed by its corner, a packed lower triangle, column by column. No zero is stored.
 *
 *      triangle, w = 18          rectangle, m = 20
 *      b=0  \                    b=0  8 x w
 *      b=1  ##\                  b=1  8 x w
 *      b=2  ####\  (2 rows)      b=2  4 x w
 *
 * Each segment begins at a multiple of TSI_ROW_BLOCK scalars from the start of the factor, so whole row
 * blocks of the rectangle are aligned to cache lines. Kernels load 8 scalars at a time even in a short row
 * block and drop the lanes beyond it. So the factor's array has TSI_STREAM_PAD readable, finite scalars
 * behind its last entry, and gaps between segments are zero. */
#pragma once

#include "runtime/base/types.h"

#define TSI_ROW_BLOCK 8
#define TSI_STREAM_PAD 64
/* Wider panels of large separators have fewer rows of updates, which cost memory traffic like the factor.
 * With 256 columns instead of 128 most 3D solves took 2 to 6 % less time, with one right-hand side or many;
 * none took more than 2 % longer. Limit: triangles grow with the square of the width, and one worker applies
 * a triangle while others may wait. */
#define TSI_PANEL_WIDTH_MAX 256

/* The treatment of diagonal blocks, see above. */
typedef enum tsi_inverse {
  TSI_INVERSE_DIAGONAL,
  TSI_INVERSE_NONE,
  TSI_INVERSE_PARTITIONED,
  TSI_INVERSES
} tsi_inverse;

static inline tsi_count tsi_round_up_block(tsi_count count) {
  return (count + TSI_ROW_BLOCK - 1) / TSI_ROW_BLOCK * TSI_ROW_BLOCK;
}

/* Returns the scalars of the triangle of a panel of width w, up to the start of the rectangle. */
static inline tsi_count tsi_triangle_size(tsi_index w) {
  return tsi_round_up_block((tsi_count)w * (w + 1) / 2);
}

/* Returns the offset of the row block of a triangle that begins with row r, a multiple of 8. The offset of
 * its corner is `rows` r scalars larger. */
static inline tsi_count tsi_triangle_block(tsi_index r) {
  return (tsi_count)r * (r + 1) / 2;
}

/* Returns the offset of the diagonal entry of column j in a corner of `rows` rows; the entries below it
 * follow. */
static inline tsi_count tsi_corner_column(tsi_index rows, tsi_index j) {
  return j * rows - j * (j - 1) / 2;
}

/* Returns the scalars of a panel in the stream, up to the start of the next panel. */
static inline tsi_count tsi_panel_size(tsi_index w, tsi_index m) {
  return tsi_triangle_size(w) + tsi_round_up_block((tsi_count)m * w);
}

/* A panel for the kernels. */
typedef struct tsi_panel {
  tsi_count values; /* offset of the panel in the factor's array(s), in scalars */
  tsi_count row;    /* row i of the rectangle is row rows[row + i] of the chunk's workspace */
  tsi_index width;  /* w, 1 .. TSI_PANEL_WIDTH_MAX */
  tsi_index height; /* m */
  tsi_index x;      /* row of its first column in the chunk's workspace */
  tsi_index column; /* its first column in the final ordering; index of its pivots */
} tsi_panel;
