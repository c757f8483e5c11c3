/* Rectangles of panels as tiles of low rank: fewer bytes within a tolerance.
 *
 * The rows of a rectangle R (panel.h) are cut into tiles. A tile B, m x w, is stored densely or as a product
 *
 *   B = sum over formats f of U_f V_f + E      U_f: m x r_f, columns of length 1;   V_f: r_f x w
 *
 * as in block low-rank factorizations (Amestoy, Buttari, L'Excellent and Mary 2017). U V is a Gram-Schmidt
 * decomposition whose pivots are the longest columns; it ends when the remainder is short enough. Each row of
 * V is shorter than the row before it. Rounding the last rows, and their columns of U, changes little, so
 * these are stored in single precision or bfloat16 (Amestoy, Boiteau, Buttari, Gerest, Jezequel, L'Excellent
 * and Mary 2022).
 *
 * Tolerance. In the Frobenius norm, with the tolerance t, but at least the precision of the scalars,
 *
 *   |E| <= t |R| (m / rows of R)^1/2     for each tile, therefore |R - its tiles| <= t |R|
 *
 * A half of this is for the truncated remainder, a quarter for each of the two roundings.
 *
 * Memory. Pieces of a tile follow one another, for f from the widest format to the narrowest: V_f, then -U_f,
 * each a rectangle as in panel.h; a dense tile is one rectangle. A piece begins at a cache line, and
 * TSI_STREAM_PAD entries of zero follow one whose last row block is short.
 *
 * Reads   panels of a full stream.   Writes  tiles, to memory of the caller.
 * Invariants
 *   - tiles partition the rows in order; each begins at a multiple of TSI_ROW_BLOCK and has at most
 *     TSI_TILE_HEIGHT rows
 *   - all ranks of a dense tile are 0; if all ranks of a product are 0, the tile is zero
 *   - the same panel, cuts, tolerance and instruction set give the same bits */
#pragma once

#include "codelets/cpu/stored.h"

#define TSI_TILE_HEIGHT 192
#define TSI_TILE_LEAST 32 /* minimum number of rows and columns of a rectangle in tiles */

struct tsi_tile {
  tsi_count at;              /* bytes from the first piece of the panel to the first piece of the tile */
  tsi_index first, rows;     /* rows first .. first+rows-1 of the rectangle */
  int16_t dense;             /* format of a dense tile; TSI_FORMATS: a product */
  int16_t rank[TSI_FORMATS]; /* columns of U_f */
};

typedef struct tsi_tile_options {
  double tolerance;
  tsi_format format;    /* widest format in use */
  tsi_format otherwise; /* format of a panel that is not in tiles */
  tsi_index cuts;       /* >= 1: number of rows at which a tile must begin; the first one is row 0 */
  const tsi_index *cut; /* multiples of TSI_ROW_BLOCK, ascending, below the height of the panel */
  const struct tsi_tile_kernels *kernels;
} tsi_tile_options;

/* Limits for the product of one tile, see tsi_tile_kernels. */
typedef struct tsi_tile_limits {
  double left;      /* maximum length of the remainder */
  double wide;      /* longer rows of V are stored in the widest format; 0: all rows are */
  tsi_index widest; /* maximum number of rows in the widest format; with more, the tile is dense */
} tsi_tile_limits;

/* Number of reals from one column, or real or imaginary part of one, to the next: a multiple of any register.
 */
#define TSI_TILE_STEP(rows) (((rows) + 63) / 64 * 64)

typedef struct tsi_tile_kernels {
  const char *isa;
  /* Decomposes the tile in a: w columns, each TSI_TILE_STEP(rows) real parts and, complex, as many imaginary
   * parts, zero beyond the rows. Afterwards column k of U is column pivot[k] of a, row k of V is at v + k w,
   * and length[k] is the length of this row. size: w numbers of scratch. Returns the rank; TSI_NONE: the
   * limits were exceeded. */
  tsi_index (*decompose)(tsi_index rows, tsi_index w, const tsi_tile_limits *limits, void *a, void *v,
                         tsi_index *pivot, double *length, double *size);
} tsi_tile_kernels;

/* isa: as in tsi_kernels_select. */
const tsi_tile_kernels *tsi_tile_kernels_select(char scalar, const char *isa);

typedef struct tsi_tiling_kernels {
  size_t work_bytes; /* size of work for compress */
  /* Return the number of tiles of a rectangle of `height` rows, and the maximum bytes of the pieces of a
   * panel. */
  tsi_index (*count)(tsi_index height, const tsi_tile_options *options);
  size_t (*packed_bytes)(const tsi_panel *panel, const tsi_tile_options *options);
  /* Writes the tiles of a panel of `from` and their pieces; *bytes is the size of the pieces. Returns false
   * if the rectangle stays as it is: its entries are not finite or far from 1, or tiles would save too
   * little. */
  bool (*compress)(const tsi_panel *panel, const void *from, const tsi_tile_options *options, tsi_tile *tile,
                   void *pieces, size_t *bytes, void *work);
  /* u[row] -= R x, and sum -= R' w[row], for panel p of a stream, in tiles. R: rows first .. first+count-1 of
   * its rectangle, first a multiple of TSI_ROW_BLOCK. row: count entries; NULL: rows 0, 1, ... */
  void (*subtract)(const tsi_stored *s, tsi_index p, tsi_index first, tsi_index count, const tsi_index *row,
                   tsi_index nrhs, const void *x, void *u, void *scratch);
  void (*subtract_transposed)(const tsi_stored *s, tsi_index p, tsi_index first, tsi_index count,
                              const tsi_index *row, tsi_index nrhs, const void *w, void *sum, void *scratch);
} tsi_tiling_kernels;

/* For 's', 'd', 'c' or 'z'; NULL for anything else. */
const tsi_tiling_kernels *tsi_tiling_kernels_select(char scalar);
