/* Streams with a format for each panel (tsi_format): rounded copies of a factor's stream.
 *
 * Each panel has a format, and an exponent for its triangle and for its rectangle: the value of an entry is
 * 2^exponent times the stored number. Exponents are 0 unless entries are far from 1, and scaling is exact.
 * Triangle and rectangle are stored as in panel.h, with entries of the format. A panel begins at a multiple
 * of 8 entries. If the next panel has another format, TSI_STREAM_PAD zero entries precede it.
 *
 * Rounding. A stored real v becomes v (1 + d), |d| <= 2^-24 (single) or 2^-8 (1 + 2^-15) (bfloat16,
 * which is rounded twice). It becomes zero if |v| is below 2^-126, that is below 2^-64 of the largest of its
 * segment. A panel with entries that are not finite is stored in full.
 *
 * Solves with one right-hand side and TSI_INVERSE_DIAGONAL read the narrow entries directly, unless they are
 * scaled. All other solves widen them piece by piece into a buffer, for the kernels of full panels.
 * Rectangles in tiles have separate kernels (tiles.h).
 *
 * Reads   a stream of packed panels.   Writes  a tsi_stored, whose memory the caller provides. */
#pragma once

#include "codelets/cpu/kernels.h"

/* Storage of the entries of a panel: as scalars; reals as floats; reals as bfloat16, the upper half of a
 * float. */
typedef enum tsi_format { TSI_FORMAT_FULL, TSI_FORMAT_SINGLE, TSI_FORMAT_BFLOAT16, TSI_FORMATS } tsi_format;

typedef struct tsi_tile tsi_tile;

typedef struct tsi_stored_panel {
  int16_t triangle, rectangle; /* exponents */
  int16_t format;              /* a tsi_format */
  tsi_index tiles;             /* number of tiles of the rectangle (tiles.h); 0: not stored in tiles */
  const char *base;            /* block of memory that contains the panel */
  const tsi_tile *tile;        /* tiles */
  const char *pieces;          /* pieces of the tiles */
} tsi_stored_panel;

/* A stream: the argument `values` of the kernels of tsi_stored_kernels. */
typedef struct tsi_stored {
  const tsi_kernels *kernels[TSI_FORMATS]; /* FULL: kernels of the treatment of diagonal blocks */
  const tsi_panel *of;                     /* the panels that kernels are called with */
  tsi_index panels;
  tsi_panel *panel;         /* the same panels; their `values` are offsets in their blocks, in scalars */
  tsi_stored_panel *stored; /* panels */
} tsi_stored;

typedef struct tsi_stored_kernels {
  size_t scalar_bytes;
  size_t entry_bytes[TSI_FORMATS]; /* bytes of an entry; 0: the scalar type does not have the format */
  tsi_kernels sweeps[TSI_INVERSES];
  /* Chooses the exponents of a panel, and the full format if entries are not finite. stored->format: the
   * wanted format, in and out. from: stream of the panel, which begins at panel->values. */
  void (*choose)(const tsi_panel *panel, const void *from, tsi_stored_panel *stored);
  /* Rounds a panel of `from` to its format and writes it to `to`, without a rectangle in tiles. */
  void (*narrow)(const tsi_panel *panel, const void *from, const tsi_stored_panel *stored, void *to);
  /* to[i] := 2^-exponent from[i], `count` entries in the format. Returns the end. */
  char *(*round)(tsi_count count, const void *from, int exponent, int format, void *to);
} tsi_stored_kernels;

/* For 's', 'd', 'c' or 'z'; NULL for anything else. */
const tsi_stored_kernels *tsi_stored_kernels_select(char scalar);

/* Does the same as tsi_kernels_select for panels of a narrower format: TSI_INVERSE_DIAGONAL, one right-hand
 * side. panel.values counts scalars, not entries. Returns NULL for types other than 'd' and 'z'. */
const tsi_kernels *tsi_format_kernels_select(char scalar, tsi_format format, const char *isa);
