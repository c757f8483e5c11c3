/* Rectangles of panels as tiles of low rank: fewer bytes within a tolerance.
 *
 * The rows of a rectangle R (panel.h) are cut into tiles. A tile B, m x w, is stored densely or as a product
 *
 *   B = sum over formats f of U_f V_f + E      U_f: m x r_f, columns of length 1;   V_f: r_f x w
 *
 * as block low-rank factorizations have it (Amestoy, Buttari, L'Excellent and Mary 2017). U V is a
 * Gram-Schmidt decomposition whose pivots are the longest columns; it ends where what is left is short
 * enough. The rows of V become shorter from one to the next. Rounding the last of them, and their columns of
 * U, changes little: these are stored in single precision or bfloat16 (Amestoy, Boiteau, Buttari, Gerest,
 * Jezequel, L'Excellent and Mary 2022).
 *
 * Tolerance. In the Frobenius norm, with the tolerance t, but at least the precision of the scalars,
 *
 *   |E| <= t |R| (m / rows of R)^1/2     for each tile, therefore |R - its tiles| <= t |R|
 *
 * A half of that is for what is cut off, a quarter for each of both roundings.
 *
 * Memory. Pieces of a tile follow one another, for f from the widest format to the narrowest: V_f, then -U_f,
 * each a rectangle as in panel.h; a dense tile is one rectangle. A piece begins at a cache line, and
 * TSI_STREAM_PAD entries of zero follow one whose last row block is short.
 *
 * Reads   panels of a full stream.   Writes  tiles, into memory of the caller.
 * Invariants
 *   - tiles cut the rows in order; each begins at a multiple of TSI_ROW_BLOCK and has at most TSI_TILE_HEIGHT
 *   - rank is 0 for each format of a dense tile; all ranks of a product may be 0: the tile is zero
 *   - the same panel, cuts, tolerance and instruction set give the same bits */
#pragma once

#include "codelets/cpu/stored.h"

#define TSI_TILE_HEIGHT 192
#define TSI_TILE_LEAST 32 /* rows and columns that a rectangle in tiles has, at least */

struct tsi_tile {
  tsi_count at;              /* bytes from the first piece of the panel to that of the tile */
  tsi_index first, rows;     /* of the rectangle */
  int16_t dense;             /* its format; TSI_FORMATS: a product */
  int16_t rank[TSI_FORMATS]; /* columns of U_f */
};

typedef struct tsi_tile_options {
  double tolerance;
  tsi_format format;    /* the widest that is used */
  tsi_format otherwise; /* of a panel that is not in tiles */
  tsi_index cuts;       /* >= 1: rows where tiles begin, whatever their number, the first one 0 */
  const tsi_index *cut; /* multiples of TSI_ROW_BLOCK, ascending, below the height of the panel */
  const struct tsi_tile_kernels *kernels;
} tsi_tile_options;

/* Products of one tile, see tsi_tile_kernels. */
typedef struct tsi_tile_limits {
  double left;      /* length of what may be left */
  double wide;      /* a row of V that is longer is stored in the widest format; 0: each is */
  tsi_index widest; /* no product if there are more of these */
} tsi_tile_limits;

/* Reals from one column, or part of one, to the next: room for whole registers. */
#define TSI_TILE_STEP(rows) (((rows) + 63) / 64 * 64)

typedef struct tsi_tile_kernels {
  const char *isa;
  /* Decomposes the tile in a: w columns, each TSI_TILE_STEP(rows) real parts and, complex, as many imaginary
   * ones, zero beyond the rows. Column k of U is column pivot[k] of a afterwards; row k of V is v + k w, and
   * length[k] is that of it. size: w numbers. Returns the rank; TSI_NONE: see the limits. */
  tsi_index (*decompose)(tsi_index rows, tsi_index w, const tsi_tile_limits *limits, void *a, void *v,
                         tsi_index *pivot, double *length, double *size);
} tsi_tile_kernels;

/* isa: as in tsi_kernels_select. */
const tsi_tile_kernels *tsi_tile_kernels_select(char scalar, const char *isa);

typedef struct tsi_tiling_kernels {
  size_t work_bytes; /* of compress */
  /* Tiles of a rectangle of `height` rows, and bytes that the pieces of a panel take at most. */
  tsi_index (*count)(tsi_index height, const tsi_tile_options *options);
  size_t (*room)(const tsi_panel *panel, const tsi_tile_options *options);
  /* Writes the tiles of a panel of `from`, and their pieces, and sets *bytes to those of the pieces. false:
   * the rectangle stays as it is, as its entries are not finite or far from 1, or as too little is saved. */
  bool (*compress)(const tsi_panel *panel, const void *from, const tsi_tile_options *options, tsi_tile *tile,
                   void *pieces, size_t *bytes, void *work);
  /* Panel p of a stream, in tiles; rows first .. first+count-1 of its rectangle, first a multiple of
   * TSI_ROW_BLOCK: u[row] -= R x, and sum -= R' w[row]. row: count; NULL: rows 0, 1, ... */
  void (*subtract)(const tsi_stored *s, tsi_index p, tsi_index first, tsi_index count, const tsi_index *row,
                   tsi_index nrhs, const void *x, void *u, void *scratch);
  void (*subtract_transposed)(const tsi_stored *s, tsi_index p, tsi_index first, tsi_index count,
                              const tsi_index *row, tsi_index nrhs, const void *w, void *sum, void *scratch);
} tsi_tiling_kernels;

/* For 's', 'd', 'c' or 'z'; NULL for anything else. */
const tsi_tiling_kernels *tsi_tiling_kernels_select(char scalar);
