/* The packed panel: how a piece of a triangular factor lies in memory.
 *
 * A panel is w consecutive columns of a lower triangular factor F (L itself, or U^T): a w x w diagonal block
 * and m rows below it. It is stored in the order in which the solve streams it, in two segments:
 *
 *   triangle   T, lower triangular, w (w + 1) / 2 entries
 *   rectangle  R, m w entries
 *
 * With D the diagonal block and G the m x w block of the rows below, there are three treatments of diagonal
 * blocks (Yamazaki, Rajamanickam and Ellingwood, ICPP 2020); all panels of a factor have the same:
 *
 *   TSI_INVERSE_DIAGONAL  T = D^-1, R = G        triangle and rectangle are products, one after the other
 *   TSI_INVERSE_NONE      T = D,    R = G        the triangle is a substitution; on its diagonal are the
 *                                                reciprocals of D's, so that a solve divides nowhere
 *   TSI_INVERSE_PARTITIONED       T = D^-1, R = G D^-1   both are products and work on the same x
 *
 * Both segments are cut into row blocks of TSI_ROW_BLOCK = 8 rows (the last may have fewer); inside a row
 * block the entries lie column by column. Row block b of the triangle is a rectangle (its rows x the 8 b
 * columns before it) followed by its corner, a packed lower triangle, column by column. No zero is stored.
 *
 *      triangle, w = 18          rectangle, m = 20
 *      b=0  \                    b=0  8 x w
 *      b=1  ##\                  b=1  8 x w
 *      b=2  ####\  (2 rows)      b=2  4 x w
 *
 * Each segment begins at a multiple of TSI_ROW_BLOCK scalars from the start of the factor, so whole row
 * blocks of the rectangle are aligned to cache lines. Kernels load 8 scalars at a time even in a short row
 * block and drop the lanes beyond it: the factor's array therefore has TSI_STREAM_PAD readable, finite
 * scalars behind its last entry, and everything between segments is zero. */
#pragma once

#include "runtime/base/types.h"

#define TSI_ROW_BLOCK 8
#define TSI_STREAM_PAD 64
/* Wider panels of large separators have fewer rows of updates, which are traffic as the factor is: with 256
 * columns instead of 128 most 3D solves take 2 to 6 % less time, with one right-hand side or many, and none
 * took more than 2 % longer. Triangles, which one worker applies while others may wait, grow with the square.
 */
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

/* Scalars that the triangle of a panel of width w takes, up to the start of the rectangle. */
static inline tsi_count tsi_triangle_size(tsi_index w) {
  return tsi_round_up_block((tsi_count)w * (w + 1) / 2);
}

/* Where row block r of a triangle, r a multiple of 8, begins; its corner lies `rows` r scalars further on. */
static inline tsi_count tsi_triangle_block(tsi_index r) {
  return (tsi_count)r * (r + 1) / 2;
}

/* Where in a corner of `rows` rows the diagonal entry of column j lies; those below it follow. */
static inline tsi_count tsi_corner_column(tsi_index rows, tsi_index j) {
  return j * rows - j * (j - 1) / 2;
}

/* Scalars that a panel takes in the stream, up to the start of the next one. */
static inline tsi_count tsi_panel_size(tsi_index w, tsi_index m) {
  return tsi_triangle_size(w) + tsi_round_up_block((tsi_count)m * w);
}

/* A panel as the kernels see it. */
typedef struct tsi_panel {
  tsi_count values; /* where it begins in the factor's array(s), in scalars */
  tsi_count row;    /* rectangle's row i is row rows[row + i] of the chunk's workspace */
  tsi_index width;  /* w, 1 .. TSI_PANEL_WIDTH_MAX */
  tsi_index height; /* m */
  tsi_index x;      /* its first column's row in the chunk's workspace */
  tsi_index column; /* its first column in the final ordering: where its pivots are */
} tsi_panel;
