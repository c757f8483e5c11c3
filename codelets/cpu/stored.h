/* Streams whose panels are stored in formats of their own (tsi_format): rounded copies of a factor's stream.
 *
 * Each panel has a format, and an exponent for its triangle and for its rectangle: the entries that the
 * kernels work with are 2^exponent times the stored ones. Exponents are 0 unless entries are far from 1, and
 * scaling is exact. Triangle and rectangle lie as in panel.h, each entry in the bytes of the format. A panel
 * begins at a multiple of 8 entries; where the format of the next panel is another one, TSI_STREAM_PAD
 * entries that are zero come first.
 *
 * Rounding. A stored real v becomes v (1 + d), |d| <= 2^-24 (single) or 2^-8 (1 + 2^-15) (bfloat16,
 * which is rounded twice); or zero where |v| is below 2^-126, that is below 2^-64 of the largest of its
 * segment. A panel with entries that are not finite is stored in full.
 *
 * Solves with one right-hand side and TSI_INVERSE_DIAGONAL read the narrow entries themselves, unless they
 * are scaled. All others widen them piece by piece into a buffer, for the kernels of full panels. Rectangles
 * in tiles have kernels of their own (tiles.h).
 *
 * Reads   a stream of packed panels.   Writes  a tsi_stored, whose memory the caller provides. */
#pragma once

#include "codelets/cpu/kernels.h"

/* How the entries of a panel are stored: as scalars; their real parts as floats; as bfloat16, the upper half
 * of a float. */
typedef enum tsi_format { TSI_FORMAT_FULL, TSI_FORMAT_SINGLE, TSI_FORMAT_BFLOAT16, TSI_FORMATS } tsi_format;

typedef struct tsi_tile tsi_tile;

typedef struct tsi_stored_panel {
  int16_t triangle, rectangle; /* exponents */
  int16_t format;              /* a tsi_format */
  tsi_index tiles;             /* of the rectangle (tiles.h), which then is not stored otherwise; 0: none */
  const char *base;            /* the block of memory that the panel is in */
  const tsi_tile *tile;        /* tiles */
  const char *pieces;          /* of the tiles */
} tsi_stored_panel;

/* A stream as the kernels of tsi_stored_kernels take it for `values`. */
typedef struct tsi_stored {
  const tsi_kernels *kernels[TSI_FORMATS]; /* FULL: of the treatment of diagonal blocks */
  const tsi_panel *of;                     /* the panels that the kernels are called with */
  tsi_index panels;
  tsi_panel *panel;         /* panels: the same; values counts in their blocks, in scalars */
  tsi_stored_panel *stored; /* panels */
} tsi_stored;

typedef struct tsi_stored_kernels {
  size_t scalar_bytes;
  size_t entry_bytes[TSI_FORMATS]; /* 0: there is no such format */
  tsi_kernels sweeps[TSI_INVERSES];
  /* Chooses exponents of panel p, and takes the full format where entries are not finite. stored->format: the
   * wanted format. from: its stream, where it begins at of[p].values. */
  void (*choose)(const tsi_panel *panel, const void *from, tsi_stored_panel *stored);
  /* Rounds a panel of `from` to its format, at `to`; without its rectangle if that is in tiles. */
  void (*narrow)(const tsi_panel *panel, const void *from, const tsi_stored_panel *stored, void *to);
  /* to[i] := 2^-exponent from[i], `count` entries in the format. Returns the end. */
  char *(*round)(tsi_count count, const void *from, int exponent, int format, void *to);
} tsi_stored_kernels;

/* For 's', 'd', 'c' or 'z'; NULL for anything else. */
const tsi_stored_kernels *tsi_stored_kernels_select(char scalar);

/* As tsi_kernels_select, for panels of a narrower format, of 'd' and 'z' alone, else NULL: with
 * TSI_INVERSE_DIAGONAL, one right-hand side, and panel.values that counts scalars, not entries. */
const tsi_kernels *tsi_format_kernels_select(char scalar, tsi_format format, const char *isa);
